"""Tests of connections and of what clients send: wrong ids and types, texts that are too long, a busy vault."""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from mcp import Client
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError

import excerpt
from excerpt.base.cancellation import WorkCancelledError, check_cancelled
from excerpt.servers import served_vaults
from excerpt.servers.mcp import connections
from excerpt.servers.mcp.connections import InputMiddleware, TimeLimitedProtocol
from excerpt.servers.mcp.server import build_server
from excerpt.servers.mcp.stdio import parse_message
from excerpt.service.inputs import InputLine
from tests.servers.mcp.conftest import Ask, failure_text, indexed_vaults, tool_caller
from tests.service.manual_loop import TIMEOUT_SECONDS

HALF = b"POST /mcp HTTP/1.1\r\nX: "
WITHOUT_BODY = b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf"
WHOLE = b"GET /mcp HTTP/1.1\r\nHost: x\r\n\r\n"
ALLOWED = 0.4

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def never_answering_app(
    scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
) -> None:
    """Respond to a complete body after longer than a request may take."""
    if scope["type"] != "http":
        return
    while (await receive()).get("more_body"):
        pass
    await asyncio.sleep(2 * ALLOWED)
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def serve_app(app: Any = never_answering_app) -> AsyncIterator[Callable[[bytes], Awaitable[Connection]]]:
    """Yield a function that connects to a server and sends bytes."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, http=TimeLimitedProtocol, lifespan="auto", log_level="critical", timeout_graceful_shutdown=1
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


@pytest.fixture
def little_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", ALLOWED)


async def answer_of(connection: Connection) -> bytes:
    """Return the first line of a connection's response, or b"" if it is closed without one."""
    with suppress(ConnectionError):
        return await connection[0].readline()
    return b""


@pytest.mark.usefixtures("little_time")
@pytest.mark.parametrize("sent", [b"", HALF, WITHOUT_BODY])
async def test_a_connection_without_a_complete_request_is_closed(sent: bytes) -> None:
    async with serve_app() as connect:
        assert await answer_of(await connect(sent)) == b""


@pytest.mark.usefixtures("little_time")
async def test_an_answer_may_take_longer_than_the_request_limit(little_time: None) -> None:
    async with serve_app() as connect:
        assert b" 204 " in await answer_of(await connect(WHOLE))


@pytest.mark.usefixtures("little_time")
async def test_a_connection_with_an_incomplete_second_request_is_closed() -> None:
    async with serve_app() as connect:
        reader, writer = await connect(WHOLE)
        assert b" 204 " in await reader.readuntil(b"\r\n\r\n")
        writer.write(HALF)
        assert await answer_of((reader, writer)) == b""


@pytest.mark.usefixtures("little_time")
async def test_many_incomplete_requests_block_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 60)
    monkeypatch.setattr(connections, "max_connections", lambda: 4)
    async with serve_app() as connect:
        answered = await connect(WHOLE)
        half = [await connect(HALF) for _ in range(20)]
        late = await connect(WHOLE)
        assert b" 204 " in await answer_of(late)
        assert b" 204 " in await answer_of(answered)
        assert await answer_of(half[0]) == b""


# --- clients that leave -----------------------------------------------------------------------------------------------

TOOL_CALL = {"name": "search", "arguments": {"query": "hive"}}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def as_post(method: str, params: dict[str, Any], version: str, session: str = "", number: int | None = None) -> bytes:
    """Return a message as an HTTP request."""
    message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number})
    body = json.dumps(message)
    headers = {
        "Host": "x",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "Content-Length": len(body),
        "MCP-Protocol-Version": version,
        "Mcp-Method": method,
        "Mcp-Name": params.get("name", ""),
        "Mcp-Session-Id": session,
    }
    lines = [f"{name}: {value}" for name, value in headers.items() if value]
    return "\r\n".join(["POST /mcp HTTP/1.1", *lines, "", body]).encode()


async def open_session(connect: Callable[[bytes], Awaitable[Connection]], version: str) -> str:
    """Begin a session, and return its id."""
    hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    reader, _ = await connect(as_post("initialize", hello, version, number=0))
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    session = head.partition("mcp-session-id: ")[2].split()[0]
    accepted = await connect(as_post("notifications/initialized", {}, version, session))
    assert b" 202 " in await answer_of(accepted)
    return session


