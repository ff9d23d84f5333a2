"""The queries that were asked of a vault before, as the query bar gives them back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

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
