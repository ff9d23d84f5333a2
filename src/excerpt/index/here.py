"""Preparing small files in the build's own process, which is done before another could be started.

What a worker is ended for, this process can only be interrupted at. Where there is an alarm signal, and in the main
thread, a file that takes more than a second is left to a worker: regular expressions and all that is Python give way
to the signal. Elsewhere only files so small that none is known to take half a second are prepared here.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from excerpt.index.prepare import Prepared, Recipe, Task
from excerpt.index.worker import Prepare

SECONDS = 1.0
"""The most that a file may take in the build's own process."""
_BYTES = 256_000
_BYTES_UNGUARDED = 64_000


class TooLongError(Exception):
    """The file of that `number` took too long, or too much memory, to be prepared here."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class _Alarm(BaseException):
    """So that nothing which catches exceptions on the way takes it for a fault of the note."""


def here_bytes() -> int:
    """The size up to which files are prepared in this process."""
    return _BYTES if _can_be_interrupted() else _BYTES_UNGUARDED


def prepare_here(prepare: Prepare, recipe: Recipe, tasks: Sequence[Task]) -> Prepared:
    """`prepare` with an eye on the clock. Raises TooLongError; then nothing of it counts."""
    at = 0

    def each(seconds: float) -> Iterator[Task]:
        nonlocal at
        for number, task in enumerate(tasks):
            at = number
            if seconds:
                signal.setitimer(signal.ITIMER_REAL, seconds)
            yield task

    try:
        if not _can_be_interrupted():
            return prepare(recipe, each(0.0))
        with _alarms():
            return prepare(recipe, each(SECONDS))
    except (_Alarm, MemoryError):
        raise TooLongError(at) from None


def _can_be_interrupted() -> bool:
    """Whether this is the main thread of a system with alarms, and nobody else uses them."""
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) in (signal.SIG_DFL, signal.SIG_IGN)
        and not signal.getitimer(signal.ITIMER_REAL)[0]
    )


@contextmanager
def _alarms() -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, _raise)
    try:
        yield
    finally:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
        finally:
            signal.signal(signal.SIGALRM, before)


def _raise(_signal: int, _frame: FrameType | None) -> None:
    raise _Alarm
