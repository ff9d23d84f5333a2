"""Whether the lines of a pack's source are still in the vault: unchanged, elsewhere, changed, or gone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from excerpt.check.lookup import VaultLookup
from excerpt.locations import location_contains
from excerpt.pack.formats.pack_format import PackSource
from excerpt.text.fragments import words_in
from excerpt.text.relocate import find_lines, find_replacement, same_lines


class SourceState(StrEnum):
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

    state: SourceState
    path: str = ""
    line_start: int = 0
    line_end: int = 0
    text: str = ""
    place: str = ""


_MIN_MOVED_WORDS = 3
"""Words of a text from which the same one in another note is taken for it."""


def compare_source(source: PackSource, lookup: VaultLookup) -> SourceComparison:
    """Return the present state of `source` in the vault. Only indexed notes are read."""
    comparison = _compare_lines(source, lookup)
    if not comparison.path or not (
        location := lookup.find_location(comparison.path, comparison.line_start, comparison.line_end)
    ):
        return comparison
    # A page of an attachment is where it was, whatever lines were read from the pages before it.
    same = (
        comparison.state is SourceState.MOVED
        and comparison.path == lookup.find_path(source.path)
        and location_contains(location, source.place)
    )
    return replace(comparison, place=location, state=SourceState.STANDS if same else comparison.state)


def _compare_lines(source: PackSource, lookup: VaultLookup) -> SourceComparison:
    lines = source.text.split("\n")
    is_cut = source.cut_above, source.cut_below
    path = lookup.find_path(source.path)
    note: Sequence[str] = ()
    if path is not None:
        note = lookup.read_note(path).split("\n")
        if at := find_lines(lines, note, source.line_start, is_cut):
            state = SourceState.STANDS if at == source.line_start else SourceState.MOVED
            return SourceComparison(state, path, at, at + len(lines) - 1, source.text)
    if words_in(source.text) >= _MIN_MOVED_WORDS:
        for note_path in lookup.find_notes_with_line(max(lines, key=len)):
            if at := find_lines(lines, lookup.read_note(note_path).split("\n"), source.line_start, is_cut):
                return SourceComparison(SourceState.MOVED, note_path, at, at + len(lines) - 1, source.text)
    if path is None:
        return SourceComparison(SourceState.GONE)
    first, last = find_replacement(lines, note, source.line_start) or same_lines(len(lines), note, source.line_start)
    return SourceComparison(SourceState.CHANGED, path, first, last, "\n".join(note[first - 1 : last]))
