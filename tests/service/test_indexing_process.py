"""Tests of the indexing process: it reports its child's events, passes commands on and ends with the app."""

from __future__ import annotations

import os
import queue
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from excerpt.index.events import IndexingFailed, VaultWatched
from excerpt.service import indexing_process
from excerpt.service.indexing_process import IndexingEnded, IndexingProcess, ProcessEvent
from tests.service.manual_loop import TIMEOUT_SECONDS

ECHO = """
import json, sys
print(json.dumps({"event": "watching", "polling": False}), flush=True)
for line in sys.stdin:
    command = json.loads(line)["do"]
    print(json.dumps({"event": "error", "title": "told", "message": command, "hint": ""}), flush=True)
"""
"""A script that reports "watching", then repeats each command until its input ends."""


class Run:
    """An indexing process that runs a Python script, and the events that it reports."""

    def __init__(self, vault: Path) -> None:
        self._reported: queue.Queue[ProcessEvent] = queue.Queue()
        self.indexing = IndexingProcess(vault, self._reported.put)

    def next(self) -> ProcessEvent:
        return self._reported.get(timeout=TIMEOUT_SECONDS)

    def nothing_more(self) -> bool:
        return self._reported.empty()


Start = Callable[[str], Run]


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Start]:
    runs: list[Run] = []

    def begin(script: str) -> Run:
        monkeypatch.setattr(indexing_process, "watch_command", lambda vault: [sys.executable, "-c", script])
        runs.append(Run(tmp_path))
        runs[-1].indexing.start()
        return runs[-1]

    yield begin
    for run in runs:
        run.indexing.end()


def test_commands_sent_before_the_process_has_started_reach_it_in_order(start: Start) -> None:
    run = start(ECHO)
    run.indexing.send("pause")
    run.indexing.send("update")
    assert run.next() == VaultWatched(polling=False)
    run.indexing.send("resume")
    assert [run.next() for _ in range(3)] == [
        IndexingFailed("told", command, "") for command in ("pause", "update", "resume")
    ]


def test_a_second_start_does_nothing(start: Start) -> None:
    run = start(ECHO)
    run.indexing.start()
    assert run.next() == VaultWatched(polling=False)
    run.indexing.end()
    assert run.nothing_more()


def test_an_early_end_is_reported_and_the_process_can_be_restarted(start: Start) -> None:
    run = start("import sys; print('no json'); sys.stderr.write('out of memory'); sys.exit(9)")
    for _ in range(2):
        assert run.next() == IndexingEnded(9, "out of memory")
        assert not run.indexing.is_running
        run.indexing.start()


def test_a_process_that_cannot_be_started_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(indexing_process, "watch_command", lambda vault: [str(tmp_path / "no such program")])
    run = Run(tmp_path)
    run.indexing.start()
    ended = run.next()
    assert isinstance(ended, IndexingEnded)
    assert ended.code is None


def test_when_the_app_ends_the_indexing_process_ends_without_an_event(start: Start) -> None:
    run = start(ECHO)
    run.next()
    process = run.indexing._process
    assert process is not None
    run.indexing.end()
    assert process.returncode == 0
    assert run.nothing_more()
    assert not run.indexing.is_running


def test_a_process_that_does_not_end_is_killed(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing_process, "_END_SECONDS", 0.2)
    run = start(f"{ECHO}\nimport time; time.sleep(600)")
    run.next()
    process = run.indexing._process
    assert process is not None
    run.indexing.end()
    assert process.wait(TIMEOUT_SECONDS) != 0


@pytest.mark.skipif(os.name != "posix", reason="sessions are POSIX")
def test_an_interrupt_in_the_terminal_does_not_reach_the_process(start: Start) -> None:
    run = start("import os, json; print(json.dumps({'event': 'watching', 'polling': os.getsid(0) == os.getpid()}))")
    assert run.next() == VaultWatched(polling=True)
