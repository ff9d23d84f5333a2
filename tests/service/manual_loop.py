"""An event loop for tests without a screen, which acts only when the test says so."""

from __future__ import annotations

from collections.abc import Callable
from queue import Queue

from excerpt.service.event_loop import ServiceEvent

TIMEOUT_SECONDS = 240.0
"""Seconds until a wait fails: far more than any step takes, as other tests may keep the machine busy."""


class ManualLoop:
    """An event loop that queues events and calls from threads until the test takes them, in order."""

    def __init__(self) -> None:
        self._queue: Queue[ServiceEvent | Callable[[], object]] = Queue()

    def call_from_thread(self, function: Callable[[], object]) -> None:
        self._queue.put(function)

    def report_from_thread(self, event: ServiceEvent) -> None:
        self._queue.put(event)

    @property
    def is_empty(self) -> bool:
        return self._queue.empty()

    def step(self) -> ServiceEvent | None:
        """Wait for the next item: return an event, or call a function and return None."""
        item = self._queue.get(timeout=TIMEOUT_SECONDS)
        if not callable(item):
            return item
        item()
        return None

    def next(self) -> ServiceEvent:
        """Call functions until an event comes, and return it."""
        while (event := self.step()) is None:
            pass
        return event
