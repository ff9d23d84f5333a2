"""Computation of scores from signals, choice of the strategy, and boosts by links and recency.

A signal is a number, mostly 0 to 1, that says how well a fragment fits in one respect. A row is the position of a
fragment in the arrays of a snapshot; a note number is the position of a note in `table.paths`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import astuple, replace

from excerpt.base.kinds import Strategy
from excerpt.base.settings import BoostSettings
from excerpt.corpus.facets import flag_bulk
from excerpt.corpus.interface import Corpus
from excerpt.corpus.tables import run_starts
from excerpt.search.bm25 import Rows

# --- links and recency ------------------------------------------------------------------------------------------------
# Signals independent of the query's words: links from matching notes, and recent changes.
#
# The functions return arrays with a number from 0 to 1 for each note, in the order of the snapshot's paths. The signals
# move a hit a little; which fragments match is decided before.

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]

SECOND_NS = 1_000_000_000
DAY_NS = 86_400 * SECOND_NS
"""A day in nanoseconds, the unit of modification times."""

HALF_LIFE_DAYS = 30.0
"""Days after which the recency of a modification is half of what it was."""


def score_backlinks(
    sources: Ints, targets: Ints, notes_of_rows: Ints, strength_of_rows: Floats, note_count: int
) -> Floats:
    """Return how much the matching notes link to each of `note_count` notes, 0 to 1.

    `sources` and `targets` are the note numbers of each link, every pair once. `notes_of_rows` and `strength_of_rows`
    are the note number and the score (0 and up) of each matching row. A note votes, with its highest score as a share
    of the highest of all, for every other note to which it links. The result is ln(1 + sum of votes), divided by its
    maximum.
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
    """Return how recently each note was modified: 1 at `now_ns` or later, halved for each half-life before.

    `modified_ns` are the modification times, in nanoseconds since 1970. Return 0 for all notes if nearly all have the
    same time, as after a checkout or copy.
    """
    if flag_bulk(modified_ns).any():
        return np.zeros(len(modified_ns), np.float32)
    # As floats, since the difference of two 64-bit times may need more than 64 bits.
    age = np.maximum(float(now_ns) - modified_ns.astype(np.float64), 0) / (half_life_days * DAY_NS)
    return np.exp2(-age).astype(np.float32)


# --- fusion -----------------------------------------------------------------------------------------------------------
# Combination of the signals to one score, and choice of the strategy.
#
# The score is a sum of signals, each between 0 and 1, times the weights below (a linear combination of normalised
# scores; Bruch, Gai and Ingber, 2023, found it better than reciprocal rank fusion, as was measured here). All
# candidates are scored by all signals, whichever list they are from.

SIGNALS = (
    *("words", "coverage", "title", "anchor", "heading", "outline", "note", "intro_words", "proximity"),
    *("meaning", "intro_meaning", "coherence"),
)
"""The names of the signals, in the order of the columns of an array of signals."""
NOTE_SIGNALS = ("intro_words", "intro_meaning")
"""The signals about the whole note; they only count for the best fragment of each note."""


class SignalWeights(Struct, frozen=True):
    """The weight of each signal in the score of a fragment.

    `words`: the BM25F score, divided by the highest of a note's fragment (in an attachment it may be up to 2).
    `coverage`: the share of the query's words, by rarity, that the fragment, its headings, title or tags have.
    `title`, `heading`, `outline`: how well a name of the note, the fragment's heading, or its heading with the headings
    above it fits: the share of the query that it covers times the share of it that the query covers.
    `anchor`: how much better the text of a link to the note fits than the names of the note.
    `note`: how well the best three fragments of the note match by words.
    `intro_words`: how well the first fragment of the note matches by words.
    `proximity`: how close to each other the query's words are in the fragment.
    `meaning`: the cosine of the fragment to the query, scaled from the vault's mean (0) to the highest cosine (1).
    `intro_meaning`, `coherence`: the same for the first fragment of the note, and for the nearer of the fragment's two
    neighbours.
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
        """The weights in the order of SIGNALS."""
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
"""Weight of the signal `name`, which the best fragment of a note gets if the query is the note's name.

Higher than all other weights together.
"""

RRF_K = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)."""
RRF_SIGNALS = ("words", "meaning")
"""The signals whose ranks are combined by reciprocal rank fusion."""

