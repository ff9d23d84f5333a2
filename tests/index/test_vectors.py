"""Tests of the matrix file: it grows by blocks, is read only as far as recorded, and is rewritten when mostly dead."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from excerpt.index.files import DamagedFileError, DerivedFile, extend_crc
from excerpt.index.vectors import (
    CHUNK_ROWS,
    MatrixSource,
    MatrixWriter,
    QuantisedVectors,
    VectorMatrix,
    multiply_in_numpy,
    pack_block,
    quantise,
)

WIDE = 8


def random_vectors(count: int, seed: int = 0) -> NDArray[np.float32]:
    found = np.random.default_rng(seed).normal(size=(count, WIDE)).astype(np.float32)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found


def key_range(first: int, last: int) -> NDArray[np.int64]:
    return np.arange(first, last + 1, dtype=np.int64)


def write_rows(folder: Path, count: int) -> DerivedFile:
    return MatrixWriter(folder, None, WIDE).commit(
        1, key_range(1, count), key_range(1, count), quantise(random_vectors(count))
    )


def read(folder: Path, file: DerivedFile, living: NDArray[np.int64]) -> VectorMatrix:
    source = MatrixSource(folder, file)
    try:
        return VectorMatrix.read(source, living, WIDE)
    finally:
        source.close()


def test_rows_are_in_the_order_of_keys(tmp_path: Path) -> None:
    file = write_rows(tmp_path, 20)
    matrix = read(tmp_path, file, key_range(1, 20))
    assert matrix.similarities(random_vectors(20)[7]).argmax() == 7
    np.testing.assert_allclose(matrix.vectors, random_vectors(20), atol=0.01)


def test_similarities_are_cosines_with_the_rows(tmp_path: Path) -> None:
    matrix = read(tmp_path, write_rows(tmp_path, 10_000), key_range(1, 10_000))
    query = random_vectors(1, seed=3)[0]
    np.testing.assert_allclose(matrix.similarities(query), matrix.vectors @ query, atol=3e-5)


def test_the_mean_is_the_mean_of_the_rows(tmp_path: Path) -> None:
    matrix = read(tmp_path, write_rows(tmp_path, 10_000), key_range(1, 10_000))
    np.testing.assert_allclose(matrix.mean, matrix.vectors.mean(axis=0), atol=1e-6)


def test_the_sums_in_a_file_give_exactly_the_mean_of_a_file_without_them(tmp_path: Path) -> None:
    count, gone = 10_000, 300
    file = write_rows(tmp_path, count)
    quantised = quantise(random_vectors(count))
    earlier = tmp_path / "earlier"
    earlier.write_bytes(pack_block(key_range(1, count), quantised))
    for living in (key_range(1, count), key_range(gone, count)):
        without_sums = read(tmp_path, DerivedFile("earlier", earlier.stat().st_size, 0), living)
        assert read(tmp_path, file, living).mean.tobytes() == without_sums.mean.tobytes()


def test_a_file_of_an_earlier_version_grows_by_blocks_with_sums(tmp_path: Path) -> None:
    quantised = quantise(random_vectors(20))
    first = QuantisedVectors(quantised.scales[:12], quantised.rows[:12])
    data = pack_block(key_range(1, 12), first)
    (tmp_path / "vectors-1").write_bytes(data)
    writer = MatrixWriter(tmp_path, DerivedFile("vectors-1", len(data), extend_crc(0, data)), WIDE)
    added = QuantisedVectors(quantised.scales[12:], quantised.rows[12:])
    file = writer.commit(2, key_range(1, 20), key_range(13, 20), added)
    matrix = read(tmp_path, file, key_range(1, 20))
    assert matrix.vectors.tobytes() == quantised.floats.tobytes()
    np.testing.assert_allclose(matrix.mean, quantised.floats.mean(axis=0), atol=1e-7)


def test_blocks_checked_later_are_read_at_once_and_found_damaged_by_the_check(tmp_path: Path) -> None:
    file = write_rows(tmp_path, 20)
    data = bytearray((tmp_path / file.name).read_bytes())
    data[-WIDE * 10] ^= 1
    (tmp_path / file.name).write_bytes(data)
    source = MatrixSource(tmp_path, file, is_checked_later=True)
    assert len(VectorMatrix.read(source, key_range(1, 20), WIDE).vectors) == 20
    with pytest.raises(DamagedFileError, match="broken block"):
        source.check()
    source.close()


@pytest.mark.parametrize("damage", [None, 40, -1], ids=["whole", "near the start", "at the end"])
def test_a_block_is_checked_in_parts(damage: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("excerpt.index.files.READ_BYTES", 100)
    file = write_rows(tmp_path, 20)
    if damage is not None:
        data = bytearray((tmp_path / file.name).read_bytes())
        data[damage] ^= 1
        (tmp_path / file.name).write_bytes(data)
    source = MatrixSource(tmp_path, file, is_checked_later=True)
    assert len(list(source.blocks(WIDE))) == 1
    with nullcontext() if damage is None else pytest.raises(DamagedFileError, match="broken block"):
        source.check()
    source.close()


def test_similarities_of_selected_rows_equal_the_ones_computed_for_all_rows_exactly(tmp_path: Path) -> None:
    matrix = read(tmp_path, write_rows(tmp_path, 10_000), key_range(1, 10_000))
    query, some = random_vectors(1, seed=3)[0], np.array([9_999, 0, 5_000])
    assert matrix.similarities_at(query, some).tobytes() == matrix.similarities(query)[some].tobytes()


def test_approximate_similarities_stay_within_the_stated_error(tmp_path: Path) -> None:
    matrix = read(tmp_path, write_rows(tmp_path, 10_000), key_range(1, 10_000))
    for query in random_vectors(20, seed=3):
        rough, most = matrix.approximate_similarities(query)
        assert np.abs(rough - matrix.similarities(query)).max() <= most < 0.02


def test_the_mean_similarity_is_the_mean_over_all_rows(tmp_path: Path) -> None:
    matrix = read(tmp_path, write_rows(tmp_path, 10_000), key_range(1, 10_000))
    query = random_vectors(1, seed=3)[0]
    assert matrix.mean_similarity(query) == pytest.approx(matrix.similarities(query).mean(dtype=np.float64), abs=1e-9)


@pytest.mark.parametrize("wide", [WIDE, 256, 1500])
def test_similarities_are_identical_with_and_without_the_fast_multiplication(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wide: int
) -> None:
    rows = np.random.default_rng(1).normal(size=(CHUNK_ROWS + 1, wide)).astype(np.float32)
    rows[0], rows[1] = 1, -1  # gives the largest sums
    all_keys = key_range(1, len(rows))
    source = MatrixSource(tmp_path, MatrixWriter(tmp_path, None, wide).commit(1, all_keys, all_keys, quantise(rows)))
    matrix = VectorMatrix.read(source, all_keys, wide)
    queries = (rows[0], rows[-1])
    found = [matrix.similarities(query).tobytes() for query in queries]
    monkeypatch.setattr("excerpt.index.vectors.multiply", multiply_in_numpy)
    assert [matrix.similarities(query).tobytes() for query in queries] == found


def test_selected_rows_equal_the_same_rows_of_the_whole_matrix(tmp_path: Path) -> None:
    matrix = read(tmp_path, write_rows(tmp_path, 10_000), key_range(1, 10_000))
    wanted = np.array([9_999, 0, 4_096, 4_095])
    np.testing.assert_array_equal(matrix.rows(wanted), matrix.vectors[wanted])


def test_the_rows_of_a_generation_are_multiplied_in_one_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = read(tmp_path, write_rows(tmp_path, 10_000), key_range(1, 10_000))
    calls: list[int] = []

    def count_rows(digits: NDArray[np.int8], rows: NDArray[np.int8]) -> NDArray[np.float32] | NDArray[np.float64]:
        calls.append(len(rows))
        return multiply_in_numpy(digits, rows)

    monkeypatch.setattr("excerpt.index.vectors.multiply", count_rows)
    matrix.similarities(random_vectors(1)[0])
    assert calls == [3 * CHUNK_ROWS]


def test_a_commit_appends_only_new_rows(tmp_path: Path) -> None:
    before = write_rows(tmp_path, 20)
    content = (tmp_path / before.name).read_bytes()
    after = MatrixWriter(tmp_path, before, WIDE).commit(
        2, key_range(1, 21), key_range(21, 21), quantise(random_vectors(1, seed=5))
    )
    assert (tmp_path / after.name).read_bytes().startswith(content)
    matrix = read(tmp_path, after, key_range(1, 21))
    assert matrix.similarities(random_vectors(1, seed=5)[0]).argmax() == 20


def test_a_reader_of_the_previous_generation_sees_no_new_row(tmp_path: Path) -> None:
    before = write_rows(tmp_path, 20)
    MatrixWriter(tmp_path, before, WIDE).commit(2, key_range(1, 21), key_range(21, 21), quantise(random_vectors(1)))
    assert len(read(tmp_path, before, key_range(1, 20)).vectors) == 20


def test_rows_appended_by_a_killed_build_are_cut_off(tmp_path: Path) -> None:
    before = write_rows(tmp_path, 20)
    with (tmp_path / before.name).open("ab") as file:
        file.write(b"half a block")
    after = MatrixWriter(tmp_path, before, WIDE).commit(
        2, key_range(1, 21), key_range(21, 21), quantise(random_vectors(1))
    )
    assert len(read(tmp_path, after, key_range(1, 21)).vectors) == 21


def test_deleted_rows_are_skipped(tmp_path: Path) -> None:
    file = write_rows(tmp_path, 20)
    matrix = read(tmp_path, file, np.array([3, 9]))
    np.testing.assert_allclose(matrix.vectors, random_vectors(20)[[2, 8]], atol=0.01)


def test_a_file_of_mostly_deleted_rows_is_rewritten_under_another_name(tmp_path: Path) -> None:
    before = write_rows(tmp_path, 20)
    living = np.append(key_range(1, 10), 21)
    after = MatrixWriter(tmp_path, before, WIDE).commit(
        2, living, key_range(21, 21), quantise(random_vectors(1, seed=5))
    )
    assert after.name != before.name
    assert after.size < before.size
    np.testing.assert_allclose(read(tmp_path, after, living).vectors[:10], random_vectors(10), atol=0.5)
    assert read(tmp_path, before, key_range(1, 20)).vectors.shape == (20, WIDE)


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut": lambda data: data[:-1],
    "emptied": lambda data: b"",
    "one byte": lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:],
    "garbage": lambda data: b"x" * len(data),
}


def test_rewritten_blocks_keep_their_own_vectors(tmp_path: Path) -> None:
    quantised = quantise(random_vectors(40))
    file: DerivedFile | None = None
    for generation, first in enumerate((1, 11, 21, 31), 1):
        added = QuantisedVectors(quantised.scales[first - 1 : first + 9], quantised.rows[first - 1 : first + 9])
        keys = key_range(first, first + 9)
        # The last commit deletes more than a quarter of the rows.
        living = key_range(15 if first == 31 else 1, first + 9)
        file = MatrixWriter(tmp_path, file, WIDE).commit(generation, living, keys, added)
    assert file is not None and file.name == "vectors-4"
    assert read(tmp_path, file, key_range(15, 40)).vectors.tobytes() == quantised.floats[14:].tobytes()


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_detected(tmp_path: Path, damage: str) -> None:
    file = write_rows(tmp_path, 20)
    (tmp_path / file.name).write_bytes(DAMAGES[damage]((tmp_path / file.name).read_bytes()))
    with pytest.raises(DamagedFileError):
        read(tmp_path, file, key_range(1, 20))


def test_a_missing_row_is_detected(tmp_path: Path) -> None:
    file = write_rows(tmp_path, 20)
    with pytest.raises(DamagedFileError, match="2 vectors are missing"):
        read(tmp_path, file, key_range(1, 22))


def test_an_empty_vault_has_an_empty_matrix(tmp_path: Path) -> None:
    matrix = read(tmp_path, write_rows(tmp_path, 0), key_range(1, 0))
    assert matrix.similarities(random_vectors(1)[0]).shape == (0,)
    assert matrix.mean.tolist() == [0.0] * WIDE


def test_an_opened_file_can_be_read_after_its_removal(tmp_path: Path) -> None:
    file = write_rows(tmp_path, 20)
    source = MatrixSource(tmp_path, file)
    (tmp_path / file.name).unlink()
    assert len(VectorMatrix.read(source, key_range(1, 20), WIDE).vectors) == 20


def test_a_text_without_a_known_word_has_a_zero_vector() -> None:
    nothing = quantise(np.zeros((1, WIDE), np.float32))
    assert nothing.rows.tolist() == [[0] * WIDE]


def test_vectors_stored_in_the_catalog_are_read_back_unchanged() -> None:
    before = quantise(random_vectors(5))
    after = QuantisedVectors.from_bytes(before.to_bytes(), WIDE)
    assert after.rows.tolist() == before.rows.tolist()
    assert after.scales.tolist() == before.scales.tolist()
