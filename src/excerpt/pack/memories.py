"""Memories as sources of packs, and marked fragments in notes that were renamed or moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol
from weakref import proxy

from excerpt.base.model import CommentLine, Fragment, FragmentInfo, Memory, Replaced, Section
from excerpt.pack.memory_fragment import memory_id_of, memory_name, memory_to_fragment
from excerpt.pack.selection import MarkedFragment, MovedFragments
from excerpt.pack.source import FragmentRange, NoteSource
from excerpt.text.fragments import fragment_id

# --- marks of renamed notes -------------------------------------------------------------------------------------------
# Find marked fragments at the new paths of renamed notes.
#
# A fragment's id is computed from its note's path, its text and its position among equal texts. So the id that a
# fragment had at the old path can be computed from the note at its new path.


class NoteSourceWithMoves(NoteSource, Protocol):
    """A source of notes that records where notes were moved; `Corpus` implements it."""

    def current_path(self, path: str, /) -> str | None:
        """Return the current path of the note that once had `path`, None if it is unknown."""
        ...


def find_moved_fragments(marks: Sequence[MarkedFragment], source: NoteSourceWithMoves) -> MovedFragments:
    """Find the marked fragments that are missing in `source` because their notes were renamed or moved."""
    lost_paths = {mark.path for mark in marks if mark.path and source.fragment(mark.fragment_id) is None}
    paths = {path: now for path in sorted(lost_paths) if (now := source.current_path(path)) is not None}
    ids: dict[str, str] = {}
    ranges = [(now, 0, None) for now in paths.values()]
    for path, parts in zip(paths, source.fragment_infos(ranges) if ranges else (), strict=True):
        turns: Counter[str] = Counter()
        for part in parts:
            ids[fragment_id(path, part.digest, turns[part.digest])] = part.id
            turns[part.digest] += 1
    return MovedFragments(ids, paths)


# --- memories ---------------------------------------------------------------------------------------------------------
# Memories in packs: each memory is like a note that has one fragment.


class SourceWithMemories:
    """A source of notes that also offers memories, each as a note with one fragment.

    It refers to `source` weakly. `count_tokens` counts with the tokenizer of `source`.
    """

    def __init__(self, source: NoteSourceWithMoves, count_tokens: Callable[[str], int]) -> None:
        self._source: NoteSourceWithMoves = proxy(source)
        self._count_tokens = count_tokens
        self._memories: dict[str, tuple[Memory, Fragment]] = {}

    def add(self, memories: Iterable[Memory]) -> bool:
        """Add memories; returns False, and stops, if a memory was already added in another version."""
        for memory in memories:
            entry = self._memories.get(memory_name(memory.id))
            if entry is not None and entry[0] != memory:
                return False
            if entry is None:
                self._memories[memory_name(memory.id)] = (
                    memory,
                    memory_to_fragment(memory, self._count_tokens(memory.text.strip("\n"))),
                )
        return True

    @property
    def tokenizer(self) -> str:
        return self._source.tokenizer

    def fragment(self, fragment_id: str, /) -> Fragment | None:
        entry = self._memories.get(fragment_id)
        return entry[1] if entry else None if memory_id_of(fragment_id) else self._source.fragment(fragment_id)

    def fragment_infos(self, ranges: Sequence[FragmentRange], /) -> Sequence[Sequence[FragmentInfo]]:
        source_ranges = [each for each in ranges if memory_id_of(each[0]) is None]
        source_parts = iter(self._source.fragment_infos(source_ranges) if source_ranges else ())
        return [
            next(source_parts) if memory_id_of(each[0]) is None else self._make_memory_infos(*each) for each in ranges
        ]

    def sections(self, path: str, /) -> Sequence[Section]:
        entry = self._memories.get(path)
        if entry is None:
            return () if memory_id_of(path) else self._source.sections(path)
        return (Section(0, 0, "", (), 1, entry[1].line_end, ()),)

    def note_text(self, path: str, /) -> str:
        entry = self._memories.get(path)
        return entry[1].text if entry else self._source.note_text(path)

    def comments(self, path: str, /) -> Sequence[CommentLine]:
        return () if memory_id_of(path) else self._source.comments(path)

    def note_tokens(self, path: str, /) -> int:
        entry = self._memories.get(path)
        return entry[1].tokens if entry else self._source.note_tokens(path)

    def note_modified(self, path: str, /) -> str:
        entry = self._memories.get(path)
        return entry[0].updated[:10] if entry else self._source.note_modified(path)

    def note_replaced(self, path: str, /) -> Replaced | None:
        if memory_id_of(path) is None:
            return self._source.note_replaced(path)
        memory = self._memories[path][0]
        if not memory.replaced_by:
            return None
        return Replaced(
            memory_name(memory.replaced_by), None, memory.replaced_at[:10] or None, f"replaced_by: {memory.replaced_by}"
        )

    def current_path(self, path: str, /) -> str | None:
        return None if memory_id_of(path) else self._source.current_path(path)

    def _make_memory_infos(self, path: str, first: int, last: int | None) -> Sequence[FragmentInfo]:
        """Return the single fragment of a memory, if the ordinals `first` to `last` include 0."""
        entry = self._memories.get(path)
        if entry is None or first > 0 or (last is not None and last < 0):
            return ()
        fragment = entry[1]
        return (FragmentInfo(0, fragment.id, 0, 0, 0, "", 1, fragment.line_end, fragment.tokens, fragment.digest),)
