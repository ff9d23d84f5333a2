"""Preparation of many files: the first and the small ones in this process, the rest in workers, results in order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe, wait
from types import TracebackType
from typing import Any, Self

from excerpt.base.errors import IndexUnusableError
from excerpt.base.model import FileProblem
from excerpt.base.processes import count_cores, python_command, start_arguments
from excerpt.index.in_process import TooLongError, in_process_bytes, prepare_in_process
from excerpt.index.prepare import FileTask, PreparedFiles, PrepareOptions, prepare
from excerpt.index.worker import OUT_OF_MEMORY, Limits, PrepareFunction

# `Worker` is one process of the pool, `PreparationRun` the preparation of many files by the pool.
#
# A separate thread sends files to the workers, receives their results, and ends workers that exceed the time for one
# file; meanwhile the build commits.

# Limit of pieces in work or waiting to be collected: the workers stay busy while a batch is committed.
_MAX_AHEAD = 32
_POLL_SECONDS = 0.1
# On a busy machine a worker has started after a few seconds. If one never starts, or workers repeatedly die before they
# have begun a file, none can be started here.
_START_SECONDS = 60.0
_MAX_FAILED_STARTS = 3
_END_SECONDS = 1.0
_CPU_LIMIT_EXIT_CODE = -getattr(signal, "SIGXCPU", 0x7FFF)
_UNKNOWN_REASON = "The process that read the file ended; the file may need more memory than is available."


IsPaused = Callable[[], bool]
"""A function that returns whether the build is paused, so that no new files are started."""


class Worker:
    """One worker process, the range of files it is preparing (`piece`) and the current file's number in that range.

    `began_at` is the monotonic time when the current file was begun. Raises OSError if the process cannot be started.
    """

    def __init__(self, prepare: PrepareFunction, limits: Limits) -> None:
        ours, theirs = Pipe()
        self.connection: Connection[Any, Any] = ours
        try:
            with theirs:
                self._process = _start_process(theirs.fileno())
        except OSError:
            ours.close()
            raise
        with suppress(OSError):  # if it has ended already, the connection shows that
            ours.send((prepare, limits))
        self.run: PreparationRun | None = None
        self.piece = range(0)
        self.number: int | None = None
        self.began_at = 0.0

    @property
    def id(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return not self.connection.closed

    @property
    def is_idle(self) -> bool:
        return self.is_alive and self.run is None

    def start_piece(self, run: PreparationRun, piece: range) -> None:
        """Send the process a range of the run's files to prepare; if it dies meanwhile, its connection is closed."""
        self.run, self.piece, self.number, self.began_at = run, piece, None, time.monotonic()
        with suppress(OSError):
            self.connection.send((run.options, run.tasks[piece.start : piece.stop]))

    def end(self, wait: float = 0.0) -> int:
        """Kill the process if it does not end by itself within `wait` seconds; return its exit code."""
        self.connection.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(wait)
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        return self._process.returncode or 0


# The multiprocessing module is not used: it starts its processes, and one that tracks their resources, with the working
# directory on the import path, and has them import the module that this process was started with, which may be a user's
# script.
def _start_process(handle: int) -> subprocess.Popen[bytes]:
    """Start a worker process that inherits `handle`, its end of the connection. Raises OSError."""
    inherited: dict[str, Any]
    if sys.platform == "win32":
        os.set_handle_inheritable(handle, True)
        inherited = {"startupinfo": subprocess.STARTUPINFO(lpAttributeList={"handle_list": [handle]})}
    else:
        inherited = {"pass_fds": [handle]}
    # Messages that a library prints when it crashes must not reach the terminal.
    return subprocess.Popen(
        python_command(*start_arguments("excerpt.index.worker", str(handle))),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **inherited,
    )


