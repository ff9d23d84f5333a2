"""Marks of notes that were renamed or moved: the same fragments, where they stand now.

A fragment's id is made of its note's path, its text and its turn among equal texts; so of a fragment at the new path it
can be told which id it had at the old one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from excerpt.pack.marks_file import Kept, Mark
from excerpt.pack.source import NoteSource
from excerpt.pack.wishes import Wishes
from excerpt.text.fragments import fragment_id


class Moving(NoteSource, Protocol):
    """A source of packs that knows which notes have moved; a Snapshot is one."""

    def moved(self, path: str, /) -> str | None:
        """Today's path of the note that once had this one."""
        ...


@dataclass(frozen=True, slots=True)
class MarkMoves:
    """Ids of fragments, and paths of their notes, as they were and as they are. False where nothing has moved."""

    ids: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.ids)

    def of_marks(self, marks: Sequence[Mark]) -> tuple[Mark, ...]:
        """The marks, each once, on the fragments as they are called now. One whose text is not there stays."""
        now = [
            replace(mark, fragment=self.ids[mark.fragment], path=self.paths[mark.path])
            if mark.fragment in self.ids and mark.path in self.paths
            else mark
            for mark in marks
        ]
        return tuple({mark.fragment: mark for mark in reversed(now)}.values())[::-1]

    def of_wishes(self, wishes: Wishes) -> Wishes:
        return Wishes(
            dropped=frozenset(self.ids.get(each, each) for each in wishes.dropped),
            scopes=tuple(sorted({self.ids.get(each, each): scope for each, scope in wishes.scopes}.items())),
            order=tuple(dict.fromkeys(self.ids.get(each, each) for each in wishes.order)),
        )


def mark_moves(marks: Sequence[Mark], source: Moving) -> MarkMoves:
    """Where the fragments went of notes with marks that `source` has no more."""
    gone = {mark.path for mark in marks if mark.path and source.fragment(mark.fragment) is None}
    paths = {path: now for path in sorted(gone) if (now := source.moved(path)) is not None}
    ids: dict[str, str] = {}
    ranges = [(now, 0, None) for now in paths.values()]
    for path, parts in zip(paths, source.parts(ranges) if ranges else (), strict=True):
        turns: Counter[str] = Counter()
        for part in parts:
            ids[fragment_id(path, part.digest, turns[part.digest])] = part.id
            turns[part.digest] += 1
    return MarkMoves(ids, paths)


def followed(kept: Kept, source: Moving) -> Kept:
    """What was kept, with the marks on the fragments as they are called now."""
    moves = mark_moves(kept.marks, source)
    return replace(kept, marks=moves.of_marks(kept.marks), wishes=moves.of_wishes(kept.wishes)) if moves else kept
