"""The indexing process of a vault, whose events are posted as messages to the screen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
from textual.message import Message

from excerpt.indexing_process import IndexingProcess
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


def create_indexing_process(vault: Path, post: Callable[[Message], object]) -> IndexingProcess:
    """Return an indexing process for a vault, not started yet, that posts each of its events as a message.

    `post` is called in the thread that reads the events. When the process ends, an IndexEnded is posted, with a Failure
    before it if the process has not reported a reason itself.
    """
    has_failed = False  # whether the last event of the process was a failure

    def handle_line(line: bytes) -> None:
        nonlocal has_failed
        message = parse_event(line)
        if message is not None:
            has_failed = isinstance(message, Failure)
            post(message)

    def handle_exit(code: int | None, text: str) -> None:
        nonlocal has_failed
        if code is None:
            post(Failure("index", "The indexing process cannot be started", text, "“Update” tries again."))
        elif not has_failed:
            post(_early_exit_failure(code, text))
        has_failed = False
        post(IndexEnded())

    return IndexingProcess(vault, handle_line, handle_exit)


def _early_exit_failure(code: int, stderr: str) -> Failure:
    return Failure(
        "index",
        "The indexing process ended early",
        stderr or f"It ended with code {code} and no message.",
        "Searches use the notes that it has committed. “Update” starts it again.",
    )


class _ProcessEvent(msgspec.Struct):
    event: str
    title: str = ""
    message: str = ""
    hint: str = ""
    polling: bool = False
    notes: int = 0


def parse_event(line: bytes) -> Message | None:
    """Return the message for a line (a JSON event) of the indexing process; None if the line is no event."""
    try:
        return _parse_event(line)
    except msgspec.MsgspecError:
        return None


def _parse_event(line: bytes) -> Message | None:
    from excerpt.model import BuildReport, Progress

    event = msgspec.json.decode(line, type=_ProcessEvent)
    message: Message | None = None
    match event.event:
        case "progress":
            message = IndexProgressed(msgspec.json.decode(line, type=Progress))
        case "done":
            message = IndexBuilt(msgspec.json.decode(line, type=BuildReport))
        case "error":
            message = Failure("index", event.title, event.message, event.hint)
        case "watching":
            message = IndexWatched(event.polling)
        case "paused" | "resumed":
            message = IndexPaused(event.event == "paused")
        case "cancelled":
            message = IndexCancelled()
        case "emptied":
            message = IndexEmptied(event.notes, event.message)
    return message
