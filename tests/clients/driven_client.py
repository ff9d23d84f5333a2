"""A third-party client, driven through a script in its own language, so that all clients run the same tests.

A script gets, as JSON in its first argument, how to reach the server: `command` and `environment`, or `url` and
`token`; and `generation`: "handshake" (2025-11-25 and before) or "stateless" (2026-07-28), for clients that support
both. It connects, prints a line of JSON about the server, then for each line `{"tool", "arguments"}` on stdin a line
`{"text", "error", "data"}`. It disconnects and exits at the end of stdin.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

PATIENCE = 240.0
"""Seconds that a reply may take on a busy machine."""


@dataclass(frozen=True, slots=True)
class Hello:
    """What a client reports about the server once it is connected."""

    protocol: str | None
    server: str
    instructions: str
    tools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a tool call."""

    text: str
    error: bool
    data: Mapping[str, Any] | None

    @property
    def first_line(self) -> str:
        return self.text.partition("\n")[0]


class Driven:
    """A client in a process of its own."""

    def __init__(self, command: Sequence[str], server: Mapping[str, Any], errors: Path) -> None:
        self._errors = errors
        with errors.open("wb") as stderr:
            self.process = subprocess.Popen(
                [*command, json.dumps(server)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                encoding="utf-8",
            )
        told = self._told()
        self.hello = Hello(told["protocol"], told["server"], told["instructions"], tuple(told["tools"]))

    def call(self, tool: str, **arguments: object) -> Answer:
        self.ask(tool, **arguments)
        return Answer(**self._told())

    def ask(self, tool: str, **arguments: object) -> None:
        """Call a tool without waiting for its result."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"tool": tool, "arguments": arguments}) + "\n")
        self.process.stdin.flush()

    def close(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def _told(self) -> Any:
        """Return the next line as JSON; kill a client that prints none in time, and fail."""
        assert self.process.stdout is not None
        watchdog = threading.Timer(PATIENCE, self.process.kill)
        watchdog.start()
        line = self.process.stdout.readline()
        watchdog.cancel()
        assert line, f"the client said no more:\n{self._errors.read_text(encoding='utf-8', errors='replace')[-4_000:]}"
        return json.loads(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.close()
