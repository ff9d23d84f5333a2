"""Tests of the signal `reopened`: what the user opened for similar words comes first the next time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from excerpt.base.model import Hit, Result
from excerpt.base.settings import Fusion, SearchSettings, Settings
from excerpt.index.snapshot import Snapshot
from excerpt.insight.topic import find_topic
from excerpt.search.engine import Engine
from excerpt.search.explain_note import explain_fragment
from excerpt.search.rank_reasons import count_past_uses, describe_past_uses
from excerpt.search.reopened import HALF_LIFE_DAYS, REOPENED_WEIGHT, ComparedQuestion, LearnedUses, select_words
from excerpt.search.usage import UsedHit, UseEvent, UseKind, UseLog, find_used_hit

NOW = 1_700_000_000.0
DAY = 86_400.0


def opened(path: str, query: str = "sync conflict", *, days_ago: float = 0, above: tuple[str, ...] = ()) -> UseEvent:
    return UseEvent(NOW - days_ago * DAY, UseKind.OPENED, query, path, above=above)


def split_questions(texts: Sequence[str]) -> list[ComparedQuestion]:
    """Return questions that are compared by the words between spaces."""
    return [ComparedQuestion(frozenset(text.split()), np.zeros(2, np.float32)) for text in texts]


def find_use_values(events: list[UseEvent], query: str = "sync conflict") -> dict[str, float]:
    """Return the value of each note for a query whose words are those between spaces."""
    learned = LearnedUses(events, split_questions).find(split_questions([query])[0])
    return {path: uses.value for path, uses in learned.items()}


# --- the value --------------------------------------------------------------------------------------------------------


def test_a_note_opened_once_for_the_same_words_has_half_of_the_highest_value() -> None:
    assert find_use_values([opened("A.md")]) == {"A.md": 0.5}


def test_each_further_use_of_a_note_adds_less_and_the_sum_stays_below_one() -> None:
    once, twice, often = (find_use_values([opened("A.md")] * count)["A.md"] for count in (1, 2, 1000))
    assert once < twice < often < 1
    assert twice - once < once


def test_similar_queries_count_by_their_common_words() -> None:
    similar = find_use_values([opened("A.md", "sync conflict phone")])["A.md"]
    assert 0 < similar < 0.5
    assert find_use_values([opened("A.md", "sync bread")]) == {}


def test_a_use_counts_half_after_a_half_life() -> None:
    old = find_use_values([opened("A.md", days_ago=HALF_LIFE_DAYS), opened("B.md", "bread")])
    assert old["A.md"] == pytest.approx(0.5 / 1.5)


def test_what_was_learned_is_kept_however_long_nobody_searches() -> None:
    assert find_use_values([opened("A.md", days_ago=2000)]) == {"A.md": 0.5}


def test_several_marks_in_one_pack_count_as_one_use() -> None:
    marked = [UseEvent(NOW, UseKind.MARKED, "sync", path, share=0.25) for path in ("A.md", "B.md")]
    assert find_use_values(marked, "sync") == {"A.md": 0.2, "B.md": 0.2}


def test_a_note_skipped_for_one_below_loses_what_was_learned() -> None:
    wrong, right = opened("A.md"), opened("B.md", above=("A.md", "C.md"))
    assert find_use_values([wrong, right]) == {"B.md": 0.5}
    assert find_use_values([wrong, wrong, right])["A.md"] == 0.5


def test_skipping_a_note_for_other_words_costs_nothing() -> None:
    assert find_use_values([opened("A.md"), opened("B.md", "bread", above=("A.md",))]) == {"A.md": 0.5}


@pytest.mark.parametrize(
    ("language", "first", "second"),
    [
        ("en", "how do I settle conflicts", "settling a conflict"),
        ("de", "wie ist das Wetter", "Wetter"),
        ("de", "Übung", "ubungen"),
    ],
)
def test_queries_that_differ_in_inflections_or_function_words_count_as_equal(
    language: str, first: str, second: str
) -> None:
    assert select_words(first, (language,)) == select_words(second, (language,))


def test_questions_with_the_same_beginning_are_not_similar() -> None:
    first, second = (select_words(f"how do I {verb} a note", ("en",)) for verb in ("publish", "delete"))
    assert len(first & second) / len(first | second) < 0.5


# --- the list ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def log(tmp_path: Path) -> UseLog:
    return UseLog(tmp_path / "use.jsonl")


@pytest.fixture
def learning_engine(snapshot: Snapshot, log: UseLog) -> Engine:
    return Engine(snapshot, Settings(), log)


def record_use(log: UseLog, result: Result, hit: Hit, kind: UseKind = UseKind.OPENED) -> None:
    found = find_used_hit(result.query, result.hits, hit.fragment.id)
    assert found is not None
    log.record(kind, [found], NOW)


def rank_of(result: Result, hit: Hit) -> int:
    return [each.fragment.id for each in result.hits].index(hit.fragment.id)


def value_of(hit: Hit) -> float:
    return next((signal.value for signal in hit.signals if signal.name == "reopened"), 0.0)


def test_an_opened_fragment_ranks_higher_the_next_time(learning_engine: Engine, log: UseLog) -> None:
    first = learning_engine.search("when does a sync conflict arise")
    chosen = first.hits[-1]
    for _ in range(3):
        record_use(log, first, chosen)
    learning_engine.search("something else")
    again = learning_engine.search("when does a sync conflict arise")
    assert rank_of(again, chosen) < rank_of(first, chosen)
    raised = again.hits[rank_of(again, chosen)]
    assert value_of(raised) == pytest.approx(0.75)
    assert raised.score == pytest.approx(chosen.score + 0.75 * REOPENED_WEIGHT)
    assert [value_of(hit) for hit in again.hits if hit.fragment.id != chosen.fragment.id] == [0] * (len(again.hits) - 1)


def test_opening_a_hit_does_not_reorder_the_list_on_the_screen(
    snapshot: Snapshot, learning_engine: Engine, log: UseLog
) -> None:
    first = learning_engine.search("water")
    record_use(log, first, first.hits[-1])
    assert learning_engine.search("water").hits == first.hits
    assert Engine(snapshot, Settings(), log).search("water").hits == first.hits


def test_a_reopened_note_never_ranks_above_a_note_named_like_the_query(learning_engine: Engine, log: UseLog) -> None:
    first = learning_engine.search("conflicts")
    assert first.hits[0].fragment.path == "Sync/Conflicts.md"
    for _ in range(50):
        record_use(log, first, first.hits[1])
    learning_engine.search("something else")
    again = learning_engine.search("conflicts")
    assert again.hits[0].fragment == first.hits[0].fragment
    assert again.hits[0].score == first.hits[0].score


@pytest.mark.parametrize("query", ["water", "conflicts", "salt | sync", "how is bread made"])
def test_learning_changes_neither_which_hits_are_found_nor_the_confidence(
    snapshot: Snapshot, learning_engine: Engine, log: UseLog, query: str
) -> None:
    first = learning_engine.search(query)
    for hit in first.hits[-3:]:
        record_use(log, first, hit)
    again = Engine(snapshot, Settings(), UseLog(log.file)).search(query)
    assert {hit.fragment.id: hit.confidence for hit in again.hits} == {
        hit.fragment.id: hit.confidence for hit in first.hits
    }
    assert again.confidence is first.confidence
    assert again.matched == first.matched


def test_without_a_similar_query_the_list_is_the_same(snapshot: Snapshot, learning_engine: Engine, log: UseLog) -> None:
    result = learning_engine.search("bread")
    record_use(log, result, result.hits[0])
    assert learning_engine.search("sync conflict").hits == Engine(snapshot, Settings()).search("sync conflict").hits


def test_forgetting_restores_the_previous_list(learning_engine: Engine, log: UseLog) -> None:
    first = learning_engine.search("water")
    record_use(log, first, first.hits[-1])
    learning_engine.search("something else")
    assert learning_engine.search("water").hits != first.hits
    raised = next(hit for hit in learning_engine.search("water").hits if hit.past_uses)
    log.forget_uses(raised.past_uses)
    assert learning_engine.search("water").hits == first.hits


def test_learning_can_be_switched_off(snapshot: Snapshot, learning_engine: Engine, log: UseLog) -> None:
    first = learning_engine.search("water")
    record_use(log, first, first.hits[-1])
    settings = Settings(search=SearchSettings(learn=False))
    assert Engine(snapshot, settings, UseLog(log.file)).search("water").hits == first.hits


def test_reciprocal_rank_fusion_does_not_learn(snapshot: Snapshot, log: UseLog) -> None:
    settings = Settings(search=SearchSettings(fusion=Fusion.RRF))
    first = Engine(snapshot, settings, log).search("water")
    record_use(log, first, first.hits[-1])
    assert Engine(snapshot, settings, UseLog(log.file)).search("water").hits == first.hits


def test_the_best_fragment_of_the_note_is_raised_if_the_opened_one_changed(
    learning_engine: Engine, log: UseLog
) -> None:
    log.record(UseKind.OPENED, [UsedHit("water", "Cooking/Bread.md", "an id of before", 1)], NOW)
    learning_engine.search("something else")
    raised = [hit for hit in learning_engine.search("water").hits if value_of(hit)]
    assert [hit.fragment.path for hit in raised] == ["Cooking/Bread.md"]


def test_an_overview_does_not_depend_on_learning(snapshot: Snapshot, learning_engine: Engine, log: UseLog) -> None:
    first = learning_engine.search("water")
    record_use(log, first, first.hits[-1])
    topic = find_topic(Engine(snapshot, Settings(), UseLog(log.file)), "water")
    plain = find_topic(Engine(snapshot, Settings()), "water")
    assert topic.best.tolist() == plain.best.tolist()
    assert topic.scores.tolist() == plain.scores.tolist()
    assert topic.answers == plain.answers


# --- the reason -------------------------------------------------------------------------------------------------------


def test_a_raised_hit_has_the_number_words_and_time_of_its_uses(learning_engine: Engine, log: UseLog) -> None:
    first = learning_engine.search("water")
    chosen = first.hits[-1]
    record_use(log, first, chosen)
    record_use(log, first, chosen)
    learning_engine.search("something else")
    again = learning_engine.search("waters")
    hit = next(hit for hit in again.hits if hit.past_uses)
    assert hit.fragment.id == chosen.fragment.id
    assert count_past_uses(hit) == "opened for this twice"
    assert describe_past_uses(hit).startswith("You opened it for “water” on 2023-11-1")
    record_use(log, again, hit, UseKind.COPIED)
    learning_engine.search("something else")
    hit = next(hit for hit in learning_engine.search("water").hits if hit.past_uses)
    assert count_past_uses(hit) == "used for this 3 times"


def test_the_explanation_of_a_hit_names_past_uses_and_its_parts_add_up(learning_engine: Engine, log: UseLog) -> None:
    first = learning_engine.search("water")
    record_use(log, first, first.hits[-1])
    learning_engine.search("something else")
    result = learning_engine.search("water")
    explanation = explain_fragment(learning_engine, "water", first.hits[-1].fragment, result.requested_strategy)
    assert "You opened it for “water”" in explanation.reason
    assert explanation.explanation is not None
    hit = explanation.explanation.hit
    assert sum(signal.part for signal in hit.signals) == pytest.approx(hit.score, abs=1e-6)
    other = explain_fragment(learning_engine, "water", first.hits[0].fragment, result.requested_strategy)
    assert "You opened" not in other.reason


def test_a_hit_that_was_never_used_has_no_past_use(learning_engine: Engine) -> None:
    hit = learning_engine.search("water").hits[0]
    assert count_past_uses(hit) == describe_past_uses(hit) == ""
