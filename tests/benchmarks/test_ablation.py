"""Tests of the ablation: each variant changes one weight, and the verdicts printed follow from the figures."""

from __future__ import annotations

import pytest
from benchmarks.ablation import (
    BELOW_BEST,
    FOUR,
    HYBRID,
    against_best,
    against_rrf,
    compared,
    halved_and_doubled,
    led,
    without_each,
)
from benchmarks.cases import LINKS
from benchmarks.judgements import Summary
from msgspec.structs import replace

from excerpt.base.kinds import Strategy
from excerpt.search import ranking
from excerpt.search.ranking import SIGNALS


def summaries_of(auto: float, best: float, others: float = 0.5) -> dict[str, dict[str, Summary]]:
    values = {"auto": auto, **{str(strategy): others for strategy in FOUR}, "hybrid": best, "RRF": others}
    return {name: {"cacm": Summary(value, None, None, 1.0)} for name, value in values.items()}


def test_the_strategy_auto_may_rank_slightly_worse_than_the_best_strategy() -> None:
    assert against_best(summaries_of(0.7, 0.7 + 0.9 * BELOW_BEST)).startswith("- pass")
    assert against_best(summaries_of(0.7, 0.7 + 1.1 * BELOW_BEST)).startswith("- FAIL")


def test_the_largest_loss_of_auto_is_reported() -> None:
    assert "-0.0200 on cacm" in against_best(summaries_of(0.7, 0.72))


@pytest.mark.parametrize(("auto", "word"), [(0.6, "pass"), (0.5, "FAIL"), (0.4, "FAIL")])
def test_the_strategy_auto_must_rank_better_than_reciprocal_rank_fusion(auto: float, word: str) -> None:
    assert against_rrf(summaries_of(auto, auto)).startswith(f"- {word}")


def test_each_signal_is_left_out_of_the_ranking_in_one_variant() -> None:
    assert [name for name, _ in without_each()] == [*SIGNALS, "links", "name"]
    for name, variant in without_each()[: len(SIGNALS)]:
        assert variant.weights is not None
        weights = variant.weights[Strategy.HYBRID]
        assert [signal for signal in SIGNALS if getattr(weights, signal) != getattr(HYBRID, signal)] == [name]


def test_each_weight_is_halved_in_one_variant_and_doubled_in_another() -> None:
    turned = {variant.name: variant for variant in halved_and_doubled()}
    assert len(turned) == 2 * (len(SIGNALS) + 1)
    doubled = turned[f"words {2 * HYBRID.words:g}"].weights
    assert doubled is not None
    assert doubled[Strategy.HYBRID] == replace(HYBRID, words=2 * HYBRID.words)
    assert turned[f"links {LINKS / 2:g}"].links == LINKS / 2


def test_compared_variants_have_unique_names() -> None:
    names = [variant.name for variant in compared()]
    assert len(names) == len(set(names))
    assert {"auto", *map(str, FOUR), "RRF"} < set(names)


@pytest.mark.parametrize("leader", list(Strategy))
def test_the_shipped_primary_strategy_gives_the_shipped_weights(leader: Strategy) -> None:
    assert led(HYBRID, ranking.PRIMARY_WEIGHT)[leader] == ranking.weights_for(leader)
    assert led(HYBRID, 0.0)[leader] == HYBRID
