"""How the panes of a tab stand: which are in sight, beside or below one another, and how much room each has.

Values and functions alone; `widgets/split.py` lays the widgets out by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from excerpt.settings import Density, Placing, ScreenSettings
from excerpt.tui.turn import next_in_turn

__all__ = ["CONTEXT", "LIST", "PANEL", "Arrangement", "Density", "Panes", "Placing", "arranged", "beginning"]

LIST, CONTEXT, PANEL = "list", "context", "panel"
"""The panes of a tab: the ranked list, the context of what is selected, and what stands in its place or under it."""

BESIDE_FROM = 100
"""Columns from which on the context stands beside the list by itself: each then has room for a line of prose."""
BELOW_FROM = 13
"""Rows of the body from which on there is room for two panes one below the other: four fragments and as many lines."""
BOTH_FROM = 16
"""Rows of the body from which on a panel leaves room for the context above it."""

_LEAST_COLUMNS = 28
_LEAST_ROWS = 3
_STEP = 0.05
_LEAST_SHARE, _MOST_SHARE = 0.15, 0.85


@dataclass(frozen=True, slots=True)
class Panes:
    """How the user wants the panes. `share` is the list's part of the body, 0 to 1, across or down; `zoomed` is the
    pane that has all of it, or ""."""

    placing: Placing = Placing.AUTO
    share: float = 0.46
    zoomed: str = ""
    density: Density = Density.COMFORTABLE

    def next_placing(self, *, wide: bool) -> Panes:
        """The next of three: by the width, then otherwise, then so at any width. `wide` says what the width asks for:
        so the first step is one that can be seen."""
        turn = [Placing.AUTO, Placing.BELOW, Placing.BESIDE] if wide else list(Placing)
        return replace(self, placing=next_in_turn(turn, self.placing))

    def other_density(self) -> Panes:
        return replace(self, density=next_in_turn(list(Density), self.density))

    def sharing(self, share: float) -> Panes:
        """The list with that part of the body; what would leave one of both too small is taken to the nearest."""
        return replace(self, share=max(_LEAST_SHARE, min(_MOST_SHARE, round(share, 3))))

    def wider(self, steps: int) -> Panes:
        """The list wider by so many steps, narrower if negative; higher and lower where the context stands below."""
        return self.sharing(self.share + steps * _STEP)

    def zooming(self, pane: str) -> Panes:
        """All the room for that pane, or again for all where it has it."""
        return replace(self, zoomed="" if self.zoomed == pane else pane)


@dataclass(frozen=True, slots=True)
class Arrangement:
    """What of a body is in sight. `first` is the list's columns where `beside`, else its rows: all of them where it is
    alone, 0 where it is out of sight. `zoomed` is the pane for which others are left out, or ""."""

    beside: bool
    first: int
    context: bool
    panel: bool
    zoomed: str = ""

    @property
    def divided(self) -> bool:
        """Whether there is a border between two panes that can be moved."""
        return self.first > 0 and (self.context or self.panel)


def arranged(panes: Panes, columns: int, rows: int, *, context: bool, panel: bool, least: float = 0) -> Arrangement:
    """What is in sight in a body of that size. `context` and `panel` say whether there is one to be shown; `least` is
    the part of the height that the other pane wants at least where it stands below."""
    beside = stands_beside(panes.placing, columns)
    length = columns if beside else rows
    if not (context or panel):
        return Arrangement(beside, length, False, False)
    zoomed = panes.zoomed
    if {LIST: True, CONTEXT: context, PANEL: panel}.get(zoomed):
        return Arrangement(beside, length if zoomed == LIST else 0, zoomed == CONTEXT, zoomed == PANEL, zoomed)
    if beside:
        both = context and (not panel or rows >= BOTH_FROM)
        return Arrangement(beside, _part(panes.share, columns, _LEAST_COLUMNS), both, panel)
    if rows < BELOW_FROM:
        return Arrangement(beside, 0 if panel else rows, False, panel)
    first = _part(min(panes.share, 1 - least), rows, _LEAST_ROWS)
    return Arrangement(beside, first, context and not panel, panel)


def stands_beside(placing: Placing, columns: int) -> bool:
    """Whether the context stands beside the list; never where one of both would be too narrow."""
    wanted = placing is Placing.BESIDE or (placing is Placing.AUTO and columns >= BESIDE_FROM)
    return wanted and columns >= 2 * _LEAST_COLUMNS


def _part(share: float, length: int, least: int) -> int:
    """`share` of `length`, with at least `least` for both."""
    return max(least, min(length - least, round(share * length)))


def beginning(kept: Panes | None, wanted: ScreenSettings) -> Panes:
    """The panes at the start: as they were kept, where the settings leave the choice. Only the list is still zoomed:
    who begins to type sees what is found."""
    panes = kept if kept is not None else Panes()
    if panes.zoomed != LIST:
        panes = replace(panes, zoomed="")
    if wanted.context is not Placing.AUTO:
        panes = replace(panes, placing=wanted.context)
    if wanted.density is not Density.COMFORTABLE:
        panes = replace(panes, density=wanted.density)
    return panes.sharing(panes.share)


def next_zoom(panes: Panes, focused: str, shown: Sequence[str]) -> Panes:
    """All the room for the pane that has the focus. Without one (""), as while typing: for one after the other of those
    that can be shown, then again for all."""
    if focused:
        return panes.zooming(focused)
    order = ["", *shown]
    return replace(panes, zoomed=next_in_turn(order, panes.zoomed if panes.zoomed in order else ""))
