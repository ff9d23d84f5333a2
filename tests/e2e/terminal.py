"""A program in a real pseudo-terminal, with its screen parsed by a terminal emulator."""

from __future__ import annotations

import base64
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

import pyte

PATIENCE = 180.0
"""Seconds until a wait fails: far more than any step takes, as other tests may keep the machine busy."""

KEYS = {
    "enter": "\r",
    "tab": "\t",
    "space": " ",
    "esc": "\x1b",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "right": "\x1b[C",
    "left": "\x1b[D",
    "pageup": "\x1b[5~",
    "pagedown": "\x1b[6~",
    "backspace": "\x7f",
    "shift+tab": "\x1b[Z",
    "f1": "\x1bOP",
    "f2": "\x1bOQ",
    "f3": "\x1bOR",
    "f4": "\x1bOS",
    "f5": "\x1b[15~",
    "f7": "\x1b[18~",
    "f8": "\x1b[19~",
    "f9": "\x1b[20~",
    "f12": "\x1b[24~",
    "ctrl+_": "\x1f",
    "alt+left": "\x1b[1;3D",
    "alt+right": "\x1b[1;3C",
    **{f"ctrl+{letter}": chr(ord(letter) - 96) for letter in "abcdefghijklmnopqrstuvwxyz"},
    **{f"alt+{letter}": f"\x1b{letter}" for letter in "abcdefghijklmnopqrstuvwxyz"},
}

_LEFT = b"\x1b[?1049l"  # leaves the alternate screen
_READING = b"\x1b[?2004h"  # enables bracketed paste, right after the program starts reading keys
_KITTY_KEYS = re.compile(rb"\x1b\[[<>][0-9]*u")
"""The request for kitty's keyboard protocol and its end, which pyte does not know: it shows the letter."""
_OSC_52 = re.compile(rb"\x1b\]52;[^;]*;([A-Za-z0-9+/=]*)(?:\x07|\x1b\\)")