PRIMARY_WEIGHT = 0.03
"""The additional weight, under the strategy `auto`, of the main signal of the primary strategy.

The primary strategy is what `primary_strategy` returns. On most sets of queries, a larger weight was worse, and ranking
by the primary strategy alone far worse (docs/design/quality.md).
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
    """Return the strategy that `auto` prefers for a number of query words.

    That is adaptive for one or two words, proximity for three to five, and semantic for more.
    """
    if word_count <= 2:
        return Strategy.ADAPTIVE
    return Strategy.PROXIMITY if word_count <= 5 else Strategy.SEMANTIC


def active_strategy(strategy: Strategy, *, words_found: bool, meaning_found: bool) -> Strategy:
    """Return `strategy` if it finds any hit, else the first of its fallback strategies that finds one.

    `words_found` and `meaning_found` are whether any candidate matches by words, and by meaning.
    """
    for candidate in _FALLBACK_STRATEGIES[strategy]:
        if candidate in _WORD_STRATEGIES and not words_found:
            continue
        if candidate is Strategy.SEMANTIC and not meaning_found:
            continue
        return candidate
    return strategy


def weights_for(primary: Strategy) -> SignalWeights:
    """Return the weights of the strategy `auto` for a query with this primary strategy."""
    hybrid = STRATEGY_WEIGHTS[Strategy.HYBRID]
    own = _OWN_SIGNALS.get(primary)
    return hybrid if own is None else replace(hybrid, **{own: getattr(hybrid, own) + PRIMARY_WEIGHT})


CHOSEN_MEANING_FACTOR = 2.0
"""Factor of the weights of meaning if an embedder that the user chose made the vectors, such as a transformer.

With all-MiniLM-L6-v2, nDCG@10 of five judged sets rises by .013 with 1, .021 with 1.6, .025 with 2, .027 with 2.5 and
.025 with 3 (benchmarks/embedders.py). MRR@10 of three vaults rises by .006, .002, .003, .001 and -.002, so 2.
"""
_MEANING_SIGNALS = ("meaning", "intro_meaning", "coherence")


def weigh_chosen_meaning(weights: SignalWeights) -> SignalWeights:
    """Return the weights for vectors of an embedder that the user chose."""
    return replace(weights, **{name: getattr(weights, name) * CHOSEN_MEANING_FACTOR for name in _MEANING_SIGNALS})


class ScoredFragments(Struct, frozen=True):
    """Fragments with their signals and scores.

    `names` are the names of the signals, `weights` their weights. `values` has the value of each signal in each row
    (rows x `names`).
    """

    rows: Rows
    names: tuple[str, ...]
    values: Floats
    weights: Floats

    @property
    def parts(self) -> Floats:
        """What each signal adds to the score of each row, its value times its weight (rows x `names`)."""
        return self.values * self.weights

    @property
    def scores(self) -> Floats:
        """The score of each row: the sum of its parts."""
        scores: Floats = self.parts.sum(axis=1)
        return scores

    def select(self, positions: npt.NDArray[np.intp]) -> ScoredFragments:
        """Return only the fragments at `positions`, which are indices of `rows`."""
        return ScoredFragments(self.rows[positions], self.names, self.values[positions], self.weights)

    def with_signal(self, name: str, values: Floats, weight: float) -> ScoredFragments:
        """Return the same fragments with one more signal; `values` has its value for each row."""
        return ScoredFragments(
            self.rows,
            (*self.names, name),
            np.column_stack([self.values, values]).astype(np.float32),
            np.append(self.weights, np.float32(weight)),
        )


def sum_weighted_signals(rows: Rows, signals: Floats, weights: SignalWeights, notes: Rows) -> ScoredFragments:
    """Score `rows` by the weighted sum of `signals` (rows x SIGNALS).

    `notes` is the note number of each row. The signals in NOTE_SIGNALS are set to 0 except for the fragment of each
    note with the highest sum of other signals.
    """
    is_note_signal = np.isin(SIGNALS, NOTE_SIGNALS)
    values = np.where(is_note_signal, 0, signals)
    scores = ScoredFragments(rows, SIGNALS, values, weights.array).scores
    best = _best_row_per_note(scores, notes)
    best = best[scores[best] > 0]
    values[best] = signals[best]
    return ScoredFragments(rows, SIGNALS, values, weights.array)


def _best_row_per_note(scores: Floats, notes: Rows) -> npt.NDArray[np.intp]:
    """Return the position of the highest score of each note; ties go to the first.

    `notes` is the note number of each score.
    """
    order = np.lexsort((-scores, notes))
    return order[run_starts(notes[order])]


def fuse_reciprocal_ranks(rows: Rows, signals: Floats) -> ScoredFragments:
    """Score `rows` by reciprocal rank fusion of two rankings: by words and by meaning.

    `signals` are rows x SIGNALS. The value of each signal is 1 for rank 1. This is the simple hybrid search to which
    the weighted sum is compared.
    """
    values = np.stack([_score_reciprocal_ranks(signals[:, SIGNALS.index(name)]) for name in RRF_SIGNALS], axis=1)
    return ScoredFragments(rows, RRF_SIGNALS, values, np.full(len(RRF_SIGNALS), 1 / (RRF_K + 1), np.float32))


def score_by_position(rows: Rows) -> ScoredFragments:
    """Score rows that are already in order by a signal `listed`, which falls evenly from 1."""
    values = 1 - np.arange(len(rows)) / max(len(rows), 1)
    return ScoredFragments(rows, ("listed",), values.astype(np.float32)[:, None], np.ones(1, np.float32))


def _score_reciprocal_ranks(values: Floats) -> Floats:
    """Return (RRF_K + 1) / (RRF_K + rank) for each value; 0 for a value that is not positive.

    The highest value has rank 1; ties are ranked in order.
    """
    ranks = np.empty(len(values))
    ranks[np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
    return np.where(values > 0, (RRF_K + 1) / (RRF_K + ranks), 0.0).astype(np.float32)


def add_name_signal(scored: ScoredFragments, is_named: npt.NDArray[np.bool_], notes: Rows) -> ScoredFragments:
    """Add the signal `name`: 1 for the best fragment of each note whose name is the query, else 0.

    `is_named` flags the fragments of such notes; `notes` is the note number of each fragment.
    """
    values = np.zeros(len(scored.rows), np.float32)
    named_positions = np.flatnonzero(is_named)
    values[named_positions[_best_row_per_note(scored.scores[named_positions], notes[named_positions])]] = 1.0
    return scored.with_signal("name", values, NAME_WEIGHT)


BOOST_WEIGHTS: Mapping[str, float] = {"links": 0.04, "recency": 0.02, "time": 0.7}
"""Weight of each boost.

