"""Tests that no callback of the screen's event loop computes for long, since keys would wait meanwhile."""

from __future__ import annotations

import pytest
from benchmarks.watchdog import BLOCK, Watchdog

from excerpt.tui.startup import configure_interpreter
from tests.tui.driver import ScriptedApp

pytestmark = pytest.mark.programs

WARM = [*"con", "down", "tab", "unbound-related", "unbound-related", "escape", "ctrl+u"]
"""Keys typed first, as the first imports and layouts are not part of the cost of every key."""
MAX = 2 * BLOCK
"""Seconds allowed: here the engine runs on the event loop, on a machine shared with other tests."""
TYPED = [
    *"sync conflict",
    "down",
    "down",
    "tab",
    "up",
    "pagedown",
    "pageup",
    "unbound-format",
    "unbound-budget-up",
    "ctrl+s",
]


async def test_no_key_of_the_search_keeps_the_event_loop(scripted: ScriptedApp) -> None:
    async with scripted.run_test(size=(140, 45)) as pilot:
        configure_interpreter()
        await pilot.press(*WARM)
        await pilot.pause(0.3)
        with Watchdog(MAX) as watchdog:
            for key in TYPED:
                await pilot.press(key)
    assert watchdog.own_blocks == [], f"a turn of {watchdog.worst.cpu * 1e3:.0f} ms"
