"""Tests that a store gives the same results as a folder: the same queries on the demo vault in both."""

from __future__ import annotations

from datetime import date

import pytest

from excerpt import Vault
from excerpt.insight.suggest import complete, correct, suggest_queries

pytestmark = pytest.mark.store


@pytest.mark.parametrize("note", ["Packs", "Themes", "Token budget", "no such note"])
@pytest.mark.parametrize("query", ["token budget", '"token budget"', "path:Search budget", "budget -token"])
def test_why_a_note_is_not_higher(both: tuple[Vault, Vault], query: str, note: str) -> None:
    expected, found = (vault.why_not(query, note) for vault in both)
    assert found.path == expected.path
    assert found.absence == expected.absence
    assert [one.strategy for one in found.ranks] == [one.strategy for one in expected.ranks]
    for one, other in zip(found.ranks, expected.ranks, strict=True):
        assert one.rank == other.rank or abs((one.rank or 0) - (other.rank or 0)) == 1  # vectors of 16 bits are rounded


@pytest.mark.parametrize("answer", ["exact", "altered", "made up"])
def test_citations_and_quotations(both: tuple[Vault, Vault], answer: str) -> None:
    folder, stored = both
    pack = folder.pack("token budget", budget=600)
    quoted = {
        "exact": "a pack never goes over its budget",
        "altered": "passages are expanded around what was found while there is any room left",
        "made up": "Zebras winter in the northern warehouse beside purple engines",
    }[answer]
    said = f'It says "{quoted}" [1].'
    expected, found = (vault.check(said, pack.text) for vault in (folder, stored))
    assert found == expected


@pytest.mark.parametrize("topic", ["token budget", "search", "modified:>1980-01-01 pack", "zzzz"])
def test_overviews(both: tuple[Vault, Vault], topic: str) -> None:
    expected, found = (vault.overview(topic) for vault in both)
    assert found.matched == pytest.approx(expected.matched, rel=0.02)  # vectors of 16 bits are rounded
    for part in ("confidence", "fragments", "notes", "vault_fragments", "standouts", "names"):
        assert getattr(found, part) == getattr(expected, part), part
    related = [[(one.place.path, one.fragments) for one in overview.related] for overview in (found, expected)]
    assert sorted(related[0]) == sorted(related[1])  # of two with nearly equal score, either may be first
    main = [[(one.place.path, one.fragments, one.of) for one in overview.main_notes] for overview in (found, expected)]
    assert sorted(main[0]) == sorted(main[1])
    wanted, there = ([(one.place, one.text) for one in overview.passages] for overview in (expected, found))
    assert there[:1] == wanted[:1]
    assert len(set(there) & set(wanted)) >= 0.8 * len(wanted)  # of two with equal value, either may be chosen


@pytest.mark.parametrize("note", ["Packs", "Token budget", "Themes", "Searching:20"])
def test_related_notes(both: tuple[Vault, Vault], note: str) -> None:
    expected, found = (vault.related(note) for vault in both)
    there = {one.path: one for one in found.notes}
    surely = [one for one in expected.notes if one.score > expected.notes[-1].score + 0.03]
    assert surely
    for other in surely:
        one = there[other.path]
        assert one.score == pytest.approx(other.score, abs=0.03)
        assert (one.linked, one.common, one.tags, one.mentions) == (
            other.linked,
            other.common,
            other.tags,
            other.mentions,
        )
        counts = {word.word: word.notes for word in other.words}
        assert all(counts.get(word.word, word.notes) == word.notes for word in one.words)


@pytest.mark.parametrize("query", ["", "token budget", "#guide", '"token budget"', "title:search", "search OR memory"])
def test_maps(both: tuple[Vault, Vault], query: str) -> None:
    expected, found = (vault.map(query).to_dict() | {"generation": 0} for vault in both)
    assert found == expected


@pytest.mark.parametrize(
    ("operator", "begun"), [("", "pack"), ("", "sc"), ("#", ""), ("path", "H"), ("title", "s"), ("modified", "")]
)
def test_completions(both: tuple[Vault, Vault], operator: str, begun: str) -> None:
    expected, found = (complete(vault._load_engine().snapshot, operator, begun, date(2026, 1, 1)) for vault in both)
    assert found == expected


@pytest.mark.parametrize("query", ["pakcing", "tag:giude budget", "token budget"])
def test_corrections(both: tuple[Vault, Vault], query: str) -> None:
    expected, found = (correct(vault._load_engine(), query) for vault in both)
    assert found == expected


@pytest.mark.parametrize("query", ["token budget", "#guide memory", ""])
def test_suggestions_find_what_they_say(both: tuple[Vault, Vault], query: str) -> None:
    folder, stored = both
    found = suggest_queries(stored._load_engine(), query)
    assert found
    assert [one.hits for one in found] == [stored.search(one.query, limit=1).matched for one in found]
    # The store's vectors are of 16 bits, so another fragment may be the last of those that are near in meaning.
    assert all(abs(folder.search(one.query, limit=1).matched - one.hits) <= 1 for one in found)


@pytest.mark.parametrize("query", ["token budget", "copy a pack"])
def test_confidence_and_what_is_marked(both: tuple[Vault, Vault], query: str) -> None:
    expected, found = (vault.search(query, limit=10) for vault in both)
    assert [(hit.confidence, hit.spans, hit.named) for hit in found.hits] == [
        (hit.confidence, hit.spans, hit.named) for hit in expected.hits
    ]
