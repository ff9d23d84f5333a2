"""Tests of counting, joining and dropping postings: positions stay correct for any documents."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from excerpt.index.postings import Inverted, Segment, concatenate_segments, join, merge_fields, select_docs
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


def counted(field: Inverted) -> dict[str, dict[int, list[int]]]:
    return {
        term: {doc: places for (doc, _), places in of.items()} for term, of in content(merge_fields([field])).items()
    }


@given(st.lists(WORDS.map(document), max_size=12))
def test_all_is_counted(documents: list[Document]) -> None:
    field = invert(documents)
    assert counted(field) == expected(documents)
    assert field.lengths.tolist() == [len(words) for words, _ in documents]


@given(st.lists(st.lists(WORDS.map(document), max_size=5), min_size=1, max_size=4))
def test_joined_parts_are_as_if_counted_at_once(parts: list[list[Document]]) -> None:
    whole = [one for part in parts for one in part]
    assert counted(join([invert(part) for part in parts])) == expected(whole)


def test_terms_are_sorted_by_their_bytes() -> None:
    field = invert([document(["zoo", "élan", "东", "apple"])])
    assert field.terms == sorted(field.terms)


@given(st.lists(WORDS.map(document), min_size=2, max_size=2))
def test_fields_stand_side_by_side_in_a_term(documents: list[Document]) -> None:
    first, second = documents
    found = content(merge_fields([invert([first]), invert([second])]))
    of_first, of_second = expected([first]), expected([second])
    for term in of_first.keys() | of_second.keys():
        both = {(0, 0): of_first.get(term, {}).get(0), (0, 1): of_second.get(term, {}).get(0)}
        assert found[term] == {place: places for place, places in both.items() if places}


@given(st.lists(st.lists(WORDS.map(document), max_size=5), min_size=1, max_size=4))
def test_segments_in_a_row_are_as_if_counted_at_once(parts: list[list[Document]]) -> None:
    whole = [one for part in parts for one in part]
    assert content(concatenate_segments([merge_fields([invert(part)]) for part in parts])) == content(
        merge_fields([invert(whole)])
    )


@given(st.lists(st.tuples(WORDS.map(document), st.booleans()), max_size=8))
def test_dropped_documents_leave_with_their_terms_and_positions(documents: list[tuple[Document, bool]]) -> None:
    living = np.array([lives for _, lives in documents], bool)
    new_numbers = np.where(living, np.cumsum(living) - 1, -1).astype(np.int32)
    left = select_docs(merge_fields([invert([one for one, _ in documents])]), new_numbers)
    assert content(left) == content(merge_fields([invert([one for one, lives in documents if lives])]))
    assert left.doc_count == int(living.sum())
    assert content(left).keys() == {term.decode() for term in left.terms}
