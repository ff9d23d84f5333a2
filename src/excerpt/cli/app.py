"""Opening the app."""

from __future__ import annotations

import sys
from pathlib import Path

from excerpt.cli.vaults import remember_last_vault
from excerpt.errors import ExcerptError
from excerpt.settings import load_settings, open_vault, places


def start_app(path: Path, keep_as_last: bool = True) -> None:
    """Open the vault at `path` in the app. Raises VaultError, SettingsError, and ExcerptError without a terminal."""
    vault = open_vault(path)
    where = places()
    settings = load_settings(where.settings_file)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ExcerptError(
            "The app needs a terminal for its input and output.",
            "In a pipe or a script, use `excerpt search` or `excerpt pack`.",
        )
    if keep_as_last:
        remember_last_vault(vault)
    from excerpt.tui.app import run_app

    run_app(vault, settings, where)
