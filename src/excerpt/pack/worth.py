"""What each hit is worth, from the ranking alone, before anything is chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from excerpt.model import Hit
from excerpt.text.folding import stem

_BY_SCORE = 2.0
_BY_RANK = 0.75
_BY_NOTE = 1.5
"""A hit is worth its score to the power of _BY_SCORE, divided by its rank to the power of _BY_RANK, and by its place
among the hits of its note, counted from 1, to the power of _BY_NOTE: found on three sets, held against two others (see
docs/design/packs.md)."""
_NEW_WORDS = 0.5
"""What a hit gains, as a share, if it has all the words of the query and no better hit has any."""
LEADING = 15
"""As many hits, those worth most, go in before any context, and before any weaker hit: of 606 questions 16 have their
target first in hits 11 to 15, and none has it beside one of the first ten."""
GRAIN = 2.0**-22
"""What leading hits are worth are multiples of this, so that their sums are exact, and the rest together is worth less
than one."""
_LEAST_GRAINS = 4
_LEAST = 1e-6
"""Worth of a hit without a positive score, before discounts: where there is room it goes in."""
_REMEMBERED = 4096


def worths(hits: Sequence[Hit]) -> list[float]:
    """What each of `hits`, best first, adds to a pack that holds it.

    How likely a hit is the answer falls with its rank, falls again with each better hit of its note (one of those was
    more likely the answer), and less if it says words of the query that no better hit says. All of that is known
    before anything is chosen, so that what packs are worth is a plain sum, and the best choice for a budget can be
    found and is never worth less than that for a smaller one.
    """
    best = max((hit.score for hit in hits if hit.score > 0), default=1.0)
    words = [frozenset(map(_word, {hit.fragment.text[span.start : span.end] for span in hit.spans})) for hit in hits]
    asked = len(frozenset().union(*words)) or 1
    said: set[str] = set()
    of_note: Counter[str] = Counter()
    found = []
    for rank, (hit, has) in enumerate(zip(hits, words, strict=True), start=1):
        of_note[hit.fragment.path] += 1
        gain = 1 + _NEW_WORDS * len(has - said) / asked
        said |= has
        likely = max(hit.score / best, _LEAST) ** _BY_SCORE
        found.append(likely * gain / rank**_BY_RANK / of_note[hit.fragment.path] ** _BY_NOTE)
    return found


def leading_worth(worth: float) -> float:
    """Return the worth of a leading hit, as a multiple of GRAIN."""
    return max(int(worth / GRAIN), _LEAST_GRAINS) * GRAIN


@lru_cache(maxsize=_REMEMBERED)
def _word(matched: str) -> str:
    """What variants of a word have in common."""
    return stem(matched, "")
