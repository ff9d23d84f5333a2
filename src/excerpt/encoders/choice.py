"""The choice of an embedder or reranker by the value of a setting."""

from __future__ import annotations

from excerpt.encoders.interface import PassageEmbedder, Reranker
from excerpt.errors import ModelError
from excerpt.settings import Settings

SERVER_PREFIX = "openai:"
"""The beginning of an address of an embedding server: openai:http://127.0.0.1:11434/v1#nomic-embed-text."""
PLUGIN_PREFIX = "plugin:"
"""The beginning of the name of an embedder or reranker that a package announces: plugin:NAME."""


def is_static_model(model: str) -> bool:
    """Return whether the setting `embedding.model` names a static model, whose vectors are made with the index.

    Static are the shipped model (""), model2vec folders and model2vec names on a hub. All others are embedders of this
    package: they are slow, so they embed in the background.
    """
    return not model.startswith((SERVER_PREFIX, PLUGIN_PREFIX))


def open_embedder(settings: Settings) -> PassageEmbedder:
    """Open the embedder that `embedding.model` names. Raises ModelError, also for a static model."""
    raise ModelError(f"There is no embedder at {settings.embedding.model}.", "Set embedding.model to another model.")


def open_reranker(settings: Settings) -> Reranker | None:
    """Open the reranker that `rerank.model` names; None if it names none. Raises ModelError."""
    if not settings.rerank.model:
        return None
    raise ModelError(f"There is no reranker at {settings.rerank.model}.", "Set rerank.model to another model.")
