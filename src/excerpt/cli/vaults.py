"""Find the vault that a command works on, bring its index up to date and open it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from excerpt.cli.printing import ProgressLine, print_message
from excerpt.errors import StoreUnusableError, VaultError
from excerpt.known_vaults import check_breadth, recent_vaults
from excerpt.model import BuildReport
from excerpt.settings import Paths, Settings, open_vault, user_paths

if TYPE_CHECKING:
    from excerpt.api import Vault


# --- vaults -----------------------------------------------------------------------------------------------------------

CommandFunction = TypeVar("CommandFunction", bound=Callable[..., Any])


class VaultParameter(click.Path):
    """The parameter type of a vault's folder.

    An empty name, such as that of an unset variable in a script, is an error: Python would read it as the working
    directory.
    """

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value).strip():
            self.fail("It is empty: name the folder of your notes.", param, ctx)
        return super().convert(value, param, ctx)


def vault_option(command: CommandFunction) -> CommandFunction:
    """Add the option --vault to a command."""
    return click.option(
        "--vault",
        type=VaultParameter(),
        help="The folder of notes.  [default: $EXCERPT_VAULT, else the vault last opened]",
    )(command)


def refresh_option(command: CommandFunction) -> CommandFunction:
    """Add the option --no-refresh to a command that reads the index."""
    return click.option(
        "--no-refresh", is_flag=True, help="Answer from the index as it is, without looking for changed notes."
    )(command)


def resolve_vault(path: Path | None, *, offer: bool = False) -> Path:
    """Return the vault that was given, or else the last one, resolved.

    Data kept for the vault at a former path is moved to it, with a message on stderr; with `offer`, a message also says
    what could be moved. Raises VaultError, also if excerpt's own folders are in the vault.
    """
    from excerpt.known_vaults import detect_move, save_fingerprint
    from excerpt.settings import check_not_in_vault

    named = find_last_vault() if path is None else path
    check_is_folder(named)
    vault, paths = open_vault(named), user_paths()
    check_not_in_vault(vault, paths)
    for sentence in detect_move(paths, vault, offer=offer):
        print_message(sentence)
    save_fingerprint(paths, vault)
    return vault


def check_is_folder(vault: Path) -> None:
    """Raise StoreUnusableError if the vault is the address of a store, for commands that need a folder."""
    from excerpt.store.address import is_address

    if is_address(str(vault)):
        raise StoreUnusableError(
            "This command needs a folder of notes, not a store.",
            "Search a store: `excerpt search --vault ADDRESS QUERY`.",
        )


def find_last_vault() -> Path:
    """Return the vault of $EXCERPT_VAULT, or else the one the app opened last.

    Raises VaultError if there is neither, and a usage error if the variable is set but empty.
    """
    named = os.environ.get("EXCERPT_VAULT")
    if named is not None:
        if not named.strip():
            raise click.UsageError("$EXCERPT_VAULT is empty: set it to the folder of your notes, or unset it.")
        return Path(named)
    opened_vault = recent_vaults(user_paths())
    if not opened_vault:
        raise VaultError(
            "No vault was named and none has been opened yet.",
            "Open one with `excerpt ~/notes`, or look around with `excerpt demo`.",
        )
    return Path(opened_vault[0].path)


# --- from a vault to its index ----------------------------------------------------------------------------------------


def build_index(
    vault: Path,
    settings: Settings,
    paths: Paths,
    *,
    rebuild: bool = False,
    accept_empty: bool = False,
    accept_all: bool = False,
    wait: float = 10.0,
) -> BuildReport:
    """Bring the vault's index up to date, with progress on stderr if that is a terminal.

    Raises VaultError for a new vault that is a home folder or a disk, unless `accept_all`.
    """
    from excerpt.index.build import build

    if not accept_all:
        check_breadth(vault, paths)
    folder, line = paths.index_folder(vault), ProgressLine(sys.stderr)
    return build(vault, folder, settings, line, rebuild=rebuild, accept_empty=accept_empty, wait=wait)


def load_vault(folder: Path | None, *, refresh: bool = True, offer: bool = False) -> Vault:
    """Open the vault that was given, or else the last one, through the API, with notices and progress on stderr."""
    from excerpt.api import open as open_vault_of_api

    path = find_last_vault() if folder is None else folder
    line = ProgressLine(sys.stderr)
    return open_vault_of_api(path, refresh=refresh, on_progress=line, on_notice=print_message, offer=offer)
