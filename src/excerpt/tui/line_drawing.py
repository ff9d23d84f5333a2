"""One line of a note drawn for the eye: runs of text with inks. No terminal, no colours here.

Drawing is line-true: each line of the file is one drawn line, Markdown marks are taken away or dimmed, and matches
keep their place. What a block is for the index is decided by `excerpt.text.markdown`, not here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Flag, IntEnum, auto

from excerpt.text.visible import visible

LONGEST = 2_000
"""Characters drawn of one line; a longer one says how much is missing."""

_TAB = "    "


class Context(IntEnum):
    """What cannot be told from a line alone."""

    PROSE = auto()
    PROPERTIES = auto()
    CODE = auto()
    CODE_EDGE = auto()
    QUOTED_CODE = auto()


class Ink(Flag):
    """What a run of text is; several at once."""

    PLAIN = 0
    BOLD = auto()
    ITALIC = auto()
    STRIKE = auto()
    CODE = auto()
    LINK = auto()
    TAG = auto()
    HEADING = auto()
    FAINT = auto()
    HIGHLIGHT = auto()
    CALLOUT = auto()
    QUOTE = auto()
    DONE = auto()
    PROPERTY = auto()
    MATCH = auto()


@dataclass(frozen=True, slots=True)
class Run:
    """A stretch of a drawn line in one ink."""

    text: str
    ink: Ink


@dataclass(frozen=True, slots=True)
class DrawnLine:
    """One line of the note. `hang` is the indent, in characters, of its continuation when it is wrapped."""

    number: int
    runs: tuple[Run, ...]
    hang: int = 0


_PROPERTY = re.compile(r"^\s*(?:- )?([\w .-]+:)(?=\s|$)")
_HEADING = re.compile(r"^ {0,3}(#{1,6})\s")
_QUOTE = re.compile(r"^\s*((?:>\s?)+)")
_CALLOUT = re.compile(r"\[!([\w-]+)\][+-]?")
_TASK = re.compile(r"^(\s*(?:>\s?)*)([-*+]|\d+[.)])\s\[(.)\]\s")
_BULLET = re.compile(r"^(\s*(?:>\s?)*)([-*+])\s")
_NUMBERED = re.compile(r"^\s*(?:>\s?)*\d+[.)]\s")
_RULE = re.compile(r"^\s*(?:[-*_]\s*){3,}$")
_TABLE_RULE = re.compile(r"^\s*\|?[\s:|-]*-[\s:|-]*$")


class _Line:
    """A line being drawn: for each character its ink, and what it is shown as (None: itself, "": nothing)."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.inks = [Ink.PLAIN] * len(text)
        self.shown: list[str | None] = [None] * len(text)

    def ink(self, start: int, end: int, ink: Ink) -> None:
        for at in range(start, min(end, len(self.inks))):
            self.inks[at] |= ink

    def replace(self, start: int, end: int, shown: str) -> None:
        """Show `shown` where start..end stands."""
        if start < end:
            self.shown[start] = shown
            self.shown[start + 1 : end] = [""] * (end - start - 1)

    def hide(self, start: int, end: int) -> None:
        self.replace(start, end, "")

    def runs(self) -> tuple[Run, ...]:
        runs: list[Run] = []
        text, current = "", Ink.PLAIN
        clean = visible(self.text)
        for character, shown, ink in zip(clean, self.shown, self.inks, strict=True):
            piece = (_TAB if character == "\t" else character) if shown is None else shown
            if not piece:
                continue
            if ink != current and text:
                runs.append(Run(text, current))
                text = ""
            current = ink
            text += piece
        if text:
            runs.append(Run(text, current))
        return tuple(runs)


def draw_line(number: int, text: str, context: Context, matches: Iterable[tuple[int, int]]) -> DrawnLine:
    """One line as runs. `matches` are columns, end exclusive."""
    cut = len(text) - LONGEST
    line = _Line(text[:LONGEST])
    hang = 0
    if context is Context.PROPERTIES:
        _draw_property(line)
    elif context is not Context.PROSE:
        _draw_code(line, context)
    else:
        hang = _draw_start(line)
        _draw_inline(line)
    for start, end in matches:
        line.ink(start, end, Ink.MATCH)
    runs = line.runs()
    if cut > 0:
        runs = (*runs, Run(f" … {cut:,} more characters", Ink.FAINT))
    return DrawnLine(number, runs, hang)


def _draw_property(line: _Line) -> None:
    if line.text.rstrip() in ("---", "..."):
        line.ink(0, len(line.text), Ink.FAINT)
    elif key := _PROPERTY.match(line.text):
        line.ink(key.start(1), key.end(1), Ink.PROPERTY)


def _draw_code(line: _Line, context: Context) -> None:
    quote = None if context is Context.CODE else _QUOTE.match(line.text)
    if quote:
        _draw_quote_marks(line, quote)
    ink = Ink.CODE | Ink.FAINT if context is Context.CODE_EDGE else Ink.CODE
    line.ink(quote.end() if quote else 0, len(line.text), ink)