class PreparationRun:
    """Prepares one list of files by worker processes, in ranges of files; `results` yields the prepared files."""

    def __init__(
        self,
        options: PrepareOptions,
        tasks: Sequence[FileTask],
        pieces: Sequence[range],
        limits: Limits,
        workers: Callable[[int], Sequence[Worker]],
        *,
        is_paused: IsPaused,
    ) -> None:
        self.options = options
        self.tasks = tasks
        self._limits = limits
        self._workers = workers
        self._is_paused = is_paused
        self._pending = deque(pieces)
        self._results: dict[int, tuple[int, PreparedFiles]] = {}
        self._suspect_files: set[int] = set()
        self._failed_starts = 0
        self._current_path = ""
        self._changed = threading.Condition()
        self._error: Exception | None = None
        self._is_ended = False
        self._thread = threading.Thread(target=self._run_workers, name="workers", daemon=True)
        if pieces:
            self._thread.start()

    def add(self, piece: range) -> None:
        """Queue another range of the files for the workers, before all ranges that wait."""
        with self._changed:
            self._pending.appendleft(piece)
            self._changed.notify_all()
        if not self._thread.is_alive():
            self._thread.start()

    def results(self, piece: range, tick: Callable[[str], None]) -> Iterator[PreparedFiles]:
        """Yield the results for the files in the range `piece`, in order, waiting for the workers.

        `tick` is called at least every 0.1 s with the path of the file that has been in preparation the longest.
        """
        at = piece.start
        while at < piece.stop:
            tick(self._current_path or self.tasks[at].path)
            with self._changed:
                if at not in self._results:
                    self._changed.wait(_POLL_SECONDS)
                if self._error is not None:
                    raise self._error
                result = self._results.pop(at, None)
                self._changed.notify_all()
            if result is not None:
                at, prepared = result
                yield prepared

    def end(self) -> None:
        """Stop the run; results that workers still produce for its files are discarded."""
        self._is_ended = True
        if self._thread.is_alive():
            self._thread.join()

    def _run_workers(self) -> None:
        if hasattr(signal, "pthread_sigmask"):
            # The workers inherit this mask: Ctrl+C is only for the build, also before a worker can ignore it by itself.
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            while not self._is_ended:
                busy = self._dispatch()
                self._receive_results(busy)
                self._end_overdue(busy)
        except Exception as error:  # any exception is raised again where results are awaited
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _dispatch(self) -> Sequence[Worker]:
        """Send ranges of files to idle workers and return the busy workers. Raises IndexUnusableError."""
        with self._changed:
            pending_count = len(self._pending)
        try:
            workers = self._workers(pending_count)
        except OSError as error:
            raise _worker_start_error(str(error.strerror or error)) from error
        ahead = sum(worker.run is self for worker in workers)
        for worker in workers:
            if worker.is_idle and (piece := self._take_next_piece(ahead)):
                worker.start_piece(self, piece)
                ahead += 1
        return [worker for worker in workers if worker.run is not None]

    def _take_next_piece(self, ahead: int) -> range:
        """Take the next range of files from the queue; return an empty range if none may start now.

        `ahead` is the number of ranges that workers are preparing.
        """
        with self._changed:
            return self._pending.popleft() if self._may_start(ahead) else range(0)

    def _may_start(self, ahead: int) -> bool:
        if self._is_paused() or not self._pending:
            return False
        # The piece whose results are awaited is always sent, however many later ones are done.
        return ahead + len(self._results) < _MAX_AHEAD or self._pending[0].start < min(self._results)

    def _receive_results(self, busy: Sequence[Worker]) -> None:
        if not busy:
            with self._changed:
                if not self._may_start(0):
                    self._changed.wait(_POLL_SECONDS)
            return
        by_connection = {worker.connection: worker for worker in busy}
        for ready in wait(list(by_connection), _POLL_SECONDS):
            worker = by_connection[ready]  # type: ignore[index]
            try:
                message: int | PreparedFiles = worker.connection.recv()
            except (EOFError, OSError):
                self._reap(worker)
                continue
            if isinstance(message, PreparedFiles):
                self._store_result(worker, message)
            else:
                worker.number, worker.began_at = message, time.monotonic()
        own_workers = [worker for worker in busy if worker.run is self and worker.number is not None]
        self._current_path = ""
        if own_workers:
            longest = min(own_workers, key=lambda worker: worker.began_at)
            self._current_path = self.tasks[longest.piece.start + (longest.number or 0)].path

    def _store_result(self, worker: Worker, prepared: PreparedFiles) -> None:
        is_own, worker.run, self._failed_starts = worker.run is self, None, 0
        if is_own:
            with self._changed:
                self._results[worker.piece.start] = worker.piece.stop, prepared
                self._changed.notify_all()

    def _end_overdue(self, busy: Sequence[Worker]) -> None:
        now = time.monotonic()
        for worker in busy:
            run = worker.run
            if run is None:
                continue
            if worker.number is None:
                if now - worker.began_at > _START_SECONDS:
                    self._reap(worker)
                continue
            seconds = self._limits.seconds_for(run.tasks[worker.piece.start + worker.number])
            if now - worker.began_at > seconds * self._limits.wall_time_factor:
                self._reap(worker, overdue=True)

    def _reap(self, worker: Worker, overdue: bool = False) -> None:
        """End a worker that died or exceeded the time (`overdue`), skip the file it was reading, requeue the others.

        If nothing shows that the file was the cause, it is tried once more by itself.
        """
        is_own, code = worker.run is self, worker.end(0.0 if overdue else _END_SECONDS)
        worker.run = None
        if not is_own:
            return
        piece = worker.piece
        with self._changed:
            if worker.number is None:
                self._failed_starts += 1
                if self._failed_starts > _MAX_FAILED_STARTS:
                    raise _worker_start_error(f"they end with code {code}")
                self._pending.appendleft(piece)
                return
            at = piece.start + worker.number
            reason = _describe_limit(_CPU_LIMIT_EXIT_CODE if overdue else code, self._limits, self.tasks[at])
            if not reason and at not in self._suspect_files:
                # Its killer may have meant the process and not the file: the system's out-of-memory killer, or a user.
                self._suspect_files.add(at)
                pieces = [range(piece.start, at), range(at, at + 1), range(at + 1, piece.stop)]
            else:
                pieces = [range(piece.start, at), range(at + 1, piece.stop)]
                skipped = FileProblem(self.tasks[at].path, reason or _UNKNOWN_REASON)
                self._results[at] = at + 1, PreparedFiles(skipped=[skipped], given_up=[self.tasks[at]])
            self._pending.extendleft(rest for rest in reversed(pieces) if rest)
            self._changed.notify_all()


