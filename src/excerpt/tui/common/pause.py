"""Something that is done when nothing has come for a while, whatever it is that would come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Stoppable(Protocol):
    """A timer."""

    def stop(self) -> None: ...


After = Callable[[float, Callable[[], object]], Stoppable]
"""Calls something once after so many seconds, as a widget's `set_timer` does."""


class Pause:
    """One call to come: a newer one takes its place, so that it is made when there was a pause."""

    def __init__(self, after: After) -> None:
        self._after = after
        self._timer: Stoppable | None = None

    @property
    def waits(self) -> bool:
        """Whether the call is still to be made."""
        return self._timer is not None

    def begin(self, seconds: float, call: Callable[[], object]) -> None:
        """Wait so long, then make that call."""

        def done() -> None:
            # A timer that is over may be stopped while its call is still on its way through the queue of messages.
            if self._timer is timer:
                self._timer = None
                call()

        self.stop()
        timer = self._timer = self._after(seconds, done)

    def stop(self) -> None:
        """Make no call."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
