"""Which vault a command works on."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import click

from excerpt.errors import VaultError
from excerpt.settings import places

Command = TypeVar("Command", bound=Callable[..., Any])

DEMO = Path(__file__).resolve().parent.parent / "demo"


def vault_option(command: Command) -> Command:
    """The --vault that every command takes."""
    return click.option(
        "--vault",
        type=click.Path(path_type=Path),
        envvar="EXCERPT_VAULT",
        help="The folder of notes.  [default: $EXCERPT_VAULT, else the vault last opened]",
    )(command)


def refresh_option(command: Command) -> Command:
    """The --no-refresh of the commands that read the index."""
    return click.option(
        "--no-refresh", is_flag=True, help="Answer from the index as it is, without looking for changed notes."
    )(command)


def chosen_vault(given: Path | None) -> Path:
    """The vault that was given, or else the last one, resolved. Raises VaultError."""
    from excerpt.settings import open_vault

    return open_vault(last_vault() if given is None else given)


def last_vault() -> Path:
    """The vault of $EXCERPT_VAULT, else the one the app opened last. Raises VaultError where there is neither."""
    named = os.environ.get("EXCERPT_VAULT")
    if named:
        return Path(named)
    try:
        return Path(_last_vault_file().read_text(encoding="utf-8").rstrip("\n"))
    except (OSError, UnicodeDecodeError):
        raise VaultError(
            "No vault was named and none has been opened yet.",
            "Open one with `excerpt ~/notes`, or look around with `excerpt demo`.",
        ) from None


def remember_last_vault(vault: Path) -> None:
    """Make `vault` the one that `excerpt` alone opens. A state folder that cannot be written is no reason to stop."""
    file = _last_vault_file()
    fresh = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text(f"{vault}\n", encoding="utf-8")
        fresh.replace(file)
    except (OSError, UnicodeEncodeError):
        with suppress(OSError):
            fresh.unlink()


def _last_vault_file() -> Path:
    return places().state / "last-vault"