def _draw_start(line: _Line) -> int:
    """Ink what the start of the line says it is; the hang of its continuation lines."""
    text = line.text
    if heading := _HEADING.match(text):
        line.ink(0, len(text), Ink.HEADING)
        line.ink(*heading.span(1), Ink.FAINT)
        return heading.end()
    if _RULE.match(text) or ("|" in text and _TABLE_RULE.match(text)):
        line.ink(0, len(text), Ink.FAINT)
        return 0
    hang = 0
    if quote := _QUOTE.match(text):
        hang = quote.end()
        _draw_quote(line, quote)
    if task := _TASK.match(text):
        done = task[3] not in " >/?!"
        line.replace(task.start(2), task.end() - 1, "☑" if done else "☐")
        if done:
            line.ink(task.end(), len(text), Ink.DONE)
        hang = task.start(2) + 2
    elif bullet := _BULLET.match(text):
        line.replace(bullet.start(2), bullet.end(2), "•")
        hang = bullet.end()
    elif numbered := _NUMBERED.match(text):
        hang = numbered.end()
    return hang + text[:hang].count("\t") * (len(_TAB) - 1)


def _draw_quote_marks(line: _Line, quote: re.Match[str]) -> None:
    for at in range(quote.start(1), quote.end(1)):
        if line.text[at] == ">":
            line.replace(at, at + 1, "▎")
    line.ink(quote.start(1), quote.end(1), Ink.CALLOUT)


def _draw_quote(line: _Line, quote: re.Match[str]) -> None:
    _draw_quote_marks(line, quote)
    callout = _CALLOUT.match(line.text, quote.end())
    if callout is None:
        line.ink(quote.end(), len(line.text), Ink.QUOTE)
        return
    kind = callout[1].replace("-", " ").capitalize()
    titled = line.text[callout.end() :].strip()
    line.replace(*callout.span(), f"◆ {kind}" if not titled else "◆")
    line.ink(callout.start(), len(line.text), Ink.CALLOUT | Ink.BOLD)


def drawn_characters(text: str) -> list[str]:
    """What each character of one line of prose is shown as: itself, another, or "" where it is a mark taken away."""
    line = _Line(text)
    _draw_inline(line)
    clean = visible(text)
    return [clean[at] if shown is None else shown for at, shown in enumerate(line.shown)]


_CODE_SPAN = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_WIKILINK = re.compile(r"(!?)\[\[([^\[\]|]+)(?:\|([^\[\]]*))?\]\]")
_LINK = re.compile(r"(!?)\[([^\[\]]*)\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+[\"'][^\"']*[\"'])?\)")
_URL = re.compile(r"<?\bhttps?://[^\s<>|\])]+>?")
_TAG = re.compile(r"(?<![\w#/&])#(?=[^\s#]*[^\W\d])[\w/-]+")
_COMMENT = re.compile(r"%%.*?%%|<!--.*?-->|</?[a-zA-Z][^<>]*>")
_BLOCK_ID = re.compile(r"\s\^[\w-]+\s*$")
_EMPHASES = (
    (re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1"), Ink.BOLD),
    (re.compile(r"(==)(?=\S)(.+?)(?<=\S)\1"), Ink.HIGHLIGHT),
    (re.compile(r"(~~)(?=\S)(.+?)(?<=\S)\1"), Ink.STRIKE),
    (re.compile(r"(?<![\w*])(\*)(?=[^\s*])(.+?)(?<=[^\s*])\1(?![\w*])"), Ink.ITALIC),
    (re.compile(r"(?<![\w_])(_)(?=[^\s_])(.+?)(?<=[^\s_])\1(?![\w_])"), Ink.ITALIC),
)
_MASK = "\x00"


def _draw_inline(line: _Line) -> None:
    """Ink links, code and emphasis. What one of them took is masked for those after it."""
    text = line.text
    for code in _CODE_SPAN.finditer(text):
        line.hide(*code.span(1))
        line.hide(code.end() - len(code[1]), code.end())
        line.ink(*code.span(2), Ink.CODE)
        text = _masked(text, *code.span())
    for link in _WIKILINK.finditer(text):
        _draw_wikilink(line, link)
        text = _masked(text, *link.span())
    for link in _LINK.finditer(text):
        shown = link.span(2) if link[2] else link.span(3)
        line.replace(link.start(), shown[0], "▣ " if link[1] else "")
        line.hide(shown[1], link.end())
        line.ink(*link.span(), Ink.LINK)
        text = _masked(text, link.start(), shown[0])
        text = _masked(text, shown[1], link.end())
    for pattern, ink in ((_URL, Ink.LINK), (_COMMENT, Ink.FAINT), (_TAG, Ink.TAG), (_BLOCK_ID, Ink.FAINT)):
        for found in pattern.finditer(text):
            line.ink(*found.span(), ink)
            text = _masked(text, *found.span())
    for pattern, ink in _EMPHASES:
        for found in pattern.finditer(text):
            line.hide(*found.span(1))
            line.hide(found.end() - len(found[1]), found.end())
            line.ink(*found.span(2), ink)
            text = _masked(_masked(text, *found.span(1)), found.end() - len(found[1]), found.end())


def _draw_wikilink(line: _Line, link: re.Match[str]) -> None:
    """The text of a wikilink, or its target; an embed is marked as one."""
    shown = link.span(3) if link[3] else link.span(2)
    line.replace(link.start(), shown[0], "▣ " if link[1] else "")
    line.hide(shown[1], link.end())
    line.ink(*link.span(), Ink.LINK)


def _masked(text: str, start: int, end: int) -> str:
    return text[:start] + _MASK * (end - start) + text[end:]
