"""A segment's postings on disk: columns of fixed width, looked into where they lie, and a directory of its terms.

`.pst` holds three columns one after the other: document, field and count (one number: the field in the upper three
bits), and positions. Each is as wide as its largest value asks for. A term's part of a column is one slice, which
costs no decoding; nothing is read but what a term needs. What is looked at is checked first, a page at a time.

`.lex` holds the terms in order, newline between them, with the first of each block of 16 once more on its own so that
a term is found by two short searches; where each term's postings and positions begin; in which fields it stands; and
the pages' checksums.
"""

from __future__ import annotations

import bisect
import mmap
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from excerpt.index.postings import Ints, Segment

PAGE = 1 << 14
"""Bytes that are checked at once: a rare term costs three pages, and a large vault has few thousand."""

_MAGIC = b"EXL1"
_HEAD = struct.Struct("<4s4xQQQQQBBB5x")
_BLOCK = 16
_FIELD_BITS = 3
_DTYPES: dict[int, np.dtype[Any]] = {1: np.dtype("<u1"), 2: np.dtype("<u2"), 4: np.dtype("<u4")}


class DamagedColumnsError(ValueError):
    """A file does not say what was written."""


@dataclass(frozen=True, slots=True)
class Slice:
    """One term's postings in one segment, by document and then field: views into the file. `first_place` is where
    the first of them has its positions."""

    docs: NDArray[np.unsignedinteger[Any]]
    codes: NDArray[np.unsignedinteger[Any]]
    first_place: int


def pack(segment: Segment) -> tuple[bytes, bytes]:
    """The contents of `.pst` and of `.lex`."""
    tf_width = _width(int(segment.tf.max(initial=0)), _FIELD_BITS)
    codes = segment.fields.astype(np.uint32) << np.uint32(8 * tf_width - _FIELD_BITS) | segment.tf.astype(np.uint32)
    widths = (_width(segment.doc_count), tf_width, _width(int(segment.positions.max(initial=0))))
    columns = (segment.docs, codes, segment.positions)
    postings = b"".join(
        _padded(values.astype(_DTYPES[width]).tobytes()) for values, width in zip(columns, widths, strict=True)
    )
    places = np.concatenate([np.zeros(1, np.int64), np.cumsum(segment.tf, dtype=np.int64)])[segment.starts]
    blocks = [b"\n".join(segment.terms[at : at + _BLOCK]) + b"\n" for at in range(0, len(segment.terms), _BLOCK)]
    fences, words = b"\n".join(segment.terms[::_BLOCK]), b"".join(blocks)
    block_starts = np.cumsum([0, *map(len, blocks)], dtype=np.int64)
    checksums = np.array([zlib.crc32(postings[at : at + PAGE]) for at in range(0, len(postings), PAGE)], np.uint32)
    counts = (len(segment.terms), len(segment.docs), len(segment.positions), len(fences), len(words))
    directory = (
        segment.starts.astype("<u4").tobytes(),
        places.astype("<u4").tobytes(),
        block_starts.astype("<u4").tobytes(),
        checksums.astype("<u4").tobytes(),
        _masks(segment).tobytes(),
        fences,
        words,
    )
    return postings, _HEAD.pack(_MAGIC, *counts, *widths) + b"".join(directory)


def _masks(segment: Segment) -> NDArray[np.uint8]:
    """For each term, a bit for each field that it stands in."""
    if not segment.terms:
        return np.zeros(0, np.uint8)
    bits = np.left_shift(np.uint8(1), segment.fields)
    return np.bitwise_or.reduceat(bits, segment.starts[:-1])


def _width(largest: int, spare_bits: int = 0) -> int:
    return next(width for width in (1, 2, 4) if largest < 1 << (8 * width - spare_bits) or width == 4)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 8)


