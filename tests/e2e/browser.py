"""A tab of a headless Chromium, driven by its DevTools, whose terminal is read from what its page receives."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pyte

from tests.conftest import find_browser
from tests.e2e.terminal import PATIENCE

_CONTROL = 2
"""DevTools' number of the modifier key."""


class Tab:
    """A tab with Textual's page for browsers, which has a terminal (xterm.js)."""

    def __init__(self, devtools: aiohttp.ClientWebSocketResponse) -> None:
        self._devtools = devtools
        self._calls = 0
        self._screen = pyte.Screen(80, 24)
        self._stream = pyte.ByteStream(self._screen)

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display)

    async def call(self, method: str, **parameters: object) -> Mapping[str, Any]:
        """Call a method of the DevTools, and return its result."""
        self._calls += 1
        await self._devtools.send_json({"id": self._calls, "method": method, "params": parameters})
        while (message := await self._receive()).get("id") != self._calls:
            pass
        assert "result" in message, message
        result: Mapping[str, Any] = message["result"]
        return result

    async def open(self, address: str) -> None:
        """Open a page, which may use the clipboard."""
        await self.call("Network.enable")
        await self.call("Emulation.setFocusEmulationEnabled", enabled=True)
        clipboard = ["clipboardReadWrite", "clipboardSanitizedWrite"]
        await self.call("Browser.grantPermissions", permissions=clipboard, origin=address)
        await self.call("Page.navigate", url=address)

    async def evaluate(self, script: str) -> object:
        """Return the value of a script of the page, or of the promise that it returns."""
        result = await self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        return result["result"].get("value")

    async def type(self, text: str) -> None:
        await self.call("Input.insertText", text=text)

    async def press_control(self, letter: str) -> None:
        """Press a letter together with the control key."""
        code = ord(letter.upper())
        key = {"key": letter, "code": f"Key{letter.upper()}", "windowsVirtualKeyCode": code, "modifiers": _CONTROL}
        await self.call("Input.dispatchKeyEvent", type="rawKeyDown", **key)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **key)

    async def wait_until(self, reached: Callable[[], bool]) -> None:
        """Read what the page receives until `reached()` is true."""
        while not reached():
            await self._receive()

    async def wait_for(self, *texts: str) -> None:
        """Wait until the terminal shows all `texts`."""
        await self.wait_until(lambda: all(text in self.text for text in texts))

    async def _receive(self) -> Mapping[str, Any]:
        """Return the next message of the DevTools; draw what the page has received."""
        try:
            async with asyncio.timeout(PATIENCE):
                message: Mapping[str, Any] = await self._devtools.receive_json()
        except TimeoutError:
            raise AssertionError(f"waited in vain for the browser; its terminal:\n{self.text}") from None
        if message.get("method") == "Network.webSocketCreated":
            size = parse_qs(urlsplit(message["params"]["url"]).query)
            self._screen.resize(int(size["height"][0]), int(size["width"][0]))
        elif message.get("method") == "Network.webSocketFrameReceived":
            frame = message["params"]["response"]
            if frame["opcode"] == aiohttp.WSMsgType.BINARY:
                self._stream.feed(base64.b64decode(frame["payloadData"]))
        return message


@asynccontextmanager
async def open_browser(profile: Path) -> AsyncIterator[Tab]:
    """Start a browser with an empty profile, and yield its tab."""
    browser = find_browser()
    assert browser is not None
    options = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--window-size=1200,800")
    command = [browser, *options, "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        async with aiohttp.ClientSession() as session:
            async with asyncio.timeout(PATIENCE):
                page = await _find_page(session, profile / "DevToolsActivePort")
            async with session.ws_connect(page, max_msg_size=0) as devtools:
                yield Tab(devtools)
    finally:
        process.kill()
        process.wait()


async def _find_page(session: aiohttp.ClientSession, port_file: Path) -> str:
    """Return the address of the DevTools of the browser's tab, when the browser has written its port and has a tab."""
    while True:
        await asyncio.sleep(0.05)
        port, _, rest = port_file.read_text().partition("\n") if port_file.exists() else ("", "", "")
        if not rest:
            continue
        async with session.get(f"http://127.0.0.1:{port}/json/list") as answer:
            for target in json.loads(await answer.text()):
                if target["type"] == "page":
                    return str(target["webSocketDebuggerUrl"])
