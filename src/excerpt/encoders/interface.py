"""Protocols of models that a user chooses: an embedder, which makes vectors, and a reranker, which scores passages.

Packages of others implement them and announce them by the entry points `excerpt.embedders` and `excerpt.rerankers`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

MAX_DIMENSIONS = 4096
"""Most components of a vector."""


class PassageEmbedder(Protocol):
    """A model that turns passages and queries into vectors whose cosine tells how close they are in meaning.

    Methods raise ModelError if the model cannot answer. They are called from one thread at a time.
    """

    @property
    def id(self) -> str:
        """Identity of the model. Vectors are only compared with vectors of the same identity."""
        ...

    @property
    def dimensions(self) -> int:
        """Number of components of a vector, at most MAX_DIMENSIONS."""
        ...

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages in which the vectors are trusted, such as "en"; ("*",) for every language."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Floats:
        """Return a vector of length 1 for each passage, shape (len(texts), dimensions)."""
        ...

    def embed_query(self, text: str) -> Floats:
        """Return a vector of length 1 for a query, shape (dimensions,)."""
        ...


class Reranker(Protocol):
    """A model that reads a query and a passage together and scores how well the passage answers.

    Methods raise ModelError if the model cannot answer. They are called from one thread at a time.
    """

    @property
    def id(self) -> str:
        """Identity of the model."""
        ...

    def score(self, query: str, passages: Sequence[str], seconds: float) -> Sequence[float]:
        """Return a score for each passage, higher for better answers, on any scale.

        Raises ModelError if that takes longer than `seconds`.
        """
        ...
