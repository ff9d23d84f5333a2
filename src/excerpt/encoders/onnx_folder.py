"""Transformer models in folders, run by onnxruntime: embedders and cross-encoders."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from excerpt.base.errors import ModelError, first_line
from excerpt.base.installation import extra_hint
from excerpt.encoders.checks import checked_scores, checked_vectors, clean_text
from excerpt.encoders.interface import Floats, PassageEmbedder, Reranker
from excerpt.encoders.model_folder import ModelFolder, read_model_folder

if TYPE_CHECKING:
    from tokenizers import Encoding

ONNX_EXTRA = "onnx"

_BATCH_TOKENS = 1024
"""Most tokens of a batch, padding included. Larger ones are not faster: with all-MiniLM-L6-v2 on two cores 1,024 took
320 MB of memory, 16,384 took 850 MB. The time limit of a cross-encoder is checked between batches."""

_MAX_CHARACTERS = 100_000
_SENTENCE_OUTPUT = "sentence_embedding"
_TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")
_SCORE_OUTPUT = "logits"
_PAD_TOKENS = ("[PAD]", "<pad>")

Ids = NDArray[np.int64]


class OnnxModel:
    """A model folder that is loaded: its tokenizer, and its network."""

    def __init__(self, files: ModelFolder, threads: int) -> None:
        """Load the model. `threads`: threads of a computation, 0 for one per core. Raises ModelError."""
        self.files = files
        self.source = f"The model in {files.folder}"
        try:
            import onnxruntime
        except ImportError as error:
            raise ModelError(f"{self.source} needs the package onnxruntime.", extra_hint(ONNX_EXTRA)) from error
        network = _read_checked(files) if files.sha256 else str(files.network)
        try:
            from tokenizers import Tokenizer

            self.tokenizer = Tokenizer.from_file(str(files.tokenizer))
            self.tokenizer.no_padding()
            self.tokenizer.no_truncation()
            pad_ids = map(self.tokenizer.token_to_id, (files.pad_token, *_PAD_TOKENS))
            self._pad_id = next((number for number in pad_ids if number is not None), 0)
            self._session = _open_session(onnxruntime, network, threads)
        except Exception as error:  # the libraries share no base class of errors
            raise ModelError(
                f"{self.source} cannot be loaded: {first_line(error)}.", "Copy the model's files again."
            ) from error
        self.outputs: Sequence[str] = [output.name for output in self._session.get_outputs()]

    @cached_property
    def id(self) -> str:
        """Digest of the model's files and options."""
        return self.files.id

    def truncate(self, max_tokens: int, strategy: str) -> None:
        """Cut all further texts to `max_tokens`; of a pair of texts with `only_second`, cut the second to fit both."""
        self.tokenizer.enable_truncation(max_tokens, strategy=strategy)

    def batches(self, encodings: Sequence[Encoding]) -> Iterator[list[int]]:
        """Yield positions of texts of about the same length, in batches of a bounded number of tokens."""
        order = sorted(range(len(encodings)), key=lambda position: len(encodings[position].ids))
        batch: list[int] = []
        for position in order:
            if batch and (len(batch) + 1) * len(encodings[position].ids) > _BATCH_TOKENS:
                yield batch
                batch = []
            batch.append(position)
        if batch:
            yield batch

    def run(self, encodings: Sequence[Encoding], output: str) -> tuple[NDArray[Any], Ids]:
        """Return an output of the network for texts, and the mask of their tokens, shape (texts, tokens).

        Raises ModelError if the network fails.
        """
        longest = max(1, *(len(encoding.ids) for encoding in encodings))
        shape = len(encodings), longest
        mask, ids, types = np.zeros(shape, np.int64), np.full(shape, self._pad_id, np.int64), np.zeros(shape, np.int64)
        for row, encoding in enumerate(encodings):
            length = len(encoding.ids)
            mask[row, :length], ids[row, :length], types[row, :length] = 1, encoding.ids, encoding.type_ids
        positions = np.broadcast_to(np.arange(longest, dtype=np.int64), shape)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types, "position_ids": positions}
        try:
            inputs = {wanted.name: given[wanted.name].astype(_numpy_type(wanted.type)) for wanted in self._inputs}
            return self._session.run([output], inputs)[0], mask
        except Exception as error:  # onnxruntime's errors share no base class
            raise ModelError(f"{self.source} cannot compute: {first_line(error)}.") from error

    @cached_property
    def _inputs(self) -> Sequence[Any]:
        """The inputs of the network. Raises ModelError if one of them is not computed from text."""
        inputs: Sequence[Any] = self._session.get_inputs()
        known = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
        if unknown := [wanted.name for wanted in inputs if wanted.name not in known]:
            raise ModelError(
                f"{self.source} asks for an input that excerpt does not have: {unknown[0]}.",
                "Export the model for feature extraction or text classification.",
            )
        return inputs


