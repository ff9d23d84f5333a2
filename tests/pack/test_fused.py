"""Tests of searching several queries as one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.kinds import Strategy
from excerpt.model import Result
from excerpt.pack.build import search_queries
from excerpt.search.engine import Engine
from excerpt.settings import Settings

NOTES = {
    "Sync.md": "# Sync\n\nA sync conflict arises when two devices change one note before they meet.\n",
    "Soup.md": "# Soup\n\nSimmer red lentils with cumin until they are soft.\n",
    "Garden.md": "# Garden\n\nWater tomatoes in the morning, and tie the plants to a pole.\n",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    root = tmp_path_factory.mktemp("fused")
    for path, text in NOTES.items():
        (root / path).write_text(text)
    build(root, root / ".index", Settings())
    snapshot = Snapshot.open(root / ".index", Settings())
    yield Engine(snapshot, Settings())
    snapshot.close()


def scores(result: Result) -> dict[str, float]:
    return {hit.fragment.path: hit.score for hit in result.hits}


def test_a_fragment_has_the_best_score_that_a_query_gives_it(engine: Engine) -> None:
    one, other = "sync conflict", "red lentils"
    fused = scores(search_queries(engine, [one, other], Strategy.AUTO, 10))
    first, second = scores(engine.search(one, Strategy.AUTO)), scores(engine.search(other, Strategy.AUTO))
    assert fused == {path: max(first.get(path, 0), second.get(path, 0)) for path in {*first, *second}}
    assert sorted(fused.values(), reverse=True) == list(fused.values())


def test_two_queries_find_what_the_alternatives_of_one_find(engine: Engine) -> None:
    fused = search_queries(engine, ["sync conflict", "red lentils"], Strategy.AUTO, 10)
    single = engine.search("sync conflict | red lentils", Strategy.AUTO, 10)
    assert [(hit.fragment.id, hit.score, hit.spans) for hit in fused.hits] == [
        (hit.fragment.id, hit.score, hit.spans) for hit in single.hits
    ]
    assert (fused.query, fused.strategy, fused.matched) == (single.query, single.strategy, single.matched)


def test_each_query_is_read_on_its_own(engine: Engine) -> None:
    fused = search_queries(engine, ['"sync conflict', "!a lentils", "a | tomatoes"], Strategy.PROXIMITY, 10)
    assert {"Sync.md", "Soup.md", "Garden.md"} <= set(scores(fused))
    assert fused.requested_strategy is Strategy.PROXIMITY


def test_one_query_is_the_search_itself(engine: Engine) -> None:
    assert scores(search_queries(engine, ["lentils"], Strategy.AUTO, 10)) == scores(engine.search("lentils", limit=10))


def test_what_finds_nothing_takes_nothing_away(engine: Engine) -> None:
    assert scores(search_queries(engine, ["lentils", "", '"zzqqxx"'], Strategy.AUTO, 10)) == scores(
        engine.search("lentils", limit=10)
    )
