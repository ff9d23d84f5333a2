"""Fixtures: the servers for all tests of the store, and a separate database for each test."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

import excerpt
from excerpt import Vault
from excerpt.base.settings import user_paths
from excerpt.index.snapshot import Snapshot
from excerpt.vault.known_vaults import DEMO
from excerpt_postgres.address import parse_address
from excerpt_postgres.push import push
from tests.store.server import NoServerError, Servers, servers

_numbers = itertools.count()
_LOCK_SECONDS = 240.0  # seconds; a replica lags by some milliseconds


@pytest.fixture(scope="session")
def running() -> Iterator[Servers]:
    """Start a primary and its replica."""
    try:
        with servers() as found:
            yield found
    except NoServerError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture
def database(running: Servers) -> Iterator[str]:
    """Create an empty database on the primary and return its address."""
    with temporary_database(running, f"excerpt_test_{os.getpid()}_{next(_numbers)}") as address:
        yield address


@pytest.fixture(scope="session")
def store(running: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Push the demo vault to a store and return its address."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch, temporary_database(running, f"excerpt_demo_{os.getpid()}") as database:
        patch.setenv("EXCERPT_HOME", str(home))
        address = f"{database}?vault=demo"
        with excerpt.open(DEMO) as vault:
            vault.load()
            push(index_of(vault), parse_address(address), records_of(vault))
        yield address


def index_of(vault: Vault) -> Snapshot:
    """Return the index of a folder vault, which a push reads."""
    snapshot = vault._snapshot
    assert isinstance(snapshot, Snapshot)
    return snapshot


def records_of(vault: Vault) -> Path:
    """Return the folder where a copy of a vault records its pushes."""
    return user_paths().push_folder(vault.folder)


@contextmanager
def temporary_database(running: Servers, name: str) -> Iterator[str]:
    """Yield the address of a database that exists for the context; the server may be killed meanwhile."""
    with psycopg.connect(running.primary, autocommit=True) as maintenance:
        maintenance.execute(f"CREATE DATABASE {name}")
    yield address_in_database(running.primary, name)
    with psycopg.connect(running.primary, autocommit=True) as maintenance:
        maintenance.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def folder_and_store(store: str) -> Iterator[tuple[Vault, Vault]]:
    """Return the demo vault opened from its folder and from the store."""
    with excerpt.open(DEMO, refresh=False) as folder, excerpt.open(store) as stored:
        yield folder, stored


def address_in_database(dsn: str, name: str) -> str:
    """Return the address of another database of the same server."""
    before, _, _ = dsn.rpartition("/")
    return f"{before}/{name}"


@contextmanager
def closed_database(database: str) -> Iterator[None]:
    """Drop a database's connections and refuse new ones, within the context."""
    name = database.rpartition("/")[2]
    with psycopg.connect(address_in_database(database, "postgres"), autocommit=True) as server:
        server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
        try:
            yield
        finally:
            server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")


def replica_address(database: str, running: Servers) -> str:
    """Wait until the replica has all commits of the primary; return the database's address there."""
    with psycopg.connect(running.primary) as primary, psycopg.connect(running.replica, autocommit=True) as replica:
        (written,) = primary.execute("SELECT pg_current_wal_flush_lsn()").fetchall()[0]
        # The only way to wait is to poll.
        ends = time.monotonic() + _LOCK_SECONDS
        while not replica.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", (written,)).fetchall()[0][0]:
            assert time.monotonic() < ends, "the replica does not follow"
    return address_in_database(running.replica, database.rpartition("/")[2])
