"""Every term of a vault, sorted, with the fields it stands in: for words that are still being typed, or misspelt."""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from excerpt.index.columns import Columns
from excerpt.index.fields import FIELDS

Counts = NDArray[np.uint16]

_BITS = np.arange(len(FIELDS), dtype=np.uint8)
_SHARE = 4
"""Where more than one of so many terms would be looked up, all are sorted anew: it takes as long."""


class Vocabulary:
    """The terms of all segments. Some may stand only in deleted fragments.

    It knows how many segments have each term in each field, so that the next generation's is made of it by the
    segments that came and went.
    """

    def __init__(self, segments: Mapping[str, Columns], before: Vocabulary | None = None) -> None:
        """`segments` by name, of which `before`, an older generation's, may have had some."""
        self._segments = dict(segments)
        self._terms: list[str]
        self._counts: Counts
        come = [self._segments[name] for name in self._segments if before is None or name not in before._segments]
        gone = [] if before is None else [before._segments[n] for n in before._segments if n not in segments]
        changed = sum(len(columns.masks) for columns in (*come, *gone))
        if before is None or changed * _SHARE > len(before._terms):
            self._terms, self._counts = _counted(list(self._segments.values()))
        else:
            self._terms, self._counts = before._changed(come, gone)

    def __contains__(self, term: str) -> bool:
        at = bisect.bisect_left(self._terms, term)
        return at < len(self._terms) and self._terms[at] == term

    def lexicon(self, field: str) -> list[str]:
        """Every term of the field, sorted."""
        if field not in self._lexicons:
            self._lexicons[field] = list(compress(self._terms, (self._counts[:, FIELDS.index(field)] > 0).tolist()))
        return self._lexicons[field]

    def continuations(self, beginning: str, most: int) -> list[str]:
        """Terms of any field that start with `beginning`, at most so many: the shortest first, then by alphabet."""
        first = bisect.bisect_left(self._terms, beginning)
        last = bisect.bisect_left(self._terms, beginning + "\U0010ffff", first)
        shortest = np.argsort(self._lengths[first:last], kind="stable")[:most]
        return [self._terms[first + at] for at in shortest.tolist()]

    @cached_property
    def _lexicons(self) -> dict[str, list[str]]:
        return {}

    @cached_property
    def _lengths(self) -> NDArray[np.uint16]:
        return np.fromiter(map(len, self._terms), np.uint16, len(self._terms))

    def _changed(self, come: Sequence[Columns], gone: Sequence[Columns]) -> tuple[list[str], Counts]:
        """The terms, and their counts, after these segments have come and gone."""
        new = sorted({term for columns in come for term in columns.words() if term not in self})
        terms, counts = self._terms, self._counts
        if new:
            counts = np.insert(counts, [bisect.bisect_left(terms, term) for term in new], 0, axis=0)
            # Two sorted runs: one pass.
            terms = sorted([*terms, *new])
        else:
            counts = counts.copy()
        for columns, sign in (*((one, 1) for one in come), *((one, -1) for one in gone)):
            at = [bisect.bisect_left(terms, term) for term in columns.words()]
            counts[at] += (sign * _fields(columns)).astype(np.uint16)
        left = np.any(counts > 0, axis=1)
        return (terms, counts) if left.all() else (list(compress(terms, left.tolist())), counts[left])


def _counted(segments: Sequence[Columns]) -> tuple[list[str], Counts]:
    """All terms, sorted, and how many of the segments have each in each field."""
    places: dict[str, int] = {}
    found = [
        np.fromiter((places.setdefault(term, len(places)) for term in columns.words()), np.int32, len(columns.masks))
        for columns in segments
    ]
    counts = np.zeros((len(places), len(FIELDS)), np.uint16)
    for columns, at in zip(segments, found, strict=True):
        counts[at] += _fields(columns).astype(np.uint16)
    terms = sorted(places)
    return terms, counts[np.fromiter(map(places.__getitem__, terms), np.int32, len(terms))]


def _fields(columns: Columns) -> NDArray[np.int16]:
    """Terms x fields: 1 where a segment has the term in the field."""
    bits: NDArray[np.int16] = (columns.masks[:, None] >> _BITS & 1).astype(np.int16)
    return bits
