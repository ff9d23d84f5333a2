"""Reading a few small files in the process of the build, within a time limit.

A worker can be killed from outside; this process can only be interrupted. If there is an alarm signal, and in the
main thread, a file that takes more than a second is left to a worker: regular expressions and all Python code give
way to the signal. Otherwise only files so small that none is known to take half a second are prepared here.

An interruption must leave no partial state that later files use. So it waits until an import has ended: the first
file triggers imports, which a cold disk or a busy machine can make slow, and a half-imported module would fail for
every later file. The cache of term numbers is cleared, because an entry may be incomplete.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from excerpt.index.prepare import FileTask, PreparedFiles, PrepareOptions
from excerpt.index.worker import PrepareFunction
from excerpt.text.numbers import discard_thread_term_encoder

MAX_IN_PROCESS_SECONDS = 1.0
"""The most seconds (wall time) that a file may take in the build's own process."""
_IMPORT_SECONDS = 0.05
"""Delay of an interruption, repeated as long as a module is being imported."""
_MAX_IN_PROCESS_BYTES = 256_000
_MAX_UNINTERRUPTIBLE_BYTES = 64_000


class TooLongError(Exception):
    """The file at index `number` of a list took too much time or memory to be prepared in the build's own process."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class _Alarm(BaseException):
    """Raised by the alarm signal.

    A BaseException, so that no handler of Exception takes it for an error of the note.
    """


def in_process_bytes() -> int:
    """Return the total size in bytes of changed files up to which a build starts no worker processes."""
    return _MAX_IN_PROCESS_BYTES if _can_be_interrupted() else _MAX_UNINTERRUPTIBLE_BYTES


def prepare_in_process(prepare: PrepareFunction, options: PrepareOptions, tasks: Sequence[FileTask]) -> PreparedFiles:
    """Prepare files in this process, at most 1 s each. Raises TooLongError; the results of all files are then lost."""
    current = 0

    def timed_tasks(seconds: float) -> Iterator[FileTask]:
        nonlocal current
        for number, task in enumerate(tasks):
            current = number
            if seconds:
                signal.setitimer(signal.ITIMER_REAL, seconds)
            yield task

    try:
        if not _can_be_interrupted():
            return prepare(options, timed_tasks(0.0))
        with _install_alarm_handler():
            return prepare(options, timed_tasks(MAX_IN_PROCESS_SECONDS))
    except (_Alarm, MemoryError):
        discard_thread_term_encoder()
        raise TooLongError(current) from None


def _can_be_interrupted() -> bool:
    """Return whether an alarm signal can interrupt this code: it is the main thread, and the signal is unused."""
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) in (signal.SIG_DFL, signal.SIG_IGN)
        and not signal.getitimer(signal.ITIMER_REAL)[0]
    )


@contextmanager
def _install_alarm_handler() -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, _on_alarm)
    try:
        yield
    finally:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
        finally:
            signal.signal(signal.SIGALRM, before)


def _on_alarm(_signal: int, frame: FrameType | None) -> None:
    if _is_importing(frame):
        signal.setitimer(signal.ITIMER_REAL, _IMPORT_SECONDS)
    else:
        raise _Alarm


def _is_importing(frame: FrameType | None) -> bool:
    """Return whether the interrupted code was importing a module, apart from imports that run the build itself."""
    while frame is not None and frame.f_code is not prepare_in_process.__code__:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
