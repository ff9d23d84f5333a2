"""Locating lines that were copied from a note in its changed text, or the lines that replaced them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

from rapidfuzz import fuzz, process

_MAX_CANDIDATES = 50
_MAX_GROWTH = 40  # maximum number of lines that a changed text has gained at each end
_MIN_RATIO = 60.0  # minimum of rapidfuzz's ratio (percent) for the changed form of a line; unrelated lines have 40


def locate_lines(
    lines: Sequence[str], note: Sequence[str], near: int, is_cut: tuple[bool, bool] = (False, False)
) -> int:
    """Return the number of the line of `note` where copied `lines` begin; 0 if the note does not have them.

    `note` holds all lines of the note. If it has the copied lines several times, those nearest to line number `near`
    are returned. `is_cut` says whether the copied text begins within its first line, and ends within its last line.
    """
    count = len(lines)
    is_cut_at_start, is_cut_at_end = is_cut

    def matches_at(number: int) -> bool:
        candidate = note[number - 1 : number - 1 + count]
        return len(candidate) == count and (
            _is_part(lines[0], candidate[0], is_cut_at_start, is_cut_at_end)
            if count == 1
            else _is_part(lines[0], candidate[0], is_cut_at_start, False)
            and _is_part(lines[-1], candidate[-1], False, is_cut_at_end)
            and list(candidate[1:-1]) == list(lines[1:-1])
        )

    candidates = (number for number, line in enumerate(note, 1) if lines[0] in line and matches_at(number))
    return min(candidates, key=lambda number: (abs(number - near), number), default=0)


def _is_part(text: str, line: str, is_cut_at_start: bool, is_cut_at_end: bool) -> bool:
    """Return whether `text` is the whole `line`, or what is left of the line after a cut at its start or end."""
    if is_cut_at_start and is_cut_at_end:
        return text in line
    return text == line or (is_cut_at_start and line.endswith(text)) or (is_cut_at_end and line.startswith(text))


def find_replacement(lines: Sequence[str], note: Sequence[str], near: int) -> tuple[int, int] | None:
    """Return the numbers of the first and last line that replaced copied `lines` in a changed note.

    `note` holds all lines of the note, and `near` is the number of the line where the copied lines began. The result
    spans the copied lines that the note still has, and the changed lines around them. Returns None if the note has none
    of the copied lines.
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
        first = _find_most_similar_line(lines[0], window, max(first - _MAX_GROWTH, 0), same[0].a, max(first, 0))
    end = same[-1].a + same[-1].size
    if same[-1].b + same[-1].size < len(lines):
        last = _find_most_similar_line(lines[-1], window, end, last + _MAX_GROWTH, last - 1) + 1
    return start + first + 1, min(max(start + last, start + first + 1), len(note))


def _find_most_similar_line(line: str, window: Sequence[str], begin: int, end: int, default: int) -> int:
    """Return the index of the line most similar to `line` in `window[begin:end]`; `default` if none is similar."""
    match = process.extractOne(line, window[begin:end], scorer=fuzz.ratio, score_cutoff=_MIN_RATIO)
    return begin + match[2] if match else default


def _is_blank(line: str) -> bool:
    return not line.strip()


def clamp_lines(count: int, note: Sequence[str], near: int) -> tuple[int, int]:
    """Return the numbers of the first and last of `count` lines from line number `near` on.

    The numbers are limited to the lines that `note` has.
    """
    first = min(max(near, 1), len(note))
    return first, min(first + count - 1, len(note))
