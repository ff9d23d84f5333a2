"""Computation of the score from the signals, the primary strategy, and boosts by links, recency and use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace

import numpy as np
import numpy.typing as npt

from excerpt.corpus.interface import Corpus
from excerpt.kinds import Strategy
from excerpt.search import usage
from excerpt.search.bm25 import Rows
from excerpt.search.usage import UseEvent, UseLog
from excerpt.settings import BoostSettings

# --- links and recency ------------------------------------------------------------------------------------------------
# Signals independent of the query's words: links from matching notes, and recent changes.
#
# Input and output are arrays: a number from 0 to 1 for each note, in the order of the snapshot's paths. They can move a
# hit a little; whether a fragment matches at all is decided before.

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]

SECOND_NS = 1_000_000_000
DAY_NS = 86_400 * SECOND_NS
"""A day in nanoseconds, the unit of modification times."""

HALF_LIFE_DAYS = 30.0
"""Days after which a modification counts half."""
BULK_SHARE = 0.9
BULK_SPAN_NS = 3600 * SECOND_NS
"""Span of time within which most notes were modified only after a copy or a checkout.

Most are more than ALIKE_SHARE.
"""


def score_backlinks(
    sources: Ints, targets: Ints, notes_of_rows: Ints, strength_of_rows: Floats, note_count: int
) -> Floats:
    """Return the number of matching notes that link to each note, as a share of the highest.

    `sources` and `targets` are the links, as notes; each pair once. A note votes with the strength of its best row
    (`strength_of_rows`, 0 and up) for every note it links to except itself. Votes count by the logarithm of their sum.
    """
    strength = np.zeros(note_count, np.float64)
    np.maximum.at(strength, notes_of_rows, strength_of_rows)
    top = strength.max(initial=0.0)
    if top <= 0 or not len(sources):
        return np.zeros(note_count, np.float32)
    voting = (sources != targets) & (strength[sources] > 0)
    votes = np.bincount(targets[voting], strength[sources[voting]] / top, note_count)
    damped = np.log1p(votes)
    highest = damped.max(initial=0.0)
    return (damped / highest if highest > 0 else damped).astype(np.float32)


def score_recency(modified_ns: Times, now_ns: int, half_life_days: float = HALF_LIFE_DAYS) -> Floats:
    """Return how recently each note was modified: 1 at `now_ns` or later, half of it a half-life ago.

    0 for all if nearly all notes have the same time, as after a checkout or copy. Deterministic for a given `now_ns`.
    """
    if not len(modified_ns) or _is_bulk_change(modified_ns):
        return np.zeros(len(modified_ns), np.float32)
    # As floats, since the difference of two 64-bit times may need more than 64 bits.
    age = np.maximum(float(now_ns) - modified_ns.astype(np.float64), 0) / (half_life_days * DAY_NS)
    return np.exp2(-age).astype(np.float32)


def _is_bulk_change(modified_ns: Times) -> bool:
    """Return whether more than ALIKE_SHARE of the times are within ALIKE_WITHIN of each other."""
    times = np.sort(modified_ns)
    ends = np.searchsorted(times, times + BULK_SPAN_NS, side="right")
    return int((ends - np.arange(len(times))).max()) > BULK_SHARE * len(times)


# --- fusion -----------------------------------------------------------------------------------------------------------
# Combination of the signals to one score, and the primary strategy.
#
# The score is a sum of signals, each between 0 and 1, times the weights below (a linear combination of normalised
# scores; Bruch, Gai and Ingber, 2023, found it better than reciprocal rank fusion, as was measured here). All
# candidates are scored by all signals, whichever list they are from.

SIGNALS = (
    *("words", "coverage", "title", "anchor", "heading", "outline", "note", "intro_words", "proximity"),
    *("meaning", "intro_meaning", "coherence"),
)
"""The names of the signals, in the order of their columns."""
NOTE_SIGNALS = ("intro_words", "intro_meaning")
"""The signals that only the best fragment of each note gets: they say which note is about the query."""


@dataclass(frozen=True, slots=True)
class SignalWeights:
    """The weight of each signal.

    `words` is BM25 as a share of the best fragment's of a note (of an attachment up to twice that); `coverage` the
    share of the query's words that the fragment, its headings, title and tags have; `title` (or any other name of the
    note), `heading` and `outline` (the heading with those above it) the share of the query they cover times the share
    of them that the query covers; `anchor` how much better the text of a link to the note fits than its names; `note`
    how well the note's best fragments match by words, `intro_words` how well its first fragment does; `proximity` how
    close the words are; `meaning` the cosine above the vault's mean; `intro_meaning` the same of the note's first
    fragment, `coherence` of the nearer of its neighbours.
    """

    words: float
    coverage: float
    title: float
    anchor: float
    heading: float
    outline: float
    note: float
    intro_words: float
    proximity: float
    meaning: float
    intro_meaning: float
    coherence: float

    @property
    def array(self) -> Floats:
        return np.array(astuple(self), np.float32)


_HYBRID = SignalWeights(
    words=0.5,
    coverage=0.05,
    title=0.75,
    anchor=0.3,
    heading=0.2,
    outline=0.1,
    note=0.4,
    intro_words=0.15,
    proximity=0.2,
    meaning=0.18,
    intro_meaning=0.1,
    coherence=0.03,
)

STRATEGY_WEIGHTS: Mapping[Strategy, SignalWeights] = {
    Strategy.ADAPTIVE: replace(_HYBRID, proximity=0.0, meaning=0.0, intro_meaning=0.0, coherence=0.0),
    Strategy.PROXIMITY: replace(_HYBRID, proximity=0.3, meaning=0.0, intro_meaning=0.0, coherence=0.0),
    Strategy.SEMANTIC: SignalWeights(
        words=0.0,
        coverage=0.0,
        title=0.2,
        anchor=0.08,
        heading=0.1,
        outline=0.05,
        note=0.0,
        intro_words=0.0,
        proximity=0.0,
        meaning=0.7,
        intro_meaning=0.1,
        coherence=0.15,
    ),
    Strategy.HYBRID: _HYBRID,
}

NAME_WEIGHT = 3.0
"""Bonus of the best fragment of a note whose title, file name or alias is the query: more than all signals together."""

RRF_K = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)."""
RRF_SIGNALS = ("words", "meaning")
"""The signals that RRF ranks by."""

