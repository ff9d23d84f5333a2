"""The lexical index: Whoosh keeps segments, their dictionaries and the table of contents; postings are packed arrays.

Only this module imports whoosh. A segment is three files that never change: `.trm` (Whoosh's ordered dictionary),
`.pst` (packed postings, see postings.py), `.npy` (fragment keys and field lengths). Whoosh's codec interface lets
postings be written and read a term at a time instead of one Python object each; Whoosh's own searcher still reads the
result. Its writer is not used: it removes the old generation's files before the catalog could say that the new
generation stands, and keeps a lock, a temporary folder and lossy lengths that are not needed here.

Documents stand in the order of their keys: a new segment holds only keys above all older ones, and only neighbouring
segments are merged. So a row, the place of a key among all living keys, is the same here and in the vector matrix.
Deletions are marked in the table of contents (`_words_<generation>.toc`, a pickle: it is opened only from our own
cache folder, after its checksum matched the catalog's).
"""

from __future__ import annotations

import bisect
import math
import struct
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from whoosh import fields, formats
from whoosh.codec.whoosh3 import W3Codec, W3FieldWriter, W3Segment, W3TermInfo
from whoosh.filedb.filestore import FileStorage
from whoosh.filedb.filetables import OrderedHashReader
from whoosh.index import TOC
from whoosh.matching.mcore import ListMatcher

from excerpt.index import postings as packed
from excerpt.index.fields import FIELDS
from excerpt.index.files import DamagedFileError, DerivedFile, check, seal, sync_folder
from excerpt.index.postings import Inverted, TermPostings

FOLDER = "words"
_NAME = "words"
_DOCS_EXT = ".npy"
_DOCS = np.dtype([("key", "<i8"), *((field, "<u4") for field in FIELDS)])

# Merging: eight neighbours of one size class become one, so a fragment is rewritten at most log8(n) times; segments
# above the limit are left alone, so that no commit of one note ever rewrites a whole vault.
_MERGE_WIDTH = 8
_MERGE_LIMIT = 10_000

_CACHE_BYTES = 96 << 20
_TICK_EVERY = 1000


class _Counted(fields.FieldType):
    """A field whose postings come counted; Whoosh only needs its name and format."""

    def __init__(self) -> None:
        self.format = formats.Frequency()
        self.analyzer = None
        self.scorable = False
        self.stored = False
        self.indexed = True


_SCHEMA = fields.Schema(**{field: _Counted() for field in FIELDS})


class PackedFieldWriter(W3FieldWriter):
    """Writes whole terms: the dictionary as Whoosh does, postings packed."""

    def add_field(self, name: str, field: Inverted, tick: Callable[[], None]) -> None:
        self.start_field(name, _SCHEMA[name])
        prefix = struct.pack("!H", self._fieldid)
        at = self._postfile.tell()
        for number, (term, documents, occurrences, data) in enumerate(packed.pack(field)):
            if number % _TICK_EVERY == 0:
                tick()
            info = W3TermInfo(weight=occurrences, df=documents)
            info.set_extent(at, len(data))
            self._tindex.add(prefix + term, info.to_bytes())
            self._postfile.write(data)
            at += len(data)
        self.finish_field()


class PackedCodec(W3Codec):
    """Whoosh's third codec with packed postings."""

    def field_writer(self, storage: FileStorage, segment: W3Segment) -> PackedFieldWriter:
        return PackedFieldWriter(self, storage, segment)

    def postings_reader(
        self, dbfile: Any, terminfo: W3TermInfo, format_: formats.Format, term: Any = None, scorer: Any = None
    ) -> ListMatcher:
        found = packed.unpack(dbfile.get(*_extent(terminfo)))
        weights = found.tf.astype(float).tolist()
        return ListMatcher(found.docs.tolist(), weights, format=format_, scorer=scorer, term=term, terminfo=terminfo)


@dataclass(frozen=True, slots=True)
class Postings:
    """Where a term stands: rows, ascending, and how often in each."""

    rows: NDArray[np.int32]
    tf: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Positions:
    """Places of a term in its rows: those in the i-th are `values[offsets[i]:offsets[i + 1]]`, ascending."""

    offsets: NDArray[np.int64]
    values: NDArray[np.int32]


