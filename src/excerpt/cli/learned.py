"""`excerpt learned`: what was learned from the user's opens and packs, and forgetting it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from excerpt.cli.printing import narrate, print_json, put
from excerpt.cli.vaults import chosen_vault, vault_option
from excerpt.errors import ExcerptError
from excerpt.settings import places
from excerpt.text.visible import visible_line

if TYPE_CHECKING:
    from excerpt.search.use import Event, UseLog


@click.command()
@vault_option
@click.option("--clear", is_flag=True, help="Forget all of it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(*, vault: Path | None, clear: bool, as_json: bool) -> int:
    """Show which notes you opened and copied in the app, and what they gain by it, the most used first.

    Times and paths are all that is kept, in one file in the state folder.
    """
    from excerpt.search.use import UseLog, by_note, written_time

    chosen, where = chosen_vault(vault), places()
    log = UseLog(where.use_file(chosen))
    if clear:
        return _clear(log, as_json)
    events = log.events()
    notes = by_note(_at_home(events, where.index_folder(chosen)))
    if as_json:
        rows = [{**asdict(note), "last": written_time(note.last)} for note in notes]
        print_json({"vault": str(chosen), "file": str(log.file), "events": len(events), "notes": rows})
    for note in () if as_json else notes:
        did = ", ".join(_counted(count, what) for count, what in ((note.opens, "open"), (note.packs, "pack")) if count)
        put(visible_line(f"{note.score:.2f}  {written_time(note.last)[:10]}  {did:<18}  {note.path}"))
    narrate(
        f"{_counted(len(notes), 'note')}, kept in {log.file}." if notes else "nothing was learned in this vault yet."
    )
    return 0 if notes else 1


def _at_home(events: Sequence[Event], index: Path) -> Sequence[Event]:
    """The events with the paths that their notes have in the index as it is; as they are where there is none."""
    import sqlite3

    from excerpt.index import moves
    from excerpt.index.catalog import Catalog
    from excerpt.search.use import at_home

    try:
        with closing(Catalog.open_to_read(index)) as catalog:
            return at_home(events, (), lambda path: moves.moved(catalog.rows, path))
    except (sqlite3.DatabaseError, OSError):
        return events


def _clear(log: UseLog, as_json: bool) -> int:
    try:
        forgotten = log.clear()
    except OSError as error:
        raise ExcerptError(
            f"{log.file} cannot be removed: {error.strerror or error}.", "Check the permissions of its folder."
        ) from error
    if as_json:
        print_json({"forgotten": forgotten})
    else:
        put(f"Forgot {_counted(forgotten, 'event')}." if forgotten else "There was nothing to forget.")
    return 0


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