PRIMARY_WEIGHT = 0.03
"""The additional weight of the primary strategy's own signal under auto.

A larger one was worse on most sets, and the primary strategy alone far worse (docs/design/quality.md).
"""

_OWN_SIGNALS = {Strategy.ADAPTIVE: "words", Strategy.PROXIMITY: "proximity", Strategy.SEMANTIC: "meaning"}

_FALLBACK_STRATEGIES = {
    Strategy.ADAPTIVE: (Strategy.ADAPTIVE, Strategy.PROXIMITY, Strategy.SEMANTIC),
    Strategy.PROXIMITY: (Strategy.PROXIMITY, Strategy.ADAPTIVE, Strategy.SEMANTIC),
    Strategy.SEMANTIC: (Strategy.SEMANTIC, Strategy.PROXIMITY, Strategy.ADAPTIVE),
    Strategy.HYBRID: (Strategy.HYBRID,),
}
_WORD_STRATEGIES = frozenset({Strategy.ADAPTIVE, Strategy.PROXIMITY})


def primary_strategy(word_count: int) -> Strategy:
    """Return the primary strategy under auto: adaptive for one or two words, proximity to five, else semantic."""
    if word_count <= 2:
        return Strategy.ADAPTIVE
    return Strategy.PROXIMITY if word_count <= 5 else Strategy.SEMANTIC


def active_strategy(strategy: Strategy, *, words_found: bool, meaning_found: bool) -> Strategy:
    """Return the strategy that answers: the requested one, or the next one that finds anything."""
    for candidate in _FALLBACK_STRATEGIES[strategy]:
        if candidate in _WORD_STRATEGIES and not words_found:
            continue
        if candidate is Strategy.SEMANTIC and not meaning_found:
            continue
        return candidate
    return strategy


def weights_for(primary: Strategy) -> SignalWeights:
    """Return auto's weights for this primary strategy."""
    hybrid = STRATEGY_WEIGHTS[Strategy.HYBRID]
    own = _OWN_SIGNALS.get(primary)
    return hybrid if own is None else replace(hybrid, **{own: getattr(hybrid, own) + PRIMARY_WEIGHT})


@dataclass(frozen=True, slots=True)
class ScoredFragments:
    """Fragments with their scores.

    `values` and `parts` are rows x `names`; a part is its value times the name's weight, and a row's parts add up to
    its score.
    """

    rows: Rows
    names: tuple[str, ...]
    values: Floats
    weights: Floats

    @property
    def parts(self) -> Floats:
        return self.values * self.weights

    @property
    def scores(self) -> Floats:
        scores: Floats = self.parts.sum(axis=1)
        return scores

    def select(self, positions: npt.NDArray[np.intp]) -> ScoredFragments:
        """Return only the fragments at these positions."""
        return ScoredFragments(self.rows[positions], self.names, self.values[positions], self.weights)

    def with_signal(self, name: str, values: Floats, weight: float) -> ScoredFragments:
        """Return the same fragments with one more signal."""
        return ScoredFragments(
            self.rows,
            (*self.names, name),
            np.column_stack([self.values, values]).astype(np.float32),
            np.append(self.weights, np.float32(weight)),
        )


def sum_weighted_signals(rows: Rows, signals: Floats, weights: SignalWeights, notes: Rows) -> ScoredFragments:
    """Return the weighted sum of all signals (rows x SIGNALS).

    Only the fragment of each note that is best by the other signals gets those of OF_NOTES.
    """
    of_notes = np.isin(SIGNALS, NOTE_SIGNALS)
    values = np.where(of_notes, 0, signals)
    scores = ScoredFragments(rows, SIGNALS, values, weights.array).scores
    best = _best_row_per_note(scores, notes)
    best = best[scores[best] > 0]
    values[best] = signals[best]
    return ScoredFragments(rows, SIGNALS, values, weights.array)