class _OpenSegment:
    """One segment's files, open for reading. Raises DamagedFileError where they do not hold together."""

    def __init__(self, storage: FileStorage, segment: W3Segment) -> None:
        self.segment = segment
        try:
            self.docs = np.load(Path(storage.folder) / segment.make_filename(_DOCS_EXT), allow_pickle=False)
            self._terms = OrderedHashReader.open(storage, segment.make_filename(W3Codec.TERMS_EXT))
            self._posts = segment.open_file(storage, W3Codec.POSTS_EXT)
        except (OSError, ValueError, EOFError) as error:
            raise DamagedFileError(f"Segment {segment.segment_id()} cannot be opened: {error}.") from error
        self._prefixes = {name: struct.pack("!H", number) for name, number in self._terms.extras["fieldmap"].items()}
        alive = np.ones(len(self.docs), bool)
        alive[list(segment.deleted_docs())] = False
        self.alive = alive

    def close(self) -> None:
        self._terms.close()
        self._posts.close()

    def term(self, field: str, term: bytes, *, with_positions: bool) -> TermPostings | None:
        prefix = self._prefixes.get(field)
        info = None if prefix is None else self._terms.get(prefix + term)
        return None if info is None else self._postings(info, with_positions)

    def terms(self, field: str, prefix: bytes = b"") -> Iterator[bytes]:
        """Terms of a field that start with `prefix`, ascending."""
        code = self._prefixes.get(field)
        if code is None:
            return
        for key in self._terms.keys_from(code + prefix):
            if not key.startswith(code + prefix):
                return
            yield key[len(code) :]

    def vocabulary(self) -> dict[str, list[bytes]]:
        """Every term by field, ascending: one walk over the dictionary's bytes, a third of the time that asking
        Whoosh for one after the other takes."""
        data = self._terms.dbfile.get(self._terms.startofdata, self._terms.endofdata - self._terms.startofdata)
        found: dict[bytes, list[bytes]] = {code: [] for code in self._prefixes.values()}
        at, lengths = 0, struct.Struct("!ii")
        while at < len(data):
            key_length, value_length = lengths.unpack_from(data, at)
            at += lengths.size
            found[data[at : at + 2]].append(data[at + 2 : at + key_length])
            at += key_length + value_length
        return {field: found[code] for field, code in self._prefixes.items()}

    def inverted(self, field: str, new_numbers: NDArray[np.int32]) -> Inverted:
        """A whole field without its deleted documents, for a merge."""
        code = self._prefixes.get(field, b"\xff\xff")
        found = []
        for key, info in self._terms.items_from(code):
            if not key.startswith(code):
                break
            found.append((key[len(code) :], packed.only_docs(self._postings(info, True), new_numbers)))
        lengths = self.docs[field][self.alive].astype(np.int32)
        return packed.collect(found, lengths)

    def _postings(self, info: bytes, with_positions: bool) -> TermPostings:
        return packed.unpack(self._posts.get(*_extent(W3TermInfo.from_bytes(info))), with_positions)


