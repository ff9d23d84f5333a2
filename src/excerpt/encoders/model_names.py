"""What the settings `embedding.model` and `rerank.model` name, without opening it."""

from __future__ import annotations

from contextlib import suppress

from excerpt.base.errors import ModelError
from excerpt.base.patterns import lazy_pattern
from excerpt.base.settings import Settings
from excerpt.encoders.minilm import MINILM, WEIGHTS_SHA256
from excerpt.encoders.model_folder import as_folder, describe_files, is_transformer_folder

SERVER_PREFIX = "openai:"
"""The beginning of an address of an embedding server: openai:http://127.0.0.1:11434/v1#nomic-embed-text."""
SCHEMES = ("http://", "https://")
PLUGIN_PREFIX = "plugin:"
"""The beginning of the name of an embedder or reranker that a package announces: plugin:NAME."""
_SECRET_PARTS = lazy_pattern(r"(?<=://)[^/?#]*(?=@)|(?<=\?)[^#]+")
"""Name and password in an address, and its query."""
_HIDDEN = "…"


def is_static_model(model: str) -> bool:
    """Return whether the setting `embedding.model` names a static model, whose vectors are made with the index.

    Static models are the shipped one (""), model2vec folders, and model2vec names on a hub. All other models are
    embedders of this package, which are slow and so embed in the background.
    """
    if not model:
        return True
    if model == MINILM or model.startswith((SERVER_PREFIX, PLUGIN_PREFIX)):
        return False
    folder = as_folder(model)
    return folder is None or not is_transformer_folder(folder)


def is_server(model: str) -> bool:
    """Return whether the setting `embedding.model` names an embedding server."""
    return model.startswith(SERVER_PREFIX)


def static_model_name(model: str) -> str:
    """Return the static model whose vectors are made with the index: `model`, or "" (shipped) beside an embedder."""
    return model if is_static_model(model) else ""


def embedder_source(model: str) -> str:
    """Return the setting of an embedder with the state of its model folder, which changes when the model does.

    The model is not loaded. The result is stored in an index, so it contains no secret.
    """
    if model == MINILM:
        return f"{model}:{WEIGHTS_SHA256}"
    folder = None if model.startswith((SERVER_PREFIX, PLUGIN_PREFIX)) else as_folder(model)
    return hide_secrets(model) if folder is None else f"{model}:{describe_files(folder)}"


def hide_secrets(model: str) -> str:
    """Return the setting `embedding.model` or `rerank.model` with `…` in place of what may be a key in an address.

    Replaced are the address's query, and a user name with a password.
    """
    is_address = model.removeprefix(SERVER_PREFIX).startswith(SCHEMES)
    return _SECRET_PARTS.sub(_HIDDEN, model) if is_address else model


def has_hidden_secret(model: str) -> bool:
    """Return whether `hide_secrets` has replaced a part of the setting, so that no embedder can be opened with it."""
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
    """Return a model of the settings as messages name it: the address of a server without what follows `?`.

    The part after `?` may hold a secret.
    """
    from excerpt.encoders.server_address import parse_address

    address = model.removeprefix(SERVER_PREFIX)
    if not address.startswith(SCHEMES):
        return model
    with suppress(ModelError):
        parsed = parse_address(_SECRET_PARTS.sub("", address))
        return f"{parsed.model} at {parsed}" if parsed.model else str(parsed)
    return "a server"


def remote_notice(settings: Settings) -> str:
    """Return a sentence that names the other machines to which text of the vault is sent; "" if there are none."""
    if not settings.embedding.remote:
        return ""
    notes, hits = remote_address(settings.embedding.model), remote_address(settings.rerank.model)
    sentences = [f"The text of your notes and your queries are sent to {notes}."] if notes else []
    if hits:
        sentences.append(f"Your queries and the passages they find are sent to {hits}.")
    return " ".join(sentences)


def remote_address(model: str) -> str:
    """Return the address in `embedding.model` or `rerank.model` if its host is not spelled as this machine, else ""."""
    from excerpt.encoders.server_address import parse_address

    address = model.removeprefix(SERVER_PREFIX)
    if not address.startswith(SCHEMES):
        return ""
    try:
        parsed = parse_address(address)
    except ModelError:  # it is sent nothing
        return ""
    return "" if parsed.is_loopback_name else str(parsed)
