"""The YAML frontmatter of a note: title, aliases, tags and properties, as strings.

Values stay as written: `2024-01-02` is no date object, `0123` no octal number, `no` no boolean. The tree is built from
the parser's events, with bounds on depth and number of values, since libyaml's own composer overflows its stack on deep
nesting and any loader can be made to expand aliases without end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import yaml  # at run time imported only to parse a block: a pack parses fragments, which have none

MAX_CHARACTERS = 256 * 1024
"""Maximum characters of frontmatter; a longer block is text, with a warning.

Real ones reach 100 KB (generated keyword lists).
"""
MAX_DEPTH = 20
MAX_VALUES = 20_000
"""Maximum number of values and collections of them; aliases are counted each time they are used."""

_NAMED = {"title": "title", "alias": "aliases", "aliases": "aliases", "tag": "tags", "tags": "tags"}


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """The frontmatter of a note.

    `lines` counts its lines with the delimiters, 0 if there is none. `values` are all scalars, each with its 1-based
    line in the note.
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


class _TooManyError(Exception):
    pass


def read_frontmatter(text: str) -> Frontmatter:
    """Parse the frontmatter of a note's `text`. Never raises: what cannot be parsed becomes a warning.

    Prose between two rules is text, not frontmatter, and so is a block too large to be one.
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
        tree = _tree(block)
    except (yaml.YAMLError, _TooDeepError, UnicodeError) as error:
        return Frontmatter(lines, warnings=(f"The frontmatter is not valid YAML: {yaml_reason(error)}.",))
    if isinstance(tree, dict):
        return _collect(tree, lines)
    if isinstance(tree, list):
        return Frontmatter(lines, warnings=("The frontmatter is a list, not keys and values; it was not read.",))
    return Frontmatter() if tree.text else Frontmatter(lines)


def yaml_reason(error: Exception) -> str:
    """Return what is wrong in a frontmatter block, and in which line of the file, in words for a user."""
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error).split("\n", 1)[0]
    mark = getattr(error, "problem_mark", None)
    # The block's first line holds the opening delimiter's end, so that its line 1 is the note's line 2.
    return f"{problem}, line {mark.line + 1}" if mark else str(problem)


def _tree(block: str) -> _Node:
    """Return the nodes of one YAML document; an empty one is an empty scalar."""
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
            node = _node(event)
            attach(node)
            if event.anchor:
                anchors[event.anchor] = node
            if not isinstance(node, _Scalar):
                stack.append((node, []))
                if len(stack) > MAX_DEPTH:
                    raise _TooDeepError(f"it is nested more than {MAX_DEPTH} deep")
    return root


def _node(event: yaml.NodeEvent) -> _Node:
    import yaml

    if isinstance(event, yaml.MappingStartEvent):
        return {}
    if isinstance(event, yaml.SequenceStartEvent):
        return []
    assert isinstance(event, yaml.ScalarEvent)
    empty = not event.style and event.value in ("~", "null", "Null", "NULL")
    return _Scalar("" if empty else event.value.strip(), event.start_mark.line if event.start_mark else 0)


def _scalars(tree: dict[str, _Node]) -> Iterator[tuple[str, _Scalar]]:
    """Yield every non-empty scalar with its dotted key, in order.

    Raises _TooManyError, since aliases can repeat their content without end.
    """
    pending: list[tuple[str, _Node]] = [("", tree)]
    visited = 0
    while pending:
        prefix, node = pending.pop()
        visited += 1
        if visited + len(pending) > MAX_VALUES:
            raise _TooManyError
        if isinstance(node, _Scalar):
            if node.text:
                yield prefix, node
        elif isinstance(node, list):
            pending += [(prefix, item) for item in reversed(node)]
        else:
            pending += [(f"{prefix}.{key}" if prefix else key, node[key]) for key in reversed(node)]


def _collect(tree: dict[str, _Node], lines: int) -> Frontmatter:
    named: dict[str, list[str]] = {"title": [], "aliases": [], "tags": []}
    properties: dict[str, list[str]] = {}
    values: list[tuple[int, str]] = []
    warnings: list[str] = []
    try:
        for key, scalar in _scalars(tree):
            values.append((scalar.line + 1, scalar.text))
            name = _NAMED.get(key.lower())
            if name is None:
                properties.setdefault(key, []).append(scalar.text)
            else:
                named[name] += _named_values(name, scalar.text, listed=isinstance(tree[key], list))
    except _TooManyError:
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


def _named_values(name: str, text: str, listed: bool) -> list[str]:
    """Split one scalar into values: tags and aliases outside a list are separated by commas or spaces."""
    if name == "title" or listed:
        return [text]
    parts = re.split(r"[,\s]+" if name == "tags" else r",", text)
    return [part for part in (p.strip().strip("\"'") for p in parts) if part]
