"""The indexing process: one for as long as the vault is open, told what to do, listened to, ended with the app.

It is a child, so nothing it meets can touch the screen; and it stays, so that a changed note is searchable as soon as
it is read. A thread listens, not the event loop: while an editor has the terminal, indexing goes on.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Literal

import msgspec
from textual.message import Message

from excerpt.processes import watch_command
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

Command = Literal["update", "rebuild", "pause", "resume", "cancel", "agree"]
"""What it can be told, as `excerpt watch --progress` reads it."""

_STDERR_KEPT = 2_000
_END_SECONDS = 2.0
"""It ends within a moment, and loses nothing where it is killed."""


class Indexing:
    """At most one indexing process. `post` is called from a thread of its own, with a message for every line."""

    def __init__(self, vault: Path, post: Callable[[Message], object]) -> None:
        self._vault = vault
        self._post = post
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting: list[Command] = []
        self._thread: threading.Thread | None = None
        self._ending = False

    @property
    def running(self) -> bool:
        return self._thread is not None

    def start(self) -> None:
        """Start it; it looks at the whole vault by itself. Does nothing while it runs, or after `end`."""
        with self._lock:
            if self._thread is None and not self._ending:
                self._thread = threading.Thread(target=self._live, name="indexing", daemon=True)
                self._thread.start()

    def ask(self, command: Command) -> None:
        """Have it do something; nobody hears that while it does not run."""
        with self._lock:
            if self._process is not None:
                _send(self._process, command)
            elif self._thread is not None:
                self._waiting.append(command)

    def end(self) -> None:
        """End the process, if there is one, and wait for that; what it has committed stays."""
        with self._lock:
            self._ending = True
            thread = self._thread
            if self._process is not None:
                _hang_up(self._process)
        if thread is None:
            return
        thread.join(_END_SECONDS)
        with self._lock:
            if self._process is not None:
                self._process.kill()
        thread.join(_END_SECONDS)

    # --- in the thread ------------------------------------------------------------------------------------------------

    def _live(self) -> None:
        try:
            with tempfile.TemporaryFile() as complaint:
                self._run(complaint)
        except OSError as error:
            reason = error.strerror or str(error)
            self._post(Failure("index", "The indexing process cannot be started", reason, "Update tries again."))
        with self._lock:
            self._process, self._thread, self._waiting = None, None, []
            ending = self._ending
        if not ending:
            self._post(IndexEnded())

    def _run(self, complaint: IO[bytes]) -> None:
        # A session of its own: Ctrl+C in a program that has the terminal for a while is not for this one.
        process = subprocess.Popen(
            watch_command(self._vault),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaint,
            start_new_session=True,
        )
        with self._lock:
            self._process = process
            for command in self._waiting:
                _send(process, command)
            if self._ending:
                _hang_up(process)
        told = self._listen(process)
        with self._lock:
            self._process = None
            _hang_up(process)
        code = _ended(process)
        if not told and not self._ending:
            self._post(_early_end(code, _last_words(complaint)))

    def _listen(self, process: subprocess.Popen[bytes]) -> bool:
        """Post what it says, to its end; returns whether the last of it was what went wrong."""
        assert process.stdout is not None
        told = False
        for line in process.stdout:
            message = message_of(line)
            if message is not None and not self._ending:
                told = isinstance(message, Failure)
                self._post(message)
        return told


def _send(process: subprocess.Popen[bytes], command: Command) -> None:
    assert process.stdin is not None
    with suppress(OSError, ValueError):  # it has ended, or is about to: that is told by itself
        process.stdin.write(msgspec.json.encode({"do": command}) + b"\n")
        process.stdin.flush()


def _hang_up(process: subprocess.Popen[bytes]) -> None:
    """Without commands to come it ends."""
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.close()


def _ended(process: subprocess.Popen[bytes]) -> int:
    """Its exit code, once it says no more; it is killed if it does not end then."""
    assert process.stdout is not None
    process.stdout.close()
    try:
        return process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _last_words(complaint: IO[bytes]) -> str:
    """The end of what it wrote to stderr."""
    complaint.seek(max(0, complaint.seek(0, os.SEEK_END) - _STDERR_KEPT))
    return complaint.read().decode("utf-8", "replace").strip()


def _early_end(code: int, said: str) -> Failure:
    return Failure(
        "index",
        "The indexing process ended early",
        said or f"It ended with code {code} and said nothing.",
        "Searching goes on with what it had committed; Update starts it again.",
    )


class _Said(msgspec.Struct):
    event: str
    title: str = ""
    message: str = ""
    hint: str = ""
    polling: bool = False
    notes: int = 0


def message_of(line: bytes) -> Message | None:
    """A line of the process as a message; None for one that is not of its form."""
    try:
        return _message_of(line)
    except msgspec.MsgspecError:
        return None


def _message_of(line: bytes) -> Message | None:
    from excerpt.model import BuildReport, Progress

    said = msgspec.json.decode(line, type=_Said)
    message: Message | None = None
    match said.event:
        case "progress":
            message = IndexProgressed(msgspec.json.decode(line, type=Progress))
        case "done":
            message = IndexBuilt(msgspec.json.decode(line, type=BuildReport))
        case "error":
            message = Failure("index", said.title, said.message, said.hint)
        case "watching":
            message = IndexWatched(said.polling)
        case "paused" | "resumed":
            message = IndexPaused(said.event == "paused")
        case "cancelled":
            message = IndexCancelled()
        case "emptied":
            message = IndexEmptied(said.notes, said.message)
    return message
