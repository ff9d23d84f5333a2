"""Tests of the passage view's controller without a screen: loading, following links, going back."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from textual.app import App

from excerpt.base.kinds import LinkKind
from excerpt.base.model import Hit, Link, Section
from excerpt.service.note_questions import Location, ResolvedLink, target_line
from excerpt.tui.app import ExcerptApp
from excerpt.tui.common.line_drawing import WrittenLink
from excerpt.tui.memory.form import RememberDialog
from excerpt.tui.note.window import NoteWindow, draw_window
from excerpt.tui.search.passage_controller import PassageController
from tests.tui.driver import AppPilot, ManualEngine, ScriptedApp, pane_of, preview_of, search, top_screen, until
from tests.tui.examples import make_hit

A, B, C = make_hit("a"), make_hit("b"), make_hit("c")


@dataclass
class Bench:
    engine: ManualEngine = field(default_factory=ManualEngine)
    changes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.passages = PassageController(
            self.engine, line_at_top=lambda: 3, on_change=lambda: self.changes.append(self.shown)
        )

    @property
    def shown(self) -> str:
        return self.passages.window.fragment.id if self.passages.window is not None else ""

    def look(self, *hits: Hit) -> None:
        """View these hits one after the other."""
        for each in hits:
            self.passages.show_fragment(Location.from_hit(each), "sync")
            self.answer(each)

    def go(self, there: Hit) -> None:
        """Go to a hit as by a link."""
        self.passages.go_to(Location.from_hit(there))
        self.answer(there)

    def answer(self, shown: Hit) -> None:
        fragment = shown.fragment
        self.engine.answer("window", draw_window(fragment.text, fragment, ()))


def test_a_fragment_is_requested_and_shown_when_it_arrives() -> None:
    bench = Bench()
    bench.passages.show_fragment(Location.from_hit(A), "sync")
    asked = bench.engine.questions["window"]
    assert (asked.location.fragment_id, asked.query, asked.view.whole) == ("a", "sync", False)
    assert bench.passages.window is None
    bench.answer(A)
    assert bench.changes == ["", "a"]


def test_a_note_is_shown_whole_until_another_note_is_shown() -> None:
    bench = Bench()
    bench.look(A)
    assert bench.passages.toggle_whole()
    assert bench.engine.questions["window"].view.whole
    bench.answer(A)
    bench.passages.toggle_whole()
    assert not bench.engine.questions["window"].view.whole
    bench.passages.toggle_whole()
    bench.passages.show_fragment(Location.from_hit(B), "sync")
    assert not bench.engine.questions["window"].view.whole


def test_a_memory_cannot_be_browsed_like_a_note() -> None:
    bench = Bench()
    bench.look(A)
    bench.passages.show_memory(draw_window("thought", A.fragment, ()))
    assert bench.passages.location is None
    assert not bench.passages.toggle_whole()


def test_following_links_and_returning_restores_the_scroll_position() -> None:
    bench = Bench()
    bench.look(A)
    after: list[ResolvedLink] = []
    bench.passages.ask_link_target(WrittenLink(LinkKind.WIKILINK, "b"), after.append)
    assert bench.engine.questions["link"].source == "a.md"
    bench.go(B)
    bench.go(C)
    assert (bench.shown, bench.passages.is_linked_passage) == ("c", True)
    assert bench.passages.go_back()
    bench.answer(B)
    assert (bench.shown, bench.passages.is_linked_passage) == ("b", True)
    assert bench.passages.go_back()
    assert bench.engine.questions["window"].view.line == 3
    bench.answer(A)
    assert (bench.shown, bench.passages.is_linked_passage) == ("a", False)
    assert not bench.passages.go_back()


def test_selecting_another_hit_clears_the_history_of_followed_links() -> None:
    bench = Bench()
    bench.look(A)
    bench.go(B)
    bench.look(C)
    assert not bench.passages.is_linked_passage
    assert not bench.passages.go_back()


def test_an_edited_fragment_is_recognised_by_its_new_id() -> None:
    bench = Bench()
    bench.passages.show_fragment(Location.from_hit(A), "sync")
    bench.answer(make_hit("edited", 4))
    assert bench.passages.location is not None
    assert (bench.passages.location.fragment_id, bench.passages.location.line) == ("edited", 4)


SECTIONS = (
    Section(0, 0, "", (), 1, 2, ()),
    Section(1, 1, "Set up: it!", ("Set up: it!",), 3, 20, ()),
    Section(2, 2, "Part", ("Set up: it!", "Part"), 5, 8, ()),
    Section(3, 1, "Other", ("Other",), 9, 20, ()),
    Section(4, 2, "Part", ("Other", "Part"), 12, 20, ()),
)


@pytest.mark.programs
@pytest.mark.parametrize(
    ("heading", "line"), [("Part", 5), ("Other#Part", 12), ("set-up-it", 3), ("Nowhere", None), (None, 1)]
)
def test_a_link_to_a_heading_leads_to_its_line_in_any_spelling(heading: str | None, line: int | None) -> None:
    assert target_line("", SECTIONS, Link(LinkKind.WIKILINK, "Note", 1, heading=heading)) == line


@pytest.mark.programs
def test_a_link_to_a_block_leads_to_the_line_with_its_id() -> None:
    link = Link(LinkKind.WIKILINK, "Note", 1, block_id="it")
    assert target_line("one\ntwo ^it2\nthree ^it\n", (), link) == 3


def window_of(app: App[None]) -> NoteWindow:
    found = preview_of(app).window
    assert found is not None
    return found


async def search_linking_note(pilot: AppPilot) -> str:
    """Search for a note with a link to another; return the id of its fragment."""
    await search(pilot, "two devices change")
    await until(pilot, lambda: preview_of(pilot.app).window is not None, "the passage")
    await pilot.pause()
    return window_of(pilot.app).fragment.id


async def until_linked_note(pilot: AppPilot) -> None:
    await until(pilot, lambda: window_of(pilot.app).fragment.path == "Merging.md", "the note that is linked to")


@pytest.mark.programs
async def test_links_are_selected_by_a_letter_followed_by_enter_and_left_again(app: ExcerptApp) -> None:
    async with app.run_test(size=(120, 30)) as pilot:
        cursor_token = await search_linking_note(pilot)
        preview_of(app).focus()
        await pilot.press("l", "enter")
        await until_linked_note(pilot)
        assert "⌫ back" in str(preview_of(app).border_title)
        await pilot.press("backspace")
        await until(pilot, lambda: window_of(app).fragment.id == cursor_token, "the fragment it was followed from")
        assert "⌫ back" not in str(preview_of(app).border_title)


@pytest.mark.programs
async def test_the_same_letter_selects_a_link_from_the_list(app: ExcerptApp) -> None:
    async with app.run_test(size=(120, 30)) as pilot:
        await search_linking_note(pilot)
        await pilot.press("escape", "l", "enter")
        await until_linked_note(pilot)


@pytest.mark.programs
async def test_a_click_follows_a_link(app: ExcerptApp) -> None:
    async with app.run_test(size=(120, 30)) as pilot:
        await search_linking_note(pilot)
        preview = preview_of(app)
        lines = [preview.render_line(y).text for y in range(preview.size.height)]
        at = next(y for y, line in enumerate(lines) if "how" in line and "howto" not in line)
        region = preview.content_region
        await pilot.click(offset=(region.x + lines[at].index("how"), region.y + at))
        await until_linked_note(pilot)


@pytest.mark.programs
async def test_enter_opens_the_note_if_no_link_is_selected(
    editor_arguments: Path, vault: Path, app: ExcerptApp
) -> None:
    async with app.run_test(size=(120, 30)) as pilot:
        await search_linking_note(pilot)
        preview_of(app).focus()
        await pilot.press("enter")
        await until(pilot, editor_arguments.exists, "the editor")
        assert f"{vault / 'Sync.md'}:" in editor_arguments.read_text()


@pytest.mark.programs
async def test_keys_in_the_panel_act_on_the_linked_note_and_keys_in_the_list_on_the_hit(
    app: ExcerptApp,
) -> None:
    async with app.run_test(size=(120, 30)) as pilot:
        await search_linking_note(pilot)
        preview_of(app).focus()
        await pilot.press("l", "enter")
        await until_linked_note(pilot)
        await pilot.press("space")
        marks = pane_of(app).pack.choices
        assert [mark.path for mark in marks.marks] == ["Merging.md"]
        await pilot.press("escape", "space")
        assert {mark.path for mark in pane_of(app).pack.choices.marks} == {"Merging.md", "Sync.md"}


@pytest.mark.programs
async def test_a_hit_by_meaning_highlights_the_nearest_sentence(app: ExcerptApp) -> None:
    async with app.run_test(size=(120, 30)) as pilot:
        await search(pilot, "when do two devices change the same note")
        await until(pilot, lambda: preview_of(app).window is not None, "the passage")
        await pilot.pause()
        assert any("≈" in segment.text for y in range(20) for segment in preview_of(app).render_line(y))


async def read(pilot: AppPilot, query: str) -> None:
    await pilot.press(*query)
    await until(pilot, lambda: preview_of(pilot.app).window is not None, "the passage")
    preview_of(pilot.app).focus()
    await pilot.pause()


@pytest.mark.programs
async def test_a_key_switches_between_whole_note_and_context(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(120, 30)) as pilot:
        await read(pilot, "compare")
        await pilot.press("unbound-whole-note")
        await until(pilot, lambda: window_of(scripted).whole, "the note")
        await pilot.press("unbound-whole-note")
        await until(pilot, lambda: not window_of(scripted).whole, "the fragment")


@pytest.mark.programs
async def test_selected_lines_are_remembered_with_their_location(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(120, 30)) as pilot:
        await read(pilot, "compare")
        first = window_of(scripted).fragment.line_start
        await pilot.press("shift+down", "shift+down")
        picked_lines = preview_of(scripted).picked_lines
        assert picked_lines is not None and (picked_lines.first, picked_lines.last) == (first, first + 1)
        await pilot.press("m")
        await until(pilot, lambda: isinstance(top_screen(scripted), RememberDialog), "the form")
        assert preview_of(scripted).picked_lines is None


@pytest.mark.programs
async def test_packed_lines_of_the_note_are_marked_at_the_margin(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(120, 30)) as pilot:
        await read(pilot, "compare")
        await until(pilot, lambda: bool(preview_of(scripted).packed_line_ranges), "the pack")
        fragment = window_of(scripted).fragment
        assert any(first <= fragment.line_start <= last for first, last in preview_of(scripted).packed_line_ranges)
        assert any("┃" in segment.text for y in range(20) for segment in preview_of(scripted).render_line(y))
