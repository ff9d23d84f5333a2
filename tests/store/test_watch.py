"""Tests of `excerpt watch --to`: changes in the folder reach the store and its replica without a command."""

from __future__ import annotations

import queue
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import excerpt
from excerpt import Vault
from excerpt.base.model import BuildReport
from excerpt.index.events import IndexingEvent, IndexingFailed
from excerpt_postgres.address import parse_address
from excerpt_postgres.compare import NO_RULES
from excerpt_postgres.push_vault import PushThread
from tests.cli.test_watch import PATIENCE, Child
from tests.store.conftest import address_in_database, closed_database
from tests.store.server import Servers
from tests.store.test_push import vault

__all__ = ["vault"]
pytestmark = pytest.mark.store


@pytest.fixture
def child(vault: Path, database: str) -> Iterator[Child]:
    """Start a child that has pushed the vault and watches it."""
    child = Child(vault, "--to", f"{database}?vault=notes")
    if "watching" not in child.names_until("pushed"):
        child.until("watching")
    yield child
    assert child.end() == 0


def first_of(stored: Vault, query: str) -> str:
    return stored.search(query).hits[0].fragment.path


def test_an_edit_is_found_on_the_replica(child: Child, vault: Path, database: str, running: Servers) -> None:
    replica = address_in_database(running.replica, database.rpartition("/")[2])
    with excerpt.open(f"{replica}?vault=notes") as stored:
        (vault / "Mead.md").write_text("# Mead\n\nHoney and water, fermented.\n", encoding="utf-8")
        assert child.until("pushed")["added"] == 1
        ends = time.monotonic() + PATIENCE
        while first_of(stored, "fermented water") != "Mead.md":
            assert time.monotonic() < ends
        (vault / "Mead.md").unlink()
        assert child.until("pushed")["removed"] == 1


def test_a_lost_server_is_reported_once_and_gets_the_changes_after_its_return(
    child: Child, vault: Path, database: str
) -> None:
    with closed_database(database):
        (vault / "Mead.md").write_text("# Mead\n\nHoney and water, fermented.\n", encoding="utf-8")
        assert child.until("error")["title"] == "The store cannot be used"
    assert child.names_until("pushed") == ["pushed"]
    with excerpt.open(f"{database}?vault=notes") as stored:
        assert first_of(stored, "fermented water") == "Mead.md"


def test_an_internal_error_is_reported(vault: Path, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("odd")

    monkeypatch.setattr("excerpt_postgres.push.Pusher.push", fail)
    with excerpt.open(vault) as opened:
        opened.load()
    told: queue.Queue[IndexingEvent] = queue.Queue()
    pushing = PushThread(vault, parse_address(f"{database}?vault=notes"), told.put, str, NO_RULES)
    built = BuildReport(1, 0, 0, 0, 0, 0, 0, (), (), 0.0)
    pushing(built)
    assert told.get(timeout=PATIENCE) == built
    assert isinstance(told.get(timeout=PATIENCE), IndexingFailed)
    pushing.stop()
