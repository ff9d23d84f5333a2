"""The YAML frontmatter of a note: title, aliases, tags and properties, as strings.

Values stay as written: `2024-01-02` does not become a date, `0123` an octal number, nor `no` a boolean. The tree of
values is built from the parser's events, with limits on its depth and size, since libyaml's own composer overflows its
stack on deep nesting, and any loader can be made to expand YAML aliases without end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import yaml  # at run time imported only to parse a block: a pack parses fragments, which have none

MAX_CHARACTERS = 256 * 1024
"""Maximum number of characters of frontmatter; a longer block is read as text, with a warning.

The largest real frontmatter found has 100 KB (generated keyword lists).
"""
MAX_DEPTH = 20
MAX_VALUES = 20_000
"""Maximum number of YAML nodes (values, lists and mappings); an alias counts each time it is used."""

_SPECIAL_KEYS = {"title": "title", "alias": "aliases", "aliases": "aliases", "tag": "tags", "tags": "tags"}


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """The frontmatter of a note.

    `lines` is the number of its lines with the delimiters, 0 if the note has none. `properties` are the values of other
    keys than title, aliases and tags, by dotted key. `values` are all scalars as (1-based line in the note, text).
    """

    lines: int = 0
    title: str = ""
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    properties: dict[str, tuple[str, ...]] = field(default_factory=dict)
    values: tuple[tuple[int, str], ...] = ()
    warnings: tuple[str, ...] = ()


# python-frontmatter's rule for the block, restricted to exactly three dashes on the first line.
_BOUNDARY = re.compile(r"^---[ \t]*$", re.MULTILINE)


@dataclass(slots=True)
class _Scalar:
    text: str
    line: int


_Node = _Scalar | list["_Node"] | dict[str, "_Node"]


class _TooDeepError(Exception):
    pass


class _TooManyValuesError(Exception):
    pass


def read_frontmatter(text: str) -> Frontmatter:
    """Parse the frontmatter of a note, of which `text` is the whole text.

    Never raises: invalid frontmatter becomes a warning. A block between two `---` lines that is prose, or longer than
    MAX_CHARACTERS, is no frontmatter but text.
    """
    parts = _BOUNDARY.split(text, 2) if _BOUNDARY.match(text) else []
    if len(parts) < 3 or not parts[1]:  # no closing line, or nothing before it
        return Frontmatter()
    import yaml

    _, block, body = parts
    lines = text.count("\n", 0, len(text) - len(body)) + 1
    if len(block) > MAX_CHARACTERS:
        return Frontmatter(warnings=(f"The frontmatter is over {MAX_CHARACTERS // 1024} KB; it was read as text.",))
    try:
        tree = _parse_tree(block)
    except (yaml.YAMLError, _TooDeepError, UnicodeError) as error:
        return Frontmatter(lines, warnings=(f"The frontmatter is not valid YAML: {describe_yaml_error(error)}.",))
    if isinstance(tree, dict):
        return _frontmatter_of_tree(tree, lines)
    if isinstance(tree, list):
        return Frontmatter(lines, warnings=("The frontmatter is a list, not keys and values; it was not read.",))
    return Frontmatter() if tree.text else Frontmatter(lines)


def describe_yaml_error(error: Exception) -> str:
    """Return a YAML error in a frontmatter block as words for a user, with the line of the note if known."""
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error).split("\n", 1)[0]
    mark = getattr(error, "problem_mark", None)
    # The block's first line holds the opening delimiter's end, so that its line 1 is the note's line 2.
    return f"{problem}, line {mark.line + 1}" if mark else str(problem)


def _parse_tree(block: str) -> _Node:
    """Parse the first YAML document in `block` and return its root node; an empty scalar if it is empty."""
    import yaml

    root: _Node = _Scalar("", 0)
    stack: list[tuple[_Node, list[str]]] = []  # open collections, each with the key without a value yet, if any
    anchors: dict[str, _Node] = {}

    def attach(node: _Node) -> None:
        nonlocal root
        if not stack:
            root = node
            return
        parent, key = stack[-1]
        if isinstance(parent, list):
            parent.append(node)
        elif isinstance(parent, dict):
            if key:
                parent[key.pop()] = node
            else:
                key.append(node.text if isinstance(node, _Scalar) else "")

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    documents = 0
    for event in yaml.parse(block, Loader=loader):
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                break
        elif isinstance(event, yaml.AliasEvent):
            # Notes hardly use anchors: `title: *Draft` is taken literally.
            line = event.start_mark.line if event.start_mark else 0
            attach(anchors.get(event.anchor or "", _Scalar(f"*{event.anchor}", line)))
        elif isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
        elif isinstance(event, yaml.NodeEvent):
            node = _node_of_event(event)
            attach(node)
            if event.anchor:
                anchors[event.anchor] = node
            if not isinstance(node, _Scalar):
                stack.append((node, []))
                if len(stack) > MAX_DEPTH:
                    raise _TooDeepError(f"it is nested more than {MAX_DEPTH} deep")
    return root


def _node_of_event(event: yaml.NodeEvent) -> _Node:
    import yaml

    if isinstance(event, yaml.MappingStartEvent):
        return {}
    if isinstance(event, yaml.SequenceStartEvent):
        return []
    assert isinstance(event, yaml.ScalarEvent)
    empty = not event.style and event.value in ("~", "null", "Null", "NULL")
    return _Scalar("" if empty else event.value.strip(), event.start_mark.line if event.start_mark else 0)


def _scalars(tree: dict[str, _Node]) -> Iterator[tuple[str, _Scalar]]:
    """Yield each non-empty scalar of the tree as (dotted key, scalar), in order.

    Raises _TooManyValuesError for more than MAX_VALUES nodes, since aliases can repeat their content without end.
    """
    pending: list[tuple[str, _Node]] = [("", tree)]
    visited = 0
    while pending:
        prefix, node = pending.pop()
        visited += 1
        if visited + len(pending) > MAX_VALUES:
            raise _TooManyValuesError
        if isinstance(node, _Scalar):
            if node.text:
                yield prefix, node
        elif isinstance(node, list):
            pending += [(prefix, item) for item in reversed(node)]
        else:
            pending += [(f"{prefix}.{key}" if prefix else key, node[key]) for key in reversed(node)]


def _frontmatter_of_tree(tree: dict[str, _Node], lines: int) -> Frontmatter:
    named: dict[str, list[str]] = {"title": [], "aliases": [], "tags": []}
    properties: dict[str, list[str]] = {}
    values: list[tuple[int, str]] = []
    warnings: list[str] = []
    try:
        for key, scalar in _scalars(tree):
            values.append((scalar.line + 1, scalar.text))
            name = _SPECIAL_KEYS.get(key.lower())
            if name is None:
                properties.setdefault(key, []).append(scalar.text)
            else:
                named[name] += _split_value(name, scalar.text, is_list_item=isinstance(tree[key], list))
    except _TooManyValuesError:
        warnings.append(f"The frontmatter has more than {MAX_VALUES} values; the rest was not read.")
    tags = [tag.lstrip("#") for tag in named["tags"]]
    return Frontmatter(
        lines=lines,
        title=named["title"][0] if named["title"] else "",
        aliases=tuple(dict.fromkeys(named["aliases"])),
        tags=tuple(dict.fromkeys(tag for tag in tags if tag)),
        properties={key: tuple(items) for key, items in properties.items()},
        values=tuple(values),
        warnings=tuple(warnings),
    )


def _split_value(name: str, text: str, is_list_item: bool) -> list[str]:
    """Split the text of a scalar into values, at commas for aliases, at commas and spaces for tags.

    The text is one value if `name` is "title" or the scalar is an item of a YAML list (`is_list_item`).
    """
    if name == "title" or is_list_item:
        return [text]
    parts = re.split(r"[,\s]+" if name == "tags" else r",", text)
    return [part for part in (p.strip().strip("\"'") for p in parts) if part]
