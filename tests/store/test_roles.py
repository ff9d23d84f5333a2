"""Roles of a store: members of excerpt_writer push, members of excerpt_reader read, and neither does more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import excerpt
from excerpt.errors import StoreUnusableError
from excerpt.store.address import read_address
from excerpt.store.push import push
from tests.store.test_push import NOTES, pushed, statistics, vault

__all__ = ["vault"]
pytestmark = pytest.mark.store


@pytest.fixture
def users(database: str) -> Iterator[dict[str, str]]:
    """Addresses of a user for each of: the owner of the database, a writer, a reader, and one without any right."""
    name = database.rpartition("/")[2]
    called = {kind: f"{kind}_{name}" for kind in ("owner", "writer", "reader", "nobody")}
    with psycopg.connect(database, autocommit=True) as connection:
        password = connection.pgconn.password.decode()
        connection.execute("CREATE EXTENSION vector")
        connection.execute("CREATE EXTENSION pg_textsearch")
        for user in called.values():
            connection.execute(f"CREATE ROLE {user} LOGIN PASSWORD '{password}'")
        connection.execute(f"ALTER DATABASE {name} OWNER TO {called['owner']}")
        yield {kind: database.replace("//excerpt@", f"//{user}@") for kind, user in called.items()}
        for group in ("excerpt_writer", "excerpt_reader"):
            if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (group,)).fetchall():
                connection.execute(f"DROP OWNED BY {group} CASCADE")
                connection.execute(f"DROP ROLE {group}")
        connection.execute(f"ALTER DATABASE {name} OWNER TO excerpt")
        for user in called.values():
            connection.execute(f"DROP OWNED BY {user} CASCADE")
            connection.execute(f"DROP ROLE {user}")


def with_roles(vault: Path, address: str) -> None:
    with excerpt.open(vault) as opened:
        opened.load()
        push(opened._snapshot, read_address(f"{address}?vault=notes"), roles=True)


def enrol(database: str, users: dict[str, str]) -> None:
    """Make the writer and the reader members of the roles, as who keeps the server does."""
    with psycopg.connect(database, autocommit=True) as connection:
        for kind in ("writer", "reader"):
            user = users[kind].partition("//")[2].partition("@")[0]
            connection.execute(f"GRANT excerpt_{kind} TO {user}")


def make_owner_a_maker_of_roles(database: str, users: dict[str, str]) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(f"ALTER ROLE {users['owner'].partition('//')[2].partition('@')[0]} CREATEROLE")


def test_a_member_of_the_writers_brings_a_vault_up_to_date_and_adds_one(
    vault: Path, database: str, users: dict[str, str]
) -> None:
    make_owner_a_maker_of_roles(database, users)
    with_roles(vault, users["owner"])
    enrol(database, users)
    (vault / "Mead.md").write_text("# Mead\n\nHoney and water, fermented.\n", encoding="utf-8")
    assert pushed(vault, users["writer"]).added == 1
    assert pushed(vault, users["writer"], "second").added == len(NOTES) + 1
    assert statistics(database) == statistics(database, "second")
    (vault / "Mead.md").unlink()
    assert pushed(vault, users["owner"], "second").removed == 1


def test_a_member_of_the_readers_reads_what_was_pushed_before_and_after_but_writes_nothing(
    vault: Path, database: str, users: dict[str, str]
) -> None:
    make_owner_a_maker_of_roles(database, users)
    with_roles(vault, users["owner"])
    enrol(database, users)
    pushed(vault, users["writer"], "second")
    for name in ("notes", "second"):
        with excerpt.open(f"{users['reader']}?vault={name}") as stored:
            assert stored.search("how does a colony winter").hits[0].fragment.path == "Bees.md"
            assert stored.search('"green tea"', strategy="proximity").hits[0].fragment.path == "kitchen/Tea.md"
    with pytest.raises(StoreUnusableError, match="does not allow"):
        pushed(vault, users["reader"])
    with psycopg.connect(users["reader"]) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("DELETE FROM excerpt.notes")


def test_who_is_in_neither_role_reads_nothing(vault: Path, database: str, users: dict[str, str]) -> None:
    make_owner_a_maker_of_roles(database, users)
    with_roles(vault, users["owner"])
    with pytest.raises(StoreUnusableError, match="does not allow"):
        excerpt.open(f"{users['nobody']}?vault=notes").search("honey")


def test_roles_can_be_made_for_a_store_that_is_there_and_made_twice(
    vault: Path, database: str, users: dict[str, str]
) -> None:
    make_owner_a_maker_of_roles(database, users)
    pushed(vault, users["owner"])
    with_roles(vault, users["owner"])
    with_roles(vault, users["owner"])
    enrol(database, users)
    assert pushed(vault, users["writer"]).unchanged == len(NOTES)


def test_without_the_right_to_make_roles_it_is_said_who_can(vault: Path, users: dict[str, str]) -> None:
    with pytest.raises(StoreUnusableError, match="may not make the role excerpt_writer"):
        with_roles(vault, users["owner"])