def _extent(info: W3TermInfo) -> tuple[int, int]:
    """Where a term's postings lie: offset and length. Read back, whoosh3 3.54.0 gives the length as a 1-tuple."""
    offset, length = info.extent()
    return offset, length[0] if isinstance(length, tuple) else length


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
        """Goes on from the committed `generation` and its `files`; None starts empty. `tick` is called every few
        milliseconds while a segment is written. Raises DamagedFileError."""
        self._tick = tick
        self._index = index
        self._folder = index / FOLDER
        self._folder.mkdir(parents=True, exist_ok=True)
        self._storage = FileStorage(str(self._folder))
        self._segments: list[W3Segment] = [] if generation is None else _read_toc(self._storage, generation)
        self._keys: dict[str, NDArray[np.int64]] = {}
        known = {file.name: file for file in files}
        self._sealed = {s.segment_id(): [known[name] for name in self._names(s)] for s in self._segments}

    def add(self, keys: NDArray[np.int64], inverted: Mapping[str, Inverted]) -> None:
        """One segment of new fragments; `keys` ascend and lie above all that were added before."""
        if len(keys):
            self._segments.append(self._write(keys, inverted))

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
                self._sealed[name] = [seal(self._index, file) for file in self._names(segment)]
            files += self._sealed[name]
        sync_folder(self._folder)
        return files

    def keys(self) -> NDArray[np.int64]:
        """Keys of the living fragments, ascending."""
        living = [np.delete(self._keys_of(s), list(s.deleted_docs())) for s in self._segments]
        return np.concatenate([np.zeros(0, np.int64), *living])

    def _names(self, segment: W3Segment) -> list[str]:
        extensions = (W3Codec.TERMS_EXT, W3Codec.POSTS_EXT, _DOCS_EXT)
        return [f"{FOLDER}/{segment.make_filename(extension)}" for extension in extensions]

    def _keys_of(self, segment: W3Segment) -> NDArray[np.int64]:
        name = segment.segment_id()
        if name not in self._keys:
            docs = np.load(self._folder / segment.make_filename(_DOCS_EXT), allow_pickle=False)
            self._keys[name] = docs["key"].copy()
        return self._keys[name]

    def _write(self, keys: NDArray[np.int64], inverted: Mapping[str, Inverted]) -> W3Segment:
        codec = PackedCodec()
        segment: W3Segment = codec.new_segment(self._storage, _NAME)
        segment.set_doc_count(len(keys))
        docs = np.zeros(len(keys), _DOCS)
        docs["key"] = keys
        writer = codec.field_writer(self._storage, segment)
        for field in FIELDS:
            docs[field] = inverted[field].lengths
            writer.add_field(field, inverted[field], self._tick)
        writer.close()
        np.save(self._folder / segment.make_filename(_DOCS_EXT), docs, allow_pickle=False)
        self._keys[segment.segment_id()] = keys
        return segment

    def _merge(self) -> None:
        self._segments = [s for s in self._segments if s.doc_count()]
        while run := _run_to_merge([(s.doc_count(), s.deleted_count()) for s in self._segments]):
            first, last = run
            self._segments[first:last] = [self._merged(self._segments[first:last])]

    def _merged(self, segments: Sequence[W3Segment]) -> W3Segment:
        opened = [_OpenSegment(self._storage, segment) for segment in segments]
        try:
            numbers = [np.where(s.alive, np.cumsum(s.alive) - 1, -1).astype(np.int32) for s in opened]
            inverted = {
                field: packed.join([s.inverted(field, new) for s, new in zip(opened, numbers, strict=True)])
                for field in FIELDS
            }
            return self._write(np.concatenate([s.docs["key"][s.alive] for s in opened]), inverted)
        finally:
            for segment in opened:
                segment.close()


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


# --- reading ----------------------------------------------------------------------------------------------------------


