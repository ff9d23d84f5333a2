"""A worker process that prepares files for a build, and the limits of time and memory for one file.

The process reports which file it begins, so its parent knows which file hangs or killed it. The kernel enforces the
limits: code that holds the interpreter (a regular expression, a parser in C) cannot delay them.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from msgspec import Struct

from excerpt.index.prepare import FileTask, PreparedFiles, PrepareOptions

PrepareFunction = Callable[[PrepareOptions, Iterable[FileTask]], PreparedFiles]
"""The type of `prepare`, which prepares files; a function of a module, because it is pickled for the workers."""

OUT_OF_MEMORY = 71
"""Exit code of a worker process whose file exceeded the memory limit."""


class Limits(Struct, frozen=True):
    """The limits for one file.

    The CPU time is `seconds`, plus `seconds_per_mb` per MB and `seconds_per_image` per image that OCR reads. The wall
    time is `wall_time_factor` times as long, because the machine may be busy and the file remote. `memory` is the MB of
    data that the process may hold. On one core of 2020 a MB of notes takes a second and 40 MB of data; the most
    expensive text found, short lines that are each a block, takes twelve seconds and 350 MB.
    """

    seconds: float = 20.0
    seconds_per_mb: float = 5.0
    seconds_per_image: float = 20.0
    wall_time_factor: float = 5.0
    memory: int = 2_000

    def seconds_for(self, task: FileTask) -> float:
        """Return the CPU seconds allowed for a file."""
        return self.seconds + self.seconds_per_mb * (task.size // 1_000_000) + self.seconds_per_image * task.images


if sys.platform == "win32":
    from multiprocessing.connection import PipeConnection

    def _open_connection(handle: int) -> PipeConnection[Any, Any]:
        return PipeConnection(handle)

else:

    def _open_connection(handle: int) -> Connection[Any, Any]:
        return Connection(handle)


def main() -> None:
    """Run the worker process: prepare the files of each request and send the results, until the connection closes.

    `sys.argv[3]` is the inherited handle of the connection. Its first message is (prepare function, limits); each
    further message is a request (options, tasks). Before each file, its number among the tasks is sent. The process
    exits with OUT_OF_MEMORY if a file exceeds the memory limit, because a new process has no leftovers in memory.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is only for the build, which ends its workers
    connection = _open_connection(int(sys.argv[3]))
    prepare: PrepareFunction
    limits: Limits
    prepare, limits = connection.recv()
    _limit_memory(limits.memory)
    requests: SimpleQueue[tuple[PrepareOptions, Sequence[FileTask]]] = SimpleQueue()
    threading.Thread(target=_receive, args=(connection, requests), daemon=True).start()
    while True:
        options, tasks = requests.get()
        try:
            connection.send(prepare(options, _announce_each_task(tasks, connection, limits)))
        except MemoryError:
            os._exit(OUT_OF_MEMORY)
        except OSError:
            return


def _receive(
    connection: Connection[Any, Any], requests: SimpleQueue[tuple[PrepareOptions, Sequence[FileTask]]]
) -> None:
    """Put the messages of the connection into `requests`; exit, even in the middle of a file, when it closes."""
    while True:
        try:
            requests.put(connection.recv())
        except MemoryError:
            os._exit(OUT_OF_MEMORY)
        except (EOFError, OSError):
            os._exit(0)


def _announce_each_task(
    tasks: Sequence[FileTask], connection: Connection[Any, Any], limits: Limits
) -> Iterator[FileTask]:
    for number, task in enumerate(tasks):
        _limit_cpu_seconds(limits.seconds_for(task))
        connection.send(number)
        yield task


if sys.platform == "win32":

    def _limit_memory(_megabytes: int) -> None:
        """Do nothing: a process on Windows cannot set such a limit for itself."""

    def _limit_cpu_seconds(_seconds: float) -> None:
        """Do nothing: on Windows, the build's limit of wall time is the only limit."""

else:
    import resource

    def _limit_memory(megabytes: int) -> None:
        """Limit the memory that the process may allocate (RLIMIT_DATA).

        Linux counts neither mapped files nor what allocators and threads reserve. macOS accepts the limit and does not
        enforce it.
        """
        _lower_limit(resource.RLIMIT_DATA, megabytes * 1_000_000)
        _lower_limit(resource.RLIMIT_CORE, 0)  # a note that is too much for a worker is not left behind as its memory

    def _limit_cpu_seconds(seconds: float) -> None:
        """Limit the CPU seconds of the process, as whole seconds.

        The kernel ends the process with SIGXCPU, also if the build is gone.
        """
        used = resource.getrusage(resource.RUSAGE_SELF)
        _lower_limit(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime + seconds) + 1)

    def _lower_limit(resource_kind: int, limit: int) -> None:
        _, hard_limit = resource.getrlimit(resource_kind)
        with suppress(ValueError, OSError):
            resource.setrlimit(
                resource_kind, (limit if hard_limit == resource.RLIM_INFINITY else min(limit, hard_limit), hard_limit)
            )
