"""Tests that the selection is optimal, compared with exhaustive search."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.pack.budget import ChainOption, ChainSelections, ChainUnit, ChosenUnits, UnitChain, iterate_selections

_costs = st.integers(1, 9)
_units = st.builds(
    ChainUnit, opening_cost=_costs, following_cost=_costs, value=st.integers(0, 8).map(float), has_hit=st.booleans()
)
_chains = st.builds(
    UnitChain,
    st.lists(_units, min_size=1, max_size=4).filter(lambda units: any(unit.has_hit for unit in units)).map(tuple),
    st.lists(st.builds(ChainOption, _costs, st.integers(0, 4).map(float)), max_size=2).map(tuple),
)


def cost_and_value(chains: list[UnitChain], selection: ChainSelections) -> tuple[int, float]:
    cost, value = 0, 0.0
    for chain, taken in zip(chains, selection, strict=True):
        if taken.option_index is not None:
            cost += chain.options[taken.option_index].cost
            value += chain.options[taken.option_index].value
        for first, last in taken.runs:
            cost += chain.units[first].opening_cost + sum(
                unit.following_cost for unit in chain.units[first + 1 : last + 1]
            )
            value += sum(unit.value for unit in chain.units[first : last + 1])
    return cost, value


def everything_possible(chain: UnitChain) -> Iterator[ChosenUnits]:
    yield from (ChosenUnits(option_index=number) for number in range(len(chain.options)))
    for taken in product([False, True], repeat=len(chain.units)):
        runs = [list(run) for inside, run in groupby(range(len(taken)), key=lambda n: taken[n]) if inside]
        if all(any(chain.units[number].has_hit for number in run) for run in runs):
            yield ChosenUnits(tuple((run[0], run[-1]) for run in runs))


@given(st.lists(_chains, max_size=3), st.integers(0, 40))
def test_no_other_choice_within_the_budget_is_worth_more(chains: list[UnitChain], budget: int) -> None:
    best = max(
        value
        for selection in product(*map(everything_possible, chains))
        for cost, value in [cost_and_value(chains, selection)]
        if cost <= budget
    )
    cost, value = cost_and_value(chains, next(iterate_selections(chains, budget)))
    assert cost <= budget
    assert value == best or next(iterate_selections(chains, budget)) == whole(chains)


def whole(chains: list[UnitChain]) -> ChainSelections:
    return tuple(ChosenUnits(((0, len(chain.units) - 1),)) for chain in chains)


@given(st.lists(_chains, max_size=3), st.integers(0, 40))
def test_selections_come_most_valuable_first_and_hold_what_was_asked_for(chains: list[UnitChain], budget: int) -> None:
    found = [one for one in iterate_selections(chains, budget) if one != whole(chains)]
    for selection in found:
        for chain, taken in zip(chains, selection, strict=True):
            for first, last in taken.runs:
                assert any(unit.has_hit for unit in chain.units[first : last + 1])
    values = [cost_and_value(chains, selection)[1] for selection in found]
    assert values == sorted(values, reverse=True)
    assert all(cost_and_value(chains, selection)[0] <= budget for selection in found)


@given(st.lists(_chains, max_size=3), st.integers(0, 30), st.integers(0, 30))
def test_a_larger_budget_offers_all_that_a_smaller_one_does(chains: list[UnitChain], budget: int, more: int) -> None:
    fewer, most = (set(iterate_selections(chains, limit)) for limit in (budget, budget + more))
    assert fewer <= most


@pytest.mark.parametrize("budget", [-5, 0])
def test_without_a_budget_nothing_is_taken(budget: int) -> None:
    chain = UnitChain((ChainUnit(3, 3, 1.0, has_hit=True),))
    assert list(iterate_selections([chain], budget)) == [(ChosenUnits(),)]
