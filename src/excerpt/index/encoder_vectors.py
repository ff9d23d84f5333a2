"""The vectors of an embedder that the user chose: their file, the catalog's record of it, and their use in a search.

Such an embedder is slow, so it embeds in the background (`embedding_run`), and its vectors are not made with the index.
Each model has one file in the index folder, with vectors by the digest of their text. The file only grows, block by
block, and outlives a rebuild of the index. When all fragments of a generation have a vector, the catalog records the
file, and searches use it from that generation on.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from excerpt.base.errors import ModelError
from excerpt.base.settings import Settings
from excerpt.base.state_files import sync_folder
from excerpt.encoders.choice import open_embedder
from excerpt.encoders.interface import MAX_DIMENSIONS
from excerpt.encoders.model_names import embedder_source, has_hidden_secret, hide_secrets, is_static_model
from excerpt.index.files import EMBEDDINGS_FOLDER, RandomAccessFile
from excerpt.index.postings import EMBEDDED_TEXT_VERSION
from excerpt.index.vectors import BLOCK_HEAD, BLOCK_MAGIC, QuantisedVectors, pack_block

if TYPE_CHECKING:
    from excerpt.encoders.interface import PassageEmbedder

Digests = NDArray[np.int64]
Floats = NDArray[np.float32]
Keys = NDArray[np.int64]

RECORD_KEY = "search_vectors"
"""Name in table `meta` whose value is a SearchVectorsRecord as JSON, "" for none."""

MAX_MISSING_SHARE = 0.1
"""Share of fragments without a vector up to which a recorded file is used. These fragments are new, and found by words
until they are embedded; with more of them, meaning would count for some notes only."""

_ROWS_OF_A_BLOCK = 256
"""Vectors of a block when a file is written again, and of a part that is read at a time."""
_MAX_UNUSED_SHARE = 0.5
_LEAST_UNUSED = 1000
_MAX_FILES = 3
"""Models whose vectors are kept, so that going back to one costs nothing."""


class SearchVectorsRecord(Struct, frozen=True):
    """A record of the vectors that searches use: their model, and the size in bytes of their file in this generation.

    `model` is the setting that chose the model, without a key in an address, `source` its `embedder_source`, `id` its
    identity with the version of the embedded text.
    """

    model: str
    source: str
    id: str
    dimensions: int
    languages: tuple[str, ...]
    size: int

    def to_json(self) -> str:
        return json.dumps(structs.asdict(self))

    @staticmethod
    def from_json(text: str) -> SearchVectorsRecord | None:
        """Parse a record; None for "" and for a record of another version of excerpt."""
        try:
            fields = json.loads(text or "null")
            # An earlier version stored the address of a server with its query.
            hidden = {name: hide_secrets(fields[name]) for name in ("model", "source")}
            record = SearchVectorsRecord(**{**fields, **hidden, "languages": tuple(fields["languages"])})
            is_possible = 1 <= record.dimensions <= MAX_DIMENSIONS
        except (ValueError, TypeError, KeyError, AttributeError):
            return None
        return record if is_possible else None

    def is_for_model(self, model: str) -> bool:
        """Return whether the setting `model` names the embedder that made the vectors, and its files are unchanged."""
        return (self.model, self.source) == (hide_secrets(model), embedder_source(model))

    def is_usable(self, settings: Settings) -> bool:
        """Return whether searches with these settings may use the vectors.

        They also use the vectors of the previous model while the model of the settings has not embedded all fragments,
        unless the previous model is on a server whose address had a key.
        """
        model = settings.embedding.model
        if is_static_model(model):
            return False
        return self.is_for_model(model) or (self.is_for_model(self.model) and not has_hidden_secret(self.model))


def versioned_id(embedder: PassageEmbedder) -> str:
    """Return the identity of a model's vectors: the model's id with the version of the embedded text."""
    return f"{embedder.id}/{EMBEDDED_TEXT_VERSION}"


def short_digests(digests: Sequence[bytes]) -> Digests:
    """Return the keys of texts in a file of vectors: the first 8 of the 12 bytes of `embedded_digest`."""
    return np.frombuffer(b"".join(digest[:8] for digest in digests), "<i8").astype(np.int64)


def vectors_file(index: Path, model_id: str) -> Path:
    """Return the file for the vectors of a model (by `versioned_id`) in the index folder."""
    return index / EMBEDDINGS_FOLDER / f"{hashlib.blake2b(model_id.encode(), digest_size=8).hexdigest()}.vectors"


# --- the file ---------------------------------------------------------------------------------------------------------


class _VectorBlock(Struct, frozen=True):
    """A block of the file: where its content starts, and the digests of its texts."""

    start: int
    digests: Digests


class TextVectors:
    """The vectors of texts in a file, open for reading. A block that is cut short or damaged counts as missing."""

    def __init__(self, path: Path, dimensions: int) -> None:
        """Open the file. Raises OSError."""
        self.dimensions = dimensions
        self._blocks: list[_VectorBlock] = []
        self.size = 0
        """Bytes of the blocks that were read."""
        self.is_damaged = False
        """Whether the file has something else than intact blocks."""
        self._file = RandomAccessFile(path)
        self._table: tuple[Digests, NDArray[np.int32], NDArray[np.int32]] | None = None

    def close(self) -> None:
        self._file.close()

    def read_to(self, size: int | None = None) -> None:
        """Read the blocks up to `size` bytes that have not been read yet; None reads to the end. Raises OSError."""
        end = self._file.size if size is None else min(size, self._file.size)
        while self.size + BLOCK_HEAD.size <= end:
            at = self.size + BLOCK_HEAD.size
            magic, width, count, crc = BLOCK_HEAD.unpack(self._file.read(self.size, at))
            length = count * (12 + width)
            if magic != BLOCK_MAGIC or width != self.dimensions or at + length > end:
                break
            body = self._file.read(at, at + length)
            if zlib.crc32(body) == crc:
                self._blocks.append(_VectorBlock(at, np.frombuffer(body, "<i8", count).astype(np.int64)))
            else:
                self.is_damaged = True
            self.size = at + length
            self._table = None
        self.is_damaged = self.is_damaged or self.size < end

    @property
    def digests(self) -> Digests:
        """The digests of all texts, ascending."""
        return self._sort_digests()[0]

    def has(self, digests: Digests) -> NDArray[np.bool_]:
        """Return which of the texts have a vector."""
        return np.isin(digests, self.digests)

    def rows(self, digests: Digests) -> QuantisedVectors:
        """Return the vectors of texts, all zeros with the scale 0 for a text without one. Raises OSError."""
        known, block_of, row_of = self._sort_digests()
        scales = np.zeros(len(digests), np.float32)
        rows = np.zeros((len(digests), self.dimensions), np.int8)
        at = np.searchsorted(known, digests)
        found = at < len(known)
        found[found] = known[at[found]] == digests[found]
        targets = np.flatnonzero(found)
        blocks, sources = block_of[at[targets]], row_of[at[targets]]
        order = np.argsort(blocks, kind="stable")
        starts = np.flatnonzero(np.diff(blocks[order], prepend=-1))
        for part in np.split(order, starts[1:]) if len(order) else ():
            vectors = self._read_block(self._blocks[int(blocks[part[0]])])
            scales[targets[part]] = vectors.scales[sources[part]]
            rows[targets[part]] = vectors.rows[sources[part]]
        return QuantisedVectors(scales, rows)

    def _read_block(self, block: _VectorBlock) -> QuantisedVectors:
        count = len(block.digests)
        scales_at, rows_at = block.start + 8 * count, block.start + 12 * count
        content = memoryview(self._file.read(scales_at, rows_at + count * self.dimensions))
        scales = np.frombuffer(content[: rows_at - scales_at], "<f4").astype(np.float32)
        return QuantisedVectors(
            scales, np.frombuffer(content[rows_at - scales_at :], np.int8).reshape(count, self.dimensions)
        )

    def _sort_digests(self) -> tuple[Digests, NDArray[np.int32], NDArray[np.int32]]:
        """Return the digests, ascending, and for each digest the number of its block and of its row in the block."""
        if self._table is None:
            counts = [len(block.digests) for block in self._blocks]
            digests = np.concatenate([np.zeros(0, np.int64), *(block.digests for block in self._blocks)])
            block_of = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
            row_of = np.concatenate([np.zeros(0, np.int32), *(np.arange(count, dtype=np.int32) for count in counts)])
            order = np.argsort(digests, kind="stable")
            self._table = digests[order], block_of[order], row_of[order]
        return self._table


class TextVectorsWriter:
    """Appends vectors of texts to a file. The caller holds a lock on it."""

    def __init__(self, path: Path, dimensions: int, wanted: Digests) -> None:
        """Open or create the file; remove damaged blocks, and the vectors of unused texts if they are many.

        `wanted` are the digests of the texts that are used. Raises OSError.
        """
        self._path, self._dimensions = path, dimensions
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        vectors = TextVectors(path, dimensions)
        try:
            vectors.read_to()
            self.digests = set(vectors.digests.tolist())
            unused = len(self.digests) - int(vectors.has(np.unique(wanted)).sum())
            if vectors.is_damaged or (unused > _LEAST_UNUSED and unused > _MAX_UNUSED_SHARE * len(self.digests)):
                self._rewrite(
                    vectors, vectors.digests if vectors.is_damaged else np.intersect1d(vectors.digests, wanted)
                )
        finally:
            vectors.close()
        self._file = path.open("ab")
        _remove_older_files(path)

    def _rewrite(self, vectors: TextVectors, digests: Digests) -> None:
        unfinished = self._path.with_suffix(".new")
        with unfinished.open("wb") as out:
            for start in range(0, len(digests), _ROWS_OF_A_BLOCK):
                part = digests[start : start + _ROWS_OF_A_BLOCK]
                out.write(pack_block(part, vectors.rows(part)))
            out.flush()
            os.fsync(out.fileno())
        vectors.close()  # an open file cannot be replaced on Windows
        unfinished.replace(self._path)
        sync_folder(self._path.parent)
        self.digests = set(digests.tolist())

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self._file.tell()

    def append(self, digests: Digests, vectors: QuantisedVectors) -> None:
        """Append a block; a block that is incomplete after a kill will be ignored. Raises OSError."""
        self._file.write(pack_block(digests, vectors))
        self._file.flush()
        self.digests.update(digests.tolist())

    def sync(self) -> None:
        """Wait until all blocks are on the disk. Raises OSError."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


