"""Lists the notes and tags of an index for shell completion, without loading what a search needs.

It is a module of its own, since a completion has to answer while a key is held.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path

_CATALOG_FILE = "catalog.sqlite"
"""The same as `catalog.CATALOG_FILE`, whose module takes .1 s to import."""


def list_note_paths(index: Path) -> list[str]:
    """Return the paths of all notes, sorted; [] if there is no readable index."""
    return _read_column(index, "SELECT path FROM notes ORDER BY path")


def list_tags(index: Path) -> list[str]:
    """Return all tags of the notes, sorted; [] if there is no readable index."""
    return _read_column(index, "SELECT DISTINCT value FROM labels WHERE kind = 'tag' ORDER BY value")


def _read_column(index: Path, query: str) -> list[str]:
    file = index / _CATALOG_FILE
    with suppress(OSError, sqlite3.Error, ValueError):
        if file.is_file():
            with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=0)) as catalog:
                return [str(value) for (value,) in catalog.execute(query)]
    return []
