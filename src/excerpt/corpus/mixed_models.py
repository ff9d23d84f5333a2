"""Vectors of vaults whose embedding models differ, in one space: each model has dimensions of its own.

A fragment's vector is 0 in the dimensions of the other models, so its cosine with a query is that of its own model. A
model's cosines have a mean and a best of their own; for each query they are mapped linearly to the mean and best of the
first model, so that the best passage by each model is as good as the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from excerpt.corpus.interface import Floats, QueryEmbedder, TextEmbedder, Vectors

_MAX_LENGTH_ERROR = 1e-2
"""How far the length of a query's vector may be from 1: that of a passage in float16 is off by up to 1e-3."""


@dataclass(unsafe_hash=True)
class MixedQueryEmbedder:
    """The embedding models of several vaults as one, for queries. Implements `QueryEmbedder`.

    Two objects with the same models are equal, so that vectors of queries stay cached when a vault changes.
    """

    embedders: tuple[QueryEmbedder, ...]

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages in which the vectors of every model are trusted; ("*",) for every language."""
        each = [embedder.languages for embedder in self.embedders if "*" not in embedder.languages]
        if not each:
            return ("*",)
        return tuple(language for language in each[0] if all(language in languages for languages in each))

    def embed_query(self, text: str) -> Floats:
        """Return the vectors of a query by each model, one after the other; each has the length 1."""
        return np.concatenate([embedder.embed_query(text) for embedder in self.embedders])


class MixedEmbedder(MixedQueryEmbedder):
    """The static embedding models of several vaults as one. Implements `TextEmbedder`."""

    def __init__(self, embedders: Sequence[TextEmbedder], dimensions: Sequence[int]) -> None:
        """Join `embedders`; `dimensions` has the number of dimensions of each model."""
        super().__init__(tuple(embedders))
        self._first = embedders[0]
        self._other_dimensions = sum(dimensions[1:])

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one vector of length 1 for each text, all by the first model, so that texts can be compared."""
        return np.pad(self._first.embed(texts), ((0, 0), (0, self._other_dimensions)))

    def has_word(self, word: str) -> bool:
        """Return whether the vocabulary of the first model has `word`, which is in lower case, whole."""
        return self._first.has_word(word)

    def word_weights(self, words: Sequence[str]) -> Floats:
        """Return the weight of each word in general language, from 0 to 1, by the first model."""
        return self._first.word_weights(words)


class MixedVectors:
    """The vectors of all vaults of a union whose models differ. Implements `Vectors`."""

    def __init__(self, parts: Sequence[Vectors], sizes: Sequence[int], models: Sequence[int]) -> None:
        """Join the vectors of vaults, which have `sizes` rows and were made by the models with the numbers `models`.

        Models are numbered from 0 in the order of their dimensions.
        """
        widths = {model: len(part.mean) for model, part in zip(models, parts, strict=True)}
        self.dimensions = tuple(widths[model] for model in range(len(widths)))
        places = [slice(*ends) for ends in pairwise([0, *accumulate(self.dimensions)])]
        ends = list(accumulate(sizes))
        self._parts = [
            (part, slice(end - size, end), places[model])
            for part, size, end, model in zip(parts, sizes, ends, models, strict=True)
        ]
        self._models = [
            (place, np.concatenate([np.arange(rows.start, rows.stop) for _, rows, of in self._parts if of == place]))
            for place in places
        ]
        self._size = ends[-1]
        self.mean: Floats = np.zeros(sum(self.dimensions), np.float32)
        for part, rows, place in self._parts:
            self.mean[place] += part.mean * np.float32((rows.stop - rows.start) / max(self._size, 1))
        self._last: tuple[bytes, Floats] = b"", np.zeros(0, np.float32)

    def part_of_query(self, at: int, query: Floats) -> Floats:
        """Return the vector of `query` by the model of vault number `at`."""
        part: Floats = query[self._parts[at][2]]
        return part

    def rows(self, numbers: NDArray[np.integer]) -> Floats:
        result = np.zeros((len(numbers), len(self.mean)), np.float32)
        for part, rows, place in self._parts:
            chosen = (numbers >= rows.start) & (numbers < rows.stop)
            if chosen.any():
                result[chosen, place] = part.rows(numbers[chosen] - rows.start)
        return result

    def similarities(self, query: Floats) -> Floats:
        """Return the cosine of each row's vector with `query`, mapped to the cosines of the first model; shape (rows,).

        Rows of a model that has no vector for the query get the mean. Products with a vector that is no query, such as
        a difference from the mean, are not mapped.
        """
        key = query.tobytes()
        if self._last[0] != key:
            self._last = key, self._compute_similarities(query)
        return self._last[1].copy()

    def similarities_at(self, query: Floats, numbers: NDArray[np.integer]) -> Floats:
        cosines: Floats = self.similarities(query)[numbers]
        return cosines

    def approximate_similarities(self, query: Floats) -> tuple[Floats, float]:
        """Return the cosines of all rows with `query`, and 0 as their largest error: they are exact."""
        return self.similarities(query), 0.0

    def mean_similarity(self, query: Floats) -> float:
        return float(self.similarities(query).mean(dtype=np.float64)) if self._size else 0.0

    def _compute_similarities(self, query: Floats) -> Floats:
        cosines = np.zeros(self._size, np.float32)
        for part, rows, place in self._parts:
            cosines[rows] = part.similarities(query[place])
        lengths = [float(np.linalg.norm(query[place])) for place, _ in self._models]
        if any(length and abs(length - 1) > _MAX_LENGTH_ERROR for length in lengths):
            return cosines
        models = zip(self._models, lengths, strict=True)
        scales = [_measure_scale(cosines[rows]) if length else None for (_, rows), length in models]
        first = next((scale for scale in scales if scale is not None), (0.0, 1.0))
        for (_, numbers), scale in zip(self._models, scales, strict=True):
            if scale is None:
                cosines[numbers] = first[0]
            elif scale is not first:
                cosines[numbers] = (cosines[numbers] - scale[0]) * (first[1] / scale[1]) + first[0]
        return cosines


def _measure_scale(cosines: Floats) -> tuple[float, float] | None:
    """Return the mean of some cosines, and how far the best cosine is above the mean; None if that distance is 0."""
    if not len(cosines):
        return None
    mean = float(cosines.mean(dtype=np.float64))
    spread = float(cosines.max()) - mean
    return (mean, spread) if spread > 0 else None
