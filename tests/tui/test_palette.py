"""Tests of the palette: every action by name, those available here first."""

from __future__ import annotations

from textual.widgets import OptionList

from excerpt.tui.key_table import CONTEXTS
from excerpt.tui.palette import list_commands
from tests.tui.driver import ScriptedApp, screen_of, until, until_tabs


async def test_every_action_of_the_tabs_is_there_once_and_what_cannot_be_done_says_why(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await until_tabs(pilot)
        found = list_commands(scripted.screen)
        names = [command.what for command in found]
        assert len(set(names)) == len(names)
        tabs = [place for place in CONTEXTS if place.partition(",")[0] in ("Search", "Overview", "Memory")]
        assert {key.what for place in tabs for key in CONTEXTS[place]} <= set(names)
        assert found[0].what == "List the keys that work here", "F1 is the terminal's own in some"
        here = [command.is_active for command in found if not command.what.startswith(("Next", "Previous", "Scroll"))]
        assert here == sorted(here, reverse=True)
        assert next(each for each in found if each.what == "Copy the pack").detail.startswith(
            "not now: Nothing to copy"
        )


async def test_what_can_be_done_now_comes_before_what_cannot(scripted: ScriptedApp) -> None:
    moves = {key.what for place in CONTEXTS.values() for key in place if key.is_movement}
    async with scripted.run_test(size=(80, 24)):
        found = [each for each in list_commands(scripted.screen) if each.is_active and each.what not in moves]
        refused = [each.detail.startswith("not now") for each in found]
        assert True in refused and False in refused
        assert refused == sorted(refused)


async def test_a_command_without_a_key_tells_its_place_alone(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)):
        assert {each.what: each.detail for each in list_commands(scripted.screen)}["Type the token budget"] == "here"


async def test_a_dialogs_own_keys_are_in_its_palette(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await pilot.press("ctrl+r")
        await until(pilot, lambda: scripted.screen is not screen_of(scripted), "the form")
        assert "Keep the memory" in [command.what for command in list_commands(scripted.screen)]
        await pilot.press("ctrl+g")
        await until(pilot, lambda: any(each.option_count for each in scripted.screen.query(OptionList)), "its list")
