"""Tests of the memories that a store shares: who sees them, who may write them, and that none is lost."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from datetime import date
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psycopg
import pytest
from mcp import Client

import excerpt
from excerpt.base.errors import ExcerptError, MemoryUnusableError
from excerpt.base.settings import Settings, change_settings
from excerpt.cli.main import run
from excerpt.insight.completions import complete
from excerpt.insight.corrections import correct
from excerpt.memory.joined_store import ConnectedMemoryStore, JoinedMemoryStore
from excerpt.memory.memory_file import make_memory
from excerpt.servers import served_vaults
from excerpt.servers.mcp.server import build_server
from excerpt.servers.served_vaults import ServedVaults
from excerpt.service.memory_decisions import MemoryDraft, make_edit_decision
from excerpt_postgres import schema
from excerpt_postgres.address import parse_address
from excerpt_postgres.memories import SharedMemoryStore
from tests.servers.mcp.conftest import failure_text, tool_caller
from tests.store.test_push import NOTES, push_vault, upgrade_tables, vault
from tests.store.test_rights import STAFF, change_rights, guarded_addresses, name_of, users, with_roles

__all__ = ["guarded_addresses", "users", "vault"]
pytestmark = pytest.mark.store

Opened = Callable[[str], ConnectedMemoryStore]


@pytest.fixture
def memories_of(
    guarded_addresses: dict[str, str], database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Opened:
    """Return the shared memories as a user sees them.

    The owner and the writer may push; the reader may not read the folder `staff`, and nobody but these and the user
    `nobody` may; reader and `nobody` may save memories.
    """
    monkeypatch.setattr("excerpt_postgres.memories._READ_SECONDS", 0.0)
    with psycopg.connect(database, autocommit=True) as connection:
        for user in ("reader", "nobody"):
            connection.execute(f"GRANT excerpt_memories TO {name_of(guarded_addresses[user])}")

    def open_store(user: str) -> ConnectedMemoryStore:
        return SharedMemoryStore(parse_address(guarded_addresses[user]), tmp_path / "copies" / user)

    return open_store


def source(path: str) -> excerpt.Source:
    return excerpt.Source(path, 1, 1, "")


def texts(store: ConnectedMemoryStore) -> list[str]:
    with closing(store):
        return sorted(memory.text for memory in store.all().memories)


def test_a_copy_stays_in_its_folder_whatever_the_id_of_a_memory(
    memories_of: Opened, database: str, tmp_path: Path
) -> None:
    memories_of("writer").remember(make_memory("Bees winter as a ball."))
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE excerpt.memories SET id = '/../../outside'")
    assert texts(memories_of("reader")) == ["Bees winter as a ball."]
    copies = tmp_path / "copies"
    assert {copy.parent for copy in copies.rglob("*.md")} == {copies / "reader", copies / "writer"}


# --- who sees a memory ------------------------------------------------------------------------------------------------


def test_a_shared_memory_has_its_author_and_is_read_by_all_who_read_its_source(memories_of: Opened) -> None:
    saved = memories_of("reader").remember(
        make_memory("Bees winter as a ball.", ["bees"], "for the talk", source("Bees.md"))
    )
    assert saved.author.startswith("reader_")
    assert saved.tags == ("bees",)
    for user in ("owner", "writer", "reader"):
        assert memories_of(user).all().memories == (saved,)


def test_a_memory_is_hidden_from_who_may_not_read_its_source(memories_of: Opened) -> None:
    memories_of("nobody").remember(make_memory("Zanzibar is paid.", source=source("staff/Salaries.md")))
    memories_of("reader").remember(make_memory("Bees winter.", source=source("Bees.md")))
    assert texts(memories_of("reader")) == ["Bees winter."]
    assert texts(memories_of("nobody")) == ["Zanzibar is paid."]
    assert texts(memories_of("writer")) == ["Bees winter.", "Zanzibar is paid."]


def test_a_memory_without_a_source_is_read_by_all_who_read_a_part_of_the_vault(memories_of: Opened) -> None:
    memories_of("nobody").remember(make_memory("We meet on Mondays."))
    for user in ("owner", "reader", "nobody"):
        assert texts(memories_of(user)) == ["We meet on Mondays."]


def test_a_memory_is_hidden_as_soon_as_the_folder_of_its_source_is(
    memories_of: Opened, vault: Path, users: dict[str, str]
) -> None:
    memories_of("reader").remember(make_memory("Tea is green.", source=source("kitchen/Tea.md")))
    change_rights(vault, users["owner"], allowed=[f"{name_of(users['nobody'])}=kitchen"])
    assert texts(memories_of("reader")) == []
    assert texts(memories_of("nobody")) == ["Tea is green."]
    change_rights(vault, users["owner"], forbidden=[f"{name_of(users['nobody'])}=kitchen"])
    assert texts(memories_of("reader")) == ["Tea is green."]
    assert texts(memories_of("nobody")) == []


def test_a_memory_is_hidden_when_its_source_moves_into_a_hidden_folder(
    memories_of: Opened, vault: Path, users: dict[str, str]
) -> None:
    memories_of("reader").remember(make_memory("Bees winter.", source=source("Bees.md")))
    (vault / "Bees.md").rename(vault / "staff" / "Hive.md")
    push_vault(vault, users["owner"])
    assert texts(memories_of("reader")) == []
    assert texts(memories_of("owner")) == ["Bees winter."]


def test_hidden_memories_change_no_answer_of_the_server(
    memories_of: Opened, guarded_addresses: dict[str, str], users: dict[str, str]
) -> None:
    memories_of("reader").remember(make_memory("Bees winter.", source=source("Bees.md")))
    with psycopg.connect(users["reader"], autocommit=True) as connection:
        ((number,),) = connection.execute("SELECT id FROM excerpt_vault.vaults() WHERE name = 'notes'").fetchall()

        def answers() -> list[object]:
            query = f"excerpt_vault.memories({number}) WHERE content LIKE '%zanzibar%' OR id > 'a'"
            plan = connection.execute(
                f"EXPLAIN (ANALYZE, BUFFERS off, TIMING off, SUMMARY off) SELECT * FROM {query}"
            ).fetchall()
            return [plan, connection.execute(f"SELECT * FROM {query}").fetchall()]

        before = answers()
        hidden = memories_of("nobody").remember(
            make_memory("The zanzibar list is long.", source=source("staff/Salaries.md"))
        )
        assert answers() == before
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT count(*) FROM excerpt.memories")
    reader = memories_of("reader")
    refusals: list[Callable[[], object]] = [
        lambda: reader.forget(hidden.id),
        lambda: reader.restore(hidden.id),
        lambda: reader.remember(make_memory("Mine."), replaces=[hidden.id]),
    ]
    for refused in refusals:
        with pytest.raises(MemoryUnusableError, match=f"There is no memory {hidden.id}"):
            refused()


@pytest.mark.parametrize("path", ["staff/Salaries.md", "staff/Nothing.md", "elsewhere/Nothing.md"])
def test_a_hidden_note_is_refused_as_a_source_like_a_missing_one(memories_of: Opened, path: str) -> None:
    with pytest.raises(MemoryUnusableError, match=f"The store has no note {path}"):
        memories_of("reader").remember(make_memory("A guess.", source=source(path)))


# --- who may write one ------------------------------------------------------------------------------------------------


def test_comments_of_a_memory_are_not_shared(memories_of: Opened, database: str) -> None:
    store = memories_of("reader")
    saved = store.remember(make_memory("Bees winter. %% I doubt it. %%"))
    assert saved.text.strip() == "Bees winter."
    store.change(saved.id, partial(with_text, "They do. <!-- Not sure. -->"))
    with pytest.raises(MemoryUnusableError, match="no text to share"):
        store.remember(make_memory("%% Alone. %%"))
    with psycopg.connect(database) as connection:
        contents = connection.execute("SELECT content FROM excerpt.memories").fetchall()
    assert not [content for (content,) in contents if "doubt" in content or "sure" in content]


def test_a_role_that_only_reads_recalls_and_is_told_what_it_needs_to_save(
    guarded_addresses: dict[str, str], tmp_path: Path
) -> None:
    owner = SharedMemoryStore(parse_address(guarded_addresses["owner"]), tmp_path / "owner")
    owner.remember(make_memory("Bees winter.", source=source("Bees.md")))
    reader = SharedMemoryStore(parse_address(guarded_addresses["reader"]), tmp_path / "reader")
    assert texts(reader) == ["Bees winter."]
    with pytest.raises(MemoryUnusableError) as refused:
        reader.remember(make_memory("Mine."))
    assert f"GRANT excerpt_memories TO {name_of(guarded_addresses['reader'])}" in refused.value.hint


def test_a_memory_is_changed_and_forgotten_by_its_author_and_by_who_may_push(memories_of: Opened) -> None:
    saved = memories_of("nobody").remember(make_memory("We meet on Mondays."))
    reader, writer = memories_of("reader"), memories_of("writer")
    refusals: list[Callable[[], object]] = [
        lambda: reader.change(saved.id, partial(with_text, "Never.")),
        lambda: reader.forget(saved.id),
    ]
    for refused in refusals:
        with pytest.raises(MemoryUnusableError, match="another's"):
            refused()
    assert writer.change(saved.id, partial(with_text, "On Tuesdays.")).author == saved.author
    assert texts(reader) == ["On Tuesdays."]
    memories_of("nobody").forget(saved.id)
    assert texts(reader) == []
    with pytest.raises(MemoryUnusableError, match="There is no memory"):
        reader.restore(saved.id)
    assert memories_of("nobody").restore(saved.id).text == "On Tuesdays."


def test_a_replaced_memory_is_kept_and_is_current_again_for_who_may_not_read_the_new_one(memories_of: Opened) -> None:
    old = memories_of("reader").remember(make_memory("We meet on Mondays."))
    new = memories_of("nobody").remember(
        make_memory("On Zanzibar days.", source=source("staff/Salaries.md")), replaces=[old.id]
    )
    (replaced,) = memories_of("nobody").all().replaced
    assert (replaced.id, replaced.replaced_by) == (old.id, new.id)
    assert memories_of("reader").all().memories == (old,)
    memories_of("nobody").forget(new.id)
    assert memories_of("nobody").all().memories == (old,)


def test_a_memory_is_replaced_once(memories_of: Opened) -> None:
    old = memories_of("reader").remember(make_memory("We meet on Mondays."))
    new = memories_of("reader").remember(make_memory("On Tuesdays."), replaces=[old.id])
    with pytest.raises(MemoryUnusableError, match=f"already replaced by {new.id}"):
        memories_of("nobody").remember(make_memory("On Fridays."), replaces=[old.id])
    assert texts(memories_of("reader")) == ["On Tuesdays."]


# --- nothing is lost --------------------------------------------------------------------------------------------------


def test_a_change_of_an_older_version_is_refused_and_names_the_memory(memories_of: Opened) -> None:
    saved = memories_of("reader").remember(make_memory("We meet on Mondays."))
    reader, writer = memories_of("reader"), memories_of("writer")

    def change_after_another(memory: excerpt.Memory) -> excerpt.Memory:
        writer.change(saved.id, partial(with_text, "On Tuesdays."))
        return with_text("On Fridays.", memory)

    with pytest.raises(MemoryUnusableError, match=f"Somebody has changed memory {saved.id}"):
        reader.change(saved.id, change_after_another)
    assert texts(reader) == ["On Tuesdays."]


def test_writers_at_the_same_time_lose_no_memory_and_no_version(memories_of: Opened, database: str) -> None:
    saved = memories_of("writer").remember(make_memory("Counted: "))

    def write(number: int) -> bool:
        store = memories_of("writer" if number % 2 else "owner")
        with closing(store):
            store.remember(make_memory(f"Memory {number}"))
            try:
                store.change(saved.id, lambda memory: with_text(f"{memory.text}{number},", memory))
            except MemoryUnusableError:
                return False
            return True

    with ThreadPoolExecutor(4) as pool:
        changed = list(pool.map(write, range(20)))
    found = texts(memories_of("owner"))
    assert {f"Memory {number}" for number in range(20)} < set(found)
    (counted,) = (text for text in found if text.startswith("Counted"))
    assert counted.count(",") == sum(changed) > 0
    with psycopg.connect(database) as connection:
        kept = connection.execute("SELECT count(*) FROM excerpt.memories WHERE id = %s", (saved.id,)).fetchall()
    assert kept == [(sum(changed) + 1,)]


SECONDS = float(os.environ.get("EXCERPT_SOAK", "3"))
KILLS = int(os.environ.get("EXCERPT_KILLS", "4"))
CLIENTS = 48 if SECONDS > 60 else 9
READERS = 2
SOURCES = {"reader": "Bees.md", "nobody": "staff/Salaries.md", "writer": "kitchen/Tea.md"}
"""What a client of each user writes memories about."""
BEGUN = (("", "zan"), ("", "col"), ("#", ""), ("path", ""), ("title", "s"), ("zanzibar", ""))
"""Operators and beginnings of words that are completed."""


def with_text(text: str, memory: excerpt.Memory) -> excerpt.Memory:
    return dataclasses.replace(memory, text=text)


def view(vault: excerpt.Vault) -> list[object]:
    """Return completions, corrections and the results of searches, with confidences and scores, of the newest state."""
    vault.reload()
    engine = vault._load_engine()
    answers: list[object] = [complete(engine.snapshot, *each, date(2026, 1, 1)) for each in BEGUN]
    answers += [correct(engine, query) for query in ("zanzibra", "colnoy")]
    for query in ("how does a colony winter", "zanzibar", "honey insects", "path:staff"):
        result = vault.search(query)
        answers += [result.confidence, result.notice, result.matched]
        answers += [(hit.fragment.path, hit.fragment.text, hit.score, hit.confidence) for hit in result.hits]
    return answers


def look(address: str, bare: str) -> int:
    """Compare what a reader sees with a vault without the hidden folder for SECONDS, and return how often."""
    ends, times = time.monotonic() + SECONDS, 0
    with excerpt.open(address) as guarded, excerpt.open(bare) as expected:
        while time.monotonic() < ends or not times:
            assert view(guarded) == view(expected)
            times += 1
    return times


def work(store: ConnectedMemoryStore, user: str, seed: int) -> dict[str, str]:
    """Save, change, forget and read memories for SECONDS, and return the texts of those that must remain, by id."""
    chosen, ends = random.Random(seed), time.monotonic() + SECONDS
    kept: dict[str, str] = {}
    with closing(store):
        while time.monotonic() < ends or not kept:
            if not kept or chosen.random() < 0.4:
                saved = store.remember(make_memory(f"{user} {seed} {chosen.random()}", source=source(SOURCES[user])))
                kept[saved.id] = saved.text
            elif chosen.random() < 0.7:
                memory_id, text = chosen.choice(list(kept)), f"{user} {seed} {chosen.random()}"
                store.change(memory_id, partial(with_text, text))
                kept[memory_id] = text
            elif len(kept) > 1:
                memory_id = chosen.choice(list(kept))
                store.forget(memory_id)
                del kept[memory_id]
            seen = {memory.id: memory for memory in store.all().memories}
            assert kept.items() <= {memory_id: memory.text for memory_id, memory in seen.items()}.items()
            hidden = {"reader": ("nobody",), "nobody": ("reader", "writer"), "writer": ()}[user]
            assert not [memory for memory in seen.values() if memory.text.startswith(hidden)]
    return kept


def test_many_clients_beside_a_pusher_lose_no_memory_and_see_none_that_is_not_theirs(
    memories_of: Opened, vault: Path, users: dict[str, str], guarded_addresses: dict[str, str], tmp_path: Path
) -> None:
    with ThreadPoolExecutor(CLIENTS + READERS) as pool:
        looking = [pool.submit(look, guarded_addresses["reader"], guarded_addresses["bare"]) for _ in range(READERS)]
        running = []
        for number in range(CLIENTS):
            user = list(SOURCES)[number % len(SOURCES)]
            address = parse_address(guarded_addresses[user])
            store = SharedMemoryStore(address, tmp_path / "clients" / str(number))
            running.append(pool.submit(work, store, user, number))
        note, pushes = vault / "staff" / "Salaries.md", 0
        while not all(each.done() for each in running):
            pushes += 1
            lines = f"## Zanzibar {pushes}\n\nA colony of honey bees has zanzibar{pushes} insects.\n"
            note.write_text(f"{STAFF['staff/Salaries.md']}\n{lines * (pushes % 7)}", encoding="utf-8")
            push_vault(vault, users["owner"])
        assert all(each.result() for each in looking)
        kept = {memory_id: text for each in running for memory_id, text in each.result().items()}
    assert {memory.id: memory.text for memory in memories_of("owner").all().memories} == kept


def write_memories(address: str, seed: int, states: Connection, steps: int) -> None:
    """Save, change, replace, merge and forget shared memories; before each step, send the texts that it may leave.

    After the last step, only the texts that are there are sent.
    """
    chosen = random.Random(seed)
    with excerpt.open(address) as stored:
        memories = stored.memories
        for step in range(steps):
            loaded = memories.all()
            kept = {memory.id: memory.text for memory in loaded.memories}
            new, before = f"Text {seed} {step}.", [*kept.values()]
            first, second = chosen.sample([*kept, "", ""], 2)
            others = [text for memory_id, text in kept.items() if memory_id != first]
            if not first:
                states.send([before, [*before, new]])
                memories.remember(new, tags=[f"t{step}"], shared=True)
            elif not second:
                current_again = [memory.text for memory in loaded.replaced if memory.replaced_by == first]
                states.send([before, [*others, *current_again]])
                memories.forget(first)
            elif step % 3 == 0:
                merged = [*others, f"{kept[first]}\n\n{kept[second]}"]
                states.send([before, merged, [text for text in merged if text != kept[second]]])
                memories.edit(first, merge=second)
            elif step % 3 == 1:
                states.send([before, [*others, new]])
                memories.remember(new, replaces=[first], shared=True)
            else:
                states.send([before, [*others, new]])
                memories.edit(first, text=new)
        states.send([[memory.text for memory in memories.all().memories]])


_BROKEN_VERSIONS = """
SELECT id FROM (
    SELECT id, version, ended, replaced_by, max(version) OVER w AS last, count(*) OVER w AS versions
    FROM excerpt.memories WINDOW w AS (PARTITION BY id)) AS m
