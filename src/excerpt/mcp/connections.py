"""Limit HTTP connections in time and number: uvicorn waits forever for a request and accepts any number."""

from __future__ import annotations

import asyncio
import sys
import time
from functools import cache
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 10.0
"""Seconds in which a request must arrive, with its body (the SDK allows 4 MiB)."""
_MAX = 256


class TimedProtocol(H11Protocol):
    """A connection that is closed if no request arrives in time.

    Beyond `most_connections`, the connection that has waited longest for a request is closed, so that idle clients
    cannot keep others out.
    """

    _deadline: asyncio.TimerHandle | None = None
    _used = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_request()
        if len(self.connections) > most_connections():
            waiting = [each for each in self.connections if isinstance(each, TimedProtocol) and each._is_waiting()]
            min(waiting, key=lambda each: each._used)._abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._used = time.monotonic()
            self._forget_deadline()
        elif self._deadline is None:
            self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_deadline()
        super().connection_lost(exc)

    def _is_waiting(self) -> bool:
        """Return whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _expect_request(self) -> None:
        self._used = time.monotonic()
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self._abort)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _abort(self) -> None:
        self.connections.discard(self)  # at once: other connections are counted before connection_lost is called
        self.transport.abort()


@cache
def most_connections() -> int:
    """Return the limit of connections: half of the files that the process may open, at most 256."""
    if sys.platform == "win32":
        return _MAX
    import resource

    limit: Any = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _MAX if limit == resource.RLIM_INFINITY else min(_MAX, limit // 2)
