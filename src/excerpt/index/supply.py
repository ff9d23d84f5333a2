"""The parent's side of the workers: one that is a member of the set, and one run of many files over the set.

A thread of its own supplies the members, takes what they are done with, and ends those that are over the time for one
file; the build commits meanwhile.
"""

from __future__ import annotations

import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnContext
from typing import Any

from excerpt.errors import IndexUnusableError
from excerpt.index.prepare import Prepared, Recipe, Task
from excerpt.index.worker import OUT_OF_MEMORY, Limits, Prepare, work
from excerpt.model import Skipped

# Hand-overs in work or done and waiting: the workers have enough to go on with while a batch is committed.
_AHEAD = 32
_LOOK_SECONDS = 0.1
# A worker on a busy machine is there after a few seconds; one that never is, or dies again and again before it has
# begun a file, cannot be started here.
_START_SECONDS = 60.0
_MOST_STILLBORN = 3
_END_SECONDS = 1.0
_TOO_LONG = -getattr(signal, "SIGXCPU", 0x7FFF)
_UNKNOWN = "Reading it ended the process that read it; it may need more memory than there is."


Held = Callable[[], bool]
"""Whether nothing is to be begun for now."""


class Member:
    """One worker process: what it has in work, and since when. Raises OSError if it cannot be started."""

    def __init__(self, context: SpawnContext, prepare: Prepare, limits: Limits) -> None:
        ours, theirs = context.Pipe()
        self.connection: Connection[Any, Any] = ours
        self._process = context.Process(target=work, args=(theirs, prepare, limits), daemon=True)
        self._process.start()
        theirs.close()
        self.run: Run | None = None
        self.piece = range(0)
        self.number: int | None = None
        self.since = 0.0

    @property
    def id(self) -> int:
        return self._process.pid or 0

    @property
    def lives(self) -> bool:
        return not self.connection.closed

    @property
    def idle(self) -> bool:
        return self.lives and self.run is None

    def take(self, run: Run, piece: range) -> None:
        """Begin with a piece of a run. A member that dies of it is heard of by its connection."""
        self.run, self.piece, self.number, self.since = run, piece, None, time.monotonic()
        with suppress(OSError):
            self.connection.send((run.recipe, run.tasks[piece.start : piece.stop]))

    def end(self, wait: float = 0.0) -> int:
        """End the process, which may do so by itself within `wait` seconds, and return its exit code."""
        self.connection.close()
        self._process.join(wait)
        self._process.kill()
        self._process.join(_END_SECONDS)
        return self._process.exitcode or 0


