"""Serve over stdin and stdout: each line that has an id gets one answer, also one that the SDK would ignore."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

from excerpt.service.inputs import (
    CHUNK_BYTES,
    InputLine,
    find_leading_id,
    parse_json,
    split_lines,
    take_standard_streams,
    write_all,
)

MAX_LINE_BYTES = 4 << 20
"""The longest line that is read, as long as a request over HTTP; a longer one is answered with an error."""

ReceivedItem = SessionMessage | Exception
"""What the SDK reads: a message, or an error, which it ignores."""


@asynccontextmanager
async def stdio_transport() -> AsyncIterator[
    tuple[MemoryObjectReceiveStream[ReceivedItem], MemoryObjectSendStream[SessionMessage]]
]:
    """Open the SDK's message streams over stdin and stdout."""
    stdin, stdout = take_standard_streams()
    requests, received = anyio.create_memory_object_stream[ReceivedItem]()
    answers, to_write = anyio.create_memory_object_stream[SessionMessage]()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read_messages, stdin, requests, answers.clone())
        tasks.start_soon(_write_messages, stdout, to_write)
        yield received, answers
        tasks.cancel_scope.cancel()


async def _read_messages(
    stdin: int, requests: MemoryObjectSendStream[ReceivedItem], answers: MemoryObjectSendStream[SessionMessage]
) -> None:
    """Send the messages of stdin to `requests` until stdin ends; answer lines that are no message with errors."""

    async def read() -> bytes:
        return await anyio.to_thread.run_sync(os.read, stdin, CHUNK_BYTES, abandon_on_cancel=True)

    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        async with requests, answers:
            async for line in split_lines(read, MAX_LINE_BYTES):
                message = parse_message(line)
                if isinstance(message, JSONRPCError):
                    await answers.send(SessionMessage(message))
                elif message is not None:
                    await requests.send(message)


async def _write_messages(stdout: int, messages: MemoryObjectReceiveStream[SessionMessage]) -> None:
    async with messages:
        async for each in messages:
            try:
                text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
            except ValueError:  # such as half a character in it
                error = make_error(getattr(each.message, "id", None), INTERNAL_ERROR, "The answer is not JSON.")
                text = error.model_dump_json(by_alias=True)
            await anyio.to_thread.run_sync(write_all, stdout, f"{text}\n".encode(), abandon_on_cancel=True)


def parse_message(line: InputLine) -> SessionMessage | JSONRPCError | None:
    """Return the message in a line, the error that answers a line without a message, or None for no answer.

    None stands for a notification, or a response of the client, that is not valid.
    """
    value = decode_message(line)
    return value if isinstance(value, JSONRPCError) else _to_message(value)


def decode_message(line: InputLine) -> dict[str, Any] | JSONRPCError:
    """Return the repaired JSON object in a line, or the error that answers a line without object or usable id."""
    if line.is_cut:
        return make_error(find_leading_id(line.data), INVALID_REQUEST, "Invalid request: it is longer than 4 MiB.")
    try:
        value = parse_json(line.data)
    except ValueError:
        return make_error(find_leading_id(line.data), PARSE_ERROR, "Parse error: the line is not JSON.")
    if not isinstance(value, dict):
        return make_error(None, INVALID_REQUEST, "Invalid request: it is not a JSON-RPC message.")
    number = value.get("id", "")
    if not _is_response(value) and (isinstance(number, bool) or not isinstance(number, str | int)):
        return make_error(None, INVALID_REQUEST, "Invalid request: id must be a string or an integer.")
    return value


def _is_response(value: dict[str, Any]) -> bool:
    return "method" not in value and ("result" in value or "error" in value)


def _to_message(value: dict[str, Any]) -> SessionMessage | JSONRPCError | None:
    try:
        if "method" not in value:
            return SessionMessage(jsonrpc_message_adapter.validate_python(value, by_name=False))
        kind = JSONRPCRequest if "id" in value else JSONRPCNotification
        return SessionMessage(kind.model_validate(value, by_name=False))
    except ValidationError:
        if "id" not in value or _is_response(value):
            return None
        return make_error(value["id"], INVALID_REQUEST, "Invalid request: it is not a JSON-RPC message.")


def make_error(number: str | int | None, code: int, text: str) -> JSONRPCError:
    """Return the error that answers the request with the id `number`."""
    return JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=code, message=text))
