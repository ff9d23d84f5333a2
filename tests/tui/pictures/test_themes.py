"""Pictures of the same state in every theme, and without colours."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from excerpt.settings import ScreenSettings, Settings
from excerpt.tui.themes import theme_files
from tests.tui.pictures.conftest import Pictures
from tests.tui.pictures.steps import app_on, results, settled
from tests.tui.still import StillApp

ONE_SIZE = ((120, 36),)


async def marked(pilot: Pilot[None]) -> None:
    await results(pilot)
    await pilot.press("tab", "tab")
    await settled(pilot)


@pytest.mark.parametrize("theme", sorted(theme_files(Path("no own ones"))))
async def test_theme(pictures: Pictures, tmp_path: Path, theme: str) -> None:
    await pictures(app_on(tmp_path, theme), marked, ONE_SIZE)


async def test_without_colours(pictures: Pictures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    await pictures(app_on(tmp_path), marked, ONE_SIZE)


async def test_plain(pictures: Pictures, tmp_path: Path) -> None:
    settings = Settings(screen=ScreenSettings(theme="excerpt-dark", plain=True))
    await pictures(StillApp(tmp_path, settings), marked)
