"""The postings of an index held against the words of its fragments, counted once more."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from excerpt.index.catalog import Catalog
from excerpt.index.columns import DamagedColumnsError
from excerpt.index.fields import FIELDS, FieldCollector
from excerpt.index.health import Fault, Health, Part
from excerpt.index.postings import Inverted, Segment, chain_segments, fuse, only_docs
from excerpt.index.stored import StoredNote, collect_words
from excerpt.index.terms import OpenSegment

# Fragments that are compared at once: some 100 MB of words.
_AT_ONCE = 8000
_MOST_TERMS = 3

_Postings = dict[bytes, set[tuple[int, int, tuple[int, ...]]]]


class WordCheck:
    """Takes the notes in the order of their keys. What differs goes to the faults of `health`, note by note."""

    def __init__(self, catalog: Catalog, segments: Sequence[OpenSegment], health: Health) -> None:
        self._segments, self._health = segments, health
        self._unpacked: dict[int, Segment] = {}
        self._collector = FieldCollector()
        self._waiting: list[tuple[str, int, int, int]] = []
        self._row = 0
        living = [segment.docs["key"][segment.alive].astype(np.int64) for segment in segments]
        keys = np.concatenate([np.zeros(0, np.int64), *living])
        self._agrees = bool(np.array_equal(keys, catalog.fragment_keys()))
        if not self._agrees:
            self._fault("words", "They are not those of the catalog's fragments.")

    def add(self, note: StoredNote) -> None:
        if not self._agrees:
            return
        collect_words(note, self._collector)
        placed = zip(note.keys, note.fragments, strict=True)
        self._waiting += [(note.path, note.number, key, row[3]) for key, row in placed]
        if len(self._waiting) >= _AT_ONCE:
            self.finish()

    def finish(self) -> None:
        """Compare what was not compared yet."""
        waiting, collector = self._waiting, self._collector
        self._waiting, self._collector = [], FieldCollector()
        if not waiting:
            return
        first, self._row = self._row, self._row + len(waiting)
        try:
            found, docs = self._stored(first, self._row)
        except DamagedColumnsError as error:
            self._fault("words", f"Postings cannot be read: {error}.")
            self._agrees = False
            return
        inverted = collector.inverted()
        self._compare_documents(waiting, inverted, docs)
        expected = fuse([inverted[field] for field in FIELDS])
        self._health.postings += len(expected.docs)
        if not _same(expected, found):
            self._name_differing(waiting, expected, found)

    def _stored(self, first: int, last: int) -> tuple[Segment, NDArray[np.void]]:
        """The postings of the rows `first` to before `last`, and what is known of each."""
        parts, docs = [], []
        for number, segment in enumerate(self._segments):
            begin, end = max(first, int(segment.first_row)), min(last, int(segment.first_row) + segment.living)
            if end <= begin:
                self._unpacked.pop(number, None)
                continue
            if number not in self._unpacked:
                self._unpacked[number] = segment.columns.segment(len(segment.docs))
            wanted = (segment.rows >= begin) & (segment.rows < end)
            numbers = np.where(wanted, segment.rows - np.int32(begin), np.int32(-1)).astype(np.int32)
            parts.append(only_docs(self._unpacked[number], numbers))
            docs.append(segment.docs[wanted])
        return chain_segments(parts), np.concatenate(docs)

    def _compare_documents(
        self, waiting: Sequence[tuple[str, int, int, int]], inverted: dict[str, Inverted], docs: NDArray[np.void]
    ) -> None:
        places = np.array([rest for _, *rest in waiting], np.int64)
        wrong = (docs["note"] != places[:, 0]) | (docs["key"] != places[:, 1]) | (docs["line"] != places[:, 2])
        lengths = np.zeros(len(docs), bool)
        for field in FIELDS:
            lengths |= docs[field] != inverted[field].lengths
        for at in np.flatnonzero(wrong | lengths).tolist():
            path, _, _, line = waiting[at]
            what = "stands elsewhere" if wrong[at] else "has another number of words"
            self._fault(path, f"The fragment at line {line} {what} in the lexical index.")

    def _name_differing(self, waiting: Sequence[tuple[str, int, int, int]], expected: Segment, found: Segment) -> None:
        ours, theirs = _by_term(expected), _by_term(found)
        differing: dict[int, list[str]] = {}
        for term in sorted(ours.keys() | theirs.keys()):
            for doc in {posting[0] for posting in ours.get(term, set()) ^ theirs.get(term, set())}:
                differing.setdefault(doc, []).append(term.decode("utf-8", "replace"))
        for doc, terms in sorted(differing.items()):
            path, _, _, line = waiting[doc]
            named = ", ".join(terms[:_MOST_TERMS]) + (" …" if len(terms) > _MOST_TERMS else "")
            self._fault(path, f"The fragment at line {line} is found by other words than it holds: {named}.")

    def _fault(self, where: str, what: str) -> None:
        self._health.faults.append(Fault(where, what, Part.WORDS))


def _same(one: Segment, other: Segment) -> bool:
    return (
        one.terms == other.terms
        and np.array_equal(one.starts, other.starts)
        and np.array_equal(one.docs, other.docs)
        and np.array_equal(one.fields, other.fields)
        and np.array_equal(one.tf, other.tf)
        and np.array_equal(one.positions, other.positions)
    )


def _by_term(segment: Segment) -> _Postings:
    ends = np.cumsum(segment.tf, dtype=np.int64)
    begins = (ends - segment.tf).tolist()
    docs, fields, positions = segment.docs.tolist(), segment.fields.tolist(), segment.positions.tolist()
    starts, until = segment.starts.tolist(), ends.tolist()
    return {
        term: {
            (docs[at], fields[at], tuple(positions[begins[at] : until[at]]))
            for at in range(starts[number], starts[number + 1])
        }
        for number, term in enumerate(segment.terms)
    }
