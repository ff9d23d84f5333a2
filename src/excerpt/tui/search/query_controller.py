"""Control what helps with a query: interpretation, completion, narrower and wider queries, and the history."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, TypeVar

from excerpt.tui.common.debouncer import Debouncer, Schedule
from excerpt.tui.engine_worker import QuestionQueue
from excerpt.tui.search.query_history import HistoryCursor, QueryHistory, QueryStore
from excerpt.tui.search.query_word import CursorToken, is_typed, token_at

if TYPE_CHECKING:
    from excerpt.insight.suggest import Completion, Suggestion
    from excerpt.search.interpretation import QueryReading

Answer = TypeVar("Answer")

_TYPED = 0.8
"""Seconds without a change after which a query is checked for warnings: sooner, half of it may be missing."""
_ASKED = 2.0
"""Seconds without a change after which a query with hits is added to the history: by then the user reads them."""


class QueryController:
    """The state of query editing: the history and the position in it, the word being completed, and pending checks.

    `query` returns the current query; answers about an earlier query are dropped.
    """

    def __init__(self, engine: QuestionQueue, after: Schedule, query: Callable[[], str]) -> None:
        self.history = QueryHistory()
        self.keeper: QueryStore | None = None
        """Stores asked and saved queries; None until their location is known."""
        self.is_typing = False
        """Whether the last change of the query typed or deleted one letter."""
        self.cursor_token: CursorToken | None = None
        """The word being completed."""
        self._engine = engine
        self._query = query
        self._before = ""
        self._walk: HistoryCursor | None = None
        self._left_at = -1
        self._warning_timer = Debouncer(after)
        self._standing = Debouncer(after)

    # --- interpretation -----------------------------------------------------------------------------------------------

    def follow(self, query: str) -> None:
        """Record a change of the query."""
        self.is_typing, self._before = is_typed(self._before, query), query

    def read(
        self, on_read: Callable[[QueryReading], object], is_shown: Callable[[], bool], on_stood: Callable[[], object]
    ) -> None:
        """Request the interpretation of the query, without warnings now and with them after a pause.

        Warnings wait while `is_shown` returns true: the completion menu is open, and shows what is missing anyway.
        `on_stood` is called once the query has not changed for `_ASKED` seconds, long enough to add it to the history.
        """
        self._warning_timer.stop()
        self._standing.stop()
        if not self._query().strip():
            self._engine.forget("reading")
            return
        self._ask_reading(on_read, thoroughly=False)

        def warning() -> None:
            if is_shown():
                self._warning_timer.schedule(_TYPED, warning)
            else:
                self._ask_reading(on_read, thoroughly=True)

        self._warning_timer.schedule(_TYPED, warning)
        self._standing.schedule(_ASKED, on_stood)

    def _ask_reading(self, on_read: Callable[[QueryReading], object], *, thoroughly: bool) -> None:
        from excerpt.tui.questions import AskReading

        query = self._query()
        self._engine.ask(AskReading(query, thoroughly), self._if_still(query, on_read))

    def _if_still(self, query: str, on_answer: Callable[[Answer], object]) -> Callable[[Answer], object]:
        return lambda answer: on_answer(answer) if query == self._query() else None

    # --- query history ------------------------------------------------------------------------------------------------

    async def keep(self, keeper: QueryStore) -> None:
        """Store queries with `keeper` from now on, and load the history."""
        self.keeper = keeper
        await self.look()

    async def look(self) -> None:
        """Load the history again, with the queries of other running instances."""
        if self.keeper is not None:
            self.history = await self.keeper.history()

    def note(self) -> Coroutine[None, None, None] | None:
        """Add the query to the history, because the user has read its hits or used them.

        Returns the coroutine that stores it, or None if there is nothing to store.
        """
        query = self._query().strip()
        if self.keeper is None or not query or query == next(iter(self.history.queries), ""):
            return None
        self.history = self.history.asked(query)
        return self.keeper.asked(query)

    def forget(self, query: str) -> Coroutine[None, None, None] | None:
        """Remove a query from the history; return the coroutine that stores this, as `note` does."""
        self.history = self.history.without(query)
        return self.keeper.forget(query) if self.keeper is not None else None

    def step_history(self, rows: int, *, as_put: bool) -> tuple[str | None, bool]:
        """Step through the history from an empty bar, up (older) for negative `rows`.

        `as_put` says that the query from the history is still selected as a whole. Returns the query to put into the
        bar, or None, and whether the key is handled; if not, it moves in the list.
        """
        query = self._query()
        step_history = self._walk if self._walk is not None and query and query == self._walk.query and as_put else None
        if step_history is None and (query or rows > 0):
            return None, False
        moved = (step_history or HistoryCursor(self.history)).moved(-rows)
        if moved is not None:
            self._walk = moved
            return moved.query, True
        if step_history is not None and rows > 0:
            self._walk = None
            return None, False
        return None, step_history is not None

    @property
    def walks(self) -> bool:
        """Whether the query was put by a step through the history and not changed since."""
        return self._walk is not None and self._query() == self._walk.query

    # --- completion ---------------------------------------------------------------------------------------------------

    def complete_here(self, cursor: int, on_found: Callable[[Sequence[Completion]], object]) -> None:
        """Request completions of the word at the cursor, even if the menu was closed for it."""
        self._left_at = -1
        self.complete(token_at(self._query(), cursor), on_found)

    def complete(self, cursor_token: CursorToken | None, on_found: Callable[[Sequence[Completion]], object]) -> None:
        """Request completions of a word; None cancels the request."""
        self.cursor_token = cursor_token
        if cursor_token is None:
            self._engine.forget("complete")
            return
        from excerpt.tui.questions import AskCompletions

        self._engine.ask(AskCompletions(cursor_token.operator, cursor_token.value), on_found)

    def follow_typing(
        self, cursor: int, on_found: Callable[[Sequence[Completion]], object], *, completes: bool
    ) -> bool:
        """Request completions while the user types: in a filter, or if the menu is open already (`completes`).

        Returns False if the menu is to be closed. A word for which it was closed is not completed again.
        """
        cursor_token = token_at(self._query(), cursor)
        if cursor_token is None or cursor_token.start != self._left_at:
            self._left_at = -1
        follows = completes and self.cursor_token is not None and cursor_token is not None
        if (
            cursor_token is not None
            and (cursor_token.operator or (follows and cursor_token.value))
            and self._left_at < 0
        ):
            self.complete(cursor_token, on_found)
            return True
        self._engine.forget("complete")
        return False

    def leave_completion(self) -> None:
        """Stop completing this word."""
        self._engine.forget("complete")
        self._left_at = self.cursor_token.start if self.cursor_token is not None else -1

    def suggest(self, on_found: Callable[[Sequence[Suggestion]], object]) -> None:
        """Request narrower and wider queries."""
        from excerpt.tui.questions import AskSuggestions

        query = self._query()
        self._engine.ask(AskSuggestions(query), self._if_still(query, on_found))
