"""Tests of the palette: every action by name, those available here first."""

from __future__ import annotations

import pytest
from textual.widgets import OptionList

from excerpt.tui.key_table import CONTEXTS
from excerpt.tui.palette import list_commands
from tests.tui.driver import ScriptedApp, drawn_lines, screen_of, until, until_tabs

pytestmark = pytest.mark.programs

TABS = [place for place in CONTEXTS if place.partition(",")[0] in ("Search", "Overview", "Memory")]


async def test_every_action_of_the_tabs_is_there_once_those_of_the_focused_place_first(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        found = list_commands(scripted.screen)
        names = [command.what for command in found]
        assert len(set(names)) == len(names)
        assert {key.what for place in TABS for key in CONTEXTS[place] if not key.is_movement} <= set(names)
        assert found[0].what == "List the keys that work here", "F1 is the terminal's own in some"
        here = [command.is_active for command in found]
        assert here == sorted(here, reverse=True)


async def test_movements_are_no_commands(scripted: ScriptedApp) -> None:
    moves = {key.what for place in CONTEXTS.values() for key in place if key.is_movement}
    assert {"Next passage", "A page down", "Next pane: query, list, panel, pack", "Delete a letter"} <= moves
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        assert not moves & {command.what for command in list_commands(scripted.screen)}


async def test_what_can_be_done_now_comes_before_what_cannot(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)):
        enabled = [each.is_enabled for each in list_commands(scripted.screen) if each.is_active]
        assert True in enabled and False in enabled
        assert enabled == sorted(enabled, reverse=True)


@pytest.mark.parametrize("size", [(80, 24), (140, 45)])
async def test_a_command_is_one_line_that_ends_with_its_keys(scripted: ScriptedApp, size: tuple[int, int]) -> None:
    async with scripted.run_test(size=size) as pilot:
        await pilot.press("ctrl+g")
        await until(pilot, lambda: any(each.option_count for each in scripted.screen.query(OptionList)), "its list")
        await pilot.pause()
        shown = [" ".join(line.split()) for line in drawn_lines(scripted.screen.query_one(OptionList))]
        first = shown.index("List the keys that work here F1")
        assert shown[first + 1 : first + 3] == ["Next strategy ^s", "Remember the passage ^r"]


async def test_a_dialogs_own_keys_are_in_its_palette(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await pilot.press("ctrl+r")
        await until(pilot, lambda: scripted.screen is not screen_of(scripted), "the form")
        assert "Keep the memory" in [command.what for command in list_commands(scripted.screen)]
        await pilot.press("ctrl+g")
        await until(pilot, lambda: any(each.option_count for each in scripted.screen.query(OptionList)), "its list")
