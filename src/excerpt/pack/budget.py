"""Which packs go in, and how much of each, so that the most value fits the budget.

A chain is a row of units, pieces of a note that follow each other. Units that are taken side by side make one pack,
which costs its frame and its units; a pack holds at least one unit that was asked for. The most valuable choice is
found exactly by dynamic programming over costs in whole tokens, as for a knapsack (Kellerer, Pferschy, Pisinger:
Knapsack Problems, 2004), with three tables: the last unit is in no pack, in one that still lacks what was asked for, or
in one that has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of a note. `opening` is its cost in tokens where a pack begins with it, frame included; `following` where
    the one before is in the pack too. `value` is what it adds, never less than nothing; `asked` if a hit is in it."""

    opening: int
    following: int
    value: float
    asked: bool


@dataclass(frozen=True, slots=True)
class Option:
    """Something that may be taken instead of all units of a chain."""

    cost: int
    value: float


@dataclass(frozen=True, slots=True)
class Chain:
    units: tuple[Unit, ...]
    options: tuple[Option, ...] = ()


@dataclass(frozen=True, slots=True)
class Taken:
    """What is taken of a chain: runs of units (first and last), or an option."""

    runs: tuple[tuple[int, int], ...] = ()
    option: int | None = None


Selection = tuple[Taken, ...]
"""What is taken of each chain."""

_Values = npt.NDArray[np.float64]
_Marks = npt.NDArray[np.bool_]


def selections(chains: Sequence[Chain], budget: int) -> Iterator[Selection]:
    """The best selection of each total cost up to `budget`, most valuable first; the last one takes nothing.

    What is yielded for one cost does not depend on the budget. So whatever further test a caller makes of a selection,
    the value of the first to pass it never falls when the budget grows.
    """
    whole = sum(_whole_cost(chain) for chain in chains)
    if whole <= budget:
        yield tuple(Taken(((0, len(chain.units) - 1),)) for chain in chains)
    if budget < 0:
        yield tuple(Taken() for _ in chains)
        return
    best = np.zeros(1)
    steps = []
    for chain in chains:
        step = _Step(chain, _longer(best, min(budget, len(best) - 1 + _most(chain)) + 1))
        best = step.after
        steps.append(step)
    for cost in np.argsort(-best, kind="stable"):
        if best[cost] > -np.inf:
            yield _traced(steps, int(cost))


def _whole_cost(chain: Chain) -> int:
    return chain.units[0].opening + sum(unit.following for unit in chain.units[1:])


def _most(chain: Chain) -> int:
    """A cost that nothing of a chain is above."""
    units = sum(max(unit.opening, unit.following) for unit in chain.units)
    return max((units, *(option.cost for option in chain.options)))


def _longer(values: _Values, length: int) -> _Values:
    """The table with room for higher costs, which nothing has yet."""
    return np.concatenate((values, np.full(length - len(values), -np.inf)))


@dataclass(frozen=True, slots=True)
class _Marked:
    """For each cost, after one unit, how its best value came about: whether the pack that the unit is in (lacking,
    having what was asked for) goes on from the unit before, for a hit whether that lacked it; and, if the unit is in no
    pack, whether the one before was in one."""

    lacking_goes_on: _Marks
    having_goes_on: _Marks
    had_lacked: _Marks
    closed: _Marks


class _Step:
    """The tables of one chain: best values before and after it, and how they came about."""

    def __init__(self, chain: Chain, before: _Values) -> None:
        self.chain = chain
        self.marks: list[_Marked] = []
        none = np.full_like(before, -np.inf)
        out, lacking, having = before, none, none
        any_lacking = any_having = False
        nothing = np.zeros(len(before), bool)
        for unit in chain.units:
            opened = _shifted(out, unit.opening, unit.value)
            closed = having > out if any_having else nothing
            after_out = np.maximum(having, out) if any_having else out
            had_lacked = lacking_goes_on = having_goes_on = nothing
            if unit.asked:
                entered = opened
                if any_lacking:
                    going = _shifted(lacking, unit.following, unit.value)
                    had_lacked = going > entered
                    entered = np.maximum(going, entered)
                if any_having:
                    going = _shifted(having, unit.following, unit.value)
                    having_goes_on = going >= entered
                    entered = np.maximum(going, entered)
                lacking, having = none, entered
                any_lacking, any_having = False, True
            else:
                if any_lacking:
                    going = _shifted(lacking, unit.following, unit.value)
                    lacking_goes_on = going > opened
                    opened = np.maximum(going, opened)
                lacking, any_lacking = opened, True
                if any_having:
                    having = _shifted(having, unit.following, unit.value)
                    having_goes_on = ~nothing
            out = after_out
            self.marks.append(_Marked(lacking_goes_on, having_goes_on, had_lacked, closed))
        self.closed = having > out
        after = np.maximum(having, out)
        self.taken = np.full(len(before), -1, np.int16)
        for number, option in enumerate(chain.options):
            instead = _shifted(before, option.cost, option.value)
            better = instead > after
            after = np.maximum(instead, after)
            self.taken[better] = number
        self.after = after

    def traced(self, cost: int) -> tuple[Taken, int]:
        """What is taken of this chain by the best selection of a cost, and what of the cost is left for others."""
        if (option := int(self.taken[cost])) >= 0:
            return Taken(option=option), cost - self.chain.options[option].cost
        runs: list[tuple[int, int]] = []
        state = "having" if self.closed[cost] else "out"
        last = len(self.chain.units) - 1
        for number in range(len(self.chain.units) - 1, -1, -1):
            unit, mark = self.chain.units[number], self.marks[number]
            if state == "out":
                if mark.closed[cost]:
                    state, last = "having", number - 1
                continue
            goes_on = (mark.having_goes_on if state == "having" else mark.lacking_goes_on)[cost]
            lacked = state == "having" and not goes_on and mark.had_lacked[cost]
            if goes_on or lacked:
                state = "lacking" if lacked else state
                cost -= unit.following
            else:
                runs.append((number, last))
                cost -= unit.opening
                state = "out"
        return Taken(tuple(reversed(runs))), cost


def _shifted(values: _Values, cost: int, value: float) -> _Values:
    """The table in which something of this cost and value is taken in addition."""
    moved = np.empty_like(values)
    below = min(cost, len(values))
    moved[:below] = -np.inf
    np.add(values[: len(values) - below], value, out=moved[below:])
    return moved


def _traced(steps: Sequence[_Step], cost: int) -> Selection:
    found = []
    for step in reversed(steps):
        taken, cost = step.traced(cost)
        found.append(taken)
    return tuple(reversed(found))
