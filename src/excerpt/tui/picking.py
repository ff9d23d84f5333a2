"""Picking: the app draws on the terminal, and what the user picked is printed when it ends, as fzf does."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from excerpt.base.kinds import LinkForm


class PickOptions(Struct, frozen=True):
    """What the app prints when the user has picked: links in a form, or the pack if `form` is None.

    `query` is in the query field at the start. With a `height` the app is drawn below the cursor, else on the whole
    screen.
    """

    form: LinkForm | None = None
    query: str = ""
    height: Height | None = None


class Height(Struct, frozen=True):
    """Rows on which the app is drawn, or the share of the terminal's rows in percent."""

    count: int
    is_share: bool = False

    def rows(self, terminal_rows: int) -> int:
        """Return the number of rows that the app uses on a terminal. A small share is as many as the app needs."""
        wanted = max(MIN_ROWS, terminal_rows * self.count // 100) if self.is_share else self.count
        return visible_rows(wanted, terminal_rows)


DRAWS_BELOW_CURSOR = os.name == "posix"
"""Whether the app can be drawn on the rows below the cursor."""
MIN_ROWS = 8
"""Rows that the app needs: tabs, query, a list of three hits, its pack and the footer."""


def visible_rows(rows: int, terminal_rows: int) -> int:
    """Return how many of the app's rows a terminal shows below a prompt of one row."""
    return max(1, min(rows, terminal_rows - 1))


def runs_in_browser(environment: Mapping[str, str]) -> bool:
    """Return whether Textual's server for browsers started the app: it sets its own driver."""
    return environment.get("TEXTUAL_DRIVER") == "textual.drivers.web_driver:WebDriver"


def has_terminal() -> bool:
    """Return whether the app can be drawn: stdin or stderr is a terminal (on Windows, all streams must be).

    Textual's server for browsers reads what the app writes, whatever terminal it was started on.
    """
    if runs_in_browser(os.environ):
        return False
    if os.name == "nt":
        return all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
    return sys.stdin.isatty() or sys.stderr.isatty()


@contextmanager
def draw_on_terminal() -> Iterator[None]:
    """Make the terminal stdin, stdout and stderr, so that the app and the editors that it starts use it.

    At the end the streams are again what they were. Does nothing without a terminal.
    """
    redirected = [each for each in (0, 1, 2) if not os.isatty(each)] if has_terminal() else []
    if not redirected:
        yield
        return
    terminal = _open_terminal()
    before = {each: os.dup(each) for each in redirected}  # not inherited: a child would keep the pipe open
    try:
        for each in redirected:
            os.dup2(terminal, each)
        yield
    finally:
        for each, saved in before.items():
            with suppress(OSError):
                os.dup2(saved, each)
            os.close(saved)
        os.close(terminal)


def _open_terminal() -> int:
    """Return a file descriptor of this process's terminal or, if it has none, of the terminal at stdin or stderr."""
    try:
        return os.open("/dev/tty", os.O_RDWR)
    except OSError:
        return os.dup(0 if os.isatty(0) else 2)


def path_for_shell(vault: Path, path: str) -> str:
    """Return the path of a file in `vault` for programs: relative to the working directory if it is there."""
    file = vault / path
    with suppress(OSError, ValueError):
        return str(file.relative_to(Path.cwd()))
    return str(file)
