"""The vector matrix: int8 with a scale a row on disk, float32 in memory where many queries are to come.

The file is a row of blocks, one a commit: a head (magic, dimensions, rows, checksum), then keys, scales and rows. It
only grows, so that a commit costs what it adds; the catalog records how many bytes count, so that a block that was
half written, or written by a build that was killed before its commit, does not exist. Rows of deleted fragments stay
until they are a quarter of the file; then it is written anew under another name.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from excerpt.index.files import DamagedFileError, DerivedFile, extend_crc, seal, sync_folder

_HEAD = struct.Struct("<4sIII")
_MAGIC = b"EXV1"
# Rows that died may be a quarter of the file and blocks a few hundred before it is worth writing all of them again.
_DEAD_SHARE = 0.25
_MOST_BLOCKS = 500
_BLOCK = 4096
"""Rows that are unfolded at a time: 4 MB, which the processor's cache holds."""

Keys = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Quantised:
    """Vectors as kept on disk: row i is `rows[i] * scales[i]`."""

    scales: NDArray[np.float32]
    rows: NDArray[np.int8]

    @staticmethod
    def joined(parts: Sequence[Quantised]) -> Quantised:
        return Quantised(np.concatenate([p.scales for p in parts]), np.concatenate([p.rows for p in parts]))

    def to_bytes(self) -> list[bytes]:
        """One value a row, as the catalog keeps them: the scale, then the row."""
        return [scale.tobytes() + row.tobytes() for scale, row in zip(self.scales, self.rows, strict=True)]

    @staticmethod
    def from_bytes(values: Sequence[bytes], dimensions: int) -> Quantised:
        """Raises DamagedFileError if a value has another size."""
        if any(len(value) != 4 + dimensions for value in values):
            raise DamagedFileError("A vector in the catalog has the wrong size.")
        table = np.frombuffer(b"".join(values), np.uint8).reshape(len(values), 4 + dimensions)
        return Quantised(table[:, :4].copy().view("<f4").ravel(), table[:, 4:].copy().view(np.int8))


def quantise(vectors: NDArray[np.float32]) -> Quantised:
    """int8 by the largest component of each row; the cosine to the original is about .999, at worst .997."""
    largest = np.abs(vectors).max(axis=1, initial=0)
    scales = (np.where(largest > 0, largest, 1) / 127).astype(np.float32)
    return Quantised(scales, np.rint(vectors / scales[:, None]).astype(np.int8))


class MatrixSource:
    """A matrix file, opened: it can be read later even if newer generations have removed it by then."""

    def __init__(self, index: Path, file: DerivedFile) -> None:
        """Raises DamagedFileError if the file is not there."""
        self._record = file
        try:
            self._file = (index / file.name).open("rb")
        except OSError as error:
            raise DamagedFileError(f"{file.name} cannot be read: {error.strerror}.") from error

    def close(self) -> None:
        self._file.close()

    def blocks(self, dimensions: int) -> list[tuple[Keys, Quantised]]:
        """The recorded blocks. Raises DamagedFileError."""
        record = self._record
        self._file.seek(0)
        data = memoryview(self._file.read(record.size))
        if len(data) < record.size:
            raise DamagedFileError(f"{record.name} is cut short: {len(data)} of {record.size} bytes.")
        blocks, at = [], 0
        while at < len(data):
            try:
                magic, width, count, crc = _HEAD.unpack_from(data, at)
            except struct.error as error:
                raise DamagedFileError(f"{record.name} has a broken block.") from error
            at += _HEAD.size
            body = data[at : at + count * (12 + width)]
            if magic != _MAGIC or width != dimensions or len(body) < count * (12 + width) or zlib.crc32(body) != crc:
                raise DamagedFileError(f"{record.name} has a broken block.")
            at += len(body)
            scales_at, rows_at = 8 * count, 12 * count
            keys = np.frombuffer(body[:scales_at], "<i8").astype(np.int64)
            scales = np.frombuffer(body[scales_at:rows_at], "<f4").astype(np.float32)
            blocks.append((keys, Quantised(scales, np.frombuffer(body[rows_at:], np.int8).reshape(count, width))))
        return blocks


