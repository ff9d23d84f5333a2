"""Ending work whose caller has left: the caller cancels a token, and the work looks at it between its stages.

A thread cannot be stopped from outside. So that a long question does not keep others waiting when nobody wants its
answer any more, searches and packs call `check_cancelled` where they may end: between two stages, with nothing half
written. Code below does not pass the token on: it belongs to the thread, as long as `cancelled_by` is entered.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class WorkCancelledError(Exception):
    """Raised by `check_cancelled` in work that nobody waits for. No user sees it."""


class CancelToken:
    """A token by which a piece of work can be cancelled. Any thread may use it."""

    def __init__(self) -> None:
        self._is_cancelled = threading.Event()

    def cancel(self) -> None:
        """End the work at its next check. Does nothing if it has ended."""
        self._is_cancelled.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether the work has been cancelled."""
        return self._is_cancelled.is_set()


_current_token: ContextVar[CancelToken | None] = ContextVar("cancel_token", default=None)


@contextmanager
def cancelled_by(token: CancelToken) -> Iterator[None]:
    """Make the work of this thread in the `with` block cancellable by `token`."""
    previous = _current_token.set(token)
    try:
        check_cancelled()
        yield
    finally:
        _current_token.reset(previous)


def check_cancelled() -> None:
    """Raise WorkCancelledError if the current work of this thread has been cancelled."""
    token = _current_token.get()
    if token is not None and token.is_cancelled:
        raise WorkCancelledError
