"""Control query editing: the interpretation, completions, narrower and wider queries, and the history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from excerpt.search.query_word import CursorToken, is_one_letter_edit, token_at
from excerpt.service.engine_worker import QuestionQueue
from excerpt.tui.common.background_work import Work
from excerpt.tui.common.debouncer import Debouncer, StartTimer
from excerpt.tui.search.query_history import HistoryCursor, QueryHistory, QueryStore

if TYPE_CHECKING:
    from excerpt.insight.results import Completion, Suggestion
    from excerpt.search.results import QueryInterpretation, QueryNews
    from excerpt.search.saved_queries import SavedQuery

Answer = TypeVar("Answer")

_WARNING_DELAY_SECONDS = 0.8
"""Seconds without a change after which warnings about a query are shown: it may be half typed before that."""
_SETTLED_SECONDS = 2.0
"""Seconds without a change after which a query with hits is added to the history: the user reads the hits then."""


class QueryController:
    """The state of query editing: the history, the query of the history shown, the word being completed, and timers.

    `query` returns the current query; answers about an earlier query are dropped. `start_timer` runs a function once
    after a number of seconds.
    """

    def __init__(self, engine: QuestionQueue, start_timer: StartTimer, query: Callable[[], str]) -> None:
        self.history = QueryHistory()
        self.store: QueryStore | None = None
        """The files of the history and of saved queries; None until a vault is open."""
        self.is_typing = False
        """Whether the last change of the query inserted or deleted one letter."""
        self.cursor_token: CursorToken | None = None
        """The word being completed; None if there is none."""
        self._engine = engine
        self._query = query
        self._last_query = ""
        self._history_cursor: HistoryCursor | None = None
        self._dismissed_word_start = -1
        """Index in the query of the word whose completions the user has closed; -1 for none."""
        self._warning_timer = Debouncer(start_timer)
        self._settle_timer = Debouncer(start_timer)

    def record_change(self, query: str) -> None:
        """Record that the query has changed to `query`."""
        self.is_typing, self._last_query = is_one_letter_edit(self._last_query, query), query

    def ask_interpretation(
        self,
        on_answer: Callable[[QueryInterpretation], object],
        is_menu_open: Callable[[], bool],
        on_settled: Callable[[], object],
    ) -> None:
        """Request how the query is interpreted; pass it on without its warnings until the query has not changed.

        Warnings are passed on after a pause of `_WARNING_DELAY_SECONDS`, and not while `is_menu_open` returns true,
        because the menu of completions shows what is missing. `on_answer` is called with each, `on_settled` when the
        query has not changed for `_SETTLED_SECONDS`.
        """
        self._warning_timer.stop()
        self._settle_timer.stop()
        query = self._query()
        if not query.strip():
            self._engine.cancel("reading")
            return
        from excerpt.service.questions import AskInterpretation

        answer: QueryInterpretation | None = None

        def handle_answer(interpretation: QueryInterpretation) -> None:
            nonlocal answer
            answer = interpretation
            on_answer(replace(answer, warnings=()) if self._warning_timer.is_pending else answer)

        def show_warnings() -> None:
            if is_menu_open():
                self._warning_timer.schedule(_WARNING_DELAY_SECONDS, show_warnings)
            elif answer is not None and answer.warnings:
                on_answer(answer)

        self._engine.ask(AskInterpretation(query), self._ignore_if_query_changed(query, handle_answer))
        self._warning_timer.schedule(_WARNING_DELAY_SECONDS, show_warnings)
        self._settle_timer.schedule(_SETTLED_SECONDS, on_settled)

    def _ignore_if_query_changed(self, query: str, on_answer: Callable[[Answer], object]) -> Callable[[Answer], object]:
        """Return a function that calls `on_answer` only if `query` is still the current query."""
        return lambda answer: on_answer(answer) if query == self._query() else None

    async def open_store(self, store: QueryStore) -> None:
        """Store queries in `store` from now on, and load the history from it."""
        self.store = store
        await self.reload_history()

    async def reload_history(self) -> None:
        """Load the history again, because another instance of excerpt may have added queries."""
        if self.store is not None:
            self.history = await self.store.history()

    def add_query_to_history(self) -> Work | None:
        """Add the query to the history, because the user has read or used its hits.

        Returns a function that writes the query to its file, which the caller runs; None if nothing is to be written.
        """
        query = self._query().strip()
        if self.store is None or not query or query == next(iter(self.history.queries), ""):
            return None
        self.history = self.history.with_query(query)
        return partial(self.store.add, query)

    def forget(self, query: str) -> Work | None:
        """Remove a query from the history; return a function that writes this to its file, None without a file."""
        self.history = self.history.without(query)
        return partial(self.store.forget, query) if self.store is not None else None

    def step_history(self, rows: int, *, is_selected: bool) -> tuple[str | None, bool]:
        """Return the query to put into the bar for a key up (`rows` < 0, older) or down, and whether the key is used.

        The first key up in an empty bar shows the newest query. `is_selected` says that the query in the bar is
        selected as a whole, and so is not being edited. The query is None if the bar stays as it is. A key that is not
        used moves the cursor of the list.
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
        """Whether the bar shows a query of the history that was not changed since."""
        return self._history_cursor is not None and self._query() == self._history_cursor.query

    def ask_completions_at(self, cursor: int, on_answer: Callable[[Sequence[Completion]], object]) -> None:
        """Request completions of the word at character `cursor`, even if the user has closed their menu before."""
        self._dismissed_word_start = -1
        self.ask_completions(token_at(self._query(), cursor), on_answer)

    def ask_completions(
        self, cursor_token: CursorToken | None, on_answer: Callable[[Sequence[Completion]], object]
    ) -> None:
        """Request completions of a word; with None, cancel the pending request."""
        self.cursor_token = cursor_token
        if cursor_token is None:
            self._engine.cancel("complete")
            return
        from excerpt.service.questions import AskCompletions

        self._engine.ask(AskCompletions(cursor_token.operator, cursor_token.value), on_answer)

    def complete_while_typing(
        self, cursor: int, on_answer: Callable[[Sequence[Completion]], object], *, is_menu_open: bool
    ) -> bool:
        """Request completions while the user types a filter, or any word if `is_menu_open`.

        Returns False if the menu of completions should be closed. A word whose menu the user has closed gets no
        completions. `cursor` is the cursor's position in the query.
        """
        cursor_token = token_at(self._query(), cursor)
        if cursor_token is None or cursor_token.start != self._dismissed_word_start:
            self._dismissed_word_start = -1
        follows = is_menu_open and self.cursor_token is not None and cursor_token is not None
        if (
            cursor_token is not None
            and (cursor_token.operator or (follows and cursor_token.value))
            and self._dismissed_word_start < 0
        ):
            self.ask_completions(cursor_token, on_answer)
            return True
        self._engine.cancel("complete")
        return False

    def dismiss_completions(self) -> None:
        """Cancel completions, and offer none for the current word, because the user has closed their menu."""
        self._engine.cancel("complete")
        self._dismissed_word_start = self.cursor_token.start if self.cursor_token is not None else -1

    def ask_suggestions(self, on_answer: Callable[[Sequence[Suggestion]], object]) -> None:
        """Request narrower and wider queries; `on_answer` is not called if the query has changed before."""
        from excerpt.service.questions import AskSuggestions

        query = self._query()
        self._engine.ask(AskSuggestions(query), self._ignore_if_query_changed(query, on_answer))

    def ask_news(self, saved: Sequence[SavedQuery], on_answer: Callable[[QueryNews], bool]) -> None:
        """Request the news of each saved query, one after the other, so that searches can run in between.

        `on_answer` is called with each answer. The requests end when it returns false.
        """
        if self.store is None or not saved:
            return
        from excerpt.service.questions import AskNews

        def handle_answer(news: QueryNews) -> None:
            if on_answer(news):
                self.ask_news(saved[1:], on_answer)

        self._engine.ask(AskNews(saved[0], self.store.seen_hits), handle_answer)

    def mark_seen(self, query: str) -> None:
        """Record the hits of a saved query as seen."""
        if self.store is not None:
            from excerpt.service.questions import AskMarkSeen

            self._engine.ask(AskMarkSeen(query, self.store.seen_hits), lambda _: None)
