"""The sources of notes for packs, and a note as a pack reads it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Protocol
from weakref import WeakKeyDictionary, proxy

from excerpt.model import Fragment, FragmentInfo, Section

_MAX_CACHED = 256  # notes that stay read from one pack to the next
_NO_END = 1 << 62

Range = tuple[str, int, int | None]
"""A note's path, and the first and last ordinal of a range of its fragments; None: to the end."""


class NoteSource(Protocol):
    """What packs need of a corpus; `Corpus` is one. It is immutable: what was read of it stays valid.

    Sections are in the order of their ordinals; a missing note has none, and no fragments.
    """

    @property
    def tokenizer(self) -> str:
        """Name of the tokenizer that counted the tokens of the fragments."""
        ...

    def fragment(self, fragment_id: str, /) -> Fragment | None: ...

    def parts(self, ranges: Sequence[Range], /) -> Sequence[Sequence[FragmentInfo]]:
        """Return the existing fragments of each range, by ordinal."""
        ...

    def sections(self, path: str, /) -> Sequence[Section]: ...

    def note_text(self, path: str, /) -> str: ...

    def note_tokens(self, path: str, /) -> int: ...

    def note_modified(self, path: str, /) -> str:
        """Return the day of the last change of the note's file, ISO 8601, UTC."""
        ...


class OpenNote:
    """A note as packs read it; each part is read on first use, because reading notes takes most of the time."""

    def __init__(self, source: NoteSource, path: str) -> None:
        self.path = path
        self._source = source
        self._parts: dict[int, FragmentInfo] = {}
        self._beyond = _NO_END  # an upper bound of the number of fragments, once the end of the note has been read
        self._texts: dict[tuple[int, int], str] = {}

    @cached_property
    def sections(self) -> Sequence[Section]:
        return self._source.sections(self.path)

    @cached_property
    def lines(self) -> Sequence[str]:
        return self._source.note_text(self.path).split("\n")

    @cached_property
    def tokens(self) -> int:
        """Tokens of the whole file."""
        return self._source.note_tokens(self.path)

    @cached_property
    def modified(self) -> str:
        return self._source.note_modified(self.path)

    def text(self, line_start: int, line_end: int) -> str:
        """Return exactly the lines `line_start`..`line_end`; the lines of hits are cached and need no reading."""
        own = self._texts.get((line_start, line_end))
        return own if own is not None else "\n".join(self.lines[line_start - 1 : line_end])

    def parts(self, first: int, last: int) -> Sequence[FragmentInfo]:
        """Return the existing fragments with the ordinals `first` to `last`."""
        try:
            return [self._parts[ordinal] for ordinal in range(first, last + 1)]
        except KeyError:  # not read yet, or beyond the end
            pass
        if not self.has_read(first, last):
            self.keep(first, last, self._source.parts([(self.path, first, last)])[0])
        return [self._parts[ordinal] for ordinal in range(first, min(last + 1, self._beyond)) if ordinal in self._parts]

    def parts_in(self, line_start: int, line_end: int) -> Sequence[FragmentInfo]:
        """Return the fragments that are completely within these lines."""
        if not self.has_read(0, None):
            self.keep(0, None, self._source.parts([(self.path, 0, None)])[0])
        first = bisect_left(self._line_starts, line_start)
        after = bisect_right(self._line_starts, line_end)
        inside = (self._parts[ordinal] for ordinal in range(first, after))
        return [part for part in inside if part.line_end <= line_end]

    @cached_property
    def _line_starts(self) -> Sequence[int]:
        """First lines of all fragments. They must have been read."""
        return [self._parts[ordinal].line_start for ordinal in range(self._beyond)]

    def refresh(self, fragment: Fragment) -> Fragment | None:
        """Return the current state of `fragment`: the search may have found it before the note was read again."""
        current_parts = self.parts(fragment.ordinal, fragment.ordinal)
        current = (
            fragment if current_parts and _same(current_parts[0], fragment) else self._source.fragment(fragment.id)
        )
        if current:
            self._texts[current.line_start, current.line_end] = current.text
        return current

    def has_read(self, first: int, last: int | None) -> bool:
        """Return whether these ordinals have been read, or are known not to exist."""
        if len(self._parts) == self._beyond:
            return True
        if last is None and self._beyond == _NO_END:
            return False
        end = self._beyond if last is None else min(last + 1, self._beyond)
        return all(ordinal in self._parts for ordinal in range(first, end))

    def keep(self, first: int, last: int | None, parts: Sequence[FragmentInfo]) -> None:
        """Cache the fragments that the source has in this range. Fragments of a note are numbered without gaps."""
        self._parts.update((part.ordinal, part) for part in parts)
        if last is None or len(parts) < last - first + 1:
            self._beyond = min(self._beyond, first + len(parts))


def _same(part: FragmentInfo, fragment: Fragment) -> bool:
    """Return whether a fragment is this very row. A fragment that was never stored has no key."""
    row = part.key, part.id, part.section, part.line_start
    return row == (fragment.key, fragment.id, fragment.section, fragment.line_start)


class SourceNotes:
    """The opened notes of one source, cached for repeated use, for example with several budgets."""

    def __init__(self, source: NoteSource) -> None:
        # A weak proxy: this object is stored by the source and must not keep it alive.
        self.source: NoteSource = proxy(source)
        self._open: dict[str, OpenNote] = {}

    def __getitem__(self, path: str) -> OpenNote:
        note = self._open.pop(path, None) or OpenNote(self.source, path)
        self._open[path] = note  # the least recently used note is dropped first
        return note

    def read(self, ranges: Iterable[Range]) -> None:
        """Read several ranges of notes at once, unless they are cached."""
        missing = [each for each in dict.fromkeys(ranges) if not self[each[0]].has_read(*each[1:])]
        for (path, first, last), parts in zip(missing, self.source.parts(missing) if missing else (), strict=True):
            self[path].keep(first, last, parts)

    def clear(self) -> None:
        """Drop all notes from the cache."""
        self._open.clear()

    def forget(self) -> None:
        """Drop the least recently used notes from the cache."""
        for path in list(self._open)[:-_MAX_CACHED]:
            del self._open[path]


_notes: WeakKeyDictionary[NoteSource, SourceNotes] = WeakKeyDictionary()


def notes_of(source: NoteSource) -> SourceNotes:
    """Return the cached notes of `source`; the cache is released with the source."""
    return _notes.setdefault(source, SourceNotes(source))
