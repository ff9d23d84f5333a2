"""Tests of the indexing process: its output becomes messages, it obeys commands and ends with the app."""

from __future__ import annotations

import json
import os
import queue
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import cast

import pytest
from textual.message import Message

from excerpt import indexing_process
from excerpt.indexing_process import IndexingProcess
from excerpt.model import BuildReport, EmbeddingProgress, FileProblem, Progress
from excerpt.tui.index.process import JoinedIndexing, create_indexing_process, parse_event
from excerpt.tui.messages import (
    EmbeddingCompleted,
    EmbeddingFailed,
    EmbeddingProgressed,
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
    embedding = EmbeddingProgress("~/minilm", 3, 9, None)
    assert parse_event(line("embedding", **asdict(embedding))) == EmbeddingProgressed(embedding)
    assert parse_event(line("embedding_failed", message="Gone.", hint="Wait.")) == EmbeddingFailed("Gone.", "Wait.")
    assert parse_event(line("embedded", generation=8, is_first=True)) == EmbeddingCompleted(8, is_first=True)
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


# --- several vaults ---------------------------------------------------------------------------------------------------

BUSY = Failure("index", "The vault cannot be opened", "There is no folder at /b.")


class Joined:
    """The indexing of the vaults a and b, whose processes are the test's: `says` reports as one of them does."""

    def __init__(self) -> None:
        self.posted: list[Message] = []
        self.indexing = JoinedIndexing({"a": Path("/a"), "b": Path("/b")}, self.posted.append, lambda: 7)
        self.commands: list[tuple[str, str]] = []
        self.running = {"a", "b"}
        for name, vault in self.indexing._vaults.items():
            vault.process = cast(IndexingProcess, Recorded(self, name))

    def says(self, name: str, *messages: Message) -> list[Message]:
        """Return what is posted when the process of the vault `name` reports `messages`."""
        before = len(self.posted)
        for message in messages:
            if isinstance(message, IndexEnded):
                self.running.discard(name)
            self.indexing._handle(name, message)
        return self.posted[before:]


class Recorded:
    """A process that only records its commands."""

    def __init__(self, joined: Joined, name: str) -> None:
        self._joined, self._name = joined, name

    @property
    def is_running(self) -> bool:
        return self._name in self._joined.running

    def start(self) -> None:
        self._joined.running.add(self._name)

    def send(self, command: str) -> None:
        self._joined.commands.append((self._name, command))


def test_the_progress_of_several_vaults_is_their_sum_and_names_the_vault_of_the_file() -> None:
    joined = Joined()
    joined.says("a", IndexProgressed(PROGRESS))
    (message,) = joined.says("b", IndexProgressed(PROGRESS))
    total = replace(PROGRESS, notes_done=2, notes_total=4, bytes_done=20, bytes_total=40)
    assert message == IndexProgressed(replace(total, current="b/Ä note.md", generation=7))


def test_a_report_is_posted_when_all_vaults_are_built() -> None:
    joined = Joined()
    assert joined.says("a", IndexBuilt(REPORT)) == []
    (message,) = joined.says("b", IndexBuilt(REPORT))
    assert isinstance(message, IndexBuilt)
    assert (message.report.added, message.report.fragments, message.report.generation) == (2, 18, 7)


def test_a_later_change_of_one_vault_is_reported_at_once() -> None:
    joined = Joined()
    joined.says("a", IndexBuilt(REPORT))
    joined.says("b", IndexBuilt(REPORT))
    (message,) = joined.says("b", IndexProgressed(PROGRESS), IndexBuilt(REPORT))[1:]
    assert isinstance(message, IndexBuilt)
    assert message.report.added == 1


def test_changes_are_detected_once_every_vault_is_watched() -> None:
    joined = Joined()
    assert joined.says("a", IndexWatched(True)) == []
    assert joined.says("b", IndexWatched(False)) == [IndexWatched(True)]


def test_a_vault_that_fails_is_named_after_each_build_and_the_others_go_on() -> None:
    joined = Joined()
    named = replace(BUSY, message="b: There is no folder at /b.")
    assert joined.says("b", BUSY, IndexEnded()) == [named]
    for _ in range(2):
        built, failed = joined.says("a", IndexBuilt(REPORT))
        assert isinstance(built, IndexBuilt)
        assert failed == named
    assert joined.says("a", IndexWatched(False)) == [IndexWatched(False)]
    assert joined.says("a", IndexEnded()) == [IndexEnded()]


def test_an_update_starts_a_process_that_has_ended() -> None:
    joined = Joined()
    joined.says("b", BUSY, IndexEnded())
    joined.indexing.send("update")
    assert joined.running == {"a", "b"}
    assert joined.commands == [("a", "update"), ("b", "update")]


def test_only_the_emptied_vault_is_indexed_as_empty() -> None:
    joined = Joined()
    emptied = IndexEmptied(4, "/b has no notes any more.")
    assert joined.says("b", emptied) == [emptied]
    assert joined.indexing.emptied_vaults == (Path("/b"),)
    joined.indexing.send("agree")
    assert joined.commands == [("b", "agree")]


def test_a_pause_is_posted_once_all_vaults_are_paused() -> None:
    joined = Joined()
    assert joined.says("a", IndexPaused(True)) == []
    assert joined.says("b", IndexPaused(True)) == [IndexPaused(True)]
