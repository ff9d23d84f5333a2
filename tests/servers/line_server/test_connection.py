"""Tests of a connection: the order of answers, newest wins, cancelling, and clients that send or read badly."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from excerpt.servers.line_server.connection import MAX_WAITING, Connection
from excerpt.servers.line_server.messages import (
    MAX_LINE_BYTES,
    ClientRequest,
    RecallParams,
    encode_line,
    make_answer,
    make_event,
)
from excerpt.servers.line_server.methods import METHODS, Method
from excerpt.servers.line_server.results import RecallResult
from excerpt.servers.line_server.server import LineServer
from tests.servers.line_server.conftest import Message, Talk, failure_text, talk_with
from tests.servers.mcp.conftest import indexed_vaults

READY = make_event("ready", {"protocol": 1, "version": "0", "vaults": [], "generation": 0})
RECALLED: Message = {"memories": []}


class Slow:
    """Answers each request when the test allows it, and records what ran."""

    def __init__(self) -> None:
        self.ran: list[Any] = []
        self.may_answer = asyncio.Semaphore(0)

    async def answer(self, request: ClientRequest) -> Message:
        self.ran.append(request.id)
        await self.may_answer.acquire()
        return make_answer(request.id or 0, RECALLED)

    async def has_run(self, count: int) -> None:
        async with asyncio.timeout(60):
            while len(self.ran) < count:
                await asyncio.sleep(0)


@pytest.fixture
async def slow() -> Slow:
    return Slow()


@pytest.fixture
async def slow_connection(slow: Slow) -> AsyncIterator[tuple[Connection, Talk]]:
    talk = Talk()
    connection = Connection(talk.read, talk.write, slow.answer, failure_text)
    serving = asyncio.create_task(connection.run(READY))
    assert await talk.receive() == READY
    yield connection, talk
    serving.cancel()


@pytest.fixture
async def slow_talk(slow_connection: tuple[Connection, Talk]) -> Talk:
    return slow_connection[1]


# --- answers ----------------------------------------------------------------------------------------------------------


async def test_the_first_message_names_the_served_vaults(server: LineServer) -> None:
    talk = Talk()
    serving = asyncio.create_task(server.serve_client(talk.read, talk.write))
    ready = await talk.receive()
    assert ready["params"]["protocol"] == 1
    assert [vault["name"] for vault in ready["params"]["vaults"]] == ["bees"]
    serving.cancel()


async def test_an_id_may_be_a_string_and_jsonrpc_is_accepted(talk: Talk) -> None:
    talk.say(b'{"jsonrpc": "2.0", "id": "a", "method": "status"}\n')
    assert (await talk.answer("a"))["result"]["notes"] == 4


async def test_a_request_without_an_id_gets_no_answer(slow: Slow, slow_talk: Talk) -> None:
    slow_talk.say(b'{"method": "recall"}\n')
    slow.may_answer.release()
    second = slow_talk.send("recall")
    slow.may_answer.release()
    assert (await slow_talk.receive())["id"] == second
    assert slow.ran == [None, second]


async def test_a_client_that_closes_its_side_gets_its_answers_first(server: LineServer) -> None:
    talk = Talk()
    serving = asyncio.create_task(server.serve_client(talk.read, talk.write))
    talk.send("status")
    talk.say(b'{"id": 2, "method": "status"}')  # without a line feed
    talk.end()
    await asyncio.wait_for(serving, 60)
    assert [(await talk.receive()).get("id") for _ in range(3)] == [None, 1, 2]


async def test_an_internal_error_is_answered_with_a_sentence_and_the_server_continues(
    home: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Message:
        raise RuntimeError("at fault")

    monkeypatch.setitem(METHODS, "recall", Method(RecallParams, RecallResult, fail))
    vaults = indexed_vaults(vault)
    async with talk_with(LineServer(vaults, lambda error: f"Logged: {error}.")) as talk:
        error = await talk.fail("recall")
        assert (error["data"]["kind"], error["message"]) == ("internal", "Logged: at fault.")
        assert (await talk.ask("status"))["notes"] == 4
    vaults.end()


async def test_a_client_above_the_maximum_number_of_clients_is_refused(
    server: LineServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("excerpt.servers.line_server.server.MAX_CLIENTS", 1)
    async with talk_with(server):
        other = Talk()
        await server.serve_client(other.read, other.write)
        assert "No more than 1 clients" in (await other.receive())["error"]["message"]


async def test_a_refused_client_that_has_left_already_causes_no_error(
    server: LineServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def write(_: bytes) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("excerpt.servers.line_server.server.MAX_CLIENTS", 0)
    await server.serve_client(Talk().read, write)


# --- newest wins, cancel ----------------------------------------------------------------------------------------------


async def test_a_newer_request_of_a_channel_supersedes_older_requests_that_did_not_run_yet(
    slow: Slow, slow_talk: Talk
) -> None:
    first = slow_talk.send("recall", channel="picker")
    await slow.has_run(1)
    second, third = slow_talk.send("recall", channel="picker"), slow_talk.send("recall", channel="picker")
    for request_id in (first, second):
        error = (await slow_talk.answer(request_id))["error"]
        assert (error["code"], error["data"]["kind"]) == (-32801, "superseded")
    slow.may_answer.release()
    assert (await slow_talk.answer(third))["result"] == RECALLED
    assert slow.ran == [first, third]


async def test_requests_of_other_channels_and_requests_without_a_channel_are_not_superseded(
    slow: Slow, slow_talk: Talk
) -> None:
    ids = [slow_talk.send("recall"), slow_talk.send("recall", channel="a"), slow_talk.send("recall", channel="b")]
    for _ in ids:
        slow.may_answer.release()
    assert [(await slow_talk.receive())["id"] for _ in ids] == ids


async def test_a_cancelled_request_is_answered_at_once_and_only_once(slow: Slow, slow_talk: Talk) -> None:
    running, waiting = slow_talk.send("recall"), slow_talk.send("recall")
    await slow.has_run(1)
    for request_id in (waiting, running):
        cancel = slow_talk.send("cancel", id=request_id)
        error = await slow_talk.receive()
        assert (error["id"], error["error"]["code"]) == (request_id, -32800)
        assert await slow_talk.receive() == make_answer(cancel, {"cancelled": True})
    last = slow_talk.send("recall")
    slow.may_answer.release()
    assert (await slow_talk.receive())["id"] == last
    assert slow.ran == [running, last]


async def test_a_request_finished_despite_its_cancellation_gets_no_second_answer() -> None:
    async def answer(request: ClientRequest) -> Message:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return make_answer(request.id or 0, RECALLED)

    talk = Talk()
    serving = asyncio.create_task(Connection(talk.read, talk.write, answer, failure_text).run(READY))
    first = talk.send("recall")
    cancel = talk.send("cancel", id=first)
    last = talk.send("recall")
    talk.send("cancel", id=last)
    received = [(await talk.receive()).get("id") for _ in range(5)]
    assert received[:3] == [None, first, cancel]
    assert received.count(first) == 1
    serving.cancel()


async def test_cancelling_an_answered_request_changes_nothing(slow: Slow, slow_talk: Talk) -> None:
    request_id = slow_talk.send("recall")
    slow.may_answer.release()
    await slow_talk.answer(request_id)
    cancel = slow_talk.send("cancel", id=request_id)
    assert (await slow_talk.receive()) == make_answer(cancel, {"cancelled": False})


async def test_a_cancelled_search_is_not_answered_later(talk: Talk) -> None:
    ids = [talk.send("search", query=f"hive {number}") for number in range(5)]
    talk.send("cancel", id=ids[-1])
    last = talk.send("status")
    answers: list[Message] = []
    while not answers or answers[-1]["id"] != last:
        answers.append(await talk.receive())
    assert [answer["id"] for answer in answers].count(ids[-1]) == 1


# --- lines that are no requests ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "kind", "request_id"),
    [
        (b"hello", "parse_error", None),
        (b'{"id": 1', "parse_error", None),
        (b'{"id": 1, "method": "status\xff"}', "unknown_method", 1),
        (b'{"id": 1, "method": "status", "params": {', "parse_error", 1),
        (b'{"id": NaN, "method": "status"}', "parse_error", None),
        (b"[" * 100_000, "parse_error", None),
        (b"x" * (MAX_LINE_BYTES + 1), "parse_error", None),
        (b'{"id": 1, "method": "' + b"x" * MAX_LINE_BYTES, "parse_error", 1),
        (b'[{"id": 1, "method": "status"}]', "invalid_request", None),
        (b"7", "invalid_request", None),
        (b'{"id": 1.5, "method": "status"}', "invalid_request", None),
        (b'{"id": true, "method": "status"}', "invalid_request", None),
        (b'{"id": 1}', "invalid_request", 1),
        (b'{"id": 1, "method": 2}', "invalid_request", 1),
        (b'{"id": 1, "method": "status", "params": []}', "invalid_request", 1),
        (b'{"id": 1, "method": "status", "channel": 1}', "invalid_request", 1),
        (b'{"id": 1, "method": "status", "jsonrpc": "1.0"}', "invalid_request", 1),
        (b'{"id": 1, "method": "status", "parms": {}}', "invalid_request", 1),
        (b'{"id": 1, "result": {}}', "invalid_request", 1),
    ],
)
async def test_an_invalid_line_gets_one_error_and_the_next_is_answered(
    talk: Talk, line: bytes, kind: str, request_id: int | None
) -> None:
    talk.say(line + b"\n")
    error = await talk.receive()
    assert (error["id"], error["error"]["data"]["kind"]) == (request_id, kind)
    talk.say(b'{"id": "next", "method": "status"}\n')
    assert "result" in await talk.answer("next")


@pytest.mark.parametrize("method", [*METHODS, "cancel", "unknown"])
async def test_a_request_with_half_a_surrogate_pair_is_answered_with_its_id(talk: Talk, method: str) -> None:
    talk.say(f'{{"id": 7, "method": "{method}", "params": {{"query": "a \\ud83d"}}}}\n'.encode())
    assert (await talk.receive())["id"] == 7


@pytest.mark.parametrize("number", ["null", "true", "1.5", "[1]", "{}", '"a"', "5"])
async def test_a_malformed_cancellation_is_answered_and_so_is_the_next_request(talk: Talk, number: str) -> None:
    talk.say(f'{{"id": 1, "method": "cancel", "params": {{"id": {number}}}}}\n'.encode())
    answer = await talk.answer(1)
    if number in ('"a"', "5"):
        assert answer["result"] == {"cancelled": False}
    else:
        assert answer["error"]["message"] == "id must be a text or a whole number."
    assert (await talk.ask("status"))["notes"] == 4


async def test_no_invalid_line_ends_the_connection(slow: Slow, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("minimum")

    talk = Talk()
    connection = Connection(talk.read, talk.write, slow.answer, lambda error: f"Logged: {error}.")
    serving = asyncio.create_task(connection.run(READY))
    with monkeypatch.context() as patched:
        patched.setattr("excerpt.servers.line_server.connection.parse_params", fail)
        for line in (b'{"id": 1, "method": "cancel"}\n', b'{"method": "cancel"}\n'):
            talk.say(line)
        error = (await talk.answer(1))["error"]
        assert (error["data"]["kind"], error["message"]) == ("internal", "Logged: 'minimum'.")
        assert (await talk.receive())["id"] is None
    slow.may_answer.release()
    assert (await talk.answer(talk.send("recall")))["result"] == RECALLED
    serving.cancel()


async def test_waiting_requests_are_cancelled_when_the_client_leaves(
    slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("excerpt.servers.line_server.connection._LAST_ANSWERS_SECONDS", 0.01)
    talk = Talk()
    ids = [talk.send("recall") for _ in range(3)]
    talk.end()
    await Connection(talk.read, talk.write, slow.answer, failure_text).run(READY)
    answers = [await talk.answer(number) for number in ids]
    assert [answer["error"]["data"]["kind"] for answer in answers] == ["cancelled"] * 3


async def test_an_oversized_query_is_refused_with_its_limit(talk: Talk) -> None:
    assert "at most 10,000 characters" in (await talk.fail("search", query="x " * 5_001))["message"]
    assert "10,001 characters" in (await talk.fail("recall", tags=["x" * 10_001]))["message"]


async def test_blank_lines_and_chunks_within_a_character_are_no_errors(talk: Talk) -> None:
    line = '\n \r\n{"id": "ü", "method": "status"}\r\n'.encode()
    for at in range(len(line)):
        talk.say(line[at : at + 1])
    assert "result" in await talk.answer("ü")


# --- clients that do not read -----------------------------------------------------------------------------------------


@pytest.mark.programs
async def test_for_a_client_that_does_not_read_its_answers_a_limited_number_of_requests_is_read(
    slow: Slow, slow_talk: Talk
) -> None:
    slow_talk.stop_reading()
    for _ in range(3 * MAX_WAITING):
        slow_talk.send("recall")
        slow.may_answer.release()
    for _ in range(1_000):
        await asyncio.sleep(0)
    assert slow_talk.unread_lines >= 2 * MAX_WAITING - 2
    slow_talk.read_on()
    for _ in range(3 * MAX_WAITING):
        await slow_talk.receive()


async def test_only_the_last_waiting_event_of_each_kind_is_sent(
    slow: Slow, slow_connection: tuple[Connection, Talk]
) -> None:
    connection, talk = slow_connection
    talk.stop_reading()
    for done in range(100):
        event = make_event("progress", {"vault": "bees", "done": done, "total": 100})
        connection.post_event(("progress", "bees"), event)
        await asyncio.sleep(0)
    talk.read_on()
    received = [await talk.receive() for _ in range(2)]
    assert [event["params"]["done"] for event in received] == [0, 99]


@pytest.mark.programs
async def test_clients_are_answered_in_turn(server: LineServer) -> None:
    async with talk_with(server) as busy, talk_with(server) as other:
        ids = [busy.send("search", query=f"hive {number}") for number in range(30)]
        await busy.answer(ids[0])
        await other.ask("search", query="swarm")
        answered = 0
        while not busy._received.empty():
            answered += (await busy.receive())["id"] in ids
        assert answered < 10
        await busy.answer(ids[-1])


async def test_a_file_name_that_is_not_utf8_is_one_line_of_json() -> None:
    line = encode_line({"path": "a\udcff\x9b\u2028b\n"})
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"path": "a\udcff\x9b\u2028b\n"}
