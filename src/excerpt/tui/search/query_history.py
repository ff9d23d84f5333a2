"""Store the history of the queries of a vault, and step through that history.

The file has what the user typed, so only its owner may read the file. It may be deleted at any time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from excerpt.base.state_files import append_lines, encode_line, exclusive_lock, parse_lines, read_limited, replace_file

if TYPE_CHECKING:
    from excerpt.search.saved_queries import SavedQueries

MAX_QUERIES = 500
"""Maximum queries kept for a vault; older ones are dropped."""


class QueryHistory(Struct, frozen=True):
    """The queries of a history, newest first, each of them once."""

    queries: tuple[str, ...] = ()

    @staticmethod
    def from_queries(queries: Iterable[str]) -> QueryHistory:
        """Return the history of queries that are given oldest first.

        A query is dropped if the following query begins with its text, because it was half typed then.
        """
        unique: dict[str, None] = {}
        previous = ""
        for query in queries:
            if previous and query != previous and query.startswith(previous):
                unique.pop(previous, None)
            unique.pop(query, None)
            unique[query] = None
            previous = query
        return QueryHistory(tuple(reversed(unique))[:MAX_QUERIES])

    def with_query(self, query: str) -> QueryHistory:
        """Return a copy with a query added as the newest."""
        return QueryHistory.from_queries((*reversed(self.queries), query))

    def without(self, query: str) -> QueryHistory:
        return QueryHistory(tuple(each for each in self.queries if each != query))

    def filter_by(self, text: str) -> tuple[str, ...]:
        """Return the queries that contain every word of `text`, ignoring case; all queries if `text` has no words."""
        parts = text.casefold().split()
        return tuple(query for query in self.queries if all(word in query.casefold() for word in parts))


class HistoryCursor(Struct, frozen=True):
    """A position in the history: index 0 is the newest query, -1 stands for the empty query bar."""

    history: QueryHistory
    index: int = -1

    @property
    def query(self) -> str:
        return self.history.queries[self.index] if 0 <= self.index < len(self.history.queries) else ""

    def step(self, older: int) -> HistoryCursor | None:
        """Return the position that is `older` queries further back (forward if negative); None beyond either end."""
        index = self.index + older
        return HistoryCursor(self.history, index) if 0 <= index < len(self.history.queries) else None


_COMPACT_ABOVE_BYTES = 200_000
"""Size of the file, some 4,000 queries, above which the file is rewritten with the newest `MAX_QUERIES` queries."""
_MAX_FILE_BYTES = 10 * _COMPACT_ABOVE_BYTES
_MAX_QUERY_CHARACTERS = 2_000
"""Maximum characters of a query that is stored; longer queries are pasted texts."""


class _QueryLine(Struct, frozen=True):
    query: str


def read_history(file: Path) -> QueryHistory:
    """Return the history in `file`, or an empty one if the file cannot be read. Invalid lines are skipped."""
    try:
        lines = parse_lines(read_limited(file, _MAX_FILE_BYTES), _QueryLine)
        return QueryHistory.from_queries(line.query for line in lines if line.query.strip())
    except OSError:
        return QueryHistory()


def add_query(file: Path, query: str) -> None:
    """Add a query to `file` as the newest. Raises OSError if the file cannot be written.

    An empty query, or one longer than `_MAX_QUERY_CHARACTERS`, is not added.
    """
    if not query.strip() or len(query) > _MAX_QUERY_CHARACTERS:
        return
    with exclusive_lock(file):
        if append_lines(file, [_QueryLine(query)]) > _COMPACT_ABOVE_BYTES:
            _replace_with(file, read_history(file).queries)


def forget_query(file: Path, query: str) -> None:
    """Remove a query from the file. Raises OSError if the file cannot be written."""
    with exclusive_lock(file):
        if file.exists():
            _replace_with(file, read_history(file).without(query).queries)


def _replace_with(file: Path, newest_first: Sequence[str]) -> None:
    replace_file(file, b"".join(encode_line(_QueryLine(query)) for query in reversed(newest_first)))


class QueryStore:
    """The query files of one vault.

    The history is in file `history`, queries saved under a name are in file `saved`, and which of their hits the user
    has seen is in file `seen_hits`. `on_failure` is called with the reason the first time that the history cannot be
    written. The error is not raised, because losing the history loses no work.
    """

    def __init__(self, history: Path, saved: Path, seen_hits: Path, on_failure: Callable[[str], None]) -> None:
        self._history = history
        self._saved = saved
        self.seen_hits = seen_hits
        self._on_failure = on_failure
        self._has_reported = False

    async def history(self) -> QueryHistory:
        """Return the history in the file, to which other instances of excerpt may have added queries."""
        return await asyncio.to_thread(read_history, self._history)

    async def add(self, query: str) -> None:
        await self._store_change(add_query, query)

    async def forget(self, query: str) -> None:
        await self._store_change(forget_query, query)

    async def change(self, change: Callable[[SavedQueries], SavedQueries]) -> SavedQueries:
        """Apply `change` to the saved queries, and return the result. Raises SavedQueriesError if that fails."""
        from excerpt.search.saved_queries import change_saved

        return await asyncio.to_thread(change_saved, self._saved, change)

    async def _store_change(self, operation: Callable[[Path, str], None], query: str) -> None:
        try:
            await asyncio.to_thread(operation, self._history, query)
        except OSError as error:
            if not self._has_reported:
                self._has_reported = True
                self._on_failure(error.strerror or str(error))
