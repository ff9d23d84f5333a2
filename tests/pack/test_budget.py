"""Tests of the value of hits, and of what is chosen within a budget."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.base.model import Hit, Span
from excerpt.pack.budget import ChainSelections, ChainUnit, ChosenUnits, UnitChain, iterate_selections
from excerpt.pack.hit_values import compute_hit_values
from tests.pack.vaults import Vault, sentence

_costs = st.integers(1, 9)
_units = st.builds(
    ChainUnit, opening_cost=_costs, following_cost=_costs, value=st.integers(0, 8).map(float), has_hit=st.booleans()
)
_chains = st.builds(
    UnitChain,
    st.lists(_units, min_size=1, max_size=4).filter(lambda units: any(unit.has_hit for unit in units)).map(tuple),
)


@st.composite
def _chains_of_a_ranking(draw: st.DrawFn) -> list[UnitChain]:
    """Return up to three chains; a unit with a hit of the first may be required."""
    chains = draw(st.lists(_chains, max_size=3))
    is_required = draw(st.booleans())
    if chains and is_required:
        hits = [number for number, unit in enumerate(chains[0].units) if unit.has_hit]
        chains[0] = UnitChain(chains[0].units, draw(st.sampled_from(hits)))
    return chains


def cost_and_value(chains: list[UnitChain], selection: ChainSelections) -> tuple[int, float]:
    cost, value = 0, 0.0
    for chain, taken in zip(chains, selection, strict=True):
        for first, last in taken.runs:
            cost += chain.units[first].opening_cost + sum(
                unit.following_cost for unit in chain.units[first + 1 : last + 1]
            )
            value += sum(unit.value for unit in chain.units[first : last + 1])
    return cost, value


def everything_possible(chain: UnitChain) -> Iterator[ChosenUnits]:
    for taken in product([False, True], repeat=len(chain.units)):
        if chain.required is not None and not taken[chain.required]:
            continue
        runs = [list(run) for inside, run in groupby(range(len(taken)), key=lambda n: taken[n]) if inside]
        if all(any(chain.units[number].has_hit for number in run) for run in runs):
            yield ChosenUnits(tuple((run[0], run[-1]) for run in runs))


@given(_chains_of_a_ranking(), st.integers(0, 40))
def test_no_other_choice_within_the_budget_has_a_higher_value(chains: list[UnitChain], budget: int) -> None:
    values = [
        value
        for selection in product(*map(everything_possible, chains))
        for cost, value in [cost_and_value(chains, selection)]
        if cost <= budget
    ]
    first = next(iterate_selections(chains, budget), None)
    if first is None:
        assert not values
        return
    cost, value = cost_and_value(chains, first)
    assert cost <= budget
    assert value == max(values) or first == whole(chains)


def whole(chains: list[UnitChain]) -> ChainSelections:
    return tuple(ChosenUnits(((0, len(chain.units) - 1),)) for chain in chains)


@given(_chains_of_a_ranking(), st.integers(0, 40))
def test_selections_are_in_order_of_value_and_contain_the_required_hits(chains: list[UnitChain], budget: int) -> None:
    found = [one for one in iterate_selections(chains, budget) if one != whole(chains)]
    for selection in found:
        for chain, taken in zip(chains, selection, strict=True):
            for first, last in taken.runs:
                assert any(unit.has_hit for unit in chain.units[first : last + 1])
            assert chain.required is None or any(first <= chain.required <= last for first, last in taken.runs)
    values = [cost_and_value(chains, selection)[1] for selection in found]
    assert values == sorted(values, reverse=True)
    assert all(cost_and_value(chains, selection)[0] <= budget for selection in found)


@given(_chains_of_a_ranking(), st.integers(0, 30), st.integers(0, 30))
def test_a_larger_budget_offers_every_selection_that_a_smaller_one_offers(
    chains: list[UnitChain], budget: int, more: int
) -> None:
    fewer, most = (set(iterate_selections(chains, limit)) for limit in (budget, budget + more))
    assert fewer <= most


@pytest.mark.parametrize("budget", [-5, 0])
def test_with_a_budget_of_zero_nothing_is_chosen(budget: int) -> None:
    chain = UnitChain((ChainUnit(3, 3, 1.0, has_hit=True),))
    assert list(iterate_selections([chain], budget)) == [(ChosenUnits(),)]
    assert list(iterate_selections([UnitChain(chain.units, 0)], budget)) == []


VAULT = Vault({"a.md": "\n\n".join(sentence(word, 200) for word in ("alpha", "beta", "gamma")), "b.md": "delta0 here"})


def hits(*words: str, score: float = 1.0) -> list[Hit]:
    return [VAULT.hit(word, score) for word in words]


def matching(hit: Hit, *words: str) -> Hit:
    text = hit.fragment.text
    return Hit(hit.fragment, hit.score, spans=tuple(Span(text.index(w), text.index(w) + len(w)) for w in words))


def test_a_hit_has_a_lower_value_than_better_ones() -> None:
    first, second = compute_hit_values([VAULT.hit("alpha0", 0.9), VAULT.hit("delta0", 0.8)])
    assert first > second


def test_a_second_hit_of_a_note_has_a_lower_value_than_one_of_another_note() -> None:
    same, other = (compute_hit_values([VAULT.hit("alpha0"), VAULT.hit(word)])[1] for word in ("beta0", "delta0"))
    assert same < other


def test_a_hit_with_query_words_that_better_ones_lack_has_a_higher_value() -> None:
    alpha, beta = hits("alpha0", "beta0")
    first = matching(alpha, "alpha1", "alpha2")
    again, new = (compute_hit_values([first, matching(beta, word)])[1] for word in ("beta1", "beta2"))
    assert again == new
    told = compute_hit_values([matching(alpha, "alpha1"), matching(beta, "beta1")])[1]
    untold = compute_hit_values([matching(alpha, "alpha1"), Hit(beta.fragment, 1.0)])[1]
    assert told > untold


def test_a_hit_without_a_score_has_a_small_value() -> None:
    for found in (hits("alpha0", "delta0", score=0.0), hits("alpha0", "delta0", score=-1.0)):
        assert all(0 < value < 0.001 for value in compute_hit_values(found))
    assert compute_hit_values([]) == []
