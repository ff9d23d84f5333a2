"""Parsing of properties that are written in the text of a note, as Dataview reads them: `rating:: 4`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from excerpt.base.patterns import lazy_pattern

MAX_PROPERTIES = 2_000
"""Maximum number of properties that are read in the text of a note."""

_NAME = r"[^\W_](?:[\w /.&'-]{0,58}\w)?"
# Dataview needs no space after the marks, but `std::vector` is text.
_BEFORE_VALUE = r"(?:[ \t]+|(?=\[\[|\d|[^\x00-\x7f]))"
_MAY_HAVE_PROPERTY = lazy_pattern(rf"::[*_]{{0,2}}{_BEFORE_VALUE}")
# A field is a line of its own, after the marker of a list item or task and in bold or not.
_LINE = lazy_pattern(
    rf"^[ \t>]*(?:(?:[-*+]|\d{{1,9}}[.)])[ \t]+)?(?:\[.\][ \t]+)?(?P<mark>[*_]{{0,2}})(?P<name>{_NAME})"
    r"(?:(?P=mark)::|::(?P=mark))" + _BEFORE_VALUE + r"(?P<value>.*)$",
    re.MULTILINE,
)
# Or it stands in brackets within a sentence. Its value may hold wikilinks.
_BRACKETED = lazy_pattern(
    rf"(?<![\w\[(])(?:\[(?P<name>{_NAME})::{_BEFORE_VALUE}(?P<value>(?:\[\[[^\[\]\n]{{0,200}}\]\]|[^\[\]\n]){{0,500}})\]"
    rf"|\((?P<name2>{_NAME})::{_BEFORE_VALUE}(?P<value2>[^()\n]{{0,500}})\))"
)
_CODE = lazy_pattern(r"(?<!`)(`++)[^`]++\1(?!`)")
_MAX_CHARACTERS = 50_000


def inline_properties(text: str) -> Iterator[tuple[str, str]]:
    """Yield the properties in the text of a paragraph, list item or cell as (name, value)."""
    if len(text) > _MAX_CHARACTERS or not _MAY_HAVE_PROPERTY.search(text):
        return
    text = _CODE.sub("`", text) if "`" in text else text
    for match in _LINE.finditer(text):
        if value := match["value"].strip():
            yield match["name"].strip(), value
    for match in _BRACKETED.finditer(text):
        if value := (match["value"] or match["value2"] or "").strip():
            yield (match["name"] or match["name2"]).strip(), value


def merge_properties(
    properties: Mapping[str, tuple[str, ...]], others: Iterable[tuple[str, str]]
) -> Mapping[str, tuple[str, ...]]:
    """Return the frontmatter's `properties` with those found in the text (`others`) added, without repeated values."""
    merged = {name: dict.fromkeys(values) for name, values in properties.items()}
    for number, (name, value) in enumerate(others):
        if number == MAX_PROPERTIES:
            break
        merged.setdefault(name, {})[value] = None
    return {name: tuple(values) for name, values in merged.items()}
