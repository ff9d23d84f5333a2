"""Embedders and rerankers on a server: OpenAI's embeddings, and the spellings of rerank requests."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np

from excerpt.base.errors import ModelError, ModelUnreachableError
from excerpt.base.patterns import lazy_pattern
from excerpt.base.settings import Paths
from excerpt.base.state_files import exclusive_lock, read_value, write_value
from excerpt.encoders.checks import checked_scores, checked_vectors, clean_text
from excerpt.encoders.http_client import Answer, post_json
from excerpt.encoders.interface import MAX_DIMENSIONS, Floats
from excerpt.encoders.known_models import languages_of, prompts_of
from excerpt.encoders.server_address import ServerAddress, ServerKey

PASSAGES_SECONDS = 120.0
"""Most seconds for a request with passages: a server may load the model first."""

QUERY_SECONDS = 10.0
RETRY_WAITS = (0.5, 2.0)
"""Seconds before each further try of a request that found the server busy or gone."""

_MAX_WAIT = 10.0
_MAX_TEXTS = 32
"""Texts of a request; some servers refuse more."""

_MAX_CHARACTERS = 16_000
_LEAST_CHARACTERS = 200
_NUMBER_BYTES = 32
_OTHER_BYTES = 1 << 18
_SAMPLE = "The quick brown fox jumps over the lazy dog."
_SAME_MODEL_COSINE = 0.995
"""Least cosine of two vectors of the sample by the same model: rounding differs by processor and quantisation."""

_TOO_LONG = lazy_pattern(
    rb"too (large|long)|context (length|size|window)|maximum (allowed|batch|context|input|number|sequence)|less than",
    re.IGNORECASE,
)
"""What llama.cpp, Ollama, OpenAI, TEI and vLLM say, with different statuses, of a request that is too large."""


class _TooLongError(ModelError):
    """The server refused a request because its texts are too long or too many."""


class _RefusedError(ModelError):
    """The server does not understand the request."""


class ModelServer:
    """A server to which requests for vectors or scores are sent."""

    def __init__(self, address: ServerAddress, key: ServerKey, *, is_remote_allowed: bool) -> None:
        self.address = address
        self._key = key
        self._is_remote_allowed = is_remote_allowed

    def ask(self, body: Mapping[str, object], *, seconds: float, max_bytes: int, waits: Sequence[float] = ()) -> object:
        """Return the JSON that answers a request; if the server is busy, send the request again after each of `waits`.

        `waits` are in seconds. Raises ModelUnreachableError if the server stays busy, ModelError if it refuses or its
        answer is no such JSON.
        """
        named = {"model": self.address.model, **body} if self.address.model else body
        for wait in (*waits, None):
            retry_seconds = 0.0
            try:
                answer = self.post(named, seconds, max_bytes)
                if not _is_busy(answer):
                    return self.read(answer)
                retry_seconds = answer.retry_seconds
                failure: ModelError = ModelUnreachableError(
                    f"{self.address} has too much to do or failed (status {answer.status}).{self._detail(answer)}",
                    "Wait, or look at the server's log.",
                )
            except ModelUnreachableError as error:
                failure = error
            if wait is None:
                raise failure
            time.sleep(min(max(wait, retry_seconds), _MAX_WAIT))
        raise AssertionError  # the last wait is None

    def post(self, body: object, seconds: float, max_bytes: int) -> Answer:
        """Return the answer to one request, whatever its status is. Raises ModelError."""
        return post_json(
            self.address,
            body,
            self._key,
            is_remote_allowed=self._is_remote_allowed,
            seconds=seconds,
            max_bytes=max_bytes,
        )

    def read(self, answer: Answer) -> object:
        """Return the JSON of an answer. Raises ModelError if its status is not 200, or its content not JSON."""
        if answer.status == 200:
            try:
                return json.loads(answer.content)
            except (ValueError, RecursionError) as error:
                raise ModelError(
                    f"{self.address} answered something other than JSON.",
                    "Check that this is the address of the right server.",
                ) from error
        if _is_too_long(answer):
            raise _TooLongError(
                f"{self.address} refuses a text as too long.{self._detail(answer)}", "Raise the server's context size."
            )
        if 300 <= answer.status < 400:
            raise ModelError(
                f"{self.address} leads to another address, which is not followed.", "Set the address that answers."
            )
        if answer.status in (401, 403):
            raise ModelError(f"{self.address} refuses the key, or wants one.", _KEY_HINT)
        raise _RefusedError(
            f"{self.address} refuses the request (status {answer.status}).{self._detail(answer)}",
            "Check the address and the name of the model.",
        )

    def _detail(self, answer: Answer) -> str:
        """Return the server's message about a failure, as a sentence to append to another; the key is never in it."""
        try:
            value = json.loads(answer.content)
        except (ValueError, RecursionError):
            return ""
        for name in ("error", "message", "detail"):
            if isinstance(value, dict) and name in value:
                value = value[name]
        if not isinstance(value, str) or not value.strip():
            return ""
        if self._key.value:
            value = value.replace(self._key.value, "…")
        line = " ".join("".join(letter if letter.isprintable() else " " for letter in value).split())
        return f" It says: {line[:200].rstrip('.')}."


