"""Whether the lines of a pack's source still stand in the vault: there, elsewhere, changed, or not at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum

from excerpt.pack.lookup import Lookup
from excerpt.pack.reading import Source
from excerpt.text.fragments import words_in


class State(StrEnum):
    """What became of a source since it was packed."""

    STANDS = "stands"
    MOVED = "moved"
    CHANGED = "changed"
    GONE = "gone"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a source's text is now: the same text (stands, moved), or what is there in its place (changed), with that
    text. A source that is gone has no path."""

    state: State
    path: str = ""
    line_start: int = 0
    line_end: int = 0
    text: str = ""


_LEAST_MOVED = 3
"""Words of a text from which the same one in another note is taken for it."""
_MOST_PLACES = 50
_GROWN = 40  # lines that a changed text may have more at either end


def standing_of(source: Source, lookup: Lookup) -> Standing:
    """What stands in the vault now of `source`. Only notes of the index are looked at."""
    lines = source.text.split("\n")
    path = lookup.path(source.path)
    note: Sequence[str] = ()
    if path is not None:
        note = lookup.text(path).split("\n")
        if at := _place(lines, note, source.line_start):
            state = State.STANDS if at == source.line_start else State.MOVED
            return Standing(state, path, at, at + len(lines) - 1, source.text)
    if words_in(source.text) >= _LEAST_MOVED:
        for other in lookup.notes_with_line(max(lines, key=len)):
            if at := _place(lines, lookup.text(other).split("\n"), source.line_start):
                return Standing(State.MOVED, other, at, at + len(lines) - 1, source.text)
    if path is None:
        return Standing(State.GONE)
    first, last = _in_place_of(lines, note, source.line_start)
    return Standing(State.CHANGED, path, first, last, "\n".join(note[first - 1 : last]))


def _place(lines: Sequence[str], note: Sequence[str], near: int) -> int:
    """The line of `note` from which `lines` stand there, that nearest to line `near`; 0 if they do not."""
    first, count = lines[0], len(lines)
    found = (
        number
        for number, line in enumerate(note, 1)
        if line == first and list(note[number - 1 : number - 1 + count]) == list(lines)
    )
    return min(found, key=lambda number: (abs(number - near), number), default=0)


def _in_place_of(lines: Sequence[str], note: Sequence[str], near: int) -> tuple[int, int]:
    """First and last line of what `note` has where `lines` were: around the lines that are still there, or else at
    the same place."""
    places: dict[str, list[int]] = {}
    for at, line in enumerate(note):
        if line.strip() and len(places.setdefault(line, [])) < _MOST_PLACES:
            places[line].append(at)
    votes = Counter(at - number for number, line in enumerate(lines) for at in places.get(line, ()))
    if not votes:
        first = min(near, len(note))
        return first, min(first + len(lines) - 1, len(note))
    offset = min(votes, key=lambda offset: (-votes[offset], abs(offset - near + 1), offset))
    start = max(offset - len(lines) - _GROWN, 0)
    window = note[start : max(offset, 0) + 2 * len(lines) + _GROWN]
    same = [block for block in SequenceMatcher(None, window, lines, autojunk=False).get_matching_blocks() if block.size]
    first = start + max(same[0].a - same[0].b, 0)
    last = start + same[-1].a + (len(lines) - same[-1].b)
    return first + 1, min(max(last, first + 1), len(note))
