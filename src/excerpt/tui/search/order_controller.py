"""Control the order of the hits shown where models take their time: it changes once, or the change is offered."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from excerpt.base.kinds import Strategy
from excerpt.base.settings import Settings
from excerpt.service.engine_worker import EngineWorker
from excerpt.tui.common.debouncer import Debouncer, StartTimer

if TYPE_CHECKING:
    from excerpt.base.model import Result
    from excerpt.search.results import RerankRequest, RerankScores

PAUSE_SECONDS = 0.25
"""Seconds without a key after which the reranker reads the hits."""


class OrderController:
    """The order of the hits of one query: the engine's, or that of the reranker once its scores are used.

    A reranker may change the order once for a query, and only while `can_move` returns true: while the user has neither
    moved in the list nor marked a hit. Otherwise its order is only offered. It is also only offered after
    `rerank.seconds`, which may pass while the reranker is opened. `shown` returns the result that is shown. `on_order`
    is called with the result to show instead, `on_offer` when an offer comes or goes.
    """

    def __init__(
        self,
        engine: EngineWorker,
        start_timer: StartTimer,
        settings: Settings,
        *,
        shown: Callable[[], Result | None],
        can_move: Callable[[], bool],
        on_order: Callable[[Result], object],
        on_offer: Callable[[], object],
    ) -> None:
        self.settings = settings
        self._engine = engine
        self._shown = shown
        self._can_move = can_move
        self._on_order = on_order
        self._on_offer = on_offer
        self._timer = Debouncer(start_timer)
        self._time_limit = Debouncer(start_timer)
        self._query: tuple[str, Strategy] | None = None
        self._is_asked = False
        self._scores: RerankScores | None = None
        self._offered: RerankScores | Result | None = None

    @property
    def has_offer(self) -> bool:
        """Whether another order is offered for the hits shown."""
        return self._offered is not None

    def stop(self) -> None:
        """Stop asking for another order until the next result is shown, because a search was requested."""
        self._timer.stop()

    def forget(self) -> None:
        """Forget the order of the query, because nothing is listed any more."""
        self.stop()
        self._time_limit.stop()
        self._query = self._scores = self._offered = None
        self._is_asked = False

    def arrange(self, result: Result) -> Result:
        """Return an answer of the engine in the order that is shown for its query."""
        if (result.query, result.requested_strategy) != self._query:
            self.forget()
            self._query = result.query, result.requested_strategy
        return self._apply_rerank_scores(result, self._scores)

    def offer_full_order(self, result: Result) -> bool:
        """Offer `result` if the hits shown, ranked by words alone, must not move any more; return whether it is."""
        shown = self._shown()
        is_late = shown is not None and shown.is_without_meaning and shown.query == result.query
        if not is_late or result.is_without_meaning or self._can_move():
            return False
        self._offered = result
        self._on_offer()
        return True

    def handle_shown(self, result: Result) -> None:
        """After a pause, request the reranker's scores for the hits shown, unless it has scored this query's hits."""
        is_complete = not result.is_without_meaning or bool(result.warnings)
        if self.settings.rerank.model and is_complete and not self._is_asked:
            self._timer.schedule(PAUSE_SECONDS, self._ask)

    def use_offer(self) -> None:
        """Show the hits in the order that is offered."""
        offered, self._offered = self._offered, None
        shown = self._shown()
        if offered is None or shown is None:
            return
        from excerpt.base.model import Result

        if isinstance(offered, Result):
            self._is_asked = True  # the order moves once
            self._on_order(offered)
        else:
            self._scores = offered
            self._on_order(self._apply_rerank_scores(shown, offered))
        self._on_offer()

    def _ask(self) -> None:
        from excerpt.service.questions import AskRerankRequest

        if (shown := self._shown()) is not None:
            self._is_asked = True
            self._time_limit.schedule(self.settings.rerank.seconds, lambda: None)
            self._engine.ask(AskRerankRequest(shown), partial(self._send, self._query))

    def _send(self, query: tuple[str, Strategy] | None, request: RerankRequest | None) -> None:
        if request is not None and query == self._query:
            self._engine.rerank(request, lambda scores: self._handle_scores(scores) if query == self._query else None)

    def _handle_scores(self, scores: RerankScores) -> None:
        """Apply the reranker's scores if hits may still move or would not move; otherwise offer the new order."""
        shown = self._shown()
        if shown is None:
            return
        reordered = self._apply_rerank_scores(shown, scores)
        can_move = self._time_limit.is_pending and self._can_move()
        if _fragment_ids(reordered) != _fragment_ids(shown) and not can_move:
            self._offered = scores
            self._on_offer()
            return
        self._scores = scores
        self._on_order(reordered)

    def _apply_rerank_scores(self, result: Result, scores: RerankScores | None) -> Result:
        if scores is None:
            return result
        from excerpt.search.results import apply_scores

        return apply_scores(result, scores, self.settings)


def _fragment_ids(result: Result) -> list[str]:
    return [hit.fragment.id for hit in result.hits]
