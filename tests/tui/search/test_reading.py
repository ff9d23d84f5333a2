"""Tests of reading from the selected fragment: links, back, the whole note, picked lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from excerpt.kinds import LinkKind
from excerpt.model import Link, Section
from excerpt.settings import Settings
from excerpt.tui.app import ExcerptApp
from excerpt.tui.memory.form import Remember
from excerpt.tui.note.requests import line_of
from excerpt.tui.note.window import NoteWindow
from excerpt.tui.search.preview import Preview
from tests.tui.conftest import AppPilot, pane_of, screen_of, search, top_screen, until
from tests.tui.still import StillApp

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
    assert line_of("", SECTIONS, Link(LinkKind.WIKILINK, "Note", 1, heading=heading)) == line


def test_a_link_to_a_block_leads_to_the_line_that_has_its_name() -> None:
    link = Link(LinkKind.WIKILINK, "Note", 1, block_id="it")
    assert line_of("one\ntwo ^it2\nthree ^it\n", (), link) == 3


def context(app: ExcerptApp) -> Preview:
    return screen_of(app).query_one("#preview", Preview)


def window(app: ExcerptApp) -> NoteWindow:
    found = context(app).window
    assert found is not None
    return found


async def found(pilot: AppPilot, app: ExcerptApp) -> str:
    """Search for a note with a link to another; return the id of its fragment."""
    await search(pilot, app, "two devices change")
    await until(pilot, lambda: context(app).window is not None, "the passage")
    await pilot.pause()
    return window(app).fragment.id


async def linked_to(pilot: AppPilot, app: ExcerptApp) -> None:
    await until(pilot, lambda: window(app).fragment.path == "Merging.md", "the note that is linked to")


async def test_a_link_is_gone_to_by_a_letter_and_followed_by_enter_and_one_comes_back(app: ExcerptApp) -> None:
    async with app.run_test(size=(120, 30)) as pilot:
        cursor_token = await found(pilot, app)
        context(app).focus()
        await pilot.press("l", "enter")
        await linked_to(pilot, app)
        assert "⌫ back" in str(context(app).border_title)
        await pilot.press("backspace")
        await until(pilot, lambda: window(app).fragment.id == cursor_token, "the fragment it was followed from")
        assert "⌫ back" not in str(context(app).border_title)


async def test_from_the_list_the_same_letter_leads_to_the_link(app: ExcerptApp) -> None:
    async with app.run_test(size=(120, 30)) as pilot:
        await found(pilot, app)
        await pilot.press("escape", "l", "enter")
        await linked_to(pilot, app)


async def test_a_link_is_followed_by_a_click(app: ExcerptApp) -> None:
    async with app.run_test(size=(120, 30)) as pilot:
        await found(pilot, app)
        preview = context(app)
        lines = [preview.render_line(y).text for y in range(preview.size.height)]
        at = next(y for y, line in enumerate(lines) if "how" in line and "howto" not in line)
        region = preview.content_region
        await pilot.click(offset=(region.x + lines[at].index("how"), region.y + at))
        await linked_to(pilot, app)


async def test_enter_opens_the_note_where_the_cursor_is_on_no_link(opened: Path, vault: Path, app: ExcerptApp) -> None:
    async with app.run_test(size=(120, 30)) as pilot:
        await found(pilot, app)
        context(app).focus()
        await pilot.press("enter")
        await until(pilot, opened.exists, "the editor")
        assert f"{vault / 'Sync.md'}:" in opened.read_text()


async def test_a_key_in_the_panel_is_about_the_note_that_a_link_led_to_and_in_the_list_about_the_hit(
    app: ExcerptApp,
) -> None:
    async with app.run_test(size=(120, 30)) as pilot:
        await found(pilot, app)
        context(app).focus()
        await pilot.press("l", "enter")
        await linked_to(pilot, app)
        await pilot.press("space")
        marks = pane_of(app).pack.choices
        assert [mark.path for mark in marks.marks] == ["Merging.md"]
        await pilot.press("escape", "space")
        assert {mark.path for mark in pane_of(app).pack.choices.marks} == {"Merging.md", "Sync.md"}


async def test_found_by_meaning_the_nearest_sentence_is_marked(app: ExcerptApp) -> None:
    async with app.run_test(size=(120, 30)) as pilot:
        await search(pilot, app, "when do two devices change the same note")
        await until(pilot, lambda: context(app).window is not None, "the passage")
        await pilot.pause()
        assert any("≈" in segment.text for y in range(20) for segment in context(app).render_line(y))


async def read(pilot: AppPilot, app: StillApp, query: str) -> None:
    await pilot.press(*query)
    await until(pilot, lambda: context(app).window is not None, "the passage")
    context(app).focus()
    await pilot.pause()


async def test_the_whole_note_is_shown_and_what_was_around_the_fragment_again(tmp_path: Path, home: Path) -> None:
    app = StillApp(tmp_path, Settings())
    async with app.run_test(size=(120, 30)) as pilot:
        await read(pilot, app, "compare")
        await pilot.press("unbound-whole-note")
        await until(pilot, lambda: window(app).whole, "the note")
        await pilot.press("unbound-whole-note")
        await until(pilot, lambda: not window(app).whole, "the fragment")


async def test_lines_are_picked_and_kept_with_their_place(tmp_path: Path, home: Path) -> None:
    app = StillApp(tmp_path, Settings())
    async with app.run_test(size=(120, 30)) as pilot:
        await read(pilot, app, "compare")
        first = window(app).fragment.line_start
        await pilot.press("shift+down", "shift+down")
        picked = context(app).picked
        assert picked is not None and (picked.first, picked.last) == (first, first + 1)
        await pilot.press("m")
        await until(pilot, lambda: isinstance(top_screen(app), Remember), "the form")
        assert context(app).picked is None


async def test_what_of_the_note_is_in_the_pack_stands_at_the_margin(tmp_path: Path, home: Path) -> None:
    app = StillApp(tmp_path, Settings())
    async with app.run_test(size=(120, 30)) as pilot:
        await read(pilot, app, "compare")
        await until(pilot, lambda: bool(context(app).packed), "the pack")
        fragment = window(app).fragment
        assert any(first <= fragment.line_start <= last for first, last in context(app).packed)
        assert any("┃" in segment.text for y in range(20) for segment in context(app).render_line(y))
