"""Which vault a command works on, its index brought up to date, and the engine on it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from excerpt.cli.printing import ProgressLine, narrate
from excerpt.errors import IndexUnusableError, VaultEmptiedError, VaultError
from excerpt.known_vaults import recent_vaults, too_broad
from excerpt.model import BuildReport
from excerpt.settings import Places, Settings, open_vault, places
from excerpt.text.display import local_time

if TYPE_CHECKING:
    from excerpt.index.snapshot import Snapshot


# --- vaults -----------------------------------------------------------------------------------------------------------
# Which vault a command works on.

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
    from excerpt.known_vaults import recognise, take_down
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


# --- from a vault to the engine ---------------------------------------------------------------------------------------
# From a vault to what a command asks: the index brought up to date, a snapshot of it, the engine on it.

_PATIENCE = 1.0  # seconds a search waits for another process that writes the index, before it takes what is there


def build_index(
    vault: Path,
    settings: Settings,
    where: Places,
    *,
    rebuild: bool = False,
    accept_empty: bool = False,
    accept_all: bool = False,
    wait: float = 10.0,
) -> BuildReport:
    """Bring the vault's index up to date, with progress on stderr where that is a terminal. Raises VaultError for a new
    vault that is a home folder or a disk, unless with `accept_all`."""
    from excerpt.index.build import build

    if not accept_all:
        check_breadth(vault, where)
    line = ProgressLine(sys.stderr)
    try:
        folder = where.index_folder(vault)
        return build(vault, folder, settings, line, rebuild=rebuild, accept_empty=accept_empty, wait=wait)
    finally:
        line.clear()


@contextmanager
def snapshot_of(vault: Path, settings: Settings, where: Places, refresh: bool = True) -> Iterator[Snapshot]:
    """A snapshot of the vault's index, brought up to date before if `refresh`, and mended if it is damaged.

    While another excerpt is indexing the vault, what it has committed so far is used; if no note is left in the vault,
    or the index cannot be written, it is used as it is. That is said on stderr, and so is what was made anew. Raises
    IndexUnusableError where there is nothing to read.
    """
    from excerpt.index.snapshot import Snapshot

    folder = where.index_folder(vault)
    if not refresh:
        snapshot = Snapshot.open(folder, settings)
    else:
        snapshot = _up_to_date(vault, folder, settings) or _built(vault, settings, where)
    try:
        yield snapshot
    finally:
        snapshot.close()


def _up_to_date(vault: Path, folder: Path, settings: Settings) -> Snapshot | None:
    """The index as it is, if there is nothing to build: what tells it is a look at the files alone."""
    from excerpt.index.snapshot import Snapshot

    with suppress(IndexUnusableError), ExitStack() as opened:
        snapshot = Snapshot.open(folder, settings)
        opened.callback(snapshot.close)
        if snapshot.is_up_to_date(vault):
            opened.pop_all()
            return snapshot
    return None


def _built(vault: Path, settings: Settings, where: Places) -> Snapshot:
    from excerpt.index.snapshot import Snapshot

    as_it_is = _brought_up_to_date(vault, settings, where)
    try:
        snapshot = Snapshot.open(where.index_folder(vault), settings)
    except IndexUnusableError:
        _build(vault, settings, where)  # opening found the damage, building mends it
        snapshot = Snapshot.open(where.index_folder(vault), settings)
    if as_it_is:
        narrate(f"{as_it_is} Answering from the index of {local_time(snapshot.status().updated)}.")
    return snapshot


def _brought_up_to_date(vault: Path, settings: Settings, where: Places) -> str:
    """Bring the index up to date; returns why it is to be used as it is, "" where that could be done."""
    try:
        _build(vault, settings, where)
    except IndexUnusableError as unusable:
        return unusable.message
    except VaultEmptiedError as emptied:
        return str(emptied)
    return ""


def _build(vault: Path, settings: Settings, where: Places) -> None:
    report = build_index(vault, settings, where, wait=_PATIENCE)
    if report.rebuilt:
        narrate(f"made anew: {report.rebuilt}")