def _read_checked(files: ModelFolder) -> bytes:
    """Return the bytes of the network's file after checking them, so that these are loaded. Raises ModelError."""
    try:
        content = files.network.read_bytes()
    except OSError as error:
        raise ModelError(
            f"{files.network} cannot be read: {error.strerror}.", "Install the model's package again."
        ) from error
    if hashlib.sha256(content).hexdigest() != files.sha256:
        raise ModelError(
            f"{files.network} is not the file that excerpt knows: its SHA-256 differs.",
            "Install the model's package again.",
        )
    return content


def _open_session(onnxruntime: Any, network: str | bytes, threads: int) -> Any:
    onnxruntime.disable_telemetry_events()  # those of Windows
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # the library writes to stderr what it raises too
    # Threads that wait by spinning would take the processor from the screen between two batches.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(network, options, providers=["CPUExecutionProvider"])


def _numpy_type(onnx_type: str) -> type[np.integer[Any]]:
    return np.int32 if onnx_type == "tensor(int32)" else np.int64


# --- embedder ---------------------------------------------------------------------------------------------------------


class OnnxEmbedder:
    """An embedder in a model folder."""

    def __init__(self, model: OnnxModel) -> None:
        """Prepare a loaded model. Raises ModelError if it makes no vectors."""
        self._model = model
        self._output = next((name for name in (_SENTENCE_OUTPUT, *_TOKEN_OUTPUTS) if name in model.outputs), "")
        files = model.files
        if not self._output:
            raise ModelError(
                f"{model.source} makes no vectors: it has the output {model.outputs[0]}.",
                "Use a model for sentence similarity.",
            )
        if files.other_parts and self._output != _SENTENCE_OUTPUT:
            raise ModelError(
                f"{model.source} has a part that its ONNX file lacks: {', '.join(files.other_parts)}.",
                f"Export the model with an output named {_SENTENCE_OUTPUT}, or use another model.",
            )
        model.truncate(files.max_tokens, "longest_first")
        self.dimensions = 0  # not known before the first vector
        self.dimensions = self._embed_batch([model.tokenizer.encode("a")]).shape[1]

    @property
    def id(self) -> str:
        """Digest of the model's files and options."""
        return self._model.id

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages that the model card names; English if it names none."""
        return self._model.files.languages

    def embed_passages(self, texts: Sequence[str]) -> Floats:
        """Return a vector of length 1 for each passage. Raises ModelError if the network fails."""
        prompt = self._model.files.prompts.passage
        return self._embed([prompt + text for text in texts])

    def embed_query(self, text: str) -> Floats:
        """Return a vector of length 1 for a query. Raises ModelError if the network fails."""
        vector: Floats = self._embed([self._model.files.prompts.query + text])[0]
        return vector

    def _embed(self, texts: Sequence[str]) -> Floats:
        encodings = [self._model.tokenizer.encode(clean_text(text, _MAX_CHARACTERS)) for text in texts]
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for batch in self._model.batches(encodings):
            vectors[batch] = self._embed_batch([encodings[position] for position in batch])
        return vectors

    def _embed_batch(self, encodings: Sequence[Encoding]) -> Floats:
        output, mask = self._model.run(encodings, self._output)
        values = np.asarray(output, np.float32)
        if values.ndim == 3:
            values = np.concatenate([_pool(values, mask, kind) for kind in self._model.files.poolings], axis=1)
        return checked_vectors(values, len(encodings), self.dimensions, self._model.source)


def _pool(values: Floats, mask: Ids, kind: str) -> Floats:
    """Return a vector per text from its tokens' vectors, shape (texts, tokens, dimensions). Raises ModelError."""
    weights = mask.astype(np.float32)
    match kind:
        case "cls":
            return np.asarray(values[:, 0])
        case "lasttoken":
            return np.asarray(values[np.arange(len(values)), np.maximum(mask.sum(axis=1) - 1, 0)])
        case "max":
            return np.asarray(np.where(mask[:, :, None] > 0, values, -np.inf).max(axis=1), np.float32)
        case "mean" | "mean_sqrt_len_tokens":  # the two differ in length alone
            pass
        case "weightedmean":
            weights = weights * np.arange(1, mask.shape[1] + 1, dtype=np.float32)
        case _:
            raise ModelError(f"The model's pooling {kind} is not known.", "Use a model with mean or cls pooling.")
    total = np.einsum("ijk,ij->ik", values, weights)
    return np.asarray(total / np.maximum(weights.sum(axis=1, keepdims=True), 1e-9), np.float32)


