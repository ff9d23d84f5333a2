"""Editing of JSON text in place: a configuration that somebody wrote by hand keeps its layout.

Only the members or elements that change are rewritten. Text that is not JSON raises ValueError, and is never changed.
A path is the keys of objects and the indexes of arrays on the way to a value. A key that an object on the way has twice
raises ValueError too: parsers differ in which one they take.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from msgspec import Struct

from excerpt.base.patterns import lazy_pattern

Key = str | int

_SPACE = lazy_pattern(r"[ \t\r\n]*")
_decoder = json.JSONDecoder()


class JsonChild(Struct, frozen=True):
    """A member of an object or an element of an array: its key ("" in an array), and where it is in the text.

    The member is at characters `start` to `end` (exclusive), its value from `value_start` on.
    """

    key: str
    start: int
    value_start: int
    end: int


def parse_value(text: str, path: Sequence[Key]) -> object:
    """Return the value at `path`; None if the JSON has no such path.

    Raises ValueError if the text is not JSON.
    """
    text = _object_text(text)
    start: int | None = _find_root(text)
    for key in path:
        if start is None or text[start] != ("[" if isinstance(key, int) else "{"):
            return None
        child = _find_member(text, start, key)
        start = None if child is None else child.value_start
    return None if start is None else _decoder.raw_decode(text, start)[0]


def set_member(text: str, path: Sequence[Key], value: object) -> str:
    """Return `text` with `value` at `path`; missing objects on the way are added. "" counts as `{}`.

    Raises ValueError if the text is not JSON, or something on the way is not an object.
    """
    text = _object_text(text)
    start = _find_root(text)
    for depth, key in enumerate(path):
        child = _find_member(text, start, key)
        if child is None:
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value}
            return _insert_child(text, start, f"{json.dumps(key)}: ", value, depth + 1)
        if depth == len(path) - 1:
            return text[: child.value_start] + _format_json(value, _detect_indent(text), depth + 1) + text[child.end :]
        start = child.value_start
    return text


def append_element(text: str, path: Sequence[Key], value: object) -> str:
    """Return `text` with `value` appended to the array at `path`; the array is added if missing.

    Raises ValueError if the text is not JSON, or there is something else at `path`.
    """
    text = _object_text(text)
    start = _value_at(text, path)
    if start is None:
        return set_member(text, path, [value])
    if text[start] != "[":
        raise ValueError(f"{'.'.join(map(str, path))} is not a list")
    return _insert_child(text, start, "", value, len(path) + 1)


def remove_member(text: str, path: Sequence[Key]) -> str:
    """Return `text` without the member at `path`; objects that become empty stay. Raises ValueError if not JSON."""
    start = _value_at(text, path[:-1])
    child = None if start is None else _find_member(text, start, path[-1])
    return (
        text if start is None or child is None else _remove_children(text, list(_iterate_children(text, start)), child)
    )


def remove_elements(text: str, path: Sequence[Key], indexes: Sequence[int]) -> str:
    """Return `text` without the elements at `indexes` of the array at `path`. Raises ValueError if not JSON."""
    for index in sorted(indexes, reverse=True):
        start = _value_at(text, path)
        if start is not None:
            children = list(_iterate_children(text, start))
            text = _remove_children(text, children, children[index])
    return text


def _object_text(text: str) -> str:
    return text if text.strip() else "{}\n"


def _find_root(text: str) -> int:
    """Return the position where the JSON object begins that is the whole text. Raises ValueError if it is no object."""
    if not isinstance(json.loads(text.removeprefix("\ufeff")), dict):
        raise ValueError("it is not an object")  # noqa: TRY004 - what is wrong is the text that was parsed
    return text.index("{")


def _value_at(text: str, path: Sequence[Key]) -> int | None:
    start = _find_root(text)
    for key in path:
        child = _find_member(text, start, key)
        if child is None:
            return None
        start = child.value_start
    return start


def _find_member(text: str, start: int, key: Key) -> JsonChild | None:
    """Return the member or element `key` of the value at `start`; None if the value has no such member."""
    if text[start] != ("[" if isinstance(key, int) else "{"):
        kind = "a list" if isinstance(key, int) else "an object"
        raise ValueError(f"the value that should have {key} is not {kind}")
    children = _iterate_children(text, start)
    if isinstance(key, int):
        return next(islice(children, key, None), None)
    found = [child for child in children if child.key == key]
    if len(found) > 1:
        raise ValueError(f"it has {key} twice")
    return found[0] if found else None


def _iterate_children(text: str, start: int) -> Iterator[JsonChild]:
    """Yield the members or elements of the object or array that begins at `start`."""
    is_object = text[start] == "{"
    at = _skip_space(text, start + 1)
    while text[at] not in "}]":
        first, key = at, ""
        if is_object:
            key, at = _decoder.raw_decode(text, at)
            at = _skip_space(text, _skip_space(text, at) + 1)  # over the colon
        value_start = at
        _, at = _decoder.raw_decode(text, at)
        yield JsonChild(key, first, value_start, at)
        at = _skip_space(text, at)
        if text[at] == ",":
            at = _skip_space(text, at + 1)


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()


def _insert_child(text: str, start: int, prefix: str, value: object, depth: int) -> str:
    """Return `text` with a further child in the object or array at `start`, whose children are `depth` deep."""
    children, indent = list(_iterate_children(text, start)), _detect_indent(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    child = prefix + _format_json(value, indent, depth)
    if children:
        return f"{text[: children[-1].end]},{newline}{indent * depth}{child}{text[children[-1].end :]}"
    end = _skip_space(text, start + 1)
    return f"{text[: start + 1]}{newline}{indent * depth}{child}{newline}{indent * (depth - 1)}{text[end:]}"


def _remove_children(text: str, children: Sequence[JsonChild], child: JsonChild) -> str:
    """Return `text` without `child`, one of `children`, and the comma that belonged to it."""
    index = children.index(child)
    if index:
        return text[: children[index - 1].end] + text[child.end :]
    if len(children) > 1:
        return text[: child.start] + text[children[1].start :]
    before = text[: child.start].rstrip(" \t\r\n")
    return before + text[_skip_space(text, child.end) :]


def _detect_indent(text: str) -> str:
    """Return the indentation of one level: as in the first indented line, else two spaces."""
    match = re.search(r"\n([ \t]+)\S", text)
    return match[1] if match else "  "


def _format_json(value: object, indent: str, depth: int) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False).replace("\n", f"\n{indent * depth}")
