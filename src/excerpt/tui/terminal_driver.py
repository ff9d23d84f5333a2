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
    from threading import Event

    from rich.control import Control
    from textual import events
    from textual._xterm_parser import XTermParser
    from textual.driver import Driver
    from textual.drivers.linux_driver import LinuxDriver
    from textual.drivers.linux_inline_driver import LinuxInlineDriver
    from textual.geometry import Size

    from excerpt.tui.picking import visible_rows

    _SAVE_CURSOR, _RESTORE_CURSOR, _REPORT_CURSOR = "\x1b7", "\x1b8", "\x1b[6n"
    _WRAP_LINES, _CUT_LINES = "\x1b[?7h", "\x1b[?7l"
    _CLEAR_BELOW = "\x1b[J"
    _NEXT_ROW = "\x1bD"
    """Moves the cursor down in its column; in the last row the screen scrolls."""

    class ClosableDriver(Driver):
        """What the drivers for terminals of Linux, macOS and other Unix systems do, beside one of Textual's drivers."""

        fileno: int
        exit_event: Event
        _file: Any

        def _watch_terminal(self, stream: TextIO | None) -> Any:
            """Watch for the closing of the terminal, and return the stream by which the driver must write to it."""
            self._loop.add_signal_handler(signal.SIGHUP, self._post_closed)
            return _Output(cast("TextIO", stream), self._post_closed)

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

    class TerminalDriver(ClosableDriver, LinuxDriver):
        """A terminal on whose whole screen the app is drawn."""

        def __init__(
            self, app: App[None], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
        ) -> None:
            super().__init__(app, debug=debug, mouse=mouse, size=size)
            self._file = self._watch_terminal(self._file)
            # Textual's handlers take locks of the threads for input and output. Run by the event loop, they never
            # interrupt code that holds one of these locks, which would wait for ever.
            self._loop.add_signal_handler(signal.SIGTSTP, self._sigtstp_application)
            self._loop.add_signal_handler(signal.SIGCONT, self._sigcont_application)

    class InlineDriver(ClosableDriver, LinuxInlineDriver):
        """A terminal on which the app is drawn below the cursor, on as many rows as `size` has.

        Unlike with Textual's driver, the cursor returns to where it was, also behind a prompt, and no other rows are
        cleared when the window changes its size.
        """

        def __init__(
            self, app: App[None], *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
        ) -> None:
            super().__init__(app, debug=debug, mouse=mouse, size=size)
            assert size is not None, "the driver must be told its rows"
            self._rows = size[1]
            self._is_origin_expected = False
            self._file = self._watch_terminal(self._file)

        def _get_terminal_size(self) -> tuple[int, int]:
            columns, rows = super()._get_terminal_size()
            return columns, visible_rows(self._rows, rows)

        def start_application_mode(self) -> None:
            super().start_application_mode()
            self._loop.add_signal_handler(signal.SIGWINCH, self._handle_resize)
            self._make_room()

        def _make_room(self) -> None:
            """Scroll until the app's rows fit below the cursor, and go to the first cell of the first one.

            That is the cursor's row if the cursor is in the first column, else the next row: a row of blanks ends in
            another row only then, which is how shells begin a prompt.
            """
            columns, rows = self._get_terminal_size()
            self.write(f"{_WRAP_LINES}{_NEXT_ROW * rows}\x1b[{rows}A{_SAVE_CURSOR}{' ' * columns}\r{_CUT_LINES}")
            self.write(_REPORT_CURSOR)
            self._file.flush()
            self._is_origin_expected = True

        def _handle_resize(self) -> None:
            """Clear the app's rows, make room for them again, and let the app draw them."""
            x, y = self._app._previous_cursor_position
            self.write(f"{Control.move(-x, -y).segment.text}{_CLEAR_BELOW}")
            self._make_room()
            self.write(Control.move(x, y).segment.text)
            self._file.flush()
            size = Size(*self._get_terminal_size())
            self.send_message(events.Resize(size, size))

        def process_message(self, message: Message) -> None:
            """Handle what was read; the report of the app's first row is for the positions of the mouse."""
            if not isinstance(message, events.CursorPosition):
                super().process_message(message)
            elif self._is_origin_expected:
                self._is_origin_expected = False
                self.cursor_origin = message.x, message.y

        def stop_application_mode(self) -> None:
            super().stop_application_mode()
            self.write(f"{_WRAP_LINES}{_RESTORE_CURSOR}")
            self._file.flush()
