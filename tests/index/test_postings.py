"""Counting, joining, packing: whatever the documents, what is read back is what was written."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.index.postings import (
    DamagedPostingsError,
    Inverted,
    collect,
    invert,
    join,
    only_docs,
    pack,
    unpack,
)

Document = tuple[list[str], list[int]]

WORDS = st.lists(st.sampled_from(["a", "be", "see", "é", "東京", "x" * 60, ""]), max_size=30)


def document(words: list[str]) -> Document:
    return words, list(range(0, 300 * len(words), 300))


def expected(documents: list[Document]) -> dict[str, dict[int, list[int]]]:
    found: dict[str, dict[int, list[int]]] = {}
    for number, (words, positions) in enumerate(documents):
        for word, position in zip(words, positions, strict=True):
            found.setdefault(word, {}).setdefault(number, []).append(position)
    return found


def read_back(field: Inverted) -> dict[str, dict[int, list[int]]]:
    found = {}
    for term, document_count, occurrences, data in pack(field):
        postings = unpack(data)
        assert postings.positions is not None
        assert (document_count, occurrences) == (len(postings.docs), postings.tf.sum())
        runs = np.split(postings.positions, np.cumsum(postings.tf)[:-1])
        found[term.decode()] = {int(doc): run.tolist() for doc, run in zip(postings.docs, runs, strict=True)}
    return found


@given(st.lists(WORDS.map(document), max_size=12))
def test_what_is_packed_is_what_was_counted(documents: list[Document]) -> None:
    field = invert(documents)
    assert read_back(field) == expected(documents)
    assert field.lengths.tolist() == [len(words) for words, _ in documents]


@given(st.lists(st.lists(WORDS.map(document), max_size=5), min_size=1, max_size=4))
def test_joined_parts_are_as_if_counted_at_once(parts: list[list[Document]]) -> None:
    whole = [one for part in parts for one in part]
    assert read_back(join([invert(part) for part in parts])) == expected(whole)


def test_terms_are_sorted_by_their_bytes() -> None:
    field = invert([document(["zoo", "élan", "东", "apple"])])
    assert field.terms == sorted(field.terms)


def test_wide_gaps_and_positions_survive() -> None:
    documents: list[Document] = [([], []) for _ in range(70_000)]
    documents[0] = (["rare", "rare"], [0, 1_000_000])
    documents[69_999] = (["rare"], [7])
    assert read_back(invert(documents)) == {"rare": {0: [0, 1_000_000], 69_999: [7]}}


def test_dropped_documents_leave_with_their_positions() -> None:
    field = invert([document(["a", "b"]), document(["a", "a"]), document(["a"])])
    data = {term: blob for term, _, _, blob in pack(field)}
    new_numbers = np.array([0, -1, 1], np.int32)
    kept = [(term, only_docs(unpack(blob), new_numbers)) for term, blob in data.items()]
    left = collect(kept, np.array([2, 1], np.int32))
    assert read_back(left) == expected([document(["a", "b"]), document(["a"])])


def test_positions_are_left_out_when_not_asked_for() -> None:
    ((_, _, _, data),) = pack(invert([document(["a", "a"])]))
    assert unpack(data, with_positions=False).positions is None


@given(st.data())
def test_any_altered_byte_is_noticed(data: st.DataObject) -> None:
    ((_, _, _, packed),) = pack(invert([document(["a", "a"]), document(["a"])]))
    at = data.draw(st.integers(0, len(packed) - 1))
    bits = data.draw(st.integers(1, 255))
    altered = packed[:at] + bytes([packed[at] ^ bits]) + packed[at + 1 :]
    with pytest.raises(DamagedPostingsError):
        unpack(altered)


@given(st.integers(0, 12))
def test_postings_cut_short_are_noticed(kept: int) -> None:
    ((_, _, _, packed),) = pack(invert([document(["a", "a"]), document(["a"])]))
    with pytest.raises(DamagedPostingsError):
        unpack(packed[:kept])
