"""Pictures of one state in other themes, without colours, and plain."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from excerpt.settings import ScreenSettings, Settings
from tests.tui.driver import ScriptedApp, settle, show_results
from tests.tui.pictures.conftest import SMALL, Pictures, themed_app


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


async def test_plain(pictures: Pictures, returning_user: Path) -> None:
    await pictures(
        ScriptedApp(returning_user, Settings(screen=ScreenSettings(theme="excerpt-dark", plain=True))), marked, SMALL
    )
