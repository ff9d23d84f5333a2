"""Embedding of texts as vectors by a static model. The only module that imports model2vec."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from excerpt.base.errors import ModelError
from excerpt.base.patterns import lazy_pattern

if TYPE_CHECKING:
    from model2vec import StaticModel
    from tokenizers import Tokenizer


# --- wordpieces -------------------------------------------------------------------------------------------------------
# Texts to the token numbers of a model, where the tokenizer treats every word by itself: each word is tokenized once.
#
# A library's tokenizer takes 1 s for 3 MB, nine tenths of the time of embedding. Tokenizers of the BERT family split at
# white space and around punctuation before anything else, so a span between two ASCII characters of these kinds has the
# same tokens in any context, and nearly all spans of a vault have occurred before.

Tokenize = Callable[[Sequence[str]], list[list[int]]]

_ASCII_PUNCTUATION = r"!-/:-@\[-`{-~"
_WORD = lazy_pattern(rf"[^ \t\n\r{_ASCII_PUNCTUATION}]+|[{_ASCII_PUNCTUATION}]")
# Limits of memory: some 40 MB. Longer spans (scripts without spaces, encoded data) hardly occur again.
_MAX_KNOWN = 200_000
_LONGEST_KNOWN = 40


class WordPieceCache:
    """Tokenizes texts word by word with a cache; use it from one thread at a time. Tokens equal those of `tokenize`."""

    def __init__(self, tokenize: Tokenize, tokenizer: Tokenizer) -> None:
        """Create an empty cache. `tokenize` returns token numbers of texts, using `tokenizer`.

        If this tokenizer cannot be applied word by word, every text is tokenized whole.
        """
        from tokenizers.normalizers import BertNormalizer
        from tokenizers.pre_tokenizers import BertPreTokenizer

        self._tokenize = tokenize
        self._known: dict[str, bytes] = {}
        added = tokenizer.get_added_tokens_decoder().values()
        self._can_split_words = (
            isinstance(tokenizer.normalizer, BertNormalizer)
            and isinstance(tokenizer.pre_tokenizer, BertPreTokenizer)
            and tokenizer.truncation is None
            and not any(token.normalized for token in added)
        )
        # Special tokens such as [PAD] are searched for before the text is split.
        names = "|".join(re.escape(token.content) for token in added)
        self._named = re.compile(names or r"(?!)")

    def ids(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Return the token numbers of each text, one array for each."""
        if len(self._known) > _MAX_KNOWN:
            self._known.clear()
        split_texts = [self._split_words(text) for text in texts]
        new = list(set(chain.from_iterable(split_texts)).difference(self._known))
        if new:
            self._known.update(zip(new, map(_pack_ids, self._tokenize(new)), strict=True))
        ids = [np.frombuffer(b"".join(map(self._known.__getitem__, parts)), np.int32) for parts in split_texts]
        for word in new:
            if len(word) > _LONGEST_KNOWN:
                del self._known[word]
        return ids

    def _split_words(self, text: str) -> list[str]:
        return _WORD.findall(text) if self._can_split_words and not self._named.search(text) else [text]


def _pack_ids(ids: list[int]) -> bytes:
    return np.array(ids, np.int32).tobytes()


# --- embed ------------------------------------------------------------------------------------------------------------
# The shipped model and any model in a folder load without the network. Only a name that the user wrote into the
# settings, and that is neither a folder nor in the local cache, is downloaded.

_MEDIAN_SAMPLE_WORDS = 1000  # words from which a model's median is estimated
_MAX_CACHED_WEIGHTS = 10_000
_MAX_SINGLE_TEXTS = 16  # texts that are tokenized one by one: 5 µs each
_MAX_CHARACTERS = 100_000  # a token takes a kilobyte while the mean is computed
_DEFAULT_MAX_TOKENS = 512  # what a text is cut to where the config does not say, as model2vec has it
_FILES = ("config.json", "tokenizer.json", "model.safetensors")


