"""Tests of adding a condition to a query: the rest keeps its meaning, and the rows are filtered exactly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from excerpt.index.snapshot import Snapshot
from excerpt.search.engine import Engine
from excerpt.search.evidence import POOL_SIZE
from excerpt.search.query import Query, add_condition, parse_alternatives
from excerpt.settings import Settings
from tests.search.library import MODIFIED, NOTES, TODAY, open_vault

PROPERTIES = frozenset({"status"})
TAGS = frozenset({"project", "a b"})
CONDITIONS = ["tag:project", 'tag:"a b"', "-path:a", 'status:"=in ""progress"""', "modified:2025-03", '"status":x']
TYPED = st.lists(
    st.sampled_from(
        [
            *'"|-: \t\xa0\u2028\u200d\ufeff同',
            '"',
            "|",
            " | ",
            '"a b"',
            "sync",
            "-word",
            '-"not this"',
            "tag:project",
            '"status":"x"',
            '5"',
            "!a ",
            "#project",
        ]
    ),
    max_size=8,
).map("".join)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    snapshot = open_vault(tmp_path_factory.mktemp("library"), NOTES, MODIFIED)
    yield snapshot
    snapshot.close()


@pytest.fixture(scope="module")
def engine(library: Snapshot) -> Engine:
    return Engine(library, Settings(), today=lambda: TODAY)


@pytest.mark.parametrize(
    ("typed", "after"),
    [
        ("sync", "tag:x sync"),
        ("!s sync conflict ", "!s tag:x sync conflict "),
        ("a b | c", "tag:x a b | tag:x c"),
        ('sync "half open', "tag:x sync  half open"),
        ("path:dia", "tag:x path:dia"),
        ("| a", "| tag:x a"),
        ("", ""),
    ],
)
def test_the_condition_stands_before_each_alternative(typed: str, after: str) -> None:
    assert add_condition(typed, "tag:x") == after


@given(TYPED, st.sampled_from(CONDITIONS))
@example('" a | b', 'tag:"a b"')
@example('"" | sync', "tag:project")
@example('|"sync', "tag:project")
@example('-word|"', "tag:project")
@example('"|-word', "tag:project")
@example('-word""|', "tag:project")
@example('-word |"| a', 'tag:"a b"')
@example('tag:"project""| a', 'tag:"a b"')
@example('#project" | \u200d', 'tag:"a b"')
@example("a | " * 8 + '" | b', 'tag:"a b"')
def test_each_alternative_has_one_condition_more_and_nothing_else(typed: str, condition: str) -> None:
    before = parse_alternatives(typed, PROPERTIES, TAGS)
    if not any(c.isalnum() for one in before for c in one.words) and not before[0].is_filter_only:
        return
    (added,) = parse_alternatives(f"{condition} ", PROPERTIES, TAGS)[0].filters
    after = parse_alternatives(add_condition(typed, condition, PROPERTIES, TAGS), PROPERTIES, TAGS)
    assert [_without_words(one) for one in after] == [
        (*_without_words(one)[:-1], frozenset({*one.filters, added})) for one in before
    ]
    assert [_words(one) for one in after] == [_words(one) for one in before]


def _words(query: Query) -> list[str]:
    return query.words.split()


def _without_words(query: Query) -> tuple[object, ...]:
    parts = (query.strategy, query.open_word, query.phrases, query.excluded, query.excluded_phrases)
    return (*parts, frozenset(query.filters))


@pytest.mark.parametrize(
    "typed",
    [
        *("alpha", "questions", "what does the beta need", "同步", "nobody knows quantum chromodynamics", "path:/"),
        *('"a map"', '"." alpha', "beta | map", "!s beta", "proj", "-alpha", "done:true | nobody"),
    ],
)
@pytest.mark.parametrize("condition", ["tag:project", "path:/Diary/", "status:*", "modified:2025-03", "-path:/*/"])
def test_a_condition_divides_what_matches(engine: Engine, library: Snapshot, typed: str, condition: str) -> None:
    held = engine.find_matching_rows(f"{condition} ")
    inside, outside = (engine.add_condition(typed, sign + condition) for sign in ("", "-"))
    if condition.startswith("-"):
        outside = engine.add_condition(typed, condition[1:])
    everything = engine.find_matching_rows(typed)
    np.testing.assert_array_equal(engine.find_matching_rows(inside), everything & held)
    np.testing.assert_array_equal(engine.find_matching_rows(outside), everything & ~held)
    assert engine.search(inside).matched == np.count_nonzero(everything & held)


def test_what_matches_does_not_depend_on_the_limit_or_the_strategy(engine: Engine) -> None:
    counts = {engine.search(f"{sign} beta", limit=limit).matched for sign in ("!a", "!s", "!h") for limit in (1, 500)}
    assert len(counts) == 1


def test_what_any_alternative_matches_counts_once(engine: Engine) -> None:
    notes = {hit.fragment.path for hit in engine.search('"quite" | "map"', limit=50).hits}
    assert len(notes) == 2
    assert engine.search('"quite" | "map" | "quite"').matched == 2


def test_a_search_under_a_filter_lists_the_nearest_of_what_is_left_though_nothing_there_matches(tmp_path: Path) -> None:
    zebras = "\n\n".join(f"## {n}\n\nThe zebra has its stripes, and grazes in herd {n}." for n in range(POOL_SIZE + 1))
    invoices = "\n\n".join(f"## {n}\n\nInvoice {n} was paid by bank transfer in euros." for n in range(4 * POOL_SIZE))
    horse = "Wild horses, giraffes and antelopes graze in herds on the savanna.\n"
    snapshot = open_vault(tmp_path, {"Zebras.md": zebras, "Invoices.md": invoices, "Horse.md": horse})
    found = Engine(snapshot, Settings()).search("path:/Horse.md zebra")
    assert [hit.fragment.path for hit in found.hits] == ["Horse.md"]
    assert found.matched == 0
    snapshot.close()
