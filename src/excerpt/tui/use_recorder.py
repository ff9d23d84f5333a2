"""Writes down what the user opens and copies, beside the event loop and without ever standing in the way."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from pathlib import Path


class UseRecorder:
    """Appends to the log in `file`; nothing if it is not `on`.

    `failed` is told the reason when something could not be kept, once.
    """

    def __init__(self, file: Path, failed: Callable[[str], None], *, on: bool) -> None:
        self._file = file
        self._failed = failed
        self._on = on
        self._told = False

    async def record(self, kind: str, notes: Sequence[tuple[str, str]]) -> None:
        """Keep an act of `kind`, a value of `search.use.Kind`, with these notes (path, fragment id)."""
        if not self._on or not notes:
            return
        try:
            await asyncio.to_thread(_append, self._file, kind, notes, time.time())
        except OSError as error:
            if not self._told:
                self._told = True
                self._failed(error.strerror or str(error))


def _append(file: Path, kind: str, notes: Sequence[tuple[str, str]], now: float) -> None:
    from excerpt.search.use import Kind, UseLog

    UseLog(file).record(Kind(kind), notes, now)
