"""A delayed call that a newer call replaces (a debounce)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Stoppable(Protocol):
    """A timer that can be stopped."""

    def stop(self) -> None: ...


StartTimer = Callable[[float, Callable[[], object]], Stoppable]
"""Calls a function once after a number of seconds, as a widget's `set_timer` does."""


class Debouncer:
    """A delayed call; a newer one replaces it, so that only the last call before a pause is made."""

    def __init__(self, after: StartTimer) -> None:
        self._after = after
        self._timer: Stoppable | None = None

    @property
    def is_pending(self) -> bool:
        """Whether a call is still to be made."""
        return self._timer is not None

    def schedule(self, seconds: float, call: Callable[[], object]) -> None:
        """Make a call after `seconds`, unless another call or `stop` comes before."""

        def run() -> None:
            # An elapsed timer may be stopped while its call is still in the message queue.
            if self._timer is timer:
                self._timer = None
                call()

        self.stop()
        timer = self._timer = self._after(seconds, run)

    def stop(self) -> None:
        """Cancel the call, if there is one."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
