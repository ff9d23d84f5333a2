"""Tests of the memory store: a memory remains unchanged whatever else happens."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import stat
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from excerpt.base.errors import MemoryUnusableError
from excerpt.base.model import Memory, Source
from excerpt.memory.joined_store import JoinedMemoryStore
from excerpt.memory.memory_file import make_memory, normalise_tags, replace_surrogates
from excerpt.memory.store import TRASH, FolderMemoryStore
from tests.conftest import scaled_examples, written_state
from tests.memory.killed_process import Child, Say, files_in

SOURCE = Source("Guides/Sync.md", 12, 18, "0c5d9a44e7f1b2a3", ("Sync", "Conflicts"))

# Any text: control characters, lone surrogates, line separators, and many characters of frontmatter syntax.
ANY_TEXT = st.text(st.characters(codec=None)) | st.lists(
    st.sampled_from(
        [
            "---",
            "----",
            "\n",
            "\r\n",
            "\r",
            "---\n",
            " ",
            "id: x",
            "a: [",
            "\ufeff",
            "\x00",
            "\x85",
            "\u2028",
            "\xa0",
            "\u3000",
            "'",
            "#",
        ]
    )
).map("".join)


@pytest.fixture
def store(tmp_path: Path) -> FolderMemoryStore:
    return FolderMemoryStore(tmp_path / "memories")


def write(store: FolderMemoryStore, name: str, data: str | bytes) -> Path:
    file = store.folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data if isinstance(data, bytes) else data.encode())
    return file


def files(store: FolderMemoryStore) -> list[Path]:
    return sorted(store.folder.glob("*.md"))


def trash_files(store: FolderMemoryStore) -> list[Path]:
    return sorted((store.folder / TRASH).rglob("*.md"))


# --- remember ---------------------------------------------------------------------------------------------------------


def test_a_missing_folder_is_an_empty_store_and_is_not_created(store: FolderMemoryStore) -> None:
    assert store.all().memories == ()
    assert not store.folder.exists()


def test_a_memory_can_be_read_by_another_store(store: FolderMemoryStore) -> None:
    memory = store.remember(
        make_memory("Two devices, one file.", ["Sync", "#work"], "for the talk", SOURCE, "sync conflict")
    )
    assert FolderMemoryStore(store.folder).all().memories == (memory,)
    assert memory.tags == ("sync", "work")
    assert memory.source == SOURCE


def test_a_file_is_named_by_day_first_words_and_id(store: FolderMemoryStore) -> None:
    memory = store.remember(make_memory("Café: *never* sync twice, as the manual says on page nine"))
    assert [file.name for file in files(store)] == [
        f"{memory.created[:10]}-café-never-sync-twice-as-the-manual-says-{memory.id}.md"
    ]


def test_a_file_is_plain_markdown_with_frontmatter(store: FolderMemoryStore) -> None:
    memory = store.remember(make_memory("One.\n\n- two", ["sync"], "because", SOURCE))
    assert files(store)[0].read_text() == (
        f"---\nid: {memory.id}\ncreated: '{memory.created}'\nupdated: '{memory.updated}'\ntags:\n- sync\nwhy: because\n"
        "source:\n  path: Guides/Sync.md\n  lines: 12-18\n  digest: 0c5d9a44e7f1b2a3\n  heading_path:\n  - Sync\n"
        "  - Conflicts\n---\n\nOne.\n\n- two\n"
    )


def test_only_the_user_can_read_a_memory(store: FolderMemoryStore) -> None:
    store.remember(make_memory("a secret"))
    assert stat.S_IMODE(files(store)[0].stat().st_mode) == 0o600


def test_an_empty_memory_is_refused(store: FolderMemoryStore) -> None:
    with pytest.raises(MemoryUnusableError):
        store.remember(make_memory(" \n"))
    assert store.all().memories == ()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    text=ANY_TEXT.filter(lambda text: bool(text.strip())),
    why=ANY_TEXT,
    query=ANY_TEXT,
    tags=st.lists(ANY_TEXT, max_size=3),
    path=ANY_TEXT,
)
@example(text="0", why="", query="\xa0", tags=[], path="")
@example(text="0", why="a\u3000", query="", tags=[], path="")
def test_the_text_of_a_saved_memory_is_read_back_unchanged(
    store: FolderMemoryStore, *, text: str, why: str, query: str, tags: list[str], path: str
) -> None:
    source = Source(path, 1, 2, "d", (why,)) if path else None
    memory = store.remember(make_memory(text, tags, why, source, query))
    assert FolderMemoryStore(store.folder).get(memory.id) == memory
    assert memory.text == replace_surrogates(text)
    assert memory.why == replace_surrogates(why)
    assert memory.query == replace_surrogates(query)
    assert memory.tags == normalise_tags(tags)
    store.forget(memory.id)


def test_half_a_surrogate_pair_is_replaced_and_nothing_else(store: FolderMemoryStore) -> None:
    assert store.remember(make_memory("a\ud83d\x00b\r\n\x1b[31m")).text == "a\ufffd\x00b\r\n\x1b[31m"


@given(st.lists(ANY_TEXT))
def test_normalising_tags_twice_changes_nothing(tags: list[str]) -> None:
    assert normalise_tags(normalise_tags(tags)) == normalise_tags(tags)


def test_tags_are_unique_lower_case_and_without_hash_or_spaces() -> None:
    assert normalise_tags(["#Work", "work", " Two  Words ", "area/Sub", "a, b", "", "#"]) == (
        "work",
        "two-words",
        "area/sub",
        "a",
        "b",
    )


# --- files from elsewhere ---------------------------------------------------------------------------------------------


def test_a_file_without_frontmatter_is_a_memory(store: FolderMemoryStore) -> None:
    write(store, "thought.md", "Just a thought.\n")
    (memory,) = store.all().memories
    assert memory.text == "Just a thought."
    assert memory.id
    assert memory.created.endswith("Z")
    assert FolderMemoryStore(store.folder).get(memory.id) == memory


def test_handwritten_frontmatter_is_understood(store: FolderMemoryStore) -> None:
    write(
        store,
        "a.md",
        "---\ntags: Sync, Work\ncreated: 2024-05-06\nwhy: 12\nsource: {path: a.md, lines: 7}\n---\nText\n",
    )
    (memory,) = store.all().memories
    assert memory.tags == ("sync", "work")
    assert memory.created == memory.updated == "2024-05-06T00:00:00.000Z"
    assert memory.why == "12"
    assert memory.source == Source("a.md", 7, 7, "")
    assert memory.text == "Text"


def test_crlf_line_ends_are_not_part_of_the_text(store: FolderMemoryStore) -> None:
    write(store, "a.md", "\ufeff---\r\nwhy: w\r\n---\r\n\r\none\r\ntwo\r\n")
    assert [(memory.text, memory.why) for memory in store.all().memories] == [("one\ntwo", "w")]


def test_an_edit_by_another_program_is_seen(store: FolderMemoryStore) -> None:
    memory = store.remember(make_memory("old words"))
    file = files(store)[0]
    file.write_text(file.read_text().replace("old", "newer"))
    assert store.get(memory.id).text == "newer words"


def test_files_in_subfolders_are_memories_and_hidden_files_are_not(store: FolderMemoryStore) -> None:
    write(store, "talks/a.md", "one")
    write(store, ".obsidian/b.md", "two")
    write(store, ".c.md", "three")
    write(store, "d.txt", "four")
    assert [memory.text for memory in store.all().memories] == ["one"]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"---\ntags: [a\n---\n\ntext\n", "not valid YAML: did not find expected ',' or ']', line 3."),
        (b"---\ncreated: 2024-13-45\n---\n\ntext\n", "not valid YAML"),
        (b"---\n" + b"[" * 5000 + b"\n---\n\ntext\n", "not valid YAML"),
        (b"---\n- a\n---\n\ntext\n", "not a list of keys"),
        (b"---\nwhy: open\n\ntext\n", "not closed"),
        (b"caf\xe9\n", "not UTF-8"),
    ],
)
def test_a_broken_file_is_reported_with_its_reason_and_not_changed(
    store: FolderMemoryStore, data: bytes, reason: str
) -> None:
    file = write(store, "broken.md", data)
    kept = store.remember(make_memory("fine"))
    found = store.all()
    assert found.memories == (kept,)
    assert [broken.path for broken in found.unreadable] == ["broken.md"]
    assert reason in found.unreadable[0].reason
    assert file.read_bytes() == data


def test_a_copied_file_is_a_memory_of_its_own(store: FolderMemoryStore) -> None:
    memory = store.remember(make_memory("one"))
    write(store, "a copy.md", files(store)[0].read_bytes().replace(b"one", b"other"))
    assert sorted(each.text for each in store.all().memories) == ["one", "other"]
    assert store.get(memory.id).text == "one"


@pytest.mark.parametrize(
    "name", ["{} (conflicted copy)", "{}.sync-conflict-20250301-093012", "Copy of {}", "{} 2", "a"]
)
def test_a_copy_gets_its_own_id_and_is_reported(store: FolderMemoryStore, name: str) -> None:
    memory = store.remember(make_memory("one"))
    (file,) = files(store)
    write(store, f"{name.format(file.stem)}.md", file.read_bytes().replace(b"one", b"other"))
    (copied,) = store.all().copies
    assert (copied.path, copied.of) == (f"{name.format(file.stem)}.md", memory.id)
    assert store.get(copied.id).text == "other"
    assert store.get(memory.id).text == "one"


def test_a_copy_keeps_its_id_and_text_when_the_original_is_forgotten(store: FolderMemoryStore) -> None:
    memory = store.remember(make_memory("one"))
    write(store, "a copy.md", files(store)[0].read_bytes().replace(b"one", b"other"))
    (copied,) = store.all().copies
    store.forget(memory.id)
    assert [(each.id, each.text) for each in store.all().memories] == [(copied.id, "other")]
    assert store.restore(memory.id).text == "one"
    assert store.all().copies == ()


def test_a_copy_can_be_forgotten_and_restored_by_its_id(store: FolderMemoryStore) -> None:
    memory = store.remember(make_memory("one"))
    write(store, "a copy.md", files(store)[0].read_bytes().replace(b"one", b"other"))
    (copied,) = store.all().copies
    store.forget(copied.id)
    assert [each.id for each in store.all().memories] == [memory.id]
    assert store.restore(copied.id).text == "other"
    assert {each.text for each in store.all().memories} == {"one", "other"}


def test_copies_have_unique_ids(store: FolderMemoryStore) -> None:
    store.remember(make_memory("one"))
    data = files(store)[0].read_bytes()
    write(store, "copy.md", data)
    (copied,) = store.all().copies
    write(store, "copy.md", data.replace(files(store)[0].stem[-11:].encode(), copied.id.encode()))
    (store.folder / "copy.md").rename(store.folder / "renamed.md")
    write(store, "copy.md", data)
    assert len(store.all().memories) == 3


def test_a_link_is_reported_and_not_followed(store: FolderMemoryStore, tmp_path: Path) -> None:
    store.remember(make_memory("one"))
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("root:x:0:0")
    (store.folder / "out.md").symlink_to(tmp_path / "outside" / "secret.md")
    (store.folder / "folder").symlink_to(tmp_path / "outside")
    (store.folder / "within.md").symlink_to(files(store)[0])
    (store.folder / "nothing.md").symlink_to(store.folder / "gone.md")
    found = store.all()
    assert [memory.text for memory in found.memories] == ["one"]
    assert {broken.path: broken.reason for broken in found.unreadable} == {
        "out.md": "The file is a link out of the folder of memories.",
        "folder": "The file is a link out of the folder of memories.",
        "nothing.md": "The file is a link to a missing file.",
        "within.md": "The file is a link to another file in the folder of memories, which is listed itself.",
    }


def test_a_link_in_the_trash_is_not_restored(store: FolderMemoryStore, tmp_path: Path) -> None:
    memory = store.remember(make_memory("one"))
    (tmp_path / "outside.md").write_bytes(files(store)[0].read_bytes())
    store.forget(memory.id)
    (trashed,) = (store.folder / "trash").glob("*.md")
    trashed.unlink()
    trashed.symlink_to(tmp_path / "outside.md")
    with pytest.raises(MemoryUnusableError, match="There is no memory"):
        store.restore(memory.id)


def test_a_temporary_file_left_by_a_crash_is_not_a_memory(store: FolderMemoryStore) -> None:
    write(store, ".2024-01-01-half-m0123456789.md.new", "---\nid: m0123456789\n---\n\nha")
    assert store.all() == FolderMemoryStore(store.folder).all()
    assert store.all().memories == ()


# --- update, forget, restore ------------------------------------------------------------------------------------------


def update(store: FolderMemoryStore, memory: Memory) -> Memory:
    """Save `memory` in place of the one with its id."""
    return store.change(memory.id, lambda _: memory)


def with_text(memory: Memory, text: str) -> Memory:
    return Memory(memory.id, text, memory.tags, memory.why, memory.created, memory.updated, memory.source, memory.query)


def test_an_update_keeps_id_file_and_day_and_records_the_time(store: FolderMemoryStore) -> None:
    memory = store.remember(make_memory("old", ["a"], "why", SOURCE))
    name = files(store)[0].name
    changed = update(store, with_text(memory, "new"))
    assert (changed.id, changed.created, changed.text) == (memory.id, memory.created, "new")
    assert changed.updated >= memory.updated
    assert store.all().memories == (changed,) == FolderMemoryStore(store.folder).all().memories
    assert [file.name for file in files(store)] == [name]


def test_the_replaced_version_is_in_the_trash(store: FolderMemoryStore) -> None:
    memory = store.remember(make_memory("old"))
    before = files(store)[0].read_bytes()
    update(store, with_text(memory, "new"))
    assert [file.read_bytes() for file in trash_files(store)] == [before]


def test_an_update_without_changes_writes_nothing(store: FolderMemoryStore) -> None:
    memory = store.remember(make_memory("old"))
    before = written_state(files(store)[0])
    assert update(store, memory) == memory
    assert written_state(files(store)[0]) == before
    assert trash_files(store) == []


def test_an_update_keeps_unknown_properties(store: FolderMemoryStore) -> None:
    write(store, "a.md", "---\nstars: 5\nsource: the blue book\nseen: 2024-05-06\ntags: Sync, Work\n---\nold\n")
    (memory,) = store.all().memories
    update(store, with_text(memory, "new"))
    text = (store.folder / "a.md").read_text()
    assert "stars: 5\nsource: the blue book\nseen: 2024-05-06\ntags: Sync, Work\n" in text
    assert f"id: {memory.id}\n" in text
    assert store.get(memory.id).text == "new"


def test_an_update_may_clear_a_field(store: FolderMemoryStore) -> None:
    memory = store.remember(make_memory("text", ["a"], "because", SOURCE))
    bare = update(store, Memory(memory.id, "text", (), "", memory.created, memory.updated))
    assert (bare.tags, bare.why, bare.source) == ((), "", None)
    assert FolderMemoryStore(store.folder).get(memory.id) == bare


def test_forgetting_moves_the_file_and_restoring_returns_the_same_bytes(store: FolderMemoryStore) -> None:
    memory = store.remember(make_memory("text"))
    file = files(store)[0]
    before = file.read_bytes()
    assert store.forget(memory.id) == memory
    assert store.all().memories == ()
    assert [each.read_bytes() for each in trash_files(store)] == [before]
    assert FolderMemoryStore(store.folder).restore(memory.id) == memory
    assert file.read_bytes() == before
    assert trash_files(store) == []


def test_restoring_returns_the_last_version(store: FolderMemoryStore) -> None:
    memory = store.remember(make_memory("first"))
    second = update(store, with_text(memory, "second"))
    store.forget(memory.id)
    assert store.restore(memory.id) == second
    assert store.get(memory.id).text == "second"


def test_a_file_without_an_id_can_be_forgotten_and_restored(store: FolderMemoryStore) -> None:
    write(store, "talks/a.thought.md", "text")
    (memory,) = store.all().memories
    store.forget(memory.id)
    assert store.restore(memory.id) == memory
    assert store.get(memory.id) == memory


def test_restoring_does_not_overwrite_a_file_of_the_same_name(store: FolderMemoryStore) -> None:
    memory = store.remember(make_memory("one"))
    file = files(store)[0]
    store.forget(memory.id)
    file.write_text("something else")
    store.restore(memory.id)
    assert sorted(each.text for each in store.all().memories) == ["one", "something else"]


@pytest.mark.parametrize("act", ["get", "forget", "restore"])
def test_an_unknown_id_is_an_error(store: FolderMemoryStore, act: str) -> None:
    store.remember(make_memory("text"))
    with pytest.raises(MemoryUnusableError, match="mnone"):
        getattr(store, act)("mnone")


def test_a_memory_that_is_not_forgotten_cannot_be_restored(store: FolderMemoryStore) -> None:
    memory = store.remember(make_memory("text"))
    with pytest.raises(MemoryUnusableError, match="was not forgotten"):
        store.restore(memory.id)


def test_a_failed_write_keeps_the_old_memory_and_leaves_no_file(
    store: FolderMemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = store.remember(make_memory("old"))

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(MemoryUnusableError, match="No space left"):
        update(store, with_text(memory, "new"))
    with pytest.raises(MemoryUnusableError, match="No space left"):
        store.remember(make_memory("another"))
    monkeypatch.undo()
    assert store.all().memories == (memory,)
    assert list(store.folder.rglob("*.new")) == []


# --- words ------------------------------------------------------------------------------------------------------------


def ids_with_words(store: FolderMemoryStore, words: str) -> list[str]:
    contents = store.contents()
    return [memory.text for memory in contents.with_words(words, contents.loaded.memories)]


@pytest.fixture
def three_memories(store: FolderMemoryStore) -> FolderMemoryStore:
    write(store, "1.md", "---\ncreated: 2024-01-01\ntags: [sync, work]\n---\nConflicts are resolved by hand\n")
    write(
        store,
        "2.md",
        "---\ncreated: 2024-01-03\ntags: [sync]\nwhy: the resolved ticket\n---\nState-of-the-art encryption\n",
    )
    write(store, "3.md", "---\ncreated: 2024-01-02\nsource: {path: Recipes/Brot.md}\n---\n自动同步很快 1.0.21\n")
    return store


def test_memories_are_listed_newest_first(three_memories: FolderMemoryStore) -> None:
    assert [memory.text for memory in three_memories.all().memories] == [
        "State-of-the-art encryption",
        "自动同步很快 1.0.21",
        "Conflicts are resolved by hand",
    ]


def test_tags_are_listed_by_number_of_uses(three_memories: FolderMemoryStore) -> None:
    assert JoinedMemoryStore({"": three_memories}).tags() == (("sync", 2), ("work", 1))


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("conflict", ["Conflicts are resolved by hand"]),
        ("HAND conflicting", ["Conflicts are resolved by hand"]),
        ("resolved", ["State-of-the-art encryption", "Conflicts are resolved by hand"]),
        ("resolved enc", ["State-of-the-art encryption"]),
        ("enc resolved", []),
        ("state-of-the-art", ["State-of-the-art encryption"]),
        ("sync", ["State-of-the-art encryption", "Conflicts are resolved by hand"]),
        ("1.0", ["自动同步很快 1.0.21"]),
        ("1.1", []),
        ("brot", ["自动同步很快 1.0.21"]),
        ("同步", ["自动同步很快 1.0.21"]),
        ("nothing here", []),
    ],
)
def test_all_words_must_match_in_any_form_and_the_last_as_a_prefix(
    three_memories: FolderMemoryStore, words: str, found: list[str]
) -> None:
    assert ids_with_words(three_memories, words) == found


@given(st.text(st.characters(codec=None)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_one_matching_word_is_enough_if_requested(three_memories: FolderMemoryStore, words: str) -> None:
    assert set(ids_with_words(three_memories, words)) <= {memory.text for memory in three_memories.all().memories}


# --- two processes ----------------------------------------------------------------------------------------------------


def _write_many(folder: Path, who: int) -> None:
    store = FolderMemoryStore(folder)
    for number in range(20):
        memory = store.remember(make_memory("same words", [f"p{who}"]))
        if number % 4 == 1:
            update(store, with_text(memory, f"changed {who} {number}"))
        if number % 4 == 2:
            store.forget(memory.id)


@pytest.mark.programs
def test_two_concurrent_processes_lose_nothing(store: FolderMemoryStore) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_write_many, args=(store.folder, who)) for who in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0]
    found = store.all()
    assert found.unreadable == ()
    for who in range(2):
        texts = sorted(memory.text for memory in found.memories if memory.tags == (f"p{who}",))
        assert texts == sorted([*["same words"] * 10, *(f"changed {who} {number}" for number in range(1, 20, 4))])
    assert len(trash_files(store)) == 2 * 2 * 5


def test_two_updates_of_one_memory_keep_the_last_and_put_the_first_in_the_trash(store: FolderMemoryStore) -> None:
    memory = store.remember(make_memory("first"))
    update(FolderMemoryStore(store.folder), with_text(memory, "from the other window"))
    update(store, with_text(memory, "from this one"))
    assert [each.text for each in store.all().memories] == ["from this one"]
    kept = [file.read_text().rpartition("---\n\n")[2] for file in trash_files(store)]
    assert sorted(kept) == ["first\n", "from the other window\n"]


TEXTS = st.sampled_from(["one", "two words", "---\nid: x\n---", "\n blank around \n\n", "同步"])
STEPS = st.none() | st.integers(0, 60)
"""The step before which a process is killed: `remember` takes about 40 steps, `change` about 60."""


class Crashes(RuleBasedStateMachine):
    """A state machine over a memory folder: `live` are its expected memories, `gone` those in its trash.

    What a killed process was working on may be in either state.
    """

    @initialize()
    def start(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.store = FolderMemoryStore(self.folder)
        self.live: dict[str, Memory] = {}
        self.gone: dict[str, Memory] = {}
        self.written: list[str] = []

    @rule(text=TEXTS, step=STEPS)
    def remember(self, text: str, step: int | None) -> None:
        killed = self.in_a_process(lambda store: store.remember(make_memory(text)), step)
        found = {memory.id: memory for memory in self.store.all().memories if memory.id not in self.live}
        assert [memory.text for memory in found.values()] in ([text], [] if killed else [text])
        self.live.update(found)
        self.written += [text] * len(found)

    @precondition(lambda self: self.live)
    @rule(data=st.data(), text=TEXTS, step=STEPS)
    def change(self, data: st.DataObject, text: str, step: int | None) -> None:
        before = self.live[data.draw(st.sampled_from(sorted(self.live)))]
        killed = self.in_a_process(lambda store: store.change(before.id, lambda each: replace(each, text=text)), step)
        after = self.store.get(before.id)
        assert after.text in ({before.text, text} if killed else {text})
        assert replace(after, text="", updated="") == replace(before, text="", updated="")
        self.live[before.id] = after
        self.written.append(after.text)

    @precondition(lambda self: self.live)
    @rule(data=st.data(), step=STEPS)
    def forget(self, data: st.DataObject, step: int | None) -> None:
        memory_id = data.draw(st.sampled_from(sorted(self.live)))
        killed = self.in_a_process(lambda store: store.forget(memory_id), step)
        if memory_id not in self.store.contents().files_by_id:
            self.gone[memory_id] = self.live.pop(memory_id)
        else:
            assert killed

    @precondition(lambda self: self.gone)
    @rule(data=st.data(), step=STEPS)
    def restore(self, data: st.DataObject, step: int | None) -> None:
        memory_id = data.draw(st.sampled_from(sorted(self.gone)))
        killed = self.in_a_process(lambda store: store.restore(memory_id), step)
        if memory_id in self.store.contents().files_by_id:
            self.live[memory_id] = self.gone.pop(memory_id)
        else:
            assert killed

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def edit_by_hand(self, data: st.DataObject) -> None:
        memory_id = data.draw(st.sampled_from(sorted(self.live)))
        (file,) = (file for file in self.folder.glob("*.md") if memory_id in file.name)
        file.write_bytes(file.read_bytes()[:-1] + b" by hand\n")
        self.live[memory_id] = replace(self.live[memory_id], text=self.live[memory_id].text + " by hand")
        self.written.append(self.live[memory_id].text)

    @rule()
    def break_by_hand(self) -> None:
        (self.folder / "broken.md").write_bytes(b"---\nid: [\n---\n\xff")

    @rule()
    def reopen(self) -> None:
        self.store = FolderMemoryStore(self.folder)

    @invariant()
    def nothing_is_lost(self) -> None:
        found = self.store.all()
        assert {memory.id: memory for memory in found.memories} == self.live
        assert {broken.path for broken in found.unreadable} <= {"broken.md"}
        kept = [file.read_text() for file in (self.folder / TRASH).glob("*.md")]
        kept += [f"\n\n{memory.text}\n" for memory in self.live.values()]
        # An edit by hand leaves no copy of the earlier text.
        for text in self.written:
            assert (
                any(each.endswith(f"\n\n{text}\n") for each in kept)
                or any(
                    memory.text.startswith(f"{text} by hand") for memory in (*self.live.values(), *self.gone.values())
                )
                or any(f"\n\n{text} by hand" in each for each in kept)
            )

    def in_a_process(self, act: Callable[[FolderMemoryStore], object], step: int | None) -> bool:
        """Run `act` in another process, killed before a step; return whether it was killed."""
        return is_killed(lambda: act(FolderMemoryStore(self.folder)), step)

    def teardown(self) -> None:
        shutil.rmtree(self.folder)


TestCrashes = Crashes.TestCase
TestCrashes.settings = settings(max_examples=scaled_examples(8), stateful_step_count=15)


def is_killed(act: Callable[[], object], step: int | None) -> bool:
    """Return whether a process that runs `act` reaches that step, before which it is killed."""

    def work(say: Say) -> None:
        act()
        say("done")

    said, killed = Child(work, step).said()
    assert bool(said) is not killed
    return killed


def _at_random(folder: Path, who: int, seed: int) -> Callable[[Say], None]:
    """Return work that makes 15 random changes, also to the other process's memories.

    Each text is written once, and reported after it was written.
    """

    def work(say: Say) -> None:
        chance, store = random.Random(f"{seed} {who}"), FolderMemoryStore(folder)
        forgotten: list[str] = []
        for number in range(15):
            text = f"process {who} text {number}"
            ids = sorted(store.contents().files_by_id)
            what = chance.choice(["remember", "change", "forget", "restore"])
            try:
                if what == "remember" or not ids:
                    store.remember(make_memory(text))
                elif what == "change":
                    store.change(chance.choice(ids), lambda memory, text=text: replace(memory, text=text))  # type: ignore[misc]
                elif what == "forget":
                    forgotten.append(store.forget(chance.choice(ids)).id)
                    continue
                elif forgotten:
                    store.restore(forgotten.pop())
                    continue
                else:
                    continue
            except MemoryUnusableError:
                continue  # the other process has forgotten or restored it
            say(text)

    return work


@pytest.mark.programs
@settings(max_examples=scaled_examples(4), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10_000), step=st.integers(0, 600))
def test_a_killed_process_beside_another_loses_no_written_text(seed: int, step: int) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        one, other = Child(_at_random(folder, 1, seed), step), Child(_at_random(folder, 2, seed))
        told = [*one.said()[0], *other.said()[0]]
        found = FolderMemoryStore(folder).all()
        assert found.unreadable == ()
        there = {file.read_text(encoding="utf-8").rpartition("\n\n")[2].rstrip("\n") for file in files_in(folder)}
        assert set(told) <= there
        assert all(text.startswith("process ") for text in there)
        FolderMemoryStore(folder).remember(make_memory("and the folder can be written to"))
    finally:
        shutil.rmtree(folder)


@pytest.mark.programs
@pytest.mark.parametrize("what", ["change", "forget", "restore"])
def test_a_process_killed_at_any_step_leaves_the_memory_complete(tmp_path: Path, what: str) -> None:
    acts: dict[str, Callable[[FolderMemoryStore, str], object]] = {
        "change": lambda store, memory_id: store.change(memory_id, lambda memory: replace(memory, text="new")),
        "forget": FolderMemoryStore.forget,
        "restore": FolderMemoryStore.restore,
    }
    for step in range(100):
        folder = tmp_path / str(step)
        memory = FolderMemoryStore(folder).remember(make_memory("old"))
        if what == "restore":
            FolderMemoryStore(folder).forget(memory.id)
        killed = is_killed(partial(acts[what], FolderMemoryStore(folder), memory.id), step)
        found = FolderMemoryStore(folder).all()
        live = [each.text for each in found.memories]
        trashed = [file.read_text().rpartition("\n\n")[2] for file in (folder / TRASH).glob("*.md")]
        assert found.unreadable == ()
        assert set(live) <= {"old", "new"}
        assert "old" in live or "old\n" in trashed
        if not killed:
            assert live == {"change": ["new"], "forget": [], "restore": ["old"]}[what]
            assert step > 20
            return
    pytest.fail("It never came to its end.")


# --- replaced memories ------------------------------------------------------------------------------------------------


def _texts(memories: Sequence[Memory]) -> set[str]:
    return {memory.text for memory in memories}


def test_a_replaced_memory_keeps_its_file_and_says_what_replaced_it_and_when(store: FolderMemoryStore) -> None:
    old = store.remember(make_memory("Storage costs 4 euros", ("price",), why="budget", source=SOURCE))
    new = store.remember(make_memory("Storage costs 6 euros"), replaces=[old.id])
    loaded = store.all()
    assert _texts(loaded.memories) == {new.text}
    (replaced,) = loaded.replaced
    assert replaced == replace(old, replaced_by=new.id, replaced_at=new.created)
    assert not (store.folder / TRASH).exists()


def test_an_unknown_memory_cannot_be_replaced_and_nothing_is_saved(store: FolderMemoryStore) -> None:
    old = store.remember(make_memory("one"))
    with pytest.raises(MemoryUnusableError):
        store.remember(make_memory("two"), replaces=[old.id, "m0"])
    assert store.all().memories == (old,)


def test_forgetting_the_newer_memory_makes_the_older_one_current_and_restoring_replaces_it(
    store: FolderMemoryStore,
) -> None:
    old = store.remember(make_memory("Storage costs 4 euros"))
    new = store.remember(make_memory("Storage costs 6 euros"), replaces=[old.id])
    store.forget(new.id)
    assert store.all().memories == (old,)
    store.restore(new.id)
    assert _texts(store.all().memories) == {new.text}
    assert _texts(store.all().replaced) == {old.text}


def test_forgetting_a_memory_between_two_others_leaves_the_oldest_replaced(store: FolderMemoryStore) -> None:
    first = store.remember(make_memory("Storage costs 2 euros"))
    second = store.remember(make_memory("Storage costs 4 euros"), replaces=[first.id])
    third = store.remember(make_memory("Storage costs 6 euros"), replaces=[second.id])
    store.forget(second.id)
    assert store.all().memories == (third,)
    assert [memory.replaced_by for memory in store.all().replaced] == [third.id]


def test_a_replaced_memory_is_made_current_by_restoring_it(store: FolderMemoryStore) -> None:
    old = store.remember(make_memory("one"))
    new = store.remember(make_memory("two"), replaces=[old.id])
    assert store.restore(old.id) == old
    assert _texts(store.all().memories) == {old.text, new.text}


def test_an_existing_memory_replaces_another_and_is_current(store: FolderMemoryStore) -> None:
    first = store.remember(make_memory("one"))
    second = store.remember(make_memory("two"), replaces=[first.id])
    assert store.replace_others(first.id, [second.id]) == first
    assert _texts(store.all().memories) == {"one"}
    assert _texts(store.all().replaced) == {"two"}


def test_of_two_processes_that_replace_one_memory_the_second_is_told_and_saves_nothing(tmp_path: Path) -> None:
    one, other = FolderMemoryStore(tmp_path), FolderMemoryStore(tmp_path)
    old = one.remember(make_memory("Storage costs 4 euros"))
    assert _texts(other.all().memories) == {old.text}
    new = one.remember(make_memory("Storage costs 6 euros"), replaces=[old.id])
    with pytest.raises(MemoryUnusableError, match=new.id):
        other.remember(make_memory("Storage costs 8 euros"), replaces=[old.id])
    assert _texts(other.all().memories) == {new.text}


def test_a_memory_replaces_another_twice_and_what_others_have_replaced_not_at_all(store: FolderMemoryStore) -> None:
    old, other = store.remember(make_memory("one")), store.remember(make_memory("three"))
    new = store.remember(make_memory("two"), replaces=[old.id])
    assert store.replace_others(new.id, [old.id]) == new
    with pytest.raises(MemoryUnusableError, match=new.id):
        store.replace_others(other.id, [old.id])


def test_a_memory_cannot_replace_itself(store: FolderMemoryStore) -> None:
    memory = store.remember(make_memory("one"))
    with pytest.raises(MemoryUnusableError):
        store.replace_others(memory.id, [memory.id])


def test_memories_that_replace_each_other_by_hand_are_all_current(store: FolderMemoryStore) -> None:
    for name, by in (("a", "b"), ("b", "a"), ("c", "c"), ("d", "missing")):
        (store.folder / f"{name}.md").parent.mkdir(exist_ok=True)
        (store.folder / f"{name}.md").write_text(f"---\nid: {name}\nreplaced_by: {by}\n---\n\n{name}\n")
    assert _texts(store.all().memories) == {"a", "b", "c", "d"}
    assert {memory.replaced_by for memory in store.all().memories} == {""}


def test_an_edit_of_a_replaced_memory_leaves_it_replaced(store: FolderMemoryStore) -> None:
    old = store.remember(make_memory("one"))
    new = store.remember(make_memory("two"), replaces=[old.id])
    store.change(old.id, lambda memory: replace(memory, tags=("old",)))
    (replaced,) = store.all().replaced
    assert (replaced.tags, replaced.replaced_by) == (("old",), new.id)


@pytest.mark.programs
@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process is forked and killed")
def test_a_process_killed_while_it_replaces_a_memory_leaves_one_of_both_current(tmp_path: Path) -> None:
    def current(step: int) -> tuple[set[str], bool]:
        store = FolderMemoryStore(tmp_path / str(step))
        old = store.remember(make_memory("old"))

        def work(say: Say) -> None:
            store.remember(make_memory("new"), replaces=[old.id])

        _, was_killed = Child(work, dies_before=step).said()
        loaded = store.all()
        assert _texts(loaded.memories + loaded.replaced) >= {"old"}
        return _texts(loaded.memories), was_killed

    seen = []
    for step in range(200):
        texts, was_killed = current(step)
        seen.append(texts)
        if not was_killed:
            break
    assert all(texts in ({"old"}, {"new"}) for texts in seen)
    assert seen[0] == {"old"}
    assert seen[-1] == {"new"}
