"""The vectors of all fragments, on disk and in memory: int8 rows with one scale for each row."""

from __future__ import annotations

import io
import math
import os
import struct
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from excerpt.base.state_files import open_regular, sync_folder
from excerpt.index.files import DamagedFileError, DerivedFile, extend_crc, read_crc, sync_and_record
from excerpt.text.display import format_count

# --- on disk ----------------------------------------------------------------------------------------------------------
# The vector matrix on disk: int8 with one scale for each row.
#
# The file consists of blocks, one for each commit: a head (magic, dimensions, rows, checksum), then keys, scales, rows
# and the sum of the vectors, for which a first search would wait (it is missing in files of earlier versions). The file
# only grows, so that the cost of a commit depends on what it adds. The catalog records how many bytes are valid, so a
# block that is incomplete, or of a build that was killed before its commit, is ignored. Rows of deleted fragments stay
# until they are a quarter of the file; then all is written again under another name.

BLOCK_HEAD = struct.Struct("<4sIII")
BLOCK_MAGIC = b"EXV1"
_BLOCK_MAGIC_WITH_SUM = b"EXV2"
# All rows are written again once deleted ones are a quarter of the file, or its blocks are a few hundred.
_MAX_DELETED_SHARE = 0.25
_MAX_BLOCKS = 500
Keys = NDArray[np.int64]
_NO_KEYS: Keys = np.zeros(0, np.int64)


class QuantisedVectors(Struct, frozen=True):
    """Vectors as stored on disk: row i is `rows[i] * scales[i]`. `total` is their sum if it was stored with them."""

    scales: NDArray[np.float32]
    rows: NDArray[np.int8]
    total: NDArray[np.float64] | None = None

    @property
    def floats(self) -> NDArray[np.float32]:
        """The vectors as floats."""
        return self.rows * self.scales[:, None]

    @staticmethod
    def concatenate(parts: Sequence[QuantisedVectors]) -> QuantisedVectors:
        return QuantisedVectors(np.concatenate([p.scales for p in parts]), np.concatenate([p.rows for p in parts]))

    def to_bytes(self) -> list[bytes]:
        """Return the bytes of each vector as the catalog stores them: the scale (float32), then the int8 row."""
        return [scale.tobytes() + row.tobytes() for scale, row in zip(self.scales, self.rows, strict=True)]

    @staticmethod
    def from_bytes(values: Sequence[bytes], dimensions: int) -> QuantisedVectors:
        """Parse vectors as the catalog stores them. Raises DamagedFileError if a value has the wrong size."""
        if any(len(value) != 4 + dimensions for value in values):
            raise DamagedFileError("A vector in the catalog has the wrong size.")
        table = np.frombuffer(b"".join(values), np.uint8).reshape(len(values), 4 + dimensions)
        return QuantisedVectors(table[:, :4].copy().view("<f4").ravel(), table[:, 4:].copy().view(np.int8))


def quantise(vectors: NDArray[np.float32]) -> QuantisedVectors:
    """Quantise vectors to int8, each row scaled by its largest component.

    The cosine of a quantised vector with the original is about .999, at worst .997.
    """
    largest = np.abs(vectors).max(axis=1, initial=0)
    scales = (np.where(largest > 0, largest, 1) / 127).astype(np.float32)
    return QuantisedVectors(scales, np.rint(vectors / scales[:, None]).astype(np.int8))


class RowSource(Protocol):
    """A source from which a VectorMatrix is read, such as a file."""

    @property
    def identity(self) -> object:
        """A value that stays equal as long as data is only appended to the source."""
        ...

    @property
    def size(self) -> int:
        """Bytes of the source that belong to the generation."""
        ...

    def blocks(self, dimensions: int, start: int = 0, /) -> Iterator[tuple[Keys, QuantisedVectors]]:
        """Yield (keys, vectors) of the blocks from byte `start` on, each key once.

        The rows of the vectors are valid until the next block is asked for.
        """
        ...


