"""Tests of the memories of several vaults as one store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from excerpt.base.errors import MemoryUnusableError
from excerpt.base.model import Source
from excerpt.memory.joined_store import JoinedMemoryStore
from excerpt.memory.memory_file import make_memory
from excerpt.memory.store import FolderMemoryStore

SOURCE = Source("work/Plan.md", 3, 4, "d1")


@pytest.fixture
def stores(tmp_path: Path) -> dict[str, FolderMemoryStore]:
    return {name: FolderMemoryStore(tmp_path / name) for name in ("family", "work")}


@pytest.fixture
def joined_store(stores: dict[str, FolderMemoryStore]) -> JoinedMemoryStore:
    return JoinedMemoryStore(stores)


def test_a_memory_is_saved_in_the_vault_of_its_source_under_its_path_there(
    joined_store: JoinedMemoryStore, stores: dict[str, FolderMemoryStore]
) -> None:
    memory = joined_store.remember(make_memory("Paint on Friday.", source=SOURCE))
    assert memory.source == SOURCE
    (kept,) = stores["work"].all().memories
    assert kept.source == replace(SOURCE, path="Plan.md")
    assert stores["family"].all().memories == ()


def test_a_memory_without_a_source_is_saved_in_the_first_vault(
    joined_store: JoinedMemoryStore, stores: dict[str, FolderMemoryStore]
) -> None:
    memory = joined_store.remember(make_memory("Buy rope."))
    assert stores["family"].all().memories == (memory,)


def test_all_memories_are_listed_newest_first_with_the_vault_of_their_file(
    joined_store: JoinedMemoryStore, stores: dict[str, FolderMemoryStore]
) -> None:
    first, second = (
        joined_store.remember(make_memory("First.")),
        joined_store.remember(make_memory("Second.", source=SOURCE)),
    )
    (stores["work"].folder / "broken.md").write_text("---\nid: [\n---\n")
    loaded = joined_store.all()
    assert {memory.id for memory in loaded.memories} == {first.id, second.id}
    assert [memory.created for memory in loaded.memories] == sorted((first.created, second.created), reverse=True)
    assert [file.path for file in loaded.unreadable] == ["work/broken.md"]


def test_a_memory_is_changed_forgotten_and_restored_in_its_vault(
    joined_store: JoinedMemoryStore, stores: dict[str, FolderMemoryStore]
) -> None:
    memory = joined_store.remember(make_memory("Paint on Friday.", source=SOURCE))
    changed = joined_store.change(memory.id, lambda before: replace(before, why="weather"))
    assert changed.source == SOURCE
    assert stores["work"].get(memory.id).why == "weather"
    assert joined_store.forget(memory.id).source == SOURCE
    assert joined_store.all().memories == ()
    assert joined_store.restore(memory.id).source == SOURCE
    assert joined_store.get(memory.id).why == "weather"


def test_a_memory_does_not_follow_its_source_into_another_vault(joined_store: JoinedMemoryStore) -> None:
    memory = joined_store.remember(make_memory("Paint on Friday.", source=SOURCE))
    elsewhere = replace(SOURCE, path="family/Plan.md")
    with pytest.raises(MemoryUnusableError, match="now in the vault family"):
        joined_store.change(memory.id, lambda before: replace(before, source=elsewhere))
    assert joined_store.get(memory.id).source == SOURCE


def test_a_memory_merged_into_one_of_another_vault_is_restored_with_what_it_replaced(
    joined_store: JoinedMemoryStore,
) -> None:
    former = joined_store.remember(make_memory("Buy rope."))
    merged = joined_store.remember(make_memory("Buy ten metres of rope."), [former.id])
    other = joined_store.remember(make_memory("Rope is in the shed.", source=SOURCE))
    joined_store.forget(merged.id, merged_into=other.id)
    joined_store.restore(merged.id)
    assert [(memory.id, memory.replaced_by) for memory in joined_store.all().replaced] == [(former.id, merged.id)]


def test_an_unknown_id_is_an_error(joined_store: JoinedMemoryStore) -> None:
    for action in (joined_store.get, joined_store.forget, joined_store.restore):
        with pytest.raises(MemoryUnusableError):
            action("m0000000000")


def test_a_memory_is_shown_and_changed_by_the_rule_of_its_own_vault(tmp_path: Path) -> None:
    stores = {name: FolderMemoryStore(tmp_path / name, shows_comments=name == "bees") for name in ("bees", "garden")}
    joined = JoinedMemoryStore(stores)
    shown, hidden = (stores[name].remember(make_memory("Home %%secret%% again.")) for name in ("bees", "garden"))
    assert joined.as_shown(shown).text == "Home %%secret%% again."
    assert "secret" not in joined.as_shown(hidden).text
    assert joined.replace_text(shown, "Out.").text == "Out."
    assert "%%secret%%" in joined.replace_text(hidden, "Out.").text
