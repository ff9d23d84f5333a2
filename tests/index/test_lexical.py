"""Tests of the lexical index: rows equal key ranks after deletions and merges, Whoosh agrees, damage is detected."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from whoosh.filedb.filestore import FileStorage
from whoosh.index import TOC

from excerpt.corpus.tables import FIELDS
from excerpt.index import lexical
from excerpt.index.files import DamagedFileError, DerivedFile
from excerpt.index.lexical import LexicalReader, open_segments
from excerpt.index.lexical_writer import LexicalWriter, document_rows
from excerpt.index.postings import Inverted
from tests.index.conftest import full_disk
from tests.index.counting import invert


def inverted(texts: Sequence[str]) -> dict[str, Inverted]:
    documents = [(text.split(), list(range(len(text.split())))) for text in texts]
    return {field: invert(documents) for field in FIELDS}


def add(writer: LexicalWriter, first_key: int, *texts: str) -> None:
    """Add fragments of note 7, one per text."""
    writer.add(document_rows([(first_key + at, 7, 1 + at) for at in range(len(texts))]), inverted(texts))


def open_reader(folder: Path, files: list[DerivedFile], generation: int) -> LexicalReader:
    return LexicalReader(folder, files, generation)


def keys_with(reader: LexicalReader, term: str) -> list[int]:
    found: list[int] = reader.keys[reader.postings("text", term).rows].tolist()
    return found


def test_postings_have_rows_and_frequencies(tmp_path: Path) -> None:
    writer = LexicalWriter(tmp_path, None)
    add(writer, 1, "a b a", "b", "c a")
    reader = open_reader(tmp_path, writer.commit(1), 1)
    assert reader.keys.tolist() == [1, 2, 3]
    assert reader.postings("text", "a").rows.tolist() == [0, 2]
    assert reader.postings("text", "a").tf.tolist() == [2.0, 1.0]
    assert reader.lengths("text").tolist() == [3.0, 1.0, 2.0]


def test_each_posting_has_the_positions_of_its_term(tmp_path: Path) -> None:
    writer = LexicalWriter(tmp_path, None)
    add(writer, 1, "a b a")
    add(writer, 2, "c", "b a")
    positions = open_reader(tmp_path, writer.commit(1), 1).positions("text", "a")
    assert positions.offsets.tolist() == [0, 2, 3]
    assert positions.values.tolist() == [0, 2, 1]


def test_a_term_is_counted_in_all_fields_and_segments(tmp_path: Path) -> None:
    writer = LexicalWriter(tmp_path, None)
    add(writer, 1, "a b a")
    add(writer, 2, "c", "b a")
    reader = open_reader(tmp_path, writer.commit(1), 1)
    assert reader.count("a") == 2 * len(FIELDS)
    assert reader.count("c") == len(FIELDS)
    assert reader.count("zebra") == 0


def test_an_unknown_term_or_field_has_no_postings(tmp_path: Path) -> None:
    writer = LexicalWriter(tmp_path, None)
    add(writer, 1, "a")
    reader = open_reader(tmp_path, writer.commit(1), 1)
    assert reader.postings("text", "zebra").rows.tolist() == []
    assert reader.positions("text", "zebra").offsets.tolist() == [0]


def test_an_index_without_fragments_can_be_opened(tmp_path: Path) -> None:
    reader = open_reader(tmp_path, LexicalWriter(tmp_path, None).commit(1), 1)
    assert (reader.doc_count, reader.lexicon("text"), reader.lengths("text").tolist()) == (0, [], [])


def test_deleted_fragments_are_removed_from_rows_lengths_and_postings(tmp_path: Path) -> None:
    writer = LexicalWriter(tmp_path, None)
    add(writer, 1, "a", "a b b", "a c", "d")
    writer.delete(np.array([2, 99]))
    reader = open_reader(tmp_path, writer.commit(1), 1)
    assert reader.keys.tolist() == [1, 3, 4]
    assert keys_with(reader, "a") == [1, 3]
    assert keys_with(reader, "b") == []
    assert reader.lengths("text").tolist() == [1.0, 2.0, 1.0]
    assert reader.positions("text", "c").values.tolist() == [1]


def test_a_later_build_extends_the_files_of_an_earlier_one(tmp_path: Path) -> None:
    writer = LexicalWriter(tmp_path, None)
    add(writer, 1, "a", "b")
    files = writer.commit(1)
    later = LexicalWriter(tmp_path, 1, files)
    later.delete(np.array([1]))
    add(later, 3, "a")
    assert keys_with(open_reader(tmp_path, later.commit(2), 2), "a") == [3]
    assert keys_with(open_reader(tmp_path, files, 1), "a") == [1]


@pytest.mark.programs
def test_many_small_commits_make_few_segments_without_loss(tmp_path: Path) -> None:
    writer = LexicalWriter(tmp_path, None)
    files: list[DerivedFile] = []
    for key in range(1, 201):
        add(writer, key, f"all w{key}")
        if key % 3 == 0:
            writer.delete(np.array([key - 1]))
        files = writer.commit(key)
    living = [key for key in range(1, 201) if not (key % 3 == 2 and key < 200)]
    reader = open_reader(tmp_path, files, 200)
    assert keys_with(reader, "all") == living
    assert all(keys_with(reader, f"w{key}") == [key] for key in living)
    assert sum(file.name.endswith(".pst") for file in files) <= 24


def test_the_end_of_a_build_makes_few_segments_without_loss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("excerpt.index.lexical_writer._MAX_FRAGMENTS", 10)
    writer = LexicalWriter(tmp_path, None)
    for commit in range(1, 7):
        add(writer, 4 * commit, *(f"all w{4 * commit + at}" for at in range(4)))
        writer.commit(commit)
    writer.delete(np.array([5]))
    files = writer.commit(7, ends_build=True)
    reader = open_reader(tmp_path, files, 7)
    assert sum(file.name.endswith(".pst") for file in files) == 3
    assert keys_with(reader, "all") == [key for key in range(4, 28) if key != 5]
    assert all(keys_with(reader, f"w{key}") == [key] for key in range(6, 28))


def test_the_end_of_a_small_build_leaves_a_large_segment(tmp_path: Path) -> None:
    writer = LexicalWriter(tmp_path, None)
    add(writer, 1, *["many"] * 50)
    large = {file.name for file in writer.commit(1) if file.name.endswith(".pst")}
    add(writer, 51, "few")
    assert large < {file.name for file in writer.commit(2, ends_build=True)}


def test_a_mostly_deleted_segment_is_rewritten(tmp_path: Path) -> None:
    writer = LexicalWriter(tmp_path, None)
    add(writer, 1, *["a many words"] * 50)
    before = sum(file.size for file in writer.commit(1))
    writer.delete(np.arange(1, 40))
    assert sum(file.size for file in writer.commit(2)) < before


def test_a_row_has_its_note_and_line(tmp_path: Path) -> None:
    writer = LexicalWriter(tmp_path, None)
    add(writer, 1, "a", "b", "c")
    writer.delete(np.array([2]))
    reader = open_reader(tmp_path, writer.commit(1), 1)
    assert (reader.notes.tolist(), reader.lines.tolist()) == ([7, 7], [1, 3])


def test_entries_name_the_fields_of_a_term(tmp_path: Path) -> None:
    writer = LexicalWriter(tmp_path, None)
    words = inverted(["a a", "b"])
    words["title"] = invert([(["b"], [0]), (["a"], [0])])
    writer.add(document_rows([(1, 7, 1), (2, 7, 2)]), words)
    entries = open_reader(tmp_path, writer.commit(1), 1).entries("a")
    others = [number for number, field in enumerate(FIELDS) if field != "title"]
    assert entries.rows.tolist() == [*[0] * len(others), 1]
    assert entries.fields.tolist() == [*others, FIELDS.index("title")]
    assert entries.tf.tolist() == [*[2] * len(others), 1]


def test_occurrences_are_those_of_the_requested_rows(tmp_path: Path) -> None:
    writer = LexicalWriter(tmp_path, None)
    add(writer, 1, "a b a", "b")
    add(writer, 3, "gone a", "c", "b b a")
    writer.delete(np.array([3]))
    places = open_reader(tmp_path, writer.commit(1), 1).occurrences("a", np.array([1, 2, 3], np.int32))
    in_text = places.fields == FIELDS.index("text")
    assert places.row_indices[in_text].tolist() == [2]
    assert places.positions[in_text].tolist() == [2]


def test_a_term_is_found_at_any_position_in_the_dictionary(tmp_path: Path) -> None:
    writer = LexicalWriter(tmp_path, None)
    terms = sorted({f"w{number}" for number in range(0, 200, 2)} | {"東京", "é"})
    add(writer, 1, " ".join(terms))
    reader = open_reader(tmp_path, writer.commit(1), 1)
    assert all(keys_with(reader, term) == [1] for term in terms)
    assert not any(keys_with(reader, f"w{number}") for number in range(1, 200, 2))
    assert not any(keys_with(reader, term) for term in ("", "a", "w", "w198 ", "zz", "\U0001f600"))


@pytest.mark.parametrize("read_all", [False, True])
def test_completions_are_listed_shortest_first_whether_or_not_the_lexicon_is_loaded(
    tmp_path: Path, read_all: bool
) -> None:
    writer = LexicalWriter(tmp_path, None)
    add(writer, 1, "synching sync z")
    add(writer, 2, "synchrony syncing sea 東京")
    reader = open_reader(tmp_path, writer.commit(1), 1)
    if read_all:
        assert reader.lexicon("text") == ["sea", "sync", "synching", "synchrony", "syncing", "z", "東京"]
    assert reader.completions("sync", 3) == ["sync", "syncing", "synching"]
    assert reader.completions("東", 3) == ["東京"]
    assert reader.terms("text", "sync") == ["sync", "synching", "synchrony", "syncing"]
    assert reader.completions("x", 3) == []


def damage_file(folder: Path, files: list[DerivedFile], suffix: str, how: str) -> None:
    path = folder / next(file.name for file in files if file.name.endswith(suffix))
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] if how == "cut" else bytes(byte ^ 0x5A for byte in data))


@pytest.mark.parametrize("how", ["cut", "garbage"])
@pytest.mark.parametrize("suffix", [".toc", ".lex", ".pst", ".npy"])
def test_a_damaged_file_is_detected_before_it_is_used(tmp_path: Path, suffix: str, how: str) -> None:
    writer = LexicalWriter(tmp_path, None)
    add(writer, 1, "a b a", "b", "c a")
    files = writer.commit(1)
    damage_file(tmp_path, files, suffix, how)
    with pytest.raises(DamagedFileError):
        open_reader(tmp_path, files, 1).postings("text", "a")


def test_damaged_positions_are_detected_when_they_are_read(tmp_path: Path) -> None:
    writer = LexicalWriter(tmp_path, None)
    add(writer, 1, " ".join(["a"] * 40_000))
    files = writer.commit(1)
    path = tmp_path / next(file.name for file in files if file.name.endswith(".pst"))
    data = path.read_bytes()
    path.write_bytes(data[:-1000] + bytes(byte ^ 1 for byte in data[-1000:]))
    reader = open_reader(tmp_path, files, 1)
    assert len(reader.entries("a").rows)
    with pytest.raises(DamagedFileError):
        reader.occurrences("a", np.array([0], np.int32))


def test_an_index_of_another_version_is_an_error(tmp_path: Path) -> None:
    writer = LexicalWriter(tmp_path, None)
    add(writer, 1, "a")
    files = [replace(file, name=file.name.replace(".lex", ".trm")) for file in writer.commit(1)]
    with pytest.raises(DamagedFileError, match="another version"):
        LexicalWriter(tmp_path, 1, files)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    writer = LexicalWriter(tmp_path, None)
    add(writer, 1, "a")
    files = writer.commit(1)
    (tmp_path / files[0].name).unlink()
    with pytest.raises(DamagedFileError, match="missing"):
        open_reader(tmp_path, files, 1)


@pytest.mark.skipif(os.name == "nt", reason="the limit of a file's size is of POSIX")
@pytest.mark.parametrize("room", [1_000, 10_000], ids=["for the terms", "for the terms and postings"])
def test_a_full_disk_is_reported_with_the_reason_of_the_system(tmp_path: Path, room: int) -> None:
    writer = LexicalWriter(tmp_path, None)
    with full_disk(room), pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
        add(writer, 1, *["a"] * 300)


def test_the_table_of_contents_is_read_as_whoosh_reads_it(tmp_path: Path) -> None:
    writer = LexicalWriter(tmp_path, None)
    add(writer, 1, "bees", "wasps", "bees and wasps")
    writer.commit(1)
    add(writer, 4, "honey")
    writer.delete(np.array([2, 3]))
    writer.commit(2)

    storage = FileStorage(str(tmp_path / "words"))  # type: ignore[no-untyped-call]
    by_whoosh = TOC.read(storage, "words", gen=2).segments  # type: ignore[no-untyped-call]
    opened = open_segments(tmp_path, 2)
    assert [segment.name for segment in opened] == [segment.segment_id() for segment in by_whoosh]
    assert [np.flatnonzero(~segment.alive).tolist() for segment in opened] == [
        sorted(segment.deleted_docs()) for segment in by_whoosh
    ]


def test_objects_of_other_classes_are_not_read_from_a_table_of_contents(tmp_path: Path) -> None:
    writer = LexicalWriter(tmp_path, None)
    add(writer, 1, "bees")
    writer.commit(1)
    file = tmp_path / "words" / "_words_1.toc"
    file.write_bytes(file.read_bytes().replace(b"whoosh.codec.whoosh3", b"excerpt.codec.whoosh"))

    with pytest.raises(DamagedFileError, match="cannot be read"):
        open_segments(tmp_path, 1)


@pytest.mark.parametrize(("limit", "cached"), [(1, ["wasps"]), (1 << 20, ["bees", "honey", "wasps"])])
def test_terms_are_cached_up_to_a_limit_the_oldest_leave_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, cached: list[str]
) -> None:
    monkeypatch.setattr("excerpt.index.lexical._MIN_CACHE_BYTES", limit)
    monkeypatch.setattr("excerpt.index.lexical._CACHE_BYTES_PER_FRAGMENT", 0)
    writer = LexicalWriter(tmp_path, None)
    add(writer, 1, "bees", "honey", "wasps")
    reader = LexicalReader(tmp_path, writer.commit(1), 1)

    for term in ("bees", "honey", "wasps"):
        reader.entries(term)
    assert list(reader._cache) == cached


def test_the_cache_of_terms_grows_with_the_vault_to_eight_times_its_least_size() -> None:
    sizes = [lexical._limit_cache(fragments) for fragments in (100, 100_000, 10_000_000)]
    assert sizes[0] < sizes[1] < sizes[2] == 8 * sizes[0]
