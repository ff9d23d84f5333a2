"""Lines of the protocol: one JSON object each, in UTF-8."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from excerpt.text.display import visible_json

MAX_LINE_BYTES = 1 << 20
"""The longest line that is read; a longer one is answered with an error."""
CHUNK_BYTES = 1 << 16


async def split_lines(read: Callable[[], Awaitable[bytes]]) -> AsyncIterator[bytes | None]:
    """Yield the lines of the chunks that `read` returns until it returns none; None for a line that is too long.

    The last line needs no line feed. Blank lines are left out.
    """
    pending, is_too_long = bytearray(), False
    while chunk := await read():
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            pending += part
            if is_too_long or len(pending) > MAX_LINE_BYTES:
                yield None
            elif pending.strip():
                yield bytes(pending)
            pending, is_too_long = bytearray(), False
        pending += rest
        if len(pending) > MAX_LINE_BYTES:
            pending, is_too_long = bytearray(), True
    if is_too_long:
        yield None
    elif pending.strip():
        yield bytes(pending)


def encode_line(message: dict[str, Any]) -> bytes:
    """Return a message as a line. Control characters and unpaired surrogates, as of file names, are escaped."""
    text = visible_json(json.dumps(message, ensure_ascii=False, separators=(",", ":")))
    return f"{text}\n".encode("utf-8", "backslashreplace")
