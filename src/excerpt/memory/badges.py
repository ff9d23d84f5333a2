"""Which memories are about the fragments that are shown."""

from __future__ import annotations

from collections.abc import Iterable

from excerpt.index.snapshot import Snapshot
from excerpt.memory.stale import standing
from excerpt.model import Memory, Source


def remembered_at(memories: Iterable[Memory], path: str, line_start: int, line_end: int) -> tuple[Memory, ...]:
    """Those of `memories` whose source, as they say it, has lines in common with these of a note."""
    return tuple(memory for memory in memories if _is_about(memory.source, path, line_start, line_end))


def _is_about(source: Source | None, path: str, line_start: int, line_end: int) -> bool:
    if source is None or source.path != path:
        return False
    return not source.line_start or (source.line_start <= line_end and line_start <= source.line_end)


class Badges:
    """The memories of a vault by where their sources stand in one snapshot of it. Usable from the snapshot's thread.

    A note is compared with its memories when it is first asked for (some 0.2 ms each), so that lines that have moved
    have their badges, and those that took their place have not. Make another for another snapshot or other memories.
    """

    def __init__(self, memories: Iterable[Memory], snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._of_note: dict[str, list[Memory]] = {}
        self._placed: dict[str, tuple[tuple[Source | None, Memory], ...]] = {}
        notes = frozenset(snapshot.table.paths)
        for memory in memories:
            if memory.source is not None:
                path = memory.source.path
                today = path if path in notes else snapshot.moved(path)
                if today is not None:
                    self._of_note.setdefault(today, []).append(memory)

    def at(self, path: str, line_start: int, line_end: int) -> tuple[Memory, ...]:
        """The memories whose source has lines in common with these today, newest first as they were given."""
        if path not in self._of_note:
            return ()
        if path not in self._placed:
            found = [standing(memory, self._snapshot, elsewhere=False) for memory in self._of_note[path]]
            self._placed[path] = tuple((each.source, each.memory) for each in found)
        return tuple(memory for source, memory in self._placed[path] if _is_about(source, path, line_start, line_end))
