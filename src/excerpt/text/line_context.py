"""Detection of the context of each line of a note: frontmatter, code, callout or prose."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum, auto
from typing import NamedTuple


class Context(IntEnum):
    """The kind of block that a line belongs to; PLAIN is a line of a file that is not Markdown."""

    PROSE = auto()
    PLAIN = auto()
    PROPERTIES = auto()
    CODE = auto()
    CODE_EDGE = auto()
    QUOTED_CODE = auto()


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

CALLOUT = re.compile(r"\[!([\w-]+)(?:\|[^\]]*)?\][+-]?")
QUOTE_MARKS = re.compile(r"^\s*((?:>\s?)+)")
TABLE_RULE = re.compile(r"^\s*(?:>\s?)*\|?[\s:|-]*-[\s:|-]*$")
_FENCE = re.compile(r"^(?:[ \t]|[-*+>]|\d+[.)])*(`{3,}|~{3,})[ \t]*\{?\.?([\w+#.-]*)")


def contexts_of(lines: Sequence[str]) -> list[LineContext]:
    """Return the context of each line of a note; `lines` are all lines of the note."""
    contexts: list[LineContext] = []
    fence: LineContext | None = None
    mark = callout = ""
    properties = bool(lines) and lines[0].rstrip() == "---"
    for row, line in enumerate(lines):
        if properties:
            contexts.append(LineContext(Context.PROPERTIES, block=0))
            properties = row == 0 or line.rstrip() not in ("---", "...")
            continue
        callout = _callout_kind(line, callout)
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
