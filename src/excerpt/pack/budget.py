"""Which packs go in, and in which size, so that the most value fits the budget.

Each candidate offers some options (the whole stretch, smaller ones) of which at most one is taken: a multiple-choice
knapsack (Kellerer, Pferschy, Pisinger: Knapsack Problems, 2004, chapter 11), solved exactly by dynamic programming
over costs in whole tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

Selection = tuple[int | None, ...]
"""For each candidate the option taken, or None."""


@dataclass(frozen=True, slots=True)
class Option:
    """A size that a candidate may have: its `cost` in tokens, its `value` in scores."""

    cost: int
    value: float


def selections(candidates: Sequence[Sequence[Option]], budget: int) -> Iterator[Selection]:
    """The best selection of each total cost up to `budget`, most valuable first; the last one takes nothing.

    The first option of each candidate is its most valuable. What is yielded for one cost does not depend on the
    budget. So whatever further test a caller makes of a selection, the value of the first to pass it never falls when
    the budget grows.
    """
    if sum(options[0].cost for options in candidates) <= budget:
        yield (0,) * len(candidates)
    costs = [option.cost for options in candidates for option in options]
    reach = min(budget, sum(max((option.cost for option in options), default=0) for options in candidates))
    if not costs or min(costs) > reach:
        yield (None,) * len(candidates)
        return
    best = np.full(reach + 1, -np.inf)
    best[0] = 0.0
    taken = np.full((len(candidates), reach + 1), -1, dtype=np.int16)
    for options, row in zip(candidates, taken, strict=True):
        before = best.copy()
        for number, option in enumerate(options):
            if option.cost <= reach:
                value = before[: reach + 1 - option.cost] + option.value
                better = value > best[option.cost :]
                best[option.cost :][better] = value[better]
                row[option.cost :][better] = number
    for cost in np.argsort(-best, kind="stable"):
        if best[cost] > -np.inf:
            yield _taken(candidates, taken, int(cost))


def _taken(
    candidates: Sequence[Sequence[Option]], taken: np.ndarray[tuple[int, int], np.dtype[np.int16]], cost: int
) -> Selection:
    found: list[int | None] = []
    for options, row in zip(reversed(candidates), reversed(taken), strict=True):
        number = int(row[cost])
        found.append(None if number < 0 else number)
        if number >= 0:
            cost -= options[number].cost
    return tuple(reversed(found))