class MatrixSource:
    """An open matrix file, which can be read later even if newer generations have deleted the file by then."""

    def __init__(self, index: Path, file: DerivedFile, *, is_checked_later: bool = False) -> None:
        """Open the recorded matrix `file` in the folder `index`. Raises DamagedFileError if it cannot be read.

        With `is_checked_later`, blocks are compared with their checksums by `check` and not before.
        """
        self._record = file
        self._is_checked_later = is_checked_later
        self._unchecked: list[tuple[int, int, int]] = []
        try:
            self._file = io.BufferedReader(open_regular(index / file.name))
        except OSError as error:
            raise DamagedFileError(f"{file.name} cannot be read: {error.strerror}.") from error
        status = os.fstat(self._file.fileno())
        self.identity = (file.name, status.st_dev, status.st_ino)
        """Name, device and inode of the file, which appending does not change; unique while a source has it open."""

    @property
    def size(self) -> int:
        """Number of bytes of the file that belong to the recorded generation."""
        return self._record.size

    def close(self) -> None:
        self._file.close()

    def blocks(self, dimensions: int, start: int = 0) -> Iterator[tuple[Keys, QuantisedVectors]]:
        """Yield (keys, vectors) of each block of the file from byte `start` on. Raises DamagedFileError.

        The rows of the vectors are valid until the next block is read: pages of memory of its own would take longer.
        `dimensions` is the length of a vector; a block with another length counts as damaged.
        """
        record = self._record
        actual_size = os.fstat(self._file.fileno()).st_size
        if actual_size < record.size:
            raise DamagedFileError(f"{record.name} is cut short: {actual_size} of {format_count(record.size, 'byte')}.")
        self._file.seek(start)
        at = start
        buffer = bytearray()
        while at < record.size:
            try:
                magic, width, count, crc = BLOCK_HEAD.unpack(self._file.read(BLOCK_HEAD.size))
            except struct.error as error:
                raise DamagedFileError(f"{record.name} has a broken block.") from error
            has_total = magic == _BLOCK_MAGIC_WITH_SUM
            size = count * (12 + width) + 8 * width * has_total
            body_at = at + BLOCK_HEAD.size
            at = body_at + size
            if len(buffer) < size <= record.size:
                buffer = bytearray(size)
            body = memoryview(buffer)[:size]
            body = body[: self._file.readinto(body) if at <= record.size else 0]
            if not (has_total or magic == BLOCK_MAGIC) or width != dimensions or len(body) < size:
                raise DamagedFileError(f"{record.name} has a broken block.")
            if self._is_checked_later:
                self._unchecked.append((body_at, size, crc))
            else:
                self._compare_checksum(zlib.crc32(body), crc)
            scales_at, rows_at, total_at = 8 * count, 12 * count, count * (12 + width)
            keys = np.frombuffer(body[:scales_at], "<i8").astype(np.int64)
            scales = np.frombuffer(body[scales_at:rows_at], "<f4").astype(np.float32)
            rows = np.frombuffer(body[rows_at:total_at], np.int8).reshape(count, width)
            total = np.frombuffer(body[total_at:], "<f8").astype(np.float64) if has_total else None
            yield keys, QuantisedVectors(scales, rows, total)

    def check(self) -> None:
        """Compare the blocks that were read with their checksums. Raises DamagedFileError."""
        while self._unchecked:
            at, size, crc = self._unchecked[-1]
            self._file.seek(at)
            self._compare_checksum(read_crc(self._file, size), crc)
            self._unchecked.pop()

    def _compare_checksum(self, found: int, recorded: int) -> None:
        if found != recorded:
            raise DamagedFileError(f"{self._record.name} has a broken block.")


