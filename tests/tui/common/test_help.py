"""Tests of the help, which lists the keys."""

from __future__ import annotations

import pytest

from excerpt.tui.common.field import Field
from tests.tui.driver import ScriptedApp, drawn_text, until

pytestmark = pytest.mark.programs


async def test_the_hint_says_that_escape_clears_the_filter_before_it_closes_the_help(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(80, 24)) as pilot:
        await pilot.press("f1")
        await until(pilot, lambda: "esc close" in drawn_text(scripted), "the help")
        await pilot.press(*"pack")
        await until(pilot, lambda: "esc clear" in drawn_text(scripted), "the hint with a filter")
        await pilot.press("escape")
        await until(pilot, lambda: "esc close" in drawn_text(scripted), "the hint without a filter")
        assert scripted.screen.query_one("#keys-filter", Field).value == ""
        await pilot.press("escape")
        await until(pilot, lambda: not scripted.screen.query("#keys-filter"), "the screen behind the help")
