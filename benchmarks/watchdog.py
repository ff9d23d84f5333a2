"""How long the event loop was kept from its next turn: what is felt as a key that hangs.

A turn is all that runs between two looks at what has come in. Its time on the clock is what a user waits; the CPU of
the loop's thread in it is what the screen itself has cost, whatever else the machine does.
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
    """One turn of the loop, in seconds: on the clock, from when it should have begun, and of CPU."""

    clock: float
    cpu: float


class Watchdog:
    """Watches the running loop while it is entered; what it has seen stays. Only for loops that wait in a selector, as
    all do but that of Windows."""

    def __init__(self, block: float = BLOCK) -> None:
        self._block = block
        self.turns: list[Turn] = []
        self.seconds = 0.0

    @property
    def blocks(self) -> list[Turn]:
        """Turns that took longer than a block on the clock."""
        return [turn for turn in self.turns if turn.clock > self._block]

    @property
    def own_blocks(self) -> list[Turn]:
        """Those in which the loop's thread computed for that long."""
        return [turn for turn in self.turns if turn.cpu > self._block]

    @property
    def worst(self) -> Turn:
        """The longest on the clock and the longest of CPU, which may be two."""
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
        del self._selector.select  # the class's own is there again

    def _looked(self, timeout: float | None = None) -> list[object]:
        now = time.perf_counter()
        self.turns.append(Turn(now - self._woken, time.thread_time() - self._cpu))
        events = self._select(timeout)
        late = time.perf_counter() - now - timeout if timeout is not None and not events else 0.0
        self._woken = time.perf_counter() - max(late, 0.0)
        self._cpu = time.thread_time()
        return events
