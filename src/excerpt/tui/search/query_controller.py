"""What helps with a query: how it is read, what completes it, narrower and wider ones, and those asked before or saved.

The history holds what was typed, so only its owner may read it, and it may be deleted at any time. The file of saved
queries is the user's: it is replaced whole or not at all, and one that cannot be read is never written over.

    {"queries": [{"name": "open conflicts", "query": "conflict status:open"}]}
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from excerpt.errors import ExcerptError
from excerpt.state_files import alone, append_lines, line_of, load_value, read_lines, replace_file, write_value
from excerpt.tui.common.pause import After, Pause
from excerpt.tui.engine_worker import Asks

if TYPE_CHECKING:
    from excerpt.insight.suggest import Completion, Suggestion
    from excerpt.search.interpretation import QueryReading

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


def read_saved(file: Path) -> SavedQueries:
    """What is saved; nothing where there is no file. Raises SavedQueriesError for one that makes no sense."""
    try:
        read = load_value(file, SavedQueries)
    except FileNotFoundError:
        return SavedQueries()
    except (OSError, ValueError) as error:
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
            write_value(file, saved, lasting=True)
            return saved
    except OSError as error:
        raise SavedQueriesError(
            f"{file} cannot be written: {error.strerror or error}.", "What was saved before is still there."
        ) from error


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


_TOKEN = re.compile(r'-?[^\s":]+:"[^"]*"?|-?"[^"]*"?|\S+')
_KEYED = re.compile(r'([^\s":]{1,100}):(?![:/\\\s])"?(.*)', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Begun:
    """The word of a query that the cursor stands in or behind, from `start` to `end` (exclusive).

    Of a filter, `operator` is what stands before the colon, or "#"; "" for a plain word. `value` is what is typed of
    it up to the cursor.
    """

    start: int
    end: int
    operator: str
    value: str
    negated: bool = False


def begun_at(text: str, cursor: int) -> Begun | None:
    """What is being typed at the cursor; None within a phrase."""
    found = next((token for token in _TOKEN.finditer(text) if token.start() < cursor <= token.end()), None)
    if found is None:
        return Begun(cursor, cursor, "", "")
    typed = text[found.start() : cursor]
    negated = typed.startswith("-")
    bare = typed[1:] if negated else typed
    if bare.startswith('"') or (bare.count('"') == 2 and bare.endswith('"')):
        return None
    if bare.startswith("#"):
        return Begun(found.start(), found.end(), "#", bare[1:], negated)
    if keyed := _KEYED.fullmatch(bare):
        return Begun(found.start(), found.end(), keyed[1], keyed[2], negated)
    return Begun(found.start(), found.end(), "", bare, negated)


def completed(text: str, begun: Begun, by: str) -> tuple[str, int]:
    """The query with what was begun completed, and where the cursor stands then. A space ends it, so that the next
    word may follow, but for one that ends in a colon, whose value follows."""
    put = f"{'-' if begun.negated else ''}{by}{'' if by.endswith(':') else ' '}"
    return f"{text[: begun.start]}{put}{text[begun.end :].lstrip()}", begun.start + len(put)


def is_typed(before: str, after: str) -> bool:
    """Whether a text became another by one letter typed or taken off: not put, pasted or recalled."""
    if len(after) == 1:
        return True
    if abs(len(after) - len(before)) != 1:
        return False
    longer, shorter = (after, before) if len(after) > len(before) else (before, after)
    at = next((at for at, letter in enumerate(shorter) if letter != longer[at]), len(shorter))
    return longer[at + 1 :] == shorter[at:]


def without(text: str, start: int, end: int) -> tuple[str, int]:
    """The query without the stretch from `start` to `end` (exclusive), and where the cursor stands then."""
    before, after = text[:start].rstrip(), text[end:].lstrip()
    if before and after:
        return f"{before} {after}", len(before) + 1
    return (f"{before} " if before else after), len(before) + 1 if before else 0


Answer = TypeVar("Answer")

_TYPED = 0.8
"""Seconds a query stands before it is told what of it does not do what it looks like: half of it may be missing."""
_ASKED = 2.0
"""Seconds a query stands with its hits before it belongs to the history: by then, someone reads them."""


class QueryController:
    """Own the queries asked before and a walk through them, the word being completed, what waits for a pause.

    `query` tells the query as it is now; answers to what was asked of another are dropped.
    """

    def __init__(self, engine: Asks, after: After, query: Callable[[], str]) -> None:
        self.history = QueryHistory()
        self.keeper: QueryStore | None = None
        """Keeps what is asked and saved; None until it is known where."""
        self.is_typing = False
        """Whether the query became what it is by one letter."""
        self.begun: Begun | None = None
        """The word being completed."""
        self._engine = engine
        self._query = query
        self._before = ""
        self._walk: Walk | None = None
        self._left_at = -1
        self._doubting = Pause(after)
        self._standing = Pause(after)

    # --- how it is read -----------------------------------------------------------------------------------------------

    def follow(self, query: str) -> None:
        """Take note that the query became this."""
        self.is_typing, self._before = is_typed(self._before, query), query

    def read(
        self, on_read: Callable[[QueryReading], object], is_shown: Callable[[], bool], on_stood: Callable[[], object]
    ) -> None:
        """Have the query read: now, and thoroughly when it has stood for a while, unless it `is_shown` what to type,
        which need not be told that it is missing. Call `on_stood` when it has stood long enough to have been asked."""
        self._doubting.stop()
        self._standing.stop()
        if not self._query().strip():
            self._engine.forget("reading")
            return
        self._ask_reading(on_read, thoroughly=False)

        def doubt() -> None:
            if is_shown():
                self._doubting.begin(_TYPED, doubt)
            else:
                self._ask_reading(on_read, thoroughly=True)

        self._doubting.begin(_TYPED, doubt)
        self._standing.begin(_ASKED, on_stood)

    def _ask_reading(self, on_read: Callable[[QueryReading], object], *, thoroughly: bool) -> None:
        from excerpt.tui.questions import AskReading

        query = self._query()
        self._engine.ask(AskReading(query, thoroughly), self._if_still(query, on_read))

    def _if_still(self, query: str, on_answer: Callable[[Answer], object]) -> Callable[[Answer], object]:
        return lambda answer: on_answer(answer) if query == self._query() else None

    # --- queries asked before -----------------------------------------------------------------------------------------

    async def keep(self, keeper: QueryStore) -> None:
        """Keep what is asked from now on, and know what was asked before."""
        self.keeper = keeper
        await self.look()

    async def look(self) -> None:
        """Know what was asked by now, in this app and others."""
        if self.keeper is not None:
            self.history = await self.keeper.history()

    def note(self) -> Coroutine[None, None, None] | None:
        """Take the query into the history: someone has read its hits, or done something with them. Return what keeps
        it; None where nothing is to be kept."""
        query = self._query().strip()
        if self.keeper is None or not query or query == next(iter(self.history.queries), ""):
            return None
        self.history = self.history.asked(query)
        return self.keeper.asked(query)

    def forget(self, query: str) -> Coroutine[None, None, None] | None:
        """Take a query out of the history; return as `note` does."""
        self.history = self.history.without(query)
        return self.keeper.forget(query) if self.keeper is not None else None

    def walk(self, rows: int, *, as_put: bool) -> tuple[str | None, bool]:
        """Walk through the history from an empty bar, up for negative `rows`; `as_put` says that the query stands as it
        was put there. Return the query to put, None for none; and whether the list is not to be moved instead."""
        query = self._query()
        walk = self._walk if self._walk is not None and query and query == self._walk.query and as_put else None
        if walk is None and (query or rows > 0):
            return None, False
        moved = (walk or Walk(self.history)).moved(-rows)
        if moved is not None:
            self._walk = moved
            return moved.query, True
        if walk is not None and rows > 0:
            self._walk = None
            return None, False
        return None, walk is not None

    @property
    def walks(self) -> bool:
        """Whether the query is as a walk through the history put it."""
        return self._walk is not None and self._query() == self._walk.query

    # --- completion ---------------------------------------------------------------------------------------------------

    def complete_here(self, cursor: int, on_found: Callable[[Sequence[Completion]], object]) -> None:
        """Complete the word at the cursor, whatever it is."""
        self._left_at = -1
        self.complete(begun_at(self._query(), cursor), on_found)

    def complete(self, begun: Begun | None, on_found: Callable[[Sequence[Completion]], object]) -> None:
        """Ask what a word that is begun may be going to be."""
        self.begun = begun
        if begun is None:
            self._engine.forget("complete")
            return
        from excerpt.tui.questions import AskCompletions

        self._engine.ask(AskCompletions(begun.operator, begun.value), on_found)

    def follow_typing(
        self, cursor: int, on_found: Callable[[Sequence[Completion]], object], *, completes: bool
    ) -> bool:
        """Complete what is typed where it begins a filter, or where it `completes` already; False where the
        menu is to be closed."""
        begun = begun_at(self._query(), cursor)
        if begun is None or begun.start != self._left_at:
            self._left_at = -1
        follows = completes and self.begun is not None and begun is not None
        if begun is not None and (begun.operator or (follows and begun.value)) and self._left_at < 0:
            self.complete(begun, on_found)
            return True
        self._engine.forget("complete")
        return False

    def leave_completion(self) -> None:
        """Complete nothing until another word is begun."""
        self._engine.forget("complete")
        self._left_at = self.begun.start if self.begun is not None else -1

    def suggest(self, on_found: Callable[[Sequence[Suggestion]], object]) -> None:
        """Ask for narrower and wider queries."""
        from excerpt.tui.questions import AskSuggestions

        query = self._query()
        self._engine.ask(AskSuggestions(query), self._if_still(query, on_found))