# --- reranker ---------------------------------------------------------------------------------------------------------


class CrossEncoder:
    """A reranker in a model folder, which reads the query and a passage together."""

    def __init__(self, model: OnnxModel) -> None:
        self._model = model
        # Special tokens of the pair, and at least half of the rest for the passage.
        self._query_tokens = max(1, (model.files.max_tokens - 4) // 2)

    @property
    def id(self) -> str:
        """Digest of the model's files and options."""
        return self._model.id

    def score(self, query: str, passages: Sequence[str], seconds: float) -> Sequence[float]:
        """Return a score for each passage; only the beginning of a passage that is too long is read.

        Raises ModelError if that takes longer than `seconds`, which is checked between batches.
        """
        end = time.monotonic() + seconds
        model = self._model
        short_query = self._shorten(clean_text(query, _MAX_CHARACTERS))
        model.truncate(model.files.max_tokens, "only_second")
        encodings = [model.tokenizer.encode(short_query, clean_text(passage, _MAX_CHARACTERS)) for passage in passages]
        scores = np.zeros(len(passages), np.float32)
        for batch in model.batches(encodings):
            output, _ = model.run([encodings[position] for position in batch], _SCORE_OUTPUT)
            scores[batch] = _relevance(np.asarray(output, np.float32), len(batch))
            if time.monotonic() > end:
                raise _late_error(seconds)
        return checked_scores(scores, len(passages), model.source)

    def _shorten(self, query: str) -> str:
        self._model.tokenizer.no_truncation()
        encoding = self._model.tokenizer.encode(query, add_special_tokens=False)
        if len(encoding.ids) <= self._query_tokens:
            return query
        return query[: encoding.offsets[self._query_tokens - 1][1]]


def _relevance(logits: Floats, pairs: int) -> Floats:
    """Return a score for each pair: its only logit, or its second logit minus its first."""
    rows = logits.reshape(pairs, -1)
    return rows[:, 0] if rows.shape[1] == 1 else rows[:, 1] - rows[:, 0]


class CosineReranker:
    """A reranker that scores a passage by the cosine of its vector and the query's vector."""

    def __init__(self, embedder: PassageEmbedder) -> None:
        self._embedder = embedder

    @property
    def id(self) -> str:
        """Identity of the embedder."""
        return self._embedder.id

    def score(self, query: str, passages: Sequence[str], seconds: float) -> Sequence[float]:
        """Return the cosine of each passage. Raises ModelError if that took longer than `seconds`."""
        end = time.monotonic() + seconds
        vector = self._embedder.embed_query(query)
        scores = []
        for passage in passages:
            scores.append(float(self._embedder.embed_passages([passage])[0] @ vector))
            if time.monotonic() > end:
                raise _late_error(seconds)
        return scores


def _late_error(seconds: float) -> ModelError:
    return ModelError(f"The reranker took longer than {seconds:g} s.", "Raise rerank.seconds, or use a smaller model.")


def open_onnx_embedder(folder: Path, threads: int) -> OnnxEmbedder:
    """Load the embedder in a folder. Raises ModelError."""
    return OnnxEmbedder(OnnxModel(read_model_folder(folder), threads))


def open_onnx_reranker(folder: Path, threads: int) -> Reranker:
    """Load the cross-encoder in a folder, or else an embedder that reranks by cosine. Raises ModelError."""
    model = OnnxModel(read_model_folder(folder), threads)
    return CrossEncoder(model) if _SCORE_OUTPUT in model.outputs else CosineReranker(OnnxEmbedder(model))
