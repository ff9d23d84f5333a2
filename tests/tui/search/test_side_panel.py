"""Tests of the side panel: four views of the selection, one visible, each keeping its scroll position."""

from __future__ import annotations

import pytest

from excerpt.tui.search.side_panel import PanelView, ViewTabs
from tests.tui.driver import AppPilot, ScriptedApp, hit_list_of, press, screen_of, side_of, until

pytestmark = pytest.mark.programs

SMALL, NARROW, WIDE = (60, 15), (80, 24), (140, 36)


async def search_and_focus_list(pilot: AppPilot) -> None:
    """Type a query, and focus the list of hits."""
    await pilot.press(*"sync")
    await until(pilot, lambda: side_of(pilot.app).passages.window is not None, "the passage")
    await pilot.press("escape")
    await pilot.pause()


@pytest.mark.parametrize("size", [NARROW, WIDE])
async def test_a_key_in_the_list_cycles_through_the_views_and_keeps_the_focus(
    scripted: ScriptedApp, size: tuple[int, int]
) -> None:
    async with scripted.run_test(size=size) as pilot:
        await search_and_focus_list(pilot)
        side, seen = side_of(scripted), []
        for _ in PanelView:
            seen.append(side.view)
            assert [one.id for one in side.children if one.region and one.id] == [side._current_view.id]
            await press(pilot, "v")
        assert seen == list(PanelView)
        assert (side.view, hit_list_of(scripted).has_focus) == (PanelView.PASSAGE, True)


async def test_the_key_pressed_in_the_panel_cycles_through_its_views_and_keeps_the_focus(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=WIDE) as pilot:
        await search_and_focus_list(pilot)
        side = side_of(scripted)
        await press(pilot, "shift+tab")
        for _ in PanelView:
            assert side.focus_target.has_focus
            await press(pilot, "v")


async def test_the_last_line_names_the_views_and_a_click_shows_one(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=WIDE) as pilot:
        await search_and_focus_list(pilot)
        tabs = side_of(scripted).query_one(ViewTabs)
        line = tabs.render_line(0).text
        assert line.startswith("[passage] why  related  map")
        assert "▎ hit  ┃ in the pack" in line
        assert line.rstrip().endswith("v next")
        await pilot.click(tabs, offset=(line.index("map"), 0))
        await until(pilot, lambda: side_of(scripted).view is PanelView.MAP, "the map")


async def test_the_last_line_names_the_key_of_the_next_view_only_if_it_works(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=WIDE) as pilot:
        await search_and_focus_list(pilot)
        tabs = side_of(scripted).query_one(ViewTabs)
        for key, is_named in (("slash", False), ("escape", True), ("shift+tab", True), ("ctrl+o", False)):
            await pilot.press(key)
            await pilot.pause()
            assert tabs.render_line(0).text.rstrip().endswith("v next") == is_named, key


async def test_why_is_toggled_by_a_key_while_typing(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=WIDE) as pilot:
        await search_and_focus_list(pilot)
        await press(pilot, "slash", "ctrl+t")
        assert side_of(scripted).view is PanelView.WHY
        await press(pilot, "ctrl+t")
        assert side_of(scripted).view is PanelView.PASSAGE
        assert screen_of(scripted).query_one("#query").has_focus


async def test_each_view_keeps_its_state(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=WIDE) as pilot:
        await search_and_focus_list(pilot)
        side = side_of(scripted)
        await press(pilot, "shift+tab", "G")
        top = side.preview.line_at_top
        await press(pilot, "v", "v", "j", "j", "right")
        place = side.related.rows.cursor, side.related.why.reason
        await press(pilot, "v", "G")
        branch = side.map.cursor
        assert top and place[0] and branch
        await press(pilot, "v")
        assert side.preview.line_at_top == top
        await press(pilot, "v", "v")
        assert (side.related.rows.cursor, side.related.why.reason) == place
        await press(pilot, "v")
        assert side.map.cursor == branch


async def test_a_hidden_view_is_not_requested(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=WIDE) as pilot:
        await search_and_focus_list(pilot)
        side = side_of(scripted)
        await press(pilot, "down")
        assert (side.related.related, side.map.vault_map) == (None, None)
        await press(pilot, "v", "v")
        related = side.related.related
        assert related is not None
        await press(pilot, "v", "down")
        assert side.related.related is related
        await press(pilot, "v", "v", "v")
        assert side.related.related is not related


async def test_without_space_for_two_the_panel_replaces_the_list_until_escape(
    scripted: ScriptedApp,
) -> None:
    async with scripted.run_test(size=SMALL) as pilot:
        await search_and_focus_list(pilot)
        side, rows = side_of(scripted), hit_list_of(scripted)
        assert not side.region
        await press(pilot, "v")
        assert (side.view, rows.region.area, side.preview.has_focus) == (PanelView.PASSAGE, 0, True)
        await press(pilot, "v")
        assert side.view is PanelView.WHY
        await press(pilot, "escape")
        assert (side.region.area, rows.has_focus) == (0, True)


async def test_in_place_of_the_list_why_is_closed_by_its_own_key(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=SMALL) as pilot:
        await search_and_focus_list(pilot)
        await press(pilot, "slash", "ctrl+t")
        assert (side_of(scripted).view, hit_list_of(scripted).region.area) == (PanelView.WHY, 0)
        await press(pilot, "ctrl+t")
        assert hit_list_of(scripted).region.area


async def test_the_pack_replaces_the_panel_below_the_list_until_the_pack_is_closed(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=NARROW) as pilot:
        await search_and_focus_list(pilot)
        side = side_of(scripted)
        await press(pilot, "ctrl+o")
        assert not side.display
        await press(pilot, "escape")
        assert (side.display, hit_list_of(scripted).has_focus) == (True, True)


async def test_panel_and_pack_are_both_beside_the_list(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=WIDE) as pilot:
        await search_and_focus_list(pilot)
        await press(pilot, "ctrl+o")
        assert side_of(scripted).region and screen_of(scripted).query_one("#packed").region


async def test_views_of_one_row_get_more_space_than_a_passage_below_the_list(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 40)) as pilot:
        await search_and_focus_list(pilot)
        before = side_of(scripted).region.height
        await press(pilot, "v", "v")
        assert side_of(scripted).region.height > before


@pytest.mark.parametrize("view", ["related", "map"])
async def test_a_view_closed_by_its_key_gives_the_focus_back_to_the_query(scripted: ScriptedApp, view: str) -> None:
    async with scripted.run_test(size=(140, 45)) as pilot:
        await search_and_focus_list(pilot)
        await press(pilot, "slash", f"unbound-{view}")
        assert side_of(scripted).has_focus_within
        await press(pilot, f"unbound-{view}")
        assert screen_of(scripted).query_one("#query").has_focus
