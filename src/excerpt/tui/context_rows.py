"""The lines of a window as the rows that they fill, and what stands on which: matches, headings, links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from rich.cells import cell_len

from excerpt.model import Section
from excerpt.tui.common.inked_line import DrawnLine, Ink, LinkTo, Run, wrap


class Row(NamedTuple):
    """One row of the context: the `part`-th of a line, `indent` cells in."""

    line: DrawnLine
    part: int
    indent: int
    runs: Sequence[Run]

    @property
    def has_match(self) -> bool:
        return any(Ink.MATCH in run.ink for run in self.runs)


def rows_of(lines: Iterable[DrawnLine], width: int) -> list[Row]:
    """The rows that lines fill in `width` cells; columns stand under one another where they fit."""
    rows: list[Row] = []
    for line in lines:
        fits = bool(line.aligned) and sum(cell_len(run.text) for run in line.aligned) <= width
        hang = 0 if fits else line.hang
        indent = min(hang, width // 2)
        bars = _bars(line.runs, indent)
        for part, runs in enumerate(wrap(line.aligned if fits else line.runs, width, hang)):
            rows.append(
                Row(line, part, 0, (*bars, *runs)) if part and bars else Row(line, part, indent * (part > 0), runs)
            )
    return rows


def _bars(runs: Sequence[Run], indent: int) -> tuple[Run, ...]:
    """The bars of the quotes that a line is in, `indent` cells wide, for its continuation; nothing outside of one."""
    if not runs or not runs[0].text.startswith("▎"):
        return ()
    begin = runs[0].text[:indent]
    kept = "".join(character if character == "▎" else " " for character in begin)
    return (Run(f"{kept:<{indent}}", runs[0].ink & ~Ink.MATCH),)


@dataclass(frozen=True, slots=True)
class LinkSpot:
    """A link as it is seen: the row it begins on, its first cell there (without the gutter), where it leads."""

    row: int
    column: int
    to: LinkTo


def links_of(rows: Sequence[Row], first: int, last: int) -> Iterator[LinkSpot]:
    """The links that begin on rows `first` up to `last` (exclusive), in their order."""
    of_line: list[LinkTo] = []
    for number in range(max(first, 0), min(last, len(rows))):
        row = rows[number]
        if not row.part:
            of_line = []
        column = row.indent
        for run in row.runs:
            if run.to is not None and not any(run.to is one for one in of_line):
                of_line.append(run.to)
                yield LinkSpot(number, column, run.to)
            column += cell_len(run.text)


def link_at(row: Row, column: int) -> LinkTo | None:
    """The link under a cell of a row, counted without the gutter."""
    at = row.indent
    for run in row.runs:
        end = at + cell_len(run.text)
        if at <= column < end:
            return run.to
        at = end
    return None


def heading_beyond(headings: Sequence[Section], line: int, by: int) -> Section | None:
    """The next heading below `line`, or with `by` negative the nearest one above it."""
    named = [one for one in headings if one.level]
    if by > 0:
        return next((one for one in named if one.line_start > line), None)
    return next((one for one in reversed(named) if one.line_start < line), None)


def heading_path_at(headings: Sequence[Section], line: int) -> tuple[str, ...]:
    """The titles above a line of a note."""
    return next((one.heading_path for one in reversed(headings) if one.line_start <= line), ())


@dataclass(frozen=True, slots=True)
class Picked:
    """Lines that are picked: from `anchor`, where picking began, to `end`, which moves."""

    anchor: int
    end: int

    @property
    def first(self) -> int:
        return min(self.anchor, self.end)

    @property
    def last(self) -> int:
        return max(self.anchor, self.end)

    def to(self, line: int) -> Picked:
        return replace(self, end=line)
