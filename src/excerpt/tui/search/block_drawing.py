"""What of a note is drawn over several lines: frontmatter as properties, tables with even columns, code in colours.

Line-true as all of the preview: what is drawn of a line is of that line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from excerpt.kinds import LinkKind
from excerpt.text.visible import visible
from excerpt.tui.common.inked_line import Ink, InkedLine, LinkTo

if TYPE_CHECKING:
    from pygments.lexer import Lexer

_WIDEST_NAME = 20
"""Cells up to which names make a column; a longer one has its value right behind it."""
_RULE = "─" * 12

_NAMED = re.compile(r"^([\w][\w .-]*?)(:)(?:[ \t]+|$)")
_ITEM = re.compile(r"^[ \t]*(-)(?:[ \t]+|$)")
_LIST = re.compile(r"^(\[)(.*)(\])\s*$")
_WIKILINK = re.compile(r"\[\[([^\[\]|]+?)(?:\|([^\[\]]*))?\]\]")
_URL = re.compile(r"https?://[^\s<>|\])\"',]+")
_TAGS = frozenset({"tags", "tag", "keywords"})
_BOXES = {"true": "☑", "false": "☐"}


def property_lines(texts: Sequence[str]) -> list[tuple[InkedLine, int]]:
    """The lines of a note's frontmatter, its `---` with them, each with the hang of its continuation.

    Anything but simple names, values and lists stays as it is written.
    """
    named = [_NAMED.match(text) for text in texts]
    widths = [cell_len(visible(found[1])) for found in named if found]
    column = max((width for width in widths if width <= _WIDEST_NAME), default=0) + 2
    lines: list[tuple[InkedLine, int]] = []
    name = ""
    for row, (text, found) in enumerate(zip(texts, named, strict=True)):
        line = InkedLine(text)
        lines.append((line, column))
        if text.rstrip() in ("---", "...") and row in (0, len(texts) - 1):
            line.replace(0, len(text), f"{_RULE} properties" if row == 0 else _RULE)
            line.ink(0, len(text), Ink.FAINT)
        elif found:
            name = found[1].casefold()
            line.ink(0, found.end(1), Ink.PROPERTY)
            gap = " " * max(1, column - cell_len(visible(found[1])))
            line.replace(found.start(2), max(found.end(), found.end(2)), gap)
            _draw_value(line, found.end(), name)
        elif item := _ITEM.match(text):
            line.replace(0, item.end(), " " * column + "• ")
            _draw_value(line, item.end(), name)
    return lines


def _draw_value(line: InkedLine, start: int, name: str) -> None:
    """Draw the value that begins at `start`: without quotation marks and brackets, with links and tags inked."""
    text = line.text
    value = text[start:].rstrip()
    if name in _TAGS:
        line.ink(start, len(text), Ink.TAG)
    if value in _BOXES:
        line.replace(start, start + len(value), _BOXES[value])
        return
    listed = None if value.startswith("[[") and value.count("[[") == 1 else _LIST.match(value)
    if listed:
        line.hide(start, start + 1)
        line.hide(start + listed.start(3), start + listed.end(3))
    quoted = [(start + at.start(), start + at.end()) for at in re.finditer(r"(?<![\w])[\"']|[\"'](?!\w)", value)]
    if len(quoted) % 2 == 0:
        for span in quoted:
            line.hide(*span)
    for link in _WIKILINK.finditer(text, start):
        shown = link.span(2) if link[2] else link.span(1)
        line.hide(link.start(), shown[0])
        line.hide(shown[1], link.end())
        line.link(*link.span(), LinkTo(LinkKind.WIKILINK, link[1]))
    for url in _URL.finditer(text, start):
        line.link(*url.span(), LinkTo(LinkKind.MARKDOWN, url[0]))


_BAR = re.compile(r"(?<!\\)\|")
_IN_CODE = re.compile(r"`[^`\n]*`")
_WIDEST_TABLE = 200
"""Cells of a table from which on its columns are not aligned: no window shows them side by side."""


def align(rows: Sequence[InkedLine], rule: int) -> bool:
    """Make the columns of drawn `rows` as wide as the widest cell, and a line of the row `rule`; whether it was done.

    A bar in code is no border here, as the parser has it otherwise only where the code is broken by it.
    """
    bars = [_bars(row.text) for row in rows]
    cells = [[_cell(row, *edges) for edges in _edges(row.text, at)] for row, at in zip(rows, bars, strict=True)]
    count = max((len(one) for at, one in enumerate(cells) if at != rule), default=0)
    widths = [
        max((cell_len(one[column]) for at, one in enumerate(cells) if at != rule and column < len(one)), default=0)
        for column in range(count)
    ]
    if not count or sum(widths) + 3 * count > _WIDEST_TABLE:
        return False
    for at, row in enumerate(rows):
        _pad(row, bars[at], cells[at], widths, is_rule=at == rule)
    return True


def _bars(text: str) -> list[int]:
    code = {at for found in _IN_CODE.finditer(text) for at in range(*found.span())}
    return [found.start() for found in _BAR.finditer(text) if found.start() not in code]


def _edges(text: str, bars: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Where the cells between bars begin and end; what stands outside of the first and last is one if there is any."""
    starts = [0, *(bar + 1 for bar in bars)]
    ends = [*bars, len(text)]
    for at, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if 0 < at < len(bars) or text[start:end].strip():
            yield start, end


