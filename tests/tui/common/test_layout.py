"""Tests of the panes of the running app: keys, mouse, one-line rows and their content."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from excerpt.settings import Settings
from excerpt.tui.common.split import Splitter
from excerpt.tui.search.hit_list import HitList
from excerpt.tui.search.pane import SearchPane
from excerpt.tui.search.preview import Preview
from tests.tui.conftest import at_once, until
from tests.tui.still import StillApp


@pytest.fixture
def still(tmp_path: Path) -> StillApp:
    return StillApp(tmp_path / "data", Settings())


def pane_of(app: StillApp) -> SearchPane:
    return app.still.query_one(SearchPane)


def rows_of(app: StillApp) -> HitList:
    return pane_of(app).query_one(HitList)


def preview_of(app: StillApp) -> Preview:
    return pane_of(app).query_one(Preview)


async def typed(pilot: Pilot[None], text: str) -> None:
    at_once(pilot.app, *text)
    await pilot.pause()


async def test_the_border_is_dragged_with_the_mouse_beside_and_below(still: StillApp) -> None:
    async with still.run_test(size=(120, 30)) as pilot:
        await typed(pilot, "sync")
        splitter = still.still.query_one("#body Splitter", Splitter)
        await until(pilot, lambda: splitter.region.width == 1, "the border")
        await pilot.pause()
        await pilot.mouse_down(offset=(splitter.region.x, 10))
        await pilot.hover(offset=(80, 12))
        await pilot.mouse_up(offset=(80, 12))
        await until(pilot, lambda: splitter.region.x == 80, "the border where it was dragged to")
        await pilot.resize_terminal(90, 30)
        await pilot.pause()
        await pilot.mouse_down(offset=(50, preview_of(still).region.y))
        await pilot.hover(offset=(50, 8))
        await pilot.mouse_up(offset=(50, 8))
        await pilot.pause()
        assert preview_of(still).region.y == 8


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 30), (200, 60)])
async def test_nothing_moves_where_hits_give_way_to_other_hits(still: StillApp, size: tuple[int, int]) -> None:
    async with still.run_test(size=size) as pilot:
        await typed(pilot, "s")
        await until(pilot, lambda: bool(rows_of(still).region), "the list to be laid out")
        stood = rows_of(still).region, preview_of(still).region
        for letter in "ync conflict":
            await typed(pilot, letter)
            assert (rows_of(still).region, preview_of(still).region) == stood


async def test_a_passage_that_has_no_room_any_more_gives_the_focus_away(still: StillApp) -> None:
    async with still.run_test(size=(120, 30)) as pilot:
        await typed(pilot, "sync")
        preview_of(still).focus()
        await pilot.pause()
        await pilot.resize_terminal(60, 15)
        await pilot.pause()
        assert preview_of(still).region.area == 0
        assert still.focused is not None
        assert still.focused is not preview_of(still)


async def test_the_passage_that_takes_the_place_of_the_lines_takes_the_focus_from_them(still: StillApp) -> None:
    async with still.run_test(size=(60, 15)) as pilot:
        await typed(pilot, "sync")
        await pilot.press("f3", "escape", "v")
        await pilot.pause()
        assert still.focused is still.still.query_one("#overview-passage")