class Columns:
    """A segment's two files, open. Raises DamagedColumnsError where they do not hold together; OSError."""

    def __init__(self, postings: Path, directory: Path) -> None:
        data = _mapped(directory)
        try:
            magic, terms, entries, places, fences, words, *widths = _HEAD.unpack_from(data)
        except struct.error as error:
            raise DamagedColumnsError("directory") from error
        blocks = -(-terms // _BLOCK)
        begins = np.cumsum([0, *(-(-n * w // 8) * 8 for n, w in zip((entries, entries, places), widths, strict=True))])
        pages = -(-int(begins[-1]) // PAGE)
        sizes = (4 * (terms + 1), 4 * (terms + 1), 4 * (blocks + 1), 4 * pages, terms, fences, words)
        if magic != _MAGIC or len(data) != _HEAD.size + sum(sizes) or postings.stat().st_size != begins[-1]:
            raise DamagedColumnsError("directory")
        at = np.cumsum([_HEAD.size, *sizes]).tolist()
        self._starts = np.frombuffer(data, "<u4", terms + 1, at[0])
        self._places = np.frombuffer(data, "<u4", terms + 1, at[1])
        self._blocks = np.frombuffer(data, "<u4", blocks + 1, at[2])
        self._checksums = np.frombuffer(data, "<u4", pages, at[3])
        self.masks = np.frombuffer(data, np.uint8, terms, at[4])
        self._fences = data[at[5] : at[6]].split(b"\n") if terms else []
        self._directory, self._words_at = data, at[6]
        self._shift = 8 * widths[1] - _FIELD_BITS
        self._widths, self._begins = widths, begins.tolist()
        self._map = _mapped(postings)
        self._unchecked = bytearray(b"\1" * pages)
        self._docs, self._codes, self._positions = (
            np.frombuffer(self._map, _DTYPES[width], count, begin)
            for width, count, begin in zip(widths, (entries, entries, places), self._begins, strict=False)
        )

    def terms(self) -> list[bytes]:
        """Every term, ascending, in the order of `masks`."""
        return self._directory[self._words_at :].split(b"\n")[:-1]

    def words(self) -> list[str]:
        """As `terms`, decoded."""
        return self._directory[self._words_at :].decode().split("\n")[:-1]

    def number(self, term: bytes) -> int | None:
        """The place of `term` among the terms."""
        block = bisect.bisect_right(self._fences, term) - 1
        if block < 0:
            return None
        try:
            within = self._block(block).index(term)
        except ValueError:
            return None
        # Behind the last term of a block stands an empty one, which is no term of it.
        number = block * _BLOCK + within
        return number if within < _BLOCK and number < len(self.masks) else None

    def beginning_with(self, prefix: bytes) -> Iterator[tuple[bytes, int]]:
        """Terms that start with `prefix`, ascending, each with its fields' bits."""
        block = max(bisect.bisect_right(self._fences, prefix) - 1, 0)
        for at in range(block, len(self._fences)):
            for number, term in enumerate(self._block(at)[:-1], at * _BLOCK):
                if term.startswith(prefix):
                    yield term, int(self.masks[number])
                elif term > prefix:
                    return

    def _block(self, number: int) -> list[bytes]:
        """The terms of one block, and an empty one."""
        first, last = self._blocks[number : number + 2].tolist()
        return self._directory[self._words_at + first : self._words_at + last].split(b"\n")

    def count(self, term: bytes) -> int:
        """How many postings `term` has."""
        number = self.number(term)
        return 0 if number is None else int(self._starts[number + 1]) - int(self._starts[number])

    def find(self, term: bytes) -> Slice | None:
        """The postings of `term`."""
        number = self.number(term)
        if number is None:
            return None
        first, last = int(self._starts[number]), int(self._starts[number + 1])
        self._check(0, first, last)
        self._check(1, first, last)
        return Slice(self._docs[first:last], self._codes[first:last], int(self._places[number]))

    def unpack(self, codes: NDArray[np.unsignedinteger[Any]]) -> tuple[NDArray[np.uint8], Ints]:
        """Field and count of each code."""
        return (codes >> self._shift).astype(np.uint8), (codes & ((1 << self._shift) - 1)).astype(np.int32)

    def positions(self, first: int, last: int) -> NDArray[np.unsignedinteger[Any]]:
        """Those from `first` to before `last`, of all positions of the segment."""
        self._check(2, first, last)
        return self._positions[first:last]

    def segment(self, doc_count: int) -> Segment:
        """All of it, for a merge."""
        self.check()
        fields, tf = self.unpack(self._codes)
        return Segment(
            terms=self.terms(),
            starts=self._starts.astype(np.int64),
            docs=self._docs.astype(np.int32),
            fields=fields,
            tf=tf,
            positions=self._positions.astype(np.int32),
            doc_count=doc_count,
        )

    def check(self) -> None:
        """Check every page now, so that none is waited for later."""
        if not any(self._unchecked):
            return
        for column, values in enumerate((self._docs, self._codes, self._positions)):
            self._check(column, 0, len(values))
        self.let_go()

    def let_go(self) -> None:
        """Let go of the pages looked at: they stay in the system's cache, and no longer count as this process's."""
        for mapped in (self._map, self._directory):
            if isinstance(mapped, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
                mapped.madvise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        empty = np.zeros(0, np.uint8)
        self._docs = self._codes = self._positions = empty
        # Arrays handed out keep the map alive until they are gone themselves.
        self._map = b""

    def _check(self, column: int, first: int, last: int) -> None:
        width, begin = self._widths[column], self._begins[column]
        page = (begin + first * width) // PAGE
        end = -(-(begin + last * width) // PAGE)
        while (page := self._unchecked.find(1, page, end)) >= 0:
            if zlib.crc32(self._map[page * PAGE : (page + 1) * PAGE]) != self._checksums[page]:
                raise DamagedColumnsError("checksum")
            self._unchecked[page] = 0


def _mapped(path: Path) -> mmap.mmap | bytes:
    """The file's bytes, read when they are looked at. An empty file cannot be mapped."""
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if path.stat().st_size else b""
