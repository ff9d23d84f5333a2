"""The queries asked of a vault before and those the user saved, in their files beside the event loop.

The history holds what was typed, so only its owner may read it, and it may be deleted at any time. The file of saved
queries is the user's: it is replaced whole or not at all, and one that cannot be read is never written over.

    {"queries": [{"name": "open conflicts", "query": "conflict status:open"}]}
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from excerpt.errors import ExcerptError
from excerpt.state_files import alone, ends_line, for_owner, replace_file

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


def read_history(file: Path) -> QueryHistory:
    """What was asked; nothing where there is no file. Lines that are no queries are passed over."""
    try:
        return QueryHistory.of(_parsed(file.read_bytes()))
    except OSError:
        return QueryHistory()


def add_query(file: Path, query: str) -> None:
    """Keep a query as the newest. Raises OSError where that cannot be done."""
    if not query.strip() or len(query) > _LONGEST:
        return
    with alone(file):
        with open(file, "ab+", opener=for_owner) as opened:
            if opened.tell() and not ends_line(opened):
                opened.write(b"\n")  # a process died while it wrote
            opened.write(_line(query))
            size = opened.tell()
        if size > _COMPACT_BYTES:
            _write(file, read_history(file).queries)


def forget_query(file: Path, query: str) -> None:
    """Keep all but one query. Raises OSError where that cannot be done."""
    with alone(file):
        if file.exists():
            _write(file, read_history(file).without(query).queries)


def _write(file: Path, newest_first: Sequence[str]) -> None:
    replace_file(file, b"".join(map(_line, reversed(newest_first))))


def _line(query: str) -> bytes:
    return json.dumps({"query": query}).encode("ascii") + b"\n"


def _parsed(data: bytes) -> Iterator[str]:
    for line in data.split(b"\n"):
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            query = json.loads(line)["query"]
            if isinstance(query, str) and query.strip():
                yield query


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
            _write_saved(file, saved)
            return saved
    except OSError as error:
        raise SavedQueriesError(
            f"{file} cannot be written: {error.strerror or error}.", "What was saved before is still there."
        ) from error


def _write_saved(file: Path, saved: SavedQueries) -> None:
    data = json.dumps({"queries": [asdict(one) for one in saved.queries]}, indent=2, ensure_ascii=False)
    # A query that is not UTF-8 becomes escapes that JSON reads back.
    replace_file(file, data.encode("utf-8", "backslashreplace") + b"\n", lasting=True)


class QueryKeeper:
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
