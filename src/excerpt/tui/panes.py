"""How the two panes of a tab stand: which are in sight, beside or below one another, and how much room each has.

Values and functions alone; `widgets/split.py` lays the widgets out by them.
"""

from __future__ import annotations

from dataclasses import dataclass

SHARE = 0.46
"""The list's part of the body, across or down, until the border is dragged."""

BESIDE_FROM = 100
"""Columns from which on the context stands beside the list by itself: each then has room for a line of prose."""
BELOW_FROM = 13
"""Rows of the body from which on there is room for two panes one below the other: four fragments and as many lines."""
BOTH_FROM = 16
"""Rows of the body from which on a panel leaves room for the context above it."""

_LEAST_COLUMNS = 28
_LEAST_ROWS = 3
_LEAST_SHARE, _MOST_SHARE = 0.15, 0.85


@dataclass(frozen=True, slots=True)
class Arrangement:
    """What of a body is in sight. `first` is the list's columns where `beside`, else its rows: all of them where it is
    alone, 0 where it is out of sight."""

    beside: bool
    first: int
    context: bool
    panel: bool

    @property
    def divided(self) -> bool:
        """Whether there is a border between two panes that can be moved."""
        return self.first > 0 and (self.context or self.panel)


def within(share: float) -> float:
    """Return the share nearest to one that the user asks for that leaves room for both panes."""
    return max(_LEAST_SHARE, min(_MOST_SHARE, round(share, 3)))


def arranged(share: float, columns: int, rows: int, *, context: bool, panel: bool, least: float = 0) -> Arrangement:
    """Return what is in sight in a body of that size, of which the list has `share`, 0 to 1.

    `context` and `panel` say whether there is one to be shown; `least` is the part of the height that the other pane
    wants at least where it stands below.
    """
    beside = columns >= BESIDE_FROM
    if not (context or panel):
        return Arrangement(beside, columns if beside else rows, False, False)
    if beside:
        both = context and (not panel or rows >= BOTH_FROM)
        return Arrangement(beside, _part(share, columns, _LEAST_COLUMNS), both, panel)
    if rows < BELOW_FROM:
        return Arrangement(beside, 0 if panel else rows, False, panel)
    first = _part(min(share, 1 - least), rows, _LEAST_ROWS)
    return Arrangement(beside, first, context and not panel, panel)


def _part(share: float, length: int, least: int) -> int:
    """Return `share` of `length`, with at least `least` for both."""
    return max(least, min(length - least, round(share * length)))
