"""Tests of the event loop's watchdog: it measures the wall-clock and CPU time of blocking callbacks."""

from __future__ import annotations

import asyncio
import time

from benchmarks.watchdog import BLOCK, Watchdog


def compute(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


async def test_a_turn_that_computes_is_a_block_of_its_own_making() -> None:
    with Watchdog() as watchdog:
        await asyncio.sleep(0)
        compute(BLOCK * 1.5)
        await asyncio.sleep(0)
    assert len(watchdog.own_blocks) == 1
    assert watchdog.worst.cpu > BLOCK * 1.4


async def test_a_turn_that_only_waits_keeps_the_loop_without_computing() -> None:
    with Watchdog() as watchdog:
        await asyncio.sleep(0)
        time.sleep(BLOCK * 1.5)
        await asyncio.sleep(0)
    assert len(watchdog.blocks) >= 1
    assert watchdog.own_blocks == []


async def test_waiting_for_what_is_to_come_is_no_block() -> None:
    with Watchdog() as watchdog:
        await asyncio.sleep(BLOCK * 1.5)
    assert watchdog.own_blocks == []
    assert watchdog.seconds > BLOCK
    seen = len(watchdog.turns)
    await asyncio.sleep(0.01)
    assert len(watchdog.turns) == seen
