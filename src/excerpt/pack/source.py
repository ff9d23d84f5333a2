"""The interface from which packs read notes, and a cache of the notes that were read."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Protocol
from weakref import WeakKeyDictionary, proxy

from excerpt.base.model import CommentLine, Fragment, FragmentInfo, Replaced, Section, TableHeader
from excerpt.text.chunkers import Chunker, choose_chunker
from excerpt.text.line_context import TableLines, find_table_header, find_tables

_MAX_CACHED_NOTES = 256  # that stay in memory from one pack to the next
_NO_END = 1 << 62

FragmentRange = tuple[str, int, int | None]
"""A note's path, and the first and last ordinal of a range of its fragments; a last ordinal of None is the end."""


class NoteSource(Protocol):
    """The notes that packs are made of, as the index has them. Immutable, so data that was read stays valid.

    `Corpus` implements it. Paths are relative to the vault. Sections are in the order of their ordinals; a missing note
    has no sections and no fragments.
    """

    @property
    def tokenizer(self) -> str:
        """Name of the tokenizer that counted the fragments' tokens."""
        ...

    def fragment(self, fragment_id: str, /) -> Fragment | None: ...

    def fragment_infos(self, ranges: Sequence[FragmentRange], /) -> Sequence[Sequence[FragmentInfo]]:
        """Return the existing fragments of each range, by ordinal."""
        ...

    def sections(self, path: str, /) -> Sequence[Section]: ...

    def note_text(self, path: str, /) -> str: ...

    def comments(self, path: str, /) -> Sequence[CommentLine]:
        """Return the lines of comments that are left out of a note's text, in order."""
        ...

    def note_tokens(self, path: str, /) -> int: ...

    def note_modified(self, path: str, /) -> str:
        """Return the day of the note's last change, ISO 8601, "" if it is unknown."""
        ...

    def note_replaced(self, path: str, /) -> Replaced | None:
        """Return what replaces the note, None if it is not replaced."""
        ...


