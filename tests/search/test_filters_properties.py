"""Property tests of filters: they only remove rows, and accept any value."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.index.snapshot import Snapshot
from excerpt.kinds import FilterKind
from excerpt.search.filters import Flags, sort_newest_first
from excerpt.search.query import Query
from excerpt.search.results import Filter
from tests.search.library import MODIFIED, NOTES, open_vault, queries, rows_allowed

VALUES = st.text(alphabet=st.characters(), max_size=40) | st.sampled_from(
    [
        "project",
        "proj",
        "alpha",
        "beta",
        "*",
        "a*b",
        "[[Beta]]",
        "2025",
        ">2024",
        "7d",
        "<=4",
        "..",
        "1..5",
        "=done",
        "日",
        ".",
        "/",
    ]
)
FILTERS = st.builds(
    Filter,
    kind=st.sampled_from(FilterKind),
    value=VALUES,
    name=st.sampled_from(["status", "rating", "due", "nowhere"]),
    negated=st.booleans(),
    open=st.booleans(),
)
WORDS = st.sampled_from(["beta", "questions", "C++", "同步", "R&D", "nobody", "..", "_", "\ud800", "a b"])
QUERIES = st.builds(
    Query,
    words=st.just("alpha"),
    phrases=st.lists(WORDS | VALUES.filter(str.strip), max_size=2).map(tuple),
    excluded=st.lists(WORDS, max_size=2).map(tuple),
    excluded_phrases=st.lists(WORDS | VALUES.filter(str.strip), max_size=2).map(tuple),
    filters=st.lists(FILTERS, max_size=3).map(tuple),
)
TYPED = st.lists(
    st.sampled_from(
        ["alpha", "beta", "-map", '"beta is"', '-"a map"', "tag:project", "#projection", "path:diary", "|"]
    ),
    max_size=6,
).map(" ".join)
MORE = [
    "tag:project",
    "-tag:project",
    "path:projects",
    "status:done",
    "modified:7d",
    "link:beta",
    "-title:alpha",
    "heading:q",
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    snapshot = open_vault(tmp_path_factory.mktemp("library"), NOTES, MODIFIED)
    yield snapshot
    snapshot.close()


def allowed_rows(library: Snapshot, query: Query) -> Flags:
    flags = rows_allowed(library, query)
    return np.ones(library.lexical.doc_count, np.bool_) if flags is None else flags


@given(QUERIES, FILTERS)
def test_one_more_filter_never_adds_a_row(library: Snapshot, query: Query, one: Filter) -> None:
    more = Query(
        **{name: getattr(query, name) for name in ("words", "phrases", "excluded", "excluded_phrases")},
        filters=(*query.filters, one),
    )
    assert not (allowed_rows(library, more) & ~allowed_rows(library, query)).any()


@given(TYPED, st.sampled_from(MORE))
def test_one_more_filter_typed_never_adds_a_row(library: Snapshot, typed: str, one: str) -> None:
    """Add the filter before each alternative of a query."""
    before = queries(library, typed)
    after = queries(library, " | ".join(f"{one} {part}" for part in typed.split("|") if part.strip()) or one)
    rows = np.any([allowed_rows(library, query) for query in before], axis=0)
    assert not (np.any([allowed_rows(library, query) for query in after], axis=0) & ~rows).any()


@given(FILTERS)
def test_a_filter_and_its_negation_are_everything(library: Snapshot, one: Filter) -> None:
    closed = Filter(one.kind, one.value, one.name)
    negated = Filter(one.kind, one.value, one.name, negated=True)
    first, second = (allowed_rows(library, Query("", filters=(part,))) for part in (closed, negated))
    assert (first ^ second).all()


@given(QUERIES)
def test_the_listing_is_of_the_rows_allowed_each_once(library: Snapshot, query: Query) -> None:
    flags = allowed_rows(library, query)
    assert sorted(sort_newest_first(flags, library).tolist()) == np.flatnonzero(flags).tolist()


@pytest.mark.parametrize(
    "typed",
    [
        'tag:project/active rating:>=4 path:projects "alpha links" ',
        "#projection ",
        "modified:yesterday -tag:笔记 ",
        "created:2024-06-01 heading:questions ",
        "alpha -map | beta -questions ",
        "link:[[Beta]] -path:diary ",
    ],
)
def test_a_query_typed_letter_by_letter_never_lists_nothing(library: Snapshot, typed: str) -> None:
    for length in range(1, len(typed) + 1):
        assert any(allowed_rows(library, query).any() for query in queries(library, typed[:length])), typed[:length]
