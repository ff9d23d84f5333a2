"""Tests of evidence: top scores, nearness in meaning, and how far it is trusted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from excerpt.base.settings import Settings
from excerpt.index.snapshot import Snapshot
from excerpt.search import bm25, evidence
from excerpt.search.bm25 import WordIndex, sum_scores
from excerpt.search.engine import Engine
from excerpt.search.evidence import QuerySimilarities, WordScores, compute_meaning_factor, scale_above_mean, top_k
from tests.search.library import open_vault
from tests.search.tiny_reader import TinyReader, parsed_query

WORDS = ("apple", "pear", "plum", "fig")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
SHARES = st.lists(st.sampled_from((1.0, 0.35, 0.1)), min_size=len(WORDS), max_size=len(WORDS))


@pytest.fixture
def every_word_common(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set sizes at which a few texts count as many."""
    monkeypatch.setattr(bm25, "MIN_LAZY_OCCURRENCES", 0)
    monkeypatch.setattr(evidence, "_STRIPE_LENGTH", 1)
    monkeypatch.setattr(evidence, "_MIN_SKIP_RATIO", 1)


@pytest.mark.usefixtures("every_word_common")
@given(texts=st.lists(TEXTS, min_size=1, max_size=30), shares=SHARES, size=st.integers(1, 5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_top_scores_equal_those_of_a_full_scan_exactly(texts: list[str], shares: list[float], size: int) -> None:
    reader = TinyReader(*texts)
    index = WordIndex(reader)
    words = index.expand(parsed_query(" ".join(WORDS)), open_word=False, fuzzy_threshold=1.0)
    matches = [index.match(word).with_share(share) for word, share in zip(words, shares, strict=True)]
    expected = sum_scores(
        [WordIndex(reader).match(w).with_share(s) for w, s in zip(words, shares, strict=True)], len(texts)
    )
    scores = WordScores(matches, len(texts))
    best = scores.top_rows(size)
    assert best.tolist() == top_k(expected, size, 0.0).tolist()
    assert scores.scores_at(best).tobytes() == expected[best].tobytes()
    every = np.arange(len(texts), dtype=np.int32)
    assert scores.scores_at(every).tobytes() == expected.tobytes()
    assert scores.flag_matching_rows().tolist() == (expected > 0).tolist()


@pytest.mark.usefixtures("every_word_common")
def test_a_fragment_that_a_filter_excludes_has_no_score() -> None:
    reader = TinyReader("apple", "apple pear", "pear")
    index = WordIndex(reader)
    matches = [index.match(word) for word in index.expand(parsed_query("apple"), open_word=False, fuzzy_threshold=1.0)]
    scores = WordScores(matches, 3, np.array([False, True, True]))
    assert scores.top_rows(3).tolist() == [1]
    assert scores.scores_at(np.array([0, 1], np.int32))[0] == 0


@pytest.mark.usefixtures("every_word_common")
def test_words_that_cannot_change_the_list_are_not_scored() -> None:
    reader = TinyReader(*(["fig apple", "fig apple pear"] + ["pear plum"] * 4 + ["pear"] * 60))
    index = WordIndex(reader)
    words = index.expand(parsed_query("fig pear"), open_word=False, fuzzy_threshold=1.0)
    matches = [index.match(word) for word in words]
    matches[0].rows  # noqa: B018
    scores = WordScores(matches, reader.doc_count)
    assert scores.top_rows(2).tolist() == [0, 1]
    assert not matches[1].term_matches.is_computed


COSINES = np.array([0.9, 0.5, 0.3, 0.7], np.float32)


def test_by_meaning_the_nearest_fragment_scores_one_and_an_average_one_zero() -> None:
    found = scale_above_mean(COSINES, mean=0.5, highest=0.9)
    assert found.tolist() == pytest.approx([1.0, 0.0, 0.0, 0.5])


def test_if_no_fragment_is_above_the_mean_similarity_no_fragment_scores_by_meaning() -> None:
    assert scale_above_mean(np.zeros(2, np.float32), mean=0.0, highest=0.0).tolist() == [0.0, 0.0]


def test_meaning_has_full_weight_for_an_english_query() -> None:
    assert compute_meaning_factor("how do I keep notes", ("en", "de"), ()) == 1.0


def test_a_vault_of_unknown_language_counts_as_english_for_the_weight_of_meaning() -> None:
    assert compute_meaning_factor("notes", (), ()) == 1.0


def test_meaning_has_less_weight_for_other_languages_and_no_weight_for_other_scripts() -> None:
    assert 0 < compute_meaning_factor("Wie behalte ich Notizen", ("de", "en"), ()) < 1
    assert compute_meaning_factor("新しい保管庫", ("ja",), ()) == 0.0


def test_meaning_has_partial_weight_for_a_query_in_mixed_languages() -> None:
    assert 0 < compute_meaning_factor("Obsidian 同期", ("en",), ()) < 1


def test_meaning_has_full_weight_for_letters_of_the_models_languages() -> None:
    assert compute_meaning_factor("新しい保管庫", ("ja",), ("en", "ja")) == 1.0
    assert compute_meaning_factor("как вести заметки", ("ru",), ("en", "ru")) == 1.0
    assert compute_meaning_factor("Wie behalte ich Notizen", ("de",), ("de", "en")) == 1.0
    assert compute_meaning_factor("как вести заметки", ("ru",), ("en", "ja")) == 0.0


def test_meaning_has_full_weight_for_a_query_without_letters() -> None:
    assert compute_meaning_factor("1.0.21", ("en",), ()) == 1.0


def test_the_only_fragment_of_a_vault_has_no_score_by_meaning(tmp_path: Path) -> None:
    snapshot = open_vault(tmp_path, {"Kitchen.md": "# Kitchen\n\nSimmer red lentils with cumin.\n"})
    assert not Engine(snapshot, Settings()).search("walrus").hits
    snapshot.close()


@pytest.mark.parametrize(("query", "is_found"), [("strokeColor", False), ("walrus colour", True), ("lentils", True)])
def test_an_identifier_that_no_note_has_is_not_found_by_its_meaning(tmp_path: Path, query: str, is_found: bool) -> None:
    texts = {"a.md": "Simmer red lentils with cumin.\n", "b.md": "Paint the door.\n", "c.md": "The seal swims.\n"}
    snapshot = open_vault(tmp_path, texts)
    assert bool(Engine(snapshot, Settings()).search(query).hits) is is_found
    snapshot.close()


QUERIES = ("sync conflict", "how to publish notes", "conflict")


@pytest.mark.parametrize("min_rows_of_thread", [0, 50_000])
@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("query", QUERIES)
def test_the_approximate_nearest_fragments_equal_the_exact_ones(
    snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch, query: str, size: int, min_rows_of_thread: int
) -> None:
    vector = snapshot.embedder.embed_query(query)
    exact = QuerySimilarities(vector, snapshot.vectors, snapshot)
    monkeypatch.setattr(evidence, "_STRIPE_LENGTH", 1)
    monkeypatch.setattr(evidence, "POOL_SIZE", 0)
    monkeypatch.setattr(evidence, "MIN_ROWS_OF_THREAD", min_rows_of_thread)
    rough = QuerySimilarities(vector, snapshot.vectors, snapshot)
    nearest = rough.top_rows(size)
    assert nearest.tolist() == exact.top_rows(size).tolist()
    assert rough.cosines_at(nearest).tobytes() == exact.cosines_at(nearest).tobytes()
    assert rough.mean == pytest.approx(exact.mean, abs=1e-7)
    assert rough.all_cosines.tobytes() == exact.all_cosines.tobytes()


def test_approximate_cosines_limited_to_some_rows_have_the_same_nearest_as_exact_ones(
    snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    vector = snapshot.embedder.embed_query("sync conflict")
    exact = QuerySimilarities(vector, snapshot.vectors, snapshot)
    monkeypatch.setattr(evidence, "_STRIPE_LENGTH", 1)
    monkeypatch.setattr(evidence, "POOL_SIZE", 0)
    rough = QuerySimilarities(vector, snapshot.vectors, snapshot)
    is_allowed = np.ones(len(exact), np.bool_)
    is_allowed[exact.top_rows(1)] = False
    for similarities in (exact, rough):
        similarities.limit_to_rows(is_allowed)
    nearest = rough.top_rows(2)
    assert nearest.tolist() == exact.top_rows(2).tolist()
    assert is_allowed[nearest].all()
    assert rough.cosines_at(nearest).tobytes() == exact.cosines_at(nearest).tobytes()
