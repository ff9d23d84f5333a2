"""Tests of the cached candidates: reranking them gives the same hits as the engine."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.cases import LIMIT, Cases, Variant, auto, case_of, every_word_telling, places_of, ranked, score
from benchmarks.judgements import Place, QualityError, QuerySet, Question

from excerpt.base.kinds import Strategy
from excerpt.base.settings import BoostSettings, Fusion, SearchSettings, Settings
from excerpt.index.snapshot import Snapshot
from excerpt.search.engine import Engine
from excerpt.search.ranking import SIGNALS, STRATEGY_WEIGHTS
from tests.search.library import NOTES, open_vault

LOG = "# The alpha log\n\n" + "\n\n".join(
    f"## Day {n}\n\nThe alpha plan was discussed, see [[Alpha]] and day {n} of the log." for n in range(1, 9)
)
QUERIES = (
    "alpha",
    "first plan",
    "what does the beta need",
    "links to the diary and the second meeting",
    "the alpha plan of the log",
    "harbor firework",
    "同步设置",
    '"the alpha plan"',
    "zzqx",
)


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    opened = open_vault(tmp_path_factory.mktemp("cases"), {**NOTES, "Log.md": LOG})
    yield opened
    opened.close()


def hits_of_variant(snapshot: Snapshot, text: str, variant: Variant) -> list[Place]:
    case = case_of(Engine(snapshot, Settings()), Question(text, {}))
    return ranked(Cases(QuerySet("set", Path(), Path(), None), places_of(snapshot), (case,)), case, variant)


def hits_of_engine(snapshot: Snapshot, text: str, strategy: Strategy, settings: SearchSettings) -> list[Place]:
    hits = Engine(snapshot, Settings(search=settings)).search(text, strategy, LIMIT).hits
    return [Place(hit.fragment.path, hit.fragment.line_start, hit.fragment.line_end) for hit in hits]


@pytest.mark.parametrize("text", QUERIES)
def test_the_benchmarks_own_ranking_equals_the_ranking_of_the_engine(snapshot: Snapshot, text: str) -> None:
    assert hits_of_variant(snapshot, text, auto()) == hits_of_engine(snapshot, text, Strategy.AUTO, SearchSettings())


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("strategy", [s for s in Strategy if s is not Strategy.AUTO])
def test_the_benchmarks_own_ranking_by_each_strategy_equals_the_ranking_of_the_engine(
    snapshot: Snapshot, text: str, strategy: Strategy
) -> None:
    expected = hits_of_engine(snapshot, text, strategy, SearchSettings())
    assert hits_of_variant(snapshot, text, Variant("one", strategy, STRATEGY_WEIGHTS)) == expected


@pytest.mark.parametrize("text", QUERIES)
def test_the_benchmarks_own_reciprocal_rank_fusion_equals_the_ranking_of_the_engine(
    snapshot: Snapshot, text: str
) -> None:
    expected = hits_of_engine(snapshot, text, Strategy.HYBRID, SearchSettings(fusion=Fusion.RRF))
    assert hits_of_variant(snapshot, text, Variant("RRF", Strategy.HYBRID, None)) == expected


@pytest.mark.parametrize("per_note", [0, 1, 2])
def test_the_limit_of_hits_per_note_is_applied_as_by_the_engine(snapshot: Snapshot, per_note: int) -> None:
    expected = hits_of_engine(snapshot, QUERIES[4], Strategy.AUTO, SearchSettings(per_note=per_note))
    assert hits_of_variant(snapshot, QUERIES[4], replace(auto(), per_note=per_note, listed=2 * per_note)) == expected


def test_a_variant_without_links_ranks_as_the_engine_with_links_switched_off(snapshot: Snapshot) -> None:
    settings = SearchSettings(boosts=BoostSettings(links=False))
    scores = []
    for text in QUERIES[:5]:
        case = case_of(Engine(snapshot, Settings()), Question(text, {}))
        scores.append(score(case, auto()).scores - score(case, replace(auto(), links=0.0)).scores)
        assert hits_of_variant(snapshot, text, replace(auto(), links=0.0)) == hits_of_engine(
            snapshot, text, Strategy.AUTO, settings
        )
    assert any(difference.any() for difference in scores), "no query tells the two apart"


def test_exact_names_can_be_excluded_from_the_first_rank(snapshot: Snapshot) -> None:
    case = case_of(Engine(snapshot, Settings()), Question("First plan", {}))
    assert "name" in score(case, auto()).names
    assert "name" not in score(case, replace(auto(), names_first=False)).names


def test_word_weights_can_be_replaced_temporarily(snapshot: Snapshot) -> None:
    question = Question("what does the beta need", {})
    before = case_of(Engine(snapshot, Settings()), question)
    with every_word_telling():
        rarity_alone = case_of(Engine(snapshot, Settings()), question)
    after = case_of(Engine(snapshot, Settings()), question)
    words = SIGNALS.index("words")
    assert not np.array_equal(before.signals[:, words], rarity_alone.signals[:, words])
    assert np.array_equal(before.signals, after.signals)


@pytest.mark.parametrize("text", ["alpha | beta", "!s alpha"])
def test_alternatives_and_forced_strategies_are_refused(snapshot: Snapshot, text: str) -> None:
    with pytest.raises(QualityError, match="not compared"):
        case_of(Engine(snapshot, Settings()), Question(text, {}))
