"""An in-memory lexical index of a few texts, analyzed by the real analyzer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from excerpt.corpus.tables import TermEntries, TermOccurrences, TermPostings
from excerpt.search.bm25 import FIELDS_BY_NUMBER
from excerpt.text.words import QueryWord, query_terms, terms_of


class TinyReader:
    """A reader of fragments given as {field: text}; a plain string is the field `text`."""

    def __init__(self, *fragments: str | Mapping[str, str]) -> None:
        self._places: dict[str, dict[str, dict[int, list[int]]]] = {}
        self._lengths: dict[str, npt.NDArray[np.float32]] = {}
        self.doc_count = self.corpus_size = len(fragments)
        for row, fragment in enumerate(fragments):
            for field, text in ({"text": fragment} if isinstance(fragment, str) else fragment).items():
                terms, positions = terms_of(text)
                self.lengths(field)[row] = len(terms)
                for term, position in zip(terms, positions, strict=True):
                    rows = self._places.setdefault(field, {}).setdefault(term, {})
                    rows.setdefault(row, []).append(position)

    def document_frequency(self, _terms: Sequence[str]) -> None:
        return None

    def mean_length(self, _field: str) -> None:
        return None

    def postings(self, field: str, term: str) -> TermPostings:
        rows = self._places.get(field, {}).get(term, {})
        return TermPostings(np.array(list(rows), np.int32), np.array([len(p) for p in rows.values()], np.float32))

    def entries(self, term: str) -> TermEntries:
        found = self._by_row(term)
        return TermEntries(
            np.array([row for row, _, _ in found], np.int32),
            np.array([field for _, field, _ in found], np.uint8),
            np.array([len(places) for _, _, places in found], np.int32),
        )

    def occurrences(self, term: str, rows: npt.NDArray[np.int32]) -> TermOccurrences:
        wanted = rows.tolist()
        found = [
            (wanted.index(row), field, place)
            for row, field, places in self._by_row(term)
            if row in wanted
            for place in places
        ]
        return TermOccurrences(
            np.array([at for at, _, _ in found], np.int64),
            np.array([field for _, field, _ in found], np.uint8),
            np.array([place for _, _, place in found], np.int32),
        )

    def _by_row(self, term: str) -> list[tuple[int, int, list[int]]]:
        return sorted(
            (row, FIELDS_BY_NUMBER.index(field), places)
            for field, terms in self._places.items()
            for row, places in terms.get(term, {}).items()
        )

    def lengths(self, field: str) -> npt.NDArray[np.float32]:
        return self._lengths.setdefault(field, np.zeros(self.doc_count, np.float32))

    def lexicon(self, field: str) -> list[str]:
        return sorted(self._places.get(field, {}))

    def completions(self, prefix: str, limit: int) -> list[str]:
        found = {term for terms in self._places.values() for term in terms if term.startswith(prefix)}
        return sorted(found, key=lambda term: (len(term), term))[:limit]


def parsed_query(text: str) -> list[QueryWord]:
    return query_terms(text, ["en"])


def rows_of(*numbers: int) -> npt.NDArray[np.int32]:
    return np.array(numbers, np.int32)
