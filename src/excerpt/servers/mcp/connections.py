"""Limit the time and the number of HTTP connections, repair what they send, and notice when a client has left.

uvicorn waits forever for a request and accepts any number of connections.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from functools import cache
from typing import TYPE_CHECKING, Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from excerpt.servers.mcp.stdio import MAX_LINE_BYTES, decode_message
from excerpt.service.inputs import InputLine

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

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


class InputMiddleware:
    """ASGI middleware that repairs invalid Unicode in requests, as for stdin, and answers those without a usable id.

    A request of a session is cancelled if its client leaves before the answer: the server keeps no answers, so nobody
    could read it. (By the protocol without sessions, of July 2026, the SDK does the same.)
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body, has_more = bytearray(), True
        while has_more and len(body) <= MAX_LINE_BYTES:
            event = await receive()
            if event["type"] != "http.request":  # the client has left
                return
            body += event.get("body", b"")
            has_more = event.get("more_body", False)
        line = InputLine(bytes(body), is_cut=len(body) > MAX_LINE_BYTES)
        value = decode_message(line)
        if not isinstance(value, dict):
            headers = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": 413 if line.is_cut else 400, "headers": headers})
            await send({"type": "http.response.body", "body": value.model_dump_json(by_alias=True).encode()})
            return
        has_answered = has_left = False
        repaired: list[Message] = [_to_event(value)]

        async def receive_repaired() -> Message:
            nonlocal has_left
            if repaired:
                return repaired.pop()
            event = await receive()
            has_left = has_left or (event["type"] == "http.disconnect" and not has_answered)
            return event

        async def send_answer(event: Message) -> None:
            nonlocal has_answered
            has_answered = has_answered or (event["type"] == "http.response.body" and not event.get("more_body"))
            await send(event)

        await self._app(scope, receive_repaired, send_answer)
        if has_left and "id" in value and any(name == b"mcp-session-id" for name, _ in scope["headers"]):
            repaired.append(_to_event(_cancel_request(value["id"])))
            await self._app(scope, receive_repaired, send_answer)


def _to_event(message: dict[str, Any]) -> Message:
    """Return a message as the body of a request."""
    return {"type": "http.request", "body": json.dumps(message).encode(), "more_body": False}


def _cancel_request(request_id: str | int) -> dict[str, Any]:
    """Return the notification that cancels a request."""
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}}
