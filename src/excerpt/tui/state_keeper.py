"""Keeps a value in its file, beside the event loop and without ever standing in the way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

Value = TypeVar("Value")

_BATCH = 0.2
"""Seconds that are waited for more, since a query changes with each key."""


class StateKeeper(Generic[Value]):
    """Reads `file`, and writes to it what was kept last. `failed` is told the reason when that cannot be done, once."""

    def __init__(
        self,
        file: Path,
        read: Callable[[Path], Value],
        write: Callable[[Path, Value], None],
        failed: Callable[[str], None],
    ) -> None:
        """`read` and `write` are called in threads; `write` raises OSError."""
        self._file = file
        self._read_file = read
        self._write_file = write
        self._failed = failed
        self._told = False
        self._newest: Value | None = None
        self._written: Value | None = None
        self._task: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()

    async def read(self) -> Value:
        """What an earlier session kept. Nothing is written before that is known."""
        value = await asyncio.to_thread(self._read_file, self._file)
        self.known(value)
        return value

    def known(self, value: Value) -> None:
        """This is what the file holds."""
        self._newest = self._written = value

    @property
    def is_known(self) -> bool:
        """Whether it is known what the file holds, so that something may be kept."""
        return self._written is not None

    def keep(self, value: Value) -> None:
        """Have this written soon; what was to be written before it need not be."""
        if not self.is_known:
            return
        self._newest = value
        if self._newest != self._written and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._write())

    async def end(self) -> None:
        """Write what is not written yet."""
        self._ending.set()
        if self._task is not None:
            await self._task

    async def _write(self) -> None:
        while self._newest is not None and self._newest != self._written:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ending.wait(), _BATCH)
            value = self._written = self._newest
            try:
                await asyncio.to_thread(self._write_file, self._file, value)
            except OSError as error:
                if not self._told:
                    self._told = True
                    self._failed(error.strerror or str(error))