def _describe_limit(code: int, limits: Limits, task: FileTask) -> str:
    """Return the limit that a file exceeded, as a sentence, by its worker's exit code; "" if the code shows none."""
    if code == _CPU_LIMIT_EXIT_CODE:
        return f"Processing the file took longer than {limits.seconds_for(task):g} s."
    # Libraries in C abort when there is no memory.
    if code in (OUT_OF_MEMORY, -signal.SIGABRT):
        return f"Processing the file needs more than {limits.memory:,} MB of memory."
    return ""


def _worker_start_error(reason: str) -> IndexUnusableError:
    return IndexUnusableError(
        f"The processes that read notes cannot be started: {reason}.",
        "Close other programs, or raise your limit of processes.",
    )


# Parsing notes is Python code, so only processes can use a second core, and a parser that hangs can only be ended from
# outside. Workers hold no part of the index: one that dies, or is ended because a file exceeds its limits, loses that
# file and nothing else. See docs/design/index.md, "Files that take too much".

# Starting two workers takes about a second; for less text than this, one process is faster. Once workers run, they are
# used from a lower limit on.
_WORKERS_FROM_BYTES = 4_000_000
_SPARE_FROM_BYTES = 500_000
# The size of one piece: large enough to make its overhead negligible, small enough to keep the progress moving.
_CHUNK_BYTES = 250_000
_CHUNK_FILES = 32
# The first files are prepared here, while the workers start, so that something is searchable within a second or two.
_FIRST_FILES = 64
_IN_PROCESS_FILES = 8
_MAX_WORKERS = 8

Tick = Callable[[str], None]
"""A callback that gets the path of the file that has been in preparation the longest.

It is called at least every 100 ms while results of workers are awaited.
"""