The other signals can add up to 3, so a boost only decides between nearly equal scores. Only `time` may do more: the
query asks for it.
"""


def add_attachment_signal(
    scored: ScoredFragments, is_attachment: npt.NDArray[np.bool_], weight: float
) -> ScoredFragments:
    """Add the signal `attachment`, which multiplies the scores of the rows of attachments by `weight`.

    Return `scored` unchanged if `weight` is 1 or more, or no row is of an attachment.
    """
    if weight >= 1 or not is_attachment.any():
        return scored
    return scored.with_signal("attachment", np.where(is_attachment, scored.scores, 0).astype(np.float32), weight - 1)


# --- boosts -----------------------------------------------------------------------------------------------------------
# The signals for links and recency, which are added to matching fragments. Each can be switched off in the settings.


class Boosts:
    """The boosts of the notes in one snapshot: small additions to scores for links and recency.

    Recency is cached, because it does not depend on the query.
    """

    def __init__(self, snapshot: Corpus, switches: BoostSettings) -> None:
        """Create the boosts that `switches` enables."""
        self._snapshot = snapshot
        self._switches = switches
        self._recency: Floats | None = None

    def add_signals(self, scored: ScoredFragments, notes: Rows) -> ScoredFragments:
        """Return `scored` with one more signal for each enabled boost.

        `notes` is the note number of each fragment.
        """
        if self._switches.links:
            sources, targets = self._snapshot.facets.links_from(notes)
            count = len(self._snapshot.table.paths)
            backlink_scores = score_backlinks(sources, targets, notes, scored.scores, count)
            scored = _add_boost(scored, "links", backlink_scores[notes])
        if self._switches.recency:
            scored = _add_boost(scored, "recency", self._load_recency()[notes])
        return scored

    def _load_recency(self) -> Floats:
        if self._recency is None:
            modified = self._snapshot.facets.modified
            # Relative to the newest note, not to the clock: the same index gives the same list tomorrow.
            self._recency = score_recency(modified, int(modified.max(initial=0)))
        return self._recency


def _add_boost(scored: ScoredFragments, name: str, values: Floats) -> ScoredFragments:
    return scored.with_signal(name, np.round(values, 6), BOOST_WEIGHTS[name])
