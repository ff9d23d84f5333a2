"""Where packs get notes from, and a note as a pack reads it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

from excerpt.model import Fragment, Section


class NoteSource(Protocol):
    """What packs need of an index; a Snapshot gives it. Sections come by ordinal; a note that is not there has none,
    and no fragments."""

    def fragment(self, fragment_id: str, /) -> Fragment | None: ...

    def note_fragments(self, path: str, first: int = 0, last: int | None = None, /) -> Sequence[Fragment]:
        """Those of the ordinals `first` to `last` that there are, by ordinal."""
        ...

    def sections(self, path: str, /) -> Sequence[Section]: ...

    def note_text(self, path: str, /) -> str: ...

    def note_tokens(self, path: str, /) -> int: ...


class OpenNote:
    """A note as packs read it, each part when first asked for: reading whole notes is most of the time of a pack."""

    def __init__(self, source: NoteSource, path: str) -> None:
        self.path = path
        self._source = source
        self._read: dict[int, Fragment] = {}
        self._texts: dict[tuple[int, int], str] = {}

    @cached_property
    def sections(self) -> Sequence[Section]:
        return self._source.sections(self.path)

    @cached_property
    def lines(self) -> Sequence[str]:
        return self._source.note_text(self.path).split("\n")

    def text(self, line_start: int, line_end: int) -> str:
        """Exactly the lines `line_start`..`line_end`; the note need not be read for a fragment's own."""
        own = self._texts.get((line_start, line_end))
        return own if own is not None else "\n".join(self.lines[line_start - 1 : line_end])

    def fragments(self, first: int, last: int) -> Sequence[Fragment]:
        """Those of the ordinals `first` to `last` that there are."""
        if not all(ordinal in self._read for ordinal in range(first, last + 1)):
            self._keep(self._source.note_fragments(self.path, first, last))
        return [self._read[ordinal] for ordinal in range(first, last + 1) if ordinal in self._read]

    def fragments_in(self, line_start: int, line_end: int) -> Sequence[Fragment]:
        """Those that stand whole in these lines."""
        every = self._source.note_fragments(self.path)
        self._keep(every)
        return [each for each in every if line_start <= each.line_start and each.line_end <= line_end]

    def now(self, fragment: Fragment) -> Fragment | None:
        """`fragment` as it stands here: a search may have found it before its note was read again."""
        here = self.fragments(fragment.ordinal, fragment.ordinal)
        return here[0] if here and here[0].id == fragment.id else self._source.fragment(fragment.id)

    def _keep(self, fragments: Sequence[Fragment]) -> None:
        self._read.update((each.ordinal, each) for each in fragments)
        self._texts.update(((each.line_start, each.line_end), each.text) for each in fragments)
