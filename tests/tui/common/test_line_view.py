"""Tests of lists and contexts, which bypass Textual's drawing: they look as Textual would draw them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from excerpt.base.settings import Paths, ScreenSettings, Settings
from excerpt.memory.memory_file import make_memory
from excerpt.memory.store import FolderMemoryStore
from excerpt.tui.app import ExcerptApp
from excerpt.tui.common.line_view import LineView
from excerpt.tui.memory.pane import MemoryList
from tests.tui.driver import AppPilot, hit_list_of, screen_of, search, until

pytestmark = pytest.mark.programs


def visible_cells(strip: Strip, width: int) -> Iterator[tuple[object, ...]]:
    """Yield what a person sees of each cell and its mouse actions; a blank has only a background."""
    for text, style, _ in strip.crop(0, width):
        assert style is not None
        for character in text:
            blank = character == " " and not (style.reverse or style.underline or style.strike)
            front = None if blank else (style.color, style.bold, style.italic, style.underline, style.strike)
            yield character, front, style.bgcolor, style.reverse, style.meta


State = Callable[[ExcerptApp, AppPilot], Awaitable[None]]


async def found(app: ExcerptApp, pilot: AppPilot) -> None:
    await search(pilot, "sync conflict")


async def show_outline(app: ExcerptApp, pilot: AppPilot) -> None:
    await search(pilot, "sync conflict")
    await pilot.press("alt+u")


async def show_memory(app: ExcerptApp, pilot: AppPilot) -> None:
    await pilot.press("f4")
    await until(pilot, lambda: bool(screen_of(app).query_one(MemoryList).memories), "the memory")


@pytest.mark.parametrize("state", [found, show_outline, show_memory], ids=lambda state: state.__name__)
@pytest.mark.parametrize("plain", [False, True], ids=["drawn", "plain"])
async def test_each_line_equals_the_one_textual_draws(
    vault: Path, user_paths: Paths, state: State, plain: bool
) -> None:
    FolderMemoryStore(user_paths.memory_folder(vault)).remember(
        make_memory("Merge by hand.", tags=["sync"], why="it loses nothing")
    )
    app = ExcerptApp(vault, Settings(screen=ScreenSettings(plain=plain)), user_paths)
    async with app.run_test(size=(120, 36)) as pilot:
        await state(app, pilot)
        await pilot.pause()
        views = [view for view in app.screen.query(LineView) if view.region]
        assert views
        for view in views:
            bar = view.vertical_scrollbar
            widths = ((view, view.region.width - bar.region.width), (bar, bar.region.width))
            for widget, width in ((widget, width) for widget, width in widths if width):
                lines = Region(0, 0, width, widget.region.height)
                ours, textual = widget.render_lines(lines), Widget.render_lines(widget, lines)
                assert [list(visible_cells(line, width)) for line in ours] == [
                    list(visible_cells(line, width)) for line in textual
                ]


async def test_lines_of_the_list_and_the_passage_are_drawn_without_textuals_renderer(
    app: ExcerptApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with app.run_test(size=(120, 36)) as pilot:
        await found(app, pilot)
        asked: list[Region] = []
        drawn_by_textual = Widget.render_lines

        def render_lines(widget: Widget, crop: Region) -> list[Strip]:
            if isinstance(widget, LineView):
                asked.append(crop)
            return drawn_by_textual(widget, crop)

        monkeypatch.setattr(Widget, "render_lines", render_lines)
        for view in (hit_list_of(app), screen_of(app).query_one("#preview")):
            view.render_lines(view.region.reset_offset)
        assert [crop.height for crop in asked] == [1]  # the upper border of the context