class Workers:
    """A pool of worker processes that prepare files.

    The processes start when they are first needed and run until `close`; a later `prepare` starts them again. Only one
    iteration of `prepare` may run at a time.
    """

    def __init__(
        self,
        max_workers: int = _MAX_WORKERS,
        limits: Limits = Limits(),  # noqa: B008
        prepare: PrepareFunction = prepare,
        is_paused: IsPaused = lambda: False,
    ) -> None:
        """Create the pool without starting processes; while `is_paused` returns True, no new files are started."""
        self._max_workers = min(count_cores(), max_workers)
        self._limits = limits
        self._prepare = prepare
        self._is_paused = is_paused
        self._workers: list[Worker] = []
        self._risky_paths: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kill the worker processes, even while they are working."""
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    @property
    def processes(self) -> list[int]:
        """Process ids of the running workers."""
        return [worker.id for worker in self._workers]

    def prepare(
        self, options: PrepareOptions, tasks: Sequence[FileTask], tick: Tick
    ) -> Generator[PreparedFiles, None, None]:
        """Yield the results for the files, prepared in parallel, in the order of `tasks`.

        Raises IndexUnusableError if workers are needed and cannot be started.
        """
        pieces = list(self._split_into_pieces(tasks))
        run = PreparationRun(
            options,
            tasks,
            [piece for piece, in_process in pieces if not in_process],
            self._limits,
            self._get_workers,
            is_paused=self._is_paused,
        )
        try:
            for piece, in_process in pieces:
                done = (
                    self._prepare_piece_in_process(options, tasks, piece, run, tick)
                    if in_process
                    else run.results(piece, tick)
                )
                for prepared in done:
                    self._risky_paths.update(task.path for task in prepared.given_up)
                    yield prepared
        finally:
            run.end()

    def _get_workers(self, count: int) -> list[Worker]:
        """Start workers until there are `count` or the maximum, and return all. Called from the thread of a run."""
        self._workers = [worker for worker in self._workers if worker.is_alive]
        while len(self._workers) < min(count, self._max_workers):
            self._workers.append(Worker(self._prepare, self._limits))
        return self._workers

    def _split_into_pieces(self, tasks: Sequence[FileTask]) -> Iterator[tuple[range, bool]]:
        """Split the tasks into ranges; yield each range, and whether this process (not a worker) prepares it."""
        threshold = _SPARE_FROM_BYTES if self._workers else _WORKERS_FROM_BYTES
        first = _FIRST_FILES if sum(task.size for task in tasks) >= threshold else len(tasks)
        small = in_process_bytes()
        begin = size = 0
        was_in_process = False
        for at, task in enumerate(tasks):
            in_process = at < first and task.size <= small and not task.kind and task.path not in self._risky_paths
            if at > begin:
                full = size >= _CHUNK_BYTES or at - begin >= (_IN_PROCESS_FILES if was_in_process else _CHUNK_FILES)
                if full or in_process != was_in_process:
                    yield range(begin, at), was_in_process
                    begin, size = at, 0
            size += task.size
            was_in_process = in_process
        if tasks:
            yield range(begin, len(tasks)), was_in_process

    def _prepare_piece_in_process(
        self, options: PrepareOptions, tasks: Sequence[FileTask], piece: range, run: PreparationRun, tick: Tick
    ) -> Iterator[PreparedFiles]:
        """Prepare a range of tasks in this process and yield the results; a worker gets files that take too long."""
        while piece:
            tick(tasks[piece.start].path)
            try:
                prepared = prepare_in_process(self._prepare, options, tasks[piece.start : piece.stop])
            except TooLongError as stopped:
                at = piece.start + stopped.number
            else:
                yield prepared
                return
            yield from self._prepare_piece_in_process(options, tasks, range(piece.start, at), run, tick)
            self._risky_paths.add(tasks[at].path)
            single = range(at, at + 1)
            run.add(single)
            yield from run.results(single, tick)
            piece = range(at + 1, piece.stop)
