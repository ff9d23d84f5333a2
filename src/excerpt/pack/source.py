"""Where packs get notes from, and a note as a pack reads it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

from excerpt.model import Fragment, Section


class NoteSource(Protocol):
    """What packs need of an index; a Snapshot gives it. Fragments and sections come by ordinal; a note that is not
    there has none."""

    def fragment(self, fragment_id: str, /) -> Fragment | None: ...

    def note_fragments(self, path: str, /) -> Sequence[Fragment]: ...

    def sections(self, path: str, /) -> Sequence[Section]: ...

    def note_text(self, path: str, /) -> str: ...

    def note_tokens(self, path: str, /) -> int: ...


class OpenNote:
    """A note as packs read it, each part when first asked for: reading whole notes is most of the time of a pack."""

    def __init__(self, source: NoteSource, path: str) -> None:
        self.path = path
        self._source = source

    @cached_property
    def fragments(self) -> Sequence[Fragment]:
        return self._source.note_fragments(self.path)

    @cached_property
    def sections(self) -> Sequence[Section]:
        return self._source.sections(self.path)

    @cached_property
    def lines(self) -> Sequence[str]:
        return self._source.note_text(self.path).split("\n")

    def text(self, line_start: int, line_end: int) -> str:
        """Exactly the lines `line_start`..`line_end`; nothing if there are none."""
        return "\n".join(self.lines[line_start - 1 : line_end])

    def now(self, fragment: Fragment) -> Fragment | None:
        """`fragment` as it stands here: a search may have found it before its note was read again."""
        if fragment.ordinal < len(self.fragments) and self.fragments[fragment.ordinal].id == fragment.id:
            return self.fragments[fragment.ordinal]
        return next((each for each in self.fragments if each.id == fragment.id), None)
