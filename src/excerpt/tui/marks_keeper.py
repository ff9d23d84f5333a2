"""Keeps the marks in their file, beside the event loop and without ever standing in the way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from excerpt.pack.marks_file import NOTHING_KEPT, Kept, read_marks, write_marks

_BATCH = 0.2
"""Seconds that are waited for more, since a query changes with each key."""


class MarksKeeper:
    """Reads `file`, and writes to it what was kept last. `failed` is told the reason when that cannot be done, once."""

    def __init__(self, file: Path, failed: Callable[[str], None]) -> None:
        self._file = file
        self._failed = failed
        self._told = False
        self._newest = self._written = NOTHING_KEPT
        self._read = False
        self._task: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()

    async def read(self) -> Kept:
        """What an earlier session kept. Nothing is written before that is known."""
        self._newest = self._written = await asyncio.to_thread(read_marks, self._file)
        self._read = True
        return self._written

    def keep(self, kept: Kept) -> None:
        """Have this written soon; what was to be written before it need not be."""
        if not self._read:
            return
        self._newest = kept
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._write())

    async def end(self) -> None:
        """Write what is not written yet."""
        self._ending.set()
        if self._task is not None:
            await self._task

    async def _write(self) -> None:
        while self._newest != self._written:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), _BATCH)
            self._written = self._newest
            try:
                await asyncio.to_thread(write_marks, self._file, self._written)
            except OSError as error:
                if not self._told:
                    self._told = True
                    self._failed(error.strerror or str(error))
