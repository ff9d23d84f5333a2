"""What is related to the selected fragment, and where in the vault the matches are: asked for, and gone on from."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from excerpt.tui.common.pause import After, Pause
from excerpt.tui.engine_worker import Asks
from excerpt.tui.memory.controller import is_memory
from excerpt.tui.messages import Failure, Location

if TYPE_CHECKING:
    from excerpt.insight.facet_map import VaultMap
    from excerpt.insight.related import Related
    from excerpt.model import Hit

_SETTLED = 0.15
"""Seconds a selection or a query stands before a panel follows it: whoever moves or types on needs none."""


class InsightController:
    """Own what related notes are asked of, the way that was followed from there, and the filters put by the map.

    `query` tells the query as it is now, `put` makes another one of it. `turned` is called when related notes are to be
    asked of something else.
    """

    def __init__(
        self,
        engine: Asks,
        after: After,
        *,
        query: Callable[[], str],
        put: Callable[[str], object],
        turned: Callable[[], object],
    ) -> None:
        self._engine = engine
        self._query = query
        self._put = put
        self._turned = turned
        self._followed: list[Location] = []
        self._of_note = False
        self._filters: list[str] = []
        self._settling = Pause(after)

    @property
    def is_answered(self) -> bool:
        """Whether the panel that is open shows what was asked last."""
        return not (self._settling.waits or self._engine.waits("related") or self._engine.waits("map"))

    def when_settled(self, ask: Callable[[], object]) -> None:
        """Call `ask` when selection and query have settled."""
        self._settling.begin(_SETTLED, ask)

    def stop_waiting(self) -> None:
        """Call nothing: it is asked now."""
        self._settling.stop()

    # --- related notes ------------------------------------------------------------------------------------------------

    @property
    def followed(self) -> Location | None:
        """Where one has gone on to from the selected fragment."""
        return self._followed[-1] if self._followed else None

    def follow(self, location: Location) -> None:
        """Go on from there."""
        self._followed.append(location)
        self._turned()

    def follow_back(self) -> bool:
        """Go back one step; False where one came from."""
        if not self._followed:
            return False
        self._followed.pop()
        self._turned()
        return True

    def begin_again(self) -> None:
        """Forget the way followed: another fragment is selected."""
        self._followed.clear()

    def toggle_note(self) -> None:
        """Ask about the whole note from now on, or again about the fragment alone."""
        self._of_note = not self._of_note
        self._turned()

    def ask_related(
        self,
        selected: Hit | None,
        on_found: Callable[[Related | None], object],
        on_failure: Callable[[Failure], object],
    ) -> bool:
        """Ask what is related to where one has gone on to, else to what is selected; False where that is no note's."""
        if self.followed is not None:
            location = self.followed
        elif selected is not None and not is_memory(selected):
            location = Location.of(selected)
        else:
            self._engine.forget("related")
            return False
        from excerpt.tui.questions import AskRelated

        line = None if self._of_note else location.line
        self._engine.ask(AskRelated(location.path, line), on_found, on_failure)
        return True

    # --- the map ------------------------------------------------------------------------------------------------------

    def ask_map(
        self, query: str, on_found: Callable[[VaultMap], object], on_failure: Callable[[Failure], object]
    ) -> None:
        """Ask where the matches of a query are."""
        from excerpt.tui.questions import AskMap

        self._engine.ask(AskMap(query), on_found, on_failure)

    @property
    def has_filtered(self) -> bool:
        """Whether a filter that the map put stands in the query."""
        query = self._query()
        return any(stands_in(query, each) for each in self._filters)

    def toggle_filter(self, condition: str) -> None:
        """Put a filter into the query, or take it off where it stands there."""
        query = self._query()
        if stands_in(query, condition):
            self._put(without(query, condition))
            return
        from excerpt.tui.questions import AskNarrowed

        self._engine.ask(AskNarrowed(query, condition), partial(self._narrowed, query, condition))

    def _narrowed(self, query: str, condition: str, narrowed: str) -> None:
        if query == self._query():
            self._filters.append(condition)
            self._put(narrowed)

    def take_filter(self) -> bool:
        """Take off the filter that was put last, of those that still stand in the query; False if none does."""
        query = self._query()
        while self._filters:
            condition = self._filters.pop()
            if stands_in(query, condition):
                self._put(without(query, condition))
                return True
        return False


def stands_in(query: str, condition: str) -> bool:
    """Whether the filter stands in the query, as it is written on the map."""
    return bool(condition) and _places(condition).search(query) is not None


def without(query: str, condition: str) -> str:
    """The query with that filter taken off, wherever it stands."""
    return _places(condition).sub("", query)


def _places(condition: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\S){re.escape(condition)}(?:\s+|$)")
