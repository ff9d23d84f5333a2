"""An index made from nothing beside the one there is, which answers until the new one takes its place in one step.

The new one is written in a folder below the index's own. Its derived files are moved up, where their names, of higher
generations, are no other file's; then the catalog's pages are written over the old ones in one transaction of SQLite,
so that a reader sees the one or the other. Killed before, the old one stands, and the folder is removed by the next
build.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from excerpt.index.catalog import Catalog
from excerpt.index.files import sync_folder

FOLDER = "anew"


def begin(index: Path) -> Path:
    """An empty folder for the new index. Raises OSError."""
    clear(index)
    (index / FOLDER).mkdir()
    return index / FOLDER


def clear(index: Path) -> None:
    """Remove what was not finished."""
    if (index / FOLDER).exists():
        shutil.rmtree(index / FOLDER, ignore_errors=True)


def take_place(catalog: Catalog, index: Path) -> None:
    """Put the new index, whose `catalog` is open, in the place of the one in `index`. Raises OSError and sqlite3's
    errors, with the old one as it was."""
    folders = set()
    for kind in ("words", "vectors"):
        for file in catalog.files(kind):
            to = index / file.name
            to.parent.mkdir(exist_ok=True)
            (index / FOLDER / file.name).replace(to)
            folders.add(to.parent)
    for folder in folders:
        sync_folder(folder)
    catalog.copy_to(index)


def answering(index: Path) -> int:
    """The generation that answers, and is worth keeping until there is another; 0 if there is none."""
    try:
        with closing(Catalog.open_to_read(index)) as catalog:
            return catalog.generation
    except (sqlite3.DatabaseError, ValueError):
        return 0