@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
async def test_the_question_of_a_client_that_leaves_is_cancelled(
    home: Path, vault: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_begun, has_ended, outcome = threading.Event(), threading.Event(), list[type[Exception]]()

    def search_until_cancelled(*_: object, **__: object) -> None:
        has_begun.set()
        try:
            while not has_ended.wait(0.01):
                check_cancelled()
        except WorkCancelledError as error:
            outcome.append(type(error))
            raise
        finally:
            has_ended.set()

    vaults = indexed_vaults(vault)
    monkeypatch.setattr(excerpt.Vault, "search", search_until_cancelled)
    monkeypatch.setattr(served_vaults, "ANSWER_SECONDS", TIMEOUT_SECONDS)
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    server = build_server(vaults, failure_text)
    app = InputMiddleware(server.streamable_http_app(streamable_http_path="/mcp", transport_security=security))
    async with serve_app(app) as connect:
        is_modern = version == "2026-07-28"
        session = "" if is_modern else await open_session(connect, version)
        params = {**TOOL_CALL, "_meta": ENVELOPE} if is_modern else TOOL_CALL
        _, writer = await connect(as_post("tools/call", params, version, session, number=1))
        assert await asyncio.to_thread(has_begun.wait, TIMEOUT_SECONDS)
        writer.transport.abort()
        await asyncio.to_thread(has_ended.wait, TIMEOUT_SECONDS / 2)
        has_ended.set()
    assert outcome == [WorkCancelledError]
    vaults.end()


FUZZED_MESSAGES = int(os.environ.get("EXCERPT_FUZZED_MESSAGES", "300"))

# --- messages ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ('{"jsonrpc":"2.0","id":null,"method":"ping"}', None),
        ('{"jsonrpc":"2.0","id":true,"method":"ping"}', None),
        ('{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None),
        ('{"jsonrpc":"2.0","id":[1],"method":"ping"}', None),
        ('{"jsonrpc":"2.0","id":7,"method":"ping","params":5}', 7),
        ('{"jsonrpc":"2.0","id":7,"method":5}', 7),
        ('{"jsonrpc":"1.0","id":"a","method":"ping"}', "a"),
        ('{"jsonrpc":"2.0","id":7}', 7),
        ('{"jsonrpc":"2.0","id":7,"method":"ping"', 7),
        ('[{"jsonrpc":"2.0","id":7,"method":"ping"}]', None),
        ("hello", None),
    ],
)
def test_an_invalid_request_is_answered_with_its_id(line: str, number: object) -> None:
    error = parse_message(InputLine(line.encode()))
    assert isinstance(error, JSONRPCError)
    assert error.id == number


def test_an_oversized_line_is_answered_with_its_id() -> None:
    error = parse_message(InputLine(b'{"jsonrpc":"2.0","id":7,"method":"tools/call', is_cut=True))
    assert isinstance(error, JSONRPCError)
    assert (error.id, "4 MiB" in error.error.message) == (7, True)


def test_half_a_surrogate_pair_in_a_request_is_replaced() -> None:
    line = rb'{"jsonrpc":"2.0","id":"\ud83d","method":"tools/call","params":{"query":"a \ud83d"}}'
    message = parse_message(InputLine(line))
    assert isinstance(message, SessionMessage)
    sent = message.message.model_dump()
    assert (sent["id"], sent["params"]) == ("\ufffd", {"query": "a \ufffd"})


async def over_http(*chunks: bytes) -> tuple[int | None, bytes]:
    """Return the status that the middleware answers (None: it asks the server), and what it sends or passes on."""
    waiting = [
        {"type": "http.request", "body": chunk, "more_body": number < len(chunks)}
        for number, chunk in enumerate(chunks, 1)
    ]
    sent: list[Any] = []
    passed: list[bytes] = []

    async def never_answering_app(_scope: Any, receive: Any, _send: Any) -> None:
        passed.append((await receive())["body"])

    async def receive() -> Any:
        return waiting.pop(0)

    async def send(event: Any) -> None:
        sent.append(event)

    await InputMiddleware(never_answering_app)({"type": "http", "method": "POST"}, receive, send)
    return (None, passed[0]) if passed else (sent[0]["status"], sent[1]["body"])


async def test_a_request_over_http_is_repaired_or_refused_like_a_line() -> None:
    status, body = await over_http(b'{"jsonrpc":"2.0","id":7,', rb'"method":"ping","params":{"a":"\ud83d"}}')
    assert (status, json.loads(body)["params"]) == (None, {"a": "\ufffd"})
    for sent, code, number in (
        ([b'{"jsonrpc":"2.0","id":7,"method":'], 400, 7),
        ([b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}'], 400, None),
        ([b'{"id":7,"method":"' + b"x" * (4 << 20)], 413, 7),
    ):
        status, body = await over_http(*sent)
        assert (status, json.loads(body)["id"]) == (code, number)


# --- lengths ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tool", "arguments", "limit"),
    [
        *((tool, {"query": "x " * 5_001}, "10,000") for tool in ("pack", "search", "recall")),
        ("read", {"source": "x" * 10_001}, "10,000"),
        ("read", {"source": ["Hives.md", "x" * 10_001]}, "10,000"),
        ("read", {"source": "Hives.md", "query": "x" * 10_001}, "10,000"),
        ("related", {"source": "x" * 10_001}, "10,000"),
        ("overview", {"topic": "x" * 10_001}, "10,000"),
        ("remember", {"text": "x" * 100_001}, "100,000"),
        ("remember", {"text": "x", "tags": ["x"] * 1_001}, "1,000"),
        ("check", {"answer": "x" * 100_001}, "100,000"),
        ("search", {"query": "x", "vault": "x" * 10_001}, "10,000"),
    ],
)
async def test_an_oversized_argument_is_refused_with_its_limit(
    ask: Ask, tool: str, arguments: dict[str, Any], limit: str
) -> None:
    refused = await ask(tool, **arguments)
    assert (refused.is_error, limit in refused.text, len(refused.text) < 300) == (True, True, True)


