"""Wrap a drawn line to a width in cells: at spaces, and anywhere in scripts that have none."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len

from excerpt.tui.inked_line import Run


def wrap(runs: Sequence[Run], width: int, hang: int) -> list[list[Run]]:
    """The rows that `runs` fill, `hang` cells indented after the first. At least one row."""
    text = "".join(run.text for run in runs)
    if len(text) <= width and text.isascii():
        return [list(runs)]
    hang = min(hang, width // 2)
    rows: list[list[Run]] = []
    for start, end in _cuts(text, width, hang):
        rows.append(_slice(runs, start, end))
    return rows or [[]]


def _cuts(text: str, width: int, hang: int) -> list[tuple[int, int]]:
    cuts: list[tuple[int, int]] = []
    start, room = 0, max(1, width)
    while start < len(text):
        end = _fitting(text, start, room)
        if end < len(text) and not text[end].isspace():
            space = text.rfind(" ", start, end)
            if space > start and text[end - 1].isascii() and not text[start:space].isspace():
                end = space + 1
        cuts.append((start, end))
        start = end
        while start < len(text) and text[start] == " ":
            start += 1
        room = max(1, width - hang)
    return cuts


def _fitting(text: str, start: int, room: int) -> int:
    """Where text from `start` stops fitting into `room` cells; at least one character fits."""
    piece = text[start : start + room]
    if piece.isascii():
        return start + len(piece)
    used = 0
    for at in range(start, len(text)):
        used += cell_len(text[at])
        if used > room:
            return max(at, start + 1)
    return len(text)


def _slice(runs: Sequence[Run], start: int, end: int) -> list[Run]:
    cut: list[Run] = []
    at = 0
    for run in runs:
        left, right = max(start - at, 0), min(end - at, len(run.text))
        if left < right:
            cut.append(Run(run.text[left:right], run.ink, run.to))
        at += len(run.text)
        if at >= end:
            break
    return cut
