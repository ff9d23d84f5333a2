"""Tests that existing memories are offered when a similar one is made, and can be merged."""

from __future__ import annotations

from excerpt.memory.recall import MemoriesByLocation, Recaller, find_similar_memories, merge_memory
from excerpt.memory.stale import source_from_lines
from excerpt.model import Memory, Source
from tests.memory.conftest import NOTES, Vault

HERE = Source("Guides/Sync.md", 7, 9, "d")


def memory(text: str, source: Source | None = None, why: str = "", tags: tuple[str, ...] = ()) -> Memory:
    return Memory("m1", text, tags, why, "c", "u", source)


def test_the_same_lines_are_offered_before_what_says_the_same(recaller: Recaller) -> None:
    alike = recaller.store.remember("The release ships on the 12th of March, we agreed")
    same = recaller.store.remember("something else entirely", source=HERE)
    recaller.store.remember("Soup on Friday", source=Source("Guides/Sync.md", 11, 12, "e"))
    found = find_similar_memories(
        "We agreed: the release ships on the 12th of March", Source("Guides/Sync.md", 9, 10, "f"), recaller
    )
    assert [(offer.memory, offer.is_same_source) for offer in found] == [(same, True), (alike, False)]
    assert found[0].likeness == 0
    assert found[1].likeness > 0.85


def test_what_says_something_else_is_not_offered(recaller: Recaller) -> None:
    recaller.store.remember("The release ships on the 12th of March")
    assert find_similar_memories("Simmer red lentils with cumin", None, recaller) == []


def test_lines_that_have_moved_are_the_same(recaller: Recaller, vault: Vault) -> None:
    source, _ = source_from_lines(vault.snapshot(), "Sync:13")
    kept = recaller.store.remember("Each device keeps its own history of changes.", source=source)
    vault.write("Guides/Sync.md", NOTES["Guides/Sync.md"].replace("# Sync\n", "# Sync\n\nOne.\n\nTwo.\n"))
    badges = MemoriesByLocation([kept], vault.snapshot())
    now, _ = source_from_lines(vault.snapshot(), "Sync:17")
    assert [offer.memory for offer in find_similar_memories("histories", now, recaller, badges)] == [kept]


def test_merging_joins_texts_tags_and_reasons() -> None:
    one = merge_memory(memory("One.", HERE, "first", ("a",)), "Two.", ("b", "#A"), "second", HERE)
    assert one == memory("One.\n\nTwo.", HERE, "first; second", ("a", "b"))


def test_a_text_within_the_other_is_not_said_twice() -> None:
    assert merge_memory(memory("One. Two."), "Two.").text == "One. Two."
    there = Source("a.md", 1, 2, "d")
    assert merge_memory(memory("Two.", HERE), "One. Two.", source=there) == memory("One. Two.", there)


def test_a_second_source_is_named_below_its_text() -> None:
    one = merge_memory(memory("One.", HERE), "Two.", source=Source("a.md", 3, 4, "d"))
    assert one == memory("One.\n\nTwo.\n\n(a.md, lines 3-4)", HERE)


def test_a_thought_takes_the_source_of_what_is_merged_into_it() -> None:
    assert merge_memory(memory("One."), "Two.", source=HERE).source == HERE
