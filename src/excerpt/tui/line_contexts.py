"""What cannot be told of a line from the line alone: whether it is frontmatter, in a fence, or in which callout.

It decides nothing about blocks or fragments, which is the parser's work.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum, auto
from typing import NamedTuple

from excerpt.tui.common.inked_line import Ink


class Context(IntEnum):
    """What a line is part of."""

    PROSE = auto()
    PROPERTIES = auto()
    CODE = auto()
    CODE_EDGE = auto()
    QUOTED_CODE = auto()


class Around(NamedTuple):
    """What a line is part of; the ink of the callout around it, and the language of the fence. `block` is the row
    (from 0) on which the fence or the frontmatter begins."""

    context: Context
    callout: Ink = Ink.PLAIN
    language: str = ""
    block: int = -1


PROSE = Around(Context.PROSE)

CALLOUT_INKS = {
    kind: ink
    for ink, kinds in {
        Ink.CALLOUT: "note abstract summary tldr info todo example",
        Ink.TIP: "tip hint important success check done",
        Ink.WARNING: "question help faq warning caution attention",
        Ink.DANGER: "failure fail missing danger error bug",
        Ink.QUOTE: "quote cite",
    }.items()
    for kind in kinds.split()
}
"""Obsidian's kinds of callouts, by the colours they have there; any other kind looks like a note."""

CALLOUT = re.compile(r"\[!([\w-]+)(?:\|[^\]]*)?\][+-]?")
QUOTE_MARKS = re.compile(r"^\s*((?:>\s?)+)")
_FENCE = re.compile(r"^(?:[ \t]|[-*+>]|\d+[.)])*(`{3,}|~{3,})[ \t]*\{?\.?([\w+#.-]*)")


def contexts_of(lines: Sequence[str]) -> list[Around]:
    """What each line of a note is part of; `lines` begin with the note's first."""
    found: list[Around] = []
    fence: Around | None = None
    mark, callout = "", Ink.PLAIN
    properties = bool(lines) and lines[0].rstrip() == "---"
    for row, line in enumerate(lines):
        if properties:
            found.append(Around(Context.PROPERTIES, block=0))
            properties = row == 0 or line.rstrip() not in ("---", "...")
            continue
        callout = _callout(line, callout)
        if fence is not None and fence.context is Context.QUOTED_CODE and not line.lstrip().startswith(">"):
            fence = None
        opens = _FENCE.match(line)
        if fence is not None:
            closes = opens is not None and opens[1].startswith(mark) and not line[opens.end(1) :].strip()
            found.append(fence._replace(context=Context.CODE_EDGE) if closes else fence)
            fence = None if closes else fence
        elif opens:
            quoted = ">" in line[: opens.start(1)]
            mark = opens[1]
            fence = Around(Context.QUOTED_CODE if quoted else Context.CODE, callout, opens[2].lower(), row)
            found.append(fence._replace(context=Context.CODE_EDGE))
        else:
            found.append(PROSE if callout is Ink.PLAIN else Around(Context.PROSE, callout))
    return found


def _callout(line: str, before: Ink) -> Ink:
    """The ink of the callout that a line is in, if the one before it was in that of `before`."""
    if ">" not in line[:4]:
        return Ink.PLAIN
    quote = QUOTE_MARKS.match(line)
    if quote is None:
        return Ink.PLAIN
    opens = CALLOUT.match(line, quote.end())
    return CALLOUT_INKS.get(opens[1].lower(), Ink.CALLOUT) if opens else before
