"""Tests that the nearest fragments found by an approximate product equal those of the exact one."""

from __future__ import annotations

import pytest

from excerpt.index.snapshot import Snapshot
from excerpt.search import evidence
from excerpt.search.evidence import QuerySimilarities

QUERIES = ("sync conflict", "how to publish notes", "conflict")


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("query", QUERIES)
def test_the_nearest_are_the_same_to_the_last_bit(
    snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch, query: str, size: int
) -> None:
    vector = snapshot.embedder.embed_query(query)
    exact = QuerySimilarities(vector, snapshot.vectors, snapshot)
    monkeypatch.setattr(evidence, "_STRIPE_LENGTH", 1)
    monkeypatch.setattr(evidence, "POOL_SIZE", 0)
    rough = QuerySimilarities(vector, snapshot.vectors, snapshot)
    nearest = rough.top_rows(size)
    assert nearest.tolist() == exact.top_rows(size).tolist()
    assert rough.cosines_at(nearest).tobytes() == exact.cosines_at(nearest).tobytes()
    assert rough.mean == pytest.approx(exact.mean, abs=1e-7)
    assert rough.all_cosines.tobytes() == exact.all_cosines.tobytes()
