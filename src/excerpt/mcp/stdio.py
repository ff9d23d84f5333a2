"""Serve over stdin and stdout: repair input lines that the SDK would ignore, or answer them with an error."""

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

ReceivedItem = SessionMessage | Exception
"""What the SDK reads from a line: a message, or the validation error of a line that is none (the SDK ignores it)."""

_SURROGATES = re.compile("[\ud800-\udfff]")
_LEADING_ID = re.compile(r'\s*\{\s*(?:"jsonrpc"\s*:\s*"2.0"\s*,\s*)?"id"\s*:\s*(\d{1,15}|"[^"\\]{1,100}")\s*[,}]')
"""Matches the id of a request at the beginning of a line that is not valid JSON."""


@asynccontextmanager
async def stdio_transport() -> AsyncIterator[tuple[MemoryObjectReceiveStream[ReceivedItem], Any]]:
    """Open the SDK's message streams over stdin and stdout; invalid lines are repaired or answered with an error."""
    async with stdio_server() as (read, write):
        send, receive = anyio.create_memory_object_stream[ReceivedItem]()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_forward_messages, read, write.send, send)
            yield receive, write
            tasks.cancel_scope.cancel()


async def _forward_messages(
    read: AsyncIterable[ReceivedItem],
    answer: Callable[[SessionMessage], Awaitable[None]],
    send: MemoryObjectSendStream[ReceivedItem],
) -> None:
    """Send the messages of `read` to `send`, repaired if needed; send error responses to `answer`."""
    with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
        async with send:
            async for item in read:
                message = repair_message(item) if isinstance(item, ValidationError) else item
                if isinstance(message, JSONRPCError):
                    await answer(SessionMessage(message))
                elif message is not None:
                    await send.send(message)


def repair_message(error: ValidationError) -> SessionMessage | JSONRPCError | None:
    """Repair the message in a line for which the SDK raised `error`: put U+FFFD for each unpaired surrogate.

    If that is not possible, return the error response to send, or None for a line that needs no response (a blank line,
    or a message without an id).
    """
    first = error.errors(include_url=False)[0]
    if first["type"] != "json_invalid":
        return _invalid_message_error(error)
    line = first["input"]
    if not line.strip():
        return None
    try:
        text = json.dumps(json.loads(line), ensure_ascii=False)
        return SessionMessage(jsonrpc_message_adapter.validate_json(_SURROGATES.sub("\ufffd", text), by_name=False))
    except ValidationError as other:
        return _invalid_message_error(other)
    except (ValueError, RecursionError):
        match = _LEADING_ID.match(line)
        return _to_error_response(json.loads(match[1]) if match else None, -32700, "Parse error: the line is not JSON.")


def _invalid_message_error(error: ValidationError) -> JSONRPCError | None:
    """Return the error response to JSON that is not a message; None for a notification or a response of the client."""
    inputs = [each["input"] for each in error.errors(include_url=False)]
    message = next((each for each in inputs if isinstance(each, dict)), None)
    text = "Invalid request: the line is not a JSON-RPC message."
    if message is None:
        return _to_error_response(None, -32600, text)
    number = message.get("id")
    return _to_error_response(number, -32600, text) if "method" in message and isinstance(number, str | int) else None


def _to_error_response(number: str | int | None, code: int, text: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=code, message=text))
