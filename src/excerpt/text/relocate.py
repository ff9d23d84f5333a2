"""Finding copied lines again in a changed note, or what replaced them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

from rapidfuzz import fuzz, process

_MAX_CANDIDATES = 50
_MAX_GROWTH = 40  # maximum additional lines of a changed text at either end
_MIN_RATIO = 60.0  # minimum of rapidfuzz's ratio (percent) for the changed form of a line; unrelated lines have 40


def find_lines(lines: Sequence[str], note: Sequence[str], near: int, is_cut: tuple[bool, bool] = (False, False)) -> int:
    """Return the line of `note` at which `lines` are found, the nearest to line `near`; 0 if they are not found.

    If they are `is_cut` at the beginning or the end, the first or last of them may be a part of its line.
    """
    count = len(lines)
    begins, ends = is_cut

    def stand(number: int) -> bool:
        candidate = note[number - 1 : number - 1 + count]
        return len(candidate) == count and (
            _is_part(lines[0], candidate[0], begins, ends)
            if count == 1
            else _is_part(lines[0], candidate[0], begins, False)
            and _is_part(lines[-1], candidate[-1], False, ends)
            and list(candidate[1:-1]) == list(lines[1:-1])
        )

    candidates = (number for number, line in enumerate(note, 1) if lines[0] in line and stand(number))
    return min(candidates, key=lambda number: (abs(number - near), number), default=0)


def _is_part(line: str, whole: str, begins: bool, ends: bool) -> bool:
    """Return whether `line` is `whole`, or the rest of it after a cut at the beginning or the end."""
    if begins and ends:
        return line in whole
    return line == whole or (begins and whole.endswith(line)) or (ends and whole.startswith(line))


def find_replacement(lines: Sequence[str], note: Sequence[str], near: int) -> tuple[int, int] | None:
    """Return the first and last line of what replaced `lines` in `note`; None if none of them is left.

    It is the text around the surviving lines, nearest to line `near`.
    """
    lines_by_text: dict[str, list[int]] = {}
    for at, line in enumerate(note):
        if line.strip() and len(lines_by_text.setdefault(line, [])) < _MAX_CANDIDATES:
            lines_by_text[line].append(at)
    votes = Counter(at - number for number, line in enumerate(lines) for at in lines_by_text.get(line, ()))
    if not votes:
        return None
    offset = min(votes, key=lambda offset: (-votes[offset], abs(offset - near + 1), offset))
    start = max(offset - len(lines) - _MAX_GROWTH, 0)
    window = note[start : max(offset, 0) + 2 * len(lines) + _MAX_GROWTH]
    blocks = SequenceMatcher(_is_blank, window, lines, autojunk=False).get_matching_blocks()
    # Blank lines occur everywhere and do not show where a text begins or ends.
    same = [block for block in blocks if not all(map(_is_blank, lines[block.b : block.b + block.size]))]
    first, last = same[0].a - same[0].b, same[-1].a + len(lines) - same[-1].b
    if same[0].b:
        first = _like(lines[0], window, max(first - _MAX_GROWTH, 0), same[0].a, max(first, 0))
    end = same[-1].a + same[-1].size
    if same[-1].b + same[-1].size < len(lines):
        last = _like(lines[-1], window, end, last + _MAX_GROWTH, last - 1) + 1
    return start + first + 1, min(max(start + last, start + first + 1), len(note))


def _like(line: str, window: Sequence[str], begin: int, end: int, default: int) -> int:
    """Return the index in `window` of the changed form of a line between `begin` and `end`, else `default`."""
    match = process.extractOne(line, window[begin:end], scorer=fuzz.ratio, score_cutoff=_MIN_RATIO)
    return begin + match[2] if match else default


def _is_blank(line: str) -> bool:
    return not line.strip()


def same_lines(count: int, note: Sequence[str], near: int) -> tuple[int, int]:
    """Return the first and last of `count` lines of `note` from line `near` on, as far as they exist."""
    first = min(max(near, 1), len(note))
    return first, min(first + count - 1, len(note))
