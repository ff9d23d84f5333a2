"""Prepare many files: a few in this process, many in worker processes, always in the order given."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, Pipe, wait
from types import FrameType, TracebackType
from typing import Any, Self

from excerpt.errors import IndexUnusableError
from excerpt.index.prepare import Prepared, PrepareOptions, Task, prepare
from excerpt.index.worker import OUT_OF_MEMORY, Limits, Prepare
from excerpt.model import FileProblem
from excerpt.processes import python_command, start_arguments
from excerpt.text.numbers import discard_thread_term_encoder

# --- in the process of the build --------------------------------------------------------------------------------------
# Small files are prepared in the build's own process, which is done before a worker could be started.
#
# A worker can be killed from outside; this process can only be interrupted. If there is an alarm signal, and in the
# main thread, a file that takes more than a second is left to a worker: regular expressions and all Python code give
# way to the signal. Otherwise only files so small that none is known to take half a second are prepared here.
#
# An interruption must leave no partial state that later files use. So it waits until an import has ended: the first
# file triggers imports, which a cold disk or a busy machine can make slow, and a half-imported module would fail for
# every later file. The cache of term numbers is cleared, because an entry may be incomplete.

SECONDS = 1.0
"""The most seconds (wall time) that a file may take in the build's own process."""
_IMPORT_SECONDS = 0.05
"""Delay of an interruption, repeated as long as a module is being imported."""
_BYTES = 256_000
_BYTES_UNGUARDED = 64_000


