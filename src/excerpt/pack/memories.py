"""Memories in packs, and marks in notes that were renamed or moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol
from weakref import proxy

from excerpt.model import Fragment, FragmentInfo, Memory, Section
from excerpt.pack.memory_fragment import as_fragment, memory_id_of, name_of
from excerpt.pack.selection import Mark, Overrides, SavedMarks
from excerpt.pack.source import NoteSource, Range
from excerpt.text.fragments import fragment_id

# --- marks of renamed notes -------------------------------------------------------------------------------------------
# Marks in notes that were renamed or moved: the same fragments at their new paths.
#
# A fragment's id is computed from its note's path, its text and its position among equal texts; so the old id of a
# fragment at the new path can be computed too.


class Moving(NoteSource, Protocol):
    """A source of packs that knows where notes were moved; a Corpus is one."""

    def current_path(self, path: str, /) -> str | None:
        """Return the current path of the note that once had this path."""
        ...


@dataclass(frozen=True, slots=True)
class MarkMoves:
    """Moved fragments and notes: their new ids and paths by the old ones. False if nothing has moved."""

    ids: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.ids)

    def of_marks(self, marks: Sequence[Mark]) -> tuple[Mark, ...]:
        """Return the marks, each once, with the current ids of their fragments. Marks of lost texts stay unchanged."""
        now = [
            replace(mark, fragment=self.ids[mark.fragment], path=self.paths[mark.path])
            if mark.fragment in self.ids and mark.path in self.paths
            else mark
            for mark in marks
        ]
        return tuple({mark.fragment: mark for mark in reversed(now)}.values())[::-1]

    def of_overrides(self, overrides: Overrides) -> Overrides:
        return Overrides(
            dropped=frozenset(self.ids.get(each, each) for each in overrides.dropped),
            scopes=tuple(sorted({self.ids.get(each, each): scope for each, scope in overrides.scopes}.items())),
            order=tuple(dict.fromkeys(self.ids.get(each, each) for each in overrides.order)),
        )


def mark_moves(marks: Sequence[Mark], source: Moving) -> MarkMoves:
    """Return where the marked fragments that are missing in `source` were moved."""
    lost_paths = {mark.path for mark in marks if mark.path and source.fragment(mark.fragment) is None}
    paths = {path: now for path in sorted(lost_paths) if (now := source.current_path(path)) is not None}
    ids: dict[str, str] = {}
    ranges = [(now, 0, None) for now in paths.values()]
    for path, parts in zip(paths, source.parts(ranges) if ranges else (), strict=True):
        turns: Counter[str] = Counter()
        for part in parts:
            ids[fragment_id(path, part.digest, turns[part.digest])] = part.id
            turns[part.digest] += 1
    return MarkMoves(ids, paths)


def follow_moves(saved: SavedMarks, source: Moving) -> SavedMarks:
    """Return the saved marks with the current ids of their fragments."""
    moves = mark_moves(saved.marks, source)
    return (
        replace(saved, marks=moves.of_marks(saved.marks), overrides=moves.of_overrides(saved.overrides))
        if moves
        else saved
    )


# --- memories ---------------------------------------------------------------------------------------------------------
# Memories in packs: each is like a note with one fragment, besides the notes of the vault.


class WithMemories:
    """A source of packs with memories besides its notes.

    It does not keep `source` alive; `count` counts tokens with that source's tokenizer. It changes only when memories
    are added.
    """

    def __init__(self, source: Moving, count: Callable[[str], int]) -> None:
        self._source: Moving = proxy(source)
        self._count = count
        self._memories: dict[str, tuple[Memory, Fragment]] = {}

    def add(self, memories: Iterable[Memory]) -> bool:
        """Add memories; return False if one of them is already here with another text."""
        for memory in memories:
            entry = self._memories.get(name_of(memory.id))
            if entry is not None and entry[0] != memory:
                return False
            if entry is None:
                self._memories[name_of(memory.id)] = memory, as_fragment(memory, self._count(memory.text.strip("\n")))
        return True

    @property
    def tokenizer(self) -> str:
        return self._source.tokenizer

    def fragment(self, fragment_id: str, /) -> Fragment | None:
        entry = self._memories.get(fragment_id)
        return entry[1] if entry else None if memory_id_of(fragment_id) else self._source.fragment(fragment_id)

    def parts(self, ranges: Sequence[Range], /) -> Sequence[Sequence[FragmentInfo]]:
        source_ranges = [each for each in ranges if memory_id_of(each[0]) is None]
        source_parts = iter(self._source.parts(source_ranges) if source_ranges else ())
        return [next(source_parts) if memory_id_of(each[0]) is None else self._part(*each) for each in ranges]

    def sections(self, path: str, /) -> Sequence[Section]:
        entry = self._memories.get(path)
        if entry is None:
            return () if memory_id_of(path) else self._source.sections(path)
        return (Section(0, 0, "", (), 1, entry[1].line_end, ()),)

    def note_text(self, path: str, /) -> str:
        entry = self._memories.get(path)
        return entry[1].text if entry else self._source.note_text(path)

    def note_tokens(self, path: str, /) -> int:
        entry = self._memories.get(path)
        return entry[1].tokens if entry else self._source.note_tokens(path)

    def note_modified(self, path: str, /) -> str:
        entry = self._memories.get(path)
        return entry[0].updated[:10] if entry else self._source.note_modified(path)

    def current_path(self, path: str, /) -> str | None:
        return None if memory_id_of(path) else self._source.current_path(path)

    def _part(self, path: str, first: int, last: int | None) -> Sequence[FragmentInfo]:
        entry = self._memories.get(path)
        if entry is None or first > 0 or (last is not None and last < 0):
            return ()
        fragment = entry[1]
        return (FragmentInfo(0, fragment.id, 0, 0, 0, "", 1, fragment.line_end, fragment.tokens, fragment.digest),)
