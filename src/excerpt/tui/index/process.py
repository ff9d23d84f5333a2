"""Events of the indexing process as messages of the app."""

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


def posting_process(vault: Path, post: Callable[[Message], object]) -> IndexingProcess:
    """Return the indexing process of a vault, not started yet, which posts its events as messages.

    `post` is called from its thread, also when the process ends without being asked to.
    """
    has_failed = False  # its last message was a failure, which says why it ended

    def handle_line(line: bytes) -> None:
        nonlocal has_failed
        message = message_of(line)
        if message is not None:
            has_failed = isinstance(message, Failure)
            post(message)

    def handle_exit(code: int | None, text: str) -> None:
        nonlocal has_failed
        if code is None:
            post(Failure("index", "The indexing process cannot be started", text, "Update tries again."))
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
        "Searches use what it committed. Update starts it again.",
    )


class _Event(msgspec.Struct):
    event: str
    title: str = ""
    message: str = ""
    hint: str = ""
    polling: bool = False
    notes: int = 0


def message_of(line: bytes) -> Message | None:
    """Return an event's line as a message; None for a line that is none."""
    try:
        return _message_of(line)
    except msgspec.MsgspecError:
        return None


def _message_of(line: bytes) -> Message | None:
    from excerpt.model import BuildReport, Progress

    event = msgspec.json.decode(line, type=_Event)
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
