"""Pictures of one state in other themes, without colours, and plain."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from excerpt.settings import ScreenSettings, Settings
from tests.tui.pictures.conftest import SMALL, Pictures
from tests.tui.pictures.steps import app_on, results, settled
from tests.tui.still import StillApp


async def marked(pilot: Pilot[None]) -> None:
    await results(pilot)
    await pilot.press("tab", "ctrl+o")
    await settled(pilot)


@pytest.mark.parametrize("theme", ["excerpt-light", "clear-light", "contrast-dark", "letterpress"])
async def test_theme(pictures: Pictures, begun: Path, theme: str) -> None:
    await pictures(app_on(begun, theme), marked, SMALL)


async def test_without_colours(pictures: Pictures, begun: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    await pictures(app_on(begun), marked, SMALL)


async def test_plain(pictures: Pictures, begun: Path) -> None:
    await pictures(StillApp(begun, Settings(screen=ScreenSettings(theme="excerpt-dark", plain=True))), marked, SMALL)
