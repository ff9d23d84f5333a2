"""A note's other names, each by itself: how well a query fits the best of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

import numpy as np
import numpy.typing as npt

from excerpt.index.snapshot import Snapshot
from excerpt.search.lexical import Word
from excerpt.text.words import terms_of

Floats = npt.NDArray[np.float32]


class Names:
    """The terms of the aliases and file names of one snapshot's notes, taken apart when first asked for."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._terms: dict[int, tuple[tuple[str, ...], ...]] = {}

    def shares(self, notes: Sequence[int], words: Sequence[Word], unasked: Sequence[Word], weight: Floats) -> Floats:
        """For each note, by its place in the snapshot's table: of its best name, the share of the query that it
        covers, times the share of it that the query covers. The field of all names together would count against a
        note what its other names are."""
        return np.array([self._best(note, words, unasked, weight) for note in notes], np.float32)

    def _best(self, note: int, words: Sequence[Word], unasked: Sequence[Word], weight: Floats) -> float:
        best = 0.0
        for terms in self._of(note):
            covered = found = 0.0
            for word, part in zip(words, weight.tolist(), strict=True):
                share = next((tier.share for tier in word.tiers if not _disjoint(tier.terms, terms)), 0.0)
                covered += share * part
                found += share
            found += sum(not _disjoint(word.terms, terms) for word in unasked)
            best = max(best, covered * min(found / len(terms), 1.0))
        return best

    def _of(self, note: int) -> tuple[tuple[str, ...], ...]:
        known = self._terms.get(note)
        if known is None:
            table = self._snapshot.table
            info = self._snapshot.note_info(table.paths[note])
            stem = PurePosixPath(info.path).stem
            names = (*info.aliases, stem) if stem != info.title else info.aliases
            taken_apart = (tuple(terms_of(name, info.language)[0]) for name in names)
            known = self._terms[note] = tuple(terms for terms in taken_apart if terms)
        return known


def _disjoint(some: Sequence[str], others: Sequence[str]) -> bool:
    return not any(term in others for term in some)
