"""The value of each hit for a pack, by its score, its rank and the words that it adds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from excerpt.base.model import Hit
from excerpt.text.folding import stem

_SCORE_EXPONENT = 2.0
_RANK_EXPONENT = 0.75
_NOTE_RANK_EXPONENT = 1.5
"""Exponents of the value of a hit, tuned on three query sets and tested on two others (docs/design/packs.md).

The value is score ** _SCORE_EXPONENT / rank ** _RANK_EXPONENT / note rank ** _NOTE_RANK_EXPONENT. The note rank counts
only the hits of the same note.
"""
_NEW_WORDS_BONUS = 0.5
"""Share added to the value of a hit that has all words of the query, if no better hit has any of these words."""
MAX_PRIMARY_HITS = 15
"""Number of primary hits: the most valuable hits, which enter a pack before any context and any weaker hit.

Of 606 questions, 16 have their target first in hits 11 to 15, and none has it beside one of the first ten hits.
"""
VALUE_UNIT = 2.0**-22
"""Unit of the values of primary hits, a power of two, so that their sums are exact.

The values of all context and all weaker hits together are below one unit.
"""
_MIN_PRIMARY_UNITS = 4
"""Least value of a primary hit, in units of VALUE_UNIT."""
_MIN_RELATIVE_SCORE = 1e-6
"""Least score, as a share of the best hit's score, that a hit's value is computed from."""
_MAX_CACHED_STEMS = 4096


def compute_hit_values(hits: Sequence[Hit]) -> list[float]:
    """Return the value of each hit, computed from the ranking alone; `hits` are best first.

    A value estimates the probability that the hit is the answer. It falls with the hit's rank and with each better hit
    of the same note; it rises with words of the query that no better hit has. A hit's value does not depend on which
    hits are selected, so the value of a pack is a plain sum, and a larger budget never gives a selection of less value.
    """
    best = max((hit.score for hit in hits if hit.score > 0), default=1.0)
    words = [
        frozenset(map(_stem_word, {hit.fragment.text[span.start : span.end] for span in hit.spans})) for hit in hits
    ]
    word_count = len(frozenset().union(*words)) or 1
    seen_words: set[str] = set()
    of_note: Counter[str] = Counter()
    values = []
    for rank, (hit, has) in enumerate(zip(hits, words, strict=True), start=1):
        of_note[hit.fragment.path] += 1
        gain = 1 + _NEW_WORDS_BONUS * len(has - seen_words) / word_count
        seen_words |= has
        likely = max(hit.score / best, _MIN_RELATIVE_SCORE) ** _SCORE_EXPONENT
        values.append(likely * gain / rank**_RANK_EXPONENT / of_note[hit.fragment.path] ** _NOTE_RANK_EXPONENT)
    return values


def round_primary_value(value: float) -> float:
    """Return the value of a primary hit, rounded down to a multiple of VALUE_UNIT."""
    return max(int(value / VALUE_UNIT), _MIN_PRIMARY_UNITS) * VALUE_UNIT


@lru_cache(maxsize=_MAX_CACHED_STEMS)
def _stem_word(matched: str) -> str:
    """Return the stem of a matched word, which is the same for all its inflections."""
    return stem(matched, "")
