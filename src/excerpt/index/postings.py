"""Inverted index with numpy: the fields of a fragment, postings of terms, and the files they are stored in."""

from __future__ import annotations

import bisect
import hashlib
import struct
import zlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from excerpt.base.state_files import open_regular
from excerpt.corpus.tables import FIELDS
from excerpt.index.files import RandomAccessFile
from excerpt.text.folding import UNACCENTED_MARK
from excerpt.text.inner_marks import join_marked_words
from excerpt.text.numbers import NumberedOccurrences, thread_term_encoder

# --- postings ---------------------------------------------------------------------------------------------------------
# Counting of terms with numpy: turns texts into postings, merges those of all fields, and joins segments.
#
# A document here is a fragment, numbered from 0 within one segment. Everything that would cost Python code for each
# posting is done on whole arrays: a vault of 100,000 fragments has five million postings, and their objects were the
# main cost of building an index (docs/design/index.md).

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]


class Inverted(Struct, frozen=True):
    """The postings of one field over `doc_count` documents, by term.

    Term `terms[t]` (sorted UTF-8) has the postings `starts[t]:starts[t + 1]` of `docs` (ascending) and `tf`;
    `positions` are those of all postings in order, `tf[i]` of them for posting i. `lengths` counts the terms of each
    document, without the second terms of words with accents.
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


class Segment(Struct, frozen=True):
    """The postings of all fields over `doc_count` documents.

    As in `Inverted`, but a term's postings are those of all fields, ordered by document and then by field; `fields` are
    the numbers of their fields.
    """

    terms: list[bytes]
    starts: Longs
    docs: Ints
    fields: NDArray[np.uint8]
    tf: Ints
    positions: Ints
    doc_count: int


def invert(occurrences: NumberedOccurrences, names: Sequence[bytes]) -> Inverted:
    """Return the postings of one field from the occurrences of terms; `names[n]` is the term with number n."""
    used = np.zeros(len(names), np.bool_)
    used[occurrences.terms] = True
    numbers = np.flatnonzero(used)
    terms = [names[number] for number in numbers.tolist()]
    by_name = sorted(range(len(terms)), key=terms.__getitem__)
    # The second term of a word with accents adds no length. Only terms of this field are looked at: `names` are those
    # of all texts that a process has read, and looking at all took a third of a large build.
    is_second = np.fromiter((term.endswith(_UNACCENTED_MARK) for term in terms), np.bool_, len(terms))
    used[numbers[is_second]] = False
    ranks = np.zeros(len(names), np.int64)
    ranks[numbers[by_name]] = np.arange(len(terms))
    # One sort of integers whose last bits hold the original index is far quicker than argsort.
    count = max(occurrences.doc_count, 1)
    bits = len(occurrences.terms).bit_length()
    entries = (ranks[occurrences.terms] * count + occurrences.docs) << bits | np.arange(len(occurrences.terms))
    entries.sort()
    order = entries & ((1 << bits) - 1)
    entries >>= bits
    first = np.flatnonzero(np.diff(entries, prepend=-1))
    return Inverted(
        terms=[terms[number] for number in by_name],
        starts=_posting_starts(entries[first] // count, len(terms)),
        docs=(entries[first] % count).astype(np.int32),
        tf=np.diff(first, append=len(entries)).astype(np.int32),
        positions=occurrences.positions[order],
        lengths=np.bincount(occurrences.docs[used[occurrences.terms]], minlength=occurrences.doc_count).astype(
            np.int32
        ),
    )


_UNACCENTED_MARK = UNACCENTED_MARK.encode()


def join(parts: Sequence[Inverted]) -> Inverted:
    """Concatenate the postings of one field: the documents of all parts are numbered one after the other."""
    if len(parts) == 1:
        return parts[0]
    terms, ranks = _merge_term_lists([(part.terms, part.starts) for part in parts])
    offsets = np.cumsum([0, *(part.doc_count for part in parts)])
    docs = np.concatenate([part.docs + np.int32(offset) for part, offset in zip(parts, offsets, strict=False)])
    tf = np.concatenate([part.tf for part in parts])
    order = np.argsort(ranks, kind="stable")
    return Inverted(
        terms=terms,
        starts=_posting_starts(ranks[order], len(terms)),
        docs=docs[order],
        tf=tf[order],
        positions=_reorder_runs(np.concatenate([part.positions for part in parts]), tf, order),
        lengths=np.concatenate([part.lengths for part in parts]),
    )


def merge_fields(parts: Sequence[Inverted]) -> Segment:
    """Merge the postings of all fields of the same documents; part i holds field number i."""
    terms, ranks = _merge_term_lists([(part.terms, part.starts) for part in parts])
    count = parts[0].doc_count
    docs = np.concatenate([part.docs for part in parts])
    tf = np.concatenate([part.tf for part in parts])
    fields = np.repeat(np.arange(len(parts), dtype=np.uint8), [len(part.docs) for part in parts])
    # The fields are in order already, and the sort is stable.
    order = np.argsort(ranks.astype(np.int64) * max(count, 1) + docs, kind="stable")
    return Segment(
        terms=terms,
        starts=_posting_starts(ranks[order], len(terms)),
        docs=docs[order],
        fields=fields[order],
        tf=tf[order],
        positions=_reorder_runs(np.concatenate([part.positions for part in parts]), tf, order),
        doc_count=count,
    )


def select_docs(segment: Segment, new_numbers: Ints) -> Segment:
    """Return a segment with some of the documents; document i gets the number `new_numbers[i]`, or is dropped for -1.

    Terms without remaining postings are removed.
    """
    docs = new_numbers[segment.docs]
    alive = docs >= 0
    doc_count = int(np.count_nonzero(new_numbers >= 0))
    if alive.all():
        return Segment(segment.terms, segment.starts, docs, segment.fields, segment.tf, segment.positions, doc_count)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(alive, dtype=np.int64)])
    starts = offsets[segment.starts]
    left = np.diff(starts) > 0
    return Segment(
        terms=[term for term, has_postings in zip(segment.terms, left.tolist(), strict=True) if has_postings],
        starts=np.concatenate([starts[:-1][left], starts[-1:]]),
        docs=docs[alive],
        fields=segment.fields[alive],
        tf=segment.tf[alive],
        positions=segment.positions[np.repeat(alive, segment.tf)],
        doc_count=doc_count,
    )


def concatenate_segments(parts: Sequence[Segment]) -> Segment:
    """Concatenate segments: the documents of all parts are numbered one after the other."""
    if len(parts) == 1:
        return parts[0]
    terms, ranks = _merge_term_lists([(part.terms, part.starts) for part in parts])
    offsets = np.cumsum([0, *(part.doc_count for part in parts)])
    tf = np.concatenate([part.tf for part in parts])
    order = np.argsort(ranks, kind="stable")
    docs = np.concatenate([part.docs + np.int32(offset) for part, offset in zip(parts, offsets, strict=False)])
    return Segment(
        terms=terms,
        starts=_posting_starts(ranks[order], len(terms)),
        docs=docs[order],
        fields=np.concatenate([part.fields for part in parts])[order],
        tf=tf[order],
        positions=_reorder_runs(np.concatenate([part.positions for part in parts]), tf, order),
        doc_count=int(offsets[-1]),
    )


def _merge_term_lists(parts: Sequence[tuple[list[bytes], Longs]]) -> tuple[list[bytes], Ints]:
    """Merge sorted term lists; return all terms, sorted, and the number of each posting's term, part by part.

    A part is (terms, starts), as in `Inverted`.
    """
    terms = sorted(set(chain.from_iterable(terms for terms, _ in parts)))
    rank = {term: number for number, term in enumerate(terms)}
    numbers = [np.fromiter(map(rank.__getitem__, part), np.int32, len(part)) for part, _ in parts]
    ranks = [np.repeat(number, np.diff(starts)) for number, (_, starts) in zip(numbers, parts, strict=True)]
    return terms, np.concatenate(ranks)


def _posting_starts(posting_terms: NDArray[np.integer], count: int) -> Longs:
    return np.searchsorted(posting_terms, np.arange(count + 1)).astype(np.int64)


def _reorder_runs(values: Ints, counts: Ints, order: Longs) -> Ints:
    """Return `values`, which consist of runs of the lengths `counts`, with the runs in the given order."""
    begins = np.cumsum(counts, dtype=np.int64) - counts
    counts = counts[order]
    ends = np.cumsum(counts, dtype=np.int64)
    return values[np.repeat(begins[order] - (ends - counts), counts) + np.arange(len(values))]


# --- columns ----------------------------------------------------------------------------------------------------------
# A segment's postings on disk: columns of fixed width, read by offset, and a directory of its terms, read as a whole.
#
# `.pst` holds three columns one after the other: document, field and count (one number: the field in the upper three
# bits), and positions. The width of each depends on its largest value. A term's part of a column is one slice, which
# needs no decoding; only the slices of the requested terms are read. What is read for the first time is checked, page
# by page.
#
# `.lex` holds the terms in order, separated by newlines, with a second copy of the first term of each block of 16, so
# that a term is found by two short searches; where each term's postings and positions begin; in which fields it occurs;
# and the pages' checksums.

PAGE_BYTES = 1 << 14
"""Bytes that have one checksum: reading a rare term checks three pages; a large vault has a few thousand pages."""
_PAGES_AT_ONCE = 64
"""Pages that are read at once when the whole file is checked: 1 MB."""

_MAGIC = b"EXL1"
_HEAD = struct.Struct("<4s4xQQQQQBBB5x")
_TERMS_PER_BLOCK = 16
_FIELD_BITS = 3
_DTYPES: dict[int, np.dtype[Any]] = {1: np.dtype("<u1"), 2: np.dtype("<u2"), 4: np.dtype("<u4")}


class DamagedColumnsError(ValueError):
    """A file of a segment differs from what was written to it."""


class TermSlice(Struct, frozen=True):
    """The postings of one term in one segment, ordered by document and then field.

    `codes` hold field and count of each posting in one integer (`Columns.unpack`). The term's positions begin at index
    `first_position` of the segment's positions.
    """

    docs: NDArray[np.unsignedinteger[Any]]
    codes: NDArray[np.unsignedinteger[Any]]
    first_position: int


def pack(segment: Segment) -> tuple[bytes, bytes]:
    """Return the bytes of a segment's two files: `.pst` (postings) and `.lex` (terms)."""
    tf_width = _byte_width(int(segment.tf.max(initial=0)), _FIELD_BITS)
    codes = segment.fields.astype(np.uint32) << np.uint32(8 * tf_width - _FIELD_BITS) | segment.tf.astype(np.uint32)
    widths = (_byte_width(segment.doc_count), tf_width, _byte_width(int(segment.positions.max(initial=0))))
    columns = (segment.docs, codes, segment.positions)
    postings = b"".join(
        _pad_to_8_bytes(values.astype(_DTYPES[width]).tobytes()) for values, width in zip(columns, widths, strict=True)
    )
    first_positions = np.concatenate([np.zeros(1, np.int64), np.cumsum(segment.tf, dtype=np.int64)])[segment.starts]
    blocks = [
        b"\n".join(segment.terms[at : at + _TERMS_PER_BLOCK]) + b"\n"
        for at in range(0, len(segment.terms), _TERMS_PER_BLOCK)
    ]
    fences, words = b"\n".join(segment.terms[::_TERMS_PER_BLOCK]), b"".join(blocks)
    block_starts = np.cumsum([0, *map(len, blocks)], dtype=np.int64)
    checksums = np.array(
        [zlib.crc32(postings[at : at + PAGE_BYTES]) for at in range(0, len(postings), PAGE_BYTES)], np.uint32
    )
    counts = (len(segment.terms), len(segment.docs), len(segment.positions), len(fences), len(words))
    directory = (
        segment.starts.astype("<u4").tobytes(),
        first_positions.astype("<u4").tobytes(),
        block_starts.astype("<u4").tobytes(),
        checksums.astype("<u4").tobytes(),
        _field_masks(segment).tobytes(),
        fences,
        words,
    )
    return postings, _HEAD.pack(_MAGIC, *counts, *widths) + b"".join(directory)