def _best_row_per_note(scores: Floats, notes: Rows) -> npt.NDArray[np.intp]:
    """Return the position of the highest score of each note; ties go to the first."""
    order = np.lexsort((-scores, notes))
    return order[np.flatnonzero(np.diff(notes[order], prepend=-1))]


def fuse_reciprocal_ranks(rows: Rows, signals: Floats) -> ScoredFragments:
    """Return the reciprocal rank fusion of the lists by words and by meaning, as shares of a first rank.

    It is the plain hybrid that the weighted sum is compared with.
    """
    values = np.stack([_score_reciprocal_ranks(signals[:, SIGNALS.index(name)]) for name in RRF_SIGNALS], axis=1)
    return ScoredFragments(rows, RRF_SIGNALS, values, np.full(len(RRF_SIGNALS), 1 / (RRF_K + 1), np.float32))


def score_by_position(rows: Rows) -> ScoredFragments:
    """Return rows selected by filters alone, scored in the order of the list: `score_by_position` falls evenly from 1."""
    values = 1 - np.arange(len(rows)) / max(len(rows), 1)
    return ScoredFragments(rows, ("listed",), values.astype(np.float32)[:, None], np.ones(1, np.float32))


def _score_reciprocal_ranks(values: Floats) -> Floats:
    """Return (k + 1) / (k + rank) for each value, ranks from 1, ties in the order of rows; 0 for values not above 0."""
    ranks = np.empty(len(values))
    ranks[np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
    return np.where(values > 0, (RRF_K + 1) / (RRF_K + ranks), 0.0).astype(np.float32)


def add_name_signal(scored: ScoredFragments, named: npt.NDArray[np.bool_], notes: Rows) -> ScoredFragments:
    """Add the signal `name`: 1 for the best fragment of each note that the query names, 0 for all others.

    `named` are the rows of such notes, `notes` their notes.
    """
    values = np.zeros(len(scored.rows), np.float32)
    named_positions = np.flatnonzero(named)
    values[named_positions[_best_row_per_note(scored.scores[named_positions], notes[named_positions])]] = 1.0
    return scored.with_signal("name", values, NAME_WEIGHT)


BOOST_WEIGHTS: Mapping[str, float] = {"links": 0.04, "recency": 0.02, "use": 0.05}
"""Weight of each boost; other signals add up to 3 (docs/design/ranking.md), so it decides between near ties."""


def add_attachment_signal(scored: ScoredFragments, attached: npt.NDArray[np.bool_], weight: float) -> ScoredFragments:
    """Add the signal `attachment`, which lowers the score of an attachment's rows to `weight` times what it was."""
    if weight >= 1 or not attached.any():
        return scored
    return scored.with_signal("attachment", np.where(attached, scored.scores, 0).astype(np.float32), weight - 1)


# --- boosts -----------------------------------------------------------------------------------------------------------
# The signals independent of the query, added to matching fragments: links, recency, use. Each has a setting and a
# column.


class Boosts:
    """The boosts of one snapshot. Caches what does not depend on the query."""

    def __init__(self, snapshot: Corpus, switches: BoostSettings, log: UseLog | None) -> None:
        self._snapshot = snapshot
        self._switches = switches
        self._log = log
        self._recency: Floats | None = None
        self._events: tuple[UseEvent, ...] = ()
        self._used: Floats | None = None

    def add(self, scored: ScoredFragments, notes: Rows) -> ScoredFragments:
        """Return `scored`, fragments of the notes `notes`, with one more signal for each enabled boost."""
        if self._switches.links:
            sources, targets = self._snapshot.facets.links_of(notes)
            count = len(self._snapshot.table.paths)
            linked = score_backlinks(sources, targets, notes, scored.scores, count)
            scored = _add_boost(scored, "links", linked[notes])
        if self._switches.recency:
            scored = _add_boost(scored, "recency", self._load_recency()[notes])
        if self._switches.use and self._log is not None:
            scored = _add_boost(scored, "use", self._load_use(self._log)[notes])
        return scored

    def _load_recency(self) -> Floats:
        if self._recency is None:
            modified = self._snapshot.facets.modified
            # Relative to the newest note, not to the clock: the same index gives the same list tomorrow.
            self._recency = score_recency(modified, int(modified.max(initial=0)))
        return self._recency

    def _load_use(self, log: UseLog) -> Floats:
        events = log.events()
        if self._used is None or events is not self._events:
            self._events = events
            paths = self._snapshot.table.paths
            current_events = usage.update_paths(events, frozenset(paths), self._snapshot.current_path)
            self._used = usage.score_notes(current_events, paths, usage.latest_time(events))
        return self._used


def _add_boost(scored: ScoredFragments, name: str, values: Floats) -> ScoredFragments:
    return scored.with_signal(name, np.round(values, 6), BOOST_WEIGHTS[name])
