"""Tests of the indexing processes of the open vaults: failures at their end, and several as one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from msgspec import structs

from excerpt.base.model import BuildReport, FileProblem, Progress
from excerpt.index.events import (
    EmbeddingFailed,
    IndexingFailed,
    IndexingPaused,
    IndexingResumed,
    VaultEmptied,
    VaultWatched,
)
from excerpt.service.indexing_process import IndexingEnded, IndexingProcess, ProcessEvent
from excerpt.service.joined_indexing import JoinedIndexing, create_indexing_process

PROGRESS = Progress("reading", 1, 2, 10, 20, "Ä note.md", 3, 0, 0.5)
REPORT = BuildReport(4, 1, 0, 0, 1, 9, 9, (FileProblem("a.md", "zeros"),), (), 0.5)
FAILED = IndexingFailed("The vault cannot be opened", "There is no folder at /b.", "")
ENDED = IndexingEnded(9, "out of memory")


@pytest.mark.parametrize(
    ("events", "reasons"),
    [
        ((ENDED,), ["out of memory"]),
        ((IndexingEnded(9, ""),), ["The process ended with code 9 and no message."]),
        ((FAILED, ENDED), [FAILED.message]),
        ((FAILED, VaultWatched(polling=False), ENDED), [FAILED.message, "out of memory"]),
        ((IndexingEnded(None, "Permission denied"),), ["Permission denied"]),
    ],
    ids=["stderr", "no message", "own reason", "later", "not started"],
)
def test_a_failing_process_reports_the_reason_before_it_ends(
    events: tuple[ProcessEvent, ...], reasons: list[str]
) -> None:
    reported: list[ProcessEvent] = []
    process = create_indexing_process(Path("/a"), reported.append)
    for event in events:
        process._on_event(event)
    assert [event.message for event in reported if isinstance(event, IndexingFailed)] == reasons
    assert reported[-1] == events[-1]


class Joined:
    """The indexing of the vaults a and b, whose processes are the test's: `says` reports as one of them does."""

    def __init__(self) -> None:
        self.reported: list[ProcessEvent] = []
        self.indexing = JoinedIndexing({"a": Path("/a"), "b": Path("/b")}, self.reported.append, lambda: 7)
        self.commands: list[tuple[str, str]] = []
        self.running = {"a", "b"}
        for name, vault in self.indexing._vaults.items():
            vault.process = cast(IndexingProcess, Recorded(self, name))

    def says(self, name: str, *events: ProcessEvent) -> list[ProcessEvent]:
        """Return what is reported for all vaults when the process of the vault `name` reports `events`."""
        before = len(self.reported)
        for event in events:
            if isinstance(event, IndexingEnded):
                self.running.discard(name)
            self.indexing._handle(name, event)
        return self.reported[before:]


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


def test_the_progress_of_several_vaults_is_summed_and_names_the_vault_of_the_file() -> None:
    joined = Joined()
    joined.says("a", PROGRESS)
    (progress,) = joined.says("b", PROGRESS)
    total = replace(PROGRESS, notes_done=2, notes_total=4, bytes_done=20, bytes_total=40)
    assert progress == replace(total, current="b/Ä note.md", generation=7)


def test_one_report_follows_when_the_builds_of_all_vaults_have_ended() -> None:
    joined = Joined()
    assert joined.says("a", REPORT) == []
    (report,) = joined.says("b", REPORT)
    assert isinstance(report, BuildReport)
    assert (report.added, report.fragments, report.generation) == (2, 18, 7)


def test_a_later_change_of_one_vault_is_reported_at_once() -> None:
    joined = Joined()
    joined.says("a", REPORT)
    joined.says("b", REPORT)
    (report,) = joined.says("b", PROGRESS, REPORT)[1:]
    assert isinstance(report, BuildReport)
    assert report.added == 1


def test_watching_is_reported_as_soon_as_every_vault_is_watched() -> None:
    joined = Joined()
    assert joined.says("a", VaultWatched(True)) == []
    assert joined.says("b", VaultWatched(False)) == [VaultWatched(True)]


def test_a_failing_vault_is_named_after_each_build_and_the_others_continue() -> None:
    joined = Joined()
    named = structs.replace(FAILED, message="b: There is no folder at /b.")
    assert joined.says("b", FAILED, ENDED) == [named]
    for _ in range(2):
        built, failed = joined.says("a", REPORT)
        assert isinstance(built, BuildReport)
        assert failed == named
    assert joined.says("a", VaultWatched(False)) == [VaultWatched(False)]
    assert joined.says("a", ENDED) == [ENDED]


def test_an_update_restarts_a_process_that_has_ended() -> None:
    joined = Joined()
    joined.says("b", FAILED, ENDED)
    joined.indexing.send("update")
    assert joined.running == {"a", "b"}
    assert joined.commands == [("a", "update"), ("b", "update")]


def test_only_the_emptied_vault_is_indexed_as_empty() -> None:
    joined = Joined()
    emptied = VaultEmptied(4, "/b has no notes any more.", "")
    assert joined.says("b", emptied) == [emptied]
    assert joined.indexing.emptied_vaults == (Path("/b"),)
    joined.indexing.send("agree")
    assert joined.commands == [("b", "agree")]


def test_a_pause_is_reported_once_all_vaults_are_paused() -> None:
    joined = Joined()
    assert joined.says("a", IndexingPaused()) == []
    assert joined.says("b", IndexingPaused()) == [IndexingPaused()]
    assert joined.says("a", IndexingResumed()) == []


def test_an_embedder_that_fails_is_named_with_its_vault() -> None:
    assert Joined().says("b", EmbeddingFailed("Gone.", "Wait.")) == [EmbeddingFailed("b: Gone.", "Wait.")]