class TooLongError(Exception):
    """The file with this `number` took too long, or too much memory, to be prepared in this process."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class _Alarm(BaseException):
    """Raised by the alarm signal.

    A BaseException, so that no handler of Exception takes it for an error of the note.
    """


def in_process_bytes() -> int:
    """Return the size up to which files are prepared in this process."""
    return _BYTES if _can_be_interrupted() else _BYTES_UNGUARDED


def prepare_in_process(prepare: Prepare, options: PrepareOptions, tasks: Sequence[Task]) -> Prepared:
    """Prepare the files with a time limit for each. Raises TooLongError; then the results of all of them are lost."""
    current = 0

    def timed_tasks(seconds: float) -> Iterator[Task]:
        nonlocal current
        for number, task in enumerate(tasks):
            current = number
            if seconds:
                signal.setitimer(signal.ITIMER_REAL, seconds)
            yield task

    try:
        if not _can_be_interrupted():
            return prepare(options, timed_tasks(0.0))
        with _alarms():
            return prepare(options, timed_tasks(SECONDS))
    except (_Alarm, MemoryError):
        discard_thread_term_encoder()
        raise TooLongError(current) from None


def _can_be_interrupted() -> bool:
    """Return whether this is the main thread of a system with alarm signals, which nothing else uses."""
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) in (signal.SIG_DFL, signal.SIG_IGN)
        and not signal.getitimer(signal.ITIMER_REAL)[0]
    )


@contextmanager
def _alarms() -> Iterator[None]:
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
    """Return whether the file in work waits for an import, other than one that the build itself is part of."""
    while frame is not None and frame.f_code is not prepare_in_process.__code__:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


# --- in worker processes ----------------------------------------------------------------------------------------------
# The build's side of the workers: `Worker` is one process of the pool, `Run` the preparation of many files by the pool.
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
_TOO_LONG = -getattr(signal, "SIGXCPU", 0x7FFF)
_UNKNOWN = "The process that read it ended; it may need more memory than is available."


IsPaused = Callable[[], bool]
"""Returns whether to start no new pieces for now."""


class Worker:
    """One worker process: its current piece of work, and since when. Raises OSError if it cannot be started."""

    def __init__(self, prepare: Prepare, limits: Limits) -> None:
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
        self.run: Run | None = None
        self.piece = range(0)
        self.number: int | None = None
        self.since = 0.0

    @property
    def id(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return not self.connection.closed

    @property
    def is_idle(self) -> bool:
        return self.is_alive and self.run is None

    def take(self, run: Run, piece: range) -> None:
        """Start a piece of a run. If the worker dies during it, its connection shows that."""
        self.run, self.piece, self.number, self.since = run, piece, None, time.monotonic()
        with suppress(OSError):
            self.connection.send((run.options, run.tasks[piece.start : piece.stop]))

    def end(self, wait: float = 0.0) -> int:
        """End the process, which has `wait` seconds to end by itself, and return its exit code."""
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
    """Start a worker that inherits the handle of its connection. Raises OSError."""
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


class Run:
    """The preparation of one list of files in pieces, by workers. `results` yields the results of a piece."""

    def __init__(
        self,
        options: PrepareOptions,
        tasks: Sequence[Task],
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
        self._results: dict[int, tuple[int, Prepared]] = {}
        self._suspect_files: set[int] = set()
        self._failed_starts = 0
        self._current_path = ""
        self._changed = threading.Condition()
        self._error: Exception | None = None
        self._is_ended = False
        self._thread = threading.Thread(target=self._feed, name="workers", daemon=True)
        if pieces:
            self._thread.start()

    def add(self, piece: range) -> None:
        """Have a worker prepare these files too, before the others."""
        with self._changed:
            self._pending.appendleft(piece)
            self._changed.notify_all()
        if not self._thread.is_alive():
            self._thread.start()

    def results(self, piece: range, tick: Callable[[str], None]) -> Iterator[Prepared]:
        """Yield the results for a piece's files, in order."""
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
        """Stop the run. Results that workers still produce for it are discarded."""
        self._is_ended = True
        if self._thread.is_alive():
            self._thread.join()

    # --- in the thread ------------------------------------------------------------------------------------------------

    def _feed(self) -> None:
        if hasattr(signal, "pthread_sigmask"):
            # The workers inherit this mask: Ctrl+C is only for the build, also before a worker can ignore it by itself.
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            while not self._is_ended:
                busy = self._dispatch()
                self._listen(busy)
                self._end_overdue(busy)
        except Exception as error:  # any exception is raised again where results are awaited
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _dispatch(self) -> Sequence[Worker]:
        """Send pieces to idle workers and return the busy ones. Raises IndexUnusableError."""
        with self._changed:
            pending_count = len(self._pending)
        try:
            workers = self._workers(pending_count)
        except OSError as error:
            raise _unstartable(str(error.strerror or error)) from error
        ahead = sum(worker.run is self for worker in workers)
        for worker in workers:
            if worker.is_idle and (piece := self._next(ahead)):
                worker.take(self, piece)
                ahead += 1
        return [worker for worker in workers if worker.run is not None]

    def _next(self, ahead: int) -> range:
        """Return the next piece to send when `ahead` are in work; an empty one if nothing may start yet."""
        with self._changed:
            return self._pending.popleft() if self._may_start(ahead) else range(0)

    def _may_start(self, ahead: int) -> bool:
        if self._is_paused() or not self._pending:
            return False
        # The piece whose results are awaited is always sent, however many later ones are done.
        return ahead + len(self._results) < _MAX_AHEAD or self._pending[0].start < min(self._results)

    def _listen(self, busy: Sequence[Worker]) -> None:
        if not busy:
            with self._changed:
                if not self._may_start(0):
                    self._changed.wait(_POLL_SECONDS)
            return
        by_connection = {worker.connection: worker for worker in busy}
        for ready in wait(list(by_connection), _POLL_SECONDS):
            worker = by_connection[ready]  # type: ignore[index]
            try:
                message: int | Prepared = worker.connection.recv()
            except (EOFError, OSError):
                self._reap(worker)
                continue
            if isinstance(message, Prepared):
                self._store_result(worker, message)
            else:
                worker.number, worker.since = message, time.monotonic()
        own_workers = [worker for worker in busy if worker.run is self and worker.number is not None]
        self._current_path = ""
        if own_workers:
            longest = min(own_workers, key=lambda worker: worker.since)
            self._current_path = self.tasks[longest.piece.start + (longest.number or 0)].path

    def _store_result(self, worker: Worker, prepared: Prepared) -> None:
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
                if now - worker.since > _START_SECONDS:
                    self._reap(worker)
                continue
            seconds = self._limits.seconds_for(run.tasks[worker.piece.start + worker.number])
            if now - worker.since > seconds * self._limits.wall_time_factor:
                self._reap(worker, overdue=True)

    def _reap(self, worker: Worker, overdue: bool = False) -> None:
        """Handle a dead or `overdue` worker: find which file it had, and queue its other files again."""
        is_own, code = worker.run is self, worker.end(0.0 if overdue else _END_SECONDS)
        worker.run = None
        if not is_own:
            return
        piece = worker.piece
        with self._changed:
            if worker.number is None:
                self._failed_starts += 1
                if self._failed_starts > _MAX_FAILED_STARTS:
                    raise _unstartable(f"they end with code {code}")
                self._pending.appendleft(piece)
                return
            at = piece.start + worker.number
            reason = _reason(_TOO_LONG if overdue else code, self._limits, self.tasks[at])
            if not reason and at not in self._suspect_files:
                # Its killer may have meant the process and not the file: the system's out-of-memory killer, or a user.
                self._suspect_files.add(at)
                pieces = [range(piece.start, at), range(at, at + 1), range(at + 1, piece.stop)]
            else:
                pieces = [range(piece.start, at), range(at + 1, piece.stop)]
                skipped = FileProblem(self.tasks[at].path, reason or _UNKNOWN)
                self._results[at] = at + 1, Prepared(skipped=[skipped], given_up=[self.tasks[at]])
            self._pending.extendleft(rest for rest in reversed(pieces) if rest)
            self._changed.notify_all()


