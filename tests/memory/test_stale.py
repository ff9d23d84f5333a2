"""Tests of stale memories: each reports the status of its source, and only the user's decision changes it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from excerpt.base.errors import MemoryUnusableError
from excerpt.base.model import Memory, Source
from excerpt.memory import stale
from excerpt.memory.joined_store import JoinedMemoryStore
from excerpt.memory.memory_file import make_memory
from excerpt.memory.recall import Recaller
from excerpt.memory.results import SourceStatus
from excerpt.memory.stale import check_source, source_from_fragment, source_from_lines
from tests.memory.conftest import NOTES, Vault

SYNC = "Guides/Sync.md"


@pytest.fixture
def store(recaller: Recaller) -> JoinedMemoryStore:
    return JoinedMemoryStore({"": recaller.store})


@pytest.fixture
def conflict_memory(vault: Vault, store: JoinedMemoryStore) -> Memory:
    """Remember lines 7 to 9 of a note with that source."""
    source, text = source_from_lines(vault.snapshot(), f"{SYNC}:7-9")
    return store.remember(make_memory(text, source=source))


def replace_in_note(vault: Vault, old: str, new: str) -> None:
    vault.write(SYNC, NOTES[SYNC].replace(old, new))


def test_a_source_made_from_lines_has_a_digest_and_headings(vault: Vault) -> None:
    source, text = source_from_lines(vault.snapshot(), "sync:7-8")
    assert text == "A conflict arises when two devices change one note.\nThe newer version wins."
    assert (source.path, source.line_start, source.line_end) == (SYNC, 7, 8)
    assert source.heading_path == ("Sync", "Conflicts")


def test_a_source_can_be_made_from_a_fragment_id(vault: Vault) -> None:
    snapshot = vault.snapshot()
    fragment = snapshot.note_fragments("Soup.md")[0]
    source, text = source_from_fragment(snapshot, fragment.id)
    assert (text, source.digest, source.path) == (fragment.text, fragment.digest, "Soup.md")


@pytest.mark.parametrize("place", ["Nowhere:1", "Soup:99", "Soup:0-2", "Soup:3-2", "../Soup.md"])
def test_missing_lines_are_an_error(vault: Vault, place: str) -> None:
    with pytest.raises(MemoryUnusableError):
        source_from_lines(vault.snapshot(), place)


def test_a_memory_without_a_source_has_the_status_none(vault: Vault, store: JoinedMemoryStore) -> None:
    assert check_source(store.remember(make_memory("a thought")), vault.snapshot()).kind is SourceStatus.NONE


def test_an_unchanged_source_is_fresh(vault: Vault, conflict_memory: Memory) -> None:
    found = check_source(conflict_memory, vault.snapshot())
    assert (found.kind, found.source, found.now) == (SourceStatus.FRESH, conflict_memory.source, conflict_memory.text)


def test_lines_that_moved_down_are_followed(vault: Vault, store: JoinedMemoryStore, conflict_memory: Memory) -> None:
    replace_in_note(vault, "# Sync\n", "# Sync\n\nA new beginning.\n")
    found = check_source(conflict_memory, vault.snapshot())
    assert found.kind is SourceStatus.MOVED
    assert found.source is not None
    assert (found.source.line_start, found.source.line_end) == (9, 11)
    assert stale.update_source_location(store, found).source == found.source
    assert check_source(store.get(conflict_memory.id), vault.snapshot()).kind is SourceStatus.FRESH


def test_a_note_that_was_renamed_is_followed(vault: Vault, conflict_memory: Memory) -> None:
    (vault.folder / SYNC).rename(vault.folder / "Renamed.md")
    found = check_source(conflict_memory, vault.snapshot())
    assert found.kind is SourceStatus.MOVED
    assert found.source is not None
    assert found.source.path == "Renamed.md"


def test_a_text_moved_to_another_note_is_followed(vault: Vault, conflict_memory: Memory) -> None:
    replace_in_note(vault, conflict_memory.text, "See elsewhere.")
    vault.write("Elsewhere.md", f"# Elsewhere\n\n{conflict_memory.text}\n")
    found = check_source(conflict_memory, vault.snapshot())
    assert found.kind is SourceStatus.MOVED
    assert found.source is not None
    assert (found.source.path, found.source.line_start) == ("Elsewhere.md", 3)
    assert check_source(conflict_memory, vault.snapshot(), elsewhere=False).kind is not SourceStatus.MOVED


def test_a_changed_line_is_shown_with_its_present_text(vault: Vault, conflict_memory: Memory) -> None:
    replace_in_note(vault, "The newer version wins.", "The longer version wins.")
    found = check_source(conflict_memory, vault.snapshot())
    assert found.kind is SourceStatus.CHANGED
    assert found.is_stale
    assert found.now == conflict_memory.text.replace("newer", "longer")
    assert found.memory.text == conflict_memory.text


def test_a_source_of_one_line_that_was_reworded_counts_as_changed_and_not_as_gone(
    vault: Vault, store: JoinedMemoryStore
) -> None:
    source, text = source_from_lines(vault.snapshot(), "Soup:3")
    memory = store.remember(make_memory(text, source=source))
    vault.write("Soup.md", "# Lentil soup\n\nServe hot.\n\nSimmer brown lentils with salt until they are very soft.\n")
    found = check_source(memory, vault.snapshot())
    assert (found.kind, found.now) == (SourceStatus.CHANGED, "Simmer brown lentils with salt until they are very soft.")


def test_a_source_without_remaining_text_is_gone_and_the_memory_keeps_its_text(
    vault: Vault, conflict_memory: Memory
) -> None:
    vault.write(SYNC, "# Sync\n\n42\n")
    found = check_source(conflict_memory, vault.snapshot())
    assert (found.kind, found.source, found.now) == (SourceStatus.GONE, None, "")
    (vault.folder / SYNC).unlink()
    found = check_source(conflict_memory, vault.snapshot())
    assert found.kind is SourceStatus.GONE
    assert found.is_stale
    assert found.memory.text == conflict_memory.text


def test_a_memory_in_the_users_own_words_is_stale_if_its_source_lines_change(
    vault: Vault, store: JoinedMemoryStore, conflict_memory: Memory
) -> None:
    own = store.change(conflict_memory.id, lambda memory: replace(memory, text="newest wins"))
    assert check_source(own, vault.snapshot()).kind is SourceStatus.FRESH
    replace_in_note(vault, "# Sync\n", "# Sync\n\nA new beginning.\n")
    assert check_source(own, vault.snapshot()).kind is SourceStatus.MOVED
    replace_in_note(vault, "The newer version wins.", "The longer version wins.")
    found = check_source(own, vault.snapshot())
    assert (found.kind, found.now) == (SourceStatus.CHANGED, conflict_memory.text.replace("newer", "longer"))


def test_a_handwritten_source_is_fresh_while_its_note_exists(vault: Vault) -> None:
    memory = Memory("m1", "a thought", (), "", "", "", Source("Soup.md", 0, 0, ""))
    assert check_source(memory, vault.snapshot()).kind is SourceStatus.FRESH
    gone = check_source(replace(memory, source=Source("No.md", 1, 2, "")), vault.snapshot())
    assert gone.kind is SourceStatus.GONE
    assert not gone.is_stale


# --- the user's decisions ---------------------------------------------------------------------------------------------


def test_updating_saves_the_new_text_and_lines(vault: Vault, store: JoinedMemoryStore, conflict_memory: Memory) -> None:
    replace_in_note(vault, "The newer version wins.", "The longer version wins.")
    updated = stale.replace_text_with_source(store, check_source(conflict_memory, vault.snapshot()))
    assert updated.text == conflict_memory.text.replace("newer", "longer")
    assert check_source(updated, vault.snapshot()).kind is SourceStatus.FRESH


def test_confirming_keeps_the_text_until_the_source_changes_again(
    vault: Vault, store: JoinedMemoryStore, conflict_memory: Memory
) -> None:
    replace_in_note(vault, "The newer version wins.", "The longer version wins.")
    kept = stale.confirm_text(store, check_source(conflict_memory, vault.snapshot()))
    assert kept.text == conflict_memory.text
    assert check_source(kept, vault.snapshot()).kind is SourceStatus.FRESH
    replace_in_note(vault, "The newer version wins.", "The shorter version wins.")
    assert check_source(kept, vault.snapshot()).kind is SourceStatus.CHANGED


def test_a_confirmed_missing_source_is_no_longer_stale(
    vault: Vault, store: JoinedMemoryStore, conflict_memory: Memory
) -> None:
    (vault.folder / SYNC).unlink()
    kept = stale.confirm_text(store, check_source(conflict_memory, vault.snapshot()))
    found = check_source(kept, vault.snapshot())
    assert (found.kind, found.is_stale, kept.text) == (SourceStatus.GONE, False, conflict_memory.text)


@pytest.mark.parametrize("decide", [stale.update_source_location, stale.replace_text_with_source, stale.confirm_text])
def test_a_fresh_memory_needs_no_decision(
    vault: Vault, store: JoinedMemoryStore, conflict_memory: Memory, decide: object
) -> None:
    assert callable(decide)
    assert decide(store, check_source(conflict_memory, vault.snapshot())) == conflict_memory


def test_a_decision_about_a_memory_edited_meanwhile_is_refused(
    vault: Vault, store: JoinedMemoryStore, conflict_memory: Memory
) -> None:
    replace_in_note(vault, "The newer version wins.", "The longer version wins.")
    found = check_source(conflict_memory, vault.snapshot())
    edited = store.change(conflict_memory.id, lambda memory: replace(memory, text="edited by another"))
    with pytest.raises(MemoryUnusableError, match="changed in the meantime"):
        stale.replace_text_with_source(store, found)
    assert store.get(conflict_memory.id) == edited
