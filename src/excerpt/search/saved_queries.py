"""Read and change the file of queries saved under a name.

The user may edit the file. It is replaced as a whole or not at all, and an unreadable file is never overwritten.

    {"queries": [{"name": "open conflicts", "query": "conflict status:open"}]}
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from excerpt.base.errors import SavedQueriesError
from excerpt.base.state_files import exclusive_lock, load_value, write_value


class SavedQuery(Struct, frozen=True):
    """A query saved under a name."""

    name: str
    query: str


class SavedQueries(Struct, frozen=True):
    """Saved queries, sorted by name ignoring case; names are unique."""

    queries: tuple[SavedQuery, ...] = ()

    def with_query(self, name: str, query: str) -> SavedQueries:
        """Return a copy in which `query` is saved under `name`, replacing a query of the same name, ignoring case."""
        name = " ".join(name.split())
        others = [each for each in self.queries if each.name.casefold() != name.casefold()]
        return SavedQueries(tuple(sorted((*others, SavedQuery(name, query)), key=lambda each: each.name.casefold())))

    def without(self, name: str) -> SavedQueries:
        """Return a copy without the query of that name, ignoring case."""
        return SavedQueries(tuple(each for each in self.queries if each.name.casefold() != name.strip().casefold()))


def read_saved(file: Path) -> SavedQueries:
    """Return the queries saved in `file`; no queries if there is no file.

    Raises SavedQueriesError if the file cannot be read or parsed.
    """
    try:
        content = load_value(file, SavedQueries)
    except FileNotFoundError:
        return SavedQueries()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SavedQueriesError(
            f"{file} cannot be read: {reason}.", "Correct the file or move it away. excerpt leaves it unchanged."
        ) from error
    saved = SavedQueries()
    for each in content.queries:
        if each.name.strip() and each.query.strip():
            saved = saved.with_query(each.name, each.query)
    return saved


def change_saved(file: Path, change: Callable[[SavedQueries], SavedQueries]) -> SavedQueries:
    """Apply `change` to the current content of the file, write the result and return it. Raises SavedQueriesError."""
    try:
        with exclusive_lock(file):
            saved = change(read_saved(file))
            write_value(file, saved, lasting=True)
            return saved
    except OSError as error:
        raise SavedQueriesError(
            f"{file} cannot be written: {error.strerror or error}.", "Queries saved earlier are unchanged."
        ) from error
