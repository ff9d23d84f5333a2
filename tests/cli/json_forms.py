"""Parser for the guide's note "JSON forms", and a comparison of printed JSON with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from excerpt.vault.known_vaults import DEMO

_TYPES: Mapping[str, tuple[type, ...]] = {"": (str,), "int": (int,), "num": (int, float), "bool": (bool,)}
_GROUP = re.compile(
    r"(?:\[\[#(?P<form>[^]]+)\]\]|(?P<names>`[^`]+`(?:, `[^`]+`)*)(?: (?P<type>int|num|bool))?)"
    r"(?:; |: (?P<said>.*)|$)"
)
"""A run of fields of one type, or a link to another form; the text after the colon describes the last of them."""
_ELSEWHERE = ("[[#", "same fields", "as of a memory")
"""Phrases in the description of a field whose own fields are described elsewhere."""


@dataclass(frozen=True, slots=True)
class Field:
    """The description of a field; `shape` holds the `?`, `[]` and `{}` that follow its name."""

    shape: str
    type: str
    said: str
    fields: dict[str, Field] = field(default_factory=dict)

    @property
    def is_optional(self) -> bool:
        return self.said.startswith("only with ")

    @property
    def is_told_elsewhere(self) -> bool:
        return not self.fields and any(words in self.said for words in _ELSEWHERE)


def documented_fields(heading: str) -> dict[str, Field]:
    """Return the fields described by the list under a heading."""
    page = (DEMO / "JSON forms.md").read_text(encoding="utf-8")
    lines = page.split(f"\n## {heading}\n")[1].split("\n## ")[0].split("\n")
    levels: list[list[dict[str, Field]]] = [[{}]]
    for line in lines:
        said = line.lstrip(" ")
        if not said.startswith("- "):
            continue
        del levels[(len(line) - len(said)) // 4 + 1 :]
        levels.append([])
        at = 2
        while at < len(said):
            found = _GROUP.match(said, at)
            assert found, line
            at = found.end()
            if found["form"]:
                new = documented_fields(found["form"])
            else:
                what = found["type"] or "", found["said"] or ""
                new = {name: Field(shape, *what) for name, shape in re.findall(r"`(\w+)([^`]*)`", found["names"])}
            levels[-1] = [one.fields for one in new.values()]
            for around in levels[-2]:
                around.update(new)
    return levels[0][0]


def field_paths(fields: Mapping[str, Field], at: str = "") -> Iterator[str]:
    """Yield the path of every described field: `[]` for objects in a list, `*` for names that the vault defines."""
    for name, one in fields.items():
        yield f"{at}.{name}"
        inner = f"{at}.{name}{one.shape.replace('?', '').replace('{}', '.*')}"
        if "{}" in one.shape:
            yield inner.partition("*")[0] + "*"
        yield from field_paths(one.fields, inner)


def printed_paths(value: Any, fields: Mapping[str, Field], at: str = "") -> Iterator[str]:
    """Yield the paths of the printed fields; fields described elsewhere are not descended into."""
    for name, inner in value.items():
        yield f"{at}.{name}"
        if name in fields and not fields[name].is_told_elsewhere:
            yield from _inner_paths(inner, fields[name], f"{at}.{name}", by_name="{}" in fields[name].shape)


def _inner_paths(value: Any, one: Field, at: str, *, by_name: bool) -> Iterator[str]:
    if isinstance(value, list):
        for element in value:
            yield from _inner_paths(element, one, f"{at}[]", by_name=False)
    elif isinstance(value, dict) and by_name:
        for element in value.values():
            yield f"{at}.*"
            yield from _inner_paths(element, one, f"{at}.*", by_name=False)
    elif isinstance(value, dict):
        yield from printed_paths(value, one.fields, at)


def mismatches(value: Any, fields: Mapping[str, Field], at: str = "") -> Iterator[str]:
    """Yield a message for each field that is printed but not described, missing, or of another type."""
    for name in value.keys() ^ fields.keys():
        if not (name in fields and fields[name].is_optional):
            yield f"{at}.{name} is {'printed' if name in value else 'described'} alone"
    for name in value.keys() & fields.keys():
        yield from _wrong(value[name], fields[name], fields[name].shape, f"{at}.{name}")


def _wrong(value: Any, one: Field, shape: str, at: str) -> Iterator[str]:
    if shape.startswith("?"):
        if value is not None:
            yield from _wrong(value, one, shape[1:], at)
    elif shape:
        kind, elements = (list, value) if shape.startswith("[]") else (dict, getattr(value, "values", list)())
        if not isinstance(value, kind):
            yield f"{at} is {type(value).__name__}, not {kind.__name__}"
            return
        for element in elements:
            yield from _wrong(element, one, shape[2:], f"{at}{shape[:2]}")
    elif one.fields and isinstance(value, dict):
        yield from mismatches(value, one.fields, at)
    elif not (one.is_told_elsewhere and isinstance(value, dict)) and type(value) not in _TYPES[one.type]:
        yield f"{at} is {type(value).__name__}, not {one.type or 'str'}"
