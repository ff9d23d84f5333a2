"""Where lines that were copied out of a note stand in it now, or what stands in their place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

_MOST_PLACES = 50
_GROWN = 40  # lines that a changed text may have more at either end


def place_of(lines: Sequence[str], note: Sequence[str], near: int) -> int:
    """The line of `note` from which `lines` stand there, that nearest to line `near`; 0 if they do not."""
    first, count = lines[0], len(lines)
    found = (
        number
        for number, line in enumerate(note, 1)
        if line == first and list(note[number - 1 : number - 1 + count]) == list(lines)
    )
    return min(found, key=lambda number: (abs(number - near), number), default=0)


def in_place_of(lines: Sequence[str], note: Sequence[str], near: int) -> tuple[int, int] | None:
    """First and last line of what `note` has where `lines` were, around those of them that are still there, nearest to
    line `near`; None if none is."""
    places: dict[str, list[int]] = {}
    for at, line in enumerate(note):
        if line.strip() and len(places.setdefault(line, [])) < _MOST_PLACES:
            places[line].append(at)
    votes = Counter(at - number for number, line in enumerate(lines) for at in places.get(line, ()))
    if not votes:
        return None
    offset = min(votes, key=lambda offset: (-votes[offset], abs(offset - near + 1), offset))
    start = max(offset - len(lines) - _GROWN, 0)
    window = note[start : max(offset, 0) + 2 * len(lines) + _GROWN]
    same = [block for block in SequenceMatcher(None, window, lines, autojunk=False).get_matching_blocks() if block.size]
    first = start + max(same[0].a - same[0].b, 0)
    last = start + same[-1].a + (len(lines) - same[-1].b)
    return first + 1, min(max(last, first + 1), len(note))


def same_lines(count: int, note: Sequence[str], near: int) -> tuple[int, int]:
    """First and last of the `count` lines of `note` from line `near` on, as far as there are any."""
    first = min(max(near, 1), len(note))
    return first, min(first + count - 1, len(note))
