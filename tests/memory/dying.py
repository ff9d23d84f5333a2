"""Processes that work on a folder of memories, and die where they are told to."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

Say = Callable[[object], None]
Work = Callable[[Say], None]

_CHANGES = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir"}


class Child:
    """A forked process that runs `work`, which says what it has done as JSON lines. SIGKILL ends it before its step
    number `dies_before`, if it comes so far: a step is a file that it opens, writes to, renames or removes."""

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
        """What it said until it ended, and whether it was killed."""
        with os.fdopen(self._reads, encoding="utf-8") as lines:
            said = [json.loads(line) for line in lines]
        _, status = os.waitpid(self._id, 0)
        return said, os.WIFSIGNALED(status)


def _write(pipe: int, said: object) -> None:
    os.write(pipe, f"{json.dumps(said)}\n".encode())


def _die_before(step: int) -> None:
    """Count the steps of this process from now on: Python tells of each before it is taken."""
    steps = 0

    def seen(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal steps
        if event in _CHANGES and not str(arguments[0]).endswith((".py", ".pyc", "mountinfo")):
            steps += 1
            if steps > step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(seen)


def files_in(folder: Path) -> Iterator[Path]:
    """Every file that holds a memory, forgotten and replaced ones too."""
    return (file for file in folder.rglob("*.md") if not file.name.startswith("."))
