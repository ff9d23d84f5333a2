"""The lexical index: Whoosh manages segments, deletions and the table of contents; terms and postings are columns."""

from __future__ import annotations

import io
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from whoosh import fields, formats
from whoosh.codec.whoosh3 import W3Codec, W3Segment
from whoosh.filedb.filestore import FileStorage
from whoosh.index import TOC

from excerpt.base.state_files import sync_folder
from excerpt.corpus.tables import FIELDS, Positions, Rows, TermEntries, TermOccurrences, TermPostings, run_offsets
from excerpt.index import postings as posting_arrays
from excerpt.index.catalog_rows import FragmentPosition
from excerpt.index.files import DamagedFileError, DerivedFile, check_file, mark_suspect, sync_and_record
from excerpt.index.postings import DamagedColumnsError, Inverted, Segment, pack
from excerpt.index.terms import DOCUMENT_DTYPE, OpenSegment, Term, Vocabulary

# --- lexical ----------------------------------------------------------------------------------------------------------
# Only this module imports whoosh. A segment is three files that never change: `.lex` (its terms, in order), `.pst`
# (their postings, see postings.py) and `.npy` (key, note, line and field lengths of each fragment), where a term's
# postings are one slice of an array instead of one Python object each. Whoosh's own reader and writer are not used: the
# writer removes the old generation's files before the catalog can record the new generation, and keeps a lock, a
# temporary folder and lossy lengths that are not needed here.
#
# Documents are in the order of their keys: a new segment holds only keys above all older ones, and only neighbouring
# segments are merged. So a row, the position of a key among all live keys, is the same here and in the vector matrix.
# Deletions are recorded in the table of contents (`_words_<generation>.toc`, a pickle: it is opened only from our own
# cache folder, after its checksum matched the catalog's).

WORDS_FOLDER = "words"
_INDEX_NAME = "words"
_DOCS_SUFFIX, POSTINGS_SUFFIX, _TERMS_SUFFIX = ".npy", ".pst", ".lex"

# Merging: eight neighbours of one size class become one, so a fragment is rewritten at most log8(n) times. Segments
# above the limit are not merged, so that no commit of one note ever rewrites a whole vault.
_SEGMENTS_PER_MERGE = 8
_MAX_MERGED_FRAGMENTS = 10_000
# The commit that ends a build of many batches makes few segments, since a search reads each word from every segment
# (444,000 fragments in 7 segments instead of 25: p95 a fifth less). Above the limit document numbers take four bytes.
_MAX_FRAGMENTS = 65_535


class _CountedField(fields.FieldType):
    """A Whoosh field type without an analyzer, because excerpt counts the postings itself."""

    def __init__(self) -> None:
        self.format = formats.Frequency()
        self.analyzer = None
        self.scorable = False
        self.stored = False
        self.indexed = True


_SCHEMA = fields.Schema(**{field: _CountedField() for field in FIELDS})


def _open_segment(folder: Path, segment: W3Segment, first_row: int, before: OpenSegment | None = None) -> OpenSegment:
    files = [folder / segment.make_filename(extension) for extension in (_DOCS_SUFFIX, POSTINGS_SUFFIX, _TERMS_SUFFIX)]
    return OpenSegment(segment.segment_id(), files, list(segment.deleted_docs()), first_row, before)


def _segment_file_names(segment: W3Segment) -> list[str]:
    return [
        f"{WORDS_FOLDER}/{segment.make_filename(extension)}"
        for extension in (_TERMS_SUFFIX, POSTINGS_SUFFIX, _DOCS_SUFFIX)
    ]


# --- writing ----------------------------------------------------------------------------------------------------------


