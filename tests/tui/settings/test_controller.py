"""Tests of the settings in effect and of messages about the files, without a screen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from excerpt.base.errors import SettingsError
from excerpt.base.kinds import Strategy
from excerpt.base.settings import Paths, Settings, load_vault_settings
from excerpt.tui.settings.controller import SettingsController


async def start_controller(vault: Path, user_paths: Paths, **files: str) -> SettingsController:
    user_paths.config.mkdir(parents=True)
    for name, text in files.items():
        (user_paths.config / f"{name}.toml").write_text(text)
    controller = SettingsController(vault, load_vault_settings(vault, user_paths), user_paths)
    await controller.start_watching()
    return controller


async def test_a_choice_for_this_session_applies_until_a_file_changes_that_setting(
    vault: Path, user_paths: Paths
) -> None:
    controller = await start_controller(vault, user_paths, excerpt="[search]\nlimit = 7\n")
    chosen = controller.in_effect.search
    controller.in_effect = replace(controller.in_effect, search=replace(chosen, strategy=Strategy.SEMANTIC))
    user_paths.settings_file.write_text("[search]\nlimit = 9\n")
    await controller.apply_file_changes()
    assert (controller.in_effect.search.limit, controller.in_effect.search.strategy) == (9, Strategy.SEMANTIC)
    user_paths.settings_file.write_text('[search]\nlimit = 9\nstrategy = "proximity"\n')
    await controller.apply_file_changes()
    assert controller.in_effect.search.strategy is Strategy.PROXIMITY


async def test_an_unchanged_settings_file_is_not_read_again(vault: Path, user_paths: Paths) -> None:
    controller = await start_controller(vault, user_paths)
    assert not await controller.have_files_changed()
    user_paths.vault_settings_file(vault).parent.mkdir(parents=True, exist_ok=True)
    user_paths.vault_settings_file(vault).write_text("[pack]\nbudget = 777\n")
    assert await controller.have_files_changed()
    assert await controller.apply_file_changes() == Settings()
    assert not await controller.have_files_changed()
    assert controller.in_effect.pack.budget == 777


async def test_an_invalid_settings_file_is_reported_once_and_the_settings_are_kept(
    vault: Path, user_paths: Paths
) -> None:
    controller = await start_controller(vault, user_paths)
    user_paths.settings_file.write_text("[pack]\nbugdet = 777\n")
    with pytest.raises(SettingsError, match=r"pack\.budget"):
        await controller.apply_file_changes()
    assert controller.in_effect == Settings()
    assert not await controller.have_files_changed()


async def test_a_settings_file_is_created_without_settings_and_never_overwritten(
    vault: Path, user_paths: Paths
) -> None:
    controller = await start_controller(vault, user_paths)
    controller.create_file(user_paths.settings_file)
    assert user_paths.settings_file.read_text().startswith("#:schema")
    assert load_vault_settings(vault, user_paths) == Settings()
    user_paths.settings_file.write_text("# mine\n")
    controller.create_file(user_paths.settings_file)
    assert user_paths.settings_file.read_text() == "# mine\n"
