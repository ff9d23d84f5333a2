"""Tests of confidence: what it depends on, and its values on real notes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.base.kinds import Confidence, Strategy
from excerpt.base.settings import Settings
from excerpt.search.confidence import (
    LIKELY_LIKELIHOOD,
    MIN_WEAK_COVERAGE,
    STRONG_LIKELIHOOD,
    UNSURE_LIKELIHOOD,
    WEAK_LIKELIHOOD,
    confidence_label,
    estimate_likelihood,
)
from excerpt.search.engine import Engine, best_likelihood
from excerpt.search.evidence import find_exact_words
from tests.search.library import open_vault

_SAID = "Here is said, among much else that is of another kind and fills some lines, what came of it: %s, and no more."
CODES = {
    "Codes.md": "\n\n".join(
        f"## Part {number}\n\n{_SAID % word}"
        for number, word in enumerate(
            (
                "0x80070005",
                "E0308",
                "settings.json",
                "std::vector",
                "Get-ChildItem",
                "snake_case_name",
                "Windows 1.0.21",
                "iPhone",
            )
        )
    ),
    "Garden.md": "Turn the heap twice a year, settings and vectors aside. Get a child an item.\n",
}


@pytest.fixture(scope="module")
def code_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with closing(open_vault(tmp_path_factory.mktemp("codes"), CODES)) as snapshot:
        yield Engine(snapshot, Settings())


def test_words_of_a_date_in_the_query_are_not_required_of_a_passage(tmp_path: Path) -> None:
    notes = {"Daily/2026-03-05.md": "Watered the garden.", "Soup.md": "Lentils simmer slowly.", "Tea.md": "Green tea."}
    with closing(open_vault(tmp_path, notes)) as snapshot:
        assert Engine(snapshot, Settings()).search("garden in March 2026").confidence is not Confidence.NOTHING


def test_unknown_question_words_are_not_required_of_a_passage(tmp_path: Path) -> None:
    plants = ("peas", "spinach", "carrots", "lettuce")
    weeks = "\n\n".join(f"## Week {week}\n\nSow {plant} in rows." for week, plant in enumerate(plants))
    with closing(open_vault(tmp_path, {f"Month {month}.md": weeks for month in range(12)})) as snapshot:
        engine = Engine(snapshot, Settings())
        assert engine.search("when to sow peas").confidence is not Confidence.NOTHING
        assert engine.search("tax to sow peas").confidence is Confidence.NOTHING


SHARES = st.floats(0, 1, width=32)
ORDER = list(Confidence)


def likely(
    coverage: float, telling: float, named: float, lead: float = 0.0, kind: Strategy = Strategy.PROXIMITY
) -> float:
    features = np.array([[coverage, np.log1p(coverage * telling), named, np.log(5), lead]], np.float32)
    return float(estimate_likelihood(features, kind)[0])


@given(SHARES, SHARES, st.floats(0, 60), SHARES)
def test_more_matched_words_never_lower_the_confidence(one: float, other: float, telling: float, named: float) -> None:
    less, more = sorted((one, other))
    assert likely(less, telling, named) <= likely(more, telling, named)


@given(SHARES, st.floats(0, 60), SHARES, SHARES)
def test_a_better_name_match_never_lowers_the_confidence(
    coverage: float, rarity: float, one: float, other: float
) -> None:
    less, more = sorted((one, other))
    assert likely(coverage, rarity, less) <= likely(coverage, rarity, more)


@given(SHARES, st.floats(-3, 1, width=32), st.floats(-3, 1, width=32))
def test_a_larger_lead_over_the_next_hit_never_lowers_the_confidence(coverage: float, one: float, other: float) -> None:
    less, more = sorted((one, other))
    assert likely(coverage, 2.0, 0.2, less) <= likely(coverage, 2.0, 0.2, more)


def test_rare_words_raise_the_confidence_more_than_common_ones() -> None:
    assert likely(1.0, 3.0, 0.0) > likely(1.0, 0.5, 0.0)


def test_the_same_share_of_more_words_is_more_confident() -> None:
    few, some, many = (
        likely(0.6, 3.0, 0.2, kind=kind) for kind in (Strategy.ADAPTIVE, Strategy.PROXIMITY, Strategy.SEMANTIC)
    )
    assert few < some < many


@pytest.mark.parametrize(
    ("probability", "word"),
    [
        (1.0, Confidence.STRONG),
        (STRONG_LIKELIHOOD, Confidence.STRONG),
        (LIKELY_LIKELIHOOD, Confidence.LIKELY),
        (WEAK_LIKELIHOOD, Confidence.WEAK),
        (0.0, Confidence.NOTHING),
    ],
)
def test_each_confidence_label_starts_at_its_likelihood(probability: float, word: Confidence) -> None:
    assert confidence_label(probability, 0.0) is word


def test_a_fragment_with_all_query_words_is_never_nothing() -> None:
    assert confidence_label(0.0, MIN_WEAK_COVERAGE) is Confidence.WEAK


@pytest.mark.parametrize("name", ["Bread", "merge trouble", "日本語"])
def test_a_note_named_like_the_query_is_strong(engine: Engine, name: str) -> None:
    assert engine.search(name).hits[0].confidence is Confidence.STRONG


@pytest.mark.parametrize("query", ["when does a sync conflict arise", "what does a starter of flour and water do"])
def test_a_hit_that_answers_its_question_is_at_least_likely(engine: Engine, query: str) -> None:
    assert engine.search(query).hits[0].confidence in {Confidence.LIKELY, Confidence.STRONG}


@pytest.mark.parametrize(
    "query",
    ["qwxz vbnmk plorf", "how is the treaty of westphalia judged by historians", "jet engine turbine blade fatigue"],
)
def test_a_question_that_no_note_answers_has_the_confidence_nothing(engine: Engine, query: str) -> None:
    found = engine.search(query)
    assert found.confidence is Confidence.NOTHING


def test_the_result_has_the_highest_confidence_of_its_first_hits(engine: Engine) -> None:
    found = engine.search("salt water")
    sure = [hit.confidence for hit in found.hits[:5] if hit.confidence]
    assert found.confidence is min(sure, key=ORDER.index)


def find_best_likelihood(engine: Engine, query: str) -> float | None:
    answers = [engine.score_query(alternative, Strategy.AUTO) for alternative in engine.parse(query)]
    return best_likelihood(engine.merge_ranking(answers))


@pytest.mark.parametrize(
    ("query", "is_sure"), [("when does a sync conflict arise", True), ("jet engine turbine", False)]
)
def test_the_best_likelihood_says_whether_words_find_an_answer(engine: Engine, query: str, is_sure: bool) -> None:
    likelihood = find_best_likelihood(engine, query)
    assert likelihood is not None
    assert (likelihood >= UNSURE_LIKELIHOOD) == is_sure


@pytest.mark.parametrize("limit", [1, 3, 10, 50])
def test_a_result_is_unsure_if_its_best_likelihood_is_low_whatever_the_limit(engine: Engine, limit: int) -> None:
    found = engine.search("the garden and the jet engine", limit=limit)
    likelihood = find_best_likelihood(engine, "the garden and the jet engine")
    assert likelihood is not None
    assert WEAK_LIKELIHOOD < likelihood < UNSURE_LIKELIHOOD
    assert found.confidence is Confidence.UNSURE
    assert Confidence.UNSURE not in {hit.confidence for hit in found.hits}
    assert found.notice.startswith("No passage has “")


@pytest.mark.parametrize(
    ("query", "is_by_meaning"),
    [
        ("the garden and the jet engine", True),
        ("!s the garden and the jet engine", True),
        ("!a the garden and the jet engine", False),
        ("the garden | the engine", False),
        ("the garden and the jet engine sort:date", False),
    ],
)
def test_hits_are_called_nearest_in_meaning_only_if_meaning_ranks_them(
    engine: Engine, query: str, is_by_meaning: bool
) -> None:
    notice = engine.search(query).notice
    assert notice.endswith("; these are nearest in meaning." if is_by_meaning else "; these are nearest.")


@pytest.mark.parametrize("query", ["when does a sync conflict arise", "jet turbine", "file:Bread"])
def test_only_an_unsure_result_names_missing_words(engine: Engine, query: str) -> None:
    found = engine.search(query)
    assert found.confidence is not Confidence.UNSURE
    assert found.notice == ""


GAMBLING = {
    "Strategic Gambling with Ideas.md": "# Strategic Gambling with Ideas\n\nBet on many, drop most of them early.\n",
    "b.md": "# Other\n\nStrategic plans for the barn.\n",
    **{f"{n}.md": f"# Day {n}\n\nPlain text number {n} about walking, tea and letters.\n" for n in range(8)},
}


@pytest.mark.parametrize("query", ["strategic gambl", "stratgic gamblng", "strategic gambling wiht idaes"])
def test_corrected_words_and_partly_typed_words_count_by_their_similarity(tmp_path: Path, query: str) -> None:
    with closing(open_vault(tmp_path, GAMBLING)) as snapshot:
        found = Engine(snapshot, Settings()).search(query)
        assert found.hits[0].fragment.path.startswith("Strategic")
        assert Confidence.NOTHING not in {found.confidence, found.hits[0].confidence}


def test_without_any_hit_the_best_likelihood_is_zero(engine: Engine) -> None:
    assert find_best_likelihood(engine, "salt path:nowhere/") == 0.0


def test_hits_listed_by_filters_alone_have_no_likelihood(engine: Engine) -> None:
    assert find_best_likelihood(engine, "file:Bread") is None


QUERIES = ("salt water", "when does a sync conflict arise", "jet engine turbine", "bread | salt", "Bread", "sync tag:x")


@given(st.sampled_from(QUERIES), st.integers(0, 400))
def test_confidence_is_the_same_at_every_limit(engine: Engine, query: str, limit: int) -> None:
    assert engine.search(query, limit=limit).confidence is engine.search(query).confidence


@pytest.mark.parametrize(
    "query",
    [
        "0x80070005",
        "E0308",
        "settings.json",
        "std::vector",
        "Get-ChildItem",
        "snake_case_name",
        '"turn the heap"',
        "error E0308 in the compiler",
    ],
)
def test_a_hit_with_every_exact_word_or_phrase_of_the_query_is_at_least_likely(code_engine: Engine, query: str) -> None:
    assert code_engine.search(query).hits[0].confidence in {Confidence.LIKELY, Confidence.STRONG}


def test_a_name_in_mixed_case_makes_a_question_with_other_words_no_surer(code_engine: Engine) -> None:
    assert code_engine.search("iPhone").confidence is Confidence.STRONG
    asked = code_engine.search("broken iPhone screen glass repair")
    assert "iPhone" in asked.hits[0].fragment.text
    assert asked.hits[0].confidence is Confidence.WEAK


@pytest.mark.parametrize(
    ("link", "confidence"), [("Cellar|winter store", Confidence.STRONG), ("Cellar", Confidence.LIKELY)]
)
def test_the_text_of_a_link_counts_like_a_name(tmp_path: Path, link: str, confidence: Confidence) -> None:
    notes = {
        "Cellar.md": "# Cellar\n\nKeep potatoes and apples apart, in the dark.\n",
        "Plan.md": f"# Plan\n\nIn autumn, see [[{link}]] first.\n",
        **{f"{n}.md": f"# Day {n}\n\nIn winter, walk {n} miles to the store.\n" for n in range(4)},
    }
    with closing(open_vault(tmp_path, notes)) as snapshot:
        first = Engine(snapshot, Settings()).search("potatoes winter store").hits[0]
    assert (first.fragment.path, first.confidence) == ("Cellar.md", confidence)


@pytest.mark.parametrize(
    "query", ["E0309", "0x80070006", "settings.yaml", "std::deque", "Get-Process", "phoneOS", '"heap the turn"']
)
def test_a_hit_with_only_a_part_of_an_exact_word_is_not_likely(code_engine: Engine, query: str) -> None:
    assert code_engine.search(query).confidence in {Confidence.UNSURE, Confidence.NOTHING}


def test_a_common_exact_word_does_not_raise_the_confidence(tmp_path: Path) -> None:
    notes = {f"{n}.md": f"On mp3, the {n}th: {'words of another kind, ' * 9}end.\n" for n in range(40)}
    with closing(open_vault(tmp_path, notes)) as snapshot:
        assert Engine(snapshot, Settings()).search("mp3").confidence is Confidence.UNSURE


@pytest.mark.parametrize("query", ["__init__", "--__", "____", "a_.b_ $_", "_." * 5000, "\\\\ab"])
def test_an_exact_word_of_punctuation_is_no_error(code_engine: Engine, query: str) -> None:
    assert code_engine.search(query).confidence in set(Confidence)


def test_words_of_ordinary_language_are_not_exact_words() -> None:
    assert find_exact_words("Don't mix state-of-the-art and/or the 2nd part, e.g. of the 1990s, in 2024.") == []


@pytest.mark.parametrize("query", ["path:cooking", "-conflict", "sort:date", '"."', "path:cooking %%"])
def test_a_query_of_filters_has_no_confidence(engine: Engine, query: str) -> None:
    found = engine.search(query)
    assert found.hits
    assert {found.confidence, *(hit.confidence for hit in found.hits)} == {None}


@pytest.mark.parametrize("query", ["soup", '"onflic"', '"conflict" path:sync', "path:sync the", "soup sort:date"])
def test_a_query_that_has_words_and_each_of_its_hits_have_a_confidence(engine: Engine, query: str) -> None:
    found = engine.search(query)
    assert None not in {found.confidence, *(hit.confidence for hit in found.hits)}


def test_without_hits_the_confidence_is_nothing(engine: Engine) -> None:
    assert engine.search('"conflict sync"').confidence is Confidence.NOTHING
