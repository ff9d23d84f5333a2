"""Measuring, wrapping and truncating text by the columns that it takes in a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

GAIN_CHARACTER, LOSS_CHARACTER = "█", "░"
"""Characters of score bars: for a signal that raises the score, and for one that lowers it."""


def wrap(text: str, width: int) -> Iterator[tuple[int, int]]:
    """Yield the lines of `text` wrapped to `width` columns, each as (start, end).

    Lines are broken at spaces if possible. `start` and `end` (exclusive) are character offsets in `text`.
    """
    start = 0
    while start < len(text):
        end, used, space = start, 0, -1
        while end < len(text) and used + _character_columns(text[end]) <= width:
            used += _character_columns(text[end])
            if text[end] == " ":
                space = end
            end += 1
        end = max(end, start + 1)
        if end < len(text) and text[end] != " " and space > start:
            end = space
        yield start, end
        start = end + (end < len(text) and text[end] == " ")


def count_columns(text: str) -> int:
    """Return the number of terminal columns that `text` takes."""
    return sum(_character_columns(char) for char in text)


def _character_columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def truncate(text: str, columns: int) -> str:
    """Return `text`, shortened to `columns` terminal columns with an ellipsis if it is wider."""
    if count_columns(text) <= columns:
        return text
    used, end = 1, 0
    while used + _character_columns(text[end]) <= columns:
        used += _character_columns(text[end])
        end += 1
    return f"{text[:end]}…"
