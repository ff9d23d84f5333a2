"""Requests for related notes and for the map of matches, and the state of both panels.

The state is the trail (the locations that the user followed from note to note) and the filters added in the map.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from excerpt.service.engine_worker import QuestionQueue
from excerpt.service.event_loop import Failure
from excerpt.service.note_questions import Location
from excerpt.tui.common.debouncer import Debouncer, StartTimer
from excerpt.tui.memory.controller import is_memory

if TYPE_CHECKING:
    from excerpt.base.model import Hit
    from excerpt.insight.results import RelatedNotes, VaultMap

_SETTLE_SECONDS = 0.15
"""Seconds without a change of selection or query before the data of a panel are requested."""


class InsightController:
    """Requests related notes and the map, and holds the trail of followed notes and the filters added in the map.

    `get_query` returns the current query, `set_query` replaces it. `on_change` is called when the note or fragment
    whose related notes are shown has changed.
    """

    def __init__(
        self,
        engine: QuestionQueue,
        after: StartTimer,
        *,
        get_query: Callable[[], str],
        set_query: Callable[[str], object],
        on_change: Callable[[], object],
    ) -> None:
        self._engine = engine
        self._get_query = get_query
        self._set_query = set_query
        self._on_change = on_change
        self._location_trail: list[Location] = []
        self._is_whole_note = False
        self.hides_linked = False
        """Whether related notes that are linked already are left out."""
        self._map_filters: list[str] = []
        self._debouncer = Debouncer(after)

    @property
    def is_answered(self) -> bool:
        """Whether no request of the panels is scheduled or waiting for its answer."""
        return not (self._debouncer.is_pending or self._engine.is_waiting("related") or self._engine.is_waiting("map"))

    def schedule_request(self, ask: Callable[[], object]) -> None:
        """Call `ask` after `_SETTLE_SECONDS`, unless this method is called again until then."""
        self._debouncer.schedule(_SETTLE_SECONDS, ask)

    def cancel_scheduled_request(self) -> None:
        """Cancel the call that `schedule_request` has scheduled, if any."""
        self._debouncer.stop()

    # --- related notes ------------------------------------------------------------------------------------------------

    @property
    def trail_end(self) -> Location | None:
        """The location that the user followed last; None if the trail is empty."""
        return self._location_trail[-1] if self._location_trail else None

    def add_to_trail(self, location: Location) -> None:
        """Add a location to the trail, so that the notes related to it are shown."""
        self._location_trail.append(location)
        self._on_change()

    def go_back(self) -> bool:
        """Go back one step on the trail; return False if it is empty."""
        if not self._location_trail:
            return False
        self._location_trail.pop()
        self._on_change()
        return True

    def clear_trail(self) -> None:
        """Clear the trail. Called when another fragment is selected."""
        self._location_trail.clear()

    def toggle_whole_note(self) -> None:
        """Toggle between notes related to the whole note and to the fragment alone."""
        self._is_whole_note = not self._is_whole_note
        self._on_change()

    def toggle_linked(self) -> None:
        """Hide related notes that are linked already, or show them again."""
        self.hides_linked = not self.hides_linked
        self._on_change()

    def ask_related(
        self,
        selected: Hit | None,
        on_found: Callable[[RelatedNotes | None], object],
        on_failure: Callable[[Failure], object],
    ) -> bool:
        """Request the notes related to the end of the trail or, if the trail is empty, to the selected hit.

        Return False, without a request, if the trail is empty and nothing (or a memory) is selected.
        """
        if self.trail_end is not None:
            location = self.trail_end
        elif selected is not None and not is_memory(selected):
            location = Location.from_hit(selected)
        else:
            self._engine.cancel("related")
            return False
        from excerpt.service.questions import AskRelated

        line = None if self._is_whole_note else location.line
        self._engine.ask(AskRelated(location.path, line, self.hides_linked), on_found, on_failure)
        return True

    # --- the map ------------------------------------------------------------------------------------------------------

    def ask_map(
        self, query: str, on_found: Callable[[VaultMap], object], on_failure: Callable[[Failure], object]
    ) -> None:
        """Request the map of matches: how many matches of `query` each folder, tag, property and month has."""
        from excerpt.service.questions import AskMap

        self._engine.ask(AskMap(query), on_found, on_failure)

    @property
    def has_map_filter(self) -> bool:
        """Whether the query contains a filter that was added in the map."""
        query = self._get_query()
        return any(has_filter(query, each) for each in self._map_filters)

    def toggle_filter(self, filter_text: str) -> None:
        """Add a filter to the query, or remove the filter if the query contains it."""
        query = self._get_query()
        if has_filter(query, filter_text):
            self._set_query(remove_filter(query, filter_text))
            return
        from excerpt.service.questions import AskNarrowedQuery

        self._engine.ask(AskNarrowedQuery(query, filter_text), partial(self._handle_narrowed, query, filter_text))

    def _handle_narrowed(self, query: str, filter_text: str, narrowed: str) -> None:
        if query == self._get_query():
            self._map_filters.append(filter_text)
            self._set_query(narrowed)

    def pop_filter(self) -> bool:
        """Remove the most recently added filter that the query still contains; return False if there is none."""
        query = self._get_query()
        while self._map_filters:
            filter_text = self._map_filters.pop()
            if has_filter(query, filter_text):
                self._set_query(remove_filter(query, filter_text))
                return True
        return False


def has_filter(query: str, filter_text: str) -> bool:
    """Return whether the query contains the filter in exactly this spelling."""
    return bool(filter_text) and _filter_pattern(filter_text).search(query) is not None


def remove_filter(query: str, filter_text: str) -> str:
    """Return the query without any occurrence of the filter."""
    return _filter_pattern(filter_text).sub("", query)


def _filter_pattern(filter_text: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\S){re.escape(filter_text)}(?:\s+|$)")
