"""The confidence that a fragment answers the query.

A score says which fragment is first, not whether it is any good. Confidence uses absolute quantities: the share of the
query that the fragment has, how rare these words are together (three rare words rarely meet by chance), and whether a
title or heading is about them. The three, and an intercept for queries of few, some or many words, were fitted as a
logistic regression to the first hits of 13,000 queries, more than half of them asked of vaults that cannot answer them
(docs/design/quality.md, `python -m benchmarks.confidence --fit`). Similarity in meaning added nothing: the model finds
something near to anything.

A code, a file name, an identifier or a phrase either matches or not: a fragment that has all of a query's is at least
likely.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from excerpt.kinds import Confidence, Strategy
from excerpt.search.bm25 import Rows
from excerpt.search.candidates import Candidates
from excerpt.search.evidence import Evidence
from excerpt.search.ranking import SIGNALS, primary_strategy

Floats = npt.NDArray[np.float32]

_COVERAGE_COEFFICIENT, _IDF_COEFFICIENT, _NAME_COEFFICIENT = 4.0, 3.2, 2.9
_INTERCEPTS: Mapping[Strategy, float] = {Strategy.ADAPTIVE: -7.5, Strategy.PROXIMITY: -7.2, Strategy.SEMANTIC: -6.1}
"""The intercept by the primary strategy for that many words (`ranking.primary_strategy`).

One or two words are soon found by chance, those of a question hardly ever.
"""

STRONG_LIKELIHOOD, LIKELY_LIKELIHOOD, WEAK_LIKELIHOOD = 0.7, 0.4, 0.15
"""The likelihood from which each word is used. At 0.7, fewer than one in 100 queries that nothing answers are called
strong."""
MIN_WEAK_COVERAGE = 0.4
"""The share of a query from which a fragment is never "nothing".

A half-typed word, or one that all notes have, is rare in nothing and yet what was asked for.
"""


@dataclass(frozen=True, slots=True)
class ConfidenceTable:
    """For fragments in some order: how likely each answers, and the share of the query that it has, 0 to 1."""

    likelihoods: Floats
    coverage: Floats

    def label_at(self, position: int) -> Confidence:
        """Return the confidence of the fragment at a position."""
        return confidence_label(float(self.likelihoods[position]), float(self.coverage[position]))


def judge_confidence(evidence: Evidence, candidates: Candidates, rows: Rows) -> ConfidenceTable:
    """Return the confidence of each of `rows`, which are among the candidates.

    If the query is the name of the note, it is certain.
    """
    coverage, idf_sum, name_fit = compute_features(evidence, candidates, rows)
    is_named = candidates.is_named[np.searchsorted(candidates.rows, rows)]
    likelihoods = estimate_likelihood(coverage, idf_sum, name_fit, primary_strategy(evidence.word_count))
    if evidence.has_exact_words is not None:
        likelihoods = np.where(
            evidence.has_exact_words[rows], np.maximum(likelihoods, np.float32(LIKELY_LIKELIHOOD)), likelihoods
        )
    return ConfidenceTable(np.where(is_named, np.float32(1), likelihoods), coverage)


def compute_features(evidence: Evidence, candidates: Candidates, rows: Rows) -> tuple[Floats, Floats, Floats]:
    """Return the features of the likelihood for each of `rows`.

    They are the share of the query that it has, by rarity; ln(1 + the idf of the words it has, in units of the idf of a
    word in one fragment); and how well the best of title and headings fits.
    """
    at = np.searchsorted(candidates.rows, rows)
    coverage = candidates.signals[at, SIGNALS.index("coverage")]
    names = [candidates.signals[at, SIGNALS.index(name)] for name in ("title", "heading", "outline")]
    rarest = np.log1p((evidence.corpus_size - 0.5) / 1.5)
    total_idf = sum(match.idf for match in evidence.matches) / max(float(rarest), 1e-9)
    return coverage, np.log1p(coverage * np.float32(total_idf)), np.maximum.reduce(names)


def estimate_likelihood(coverage: Floats, idf_sum: Floats, name_fit: Floats, kind: Strategy) -> Floats:
    """Return how likely each fragment answers the query, 0 to 1, from the features of `compute_features`.

    `kind` is the primary strategy for the number of words in the query.
    """
    result: Floats = 1 / (
        1
        + np.exp(
            -(
                _COVERAGE_COEFFICIENT * coverage
                + _IDF_COEFFICIENT * idf_sum
                + _NAME_COEFFICIENT * name_fit
                + _INTERCEPTS[kind]
            )
        )
    )
    return result.astype(np.float32)


def confidence_label(value: float, coverage: float) -> Confidence:
    """Return the label for this likelihood and share of the query."""
    if value >= STRONG_LIKELIHOOD:
        return Confidence.STRONG
    if value >= LIKELY_LIKELIHOOD:
        return Confidence.LIKELY
    return Confidence.WEAK if value >= WEAK_LIKELIHOOD or coverage >= MIN_WEAK_COVERAGE else Confidence.NOTHING