class Terminal:
    """`command` in a pseudo-terminal of `columns` x `rows`; waits end by what is on the screen, not by time."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        columns: int = 80,
        rows: int = 24,
        folder: Path | None = None,
    ) -> None:
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self.output = b""
        self.exit_code: int | None = None
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            try:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
                if folder is not None:
                    os.chdir(folder)
                os.execvpe(command[0], list(command), dict(environment))
            finally:
                os._exit(127)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.exit_code is None:
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
        if self._terminal >= 0:
            os.close(self._terminal)

    @property
    def lines(self) -> list[str]:
        """The screen, one string per row, without trailing blanks."""
        return [line.rstrip() for line in self._screen.display]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def line_with(self, text: str) -> str:
        """Return the first row that contains `text`."""
        return self.lines[self.row_of(text)]

    def row_of(self, text: str) -> int:
        """Return the number, from 0, of the first row that contains `text`."""
        return next(row for row, line in enumerate(self.lines) if text in line)

    def backgrounds(self, row: int) -> tuple[str, ...]:
        """Return the background colours of a row, counted from 0; a focused field has other colours."""
        cells = self._screen.buffer[row]
        return tuple(cells[column].bg for column in range(self._screen.columns))

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def press(self, *keys: str) -> None:
        """Send keys by name (see KEYS) or as the character itself."""
        for key in keys:
            self.type(KEYS[key] if len(key) > 1 else key)

    def wait_for(self, *texts: str) -> None:
        """Wait until all `texts` are on the screen."""

        def shown() -> bool:
            now = self.text
            return all(text in now for text in texts)

        self.wait_until(shown, f"to show {texts}")

    def wait_gone(self, text: str) -> None:
        """Wait until `text` is no longer on the screen."""
        self.wait_until(lambda: text not in self.text, f"to show {text!r} no more")

    def wait_until(self, reached: Callable[[], bool], what: str) -> None:
        """Read what the program prints until `reached()` is true, or fail and show the screen."""
        deadline = time.monotonic() + PATIENCE
        while not reached():
            left = deadline - time.monotonic()
            if left <= 0 or not self._read(left):
                raise AssertionError(f"waited in vain for the program {what}; its screen:\n{self.text}")

    def wait_drawn(self) -> None:
        """Read until the program has printed nothing for a moment, so that no row is half drawn."""
        while self._read(0.25):
            pass

    def wait_back(self) -> None:
        """Wait until the program reads keys again after another one had the terminal.

        A key pressed earlier would go to the terminal driver, which stops output at ctrl+s.
        """
        self.wait_until(lambda: 0 <= self.output.rfind(_LEFT) < self.output.rfind(_READING), "to read keys again")

    def resize(self, columns: int, rows: int) -> None:
        """Resize the window, of which the system notifies the program."""
        self._screen.resize(rows, columns)
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def suspend(self) -> None:
        """Suspend the program, as `kill -TSTP` from another terminal does."""
        os.kill(self._pid, signal.SIGTSTP)

    def wait_stopped(self) -> None:
        """Wait until the program is suspended, then clear the screen, as a shell would overwrite it."""
        deadline = time.monotonic() + PATIENCE
        while not os.WIFSTOPPED(os.waitpid(self._pid, os.WUNTRACED | os.WNOHANG)[1]):
            assert time.monotonic() < deadline, f"waited in vain for the program to stop; its screen:\n{self.text}"
            self._read(0.05)
        self.clear()

    def go_on(self) -> None:
        """Resume the program, as `fg` does."""
        os.kill(self._pid, signal.SIGCONT)

    def clear(self) -> None:
        """Clear the screen, as if another program had written over it."""
        self._screen.reset()

    def wait_exit(self) -> int:
        """Wait until the program has ended, and return its exit code."""
        deadline = time.monotonic() + PATIENCE
        while self._read(deadline - time.monotonic()):
            pass
        _, status = os.waitpid(self._pid, 0)
        self.exit_code = os.waitstatus_to_exitcode(status)
        return self.exit_code

    def processes(self) -> list[int]:
        """Return the ids of the program and of the processes that it has started, in order of their generation."""
        return process_tree(self._pid)

    def hang_up(self) -> None:
        """Close the terminal, as a lost connection does."""
        os.close(self._terminal)
        self._terminal = -1

    def wait_ended(self, processes: Sequence[int]) -> None:
        """Wait until none of these processes runs any more."""
        deadline = time.monotonic() + PATIENCE
        while running := [process for process in processes if self._is_running(process)]:
            assert time.monotonic() < deadline, f"these processes go on: {running}"
            time.sleep(0.05)

    def _is_running(self, process: int) -> bool:
        if process == self._pid:
            if self.exit_code is None and (ended := os.waitpid(process, os.WNOHANG))[0]:
                self.exit_code = os.waitstatus_to_exitcode(ended[1])
            return self.exit_code is None
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
        return True

    def copied(self) -> list[str]:
        """Return every text sent to the terminal's clipboard by OSC 52, oldest first."""
        return [base64.b64decode(payload).decode() for payload in _OSC_52.findall(self.output)]

    def _read(self, seconds: float) -> bool:
        """Feed the screen what the program printed; return False if it ended or printed nothing for `seconds`."""
        ready, _, _ = select.select([self._terminal], [], [], max(0.0, seconds))
        if not ready:
            return False
        try:
            data = os.read(self._terminal, 65536)
        except OSError:  # how Linux reports that the other side is closed
            return False
        self.output += data
        self._stream.feed(_KITTY_KEYS.sub(b"", data))
        return bool(data)


def process_tree(root: int) -> list[int]:
    """Return the ids of a process and of those that it and they have started, in order of their generation."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    parents = {int(own): int(parent) for own, parent in map(str.split, listed.splitlines())}
    found = [root]
    for process in found:
        found += [own for own, parent in parents.items() if parent == process]
    return found
