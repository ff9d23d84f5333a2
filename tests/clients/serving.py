"""`excerpt mcp` over stdio, started by a client, and over HTTP, as one process for many clients."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

START = 240.0
"""Seconds that a start may take on a busy machine."""


@dataclass(frozen=True, slots=True)
class Stdio:
    """The server of one vault, to be started by a client."""

    vault: Path
    home: Path

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-m", "excerpt", "mcp", str(self.vault)]

    @property
    def environment(self) -> dict[str, str]:
        ours = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "HOME") if name in os.environ}
        return {**ours, "EXCERPT_HOME": str(self.home), "LANG": "C.UTF-8"}

    def reached(self) -> dict[str, Any]:
        """Return how a driven client reaches the server."""
        return {"command": self.command, "environment": self.environment}


class Served:
    """A server over HTTP."""

    def __init__(self, stdio: Stdio, *options: str) -> None:
        self.process = subprocess.Popen(
            [*stdio.command, "--http", "--port", "0", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=stdio.environment,
            text=True,
            encoding="utf-8",
        )
        told = self._told(r"(http://127\.0\.0\.1:\d+/mcp); the token is in (.+)")
        self.url = told[1]
        self.token = Path(told[2]).read_text(encoding="utf-8").strip()
        threading.Thread(target=self._drain, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.url.split(":")[2].partition("/")[0])

    def reached(self) -> dict[str, Any]:
        """Return how a driven client reaches the server."""
        return {"url": self.url, "token": self.token}

    def end(self) -> int:
        self.process.terminate()
        return self.process.wait(START)

    def _told(self, pattern: str) -> re.Match[str]:
        """Return the first match of the pattern in the server's stderr."""
        assert self.process.stderr is not None
        watchdog = threading.Timer(START, self.process.kill)
        watchdog.start()
        said = ""
        for line in self.process.stderr:
            said += line
            if found := re.search(pattern, line):
                watchdog.cancel()
                return found
        raise AssertionError(f"the server ended and never said where it serves:\n{said}")

    def _drain(self) -> None:
        """Read stderr to its end, so that the server never blocks on a full pipe."""
        assert self.process.stderr is not None
        for _ in self.process.stderr:
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
