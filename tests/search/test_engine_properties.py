"""Property tests of searches: filters only remove hits, boosts only reorder, text quoted from a note is found."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from excerpt.index.snapshot import Snapshot
from excerpt.model import Result
from excerpt.search.engine import Engine
from excerpt.settings import BoostSettings, Fusion, SearchSettings, Settings
from tests.conftest import few
from tests.search.conftest import NOTES

ALL = 10_000
QUESTIONS = (
    "water",
    "sync conflict",
    "how is bread made",
    "Häuser Bäume",
    "保管庫",
    "qqxx vvbb",
    "salt | sync",
)
FILTERS = (
    "path:cooking", "-path:cooking", "tag:sync", "#sync/help", "-#sync/help", "file:bread", "title:conflicts",
    "heading:sourdough", "modified:>2001-01-01", "modified:<2001-01-01", "link:bread", "from:bread", "-salt",
    '-"sync conflict"',
)  # fmt: skip


def ids(result: Result) -> set[str]:
    return {hit.fragment.id for hit in result.hits}


@pytest.mark.parametrize("question", [q for q in QUESTIONS if "|" not in q])
@given(first=st.sampled_from(FILTERS), second=st.sampled_from(FILTERS))
@settings(deadline=None, max_examples=few(20))
def test_adding_a_filter_never_adds_a_hit(engine: Engine, question: str, first: str, second: str) -> None:
    without = ids(engine.search(question, limit=ALL))
    one = ids(engine.search(f"{question} {first}", limit=ALL))
    both = ids(engine.search(f"{question} {first} {second}", limit=ALL))
    assert both <= one <= without


@given(st.data())
def test_quoting_what_stands_in_a_fragment_never_finds_nothing(
    engine: Engine, snapshot: Snapshot, data: st.DataObject
) -> None:
    path = data.draw(st.sampled_from([path for path in NOTES if path.endswith(".md")]))
    fragment = data.draw(st.sampled_from(snapshot.note_fragments(path)))
    line = data.draw(st.sampled_from([line for line in fragment.text.split("\n") if line.strip()]))
    start = data.draw(st.integers(0, len(line) - 1))
    end = data.draw(st.integers(start + 1, min(len(line), start + 40)))
    quoted = line[start:end].strip()
    if quoted:
        assert engine.search(f'"{quoted}"').hits


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_boost_never_changes_which_fragments_match(snapshot: Snapshot, question: str) -> None:
    found = set()
    for links, recency in product((True, False), repeat=2):
        chosen = SearchSettings(boosts=BoostSettings(links=links, recency=recency))
        found.add(frozenset(ids(Engine(snapshot, Settings(search=chosen)).search(question, limit=ALL))))
    assert len(found) == 1


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("per_note", [0, 1, 5])
def test_diversity_changes_the_order_alone(snapshot: Snapshot, engine: Engine, question: str, per_note: int) -> None:
    chosen = Settings(search=SearchSettings(per_note=per_note))
    assert ids(Engine(snapshot, chosen).search(question, limit=ALL)) == ids(engine.search(question, limit=ALL))


def test_reciprocal_rank_fusion_can_be_chosen_and_its_parts_add_up(snapshot: Snapshot) -> None:
    found = Engine(snapshot, Settings(search=SearchSettings(fusion=Fusion.RRF))).search("sync conflict")
    assert found.hits[0].fragment.path == "Sync/Conflicts.md"
    for hit in found.hits:
        assert [signal.name for signal in hit.signals] == ["words", "meaning", "name"]
        assert sum(signal.part for signal in hit.signals) == pytest.approx(hit.score, abs=1e-6)


def test_of_alternatives_a_fragment_has_the_score_of_the_better(engine: Engine) -> None:
    fused = {hit.fragment.id: hit.score for hit in engine.search("salt | sync conflict", limit=ALL).hits}
    alone = [
        {hit.fragment.id: hit.score for hit in engine.search(question, limit=ALL).hits}
        for question in ("salt", "sync conflict")
    ]
    assert fused == {id_: max(one.get(id_, 0.0) for one in alone) for id_ in alone[0] | alone[1]}
