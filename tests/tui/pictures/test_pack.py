"""Pictures of the pack: marks, its panel, choices by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from excerpt.tui.pack.dialogs import BudgetDialog
from tests.tui.driver import open_index, settle, show_results, type_query, until
from tests.tui.pictures.conftest import SMALL, Pictures, Steps, themed_app


async def marked(pilot: Pilot[None]) -> None:
    """Mark two rows, so that no other is in the pack."""
    await show_results(pilot)
    await pilot.press("tab", "tab")
    await settle(pilot)


async def marked_before(pilot: Pilot[None]) -> None:
    """Mark rows that are not among the hits of the next query."""
    await open_index(pilot)
    await type_query(pilot, "litres")
    await pilot.press("tab", "tab", "ctrl+u")
    await type_query(pilot, "sync conflict")


async def decided(pilot: Pilot[None]) -> None:
    """Drop one passage, move one, and set the scope of one."""
    await show_results(pilot)
    await pilot.press("ctrl+o")
    for key in ("shift+down", "s", "s", "enter", "down", "x"):
        await pilot.press(key)
        await settle(pilot)


async def left_out(pilot: Pilot[None]) -> None:
    """Set a budget that fits two of the passages."""
    await show_results(pilot)
    await pilot.press("escape", "b")
    await until(pilot, lambda: isinstance(pilot.app.screen, BudgetDialog), "the dialog")
    await pilot.press(*"220", "enter", "ctrl+o")
    await settle(pilot)


async def empty(pilot: Pilot[None]) -> None:
    await open_index(pilot)
    await pilot.press("ctrl+o")


async def budget_refused(pilot: Pilot[None]) -> None:
    await show_results(pilot)
    await pilot.press("escape", "b")
    await until(pilot, lambda: isinstance(pilot.app.screen, BudgetDialog), "the dialog")
    await pilot.press(*"much", "enter")


STATES: list[Steps] = [marked, marked_before, decided, left_out]


@pytest.mark.parametrize("steps", STATES, ids=lambda steps: steps.__name__)
async def test_pack(pictures: Pictures, returning_user: Path, steps: Steps) -> None:
    await pictures(themed_app(returning_user), steps)


@pytest.mark.parametrize("steps", [empty, budget_refused], ids=lambda steps: steps.__name__)
async def test_pack_at_one_size(pictures: Pictures, returning_user: Path, steps: Steps) -> None:
    await pictures(themed_app(returning_user), steps, SMALL)