class LexicalReader:
    """One generation of the lexical index, read into arrays term by term and kept, the last used first.

    `keys` are the living fragments' keys, ascending; a row is a place in it. Usable from any one thread at a time.
    """

    def __init__(self, index: Path, files: Sequence[DerivedFile], generation: int) -> None:
        """Raises DamagedFileError if a file is not as recorded in `files`. Postings are checked when first read."""
        for file in files:
            check(index, file, content=not file.name.endswith(W3Codec.POSTS_EXT))
        storage = FileStorage(str(index / FOLDER))
        self._segments: list[_OpenSegment] = []
        self._lock = threading.Lock()
        try:
            for segment in _read_toc(storage, generation):
                self._segments.append(_OpenSegment(storage, segment))
        except BaseException:
            self.close()
            raise
        living = [s.docs[s.alive] for s in self._segments]
        docs = np.concatenate(living) if living else np.zeros(0, _DOCS)
        self.keys: NDArray[np.int64] = docs["key"].astype(np.int64)
        self._lengths = {field: docs[field].astype(np.float32) for field in FIELDS}
        self._numbers: list[NDArray[np.int32]] = []
        base = 0
        for s in self._segments:
            self._numbers.append(np.where(s.alive, np.cumsum(s.alive) - 1 + base, -1).astype(np.int32))
            base += int(s.alive.sum())
        self._cache: OrderedDict[tuple[str, str, bool], tuple[Postings, Positions]] = OrderedDict()
        self._cached_bytes = 0
        self._lexicons: dict[str, list[str]] = {}

    @property
    def doc_count(self) -> int:
        """How many fragments live."""
        return len(self.keys)

    def lengths(self, field: str) -> NDArray[np.float32]:
        """How many terms each row has in `field`."""
        return self._lengths[field]

    def postings(self, field: str, term: str) -> Postings:
        """Where `term` stands. Raises DamagedFileError."""
        return self._found(field, term, with_positions=False)[0]

    def positions(self, field: str, term: str) -> Positions:
        """Places of `term` in each of its rows, as `postings` gives them. Raises DamagedFileError."""
        return self._found(field, term, with_positions=True)[1]

    def terms(self, field: str, prefix: str) -> list[str]:
        """Terms that start with `prefix`, sorted; some may stand only in deleted fragments."""
        if field in self._lexicons:
            lexicon = self._lexicons[field]
            first = bisect.bisect_left(lexicon, prefix)
            return lexicon[first : bisect.bisect_left(lexicon, prefix + "\U0010ffff", first)]
        with self._lock:
            found = {term for s in self._segments for term in s.terms(field, prefix.encode("utf-8", "replace"))}
        return [term.decode() for term in sorted(found)]

    def lexicon(self, field: str) -> list[str]:
        """Every term of the field, sorted; all fields are read at once, then kept."""
        if not self._lexicons:
            with self._lock:
                parts = [segment.vocabulary() for segment in self._segments]
            for name in FIELDS:
                terms = set().union(*(part.get(name, ()) for part in parts))
                self._lexicons[name] = [term.decode() for term in sorted(terms)]
        return self._lexicons[field]

    def close(self) -> None:
        for segment in self._segments:
            segment.close()
        self._segments = []

    def _found(self, field: str, term: str, *, with_positions: bool) -> tuple[Postings, Positions]:
        name = (field, term, with_positions)
        with self._lock:
            if name not in self._cache:
                segments = zip(self._segments, self._numbers, strict=True) if self._may_hold(field, term) else ()
                self._cache[name] = found = self._read(segments, field, term.encode("utf-8", "replace"), with_positions)
                self._cached_bytes += _size(found)
                while self._cached_bytes > _CACHE_BYTES and len(self._cache) > 1:
                    self._cached_bytes -= _size(self._cache.popitem(last=False)[1])
            self._cache.move_to_end(name)
            return self._cache[name]

    def _may_hold(self, field: str, term: str) -> bool:
        """Whether it is worth looking: once the lexicon is read, it tells sooner than every segment's dictionary."""
        lexicon = self._lexicons.get(field)
        if lexicon is None:
            return True
        at = bisect.bisect_left(lexicon, term)
        return at < len(lexicon) and lexicon[at] == term

    @staticmethod
    def _read(
        segments: Iterable[tuple[_OpenSegment, NDArray[np.int32]]], field: str, term: bytes, with_positions: bool
    ) -> tuple[Postings, Positions]:
        parts = []
        try:
            for segment, numbers in segments:
                found = segment.term(field, term, with_positions=with_positions)
                if found is not None:
                    parts.append(packed.only_docs(found, numbers))
        except packed.DamagedPostingsError as error:
            raise DamagedFileError(f"The postings of a word cannot be read: {error}.") from error
        none = np.zeros(0, np.int32)
        tf = np.concatenate([none, *(part.tf for part in parts)])
        values = np.concatenate([none, *(part.positions for part in parts if part.positions is not None)])
        return (
            Postings(np.concatenate([none, *(part.docs for part in parts)]), tf.astype(np.float32)),
            Positions(_offsets(tf) if with_positions else np.zeros(1, np.int64), values),
        )


def _offsets(counts: NDArray[np.int32]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def _size(found: tuple[Postings, Positions]) -> int:
    postings, positions = found
    return postings.rows.nbytes + postings.tf.nbytes + positions.offsets.nbytes + positions.values.nbytes
