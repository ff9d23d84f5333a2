"""Tests of reading from the selected fragment: links, back, the whole note, picked lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.app import App

from excerpt.kinds import LinkKind
from excerpt.model import Link, Section
from excerpt.service.note_questions import target_line
from excerpt.tui.app import ExcerptApp
from excerpt.tui.memory.form import RememberDialog
from excerpt.tui.note.window import NoteWindow
from tests.tui.driver import AppPilot, ScriptedApp, pane_of, preview_of, search, top_screen, until

pytestmark = pytest.mark.programs

SECTIONS = (
    Section(0, 0, "", (), 1, 2, ()),
    Section(1, 1, "Set up: it!", ("Set up: it!",), 3, 20, ()),
    Section(2, 2, "Part", ("Set up: it!", "Part"), 5, 8, ()),
    Section(3, 1, "Other", ("Other",), 9, 20, ()),
    Section(4, 2, "Part", ("Other", "Part"), 12, 20, ()),
)


@pytest.mark.parametrize(
    ("heading", "line"), [("Part", 5), ("Other#Part", 12), ("set-up-it", 3), ("Nowhere", None), (None, 1)]
)
def test_a_link_to_a_heading_leads_to_its_line_however_it_is_written(heading: str | None, line: int | None) -> None:
    assert target_line("", SECTIONS, Link(LinkKind.WIKILINK, "Note", 1, heading=heading)) == line


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


async def test_from_the_list_the_same_letter_leads_to_the_link(app: ExcerptApp) -> None:
    async with app.run_test(size=(120, 30)) as pilot:
        await search_linking_note(pilot)
        await pilot.press("escape", "l", "enter")
        await until_linked_note(pilot)


async def test_a_link_is_followed_by_a_click(app: ExcerptApp) -> None:
    async with app.run_test(size=(120, 30)) as pilot:
        await search_linking_note(pilot)
        preview = preview_of(app)
        lines = [preview.render_line(y).text for y in range(preview.size.height)]
        at = next(y for y, line in enumerate(lines) if "how" in line and "howto" not in line)
        region = preview.content_region
        await pilot.click(offset=(region.x + lines[at].index("how"), region.y + at))
        await until_linked_note(pilot)


async def test_enter_opens_the_note_where_the_cursor_is_on_no_link(
    editor_arguments: Path, vault: Path, app: ExcerptApp
) -> None:
    async with app.run_test(size=(120, 30)) as pilot:
        await search_linking_note(pilot)
        preview_of(app).focus()
        await pilot.press("enter")
        await until(pilot, editor_arguments.exists, "the editor")
        assert f"{vault / 'Sync.md'}:" in editor_arguments.read_text()


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


async def test_the_whole_note_is_shown_and_what_was_around_the_fragment_again(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(120, 30)) as pilot:
        await read(pilot, "compare")
        await pilot.press("unbound-whole-note")
        await until(pilot, lambda: window_of(scripted).whole, "the note")
        await pilot.press("unbound-whole-note")
        await until(pilot, lambda: not window_of(scripted).whole, "the fragment")


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


async def test_what_of_the_note_is_in_the_pack_stands_at_the_margin(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(120, 30)) as pilot:
        await read(pilot, "compare")
        await until(pilot, lambda: bool(preview_of(scripted).packed_line_ranges), "the pack")
        fragment = window_of(scripted).fragment
        assert any(first <= fragment.line_start <= last for first, last in preview_of(scripted).packed_line_ranges)
        assert any("┃" in segment.text for y in range(20) for segment in preview_of(scripted).render_line(y))
