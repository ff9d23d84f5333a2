"""From a vault to what a command asks: the index brought up to date, a snapshot of it, the engine on it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from excerpt.cli.printing import ProgressLine, narrate
from excerpt.cli.vaults import check_breadth
from excerpt.errors import IndexUnusableError, VaultEmptiedError
from excerpt.model import BuildReport
from excerpt.settings import Places, Settings
from excerpt.text.times import local_time

if TYPE_CHECKING:
    from excerpt.index.snapshot import Snapshot


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

    as_it_is = _brought_up_to_date(vault, settings, where) if refresh else ""
    try:
        snapshot = Snapshot.open(where.index_folder(vault), settings)
    except IndexUnusableError:
        if not refresh:
            raise
        _build(vault, settings, where)  # opening found the damage, building mends it
        snapshot = Snapshot.open(where.index_folder(vault), settings)
    if as_it_is:
        narrate(f"{as_it_is} Answering from the index of {local_time(snapshot.status().updated)}.")
    try:
        yield snapshot
    finally:
        snapshot.close()


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
