"""Stress tests of the server: killed clients, many concurrent clients, unauthorized requests.

No module has this name: whole servers and clients run for minutes.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.clients.conftest import APIARY
from tests.clients.install import HERE
from tests.clients.processes import resident_memory, wait_for_end
from tests.clients.serving import Served, Stdio

pytestmark = pytest.mark.clients

KILLS = int(os.environ.get("EXCERPT_KILLS", "8"))
CLIENTS, CALLS = 8, 1_000

START, LONGEST = 0.7, 5.0
"""The range of seconds after its start in which a client is killed; it starts the server at about the first."""


@pytest.fixture(scope="module")
def indexed(apiary: Path, tmp_path_factory: pytest.TempPathFactory) -> Stdio:
    server = Stdio(apiary, tmp_path_factory.mktemp("home"))
    index = [sys.executable, "-m", "excerpt", "index", "--vault", str(apiary)]
    subprocess.run(index, env=server.environment, check=True, capture_output=True)
    return server


@pytest.fixture(scope="module")
def served(indexed: Stdio, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    home = tmp_path_factory.mktemp("homes") / "served"
    shutil.copytree(indexed.home, home)
    with Served(Stdio(indexed.vault, home)) as served:
        yield served


@pytest.mark.parametrize("kill", range(KILLS))
def test_a_killed_client_leaves_no_process(kill: int, apiary: Path, indexed: Stdio, tmp_path: Path) -> None:
    """Kill clients; every second one during the first build of the index."""
    server = Stdio(apiary, tmp_path / "home") if kill % 2 else indexed
    reached = {**server.reached(), "generation": "handshake" if kill % 4 < 2 else "stateless"}
    with subprocess.Popen(
        [sys.executable, str(HERE / "python_sdk.py"), json.dumps(reached)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as client:
        assert client.stdin is not None
        for number in range(700):  # more than are answered before the kill
            client.stdin.write(json.dumps({"tool": "search", "arguments": {"query": f"hive {number}"}}) + "\n")
        client.stdin.flush()
        with pytest.raises(subprocess.TimeoutExpired):
            client.wait(random.Random(kill).uniform(START, LONGEST))
        client.kill()
    assert wait_for_end(server.home) == {}


def test_a_killed_server_leaves_no_child(apiary: Path, tmp_path: Path) -> None:
    served = Served(Stdio(apiary, tmp_path / "home"))
    served.process.kill()
    served.process.wait()
    assert wait_for_end(tmp_path / "home") == {}


async def test_concurrent_clients_lose_no_call_and_memory_does_not_grow(served: Served) -> None:
    async with asyncio.timeout(180):
        await _answered_by_many(served, 200)
        before = resident_memory(served.process.pid)
        answered = await _answered_by_many(served, CALLS)
        grown = resident_memory(served.process.pid) - before
    assert answered == CALLS
    assert grown < 16 * 2**20, f"{grown / 2**20:.1f} MB more than after the first calls"


async def _answered_by_many(served: Served, calls: int) -> int:
    """Return how many calls, of concurrent clients of both generations, were answered correctly."""
    share = calls // CLIENTS
    each = (_answered(served, "auto" if one % 2 else "legacy", one * share, share) for one in range(CLIENTS))
    return sum(await asyncio.gather(*each))


async def _answered(served: Served, mode: str, first: int, calls: int) -> int:
    import httpx2
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client
    from mcp_types import TextContent

    answered = 0
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {served.token}"}, timeout=240) as http,
        Client(streamable_http_client(served.url, http_client=http), mode=mode) as client,
    ):
        for number in range(first, first + calls):
            note = f"{number % APIARY:04}"
            tool, arguments = (
                ("read", {"source": f"{note}.md:1-4"}) if number % 2 else ("search", {"query": f"number {note}"})
            )
            result = await client.call_tool(tool, arguments)
            text = "".join(part.text for part in result.content if isinstance(part, TextContent))
            answered += not result.is_error and f"Number {note}" in text
    return answered


HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "a stranger", "version": "1"},
    },
}


def test_a_request_with_the_token_is_accepted(served: Served) -> None:
    assert _status(served, {}) == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": None},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Bearer grün"},
        {"Authorization": "Basic {token}"},
        {"Origin": "https://attacker.example"},
        {"Origin": "null"},
        {"Host": "attacker.example"},
        {"Host": "attacker.example:{port}"},
    ],
    ids=str,
)
def test_a_request_without_the_token_is_refused(served: Served, headers: dict[str, str | None]) -> None:
    assert _status(served, headers) in {400, 401, 403, 421}


@pytest.mark.parametrize("path", ["/", "/mcp", "/docs", "/.well-known/oauth-protected-resource"])
def test_the_server_returns_nothing_to_requests_without_the_token(served: Served, path: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=240)
    connection.request("GET", path)
    assert connection.getresponse().status in {401, 404}


def test_a_preflight_request_of_another_site_is_refused(served: Served) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=240)
    asking = {"Origin": "https://attacker.example", "Access-Control-Request-Method": "POST"}
    connection.request("OPTIONS", "/mcp", headers=asking)
    assert connection.getresponse().headers["Access-Control-Allow-Origin"] is None


def _status(served: Served, changed: Mapping[str, str | None]) -> int:
    """Return the HTTP status of a first request with some headers replaced or (None) removed."""
    headers = {
        "Host": f"127.0.0.1:{served.port}",
        "Authorization": f"Bearer {served.token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        **changed,
    }
    body = json.dumps(HELLO)
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=240)
    connection.putrequest("POST", "/mcp", skip_host=True)
    for name, value in headers.items():
        if value is not None:
            connection.putheader(name, value.format(token=served.token, port=served.port).encode())
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body.encode())
    return connection.getresponse().status


def test_a_terminated_server_ends(indexed: Stdio, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(indexed.home, home)
    served = Served(Stdio(indexed.vault, home))
    served.process.terminate()
    assert wait_for_end(home) == {}
    assert served.process.wait(240) in {0, -signal.SIGTERM}
