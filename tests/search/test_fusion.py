from __future__ import annotations

from dataclasses import asdict

import pytest

from excerpt.kinds import Strategy
from excerpt.search.ranking import SIGNALS, STRATEGY_WEIGHTS, active_strategy, primary_strategy, weights_for


@pytest.mark.parametrize(
    ("words", "leader"),
    [
        (1, Strategy.ADAPTIVE),
        (2, Strategy.ADAPTIVE),
        (3, Strategy.PROXIMITY),
        (5, Strategy.PROXIMITY),
        (6, Strategy.SEMANTIC),
        (40, Strategy.SEMANTIC),
    ],
)
def test_the_lead_goes_by_the_number_of_words(words: int, leader: Strategy) -> None:
    assert primary_strategy(words) is leader


@pytest.mark.parametrize(
    ("leader", "own"),
    [(Strategy.ADAPTIVE, "words"), (Strategy.PROXIMITY, "proximity"), (Strategy.SEMANTIC, "meaning")],
)
def test_under_auto_the_leaders_own_signal_counts_more_and_all_others_as_in_hybrid(leader: Strategy, own: str) -> None:
    hybrid, primary = asdict(STRATEGY_WEIGHTS[Strategy.HYBRID]), asdict(weights_for(leader))
    assert all(primary.values())
    assert {name for name in primary if primary[name] > hybrid[name]} == {own}
    assert {name for name in primary if primary[name] == hybrid[name]} == set(SIGNALS) - {own}


def test_a_strategy_that_finds_nothing_gives_way_to_the_next() -> None:
    assert active_strategy(Strategy.ADAPTIVE, words_found=False, meaning_found=True) is Strategy.SEMANTIC
    assert active_strategy(Strategy.PROXIMITY, words_found=False, meaning_found=True) is Strategy.SEMANTIC
    assert active_strategy(Strategy.SEMANTIC, words_found=True, meaning_found=False) is Strategy.PROXIMITY


@pytest.mark.parametrize("strategy", list(STRATEGY_WEIGHTS))
def test_a_strategy_that_finds_something_answers_itself(strategy: Strategy) -> None:
    assert active_strategy(strategy, words_found=True, meaning_found=True) is strategy


@pytest.mark.parametrize("strategy", list(STRATEGY_WEIGHTS))
def test_where_nothing_is_found_the_one_asked_answers(strategy: Strategy) -> None:
    assert active_strategy(strategy, words_found=False, meaning_found=False) is strategy


def test_every_weight_has_its_signal() -> None:
    assert all(len(weights.array) == len(SIGNALS) for weights in STRATEGY_WEIGHTS.values())
