"""Signals beside the query: which notes the matching ones link to, and which were modified lately.

Arrays in, arrays out: a number from 0 to 1 for each note, in the order of the snapshot's paths. They can move a hit a
little; whether a fragment matches at all is settled before.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]
Times = npt.NDArray[np.int64]

SECOND = 1_000_000_000
DAY = 86_400 * SECOND
"""In nanoseconds, as modification times are."""

HALF_LIFE_DAYS = 30.0
"""How long it takes until a modification counts half."""
ALIKE_SHARE = 0.9
ALIKE_WITHIN = 3600 * SECOND
"""Where more than this share of the notes was modified within one such span, a copy or a checkout wrote the times."""


def backlinks(sources: Ints, targets: Ints, notes_of_rows: Ints, strength_of_rows: Floats, note_count: int) -> Floats:
    """How many of the notes that matter for a query point at each note, as a share of the most that point at one.

    `sources` and `targets` are the links, as notes; each pair stands once. A note matters as much as the strongest of
    its rows (`strength_of_rows`, 0 and up, for the rows put forward), and votes for every note it links to but
    itself. Votes count by the logarithm of their sum: the tenth says less than the first.
    """
    strength = np.zeros(note_count, np.float64)
    np.maximum.at(strength, notes_of_rows, strength_of_rows)
    top = strength.max(initial=0.0)
    if top <= 0 or not len(sources):
        return np.zeros(note_count, np.float32)
    voting = (sources != targets) & (strength[sources] > 0)
    votes = np.bincount(targets[voting], strength[sources[voting]] / top, note_count)
    damped = np.log1p(votes)
    most = damped.max(initial=0.0)
    return (damped / most if most > 0 else damped).astype(np.float32)


def recency(modified_ns: Times, now_ns: int, half_life_days: float = HALF_LIFE_DAYS) -> Floats:
    """How lately each note was modified: 1 now or later, half of it a half-life ago.

    0 for all where the times say nothing, since nearly all notes have the same one: a vault that git or a copy has
    just written. Determined by the index alone if `now_ns` is.
    """
    if not len(modified_ns) or _alike(modified_ns):
        return np.zeros(len(modified_ns), np.float32)
    age = np.maximum(now_ns - modified_ns, 0) / (half_life_days * DAY)
    return np.exp2(-age).astype(np.float32)


def _alike(modified_ns: Times) -> bool:
    """Whether more than ALIKE_SHARE of the times lie within ALIKE_WITHIN of each other."""
    times = np.sort(modified_ns)
    ends = np.searchsorted(times, times + ALIKE_WITHIN, side="right")
    return int((ends - np.arange(len(times))).max()) > ALIKE_SHARE * len(times)