def _cell(row: InkedLine, start: int, end: int) -> str:
    return row.drawn(start, end).strip()


def _pad(row: InkedLine, bars: Sequence[int], cells: Sequence[str], widths: Sequence[int], *, is_rule: bool) -> None:
    """Let the bars carry all blanks: each is shown with those that fill the cell before it."""
    text = row.text
    edges = list(_edges(text, bars))[: len(widths)]
    ending = {end: column for column, (_, end) in enumerate(edges)}
    beginning = {start for start, _ in edges}
    blank = "─" if is_rule else " "
    for column, (start, end) in enumerate(edges):
        if is_rule:
            row.replace(start, end, "─" * widths[column])
            continue
        held = text[start:end]
        row.hide(start, end - len(held.lstrip()))
        row.hide(max(start, start + len(held.rstrip())), end)
    for bar in bars:
        before = ""
        if bar in ending:
            column = ending[bar]
            before = blank * ((0 if is_rule else widths[column] - cell_len(cells[column])) + 1)
        inner = bar in ending and bar + 1 in beginning
        sign = "│" if not is_rule else "┼" if inner else "├" if bar + 1 in beginning else "┤"
        row.replace(bar, bar + 1, before + sign + (blank if bar + 1 in beginning else ""))


MOST = 30_000
"""Characters of code that are coloured in one context; Pygments takes about 1.2 us for each."""

Inked = tuple[int, int, Ink]


def code_inks(lines: Sequence[str], language: str) -> list[list[Inked]]:
    """For each line of a piece of code the columns and inks of what has one; nothing for an unknown language."""
    found: list[list[Inked]] = [[] for _ in lines]
    lexer = _lexer(language)
    if lexer is None:
        return found
    kinds = _kinds()
    row, column = 0, 0
    for _, kind, text in lexer.get_tokens_unprocessed("\n".join(lines)):
        ink = next((ink for of, ink in kinds if kind in of), None)
        for part, piece in enumerate(text.split("\n")):
            if part:
                row, column = row + 1, 0
            if ink is not None and piece.strip():
                found[row].append((column, column + len(piece), ink))
            column += len(piece)
    return found


@lru_cache(maxsize=32)
def _lexer(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    if not language:
        return None
    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None


@lru_cache(maxsize=1)
def _kinds() -> tuple[tuple[Any, Ink], ...]:
    from pygments.token import Comment, Keyword, Name, Number, Operator, String

    return (
        (Comment, Ink.COMMENT),
        (String, Ink.STRING),
        (Number, Ink.NUMBER),
        (Keyword, Ink.KEYWORD),
        (Operator.Word, Ink.KEYWORD),
        (Name.Tag, Ink.KEYWORD),
        (Name.Function, Ink.NAME),
        (Name.Class, Ink.NAME),
        (Name.Builtin, Ink.NAME),
        (Name.Decorator, Ink.NAME),
        (Name.Attribute, Ink.NAME),
    )
