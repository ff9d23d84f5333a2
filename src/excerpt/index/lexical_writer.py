"""Writing the lexical index: Whoosh manages segments, deletions and the table of contents.

Only this module imports whoosh. Its own reader and writer are not used: the writer removes the old generation's files
before the catalog can record the new generation, and keeps a lock, a temporary folder and lossy lengths that are not
needed here.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from whoosh import fields, formats
from whoosh.codec.whoosh3 import W3Codec, W3Segment
from whoosh.filedb.filestore import FileStorage
from whoosh.index import TOC

from excerpt.base.state_files import sync_folder
from excerpt.corpus.tables import FIELDS
from excerpt.index import postings as posting_arrays
from excerpt.index.catalog_rows import FragmentPosition
from excerpt.index.files import DamagedFileError, DerivedFile, sync_and_record
from excerpt.index.lexical import (
    DOCS_SUFFIX,
    INDEX_NAME,
    POSTINGS_SUFFIX,
    TERMS_SUFFIX,
    WORDS_FOLDER,
    open_segment,
    segment_file_names,
)
from excerpt.index.postings import DamagedColumnsError, Inverted, Segment, pack
from excerpt.index.terms import DOCUMENT_DTYPE

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
        if {Path(name).suffix for name in known} > {".toc"} and not any(name.endswith(TERMS_SUFFIX) for name in known):
            raise DamagedFileError("another version of excerpt made it")
        self._segments: list[W3Segment] = [] if generation is None else _read_toc(self._storage, generation)
        self._keys_by_segment: dict[str, NDArray[np.int64]] = {}
        self._recorded_files = {
            s.segment_id(): [known[name] for name in segment_file_names(s.segment_id())] for s in self._segments
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
        TOC(_SCHEMA, self._segments, generation).write(self._storage, INDEX_NAME)
        files = [sync_and_record(self._index, f"{WORDS_FOLDER}/{TOC._filename(INDEX_NAME, generation)}")]
        for segment in self._segments:
            name = segment.segment_id()
            if name not in self._recorded_files:
                self._recorded_files[name] = [
                    sync_and_record(self._index, file) for file in segment_file_names(segment.segment_id())
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
            docs = np.load(self._folder / segment.make_filename(DOCS_SUFFIX), allow_pickle=False)
            self._keys_by_segment[name] = docs["key"].copy()
        return self._keys_by_segment[name]

    def _invert_and_write(self, docs: NDArray[np.void], inverted: Mapping[str, Inverted]) -> W3Segment:
        docs = docs.copy()
        for field in FIELDS:
            docs[field] = inverted[field].lengths
        self._tick()
        return self._write_segment(docs, posting_arrays.merge_fields([inverted[field] for field in FIELDS]))

    def _write_segment(self, docs: NDArray[np.void], words: Segment) -> W3Segment:
        segment: W3Segment = W3Codec().new_segment(self._storage, INDEX_NAME)
        segment.set_doc_count(len(docs))
        self._tick()
        postings, terms = pack(words)
        table = io.BytesIO()  # written to a file directly, numpy does not report why writing fails
        np.save(table, docs, allow_pickle=False)
        for extension, data in ((POSTINGS_SUFFIX, postings), (TERMS_SUFFIX, terms), (DOCS_SUFFIX, table.getvalue())):
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
        opened = [open_segment(self._folder, s.segment_id(), list(s.deleted_docs()), 0) for s in segments]
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
    return max(0, int(TOC._latest_generation(FileStorage(str(index / WORDS_FOLDER)), INDEX_NAME)))


def _read_toc(storage: FileStorage, generation: int) -> list[W3Segment]:
    try:
        segments: list[W3Segment] = TOC.read(storage, INDEX_NAME, gen=generation, schema=_SCHEMA).segments
    except Exception as error:
        # A pickle can fail with any exception; the remedy is always the same: rebuild from the catalog.
        raise DamagedFileError(f"The table of contents {generation} cannot be read: {error}.") from error
    return segments
