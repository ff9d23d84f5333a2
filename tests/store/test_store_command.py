"""Tests of `excerpt store`: what happened to a vault, the vaults of a store, and the removal of one."""

from __future__ import annotations

import platform
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

import excerpt as api
from excerpt.base.errors import StoreUnusableError
from tests.cli import conftest as cli
from tests.cli.conftest import Excerpt
from tests.store.test_push import NOTES, push_vault, statistics, vault
from tests.store.test_rights import (
    add_members,
    change_rights,
    make_owner_a_maker_of_roles,
    name_of,
    users,
    with_roles,
)

__all__ = ["users", "vault"]
pytestmark = pytest.mark.store
excerpt, home = cli.excerpt, cli.home


def logged(excerpt: Excerpt, address: str, *options: str) -> list[dict[str, object]]:
    answer = excerpt("store", "log", f"{address}?vault=notes", "--json", *options)
    assert answer.code == 0
    entries: list[dict[str, object]] = answer.json["pushes"]
    return entries


def test_the_log_says_who_pushed_which_notes_from_where(excerpt: Excerpt, vault: Path, database: str) -> None:
    push_vault(vault, database)
    push_vault(vault, database)  # nothing to do
    (vault / "Bees.md").write_text("# Bees\n\nThey winter.\n", encoding="utf-8")
    (vault / "Empty.md").unlink()
    push_vault(vault, database)
    second, first = logged(excerpt, database)
    assert (second["added"], second["changed"], second["removed"]) == ([], ["Bees.md"], ["Empty.md"])
    assert (first["added"], first["changed"], first["removed"]) == (sorted(NOTES), [], [])
    assert (first["role"], first["machine"], first["copy"]) == ("excerpt", platform.node(), str(vault))
    assert str(second["time"]) >= str(first["time"])
    assert logged(excerpt, database, "--limit", "1") == [second]
    shown = excerpt("store", "log", f"{database}?vault=notes").out
    assert "  changed 1: Bees.md\n  removed 1: Empty.md\n" in shown


def test_the_log_names_no_note_that_its_reader_may_not_read(
    excerpt: Excerpt, vault: Path, database: str, users: dict[str, str]
) -> None:
    make_owner_a_maker_of_roles(database, users)
    with_roles(vault, users["owner"])
    add_members(database, users)
    change_rights(vault, users["writer"], allowed=[f"{name_of(users['nobody'])}=kitchen"])
    (vault / "kitchen" / "Tea.md").write_text("# Tea\n\nBlack.\n", encoding="utf-8")
    push_vault(vault, users["writer"])
    changed, first = logged(excerpt, users["writer"])
    assert (changed["changed"], "kitchen/Tea.md" in str(first["added"])) == (["kitchen/Tea.md"], True)
    (seen,) = logged(excerpt, users["reader"])
    assert seen["added"] == sorted({*NOTES} - {"kitchen/Tea.md"})
    seen_by_group = logged(excerpt, users["nobody"])
    assert [entry["changed"] for entry in seen_by_group] == [["kitchen/Tea.md"]]


def test_the_vaults_of_a_store_are_listed(excerpt: Excerpt, vault: Path, database: str) -> None:
    report = push_vault(vault, database)
    push_vault(vault, database, "other")
    answer = excerpt("store", "list", database, "--json").json["vaults"]
    assert [(each["name"], each["fragments"]) for each in answer] == [
        ("notes", report.fragments),
        ("other", report.fragments),
    ]
    assert excerpt("store", "list", database).out.count("\n") == 2


def test_a_vault_is_dropped_only_by_its_name(excerpt: Excerpt, vault: Path, database: str) -> None:
    push_vault(vault, database)
    push_vault(vault, database, "other")
    before = statistics(database, "other")
    assert excerpt("store", "drop", f"{database}?vault=notes", "--yes", "other").code == 2
    assert excerpt("store", "drop", f"{database}?vault=notes", "--yes", "notes").code == 0
    assert [each["name"] for each in excerpt("store", "list", database, "--json").json["vaults"]] == ["other"]
    assert statistics(database, "other") == before
    answer = excerpt("store", "drop", f"{database}?vault=notes", "--yes", "notes")
    assert (answer.code, "There is no vault notes" in answer.err) == (3, True)
    assert push_vault(vault, database).added == len(NOTES)


def test_a_reader_drops_nothing(excerpt: Excerpt, vault: Path, database: str, users: dict[str, str]) -> None:
    make_owner_a_maker_of_roles(database, users)
    with_roles(vault, users["owner"])
    add_members(database, users)
    assert excerpt("store", "drop", f"{users['reader']}?vault=notes", "--yes", "notes").code == 3
    assert push_vault(vault, users["writer"]).unchanged == len(NOTES)


def test_a_store_of_the_version_before_the_log_is_upgraded_in_place(
    excerpt: Excerpt, vault: Path, database: str
) -> None:
    push_vault(vault, database)
    with psycopg.connect(database) as connection:
        connection.execute("DROP FUNCTION excerpt_vault.pushed")
        connection.execute("DROP TABLE excerpt.pushed, excerpt.pushes, excerpt.postings")
        connection.execute("UPDATE excerpt.store SET version = 3")
    with pytest.raises(StoreUnusableError, match="older excerpt"), api.open(f"{database}?vault=notes") as stored:
        stored.load()
    assert push_vault(vault, database).unchanged == len(NOTES)
    assert logged(excerpt, database) == []


