"""Tests of the events of an indexing process and the commands to it, as lines of JSON."""

from __future__ import annotations

import json

import pytest

from excerpt.base.model import BuildReport, EmbeddingProgress, FileProblem, FolderRights, Progress, PushReport
from excerpt.index.events import (
    EmbeddingCompleted,
    EmbeddingFailed,
    IndexingCancelled,
    IndexingEvent,
    IndexingFailed,
    IndexingPaused,
    IndexingResumed,
    VaultEmptied,
    VaultWatched,
    command_to_line,
    event_to_json,
    parse_command,
    parse_event,
)

EVENTS: dict[str, IndexingEvent] = {
    "progress": Progress("reading", 1, 2, 10, 20, "Ä note.md", 3, 0, 0.5),
    "done": BuildReport(4, 1, 0, 0, 1, 9, 9, (FileProblem("a.md", "zeros"),), (), 0.5),
    "watching": VaultWatched(polling=True),
    "paused": IndexingPaused(),
    "resumed": IndexingResumed(),
    "cancelled": IndexingCancelled(),
    "emptied": VaultEmptied(171, "No note is left.", "Bring them back."),
    "error": IndexingFailed("Title", "Sentence.", "Hint."),
    "embedding": EmbeddingProgress("~/minilm", 3, 9, None),
    "embedding_failed": EmbeddingFailed("Gone.", "Wait."),
    "embedded": EmbeddingCompleted(8, is_first=True),
    "pushed": PushReport(1, 0, 0, 2, 0, ("a.md",), 9, 0.5, (FolderRights("", ("reader",), 3),), "0/16"),
}


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_is_read_as_it_was_written(name: str) -> None:
    fields = event_to_json(EVENTS[name])
    assert next(iter(fields.items())) == ("event", name)
    assert parse_event(json.dumps(fields).encode()) == EVENTS[name]


@pytest.mark.parametrize(
    "noise",
    [b"", b"warning: something\n", b"{}", b"[]", b'{"event": "news"}', b'{"event": 3}', b'{"event": "progress"}'],
)
def test_a_line_that_is_no_event_is_ignored(noise: bytes) -> None:
    assert parse_event(noise) is None


def test_a_command_is_read_as_it_was_written() -> None:
    assert parse_command(command_to_line("rebuild")) == "rebuild"


@pytest.mark.parametrize("line", [b"", b"update", b'{"do": "nonsense"}', b'{"do": 3}', b"[" * 100_000])
def test_a_line_that_is_no_command_is_ignored(line: bytes) -> None:
    assert parse_command(line) is None
