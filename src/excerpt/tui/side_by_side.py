"""Two texts beside each other in cells: their lines wrapped to half the width each, what differs in ink."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from excerpt.model import Span
from excerpt.text.visible import visible
from excerpt.tui.common.inked_line import Ink, Run, wrap

if TYPE_CHECKING:
    from excerpt.memory.difference import Row

Pair = tuple[Sequence[Run], Sequence[Run]]
"""What stands on the left and on the right of one line of the screen."""


def beside(rows: Iterable[Row], width: int) -> Iterator[Pair]:
    """The lines of both texts; each side is at most `width` cells wide."""
    for row in rows:
        left = runs_of(row.before, row.before_spans, Ink.STRIKE, width)
        right = runs_of(row.after, row.after_spans, Ink.HIGHLIGHT, width)
        yield from zip_longest(left, right, fillvalue=())


def below(rows: Iterable[Row], width: int) -> Iterator[Sequence[Run]]:
    """The same where there is no room for two sides: what was before what is, line by line, with - and +."""
    for row in rows:
        if row.is_same:
            yield from ((Run("  ", Ink.PLAIN), *runs) for runs in runs_of(row.after, (), Ink.PLAIN, width - 2))
            continue
        if row.before is not None:
            for runs in runs_of(row.before, row.before_spans, Ink.STRIKE, width - 2):
                yield (Run("- ", Ink.FAINT), *runs)
        if row.after is not None:
            for runs in runs_of(row.after, row.after_spans, Ink.HIGHLIGHT, width - 2):
                yield (Run("+ ", Ink.FAINT), *runs)


def runs_of(text: str | None, spans: Sequence[Span], ink: Ink, width: int) -> list[list[Run]]:
    """A line of text wrapped to `width`, with the spans in `ink`; nothing where a side has no such line."""
    if text is None:
        return []
    shown = visible(text).replace("\t", " ")
    runs: list[Run] = []
    at = 0
    for span in sorted(spans, key=lambda span: span.start):
        start = max(span.start, at)
        runs += [Run(shown[at:start], Ink.PLAIN), Run(shown[start : span.end], ink)]
        at = max(at, span.end)
    runs.append(Run(shown[at:], Ink.PLAIN))
    return wrap([run for run in runs if run.text], max(1, width), 0)
