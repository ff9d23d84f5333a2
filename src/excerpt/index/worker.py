"""A process that takes files apart for a build, and what one file may take of it.

The process says which file it begins, so that whoever started it knows what it hangs at or died of. Its own limits are
the kernel's: nothing that holds the interpreter (a regular expression, a parser in C) can put them off.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from excerpt.index.prepare import Prepared, Recipe, Task

Prepare = Callable[[Recipe, Iterable[Task]], Prepared]
"""`excerpt.index.prepare.prepare`, or what a test puts in its place: a function of a module, as it goes to workers."""

OUT_OF_MEMORY = 71
"""The exit code of a worker whose file took more memory than it may."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one file may take: `seconds` of processor time, `seconds_per_mb` more for each MB of it and
    `seconds_per_image` for each image in it that OCR is to read; `patience`
    times as long on the clock, as the machine may be busy and a file far away; `memory`, the MB of data that the
    process may hold.

    On one core of 2020 a MB of notes takes a second and 40 MB of data, and the strangest text that was found, short
    lines that are each a block, twelve seconds and 350 MB.
    """

    seconds: float = 20.0
    seconds_per_mb: float = 5.0
    seconds_per_image: float = 20.0
    patience: float = 5.0
    memory: int = 2_000

    def seconds_for(self, task: Task) -> float:
        """The seconds of processor time that a file may take."""
        return self.seconds + self.seconds_per_mb * (task.size // 1_000_000) + self.seconds_per_image * task.images


def work(connection: Connection[Any, Any], prepare: Prepare, limits: Limits) -> None:
    """Be a worker: answer (recipe, tasks) with what became of them, until the other end closes.

    Before each file its number among the tasks is sent; at the end the Prepared. Ends with OUT_OF_MEMORY where a file
    takes more than it may: its process holds what was made of it, and starts better anew.
    """
    _be_quiet()
    _leave_with_parent()
    _bound_memory(limits.memory)
    while True:
        try:
            recipe, tasks = connection.recv()
            connection.send(prepare(recipe, _announced(tasks, connection, limits)))
        except MemoryError:
            os._exit(OUT_OF_MEMORY)
        except (EOFError, OSError):
            return


def _announced(tasks: Sequence[Task], connection: Connection[Any, Any], limits: Limits) -> Iterator[Task]:
    for number, task in enumerate(tasks):
        _bound_time(limits.seconds_for(task))
        connection.send(number)
        yield task


def _be_quiet() -> None:
    """Ctrl+C is for the build, which ends its workers; and what a library says as it dies is not for the terminal."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)


def _leave_with_parent() -> None:
    """End when the build that is worked for is killed, even in the middle of a file."""
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after, args=(parent,), daemon=True).start()


def _exit_after(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)


if sys.platform == "win32":

    def _bound_memory(_megabytes: int) -> None:
        """Windows has no such limit for a process that sets it for itself."""

    def _bound_time(_seconds: float) -> None:
        """The clock of the build is the only limit."""

else:
    import resource

    def _bound_memory(megabytes: int) -> None:
        """Linux counts under RLIMIT_DATA what a process has made writable for itself: not the files it has mapped, and
        not what allocators and threads reserve. macOS takes the limit and does not hold it."""
        _lower(resource.RLIMIT_DATA, megabytes * 1_000_000)
        _lower(resource.RLIMIT_CORE, 0)  # a note that is too much for a worker is not left behind as its memory

    def _bound_time(seconds: float) -> None:
        """Counted in whole seconds. The kernel ends the process with SIGXCPU, also where the build is gone."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        _lower(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + seconds) + 1)

    def _lower(what: int, limit: int) -> None:
        _, most = resource.getrlimit(what)
        with suppress(ValueError, OSError):
            resource.setrlimit(what, (limit if most == resource.RLIM_INFINITY else min(limit, most), most))
