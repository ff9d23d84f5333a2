"""Tests of the columns on disk: they read back as written for all integer widths, and damage is detected."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.index.postings import Columns, DamagedColumnsError, Segment, merge_fields, pack
from tests.index.counting import invert


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


def written(folder: Path, words: Segment) -> Columns:
    postings, terms = pack(words)
    (folder / "pst").write_bytes(postings)
    (folder / "lex").write_bytes(terms)
    return Columns(folder / "pst", folder / "lex")


def same(one: Segment, other: Segment) -> bool:
    arrays = ("starts", "docs", "fields", "tf", "positions")
    return one.terms == other.terms and all(np.array_equal(getattr(one, a), getattr(other, a)) for a in arrays)


WORDS = st.dictionaries(
    st.text(st.sampled_from("ab\u00e9\u6771"), min_size=1, max_size=4),
    st.lists(st.integers(0, 400), min_size=1, max_size=40, unique=True).map(sorted),
    max_size=40,
)


@pytest.mark.programs
@given(st.lists(WORDS, max_size=5))
def test_what_is_read_back_is_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, documents: list[dict[str, list[int]]]
) -> None:
    words = segment(*documents)
    columns = written(tmp_path_factory.mktemp("columns"), words)
    assert same(columns.segment(len(documents)), words)
    for number, term in enumerate(words.terms):
        found = columns.find(term)
        assert found is not None
        first, last = words.starts[number], words.starts[number + 1]
        assert found.docs.tolist() == words.docs[first:last].tolist()
        assert columns.unpack(found.codes)[1].tolist() == words.tf[first:last].tolist()
        assert found.first_position == words.tf[:first].sum()


def test_large_numbers_survive(tmp_path: Path) -> None:
    documents: list[dict[str, list[int]]] = [{}] * 70_000
    documents = [{"rare": list(range(0, 9_000_000, 1000))}, *documents, {"rare": [7]}]
    words = segment(*documents)
    assert same(written(tmp_path, words).segment(len(documents)), words)


def test_a_segment_without_words_opens(tmp_path: Path) -> None:
    columns = written(tmp_path, segment({}))
    assert columns.terms() == []
    assert columns.find(b"a") is None
    assert list(columns.terms_with_prefix(b"")) == []


def test_terms_by_beginning_cross_the_blocks(tmp_path: Path) -> None:
    columns = written(tmp_path, segment({f"{letter}{n:03}": [n] for letter in "abc" for n in range(100)}))
    found = [term for term, _ in columns.terms_with_prefix(b"b0")]
    assert found == [f"b{n:03}".encode() for n in range(100)]
    assert [term for term, _ in columns.terms_with_prefix(b"a00")] == [f"a{n:03}".encode() for n in range(10)]


def test_only_the_pages_looked_at_are_checked(tmp_path: Path) -> None:
    many = {f"w{n:05}": [n] for n in range(30_000)}
    columns = written(tmp_path, segment(many))
    data = bytearray((tmp_path / "pst").read_bytes())
    data[0] ^= 1
    (tmp_path / "pst").write_bytes(data)
    assert columns.find(b"w29999") is not None
    with pytest.raises(DamagedColumnsError):
        columns.find(b"w00000")


@pytest.mark.parametrize("kept", [0, 3, 100])
def test_files_cut_short_are_noticed(tmp_path: Path, kept: int) -> None:
    written(tmp_path, segment({"a": [0], "b": [1, 2]}))
    for name in ("pst", "lex"):
        data = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(data[: min(kept, len(data) - 1)])
        with pytest.raises(DamagedColumnsError):
            Columns(tmp_path / "pst", tmp_path / "lex")
        (tmp_path / name).write_bytes(data)
