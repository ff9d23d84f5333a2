"""The indexing process: `excerpt watch` on one vault, as a child process of the app or of a server.

In a child process, no error of indexing can disturb the screen or an answer. The process keeps running, so that a
changed note can be searched within a moment. A thread reads its output, not the event loop, so that indexing continues
while an editor has the terminal.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, TypeAlias

from msgspec import Struct

from excerpt.base.processes import watch_command
from excerpt.index.events import Command, IndexingEvent, command_to_line, parse_event

_STDERR_CHARACTERS = 2_000
_END_SECONDS = 2.0
"""Time that the child has to end before it is killed. A killed child loses nothing that it has committed."""


class IndexingEnded(Struct, frozen=True):
    """The process has ended by itself: `code` is its exit code, `text` the end of its stderr.

    If it could not be started, `code` is None and `text` the system's error message.
    """

    code: int | None
    text: str


ProcessEvent: TypeAlias = "IndexingEvent | IndexingEnded"
"""An event that the process has reported, or its end."""


class IndexingProcess:
    """Starts, commands and ends one child process that indexes and watches `vault`.

    `on_event` is called with each event that the child reports, and with IndexingEnded if it ends without a call of
    `end`. It is called in a thread of this object.
    """

    def __init__(self, vault: Path, on_event: Callable[[ProcessEvent], object]) -> None:
        self._vault = vault
        self._on_event = on_event
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._pending_commands: list[Command] = []
        self._thread: threading.Thread | None = None
        self._is_ending = False

    @property
    def is_running(self) -> bool:
        """Whether the child process runs or is being started."""
        return self._thread is not None

    def start(self) -> None:
        """Start the child, which first indexes the whole vault. Does nothing while it runs, or after `end`."""
        with self._lock:
            if self._thread is None and not self._is_ending:
                self._thread = threading.Thread(target=self._run, name="indexing", daemon=True)
                self._thread.start()

    def send(self, command: Command) -> None:
        """Send a command to the child; if no child runs or is being started, the command is dropped."""
        with self._lock:
            if self._process is not None:
                _send(self._process, command)
            elif self._thread is not None:
                self._pending_commands.append(command)

    def end(self) -> None:
        """End the child process, if there is one, and wait until it has ended; what it has committed stays."""
        with self._lock:
            self._is_ending = True
            thread = self._thread
            if self._process is not None:
                _close_stdin(self._process)
        if thread is None:
            return
        thread.join(_END_SECONDS)
        with self._lock:
            if self._process is not None:
                self._process.kill()
        thread.join(_END_SECONDS)

    # --- in the thread ------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            with tempfile.TemporaryFile() as stderr:
                code: int | None = self._listen(stderr)
                text = _read_end(stderr)
        except OSError as error:
            code, text = None, error.strerror or str(error)
        with self._lock:
            self._process, self._thread, self._pending_commands = None, None, []
            is_ending = self._is_ending
        if not is_ending:
            self._on_event(IndexingEnded(code, text))

    def _listen(self, stderr: IO[bytes]) -> int:
        """Start the child, call `on_event` with its events until it ends, and return its exit code."""
        process = subprocess.Popen(
            watch_command(self._vault),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,  # Ctrl+C is for this process, or for an editor that has the terminal
        )
        with self._lock:
            self._process = process
            for command in self._pending_commands:
                _send(process, command)
            if self._is_ending:
                _close_stdin(process)
        assert process.stdout is not None
        for line in process.stdout:
            if not self._is_ending and (event := parse_event(line)) is not None:
                self._on_event(event)
        with self._lock:
            self._process = None
            _close_stdin(process)
        return _wait_for_exit_code(process)


def _send(process: subprocess.Popen[bytes], command: Command) -> None:
    assert process.stdin is not None
    with suppress(OSError, ValueError):  # it has ended, or is about to, which is reported
        process.stdin.write(command_to_line(command))
        process.stdin.flush()


def _close_stdin(process: subprocess.Popen[bytes]) -> None:
    """Close the pipe for commands to the child, which makes the child end."""
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.close()


def _wait_for_exit_code(process: subprocess.Popen[bytes]) -> int:
    """Return the exit code of a child whose output has ended; kill it if it does not end in time."""
    assert process.stdout is not None
    process.stdout.close()
    try:
        return process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


def _read_end(stderr: IO[bytes]) -> str:
    stderr.seek(max(0, stderr.seek(0, os.SEEK_END) - _STDERR_CHARACTERS))
    return stderr.read().decode("utf-8", "replace").strip()