_KEY_HINT = "Set the key in the environment or in keys.toml, as the guide's page on embedding models says."


def _is_busy(answer: Answer) -> bool:
    return (answer.status == 429 or answer.status >= 500) and not _is_too_long(answer)


def _is_too_long(answer: Answer) -> bool:
    return answer.status == 413 or (
        answer.status in (400, 422, 500) and _TOO_LONG.search(answer.content[:_OTHER_BYTES]) is not None
    )


# --- embedder ---------------------------------------------------------------------------------------------------------


class ServerEmbedder:
    """An embedder on a server that understands OpenAI's requests for embeddings."""

    def __init__(self, server: ModelServer, paths: Paths) -> None:
        """Ask the server for a sample, which shows its dimensions and its identity. Raises ModelError."""
        self._server = server
        self._source = f"The model of {server.address}"
        name = server.address.model
        self._prompts = prompts_of(name)
        self.languages = languages_of(name)
        self.dimensions = 0  # not known before the first vector
        (sample,) = self._ask([_SAMPLE], PASSAGES_SECONDS, ())
        self.dimensions = len(sample)
        known = hashlib.blake2b(_identity_vector(name, sample, paths).tobytes(), digest_size=8)
        known.update(repr(self._prompts).encode())
        self.id = f"{name}/{self.dimensions}/{known.hexdigest()}"

    def embed_passages(self, texts: Sequence[str]) -> Floats:
        """Return a vector of length 1 for each passage. Raises ModelError."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), _MAX_TEXTS):
            part = [self._prompts.passage + text for text in texts[start : start + _MAX_TEXTS]]
            vectors[start : start + len(part)] = self._embed(part, PASSAGES_SECONDS, RETRY_WAITS)
        return vectors

    def embed_query(self, text: str) -> Floats:
        """Return a vector of length 1 for a query. Raises ModelError, without a further try."""
        vector: Floats = self._embed([self._prompts.query + text], QUERY_SECONDS, ())[0]
        return vector

    def _embed(self, texts: Sequence[str], seconds: float, waits: Sequence[float]) -> Floats:
        """Return the vectors of texts. A text that the server refuses as too long is shortened until it is accepted."""
        bounded = [clean_text(text, _MAX_CHARACTERS) for text in texts]
        try:
            return self._ask(bounded, seconds, waits)
        except _TooLongError:
            half = len(bounded) // 2
            if half:
                halves = (self._embed(part, seconds, waits) for part in (bounded[:half], bounded[half:]))
                return np.concatenate(list(halves))
            shorter = bounded[0][: len(bounded[0]) // 2]
            if len(shorter) < _LEAST_CHARACTERS:
                raise
            return self._embed([shorter], seconds, waits)

    def _ask(self, texts: Sequence[str], seconds: float, waits: Sequence[float]) -> Floats:
        max_bytes = len(texts) * (self.dimensions or MAX_DIMENSIONS) * _NUMBER_BYTES + _OTHER_BYTES
        # Some servers refuse a text without letters.
        body = {"input": [text or " " for text in texts]}
        answer = self._server.ask(body, seconds=seconds, max_bytes=max_bytes, waits=waits)
        rows = _by_index(answer, "data", ("embedding",), len(texts))
        return checked_vectors(rows, len(texts), self.dimensions, self._source)


def _identity_vector(name: str, sample: Floats, paths: Paths) -> Floats:
    """Return the vector that identifies a model: a stored vector nearly equal to `sample`; else store `sample`.

    So another model under the same name gets another identity, and the same model keeps its identity on another
    processor.
    """
    file, fresh = paths.known_embedders_file, [round(float(number), 6) for number in sample]
    with suppress(OSError), exclusive_lock(file):  # a sample that cannot be stored is made again
        samples = read_value(file, dict[str, list[list[float]]], {})
        for earlier in samples.get(name, ()):
            if len(earlier) == len(fresh) and np.dot(earlier, fresh) >= _SAME_MODEL_COSINE:
                return np.array(earlier, np.float32)
        samples.setdefault(name, []).append(fresh)
        write_value(file, samples)
    return np.array(fresh, np.float32)


def _by_index(answer: object, table: str, names: Sequence[str], count: int) -> list[object]:
    """Return the value under one of `names` for each text, in the order of the texts.

    Returns an empty list if the answer has another form, and a shorter list if some texts have no value.
    """
    rows = answer.get(table) if isinstance(answer, dict) else answer
    if not isinstance(rows, list):
        return []
    found: dict[int, object] = {}
    for position, row in enumerate(rows):
        if not isinstance(row, dict):
            return []
        index = row.get("index", position)
        value = next((row[name] for name in names if name in row), None)
        if isinstance(index, int) and 0 <= index < count and value is not None:
            found[index] = value
    return [found[index] for index in sorted(found)]


# --- reranker ---------------------------------------------------------------------------------------------------------


class ServerReranker:
    """A reranker on a server that understands the requests of Jina, Cohere, llama.cpp and vLLM, or those of TEI."""

    def __init__(self, server: ModelServer) -> None:
        self._server = server
        self._source = f"The model of {server.address}"
        self._calls_them_texts = False

    @property
    def id(self) -> str:
        """The address, and the model's name."""
        return f"{self._server.address}#{self._server.address.model}"

    def score(self, query: str, passages: Sequence[str], seconds: float) -> Sequence[float]:
        """Return a score for each passage. Raises ModelError, also if that takes longer than `seconds`."""
        if not passages:
            return []
        end = time.monotonic() + seconds
        texts = [clean_text(passage, _MAX_CHARACTERS) for passage in passages]
        short_query = clean_text(query, _MAX_CHARACTERS)
        try:
            answer = self._ask(short_query, texts, seconds, self._calls_them_texts)
        except _RefusedError as error:
            # Jina's spelling is tried first; TEI refuses it, and is asked in its own from then on.
            left = end - time.monotonic()
            if self._calls_them_texts or left <= 0:
                raise
            try:
                answer = self._ask(short_query, texts, left, calls_them_texts=True)
            except _RefusedError:
                raise error from None
            self._calls_them_texts = True
        rows = _by_index(answer, "results", ("relevance_score", "score"), len(texts))
        return checked_scores(rows, len(texts), self._source)

    def _ask(self, query: str, texts: Sequence[str], seconds: float, calls_them_texts: bool) -> object:
        body: dict[str, object] = (
            {"query": query, "texts": texts, "truncate": True}
            if calls_them_texts
            else {"query": query, "documents": texts, "top_n": len(texts)}
        )
        max_bytes = _OTHER_BYTES + 6 * sum(map(len, texts))  # some servers send the passages back, escaped
        return self._server.ask(body, seconds=seconds, max_bytes=max_bytes)
