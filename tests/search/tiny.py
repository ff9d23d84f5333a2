"""A lexical index of a few texts in memory, made by the real analyzer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from excerpt.text.words import QueryWord, query_terms, terms_of


@dataclass(frozen=True)
class TinyPostings:
    rows: npt.NDArray[np.int32]
    tf: npt.NDArray[np.float32]


@dataclass(frozen=True)
class TinyPositions:
    offsets: npt.NDArray[np.int64]
    values: npt.NDArray[np.int32]


class TinyReader:
    """Fragments given as {field: text}; a plain string is the field `text`."""

    def __init__(self, *fragments: str | Mapping[str, str]) -> None:
        self._places: dict[str, dict[str, dict[int, list[int]]]] = {}
        self._lengths: dict[str, npt.NDArray[np.float32]] = {}
        self.doc_count = len(fragments)
        for row, fragment in enumerate(fragments):
            for field, text in ({"text": fragment} if isinstance(fragment, str) else fragment).items():
                terms, positions = terms_of(text)
                self.lengths(field)[row] = len(terms)
                for term, position in zip(terms, positions, strict=True):
                    rows = self._places.setdefault(field, {}).setdefault(term, {})
                    rows.setdefault(row, []).append(position)

    def postings(self, field: str, term: str) -> TinyPostings:
        rows = self._places.get(field, {}).get(term, {})
        return TinyPostings(np.array(list(rows), np.int32), np.array([len(p) for p in rows.values()], np.float32))

    def positions(self, field: str, term: str) -> TinyPositions:
        rows = self._places.get(field, {}).get(term, {})
        counts = [len(places) for places in rows.values()]
        values = [place for places in rows.values() for place in places]
        return TinyPositions(np.cumsum([0, *counts], dtype=np.int64), np.array(values, np.int32))

    def lengths(self, field: str) -> npt.NDArray[np.float32]:
        return self._lengths.setdefault(field, np.zeros(self.doc_count, np.float32))

    def lexicon(self, field: str) -> Sequence[str]:
        return sorted(self._places.get(field, {}))

    def terms(self, field: str, prefix: str) -> Sequence[str]:
        return [term for term in self.lexicon(field) if term.startswith(prefix)]


def asked(text: str) -> list[QueryWord]:
    return query_terms(text, ["en"])


def rows_of(*numbers: int) -> npt.NDArray[np.int32]:
    return np.array(numbers, np.int32)
