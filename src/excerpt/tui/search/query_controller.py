"""Control what helps with a query: how it is read, what completes it, narrower and wider ones, and its history."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, TypeVar

from excerpt.tui.common.pause import After, Pause
from excerpt.tui.engine_worker import Asks
from excerpt.tui.search.query_history import QueryHistory, QueryStore, Walk
from excerpt.tui.search.query_word import Begun, begun_at, is_typed

if TYPE_CHECKING:
    from excerpt.insight.suggest import Completion, Suggestion
    from excerpt.search.interpretation import QueryReading

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
