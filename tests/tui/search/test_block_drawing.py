"""Whatever is done on the screen, no turn of its event loop computes for long: keys would hang meanwhile."""

from __future__ import annotations

from pathlib import Path

from benchmarks.watchdog import BLOCK, Watchdog

from excerpt.settings import Settings
from excerpt.tui.startup import prefer_the_screen
from tests.tui.still import StillApp

WARM = [*"con", "down", "tab", "unbound-related", "unbound-related", "escape", "ctrl+u"]
"""What is imported and laid out for the first time is no part of what every key costs."""
MAX = 2 * BLOCK
"""Here the engine answers on the loop itself, on a machine that other tests share."""
TYPED = [
    *"sync conflict",
    "down",
    "down",
    "tab",
    "up",
    "pagedown",
    "pageup",
    "unbound-scope",
    "unbound-budget-up",
    "ctrl+s",
]


async def test_no_key_of_the_search_keeps_the_event_loop(tmp_path: Path, home: Path) -> None:
    app = StillApp(tmp_path / "data", Settings())
    async with app.run_test(size=(140, 45)) as pilot:
        prefer_the_screen()
        await pilot.press(*WARM)
        await pilot.pause(0.3)
        with Watchdog(MAX) as watchdog:
            for key in TYPED:
                await pilot.press(key)
    assert watchdog.own_blocks == [], f"a turn of {watchdog.worst.cpu * 1e3:.0f} ms"
