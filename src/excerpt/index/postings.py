"""Words counted in numpy: text is turned into postings, postings are joined, packed into bytes and read back.

A document here is a fragment, numbered from 0 within one segment. Everything that would cost Python per posting is
done on whole arrays: a vault of 100,000 fragments has ten million postings, and their objects were the cost of
building an index (docs/design/index.md).

Packed form of one term (little endian): crc32 of the rest, number of postings, then the widths in bytes of a document
gap, a count and a position; then the gaps, the counts, and the positions of all postings one after the other.
"""

from __future__ import annotations

import struct
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int32]
_HEAD = struct.Struct("<IBBBx")
_CRC = struct.Struct("<I")
_TYPES: dict[int, np.dtype[Any]] = {1: np.dtype("<u1"), 2: np.dtype("<u2"), 4: np.dtype("<u4")}


class DamagedPostingsError(ValueError):
    """Packed postings do not say what was written."""


@dataclass(frozen=True, slots=True)
class Inverted:
    """The postings of one field over `doc_count` documents, by term.

    Term `terms[t]` (sorted UTF-8) has the postings `starts[t]:starts[t + 1]` of `docs` (ascending) and `tf`; the
    positions of all postings stand one after the other, `tf[i]` of them for posting i. `lengths` counts the terms of
    each document.
    """

    terms: list[bytes]
    starts: NDArray[np.int64]
    docs: Ints
    tf: Ints
    positions: Ints
    lengths: Ints

    @property
    def doc_count(self) -> int:
        return len(self.lengths)


@dataclass(frozen=True, slots=True)
class TermPostings:
    """One term's postings, unpacked. `positions` as in `Inverted`, or None if they were not asked for."""

    docs: Ints
    tf: Ints
    positions: Ints | None


def invert(documents: Sequence[tuple[Sequence[str], Sequence[int]]]) -> Inverted:
    """Count the terms of documents given as (terms, positions), positions ascending."""
    vocabulary: defaultdict[str, int] = defaultdict()
    vocabulary.default_factory = vocabulary.__len__
    occurrences: list[int] = []
    for words, _ in documents:
        occurrences.extend(map(vocabulary.__getitem__, words))
    lengths = np.fromiter((len(words) for words, _ in documents), np.int32, len(documents))
    # Whoosh's dictionary is ordered by bytes; a lone surrogate has no place in it and is dropped by the analyzer.
    encoded = [term.encode("utf-8", "replace") for term in vocabulary]
    terms = sorted(set(encoded))
    rank = {term: number for number, term in enumerate(terms)}
    ranks = np.fromiter((rank[term] for term in encoded), np.int64, len(encoded))
    docs = np.repeat(np.arange(len(documents), dtype=np.int64), lengths)
    place = ranks[np.asarray(occurrences, np.int64)] * max(len(documents), 1) + docs
    order = np.argsort(place, kind="stable")
    place = place[order]
    first = np.flatnonzero(np.diff(place, prepend=-1))
    tf = np.diff(first, append=len(place)).astype(np.int32)
    posting_terms = place[first] // max(len(documents), 1)
    positions: list[int] = []
    for _, places in documents:
        positions.extend(places)
    return Inverted(
        terms=terms,
        starts=np.searchsorted(posting_terms, np.arange(len(terms) + 1)).astype(np.int64),
        docs=(place[first] % max(len(documents), 1)).astype(np.int32),
        tf=tf,
        positions=np.asarray(positions, np.int32)[order],
        lengths=lengths,
    )


def join(parts: Sequence[Inverted]) -> Inverted:
    """One `Inverted` over the documents of all parts, in their order."""
    if len(parts) == 1:
        return parts[0]
    terms = sorted(set().union(*(part.terms for part in parts)))
    rank = {term: number for number, term in enumerate(terms)}
    offsets = np.cumsum([0, *(part.doc_count for part in parts)])
    ranks = np.concatenate(
        [
            np.repeat(np.fromiter((rank[t] for t in part.terms), np.int32, len(part.terms)), np.diff(part.starts))
            for part in parts
        ]
    )
    docs = np.concatenate([part.docs + np.int32(offset) for part, offset in zip(parts, offsets, strict=False)])
    tf = np.concatenate([part.tf for part in parts])
    order = np.argsort(ranks, kind="stable")
    return Inverted(
        terms=terms,
        starts=np.searchsorted(ranks[order], np.arange(len(terms) + 1)).astype(np.int64),
        docs=docs[order],
        tf=tf[order],
        positions=_reorder(np.concatenate([part.positions for part in parts]), tf, order),
        lengths=np.concatenate([part.lengths for part in parts]),
    )


