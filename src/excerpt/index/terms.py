"""Terms of the lexical index: the postings of one term over all segments, and the sorted list of all terms."""

from __future__ import annotations

import bisect
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from excerpt.corpus.tables import FIELDS, Positions, Rows, TermEntries, TermOccurrences, concat_ranges, run_offsets
from excerpt.index.files import DamagedFileError
from excerpt.index.postings import Columns
from excerpt.text.folding import UNACCENTED_MARK

# --- terms ------------------------------------------------------------------------------------------------------------
# The postings of one term in the open segments, as arrays over rows.

DOCUMENT_DTYPE = np.dtype([("key", "<i8"), ("note", "<i8"), ("line", "<u4"), *((field, "<u4") for field in FIELDS)])
"""Dtype of the data that a segment stores for each fragment besides its terms.

These are the fragment's key, the row id of its note, its first line, and the number of terms in each field.
"""


class OpenSegment:
    """The open files of one segment, and the row of each document (fragment) in the whole index.

    Raises DamagedFileError if the files do not match each other.
    """

    def __init__(
        self,
        name: str,
        files: Sequence[Path],
        deleted: Sequence[int],
        first_row: int,
        before: OpenSegment | None = None,
    ) -> None:
        """Open the segment whose first live document has the row `first_row`.

        `files` are its `.npy`, `.pst` and `.lex`, and `deleted` the numbers of deleted documents. `before` is the same
        segment opened for an older generation, whose data are reused.
        """
        docs, postings, directory = files
        self.name = name
        try:
            self.docs: NDArray[Any] = (
                _load_array(docs).astype(DOCUMENT_DTYPE, casting="no", copy=False) if before is None else before.docs
            )
            self.columns: Columns = Columns(postings, directory) if before is None else before.columns
        except (OSError, ValueError, TypeError, EOFError) as error:
            raise DamagedFileError(f"Segment {name} cannot be opened: {error}.") from error
        self.alive = np.ones(len(self.docs), bool)
        self.alive[list(deleted)] = False
        self.has_no_deletions = bool(self.alive.all())
        self.first_row = np.int32(first_row)
        self.live_count = int(np.count_nonzero(self.alive))

    @cached_property
    def rows(self) -> NDArray[np.int32]:
        """The row of each document, -1 if it is deleted."""
        return np.where(self.alive, np.cumsum(self.alive, dtype=np.int32) - 1 + self.first_row, -1).astype(np.int32)


def _load_array(file: Path) -> NDArray[Any]:
    try:
        return np.asarray(np.load(file, allow_pickle=False))
    except SystemError:
        # numpy compiles the file's header, and CPython 3.11 may lose count of its recursion depth if two threads
        # compile at once (python/cpython issue 106905). The file itself is intact.
        return np.asarray(np.load(file, allow_pickle=False))


class Term:
    """The postings of one term in all segments; positions are read on first use."""

    def __init__(self, segments: Sequence[OpenSegment], term: bytes) -> None:
        """Read a term's postings in all segments. Raises DamagedColumnsError."""
        slices = [
            (segment, term_slice) for segment in segments if (term_slice := segment.columns.find(term)) is not None
        ]
        count = sum(len(term_slice.docs) for _, term_slice in slices)
        rows, fields, tf = np.empty(count, np.int32), np.empty(count, np.uint8), np.empty(count, np.int32)
        # For each part: its segment, where its positions begin there, and the end of its entries.
        self._parts: list[tuple[Columns, int, int]] = []
        end = 0
        for segment, term_slice in slices:
            begin, end = end, end + len(term_slice.docs)
            if segment.has_no_deletions:
                np.add(term_slice.docs, segment.first_row, out=rows[begin:end], casting="unsafe")
            else:
                rows[begin:end] = segment.rows[term_slice.docs]
            segment.columns.unpack_into(term_slice.codes, fields[begin:end], tf[begin:end])
            self._parts.append((segment.columns, term_slice.first_position, end))
        self._counts = tf
        self._alive = None if all(segment.has_no_deletions for segment, _ in slices) else rows >= 0
        if self._alive is not None:
            rows, fields, tf = rows[self._alive], fields[self._alive], tf[self._alive]
        self.entries = TermEntries(rows, fields, tf)
        self.nbytes = 17 * len(rows) + 4 * int(self._counts.sum())
        """Bytes of memory, including the positions, whether they are read yet or not."""
        self._positions: Positions | None = None

    def positions(self) -> Positions:
        """Return the term's positions for each item of `entries`. Raises DamagedColumnsError."""
        if self._positions is None:
            values, end, offsets = [_NO_POSITIONS], 0, run_offsets(self._counts)
            for columns, first, last in self._parts:
                begin, end = end, last
                values.append(columns.positions(first, first + int(offsets[end] - offsets[begin])).astype(np.int32))
            positions = np.concatenate(values)
            if self._alive is not None:
                offsets, positions = run_offsets(self.entries.tf), positions[np.repeat(self._alive, self._counts)]
            self._positions = Positions(offsets, positions)
        return self._positions

    def occurrences(self, rows: Rows) -> TermOccurrences:
        """Return every occurrence of the term in `rows`, which ascend."""
        if not len(self.entries.rows):
            return TermOccurrences(np.zeros(0, np.int64), _NO_FIELDS, _NO_POSITIONS)
        first = np.searchsorted(self.entries.rows, rows)
        counts = np.searchsorted(self.entries.rows, rows, side="right") - first
        indices = concat_ranges(first, counts)
        if not len(indices):
            return TermOccurrences(np.zeros(0, np.int64), _NO_FIELDS, _NO_POSITIONS)
        positions = self.positions()
        tf = self.entries.tf[indices]
        return TermOccurrences(
            row_indices=np.repeat(np.repeat(np.arange(len(rows)), counts), tf),
            fields=np.repeat(self.entries.fields[indices], tf),
            positions=positions.values[concat_ranges(positions.offsets[indices], tf)],
        )


