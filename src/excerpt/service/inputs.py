"""What other programs send: how it is decoded and repaired, how long a text and how large a number may be.

The MCP server, the line server, the prompt hook, the plugin of `llm` and the Python API all use this module, so that a
limit or a repair is the same wherever a text comes in.
"""

from __future__ import annotations

import json
import operator
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from excerpt.base.errors import InputError
from excerpt.base.patterns import lazy_pattern
from excerpt.text.display import format_count, visible_line

MAX_QUERY_LENGTH = 10_000
"""Characters of a query; a longer text is a document, which nobody means as a question."""
MAX_WORDINGS = 8
"""Other wordings of a query that are searched with it: each takes as long as the query."""
MAX_SOURCE_LENGTH = 10_000
"""Characters of a path with lines or a heading. A path on Linux has at most 4,096 bytes."""
MAX_MEMORY_LENGTH = 100_000
"""Characters of the text of a memory."""
MAX_ANSWER_LENGTH = 100_000
"""Characters of an answer of an LLM that is checked."""
MAX_PROMPT_LENGTH = 4_000_000
"""Characters of a prompt; only its beginning and its end are read (excerpt.servers.prompts)."""
MAX_VALUE_LENGTH = 10_000
"""Characters of any other value, such as a tag or the name of a vault."""
MAX_ITEMS = 1_000
"""Items of a list, such as tags or ids of fragments."""

MAX_LENGTHS: Mapping[str, int] = {
    **dict.fromkeys(("query", "wordings", "queries", "words", "topic"), MAX_QUERY_LENGTH),
    **dict.fromkeys(("source", "sources", "note"), MAX_SOURCE_LENGTH),
    "answer": MAX_ANSWER_LENGTH,
    "prompt": MAX_PROMPT_LENGTH,
    **dict.fromkeys(
        (
            "where",
            "tags",
            "untags",
            "why",
            "since",
            "ids",
            "fragment_id",
            "memory_id",
            "id",
            "forget",
            "merge",
            "vault",
        ),
        MAX_VALUE_LENGTH,
    ),
}
"""The most characters of a text by the name of the parameter, or of each text in it."""


_TEXTS = frozenset(("query", "words", "topic", "note", "answer"))
"""Parameters whose value is always a text."""


def repair_text(text: str) -> str:
    """Return `text` with U+FFFD for each half of a surrogate pair.

    A program in JavaScript that cuts a text may cut a character in two.
    """
    return text if text.isascii() else _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text)


def check_input(name: str, value: object, max_length: int | None = None) -> None:
    """Raise InputError if a text in `value`, the value of the parameter `name`, is longer than `max_length`.

    The default of `max_length` is the parameter's limit in MAX_LENGTHS, else MAX_VALUE_LENGTH. `value` may be a text,
    or a list or mapping of at most MAX_ITEMS texts.
    """
    limit = MAX_LENGTHS.get(name, MAX_VALUE_LENGTH) if max_length is None else max_length
    if isinstance(value, str):
        if len(value) > limit:
            raise _length_error(name, value, limit)
        return
    if name in _TEXTS:
        raise InputError(f"{name} must be a text, not {type(value).__name__}.")
    for count, text in enumerate(_texts_in(value)):
        if count == MAX_ITEMS:
            raise InputError(f"{name} has more than {format_count(MAX_ITEMS, 'value')}.", "Give fewer.")
        if len(text) > limit:
            raise _length_error(f"A value of {name}", text, limit)


def check_count(name: str, value: object, minimum: int, maximum: int) -> None:
    """Raise InputError if `value`, of the parameter `name`, is no whole number from `minimum` to `maximum`."""
    try:
        count = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InputError(f"{name} must be a whole number, not {type(value).__name__}.") from None
    if count < minimum:
        raise InputError(f"{name} must be at least {minimum}, not {count:,}.")
    if count > maximum:
        hint = "Ask for fewer at a time, for example with a filter such as path:Projects/." if name == "limit" else ""
        raise InputError(f"{name} must be at most {maximum:,}, not {count:,}.", hint)


