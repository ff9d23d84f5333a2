"""Serve over stdin and stdout: lines that the SDK drops silently are repaired, or answered with an error."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

Item = SessionMessage | Exception
"""What the SDK reads from a line: a message, or the error why it is none, which the SDK then drops."""

_SURROGATES = re.compile("[\ud800-\udfff]")
_ID_IN_FRONT = re.compile(r'\s*\{\s*(?:"jsonrpc"\s*:\s*"2.0"\s*,\s*)?"id"\s*:\s*(\d{1,15}|"[^"\\]{1,100}")\s*[,}]')
"""Matches the id in a line that is not valid JSON, where it precedes anything that may be wrong."""


@asynccontextmanager
async def stdio_transport() -> AsyncIterator[tuple[MemoryObjectReceiveStream[Item], Any]]:
    """Open the SDK's message streams over stdin and stdout, with an answer to every invalid line."""
    async with stdio_server() as (read, write):
        send, receive = anyio.create_memory_object_stream[Item]()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_hand_on, read, write.send, send)
            yield receive, write
            tasks.cancel_scope.cancel()


async def _hand_on(
    read: AsyncIterable[Item],
    answer: Callable[[SessionMessage], Awaitable[None]],
    send: MemoryObjectSendStream[Item],
) -> None:
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        async with send:
            async for item in read:
                message = repair_message(item) if isinstance(item, ValidationError) else item
                if isinstance(message, JSONRPCError):
                    await answer(SessionMessage(message))
                elif message is not None:
                    await send.send(message)


def repair_message(error: ValidationError) -> SessionMessage | JSONRPCError | None:
    """Return the message of a line that could not be read, with U+FFFD for each unpaired surrogate.

    Otherwise return the error to answer with, or None for a line that expects no answer (blank, or without an id).
    """
    first = error.errors(include_url=False)[0]
    if first["type"] != "json_invalid":
        return _no_message(error)
    line = first["input"]
    if not line.strip():
        return None
    try:
        text = json.dumps(json.loads(line), ensure_ascii=False)
        return SessionMessage(jsonrpc_message_adapter.validate_json(_SURROGATES.sub("\ufffd", text), by_name=False))
    except ValidationError as other:
        return _no_message(other)
    except (ValueError, RecursionError):
        match = _ID_IN_FRONT.match(line)
        return _error(json.loads(match[1]) if match else None, -32700, "Parse error: the line is not JSON.")


def _no_message(error: ValidationError) -> JSONRPCError | None:
    """Return the error for JSON that is not a message; None if it may be a notification or an answer of the client."""
    inputs = [each["input"] for each in error.errors(include_url=False)]
    message = next((each for each in inputs if isinstance(each, dict)), None)
    text = "Invalid request: the line is not a JSON-RPC message."
    if message is None:
        return _error(None, -32600, text)
    number = message.get("id")
    return _error(number, -32600, text) if "method" in message and isinstance(number, str | int) else None


def _error(number: str | int | None, code: int, text: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=code, message=text))
