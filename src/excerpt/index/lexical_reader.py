"""One generation of the lexical index, open to be searched."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from excerpt.index.columns import DamagedColumnsError
from excerpt.index.fields import FIELDS
from excerpt.index.files import DamagedFileError, DerivedFile, check
from excerpt.index.lexical import POSTINGS, open_segments
from excerpt.index.terms import DOCS, Entries, OpenSegment, Places, Positions, Postings, Rows, Term, offsets_of
from excerpt.index.vocabulary import Vocabulary

_CACHE_BYTES = 16 << 20
"""Of the words asked for last: a query grows letter by letter, and another one's words are read in a millisecond."""


class LexicalReader:
    """One generation of the lexical index, read into arrays term by term and kept, the last used first.

    `keys` are the living fragments' keys, ascending; a row is a place in it. `notes` are the numbers that the catalog
    has for their notes, `lines` their first lines. Usable from any one thread at a time.
    """

    def __init__(
        self, index: Path, files: Sequence[DerivedFile], generation: int, before: LexicalReader | None = None
    ) -> None:
        """Segments that the generation `before` has open are shared with it. Raises DamagedFileError if a file is not
        as recorded in `files`; postings are checked when first read, and what is shared was checked before."""
        self.files = frozenset(files)
        known = self.files & (before.files if before is not None else frozenset())
        for file in self.files - known:
            check(index, file, content=not file.name.endswith(POSTINGS))
        self._lock = threading.Lock()
        shared = before._segments if before is not None else []
        self._segments: list[OpenSegment] = open_segments(index, generation, {file.name for file in known}, shared)
        living = [s.docs[s.alive] for s in self._segments]
        docs = np.concatenate(living) if living else np.zeros(0, DOCS)
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
        """How many fragments live."""
        return len(self.keys)

    def lengths(self, field: str) -> NDArray[np.float32]:
        """How many terms each row has in `field`."""
        return self._lengths[field]

    def entries(self, term: str) -> Entries:
        """Where `term` stands, in all fields. Raises DamagedFileError."""
        return self._term(term).entries

    def count(self, term: str) -> int:
        """In how many rows `term` stands at most, counting deleted ones and every field by itself: told without reading
        where."""
        encoded = term.encode("utf-8", "replace")
        return sum(segment.columns.count(encoded) for segment in self._segments)

    def places(self, term: str, rows: Rows) -> Places:
        """Every occurrence of `term` in the ascending `rows`. Raises DamagedFileError."""
        with _damage_told():
            return self._term(term).places(rows)

    def postings(self, field: str, term: str) -> Postings:
        """Where `term` stands in `field`. Raises DamagedFileError."""
        entries = self.entries(term)
        wanted = entries.fields == FIELDS.index(field)
        return Postings(entries.rows[wanted], entries.tf[wanted].astype(np.float32))

    def positions(self, field: str, term: str) -> Positions:
        """Places of `term` in each of its rows, as `postings` gives them. Raises DamagedFileError."""
        found = self._term(term)
        wanted = found.entries.fields == FIELDS.index(field)
        with _damage_told():
            values = found.positions().values[np.repeat(wanted, found.entries.tf)]
        return Positions(offsets_of(found.entries.tf[wanted]), values)

    def continuations(self, beginning: str, most: int) -> list[str]:
        """Terms of any field that start with `beginning`, at most so many: the shortest first, then by alphabet. Some
        may stand only in deleted fragments."""
        if self._vocabulary is not None:
            return self._vocabulary.continuations(beginning, most)
        prefix = beginning.encode("utf-8", "replace")
        found = {term for s in self._segments for term, _ in s.columns.beginning_with(prefix)}
        return sorted((term.decode() for term in found), key=lambda term: (len(term), term))[:most]

    def terms(self, field: str, prefix: str) -> list[str]:
        """Terms of `field` that start with `prefix`, sorted; some may stand only in deleted fragments."""
        bit, begun = 1 << FIELDS.index(field), prefix.encode("utf-8", "replace")
        found = {term for s in self._segments for term, mask in s.columns.beginning_with(begun) if mask & bit}
        return [term.decode() for term in sorted(found)]

    def lexicon(self, field: str) -> list[str]:
        """Every term of the field, sorted; all fields are read at once, then kept."""
        return self._words.lexicon(field)

    def check(self) -> None:
        """Check all postings now: read from disk, they are at hand when they are asked for. Raises DamagedFileError."""
        with self._lock, _damage_told():
            for segment in self._segments:
                segment.columns.check()

    def let_go(self) -> None:
        """Let go of the pages of the files that were looked at."""
        for segment in self._segments:
            segment.columns.let_go()

    def shares(self, before: LexicalReader) -> bool:
        """Whether a segment is in both: then a key means the same fragment in both, as a catalog made anew, whose keys
        count from 1 again, comes with segments made anew."""
        return not {s.name for s in self._segments}.isdisjoint(s.name for s in before._segments)

    def close(self) -> None:
        """Let go of the files; those that another generation shares stay open for it."""
        self._segments = []
        self._cache.clear()
        self._vocabulary = self._vocabulary_before = None

    @property
    def _words(self) -> Vocabulary:
        if self._vocabulary is None:
            segments = {segment.name: segment.columns for segment in self._segments}
            self._vocabulary = Vocabulary(segments, self._vocabulary_before)
            self._vocabulary_before = None
        return self._vocabulary

    def _term(self, term: str) -> Term:
        with self._lock:
            found = self._cache.get(term)
            if found is None:
                # Once the vocabulary is read, it tells sooner than every segment whether to look at all.
                known = self._vocabulary is None or term in self._vocabulary
                with _damage_told():
                    found = Term(self._segments if known else (), term.encode("utf-8", "replace"))
                self._cache[term] = found
                self._cached_bytes += found.nbytes
                while self._cached_bytes > _CACHE_BYTES and len(self._cache) > 1:
                    self._cached_bytes -= self._cache.popitem(last=False)[1].nbytes
            self._cache.move_to_end(term)
            return found


@contextmanager
def _damage_told() -> Iterator[None]:
    try:
        yield
    except DamagedColumnsError as error:
        raise DamagedFileError(f"The postings of a word cannot be read: {error}.") from error
