"""Reading the lexical index: segments of terms and postings in columns, and a table of contents in Whoosh's format."""

from __future__ import annotations

import io
import pickle
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from excerpt.corpus.tables import FIELDS, Positions, Rows, TermEntries, TermOccurrences, TermPostings, run_offsets
from excerpt.index import postings as posting_arrays
from excerpt.index.files import DamagedFileError, DerivedFile, check_file, mark_suspect
from excerpt.index.postings import DamagedColumnsError, Segment
from excerpt.index.terms import OpenSegment, Term, Vocabulary

# --- segments ---------------------------------------------------------------------------------------------------------
# A segment is three files that never change: `.lex` (its terms, in order), `.pst` (their postings, see postings.py) and
# `.npy` (key, note, line and field lengths of each fragment), where a term's postings are one slice of an array instead
# of one Python object each.
#
# Documents are in the order of their keys: a new segment holds only keys above all older ones, and only neighbouring
# segments are merged. So a row, the position of a key among all live keys, is the same here and in the vector matrix.
# Deletions are recorded in the table of contents (`_words_<generation>.toc`), which lexical_writer.py writes by Whoosh.
# It is read here without Whoosh, since a search needs only the names of segments and of deleted documents, and Whoosh
# is 47 modules (.03 s).

WORDS_FOLDER = "words"
INDEX_NAME = "words"
DOCS_SUFFIX, POSTINGS_SUFFIX, TERMS_SUFFIX = ".npy", ".pst", ".lex"


class _SegmentEntry(Struct, frozen=True):
    """A segment in a table of contents: its name and the numbers of its deleted documents."""

    name: str
    deleted: tuple[int, ...]


def segment_file_names(name: str) -> list[str]:
    """Return the names of the files of a segment, relative to the index folder."""
    return [f"{WORDS_FOLDER}/{name}{suffix}" for suffix in (TERMS_SUFFIX, POSTINGS_SUFFIX, DOCS_SUFFIX)]


def open_segment(
    folder: Path, name: str, deleted: Sequence[int], first_row: int, before: OpenSegment | None = None
) -> OpenSegment:
    """Open the segment `name` in the folder of segments. Raises DamagedFileError."""
    files = [folder / f"{name}{suffix}" for suffix in (DOCS_SUFFIX, POSTINGS_SUFFIX, TERMS_SUFFIX)]
    return OpenSegment(name, files, deleted, first_row, before)


class _WhooshObject:
    """An object in a table of contents, with its attributes: a segment or its codec."""

    indexname: str
    segid: str
    _deleted: set[int] | None


class _SegmentUnpickler(pickle.Unpickler):
    """Reads the pickled segments of a table of contents, and no object of another class."""

    def find_class(self, module: str, name: str) -> Any:
        """Return the class that stands for a class of Whoosh."""
        if module.startswith("whoosh.codec."):
            return _WhooshObject
        if (module, name) in (("builtins", "set"), ("__builtin__", "set")):
            return set
        raise pickle.UnpicklingError(f"unexpected {module}.{name}")


def _read_toc(folder: Path, generation: int) -> list[_SegmentEntry]:
    try:
        data = io.BytesIO((folder / f"_{INDEX_NAME}_{generation}.toc").read_bytes())
        for _ in range(3):  # sizes of types
            _read_varint(data)
        data.seek(8, io.SEEK_CUR)  # byte order and version of the format, four bytes each
        for _ in range(3):  # Whoosh's version
            _read_varint(data)
        data.seek(_read_varint(data), io.SEEK_CUR)  # the schema
        data.seek(8, io.SEEK_CUR)  # the generation and an unused number
        segments: list[_WhooshObject] = _SegmentUnpickler(data).load()
        return [_SegmentEntry(f"{one.indexname}_{one.segid}", tuple(one._deleted or ())) for one in segments]
    except Exception as error:
        # A pickle can fail with any exception; the remedy is always the same: rebuild from the catalog.
        raise DamagedFileError(f"The table of contents {generation} cannot be read: {error}.") from error


def _read_varint(data: io.BytesIO) -> int:
    """Read a number of seven bits a byte, the lowest first; the highest bit says that another byte follows."""
    value = shift = 0
    while True:
        byte = data.read(1)[0]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value
        shift += 7


def open_segments(
    index: Path, generation: int, unchanged: Set[str] = frozenset(), before: Sequence[OpenSegment] = ()
) -> list[OpenSegment]:
    """Open every segment of a committed generation, in the order of rows. Raises DamagedFileError.

    Open segments in `before` whose file names are all in `unchanged` are reused. The caller has checked the files.
    """
    opened = {segment.name: segment for segment in before}
    segments: list[OpenSegment] = []
    for entry in _read_toc(index / WORDS_FOLDER, generation):
        shared = opened.get(entry.name) if set(segment_file_names(entry.name)) <= unchanged else None
        first_row = sum(segment.live_count for segment in segments)
        segments.append(open_segment(index / WORDS_FOLDER, entry.name, entry.deleted, first_row, shared))
    return segments