def _remove_older_files(path: Path) -> None:
    """Remove the vector files of models that were not used lately, except for the file `path`."""
    with suppress(OSError):
        others = [file for file in path.parent.glob("*.vectors") if file != path]
        others.sort(key=lambda file: file.stat().st_mtime, reverse=True)
        for file in others[_MAX_FILES - 1 :]:
            file.unlink()


# --- in a search ------------------------------------------------------------------------------------------------------


class ChosenEmbedder:
    """The embedder of the queries that are compared with recorded vectors. It is opened by the first query."""

    def __init__(self, settings: Settings, record: SearchVectorsRecord) -> None:
        """Prepare the embedder of the settings, whose vectors `record` describes; it is loaded by the first query."""
        self._settings = settings
        self._id = record.id
        self.languages = record.languages
        self._lock = threading.Lock()
        self._embedder: PassageEmbedder | None = None

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a query. Raises ModelError, also if another model made the recorded vectors."""
        with self._lock:
            if self._embedder is None:
                embedder = open_embedder(self._settings)
                if versioned_id(embedder) != self._id:
                    raise ModelError(
                        "The embedding model is not the one that embedded the notes.",
                        "Wait until the new model has embedded the notes, or run `excerpt embedding --run`.",
                    )
                self._embedder = embedder
            return self._embedder.embed_query(text)


_chosen: dict[tuple[str, str, str, bool], ChosenEmbedder] = {}
_chosen_lock = threading.Lock()


def open_chosen_embedder(settings: Settings, record: SearchVectorsRecord) -> ChosenEmbedder:
    """Return the embedder of a record: the same object for all generations and vaults, so that it is loaded once."""
    chosen = settings.embedding.model
    model = chosen if record.is_for_model(chosen) else record.model  # the record lacks the key of an address
    key = model, record.source, record.id, settings.embedding.remote
    with _chosen_lock:
        if key not in _chosen:
            _chosen.clear()  # one model at a time; who still uses another one holds it
            own_settings = replace(settings, embedding=replace(settings.embedding, model=model))
            _chosen[key] = ChosenEmbedder(own_settings, record)
        return _chosen[key]


class FragmentVectors:
    """The recorded vectors as rows of fragments, from which a VectorMatrix is read."""

    def __init__(self, vectors: TextVectors, record: SearchVectorsRecord, keys: Keys, digests: Digests) -> None:
        """Describe the fragments `keys` (ascending), whose texts have the `digests`."""
        self._vectors = vectors
        self._keys, self._digests = keys, digests
        self.identity = record.id
        self.size = record.size

    def blocks(self, _dimensions: int, _start: int = 0) -> Iterator[tuple[Keys, QuantisedVectors]]:
        """Yield (keys, vectors) of the fragments. Raises OSError."""
        for start in range(0, len(self._keys), 16 * _ROWS_OF_A_BLOCK):
            part = slice(start, start + 16 * _ROWS_OF_A_BLOCK)
            yield self._keys[part], self._vectors.rows(self._digests[part])
