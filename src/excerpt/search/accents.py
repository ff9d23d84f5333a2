"""Fragments that have words of the query only with other accents than typed.

Words match without their accents, so a query for *péché* also finds *pêche*. Who typed the accent means the first: of
nearly equal fragments, those with the accents as typed come first.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np

from excerpt.base.patterns import lazy_pattern
from excerpt.corpus.interface import Corpus
from excerpt.search.bm25 import ExpandedWord
from excerpt.search.ranking import ScoredFragments
from excerpt.text.folding import remove_accents

OTHER_ACCENTS_WEIGHT = -0.25
"""Weight of the signal `accents`: a fragment that has all words of the query in other accents loses a quarter.

Less does not outweigh the meaning in a vault of a few notes, where the lowest cosine counts 0 and the highest 1.
"""
_COMPARED_FRAGMENTS = 50
"""Number of the best fragments whose accents are compared: 3 to 4 ms, as their texts must be read."""

_WORD = lazy_pattern(r"[^\W\d_]+")


def add_accents_signal(scored: ScoredFragments, words: Sequence[ExpandedWord], snapshot: Corpus) -> ScoredFragments:
    """Add the signal `accents`: the share of the query's `words` that a fragment has only with other accents.

    The signal is multiplied by the score. Only the best fragments are compared; `scored` is returned unchanged if no
    fragment differs.
    """
    typed = {lowered for word in words if remove_accents(lowered := _lower(word.surface)) != lowered}
    if not typed or not len(scored.rows):
        return scored
    scores = scored.scores
    best = np.argsort(-scores, kind="stable")[:_COMPARED_FRAGMENTS]
    keys = snapshot.table.keys[scored.rows[best]].tolist()
    shares = np.zeros(len(scores), np.float32)
    for at, fragment in zip(best.tolist(), snapshot.fragments(keys), strict=True):
        text = "\n".join((fragment.text, fragment.title, *fragment.heading_path))
        shares[at] = _count_other_accents(typed, text) / len(words)
    return scored.with_signal("accents", shares * scores, OTHER_ACCENTS_WEIGHT) if shares.any() else scored


def _count_other_accents(typed: set[str], text: str) -> int:
    """Return how many words of `typed` are in `text` only with other accents, or only without accents."""
    found = set(_WORD.findall(_lower(text)))
    missing = typed - found
    if not missing:
        return 0
    plain = {word if word.isascii() else remove_accents(word) for word in found}
    return sum(remove_accents(word) in plain for word in missing)


def _lower(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()
