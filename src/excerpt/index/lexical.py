"""The lexical index: Whoosh keeps segments, deletions and the table of contents; words and postings are columns.

Only this module imports whoosh. A segment is three files that never change: `.lex` (its terms, in order) and `.pst`
(their postings, see columns.py), and `.npy` (key, note, line and field lengths of each fragment). Whoosh's codec
interface lets a term's postings be one slice of an array instead of one Python object each; Whoosh's own reader still
reads the result. Its writer is not used: it removes the old generation's files before the catalog could say that the
new generation stands, and keeps a lock, a temporary folder and lossy lengths that are not needed here.

Documents stand in the order of their keys: a new segment holds only keys above all older ones, and only neighbouring
segments are merged. So a row, the place of a key among all living keys, is the same here and in the vector matrix.
Deletions are marked in the table of contents (`_words_<generation>.toc`, a pickle: it is opened only from our own
cache folder, after its checksum matched the catalog's).
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from whoosh import fields, formats
from whoosh.codec.base import TermsReader
from whoosh.codec.whoosh3 import W3Codec, W3Segment, W3TermInfo
from whoosh.filedb.filestore import FileStorage
from whoosh.index import TOC
from whoosh.matching.mcore import ListMatcher
from whoosh.reading import TermNotFound

from excerpt.index import postings as counted
from excerpt.index.columns import Columns, DamagedColumnsError, pack
from excerpt.index.fields import FIELDS
from excerpt.index.files import DamagedFileError, DerivedFile, seal, sync_folder
from excerpt.index.postings import Inverted, Segment
from excerpt.index.rows import Placed
from excerpt.index.terms import DOCS, OpenSegment

FOLDER = "words"
_NAME = "words"
_DOCS, POSTINGS, _TERMS = ".npy", ".pst", ".lex"

# Merging: eight neighbours of one size class become one, so a fragment is rewritten at most log8(n) times; segments
# above the limit are left alone, so that no commit of one note ever rewrites a whole vault.
_MERGE_WIDTH = 8
_MERGE_LIMIT = 10_000


class _Counted(fields.FieldType):
    """A field whose postings come counted; Whoosh only needs its name and format."""

    def __init__(self) -> None:
        self.format = formats.Frequency()
        self.analyzer = None
        self.scorable = False
        self.stored = False
        self.indexed = True


_SCHEMA = fields.Schema(**{field: _Counted() for field in FIELDS})


class ColumnTerms(TermsReader):
    """A segment's terms and postings as Whoosh reads them."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    def __contains__(self, term: tuple[str, bytes]) -> bool:
        field, text = term
        number = self._columns.number(text)
        return number is not None and field in self._fields(number)

    def terms(self) -> Iterator[tuple[str, bytes]]:
        return self.terms_from("", b"")

    def terms_from(self, fieldname: str, prefix: bytes) -> Iterator[tuple[str, bytes]]:
        everything = list(enumerate(self._columns.terms()))
        for field in FIELDS:
            for number, text in everything:
                if (field, text) >= (fieldname, prefix) and field in self._fields(number):
                    yield field, text

    def items(self) -> Iterator[tuple[tuple[str, bytes], W3TermInfo]]:
        return self.items_from("", b"")

    def items_from(self, fieldname: str, prefix: bytes) -> Iterator[tuple[tuple[str, bytes], W3TermInfo]]:
        return (((field, text), self.term_info(field, text)) for field, text in self.terms_from(fieldname, prefix))

    def term_info(self, fieldname: str, text: bytes) -> W3TermInfo:
        docs, tf = self._postings(fieldname, text)
        if not docs:
            raise TermNotFound(f"No term {fieldname}:{text!r}")
        return W3TermInfo(weight=sum(tf), df=len(docs), minid=docs[0], maxid=docs[-1], maxweight=max(tf))

    def frequency(self, fieldname: str, text: bytes) -> float:
        return float(sum(self._postings(fieldname, text)[1]))

    def doc_frequency(self, fieldname: str, text: bytes) -> int:
        return len(self._postings(fieldname, text)[0])

    def matcher(self, fieldname: str, text: bytes, format_: formats.Format, scorer: Any = None) -> ListMatcher:
        docs, tf = self._postings(fieldname, text)
        info = self.term_info(fieldname, text)
        return ListMatcher(docs, tf, format=format_, scorer=scorer, term=(fieldname, text), terminfo=info)

    def cursor(self, fieldname: str, fieldobj: Any) -> Any:
        raise NotImplementedError

    def indexed_field_names(self) -> tuple[str, ...]:
        return FIELDS

    def _fields(self, number: int) -> set[str]:
        mask = int(self._columns.masks[number])
        return {field for bit, field in enumerate(FIELDS) if mask >> bit & 1}

    def _postings(self, field: str, text: bytes) -> tuple[list[int], list[float]]:
        found = self._columns.find(text)
        if found is None:
            return [], []
        of_field, tf = self._columns.unpack(found.codes)
        wanted = of_field == FIELDS.index(field)
        return found.docs[wanted].tolist(), tf[wanted].astype(float).tolist()


