"""Opening the app."""

from __future__ import annotations

from pathlib import Path

from excerpt.cli.vaults import remember_last_vault
from excerpt.settings import load_settings, open_vault, places


def start_app(path: Path, keep_as_last: bool = True) -> None:
    """Open the vault at `path` in the app. Raises VaultError, SettingsError, ExcerptError where it cannot be drawn."""
    vault = open_vault(path)
    where = places()
    settings = load_settings(where.settings_file)
    if keep_as_last:
        remember_last_vault(vault)
    from excerpt.tui.app import run_app

    run_app(vault, settings, where)
