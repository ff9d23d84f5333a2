"""The vector matrix on disk: int8 with a scale a row. (In memory: matrix.py.)

The file is a row of blocks, one a commit: a head (magic, dimensions, rows, checksum), then keys, scales and rows. It
only grows, so that a commit costs what it adds; the catalog records how many bytes count, so that a block that was
half written, or written by a build that was killed before its commit, does not exist. Rows of deleted fragments stay
until they are a quarter of the file; then it is written anew under another name.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Sequence
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
        status = os.fstat(self._file.fileno())
        self.identity = (file.name, status.st_dev, status.st_ino)
        """The same for the same file, whatever was appended to it, as long as one of its sources is open."""

    @property
    def size(self) -> int:
        """How many bytes of the file count."""
        return self._record.size

    def close(self) -> None:
        self._file.close()

    def blocks(self, dimensions: int, start: int = 0) -> list[tuple[Keys, Quantised]]:
        """The recorded blocks, from the one that begins at the byte `start`. Raises DamagedFileError."""
        record = self._record
        self._file.seek(start)
        data = memoryview(self._file.read(max(record.size - start, 0)))
        if len(data) != record.size - start:
            raise DamagedFileError(f"{record.name} is cut short: {start + len(data)} of {record.size} bytes.")
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
