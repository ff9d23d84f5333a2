"""Every term of a vault, sorted, with the fields it stands in: for words that are still being typed, or misspelt."""

from __future__ import annotations

import bisect
from collections.abc import Sequence

import numpy as np

from excerpt.index.columns import Columns
from excerpt.index.fields import FIELDS


class Vocabulary:
    """The terms of all segments. Some may stand only in deleted fragments."""

    def __init__(self, segments: Sequence[Columns]) -> None:
        masks: dict[bytes, int] = {}
        for segment in segments:
            for term, mask in zip(segment.terms(), segment.masks.tolist(), strict=True):
                masks[term] = masks.get(term, 0) | mask
        ordered = sorted(masks)
        self._terms = [term.decode() for term in ordered]
        self._masks = np.fromiter(map(masks.__getitem__, ordered), np.uint8, len(ordered))
        self._lengths = np.fromiter(map(len, self._terms), np.uint16, len(ordered))
        self._lexicons: dict[str, list[str]] = {}

    def __contains__(self, term: str) -> bool:
        at = bisect.bisect_left(self._terms, term)
        return at < len(self._terms) and self._terms[at] == term

    def lexicon(self, field: str) -> list[str]:
        """Every term of the field, sorted."""
        if field not in self._lexicons:
            bit = np.uint8(1 << FIELDS.index(field))
            self._lexicons[field] = [self._terms[at] for at in np.flatnonzero(self._masks & bit).tolist()]
        return self._lexicons[field]

    def continuations(self, beginning: str, most: int) -> list[str]:
        """Terms of any field that start with `beginning`, at most so many: the shortest first, then by alphabet."""
        first = bisect.bisect_left(self._terms, beginning)
        last = bisect.bisect_left(self._terms, beginning + "\U0010ffff", first)
        shortest = np.argsort(self._lengths[first:last], kind="stable")[:most]
        return [self._terms[first + at] for at in shortest.tolist()]
