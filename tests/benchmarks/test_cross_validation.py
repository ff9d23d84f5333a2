"""Tests of cross-validation: weights are sampled reproducibly and chosen without the test fold."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.ablation import HYBRID
from benchmarks.cross_validation import FACTOR, by_family, chosen_without, sample
from benchmarks.judgements import QuerySet
from msgspec.structs import astuple

from excerpt.base.kinds import Strategy

GERMAN, ENGLISH, OTHER = (
    QuerySet(name, Path(), Path(), None) for name in ("obsidian-help-de", "obsidian-help-en", "cacm")
)


def test_the_same_seed_draws_the_same_weights() -> None:
    assert sample(5, 1) == sample(5, 1)
    assert sample(5, 1) != sample(5, 2)


def test_drawn_weights_are_near_the_shipped_ones_and_have_the_same_sum() -> None:
    for variant in sample(20, 1):
        assert variant.weights is not None
        drawn = astuple(variant.weights[Strategy.HYBRID])
        ratios = [ours / shipped for ours, shipped in zip(drawn, astuple(HYBRID), strict=True)]
        assert sum(drawn) == pytest.approx(sum(astuple(HYBRID)))
        assert max(ratios) / min(ratios) <= FACTOR**2 + 1e-9


def test_translations_count_as_one_set() -> None:
    values = {GERMAN.name: 0.4, ENGLISH.name: 0.6, OTHER.name: 0.9}
    assert by_family([GERMAN, ENGLISH, OTHER], values) == pytest.approx(0.7)


def test_weights_for_a_set_are_chosen_without_that_set_and_its_translations() -> None:
    good_here = {GERMAN.name: 1.0, ENGLISH.name: 1.0, OTHER.name: 0.1}
    good_elsewhere = {GERMAN.name: 0.1, ENGLISH.name: 0.1, OTHER.name: 0.2}
    assert chosen_without(GERMAN, [GERMAN, ENGLISH, OTHER], [good_here, good_elsewhere]) is good_elsewhere
    assert chosen_without(OTHER, [GERMAN, ENGLISH, OTHER], [good_here, good_elsewhere]) is good_here