_NO_POSITIONS = np.zeros(0, np.int32)
_NO_FIELDS = np.zeros(0, np.uint8)


# --- vocabulary -------------------------------------------------------------------------------------------------------
# Every term of a vault, sorted, with the fields it occurs in: for words that are being typed, or misspelt.

Counts = NDArray[np.uint16]

_BITS = np.arange(len(FIELDS), dtype=np.uint8)
_RESORT_DIVISOR = 4
"""All terms are sorted again if more than one in this many changed; updating one by one would take as long."""


class Vocabulary:
    """All terms of the lexical index, sorted; some may occur in deleted fragments only.

    For each term and field the number of segments that have it is kept, so that the vocabulary of the next generation
    can be derived from the segments that were added and removed.
    """

    def __init__(self, segments: Mapping[str, Columns], before: Vocabulary | None = None) -> None:
        """Collect the terms of `segments` (by name), reusing terms of the older generation `before` where possible."""
        self._segments = dict(segments)
        self._terms: list[str]
        self._counts: Counts
        added = [self._segments[name] for name in self._segments if before is None or name not in before._segments]
        removed = [] if before is None else [before._segments[n] for n in before._segments if n not in segments]
        changed = sum(len(columns.masks) for columns in (*added, *removed))
        if before is None or changed * _RESORT_DIVISOR > len(before._terms):
            self._terms, self._counts = _count_terms(list(self._segments.values()))
        else:
            self._terms, self._counts = before._apply_changes(added, removed)

    def __contains__(self, term: str) -> bool:
        at = bisect.bisect_left(self._terms, term)
        return at < len(self._terms) and self._terms[at] == term

    def lexicon(self, field: str) -> list[str]:
        """Return every term of `field`, sorted."""
        if field not in self._lexicons:
            terms = list(compress(self._terms, (self._counts[:, FIELDS.index(field)] > 0).tolist()))
            for number in [number for number, term in enumerate(terms) if term[-1:] == UNACCENTED_MARK]:
                terms[number] = terms[number].removesuffix(UNACCENTED_MARK)
            self._lexicons[field] = list(dict.fromkeys(terms))
        return self._lexicons[field]

    def completions(self, prefix: str, limit: int) -> list[str]:
        """Return at most `limit` terms of any field that start with `prefix`: the shortest first, then by alphabet."""
        first = bisect.bisect_left(self._terms, prefix)
        last = bisect.bisect_left(self._terms, prefix + "\U0010ffff", first)
        shortest = np.argsort(self._lengths[first:last], kind="stable")[:limit]
        return [self._terms[first + at] for at in shortest.tolist()]

    @cached_property
    def _lexicons(self) -> dict[str, list[str]]:
        return {}

    @cached_property
    def _lengths(self) -> NDArray[np.uint16]:
        return np.fromiter(map(len, self._terms), np.uint16, len(self._terms))

    def _apply_changes(self, added: Sequence[Columns], removed: Sequence[Columns]) -> tuple[list[str], Counts]:
        """Return all terms and the number of segments with each, updated for segments that were added and removed."""
        new = sorted({term for columns in added for term in columns.words() if term not in self})
        terms, counts = self._terms, self._counts
        if new:
            counts = np.insert(counts, [bisect.bisect_left(terms, term) for term in new], 0, axis=0)
            # Merges two sorted runs in one pass.
            terms = sorted([*terms, *new])
        else:
            counts = counts.copy()
        for columns, sign in (*((segment, 1) for segment in added), *((segment, -1) for segment in removed)):
            at = [bisect.bisect_left(terms, term) for term in columns.words()]
            counts[at] += (sign * _flag_fields(columns)).astype(np.uint16)
        left = np.any(counts > 0, axis=1)
        return (terms, counts) if left.all() else (list(compress(terms, left.tolist())), counts[left])


def _count_terms(segments: Sequence[Columns]) -> tuple[list[str], Counts]:
    """Return all terms, sorted, and the number of segments with each term in each field, shape (terms, fields)."""
    term_indices: dict[str, int] = {}
    segment_terms = [
        np.fromiter(
            (term_indices.setdefault(term, len(term_indices)) for term in columns.words()), np.int32, len(columns.masks)
        )
        for columns in segments
    ]
    counts = np.zeros((len(term_indices), len(FIELDS)), np.uint16)
    for columns, at in zip(segments, segment_terms, strict=True):
        counts[at] += _flag_fields(columns).astype(np.uint16)
    terms = sorted(term_indices)
    return terms, counts[np.fromiter(map(term_indices.__getitem__, terms), np.int32, len(terms))]


def _flag_fields(columns: Columns) -> NDArray[np.int16]:
    """Return an array of shape (terms, fields) that is 1 where the segment has the term in the field, else 0."""
    bits: NDArray[np.int16] = (columns.masks[:, None] >> _BITS & 1).astype(np.int16)
    return bits
