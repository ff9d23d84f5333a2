"""The background work of an embedder that the user chose: it embeds every fragment's text once, and can be interrupted.

Each batch is appended to the model's file of vectors when it is embedded, so a process that is killed loses one batch.
"""

from __future__ import annotations

import sqlite3
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from filelock import Timeout

from excerpt.base.errors import IndexBusyError, IndexUnusableError
from excerpt.base.model import EmbeddingProgress
from excerpt.base.settings import Settings
from excerpt.base.state_files import file_lock, make_folder
from excerpt.encoders.choice import open_embedder
from excerpt.encoders.model_names import embedder_source, hide_secrets, is_server, model_label
from excerpt.index.catalog import Catalog
from excerpt.index.catalog_rows import MAX_SQL_VALUES, heading_path_from_row
from excerpt.index.encoder_vectors import (
    RECORD_KEY,
    Digests,
    SearchVectorsRecord,
    TextVectors,
    TextVectorsWriter,
    short_digests,
    vectors_file,
    versioned_id,
)
from excerpt.index.files import EMBEDDINGS_FOLDER, mark_suspect
from excerpt.index.postings import embedded_digest, embedded_text
from excerpt.index.vectors import quantise

if TYPE_CHECKING:
    from excerpt.encoders.interface import PassageEmbedder

BATCH_TEXTS = 32
"""Texts of a request to a server. A batch is lost if the process is killed."""
_LOCAL_BATCH_TEXTS = 8
"""Texts of a batch on this machine: it takes .3 s with all-MiniLM-L6-v2, after which it can give way to the user."""
_CHUNK_TEXTS = 8 * BATCH_TEXTS
"""Texts that are sorted by length before they are divided into batches."""
_SYNC_SECONDS = 5.0
_RATE_SECONDS = 60.0
"""Seconds of work over which the remaining time is estimated."""
_ESTIMATE_AFTER_SECONDS = 4.0

OnEmbedded = Callable[[EmbeddingProgress], None]


