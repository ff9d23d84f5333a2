"""Tests of clustering: similar vectors are in one group."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from excerpt.insight.themes import cluster_vectors


def test_three_separate_groups_are_found() -> None:
    heaps = np.array([[0, 0], [9, 0], [0, 9], [0.1, 0], [9, 0.1], [0, 9.1], [0.2, 0.1]], np.float32)
    assert cluster_vectors(heaps, 3) == [[0, 3, 6], [1, 4], [2, 5]]


def test_identical_vectors_are_still_grouped() -> None:
    assert cluster_vectors(np.zeros((4, 3), np.float32), 1) == [[0, 1, 2, 3]]


@given(st.lists(st.lists(st.integers(-9, 9), min_size=2, max_size=2), max_size=12), st.integers(1, 5))
def test_every_vector_is_in_one_of_the_requested_number_of_groups(points: list[list[int]], count: int) -> None:
    groups = cluster_vectors(np.array(points, np.float32).reshape(-1, 2), count)
    assert sorted(place for group in groups for place in group) == list(range(len(points)))
    assert len(groups) == min(count, len(points))
