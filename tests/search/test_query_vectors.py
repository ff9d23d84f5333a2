"""Tests of a search with an embedder that the user chose, whose vectors of queries may come late or never."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from excerpt.base.settings import EmbeddingSettings, Settings
from excerpt.index.snapshot import Snapshot
from excerpt.search.engine import Engine
from excerpt.search.evidence import trusted_languages
from excerpt.search.query_vectors import QueryVectors
from tests.search.scripted_models import ChosenSnapshot, Floats, WordEmbedder

SYNONYMS = {"quarrel": "conflict", "gadget": "device"}


@pytest.fixture
def embedder() -> WordEmbedder:
    return WordEmbedder(SYNONYMS)


@pytest.fixture
def chosen_snapshot(snapshot: Snapshot, embedder: WordEmbedder) -> Iterator[ChosenSnapshot]:
    """Open the vault as a snapshot that `embedder` has embedded."""
    opened = ChosenSnapshot.open(snapshot._folder, Settings())
    assert isinstance(opened, ChosenSnapshot)
    opened.chosen_embedder = embedder
    yield opened
    opened.close()


def engine_on(snapshot: Snapshot, vectors: QueryVectors) -> Engine:
    return Engine(snapshot, Settings(), query_vectors=vectors)


def paths(engine: Engine, query: str) -> list[str]:
    return [hit.path for hit in engine.search(query).hits]


def test_hits_by_meaning_are_the_nearest_by_the_vectors_of_the_chosen_embedder(chosen_snapshot: ChosenSnapshot) -> None:
    result = Engine(chosen_snapshot, Settings()).search("quarrel")
    assert result.hits[0].path == "Sync/Conflicts.md"
    assert {signal.name: signal.value for signal in result.hits[0].signals}["meaning"] == 1.0
    assert not result.is_without_meaning


def test_a_static_model_embeds_in_the_search_thread(snapshot: Snapshot) -> None:
    vectors = QueryVectors()
    engine_on(snapshot, vectors).search("conflict")
    assert "_thread" not in vars(vectors)


def test_hits_ranked_by_words_are_shown_first_and_the_full_order_follows(
    chosen_snapshot: ChosenSnapshot, embedder: WordEmbedder
) -> None:
    ready = threading.Event()
    engine = engine_on(chosen_snapshot, QueryVectors(0, ready.set))
    embedder.is_open.clear()
    first = engine.search("quarrel")
    assert (first.is_without_meaning, first.warnings, first.hits) == (True, (), ())
    embedder.is_open.set()
    assert ready.wait(60)
    assert not engine.search("quarrel").is_without_meaning
    assert paths(engine, "quarrel")[0] == "Sync/Conflicts.md"
    assert embedder.queries == ["quarrel"]


def test_a_list_without_a_query_vector_has_no_meaning_signal(
    chosen_snapshot: ChosenSnapshot, embedder: WordEmbedder
) -> None:
    embedder.is_open.clear()
    hits = engine_on(chosen_snapshot, QueryVectors(0)).search("sync conflict").hits
    embedder.is_open.set()
    assert hits
    for hit in hits:
        assert not any(signal.value for signal in hit.signals if signal.name in ("meaning", "coherence"))


def test_a_command_that_waited_for_the_query_vector_in_vain_warns_and_ranks_by_words(
    chosen_snapshot: ChosenSnapshot, embedder: WordEmbedder
) -> None:
    embedder.is_open.clear()
    result = engine_on(chosen_snapshot, QueryVectors(0.02)).search("sync conflict")
    embedder.is_open.set()
    assert result.is_without_meaning
    assert result.warnings == ("Ranked by words alone. The embedding model took longer than 0.02 seconds.",)
    assert result.to_dict()["warnings"] == list(result.warnings)


def test_a_failure_of_the_embedder_is_reported_once_and_the_embedder_is_paused(
    chosen_snapshot: ChosenSnapshot, embedder: WordEmbedder
) -> None:
    embedder.failure = "The server at 127.0.0.1:1 refuses the connection."
    engine = engine_on(chosen_snapshot, QueryVectors())
    for query in ("sync conflict", "bread"):
        result = engine.search(query)
        assert result.hits
        assert result.warnings == (f"Ranked by words alone. {embedder.failure}",)
    assert embedder.queries == ["sync conflict"]


@pytest.mark.parametrize("vector", [np.ones(3, np.float32), np.full(509, np.nan, np.float32)])
def test_a_vector_of_another_shape_or_not_a_number_is_a_failure(
    chosen_snapshot: ChosenSnapshot, embedder: WordEmbedder, monkeypatch: pytest.MonkeyPatch, vector: Floats
) -> None:
    _ = chosen_snapshot.search_vectors
    monkeypatch.setattr(embedder, "embed_query", lambda _text: vector)
    result = engine_on(chosen_snapshot, QueryVectors()).search("sync conflict")
    assert result.is_without_meaning
    assert "509 numbers" in result.warnings[0]


def test_only_the_newest_of_waiting_queries_is_embedded(
    chosen_snapshot: ChosenSnapshot, embedder: WordEmbedder
) -> None:
    ready = threading.Event()
    engine = engine_on(chosen_snapshot, QueryVectors(0, ready.set))
    embedder.is_open.clear()
    for typed in ("quarrel", "quarrel of", "quarrel of gadgets", "quarrel of a gadget"):
        engine.search(typed)
        while not embedder.queries:  # the first is being embedded
            pass
    embedder.is_open.set()
    while engine.search("quarrel of a gadget").is_without_meaning:
        ready.wait(60)
    assert embedder.queries == ["quarrel", "quarrel of a gadget"]


def test_a_query_that_is_requested_again_while_it_is_embedded_is_embedded_once(
    chosen_snapshot: ChosenSnapshot, embedder: WordEmbedder
) -> None:
    ready = threading.Semaphore(0)
    engine = engine_on(chosen_snapshot, QueryVectors(0, ready.release))
    embedder.is_open.clear()
    engine.search("quarrel")
    while not embedder.queries:  # it is being embedded
        pass
    engine.search("quarrel")
    embedder.is_open.set()
    assert ready.acquire(timeout=60)
    assert ready.acquire(timeout=60)
    assert embedder.queries == ["quarrel"]


def test_all_alternatives_of_a_query_are_embedded_at_once(
    chosen_snapshot: ChosenSnapshot, embedder: WordEmbedder
) -> None:
    result = Engine(chosen_snapshot, Settings()).search("quarrel | gadget")
    assert not result.is_without_meaning
    assert embedder.queries == ["quarrel", "gadget"]


def test_cached_query_vectors_of_another_embedder_are_dropped(
    chosen_snapshot: ChosenSnapshot, embedder: WordEmbedder
) -> None:
    vectors = QueryVectors()
    engine_on(chosen_snapshot, vectors).search("quarrel")
    chosen_snapshot.chosen_embedder = other = WordEmbedder()
    engine_on(chosen_snapshot, vectors).search("quarrel")
    assert (embedder.queries, other.queries) == (["quarrel"], ["quarrel"])


def test_confidence_uses_the_static_model_whatever_embedder_ranks(
    snapshot: Snapshot, chosen_snapshot: ChosenSnapshot
) -> None:
    static, other = Engine(snapshot, Settings()), Engine(chosen_snapshot, Settings())
    for query in ("sync conflict", "how do I settle a conflict of two versions", "walrus", "water tomatoes"):
        labels = {hit.fragment_id: hit.confidence for hit in static.search(query).hits}
        chosen_labels = {hit.fragment_id: hit.confidence for hit in other.search(query).hits}
        common = labels.keys() & chosen_labels.keys()
        assert common or not chosen_labels
        assert {id_: labels[id_] for id_ in common} == {id_: chosen_labels[id_] for id_ in common}


def test_the_trusted_languages_are_set_by_the_user_or_else_by_the_embedder(
    chosen_snapshot: ChosenSnapshot, embedder: WordEmbedder
) -> None:
    embedder.languages = ("en", "ja")
    assert trusted_languages(chosen_snapshot, EmbeddingSettings("openai:http://127.0.0.1/v1#m")) == ("en", "ja")
    assert trusted_languages(chosen_snapshot, EmbeddingSettings("openai:http://127.0.0.1/v1#m", ("*",))) == ("*",)


def test_until_the_vault_is_embedded_the_shipped_model_is_used_in_its_language(snapshot: Snapshot) -> None:
    assert trusted_languages(snapshot, EmbeddingSettings("openai:http://127.0.0.1/v1#m", ("*",))) == ("en",)
    assert trusted_languages(snapshot, EmbeddingSettings("", ("*",))) == ("*",)


def test_a_query_in_a_language_unknown_to_the_embedder_is_not_embedded(
    chosen_snapshot: ChosenSnapshot, embedder: WordEmbedder
) -> None:
    assert not Engine(chosen_snapshot, Settings()).search("保管庫").is_without_meaning
    assert not embedder.queries
