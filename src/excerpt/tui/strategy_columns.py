"""One query under each strategy, as columns to look at: who led, what came first, and what stands elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from excerpt.kinds import Confidence, Strategy
from excerpt.model import Hit, Result

if TYPE_CHECKING:
    from excerpt.search.engine import Engine

DEPTH = 20
"""Hits of each strategy that are shown and compared."""


@dataclass(frozen=True, slots=True)
class Row:
    """A hit of one strategy. `move` is how many places higher it stands than under the strategy that is in use (lower
    if negative), None where that one does not have it among the first `DEPTH`."""

    fragment: str
    title: str
    heading_path: tuple[str, ...]
    move: int | None


@dataclass(frozen=True, slots=True)
class Column:
    """What one strategy found; `led` is who answered for it, `kept` how many of its rows the one in use has too."""

    strategy: Strategy
    led: Strategy
    matched: int
    confidence: Confidence | None
    rows: tuple[Row, ...]
    kept: int

    def place_of(self, fragment: str) -> int | None:
        """The row of a fragment, from 0."""
        return next((at for at, row in enumerate(self.rows) if row.fragment == fragment), None)


@dataclass(frozen=True, slots=True)
class AskStrategies:
    """What each strategy finds for a query."""

    kind: ClassVar[str] = "strategies"
    query: str

    def answer(self, engine: Engine) -> tuple[Result, ...]:
        from excerpt.search.each_strategy import under_each

        return under_each(engine, self.query, DEPTH)


def columns_of(results: Sequence[Result], in_use: Strategy) -> tuple[Column, ...]:
    """The columns, in the order of the results, compared with the one of the strategy in use."""
    now = next((result.hits for result in results if result.asked is in_use), ())
    places = {hit.fragment.id: at for at, hit in enumerate(now[:DEPTH])}
    return tuple(_column(result, places) for result in results)


def _column(result: Result, places: dict[str, int]) -> Column:
    rows = tuple(_row(hit, at, places) for at, hit in enumerate(result.hits[:DEPTH]))
    kept = sum(row.move is not None for row in rows)
    return Column(result.asked, result.strategy, result.matched, result.confidence, rows, kept)


def _row(hit: Hit, at: int, places: dict[str, int]) -> Row:
    fragment = hit.fragment
    before = places.get(fragment.id)
    move = before - at if before is not None else None
    return Row(fragment.id, fragment.title, fragment.heading_path, move)


def first_shown(selected: int, count: int, fitting: int) -> int:
    """The first of `count` columns to show where `fitting` fit beside each other and `selected` must be in sight; the
    first column, with which the others are compared, as long as it can be."""
    return max(0, min(selected - fitting + 1, count - fitting)) if selected >= fitting else 0