class EmbeddingRun:
    """Embeds the fragments of an index with the embedder that the settings name; `run` again embeds new fragments.

    `wait` is called between two batches: it returns False to end the run, and may block for a pause. Call the methods
    from one thread.
    """

    def __init__(
        self,
        index: Path,
        settings: Settings,
        on_progress: OnEmbedded,
        wait: Callable[[], bool] = lambda: True,
        *,
        threads: int = 0,
    ) -> None:
        """Prepare a run. `threads` is the number of threads of a local model; 0 uses one per core."""
        self._index, self._settings = index, settings
        self._on_progress, self._wait = on_progress, wait
        self._threads = threads
        self._embedder: PassageEmbedder | None = None

    def run(self) -> SearchVectorsRecord | None:
        """Embed every text without a vector; return the record of the vectors, None if `wait` ended the run early.

        Raises ModelError, IndexUnusableError, and IndexBusyError if another process embeds the same index. Texts that
        were embedded before an error stay embedded.
        """
        with self._locked():
            return self._find_complete_record() or self._embed_all()

    def embed_some(self, keys: Sequence[int]) -> SearchVectorsRecord | None:
        """Embed the texts of the fragments `keys` only; return and raise as `run` does."""
        with self._locked():
            return self._embed_all(keys)

    def open_embedder(self) -> PassageEmbedder:
        """Return the model, loaded by the first call; ask a server for its model on each call. Raises ModelError."""
        if self._embedder is None or is_server(self._settings.embedding.model):
            self._embedder = open_embedder(self._settings, threads=self._threads)
        return self._embedder

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of the vector files for a block, and convert file and database errors to IndexUnusableError."""
        try:
            with self._lock():
                yield
        except (OSError, sqlite3.DatabaseError) as error:
            raise IndexUnusableError(
                f"The vectors in {self._index / EMBEDDINGS_FOLDER} cannot be written: {error}.",
                "Allow excerpt to write to that folder, or free disk space there.",
            ) from error

    @contextmanager
    def _lock(self) -> Iterator[None]:
        lock_file = self._index / EMBEDDINGS_FOLDER / "write.lock"
        make_folder(lock_file)
        lock = file_lock(lock_file, 0)
        try:
            lock.acquire()
        except Timeout as error:
            raise IndexBusyError(
                "Another excerpt process is embedding this vault.", "Wait until that process is done, or end it."
            ) from error
        try:
            yield
        finally:
            lock.release()

    def _find_complete_record(self) -> SearchVectorsRecord | None:
        """Return the catalog's record if its vectors are by this model and complete, without loading the model.

        If the embedder is a server, it is asked which model it has now.
        """
        model = self._settings.embedding.model
        with closing(Catalog.open_to_read(self._index)) as catalog:
            record = SearchVectorsRecord.from_json(catalog.meta(RECORD_KEY))
            if record is None or is_server(model) or not record.is_for_model(model):
                return None
            digests = _read_digests(catalog)
        file = vectors_file(self._index, record.id)
        if not file.exists():
            return None
        with closing(TextVectors(file, record.dimensions)) as vectors:
            vectors.read_to(record.size)
            return record if vectors.size == record.size and vectors.has(digests).all() else None

    def _embed_all(self, only: Sequence[int] | None = None) -> SearchVectorsRecord | None:
        """Embed the texts without a vector of all fragments, or only of the fragments with the keys `only`."""
        model, source = self._settings.embedding.model, embedder_source(self._settings.embedding.model)
        embedder = self.open_embedder()
        model_id = versioned_id(embedder)
        with closing(Catalog.open_to_read(self._index)) as catalog:
            wanted = _read_digests(catalog)
        with closing(TextVectorsWriter(vectors_file(self._index, model_id), embedder.dimensions, wanted)) as writer:
            while keys := self._find_missing(writer, only):
                before = len(writer.digests)
                if not self._embed_missing(writer, embedder, keys):
                    return None
                if len(writer.digests) == before:
                    raise IndexUnusableError("The text of a passage is damaged.", "Run `excerpt index` to repair it.")
            writer.sync()
            return SearchVectorsRecord(
                hide_secrets(model), source, model_id, embedder.dimensions, tuple(embedder.languages), writer.size
            )

    def _find_missing(self, writer: TextVectorsWriter, only: Sequence[int] | None) -> list[int]:
        """Return the key of one fragment for each text without a vector, and start counting embedded texts."""
        chosen = None if only is None else frozenset(only)
        with closing(Catalog.open_to_read(self._index)) as catalog:
            rows = catalog.rows("SELECT key, embedded FROM fragments ORDER BY key")
        rows = rows if chosen is None else [row for row in rows if row[0] in chosen]
        digests = short_digests([digest for _, digest in rows]).tolist()
        first_keys = dict(zip(reversed(digests), (key for key, _ in reversed(rows)), strict=True))
        missing = sorted(key for digest, key in first_keys.items() if digest not in writer.digests)
        self._rate = _EmbeddingRate(
            model_label(self._settings.embedding.model), len(first_keys) - len(missing), len(first_keys)
        )
        return missing

    def _embed_missing(self, writer: TextVectorsWriter, embedder: PassageEmbedder, keys: Sequence[int]) -> bool:
        """Embed the texts of the fragments with these keys; return False if `wait` ended the embedding early."""
        self._on_progress(self._rate.progress)
        batch_texts = BATCH_TEXTS if is_server(self._settings.embedding.model) else _LOCAL_BATCH_TEXTS
        synced = time.monotonic()
        for start in range(0, len(keys), _CHUNK_TEXTS):
            texts = _read_texts(self._index, keys[start : start + _CHUNK_TEXTS])
            for at in range(0, len(texts), batch_texts):
                if not self._wait():
                    return False
                began = time.monotonic()
                batch = texts[at : at + batch_texts]
                vectors = embedder.embed_passages([text for _, text in batch])
                writer.append(np.array([digest for digest, _ in batch], np.int64), quantise(vectors))
                self._rate.add(len(batch), time.monotonic() - began)
                self._on_progress(self._rate.progress)
            if time.monotonic() > synced + _SYNC_SECONDS:
                writer.sync()
                synced = time.monotonic()
        return True


class _EmbeddingRate:
    """Counts embedded texts, and estimates the remaining time."""

    def __init__(self, model: str, done: int, total: int) -> None:
        self._model, self._done, self._total = model, done, total
        self._batches: deque[tuple[int, float]] = deque()
        self._texts, self._seconds = 0, 0.0

    def add(self, texts: int, seconds: float) -> None:
        self._done += texts
        self._batches.append((texts, seconds))
        self._texts, self._seconds = self._texts + texts, self._seconds + seconds
        while self._seconds > _RATE_SECONDS:
            old_texts, old_seconds = self._batches.popleft()
            self._texts, self._seconds = self._texts - old_texts, self._seconds - old_seconds

    @property
    def progress(self) -> EmbeddingProgress:
        left = None
        if self._seconds >= _ESTIMATE_AFTER_SECONDS:
            left = (self._total - self._done) * self._seconds / self._texts
        return EmbeddingProgress(self._model, min(self._done, self._total), self._total, left)


def count_embedded(index: Path, embedder: PassageEmbedder) -> tuple[int, int]:
    """Return how many of the vault's different texts have a vector of the model, and how many texts there are.

    Raises IndexUnusableError.
    """
    try:
        with closing(Catalog.open_to_read(index)) as catalog:
            digests = _read_digests(catalog)
        file = vectors_file(index, versioned_id(embedder))
        if not file.exists():
            return 0, len(digests)
        with closing(TextVectors(file, embedder.dimensions)) as vectors:
            vectors.read_to()
            return int(vectors.has(digests).sum()), len(digests)
    except (OSError, sqlite3.DatabaseError) as error:
        raise IndexUnusableError(f"The index in {index} cannot be read: {error}.", "Run `excerpt index`.") from error


def read_sample(index: Path, count: int) -> list[str]:
    """Return the texts that are embedded for `count` fragments from all parts of the vault."""
    with closing(Catalog.open_to_read(index)) as catalog:
        keys = catalog.fragment_keys()
    chosen = keys[np.linspace(0, len(keys) - 1, min(count, len(keys))).astype(np.intp)] if len(keys) else keys
    return [text for _, text in _read_texts(index, chosen.tolist())]


def _read_digests(catalog: Catalog) -> Digests:
    """Return the digests of the embedded texts of all fragments, each once."""
    return np.unique(short_digests([digest for (digest,) in catalog.rows("SELECT embedded FROM fragments")]))


def _placeholders(values: Sequence[object]) -> str:
    return ",".join("?" * len(values))


def _read_texts(index: Path, keys: Sequence[int]) -> list[tuple[int, str]]:
    """Return the digest and the text of each fragment that still exists, the shortest first."""
    found: dict[int, str] = {}
    with closing(Catalog.open_to_read(index)) as catalog:
        for start in range(0, len(keys), MAX_SQL_VALUES):
            part = keys[start : start + MAX_SQL_VALUES]
            rows = catalog.rows(
                "SELECT f.embedded, n.title, s.heading_path, f.text FROM fragments f JOIN notes n ON n.id = f.note"
                f" JOIN sections s ON s.note = f.note AND s.ordinal = f.section WHERE f.key IN ({_placeholders(part)})",
                *part,
            )
            for digest, title, heading_path, text in rows:
                whole = embedded_text(title, heading_path_from_row(heading_path), text)
                if embedded_digest(whole) == digest:
                    found[int(short_digests([digest])[0])] = whole
                else:
                    mark_suspect(index, "a fragment's text")
    return sorted(found.items(), key=lambda item: len(item[1]))
