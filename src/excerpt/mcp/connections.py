"""Limit the time and the number of HTTP connections: uvicorn waits forever for a request and accepts any number."""

from __future__ import annotations

import asyncio
import sys
import time
from functools import cache
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 10.0
"""Seconds within which a whole request must arrive, with its body (the SDK allows 4 MiB)."""
_MAX_CONNECTIONS = 256


class TimeLimitedProtocol(H11Protocol):
    """A connection that is closed if no request arrives in time.

    If there are more than `max_connections`, the connection that has been idle longest is closed, so that idle clients
    cannot keep others out.
    """

    _deadline: asyncio.TimerHandle | None = None
    _last_used = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_deadline()
        if len(self.connections) > max_connections():
            waiting = [
                each for each in self.connections if isinstance(each, TimeLimitedProtocol) and each._is_waiting()
            ]
            min(waiting, key=lambda each: each._last_used)._abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._last_used = time.monotonic()
            self._cancel_deadline()
        elif self._deadline is None:
            self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_deadline()
        super().connection_lost(exc)

    def _is_waiting(self) -> bool:
        """Return whether the connection waits for a request, and none is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _start_deadline(self) -> None:
        """Close the connection in REQUEST_SECONDS unless `_cancel_deadline` is called before."""
        self._last_used = time.monotonic()
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self._abort)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _abort(self) -> None:
        self.connections.discard(self)  # at once: other connections are counted before connection_lost is called
        self.transport.abort()


@cache
def max_connections() -> int:
    """Return the maximum number of open connections: half of the files that the process may open, at most 256."""
    if sys.platform == "win32":
        return _MAX_CONNECTIONS
    import resource

    limit: Any = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _MAX_CONNECTIONS if limit == resource.RLIM_INFINITY else min(_MAX_CONNECTIONS, limit // 2)