class Model(Protocol):
    """The part of the interface of a model2vec model that this module uses."""

    @property
    def embedding(self) -> NDArray[Any]: ...
    @property
    def weights(self) -> NDArray[Any] | None: ...
    @property
    def token_mapping(self) -> NDArray[Any] | None: ...
    @property
    def tokenizer(self) -> Tokenizer: ...
    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]: ...


SHIPPED_MEDIAN_LENGTH = 343.7542724609375
"""The value of `Embedder.measured_median_length` for the shipped model; a test compares them."""
SHIPPED_ID = "f5618523d2f68c79"
"""The value of `Embedder.measured_id` for the shipped model; a test compares them."""


class ShippedModel:
    """The model that ships with excerpt, loaded from its files without model2vec.

    Loading takes .04 s of CPU instead of .18 s with model2vec, which imports progress bars and multiprocessing, copies
    arrays and builds a table of all tokens. The vectors are mapped, so that all processes share one copy in memory.
    Other models may have features that this class does not support (weights, merged tokens, a maximum length), so
    model2vec loads them.
    """

    weights = None
    token_mapping = None

    def __init__(self, folder: Path) -> None:
        from tokenizers import Tokenizer

        _, tokenizer_file, tensors_file = (folder / name for name in _FILES)
        self.embedding: NDArray[Any] = _map_vectors(tensors_file)
        self.tokenizer = Tokenizer.from_file(str(tokenizer_file))
        self._unknown = self.tokenizer.token_to_id(self.tokenizer.model.unk_token)

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        encodings = self.tokenizer.encode_batch_fast(sentences, add_special_tokens=False)
        return [[number for number in encoding.ids if number != self._unknown] for encoding in encodings]


def _map_vectors(file: Path) -> NDArray[np.int8]:
    """Return the tensor "embeddings" of a safetensors file, one of int8, mapped into memory."""
    with file.open("rb") as opened:
        header_size = int.from_bytes(opened.read(8), "little")
        tensor = json.loads(opened.read(header_size))["embeddings"]
    if tensor["dtype"] != "I8":
        raise ValueError(f"{file.name} has vectors of {tensor['dtype']}, not of I8")
    offset = 8 + header_size + tensor["data_offsets"][0]
    return np.asarray(np.memmap(file, np.int8, "r", offset, tuple(tensor["shape"])))


