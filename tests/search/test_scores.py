"""Tests that the top scores, found without scoring common words in every row, equal those of a full scan."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from excerpt.search import bm25, evidence
from excerpt.search.bm25 import WordIndex, sum_scores
from excerpt.search.evidence import WordScores, top_k
from tests.search.tiny import TinyReader, asked

WORDS = ("apple", "pear", "plum", "fig")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
SHARES = st.lists(st.sampled_from((1.0, 0.35, 0.1)), min_size=len(WORDS), max_size=len(WORDS))


@pytest.fixture(autouse=True)
def every_word_common(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set sizes at which a few texts count as many."""
    monkeypatch.setattr(bm25, "MIN_LAZY_OCCURRENCES", 0)
    monkeypatch.setattr(evidence, "_STRIPE_LENGTH", 1)
    monkeypatch.setattr(evidence, "_MIN_SKIP_RATIO", 1)


@given(texts=st.lists(TEXTS, min_size=1, max_size=30), shares=SHARES, size=st.integers(1, 5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_the_best_are_those_of_all_to_the_last_bit(texts: list[str], shares: list[float], size: int) -> None:
    reader = TinyReader(*texts)
    index = WordIndex(reader)
    words = index.expand(asked(" ".join(WORDS)), open_word=False, fuzzy_threshold=1.0)
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


def test_a_row_that_is_not_allowed_has_no_score() -> None:
    reader = TinyReader("apple", "apple pear", "pear")
    index = WordIndex(reader)
    matches = [index.match(word) for word in index.expand(asked("apple"), open_word=False, fuzzy_threshold=1.0)]
    scores = WordScores(matches, 3, np.array([False, True, True]))
    assert scores.top_rows(3).tolist() == [1]
    assert scores.scores_at(np.array([0, 1], np.int32))[0] == 0


def test_what_no_list_needs_is_not_weighed() -> None:
    reader = TinyReader(*(["fig apple", "fig apple pear"] + ["pear plum"] * 4 + ["pear"] * 60))
    index = WordIndex(reader)
    words = index.expand(asked("fig pear"), open_word=False, fuzzy_threshold=1.0)
    matches = [index.match(word) for word in words]
    matches[0].rows  # noqa: B018
    scores = WordScores(matches, reader.doc_count)
    assert scores.top_rows(2).tolist() == [0, 1]
    assert not matches[1].term_matches.is_computed
