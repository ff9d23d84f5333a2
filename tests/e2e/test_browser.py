"""Tests of the app behind Textual's server for browsers, which gives it a pipe in place of a terminal.

The first test sends and reads the server's messages, the other opens the page of the server itself in a browser.
"""

from __future__ import annotations

import asyncio
import base64
import json
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pyte
import pytest

from tests.e2e.browser import open_browser
from tests.e2e.conftest import EXCERPT
from tests.e2e.terminal import KEYS, PATIENCE, process_tree

pytestmark = pytest.mark.programs

DRIVER = "textual.drivers.web_driver:WebDriver"


class Tab:
    """A tab of a browser with the app in it, as Textual's server runs it."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            [*EXCERPT, "demo"],
            env={**environment, "TEXTUAL_DRIVER": DRIVER, "COLUMNS": "100", "ROWS": "30"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._screen = pyte.Screen(100, 30)
        self._stream = pyte.ByteStream(self._screen)
        self.output = b""

    def start(self) -> None:
        """Wait until the app is drawn, and tell it that the tab has the focus, as the server does."""
        assert self.process.stdout is not None
        while self.process.stdout.readline() != b"__GANGLION__\n":
            pass
        self.wait_for("up to date")
        self.send_message({"type": "focus"})

    def _send(self, kind: bytes, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(kind + len(data).to_bytes(4, "big") + data)
        self.process.stdin.flush()

    def send_message(self, message: Mapping[str, object]) -> None:
        self._send(b"M", json.dumps(message).encode())

    def type(self, text: str) -> None:
        self._send(b"D", text.encode())

    def read_until(self, reached: Callable[[], bool]) -> None:
        """Read what the app draws until `reached()` is true."""
        assert self.process.stdout is not None
        while not reached():
            kind, size = self.process.stdout.read(1), self.process.stdout.read(4)
            assert kind, "the app has ended"
            data = self.process.stdout.read(int.from_bytes(size, "big"))
            if kind == b"D":
                self.output += data
                self._stream.feed(data)

    def wait_for(self, text: str) -> None:
        self.read_until(lambda: any(text in row for row in self._screen.display))


@pytest.fixture
def tab(shell: Mapping[str, str]) -> Iterator[Tab]:
    opened = Tab(shell)
    yield opened
    opened.process.kill()
    opened.process.communicate()


def test_in_a_browser_a_query_finds_its_pack_is_copied_and_a_closed_tab_ends_the_app(tab: Tab) -> None:
    tab.start()
    tab.type("sync conflict")
    tab.wait_for(" hits")
    tab.wait_for("passages · ")
    tab.type(KEYS["ctrl+y"])
    tab.read_until(lambda: b"\x1b]52;c;" in tab.output)
    tab.wait_for("copied")
    copied = tab.output.partition(b"\x1b]52;c;")[2].partition(b"\x07")[0].partition(b"\x1b")[0]
    assert b"## [1] " in base64.b64decode(copied)
    tab.send_message({"type": "quit"})
    tab.process.communicate(timeout=240)
    assert tab.process.returncode == 0


SERVER = "import sys; from textual_serve.server import Server; Server(sys.argv[1], port=int(sys.argv[2])).serve()"
"""The program of `textual serve`: it gives Server the same arguments."""


@pytest.fixture
def server(shell: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Start Textual's server with the guide, and yield its process and its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-c", SERVER, shlex.join([*EXCERPT, "demo"]), str(port)]
    process = subprocess.Popen(command, env=dict(shell), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + PATIENCE
    while not _is_listening(port):
        assert process.poll() is None, "the server has ended"
        assert time.monotonic() < deadline, "waited in vain for the server"
        time.sleep(0.05)
    yield process.pid, f"http://localhost:{port}/"
    process.terminate()
    process.wait()


def _is_listening(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("localhost", port)):
        return True
    return False


@pytest.mark.needs("Chromium", "ps")
async def test_textual_serve_shows_the_app_in_chromium_and_a_closed_tab_ends_it(
    server: tuple[int, str], tmp_path: Path, shell: Mapping[str, str]
) -> None:
    process, address = server
    async with open_browser(tmp_path / "profile") as page:
        await page.open(address)
        await page.wait_for("Search your notes", "up to date")
        await page.evaluate("document.querySelector('.xterm-helper-textarea').focus()")
        await page.type("forgotten memories")
        await page.wait_for("❯ forgotten memories", " hits", "trash folder", "passages · ")
        await page.press_control("y")
        await page.wait_for(", copied")
        (copied,) = Path(shell["EXCERPT_HOME"], "state", "copies").iterdir()
        pack = copied.read_text(encoding="utf-8")
        assert pack.startswith("## [1] ")
        while (await page.evaluate("navigator.clipboard.readText()")) != pack:
            await asyncio.sleep(0.05)
        assert len(process_tree(process)) > 1
        await page.call("Page.close")
        deadline = time.monotonic() + PATIENCE
        while len(process_tree(process)) > 1:
            assert time.monotonic() < deadline, "the app goes on"
            await asyncio.sleep(0.05)
    (session,) = Path(shell["EXCERPT_HOME"], "state", "sessions").iterdir()
    assert '"query": "forgotten memories"' in session.read_text(encoding="utf-8")
