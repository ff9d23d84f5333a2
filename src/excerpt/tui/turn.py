"""Values that one key goes through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Choice = TypeVar("Choice")


def next_in_turn(order: Sequence[Choice], now: Choice) -> Choice:
    """The one after `now`; after the last the first."""
    return order[(order.index(now) + 1) % len(order)]
