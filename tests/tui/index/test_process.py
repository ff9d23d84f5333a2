"""Tests of the indexing process: its output becomes messages, it obeys commands and ends with the app."""

from __future__ import annotations

import json
import os
import queue
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
from textual.message import Message

from excerpt import indexing_process
from excerpt.model import BuildReport, FileProblem, Progress
from excerpt.tui.index.process import create_indexing_process, parse_event
from excerpt.tui.messages import (
    Failure,
    IndexBuilt,
    IndexCancelled,
    IndexEmptied,
    IndexEnded,
    IndexPaused,
    IndexProgressed,
    IndexWatched,
)
from tests.tui.driver import TIMEOUT_SECONDS

PROGRESS = Progress("reading", 1, 2, 10, 20, "Ä note.md", 3, 0, 0.5)
REPORT = BuildReport(4, 1, 0, 0, 1, 9, 9, (FileProblem("a.md", "zeros"),), (), 0.5)

ECHO = """
import json, sys
print(json.dumps({"event": "watching", "polling": False}), flush=True)
for line in sys.stdin:
    print(json.dumps({"event": "error", "title": "told", "message": json.loads(line)["do"]}), flush=True)
"""
"""A script that reports "watching", then repeats each command until its input ends."""


def line(event: str, **values: object) -> bytes:
    return json.dumps({"event": event, **values}).encode()


class Run:
    """An indexing process that runs a Python script, and the messages it posts."""

    def __init__(self, vault: Path) -> None:
        self._posted: queue.Queue[Message] = queue.Queue()
        self.indexing = create_indexing_process(vault, self._posted.put)

    def next(self) -> Message:
        return self._posted.get(timeout=TIMEOUT_SECONDS)

    def nothing_more(self) -> bool:
        return self._posted.empty()


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


def test_its_lines_are_messages() -> None:
    assert parse_event(line("progress", **asdict(PROGRESS))) == IndexProgressed(PROGRESS)
    assert parse_event(line("done", **asdict(REPORT))) == IndexBuilt(REPORT)
    assert parse_event(line("watching", polling=True)) == IndexWatched(polling=True)
    assert parse_event(line("paused")) == IndexPaused(paused=True)
    assert parse_event(line("resumed")) == IndexPaused(paused=False)
    assert parse_event(line("cancelled")) == IndexCancelled()
    emptied = IndexEmptied(171, "No note is left.")
    assert parse_event(line("emptied", notes=171, message="No note is left.", hint="Bring them back.")) == emptied
    failure = Failure("index", "Title", "Sentence.", "Hint.")
    assert parse_event(line("error", title="Title", message="Sentence.", hint="Hint.")) == failure


@pytest.mark.parametrize("noise", [b"", b"warning: something\n", b"{}", b'{"event": "news"}', b'{"event": "progress"}'])
def test_what_is_not_of_its_form_is_left_out(noise: bytes) -> None:
    assert parse_event(noise) is None


def test_of_progress_that_waits_only_the_last_is_heard() -> None:
    assert IndexProgressed(PROGRESS).can_replace(IndexProgressed(PROGRESS))
    assert not IndexProgressed(PROGRESS).can_replace(IndexBuilt(REPORT))


def test_commands_reach_it_in_their_order_those_of_before_it_was_there_too(start: Start) -> None:
    run = start(ECHO)
    run.indexing.send("pause")
    run.indexing.send("update")
    assert run.next() == IndexWatched(polling=False)
    run.indexing.send("resume")
    assert [run.next() for _ in range(3)] == [Failure("index", "told", did) for did in ("pause", "update", "resume")]


def test_a_second_start_at_once_does_nothing(start: Start) -> None:
    run = start(ECHO)
    run.indexing.start()
    assert run.next() == IndexWatched(polling=False)
    run.indexing.end()
    assert run.nothing_more()


def test_an_early_end_is_told_with_what_it_said_and_it_can_be_started_again(start: Start) -> None:
    run = start("import sys; print('no json'); sys.stderr.write('out of memory'); sys.exit(9)")
    for _ in range(2):
        failure = run.next()
        assert isinstance(failure, Failure)
        assert failure.message == "out of memory"
        assert run.next() == IndexEnded()
        assert not run.indexing.is_running
        run.indexing.start()


def test_an_end_that_it_gave_a_reason_for_is_told_by_that_reason_alone(start: Start) -> None:
    said = line("error", title="Gone", message="The vault is gone.", hint="")
    run = start(f"import sys; print({said.decode()!r}); sys.exit(3)")
    assert run.next() == Failure("index", "Gone", "The vault is gone.", "")
    assert run.next() == IndexEnded()


def test_a_process_that_cannot_be_started_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(indexing_process, "watch_command", lambda vault: [str(tmp_path / "no such program")])
    run = Run(tmp_path)
    run.indexing.start()
    failure = run.next()
    assert isinstance(failure, Failure)
    assert run.next() == IndexEnded()


def test_it_ends_with_the_app_and_says_nothing_then(start: Start) -> None:
    run = start(ECHO)
    run.next()
    process = run.indexing._process
    assert process is not None
    run.indexing.end()
    assert process.returncode == 0
    assert run.nothing_more()
    assert not run.indexing.is_running


def test_one_that_does_not_end_by_itself_is_killed(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing_process, "_END_SECONDS", 0.2)
    run = start(f"{ECHO}\nimport time; time.sleep(600)")
    run.next()
    process = run.indexing._process
    assert process is not None
    run.indexing.end()
    assert process.wait(TIMEOUT_SECONDS) != 0


@pytest.mark.skipif(os.name != "posix", reason="sessions are POSIX")
def test_a_key_that_interrupts_a_program_in_the_terminal_does_not_reach_it(start: Start) -> None:
    run = start("import os, json; print(json.dumps({'event': 'error', 'message': str(os.getsid(0) == os.getpid())}))")
    assert run.next() == Failure("index", "", "True", "")