class ColumnCodec(W3Codec):
    """Whoosh's third codec, with terms and postings in columns."""

    def terms_reader(self, storage: FileStorage, segment: W3Segment) -> ColumnTerms:
        folder = Path(storage.folder)
        return ColumnTerms(Columns(*(folder / segment.make_filename(extension) for extension in (POSTINGS, _TERMS))))


def _opened(folder: Path, segment: W3Segment, first_row: int, before: OpenSegment | None = None) -> OpenSegment:
    files = [folder / segment.make_filename(extension) for extension in (_DOCS, POSTINGS, _TERMS)]
    return OpenSegment(segment.segment_id(), files, list(segment.deleted_docs()), first_row, before)


def _names(segment: W3Segment) -> list[str]:
    return [f"{FOLDER}/{segment.make_filename(extension)}" for extension in (_TERMS, POSTINGS, _DOCS)]


# --- writing ----------------------------------------------------------------------------------------------------------


class LexicalWriter:
    """Makes generations of the lexical index. The caller holds the build's lock and records what `commit` returns."""

    def __init__(
        self,
        index: Path,
        generation: int | None,
        files: Sequence[DerivedFile] = (),
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        """Goes on from the committed `generation` and its `files`; None starts empty. `tick` is called between the
        steps of writing a segment. Raises DamagedFileError."""
        self._tick = tick
        self._index = index
        self._folder = index / FOLDER
        self._folder.mkdir(parents=True, exist_ok=True)
        self._storage = FileStorage(str(self._folder))
        known = {file.name: file for file in files}
        if {Path(name).suffix for name in known} > {".toc"} and not any(name.endswith(_TERMS) for name in known):
            raise DamagedFileError("it was made by another version")
        self._segments: list[W3Segment] = [] if generation is None else _read_toc(self._storage, generation)
        self._keys: dict[str, NDArray[np.int64]] = {}
        self._sealed = {s.segment_id(): [known[name] for name in _names(s)] for s in self._segments}

    def add(self, docs: NDArray[np.void], inverted: Mapping[str, Inverted]) -> None:
        """One segment of new fragments. `docs` is as `placed` makes it; its keys ascend and lie above all that were
        added before."""
        if len(docs):
            self._segments.append(self._write(docs, inverted))

    def delete(self, keys: NDArray[np.int64]) -> None:
        """Mark fragments as deleted; keys that are not in the index are passed over."""
        for segment in self._segments:
            known = self._keys_of(segment)
            for number in np.flatnonzero(np.isin(known, keys)).tolist():
                segment.delete_document(number)

    def commit(self, generation: int) -> list[DerivedFile]:
        """Merge what should be merged, write the table of contents, force all to disk; returns every file in use."""
        self._merge()
        TOC(_SCHEMA, self._segments, generation).write(self._storage, _NAME)
        files = [seal(self._index, f"{FOLDER}/{TOC._filename(_NAME, generation)}")]
        for segment in self._segments:
            name = segment.segment_id()
            if name not in self._sealed:
                self._sealed[name] = [seal(self._index, file) for file in _names(segment)]
            files += self._sealed[name]
        sync_folder(self._folder)
        return files

    def keys(self) -> NDArray[np.int64]:
        """Keys of the living fragments, ascending."""
        living = [np.delete(self._keys_of(s), list(s.deleted_docs())) for s in self._segments]
        return np.concatenate([np.zeros(0, np.int64), *living])

    def _keys_of(self, segment: W3Segment) -> NDArray[np.int64]:
        name = segment.segment_id()
        if name not in self._keys:
            docs = np.load(self._folder / segment.make_filename(_DOCS), allow_pickle=False)
            self._keys[name] = docs["key"].copy()
        return self._keys[name]

    def _write(self, docs: NDArray[np.void], inverted: Mapping[str, Inverted]) -> W3Segment:
        docs = docs.copy()
        for field in FIELDS:
            docs[field] = inverted[field].lengths
        self._tick()
        return self._write_segment(docs, counted.fuse([inverted[field] for field in FIELDS]))

    def _write_segment(self, docs: NDArray[np.void], words: Segment) -> W3Segment:
        segment: W3Segment = ColumnCodec().new_segment(self._storage, _NAME)
        segment.set_doc_count(len(docs))
        self._tick()
        postings, terms = pack(words)
        table = io.BytesIO()  # written to a file at once, numpy does not say why that fails
        np.save(table, docs, allow_pickle=False)
        for extension, data in ((POSTINGS, postings), (_TERMS, terms), (_DOCS, table.getvalue())):
            (self._folder / segment.make_filename(extension)).write_bytes(data)
        self._keys[segment.segment_id()] = docs["key"].copy()
        self._tick()
        return segment

    def _merge(self) -> None:
        self._segments = [s for s in self._segments if s.doc_count()]
        while run := _run_to_merge([(s.doc_count(), s.deleted_count()) for s in self._segments]):
            first, last = run
            self._segments[first:last] = [self._merged(self._segments[first:last])]

    def _merged(self, segments: Sequence[W3Segment]) -> W3Segment:
        opened = [_opened(self._folder, segment, 0) for segment in segments]
        try:
            parts = [counted.only_docs(s.columns.segment(len(s.docs)), s.rows) for s in opened]
        except DamagedColumnsError as error:
            raise DamagedFileError(f"The postings of a segment cannot be read: {error}.") from error
        finally:
            for segment in opened:
                segment.columns.close()
        return self._write_segment(np.concatenate([s.docs[s.alive] for s in opened]), counted.chain_segments(parts))


def placed(fragments: Sequence[Placed]) -> NDArray[np.void]:
    """What a segment knows of new fragments beside their words."""
    docs = np.zeros(len(fragments), DOCS)
    for name, values in zip(("key", "note", "line"), zip(*fragments, strict=True), strict=False):
        docs[name] = values
    return docs


def _run_to_merge(sizes: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """Which neighbouring segments, given as (living, deleted), to merge next: [first, last), or None."""
    for number, (living, deleted) in enumerate(sizes):
        if deleted > living:
            return number, number + 1
    first = len(sizes)
    while first and sizes[first - 1][0] < _MERGE_LIMIT:
        first -= 1
        run = sizes[first:]
        if len(run) >= _MERGE_WIDTH and _size_class(sum(n for n, _ in run)) > _size_class(run[0][0]):
            return first, len(sizes)
    return None


def _size_class(documents: int) -> int:
    return int(math.log(documents, _MERGE_WIDTH))


def last_generation(index: Path) -> int:
    """The highest generation that a table of contents was written for, committed or not; 0 without any."""
    return max(0, int(TOC._latest_generation(FileStorage(str(index / FOLDER)), _NAME)))


def _read_toc(storage: FileStorage, generation: int) -> list[W3Segment]:
    try:
        segments: list[W3Segment] = TOC.read(storage, _NAME, gen=generation, schema=_SCHEMA).segments
    except Exception as error:
        # A pickle can fail in any way; whichever it is, the answer is the same: rebuild from the catalog.
        raise DamagedFileError(f"The table of contents {generation} cannot be read: {error}.") from error
    return segments


def open_segments(
    index: Path, generation: int, same: Set[str] = frozenset(), before: Sequence[OpenSegment] = ()
) -> list[OpenSegment]:
    """Every segment of a committed generation, in the order of rows. Those of `before` whose files are all among the
    `same` are shared with it.

    The caller has checked the files. Raises DamagedFileError.
    """
    opened = {segment.name: segment for segment in before}
    segments: list[OpenSegment] = []
    for segment in _read_toc(FileStorage(str(index / FOLDER)), generation):
        shared = opened.get(segment.segment_id()) if set(_names(segment)) <= same else None
        segments.append(_opened(index / FOLDER, segment, sum(one.living for one in segments), shared))
    return segments
