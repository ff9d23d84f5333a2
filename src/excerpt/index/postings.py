"""Words counted in numpy: text is turned into postings, those of all fields put together, segments joined.

A document here is a fragment, numbered from 0 within one segment. Everything that would cost Python per posting is
done on whole arrays: a vault of 100,000 fragments has five million postings, and their objects were the cost of
building an index (docs/design/index.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from excerpt.text.numbers import Occurrences

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Inverted:
    """The postings of one field over `doc_count` documents, by term.

    Term `terms[t]` (sorted UTF-8) has the postings `starts[t]:starts[t + 1]` of `docs` (ascending) and `tf`; the
    positions of all postings stand one after the other, `tf[i]` of them for posting i. `lengths` counts the terms of
    each document.
    """

    terms: list[bytes]
    starts: Longs
    docs: Ints
    tf: Ints
    positions: Ints
    lengths: Ints

    @property
    def doc_count(self) -> int:
        return len(self.lengths)


@dataclass(frozen=True, slots=True)
class Segment:
    """The postings of all fields over `doc_count` documents: as in `Inverted`, but a term's postings are those of all
    fields, by document and then by field. `fields` are numbers of fields."""

    terms: list[bytes]
    starts: Longs
    docs: Ints
    fields: NDArray[np.uint8]
    tf: Ints
    positions: Ints
    doc_count: int


def invert(found: Occurrences, names: Sequence[bytes]) -> Inverted:
    """Count the terms of documents. `names` are those of all numbers that terms may have."""
    used = np.zeros(len(names), np.bool_)
    used[found.terms] = True
    numbers = np.flatnonzero(used)
    terms = [names[number] for number in numbers.tolist()]
    by_name = sorted(range(len(terms)), key=terms.__getitem__)
    ranks = np.zeros(len(names), np.int64)
    ranks[numbers[by_name]] = np.arange(len(terms))
    # One sort of whole numbers, in which the last bits say where each came from, is far quicker than argsort.
    count = max(found.doc_count, 1)
    bits = len(found.terms).bit_length()
    place = (ranks[found.terms] * count + found.docs) << bits | np.arange(len(found.terms))
    place.sort()
    order = place & ((1 << bits) - 1)
    place >>= bits
    first = np.flatnonzero(np.diff(place, prepend=-1))
    return Inverted(
        terms=[terms[number] for number in by_name],
        starts=_starts(place[first] // count, len(terms)),
        docs=(place[first] % count).astype(np.int32),
        tf=np.diff(first, append=len(place)).astype(np.int32),
        positions=found.positions[order],
        lengths=np.bincount(found.docs, minlength=found.doc_count).astype(np.int32),
    )


def join(parts: Sequence[Inverted]) -> Inverted:
    """One `Inverted` over the documents of all parts, in their order."""
    if len(parts) == 1:
        return parts[0]
    terms, ranks = _common_terms([(part.terms, part.starts) for part in parts])
    offsets = np.cumsum([0, *(part.doc_count for part in parts)])
    docs = np.concatenate([part.docs + np.int32(offset) for part, offset in zip(parts, offsets, strict=False)])
    tf = np.concatenate([part.tf for part in parts])
    order = np.argsort(ranks, kind="stable")
    return Inverted(
        terms=terms,
        starts=_starts(ranks[order], len(terms)),
        docs=docs[order],
        tf=tf[order],
        positions=_reorder(np.concatenate([part.positions for part in parts]), tf, order),
        lengths=np.concatenate([part.lengths for part in parts]),
    )


def fuse(parts: Sequence[Inverted]) -> Segment:
    """The postings of all fields of the same documents, put together; fields are numbered in the order given."""
    terms, ranks = _common_terms([(part.terms, part.starts) for part in parts])
    count = parts[0].doc_count
    docs = np.concatenate([part.docs for part in parts])
    tf = np.concatenate([part.tf for part in parts])
    fields = np.repeat(np.arange(len(parts), dtype=np.uint8), [len(part.docs) for part in parts])
    # Fields stand in their order already, and the sort keeps it.
    order = np.argsort(ranks.astype(np.int64) * max(count, 1) + docs, kind="stable")
    return Segment(
        terms=terms,
        starts=_starts(ranks[order], len(terms)),
        docs=docs[order],
        fields=fields[order],
        tf=tf[order],
        positions=_reorder(np.concatenate([part.positions for part in parts]), tf, order),
        doc_count=count,
    )


def only_docs(segment: Segment, new_numbers: Ints) -> Segment:
    """The documents that live on, renumbered; `new_numbers` holds -1 for those that do not. Terms that lose their last
    posting go too."""
    docs = new_numbers[segment.docs]
    alive = docs >= 0
    doc_count = int(np.count_nonzero(new_numbers >= 0))
    if alive.all():
        return Segment(segment.terms, segment.starts, docs, segment.fields, segment.tf, segment.positions, doc_count)
    kept_before = np.concatenate([np.zeros(1, np.int64), np.cumsum(alive, dtype=np.int64)])
    starts = kept_before[segment.starts]
    left = np.diff(starts) > 0
    return Segment(
        terms=[term for term, stays in zip(segment.terms, left.tolist(), strict=True) if stays],
        starts=np.concatenate([starts[:-1][left], starts[-1:]]),
        docs=docs[alive],
        fields=segment.fields[alive],
        tf=segment.tf[alive],
        positions=segment.positions[np.repeat(alive, segment.tf)],
        doc_count=doc_count,
    )


def chain_segments(parts: Sequence[Segment]) -> Segment:
    """One segment over the documents of all parts, in their order."""
    if len(parts) == 1:
        return parts[0]
    terms, ranks = _common_terms([(part.terms, part.starts) for part in parts])
    offsets = np.cumsum([0, *(part.doc_count for part in parts)])
    tf = np.concatenate([part.tf for part in parts])
    order = np.argsort(ranks, kind="stable")
    docs = np.concatenate([part.docs + np.int32(offset) for part, offset in zip(parts, offsets, strict=False)])
    return Segment(
        terms=terms,
        starts=_starts(ranks[order], len(terms)),
        docs=docs[order],
        fields=np.concatenate([part.fields for part in parts])[order],
        tf=tf[order],
        positions=_reorder(np.concatenate([part.positions for part in parts]), tf, order),
        doc_count=int(offsets[-1]),
    )


def _common_terms(parts: Sequence[tuple[list[bytes], Longs]]) -> tuple[list[bytes], Ints]:
    """The terms of all parts, sorted, and for each posting, part by part, the number of its term among them."""
    terms = sorted(set(chain.from_iterable(terms for terms, _ in parts)))
    rank = {term: number for number, term in enumerate(terms)}
    numbers = [np.fromiter(map(rank.__getitem__, part), np.int32, len(part)) for part, _ in parts]
    ranks = [np.repeat(number, np.diff(starts)) for number, (_, starts) in zip(numbers, parts, strict=True)]
    return terms, np.concatenate(ranks)


def _starts(posting_terms: NDArray[np.integer], count: int) -> Longs:
    return np.searchsorted(posting_terms, np.arange(count + 1)).astype(np.int64)


def _reorder(values: Ints, counts: Ints, order: Longs) -> Ints:
    """Runs of `values`, `counts[i]` long, put into another order of runs."""
    begins = np.cumsum(counts, dtype=np.int64) - counts
    counts = counts[order]
    ends = np.cumsum(counts, dtype=np.int64)
    return values[np.repeat(begins[order] - (ends - counts), counts) + np.arange(len(values))]
