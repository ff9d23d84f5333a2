"""A sum as steps: each part drawn where the one before it ended, so that one sees how it comes together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.text import Text

_WIDEST = 40
"""Cells of a step's line at most: a longer one is not read better."""


@dataclass(frozen=True, slots=True)
class Step:
    """A piece of a line from `start` to `end`, shares of its length; as wide as there is room for."""

    start: float
    end: float
    ink: str

    def cells(self, width: int) -> str:
        """The step in a line of `width` cells: at least one cell is filled."""
        first = min(round(self.start * width), width - 1)
        return " " * first + "█" * max(1, round(self.end * width) - first)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(self.cells(max(1, min(options.max_width, _WIDEST))), self.ink, no_wrap=True, overflow="crop")

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(1, min(options.max_width, _WIDEST))


def steps_of(parts: Sequence[float], inks: tuple[str, str]) -> list[Step]:
    """A step for each part of a sum, in their order; `inks` are those of what adds and of what takes away."""
    ends = list(accumulate(parts))
    lowest, highest = min((0.0, *ends)), max((0.0, *ends))
    whole = highest - lowest or 1.0
    places = [(end - lowest) / whole for end in (0.0, *ends)]
    return [
        Step(min(before, after), max(before, after), inks[part < 0])
        for part, before, after in zip(parts, places, places[1:], strict=False)
    ]
