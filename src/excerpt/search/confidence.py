"""The confidence that a fragment answers the query.

A score says which fragment is first, not whether it is any good. Confidence uses the share of the query that the
fragment has, how rare these words are together (three rare words rarely meet by chance), whether a title, heading or
text of a link is about them, and how far the fragment is ahead of the best other one. Their weights are a logistic
regression on the first hits of 13,000 queries, two thirds of them asked of vaults that cannot answer them
(docs/design/quality.md, `python -m benchmarks.confidence --fit`). Similarity in meaning added nothing: the model finds
something near to anything.

A code, a file name, an identifier or a phrase either matches or not: a fragment that has all of a query's is at least
likely.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from excerpt.base.kinds import Confidence, Strategy
from excerpt.search.bm25 import Rows
from excerpt.search.candidates import Candidates
from excerpt.search.evidence import Evidence
from excerpt.search.ranking import SIGNALS, primary_strategy, sum_weighted_signals, weights_for

Floats = npt.NDArray[np.float32]

FEATURES = ("coverage", "evidence", "named", "words", "lead")
"""The features of the likelihood, in the order of the columns of `compute_features`."""
_WEIGHTS = np.array((4.23, 2.64, 3.75, -0.57, 3.01), np.float32)
_INTERCEPTS: Mapping[Strategy, float] = {Strategy.ADAPTIVE: -7.35, Strategy.PROXIMITY: -6.42, Strategy.SEMANTIC: -5.17}
"""The intercept by the primary strategy for that many words (`ranking.primary_strategy`).

One or two words are soon found by chance, those of a question hardly ever.
"""
_MIN_LEAD, _MAX_LEAD = -3.0, 1.1
"""Bounds of the feature `lead`; the upper one is about three times the score of the next fragment."""

STRONG_LIKELIHOOD, LIKELY_LIKELIHOOD, WEAK_LIKELIHOOD = 0.8, 0.4, 0.03
"""The likelihood from which each label is used.

Of 2,360 questions asked of vaults without an answer, 1 in 180 is called strong and 1 in 33 strong or likely, and 48 in
100 find nothing above WEAK_LIKELIHOOD; of those that LoCoMo's chats answer, 2.
"""
UNSURE_LIKELIHOOD = 0.2
"""The likelihood of the best of the first JUDGED_HITS hits below which a query's words fail (`best_likelihood`)."""
MIN_WEAK_COVERAGE = 0.9
"""The share of a query from which a fragment is never "nothing": it has the words, however common they are."""
JUDGED_HITS = 5
"""The number of first hits by which a result is judged."""


class ConfidenceTable(Struct, frozen=True):
    """The likelihood that each fragment answers the query, and its share of the query, both 0 to 1.

    The arrays are parallel to the rows that were given to `judge_confidence`.
    """

    likelihoods: Floats
    coverage: Floats

    def label_at(self, position: int) -> Confidence:
        """Return the confidence of the fragment at index `position` of the arrays."""
        return confidence_label(float(self.likelihoods[position]), float(self.coverage[position]))


def judge_confidence(evidence: Evidence, candidates: Candidates, rows: Rows, notes: Rows) -> ConfidenceTable:
    """Return how likely each of `rows`, which must be candidate rows, answers the query.

    `notes` are the notes of all candidates. A fragment of a note whose title, file name or alias is the query has
    likelihood 1.
    """
    features = compute_features(evidence, candidates, rows, notes)
    is_certain = candidates.is_named[np.searchsorted(candidates.rows, rows)]
    likelihoods = estimate_likelihood(features, primary_strategy(evidence.word_count))
    if evidence.has_exact_words is not None:
        likelihoods = np.where(
            evidence.has_exact_words[rows], np.maximum(likelihoods, np.float32(LIKELY_LIKELIHOOD)), likelihoods
        )
    return ConfidenceTable(np.where(is_certain, np.float32(1), likelihoods), features[:, FEATURES.index("coverage")])


def compute_features(evidence: Evidence, candidates: Candidates, rows: Rows, notes: Rows) -> Floats:
    """Return the features of the likelihood (rows x FEATURES) of `rows`; `notes` are the notes of the candidates.

    They are the share of the query that the fragment has, by rarity and without stop words that the vault lacks;
    ln(1 + the idf of the words it has, in units of the idf of a word in one fragment); how well the best of title,
    headings and texts of links fits; ln(1 + the number of words in the query); and the lead (`_leads`).
    """
    at = np.searchsorted(candidates.rows, rows)
    coverage = candidates.judged_signals[at, SIGNALS.index("coverage")]
    title, anchor, heading, outline = (
        candidates.judged_signals[at, SIGNALS.index(name)] for name in ("title", "anchor", "heading", "outline")
    )
    named = np.maximum.reduce((np.minimum(title + anchor, 1), heading, outline))  # the anchor is above the title
    rarest = np.log1p((evidence.corpus_size - 0.5) / 1.5)
    total_idf = sum(match.idf for match in evidence.matches) / max(float(rarest), 1e-9)
    columns = (
        np.minimum(coverage / np.float32(max(1 - evidence.absent_stop_share, 1e-9)), 1),
        np.log1p(coverage * np.float32(total_idf)),
        named,
        np.full(len(rows), np.log1p(evidence.word_count)),
        _leads(evidence, candidates, notes)[at],
    )
    return np.stack(columns, axis=1).astype(np.float32)


def score_candidates_plainly(evidence: Evidence, candidates: Candidates, notes: Rows) -> Floats:
    """Return the score of each candidate by `auto` without boosts, and with the static model's meaning.

    The weights above were fitted by it, and so confidence depends on nothing but the query and the notes, whatever
    strategy ranks. `notes` are those of the candidates.
    """
    weights = weights_for(primary_strategy(evidence.word_count))
    return sum_weighted_signals(candidates.rows, candidates.static_signals, weights, notes).scores


def _leads(evidence: Evidence, candidates: Candidates, notes: Rows) -> Floats:
    """Return for each candidate ln(its score / the best score of any other candidate)."""
    scores = score_candidates_plainly(evidence, candidates, notes)
    if len(scores) == 0:
        return scores
    first = int(np.argmax(scores))
    runner_up = max(float(np.delete(scores, first).max(initial=0.0)), 1e-9)
    others = np.full(len(scores), max(float(scores[first]), 1e-9))
    others[first] = runner_up
    leads: Floats = np.clip(np.log(np.maximum(scores, 1e-9) / others), _MIN_LEAD, _MAX_LEAD).astype(np.float32)
    return leads


def estimate_likelihood(features: Floats, primary: Strategy) -> Floats:
    """Return how likely each fragment answers the query, 0 to 1, from its features (rows x FEATURES).

    `primary` is the primary strategy for the number of words in the query.
    """
    with np.errstate(invalid="ignore"):  # OpenBLAS sets the flag now and then for finite numbers (numpy issue 24067)
        result: Floats = 1 / (1 + np.exp(-(features @ _WEIGHTS + np.float32(_INTERCEPTS[primary]))))
    return result.astype(np.float32)


def confidence_label(value: float, coverage: float) -> Confidence:
    """Return the label for this likelihood and share of the query."""
    if value >= STRONG_LIKELIHOOD:
        return Confidence.STRONG
    if value >= LIKELY_LIKELIHOOD:
        return Confidence.LIKELY
    return Confidence.WEAK if value >= WEAK_LIKELIHOOD or coverage >= MIN_WEAK_COVERAGE else Confidence.NOTHING
