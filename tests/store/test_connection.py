"""Tests of connections to a primary and its replica: addresses, lost servers, and what the test servers have."""

from __future__ import annotations

import psycopg
import pytest

import excerpt
from excerpt import Vault
from excerpt.base.errors import StoreUnusableError
from tests.store.conftest import replica_address
from tests.store.server import Servers
from tests.store.test_snapshot import matches_by_place

pytestmark = pytest.mark.store


def test_a_replica_shows_what_the_primary_has_committed(database: str, running: Servers) -> None:
    with psycopg.connect(database, autocommit=True) as primary:
        primary.execute("CREATE TABLE note (path text)")
        primary.execute("INSERT INTO note VALUES ('Bees.md')")
    with psycopg.connect(replica_address(database, running)) as replica:
        assert replica.execute("SELECT path FROM note").fetchall() == [("Bees.md",)]


def test_a_replica_answers_queries(store: str, running: Servers, folder_and_store: tuple[Vault, Vault]) -> None:
    base, _, name = store.partition("?")
    with excerpt.open(f"{replica_address(base, running)}?{name}") as replica:
        assert matches_by_place(replica.search("token budget")) == matches_by_place(
            folder_and_store[0].search("token budget")
        )


def test_an_address_with_a_password_is_refused() -> None:
    with pytest.raises(StoreUnusableError, match="password"):
        excerpt.open("postgresql://user:secret@localhost/db?vault=wiki")


def test_a_missing_server_is_reported_in_a_sentence() -> None:
    vault = excerpt.open("postgresql://excerpt@127.0.0.1:9/db?vault=wiki")
    with pytest.raises(StoreUnusableError, match="cannot be reached"):
        vault.search("anything")


def test_an_unknown_vault_is_reported_with_the_known_ones(store: str) -> None:
    vault = excerpt.open(f"{store.partition('?')[0]}?vault=wiki")
    with pytest.raises(StoreUnusableError) as caught:
        vault.search("anything")
    assert "demo" in caught.value.hint


def test_a_lost_connection_is_restored(folder_and_store: tuple[Vault, Vault], store: str) -> None:
    _, stored = folder_and_store
    stored.search("pack")
    with psycopg.connect(store.partition("?")[0], autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'excerpt'")
    assert stored.search("pack").hits
