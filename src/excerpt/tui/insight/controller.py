"""Requests for related notes and for the map, the trail of related notes, and the filters set in the map."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from excerpt.tui.common.debouncer import Debouncer, Schedule
from excerpt.tui.engine_worker import QuestionQueue
from excerpt.tui.memory.controller import is_memory
from excerpt.tui.messages import Failure, Location

if TYPE_CHECKING:
    from excerpt.insight.facet_map import VaultMap
    from excerpt.insight.related import Related
    from excerpt.model import Hit

_SETTLE_SECONDS = 0.15
"""Seconds without a change of selection or query before a panel is updated."""


class InsightController:
    """Controller of related notes and of the map: the trail from note to note, and the filters set in the map.

    `query` returns the current query, `set_query` replaces it. `on_change` is called when related notes are to be
    requested for something else.
    """

    def __init__(
        self,
        engine: QuestionQueue,
        after: Schedule,
        *,
        query: Callable[[], str],
        set_query: Callable[[str], object],
        on_change: Callable[[], object],
    ) -> None:
        self._engine = engine
        self._query = query
        self._set_query = set_query
        self._on_change = on_change
        self._trail: list[Location] = []
        self._is_whole_note = False
        self._filters: list[str] = []
        self._debouncer = Debouncer(after)

    @property
    def is_answered(self) -> bool:
        """Whether the open panel shows the answer to the newest request."""
        return not (self._debouncer.is_pending or self._engine.is_waiting("related") or self._engine.is_waiting("map"))

    def call_when_settled(self, ask: Callable[[], object]) -> None:
        """Call `ask` once selection and query have stopped changing."""
        self._debouncer.schedule(_SETTLE_SECONDS, ask)

    def stop_waiting(self) -> None:
        """Cancel the call that `call_when_settled` has scheduled."""
        self._debouncer.stop()

    # --- related notes ------------------------------------------------------------------------------------------------

    @property
    def trail_end(self) -> Location | None:
        """The location at the end of the trail; None at the selected fragment."""
        return self._trail[-1] if self._trail else None

    def follow(self, location: Location) -> None:
        """Add a location to the trail, and show what is related to it."""
        self._trail.append(location)
        self._on_change()

    def follow_back(self) -> bool:
        """Go back one step on the trail; return False if it is empty."""
        if not self._trail:
            return False
        self._trail.pop()
        self._on_change()
        return True

    def clear_trail(self) -> None:
        """Clear the trail, because another fragment is selected."""
        self._trail.clear()

    def toggle_note(self) -> None:
        """Toggle between notes related to the whole note and to the fragment alone."""
        self._is_whole_note = not self._is_whole_note
        self._on_change()

    def ask_related(
        self,
        selected: Hit | None,
        on_found: Callable[[Related | None], object],
        on_failure: Callable[[Failure], object],
    ) -> bool:
        """Request what is related to the end of the trail, or else to the selected hit.

        Return False if there is nothing selected or it is a memory.
        """
        if self.trail_end is not None:
            location = self.trail_end
        elif selected is not None and not is_memory(selected):
            location = Location.from_hit(selected)
        else:
            self._engine.cancel("related")
            return False
        from excerpt.tui.questions import AskRelated

        line = None if self._is_whole_note else location.line
        self._engine.ask(AskRelated(location.path, line), on_found, on_failure)
        return True

    # --- the map ------------------------------------------------------------------------------------------------------

    def ask_map(
        self, query: str, on_found: Callable[[VaultMap], object], on_failure: Callable[[Failure], object]
    ) -> None:
        """Request where the matches of a query are."""
        from excerpt.tui.questions import AskMap

        self._engine.ask(AskMap(query), on_found, on_failure)

    @property
    def has_map_filter(self) -> bool:
        """Whether the query contains a filter that was set in the map."""
        query = self._query()
        return any(has_filter(query, each) for each in self._filters)

    def toggle_filter(self, condition: str) -> None:
        """Add a filter to the query, or remove it if it is there."""
        query = self._query()
        if has_filter(query, condition):
            self._set_query(remove_filter(query, condition))
            return
        from excerpt.tui.questions import AskNarrowedQuery

        self._engine.ask(AskNarrowedQuery(query, condition), partial(self._handle_narrowed, query, condition))

    def _handle_narrowed(self, query: str, condition: str, narrowed: str) -> None:
        if query == self._query():
            self._filters.append(condition)
            self._set_query(narrowed)

    def pop_filter(self) -> bool:
        """Remove the filter that was set last and is still in the query; return False if there is none."""
        query = self._query()
        while self._filters:
            condition = self._filters.pop()
            if has_filter(query, condition):
                self._set_query(remove_filter(query, condition))
                return True
        return False


def has_filter(query: str, condition: str) -> bool:
    """Return whether the query contains the filter as it is written in the map."""
    return bool(condition) and _filter_pattern(condition).search(query) is not None


def remove_filter(query: str, condition: str) -> str:
    """Return the query without the filter, wherever it occurs."""
    return _filter_pattern(condition).sub("", query)


def _filter_pattern(condition: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\S){re.escape(condition)}(?:\s+|$)")
