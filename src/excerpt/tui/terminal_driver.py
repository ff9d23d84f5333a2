"""The driver of the terminal on which the app is drawn: Textual's, but the app is left when its terminal is closed.

A terminal is closed with its window, or with the connection to it. The system sends SIGHUP to the leader of the session
alone, which may be make, a script or nohup. Then Textual's thread for input would read nothing in an endless loop, its
thread for output would end at the first failed write, and the event loop would wait for the queue of that thread.
"""

from __future__ import annotations

import sys
from codecs import getincrementaldecoder
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO, cast

from textual.message import Message

if TYPE_CHECKING:
    from textual.app import App

_INPUT_SECONDS = 0.1
"""Seconds that the thread for input waits, before it looks whether it is to end and whether an escape is the key."""
_INPUT_BYTES = 4096


class TerminalClosed(Message):
    """Posted to the app when its terminal is closed: there is no input any more, or a write has failed."""


class _Output:
    """The terminal's stream, of which Textual uses three methods. After a failed write all text is dropped.

    `on_failure` is called at the first failed write.
    """

    def __init__(self, stream: TextIO, on_failure: Callable[[], object]) -> None:
        self._stream, self._on_failure = stream, on_failure
        self._has_failed = False

    def fileno(self) -> int:
        return self._stream.fileno()

    def write(self, text: str) -> None:
        self._call(self._stream.write, text)

    def flush(self) -> None:
        self._call(self._stream.flush)

    def _call(self, method: Callable[..., object], *arguments: str) -> None:
        if self._has_failed:
            return
        try:
            method(*arguments)
        except OSError:
            self._has_failed = True
            self._on_failure()


if sys.platform == "win32":
    import ctypes
    import threading
    from ctypes import wintypes

    from textual.drivers.windows_driver import WindowsDriver

    _CLOSE_EVENTS = (2, 5, 6)
    """Events after which Windows ends the process: the console is closed, the user logs off, the system shuts down."""

    class TerminalDriver(WindowsDriver):
        """Windows' console. Closing the app by the console's close event is untested."""

        def __init__(
            self, app: App[None], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
        ) -> None:
            super().__init__(app, debug=debug, mouse=mouse, size=size)
            self._file = cast("Any", _Output(self._file, self._post_closed))
            self._control_handler = ctypes.WINFUNCTYPE(wintypes.BOOL, wintypes.DWORD)(self._handle_control_event)
            ctypes.windll.kernel32.SetConsoleCtrlHandler(self._control_handler, True)

        def _handle_control_event(self, event: int) -> bool:
            if event not in _CLOSE_EVENTS:
                return False
            self._post_closed()
            threading.Event().wait()  # Windows ends the process when this returns, or after five seconds
            return True

        def _post_closed(self) -> None:
            with suppress(RuntimeError):  # the app is left already
                self.send_message(TerminalClosed())

else:
    import os
    import select
    import signal

    from textual._xterm_parser import XTermParser
    from textual.drivers.linux_driver import LinuxDriver

    class TerminalDriver(LinuxDriver):
        """A terminal of Linux, macOS and other Unix systems."""

        def __init__(
            self, app: App[None], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
        ) -> None:
            super().__init__(app, debug=debug, mouse=mouse, size=size)
            self._file = cast("Any", _Output(cast("TextIO", self._file), self._post_closed))
            self._loop.add_signal_handler(signal.SIGHUP, self._post_closed)
            # Textual's handlers take locks of the threads for input and output. Run by the event loop, they never
            # interrupt code that holds one of these locks, which would wait for ever.
            self._loop.add_signal_handler(signal.SIGTSTP, self._sigtstp_application)
            self._loop.add_signal_handler(signal.SIGCONT, self._sigcont_application)

        def run_input_thread(self) -> None:
            """Post what the user types until the thread is to end, or the terminal is closed."""
            parser = XTermParser(self._debug)
            decoder = getincrementaldecoder("utf-8")("replace")
            while not self.exit_event.is_set():
                if select.select([self.fileno], [], [], _INPUT_SECONDS)[0]:
                    data = self._read()
                    if not data:
                        self._post_closed()
                        return
                    for message in parser.feed(decoder.decode(data)):
                        self.process_message(message)
                for message in parser.tick():
                    self.process_message(message)

        def _read(self) -> bytes:
            """Return the bytes that were typed; b"" if the terminal is closed (reading it gives an end or an error)."""
            try:
                return os.read(self.fileno, _INPUT_BYTES)
            except OSError:
                return b""

        def _post_closed(self) -> None:
            with suppress(RuntimeError):  # the app is left already
                self.send_message(TerminalClosed())
