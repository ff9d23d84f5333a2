"""Confidence: what its word depends on, and on real notes what is strong and what is nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.kinds import Confidence
from excerpt.search.confidence import ENOUGH, LIKELY, STRONG, WEAK, likelihood, word_for
from excerpt.search.engine import Engine

SHARES = st.floats(0, 1, width=32)
ORDER = list(Confidence)


def likely(coverage: float, telling: float, named: float) -> float:
    said = np.log1p(coverage * telling)
    coverages, words, names = (np.array([value], np.float32) for value in (coverage, said, named))
    return float(likelihood(coverages, words, names)[0])


@given(SHARES, SHARES, st.floats(0, 60), SHARES)
def test_more_of_the_query_never_makes_less_sure(one: float, other: float, telling: float, named: float) -> None:
    less, more = sorted((one, other))
    assert likely(less, telling, named) <= likely(more, telling, named)


@given(SHARES, st.floats(0, 60), SHARES, SHARES)
def test_a_better_name_never_makes_less_sure(coverage: float, rarity: float, one: float, other: float) -> None:
    less, more = sorted((one, other))
    assert likely(coverage, rarity, less) <= likely(coverage, rarity, more)


def test_rare_words_say_more_than_common_ones() -> None:
    assert likely(1.0, 3.0, 0.0) > likely(1.0, 0.5, 0.0)


@pytest.mark.parametrize(
    ("probability", "word"),
    [
        (1.0, Confidence.STRONG),
        (STRONG, Confidence.STRONG),
        (LIKELY, Confidence.LIKELY),
        (WEAK, Confidence.WEAK),
        (0.0, Confidence.NOTHING),
    ],
)
def test_each_word_begins_at_its_likelihood(probability: float, word: Confidence) -> None:
    assert word_for(probability, 0.0) is word


def test_a_fragment_with_enough_of_the_query_is_never_nothing() -> None:
    assert word_for(0.0, ENOUGH) is Confidence.WEAK


@pytest.mark.parametrize("name", ["Bread", "merge trouble", "日本語"])
def test_a_note_whose_name_is_the_query_is_strong(engine: Engine, name: str) -> None:
    assert engine.search(name).hits[0].confidence is Confidence.STRONG


@pytest.mark.parametrize("query", ["when does a sync conflict arise", "what does a starter of flour and water do"])
def test_what_the_notes_answer_is_at_least_likely(engine: Engine, query: str) -> None:
    assert engine.search(query).hits[0].confidence in {Confidence.LIKELY, Confidence.STRONG}


@pytest.mark.parametrize(
    "query",
    ["qwxz vbnmk plorf", "how is the treaty of westphalia judged by historians", "jet engine turbine blade fatigue"],
)
def test_what_the_notes_do_not_answer_is_nothing(engine: Engine, query: str) -> None:
    found = engine.search(query)
    assert found.confidence is Confidence.NOTHING


def test_the_result_is_as_sure_as_the_surest_of_its_first_hits(engine: Engine) -> None:
    found = engine.search("salt water")
    sure = [hit.confidence for hit in found.hits[:10] if hit.confidence]
    assert found.confidence is min(sure, key=ORDER.index)


def test_a_query_of_filters_alone_is_not_judged(engine: Engine) -> None:
    found = engine.search("path:cooking")
    assert found.hits
    assert found.confidence is None


def test_what_finds_nothing_says_that_nothing_answers(engine: Engine) -> None:
    assert engine.search('"conflict sync"').confidence is Confidence.NOTHING