class Embedder:
    """Embeds texts and weights words with a loaded model; a lock protects its caches, as two vaults may share it."""

    languages = ("en",)
    """The language of the shipped model. A model2vec folder does not name its languages: `embedding.languages` does."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.dimensions = int(model.embedding.shape[1])
        self._words = WordPieceCache(self._tokenize, model.tokenizer)
        self._weights: dict[str, float] = {}
        self._lock = threading.Lock()

    @cached_property
    def id(self) -> str:
        """Digest of the model's content, so that copies of a model in different folders have the same id."""
        return SHIPPED_ID if isinstance(self._model, ShippedModel) else self.measured_id()

    def measured_id(self) -> str:
        """Compute the digest of the model's content. Takes 15 ms for the shipped model of 7.5 MB."""
        content = hashlib.blake2b(digest_size=8)
        content.update(np.ascontiguousarray(self._model.embedding).tobytes())
        content.update(self._model.tokenizer.to_str().encode())
        return content.hexdigest()

    def has_word(self, word: str) -> bool:
        """Return whether the model's vocabulary has `word`, which is in lower case, whole and not only in pieces."""
        return self._model.tokenizer.token_to_id(word) is not None

    def word_weights(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return the weight of each word in general language, 0 to 1: .15 for "the", .35 for "how", 1 for "publish".

        A word's weight is the length of its vector, divided by that of the median word's vector, at most 1. Words that
        the model does not know have the weight 1. In static models rare words of general language have long vectors
        (smooth inverse frequency; Arora, Liang and Ma, 2017). A small vault does not show this rarity: in a manual,
        "my" is as rare as any noun.
        """
        with self._lock:
            new = [word for word in words if word not in self._weights]
            if new:
                lengths = self._measure_vector_lengths(new)
                shares = np.where(lengths > 0, np.minimum(lengths / self._median_length, 1), 1).astype(np.float32)
                if len(self._weights) > _MAX_CACHED_WEIGHTS:
                    self._weights = {word: share for word in words if (share := self._weights.get(word)) is not None}
                self._weights.update(zip(new, shares.tolist(), strict=True))
            return np.array([self._weights[word] for word in words], np.float32)

    @cached_property
    def _median_length(self) -> float:
        return SHIPPED_MEDIAN_LENGTH if isinstance(self._model, ShippedModel) else self.measured_median_length()

    def measured_median_length(self) -> float:
        """Compute the median length of the vectors of about 1,000 words of the model. Takes .05 s of CPU."""
        known = sorted(word for word in self._model.tokenizer.get_vocab() if word.isalpha())
        lengths = self._measure_vector_lengths(known[:: max(1, len(known) // _MEDIAN_SAMPLE_WORDS)])
        return float(np.median(lengths)) if len(lengths) else 1.0

    def _measure_vector_lengths(self, words: Sequence[str]) -> NDArray[np.float32]:
        if not words:
            return np.zeros(0, np.float32)
        clean = [word.encode("utf-8", "replace").decode() for word in words]
        # A rare word is split into many pieces; its weight is that of their sum, not of the model's mean.
        lengths = [float(np.linalg.norm(self._read_token_vectors(ids).sum(axis=0))) for ids in self._tokenize(clean)]
        return np.array(lengths, np.float32)

    def _tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        # For a batch the library starts threads, which takes longer than tokenizing a query's few words one by one.
        if len(texts) <= _MAX_SINGLE_TEXTS:
            return [self._model.tokenize([text])[0] for text in texts]
        token_ids: list[list[int]] = self._model.tokenize(texts)
        return token_ids

    def _read_token_vectors(self, ids: Sequence[int] | NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the vectors of some tokens, multiplied by the tokens' weights; shape (len(ids), dimensions)."""
        model, numbers = self._model, np.asarray(ids, np.int64)
        rows = numbers if model.token_mapping is None else model.token_mapping[numbers]
        vectors = model.embedding.take(rows, axis=0).astype(np.float32)
        return vectors if model.weights is None else vectors * model.weights[numbers][:, None]

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return vectors of length 1, one per text, shape (n, dimensions); all zeros for a text without a known word.

        Only the first 100,000 characters of a text are embedded: one line of megabytes would take too much memory.
        """
        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        bounded = [text[:_MAX_CHARACTERS] for text in texts]
        # The tokenizer rejects a lone surrogate, which UTF-16 notes may hold.
        clean = [text if text.isascii() else text.encode("utf-8", "replace").decode() for text in bounded]
        with self._lock:
            token_ids = self._words.ids(clean)
        means = np.array([self._mean(ids) for ids in token_ids], np.float32)
        lengths = np.linalg.norm(means, axis=1, keepdims=True) + 1e-32
        return np.asarray(means / lengths, np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a query, shape (dimensions,): a static model embeds queries as it embeds passages."""
        vector: NDArray[np.float32] = self.embed([text])[0]
        return vector

    def _mean(self, ids: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return the mean of the weighted vectors of some tokens, as the model's own `encode` does; not normalised.

        The shipped model's components are integers within 127, so float32 sums of up to 130,000 tokens are exact.
        """
        if not len(ids):
            return np.zeros(self.dimensions, np.float32)
        total = np.add.reduce(self._read_token_vectors(ids), axis=0)
        return np.asarray(total.astype(np.float64) / len(ids), np.float32)


def model_source(model: str) -> str:
    """Return the model's name with the sizes and times of its files, to detect changes without loading the model.

    The shipped model has such a text too, because it may change with the version of excerpt.
    """
    folder = _model_folder(model) if model else _shipped_folder()
    if folder is None:
        return model
    stats = [(folder / name).stat() for name in _FILES if (folder / name).is_file()]
    return f"{model}:{','.join(f'{stat.st_size}-{stat.st_mtime_ns}' for stat in stats)}"


_loaded: dict[threading.Thread, tuple[str, Embedder]] = {}
_cache_lock = threading.Lock()


def open_embedder(model: str) -> Embedder:
    """Load `model`: a folder, a model2vec name, or "" for the model that ships with excerpt. Raises ModelError.

    The last model of each thread is cached, because loading takes 0.4 s. Threads have models of their own, so that a
    search does not wait for a build, but a new thread takes over the model of a thread that has ended.
    """
    source, thread = model_source(model), threading.current_thread()
    with _cache_lock:
        for user in [
            user for user, (user_source, _) in _loaded.items() if user_source != source and not _is_used_elsewhere(user)
        ]:
            del _loaded[user]
        owner = next((user for user in (thread, *_loaded) if user in _loaded and not _is_used_elsewhere(user)), None)
        if owner is not None:
            _loaded[thread] = _loaded.pop(owner)
            return _loaded[thread][1]
    embedder = _open(model)
    with _cache_lock:
        _loaded[thread] = source, embedder
    return embedder


def _is_used_elsewhere(thread: threading.Thread) -> bool:
    return thread is not threading.current_thread() and thread.is_alive()


def _open(model: str) -> Embedder:
    if not model:
        return _open_folder(_shipped_folder(), ShippedModel)
    if folder := _model_folder(model):
        return _open_folder(folder, _load_static_model)
    if Path(model).is_absolute() or model.startswith((".", "~")) or model.count("/") != 1 or len(model) > _LONGEST_NAME:
        name = model if len(model) <= _LONGEST_NAME else f"{model[:60]}… ({len(model):,} letters)"
        raise ModelError(
            f"There is no embedding model at {name}.",
            "Set embedding.model to a folder, a name such as minishlab/potion-base-8M, or openai:http://127.0.0.1:11434/v1#NAME.",
        )
    return _load(model, lambda: _fetch_model(model))


_LONGEST_NAME = 200  # of a model on a hub; its folder in the hub's cache has a few characters more


def _model_folder(model: str) -> Path | None:
    """Return the path `model` if it is a folder, else None."""
    try:
        folder = Path(model).expanduser()
        return folder if folder.is_dir() else None
    except (OSError, RuntimeError, ValueError):  # too long a name, the ~ of an unknown user, a NUL
        return None


def _shipped_folder() -> Path:
    return Path(__file__).resolve().parent.parent / "embedding"


def _open_folder(folder: Path, load: Callable[[Path], Model]) -> Embedder:
    missing = [name for name in _FILES if not (folder / name).is_file()]
    if missing:
        raise ModelError(
            f"The embedding model in {folder} is incomplete. Missing files: {', '.join(missing)}.",
            "Copy the model there again, or leave embedding.model empty to use the model that ships with excerpt.",
        )
    return _load(str(folder), lambda: load(folder))


def _load_static_model(folder: Path) -> StaticModel:
    """Load a model2vec model from a folder, as `StaticModel.from_pretrained` does but without importing a hub client.

    The import takes 0.4 s of CPU, and the client would request missing files from the network.
    """
    from model2vec import StaticModel
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    config_file, tokenizer_file, tensors_file = (folder / name for name in _FILES)
    config = json.loads(config_file.read_text(encoding="utf-8"))
    tensors = load_file(tensors_file)
    return StaticModel(
        tensors["embeddings"],
        Tokenizer.from_file(str(tokenizer_file)),
        config,
        normalize=config.get("normalize", False),
        weights=tensors.get("weights"),
        token_mapping=tensors.get("mapping"),
        max_length=config.get("max_length", _DEFAULT_MAX_TOKENS),
    )


def _fetch_model(name: str) -> StaticModel:
    from model2vec import StaticModel

    return StaticModel.from_pretrained(name, force_download=False)


def _load(source: str, load: Callable[[], Model]) -> Embedder:
    try:
        return Embedder(load())
    except Exception as error:
        # The loaders that model2vec uses (safetensors, tokenizers, the hub's client) share no base class of errors.
        raise ModelError(
            f"The embedding model {source} cannot be loaded: {type(error).__name__}: {error}.",
            "Leave embedding.model empty to use the model that ships with excerpt.",
        ) from error
