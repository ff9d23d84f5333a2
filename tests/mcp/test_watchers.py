"""Tests that all servers of a vault share one process that watches it, and that another server takes over."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from excerpt.settings import user_paths
from excerpt.vault.watched import mark_watched
from tests.clients.processes import left_after, processes_of
from tests.mcp.conftest import indexed
from tests.mcp.test_serving import process

pytestmark = [pytest.mark.programs, pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")]

SECONDS = 60.0  # on a busy machine
OBSERVED_SECONDS = 4.0  # longer than two looks of a server for a vault that nobody watches

Servers = list[subprocess.Popen[bytes]]


@pytest.fixture
def servers(home: Path, vault: Path) -> Iterator[Servers]:
    """Start three servers of one vault at the same moment."""
    indexed(vault)
    with ExitStack() as stack:
        started = [stack.enter_context(process(home, vault)) for _ in range(3)]
        yield started
        for each in started:
            each.kill()


def watchers(home: Path) -> set[int]:
    return {number for number, command in processes_of(home).items() if " watch --vault " in command}


def parent(number: int) -> int:
    return int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1])


def new_watcher(home: Path, ended: int = 0) -> int:
    """Wait for a watcher, and return it; there may never be two, but for one that is about to end."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        running = watchers(home) - {ended}
        assert len(running) <= 1
        if running:
            return running.pop()
        time.sleep(0.02)
    raise AssertionError("nobody watches the vault")


def stays_so(home: Path, expected: set[int]) -> None:
    deadline = time.monotonic() + OBSERVED_SECONDS
    while time.monotonic() < deadline:
        assert watchers(home) == expected
        time.sleep(0.05)


@pytest.mark.parametrize("end", [subprocess.Popen.kill, lambda server: server.stdin.close()], ids=["killed", "left"])
def test_of_servers_started_at_once_one_watches_and_another_one_after_its_end(
    home: Path, servers: Servers, end: Callable[[subprocess.Popen[bytes]], None]
) -> None:
    first = new_watcher(home)
    stays_so(home, {first})
    (server,) = (each for each in servers if each.pid == parent(first))
    end(server)
    server.wait(SECONDS)
    second = new_watcher(home, ended=first)
    assert parent(second) in {each.pid for each in servers} - {server.pid}
    for each in servers:
        each.kill()
    assert not left_after(SECONDS, home)


def test_a_watcher_that_is_killed_is_replaced_by_one(home: Path, servers: Servers) -> None:
    first = new_watcher(home)
    subprocess.run(["kill", "-9", str(first)], check=True)
    second = new_watcher(home, ended=first)
    stays_so(home, {second})


def test_a_server_starts_to_watch_once_the_app_no_longer_does(home: Path, vault: Path) -> None:
    indexed(vault)
    with ExitStack() as app:
        app.enter_context(mark_watched(user_paths().watch_folder(vault)))
        with process(home, vault) as server:
            stays_so(home, set())
            app.close()
            assert parent(new_watcher(home)) == server.pid
            server.kill()
