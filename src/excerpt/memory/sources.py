"""What a memory is made from in the vault: a fragment, or lines of a note."""

from __future__ import annotations

import re

from excerpt.errors import MemoryUnusableError
from excerpt.index.snapshot import Snapshot
from excerpt.memory.stale import source_at
from excerpt.model import Source

_LINES = re.compile(r"(?P<note>.+):(?P<first>\d{1,9})(?:-(?P<last>\d{1,9}))?", re.DOTALL)


def from_fragment(snapshot: Snapshot, fragment_id: str) -> tuple[Source, str]:
    """Where a fragment stands, and its text. Raises MemoryUnusableError if there is none of that id."""
    found = snapshot.fragment(fragment_id)
    if found is None:
        hint = "Ids are the fragment_id of `excerpt search --json`; that of changed text is another."
        raise MemoryUnusableError(f"There is no fragment {fragment_id}.", hint)
    return Source(found.path, found.line_start, found.line_end, found.digest, found.heading_path), found.text


def from_lines(snapshot: Snapshot, place: str) -> tuple[Source, str]:
    """Where the lines of `NOTE:A-B` or `NOTE:A` stand (NOTE is a path, title or alias; without lines, all of it), and
    their text as it was indexed. Raises MemoryUnusableError if there is no such note or it has no such lines."""
    path, first, last = _note_called(snapshot, place), 1, None
    if path is None and (found := _LINES.fullmatch(place)):
        path, first, last = (
            _note_called(snapshot, found["note"]),
            int(found["first"]),
            int(found["last"] or found["first"]),
        )
    if path is None:
        raise MemoryUnusableError(f"There is no note {place}.", "Name it by path, title or alias, as NOTE:12-18.")
    lines = snapshot.note_text(path).rstrip("\n").split("\n")
    last = len(lines) if last is None else min(last, len(lines))
    if not 1 <= first <= last:
        raise MemoryUnusableError(f"{path} has {len(lines):,} lines, and none of {place}.")
    text = "\n".join(lines[first - 1 : last])
    return source_at(snapshot, path, first, last, text), text


def _note_called(snapshot: Snapshot, name: str) -> str | None:
    path = snapshot.facets.targets.resolve(name, "") if name.strip() else None
    if path is not None:
        return path
    named = snapshot.notes_named(name)
    if len(named) > 1:
        paths = ", ".join(snapshot.table.paths[number] for number in named[:5])
        raise MemoryUnusableError(f"Several notes are called {name}: {paths}.", "Give the path of one.")
    return snapshot.table.paths[named[0]] if named else None
