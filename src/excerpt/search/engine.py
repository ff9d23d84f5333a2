"""The one door of the engine: Engine.search turns what was typed into hits."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from excerpt.index.snapshot import Snapshot
from excerpt.model import Hit, Result, Signal, Strategy
from excerpt.search import fusion
from excerpt.search.candidates import POOL, Candidates, Proposer
from excerpt.search.evidence import Evidence, gather
from excerpt.search.fusion import SIGNALS, Scored
from excerpt.search.lexical import Rows, WordIndex
from excerpt.search.marks import Marker, Marks, marks_of
from excerpt.search.query import Query, parse
from excerpt.settings import Settings

MAX_PER_NOTE = 3
FIRST = 10
"""Among the first FIRST hits at most MAX_PER_NOTE are of one note, unless nothing else matched."""

Order = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Answer:
    """What one query, without alternatives, found: the strategy that answered, what spoke for each row, fragments
    with scores, what to mark."""

    strategy: Strategy
    evidence: Evidence
    scored: Scored
    marks: Marks
    matched: int


class Engine:
    """Searches one snapshot. Usable from one thread at a time."""

    def __init__(self, snapshot: Snapshot, settings: Settings) -> None:
        self.snapshot = snapshot
        self._settings = settings.search
        self.index = WordIndex(snapshot.lexical)
        self._proposer = Proposer(snapshot, self.index)
        self._marker = Marker()

    def warm(self) -> None:
        """Load what the first queries would have to wait for; may run in the background, before any of them."""
        self.index.warm()
        self.search("a")

    def search(self, query: str, strategy: Strategy | None = None, limit: int | None = None) -> Result:
        """The fragments that answer `query`, best first, ties by path and line.

        `strategy` and `limit` default to the settings'; a strategy forced in the query goes before both. No query is
        invalid; one without a word finds nothing.
        """
        begun = time.perf_counter()
        parsed = parse(query)
        wanted = parsed.strategy or strategy or self._settings.strategy
        limit = self._settings.limit if limit is None else limit
        answer = self.answer(parsed, wanted, max(POOL, limit))
        order = self.order(answer.scored)[:limit]
        hits = self.hits(answer, order)
        elapsed = (time.perf_counter() - begun) * 1e3
        return Result(query, wanted, answer.strategy, hits, answer.matched, elapsed, self.snapshot.generation)

    # --- from the query to scores -------------------------------------------------------------------------------------

    def candidates(self, query: Query, pool: int = POOL) -> tuple[Evidence, Candidates]:
        """What speaks for each row, and the rows put forward with every signal."""
        evidence = gather(query, self.snapshot, self.index, fuzzy_threshold=self._settings.fuzzy_threshold)
        return evidence, self._proposer.put_forward(evidence, pool)

    def answer(self, query: Query, wanted: Strategy, pool: int = POOL) -> Answer:
        """All fragments put forward for one query, scored; `wanted` goes before the strategy forced in it."""
        evidence, found = self.candidates(query, pool)
        chosen = fusion.lead(evidence.word_count) if wanted is Strategy.AUTO else wanted
        leader = fusion.answering(
            chosen,
            words_found=bool(found.signals[:, SIGNALS.index("words")].any()),
            meaning_found=bool(found.signals[:, SIGNALS.index("meaning")].any()),
        )
        weights = fusion.led_by(leader) if wanted is Strategy.AUTO else fusion.WEIGHTS[leader]
        scored = fusion.weighted(found.rows, found.signals, weights)
        scored = fusion.add_name(scored, found.named, self.snapshot.table.notes[found.rows])
        return Answer(leader, evidence, scored, marks_of(evidence), found.matched)

    # --- from scores to hits ------------------------------------------------------------------------------------------

    def order(self, scored: Scored) -> Order:
        """Places in `scored` of those that have a score, best first."""
        table, scores = self.snapshot.table, scored.scores
        order = np.lexsort((table.lines[scored.rows], table.notes[scored.rows], -scores))
        order = order[scores[order] > 0]
        return _spread(order, table.notes[scored.rows])

    def hits(self, answer: Answer, order: Order) -> tuple[Hit, ...]:
        """The fragments at these places, with their texts and marks."""
        table, scored = self.snapshot.table, answer.scored
        rows = scored.rows[order]
        fragments = self.snapshot.fragments(table.keys[rows].tolist())
        values, parts, scores = scored.values[order], scored.parts[order], scored.scores[order]
        hits: list[Hit] = []
        for at, fragment in enumerate(fragments):
            signals = tuple(
                Signal(name, float(value), float(weight), float(part))
                for name, value, weight, part in zip(scored.names, values[at], scored.weights, parts[at], strict=True)
            )
            spans = self._marker.spans(fragment, answer.marks, table.languages[table.notes[rows[at]]])
            hits.append(Hit(fragment, float(scores[at]), signals, spans))
        return tuple(hits)


def _spread(order: Order, notes: Rows) -> Order:
    """`order` with what would be more than MAX_PER_NOTE of one note among the first FIRST moved behind them."""
    first: list[int] = []
    held: list[int] = []
    taken: dict[int, int] = {}
    for number, at in enumerate(order.tolist()):
        if len(first) == FIRST:
            return np.concatenate([np.array(first + held, np.intp), order[number:]])
        note = int(notes[at])
        if taken.get(note, 0) < MAX_PER_NOTE:
            taken[note] = taken.get(note, 0) + 1
            first.append(at)
        else:
            held.append(at)
    return np.array(first + held, np.intp)
