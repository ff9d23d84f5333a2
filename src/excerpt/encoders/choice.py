"""The choice of an embedder or reranker by the value of a setting."""

from __future__ import annotations

from excerpt.encoders.interface import PassageEmbedder, Reranker
from excerpt.encoders.model_folder import as_folder, is_transformer_folder
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
    if not model:
        return True
    if model.startswith((SERVER_PREFIX, PLUGIN_PREFIX)):
        return False
    folder = as_folder(model)
    return folder is None or not is_transformer_folder(folder)


def open_embedder(settings: Settings, *, threads: int = 0) -> PassageEmbedder:
    """Open the embedder that `embedding.model` names, with its own languages. Raises ModelError, also for a static one.

    `threads`: threads of a computation on this machine, 0 for one per core.
    """
    model = settings.embedding.model
    if model.startswith(PLUGIN_PREFIX):
        from excerpt.encoders.plugins import PluginEmbedder

        return PluginEmbedder(model.removeprefix(PLUGIN_PREFIX))
    if not is_static_model(model) and (folder := as_folder(model)):
        from excerpt.encoders.onnx_folder import open_onnx_embedder

        return open_onnx_embedder(folder, threads)
    raise ModelError(f"There is no embedder at {model}.", "Set embedding.model to another model.")


def open_reranker(settings: Settings, *, threads: int = 0) -> Reranker | None:
    """Open the reranker that `rerank.model` names; None if it names none. Raises ModelError.

    `threads`: threads of a computation on this machine, 0 for one per core.
    """
    model = settings.rerank.model
    if not model:
        return None
    if model.startswith(PLUGIN_PREFIX):
        from excerpt.encoders.plugins import PluginReranker

        return PluginReranker(model.removeprefix(PLUGIN_PREFIX))
    if folder := as_folder(model):
        from excerpt.encoders.onnx_folder import open_onnx_reranker

        return open_onnx_reranker(folder, threads)
    raise ModelError(
        f"There is no reranker at {model}.", "Set rerank.model to the folder or the address of a cross-encoder."
    )
