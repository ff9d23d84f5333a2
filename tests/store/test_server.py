"""Tests of the test servers: a primary with both extensions, and a replica that follows it."""

from __future__ import annotations

import psycopg
import pytest

from tests.store.conftest import on_replica
from tests.store.server import Servers

pytestmark = pytest.mark.store


def test_a_database_has_both_extensions(database: str) -> None:
    with psycopg.connect(database) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("CREATE EXTENSION pg_textsearch")
        found = connection.execute("SELECT extname FROM pg_extension ORDER BY extname").fetchall()
    assert ("pg_textsearch",) in found
    assert ("vector",) in found


def test_a_replica_shows_what_the_primary_has_committed(database: str, running: Servers) -> None:
    with psycopg.connect(database, autocommit=True) as primary:
        primary.execute("CREATE TABLE note (path text)")
        primary.execute("INSERT INTO note VALUES ('Bees.md')")
    with psycopg.connect(on_replica(database, running)) as replica:
        assert replica.execute("SELECT path FROM note").fetchall() == [("Bees.md",)]