def _texts_in(value: object) -> Iterator[str]:
    """Yield the texts in nested lists and mappings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, each in value.items():
            yield str(key)
            yield from _texts_in(each)
    elif isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        for each in value:
            yield from _texts_in(each)


def _length_error(name: str, text: str, limit: int) -> InputError:
    return InputError(
        f"{name} has {format_count(len(text), 'character')}, and at most {limit:,} are allowed.",
        "Give only the part that matters.",
    )


_SURROGATES = lazy_pattern("[\ud800-\udfff]")
_SURROGATE_ESCAPE = lazy_pattern(r"\\ud[89a-f]", re.IGNORECASE)
_LEADING_ID = lazy_pattern(
    r'\s*\{\s*(?:"jsonrpc"\s*:\s*"2.0"\s*,\s*)?"id"\s*:\s*(-?(?:0|[1-9][0-9]{0,14})|"[^"\\\x00-\x1f]{1,100}")\s*[,}]'
)
"""Matches the id of a request at the beginning of a line that is not valid JSON."""


def parse_json(data: bytes) -> Any:
    """Return the JSON value in `data`, which is UTF-8, with U+FFFD for each part of a character.

    Raises ValueError for invalid JSON, for numbers that JSON does not have (NaN), and for values that are nested too
    deep.
    """
    text = data.decode("utf-8", "replace")
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
        if _SURROGATE_ESCAPE.search(text):  # most are pairs, which are characters
            value = json.loads(repair_text(json.dumps(value, ensure_ascii=False)))
    except RecursionError:
        raise ValueError("the values are nested too deep") from None
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def find_leading_id(data: bytes) -> str | int | None:
    """Return the id at the beginning of a request that is invalid JSON or was cut; None if it begins with no id."""
    match = _LEADING_ID.match(data[:_ID_BYTES].decode("utf-8", "replace"))
    found: str | int | None = json.loads(match[1]) if match else None
    return found


_ID_BYTES = 1_000  # of a line, in which its id is looked for


def describe_name(name: object) -> str:
    """Return a name that a program has sent, such as that of an unknown parameter, short enough for a sentence."""
    return visible_line(str(name)[:_MAX_NAME_LENGTH])


_MAX_NAME_LENGTH = 100


CHUNK_BYTES = 1 << 16
"""Bytes to read at once."""


@dataclass(frozen=True, slots=True)
class InputLine:
    """A line without its end; of one that is too long (`is_cut`), the beginning."""

    data: bytes
    is_cut: bool = False


async def split_lines(read: Callable[[], Awaitable[bytes]], max_bytes: int) -> AsyncIterator[InputLine]:
    """Yield the lines, each of at most `max_bytes`, of the chunks that `read` returns until it returns b"".

    The last line needs no line feed. Blank lines are left out.
    """
    pending, is_cut = bytearray(), False
    while chunk := await read():
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            line = _finish_line(pending, part, max_bytes, is_cut=is_cut)
            pending, is_cut = bytearray(), False
            if line is not None:
                yield line
        if not is_cut:
            pending += rest
            is_cut = len(pending) > max_bytes
            del pending[_ID_BYTES if is_cut else max_bytes :]
    line = _finish_line(pending, b"", max_bytes, is_cut=is_cut)
    if line is not None:
        yield line


def _finish_line(pending: bytearray, part: bytes, max_bytes: int, *, is_cut: bool) -> InputLine | None:
    """Return the line that ends with `part`, after the chunks before, which are `pending`; None if it is blank."""
    if is_cut or len(pending) + len(part) > max_bytes:
        return InputLine(bytes(pending + part)[:_ID_BYTES], is_cut=True)
    line = bytes(pending + part)
    return InputLine(line) if line.strip() else None


def take_standard_streams() -> tuple[int, int]:
    """Return descriptors of stdin and stdout that only the protocol of a server uses.

    What else is printed to stdout, by a library, goes to stderr. Child processes inherit an empty stdin.
    """
    stdin, stdout = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    if os.name == "posix":
        for each in (stdin, stdout):
            os.set_blocking(each, True)  # a client may have left its pipe non-blocking
    return stdin, stdout


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of `data`. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