def _field_masks(segment: Segment) -> NDArray[np.uint8]:
    """Return, for each term, a bit mask of the fields that have it."""
    if not segment.terms:
        return np.zeros(0, np.uint8)
    bits = np.left_shift(np.uint8(1), segment.fields)
    return np.bitwise_or.reduceat(bits, segment.starts[:-1])


def _byte_width(largest: int, spare_bits: int = 0) -> int:
    return next(width for width in (1, 2, 4) if largest < 1 << (8 * width - spare_bits) or width == 4)


def _pad_to_8_bytes(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 8)


class Columns:
    """The open files of a segment: postings (`.pst`) and terms (`.lex`).

    Raises OSError, and DamagedColumnsError if the files do not match each other.
    """

    def __init__(self, postings: Path, directory: Path) -> None:
        with open_regular(directory) as file:
            data = file.readall()
        try:
            magic, terms, entries, position_count, fences, words, *widths = _HEAD.unpack_from(data)
        except struct.error as error:
            raise DamagedColumnsError("directory") from error
        blocks = -(-terms // _TERMS_PER_BLOCK)
        begins = np.cumsum(
            [0, *(-(-n * w // 8) * 8 for n, w in zip((entries, entries, position_count), widths, strict=True))]
        )
        pages = -(-int(begins[-1]) // PAGE_BYTES)
        sizes = (4 * (terms + 1), 4 * (terms + 1), 4 * (blocks + 1), 4 * pages, terms, fences, words)
        if magic != _MAGIC or len(data) != _HEAD.size + sum(sizes):
            raise DamagedColumnsError("directory")
        at = np.cumsum([_HEAD.size, *sizes]).tolist()
        self._posting_starts = np.frombuffer(data, "<u4", terms + 1, at[0])
        self._first_positions = np.frombuffer(data, "<u4", terms + 1, at[1])
        self._blocks = np.frombuffer(data, "<u4", blocks + 1, at[2])
        self._checksums = np.frombuffer(data, "<u4", pages, at[3])
        self.masks = np.frombuffer(data, np.uint8, terms, at[4])
        self._fences = data[at[5] : at[6]].split(b"\n") if terms else []
        self._directory, self._words_at = data, at[6]
        self._shift = 8 * widths[1] - _FIELD_BITS
        self._widths, self._begins, self._counts = widths, begins.tolist(), (entries, entries, position_count)
        self._unchecked = bytearray(b"\1" * pages)
        self._file = RandomAccessFile(postings)
        if self._file.size != begins[-1]:
            raise DamagedColumnsError("size")

    def terms(self) -> list[bytes]:
        """Return every term, ascending, in the order of `masks`."""
        return self._directory[self._words_at :].split(b"\n")[:-1]

    def words(self) -> list[str]:
        """Return every term as text, in the order of `terms`."""
        return self._directory[self._words_at :].decode().split("\n")[:-1]

    def number(self, term: bytes) -> int | None:
        """Return the position of `term` in the sorted terms, None if the segment does not have the term."""
        block = bisect.bisect_right(self._fences, term) - 1
        if block < 0:
            return None
        try:
            index = self._read_term_block(block).index(term)
        except ValueError:
            return None
        # The last term of a block is followed by an empty string, which is no term.
        number = block * _TERMS_PER_BLOCK + index
        return number if index < _TERMS_PER_BLOCK and number < len(self.masks) else None

    def terms_with_prefix(self, prefix: bytes) -> Iterator[tuple[bytes, int]]:
        """Yield the terms that start with `prefix`, ascending, each with the bit mask of its fields."""
        block = max(bisect.bisect_right(self._fences, prefix) - 1, 0)
        for at in range(block, len(self._fences)):
            for number, term in enumerate(self._read_term_block(at)[:-1], at * _TERMS_PER_BLOCK):
                if term.startswith(prefix):
                    yield term, int(self.masks[number])
                elif term > prefix:
                    return

    def _read_term_block(self, number: int) -> list[bytes]:
        """Return the terms of one block, followed by an empty string."""
        first, last = self._blocks[number : number + 2].tolist()
        return self._directory[self._words_at + first : self._words_at + last].split(b"\n")

    def count(self, term: bytes) -> int:
        """Return the number of postings of `term`."""
        number = self.number(term)
        return 0 if number is None else int(self._posting_starts[number + 1]) - int(self._posting_starts[number])

    def find(self, term: bytes) -> TermSlice | None:
        """Return the postings of `term`, None if the segment does not have the term."""
        number = self.number(term)
        if number is None:
            return None
        first, last = int(self._posting_starts[number]), int(self._posting_starts[number + 1])
        return TermSlice(
            self._read_column(0, first, last), self._read_column(1, first, last), int(self._first_positions[number])
        )

    def unpack(self, codes: NDArray[np.unsignedinteger[Any]]) -> tuple[NDArray[np.uint8], Ints]:
        """Return the field numbers and the counts that some codes of postings hold (`TermSlice.codes`)."""
        fields, counts = np.empty(len(codes), np.uint8), np.empty(len(codes), np.int32)
        self.unpack_into(codes, fields, counts)
        return fields, counts

    def unpack_into(self, codes: NDArray[np.unsignedinteger[Any]], fields: NDArray[np.uint8], counts: Ints) -> None:
        """Write the field number and the count of each code of a posting into two arrays of the same length."""
        np.right_shift(codes, self._shift, out=fields, casting="unsafe")
        np.bitwise_and(codes, (1 << self._shift) - 1, out=counts, casting="unsafe")

    def positions(self, first: int, last: int) -> NDArray[np.unsignedinteger[Any]]:
        """Return the positions at the indexes from `first` to before `last` in the segment's positions."""
        return self._read_column(2, first, last)

    def segment(self, doc_count: int) -> Segment:
        """Read and return the postings of all terms; `doc_count` is the number of documents in the segment."""
        docs, codes, positions = (self._read_column(column, 0, count) for column, count in enumerate(self._counts))
        fields, tf = self.unpack(codes)
        return Segment(
            terms=self.terms(),
            starts=self._posting_starts.astype(np.int64),
            docs=docs.astype(np.int32),
            fields=fields,
            tf=tf,
            positions=positions.astype(np.int32),
            doc_count=doc_count,
        )

    def check(self) -> None:
        """Compare every page with its checksum now. Raises DamagedColumnsError."""
        for page in range(0, len(self._unchecked), _PAGES_AT_ONCE):
            last = min(page + _PAGES_AT_ONCE, len(self._unchecked))
            if self._unchecked.find(1, page, last) >= 0:
                self._read_checked_pages(page, last)

    def close(self) -> None:
        self._file.close()

    def _read_column(self, column: int, first: int, last: int) -> NDArray[np.unsignedinteger[Any]]:
        """Read the values from `first` to before `last` of a column (0 documents, 1 codes, 2 positions)."""
        width, begin = self._widths[column], self._begins[column]
        start, end = begin + first * width, begin + last * width
        page, last_page = start // PAGE_BYTES, -(-end // PAGE_BYTES)
        if self._unchecked.find(1, page, last_page) >= 0:
            data, offset = self._read_checked_pages(page, last_page), start - page * PAGE_BYTES
        else:
            data, offset = self._read(start, end), 0
        return np.frombuffer(data, _DTYPES[width], last - first, offset)

    def _read_checked_pages(self, page: int, last: int) -> bytearray:
        """Return the bytes of the pages from `page` to before `last`; compare unchecked pages with their checksums."""
        data = self._read(page * PAGE_BYTES, min(last * PAGE_BYTES, self._begins[-1]))
        view = memoryview(data)
        for number in range(page, last):
            if self._unchecked[number]:
                at = (number - page) * PAGE_BYTES
                if zlib.crc32(view[at : at + PAGE_BYTES]) != self._checksums[number]:
                    raise DamagedColumnsError("checksum")
                self._unchecked[number] = 0
        return data

    def _read(self, start: int, end: int) -> bytearray:
        try:
            return self._file.read(start, end)
        except OSError as error:
            raise DamagedColumnsError(error.strerror) from error


# --- fields -----------------------------------------------------------------------------------------------------------
# The fields of a fragment: its own terms, and those of its note.

FIELDS_VERSION = 2
"""Version of the fields' content; a change makes the next build rebuild the lexical index."""

# The distance between two aliases, headings or values: larger than any phrase or cluster can span.
_POSITION_GAP = 50
_TermArrays = tuple[Ints, Ints]  # numbers of terms, and their positions
_NO_TERMS: _TermArrays = (np.zeros(0, np.int32), np.zeros(0, np.int32))

EMBEDDED_TEXT_VERSION = 2
"""Version of `embedded_text`; a change makes the next build compute all vectors again."""


def embedded_text(title: str, heading_path: Sequence[str], text: str) -> str:
    """Return the text from which a fragment's vector is computed: title of the note, heading path, and text.

    Markdown marks within words are removed. With the title, search by meaning alone finds a tenth more of the known
    items than with the headings only (docs/design/quality.md).
    """
    joined = join_marked_words(text)
    return f"{' › '.join((title, *heading_path))}\n{text if joined is None else joined.text}"


def embedded_digest(text: str) -> bytes:
    """Return the digest (12 bytes) under which the vector of a text is stored, so that equal texts share one vector."""
    return hashlib.blake2b(text.encode(), digest_size=12).digest()


class FieldCollector:
    """Tokenizes fragments note by note, and returns the postings of all fields over the collected fragments."""

    def __init__(self) -> None:
        self._encoder = thread_term_encoder()
        self._texts: list[array[int]] = []
        self._note_fields: dict[str, list[_TermArrays]] = {field: [] for field in FIELDS if field != "text"}

    def add_note(
        self,
        path: str,
        title: str,
        language: str,
        *,
        aliases: Sequence[str],
        tags: Sequence[str],
        properties: Mapping[str, Sequence[str]],
        fragments: Iterable[tuple[Sequence[str], str]],
    ) -> None:
        """Tokenize the fragments of a note, given as (heading path, text), and the names and labels of the note."""
        note_path = PurePosixPath(path)
        names = [*aliases, note_path.stem] if note_path.stem != title else aliases
        values = [value for property_values in properties.values() for value in property_values]
        field_terms = {
            "title": self._tokenize_spaced((title,), language),
            "alias": self._tokenize_spaced(names, language),
            "tags": self._tokenize_spaced(tags, language),
            "properties": self._tokenize_spaced([*values, *note_path.parts[:-1]], language),
        }
        headings: dict[tuple[str, ...], _TermArrays] = {}
        for heading_path, text in fragments:
            above, own = tuple(heading_path[:-1]), tuple(heading_path[-1:])
            for part in (above, own):
                if part not in headings:
                    headings[part] = self._tokenize_spaced(part, language)
            self._texts.append(self._encoder.encode(text, language))
            self._note_fields["above"].append(headings[above])
            self._note_fields["heading"].append(headings[own])
            for field, property_values in field_terms.items():
                self._note_fields[field].append(property_values)
            field_terms["properties"] = _NO_TERMS

    def inverted(self) -> dict[str, Inverted]:
        """Return the postings of each field; documents are the fragments in the order in which they were added."""
        occurrences = {field: _occurrences(documents) for field, documents in self._note_fields.items()}
        occurrences["text"] = self._encoder.decode(self._texts)
        return {field: invert(occurrences[field], self._encoder.lexicon.names) for field in FIELDS}

    def _tokenize_spaced(self, parts: Sequence[str], language: str) -> _TermArrays:
        """Return the term numbers and positions of texts, with gaps of `_POSITION_GAP` positions between two texts."""
        known = self._encoder.short_text_cache.get((language, *parts))
        if known is None:
            known = self._encoder.short_text_cache[language, *parts] = self._tokenize(parts, language)
        return known

    def _tokenize(self, parts: Sequence[str], language: str) -> _TermArrays:
        terms: list[int] = []
        positions: list[int] = []
        for part in parts:
            part_terms, part_positions = self._encoder.terms_of(part, language)
            base = positions[-1] + _POSITION_GAP if positions else 0
            terms += part_terms
            positions += [base + place for place in part_positions]
        return (np.array(terms, np.int32), np.array(positions, np.int32)) if terms else _NO_TERMS


def _occurrences(documents: Sequence[_TermArrays]) -> NumberedOccurrences:
    return NumberedOccurrences(
        terms=np.concatenate([_NO_TERMS[0], *(terms for terms, _ in documents)]),
        docs=np.repeat(np.arange(len(documents), dtype=np.int32), [len(terms) for terms, _ in documents]),
        positions=np.concatenate([_NO_TERMS[1], *(positions for _, positions in documents)]),
        doc_count=len(documents),
    )
