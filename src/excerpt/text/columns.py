"""Text in the columns of a terminal: how wide it is, cut, wrapped, and the part of it with the most matches."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from excerpt.model import Span

GAIN, LOSS = "█", "░"
"""What bars are drawn with: of what adds to a score, and of what takes away from it."""


def snippet(text: str, spans: Sequence[Span], columns: int) -> tuple[str, list[Span]]:
    """Return about `columns` columns of `text` on one line, where it has the most matches, and these matches."""
    lead_in = columns // 5
    start = _densest_window(spans, columns - lead_in)
    if start:
        start = max(0, start - lead_in)
        start += _to_next_word(text[start : start + lead_in])
    out = ["…"] if start else []
    moved: dict[int, int] = {}
    used = 0
    for i in range(start, len(text)):
        if used >= columns:
            out.append("…")
            break
        c = " " if text[i].isspace() else text[i]
        if c == " " and (not out or out[-1] == " "):
            continue
        moved[i] = len(out)
        out.append(c)
        used += _columns_of_char(c)
    inside = [Span(moved[s.start], moved[s.end - 1] + 1) for s in spans if s.start in moved and s.end - 1 in moved]
    return "".join(out).rstrip(), inside


def _to_next_word(text: str) -> int:
    """Characters until a word of `text` begins; none where it has no spaces, as Chinese has none."""
    found = re.search(r"\s\S", text)
    return found.start() + 1 if found else 0


def _densest_window(spans: Sequence[Span], columns: int) -> int:
    """Where the window begins that holds the most spans, the first of equals; 0 where the text's beginning will do."""
    best, most = 0, sum(1 for span in spans if span.end <= columns)
    for i, first in enumerate(spans):
        held = sum(1 for span in spans[i:] if span.end <= first.start + columns)
        if held > most:
            best, most = first.start, held
    return best


def wrapped(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Yield the lines of `text` at most `width` columns wide, as (start, end), broken at spaces where possible."""
    start = 0
    while start < len(text):
        end, used, space = start, 0, -1
        while end < len(text) and used + _columns_of_char(text[end]) <= width:
            used += _columns_of_char(text[end])
            if text[end] == " ":
                space = end
            end += 1
        end = max(end, start + 1)
        if end < len(text) and text[end] != " " and space > start:
            end = space
        yield start, end
        start = end + (end < len(text) and text[end] == " ")


def columns_of(text: str) -> int:
    """How many columns of a terminal `text` takes."""
    return sum(_columns_of_char(char) for char in text)


def _columns_of_char(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, columns: int) -> str:
    """`text`, or as much of it as fits `columns` with an ellipsis."""
    if columns_of(text) <= columns:
        return text
    used, end = 1, 0
    while used + _columns_of_char(text[end]) <= columns:
        used += _columns_of_char(text[end])
        end += 1
    return f"{text[:end]}…"
