"""Doubles of models that a user chooses: an embedder and a reranker that count words, and a snapshot that uses them."""

from __future__ import annotations

import re
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from excerpt.base.errors import ModelError
from excerpt.index.snapshot import Snapshot

Floats = NDArray[np.float32]
DIMENSIONS = 509


class WordEmbedder:
    """An embedder of words: each is a component, and `synonyms` name the words that count as another."""

    id = "words"
    dimensions = DIMENSIONS

    def __init__(self, synonyms: Mapping[str, str] | None = None, languages: tuple[str, ...] = ("en",)) -> None:
        self.languages = languages
        self.failure = ""
        self.queries: list[str] = []
        self.is_open = threading.Event()
        """Set while queries are answered: a test closes it to make them wait."""
        self.is_open.set()
        self._synonyms = synonyms or {}

    def embed_passages(self, texts: Sequence[str]) -> Floats:
        return np.stack([self._embed(text) for text in texts])

    def embed_query(self, text: str) -> Floats:
        self.queries.append(text)
        self.is_open.wait(60)
        if self.failure:
            raise ModelError(self.failure)
        return self._embed(text)

    def _embed(self, text: str) -> Floats:
        vector = np.full(DIMENSIONS, 1e-3, np.float32)
        for word in re.findall(r"\w+", text.lower()):
            vector[zlib.crc32(self._synonyms.get(word, word).encode()) % DIMENSIONS] += 1
        return np.asarray(vector / np.linalg.norm(vector), np.float32)


class FloatVectors:
    """Vectors in one array, as `Vectors` has them."""

    def __init__(self, vectors: Floats) -> None:
        self._vectors = vectors
        self.mean: Floats = vectors.mean(axis=0)

    def rows(self, numbers: NDArray[np.integer]) -> Floats:
        return np.asarray(self._vectors[numbers])

    def similarities(self, query: Floats) -> Floats:
        cosines: Floats = self._vectors @ query
        return cosines

    def similarities_at(self, query: Floats, numbers: NDArray[np.integer]) -> Floats:
        return np.asarray(self.similarities(query)[numbers])

    def approximate_similarities(self, query: Floats) -> tuple[Floats, float]:
        return self.similarities(query), 0.0

    def mean_similarity(self, query: Floats) -> float:
        return float(self.mean @ query)


class ChosenSnapshot(Snapshot):
    """A snapshot whose fragments `chosen_embedder` has embedded, beside the static vectors."""

    chosen_embedder: WordEmbedder

    @cached_property
    def search_vectors(self) -> FloatVectors:  # type: ignore[override]
        fragments = self.fragments(self.table.keys.tolist())
        return FloatVectors(self.chosen_embedder.embed_passages([fragment.text for fragment in fragments]))

    @property
    def query_embedder(self) -> WordEmbedder:
        return self.chosen_embedder


class ScriptedReranker:
    """A reranker that scores each passage by a function, and remembers what it was asked."""

    id = "scripted"

    def __init__(self, score: Callable[[str, str], float]) -> None:
        self.failure = ""
        self.calls: list[tuple[str, tuple[str, ...]]] = []
        self.is_open = threading.Event()
        """Set while passages are scored: a test closes it to make them wait."""
        self.is_open.set()
        self._score = score

    def score(self, query: str, passages: Sequence[str], seconds: float) -> Sequence[float]:
        self.calls.append((query, tuple(passages)))
        self.is_open.wait(60)
        if self.failure:
            raise ModelError(self.failure)
        return [self._score(query, passage) for passage in passages]
