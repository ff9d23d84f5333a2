"""Tests of the event loop's watchdog: it measures the wall-clock and CPU time of blocking callbacks."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest
from benchmarks.watchdog import BLOCK, Turn, Watchdog

from benchmarks import watchdog as watchdog_module


@dataclass
class Clock:
    """A clock that only `compute` and `wait` advance, in seconds: wall time and the thread's CPU time."""

    wall: float = 0.0
    cpu: float = 0.0

    def perf_counter(self) -> float:
        return self.wall

    def thread_time(self) -> float:
        return self.cpu

    def compute(self, seconds: float) -> None:
        self.wall += seconds
        self.cpu += seconds

    def wait(self, seconds: float) -> None:
        self.wall += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(watchdog_module, "time", clock)
    return clock


async def test_a_callback_that_computes_too_long_is_a_block(clock: Clock) -> None:
    with Watchdog() as watchdog:
        await asyncio.sleep(0)
        clock.compute(BLOCK * 1.5)
        await asyncio.sleep(0)
    assert watchdog.own_blocks == watchdog.blocks == [Turn(BLOCK * 1.5, BLOCK * 1.5)]
    assert watchdog.worst == Turn(BLOCK * 1.5, BLOCK * 1.5)


async def test_a_callback_that_waits_is_a_block_of_the_loop_with_no_computing_time(clock: Clock) -> None:
    with Watchdog() as watchdog:
        await asyncio.sleep(0)
        clock.wait(BLOCK * 1.5)
        await asyncio.sleep(0)
    assert watchdog.blocks == [Turn(BLOCK * 1.5, 0)]
    assert watchdog.own_blocks == []


async def test_the_time_in_which_the_loop_waits_for_events_is_no_block(clock: Clock) -> None:
    with Watchdog() as watchdog:
        asyncio.get_running_loop().call_later(0.01, clock.wait, 0)
        await asyncio.sleep(0.02)
        clock.compute(BLOCK / 2)
        await asyncio.sleep(0)
    assert watchdog.blocks == []
    seen = len(watchdog.turns)
    await asyncio.sleep(0)
    assert len(watchdog.turns) == seen
