"""Store the history of queries of a vault, and step back through it.

The file holds what was typed, so only its owner may read it, and it may be deleted at any time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from excerpt.state_files import append_lines, exclusive_lock, line_of, read_lines, replace_file
from excerpt.tui.search.saved_queries import SavedQueries, change_saved

MAX = 500
"""Most queries kept for a vault."""


@dataclass(frozen=True, slots=True)
class QueryHistory:
    """A history of queries: each occurs once, the newest first."""

    queries: tuple[str, ...] = ()

    @staticmethod
    def of(asked: Iterable[str]) -> QueryHistory:
        """Return a history of queries given oldest first.

        A query is dropped if the next one begins with it: it was an intermediate step of typing.
        """
        kept: dict[str, None] = {}
        before = ""
        for query in asked:
            if before and query != before and query.startswith(before):
                kept.pop(before, None)
            kept.pop(query, None)
            kept[query] = None
            before = query
        return QueryHistory(tuple(reversed(kept))[:MAX])

    def asked(self, query: str) -> QueryHistory:
        """Return a copy with a query added as the newest."""
        return QueryHistory.of((*reversed(self.queries), query))

    def without(self, query: str) -> QueryHistory:
        return QueryHistory(tuple(one for one in self.queries if one != query))

    def having(self, words: str) -> tuple[str, ...]:
        """Return the queries that contain all of some words, ignoring case; all queries if there are no words."""
        wanted = words.casefold().split()
        return tuple(query for query in self.queries if all(word in query.casefold() for word in wanted))


@dataclass(frozen=True, slots=True)
class HistoryCursor:
    """A position in the history: 0 is the newest query, -1 the empty bar before it."""

    history: QueryHistory
    at: int = -1

    @property
    def query(self) -> str:
        return self.history.queries[self.at] if 0 <= self.at < len(self.history.queries) else ""

    def moved(self, older: int) -> HistoryCursor | None:
        """Return the position `older` queries further back; None past either end."""
        at = self.at + older
        return HistoryCursor(self.history, at) if 0 <= at < len(self.history.queries) else None


_COMPACT_BYTES = 200_000
"""Size of the file, some 4,000 queries, above which it is rewritten with only the queries that are kept."""
_LONGEST = 2_000
"""Most characters of a query that is kept; longer ones are pasted texts."""


@dataclass(frozen=True, slots=True)
class _AskedLine:
    query: str


def read_history(file: Path) -> QueryHistory:
    """Return the history; an empty one if there is no file. Lines that are not queries are skipped."""
    try:
        read = read_lines(file.read_bytes(), _AskedLine)
        return QueryHistory.of(line.query for line in read if line.query.strip())
    except OSError:
        return QueryHistory()


def add_query(file: Path, query: str) -> None:
    """Add a query as the newest. Raises OSError if the file cannot be written.

    An empty query, or one longer than `_LONGEST`, is not added.
    """
    if not query.strip() or len(query) > _LONGEST:
        return
    with exclusive_lock(file):
        if append_lines(file, [_AskedLine(query)]) > _COMPACT_BYTES:
            _write(file, read_history(file).queries)


def forget_query(file: Path, query: str) -> None:
    """Remove a query from the file. Raises OSError if the file cannot be written."""
    with exclusive_lock(file):
        if file.exists():
            _write(file, read_history(file).without(query).queries)


def _write(file: Path, newest_first: Sequence[str]) -> None:
    replace_file(file, b"".join(line_of(_AskedLine(query)) for query in reversed(newest_first)))


class QueryStore:
    """The query files of one vault: asked queries are in `history`, named ones in `saved`.

    `failed` is called with the reason the first time that the history cannot be written; the error is not raised, as
    losing the history loses no work.
    """

    def __init__(self, history: Path, saved: Path, failed: Callable[[str], None]) -> None:
        self._history = history
        self._saved = saved
        self._failed = failed
        self._told = False

    async def history(self) -> QueryHistory:
        """Return the history, with the queries of other running instances."""
        return await asyncio.to_thread(read_history, self._history)

    async def asked(self, query: str) -> None:
        await self._keep(add_query, query)

    async def forget(self, query: str) -> None:
        await self._keep(forget_query, query)

    async def change(self, change: Callable[[SavedQueries], SavedQueries]) -> SavedQueries:
        """Change the saved queries, and return them. Raises SavedQueriesError."""
        return await asyncio.to_thread(change_saved, self._saved, change)

    async def _keep(self, keep: Callable[[Path, str], None], query: str) -> None:
        try:
            await asyncio.to_thread(keep, self._history, query)
        except OSError as error:
            if not self._told:
                self._told = True
                self._failed(error.strerror or str(error))
