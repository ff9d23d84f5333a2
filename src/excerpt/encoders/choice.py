"""The choice of an embedder or reranker by the value of a setting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from excerpt.base.errors import ModelError
from excerpt.base.settings import Paths, Settings, user_paths
from excerpt.encoders.minilm import MINILM, open_minilm
from excerpt.encoders.model_folder import as_folder
from excerpt.encoders.model_names import PLUGIN_PREFIX, SCHEMES, SERVER_PREFIX, is_static_model

if TYPE_CHECKING:
    from excerpt.encoders.interface import PassageEmbedder, Reranker
    from excerpt.encoders.model_server import ModelServer


def open_embedder(settings: Settings, *, paths: Paths | None = None, threads: int = 0) -> PassageEmbedder:
    """Open the embedder that `embedding.model` names, with its own languages. Raises ModelError for a static model too.

    `paths` locate the file of keys for servers; the default is the user's. `threads` is the number of threads of a
    local model, 0 for one per core.
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
    if model == MINILM:
        return open_minilm(threads)
    if not is_static_model(model) and (folder := as_folder(model)):
        from excerpt.encoders.onnx_folder import open_onnx_embedder

        return open_onnx_embedder(folder, threads)
    raise ModelError(f"There is no embedder at {model}.", "Set embedding.model to another model.")


def open_reranker(settings: Settings, *, paths: Paths | None = None, threads: int = 0) -> Reranker | None:
    """Open the reranker that `rerank.model` names; return None if the setting is empty. Raises ModelError.

    `paths` locate the file of keys for servers; the default is the user's. `threads` is the number of threads of a
    local model, 0 for one per core.
    """
    model = settings.rerank.model
    if not model:
        return None
    if model.startswith(SCHEMES):
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
