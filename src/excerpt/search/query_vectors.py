"""Vectors of queries. Those of an embedder that the user chose may come late: a search waits for a stated time only."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from excerpt.base.errors import ModelError
from excerpt.corpus.interface import Corpus, QueryEmbedder

if TYPE_CHECKING:
    from concurrent.futures import Future

    from excerpt.search.model_thread import ModelThread

Floats = npt.NDArray[np.float32]

MAX_WAIT_SECONDS = 2.0
"""Seconds that a command, the API or a server waits for the vector of a query. The screen does not wait."""
RETRY_SECONDS = 10.0
"""Seconds after a failure of the embedder in which it is not asked again."""
MAX_CACHED = 500
"""Number of query vectors that are cached: those of a query and of its beginnings as it was typed."""


def has_chosen_embedder(corpus: Corpus) -> bool:
    """Return whether queries are compared with vectors of an embedder that the user chose, not of a static model."""
    return corpus.search_vectors is not corpus.vectors


class QueryVectors:
    """The vectors of queries, cached; those by an embedder that the user chose are computed in a separate thread.

    One object serves all generations of a vault. Methods are called from one thread at a time.
    """

    def __init__(self, wait_seconds: float = MAX_WAIT_SECONDS, on_ready: Callable[[], object] = lambda: None) -> None:
        """Create an empty cache. `load` waits at most `wait_seconds`.

        `on_ready` is called in the embedder's thread when vectors are ready, or their embedder has failed, after `load`
        has returned without them.
        """
        self._wait_seconds = wait_seconds
        self._on_ready = on_ready
        self._lock = threading.Lock()
        self._embedder: QueryEmbedder | None = None
        self._vectors: OrderedDict[str, Floats] = OrderedDict()
        self._failure = ""
        self._failure_time = 0.0

    @cached_property
    def _thread(self) -> ModelThread:
        from excerpt.search.model_thread import ModelThread

        return ModelThread("query-vectors")

    def load(self, corpus: Corpus, texts: Iterable[str]) -> None:
        """Request the vectors of `texts` from an embedder that the user chose; a newer call replaces a waiting one."""
        if not has_chosen_embedder(corpus):
            return
        embedder = corpus.query_embedder
        with self._lock:
            if embedder != self._embedder:
                self._embedder, self._failure = embedder, ""
                self._vectors.clear()
        if missing := self._missing(embedder, dict.fromkeys(map(str.strip, texts))):
            dimensions = len(corpus.search_vectors.mean)
            self._wait(self._thread.submit(partial(self._embed, embedder, missing, dimensions)))

    def find(self, corpus: Corpus, text: str) -> Floats | None:
        """Return the vector of a query; None if the embedder has not made it yet or has failed. Raises ModelError."""
        if not has_chosen_embedder(corpus):
            return corpus.embedder.embed_query(text)
        with self._lock:
            vector = self._vectors.get(text.strip()) if corpus.query_embedder == self._embedder else None
            if vector is not None:
                self._vectors.move_to_end(text.strip())
            return vector

    @property
    def warning(self) -> str:
        """A sentence on why the query has no vector, so that words rank the hits; "" while it is being computed."""
        if self._failure:
            return f"Ranked by words alone. {self._failure}"
        limit = f"{self._wait_seconds:g} seconds"
        return f"Ranked by words alone. The embedding model took longer than {limit}." if self._wait_seconds else ""

    def _wait(self, future: Future[None]) -> None:
        from concurrent.futures import wait

        if self._wait_seconds:
            wait([future], self._wait_seconds)
        if not future.done() or not self._wait_seconds:
            future.add_done_callback(lambda done: None if done.cancelled() else self._on_ready())

    def _missing(self, embedder: QueryEmbedder, texts: Iterable[str]) -> Sequence[str]:
        """Return the texts to embed: none for a replaced embedder, or within `RETRY_SECONDS` of a failure."""
        with self._lock:
            is_paused = self._failure and time.monotonic() < self._failure_time + RETRY_SECONDS
            if is_paused or embedder != self._embedder:
                return ()
            return [text for text in texts if text not in self._vectors]

    def _embed(self, embedder: QueryEmbedder, texts: Sequence[str], dimensions: int) -> None:
        made: dict[str, Floats] = {}
        failure = ""
        # The call before this one may have embedded them, or failed, while this one waited.
        missing = self._missing(embedder, texts)
        if not missing:
            return
        try:
            for text in missing:
                made[text] = _check_vector(embedder.embed_query(text), dimensions)
        except ModelError as error:
            failure = error.message
        except Exception as error:
            failure = f"The embedding model failed: {type(error).__name__}."
        with self._lock:
            if embedder == self._embedder:
                self._failure, self._failure_time = failure, time.monotonic()
                self._vectors.update(made)
                while len(self._vectors) > MAX_CACHED:
                    self._vectors.popitem(last=False)


def _check_vector(vector: Floats, dimensions: int) -> Floats:
    """Return the vector of a query. Raises ModelError if its shape differs from the vectors of passages."""
    checked = np.asarray(vector, np.float32)
    if checked.shape != (dimensions,) or not np.isfinite(checked).all():
        raise ModelError(f"The embedding model returned no vector of {dimensions:,} numbers for the query.")
    return checked
