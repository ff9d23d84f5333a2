"""Comparison of a pack's source with the vault: its lines are unchanged, moved, changed, or gone.

A source is a numbered passage of a note in a pack, which an LLM's answer cites.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from excerpt.base.locations import locations_overlap
from excerpt.pack.check.lookup import VaultLookup
from excerpt.pack.formats.pack_format import PackSource
from excerpt.text.fragments import count_words
from excerpt.text.relocate import clamp_lines, find_replacement, locate_lines


class SourceState(StrEnum):
    """The state of a source in the present vault, compared with the pack.

    STANDS: unchanged, at the same lines. MOVED: unchanged, at other lines or in another note. CHANGED: other text at
    its lines. GONE: neither the text nor the note exists. UNKNOWN: the pack has no source of that number.
    """

    STANDS = "stands"
    MOVED = "moved"
    CHANGED = "changed"
    GONE = "gone"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class SourceComparison:
    """The state of a source, and the lines of the vault that have its text, or the changed text, now.

    `path` is "" if the source is gone. `place` is the location in an attachment, such as a page; "" in a note.
    """

    state: SourceState
    path: str = ""
    line_start: int = 0
    line_end: int = 0
    text: str = ""
    place: str = ""


_MIN_MOVED_WORDS = 3
"""Least number of words of a source that is searched for in other notes.

A shorter text may occur by chance.
"""


def compare_source(source: PackSource, lookup: VaultLookup) -> SourceComparison:
    """Compare a source of a pack with the vault. Only indexed notes are read."""
    comparison = _compare_lines(source, lookup)
    if not comparison.path or not (
        location := lookup.find_location(comparison.path, comparison.line_start, comparison.line_end)
    ):
        return comparison
    # A page of an attachment has not moved if only the number of lines read from the pages before it changed.
    same = (
        comparison.state is SourceState.MOVED
        and comparison.path == lookup.find_path(source.path)
        and locations_overlap(location, source.place)
    )
    return replace(comparison, place=location, state=SourceState.STANDS if same else comparison.state)


def _compare_lines(source: PackSource, lookup: VaultLookup) -> SourceComparison:
    lines = source.text.split("\n")
    is_cut = source.cut_above, source.cut_below
    path = lookup.find_path(source.path)
    note: Sequence[str] = ()
    if path is not None:
        note = lookup.read_note(path).split("\n")
        if at := locate_lines(lines, note, source.line_start, is_cut):
            state = SourceState.STANDS if at == source.line_start else SourceState.MOVED
            return SourceComparison(state, path, at, at + len(lines) - 1, source.text)
    if count_words(source.text) >= _MIN_MOVED_WORDS:
        for note_path in lookup.find_notes_with_line(max(lines, key=len)):
            if at := locate_lines(lines, lookup.read_note(note_path).split("\n"), source.line_start, is_cut):
                return SourceComparison(SourceState.MOVED, note_path, at, at + len(lines) - 1, source.text)
    if path is None:
        return SourceComparison(SourceState.GONE)
    first, last = find_replacement(lines, note, source.line_start) or clamp_lines(len(lines), note, source.line_start)
    return SourceComparison(SourceState.CHANGED, path, first, last, "\n".join(note[first - 1 : last]))
