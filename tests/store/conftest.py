"""Servers for all tests of the store, and for each a database of its own."""

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
from excerpt.index.snapshot import Snapshot
from excerpt.known_vaults import DEMO
from excerpt.settings import places
from excerpt.store.address import read_address
from excerpt.store.push import push
from tests.store.server import NoServerError, Servers, servers

_numbers = itertools.count()
_PATIENCE = 30.0  # seconds; a replica is behind by some milliseconds


@pytest.fixture(scope="session")
def running() -> Iterator[Servers]:
    """A primary and its replica."""
    try:
        with servers() as found:
            yield found
    except NoServerError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture
def database(running: Servers) -> Iterator[str]:
    """The address of a new, empty database on the primary."""
    with made_database(running, f"excerpt_test_{os.getpid()}_{next(_numbers)}") as address:
        yield address


@pytest.fixture(scope="session")
def store(running: Servers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the demo vault in a store."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch, made_database(running, f"excerpt_demo_{os.getpid()}") as database:
        patch.setenv("EXCERPT_HOME", str(home))
        address = f"{database}?vault=demo"
        with excerpt.open(DEMO) as vault:
            vault.load()
            push(index_of(vault), read_address(address), records_of(vault))
        yield address


def index_of(vault: Vault) -> Snapshot:
    """The index of a folder, which a push reads."""
    snapshot = vault._snapshot
    assert isinstance(snapshot, Snapshot)
    return snapshot


def records_of(vault: Vault) -> Path:
    """Where a copy of a vault records its pushes."""
    return places().push_folder(vault.folder)


@contextmanager
def made_database(running: Servers, name: str) -> Iterator[str]:
    """The address of a database that is there as long as the context. The server may be killed meanwhile."""
    with psycopg.connect(running.primary, autocommit=True) as maintenance:
        maintenance.execute(f"CREATE DATABASE {name}")
    yield in_database(running.primary, name)
    with psycopg.connect(running.primary, autocommit=True) as maintenance:
        maintenance.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def both(store: str) -> Iterator[tuple[Vault, Vault]]:
    """The demo vault as a folder, and in the store."""
    with excerpt.open(DEMO, refresh=False) as folder, excerpt.open(store) as stored:
        yield folder, stored


def in_database(dsn: str, name: str) -> str:
    """The address of another database of the same server."""
    before, _, _ = dsn.rpartition("/")
    return f"{before}/{name}"


@contextmanager
def closed(database: str) -> Iterator[None]:
    """As long as the context lasts, a database whose connections are lost, and that takes none."""
    name = database.rpartition("/")[2]
    with psycopg.connect(in_database(database, "postgres"), autocommit=True) as server:
        server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
        try:
            yield
        finally:
            server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")


def on_replica(database: str, running: Servers) -> str:
    """The address of a database on the replica, once this has all that the primary has committed."""
    with psycopg.connect(running.primary) as primary, psycopg.connect(running.replica, autocommit=True) as replica:
        (written,) = primary.execute("SELECT pg_current_wal_flush_lsn()").fetchall()[0]
        # There is nothing to wait by but asking.
        ends = time.monotonic() + _PATIENCE
        while not replica.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", (written,)).fetchall()[0][0]:
            assert time.monotonic() < ends, "the replica does not follow"
    return in_database(running.replica, database.rpartition("/")[2])