# --- one generation, open ---------------------------------------------------------------------------------------------
# One generation of the lexical index, open for searching.

_MIN_CACHE_BYTES, _MAX_CACHE_BYTES, _CACHE_BYTES_PER_FRAGMENT = 16 << 20, 128 << 20, 320
"""Limits of the cache of recently used terms, which speeds up a query that is being typed, and words asked again.

With a word's postings the cache grows with the vault: cpp-docs has 34 MB instead of 16, and p95 is a twentieth less.
"""


class LexicalReader:
    """Reads one generation (committed state) of the lexical index term by term, and caches recently used terms.

    Row i is a live fragment: `keys[i]` (ascending) is its key, `notes[i]` the row id of its note in the catalog, and
    `lines[i]` its first line. Usable from one thread at a time.
    """

    def __init__(
        self, index: Path, files: Sequence[DerivedFile], generation: int, before: LexicalReader | None = None
    ) -> None:
        """Open a generation, reusing the segments that the reader `before` of an older generation has open.

        Raises DamagedFileError if a file differs from its record in `files`. Postings are checked when first read.
        """
        self._index = index
        self.files = frozenset(files)
        known = self.files & (before.files if before is not None else frozenset())
        for file in self.files - known:
            check_file(index, file, content=not file.name.endswith(POSTINGS_SUFFIX))
        self._lock = threading.Lock()
        shared = before._segments if before is not None else []
        self._segments: list[OpenSegment] = open_segments(index, generation, {file.name for file in known}, shared)
        dtypes = {"key": np.int64, "note": np.int64, "line": np.int32, **dict.fromkeys(FIELDS, np.float32)}
        live_count = sum(segment.live_count for segment in self._segments)
        columns: dict[str, NDArray[Any]] = {name: np.empty(live_count, dtype) for name, dtype in dtypes.items()}
        # Segment by segment: its documents stay in the processor's cache while their columns are copied.
        for segment in self._segments:
            docs = segment.docs if segment.has_no_deletions else segment.docs[segment.alive]
            for name, column in columns.items():
                column[segment.first_row : segment.first_row + segment.live_count] = docs[name]
        self.keys: NDArray[np.int64] = columns["key"]
        self.notes: NDArray[np.int64] = columns["note"]
        self.lines: NDArray[np.int32] = columns["line"]
        self._lengths: dict[str, NDArray[np.float32]] = {field: columns[field] for field in FIELDS}
        self._cache: OrderedDict[str, Term] = OrderedDict()
        self._cached_bytes = 0
        self._max_cached_bytes = _limit_cache(len(self.keys))
        self._vocabulary: Vocabulary | None = None
        self._vocabulary_before: Vocabulary | None = (
            (before._vocabulary or before._vocabulary_before) if before is not None else None
        )

    @property
    def doc_count(self) -> int:
        """Number of live fragments."""
        return len(self.keys)

    @property
    def corpus_size(self) -> int:
        """Number of fragments in the vault; in an index every fragment has a row."""
        return len(self.keys)

    def prefetch_document_frequencies(self, _terms: Sequence[str]) -> None:
        """Do nothing: an index needs no prefetching, as every fragment has a row."""

    def document_frequency(self, _terms: Sequence[str]) -> None:
        """Return None: every fragment has a row, so callers count the rows instead."""

    def mean_length(self, _field: str) -> float | None:
        """Return None: every fragment has a row, so callers compute the mean from the rows."""
        return None

    def lengths(self, field: str) -> NDArray[np.float32]:
        return self._lengths[field]

    def entries(self, term: str) -> TermEntries:
        """Return the postings of `term` in all fields, one item for each row and field. Raises DamagedFileError."""
        return self._read_term(term).entries

    def count(self, term: str) -> int:
        """Return an upper bound of the number of rows that have `term`, without reading postings.

        Deleted fragments count too, and a fragment counts once for each field that has the term.
        """
        encoded = term.encode("utf-8", "replace")
        return sum(segment.columns.count(encoded) for segment in self._segments)

    def occurrences(self, term: str, rows: Rows) -> TermOccurrences:
        """Return every occurrence of `term` in `rows`, which ascend. Raises DamagedFileError."""
        with self._convert_read_errors():
            return self._read_term(term).occurrences(rows)

    def postings(self, field: str, term: str) -> TermPostings:
        """Return the postings of `term` in `field`: rows and counts. Raises DamagedFileError."""
        entries = self.entries(term)
        is_in_field = entries.fields == FIELDS.index(field)
        return TermPostings(entries.rows[is_in_field], entries.tf[is_in_field].astype(np.float32))

    def positions(self, field: str, term: str) -> Positions:
        """Return the positions of `term` in `field`, for each row that `postings` returns. Raises DamagedFileError."""
        term_data = self._read_term(term)
        is_in_field = term_data.entries.fields == FIELDS.index(field)
        with self._convert_read_errors():
            values = term_data.positions().values[np.repeat(is_in_field, term_data.entries.tf)]
        return Positions(run_offsets(term_data.entries.tf[is_in_field]), values)

    def completions(self, prefix: str, limit: int) -> list[str]:
        """Return at most `limit` terms of any field that start with `prefix`: the shortest first, then by alphabet.

        Some may be only in deleted fragments.
        """
        if self._vocabulary is not None:
            return self._vocabulary.completions(prefix, limit)
        encoded = prefix.encode("utf-8", "replace")
        completions = {term for s in self._segments for term, _ in s.columns.terms_with_prefix(encoded)}
        return sorted((term.decode() for term in completions), key=lambda term: (len(term), term))[:limit]

    def terms(self, field: str, prefix: str) -> list[str]:
        """Return the terms of `field` that start with `prefix`, sorted; some may be only in deleted fragments."""
        bit, encoded = 1 << FIELDS.index(field), prefix.encode("utf-8", "replace")
        matches = {term for s in self._segments for term, mask in s.columns.terms_with_prefix(encoded) if mask & bit}
        return [term.decode() for term in sorted(matches)]

    def lexicon(self, field: str) -> list[str]:
        """Return every term of `field`, sorted; the first call reads and caches the terms of all fields."""
        return self._full_vocabulary.lexicon(field)

    def segments_with(self, notes: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], Segment]]:
        """Yield (keys, notes, postings) of each segment that has a fragment of one of `notes` (row ids of notes).

        `keys` are those of all live fragments in the segment, ascending, and `notes` are the row ids of their notes.
        Raises DamagedFileError.
        """
        for segment in self._segments:
            docs = segment.docs[segment.alive]
            if np.isin(docs["note"], notes).any():
                with self._convert_read_errors():
                    whole = segment.columns.segment(len(segment.docs))
                live_rows = np.where(segment.alive, np.cumsum(segment.alive) - 1, -1).astype(np.int32)
                yield (
                    docs["key"].astype(np.int64),
                    docs["note"].astype(np.int64),
                    posting_arrays.select_docs(whole, live_rows),
                )

    def check(self) -> None:
        """Compare all postings with their checksums, which also loads them into the file cache of the system.

        Raises DamagedFileError.
        """
        with self._lock, self._convert_read_errors():
            for segment in self._segments:
                segment.columns.check()

    def has_common_segment(self, before: LexicalReader) -> bool:
        """Return whether this generation has a segment in common with `before`, an older one.

        If so, a key means the same fragment in both. After a rebuild, keys count from 1 again in new segments.
        """
        return not self.segment_names.isdisjoint(before.segment_names)

    @property
    def segment_names(self) -> frozenset[str]:
        """Names of the segments; a segment of another index never has the same name."""
        return frozenset(segment.name for segment in self._segments)

    def release_terms(self) -> None:
        with self._lock:
            self._cache.clear()
            self._cached_bytes = 0

    def close(self) -> None:
        """Release the segments and caches; files that another generation shares stay open for that generation."""
        self._segments = []
        self._cache.clear()
        self._vocabulary = self._vocabulary_before = None

    @property
    def _full_vocabulary(self) -> Vocabulary:
        if self._vocabulary is None:
            segments = {segment.name: segment.columns for segment in self._segments}
            self._vocabulary = Vocabulary(segments, self._vocabulary_before)
            self._vocabulary_before = None
        return self._vocabulary

    def _read_term(self, term: str) -> Term:
        with self._lock:
            term_data = self._cache.get(term)
            if term_data is None:
                # If the vocabulary is loaded, it is faster than asking every segment for an unknown term.
                known = self._vocabulary is None or term in self._vocabulary
                with self._convert_read_errors():
                    term_data = Term(self._segments if known else (), term.encode("utf-8", "replace"))
                self._cache[term] = term_data
                self._cached_bytes += term_data.nbytes
                while self._cached_bytes > self._max_cached_bytes and len(self._cache) > 1:
                    self._cached_bytes -= self._cache.popitem(last=False)[1].nbytes
            self._cache.move_to_end(term)
            return term_data

    @contextmanager
    def _convert_read_errors(self) -> Iterator[None]:
        """Convert DamagedColumnsError in a block into DamagedFileError, and have the next build check the index."""
        try:
            yield
        except DamagedColumnsError as error:
            mark_suspect(self._index)
            raise DamagedFileError(f"The postings of a word cannot be read: {error}.") from error


def _limit_cache(fragments: int) -> int:
    """Return the most bytes of cached terms in an index of this many fragments."""
    return min(max(_MIN_CACHE_BYTES, fragments * _CACHE_BYTES_PER_FRAGMENT), _MAX_CACHE_BYTES)
