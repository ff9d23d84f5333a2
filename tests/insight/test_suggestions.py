"""Tests of narrower and wider queries: each finds as many hits as stated and fits its description."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from excerpt.insight.results import Direction, Suggestion
from excerpt.insight.suggest import suggest_queries
from excerpt.search.engine import Engine
from excerpt.settings import Settings
from tests.search.conftest import NOTES
from tests.search.library import open_vault

MORE = {
    f"Sync/Case {number}.md": f"---\ntags: [case]\n---\nA sync conflict of phone {number}: {cause}.\n"
    for number, cause in enumerate(["clock", "clock", "rename", "rename", "network", "network"])
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    snapshot = open_vault(tmp_path_factory.mktemp("suggestions"), {**NOTES, **MORE})
    yield Engine(snapshot, Settings())
    snapshot.close()


QUERIES = [
    "conflict",
    "sync conflict",
    '"sync conflict" device',
    "water tag:sync/help",
    "device path:/Sync/ -encryption",
    "conflict | bread",
    "!p sync conflict",
    "what is it that a device does when it has a conflict",
    "xyzzy nothing",
    "",
]


@pytest.mark.parametrize("query", QUERIES)
def test_each_one_finds_as_many_as_it_says_and_fewer_or_more_than_the_query(engine: Engine, query: str) -> None:
    hits = engine.search(query or "path:/").matched
    found = suggest_queries(engine, query)
    for one in found:
        assert engine.search(one.query).matched == one.hits, one
        assert one.hits < hits if one.way is Direction.NARROWER else one.hits > hits
    assert len({one.query for one in found}) == len(found)


def by_label(engine: Engine, query: str) -> dict[str, Suggestion]:
    return {one.label: one for one in suggest_queries(engine, query)}


def test_a_filter_a_word_and_the_phrase_itself_narrow_a_query(engine: Engine) -> None:
    found = by_label(engine, "sync conflict")
    assert found['"sync conflict"'].query == '"sync conflict"'
    assert [one for one in found if one.startswith(("path:", "tag:"))]


def test_without_a_filter_or_an_exclusion_or_with_a_phrase_as_words_a_query_is_wider(engine: Engine) -> None:
    found = by_label(engine, "lighthouse path:/Long.md")
    assert found["without path:/Long.md"].query == "lighthouse"
    assert by_label(engine, 'tag:sync/help "sync conflict"')["its phrase as words"].query == (
        "tag:sync/help sync conflict"
    )


def test_an_empty_query_is_narrowed_to_parts_of_the_vault(engine: Engine) -> None:
    assert all(one.query == f"{one.label} " for one in suggest_queries(engine, ""))
