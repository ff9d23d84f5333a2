"""Reading on from the selected fragment: links, the way back, the whole note, the outline, lines picked."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Input

from excerpt.kinds import LinkKind
from excerpt.model import Link, Section
from excerpt.settings import Settings
from excerpt.tui.app import ExcerptApp
from excerpt.tui.memory.form import Remember
from excerpt.tui.note_window import NoteWindow
from excerpt.tui.reading import line_of
from excerpt.tui.search.pane import SearchPane
from excerpt.tui.widgets.preview import Preview
from tests.tui.conftest import AppPilot, screen_of, search, top_screen, until
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


async def follow_the_first_link(pilot: AppPilot, app: ExcerptApp) -> None:
    """By a click on it."""
    await pilot.pause()
    preview = context(app)
    lines = [preview.render_line(y).text for y in range(preview.size.height)]
    at = next(y for y, line in enumerate(lines) if "how" in line and "howto" not in line)
    region = preview.content_region
    await pilot.click(offset=(region.x + lines[at].index("how"), region.y + at))


async def test_a_link_is_followed_and_one_comes_back(app: ExcerptApp) -> None:
    async with app.run_test(size=(120, 30)) as pilot:
        await search(pilot, app, "two devices change")
        await until(pilot, lambda: context(app).window is not None, "the context")
        begun = window(app).fragment.id
        context(app).focus()
        await follow_the_first_link(pilot, app)
        await until(pilot, lambda: window(app).fragment.path == "Merging.md", "the note that is linked to")
        await pilot.press("backspace")
        await until(pilot, lambda: window(app).fragment.id == begun, "the fragment it was followed from")


async def test_escape_comes_back_from_a_link_and_leaves_the_query(app: ExcerptApp) -> None:
    async with app.run_test(size=(120, 30)) as pilot:
        await search(pilot, app, "two devices change")
        await until(pilot, lambda: context(app).window is not None, "the context")
        begun = window(app).fragment.id
        context(app).focus()
        await follow_the_first_link(pilot, app)
        await until(pilot, lambda: window(app).fragment.path == "Merging.md", "the note that is linked to")
        assert "esc back" in str(context(app).border_title)
        await pilot.press("escape", "escape")
        await until(pilot, lambda: window(app).fragment.id == begun, "what is selected in the list")
        assert "esc back" not in str(context(app).border_title)
        assert screen_of(app).query_one("#query", Input).value == "two devices change"


async def test_what_is_done_while_typing_is_about_the_note_that_a_link_led_to(app: ExcerptApp) -> None:
    async with app.run_test(size=(120, 30)) as pilot:
        await search(pilot, app, "two devices change")
        await until(pilot, lambda: context(app).window is not None, "the context")
        await follow_the_first_link(pilot, app)
        await until(pilot, lambda: window(app).fragment.path == "Merging.md", "the note that is linked to")
        await pilot.press("tab")
        marks = screen_of(app).query_one(SearchPane).pack.choices.marks
        assert [mark.path for mark in marks] == ["Merging.md"]
        await pilot.press("escape")
        await until(pilot, lambda: window(app).fragment.path != "Merging.md", "the fragment it was followed from")
        assert "esc back" not in str(context(app).border_title)


async def test_found_by_meaning_the_nearest_sentence_is_marked(app: ExcerptApp) -> None:
    async with app.run_test(size=(120, 30)) as pilot:
        await search(pilot, app, "when do two devices change the same note")
        await until(pilot, lambda: context(app).window is not None, "the context")
        await pilot.pause()
        assert any("≈" in segment.text for y in range(20) for segment in context(app).render_line(y))


async def opened(pilot: AppPilot, app: StillApp, query: str) -> None:
    await pilot.press(*query)
    await until(pilot, lambda: context(app).window is not None, "the context")
    context(app).focus()
    await pilot.pause()


async def test_the_whole_note_is_shown_and_what_was_around_the_fragment_again(tmp_path: Path, home: Path) -> None:
    app = StillApp(tmp_path, Settings())
    async with app.run_test(size=(120, 30)) as pilot:
        await opened(pilot, app, "compare")
        await pilot.press("w")
        await until(pilot, lambda: window(app).whole, "the note")
        await pilot.press("w")
        await until(pilot, lambda: not window(app).whole, "the fragment")


async def test_lines_are_picked_and_kept_with_their_place(tmp_path: Path, home: Path) -> None:
    app = StillApp(tmp_path, Settings())
    async with app.run_test(size=(120, 30)) as pilot:
        await opened(pilot, app, "compare")
        first = window(app).fragment.line_start
        await pilot.press("v", "j")
        picked = context(app).picked
        assert picked is not None and (picked.first, picked.last) == (first, first + 1)
        await pilot.press("m")
        await until(pilot, lambda: isinstance(top_screen(app), Remember), "the form")
        assert context(app).picked is None


async def test_what_of_the_note_is_in_the_pack_stands_at_the_margin(tmp_path: Path, home: Path) -> None:
    app = StillApp(tmp_path, Settings())
    async with app.run_test(size=(120, 30)) as pilot:
        await opened(pilot, app, "compare")
        await until(pilot, lambda: bool(context(app).packed), "the pack")
        fragment = window(app).fragment
        assert any(first <= fragment.line_start <= last for first, last in context(app).packed)
        assert any("┃" in segment.text for y in range(20) for segment in context(app).render_line(y))