def test_setup_prints_nothing_for_a_database_that_can_be_a_store_and_for_one_that_is(
    excerpt: Excerpt, vault: Path, database: str
) -> None:
    for push in (False, True):
        if push:
            push_vault(vault, database)
        answer = excerpt("store", "setup", database)
        assert (answer.code, answer.out) == (0, "")
        assert "A vault can be pushed to postgresql://" in answer.err


def test_setup_prints_sql_that_creates_the_missing_database_and_its_role(
    excerpt: Excerpt, vault: Path, database: str
) -> None:
    name = f"{database.rpartition('/')[2]}_new'"
    role = f"role of {name}"
    address = database.replace("//excerpt@", f"//{quote(role)}@").rpartition("/")[0] + f"/{quote(name)}"
    answer = excerpt("store", "setup", address)
    assert (answer.code, "cannot be reached" in answer.err) == (3, True)
    with psycopg.connect(database, autocommit=True) as server:
        password = server.pgconn.password.decode()
        try:
            create_role, create_database, connect_and_extend = run_like_psql(server, answer.out)
            assert (create_role, create_database) == (
                f'CREATE ROLE "{role}" LOGIN',
                f'CREATE DATABASE "{name}" OWNER "{role}"',
            )
            assert connect_and_extend == f'\\connect "{name}"\nCREATE EXTENSION IF NOT EXISTS vector;'
            server.execute(f"ALTER ROLE \"{role}\" PASSWORD '{password}'")
            lacking = excerpt("store", "setup", address)
            connect, extend = connect_and_extend.splitlines()
            assert (lacking.code, lacking.out.splitlines()[::2]) == (0, [connect, extend])
            assert "may not create the extension pgvector" in lacking.err
            with psycopg.connect(f"{database.rpartition('/')[0]}/{quote(name)}", autocommit=True) as inside:
                inside.execute(connect_and_extend.partition("\n")[2])
            assert excerpt("store", "setup", address).code == 0
            assert push_vault(vault, address).added == len(NOTES)
        finally:
            server.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
            server.execute(f'DROP ROLE IF EXISTS "{role}"')


def run_like_psql(server: psycopg.Connection, script: str) -> list[str]:
    """Run what the queries of a script return, as psql does; return that, and the rest of the script."""
    *queries, rest = script.strip().split("\\gexec\n")
    run = [row[0] for query in queries for row in server.execute(query).fetchall()]
    for statement in run:
        server.execute(statement)
    return [*run, rest.strip()]


def test_setup_names_what_a_role_may_not_do_and_prints_the_grant(
    excerpt: Excerpt, database: str, users: dict[str, str]
) -> None:
    name, role = database.rpartition("/")[2], name_of(users["reader"])
    answer = excerpt("store", "setup", users["reader"])
    assert answer.code == 3
    assert f"excerpt: The role {role} may not create a schema in the database {name}.\n" in answer.err
    grants = f"ALTER ROLE {role} CREATEROLE;\nGRANT CREATE ON DATABASE {name} TO {role};\n"
    assert answer.out == f'\\connect "{name}"\n{grants}'
    assert excerpt("store", "setup", users["owner"]).code == 0


def test_setup_prints_what_lets_a_role_create_the_roles_of_others_and_them_share_memories(
    excerpt: Excerpt, vault: Path, database: str, users: dict[str, str]
) -> None:
    def run_setup(user: str) -> str:
        answer = excerpt("store", "setup", users[user])
        with psycopg.connect(database, autocommit=True) as connection:
            for statement in answer.out.splitlines()[1:]:
                if "excerpt_writer" not in statement:
                    connection.execute(statement)
        return answer.err

    push_vault(vault, users["owner"])
    assert "and share memories" in run_setup("owner")
    with_roles(vault, users["owner"])
    add_members(database, users)
    assert "may not share memories" in run_setup("reader")
    assert "share memories" not in run_setup("owner") + run_setup("reader")
    with api.open(f"{users['reader']}?vault=notes") as stored:
        assert stored.memories.remember("Bees winter.", source="Bees.md:1", shared=True).memory.is_shared


def test_setup_names_who_may_not_push_to_a_store_and_prints_the_grant(
    excerpt: Excerpt, vault: Path, database: str, users: dict[str, str]
) -> None:
    make_owner_a_maker_of_roles(database, users)
    with_roles(vault, users["owner"])
    add_members(database, users)
    assert [excerpt("store", "setup", users[kind]).code for kind in ("owner", "writer", "reader")] == [0, 0, 3]
    answer = excerpt("store", "setup", users["nobody"])
    assert (answer.code, "may not push to this store" in answer.err) == (3, True)
    assert answer.out.endswith(f"\nGRANT excerpt_writer TO {name_of(users['nobody'])};\n")