class LexicalWriter:
    """Adds and deletes fragments in the lexical index, and commits each new state as a generation.

    The caller holds the build's lock, and records the files that `commit` returns in the catalog.
    """

    def __init__(
        self,
        index: Path,
        generation: int | None,
        files: Sequence[DerivedFile] = (),
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        """Open the committed `generation`, made of `files`, for changes; None starts an empty index.

        `tick` is called between the steps of writing a segment. Raises DamagedFileError.
        """
        self._tick = tick
        self._index = index
        self._folder = index / WORDS_FOLDER
        self._folder.mkdir(parents=True, exist_ok=True)
        self._storage = FileStorage(str(self._folder))
        known = {file.name: file for file in files}
        if {Path(name).suffix for name in known} > {".toc"} and not any(name.endswith(_TERMS_SUFFIX) for name in known):
            raise DamagedFileError("another version of excerpt made it")
        self._segments: list[W3Segment] = [] if generation is None else _read_toc(self._storage, generation)
        self._keys_by_segment: dict[str, NDArray[np.int64]] = {}
        self._recorded_files = {
            s.segment_id(): [known[name] for name in _segment_file_names(s)] for s in self._segments
        }

    def add(self, docs: NDArray[np.void], inverted: Mapping[str, Inverted]) -> None:
        """Write one segment of new fragments.

        `docs` is the result of `document_rows`, and `inverted` holds the postings of each field over these documents.
        The keys in `docs` ascend and are above all keys that were added before.
        """
        if len(docs):
            self._segments.append(self._invert_and_write(docs, inverted))

    def delete(self, keys: NDArray[np.int64]) -> None:
        """Mark the fragments with these keys as deleted; unknown keys are ignored."""
        for segment in self._segments:
            known = self._segment_keys(segment)
            for number in np.flatnonzero(np.isin(known, keys)).tolist():
                segment.delete_document(number)

    def commit(self, generation: int, *, ends_build: bool = False) -> list[DerivedFile]:
        """Write all changes as the generation with this number, sync them to disk, and return the files in use.

        Small segments are merged before, and if the commit ends a build of several commits, large ones too.
        """
        self._merge_small_segments()
        if ends_build:
            self._merge_large_segments()
        TOC(_SCHEMA, self._segments, generation).write(self._storage, _INDEX_NAME)
        files = [sync_and_record(self._index, f"{WORDS_FOLDER}/{TOC._filename(_INDEX_NAME, generation)}")]
        for segment in self._segments:
            name = segment.segment_id()
            if name not in self._recorded_files:
                self._recorded_files[name] = [
                    sync_and_record(self._index, file) for file in _segment_file_names(segment)
                ]
            files += self._recorded_files[name]
        sync_folder(self._folder)
        return files

    def keys(self) -> NDArray[np.int64]:
        """Return the keys of the live fragments, ascending."""
        live_keys = [np.delete(self._segment_keys(s), list(s.deleted_docs())) for s in self._segments]
        return np.concatenate([np.zeros(0, np.int64), *live_keys])

    def _segment_keys(self, segment: W3Segment) -> NDArray[np.int64]:
        name = segment.segment_id()
        if name not in self._keys_by_segment:
            docs = np.load(self._folder / segment.make_filename(_DOCS_SUFFIX), allow_pickle=False)
            self._keys_by_segment[name] = docs["key"].copy()
        return self._keys_by_segment[name]

    def _invert_and_write(self, docs: NDArray[np.void], inverted: Mapping[str, Inverted]) -> W3Segment:
        docs = docs.copy()
        for field in FIELDS:
            docs[field] = inverted[field].lengths
        self._tick()
        return self._write_segment(docs, posting_arrays.merge_fields([inverted[field] for field in FIELDS]))

    def _write_segment(self, docs: NDArray[np.void], words: Segment) -> W3Segment:
        segment: W3Segment = W3Codec().new_segment(self._storage, _INDEX_NAME)
        segment.set_doc_count(len(docs))
        self._tick()
        postings, terms = pack(words)
        table = io.BytesIO()  # written to a file directly, numpy does not report why writing fails
        np.save(table, docs, allow_pickle=False)
        for extension, data in ((POSTINGS_SUFFIX, postings), (_TERMS_SUFFIX, terms), (_DOCS_SUFFIX, table.getvalue())):
            (self._folder / segment.make_filename(extension)).write_bytes(data)
        self._keys_by_segment[segment.segment_id()] = docs["key"].copy()
        self._tick()
        return segment

    def _merge_small_segments(self) -> None:
        self._segments = [s for s in self._segments if s.doc_count()]
        while run := _find_run_to_merge([(s.doc_count(), s.deleted_count()) for s in self._segments]):
            first, last = run
            self._segments[first:last] = [self._merge_segments(self._segments[first:last])]

    def _merge_large_segments(self) -> None:
        merged: list[W3Segment] = []
        for first, last in _group_neighbours([segment.doc_count() for segment in self._segments]):
            group = self._segments[first:last]
            merged += [self._merge_segments(group)] if len(group) > 1 else group
        self._segments = merged

    def _merge_segments(self, segments: Sequence[W3Segment]) -> W3Segment:
        opened = [_open_segment(self._folder, segment, 0) for segment in segments]
        try:
            parts = [posting_arrays.select_docs(s.columns.segment(len(s.docs)), s.rows) for s in opened]
        except DamagedColumnsError as error:
            raise DamagedFileError(f"The postings of a segment cannot be read: {error}.") from error
        finally:
            for segment in opened:
                segment.columns.close()
        return self._write_segment(
            np.concatenate([s.docs[s.alive] for s in opened]), posting_arrays.concatenate_segments(parts)
        )


def document_rows(fragments: Sequence[FragmentPosition]) -> NDArray[np.void]:
    """Return an array of dtype DOCS with the key, note and first line of each new fragment; field lengths are 0."""
    docs = np.zeros(len(fragments), DOCUMENT_DTYPE)
    for name, values in zip(("key", "note", "line"), zip(*fragments, strict=True), strict=False):
        docs[name] = values
    return docs


def _find_run_to_merge(sizes: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the first and the end index of the neighbouring segments to merge next; None if no merge is due.

    `sizes` holds the numbers of live and of deleted documents of each segment.
    """
    for number, (living, deleted) in enumerate(sizes):
        if deleted > living:
            return number, number + 1
    first = len(sizes)
    while first and sizes[first - 1][0] < _MAX_MERGED_FRAGMENTS:
        first -= 1
        run = sizes[first:]
        if len(run) >= _SEGMENTS_PER_MERGE and _size_class(sum(n for n, _ in run)) > _size_class(run[0][0]):
            return first, len(sizes)
    return None


def _group_neighbours(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and the end index of each group of neighbouring segments to merge, in order.

    `sizes` are numbers of documents. A group has at most `_MAX_FRAGMENTS`, and no member has more than two
    thirds of its documents: a small build leaves the large segments of the ones before.
    """
    groups: list[tuple[int, int]] = []
    first = 0
    while first < len(sizes):
        last = first + 1
        while last < len(sizes) and sum(sizes[first : last + 1]) <= _MAX_FRAGMENTS:
            last += 1
        while last > first + 1 and 3 * max(sizes[first:last]) > 2 * sum(sizes[first:last]):
            last -= 1
        groups.append((first, last))
        first = last
    return groups


def _size_class(documents: int) -> int:
    return int(math.log(documents, _SEGMENTS_PER_MERGE))


def last_generation(index: Path) -> int:
    """Return the highest generation number with a table of contents file, committed or not; 0 if there is none."""
    return max(0, int(TOC._latest_generation(FileStorage(str(index / WORDS_FOLDER)), _INDEX_NAME)))


def _read_toc(storage: FileStorage, generation: int) -> list[W3Segment]:
    try:
        segments: list[W3Segment] = TOC.read(storage, _INDEX_NAME, gen=generation, schema=_SCHEMA).segments
    except Exception as error:
        # A pickle can fail with any exception; the remedy is always the same: rebuild from the catalog.
        raise DamagedFileError(f"The table of contents {generation} cannot be read: {error}.") from error
    return segments


def open_segments(
    index: Path, generation: int, unchanged: Set[str] = frozenset(), before: Sequence[OpenSegment] = ()
) -> list[OpenSegment]:
    """Open every segment of a committed generation, in the order of rows. Raises DamagedFileError.

    Open segments in `before` whose file names are all in `unchanged` are reused. The caller has checked the files.
    """
    opened = {segment.name: segment for segment in before}
    segments: list[OpenSegment] = []
    for segment in _read_toc(FileStorage(str(index / WORDS_FOLDER)), generation):
        shared = opened.get(segment.segment_id()) if set(_segment_file_names(segment)) <= unchanged else None
        segments.append(
            _open_segment(
                index / WORDS_FOLDER, segment, sum(open_segment.live_count for open_segment in segments), shared
            )
        )
    return segments


# --- one generation, open ---------------------------------------------------------------------------------------------
# One generation of the lexical index, open for searching.

_CACHE_BYTES = 16 << 20
"""Most bytes in the cache of recently used terms, which speeds up a query that is being typed."""


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
        living = [s.docs[s.alive] for s in self._segments]
        docs = np.concatenate(living) if living else np.zeros(0, DOCUMENT_DTYPE)
        self.keys: NDArray[np.int64] = docs["key"].astype(np.int64)
        self.notes: NDArray[np.int64] = docs["note"].astype(np.int64)
        self.lines: NDArray[np.int32] = docs["line"].astype(np.int32)
        self._lengths = {field: docs[field].astype(np.float32) for field in FIELDS}
        self._cache: OrderedDict[str, Term] = OrderedDict()
        self._cached_bytes = 0
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
        return not {s.name for s in self._segments}.isdisjoint(s.name for s in before._segments)

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
                while self._cached_bytes > _CACHE_BYTES and len(self._cache) > 1:
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
