"""Tests that searching all strategies at once equals a search with each."""

from __future__ import annotations

import pytest

from excerpt.kinds import Strategy
from excerpt.search.engine import Engine, search_by_strategy


@pytest.mark.parametrize(
    "query", ["sync conflict", "water flour | tomatoes", "tag:sync", "how is a note kept safe", "zzz"]
)
def test_each_answer_is_that_of_a_search_under_the_strategy(engine: Engine, query: str) -> None:
    for found in search_by_strategy(engine, query, 10):
        searched = engine.search(query, found.requested_strategy, 10, highlight_count=0)
        assert [hit.fragment.id for hit in found.hits] == [hit.fragment.id for hit in searched.hits]
        assert (found.strategy, found.matched) == (searched.strategy, searched.matched)


def test_a_strategy_forced_in_the_query_does_not_count(engine: Engine) -> None:
    assert [found.requested_strategy for found in search_by_strategy(engine, "!s sync", 5)] == list(Strategy)
