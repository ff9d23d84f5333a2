"""Prepare many files: a few in this process, many in worker processes, always in the order given.

Taking notes apart is Python, so only processes use a second core, and only from outside can a parser that hangs be
ended. Workers hold no part of the index: one that dies, or is ended because a file is over its limits, costs that file
and nothing else. See docs/design/index.md, "Files that take too much".
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from types import TracebackType
from typing import Self

from excerpt.index.here import TooLongError, here_bytes, prepare_here
from excerpt.index.prepare import Prepared, Recipe, Task, prepare
from excerpt.index.supply import Held, Member, Run
from excerpt.index.worker import Limits, Prepare

# Starting two workers takes about a second; below this much text one process is done sooner. Once they are there, they
# are used from less on.
_WORTH_WORKERS = 4_000_000
_WORTH_ASKING = 500_000
# One hand-over to a worker: enough to drown its cost, little enough to keep the progress moving.
_CHUNK_BYTES = 250_000
_CHUNK_FILES = 32
# The first files are prepared here, while the workers start, so that something is searchable within a second or two.
_FIRST_FILES = 64
_HERE_FILES = 8
_MOST_WORKERS = 8

Tick = Callable[[str], None]
"""Called with the path of the file that has been in work the longest: now and then, and at least each 100 ms while
workers are waited for."""


class Workers:
    """A few processes that take files apart. They start when they are first needed, and stay until `close`; after that
    they start again when they are needed again. One iteration of `prepare` at a time."""

    def __init__(
        self,
        most: int = _MOST_WORKERS,
        limits: Limits = Limits(),  # noqa: B008
        prepare: Prepare = prepare,
        held: Held = lambda: False,
    ) -> None:
        """While `held` says so, nothing new is begun."""
        # spawn: a fork would copy the threads' locks of numpy and the tokenizer in whatever state they are.
        self._context = multiprocessing.get_context("spawn")
        self._most = min(os.cpu_count() or 1, most)
        self._limits = limits
        self._prepare = prepare
        self._held = held
        self._members: list[Member] = []
        self._risky: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the processes, whatever they are at."""
        for member in self._members:
            member.end()
        self._members.clear()

    @property
    def processes(self) -> list[int]:
        """The ids of the processes that there are."""
        return [member.id for member in self._members]

    def prepare(self, recipe: Recipe, tasks: Sequence[Task], tick: Tick) -> Generator[Prepared, None, None]:
        """What became of the files, some at a time, in the order of `tasks`. Raises IndexUnusableError if workers are
        needed and cannot be started."""
        pieces = list(self._pieces(tasks))
        run = Run(
            recipe, tasks, [piece for piece, here in pieces if not here], self._limits, self._more, held=self._held
        )
        try:
            for piece, here in pieces:
                done = self._here(recipe, tasks, piece, run, tick) if here else run.results(piece, tick)
                for prepared in done:
                    self._risky.update(task.path for task in prepared.given_up)
                    yield prepared
        finally:
            run.end()

    def _more(self, wanted: int) -> list[Member]:
        """The members, `wanted` of them and more if that may be. Called from the thread of a run."""
        self._members = [member for member in self._members if member.lives]
        while len(self._members) < min(wanted, self._most):
            self._members.append(Member(self._context, self._prepare, self._limits))
        return self._members

    def _pieces(self, tasks: Sequence[Task]) -> Iterator[tuple[range, bool]]:
        """Which tasks are prepared together, and whether here."""
        worth = _WORTH_ASKING if self._members else _WORTH_WORKERS
        first = _FIRST_FILES if sum(task.size for task in tasks) >= worth else len(tasks)
        small = here_bytes()
        begin = size = 0
        was_here = False
        for at, task in enumerate(tasks):
            here = at < first and task.size <= small and task.path not in self._risky
            if at > begin:
                full = size >= _CHUNK_BYTES or at - begin >= (_HERE_FILES if was_here else _CHUNK_FILES)
                if full or here != was_here:
                    yield range(begin, at), was_here
                    begin, size = at, 0
            size += task.size
            was_here = here
        if tasks:
            yield range(begin, len(tasks)), was_here

    def _here(self, recipe: Recipe, tasks: Sequence[Task], piece: range, run: Run, tick: Tick) -> Iterator[Prepared]:
        """Prepare in this process what a process could be started for, but is done sooner without."""
        while piece:
            tick(tasks[piece.start].path)
            try:
                prepared = prepare_here(self._prepare, recipe, tasks[piece.start : piece.stop])
            except TooLongError as stopped:
                at = piece.start + stopped.number
            else:
                yield prepared
                return
            yield from self._here(recipe, tasks, range(piece.start, at), run, tick)
            self._risky.add(tasks[at].path)
            alone = range(at, at + 1)
            run.add(alone)
            yield from run.results(alone, tick)
            piece = range(at + 1, piece.stop)
