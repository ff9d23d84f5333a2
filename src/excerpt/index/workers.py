"""Prepare many files: a few in this process, many in worker processes, always in the order given.

Taking notes apart is Python, so only processes use a second core. Workers hold no part of the index: one that dies
(a parser's crash, the system's memory killer) costs the file that it died of, and nothing else.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from itertools import islice
from multiprocessing.process import BaseProcess

from excerpt.index.prepare import Prepared, Recipe, Task, prepare
from excerpt.model import Skipped

# Starting two workers takes about a second; below this much text one process is done sooner.
_WORTH_WORKERS = 4_000_000
# One hand-over to a worker: enough to drown its cost, little enough to keep the progress moving.
_CHUNK_BYTES = 250_000
_CHUNK_FILES = 32
# The first files are prepared here, while the workers start, so that something is searchable within a second or two.
_FIRST_FILES = 64
_MOST_WORKERS = 8
# Hand-overs in work or done and waiting: the workers have enough to go on with while a batch is committed.
_AHEAD = 32


def prepare_all(recipe: Recipe, tasks: Sequence[Task], tick: Callable[[str], None]) -> Iterator[Prepared]:
    """What became of the files, some at a time. `tick` is called with a path now and then, at least each 100 ms
    while workers are waited for."""
    if sum(task.size for task in tasks) < _WORTH_WORKERS:
        yield from _here(recipe, tasks, tick)
        return
    chunks = deque(_chunks(tasks[_FIRST_FILES:]))
    running: deque[tuple[Future[Prepared], Sequence[Task]]] = deque()
    pool = _pool()
    try:
        with suppress(BrokenProcessPool):
            _hand_over(pool, recipe, chunks, running)
        yield from _here(recipe, tasks[:_FIRST_FILES], tick)
        while chunks or running:
            try:
                _hand_over(pool, recipe, chunks, running)
                done = _wait(running[0][0], running[0][1][0].path, tick)
            except BrokenProcessPool:
                pool.shutdown(cancel_futures=True)
                pool = _pool()
                for future, lost in running:
                    finished = future.done() and not future.cancelled() and future.exception() is None
                    yield from [future.result()] if finished else _one_by_one(recipe, lost, tick)
                running.clear()
            else:
                running.popleft()
                yield done
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _hand_over(
    pool: ProcessPoolExecutor,
    recipe: Recipe,
    chunks: deque[Sequence[Task]],
    running: deque[tuple[Future[Prepared], Sequence[Task]]],
) -> None:
    """Keep the workers supplied. Raises BrokenProcessPool if one has died; the chunk at hand then stays."""
    while chunks and len(running) < _AHEAD:
        running.append((pool.submit(prepare, recipe, chunks[0]), chunks.popleft()))


def _here(recipe: Recipe, tasks: Sequence[Task], tick: Callable[[str], None]) -> Iterator[Prepared]:
    for at in range(0, len(tasks), 8):
        tick(tasks[at].path)
        yield prepare(recipe, tasks[at : at + 8])


def _one_by_one(recipe: Recipe, tasks: Sequence[Task], tick: Callable[[str], None]) -> Iterator[Prepared]:
    """After a worker died: which of these files did it die of?"""
    pool = _pool(1)
    try:
        for task in tasks:
            try:
                yield _wait(pool.submit(prepare, recipe, [task]), task.path, tick)
            except BrokenProcessPool:
                reason = "Reading it ended the process that read it; it may need more memory than there is."
                yield Prepared(skipped=[Skipped(task.path, reason)])
                pool.shutdown()
                pool = _pool(1)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _wait(future: Future[Prepared], path: str, tick: Callable[[str], None]) -> Prepared:
    while True:
        tick(path)
        try:
            return future.result(timeout=0.1)
        except TimeoutError:
            if future.done():
                raise


def _chunks(tasks: Sequence[Task]) -> Iterator[Sequence[Task]]:
    rest = iter(tasks)
    for first in rest:
        chunk, size = [first], first.size
        while size < _CHUNK_BYTES and len(chunk) < _CHUNK_FILES and (more := list(islice(rest, 1))):
            chunk += more
            size += more[0].size
        yield chunk


def _pool(most: int = _MOST_WORKERS) -> ProcessPoolExecutor:
    # spawn: a fork would copy the threads' locks of numpy and the tokenizer in whatever state they are.
    size = min(os.cpu_count() or 1, most)
    return ProcessPoolExecutor(size, multiprocessing.get_context("spawn"), _leave_with_parent)


def _leave_with_parent() -> None:
    """Let a worker end when the build that it works for is killed; its queue alone would keep it waiting for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_exit_after, args=(parent,), daemon=True).start()


def _exit_after(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)
