"""Measure how long the event loop is blocked, which a user notices as a key that hangs.

A turn is everything that runs between two polls for input. Its wall time is what a user waits; the CPU time of the
loop's thread in it is the cost of the app itself, whatever else the machine does.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

BLOCK = 0.03
"""Seconds from which a turn counts as a block."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of the loop, in seconds: wall time from when it should have begun, and CPU time."""

    clock: float
    cpu: float


class Watchdog:
    """Measures the turns of the running loop inside its context; the results remain available.

    Only for loops that wait in a selector, as all do except that of Windows.
    """

    def __init__(self, block: float = BLOCK) -> None:
        self._block = block
        self.turns: list[Turn] = []
        self.seconds = 0.0

    @property
    def blocks(self) -> list[Turn]:
        """Turns that took longer than a block in wall time."""
        return [turn for turn in self.turns if turn.clock > self._block]

    @property
    def own_blocks(self) -> list[Turn]:
        """Turns in which the loop's thread used CPU for that long."""
        return [turn for turn in self.turns if turn.cpu > self._block]

    @property
    def worst(self) -> Turn:
        """The longest wall time and the longest CPU time, which may be from two turns."""
        clock = max((turn.clock for turn in self.turns), default=0.0)
        return Turn(clock, max((turn.cpu for turn in self.turns), default=0.0))

    def __enter__(self) -> Watchdog:
        self._selector = asyncio.get_running_loop()._selector  # type: ignore[attr-defined]
        self._select: Callable[[float | None], list[object]] = self._selector.select
        self._began = self._woken = time.perf_counter()
        self._cpu = time.thread_time()
        self._selector.select = self._looked
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.seconds += time.perf_counter() - self._began
        del self._selector.select  # restores the method of the class

    def _looked(self, timeout: float | None = None) -> list[object]:
        now = time.perf_counter()
        self.turns.append(Turn(now - self._woken, time.thread_time() - self._cpu))
        events = self._select(timeout)
        late = time.perf_counter() - now - timeout if timeout is not None and not events else 0.0
        self._woken = time.perf_counter() - max(late, 0.0)
        self._cpu = time.thread_time()
        return events
