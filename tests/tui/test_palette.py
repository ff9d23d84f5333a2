"""Tests of the palette: every action by name, those available here first."""

from __future__ import annotations

from pathlib import Path

from textual.widgets import OptionList

from excerpt.settings import Settings
from excerpt.tui.keys import PLACES
from excerpt.tui.palette import commands
from tests.tui.conftest import until
from tests.tui.still import StillApp


async def test_every_action_of_the_tabs_is_there_once_and_what_cannot_be_done_says_why(
    tmp_path: Path, home: Path
) -> None:
    app = StillApp(tmp_path, Settings())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: len(app.still.query("#memories")) > 0, "the other tabs")
        found = commands(app.screen)
        names = [command.what for command in found]
        assert len(set(names)) == len(names)
        tabs = [place for place in PLACES if place.partition(",")[0] in ("Search", "Overview", "Memory")]
        assert {key.what for place in tabs for key in PLACES[place]} <= set(names)
        assert found[0].what == "List the keys that work here", "F1 is the terminal's own in some"
        here = [command.here for command in found if not command.what.startswith(("Next", "Previous", "Scroll"))]
        assert here == sorted(here, reverse=True)
        assert next(each for each in found if each.what == "Copy the pack").where.startswith("not now: There is noth")


async def test_what_can_be_done_now_comes_before_what_cannot(tmp_path: Path, home: Path) -> None:
    app = StillApp(tmp_path, Settings())
    moves = {key.what for place in PLACES.values() for key in place if key.moves}
    async with app.run_test(size=(80, 24)):
        found = [each for each in commands(app.screen) if each.here and each.what not in moves]
        refused = [each.where.startswith("not now") for each in found]
        assert True in refused and False in refused
        assert refused == sorted(refused)


async def test_a_command_without_a_key_tells_its_place_alone(tmp_path: Path, home: Path) -> None:
    app = StillApp(tmp_path, Settings())
    async with app.run_test(size=(80, 24)):
        assert {each.what: each.where for each in commands(app.screen)}["Type the token budget"] == "here"


async def test_a_dialogs_own_keys_are_in_its_palette(tmp_path: Path, home: Path) -> None:
    app = StillApp(tmp_path, Settings())
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("ctrl+r")
        await until(pilot, lambda: app.screen is not app.still, "the form")
        assert "Keep it" in [command.what for command in commands(app.screen)]
        await pilot.press("ctrl+g")
        await until(pilot, lambda: any(each.option_count for each in app.screen.query(OptionList)), "its list")
