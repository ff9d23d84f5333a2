"""A note's other names, each by itself: how well a query fits the best of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
        asked: dict[str, list[tuple[int, float]]] = {}
        for number, word in enumerate(words):
            for tier in word.tiers:
                for term in tier.terms:
                    asked.setdefault(term, []).append((number, tier.share))
        others = {term for word in unasked for term in word.terms}
        parts = weight.tolist()
        return np.array(
            [max((_fit(terms, asked, others, parts) for terms in names), default=0.0) for names in self._of(notes)],
            np.float32,
        )

    def _of(self, notes: Sequence[int]) -> list[tuple[tuple[str, ...], ...]]:
        """The terms of each name of each note."""
        new = [note for note in notes if note not in self._terms]
        languages = self._snapshot.table.languages
        for note, names in zip(new, self._snapshot.other_names(new), strict=True):
            taken_apart = (tuple(terms_of(name, languages[note])[0]) for name in names)
            self._terms[note] = tuple(terms for terms in taken_apart if terms)
        return [self._terms[note] for note in notes]


def _fit(
    name: Sequence[str], asked: Mapping[str, Sequence[tuple[int, float]]], unasked: set[str], parts: Sequence[float]
) -> float:
    """How well a query fits one name: `asked` has the words, by number, that each term stands for, and its share of
    them; `parts` are the words' parts of the query."""
    shares: dict[int, float] = {}
    for term in name:
        for number, share in asked.get(term, ()):
            shares[number] = max(share, shares.get(number, 0.0))
    if not shares:
        return 0.0
    covered = sum(share * parts[number] for number, share in sorted(shares.items()))
    found = sum(shares.values()) + len(unasked.intersection(name))
    return covered * min(found / len(name), 1.0)