class VectorMatrix:
    """The vectors of one generation, a row a fragment, in the order of `keys` (ascending).

    As float32 they take four times the memory, and a third of the time of each query; but laying them out so takes as
    long as a hundred queries. So the first query unfolds a block at a time, and the second lays all of them out, or
    whoever is going to ask more calls `unfold` before. `mean` is the mean of all, shape (dimensions,): the cosine that
    a query has with the vault as a whole.
    """

    def __init__(self, keys: Keys, quantised: Quantised) -> None:
        self.keys = keys
        self._quantised = quantised
        self._unfolded: NDArray[np.float32] | None = None
        self._asked = False
        count, dimensions = quantised.rows.shape
        total = np.zeros(dimensions)
        for part in self._blocks():
            total += part.sum(axis=0)
        self.mean: NDArray[np.float32] = (total / max(count, 1)).astype(np.float32)

    @classmethod
    def read(cls, source: MatrixSource, keys: Keys, dimensions: int) -> VectorMatrix:
        """The rows of the living `keys`. Raises DamagedFileError."""
        found = np.zeros(len(keys), bool)
        parts = [Quantised.from_bytes([], dimensions)]
        for block_keys, quantised in source.blocks(dimensions):
            at = np.searchsorted(keys, block_keys)
            alive = np.zeros(len(block_keys), bool)
            inside = at < len(keys)
            alive[inside] = keys[at[inside]] == block_keys[inside]
            found[at[alive]] = True
            whole = bool(alive.all())
            parts.append(quantised if whole else Quantised(quantised.scales[alive], quantised.rows[alive]))
        if not found.all():
            raise DamagedFileError(f"{np.count_nonzero(~found)} vectors are missing from the matrix.")
        # New keys lie above all older ones, so the blocks one after the other are in the order of keys.
        return cls(keys, parts[1] if len(parts) == 2 else Quantised.joined(parts))

    @property
    def vectors(self) -> NDArray[np.float32]:
        """All of them, shape (n, dimensions)."""
        self.unfold()
        assert self._unfolded is not None
        return self._unfolded

    def unfold(self) -> None:
        """Lay the vectors out as float32, for many queries."""
        if self._unfolded is None:
            unfolded = np.empty(self._quantised.rows.shape, np.float32)
            at = 0
            for part in self._blocks():
                unfolded[at : at + len(part)] = part
                at += len(part)
            self._unfolded = unfolded
            # A quarter of the memory again, and nothing asks for it any more.
            self._quantised = Quantised.from_bytes([], len(self.mean))

    def similarities(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cosine of the normalised `query` with each row, shape (n,)."""
        if self._asked:
            self.unfold()
        self._asked = True
        if self._unfolded is not None:
            # At once: a busy machine takes ten times as long over thirty small products, each shared among threads.
            return self._unfolded @ query
        found = np.empty(len(self.keys), np.float32)
        at = 0
        for part in self._blocks():
            np.dot(part, query, out=found[at : at + len(part)])
            at += len(part)
        return found

    def _blocks(self) -> Iterator[NDArray[np.float32]]:
        """The vectors, some thousand at a time; each is good until the next is asked for."""
        rows, scales = self._quantised.rows, self._quantised.scales
        room = np.empty((min(_BLOCK, len(rows)), rows.shape[1]), np.float32)
        for at in range(0, len(rows), _BLOCK):
            part = room[: len(rows) - at]
            part[:] = rows[at : at + _BLOCK]
            part *= scales[at : at + _BLOCK, None]
            yield part


class MatrixWriter:
    """Makes generations of the matrix file. The caller holds the build's lock and records what `commit` returns."""

    def __init__(self, index: Path, file: DerivedFile | None, dimensions: int) -> None:
        """Goes on from the recorded `file`; None starts a new one. Raises DamagedFileError."""
        self._index = index
        self._dimensions = dimensions
        self._file = file
        self._keys: list[Keys] = [keys for keys, _ in self._blocks()]

    def commit(self, generation: int, living: Keys, keys: Keys, added: Quantised) -> DerivedFile:
        """Append the rows of the new `keys`, or write all of `living` anew, and force them to disk."""
        if self._file is None:
            return self._rewrite(generation, living, [(keys, added)])
        total = sum(map(len, self._keys)) + len(keys)
        if total - len(living) > _DEAD_SHARE * total or len(self._keys) >= _MOST_BLOCKS:
            return self._rewrite(generation, living, [*self._blocks(), (keys, added)])
        if len(keys):
            self._file = self._append(self._file, keys, added)
            self._keys.append(keys)
        return self._file

    def _blocks(self) -> list[tuple[Keys, Quantised]]:
        if self._file is None:
            return []
        source = MatrixSource(self._index, self._file)
        try:
            return source.blocks(self._dimensions)
        finally:
            source.close()

    def _append(self, file: DerivedFile, keys: Keys, added: Quantised) -> DerivedFile:
        data = _block(keys, added)
        with (self._index / file.name).open("rb+") as out:
            out.truncate(file.size)
            out.seek(file.size)
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        return DerivedFile(file.name, file.size + len(data), extend_crc(file.crc, data))

    def _rewrite(self, generation: int, living: Keys, blocks: Sequence[tuple[Keys, Quantised]]) -> DerivedFile:
        """Under a name of its own: readers of older generations still open the file before."""
        keys = np.concatenate([keys for keys, _ in blocks])
        quantised = Quantised.joined([part for _, part in blocks])
        keep = np.isin(keys, living)
        data = _block(keys[keep], Quantised(quantised.scales[keep], quantised.rows[keep]))
        name = f"vectors-{generation}"
        (self._index / name).write_bytes(data)
        self._file = seal(self._index, name)
        sync_folder(self._index)
        self._keys = [keys[keep]]
        return self._file


def _block(keys: Keys, quantised: Quantised) -> bytes:
    body = b"".join((keys.astype("<i8").tobytes(), quantised.scales.astype("<f4").tobytes(), quantised.rows.tobytes()))
    return _HEAD.pack(_MAGIC, quantised.rows.shape[1], len(keys), zlib.crc32(body)) + body
