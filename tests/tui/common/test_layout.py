"""Tests of the panes of the running app: keys, mouse, one-line rows and their content."""

from __future__ import annotations

import pytest

from excerpt.tui.common.split import Split, Splitter
from tests.tui.driver import (
    ScriptedApp,
    hit_list_of,
    press,
    preview_of,
    screen_of,
    settle,
    type_query,
    type_text,
    until,
)

pytestmark = pytest.mark.programs


async def test_the_border_is_dragged_with_the_mouse_beside_and_below(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(120, 30)) as pilot:
        await type_text(pilot, "sync")
        splitter = screen_of(scripted).query_one("#body Splitter", Splitter)
        await until(pilot, lambda: splitter.region.width == 1, "the border")
        await pilot.pause()
        await pilot.mouse_down(offset=(splitter.region.x, 10))
        await pilot.hover(offset=(80, 12))
        await pilot.mouse_up(offset=(80, 12))
        await until(pilot, lambda: splitter.region.x == 80, "the border where it was dragged to")
        await pilot.resize_terminal(90, 30)
        await pilot.pause()
        await pilot.mouse_down(offset=(50, preview_of(scripted).region.y))
        await pilot.hover(offset=(50, 8))
        await pilot.mouse_up(offset=(50, 8))
        await pilot.pause()
        assert preview_of(scripted).region.y == 8


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 30), (200, 60)])
async def test_nothing_moves_where_hits_give_way_to_other_hits(scripted: ScriptedApp, size: tuple[int, int]) -> None:
    async with scripted.run_test(size=size) as pilot:
        await type_text(pilot, "s")
        await until(pilot, lambda: bool(hit_list_of(scripted).region), "the list to be laid out")
        stood = hit_list_of(scripted).region, preview_of(scripted).region
        for letter in "ync conflict":
            await type_text(pilot, letter)
            assert (hit_list_of(scripted).region, preview_of(scripted).region) == stood


async def test_a_passage_that_has_no_room_any_more_gives_the_focus_away(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(120, 30)) as pilot:
        await type_text(pilot, "sync")
        preview_of(scripted).focus()
        await pilot.pause()
        await pilot.resize_terminal(60, 15)
        await pilot.pause()
        assert preview_of(scripted).region.area == 0
        assert scripted.focused is not None
        assert scripted.focused is not preview_of(scripted)


async def test_the_passage_that_takes_the_place_of_the_lines_takes_the_focus_from_them(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(60, 15)) as pilot:
        await type_text(pilot, "sync")
        await pilot.press("f3", "escape", "v")
        await pilot.pause()
        assert scripted.focused is screen_of(scripted).query_one("#overview-passage")


async def test_the_height_of_the_list_that_was_dragged_stays_while_rows_are_selected(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await type_query(pilot, "sync")
        body, rows = screen_of(scripted).query_one("#body", Split), hit_list_of(scripted)
        assert rows.size.height == 7
        body.resize(0.6)
        await pilot.pause()
        await press(pilot, "down")
        await settle(pilot)
        assert rows.size.height == 12
