"""A client of the line server in the same process; every message is checked against the schema."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from excerpt.servers.line_server.schema import build_schema
from excerpt.servers.line_server.server import LineServer
from tests.servers.mcp import conftest as mcp
from tests.servers.mcp.conftest import indexed_vaults

Message = dict[str, Any]

home, vault = mcp.home, mcp.vault  # fixtures


def closed_schema() -> dict[str, Any]:
    """Return the schema without room for fields that it does not list."""

    def close(value: Any) -> Any:
        if isinstance(value, list):
            return [close(each) for each in value]
        if not isinstance(value, dict):
            return value
        closed = {name: close(each) for name, each in value.items()}
        return closed | ({"additionalProperties": False} if "properties" in closed else {})

    schema = close(build_schema())
    assert isinstance(schema, dict)
    return schema


SCHEMA = closed_schema()
VALIDATOR = Draft202012Validator(SCHEMA)


def check_result(method: str, result: Message) -> None:
    """Check a result against the schema of its own method."""
    from excerpt.servers.line_server.methods import METHODS

    Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{METHODS[method].result.__name__}", "anyOf": [True]}).validate(
        result
    )


class Talk:
    """The client's side of a connection."""

    def __init__(self) -> None:
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()
        self._received: asyncio.Queue[Message] = asyncio.Queue()
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._methods: dict[Any, str] = {}
        self._last_id = 0

    async def read(self) -> bytes:
        return await self._lines.get()

    async def write(self, line: bytes) -> None:
        await self._may_write.wait()
        message = json.loads(line)
        VALIDATOR.validate(message)
        self._received.put_nowait(message)

    def stop_reading(self) -> None:
        self._may_write.clear()

    def read_on(self) -> None:
        self._may_write.set()

    @property
    def unread_lines(self) -> int:
        """Lines that the server has not read."""
        return self._lines.qsize()

    def say(self, line: bytes) -> None:
        self._lines.put_nowait(line)

    def end(self) -> None:
        self._lines.put_nowait(b"")

    def send(self, method: str, *, channel: str | None = None, **params: Any) -> int:
        """Send a valid request and return its id."""
        self._last_id += 1
        request = {"id": self._last_id, "method": method, "params": params}
        request |= {} if channel is None else {"channel": channel}
        VALIDATOR.validate(request)
        self._methods[self._last_id] = method
        self.say(json.dumps(request).encode() + b"\n")
        return self._last_id

    async def receive(self) -> Message:
        return await asyncio.wait_for(self._received.get(), 60)

    async def answer(self, request_id: int | str | None) -> Message:
        """Return the answer to a request, skipping events and other answers."""
        while (message := await self.receive()).get("id", "") != request_id:
            pass
        return message

    async def ask(self, method: str, **params: Any) -> Message:
        """Return the result of a request that must succeed."""
        message = await self.answer(self.send(method, **params))
        assert "result" in message, message
        check_result(method, message["result"])
        result: Message = message["result"]
        return result

    async def fail(self, method: str, **params: Any) -> Message:
        """Return the error of a request, which need not be valid."""
        self.say(json.dumps({"id": "wrong", "method": method, "params": params}).encode() + b"\n")
        error: Message = (await self.answer("wrong"))["error"]
        return error


Connect = Callable[[], Awaitable[Talk]]


@asynccontextmanager
async def talk_with(server: LineServer) -> AsyncIterator[Talk]:
    """Connect a client and skip the greeting."""
    talk = Talk()
    serving = asyncio.create_task(server.serve_client(talk.read, talk.write))
    assert (await talk.receive())["method"] == "ready"
    try:
        yield talk
    finally:
        serving.cancel()


def failure_text(error: BaseException) -> str:
    raise error


@pytest.fixture
async def server(home: Path, vault: Path) -> AsyncIterator[LineServer]:
    vaults = indexed_vaults(vault)
    yield LineServer(vaults, failure_text)
    vaults.end()


@pytest.fixture
async def talk(server: LineServer) -> AsyncIterator[Talk]:
    async with talk_with(server) as talk:
        yield talk
