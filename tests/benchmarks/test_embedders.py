"""Tests of the comparison of embedders: intervals, stored vectors, saved parts, and the corpus with other vectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from benchmarks.embedders import (
    CachedQueries,
    ChosenCorpus,
    FloatVectors,
    bootstrap_interval,
    compute_cosines,
    differences,
    store_vectors,
)
from benchmarks.vector_cache import embed_passages

from benchmarks import vector_cache
from excerpt.base.settings import Settings
from excerpt.index.vectors import quantise
from excerpt.search.engine import Engine
from excerpt.search.query_vectors import has_chosen_embedder
from tests.search.library import NOTES, open_vault
from tests.search.scripted_models import Floats, WordEmbedder

QUERIES = ("harbor firework", "what does the beta need", "first plan")


def random_vectors(count: int) -> Floats:
    vectors = np.random.default_rng(5).normal(size=(count, 48)).astype(np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


# --- intervals --------------------------------------------------------------------------------------------------------


def test_equal_differences_have_an_interval_of_width_zero() -> None:
    interval = bootstrap_interval([0.25] * 40)
    assert (interval.mean, interval.low, interval.high) == (0.25, 0.25, 0.25)


def test_an_interval_has_the_width_of_the_normal_distribution() -> None:
    values = np.random.default_rng(2).normal(0.1, 1, 400)
    interval = bootstrap_interval(values.tolist())
    assert interval.low < values.mean() < interval.high
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.05)


def test_two_models_are_compared_query_by_query() -> None:
    assert differences([1.0, 0.5], [0.5, 0.0]).low == 0.5


def test_an_interval_of_zero_has_no_minus_sign() -> None:
    assert str(bootstrap_interval([-0.0001, 0.0])) == "+0.000 (+0.000 to +0.000)"


# --- vectors ----------------------------------------------------------------------------------------------------------


def test_stored_vectors_equal_those_of_an_index(tmp_path: Path) -> None:
    vectors = random_vectors(9)
    stored = store_vectors(np.arange(9), vectors, tmp_path)
    np.testing.assert_array_equal(stored.vectors, quantise(vectors).floats)


def test_the_cosine_of_equal_rows_is_1() -> None:
    vectors = random_vectors(4)
    np.testing.assert_allclose(compute_cosines(vectors, 3 * vectors), 1, atol=1e-6)


class CountingEmbedder(WordEmbedder):
    """An embedder that counts the passages it is asked for."""

    count = 0

    def embed_passages(self, texts: Sequence[str]) -> Floats:
        self.count += len(texts)
        return super().embed_passages(texts)


def test_batches_of_texts_whose_vectors_are_saved_are_not_embedded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_cache, "PART_TEXTS", 2)
    embedder, texts = CountingEmbedder(), ["alpha", "beta", "gamma"]
    first = embed_passages(embedder, texts, tmp_path)
    second = embed_passages(embedder, [*texts[:2], "delta"], tmp_path)
    assert embedder.count == 4
    np.testing.assert_array_equal(first[:2], second[:2])
    np.testing.assert_array_equal(second, embedder.embed_passages([*texts[:2], "delta"]))


def test_vectors_cached_for_one_model_are_not_used_for_another(tmp_path: Path) -> None:
    embedder, other = CountingEmbedder(), CountingEmbedder({"alpha": "beta"})
    other.id = "other"
    first = embed_passages(embedder, ["alpha"], tmp_path)
    assert not np.array_equal(embed_passages(other, ["alpha"], tmp_path), first)


# --- the corpus -------------------------------------------------------------------------------------------------------


def test_the_engine_compares_a_query_with_the_other_vectors_and_embeds_it_once(tmp_path: Path) -> None:
    snapshot = open_vault(tmp_path, NOTES)
    try:
        embedder = WordEmbedder()
        texts = [fragment.text for fragment in snapshot.fragments(snapshot.table.keys.tolist())]
        queries = CachedQueries(embedder)
        corpus = ChosenCorpus(snapshot, FloatVectors(embedder.embed_passages(texts)), queries)
        engine = Engine(corpus, Settings())
        assert has_chosen_embedder(engine.snapshot)
        for _ in range(2):
            engine.search(QUERIES[0])
        assert engine.snapshot is corpus
        assert embedder.queries == [QUERIES[0]]
        assert len(queries.milliseconds) == 1
    finally:
        snapshot.close()
