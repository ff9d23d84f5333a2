"""Where packs get notes from, and a note as a pack reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from excerpt.model import Fragment, Section


class NoteSource(Protocol):
    """What packs need of an index; a Snapshot gives it. Fragments and sections come by ordinal."""

    def fragment(self, fragment_id: str, /) -> Fragment | None: ...

    def note_fragments(self, path: str, /) -> Sequence[Fragment]: ...

    def sections(self, path: str, /) -> Sequence[Section]: ...

    def note_text(self, path: str, /) -> str: ...

    def note_tokens(self, path: str, /) -> int: ...


@dataclass(frozen=True, slots=True)
class OpenNote:
    """A note as packs read it: its lines, its fragments and its sections."""

    path: str
    lines: Sequence[str]
    fragments: Sequence[Fragment]
    sections: Sequence[Section]

    def text(self, line_start: int, line_end: int) -> str:
        """Exactly the lines `line_start`..`line_end`; nothing if there are none."""
        return "\n".join(self.lines[line_start - 1 : line_end])


def open_note(source: NoteSource, path: str) -> OpenNote:
    return OpenNote(path, source.note_text(path).split("\n"), source.note_fragments(path), source.sections(path))
