"""Text in the columns of a terminal: width, truncation, wrapping, and snippets."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from excerpt.model import Span

GAIN, LOSS = "█", "░"
"""Characters of bars: for what adds to a score, and for what subtracts from it."""


def snippet(text: str, spans: Sequence[Span], columns: int) -> tuple[str, list[Span]]:
    """Return about `columns` columns of `text` on one line, where it has most matches, and these matches."""
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
    """Return the characters until a word of `text` begins; 0 if it has no spaces, like Chinese."""
    found = re.search(r"\s\S", text)
    return found.start() + 1 if found else 0


def _densest_window(spans: Sequence[Span], columns: int) -> int:
    """Return the start of the window with most spans, the first of equals; 0 if the text's beginning has as many."""
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
    """Return how many columns of a terminal `text` takes."""
    return sum(_columns_of_char(char) for char in text)


def _columns_of_char(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, columns: int) -> str:
    """Return `text`, truncated to `columns` with an ellipsis if it is longer."""
    if columns_of(text) <= columns:
        return text
    used, end = 1, 0
    while used + _columns_of_char(text[end]) <= columns:
        used += _columns_of_char(text[end])
        end += 1
    return f"{text[:end]}…"
