"""Tests of the passage view's controller without a screen: loading, following links, going back."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from textual.app import App

from excerpt.kinds import LinkKind
from excerpt.model import Hit, Link, Section
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


def test_a_fragment_is_asked_for_and_shown_when_it_has_come() -> None:
    bench = Bench()
    bench.passages.show_fragment(Location.from_hit(A), "sync")
    asked = bench.engine.questions["window"]
    assert (asked.location.fragment_id, asked.query, asked.view.whole) == ("a", "sync", False)
    assert bench.passages.window is None
    bench.answer(A)
    assert bench.changes == ["", "a"]


def test_a_note_is_shown_whole_until_another_note_is() -> None:
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


def test_a_memory_is_no_note_to_read_on_in() -> None:
    bench = Bench()
    bench.look(A)
    bench.passages.show_memory(draw_window("thought", A.fragment, ()))
    assert bench.passages.location is None
    assert not bench.passages.toggle_whole()


def test_links_lead_away_from_what_is_selected_and_one_comes_back_to_where_it_was_scrolled() -> None:
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


def test_another_hit_that_is_looked_at_leaves_no_way_back() -> None:
    bench = Bench()
    bench.look(A)
    bench.go(B)
    bench.look(C)
    assert not bench.passages.is_linked_passage
    assert not bench.passages.go_back()


def test_an_edited_fragment_is_known_by_its_new_id() -> None:
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
def test_a_link_to_a_heading_leads_to_its_line_however_it_is_written(heading: str | None, line: int | None) -> None:
    assert target_line("", SECTIONS, Link(LinkKind.WIKILINK, "Note", 1, heading=heading)) == line


@pytest.mark.programs
def test_a_link_to_a_block_leads_to_the_line_that_has_its_name() -> None:
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
async def test_a_link_is_gone_to_by_a_letter_and_followed_by_enter_and_one_comes_back(app: ExcerptApp) -> None:
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
async def test_from_the_list_the_same_letter_leads_to_the_link(app: ExcerptApp) -> None:
    async with app.run_test(size=(120, 30)) as pilot:
        await search_linking_note(pilot)
        await pilot.press("escape", "l", "enter")
        await until_linked_note(pilot)


@pytest.mark.programs
async def test_a_link_is_followed_by_a_click(app: ExcerptApp) -> None:
    async with app.run_test(size=(120, 30)) as pilot:
        await search_linking_note(pilot)
        preview = preview_of(app)
        lines = [preview.render_line(y).text for y in range(preview.size.height)]
        at = next(y for y, line in enumerate(lines) if "how" in line and "howto" not in line)
        region = preview.content_region
        await pilot.click(offset=(region.x + lines[at].index("how"), region.y + at))
        await until_linked_note(pilot)


@pytest.mark.programs
async def test_enter_opens_the_note_where_the_cursor_is_on_no_link(
    editor_arguments: Path, vault: Path, app: ExcerptApp
) -> None:
    async with app.run_test(size=(120, 30)) as pilot:
        await search_linking_note(pilot)
        preview_of(app).focus()
        await pilot.press("enter")
        await until(pilot, editor_arguments.exists, "the editor")
        assert f"{vault / 'Sync.md'}:" in editor_arguments.read_text()


@pytest.mark.programs
async def test_a_key_in_the_panel_is_about_the_note_that_a_link_led_to_and_in_the_list_about_the_hit(
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
async def test_found_by_meaning_the_nearest_sentence_is_marked(app: ExcerptApp) -> None:
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
async def test_the_whole_note_is_shown_and_what_was_around_the_fragment_again(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(120, 30)) as pilot:
        await read(pilot, "compare")
        await pilot.press("unbound-whole-note")
        await until(pilot, lambda: window_of(scripted).whole, "the note")
        await pilot.press("unbound-whole-note")
        await until(pilot, lambda: not window_of(scripted).whole, "the fragment")


@pytest.mark.programs
async def test_lines_are_picked_and_kept_with_their_place(scripted: ScriptedApp) -> None:
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
async def test_what_of_the_note_is_in_the_pack_stands_at_the_margin(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(120, 30)) as pilot:
        await read(pilot, "compare")
        await until(pilot, lambda: bool(preview_of(scripted).packed_line_ranges), "the pack")
        fragment = window_of(scripted).fragment
        assert any(first <= fragment.line_start <= last for first, last in preview_of(scripted).packed_line_ranges)
        assert any("┃" in segment.text for y in range(20) for segment in preview_of(scripted).render_line(y))
