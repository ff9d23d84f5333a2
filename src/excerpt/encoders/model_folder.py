"""Folders of transformer models, in the layout of sentence-transformers and optimum: their files and their options.

Nothing here loads the network itself; `onnx_folder` does.
"""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from excerpt.base.errors import ModelError
from excerpt.base.state_files import read_limited, read_text

ENGLISH = ("en",)
EVERY_LANGUAGE = ("*",)

_NETWORK_NAMES = (
    "model",
    "model_optimized",
    "model_O2",
    "model_O3",
    "model_O1",
    "model_quantized",
    "model_int8",
    "model_uint8",
    "model_qint8_avx512_vnni",
    "model_qint8_avx512",
    "model_qint8_arm64",
    "model_quint8_avx2",
)
"""Names of networks, without their suffix, the preferred first: exact ones before quantised ones."""

_MAX_CONFIG_BYTES = 4_000_000
_MAX_TOKENS = 2048
"""Most tokens that are read of a text; a fragment has a few hundred."""

_DEFAULT_TOKENS = 512
_POOLINGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
"""Keys of a pooling's configuration, and the names that newer versions of sentence-transformers use as a value."""


def network_file(folder: Path) -> Path | None:
    """Return the ONNX file of a model folder, in `onnx/` or in the folder itself; None if neither has one."""
    for place in (folder / "onnx", folder):
        for name in _NETWORK_NAMES:
            if (file := place / f"{name}.onnx").is_file():
                return file
        if others := sorted(place.glob("model*.onnx")):
            return others[0]
    return None


def as_folder(model: str) -> Path | None:
    """Return the path `model` if it is a folder, else None."""
    try:
        folder = Path(model).expanduser()
        return folder if folder.is_dir() else None
    except (OSError, RuntimeError, ValueError):  # too long a name, the ~ of an unknown user, a NUL
        return None


def is_transformer_folder(folder: Path) -> bool:
    """Return whether the folder holds a transformer model, even if its ONNX file is missing, and not a static model.

    Static models on the hub have an ONNX file too, so the type of the model in `config.json` decides.
    """
    kind = _read_json(folder / "config.json").get("model_type", "")
    return kind != "model2vec" and bool(kind or network_file(folder))


def describe_files(folder: Path) -> str:
    """Return a text of the sizes and times of the files in a model folder, which changes when the model does."""
    states = [
        (path.relative_to(folder).as_posix(), state.st_size, state.st_mtime_ns)
        for path in sorted((*folder.glob("*"), *folder.glob("onnx/*"), *folder.glob("1_Pooling/*")))
        if stat.S_ISREG((state := path.stat()).st_mode)
    ]
    return hashlib.blake2b(repr(states).encode(), digest_size=8).hexdigest()


class Prompts(Struct, frozen=True):
    """Texts that a model needs in front of a query and of a passage, such as "query: "; empty for most models."""

    query: str = ""
    passage: str = ""


class ModelFolder(Struct, frozen=True):
    """A model folder: its files, and its options as read from their configuration."""

    folder: Path
    network: Path
    tokenizer: Path

    max_tokens: int
    """Most tokens of a text, special tokens included."""

    pad_token: str
    """Token that fills up the shorter texts of a batch; "" if the configuration names none."""

    poolings: tuple[str, ...]
    """How the vectors of a text's tokens become one; several are concatenated."""

    prompts: Prompts = field(default_factory=Prompts)
    """What stands in front of queries and passages."""

    other_parts: tuple[str, ...] = ()
    """Parts of the model that follow the pooling, such as "Dense", and are only computed if the network has them."""

    languages: tuple[str, ...] = ENGLISH
    """The languages that the model card names; English if there is none."""

    sha256: str = ""
    """SHA-256 in hexadecimal that the network must have to be loaded; "" for any."""

    @property
    def id(self) -> str:
        """Digest of everything that influences the vectors, so that a copy of a model in another folder has its id."""
        options = (self.max_tokens, self.pad_token, self.poolings, self.prompts)
        content = hashlib.blake2b(repr(options).encode(), digest_size=8)
        parts = sorted(self.network.parent.glob(f"{self.network.name}[_.]*"))  # weights beside the network
        for file in (self.network, *parts, self.tokenizer):
            state = file.stat()
            content.update(_file_digest(file, state.st_size, state.st_mtime_ns))
        return content.hexdigest()