class MatrixWriter:
    """Appends the vectors of new fragments to the matrix file, or rewrites it when many rows are of deleted fragments.

    The caller holds the build's lock, and records the file that `commit` returns in the catalog.
    """

    def __init__(self, index: Path, file: DerivedFile | None, dimensions: int) -> None:
        """Open the recorded matrix `file` for appending; None starts a new file. Raises DamagedFileError."""
        self._index = index
        self._dimensions = dimensions
        self._file = file
        self._keys: list[Keys] = [keys for keys, _ in self._blocks()]

    def commit(self, generation: int, living: Keys, keys: Keys, added: QuantisedVectors) -> DerivedFile:
        """Write the vectors `added` of the new fragments `keys`, sync the file, and return its record.

        `living` are the keys of all live fragments. The rows are appended, or the whole file is rewritten.
        """
        if self._file is None:
            return self._rewrite(generation, living, [(keys, added)])
        total = sum(map(len, self._keys)) + len(keys)
        if total - len(living) > _MAX_DELETED_SHARE * total or len(self._keys) >= _MAX_BLOCKS:
            blocks = [(known, QuantisedVectors(part.scales, part.rows.copy())) for known, part in self._blocks()]
            return self._rewrite(generation, living, [*blocks, (keys, added)])
        if len(keys):
            self._file = self._append(self._file, keys, added)
            self._keys.append(keys)
        return self._file

    def _blocks(self) -> Iterator[tuple[Keys, QuantisedVectors]]:
        if self._file is None:
            return
        source = MatrixSource(self._index, self._file)
        try:
            yield from source.blocks(self._dimensions)
        finally:
            source.close()

    def _append(self, file: DerivedFile, keys: Keys, added: QuantisedVectors) -> DerivedFile:
        data = pack_block(keys, added, _sum_rows(added))
        with (self._index / file.name).open("rb+") as out:
            out.truncate(file.size)
            out.seek(file.size)
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        return DerivedFile(file.name, file.size + len(data), extend_crc(file.crc, data))

    def _rewrite(
        self, generation: int, live_keys: Keys, blocks: Sequence[tuple[Keys, QuantisedVectors]]
    ) -> DerivedFile:
        """Write the rows of `live_keys`, which are in `blocks`, to a new file, and return its record.

        The previous file stays for readers of older generations.
        """
        keys = np.concatenate([keys for keys, _ in blocks])
        quantised = QuantisedVectors.concatenate([part for _, part in blocks])
        keep = np.isin(keys, live_keys)
        kept = QuantisedVectors(quantised.scales[keep], quantised.rows[keep])
        data = pack_block(keys[keep], kept, _sum_rows(kept))
        name = f"vectors-{generation}"
        (self._index / name).write_bytes(data)
        self._file = sync_and_record(self._index, name)
        sync_folder(self._index)
        self._keys = [keys[keep]]
        return self._file


def pack_block(keys: Keys, quantised: QuantisedVectors, total: NDArray[np.float64] | None = None) -> bytes:
    """Return a block of the file: its head, the keys, their vectors and, if given, the sum of these."""
    parts = [keys.astype("<i8").tobytes(), quantised.scales.astype("<f4").tobytes(), quantised.rows.tobytes()]
    magic = BLOCK_MAGIC
    if total is not None:
        parts.append(total.astype("<f8").tobytes())
        magic = _BLOCK_MAGIC_WITH_SUM
    body = b"".join(parts)
    return BLOCK_HEAD.pack(magic, quantised.rows.shape[1], len(keys), zlib.crc32(body)) + body


# --- in memory --------------------------------------------------------------------------------------------------------
# The vectors of one generation in memory, int8 as on disk.
#
# They are stored in chunks that generations share: each appends its new rows after the existing ones, and holds the
# positions of its own rows. So opening a generation costs only as much as it changed. Chunks that are filled by one
# generation are neighbours in memory, and neighbours are multiplied at a time: a third faster than one by one.

CHUNK_ROWS = 4096
"""Rows of one chunk: 1 MB."""
_CONVERTED_ROWS = 512
"""Rows that numpy converts to floats at a time."""
_MIN_ALIVE_SHARE = 0.75
"""A chunk with a smaller share of live rows is dropped, and its live rows are copied behind the others."""
_DIGIT_BASE = 254
"""The base of the two int8 digits that represent a component of a query: value = first * 254 + second."""
_ROUNDING = 1e-5
"""Upper bound of a cosine's rounding error in float32."""

