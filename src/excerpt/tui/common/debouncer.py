"""Debounce calls: delay a call, and drop that call if a newer one comes before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Stoppable(Protocol):
    """A timer that can be stopped."""

    def stop(self) -> None: ...


StartTimer = Callable[[float, Callable[[], object]], Stoppable]
"""Calls a function once after a number of seconds, and returns the timer, as a widget's `set_timer` does."""


class Debouncer:
    """A delayed call that a newer call replaces, so that only the last call before a pause is made."""

    def __init__(self, start_timer: StartTimer) -> None:
        self._start_timer = start_timer
        self._timer: Stoppable | None = None

    @property
    def is_pending(self) -> bool:
        """Whether a scheduled call has not been made yet."""
        return self._timer is not None

    def schedule(self, seconds: float, call: Callable[[], object]) -> None:
        """Call `call` after `seconds`, unless `schedule` or `stop` is called before."""

        def run() -> None:
            # An elapsed timer may be stopped while its call is still in the message queue.
            if self._timer is timer:
                self._timer = None
                call()

        self.stop()
        timer = self._timer = self._start_timer(seconds, run)

    def stop(self) -> None:
        """Cancel the scheduled call, if there is one."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
