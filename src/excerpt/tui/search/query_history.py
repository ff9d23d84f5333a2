"""Keep the queries asked of a vault, and walk back through them.

The file holds what was typed, so only its owner may read it, and it may be deleted at any time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from excerpt.state_files import alone, append_lines, line_of, read_lines, replace_file
from excerpt.tui.search.saved_queries import SavedQueries, change_saved

MOST = 500
"""Queries that are kept of a vault."""


@dataclass(frozen=True, slots=True)
class QueryHistory:
    """`queries`, each once, the newest first."""

    queries: tuple[str, ...] = ()

    @staticmethod
    def of(asked: Iterable[str]) -> QueryHistory:
        """From queries in the order they were asked. One that the next goes on from was only on the way to it."""
        kept: dict[str, None] = {}
        before = ""
        for query in asked:
            if before and query != before and query.startswith(before):
                kept.pop(before, None)
            kept.pop(query, None)
            kept[query] = None
            before = query
        return QueryHistory(tuple(reversed(kept))[:MOST])

    def asked(self, query: str) -> QueryHistory:
        """With a query asked now."""
        return QueryHistory.of((*reversed(self.queries), query))

    def without(self, query: str) -> QueryHistory:
        return QueryHistory(tuple(one for one in self.queries if one != query))

    def having(self, words: str) -> tuple[str, ...]:
        """The queries that have each of some words in them, whatever the case; all, for no words."""
        wanted = words.casefold().split()
        return tuple(query for query in self.queries if all(word in query.casefold() for word in wanted))


@dataclass(frozen=True, slots=True)
class Walk:
    """A walk back through a history: at its newest query with 0, at the empty bar before it with -1."""

    history: QueryHistory
    at: int = -1

    @property
    def query(self) -> str:
        return self.history.queries[self.at] if 0 <= self.at < len(self.history.queries) else ""

    def moved(self, older: int) -> Walk | None:
        """So many queries further back; None past either end."""
        at = self.at + older
        return Walk(self.history, at) if 0 <= at < len(self.history.queries) else None


_COMPACT_BYTES = 200_000
"""The size from which only what the history keeps is written anew: some 4,000 queries."""
_LONGEST = 2_000
"""Characters of a query that is kept; longer ones are pasted texts."""


@dataclass(frozen=True, slots=True)
class _AskedLine:
    query: str


def read_history(file: Path) -> QueryHistory:
    """What was asked; nothing where there is no file. Lines that are no queries are passed over."""
    try:
        read = read_lines(file.read_bytes(), _AskedLine)
        return QueryHistory.of(line.query for line in read if line.query.strip())
    except OSError:
        return QueryHistory()


def add_query(file: Path, query: str) -> None:
    """Keep a query as the newest. Raises OSError where that cannot be done."""
    if not query.strip() or len(query) > _LONGEST:
        return
    with alone(file):
        if append_lines(file, [_AskedLine(query)]) > _COMPACT_BYTES:
            _write(file, read_history(file).queries)


def forget_query(file: Path, query: str) -> None:
    """Keep all but one query. Raises OSError where that cannot be done."""
    with alone(file):
        if file.exists():
            _write(file, read_history(file).without(query).queries)


def _write(file: Path, newest_first: Sequence[str]) -> None:
    replace_file(file, b"".join(line_of(_AskedLine(query)) for query in reversed(newest_first)))


class QueryStore:
    """Of one vault: what was asked is in the file `history`, what was given a name in the file `saved`.

    `failed` is told the reason when the history cannot be kept, once; it is a convenience, and nobody's work.
    """

    def __init__(self, history: Path, saved: Path, failed: Callable[[str], None]) -> None:
        self._history = history
        self._saved = saved
        self._failed = failed
        self._told = False

    async def history(self) -> QueryHistory:
        """What was asked by now, in this app and others."""
        return await asyncio.to_thread(read_history, self._history)

    async def asked(self, query: str) -> None:
        await self._keep(add_query, query)

    async def forget(self, query: str) -> None:
        await self._keep(forget_query, query)

    async def change(self, change: Callable[[SavedQueries], SavedQueries]) -> SavedQueries:
        """Change what is saved by now, and return it. Raises SavedQueriesError."""

        return await asyncio.to_thread(change_saved, self._saved, change)

    async def _keep(self, keep: Callable[[Path, str], None], query: str) -> None:
        try:
            await asyncio.to_thread(keep, self._history, query)
        except OSError as error:
            if not self._told:
                self._told = True
                self._failed(error.strerror or str(error))
