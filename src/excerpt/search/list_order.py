"""The order of a list of hits: at most some of one note at its top, and every second place by meaning.

A position is an index of the arrays of a ranking.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from excerpt.base.model import PLACES_BY_MEANING
from excerpt.search.bm25 import Rows
from excerpt.search.filters import Flags
from excerpt.search.ranking import Floats
from excerpt.search.results import TOP_HITS

IndexArray = npt.NDArray[np.intp]
"""An array of positions in another array."""

LISTED_HITS = 50
"""Number of first hits of which at most twice `search.per_note` are of one note.

The same limit without the factor holds for the first TOP_HITS hits. Hits beyond a limit move behind other notes' hits,
so nothing is lost if no other note matches.
"""


def limit_hits_per_note(order: IndexArray, notes: Rows, top_limit: int, listed_limit: int) -> IndexArray:
    """Return `order` with a limited number of hits of one note among the first hits.

    Further hits of a note are moved behind. `order` are positions in `notes`, best first; `notes` are the note numbers.
    `top_limit` applies to the first TOP_HITS hits and `listed_limit` to the first LISTED_HITS; 0 is no limit.
    """
    return _limit_first_hits(_limit_first_hits(order, notes, listed_limit, LISTED_HITS), notes, top_limit, TOP_HITS)


def _limit_first_hits(order: IndexArray, notes: Rows, limit: int, window: int) -> IndexArray:
    """Return `order` with at most `limit` hits of one note among the first `window`.

    Further hits are moved behind.
    """
    if not limit:
        return order
    first: list[int] = []
    moved: list[int] = []
    counts: dict[int, int] = {}
    for number, at in enumerate(order.tolist()):
        if len(first) == window:
            return np.concatenate([np.array(first + moved, np.intp), order[number:]])
        note = int(notes[at])
        if counts.get(note, 0) < limit:
            counts[note] = counts.get(note, 0) + 1
            first.append(at)
        else:
            moved.append(at)
    return np.array(first + moved, np.intp)


def join_orders(by_words: IndexArray, by_meaning: IndexArray) -> tuple[IndexArray, Flags]:
    """Join two orders of the same positions; return the joined order, and flags of the positions ranked by meaning.

    The k-th position by words gets rank 2k - 1, the k-th by meaning rank 2k. A position that is in both orders gets the
    better of its two ranks, and later positions move up. Only PLACES_BY_MEANING positions are ranked by meaning.
    """
    places = np.zeros(len(by_words), np.intp)
    places[by_words] = np.arange(1, 2 * len(by_words), 2)
    nearest = by_meaning[:PLACES_BY_MEANING]
    places_by_meaning = np.arange(2, 2 * len(nearest) + 1, 2)
    is_raised = np.zeros(len(by_words), np.bool_)
    is_raised[nearest] = places_by_meaning < places[nearest]
    places[nearest] = np.minimum(places[nearest], places_by_meaning)
    return np.argsort(places), is_raised


def score_places(scores: Floats, is_raised: Flags, is_more: Flags) -> Floats:
    """Return the scores of a list so that they fall from hit to hit: a moved hit gets the score of its new rank.

    A raised hit has at least the score of the next hit that was not; a hit held back among the first ones has at most
    the score of the hit above it. Hits that `is_more` flags (`flag_more_of_note`) keep their own scores and do not
    count.
    """
    own = np.where(is_raised | is_more, 0, scores)
    below = np.maximum.accumulate(own[::-1])[::-1]
    placed = np.where(is_raised & ~is_more, np.maximum(scores, below), scores)
    above = np.minimum.accumulate(np.where(is_more, np.inf, placed))
    return np.where(is_more, scores, above).astype(np.float32)
