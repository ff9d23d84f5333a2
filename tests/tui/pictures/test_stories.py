"""Pictures of stories at three sizes, and of one state in other themes, without colours, and plain.

Pictures are of the whole screen, not of one module.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual.geometry import Offset
from textual.pilot import Pilot

from excerpt.base.settings import ScreenSettings, Settings
from excerpt.tui.pack.bar import PackBar
from excerpt.tui.pack.dialogs import BudgetDialog, ScopeDialog
from tests.pack.vaults import Vault
from tests.tui.driver import (
    ScriptedApp,
    ScriptedEngine,
    drawn_lines,
    open_index,
    press,
    screen_of,
    settle,
    show_results,
    show_start_list,
    type_query,
    until_screen,
)
from tests.tui.examples import SYNC_NOTES
from tests.tui.pictures.conftest import BOTH, SMALL, Pictures, Steps, themed_app

SIZES = (*BOTH, (200, 60))
PREVIEWED = 0.3
"""Seconds after which a dialog shows the pack that its choice would give."""


PAPER = "Sync/merging.pdf"
PAPER_TEXT = "# How notes are merged\n\nA sync conflict is solved by merging both versions of a note line by line."


async def attachment(pilot: Pilot[None]) -> None:
    """Find a page of a PDF among the notes."""
    await open_index(pilot)
    engine = screen_of(pilot.app).index.engine
    assert isinstance(engine, ScriptedEngine)
    engine.notes = Vault({**SYNC_NOTES, PAPER: PAPER_TEXT}, "o200k")
    pages = engine.notes.fragments_by_path[PAPER]
    engine.notes.fragments_by_path[PAPER] = tuple(replace(page, kind="pdf", place="page=3") for page in pages)
    await type_query(pilot, "sync conflict merging")


async def unanswered(pilot: Pilot[None]) -> None:
    """Ask what no note answers, then pack the nearest passages."""
    await open_index(pilot)
    await type_query(pilot, "binary lentils")
    await pilot.press("escape", "p")
    await settle(pilot)


async def marks(pilot: Pilot[None]) -> None:
    """Mark three passages, drop one in the pack panel, and take the last mark back."""
    await show_results(pilot)
    for key in ("tab", "tab", "tab", "ctrl+o", "x", "u", "u"):
        await pilot.press(key)
        await settle(pilot)


async def budget(pilot: Pilot[None]) -> None:
    """Click on the budget, and type another."""
    await show_results(pilot)
    bar = screen_of(pilot.app).query_one(PackBar)
    await pilot.click(bar, offset=Offset(drawn_lines(bar)[0].index("4,000") + 1, 0))
    await until_screen(pilot, BudgetDialog)
    await pilot.press(*"220")
    await pilot.pause(PREVIEWED)


async def scope_and_format(pilot: Pilot[None]) -> None:
    """Take the next format, and compare the scopes."""
    await show_results(pilot)
    await pilot.press("escape", "f")
    await settle(pilot)
    await pilot.press("s")
    await until_screen(pilot, ScopeDialog)
    await pilot.pause(PREVIEWED)


async def empty_query(pilot: Pilot[None]) -> None:
    """Go down into the list of a query without words."""
    await show_start_list(pilot)
    await press(pilot, "down", "down")


STORIES: list[Steps] = [attachment, unanswered, marks, budget, scope_and_format, empty_query]


@pytest.mark.parametrize("steps", STORIES, ids=lambda steps: steps.__name__)
async def test_story(pictures: Pictures, returning_user: Path, steps: Steps) -> None:
    await pictures(themed_app(returning_user), steps, SIZES)


async def marked(pilot: Pilot[None]) -> None:
    await show_results(pilot)
    await pilot.press("tab", "ctrl+o")
    await settle(pilot)


@pytest.mark.parametrize("theme", ["excerpt-light", "clear-light", "contrast-dark", "letterpress"])
async def test_theme(pictures: Pictures, returning_user: Path, theme: str) -> None:
    await pictures(themed_app(returning_user, theme), marked, SMALL)


async def test_without_colours(pictures: Pictures, returning_user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    await pictures(themed_app(returning_user), marked, SMALL)


async def test_plain_mode(pictures: Pictures, returning_user: Path) -> None:
    await pictures(
        ScriptedApp(returning_user, Settings(screen=ScreenSettings(theme="excerpt-dark", plain=True))), marked, SMALL
    )
