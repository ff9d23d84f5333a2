"""Tests that fragments have the badges of memories about them, after either has moved."""

from __future__ import annotations

from excerpt.memory.recall import MemoriesByLocation, find_memories_at
from excerpt.memory.stale import source_from_lines
from excerpt.model import Memory, Source
from tests.memory.conftest import NOTES, Vault

SYNC = "Guides/Sync.md"


def memory(source: Source | None, text: str = "text") -> Memory:
    return Memory("m1", text, (), "", "", "", source)


def test_a_memory_is_about_lines_that_it_has_in_common() -> None:
    one = memory(Source("a.md", 5, 8, ""))
    assert find_memories_at([one, memory(None)], "a.md", 8, 9) == (one,)
    assert find_memories_at([one], "a.md", 5, 5) == (one,)
    assert find_memories_at([one], "a.md", 9, 12) == ()
    assert find_memories_at([one], "a.md", 1, 4) == ()
    assert find_memories_at([one], "b.md", 5, 8) == ()


def test_a_source_without_lines_is_the_whole_note() -> None:
    one = memory(Source("a.md", 0, 0, ""))
    assert find_memories_at([one], "a.md", 8, 9) == (one,)


def test_the_badge_moves_with_the_lines_and_the_note(vault: Vault) -> None:
    source, text = source_from_lines(vault.snapshot(), f"{SYNC}:13")
    one = memory(source, text)
    assert MemoriesByLocation([one], vault.snapshot()).at(SYNC, 11, 13) == (one,)
    vault.write(SYNC, NOTES[SYNC].replace("# Sync\n", "# Sync\n\nOne.\n\nTwo.\n\nThree.\n"))
    badges = MemoriesByLocation([one], vault.snapshot())
    assert badges.at(SYNC, 13, 13) == ()
    assert badges.at(SYNC, 19, 19) == (one,)
    (vault.folder / SYNC).rename(vault.folder / "Renamed.md")
    badges = MemoriesByLocation([one], vault.snapshot())
    assert badges.at("Renamed.md", 19, 19) == (one,)
    assert badges.at(SYNC, 19, 19) == ()


def test_what_is_gone_has_no_badge(vault: Vault) -> None:
    source, text = source_from_lines(vault.snapshot(), f"{SYNC}:13")
    (vault.folder / SYNC).unlink()
    assert MemoriesByLocation([memory(source, text)], vault.snapshot()).at(SYNC, 13, 13) == ()
