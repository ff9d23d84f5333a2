"""Processes that work on a folder of memories and are killed at a given step."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

Say = Callable[[object], None]
Work = Callable[[Say], None]

_STEPS = {"open", "write", "flush", "fsync", "close", "__exit__", "replace", "rename", "unlink", "mkdir"}


class Child:
    """A forked process that runs `work`, which reports what it has done as JSON lines.

    SIGKILL ends it before step number `dies_before`, if it gets that far. A step is a call that opens, writes, syncs,
    closes or renames a file.
    """

    def __init__(self, work: Work, dies_before: int | None = None) -> None:
        self._reads, writes = os.pipe()
        self._id = os.fork()
        if self._id:
            os.close(writes)
            return
        try:
            os.close(self._reads)
            if dies_before is not None:
                _die_before(dies_before)
            work(lambda said: _write(writes, said))
        finally:
            os._exit(0)

    def said(self) -> tuple[list[object], bool]:
        """Return what the process reported until it ended, and whether it was killed."""
        with os.fdopen(self._reads, encoding="utf-8") as lines:
            said = [json.loads(line) for line in lines]
        _, status = os.waitpid(self._id, 0)
        return said, os.WIFSIGNALED(status)


def _write(pipe: int, said: object) -> None:
    os.write(pipe, f"{json.dumps(said)}\n".encode())


def _die_before(step: int) -> None:
    """Kill this process before that step; Python's profiler reports each call before it is made."""
    steps = 0

    def seen(_: FrameType, event: str, called: object) -> None:
        nonlocal steps
        if event == "c_call" and getattr(called, "__name__", "") in _STEPS:
            steps += 1
            if steps > step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(seen)


def files_in(folder: Path) -> Iterator[Path]:
    """Yield every file with a memory, including forgotten and replaced ones."""
    return (file for file in folder.rglob("*.md") if not file.name.startswith("."))
