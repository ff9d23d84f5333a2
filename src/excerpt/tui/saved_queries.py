"""Queries that the user gave names: kept for good, one file a vault in the data folder.

    {"queries": [{"name": "open conflicts", "query": "conflict status:open"}]}

The file is the user's. It is replaced whole or not at all; one that cannot be read is never written over.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from excerpt.errors import ExcerptError
from excerpt.state_files import alone, replace_file


class SavedQueriesError(ExcerptError):
    """The file of saved queries cannot be read or written."""

    title = "Saved queries"


@dataclass(frozen=True, slots=True)
class SavedQuery:
    name: str
    query: str


@dataclass(frozen=True, slots=True)
class SavedQueries:
    """Queries in the order of their names, whatever the case; each name once."""

    queries: tuple[SavedQuery, ...] = ()

    def saved(self, name: str, query: str) -> SavedQueries:
        """With a query under a name, in place of what had that name."""
        name = " ".join(name.split())
        others = [one for one in self.queries if one.name.casefold() != name.casefold()]
        return SavedQueries(tuple(sorted((*others, SavedQuery(name, query)), key=lambda one: one.name.casefold())))

    def without(self, name: str) -> SavedQueries:
        return SavedQueries(tuple(one for one in self.queries if one.name.casefold() != name.strip().casefold()))


@dataclass(frozen=True, slots=True)
class _File:
    queries: tuple[SavedQuery, ...] = ()


def read_saved(file: Path) -> SavedQueries:
    """What is saved; nothing where there is no file. Raises SavedQueriesError for one that makes no sense."""
    try:
        read = msgspec.convert(json.loads(file.read_text(encoding="utf-8")), _File)
    except FileNotFoundError:
        return SavedQueries()
    except (OSError, ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
        reason = getattr(error, "strerror", None) or error
        raise SavedQueriesError(f"{file} cannot be read: {reason}.", "Mend it or move it away; it is left.") from error
    saved = SavedQueries()
    for one in read.queries:
        if one.name.strip() and one.query.strip():
            saved = saved.saved(one.name, one.query)
    return saved


def change_saved(file: Path, change: Callable[[SavedQueries], SavedQueries]) -> SavedQueries:
    """Change what the file holds by now, and return what it holds after. Raises SavedQueriesError."""
    try:
        with alone(file):
            saved = change(read_saved(file))
            _write(file, saved)
            return saved
    except OSError as error:
        raise SavedQueriesError(
            f"{file} cannot be written: {error.strerror or error}.", "What was saved before is still there."
        ) from error


def _write(file: Path, saved: SavedQueries) -> None:
    data = json.dumps({"queries": [asdict(one) for one in saved.queries]}, indent=2, ensure_ascii=False)
    # A query that is not UTF-8 becomes escapes that JSON reads back.
    replace_file(file, data.encode("utf-8", "backslashreplace") + b"\n", lasting=True)
