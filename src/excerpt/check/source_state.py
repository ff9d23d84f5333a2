"""Whether the lines of a pack's source are still in the vault: unchanged, elsewhere, changed, or gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from excerpt.check.lookup import Lookup
from excerpt.locations import locations_overlap
from excerpt.pack.formats.pack_format import PackSource
from excerpt.text.fragments import count_words
from excerpt.text.relocate import clamp_lines, find_replacement, locate_lines


class State(StrEnum):
    """What became of a source since it was packed."""

    STANDS = "stands"
    MOVED = "moved"
    CHANGED = "changed"
    GONE = "gone"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class SourceComparison:
    """Where a source's text is now, with the text: unchanged, moved, or changed.

    A source that is gone has no path. `place` is that of an attachment.
    """

    state: State
    path: str = ""
    line_start: int = 0
    line_end: int = 0
    text: str = ""
    place: str = ""


_MIN_MOVED = 3
"""Words of a text from which the same one in another note is taken for it."""


def compare_source(source: PackSource, lookup: Lookup) -> SourceComparison:
    """Return the present state of `source` in the vault. Only indexed notes are read."""
    comparison = _compare_source(source, lookup)
    if not comparison.path or not (
        location := lookup.location(comparison.path, comparison.line_start, comparison.line_end)
    ):
        return comparison
    # A page of an attachment is where it was, whatever lines were read from the pages before it.
    same = (
        comparison.state is State.MOVED
        and comparison.path == lookup.path(source.path)
        and locations_overlap(location, source.place)
    )
    return replace(comparison, place=location, state=State.STANDS if same else comparison.state)


def _compare_source(source: PackSource, lookup: Lookup) -> SourceComparison:
    lines = source.text.split("\n")
    is_cut = source.cut_above, source.cut_below
    path = lookup.path(source.path)
    note: Sequence[str] = ()
    if path is not None:
        note = lookup.text(path).split("\n")
        if at := locate_lines(lines, note, source.line_start, is_cut):
            state = State.STANDS if at == source.line_start else State.MOVED
            return SourceComparison(state, path, at, at + len(lines) - 1, source.text)
    if count_words(source.text) >= _MIN_MOVED:
        for note_path in lookup.notes_with_line(max(lines, key=len)):
            if at := locate_lines(lines, lookup.text(note_path).split("\n"), source.line_start, is_cut):
                return SourceComparison(State.MOVED, note_path, at, at + len(lines) - 1, source.text)
    if path is None:
        return SourceComparison(State.GONE)
    first, last = find_replacement(lines, note, source.line_start) or clamp_lines(len(lines), note, source.line_start)
    return SourceComparison(State.CHANGED, path, first, last, "\n".join(note[first - 1 : last]))
