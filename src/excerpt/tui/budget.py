"""The steps a token budget takes on the screen."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

STEPS = (250, 500, 1_000, 1_500, 2_000, 3_000, 4_000, 6_000, 8_000, 12_000, 16_000, 24_000, 32_000, 64_000, 128_000)
"""From a remark to what large models take."""


def next_budget(budget: int, steps: int) -> int:
    """The next larger (`steps` 1) or smaller (-1) step; a budget between two steps goes to its neighbour."""
    at = bisect_right(STEPS, budget) if steps > 0 else bisect_left(STEPS, budget) - 1
    return STEPS[max(0, min(at, len(STEPS) - 1))]
