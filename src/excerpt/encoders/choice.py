"""The choice of an embedder or reranker by the value of a setting."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from excerpt.encoders.model_folder import as_folder, describe_files, is_transformer_folder
from excerpt.errors import ModelError
from excerpt.settings import Paths, Settings, user_paths

if TYPE_CHECKING:
    from excerpt.encoders.interface import PassageEmbedder, Reranker
    from excerpt.encoders.model_server import ModelServer

SERVER_PREFIX = "openai:"
"""The beginning of an address of an embedding server: openai:http://127.0.0.1:11434/v1#nomic-embed-text."""
_SCHEMES = ("http://", "https://")
PLUGIN_PREFIX = "plugin:"
"""The beginning of the name of an embedder or reranker that a package announces: plugin:NAME."""
_SECRET_PARTS = re.compile(r"(?<=://)[^/?#]*(?=@)|(?<=\?)[^#]+")
"""Name and password in an address, and its query."""
_HIDDEN = "…"


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


def is_server(model: str) -> bool:
    """Return whether the setting `embedding.model` names an embedding server."""
    return model.startswith(SERVER_PREFIX)


def static_model(model: str) -> str:
    """Return the static model whose vectors are made with the index: beside an embedder the shipped one ("")."""
    return model if is_static_model(model) else ""


def embedder_source(model: str) -> str:
    """Return the setting of an embedder, with the state of its folder: it differs if another model is there.

    The model is not loaded for it. An index stores it, so it has no secret.
    """
    folder = None if model.startswith((SERVER_PREFIX, PLUGIN_PREFIX)) else as_folder(model)
    return hide_secrets(model) if folder is None else f"{model}:{describe_files(folder)}"


def hide_secrets(model: str) -> str:
    """Return the setting `embedding.model` or `rerank.model` with `…` for what may hold a key in an address.

    That is its query, and a name with a password.
    """
    is_address = model.removeprefix(SERVER_PREFIX).startswith(_SCHEMES)
    return _SECRET_PARTS.sub(_HIDDEN, model) if is_address else model


def has_hidden_secret(model: str) -> bool:
    """Return whether a setting for an embedder lacks what `hide_secrets` replaced, so that it cannot be opened."""
    return is_server(model) and _HIDDEN in model


def require_static_model(settings: Settings) -> None:
    """Raise ModelError if the settings name an embedder whose vectors a store cannot keep."""
    model = settings.embedding.model
    if not is_static_model(model):
        raise ModelError(
            f"A store keeps the vectors of model2vec models only, not those of {model_label(model)}.",
            "Leave embedding.model empty for this vault, or set it to a model2vec model.",
        )


def model_label(model: str) -> str:
    """Return the setting `embedding.model` or `rerank.model` for a sentence: an address without its query.

    The query may hold a secret.
    """
    from excerpt.encoders.server_address import parse_address

    address = model.removeprefix(SERVER_PREFIX)
    if not address.startswith(_SCHEMES):
        return model
    with suppress(ModelError):
        parsed = parse_address(_SECRET_PARTS.sub("", address))
        return f"{parsed.model} at {parsed}" if parsed.model else str(parsed)
    return "a server"


def remote_notice(settings: Settings) -> str:
    """Return a sentence that says which other machines are sent text of the vault; "" for none."""
    if not settings.embedding.remote:
        return ""
    notes, hits = remote_address(settings.embedding.model), remote_address(settings.rerank.model)
    sentences = [f"The text of your notes and your queries are sent to {notes}."] if notes else []
    if hits:
        sentences.append(f"Your queries and the passages they find are sent to {hits}.")
    return " ".join(sentences)


def remote_address(model: str) -> str:
    """Return the address in `embedding.model` or `rerank.model` if it is not this machine by its spelling, else ""."""
    from excerpt.encoders.server_address import parse_address

    address = model.removeprefix(SERVER_PREFIX)
    if not address.startswith(_SCHEMES):
        return ""
    try:
        parsed = parse_address(address)
    except ModelError:  # it is sent nothing
        return ""
    return "" if parsed.is_loopback_name else str(parsed)


def open_embedder(settings: Settings, *, paths: Paths | None = None, threads: int = 0) -> PassageEmbedder:
    """Open the embedder that `embedding.model` names, with its own languages. Raises ModelError, also for a static one.

    `paths`: where the keys of servers are, by default the user's. `threads`: threads of a computation on this machine,
    0 for one per core.
    """
    model = settings.embedding.model
    if model.startswith(SERVER_PREFIX):
        from excerpt.encoders.model_server import ServerEmbedder
        from excerpt.encoders.server_address import EMBEDDING_KEY_VARIABLE

        paths = paths or user_paths()
        address = model.removeprefix(SERVER_PREFIX)
        server = _open_server(address, "/embeddings", EMBEDDING_KEY_VARIABLE, settings, paths)
        return ServerEmbedder(server, paths)
    if model.startswith(PLUGIN_PREFIX):
        from excerpt.encoders.plugins import PluginEmbedder

        return PluginEmbedder(model.removeprefix(PLUGIN_PREFIX))
    if not is_static_model(model) and (folder := as_folder(model)):
        from excerpt.encoders.onnx_folder import open_onnx_embedder

        return open_onnx_embedder(folder, threads)
    raise ModelError(f"There is no embedder at {model}.", "Set embedding.model to another model.")


def open_reranker(settings: Settings, *, paths: Paths | None = None, threads: int = 0) -> Reranker | None:
    """Open the reranker that `rerank.model` names; None if it names none. Raises ModelError.

    `paths`: where the keys of servers are, by default the user's. `threads`: threads of a computation on this machine,
    0 for one per core.
    """
    model = settings.rerank.model
    if not model:
        return None
    if model.startswith(_SCHEMES):
        from excerpt.encoders.model_server import ServerReranker
        from excerpt.encoders.server_address import RERANK_KEY_VARIABLE

        return ServerReranker(_open_server(model, "", RERANK_KEY_VARIABLE, settings, paths or user_paths()))
    if model.startswith(PLUGIN_PREFIX):
        from excerpt.encoders.plugins import PluginReranker

        return PluginReranker(model.removeprefix(PLUGIN_PREFIX))
    if folder := as_folder(model):
        from excerpt.encoders.onnx_folder import open_onnx_reranker

        return open_onnx_reranker(folder, threads)
    raise ModelError(
        f"There is no reranker at {model}.", "Set rerank.model to the folder or the address of a cross-encoder."
    )


def _open_server(address: str, endpoint: str, key_variable: str, settings: Settings, paths: Paths) -> ModelServer:
    from excerpt.encoders.model_server import ModelServer
    from excerpt.encoders.server_address import find_key, parse_address

    server = parse_address(address, endpoint)
    key = find_key(server, key_variable, paths.keys_file)
    return ModelServer(server, key, is_remote_allowed=settings.embedding.remote)