def _reorder(values: Ints, counts: Ints, order: NDArray[np.int64]) -> Ints:
    """Runs of `values`, `counts[i]` long, put into another order of runs."""
    begins = np.cumsum(counts, dtype=np.int64) - counts
    counts = counts[order]
    ends = np.cumsum(counts, dtype=np.int64)
    return values[np.repeat(begins[order] - (ends - counts), counts) + np.arange(len(values))]


def only_docs(postings: TermPostings, new_numbers: Ints) -> TermPostings:
    """The postings of the documents that live on, renumbered; `new_numbers` holds -1 for those that do not."""
    docs = new_numbers[postings.docs]
    alive = docs >= 0
    if alive.all():
        return TermPostings(docs, postings.tf, postings.positions)
    positions = postings.positions[np.repeat(alive, postings.tf)] if postings.positions is not None else None
    return TermPostings(docs[alive], postings.tf[alive], positions)


def collect(terms: Sequence[tuple[bytes, TermPostings]], lengths: Ints) -> Inverted:
    """An `Inverted` of single terms in sorted order, leaving out those without postings."""
    kept = [(term, postings) for term, postings in terms if len(postings.docs)]
    empty = np.zeros(0, np.int32)
    positions = [postings.positions for _, postings in kept if postings.positions is not None]
    return Inverted(
        terms=[term for term, _ in kept],
        starts=np.cumsum([0, *(len(postings.docs) for _, postings in kept)], dtype=np.int64),
        docs=np.concatenate([postings.docs for _, postings in kept]) if kept else empty,
        tf=np.concatenate([postings.tf for _, postings in kept]) if kept else empty,
        positions=np.concatenate([empty, *positions]),
        lengths=lengths,
    )


# --- bytes ------------------------------------------------------------------------------------------------------------


class _Widths:
    """An array as bytes in the three widths that a term may choose, so that a term's part is one slice."""

    def __init__(self, values: NDArray[np.integer], starts: NDArray[np.int64]) -> None:
        highest = np.maximum.reduceat(values, starts[:-1]) if len(values) else np.zeros(0, np.int64)
        self.of_term: list[int] = np.select([highest < 1 << 8, highest < 1 << 16], [1, 2], 4).tolist()
        self._bytes: dict[int, bytes] = {w: values.astype(_TYPES[w]).tobytes() for w in set(self.of_term)}

    def part(self, width: int, start: int, end: int) -> bytes:
        return self._bytes[width][width * start : width * end]


def pack(field: Inverted) -> Iterator[tuple[bytes, int, int, bytes]]:
    """(term, number of documents, number of occurrences, packed postings), in the order of terms."""
    if not field.terms:
        return
    gaps = np.diff(field.docs, prepend=0)
    gaps[field.starts[:-1]] = field.docs[field.starts[:-1]]
    ends = np.concatenate([[0], np.cumsum(field.tf, dtype=np.int64)])
    ids, counts = _Widths(gaps, field.starts), _Widths(field.tf, field.starts)
    places = _Widths(field.positions, ends[field.starts])
    starts, word_starts = field.starts.tolist(), ends[field.starts].tolist()
    for t, term in enumerate(field.terms):
        start, end, first, last = starts[t], starts[t + 1], word_starts[t], word_starts[t + 1]
        wide, counted = ids.of_term[t], counts.of_term[t]
        placed = places.of_term[t]
        body = b"".join(
            (
                _HEAD.pack(end - start, wide, counted, placed),
                ids.part(wide, start, end),
                counts.part(counted, start, end),
                places.part(placed, first, last),
            )
        )
        yield term, end - start, last - first, _CRC.pack(zlib.crc32(body)) + body


def unpack(data: bytes, with_positions: bool = True) -> TermPostings:
    """The postings in `data`. Raises DamagedPostingsError."""
    if len(data) < _CRC.size + _HEAD.size or _CRC.unpack_from(data)[0] != zlib.crc32(memoryview(data)[_CRC.size :]):
        raise DamagedPostingsError("checksum")
    count, wide, counted, placed = _HEAD.unpack_from(data, _CRC.size)
    at = _CRC.size + _HEAD.size
    docs = np.cumsum(np.frombuffer(data, _TYPES[wide], count, at), dtype=np.int32)
    at += wide * count
    tf = np.frombuffer(data, _TYPES[counted], count, at).astype(np.int32)
    at += counted * count
    positions = np.frombuffer(data, _TYPES[placed], -1, at).astype(np.int32) if with_positions else None
    return TermPostings(docs, tf, positions)
