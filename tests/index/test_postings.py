"""Tests of postings and of the columns on disk: they read back as written, and damage is detected."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.index.postings import (
    Columns,
    DamagedColumnsError,
    Inverted,
    Segment,
    concatenate_segments,
    embedded_text,
    join,
    merge_fields,
    pack,
    select_docs,
)
from excerpt.index.postings import invert as count_terms
from excerpt.text.numbers import NumberedOccurrences
from tests.index.counting import invert

Document = tuple[list[str], list[int]]
Content = dict[str, dict[tuple[int, int], list[int]]]

WORDS = st.lists(st.sampled_from(["a", "be", "see", "é", "東京", "x" * 60, ""]), max_size=30)


def document(words: list[str]) -> Document:
    return words, list(range(0, 300 * len(words), 300))


def expected(documents: list[Document]) -> dict[str, dict[int, list[int]]]:
    found: dict[str, dict[int, list[int]]] = {}
    for number, (words, positions) in enumerate(documents):
        for word, position in zip(words, positions, strict=True):
            found.setdefault(word, {}).setdefault(number, []).append(position)
    return found


def content(words: Segment) -> Content:
    """Return the positions by term, document and field."""
    found: Content = {}
    ends = np.cumsum(words.tf)
    for number, term in enumerate(words.terms):
        for at in range(words.starts[number], words.starts[number + 1]):
            positions = words.positions[ends[at] - words.tf[at] : ends[at]].tolist()
            found.setdefault(term.decode(), {})[int(words.docs[at]), int(words.fields[at])] = positions
    return found


def counts_of(field: Inverted) -> dict[str, dict[int, list[int]]]:
    return {
        term: {doc: places for (doc, _), places in of.items()} for term, of in content(merge_fields([field])).items()
    }


@given(st.lists(WORDS.map(document), max_size=12))
def test_every_occurrence_is_counted(documents: list[Document]) -> None:
    field = invert(documents)
    assert counts_of(field) == expected(documents)
    assert field.lengths.tolist() == [len(words) for words, _ in documents]


@given(st.lists(st.lists(WORDS.map(document), max_size=5), min_size=1, max_size=4))
def test_merged_fields_equal_the_postings_counted_at_once(parts: list[list[Document]]) -> None:
    whole = [one for part in parts for one in part]
    assert counts_of(join([invert(part) for part in parts])) == expected(whole)


class CountedNames(list[bytes]):
    """Names of terms that count how many of them are read."""

    reads = 0

    def __getitem__(self, at: Any) -> Any:
        self.reads += 1
        return super().__getitem__(at)

    def __iter__(self) -> Iterator[bytes]:
        raise AssertionError("all names are read")


def test_only_terms_of_the_counted_documents_are_read_not_all_known_terms() -> None:
    names = CountedNames(f"word{number}".encode() for number in range(1_000))
    terms = np.array([7, 7, 900], np.int32)
    field = count_terms(NumberedOccurrences(terms, np.zeros(3, np.int32), np.arange(3, dtype=np.int32), 1), names)
    assert (field.terms, field.lengths.tolist(), names.reads) == ([b"word7", b"word900"], [3], 2)


def test_terms_are_sorted_by_their_bytes() -> None:
    field = invert([document(["zoo", "élan", "东", "apple"])])
    assert field.terms == sorted(field.terms)


@given(st.lists(WORDS.map(document), min_size=2, max_size=2))
def test_entries_of_a_term_in_several_fields_are_adjacent(documents: list[Document]) -> None:
    first, second = documents
    found = content(merge_fields([invert([first]), invert([second])]))
    of_first, of_second = expected([first]), expected([second])
    for term in of_first.keys() | of_second.keys():
        both = {(0, 0): of_first.get(term, {}).get(0), (0, 1): of_second.get(term, {}).get(0)}
        assert found[term] == {place: places for place, places in both.items() if places}


@given(st.lists(st.lists(WORDS.map(document), max_size=5), min_size=1, max_size=4))
def test_merged_segments_equal_the_postings_counted_at_once(parts: list[list[Document]]) -> None:
    whole = [one for part in parts for one in part]
    assert content(concatenate_segments([merge_fields([invert(part)]) for part in parts])) == content(
        merge_fields([invert(whole)])
    )


@given(st.lists(st.tuples(WORDS.map(document), st.booleans()), max_size=8))
def test_dropped_documents_are_removed_with_their_terms_and_positions(documents: list[tuple[Document, bool]]) -> None:
    living = np.array([lives for _, lives in documents], bool)
    new_numbers = np.where(living, np.cumsum(living) - 1, -1).astype(np.int32)
    left = select_docs(merge_fields([invert([one for one, _ in documents])]), new_numbers)
    assert content(left) == content(merge_fields([invert([one for one, lives in documents if lives])]))
    assert left.doc_count == int(living.sum())
    assert content(left).keys() == {term.decode() for term in left.terms}


def segment(*documents: dict[str, list[int]]) -> Segment:
    """Return a segment of documents given as the positions of their words."""
    flat = [
        (
            [word for word, places in document.items() for _ in places],
            [p for places in document.values() for p in places],
        )
        for document in documents
    ]
    return merge_fields([invert(flat)])


def write_columns(folder: Path, words: Segment) -> Columns:
    postings, terms = pack(words)
    (folder / "pst").write_bytes(postings)
    (folder / "lex").write_bytes(terms)
    return Columns(folder / "pst", folder / "lex")


def are_equal(one: Segment, other: Segment) -> bool:
    arrays = ("starts", "docs", "fields", "tf", "positions")
    return one.terms == other.terms and all(np.array_equal(getattr(one, a), getattr(other, a)) for a in arrays)


POSITIONS_OF_TERMS = st.dictionaries(
    st.text(st.sampled_from("ab\u00e9\u6771"), min_size=1, max_size=4),
    st.lists(st.integers(0, 400), min_size=1, max_size=40, unique=True).map(sorted),
    max_size=40,
)


@pytest.mark.programs
@given(st.lists(POSITIONS_OF_TERMS, max_size=5))
def test_a_segment_is_read_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, documents: list[dict[str, list[int]]]
) -> None:
    words = segment(*documents)
    columns = write_columns(tmp_path_factory.mktemp("columns"), words)
    assert are_equal(columns.segment(len(documents)), words)
    for number, term in enumerate(words.terms):
        found = columns.find(term)
        assert found is not None
        first, last = words.starts[number], words.starts[number + 1]
        assert found.docs.tolist() == words.docs[first:last].tolist()
        assert columns.unpack(found.codes)[1].tolist() == words.tf[first:last].tolist()
        assert found.first_position == words.tf[:first].sum()


def test_large_numbers_are_preserved(tmp_path: Path) -> None:
    documents: list[dict[str, list[int]]] = [{}] * 70_000
    documents = [{"rare": list(range(0, 9_000_000, 1000))}, *documents, {"rare": [7]}]
    words = segment(*documents)
    assert are_equal(write_columns(tmp_path, words).segment(len(documents)), words)


def test_a_segment_without_words_can_be_opened(tmp_path: Path) -> None:
    columns = write_columns(tmp_path, segment({}))
    assert columns.terms() == []
    assert columns.find(b"a") is None
    assert list(columns.terms_with_prefix(b"")) == []


def test_terms_with_a_prefix_are_found_across_blocks_of_the_term_file(tmp_path: Path) -> None:
    columns = write_columns(tmp_path, segment({f"{letter}{n:03}": [n] for letter in "abc" for n in range(100)}))
    found = [term for term, _ in columns.terms_with_prefix(b"b0")]
    assert found == [f"b{n:03}".encode() for n in range(100)]
    assert [term for term, _ in columns.terms_with_prefix(b"a00")] == [f"a{n:03}".encode() for n in range(10)]


def test_only_the_pages_read_are_verified(tmp_path: Path) -> None:
    many = {f"w{n:05}": [n] for n in range(30_000)}
    columns = write_columns(tmp_path, segment(many))
    data = bytearray((tmp_path / "pst").read_bytes())
    data[0] ^= 1
    (tmp_path / "pst").write_bytes(data)
    assert columns.find(b"w29999") is not None
    with pytest.raises(DamagedColumnsError):
        columns.find(b"w00000")


@pytest.mark.parametrize("kept", [0, 3, 100])
def test_truncated_files_are_detected(tmp_path: Path, kept: int) -> None:
    write_columns(tmp_path, segment({"a": [0], "b": [1, 2]}))
    for name in ("pst", "lex"):
        data = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(data[: min(kept, len(data) - 1)])
        with pytest.raises(DamagedColumnsError):
            Columns(tmp_path / "pst", tmp_path / "lex")
        (tmp_path / name).write_bytes(data)


def test_a_word_with_markdown_marks_inside_is_embedded_without_the_marks() -> None:
    assert embedded_text("Note", ("Part",), "un**believ**able") == embedded_text("Note", ("Part",), "unbelievable")
