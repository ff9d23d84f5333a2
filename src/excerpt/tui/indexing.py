"""The indexing process: started, listened to, ended. It is a child, so nothing it meets can touch the screen."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
from textual.message import Message

from excerpt.model import BuildReport, Progress
from excerpt.tui.messages import IndexBuilt, IndexProgressed, Trouble

_LINE_LIMIT = 256 * 1024 * 1024
"""Bytes of one JSON line: the last one names every skipped file of a large vault."""

_STDERR_KEPT = 2_000
_END_SECONDS = 2.0


class Indexing:
    """At most one indexing process. `post` gets a message for every line it says."""

    def __init__(self, vault: Path, post: Callable[[Message], object]) -> None:
        self._vault = vault
        self._post = post
        self._process: asyncio.subprocess.Process | None = None
        self._ending = False

    @property
    def running(self) -> bool:
        return self._process is not None

    async def run(self, rebuild: bool = False) -> None:
        """Index the vault, to the end. Does nothing while it is being indexed already."""
        if self.running or self._ending:
            return
        try:
            process = await asyncio.create_subprocess_exec(
                *index_command(self._vault, rebuild),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=_LINE_LIMIT,
            )
        except OSError as error:
            self._post(Trouble("index", "The indexing process cannot be started", str(error)))
            return
        self._process = process
        try:
            await self._listen(process)
        finally:
            self._process = None
            if process.returncode is None:
                process.terminate()

    async def end(self) -> None:
        """End the process, if there is one; what it has committed stays."""
        self._ending = True
        process = self._process
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
            try:
                await asyncio.wait_for(process.wait(), _END_SECONDS)
            except TimeoutError:
                process.kill()

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        complaint = asyncio.create_task(process.stderr.read())
        concluded = False
        async for line in process.stdout:
            message = message_of(line)
            if message is not None:
                concluded = concluded or not isinstance(message, IndexProgressed)
                self._post(message)
        said = (await complaint).decode("utf-8", "replace").strip()
        code = await process.wait()
        if not concluded and not self._ending:
            self._post(
                Trouble(
                    "index",
                    "The indexing process ended early",
                    said[-_STDERR_KEPT:] or f"It ended with code {code} and said nothing.",
                    "Searching goes on with what it had committed; F5 starts it again.",
                )
            )


def index_command(vault: Path, rebuild: bool) -> list[str]:
    command = [sys.executable, "-m", "excerpt", "index", "--vault", str(vault), "--progress"]
    return [*command, "--rebuild"] if rebuild else command


class _Said(msgspec.Struct):
    event: str
    title: str = ""
    message: str = ""
    hint: str = ""


def message_of(line: bytes) -> IndexProgressed | IndexBuilt | Trouble | None:
    """A line of the process as a message; None for one that is not of its form."""
    try:
        said = msgspec.json.decode(line, type=_Said)
        if said.event == "progress":
            return IndexProgressed(msgspec.json.decode(line, type=Progress))
        if said.event == "done":
            return IndexBuilt(msgspec.json.decode(line, type=BuildReport))
    except msgspec.MsgspecError:
        return None
    return Trouble("index", said.title, said.message, said.hint) if said.event == "error" else None
