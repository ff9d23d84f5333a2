"""The YAML frontmatter of a note: title, aliases, tags and properties, as strings.

Values stay as written: `2024-01-02` does not become a date, `0123` an octal number, nor `no` a boolean. The tree of
values is built from the parser's events, with limits on its depth and size, since libyaml's own composer overflows its
stack on deep nesting, and any loader can be made to expand YAML aliases without end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from excerpt.base.patterns import lazy_pattern

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


class Frontmatter(Struct, frozen=True):
    """The frontmatter of a note.

    `lines` is the number of its lines with the delimiters, 0 if the note has none. `properties` are the values of other
    keys than title, aliases and tags, by dotted key.
    `unread_lines` are the 1-based lines of invalid frontmatter that have no key or value: they are text of the note.
    """

    lines: int = 0
    title: str = ""
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    properties: dict[str, tuple[str, ...]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    unread_lines: tuple[int, ...] = ()


# python-frontmatter's rule for the block, restricted to exactly three dashes on the first line.
_BOUNDARY = lazy_pattern(r"^---[ \t]*$", re.MULTILINE)


class _Scalar(Struct):
    text: str
    line: int


_Node = _Scalar | list["_Node"] | dict[str, "_Node"]


class _TooDeepError(Exception):
    pass


class _TooManyValuesError(Exception):
    pass


def read_frontmatter(text: str) -> Frontmatter:
    """Parse the frontmatter of a note, of which `text` is the whole text.

    Never raises: invalid frontmatter is read line by line, with a warning. A block between two `---` lines that is
    prose, or longer than MAX_CHARACTERS, is no frontmatter but text.
    """
    parts = _BOUNDARY.split(text, 2) if _BOUNDARY.match(text) else []
    if len(parts) < 3 or not parts[1]:  # no closing line, or nothing before it
        return Frontmatter()
    import yaml

    _, block, body = parts
    lines = text.count("\n", 0, len(text) - len(body)) + 1
    if len(block) > MAX_CHARACTERS:
        return Frontmatter(warnings=(f"The frontmatter is over {MAX_CHARACTERS // 1024} KB; it was read as text.",))
    warnings: list[str] = []
    unread: list[int] = []
    try:
        tree = _parse_tree(block, warnings)
    except (yaml.YAMLError, _TooDeepError, UnicodeError) as error:
        warnings = [f"The frontmatter is not valid YAML: {describe_yaml_error(error)}."]
        tree = _parse_by_line(block, warnings, unread)
    if isinstance(tree, dict):
        _add_commented_tags(tree, block, warnings)
        front = _frontmatter_of_tree(tree, lines)
        return replace(front, warnings=(*warnings, *front.warnings), unread_lines=tuple(unread))
    if isinstance(tree, list):
        unread = [number + 1 for number, line in enumerate(block.split("\n")) if _is_text(line)]
        warning = "The frontmatter is a list, not keys and values; it was read as text."
        return Frontmatter(lines, warnings=(warning,), unread_lines=tuple(unread))
    return Frontmatter() if tree.text else Frontmatter(lines)


def describe_yaml_error(error: Exception) -> str:
    """Return a YAML error in a frontmatter block as words for a user, with the line of the note if known."""
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error).split("\n", 1)[0]
    mark = getattr(error, "problem_mark", None)
    # The block's first line holds the opening delimiter's end, so that its line 1 is the note's line 2.
    return f"{problem}, line {mark.line + 1}" if mark else str(problem)


def _parse_tree(block: str, warnings: list[str], first_line: int = 0) -> _Node:
    """Parse the first YAML document in `block` and return its root node; an empty scalar if it is empty.

    `first_line` is the number of the block's first line, from 0. For a key that occurs twice, a warning is added to
    `warnings`.
    """
    import yaml

    root: _Node = _Scalar("", 0)
    stack: list[tuple[_Node, list[_Scalar]]] = []  # open collections, each with the key without a value yet, if any
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
                _add_value(parent, key.pop(), node, warnings)
            else:
                key.append(node if isinstance(node, _Scalar) else _Scalar("", first_line))

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    documents = 0
    for event in yaml.parse(block, Loader=loader):
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                break
        elif isinstance(event, yaml.AliasEvent):
            # Notes hardly use anchors: `title: *Draft` is taken literally.
            line = first_line + (event.start_mark.line if event.start_mark else 0)
            attach(anchors.get(event.anchor or "", _Scalar(f"*{event.anchor}", line)))
        elif isinstance(event, yaml.CollectionEndEvent):
            stack.pop()
        elif isinstance(event, yaml.NodeEvent):
            node = _node_of_event(event, first_line)
            attach(node)
            if event.anchor:
                anchors[event.anchor] = node
            if not isinstance(node, _Scalar):
                stack.append((node, []))
                if len(stack) > MAX_DEPTH:
                    raise _TooDeepError(f"it is nested more than {MAX_DEPTH} deep")
    return root


def _add_value(parent: dict[str, _Node], key: _Scalar, node: _Node, warnings: list[str]) -> None:
    """Set the value of a key; if the key already has a value, replace it and add a warning to `warnings`."""
    if key.text in parent and len(warnings) < _MAX_WARNINGS:
        warnings.append(
            f"The frontmatter has the key {key.text[:_MAX_KEY_CHARACTERS]} twice, again in line {key.line + 1}; "
            "the last value counts."
        )
    parent[key.text] = node


def _node_of_event(event: yaml.NodeEvent, first_line: int) -> _Node:
    import yaml

    if isinstance(event, yaml.MappingStartEvent):
        return {}
    if isinstance(event, yaml.SequenceStartEvent):
        return []
    assert isinstance(event, yaml.ScalarEvent)
    empty = not event.style and event.value in ("~", "null", "Null", "NULL")
    line = first_line + (event.start_mark.line if event.start_mark else 0)
    return _Scalar("" if empty else event.value.strip(), line)


# --- frontmatter that is not valid YAML -------------------------------------------------------------------------------
# Many programs write `title: Deep: rules` or `tags: [#bees]`. Each key at the start of a line, with the lines below it
# that are indented or list items, is parsed by itself, and as plain text if that fails. Other lines are text.

_MAX_KEY_CHARACTERS = 60
_MAX_WARNINGS = 10
_KEY = lazy_pattern(rf"([^\W\d_][\w .\-]{{0,{_MAX_KEY_CHARACTERS - 1}}}?)[ \t]*:(?:[ \t]+(.*))?$")
_ITEM = lazy_pattern(r"[ \t]*-[ \t]+(.*)")
_COMMENT = lazy_pattern(r"(?:^|[ \t])#(?:[ \t].*)?$")
_YAML_SIGNS = frozenset("[]{}\"'&*!|>%@`,?-")
"""Characters that begin a value with a meaning of its own in YAML."""


def _parse_by_line(block: str, warnings: list[str], unread: list[int]) -> dict[str, _Node]:
    """Return the keys and values of invalid YAML as far as they are clear; other lines are added to `unread`."""
    lines = block.split("\n")
    starts = [number for number, line in enumerate(lines) if _KEY.match(line)][:MAX_VALUES]
    tree: dict[str, _Node] = {}
    unread += (number + 1 for number in range(starts[0] if starts else len(lines)) if _is_text(lines[number]))
    for start, end in pairwise([*starts, len(lines)]):
        match = _KEY.match(lines[start])
        assert match is not None
        value, rest = (match[2] or "").strip(), [number for number in range(start + 1, end) if _is_text(lines[number])]
        if value and not rest and value[0] not in _YAML_SIGNS:
            node: _Node | None = _plain_value(value, start)
        else:
            node = _parse_key(lines, start, end, warnings)
        if node is None:
            items = [] if value else [(number, item) for number in rest if (item := _ITEM.match(lines[number]))]
            item_lines = {number for number, _ in items}
            unread += (number + 1 for number in rest if number not in item_lines)
            node = [_plain_value(item[1], number) for number, item in items] if items else _plain_value(value, start)
        _add_value(tree, _Scalar(match[1].strip(), start), node, warnings)
    return tree


def _parse_key(lines: Sequence[str], start: int, end: int, warnings: list[str]) -> _Node | None:
    """Return the value of the key in line `start`, parsed with the lines up to `end` (exclusive); None if invalid."""
    import yaml

    try:
        # Tabs are no indentation in YAML, but their meaning is clear.
        tree = _parse_tree("\n".join(lines[start:end]).expandtabs(2), warnings, start)
    except (yaml.YAMLError, _TooDeepError, UnicodeError):
        return None
    return next(iter(tree.values())) if isinstance(tree, dict) and len(tree) == 1 else None


def _plain_value(text: str, line: int) -> _Node:
    """Parse a value that is not valid YAML: a list in brackets, or its text without quotation marks and comment."""
    text = "".join(character for character in _COMMENT.sub("", text) if character.isprintable()).strip()
    if text.startswith("[") and text.endswith("]") and not text.startswith("[["):
        parts = (part.strip().strip("\"'") for part in text[1:-1].split(","))
        return [_Scalar(part, line) for part in parts if part]
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "\"'"
    return _Scalar(text[1:-1] if is_quoted else text, line)


def _is_text(line: str) -> bool:
    stripped = line.strip()
    return bool(stripped) and not stripped.startswith("# ")


_COMMENTED_TAGS = lazy_pattern(r"(tags?)[ \t]*:[ \t]+(#[^\s#].*)$|(tags?)[ \t]*:[ \t]*$", re.IGNORECASE)
_COMMENTED_ITEM = lazy_pattern(r"[ \t]*-[ \t]+(#[^\s#]\S*)[ \t]*$")


def _add_commented_tags(tree: dict[str, _Node], block: str, warnings: list[str]) -> None:
    """Add the tags that follow `#` after a key `tags` or in its list, which YAML reads as comments, with a warning."""
    if "#" not in block:
        return
    key = ""
    added: dict[str, list[_Scalar]] = {}
    for number, line in enumerate(block.split("\n")):
        found = ""
        if match := _COMMENTED_TAGS.match(line):
            key, found = match[1] or match[3], match[2] or ""
        elif key and (item := _COMMENTED_ITEM.match(line)):
            found = item[1]
        elif not line.startswith((" ", "\t", "-")):
            key = ""
        tags = [part for part in re.split(r"[,\s]+", found) if part.startswith("#") and part.strip("#")]
        if tags and key in tree:
            added.setdefault(key, []).extend(_Scalar(tag, number) for tag in tags)
            if len(warnings) < _MAX_WARNINGS:
                warnings.append(
                    f"Line {number + 1} of the frontmatter has {tags[0][:_MAX_KEY_CHARACTERS]} without quotation "
                    "marks, which is a comment in YAML; it was read as a tag."
                )
    for key, scalars in added.items():
        values = tree[key]
        known = values if isinstance(values, list) else [values]
        tree[key] = [*(node for node in known if not isinstance(node, _Scalar) or node.text), *scalars]


def _iterate_scalars(tree: dict[str, _Node]) -> Iterator[tuple[str, _Scalar]]:
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
    warnings: list[str] = []
    try:
        for key, scalar in _iterate_scalars(tree):
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
