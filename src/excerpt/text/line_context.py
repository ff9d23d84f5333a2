"""Detection of the context of each line of a note: frontmatter, code, callout or prose; and of the tables in it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from enum import IntEnum, auto
from typing import NamedTuple

from excerpt.base.model import TableHeader
from excerpt.base.patterns import lazy_pattern


class Context(IntEnum):
    """The kind of block that a line belongs to; PLAIN is a line of a file that is not Markdown."""

    PROSE = auto()
    PLAIN = auto()
    PROPERTIES = auto()
    CODE = auto()
    CODE_EDGE = auto()
    QUOTED_CODE = auto()
    COMMENT = auto()


class LineContext(NamedTuple):
    """The block that a line belongs to.

    `context` is the kind of block. `callout` is the kind of the callout around the line ("warning"), "" for none.
    `language` is the language of the code fence, and `block` the index of the line (from 0) on which the fence or the
    frontmatter begins, -1 in other blocks.
    """

    context: Context
    callout: str = ""
    language: str = ""
    block: int = -1


PROSE = LineContext(Context.PROSE)
PLAIN = LineContext(Context.PLAIN)
"""The context of each line in a text that is not Markdown: the line is shown verbatim."""

CALLOUT = lazy_pattern(r"\[!([\w-]+)(?:\|[^\]]*)?\][+-]?")
QUOTE_MARKS = lazy_pattern(r"^\s*((?:>\s?)+)")
TABLE_RULE = lazy_pattern(r"^\s*(?:>\s?)*\|?[\s:|-]*-[\s:|-]*$")
FENCES = ("```", "~~~")
"""The marks of fences; a text with none of them has no fenced code."""
_FENCE = lazy_pattern(r"^(?:[ \t]|[-*+>]|\d+[.)])*(`{3,}(?!.*`)|~{3,})[ \t]*\{?\.?([\w+#.-]*)")


def contexts_of(lines: Sequence[str]) -> list[LineContext]:
    """Return the context of each line of a note; `lines` are all lines of the note."""
    contexts: list[LineContext] = []
    fence: LineContext | None = None
    mark = callout = ""
    comment_end = 0
    properties = bool(lines) and lines[0].rstrip() == "---"
    for row, line in enumerate(lines):
        if properties:
            contexts.append(LineContext(Context.PROPERTIES, block=0))
            properties = row == 0 or line.rstrip() not in ("---", "...")
            continue
        callout = _callout_kind(line, callout)
        if fence is None and row >= comment_end:
            comment_end = _find_comment_end(lines, row)
        if row < comment_end:
            contexts.append(LineContext(Context.COMMENT, callout))
            continue
        if fence is not None and fence.context is Context.QUOTED_CODE and not line.lstrip().startswith(">"):
            fence = None
        opens = _FENCE.match(line)
        if fence is not None:
            closes = opens is not None and opens[1].startswith(mark) and not line[opens.end(1) :].strip()
            contexts.append(fence._replace(context=Context.CODE_EDGE) if closes else fence)
            fence = None if closes else fence
        elif opens:
            quoted = ">" in line[: opens.start(1)]
            mark = opens[1]
            fence = LineContext(Context.QUOTED_CODE if quoted else Context.CODE, callout, opens[2].lower(), row)
            contexts.append(fence._replace(context=Context.CODE_EDGE))
        else:
            contexts.append(PROSE if not callout else LineContext(Context.PROSE, callout))
    return contexts


def contexts_of_passage(lines: Sequence[str]) -> list[LineContext]:
    """Return the context of each line of a passage of a note, which never begins with frontmatter."""
    return contexts_of(["", *lines[1:]] if lines[0].rstrip() == "---" else lines)


def _find_comment_end(lines: Sequence[str], row: int) -> int:
    """Return the index after the last line of the multi-line comment that begins on line `row`; 0 if none begins."""
    text = lines[row].lstrip("> \t")
    mark = next((mark for mark in _COMMENT_MARKS if text.startswith(mark)), "")
    if not mark or _COMMENT_MARKS[mark] in text[len(mark) :]:
        return 0
    end = len(lines)
    if lines[row].lstrip().startswith(">"):  # a comment ends with its quote
        end = next((number for number in range(row, end) if not lines[number].lstrip().startswith(">")), end)
    closing = (number for number in range(row + 1, end) if _COMMENT_MARKS[mark] in lines[number])
    return next(closing, end - 1 if mark == "<!--" or text.strip() == mark else -1) + 1


_COMMENT_MARKS = {"%%": "%%", "<!--": "-->"}


def _callout_kind(line: str, previous: str) -> str:
    """Return the kind of the callout that a line is in, "" for none.

    `previous` is the kind of the previous line's callout.
    """
    if ">" not in line[:4]:
        return ""
    quote = QUOTE_MARKS.match(line)
    if quote is None:
        return ""
    opens = CALLOUT.match(line, quote.end())
    return opens[1].lower() if opens else previous


# --- tables -----------------------------------------------------------------------------------------------------------


class TableLines(NamedTuple):
    """The first and last line of a table: its header row, which is above its separator row, and its last row."""

    header: int
    last: int


MAX_TABLE_HEADER = 2_000
"""Most characters of a header that is repeated: a longer one would take the place of the rows."""
_CELL_BORDER = lazy_pattern(r"(?<!\\)\|")
_SEPARATOR_BORDER = lazy_pattern(r"[|+]")  # a plus in tables of org
_SEPARATOR_CELL = lazy_pattern(r"[ \t]*:?-+:?[ \t]*")
_LIST_MARK = lazy_pattern(r"\s*(?:[-*+]|\d{1,9}[.)])\s+")
# What ends a table without a blank line: another block in place of a row.
_OTHER_BLOCK = lazy_pattern(r"\s*(?:#{1,6}\s|[-*+]\s|\d{1,9}[.)]\s|```|~~~|\$\$|%%|<!--|(?:[-*_][ \t]*){3,}$)")


def find_tables(lines: Sequence[str]) -> list[TableLines]:
    """Return the tables of a note in order, also those in lists, quotes and callouts; `lines` is the whole note."""
    tables: list[TableLines] = []
    after = 0  # index of the first line after the last table
    for row in range(1, len(lines)):
        if row > after and "-" in lines[row] and "|" in lines[row] and _is_table_start(lines[row - 1], lines[row]):
            after = row + 1
            depth = _split_quote_marks(lines[row])[0]
            while after < len(lines) and _is_table_row(lines[after], depth):
                after += 1
            tables.append(TableLines(row, after))
    return tables


def find_table_header(
    lines: Sequence[str], number: int, tables: Sequence[TableLines] | None = None
) -> TableHeader | None:
    """Return the header of the table that has line `number` (from 1) among its rows; None if there is none.

    `tables` are the tables of the note, if they are known. A header of more than MAX_TABLE_HEADER characters does not
    count.
    """
    known = find_tables(lines) if tables is None else tables
    index = bisect_left(known, number, key=lambda table: table.last)
    if index == len(known) or number <= known[index].header + 1:
        return None
    first = known[index].header
    text = "\n".join(lines[first - 1 : first + 1])
    return TableHeader(first, first + 1, text) if len(text) <= MAX_TABLE_HEADER else None


def _is_table_start(above: str, line: str) -> bool:
    """Return whether `line` is the separator row of a table with the header row `above`."""
    depth, separator = _split_quote_marks(line)
    depth_above, header = _split_quote_marks(above)
    cells = list(_split_cells(separator, _SEPARATOR_BORDER))
    if depth != depth_above or not all(map(_SEPARATOR_CELL.fullmatch, cells)):
        return False
    return "|" in header and len(list(_split_cells(_LIST_MARK.sub("", header, count=1), _CELL_BORDER))) == len(cells)


def _is_table_row(line: str, depth: int) -> bool:
    """Return whether a line below the rows of a table is another row of it; `depth` counts the quotes around it."""
    if not line.strip():
        return False
    own_depth, row = _split_quote_marks(line)
    return own_depth == depth and bool(row.strip()) and not _OTHER_BLOCK.match(row)


def _split_quote_marks(line: str) -> tuple[int, str]:
    """Return the number of quotes that a line is in, and the line without their marks."""
    marks = QUOTE_MARKS.match(line) if ">" in line else None
    return (marks[1].count(">"), line[marks.end() :]) if marks else (0, line)


def _split_cells(row: str, border: re.Pattern[str]) -> Iterator[str]:
    """Yield the cells of a row of a table; the bars at its ends are optional."""
    cells = border.split(row.strip())
    return iter(cells[not cells[0].strip() : len(cells) - (len(cells) > 1 and not cells[-1].strip())])
