"""Measurement of how work grows with its input, with the same verdict on a busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable

FACTOR = 8
"""How much longer the longer input is. Linear work takes 8 times as long for it, quadratic work 64 times."""
_MAX_GROWTH = 28.0
_LEAST_SECONDS = 0.002
"""Shorter work counts as this long, since a clock's resolution would decide otherwise."""
_MAX_ROUNDS = 8


def grows_about_linearly(run: Callable[[int], object], size: int) -> bool:
    """Return whether `run(size)` takes about FACTOR times the CPU time of `run(size // FACTOR)`, not its square.

    Takes the minimum of several rounds, as other load only adds time; more rounds if the result is bad.
    """
    least = most = float("inf")
    for _ in range(_MAX_ROUNDS):
        least, most = min(least, _seconds(run, size // FACTOR)), min(most, _seconds(run, size))
        if most <= _MAX_GROWTH * max(least, _LEAST_SECONDS):
            return True
    return False


def _seconds(run: Callable[[int], object], size: int) -> float:
    began = time.thread_time()
    run(size)
    return time.thread_time() - began