def _reason(code: int, limits: Limits, task: Task) -> str:
    """Return why a file ended its worker with that exit code, "" if nothing shows that the file was the cause."""
    if code == _TOO_LONG:
        return f"It took longer than {limits.seconds_for(task):g} s to process."
    # Libraries in C abort when there is no memory.
    if code in (OUT_OF_MEMORY, -signal.SIGABRT):
        return f"It needs more than {limits.memory:,} MB of memory."
    return ""


def _unstartable(reason: str) -> IndexUnusableError:
    return IndexUnusableError(
        f"The processes that read notes cannot be started: {reason}.",
        "Close other programs, or raise your limit of processes.",
    )


# --- a few here, many there -------------------------------------------------------------------------------------------
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
"""Called with the path of the file that has been in work the longest.

It is called from time to time, and at least every 100 ms while results of workers are awaited.
"""


class Workers:
    """A pool of processes that prepare files.

    They start when they are first needed and stay until `close`; after that they start again on demand. One iteration
    of `prepare` at a time.
    """

    def __init__(
        self,
        max_workers: int = _MAX_WORKERS,
        limits: Limits = Limits(),  # noqa: B008
        prepare: Prepare = prepare,
        is_paused: IsPaused = lambda: False,
    ) -> None:
        """Create the pool; while `is_paused` returns True, no new piece starts."""
        self._max_workers = min(os.cpu_count() or 1, max_workers)
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
        """End the processes, whatever they are doing."""
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    @property
    def processes(self) -> list[int]:
        """The ids of the running processes."""
        return [worker.id for worker in self._workers]

    def prepare(self, options: PrepareOptions, tasks: Sequence[Task], tick: Tick) -> Generator[Prepared, None, None]:
        """Yield the results for the files, prepared in parallel, in the order of `tasks`.

        Raises IndexUnusableError if workers are needed and cannot be started.
        """
        pieces = list(self._pieces(tasks))
        run = Run(
            options,
            tasks,
            [piece for piece, in_process in pieces if not in_process],
            self._limits,
            self._get_workers,
            is_paused=self._is_paused,
        )
        try:
            for piece, in_process in pieces:
                done = self._in_process(options, tasks, piece, run, tick) if in_process else run.results(piece, tick)
                for prepared in done:
                    self._risky_paths.update(task.path for task in prepared.given_up)
                    yield prepared
        finally:
            run.end()

    def _get_workers(self, count: int) -> list[Worker]:
        """Return the workers, at least `count` if the limit allows. Called from the thread of a run."""
        self._workers = [worker for worker in self._workers if worker.is_alive]
        while len(self._workers) < min(count, self._max_workers):
            self._workers.append(Worker(self._prepare, self._limits))
        return self._workers

    def _pieces(self, tasks: Sequence[Task]) -> Iterator[tuple[range, bool]]:
        """Yield the ranges of tasks that are prepared together, each with whether in this process."""
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

    def _in_process(
        self, options: PrepareOptions, tasks: Sequence[Task], piece: range, run: Run, tick: Tick
    ) -> Iterator[Prepared]:
        """Prepare a piece in this process; a file that takes too long is left to a worker."""
        while piece:
            tick(tasks[piece.start].path)
            try:
                prepared = prepare_in_process(self._prepare, options, tasks[piece.start : piece.stop])
            except TooLongError as stopped:
                at = piece.start + stopped.number
            else:
                yield prepared
                return
            yield from self._in_process(options, tasks, range(piece.start, at), run, tick)
            self._risky_paths.add(tasks[at].path)
            single = range(at, at + 1)
            run.add(single)
            yield from run.results(single, tick)
            piece = range(at + 1, piece.stop)
