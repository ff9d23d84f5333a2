"""Text in the columns of a terminal: its width, cut and wrapped."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

GAIN, LOSS = "█", "░"
"""Characters of bars: for what adds to a score, and for what subtracts from it."""


def wrap(text: str, width: int) -> Iterator[tuple[int, int]]:
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


def truncate(text: str, columns: int) -> str:
    """Return `text`, truncated to `columns` with an ellipsis if it is longer."""
    if columns_of(text) <= columns:
        return text
    used, end = 1, 0
    while used + _columns_of_char(text[end]) <= columns:
        used += _columns_of_char(text[end])
        end += 1
    return f"{text[:end]}…"