WHERE last <> versions OR version < 1 OR (ended IS NULL AND version <> last)
    OR (replaced_by <> '' AND NOT EXISTS (SELECT FROM excerpt.memories n WHERE n.id = m.replaced_by))
"""
"""Memories with a version that is missing or current before the last one, or replaced by one that never was."""


def test_a_killed_program_leaves_each_shared_memory_as_before_or_after_a_step(
    guarded_addresses: dict[str, str], database: str, tmp_path: Path
) -> None:
    chosen, spawn, owner = random.Random(55), get_context("spawn"), name_of(guarded_addresses["owner"])
    for seed in range(KILLS + 1):
        is_killed = seed < KILLS
        received, sent = spawn.Pipe(duplex=False)
        arguments = guarded_addresses["owner"], seed, sent, 1_000 if is_killed else 20
        program = spawn.Process(target=write_memories, args=arguments)
        program.start()
        sent.close()
        possible = [received.recv() for _ in range(chosen.randrange(5, 25) if is_killed else 21)][-1]
        if is_killed:
            time.sleep(chosen.uniform(0.0, 0.03))
            program.kill()
        with suppress(EOFError, OSError):  # the last one may have been cut
            while True:
                possible = received.recv()
        program.join()
        with psycopg.connect(database, autocommit=True) as connection:
            # The server may still execute the last statement of the killed program.
            while connection.execute("SELECT FROM pg_stat_activity WHERE usename = %s", (owner,)).fetchall():
                time.sleep(0.01)
            assert connection.execute(_BROKEN_VERSIONS).fetchall() == []
        found = texts(SharedMemoryStore(parse_address(guarded_addresses["owner"]), tmp_path / f"after-{seed}"))
        assert found in [sorted(state) for state in possible]
        assert program.exitcode == (-signal.SIGKILL if is_killed else 0)


def drop_memories(connection: psycopg.Connection, version: int) -> None:
    """Give a store the tables that it had before it shared memories, of the version `version`."""
    connection.execute("DROP FUNCTION excerpt_vault.memories, excerpt_vault.save_memory")
    connection.execute("DROP FUNCTION excerpt_vault.forget_memory, excerpt_vault.restore_memory")
    connection.execute("DROP TABLE excerpt.memories")
    connection.execute("UPDATE excerpt.store SET version = %s", (version,))


def test_a_store_of_the_version_before_memories_is_upgraded_in_place(vault: Path, database: str) -> None:
    push_vault(vault, database)
    with psycopg.connect(database) as connection:
        drop_memories(connection, schema.VERSION - 1)
    upgrade_tables(database)
    with excerpt.open(f"{database}?vault=notes") as stored:
        assert stored.memories.remember("Bees winter.", source="Bees.md:1", shared=True).memory.is_shared


def test_a_store_made_with_pg_textsearch_is_upgraded_with_its_rights_and_then_shares_memories(
    guarded_addresses: dict[str, str], vault: Path, database: str, users: dict[str, str]
) -> None:
    with excerpt.open(guarded_addresses["bare"]) as bare:
        expected = view(bare)
    with psycopg.connect(database) as connection:
        drop_memories(connection, 4)
        connection.execute("DROP TABLE excerpt.postings")
        for table in ("links", "labels"):
            connection.execute(f"ALTER TABLE excerpt.{table} ALTER rowid DROP DEFAULT")
            connection.execute(f"ALTER TABLE excerpt.{table} ALTER rowid ADD GENERATED ALWAYS AS IDENTITY")
        for (area,) in connection.execute("SELECT id FROM excerpt.areas").fetchall():
            connection.execute(f"CREATE INDEX fragments_{area}_words ON excerpt.fragments_{area} (md5(words))")
    (vault / "staff" / "lists" / "Bees.md").write_text("# Bees\n\nSee [[Honey]] #zanzibar\n", encoding="utf-8")
    report = change_rights(vault, users["owner"], allowed=[f"{name_of(users['nobody'])}=staff/lists"])
    assert (report.changed, report.unchanged) == (1, len(NOTES) + len(STAFF))
    with psycopg.connect(database, autocommit=True) as connection:
        assert connection.execute("SELECT FROM pg_class WHERE relname LIKE 'fragments_%_words'").fetchall() == []
        connection.execute(f"GRANT excerpt_memories TO {name_of(users['reader'])}")
    with excerpt.open(guarded_addresses["reader"]) as guarded:
        assert view(guarded) == expected
        with pytest.raises(MemoryUnusableError, match="not write any"):
            guarded.memories.remember("Bees winter.", shared=True)
        with_roles(vault, users["owner"])
        assert guarded.memories.remember("Bees winter.", source="Bees.md:1", shared=True).memory.is_shared


def test_memories_of_a_lost_server_are_none_with_the_reason(tmp_path: Path) -> None:
    store = SharedMemoryStore(parse_address("postgresql://excerpt@127.0.0.1:9/db?vault=wiki"), tmp_path)
    loaded = store.all()
    assert loaded.memories == ()
    assert "cannot be reached" in loaded.unreadable[0].reason
    with pytest.raises(ExcerptError, match="cannot be reached"):
        store.remember(make_memory("Mine."))


# --- commands and the API ---------------------------------------------------------------------------------------------


def asked(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """Run a command with --json, and return what it prints."""
    capsys.readouterr()
    assert run([*words, "--json"]) == 0, capsys.readouterr().err
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


@pytest.mark.usefixtures("memories_of")
def test_commands_share_recall_edit_and_forget_a_memory(
    guarded_addresses: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    reader, owner = (("--vault", guarded_addresses[user]) for user in ("reader", "owner"))
    own = asked(capsys, "remember", "Honey is mine.", *reader)
    assert not own.keys() & {"author", "shared"}
    shared = asked(capsys, "remember", "--shared", "--source", "Bees.md:1", "The colony winters.", *reader)
    assert (shared["shared"], shared["author"]) == (True, name_of(guarded_addresses["reader"]))
    assert [each["id"] for each in asked(capsys, "recall", *reader)["memories"]] == [shared["id"], own["id"]]
    (found,) = asked(capsys, "recall", "winters", "--sources", *owner)["memories"]
    assert found["author"] == shared["author"]
    assert asked(capsys, "edit", shared["id"], "--tag", "bees", *owner)["tags"] == ["bees"]
    newer = asked(capsys, "remember", "--shared", "--replace", shared["id"], "It does.", *owner)
    assert [each["id"] for each in asked(capsys, "recall", "--replaced", *reader)["memories"]] == [shared["id"]]
    assert asked(capsys, "forget", newer["id"], *owner)["id"] == newer["id"]
    assert asked(capsys, "recall", "tag:bees", *reader)["memories"][0]["id"] == shared["id"]


@pytest.mark.usefixtures("memories_of")
def test_a_recalled_memory_names_its_author(
    guarded_addresses: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["remember", "--shared", "We meet on Mondays.", "--vault", guarded_addresses["reader"]]) == 0
    capsys.readouterr()
    assert run(["recall", "--vault", guarded_addresses["owner"]]) == 0
    assert f"by {name_of(guarded_addresses['reader'])}" in capsys.readouterr().out


def test_the_setting_shares_memories_where_the_vault_is_in_a_store(
    guarded_addresses: dict[str, str], vault: Path
) -> None:
    settings = change_settings(Settings(), {"memory.location": "store"})
    with excerpt.open(guarded_addresses["owner"], settings=settings) as stored:
        assert stored.memories.remember("We meet on Mondays.").memory.is_shared
        assert not stored.memories.remember("I come late.", shared=False).memory.is_shared
    with excerpt.open(vault, settings=settings) as folder:
        assert not folder.memories.remember("I come late.").memory.is_shared
        with pytest.raises(MemoryUnusableError, match="in a folder"):
            folder.memories.remember("We meet on Mondays.", shared=True)


def test_own_and_shared_memories_do_not_replace_each_other(guarded_addresses: dict[str, str]) -> None:
    with excerpt.open(guarded_addresses["owner"]) as stored:
        own = stored.memories.remember("I come late.").memory
        shared = stored.memories.remember("We meet on Mondays.", shared=True).memory
        with pytest.raises(MemoryUnusableError, match=f"{own.id} is your own"):
            stored.memories.remember("On Tuesdays.", replaces=[own.id], shared=True)
        with pytest.raises(MemoryUnusableError, match=f"{shared.id} is shared"):
            stored.memories.edit(own.id, replaces=[shared.id])


def test_a_shared_memory_is_stale_when_the_note_in_the_store_has_changed(
    guarded_addresses: dict[str, str], vault: Path, users: dict[str, str]
) -> None:
    with excerpt.open(guarded_addresses["owner"]) as stored:
        saved = stored.memories.remember(source="kitchen/Tea.md", shared=True).memory
        assert stored.memories.recall("is:stale") == ()
    text = (vault / "kitchen" / "Tea.md").read_text(encoding="utf-8")
    (vault / "kitchen" / "Tea.md").write_text(text.replace("green", "black").replace("tea", "coffee"), encoding="utf-8")
    push_vault(vault, users["owner"])
    with excerpt.open(guarded_addresses["reader"]) as stored:
        (stale,) = stored.memories.recall("is:stale")
        assert stale.memory.id == saved.id
    with excerpt.open(guarded_addresses["owner"]) as stored:
        assert "coffee" in stored.memories.update(saved.id).text
        assert stored.memories.recall("is:stale") == ()


def test_a_union_of_a_folder_and_a_store_has_the_memories_of_both(
    guarded_addresses: dict[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "Mead.md").write_text("# Mead\n\nHoney and water.\n", encoding="utf-8")
    with excerpt.open([folder, guarded_addresses["owner"]]) as joined:
        name = next(name for name in joined.folders.by_name if name != "mine")
        shared = joined.memories.remember("The colony winters.", source=f"{name}/Bees.md:1", shared=True).memory
        own = joined.memories.remember("Mead is honey.", source="mine/Mead.md:1").memory
        assert shared.source is not None
        assert shared.source.path == f"{name}/Bees.md"
        assert [each.memory.id for each in joined.memories.recall()] == [own.id, shared.id]
        assert joined.memories.forget(shared.id).id == shared.id


@pytest.mark.usefixtures("memories_of")
async def test_an_agent_shares_and_recalls_memories_with_their_author(
    guarded_addresses: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_vaults, "ANSWER_SECONDS", 60.0)
    served = ServedVaults([Path(guarded_addresses["reader"])])
    try:
        async with Client(build_server(served, failure_text)) as client:
            ask = tool_caller(client)
            own = await ask("remember", text="I come late.")
            shared = await ask("remember", text="The colony winters.", source="Bees.md:1-1", shared=True)
            recalled = await ask("recall", query="winters")
    finally:
        served.end()
    assert "shared" not in own.text
    assert "shared with its readers" in shared.text
    assert f"by {name_of(guarded_addresses['reader'])}" in recalled.text


def test_an_edit_in_the_form_is_refused_if_somebody_has_changed_the_memory(memories_of: Opened) -> None:
    shown = memories_of("nobody").remember(make_memory("We meet on Mondays."))
    writer, author = memories_of("writer"), memories_of("nobody")
    writer.change(shown.id, partial(with_text, "On Tuesdays."))
    with pytest.raises(MemoryUnusableError, match=f"Somebody has changed memory {shown.id}"):
        make_edit_decision(shown, MemoryDraft("On Fridays.", (), ""))(JoinedMemoryStore({"": author}))
    assert texts(author) == ["On Tuesdays."]
