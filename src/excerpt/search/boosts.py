"""The signals beside the query, added to fragments that match: links, recency, use. Each has a switch and a column."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from excerpt.index.snapshot import Snapshot
from excerpt.search import graph
from excerpt.search import use as uses
from excerpt.search.fusion import Floats, Scored
from excerpt.search.use import Event, UseLog
from excerpt.settings import BoostSettings

WEIGHTS: Mapping[str, float] = {"links": 0.04, "recency": 0.02, "use": 0.05}
"""What each counts beside signals that make up 2.4 (docs/design/boosts.md): enough to settle who is first of equals."""


class Boosts:
    """The boosts of one snapshot. Keeps what does not depend on the query."""

    def __init__(self, snapshot: Snapshot, switches: BoostSettings, log: UseLog | None) -> None:
        self._snapshot = snapshot
        self._switches = switches
        self._log = log
        self._recency: Floats | None = None
        self._events: tuple[Event, ...] = ()
        self._used: Floats | None = None

    def add(self, scored: Scored) -> Scored:
        """`scored` with a signal more for each boost that is on."""
        notes = self._snapshot.table.notes[scored.rows]
        if self._switches.links:
            sources, targets = self._snapshot.facets.links_of(notes)
            count = len(self._snapshot.table.paths)
            linked = graph.backlinks(sources, targets, notes, scored.scores, count)
            scored = _with(scored, "links", linked[notes])
        if self._switches.recency:
            scored = _with(scored, "recency", self._recent()[notes])
        if self._switches.use and self._log is not None:
            scored = _with(scored, "use", self._use(self._log)[notes])
        return scored

    def _recent(self) -> Floats:
        if self._recency is None:
            modified = self._snapshot.facets.modified
            # Counted from the newest note, not from the clock: the same index gives the same list tomorrow.
            self._recency = graph.recency(modified, int(modified.max(initial=0)))
        return self._recency

    def _use(self, log: UseLog) -> Floats:
        events = log.events()
        if self._used is None or events is not self._events:
            self._events = events
            paths = self._snapshot.table.paths
            here = uses.at_home(events, frozenset(paths), self._snapshot.moved)
            self._used = uses.scores(here, paths, uses.latest(events))
        return self._used


def _with(scored: Scored, name: str, values: Floats) -> Scored:
    return scored.with_signal(name, np.round(values, 6), WEIGHTS[name])
