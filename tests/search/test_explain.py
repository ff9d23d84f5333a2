"""Tests of explained scores: every number is the engine's own, and they add up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from excerpt.base.kinds import Strategy
from excerpt.index.snapshot import Snapshot
from excerpt.search.engine import Engine
from excerpt.search.explain import explain_hits
from excerpt.search.results import Explanation, FieldCount, TermLikeness, WordContribution

QUERIES = [
    "sync conflict",
    "how do two devices keep one note",
    "confl",
    "sinc conflikt zzzz",
    "同期します",
    "R&D C++",
    "salt | sync",
]


def explain_first_hit(engine: Engine, query: str) -> Explanation:
    return explain_hits(engine, engine.search(query), 0, 1)[0]


def word_of_first_hit(engine: Engine, query: str, surface: str) -> WordContribution:
    return next(part for part in explain_first_hit(engine, query).words if part.word == surface)


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("query", QUERIES)
def test_values_times_weights_are_the_parts_that_sum_to_the_score(
    engine: Engine, query: str, strategy: Strategy
) -> None:
    result = engine.search(query, strategy)
    explanations = explain_hits(engine, result)
    assert [told.hit for told in explanations] == list(result.hits)
    for told in explanations:
        assert all(s.part == pytest.approx(s.value * s.weight, abs=1e-6) for s in told.hit.signals)
        assert sum(s.part for s in told.hit.signals) == pytest.approx(told.hit.score, abs=1e-5)


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("query", QUERIES)
def test_the_parts_of_the_words_sum_to_the_words_signal(engine: Engine, query: str, strategy: Strategy) -> None:
    for told in explain_hits(engine, engine.search(query, strategy)):
        of_signal = next(signal.part for signal in told.hit.signals if signal.name == "words")
        assert sum(part.part for part in told.words) == pytest.approx(of_signal, abs=1e-5)


def test_an_explanation_has_the_rank_and_the_share_of_the_hit_in_the_list(engine: Engine) -> None:
    result = engine.search("sync conflict")
    second, third = explain_hits(engine, result, 1, 3)
    assert (second.rank, third.rank) == (2, 3)
    assert second.share == result.hits[1].score / result.hits[0].score
    assert explain_first_hit(engine, "sync conflict").share == 1.0


def test_the_explanation_of_a_word_found_exactly_names_that_word(engine: Engine) -> None:
    found = word_of_first_hit(engine, "conflict ", "conflict")
    assert [(like.likeness, like.share) for like in found.stands_for] == [(TermLikeness.EXACT, 1.0)]
    assert found.terms == ("conflict",)


def test_the_explanation_of_a_word_being_typed_names_its_completions(engine: Engine) -> None:
    begun = word_of_first_hit(engine, "tomat", "tomat")
    assert [like.likeness for like in begun.stands_for] == [TermLikeness.BEGINS]
    assert all(term.startswith("tomat") for term in begun.stands_for[0].terms)
    assert begun.terms
    assert begun.stands_for[0].share < 1


def test_the_explanation_of_an_unknown_word_names_similar_spellings(engine: Engine) -> None:
    found = word_of_first_hit(engine, "encrypsion ", "encrypsion")
    assert {like.likeness for like in found.stands_for} == {TermLikeness.SPELLED}
    assert found.terms


def test_a_word_without_similar_spellings_is_missing(engine: Engine) -> None:
    found = word_of_first_hit(engine, "zqxzqx bread ", "zqxzqx")
    assert found.stands_for == ()
    assert (found.fragments, found.part, found.is_missing) == (0, 0.0, True)


def test_a_word_has_its_number_of_fragments_and_its_locations(engine: Engine, snapshot: Snapshot) -> None:
    told = explain_first_hit(engine, "sourdough ")
    (found,) = told.words
    fragments = [f for path in snapshot.note_paths() for f in snapshot.note_fragments(path)]
    having = [f for f in fragments if "sourdough" in " ".join((*f.heading_path, f.text)).lower()]
    assert told.hit.fragment in having
    assert found.fragments == len(having)
    assert FieldCount("heading", 1) in found.places


def test_occurrences_are_counted_by_field(engine: Engine) -> None:
    told = explain_first_hit(engine, "what a sync conflict is ")
    (found,) = (part for part in told.words if part.word == "conflict")
    counts = {place.field: place.count for place in found.places}
    assert told.hit.fragment.heading_path == ("Conflicts", "What a sync conflict is")
    assert (counts["text"], counts["title"], counts["heading"]) == (1, 1, 1)


def test_rare_words_have_a_higher_weight_than_common_ones(engine: Engine) -> None:
    words = {part.word: part for part in explain_first_hit(engine, "sync tablet ").words}
    assert words["tablet"].fragments < words["sync"].fragments
    assert words["tablet"].idf > words["sync"].idf


def test_a_common_word_is_marked_as_counting_less(engine: Engine) -> None:
    words = {part.word: part for part in explain_first_hit(engine, "the tablet ").words}
    assert 0 < words["the"].term_weight < words["tablet"].term_weight <= 1


def test_missing_words_are_listed_the_rarest_first(engine: Engine) -> None:
    told = explain_first_hit(engine, "sync encryption tablet phones ")
    missing = told.missing_words
    assert missing
    assert all(part.is_missing and not part.places and part.part == 0 for part in missing)
    rarities = [part.idf * part.term_weight for part in missing]
    assert rarities == sorted(rarities, reverse=True)


def test_a_hit_is_explained_with_the_words_of_its_alternative(engine: Engine) -> None:
    told = {told.hit.fragment.path: told for told in explain_hits(engine, engine.search("tomatoes | sourdough "))}
    assert [part.word for part in told["Garden/Tomatoes.md"].words] == ["tomatoes"]
    assert [part.word for part in told["Cooking/Bread.md"].words] == ["sourdough"]


def test_hits_of_filters_alone_have_no_words(engine: Engine) -> None:
    assert {told.words for told in explain_hits(engine, engine.search("path:garden/"))} == {()}


def test_chinese_or_japanese_characters_that_occur_together_are_explained_as_one_word(engine: Engine) -> None:
    told = explain_first_hit(engine, "リモート保管庫")
    assert [(part.word, part.is_missing) for part in told.words] == [("リモート保管庫", False)]
    assert told.words[0].fragments == 1
    assert told.words[0].part == pytest.approx(next(s.part for s in told.hit.signals if s.name == "words"), abs=1e-5)


def test_a_run_of_characters_is_divided_into_present_and_missing_words(engine: Engine) -> None:
    told = explain_first_hit(engine, "保管庫削除方法 sync")
    assert [(part.word, part.is_missing) for part in told.words] == [
        ("保管庫", False),
        ("削除方法", True),
        ("sync", True),
    ]
    assert [part.word for part in told.missing_words] == ["削除方法", "sync"]


def test_words_with_spaces_between_them_are_explained_separately(engine: Engine) -> None:
    assert [part.word for part in explain_first_hit(engine, "note e 保管 管庫").words] == ["note", "e", "保管", "管庫"]


def test_a_result_of_another_generation_is_explained_without_words(engine: Engine) -> None:
    old = replace(engine.search("sync conflict"), generation=99)
    assert {told.words for told in explain_hits(engine, old)} == {()}


def test_an_empty_result_has_no_explanation(engine: Engine) -> None:
    assert explain_hits(engine, engine.search('"zqxzqx"')) == ()
