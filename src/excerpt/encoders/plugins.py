"""Embedders and rerankers of other packages, announced by entry points.

An entry point's name is what stands after `plugin:` in the setting; its object is called without arguments and returns
a PassageEmbedder or a Reranker. Code of others may do anything, so what it returns is checked, and what it raises
becomes a ModelError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from excerpt.base.entry_points import find_entry_points, load_entry_point
from excerpt.base.errors import ModelError, first_line
from excerpt.encoders.checks import checked_scores, checked_vectors
from excerpt.encoders.interface import Floats

EMBEDDERS_GROUP = "excerpt.embedders"
RERANKERS_GROUP = "excerpt.rerankers"


class PluginEmbedder:
    """An embedder of another package; its identity, dimensions and languages are read once, when it is opened."""

    def __init__(self, name: str) -> None:
        """Load the embedder. Raises ModelError."""
        self._source = f"The embedder {name}"
        self._embedder = _load(EMBEDDERS_GROUP, name, self._source)
        with _failures(self._source):
            self.id = f"{name}:{self._embedder.id}"
            self.dimensions = int(self._embedder.dimensions)
            self.languages: tuple[str, ...] = tuple(map(str, self._embedder.languages))

    def embed_passages(self, texts: Sequence[str]) -> Floats:
        """Return a vector of length 1 for each passage. Raises ModelError."""
        return self._embed(lambda: self._embedder.embed_passages(texts), len(texts)) if texts else self._no_vectors()

    def embed_query(self, text: str) -> Floats:
        """Return a vector of length 1 for a query. Raises ModelError."""
        vector: Floats = self._embed(lambda: [self._embedder.embed_query(text)], 1)[0]
        return vector

    def _embed(self, embed: Callable[[], object], count: int) -> Floats:
        with _failures(self._source):
            return checked_vectors(embed(), count, self.dimensions, self._source)

    def _no_vectors(self) -> Floats:
        import numpy as np

        return np.zeros((0, self.dimensions), np.float32)


class PluginReranker:
    """A reranker of another package."""

    def __init__(self, name: str) -> None:
        """Load the reranker. Raises ModelError."""
        self._source = f"The reranker {name}"
        self._reranker = _load(RERANKERS_GROUP, name, self._source)
        with _failures(self._source):
            self.id = f"{name}:{self._reranker.id}"

    def score(self, query: str, passages: Sequence[str], seconds: float) -> Sequence[float]:
        """Return a score for each passage. Raises ModelError."""
        with _failures(self._source):
            return checked_scores(self._reranker.score(query, passages, seconds), len(passages), self._source)


def _load(group: str, name: str, source: str) -> Any:
    targets = find_entry_points(group)
    if name not in targets:
        listed = (
            f"Installed are: {', '.join(sorted(targets))}."
            if targets
            else "No installed package has a model of this kind."
        )
        raise ModelError(f"{source} is not installed. {listed}", "Install the model's package beside excerpt.")
    try:
        return load_entry_point(targets[name])
    except Exception as error:  # another's code
        raise ModelError(
            f"{source}, {targets[name]}, cannot be loaded ({first_line(error)}).",
            "Update or uninstall the plugin's package.",
        ) from error


@contextmanager
def _failures(source: str) -> Iterator[None]:
    """Convert any exception that another package's code raises in a block to a ModelError."""
    try:
        yield
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"{source} failed ({first_line(error)}).") from error