class CachedNote:
    """A note whose lines, sections and fragments are read from a source on first use and then cached.

    Reading notes takes most of the time of building a pack.
    """

    def __init__(self, source: NoteSource, path: str) -> None:
        self.path = path
        self._source = source
        self._parts: dict[int, FragmentInfo] = {}
        self._fragment_bound = _NO_END  # an upper bound of the number of fragments
        self._texts: dict[tuple[int, int], str] = {}
        self._units: dict[tuple[int, int], Sequence[tuple[int, int]]] = {}

    @cached_property
    def sections(self) -> Sequence[Section]:
        return self._source.sections(self.path)

    @cached_property
    def lines(self) -> Sequence[str]:
        return self._source.note_text(self.path).split("\n")

    def count_comments(self, line_start: int, line_end: int) -> int:
        """Return the number of comments that begin in these lines and are left out of their text."""
        return sum(line_start <= line <= line_end for line in self._comment_starts)

    @cached_property
    def _comment_starts(self) -> Sequence[int]:
        return [comment.line for comment in self._source.comments(self.path) if comment.begins]

    @cached_property
    def tokens(self) -> int:
        """Number of tokens of the whole file."""
        return self._source.note_tokens(self.path)

    @cached_property
    def modified(self) -> str:
        return self._source.note_modified(self.path)

    @cached_property
    def replaced(self) -> Replaced | None:
        return self._source.note_replaced(self.path)

    def text(self, line_start: int, line_end: int) -> str:
        """Return the lines `line_start` to `line_end`, both included; the lines of hits come from the cache."""
        own = self._texts.get((line_start, line_end))
        return own if own is not None else "\n".join(self.lines[line_start - 1 : line_end])

    def table_header(self, line: int) -> TableHeader | None:
        """Return the header of the table that has a line among its rows, None if there is none."""
        return find_table_header(self.lines, line, self._tables)

    @cached_property
    def _tables(self) -> Sequence[TableLines]:
        return find_tables(self.lines)

    def units(self, line_start: int, line_end: int) -> Sequence[tuple[int, int]]:
        """Return the first and last line of each unit of these lines, without blank lines at their ends."""
        units = self._units.get((line_start, line_end))
        if units is None:
            lines = self.lines[line_start - 1 : line_end]
            starts = self._chunker.unit_starts(lines)
            ranges = zip((0, *starts), (*starts, len(lines)), strict=True)
            units = [
                (line_start + inside[0], line_start + inside[-1])
                for first, after in ranges
                if (inside := [number for number in range(first, after) if lines[number].strip()])
            ]
            self._units[line_start, line_end] = units
        return units

    @cached_property
    def _chunker(self) -> Chunker:
        return choose_chunker(tuple(self.lines))  # a copy: a chunker of another package may change it

    def fragment_infos(self, first: int, last: int) -> Sequence[FragmentInfo]:
        """Return the existing fragments with the ordinals `first` to `last`."""
        try:
            return [self._parts[ordinal] for ordinal in range(first, last + 1)]
        except KeyError:  # not read yet, or beyond the end
            pass
        if not self.has_read(first, last):
            self.cache_fragment_infos(first, last, self._source.fragment_infos([(self.path, first, last)])[0])
        return [
            self._parts[ordinal]
            for ordinal in range(first, min(last + 1, self._fragment_bound))
            if ordinal in self._parts
        ]

    def fragment_infos_in(self, line_start: int, line_end: int) -> Sequence[FragmentInfo]:
        """Return the fragments that are completely within these lines."""
        if not self.has_read(0, None):
            self.cache_fragment_infos(0, None, self._source.fragment_infos([(self.path, 0, None)])[0])
        first = bisect_left(self._line_starts, line_start)
        after = bisect_right(self._line_starts, line_end)
        inside = (self._parts[ordinal] for ordinal in range(first, after))
        return [part for part in inside if part.line_end <= line_end]

    @cached_property
    def _line_starts(self) -> Sequence[int]:
        """The first line of each fragment, by ordinal. All fragments must have been read before."""
        return [self._parts[ordinal].line_start for ordinal in range(self._fragment_bound)]

    def refresh_fragment(self, fragment: Fragment) -> Fragment | None:
        """Return the fragment as the source has it now, None if it is gone, and cache its text.

        A search may have found it in an earlier generation (commit) of the index.
        """
        current_parts = self.fragment_infos(fragment.ordinal, fragment.ordinal)
        current = (
            fragment
            if current_parts and _has_same_content(current_parts[0], fragment)
            else self._source.fragment(fragment.id)
        )
        if current:
            self._texts[current.line_start, current.line_end] = current.text
        return current

    def has_read(self, first: int, last: int | None) -> bool:
        """Return whether the fragments `first` to `last` (None: the end) are cached or known not to exist."""
        if len(self._parts) == self._fragment_bound:
            return True
        if last is None and self._fragment_bound == _NO_END:
            return False
        end = self._fragment_bound if last is None else min(last + 1, self._fragment_bound)
        return all(ordinal in self._parts for ordinal in range(first, end))

    def cache_fragment_infos(self, first: int, last: int | None, parts: Sequence[FragmentInfo]) -> None:
        """Cache `parts`, all fragments that the source has with ordinals `first` to `last` (None: the end).

        Ordinals have no gaps, so fewer parts than ordinals show where the note ends.
        """
        self._parts.update((part.ordinal, part) for part in parts)
        if last is None or len(parts) < last - first + 1:
            self._fragment_bound = min(self._fragment_bound, first + len(parts))


def _has_same_content(part: FragmentInfo, fragment: Fragment) -> bool:
    """Return whether `part` and `fragment` are the same row of the index, not merely equal texts."""
    row = part.key, part.id, part.section, part.line_start
    return row == (fragment.key, fragment.id, fragment.section, fragment.line_start)


class NoteCache:
    """The notes of one source that packs have read, by path, kept for the next pack."""

    def __init__(self, source: NoteSource) -> None:
        # A weak proxy: this object is stored by the source and must not keep it alive.
        self.source: NoteSource = proxy(source)
        self._notes: dict[str, CachedNote] = {}

    def __getitem__(self, path: str) -> CachedNote:
        note = self._notes.pop(path, None) or CachedNote(self.source, path)
        self._notes[path] = note  # last in the dict, which is ordered by last use
        return note

    def prefetch(self, ranges: Iterable[FragmentRange]) -> None:
        """Read the ranges that are not cached from the source, all at once."""
        missing = [each for each in dict.fromkeys(ranges) if not self[each[0]].has_read(*each[1:])]
        for (path, first, last), parts in zip(
            missing, self.source.fragment_infos(missing) if missing else (), strict=True
        ):
            self[path].cache_fragment_infos(first, last, parts)

    def clear(self) -> None:
        """Drop all notes from the cache."""
        self._notes.clear()

    def evict_old_notes(self) -> None:
        """Drop the least recently used notes, so that at most _MAX_CACHED_NOTES remain."""
        for path in list(self._notes)[:-_MAX_CACHED_NOTES]:
            del self._notes[path]


_note_caches: WeakKeyDictionary[NoteSource, NoteCache] = WeakKeyDictionary()


def get_note_cache(source: NoteSource) -> NoteCache:
    """Return the cache of the notes of `source`, which is released together with the source."""
    return _note_caches.setdefault(source, NoteCache(source))
