"""How a build is paused, resumed and cancelled from another thread."""

from __future__ import annotations

import threading
import time


class BuildCancelled(Exception):  # noqa: N818 - nothing went wrong
    """The build was told to end. What it has committed stays; the next build goes on from there."""


class Control:
    """Told by one thread, asked by the one that builds. All methods may be called from any thread, at any time.

    A pause holds until it is resumed, over the end of a build as well; a cancellation is of the build at hand.
    """

    def __init__(self) -> None:
        self._may_go = threading.Event()
        self._may_go.set()
        self._cancelled = threading.Event()
        self._waited = 0.0

    @property
    def paused(self) -> bool:
        return not self._may_go.is_set()

    @property
    def cancelled(self) -> bool:
        return self._cancelled.is_set()

    @property
    def seconds_paused(self) -> float:
        """How long the building thread has waited in all, in seconds."""
        return self._waited

    def pause(self) -> None:
        self._may_go.clear()

    def resume(self) -> None:
        self._may_go.set()

    def cancel(self) -> None:
        """End the build at hand; one that is paused too, which then stays paused."""
        self._cancelled.set()

    def begin(self) -> None:
        """A build begins: what was cancelled was the one before."""
        self._cancelled.clear()

    def wait(self) -> None:
        """Wait while there is a pause and the build is not cancelled."""
        if self._may_go.is_set():
            return
        began = time.monotonic()
        while not self._may_go.wait(0.05) and not self._cancelled.is_set():
            pass
        self._waited += time.monotonic() - began

    def check(self) -> None:
        """Wait while there is a pause. Raises BuildCancelled once the build was cancelled."""
        self.wait()
        if self._cancelled.is_set():
            raise BuildCancelled
