"""Tests of the side panel: four views of the selection, one visible, each keeping its scroll position."""

from __future__ import annotations

from pathlib import Path

import pytest

from excerpt.settings import Settings
from excerpt.tui.search.hit_list import HitList
from excerpt.tui.search.side_panel import PanelView, SidePanel, ViewTabs
from tests.tui.conftest import AppPilot, until
from tests.tui.still import StillApp

SMALL, NARROW, WIDE = (60, 15), (80, 24), (140, 36)


@pytest.fixture
def still(tmp_path: Path, home: Path) -> StillApp:
    return StillApp(tmp_path / "data", Settings())


def side_of(app: StillApp) -> SidePanel:
    return app.still.query_one(SidePanel)


def rows_of(app: StillApp) -> HitList:
    return app.still.query_one(HitList)


async def found(pilot: AppPilot, app: StillApp) -> None:
    """Type a query, and go to the list."""
    await pilot.press(*"sync")
    await until(pilot, lambda: side_of(app).reading.window is not None, "the passage")
    await pilot.press("escape")
    await pilot.pause()


async def press(pilot: AppPilot, app: StillApp, *keys: str) -> None:
    await pilot.press(*keys)
    await until(pilot, lambda: side_of(app).is_answered, "the view")
    await pilot.pause()


@pytest.mark.parametrize("size", [NARROW, WIDE])
async def test_one_key_of_the_list_goes_on_from_view_to_view_and_the_list_keeps_the_focus(
    still: StillApp, size: tuple[int, int]
) -> None:
    async with still.run_test(size=size) as pilot:
        await found(pilot, still)
        side, seen = side_of(still), []
        for _ in PanelView:
            seen.append(side.view)
            assert [one.id for one in side.children if one.region and one.id] == [side._shown.id]
            await press(pilot, still, "v")
        assert seen == list(PanelView)
        assert (side.view, rows_of(still).has_focus) == (PanelView.PASSAGE, True)


async def test_the_same_key_goes_on_within_the_panel_which_keeps_the_focus(still: StillApp) -> None:
    async with still.run_test(size=WIDE) as pilot:
        await found(pilot, still)
        side = side_of(still)
        await press(pilot, still, "shift+tab")
        for _ in PanelView:
            assert side.to_focus.has_focus
            await press(pilot, still, "v")


async def test_its_last_line_names_the_views_and_a_click_there_shows_one(still: StillApp) -> None:
    async with still.run_test(size=WIDE) as pilot:
        await found(pilot, still)
        tabs = side_of(still).query_one(ViewTabs)
        line = tabs.render_line(0).text
        assert line.startswith("[passage] why  related  map")
        assert line.rstrip().endswith("v next")
        await pilot.click(tabs, offset=(line.index("map"), 0))
        await until(pilot, lambda: side_of(still).view is PanelView.MAP, "the map")


async def test_its_last_line_names_the_key_of_the_next_view_only_where_that_works(still: StillApp) -> None:
    async with still.run_test(size=WIDE) as pilot:
        await found(pilot, still)
        tabs = side_of(still).query_one(ViewTabs)
        for key, is_named in (("slash", False), ("escape", True), ("shift+tab", True), ("ctrl+o", False)):
            await pilot.press(key)
            await pilot.pause()
            assert tabs.render_line(0).text.rstrip().endswith("v next") == is_named, key


async def test_why_comes_and_goes_by_a_key_while_typing(still: StillApp) -> None:
    async with still.run_test(size=WIDE) as pilot:
        await found(pilot, still)
        await press(pilot, still, "slash", "ctrl+t")
        assert side_of(still).view is PanelView.WHY
        await press(pilot, still, "ctrl+t")
        assert side_of(still).view is PanelView.PASSAGE
        assert still.still.query_one("#query").has_focus


async def test_each_view_is_left_where_it_was(still: StillApp) -> None:
    async with still.run_test(size=WIDE) as pilot:
        await found(pilot, still)
        side = side_of(still)
        await press(pilot, still, "shift+tab", "G")
        top = side.preview.line_at_top
        await press(pilot, still, "v", "v", "j", "j", "right")
        place = side.related.rows.cursor, side.related.why.reason
        await press(pilot, still, "v", "G")
        branch = side.map.cursor
        assert top and place[0] and branch
        await press(pilot, still, "v")
        assert side.preview.line_at_top == top
        await press(pilot, still, "v", "v")
        assert (side.related.rows.cursor, side.related.why.reason) == place
        await press(pilot, still, "v")
        assert side.map.cursor == branch


async def test_what_is_out_of_sight_is_not_asked_for(still: StillApp) -> None:
    async with still.run_test(size=WIDE) as pilot:
        await found(pilot, still)
        side = side_of(still)
        await press(pilot, still, "down")
        assert (side.related.related, side.map.vault_map) == (None, None)
        await press(pilot, still, "v", "v")
        related = side.related.related
        assert related is not None
        await press(pilot, still, "v", "down")
        assert side.related.related is related
        await press(pilot, still, "v", "v", "v")
        assert side.related.related is not related


async def test_without_room_for_two_the_panel_takes_the_place_of_the_list_and_escape_brings_the_list_back(
    still: StillApp,
) -> None:
    async with still.run_test(size=SMALL) as pilot:
        await found(pilot, still)
        side, rows = side_of(still), rows_of(still)
        assert not side.region
        await press(pilot, still, "v")
        assert (side.view, rows.region.area, side.preview.has_focus) == (PanelView.PASSAGE, 0, True)
        await press(pilot, still, "v")
        assert side.view is PanelView.WHY
        await press(pilot, still, "escape")
        assert (side.region.area, rows.has_focus) == (0, True)


async def test_there_why_while_typing_is_closed_by_its_own_key(still: StillApp) -> None:
    async with still.run_test(size=SMALL) as pilot:
        await found(pilot, still)
        await press(pilot, still, "slash", "ctrl+t")
        assert (side_of(still).view, rows_of(still).region.area) == (PanelView.WHY, 0)
        await press(pilot, still, "ctrl+t")
        assert rows_of(still).region.area


async def test_the_pack_takes_its_place_below_the_list_and_gives_it_back(still: StillApp) -> None:
    async with still.run_test(size=NARROW) as pilot:
        await found(pilot, still)
        side = side_of(still)
        await press(pilot, still, "ctrl+o")
        assert not side.display
        await press(pilot, still, "escape")
        assert (side.display, rows_of(still).has_focus) == (True, True)


async def test_the_panel_and_the_pack_stand_together_beside_the_list(still: StillApp) -> None:
    async with still.run_test(size=WIDE) as pilot:
        await found(pilot, still)
        await press(pilot, still, "ctrl+o")
        assert side_of(still).region and still.still.query_one("#packed").region


async def test_what_is_told_of_one_row_gets_more_room_than_a_passage_below_the_list(still: StillApp) -> None:
    async with still.run_test(size=NARROW) as pilot:
        await found(pilot, still)
        before = side_of(still).region.height
        await press(pilot, still, "v", "v")
        assert side_of(still).region.height > before
