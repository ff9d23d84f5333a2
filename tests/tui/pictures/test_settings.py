"""Pictures of the settings: for all vaults, for this one, and what is wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from excerpt.settings import PackSettings, ScreenSettings, Settings
from excerpt.tui.setting_rows import Origin
from excerpt.tui.widgets.setting_list import SettingList
from tests.tui.conftest import until
from tests.tui.pictures.conftest import Pictures
from tests.tui.pictures.steps import Steps, app_on, results, still
from tests.tui.still import StillApp


async def settings(pilot: Pilot[None]) -> None:
    await results(pilot)
    await pilot.press("alt+p")
    await until(pilot, lambda: bool(pilot.app.screen.query_one(SettingList).rows), "the settings")


async def settings_of_this_vault(pilot: Pilot[None]) -> None:
    """One is set for all vaults and overruled, one only for all, one only here."""
    _, _, places = still(pilot)._still
    places.settings_file.parent.mkdir(parents=True, exist_ok=True)
    places.settings_file.write_text('[pack]\nbudget = 12000\n[screen]\neditor = "vi"\n')
    await settings(pilot)
    await pilot.press("v", "j", "right")
    await until(
        pilot,
        lambda: any(row.origin is Origin.ONE for row in pilot.app.screen.query_one(SettingList).rows),
        "the change",
    )


async def settings_typed_wrong(pilot: Pilot[None]) -> None:
    await settings(pilot)
    rows = pilot.app.screen.query_one(SettingList)
    rows.cursor = next(at for at, row in enumerate(rows.rows) if row.field.label == "Budget")
    await pilot.press("enter", *"many", "enter")


async def settings_last(pilot: Pilot[None]) -> None:
    await settings(pilot)
    await pilot.press("G")


STATES: list[Steps] = [settings, settings_typed_wrong, settings_last]


@pytest.mark.parametrize("steps", STATES, ids=lambda steps: steps.__name__)
async def test_settings(pictures: Pictures, tmp_path: Path, steps: Steps) -> None:
    await pictures(app_on(tmp_path), steps)


async def test_settings_of_this_vault(pictures: Pictures, tmp_path: Path) -> None:
    said = Settings(pack=PackSettings(budget=12_000), screen=ScreenSettings(editor="vi"))
    await pictures(StillApp(tmp_path, said), settings_of_this_vault)
