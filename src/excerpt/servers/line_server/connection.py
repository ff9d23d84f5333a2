"""A connection: the requests of one client, answered one after another, and the events for it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from excerpt.servers.line_server.messages import (
    MAX_LINE_BYTES,
    CancelParams,
    ClientRequest,
    HelloParams,
    InvalidMessageError,
    RequestId,
    encode_line,
    make_answer,
    make_error,
    parse_params,
    parse_request,
)
from excerpt.service.inputs import InputLine, find_leading_id, split_lines

LogCrash = Callable[[BaseException], str]
"""Logs an unexpected exception and returns the sentence to show."""

MAX_WAITING = 64
"""Requests of a client that wait; while there are as many, no further line is read."""
_LAST_ANSWERS_SECONDS = 10.0  # for the answers to a client that has closed its side


class _RunningRequest(Struct, frozen=True):
    request: ClientRequest
    task: asyncio.Task[dict[str, Any]]


class Connection:
    """The connection to one client.

    Only one of its requests at a time is in the queue of a vault's thread, so that clients take turns. If a client does
    not read its answers, the server sends no more and reads no further requests until it does. Of the events for such a
    client, only the last of each kind and vault waits.
    """

    def __init__(
        self,
        read: Callable[[], Awaitable[bytes]],
        write: Callable[[bytes], Awaitable[None]],
        answer: Callable[[ClientRequest], Coroutine[Any, Any, dict[str, Any]]],
        log_crash: LogCrash,
    ) -> None:
        """Read chunks with `read`, which returns b"" at the end of the input, and write lines with `write`.

        `answer` returns the message that answers a request, which may be an error.
        """
        self._read, self._write, self._answer, self._log_crash = read, write, answer, log_crash
        self._waiting: deque[ClientRequest] = deque()
        self._running: _RunningRequest | None = None
        self._comments: Literal["author", "everybody"] = "everybody"
        self._queue_changed = asyncio.Condition()
        self._events: dict[object, dict[str, Any]] = {}
        self._event_posted = asyncio.Event()
        self._write_lock = asyncio.Lock()

    async def run(self, greeting: dict[str, Any]) -> None:
        """Send the greeting, then serve the client until it has closed its side and has all answers, or is gone."""
        with suppress(OSError):
            await self._send(greeting)
        tasks = [asyncio.create_task(run()) for run in (self._read_requests, self._answer_requests, self._send_events)]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
        for task in done:
            if (error := task.exception()) is not None and not isinstance(error, OSError | TimeoutError):
                raise error

    def post_event(self, key: object, event: dict[str, Any]) -> None:
        """Send an event as soon as the client reads; an event with the same key that still waits is replaced."""
        self._events[key] = event
        self._event_posted.set()

    async def _send(self, message: dict[str, Any]) -> None:
        async with self._write_lock:
            await self._write(encode_line(message))

    async def _send_events(self) -> None:
        while True:
            await self._event_posted.wait()
            self._event_posted.clear()
            events, self._events = self._events, {}
            for event in events.values():
                await self._send(event)

    # --- reading ------------------------------------------------------------------------------------------------------

    async def _read_requests(self) -> None:
        async for line in split_lines(self._read, MAX_LINE_BYTES):
            await self._handle_line(line)
        try:
            async with asyncio.timeout(_LAST_ANSWERS_SECONDS), self._queue_changed:
                await self._queue_changed.wait_for(lambda: not self._waiting and self._running is None)
        except TimeoutError:
            await self._drop(lambda _: True, "cancelled", "The client has closed its side, and there is no time left.")

    async def _handle_line(self, line: InputLine) -> None:
        """Handle the request in a line. Whatever the line contains, only the error of a lost client is raised."""
        request: ClientRequest | None = None
        try:
            request = parse_request(line)
            await self._handle_request(request)
        except InvalidMessageError as error:
            await self._send(make_error(error.id, error.kind, error.message))
        except OSError:
            raise
        except Exception as error:
            request_id = find_leading_id(line.data) if request is None else request.id
            await self._send(make_error(request_id, "internal", self._log_crash(error)))

    async def _handle_request(self, request: ClientRequest) -> None:
        if request.method == "cancel":
            await self._cancel(request)
            return
        if request.method == "hello":
            await self._greet(request)
            return
        request = replace(request, for_author=self._comments == "author")
        if request.channel is not None:
            await self._drop(
                lambda older: older.channel == request.channel,
                "superseded",
                "A newer request of the same channel supersedes this one.",
            )
        async with self._queue_changed:
            self._waiting.append(request)
            self._queue_changed.notify_all()
            await self._queue_changed.wait_for(lambda: len(self._waiting) < MAX_WAITING)

    async def _greet(self, request: ClientRequest) -> None:
        """Store the options of the client's greeting, which apply to all later requests."""
        try:
            self._comments = parse_params(request.params, HelloParams, "hello").comments
        except ValueError as error:
            if request.id is not None:
                await self._send(make_error(request.id, "invalid_params", str(error)))
            return
        if request.id is not None:
            await self._send(make_answer(request.id, {"comments": self._comments}))

    async def _cancel(self, request: ClientRequest) -> None:
        try:
            cancelled: RequestId = parse_params(request.params, CancelParams, "cancel").id
        except ValueError as error:
            if request.id is not None:
                await self._send(make_error(request.id, "invalid_params", str(error)))
            return
        dropped = await self._drop(lambda older: older.id == cancelled, "cancelled", "The request was cancelled.")
        if request.id is not None:
            await self._send(make_answer(request.id, {"cancelled": dropped > 0}))

    async def _drop(self, is_dropped: Callable[[ClientRequest], bool], kind: str, message: str) -> int:
        """Answer requests that are not answered yet with an error instead, and return their number.

        Waiting requests never run. A running request is ended, and its answer is dropped.
        """
        dropped = [request for request in self._waiting if is_dropped(request)]
        self._waiting = deque(request for request in self._waiting if not is_dropped(request))
        running = self._running
        if running is not None and is_dropped(running.request) and running.task.cancel():
            self._running = None
            dropped.insert(0, running.request)
        for request in dropped:
            if request.id is not None:
                await self._send(make_error(request.id, kind, message))
        return len(dropped)

    # --- answering ----------------------------------------------------------------------------------------------------

    async def _answer_requests(self) -> None:
        while True:
            async with self._queue_changed:
                await self._queue_changed.wait_for(lambda: self._waiting)
                request = self._waiting.popleft()
                task = asyncio.create_task(self._answer(request))
                running = self._running = _RunningRequest(request, task)
                self._queue_changed.notify_all()
            try:
                await asyncio.wait([task])
            finally:
                task.cancel()
            # A task may end with an answer although it was cancelled: whether it was dropped is not asked of the task.
            if self._running is running and request.id is not None:
                await self._send(task.result())
            async with self._queue_changed:
                self._running = None
                self._queue_changed.notify_all()
