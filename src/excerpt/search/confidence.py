"""The confidence that a fragment answers the query.

A score says which fragment is best, but not whether it answers the query. Confidence is computed from three absolute
quantities: the share of the query that the fragment has, how rare the words that it has are together (three rare words
rarely meet by chance), and how well a title or heading fits. They are the features of a logistic regression, with an
intercept that depends on the number of words in the query. It was fitted to the first hits of 13,000 queries, of which
more than half were asked of vaults that cannot answer them (docs/design/quality.md, `python -m benchmarks.confidence
--fit`). Similarity in meaning did not improve it: the model finds something near to any text.

Codes, file names, identifiers and phrases either match or not. A fragment that has all of those in a query is at least
likely to answer it.
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
"""The intercept of the regression by primary strategy, which depends on the number of query words.

See `ranking.primary_strategy`. One or two words often occur by chance, the words of a question hardly ever.
"""

STRONG_LIKELIHOOD, LIKELY_LIKELIHOOD, WEAK_LIKELIHOOD = 0.7, 0.4, 0.15
"""The likelihoods from which a hit is called strong, likely and weak.

Of 100 queries that nothing in the vault answers, fewer than one has a first hit with 0.7 or more.
"""
MIN_WEAK_COVERAGE = 0.4
"""The share of the query (coverage, 0 to 1) from which a fragment is at least called weak.

A half-typed word, or a word that all notes have, is not rare, and yet is what the user searches for.
"""


@dataclass(frozen=True, slots=True)
class ConfidenceTable:
    """The likelihood that each fragment answers the query, and its share of the query, both 0 to 1.

    The arrays are parallel to the rows that were given to `judge_confidence`.
    """

    likelihoods: Floats
    coverage: Floats

    def label_at(self, position: int) -> Confidence:
        """Return the confidence of the fragment at index `position` of the arrays."""
        return confidence_label(float(self.likelihoods[position]), float(self.coverage[position]))


def judge_confidence(evidence: Evidence, candidates: Candidates, rows: Rows) -> ConfidenceTable:
    """Return how likely each of `rows`, which must be candidate rows, answers the query.

    A fragment of a note whose title, file name or alias is the query has likelihood 1.
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
    """Return the features of the regression for each row: coverage, rarity and fit of the best name.

    Coverage is the share of the query, weighted by idf, that the row has. Rarity is ln(1 + the idf sum of the words
    that it has, divided by the idf of a word in a single fragment). The fit is the highest of the signals `title`,
    `heading` and `outline`.
    """
    at = np.searchsorted(candidates.rows, rows)
    coverage = candidates.signals[at, SIGNALS.index("coverage")]
    names = [candidates.signals[at, SIGNALS.index(name)] for name in ("title", "heading", "outline")]
    rarest = np.log1p((evidence.corpus_size - 0.5) / 1.5)
    total_idf = sum(match.idf for match in evidence.matches) / max(float(rarest), 1e-9)
    return coverage, np.log1p(coverage * np.float32(total_idf)), np.maximum.reduce(names)


def estimate_likelihood(coverage: Floats, idf_sum: Floats, name_fit: Floats, primary: Strategy) -> Floats:
    """Return how likely each fragment answers the query, 0 to 1, from what `compute_features` returns.

    `primary` is the primary strategy, which depends on the number of words in the query.
    """
    result: Floats = 1 / (
        1
        + np.exp(
            -(
                _COVERAGE_COEFFICIENT * coverage
                + _IDF_COEFFICIENT * idf_sum
                + _NAME_COEFFICIENT * name_fit
                + _INTERCEPTS[primary]
            )
        )
    )
    return result.astype(np.float32)


def confidence_label(likelihood: float, coverage: float) -> Confidence:
    """Return the confidence for a likelihood and a share of the query (coverage), both 0 to 1."""
    if likelihood >= STRONG_LIKELIHOOD:
        return Confidence.STRONG
    if likelihood >= LIKELY_LIKELIHOOD:
        return Confidence.LIKELY
    return Confidence.WEAK if likelihood >= WEAK_LIKELIHOOD or coverage >= MIN_WEAK_COVERAGE else Confidence.NOTHING
