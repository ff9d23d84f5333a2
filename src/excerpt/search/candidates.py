"""The fragments put forward for a query, each with every signal, whichever list brought it up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from excerpt.index.lexical import LexicalReader
from excerpt.search import semantic
from excerpt.search.evidence import Evidence, Flags, Floats
from excerpt.search.fusion import SIGNALS
from excerpt.search.lexical import Rows, Word, WordIndex
from excerpt.search.proximity import PLACES, closeness, line_of

POOL = 200
"""Fragments that each of the two lists, words and meaning, puts forward; all are scored by all signals."""
COMMON = float(np.log(2))
"""The idf of a word that half of all fragments have: where it stands tells nothing, and there is much to read."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Rows, ascending, with their signals (rows x SIGNALS, each 0 to 1) and plain cosines.

    `matched` counts all rows that have a word or stand out in meaning, put forward or not; `named` marks the rows of
    notes that the query names.
    """

    rows: Rows
    signals: Floats
    cosines: Floats
    named: Flags
    matched: int


def put_forward(evidence: Evidence, index: WordIndex, lexical: LexicalReader, pool: int = POOL) -> Candidates:
    """The fragments that words or meaning put forward, `pool` by each, and those of notes that the query names."""
    scores, similarities = evidence.scores, evidence.similarities
    rows = np.union1d(_top(scores, pool, 0.0), _top(similarities, pool, evidence.mean))
    rows = np.union1d(rows, evidence.named).astype(np.int32)
    return Candidates(
        rows=rows,
        # Rounded, so that fragments of the same words are of one score and their order is that of path and line.
        signals=np.round(_signals(evidence, index, lexical, rows), 6),
        cosines=similarities[rows],
        named=np.isin(rows, evidence.named),
        matched=int(np.count_nonzero(scores) + np.count_nonzero(scores[rows] == 0)),
    )


def _top(values: Floats, size: int, above: float) -> Rows:
    """Rows of the `size` highest values, of those above a floor."""
    rows = np.flatnonzero(values > np.float32(above)).astype(np.int32)
    if len(rows) > size:
        rows = rows[np.argpartition(values[rows], len(rows) - size)[len(rows) - size :]]
    return rows


def _signals(evidence: Evidence, index: WordIndex, lexical: LexicalReader, rows: Rows) -> Floats:
    scores, similarities, mean = evidence.scores, evidence.similarities, evidence.mean
    rarity = np.array([match.idf for match in evidence.matches], np.float32)
    weight = rarity / max(float(rarity.sum()), 1e-9)
    signals = {
        "words": scores[rows] / max(float(scores.max(initial=0.0)), 1e-9),
        "coverage": weight @ index.presence(evidence.words, rows, None),
        "title": _named_share(evidence, index, lexical, weight=weight, rows=rows, field="title"),
        "heading": _named_share(evidence, index, lexical, weight=weight, rows=rows, field="heading"),
        "proximity": _proximity(evidence.words, rarity, index, lexical, rows),
        "meaning": semantic.above_mean(similarities, rows, mean, float(similarities.max(initial=mean)))
        * np.float32(evidence.trust),
    }
    return np.stack([signals[name] for name in SIGNALS], axis=1).astype(np.float32)


def _named_share(
    evidence: Evidence, index: WordIndex, lexical: LexicalReader, *, weight: Floats, rows: Rows, field: str
) -> Floats:
    """The share of the query that a short field covers, times the share of the field that the query covers."""
    present = index.presence(evidence.words, rows, field)
    terms = present.sum(axis=0) + index.presence(evidence.unasked, rows, field).sum(axis=0)
    precision = np.minimum(terms / np.maximum(lexical.lengths(field)[rows], 1), 1)
    covered: Floats = (weight @ present) * precision
    return covered


def _proximity(
    words: Sequence[Word], rarity: npt.NDArray[np.float32], index: WordIndex, lexical: LexicalReader, rows: Rows
) -> Floats:
    plain = [(word, float(idf)) for word, idf in zip(words, rarity, strict=True) if not word.whole]
    telling = [(word, idf) for word, idf in plain if idf > COMMON]
    plain = telling if len(telling) > 1 else plain
    if len(plain) < 2:
        return np.zeros(len(rows), np.float32)
    lines = [line_of(lexical, PLACES, index.best_terms(word), rows) for word, _ in plain]
    return closeness(lines, [idf for _, idf in plain], [word.position for word, _ in plain], len(rows))