Floats = NDArray[np.float32]
Int8s = NDArray[np.int8]
_NO_SUMS: Floats = np.zeros(0, np.float32)


class _SpareChunk:
    """The last chunk of vectors, with free rows. Several generations may append rows; each gets rows of its own."""

    def __init__(self, dimensions: int) -> None:
        self.chunk: Int8s = np.zeros((0, dimensions), np.int8)
        self._used = 0
        self._next: list[Int8s] = []
        self._lock = threading.Lock()

    def append_rows(self, rows: Int8s, coming: int) -> tuple[Int8s, int, int]:
        """Append as many of `rows` as fit; return the chunk, the position of the first appended row, and the number.

        `coming` is the number of rows that the caller is going to append, these included: room for all is made at once.
        """
        with self._lock:
            if self._used == len(self.chunk):
                if not self._next:
                    block = np.zeros((-(-coming // CHUNK_ROWS) * CHUNK_ROWS, self.chunk.shape[1]), np.int8)
                    self._next = [block[at : at + CHUNK_ROWS] for at in range(0, len(block), CHUNK_ROWS)]
                self.chunk, self._used = self._next.pop(0), 0
            at, count = self._used, min(len(self.chunk) - self._used, len(rows))
            self.chunk[at : at + count] = rows[:count]
            self._used += count
            return self.chunk, at, count


class _ChunkedRows(Struct, frozen=True):
    """Vectors stored in chunks: vector i is row `positions[i]` of the concatenated `chunks`, times `scales[i]`.

    `spare` is the chunk to which more rows are appended.
    """

    chunks: tuple[Int8s, ...]
    positions: NDArray[np.int32]
    scales: Floats
    spare: _SpareChunk

    @staticmethod
    def empty(dimensions: int) -> _ChunkedRows:
        return _ChunkedRows((), np.zeros(0, np.int32), np.zeros(0, np.float32), _SpareChunk(dimensions))

    def rows(self, numbers: NDArray[np.integer]) -> QuantisedVectors:
        """Return a copy of the vectors with these numbers."""
        positions = self.positions[numbers]
        rows = np.empty((len(positions), self.spare.chunk.shape[1]), np.int8)
        order = np.argsort(positions // CHUNK_ROWS, kind="stable")
        ends = np.cumsum(np.bincount(positions // CHUNK_ROWS, minlength=len(self.chunks))).tolist()
        for chunk, begin, end in zip(self.chunks, [0, *ends], ends, strict=False):
            if end > begin:
                in_chunk = order[begin:end]
                rows[in_chunk] = chunk[positions[in_chunk] % CHUNK_ROWS]
        return QuantisedVectors(self.scales[numbers], rows)

    def with_rows(
        self, kept_rows: NDArray[np.integer], count: int, added: NDArray[np.integer], parts: Iterable[QuantisedVectors]
    ) -> _ChunkedRows:
        """Return `count` vectors: those in `kept_rows`, in order, with the vectors of `parts` at the rows `added`."""
        positions, scales = np.empty(count, np.int32), np.empty(count, np.float32)
        is_kept = np.ones(count, np.bool_)
        is_kept[added] = False
        kept_positions = np.flatnonzero(is_kept)
        old = self.positions[kept_rows]
        live_counts = np.bincount(old // CHUNK_ROWS, minlength=len(self.chunks))
        is_dense = [
            n >= _MIN_ALIVE_SHARE * CHUNK_ROWS or chunk is self.spare.chunk
            for n, chunk in zip(live_counts, self.chunks, strict=True)
        ]
        dense = np.array(is_dense, np.bool_)
        in_dense = dense[old // CHUNK_ROWS]
        renumbered = (np.cumsum(dense) - 1)[old[in_dense] // CHUNK_ROWS]
        positions[kept_positions[in_dense]] = renumbered * CHUNK_ROWS + old[in_dense] % CHUNK_ROWS
        chunks = [chunk for chunk, is_dense_chunk in zip(self.chunks, is_dense, strict=True) if is_dense_chunk]
        positions[kept_positions[~in_dense]], _ = _append_vectors(
            [self.rows(kept_rows[~in_dense])], int(np.count_nonzero(~in_dense)), chunks, self.spare
        )
        positions[added], scales[added] = _append_vectors(parts, len(added), chunks, self.spare)
        scales[kept_positions] = self.scales[kept_rows]
        return _ChunkedRows(tuple(chunks), positions, scales, self.spare)


def _append_vectors(
    parts: Iterable[QuantisedVectors], count: int, chunks: list[Int8s], spare: _SpareChunk
) -> tuple[NDArray[np.int32], Floats]:
    """Append the `count` vectors of `parts` to the spare chunk; return their positions and scales.

    Chunks that are new are added to `chunks`.
    """
    positions, scales = [np.zeros(0, np.int32)], [np.zeros(0, np.float32)]
    for part in parts:
        scales.append(part.scales)
        rows = part.rows
        while len(rows):
            chunk, at, fitting = spare.append_rows(rows, count)
            if not chunks or chunks[-1] is not chunk:
                chunks.append(chunk)
            first = (len(chunks) - 1) * CHUNK_ROWS + at
            positions.append(np.arange(first, first + fitting, dtype=np.int32))
            rows, count = rows[fitting:], count - fitting
    return np.concatenate(positions), np.concatenate(scales)


def _join_neighbours(chunks: Sequence[Int8s]) -> list[Int8s]:
    """Return the rows of chunks, in order, in as few arrays as their places in memory allow."""
    joined: list[Int8s] = []
    block, first, end = None, 0, 0
    for chunk in chunks:
        start = chunk.__array_interface__["data"][0]
        if block is None or chunk.base is not block or start != end:
            block, first = chunk.base, start
            joined.append(chunk)
        else:
            at = (first - block.__array_interface__["data"][0]) // chunk.strides[0]
            joined[-1] = block[at : at + len(joined[-1]) + len(chunk)]
        end = start + chunk.nbytes
    return joined


class VectorMatrix:
    """The vectors of all fragments in memory: row i is the vector of the fragment with key `keys[i]` (ascending).

    `mean` is the mean of all rows, shape (dimensions,), without rows of texts that have no vector yet.
    """

    def __init__(self, keys: Keys, total: NDArray[np.float64], source: RowSource, chunked: _ChunkedRows) -> None:
        """Create the matrix from loaded rows (`chunked`); `total` is their sum, `source` the file they are from."""
        self.keys = keys
        # A text that was not embedded yet has the scale 0.
        self._count = max(int(np.count_nonzero(chunked.scales)), 1)
        self.mean: Floats = (total / self._count).astype(np.float32)
        self._total = total
        self._file: object = source.identity
        self._size = source.size
        self._chunked = chunked
        self._joined_chunks = _join_neighbours(chunked.chunks)
        # This is the order after a first build: then no reordering is needed.
        self._in_order = bool(np.array_equal(chunked.positions, np.arange(len(keys))))

    @classmethod
    def read(
        cls,
        source: RowSource,
        keys: Keys,
        dimensions: int,
        before: VectorMatrix | None = None,
        changed: Keys = _NO_KEYS,
    ) -> VectorMatrix:
        """Read the vectors of the fragments `keys` from the file. Raises DamagedFileError.

        `before` is the matrix of an older generation. It has the same vector for each key, except for the keys
        `changed`, so its rows are reused and only other rows are read.
        """
        if before is not None and len(before.mean) == dimensions:
            return before._update_to(source, keys, changed)
        total = np.zeros(dimensions)
        parts = _add_to_total(total, _read_vectors(source, keys, dimensions))
        none, all_rows = np.zeros(0, np.intp), np.arange(len(keys))
        return cls(keys, total, source, _ChunkedRows.empty(dimensions).with_rows(none, len(keys), all_rows, parts))

    @property
    def vectors(self) -> Floats:
        """A copy of all vectors, shape (n, dimensions)."""
        return self.rows(np.arange(len(self.keys)))

    def rows(self, numbers: NDArray[np.integer]) -> Floats:
        """Return a copy of some rows, shape (len(numbers), dimensions)."""
        return self._select(numbers).floats

    def _select(self, numbers: NDArray[np.integer]) -> QuantisedVectors:
        if len(self._joined_chunks) == 1:
            rows = self._joined_chunks[0][self._chunked.positions[numbers]]
            return QuantisedVectors(self._chunked.scales[numbers], rows)
        return self._chunked.rows(numbers)

    def similarities(self, query: Floats) -> Floats:
        """Return the cosine of each row with `query`, a vector of length 1; shape (n,).

        Each component of the query is represented by two int8 digits, with a resolution of 2^-16 of the largest
        component. So all products are of integers and exact, and the result is the same to the last bit on any
        processor and with either method of multiplication.
        """
        chunked = self._chunked
        digits, step = _to_digits(query)
        parts = [multiply(digits, rows) for rows in self._joined_chunks]
        sums = [(first.astype(np.float64) * _DIGIT_BASE + second).astype(np.float32) for first, second in parts]
        cosines: Floats = np.concatenate([_NO_SUMS, *sums])[chunked.positions]
        cosines *= chunked.scales * np.float32(step)
        return cosines

    def similarities_at(self, query: Floats, numbers: NDArray[np.integer]) -> Floats:
        digits, step = _to_digits(query)
        vectors = self._select(numbers)
        first, second = multiply(digits, vectors.rows)
        cosines: Floats = (first.astype(np.float64) * _DIGIT_BASE + second).astype(np.float32)
        cosines *= vectors.scales * np.float32(step)
        return cosines

    def approximate_similarities(self, query: Floats) -> tuple[Floats, float]:
        """Return approximate cosines of all rows with `query`, and the largest error that one of them may have.

        Takes half of the time of `similarities`, because only the first digit of the query is used. The error is the
        product of the second digit with a row, so at most the product of their lengths. A row had length 1, and
        quantising has added up to half a step, a 254th, to each component.
        """
        chunked = self._chunked
        digits, step = _to_digits(query)
        sums = np.concatenate(
            [_NO_SUMS, *(multiply(digits[:1], rows)[0].astype(np.float32) for rows in self._joined_chunks)]
        )
        cosines: Floats = sums[: len(chunked.positions)] if self._in_order else sums[chunked.positions]
        cosines *= chunked.scales * np.float32(step * _DIGIT_BASE)
        longest = 1 + math.sqrt(len(query)) / 254
        return cosines, longest * step * math.sqrt(float(np.sum(np.square(digits[1], dtype=np.float64)))) + _ROUNDING

    def mean_similarity(self, query: Floats) -> float:
        """Return the mean cosine of all rows with `query`, up to rounding.

        No linear algebra library is used, because the last bits of its results differ between machines.
        """
        digits, step = _to_digits(query)
        first, second = digits.astype(np.float64)
        return float(np.sum(self._total * (first * _DIGIT_BASE + second))) * float(np.float32(step)) / self._count

    def _update_to(self, source: RowSource, keys: Keys, changed: Keys) -> VectorMatrix:
        """Return the matrix of a newer generation with the fragments `keys`, reusing rows other than `changed`."""
        at = np.searchsorted(self.keys, keys)
        known = at < len(self.keys)
        known[known] = self.keys[at[known]] == keys[known]
        known &= ~np.isin(keys, changed)
        # If the file has only grown, the part that was recorded before is known.
        start = self._size if source.identity == self._file else 0
        kept_rows = at[known]
        total = self._total - _sum_rows(self._chunked.rows(np.delete(np.arange(len(self.keys)), kept_rows)))
        parts = _add_to_total(total, _read_vectors(source, keys[~known], len(self.mean), start))
        chunked = self._chunked.with_rows(kept_rows, len(keys), np.flatnonzero(~known), parts)
        return VectorMatrix(keys, total, source, chunked)


def _to_digits(query: Floats) -> tuple[Int8s, float]:
    """Return two int8 digits for each component of the query, shape (2, dimensions), and the unit of the digits.

    A component is (first * 254 + second) * unit.
    """
    first = quantise(query[None])
    scale = float(first.scales[0])
    second = np.rint((query / np.float64(scale) - first.rows[0]) * _DIGIT_BASE)
    return np.stack([first.rows[0], second.astype(np.int8)]), scale / _DIGIT_BASE


Products = NDArray[np.float32] | NDArray[np.float64]
Multiply = Callable[[Int8s, Int8s], Products]
"""A function that returns the exact dot products of digits with the rows of a chunk, shape (digits, rows)."""


def multiply_in_numpy(digits: Int8s, chunk: Int8s) -> Products:
    # A float32 holds each sum of so many int8 products exactly, so their order does not matter.
    kind = np.float32 if digits.shape[1] * 127 * 127 < 2**24 else np.float64
    factors = digits.T.astype(kind)
    products = np.empty((len(chunk), len(digits)), kind)
    rows = np.empty((_CONVERTED_ROWS, digits.shape[1]), kind)
    for at in range(0, len(chunk), _CONVERTED_ROWS):
        part = chunk[at : at + _CONVERTED_ROWS]
        rows[: len(part)] = part
        np.matmul(rows[: len(part)], factors, out=products[at : at + _CONVERTED_ROWS])
    return products.T


def _choose_multiplication() -> Multiply:
    try:
        from simsimd import cdist
    except ImportError:  # there is no wheel for this machine
        return multiply_in_numpy
    # No `out` array: with it, version 6.5 loses a reference to None with each call, which ends CPython 3.11.
    return lambda digits, chunk: np.asarray(cdist(digits, chunk, "dot"))


multiply: Multiply = _choose_multiplication()


def _read_vectors(source: RowSource, keys: Keys, dimensions: int, start: int = 0) -> Iterator[QuantisedVectors]:
    """Yield the vectors of the fragments `keys`, in their order, read from byte `start` of the file on.

    Raises DamagedFileError if a vector is missing.
    """
    is_found = np.zeros(len(keys), bool)
    for block_keys, quantised in source.blocks(dimensions, start) if len(keys) else ():
        # New keys are above all older ones, so the blocks in sequence are in the order of keys.
        first = int(np.searchsorted(keys, block_keys[0])) if len(block_keys) else 0
        if np.array_equal(keys[first : first + len(block_keys)], block_keys):
            is_found[first : first + len(block_keys)] = True
            yield quantised
            continue
        at = np.searchsorted(keys, block_keys)
        alive = np.zeros(len(block_keys), bool)
        inside = at < len(keys)
        alive[inside] = keys[at[inside]] == block_keys[inside]
        is_found[at[alive]] = True
        dead = QuantisedVectors(quantised.scales[~alive], quantised.rows[~alive])
        total = None if quantised.total is None else quantised.total - _sum_rows(dead)
        yield QuantisedVectors(quantised.scales[alive], quantised.rows[alive], total)
    if not is_found.all():
        raise DamagedFileError(f"{np.count_nonzero(~is_found)} vectors are missing from the matrix.")


def _add_to_total(total: NDArray[np.float64], parts: Iterable[QuantisedVectors]) -> Iterator[QuantisedVectors]:
    """Yield the parts unchanged, and add the sum of the vectors of each part to `total`, in place."""
    for part in parts:
        total += _sum_rows(part) if part.total is None else part.total
        yield part


def _sum_rows(part: QuantisedVectors) -> NDArray[np.float64]:
    """Return the sum of vectors, shape (dimensions,); it is exact, so the order of summation makes no difference.

    A sum of some hundred thousand components between -1 and 1 needs fewer bits than a float64 has.
    """
    total = np.zeros(part.rows.shape[1])
    scales = part.scales.astype(np.float64)
    for at in range(0, len(scales), _CONVERTED_ROWS):
        total += scales[at : at + _CONVERTED_ROWS] @ part.rows[at : at + _CONVERTED_ROWS].astype(np.float64)
    return total
