"""Tests of the app on a real pseudo-terminal, in this process: it is left when the terminal is closed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from excerpt.base.settings import Paths
from excerpt.tui.app import ExcerptApp
from excerpt.tui.session import read_session
from tests.tui.driver import ScriptedApp, pane_of, screen_of

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows has no pseudo-terminals for Python")

if os.name == "posix":
    import pty

PATIENCE = 240.0
"""Seconds until a wait fails: far more than any step takes, as other tests may keep the machine busy."""


@pytest.fixture
def handlers() -> Iterator[None]:
    """Restore the handlers of signals that Textual installs."""
    numbers = (signal.SIGHUP, signal.SIGTSTP, signal.SIGCONT, signal.SIGWINCH, signal.SIGTTIN, signal.SIGTTOU)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Terminal:
    """A pseudo-terminal: this process reads its keys from one end, the test has the other."""

    def __init__(self) -> None:
        self.master, self._slave = pty.openpty()
        self.input = os.fdopen(self._slave, "r", closefd=False)
        self.output = os.fdopen(os.dup(self._slave), "w")

    def type(self, keys: bytes) -> None:
        os.write(self.master, keys)

    def discard_output(self) -> None:
        os.read(self.master, 65536)

    def hang_up(self) -> None:
        """Close the terminal, as a window is closed. The leader of the session alone gets SIGHUP, which is not we."""
        asyncio.get_running_loop().remove_reader(self.master)
        os.close(self.master)
        self.master = -1

    def close(self) -> None:
        self.input.detach()
        os.close(self._slave)
        with Path(os.devnull).open("w", encoding="utf-8") as nothing:  # so that nothing unwritten fails
            os.dup2(nothing.fileno(), self.output.fileno())
        self.output.close()
        if self.master >= 0:
            os.close(self.master)


@pytest.fixture
def terminal(handlers: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    terminal = Terminal()
    monkeypatch.setattr(sys, "__stdin__", terminal.input)
    monkeypatch.setattr(sys, "__stderr__", terminal.output)
    yield terminal
    terminal.close()


async def until(reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not reached():
            await asyncio.sleep(0.01)


@asynccontextmanager
async def running(app: ExcerptApp, terminal: Terminal) -> AsyncIterator[asyncio.Task[None]]:
    """Run the app on the terminal; at the end it must have left, or it is cancelled."""
    asyncio.get_running_loop().add_reader(terminal.master, terminal.discard_output)
    task = asyncio.create_task(app.run_async())
    try:
        await until(lambda: app.is_running and bool(app.screen_stack) and screen_of(app).is_populated)
        yield task
        await asyncio.wait_for(task, PATIENCE)
    finally:
        if terminal.master >= 0:
            asyncio.get_running_loop().remove_reader(terminal.master)
        task.cancel()


async def test_the_app_quits_and_saves_when_its_terminal_is_closed(
    app: ExcerptApp, vault: Path, user_paths: Paths, terminal: Terminal
) -> None:
    async with running(app, terminal):
        await until(lambda: screen_of(app)._session.is_saving)
        terminal.type(b"token")
        await until(lambda: pane_of(app).query_text == "token")
        terminal.hang_up()
    assert read_session(user_paths.session_file(vault)).query == "token"


async def test_the_app_quits_on_the_hangup_signal(scripted: ScriptedApp, terminal: Terminal) -> None:
    async with running(scripted, terminal):
        signal.raise_signal(signal.SIGHUP)


async def test_the_app_quits_when_its_terminal_cannot_be_written(
    scripted: ScriptedApp, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader, writer = os.pipe()
    with os.fdopen(writer, "w") as broken:
        monkeypatch.setattr(sys, "__stderr__", broken)
        async with running(scripted, terminal):
            os.close(reader)
            terminal.type(b"token")
        os.dup2(terminal.output.fileno(), broken.fileno())  # so that closing it does not fail


async def test_invalid_input_bytes_do_not_end_the_app(scripted: ScriptedApp, terminal: Terminal) -> None:
    async with running(scripted, terminal):
        terminal.type(b"a\xffb")
        await until(lambda: pane_of(scripted).query_text.endswith("b"))
        terminal.hang_up()
