"""Control what helps with a query: interpretation, completion, narrower and wider queries, and the history."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, TypeVar

from excerpt.tui.common.debouncer import Debouncer, Schedule
from excerpt.tui.engine_worker import QuestionQueue
from excerpt.tui.search.query_history import HistoryCursor, QueryHistory, QueryStore
from excerpt.tui.search.query_word import CursorToken, is_single_edit, token_at

if TYPE_CHECKING:
    from excerpt.insight.suggest import Completion, Suggestion
    from excerpt.search.interpretation import QueryReading

Answer = TypeVar("Answer")

_WARNING_SECONDS = 0.8
"""Seconds without a change after which a query is checked for warnings: sooner, half of it may be missing."""
_HISTORY_SECONDS = 2.0
"""Seconds without a change after which a query with hits is added to the history: by then the user reads them."""


class QueryController:
    """The state of query editing: the history and the position in it, the word being completed, and pending checks.

    `query` returns the current query; answers about an earlier query are dropped.
    """

    def __init__(self, engine: QuestionQueue, after: Schedule, query: Callable[[], str]) -> None:
        self.history = QueryHistory()
        self.store: QueryStore | None = None
        """Stores asked and saved queries; None until their location is known."""
        self.is_typing = False
        """Whether the last change of the query typed or deleted one letter."""
        self.cursor_token: CursorToken | None = None
        """The word being completed."""
        self._engine = engine
        self._query = query
        self._last_query = ""
        self._history_cursor: HistoryCursor | None = None
        self._dismissed_start = -1
        self._warning_timer = Debouncer(after)
        self._settle_timer = Debouncer(after)

    # --- interpretation -----------------------------------------------------------------------------------------------

    def follow(self, query: str) -> None:
        """Record a change of the query."""
        self.is_typing, self._last_query = is_single_edit(self._last_query, query), query

    def read(
        self,
        on_read: Callable[[QueryReading], object],
        is_menu_shown: Callable[[], bool],
        on_settled: Callable[[], object],
    ) -> None:
        """Request the interpretation of the query, without warnings now and with them after a pause.

        Warnings wait while `is_menu_shown` returns true: the completion menu is open, and shows what is missing anyway.
        `on_settled` is called once the query has not changed for `_HISTORY_SECONDS`: it can be added to the history.
        """
        self._warning_timer.stop()
        self._settle_timer.stop()
        if not self._query().strip():
            self._engine.cancel("reading")
            return
        self._ask_reading(on_read, is_thorough=False)

        def warning() -> None:
            if is_menu_shown():
                self._warning_timer.schedule(_WARNING_SECONDS, warning)
            else:
                self._ask_reading(on_read, is_thorough=True)

        self._warning_timer.schedule(_WARNING_SECONDS, warning)
        self._settle_timer.schedule(_HISTORY_SECONDS, on_settled)

    def _ask_reading(self, on_read: Callable[[QueryReading], object], *, is_thorough: bool) -> None:
        from excerpt.tui.questions import AskInterpretation

        query = self._query()
        self._engine.ask(AskInterpretation(query, is_thorough), self._if_unchanged(query, on_read))

    def _if_unchanged(self, query: str, on_answer: Callable[[Answer], object]) -> Callable[[Answer], object]:
        return lambda answer: on_answer(answer) if query == self._query() else None

    # --- query history ------------------------------------------------------------------------------------------------

    async def open_store(self, store: QueryStore) -> None:
        """Store queries with `store` from now on, and load the history."""
        self.store = store
        await self.reload_history()

    async def reload_history(self) -> None:
        """Load the history again, with the queries of other running instances."""
        if self.store is not None:
            self.history = await self.store.history()

    def note(self) -> Coroutine[None, None, None] | None:
        """Add the query to the history, because the user has read its hits or used them.

        Returns the coroutine that stores it, or None if there is nothing to store.
        """
        query = self._query().strip()
        if self.store is None or not query or query == next(iter(self.history.queries), ""):
            return None
        self.history = self.history.with_query(query)
        return self.store.add(query)

    def forget(self, query: str) -> Coroutine[None, None, None] | None:
        """Remove a query from the history; return the coroutine that stores this, as `note` does."""
        self.history = self.history.without(query)
        return self.store.forget(query) if self.store is not None else None

    def step_history(self, rows: int, *, is_selected: bool) -> tuple[str | None, bool]:
        """Step through the history from an empty bar, up (older) for negative `rows`.

        `is_selected` says that the query from the history is still selected as a whole. Returns the query to put into
        the bar, or None, and whether the key is handled; if not, it moves in the list.
        """
        query = self._query()
        cursor = (
            self._history_cursor
            if self._history_cursor is not None and query and query == self._history_cursor.query and is_selected
            else None
        )
        if cursor is None and (query or rows > 0):
            return None, False
        target = (cursor or HistoryCursor(self.history)).step(-rows)
        if target is not None:
            self._history_cursor = target
            return target.query, True
        if cursor is not None and rows > 0:
            self._history_cursor = None
            return None, False
        return None, cursor is not None

    @property
    def is_in_history(self) -> bool:
        """Whether the query was put by a step through the history and not changed since."""
        return self._history_cursor is not None and self._query() == self._history_cursor.query

    # --- completion ---------------------------------------------------------------------------------------------------

    def complete_at(self, cursor: int, on_answer: Callable[[Sequence[Completion]], object]) -> None:
        """Request completions of the word at the cursor, even if the menu was closed for it."""
        self._dismissed_start = -1
        self.complete(token_at(self._query(), cursor), on_answer)

    def complete(self, cursor_token: CursorToken | None, on_answer: Callable[[Sequence[Completion]], object]) -> None:
        """Request completions of a word; None cancels the request."""
        self.cursor_token = cursor_token
        if cursor_token is None:
            self._engine.cancel("complete")
            return
        from excerpt.tui.questions import AskCompletions

        self._engine.ask(AskCompletions(cursor_token.operator, cursor_token.value), on_answer)

    def follow_typing(
        self, cursor: int, on_answer: Callable[[Sequence[Completion]], object], *, is_menu_open: bool
    ) -> bool:
        """Request completions while the user types: in a filter, or if the menu is open already (`is_menu_open`).

        Returns False if the menu is to be closed. A word for which it was closed is not completed again.
        """
        cursor_token = token_at(self._query(), cursor)
        if cursor_token is None or cursor_token.start != self._dismissed_start:
            self._dismissed_start = -1
        follows = is_menu_open and self.cursor_token is not None and cursor_token is not None
        if (
            cursor_token is not None
            and (cursor_token.operator or (follows and cursor_token.value))
            and self._dismissed_start < 0
        ):
            self.complete(cursor_token, on_answer)
            return True
        self._engine.cancel("complete")
        return False

    def leave_completion(self) -> None:
        """Stop completing this word."""
        self._engine.cancel("complete")
        self._dismissed_start = self.cursor_token.start if self.cursor_token is not None else -1

    def suggest(self, on_answer: Callable[[Sequence[Suggestion]], object]) -> None:
        """Request narrower and wider queries."""
        from excerpt.tui.questions import AskSuggestions

        query = self._query()
        self._engine.ask(AskSuggestions(query), self._if_unchanged(query, on_answer))
