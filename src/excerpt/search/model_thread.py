"""A thread for the calls of a model that may be slow."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

Answer = TypeVar("Answer")


class ModelThread:
    """Runs calls one after the other in a daemon thread. At most one call waits: a newer call replaces it.

    The thread ends when no call waits, so that nothing has to be closed. Any thread may call `submit`.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._waiting: tuple[Future[Any], Callable[[], Any]] | None = None
        self._is_running = False

    def submit(self, call: Callable[[], Answer]) -> Future[Answer]:
        """Return the future result of `call`. It is cancelled if a newer call comes before it has started."""
        future: Future[Answer] = Future()
        with self._lock:
            replaced, self._waiting = self._waiting, (future, call)
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, name=self._name, daemon=True).start()
        if replaced is not None:
            replaced[0].cancel()
        return future

    def _run(self) -> None:
        while True:
            with self._lock:
                if self._waiting is None:
                    self._is_running = False
                    return
                (future, call), self._waiting = self._waiting, None
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(call())
                except BaseException as error:
                    future.set_exception(error)
