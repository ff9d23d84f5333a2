"""Which vault a command works on."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from excerpt.cli.printing import narrate
from excerpt.errors import VaultError
from excerpt.known_vaults import recent_vaults, too_broad
from excerpt.settings import Places, open_vault, places

Command = TypeVar("Command", bound=Callable[..., Any])


class VaultFolder(click.Path):
    """The folder of a vault. An empty name, such as that of a variable which is not set in a script, is an error: to
    Python it would be the working directory."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value).strip():
            self.fail("It is empty: name the folder of your notes.", param, ctx)
        return super().convert(value, param, ctx)


def vault_option(command: Command) -> Command:
    """The --vault that every command takes."""
    return click.option(
        "--vault",
        type=VaultFolder(),
        help="The folder of notes.  [default: $EXCERPT_VAULT, else the vault last opened]",
    )(command)


def refresh_option(command: Command) -> Command:
    """The --no-refresh of the commands that read the index."""
    return click.option(
        "--no-refresh", is_flag=True, help="Answer from the index as it is, without looking for changed notes."
    )(command)


def chosen_vault(given: Path | None, *, offer: bool = False) -> Path:
    """The vault that was given, or else the last one, resolved. Raises VaultError, also where excerpt's own folders are
    in it.

    What was kept of it in another place is taken over, and told on stderr; with `offer` also what could be.
    """
    from excerpt.moved_vaults import recognise, take_down
    from excerpt.settings import check_apart

    vault, where = open_vault(last_vault() if given is None else given), places()
    check_apart(vault, where)
    for sentence in recognise(where, vault, offer=offer):
        narrate(sentence)
    take_down(where, vault)
    return vault


def check_breadth(vault: Path, where: Places) -> None:
    """Raises VaultError for a folder of much else than notes that has never been opened or indexed."""
    try:
        home = Path.home().resolve()
    except RuntimeError:  # there is none
        return
    if named := too_broad(where, vault, home):
        raise VaultError(
            f"{vault} is {named}: every note below it would be indexed.",
            "Name the folder of your notes, or insist with `excerpt index --accept-all`, naming this one.",
        )


def last_vault() -> Path:
    """The vault of $EXCERPT_VAULT, else the one the app opened last. Raises VaultError where there is neither, and a
    usage error where the variable is set and empty."""
    named = os.environ.get("EXCERPT_VAULT")
    if named is not None:
        if not named.strip():
            raise click.UsageError("$EXCERPT_VAULT is empty: set it to the folder of your notes, or unset it.")
        return Path(named)
    opened = recent_vaults(places())
    if not opened:
        raise VaultError(
            "No vault was named and none has been opened yet.",
            "Open one with `excerpt ~/notes`, or look around with `excerpt demo`.",
        )
    return Path(opened[0].path)
