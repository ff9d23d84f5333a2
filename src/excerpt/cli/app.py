"""Opening the app."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from excerpt.known_vaults import remember_vault
from excerpt.settings import open_vault, places, settings_of


def start_app(path: Path, keep_as_last: bool = True, plain: bool = False) -> None:
    """Open the vault at `path` in the app, `plain` whatever the settings say. Raises VaultError, SettingsError,
    ExcerptError where it cannot be drawn."""
    vault = open_vault(path)
    where = places()
    settings = settings_of(vault, where)
    if plain:
        settings = replace(settings, screen=replace(settings.screen, plain=True))
    if keep_as_last:
        remember_vault(where, vault)
    from excerpt.tui.app import run_app

    run_app(vault, settings, where)