async def test_only_the_first_words_of_a_long_query_are_searched_and_the_answer_says_so(ask: Ask) -> None:
    found = await ask("search", query="when does the swarm leave the hive " + "lorem ipsum dolor sit amet " * 200)
    assert "Swarms.md" in found.text
    assert "Only its first 200 words" in found.last_line


# --- a busy vault -----------------------------------------------------------------------------------------------------


async def test_waiting_for_another_request_is_reported(
    home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_vaults, "ANSWER_SECONDS", 0.1)
    vaults = indexed_vaults(vault)
    may_end, has_begun = threading.Event(), threading.Event()

    def answer_late(_: object) -> None:
        has_begun.set()
        may_end.wait(60)

    async with Client(build_server(vaults, failure_text)) as client:
        vaults.all[0].vault.load()
        slow = asyncio.create_task(vaults.all[0].ask(answer_late))
        await asyncio.to_thread(has_begun.wait, 60)
        told = await tool_caller(client)("search", query="hive")
        with pytest.raises(served_vaults.VaultBusyError, match="has not answered within"):
            await slow
        may_end.set()
    assert told.first_line == "nothing yet · The vault bees is busy with another question."
    vaults.end()


async def test_waiting_for_the_model_is_reported_as_loading(
    home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_vaults, "ANSWER_SECONDS", 0.1)
    vaults = indexed_vaults(vault)
    may_end = threading.Event()
    monkeypatch.setattr(vaults.all[0].vault, "load", lambda: may_end.wait(60))
    async with Client(build_server(vaults, failure_text)) as client:
        told = await tool_caller(client)("search", query="hive")
        may_end.set()
    assert told.first_line == "nothing yet · The vault bees is still loading."
    vaults.end()


# --- messages at random -----------------------------------------------------------------------------------------------

VALUES: list[Any] = [None, True, -1, 10**30, 1.5, "", "\x00\ud800'\"", "a" * 3_000, [], [[]], {}, {"a": None}, "tag:("]
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("pack", {"query": "hive", "budget": 300}),
    ("search", {"query": "tea", "limit": 2}),
    ("read", {"source": "Hives.md"}),
    ("related", {"source": "Hives.md"}),
    ("overview", {"topic": "bees"}),
    ("recall", {"query": "bees"}),
    ("check", {"answer": "A hive stands dry [1]", "sources": ["Hives.md:6"]}),
    ("status", {}),
]


def fuzzed_message(chance: random.Random, number: int) -> dict[str, Any]:
    """Return a request with an id of its own and something wrong in it, or nothing wrong."""
    tool, arguments = chance.choice(CALLS)
    if chance.random() < 0.5:
        arguments = {
            **arguments,
            chance.choice(["query", "limit", "source", "vault", "tags", "x"]): chance.choice(VALUES),
        }
    message: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": chance.choice([number, f"n{number}"]),
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }
    if chance.random() < 0.1:
        message["method"] = chance.choice(["ping", "tools/list", "resources/read", "prompts/get", "initialize", "x"])
    if chance.random() < 0.2:
        message[chance.choice(["method", "params", "jsonrpc", "y"])] = chance.choice(VALUES)
    elif chance.random() < 0.1:
        message["params"] = {**message["params"], chance.choice(["name", "arguments", "_meta"]): chance.choice(VALUES)}
    elif chance.random() < 0.1:
        message["id"] = chance.choice([None, True, 1.5, [number], {"a": number}])
    return message


@pytest.mark.programs
def test_each_random_message_gets_one_answer(home: Path, vault: Path) -> None:
    indexed_vaults(vault)
    chance = random.Random(13)
    messages = [fuzzed_message(chance, number) for number in range(FUZZED_MESSAGES)]
    with subprocess.Popen(
        [sys.executable, "-m", "excerpt", "mcp", str(vault)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "EXCERPT_HOME": str(home)},
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        first: list[dict[str, Any]] = [
            {"jsonrpc": "2.0", "id": "first", "method": "initialize", "params": params},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
        ]
        answers: list[dict[str, Any]] = []

        def ask(batch: list[dict[str, Any]], count: int) -> None:
            """Send messages, and read as many answers as they have."""
            assert server.stdin is not None
            assert server.stdout is not None
            server.stdin.write("".join(f"{json.dumps(each)}\n" for each in batch).encode())
            server.stdin.flush()
            received = 0
            while received < count:
                answer = json.loads(server.stdout.readline())
                if "id" in answer:
                    answers.append(answer)
                    received += 1

        ask(first, 1)
        for begin in range(0, len(messages), 20):  # so few that no pipe is full
            batch = messages[begin : begin + 20]
            ask(batch, len(batch))
        ask([{"jsonrpc": "2.0", "id": "last", "method": "ping"}], 1)
        server.stdin.close()
        assert server.wait(240) == 0
    expected = [each["id"] if type(each["id"]) in (int, str) else None for each in messages]
    assert sorted(map(repr, [each["id"] for each in answers])) == sorted(map(repr, ["first", *expected, "last"]))