def read_model_folder(folder: Path, network: Path | None = None) -> ModelFolder:
    """Read the options of a model folder. Raises ModelError, which names missing files.

    `network` is the ONNX file if it is not in the folder.
    """
    network, tokenizer = network or network_file(folder), folder / "tokenizer.json"
    missing = [*(() if network else ("onnx/model.onnx",)), *(() if tokenizer.is_file() else ("tokenizer.json",))]
    if network is None or missing:
        raise ModelError(
            f"The model in {folder} is incomplete. Missing files: {', '.join(missing)}.",
            "Export the model with `optimum-cli export onnx`, or copy its files again.",
        )
    tokenizer_config = _read_json(folder / "tokenizer_config.json")
    return ModelFolder(
        folder=folder,
        network=network,
        tokenizer=tokenizer,
        max_tokens=_read_max_tokens(folder, tokenizer_config),
        pad_token=_token_text(tokenizer_config.get("pad_token")),
        poolings=_read_poolings(folder / "1_Pooling" / "config.json"),
        prompts=_read_prompts(_read_json(folder / "config_sentence_transformers.json")),
        other_parts=_read_other_parts(folder / "modules.json"),
        languages=_read_languages(folder / "README.md"),
    )


def _read_other_parts(file: Path) -> tuple[str, ...]:
    modules = _load_json(file)
    listed = modules if isinstance(modules, list) else []
    kinds = [str(module.get("type", "")).rpartition(".")[2] for module in listed if isinstance(module, dict)]
    return tuple(kind for kind in kinds if kind not in ("Transformer", "Pooling", "Normalize"))


def _read_max_tokens(folder: Path, tokenizer_config: Mapping[str, Any]) -> int:
    """Return the maximum length of texts in tokens: from sentence-transformers' file, else the tokenizer's."""
    declared = (
        _read_json(folder / "sentence_bert_config.json").get("max_seq_length"),
        tokenizer_config.get("model_max_length"),
        _read_json(folder / "config.json").get("max_position_embeddings"),
    )
    lengths = [int(length) for length in declared if isinstance(length, int | float) and 8 <= length < 1e9]
    return min(*lengths, _MAX_TOKENS) if lengths else _DEFAULT_TOKENS


def _read_poolings(file: Path) -> tuple[str, ...]:
    config = _read_json(file)
    named = config.get("pooling_mode")
    if isinstance(named, str) and named:
        return (named,)
    if isinstance(named, list) and named:
        return tuple(map(str, named))
    return tuple(name for key, name in _POOLINGS.items() if config.get(key) is True) or ("mean",)


def _read_prompts(config: Mapping[str, Any]) -> Prompts:
    prompts = config.get("prompts")
    if not isinstance(prompts, dict):
        return Prompts()
    default = str(prompts.get(config.get("default_prompt_name"), ""))
    query, passage = (
        next((str(prompts[key]) for key in keys if key in prompts), default)
        for keys in (("query",), ("document", "passage", "corpus"))
    )
    return Prompts(query, passage)


def _read_languages(card: Path) -> tuple[str, ...]:
    """Return the language codes in the front matter of a model card, such as "en"; English if it has none."""
    import yaml

    try:
        lines = read_text(card, _MAX_CONFIG_BYTES).split("\n")
        end = lines.index("---", 1) if lines[0] == "---" else 0
        front_matter = yaml.load("\n".join(lines[1:end]), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (OSError, ValueError, yaml.YAMLError, RecursionError):
        return ENGLISH
    named = front_matter.get("language") if isinstance(front_matter, dict) else None
    codes = [named] if isinstance(named, str) else named if isinstance(named, list) else []
    # YAML 1.1 reads the code of Norwegian as a boolean.
    short = ["no" if code is False else str(code).lower().split("-")[0].split("_")[0] for code in codes]
    return EVERY_LANGUAGE if {"multilingual", "mul"} & set(short) else tuple(dict.fromkeys(short)) or ENGLISH


def _token_text(token: object) -> str:
    return str(token.get("content", "")) if isinstance(token, dict) else token if isinstance(token, str) else ""


def _read_json(file: Path) -> Mapping[str, Any]:
    value = _load_json(file)
    return value if isinstance(value, dict) else {}


def _load_json(file: Path) -> object:
    """Return the value in a JSON file; None if it is missing. Raises ModelError if it is not JSON."""
    try:
        return json.loads(read_limited(file, _MAX_CONFIG_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{file} cannot be read: {error}.", "Copy the model's files again.") from error


@lru_cache(maxsize=32)
def _file_digest(file: Path, _size: int, _modified: int) -> bytes:
    """Return the digest of a file; cached, because 90 MB take .1 s, until the file's size or time changes."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, lambda: hashlib.blake2b(digest_size=16)).digest()
