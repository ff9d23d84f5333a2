"""Tests of the ranking of fragments by words, from the postings of a store."""

from __future__ import annotations

import numpy as np

from excerpt_postgres.postings import KeyScores


def test_of_equal_scores_the_lower_keys_are_best() -> None:
    scores = KeyScores(np.arange(10, 20), np.array([1, 1, 3, 1, 1, 2, 1, 1, 1, 1], np.float32))
    assert scores.best(np.ones(10, np.bool_), 4) == [12, 15, 10, 11]


def test_only_wanted_fragments_are_ranked() -> None:
    scores = KeyScores(np.arange(4), np.array([4, 3, 2, 1], np.float32))
    assert scores.best(np.array([False, True, False, True]), 4) == [1, 3]
