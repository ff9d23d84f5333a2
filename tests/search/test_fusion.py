from __future__ import annotations

import pytest

from excerpt.model import Strategy
from excerpt.search.fusion import LEAD, SIGNALS, WEIGHTS, answering, blend, lead


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
    assert lead(words) is leader


@pytest.mark.parametrize("leader", [Strategy.ADAPTIVE, Strategy.PROXIMITY, Strategy.SEMANTIC])
def test_under_auto_all_signals_are_heard_and_the_leaders_weigh_more(leader: Strategy) -> None:
    hybrid, own, mixed = WEIGHTS[Strategy.HYBRID].array, WEIGHTS[leader].array, blend(leader).array
    assert (mixed > 0).all()
    assert mixed == pytest.approx(LEAD * own + (1 - LEAD) * hybrid)


def test_a_strategy_that_finds_nothing_gives_way_to_the_next() -> None:
    assert answering(Strategy.ADAPTIVE, words_found=False, meaning_found=True) is Strategy.SEMANTIC
    assert answering(Strategy.PROXIMITY, words_found=False, meaning_found=True) is Strategy.SEMANTIC
    assert answering(Strategy.SEMANTIC, words_found=True, meaning_found=False) is Strategy.PROXIMITY


@pytest.mark.parametrize("strategy", list(WEIGHTS))
def test_a_strategy_that_finds_something_answers_itself(strategy: Strategy) -> None:
    assert answering(strategy, words_found=True, meaning_found=True) is strategy


@pytest.mark.parametrize("strategy", list(WEIGHTS))
def test_where_nothing_is_found_the_one_asked_answers(strategy: Strategy) -> None:
    assert answering(strategy, words_found=False, meaning_found=False) is strategy


def test_every_weight_has_its_signal() -> None:
    assert all(len(weights.array) == len(SIGNALS) for weights in WEIGHTS.values())