class Run:
    """The pieces of one list of files that workers prepare. `results` gives what became of a piece."""

    def __init__(
        self,
        recipe: Recipe,
        tasks: Sequence[Task],
        pieces: Sequence[range],
        limits: Limits,
        members: Callable[[int], Sequence[Member]],
        *,
        held: Held,
    ) -> None:
        self.recipe = recipe
        self.tasks = tasks
        self._limits = limits
        self._members = members
        self._held = held
        self._pending = deque(pieces)
        self._done: dict[int, tuple[int, Prepared]] = {}
        self._doubtful: set[int] = set()
        self._stillborn = 0
        self._at_hand = ""
        self._changed = threading.Condition()
        self._error: Exception | None = None
        self._ended = False
        self._thread = threading.Thread(target=self._supply, name="workers", daemon=True)
        if pieces:
            self._thread.start()

    def add(self, piece: range) -> None:
        """Let a worker prepare these files too, before the others."""
        with self._changed:
            self._pending.appendleft(piece)
            self._changed.notify_all()
        if not self._thread.is_alive():
            self._thread.start()

    def results(self, piece: range, tick: Callable[[str], None]) -> Iterator[Prepared]:
        """What became of the files of a piece, in order."""
        at = piece.start
        while at < piece.stop:
            tick(self._at_hand or self.tasks[at].path)
            with self._changed:
                if at not in self._done:
                    self._changed.wait(_LOOK_SECONDS)
                if self._error is not None:
                    raise self._error
                found = self._done.pop(at, None)
                self._changed.notify_all()
            if found is not None:
                at, prepared = found
                yield prepared

    def end(self) -> None:
        """Stop. What members have in work for this run goes nowhere."""
        self._ended = True
        if self._thread.is_alive():
            self._thread.join()

    # --- in the thread ------------------------------------------------------------------------------------------------

    def _supply(self) -> None:
        if hasattr(signal, "pthread_sigmask"):
            # The members inherit this: Ctrl+C is for the build alone, also before a member could say so itself.
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            while not self._ended:
                busy = self._hand_over()
                self._listen(busy)
                self._end_overdue(busy)
        except Exception as error:  # whatever it is, it is raised where results are waited for
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _hand_over(self) -> Sequence[Member]:
        """Give the idle something to do, and return those that are not. Raises IndexUnusableError."""
        with self._changed:
            wanted = len(self._pending)
        try:
            members = self._members(wanted)
        except OSError as error:
            raise _unstartable(str(error.strerror or error)) from error
        ahead = sum(member.run is self for member in members)
        for member in members:
            if member.idle and (piece := self._next(ahead)):
                member.take(self, piece)
                ahead += 1
        return [member for member in members if member.run is not None]

    def _next(self, ahead: int) -> range:
        """The next piece to hand over when `ahead` are in work, an empty one if that is for later."""
        with self._changed:
            return self._pending.popleft() if self._may_begin(ahead) else range(0)

    def _may_begin(self, ahead: int) -> bool:
        if self._held() or not self._pending:
            return False
        # What is waited for is always handed over, however much is done behind it.
        return ahead + len(self._done) < _AHEAD or self._pending[0].start < min(self._done)

    def _listen(self, busy: Sequence[Member]) -> None:
        if not busy:
            with self._changed:
                if not self._may_begin(0):
                    self._changed.wait(_LOOK_SECONDS)
            return
        by_connection = {member.connection: member for member in busy}
        for ready in wait(list(by_connection), _LOOK_SECONDS):
            member = by_connection[ready]  # type: ignore[index]
            try:
                said: int | Prepared = member.connection.recv()
            except (EOFError, OSError):
                self._bury(member)
                continue
            if isinstance(said, Prepared):
                self._put(member, said)
            else:
                member.number, member.since = said, time.monotonic()
        mine = [member for member in busy if member.run is self and member.number is not None]
        self._at_hand = ""
        if mine:
            eldest = min(mine, key=lambda member: member.since)
            self._at_hand = self.tasks[eldest.piece.start + (eldest.number or 0)].path

    def _put(self, member: Member, prepared: Prepared) -> None:
        mine, member.run, self._stillborn = member.run is self, None, 0
        if mine:
            with self._changed:
                self._done[member.piece.start] = member.piece.stop, prepared
                self._changed.notify_all()

    def _end_overdue(self, busy: Sequence[Member]) -> None:
        now = time.monotonic()
        for member in busy:
            run = member.run
            if run is None:
                continue
            if member.number is None:
                if now - member.since > _START_SECONDS:
                    self._bury(member)
                continue
            seconds = self._limits.seconds_for(run.tasks[member.piece.start + member.number].size)
            if now - member.since > seconds * self._limits.patience:
                self._bury(member, overdue=True)

    def _bury(self, member: Member, overdue: bool = False) -> None:
        """A member is dead, or is to be ended as `overdue`: which file did it have, and what becomes of the others?"""
        mine, code = member.run is self, member.end(0.0 if overdue else _END_SECONDS)
        member.run = None
        if not mine:
            return
        piece = member.piece
        with self._changed:
            if member.number is None:
                self._stillborn += 1
                if self._stillborn > _MOST_STILLBORN:
                    raise _unstartable(f"they end with code {code}")
                self._pending.appendleft(piece)
                return
            at = piece.start + member.number
            reason = _reason(_TOO_LONG if overdue else code, self._limits, self.tasks[at].size)
            if not reason and at not in self._doubtful:
                # Whoever ended it may have meant the process and not the file: the system's memory killer, a user.
                self._doubtful.add(at)
                again = [range(piece.start, at), range(at, at + 1), range(at + 1, piece.stop)]
            else:
                again = [range(piece.start, at), range(at + 1, piece.stop)]
                skipped = Skipped(self.tasks[at].path, reason or _UNKNOWN)
                self._done[at] = at + 1, Prepared(skipped=[skipped], given_up=[self.tasks[at]])
            self._pending.extendleft(each for each in reversed(again) if each)
            self._changed.notify_all()


def _reason(code: int, limits: Limits, size: int) -> str:
    """Why a file of that size ended its worker with that exit code, "" if nothing says that the file was to blame."""
    if code == _TOO_LONG:
        return f"It took longer than {limits.seconds_for(size):g} s to take apart."
    # Libraries that are not Python give up when there is no memory.
    if code in (OUT_OF_MEMORY, -signal.SIGABRT):
        return f"It needs more than {limits.memory:,} MB of memory."
    return ""


def _unstartable(why: str) -> IndexUnusableError:
    return IndexUnusableError(
        f"The processes that read notes cannot be started: {why}.",
        "Close other programs, or raise the number of processes that you may have.",
    )
