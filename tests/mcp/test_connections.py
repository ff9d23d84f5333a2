"""Tests of HTTP connections: a client that sends no complete request is disconnected and blocks no other."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
import uvicorn

from excerpt.mcp import connections
from excerpt.mcp.connections import TimeLimitedProtocol

HALF = b"POST /mcp HTTP/1.1\r\nX: "
WITHOUT_BODY = b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf"
WHOLE = b"GET /mcp HTTP/1.1\r\nHost: x\r\n\r\n"
ALLOWED = 0.4

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def app(scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]) -> None:
    """Respond to a complete body after longer than a request may take."""
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    await asyncio.sleep(2 * ALLOWED)
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def served() -> AsyncIterator[Callable[[bytes], Awaitable[Connection]]]:
    """Yield a function that connects to a server and sends bytes."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, http=TimeLimitedProtocol, lifespan="off", log_level="critical", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0.01)

    async def connect(sent: bytes) -> Connection:
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        writer.write(sent)
        await writer.drain()
        return reader, writer

    yield connect
    server.should_exit = True
    await running


@pytest.fixture(autouse=True)
def little_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", ALLOWED)


async def answer_of(connection: Connection) -> bytes:
    """Return the first line of a connection's response, or b"" if it is closed without one."""
    with suppress(ConnectionError):
        return await connection[0].readline()
    return b""


@pytest.mark.parametrize("sent", [b"", HALF, WITHOUT_BODY])
async def test_a_connection_without_a_whole_request_is_closed(sent: bytes) -> None:
    async with served() as connect:
        assert await answer_of(await connect(sent)) == b""


async def test_an_answer_may_take_longer_than_a_request(little_time: None) -> None:
    async with served() as connect:
        assert b" 204 " in await answer_of(await connect(WHOLE))


async def test_half_a_request_after_a_whole_one_is_let_go_too() -> None:
    async with served() as connect:
        reader, writer = await connect(WHOLE)
        assert b" 204 " in await reader.readuntil(b"\r\n\r\n")
        writer.write(HALF)
        assert await answer_of((reader, writer)) == b""


async def test_many_half_requests_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 60)
    monkeypatch.setattr(connections, "max_connections", lambda: 4)
    async with served() as connect:
        answered = await connect(WHOLE)
        half = [await connect(HALF) for _ in range(20)]
        late = await connect(WHOLE)
        assert b" 204 " in await answer_of(late)
        assert b" 204 " in await answer_of(answered)
        assert await answer_of(half[0]) == b""
