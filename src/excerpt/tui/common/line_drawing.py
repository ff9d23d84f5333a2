"""Style and wrap one line of a note, as runs (pieces of text with one style), independent of a terminal."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from enum import Flag, auto
from functools import cache, lru_cache

from msgspec import Struct
from rich.cells import cell_len

from excerpt.base.kinds import LinkKind
from excerpt.base.patterns import lazy_pattern
from excerpt.text.display import format_count, visible
from excerpt.text.inline import INLINE_MARKS, InlineSpan, SpanKind, display_replacements, inline_spans
from excerpt.text.line_context import CALLOUT, PROSE, QUOTE_MARKS, TABLE_RULE, Context, LineContext

_TAB = "    "


class TextStyle(Flag):
    """Styles of a piece of text; several can be combined. `NEAR` marks text that is near in meaning to the query."""

    PLAIN = 0
    NEAR = auto()
    BOLD = auto()
    ITALIC = auto()
    STRIKE = auto()
    CODE = auto()
    KEYWORD = auto()
    STRING = auto()
    NUMBER = auto()
    NAME = auto()
    COMMENT = auto()
    LINK = auto()
    TAG = auto()
    HEADING = auto()
    FAINT = auto()
    HIGHLIGHT = auto()
    CALLOUT = auto()
    TIP = auto()
    WARNING = auto()
    DANGER = auto()
    QUOTE = auto()
    DONE = auto()
    PROPERTY = auto()
    MATCH = auto()


class WrittenLink(Struct, frozen=True):
    """A link as written in the note: `address` is the name of a note with its heading or block, or a URL.

    `label` is the label of a wikilink if the label may be the target, as in Dendron.
    """

    kind: LinkKind
    address: str
    label: str = ""


class StyledRun(Struct, frozen=True):
    """A run: a piece of a drawn line in one style, with its link if the piece belongs to a link."""

    text: str
    text_style: TextStyle
    link: WrittenLink | None = None


class DrawnLine(Struct, frozen=True):
    """A drawn line of a note; `number` is its line number, from 1.

    `hanging_indent` is the indent, in characters, of continuation rows when the line is wrapped. `aligned` is the line
    as a row of a table with aligned columns, to show if that row fits; empty for other lines. `is_continued`: the line
    continues the paragraph of the line before, which its author wrapped there at a fixed width.
    """

    number: int
    runs: tuple[StyledRun, ...]
    hanging_indent: int = 0
    aligned: tuple[StyledRun, ...] = ()
    is_continued: bool = False


class StyledLine:
    """A line of a note while being styled.

    `text_styles` has the style of each character of `text`. `shown_texts` has the text to show for each character: None
    for the character itself, "" for nothing. `links` maps the start of a link to its end (exclusive) and the link.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.text_styles = [TextStyle.PLAIN] * len(text)
        self.shown_texts: list[str | None] = [None] * len(text)
        self.links: dict[int, tuple[int, WrittenLink]] = {}
        self._is_unstyled = True

    def add_style(self, start: int, end: int, text_style: TextStyle) -> None:
        self._is_unstyled = False
        text_styles = self.text_styles
        last, union = TextStyle.PLAIN, _combine_styles(TextStyle.PLAIN, text_style)
        for at in range(start, min(end, len(text_styles))):
            if text_styles[at] is not last:
                last, union = text_styles[at], _combine_styles(text_styles[at], text_style)
            text_styles[at] = union

    def replace(self, start: int, end: int, shown: str) -> None:
        """Show `shown` in place of the characters `start` to `end` (exclusive)."""
        if start < end:
            self._is_unstyled = False
            self.shown_texts[start] = shown
            self.shown_texts[start + 1 : end] = [""] * (end - start - 1)

    def hide(self, start: int, end: int) -> None:
        self.replace(start, end, "")

    def add_link(self, start: int, end: int, link: WrittenLink) -> None:
        """Style the characters `start` to `end` (exclusive) as a link, and store the link."""
        self.add_style(start, end, TextStyle.LINK)
        self.links[start] = (end, link)

    def shown_text(self, start: int = 0, end: int | None = None) -> str:
        """Return the text that is shown for the characters `start` to `end` (exclusive; None: to the end)."""
        clean = visible(self.text)
        return "".join(
            _shown_character(clean[at], self.shown_texts[at]) for at in range(start, len(clean) if end is None else end)
        )

    def build_runs(self) -> tuple[StyledRun, ...]:
        if self._is_unstyled:
            return (StyledRun(visible(self.text).replace("\t", _TAB), TextStyle.PLAIN),) if self.text else ()
        runs: list[StyledRun] = []
        text, current, current_link = "", TextStyle.PLAIN, None
        link: WrittenLink | None = None
        link_end = -1
        for at, character in enumerate(visible(self.text)):
            if at in self.links:
                link_end, link = self.links[at]
            elif at >= link_end:
                link = None
            piece = _shown_character(character, self.shown_texts[at])
            if not piece:
                continue
            text_style = self.text_styles[at]
            if text and (text_style is not current or link is not current_link):
                runs.append(StyledRun(text, current, current_link))
                text = ""
            current, current_link = text_style, link
            text += piece
        if text:
            runs.append(StyledRun(text, current, current_link))
        return tuple(runs)


def _shown_character(character: str, shown: str | None) -> str:
    if shown is not None:
        return shown
    return _TAB if character == "\t" else character


@cache
def _combine_styles(first: TextStyle, second: TextStyle) -> TextStyle:
    """Return two styles combined; cached, because constructing a flag takes most of the time of drawing a line."""
    return first | second


# --- wrapping ---------------------------------------------------------------------------------------------------------


def wrap(runs: Sequence[StyledRun], width: int, hanging_indent: int) -> list[list[StyledRun]]:
    """Return `runs` wrapped into rows of `width` cells, at least one row.

    Rows after the first are shorter by `hanging_indent` cells, for an indent that the caller draws.
    """
    text = "".join(run.text for run in runs)
    if len(text) <= width and text.isascii():
        return [list(runs)]
    hanging_indent = min(hanging_indent, width // 2)
    rows: list[list[StyledRun]] = []
    for start, end in _row_spans(text, width, hanging_indent):
        rows.append(_slice_runs(runs, start, end))
    return rows or [[]]


def _row_spans(text: str, width: int, hanging_indent: int) -> list[tuple[int, int]]:
    cuts: list[tuple[int, int]] = []
    start, room = 0, max(1, width)
    while start < len(text):
        end = _row_end(text, start, room)
        if end < len(text) and not text[end].isspace():
            end = _last_break_position(text, start, end)
        cuts.append((start, end))
        start = end
        while start < len(text) and text[start] == " ":
            start += 1
        room = max(1, width - hanging_indent)
    return cuts


def _last_break_position(text: str, start: int, end: int) -> int:
    """Return the last index from `start` to `end` where a row may end; `end` if a word fills the row."""
    indent = start + len(text[start:end]) - len(text[start:end].lstrip())
    if text[indent : end + 1].isascii():
        return text.rfind(" ", indent, end) + 1 or end
    for at in range(end, indent, -1):
        if text[at - 1] == " " or _can_break_between(text[at - 1], text[at]):
            return at
    return end


_UNSPACED = lazy_pattern(
    "[\u0e01-\u0fff\u1000-\u109d\u1780-\u17ff\u1950-\u1aaf\u2e80-\u31ff\u3200-\ua4cf\ua9e0-\ua9ff\uaa60-\uaadf"
    "\uf900-\ufaff\uff01-\uff9f\U00016fe0-\U0001b2ff\U00020000-\U0003ffff]"
)
"""Characters of scripts written without spaces between words: Thai, Lao, Tibetan, Myanmar, Khmer, Tai, Han, kana, Yi.

Korean has spaces. Blocks of Unicode 15.
"""
_LEADING_VOWELS = frozenset("เแโใไເແໂໃໄ")
"""Vowels of Thai and Lao that are written before their consonant."""
_TRAILING_VOWELS = frozenset("ะาำๅະາຳ")
_CLOSING = ("M", "Pe", "Pf", "Po", "Lm")
_OPENING = ("Ps", "Pi")


@lru_cache(maxsize=4096)
def _can_break_between(before: str, after: str) -> bool:
    """Return whether a row may end between two characters, neither of which is a space."""
    if not (_UNSPACED.match(before) or _UNSPACED.match(after)):
        return False
    if before in _LEADING_VOWELS or after in _TRAILING_VOWELS:
        return False
    return not unicodedata.category(after).startswith(_CLOSING) and unicodedata.category(before) not in _OPENING


def _row_end(text: str, start: int, room: int) -> int:
    """Return the index at which the text from `start` exceeds `room` cells, at least `start` + 1."""
    if text[start : start + room + 1].isascii():  # one more: a combining mark may follow the last one
        return min(start + room, len(text))
    used = 0
    for at in range(start, len(text)):
        used += cell_len(text[at])
        if used > room:
            return max(at, start + 1)
    return len(text)


def _slice_runs(runs: Sequence[StyledRun], start: int, end: int) -> list[StyledRun]:
    sliced: list[StyledRun] = []
    at = 0
    for run in runs:
        left, right = max(start - at, 0), min(end - at, len(run.text))
        if left < right:
            sliced.append(StyledRun(run.text[left:right], run.text_style, run.link))
        at += len(run.text)
        if at >= end:
            break
    return sliced


# --- component classes of the styles ---------------------------------------------------------------------------------

STYLE_CLASSES = {
    TextStyle.NEAR: "ink--near",
    TextStyle.PROPERTY: "ink--property",
    TextStyle.QUOTE: "ink--quote",
    TextStyle.HEADING: "ink--heading",
    TextStyle.CALLOUT: "ink--callout",
    TextStyle.TIP: "ink--tip",
    TextStyle.WARNING: "ink--warning",
    TextStyle.DANGER: "ink--danger",
    TextStyle.CODE: "ink--code",
    TextStyle.KEYWORD: "ink--keyword",
    TextStyle.STRING: "ink--string",
    TextStyle.NUMBER: "ink--number",
    TextStyle.NAME: "ink--name",
    TextStyle.COMMENT: "ink--comment",
    TextStyle.LINK: "ink--link",
    TextStyle.TAG: "ink--tag",
    TextStyle.BOLD: "ink--bold",
    TextStyle.ITALIC: "ink--italic",
    TextStyle.STRIKE: "ink--strike",
    TextStyle.DONE: "ink--done",
    TextStyle.FAINT: "ink--faint",
    TextStyle.HIGHLIGHT: "ink--highlight",
    TextStyle.MATCH: "ink--match",
}
"""Component class of each style. If a run has several styles, a later one of this table overrides an earlier one."""

TEXT_STYLE_CSS = """
Preview {
    & > .ink--near { background: $surface-active; }
    & > .ink--property { color: $primary; }
    & > .ink--quote { text-style: italic; }
    & > .ink--heading { color: $primary; text-style: bold; }
    & > .ink--callout { color: $secondary; }
    & > .ink--tip { color: $success; }
    & > .ink--warning { color: $warning; }
    & > .ink--danger { color: $error; }
    & > .ink--code { color: $ink-code; background: $surface; }
    & > .ink--keyword { color: $secondary; background: $surface; text-style: bold; }
    & > .ink--string { color: $success; background: $surface; }
    & > .ink--number { color: $warning; background: $surface; }
    & > .ink--name { color: $primary; background: $surface; }
    & > .ink--comment { color: $text-faint; background: $surface; text-style: italic; }
    & > .ink--link { color: $primary; text-style: underline; }
    & > .ink--tag { color: $secondary; }
    & > .ink--bold { text-style: bold; }
    & > .ink--italic { text-style: italic; }
    & > .ink--strike { text-style: strike; }
    & > .ink--done { color: $text-faint; text-style: strike; }
    & > .ink--faint { color: $text-faint; }
    & > .ink--highlight { background: $highlight-background; }
    & > .ink--match { color: $match-foreground; background: $match-background; text-style: bold; }
}
"""
"""Colours of the styles. Without colours, styles differ in `text-style`, or in signs or words that are drawn."""


CALLOUT_STYLES = {
    kind: text_style
    for text_style, kinds in {
        TextStyle.CALLOUT: "note abstract summary tldr info todo example",
        TextStyle.TIP: "tip hint important success check done",
        TextStyle.WARNING: "question help faq warning caution attention",
        TextStyle.DANGER: "failure fail missing danger error bug",
        TextStyle.QUOTE: "quote cite",
    }.items()
    for kind in kinds.split()
}
"""Style of each of Obsidian's kinds of callouts, with Obsidian's colours; any other kind is drawn as "note"."""

MAX_LINE_CHARS = 2_000
"""Maximum characters drawn of one line; a longer line ends with the number of characters that are not drawn."""

_TAB_CELLS = 4

Columns = tuple[int, int]
"""A range of characters of a line: start and end (exclusive), from 0."""

_HEADING = lazy_pattern(r"^ {0,3}(#{1,6})\s")
_TASK = lazy_pattern(r"^(\s*(?:>\s?)*)([-*+]|\d+[.)])\s\[(.)\]\s")
_BULLET = lazy_pattern(r"^(\s*(?:>\s?)*)([-*+])\s")
_NUMBERED = lazy_pattern(r"^\s*(?:>\s?)*\d+[.)]\s")
_RULE = lazy_pattern(r"^\s*(?:[-*_]\s*){3,}$")
_ANY_MARK = lazy_pattern(rf"{INLINE_MARKS.pattern}|^\s*(?:[-+]|\d+[.)])")
"""Matches a line with any Markdown mark; other lines are shown as they are."""
_CALLOUT_SIGNS = {
    TextStyle.CALLOUT: "◆",
    TextStyle.TIP: "✦",
    TextStyle.WARNING: "▲",
    TextStyle.DANGER: "✖",
    TextStyle.QUOTE: "❝",
}


def draw_line(
    number: int,
    text: str,
    context: LineContext = PROSE,
    matches: Iterable[Columns] = (),
    *,
    near: Iterable[Columns] = (),
    code: Sequence[tuple[int, int, TextStyle]] = (),
) -> DrawnLine:
    """Return line `number` of a note, drawn.

    `context` says whether the line is prose, code or a property. `matches` are the columns that match the query,
    `near` those nearest to the query in meaning, and `code` the columns of syntax highlighting with their styles.
    """
    line = StyledLine(text[:MAX_LINE_CHARS])
    hanging_indent = style_and_indent_line(line, context, code)
    apply_highlights(line, matches, near)
    return DrawnLine(number, append_omitted_count(line.build_runs(), len(text) - MAX_LINE_CHARS), hanging_indent)


def apply_highlights(line: StyledLine, matches: Iterable[Columns], near: Iterable[Columns]) -> None:
    for start, end in near:
        line.add_style(start, end, TextStyle.NEAR)
    for start, end in matches:
        line.add_style(start, end, TextStyle.MATCH)


def append_omitted_count(runs: tuple[StyledRun, ...], omitted_count: int) -> tuple[StyledRun, ...]:
    """Return `runs` with a note such as " … 12 more characters" appended if `omitted_count` is above 0."""
    return (
        (*runs, StyledRun(f" … {format_count(omitted_count, 'more character')}", TextStyle.FAINT))
        if omitted_count > 0
        else runs
    )


def style_and_indent_line(
    line: StyledLine, context: LineContext, code: Sequence[tuple[int, int, TextStyle]] = ()
) -> int:
    """Style a line by its context (prose, code or other), and return its hanging indent in characters."""
    if context.context is Context.PLAIN:
        return 0
    if context.context is Context.COMMENT:
        line.add_style(0, len(line.text), TextStyle.FAINT)
        return 0
    if context.context is not Context.PROSE:
        _style_code(line, context, code)
        return 0
    if not _ANY_MARK.search(line.text):
        return 0
    hanging_indent = _style_block_line(line, _callout_style(context.callout))
    style_inline(line)
    return hanging_indent


def _callout_style(kind: str) -> TextStyle:
    return CALLOUT_STYLES.get(kind, TextStyle.CALLOUT) if kind else TextStyle.PLAIN


def _style_code(line: StyledLine, context: LineContext, code: Sequence[tuple[int, int, TextStyle]]) -> None:
    quote = None if context.context is Context.CODE else QUOTE_MARKS.match(line.text)
    if quote:
        _style_quote_marks(line, quote, _callout_style(context.callout))
    text_style = TextStyle.CODE | TextStyle.FAINT if context.context is Context.CODE_EDGE else TextStyle.CODE
    line.add_style(quote.end() if quote else 0, len(line.text), text_style)
    for start, end, code_style in code:
        line.add_style(start, end, code_style)


def _style_block_line(line: StyledLine, callout: TextStyle) -> int:
    """Style a line by its block mark (heading, quote, task, item), and return its hanging indent in characters."""
    text = line.text
    if heading := _HEADING.match(text):
        line.add_style(0, len(text), TextStyle.HEADING)
        line.add_style(*heading.span(1), TextStyle.FAINT)
        return heading.end()
    if _RULE.match(text) or ("|" in text and TABLE_RULE.match(text)):
        line.add_style(0, len(text), TextStyle.FAINT)
        return 0
    hanging_indent = 0
    if quote := QUOTE_MARKS.match(text):
        hanging_indent = quote.end()
        _style_quote(line, quote, callout)
    if task := _TASK.match(text):
        done = task[3] not in " >/?!"
        line.replace(task.start(2), task.end() - 1, "☑" if done else "☐")
        if done:
            line.add_style(task.end(), len(text), TextStyle.DONE)
        hanging_indent = task.start(2) + 2
    elif bullet := _BULLET.match(text):
        line.replace(bullet.start(2), bullet.end(2), "•")
        hanging_indent = bullet.end()
    elif numbered := _NUMBERED.match(text):
        hanging_indent = numbered.end()
    return hanging_indent + text[:hanging_indent].count("\t") * (_TAB_CELLS - 1)


def _style_quote_marks(line: StyledLine, quote: re.Match[str], callout: TextStyle) -> None:
    for at in range(quote.start(1), quote.end(1)):
        if line.text[at] == ">":
            line.replace(at, at + 1, "▎")
    line.add_style(quote.start(1), quote.end(1), callout or TextStyle.FAINT)


def _style_quote(line: StyledLine, quote: re.Match[str], text_style: TextStyle) -> None:
    _style_quote_marks(line, quote, text_style)
    callout = CALLOUT.match(line.text, quote.end())
    if callout is None:
        if text_style in (TextStyle.PLAIN, TextStyle.QUOTE):
            line.add_style(quote.end(), len(line.text), TextStyle.QUOTE)
        return
    text_style = text_style or TextStyle.CALLOUT
    kind = callout[1].replace("-", " ").capitalize()
    title = line.text[callout.end() :].strip()
    label = f"{_CALLOUT_SIGNS.get(text_style, '◆')} {kind}"
    line.replace(*callout.span(), label if not title or title.casefold() == kind.casefold() else f"{label} ·")
    if title.casefold() == kind.casefold():
        line.hide(callout.end(), len(line.text))
    line.add_style(callout.start(), len(line.text), text_style | TextStyle.BOLD)


_LINK_KINDS = {
    SpanKind.LINK: LinkKind.MARKDOWN,
    SpanKind.WIKILINK: LinkKind.WIKILINK,
    SpanKind.IMAGE: LinkKind.EMBED,
    SpanKind.EMBED: LinkKind.EMBED,
    SpanKind.URL: LinkKind.MARKDOWN,
}
_SPAN_STYLES = {
    SpanKind.CODE: TextStyle.CODE,
    SpanKind.EMPHASIS: TextStyle.ITALIC,
    SpanKind.STRONG: TextStyle.BOLD,
    SpanKind.STRIKE: TextStyle.STRIKE,
    SpanKind.HIGHLIGHT: TextStyle.HIGHLIGHT,
    SpanKind.TAG: TextStyle.TAG,
}
_FAINT_KINDS = (SpanKind.COMMENT, SpanKind.HTML, SpanKind.BLOCK_ID)


def style_inline(line: StyledLine) -> None:
    """Style links, code and emphasis in a line, and hide their Markdown marks."""
    spans = inline_spans(line.text)
    for replacement in display_replacements(line.text, spans):
        line.replace(*replacement)
    for span in spans:
        if span.kind in _LINK_KINDS:
            line.add_link(span.start, span.end, _written_link(line, span))
        elif (text_style := _SPAN_STYLES.get(span.kind)) is not None:
            line.add_style(span.text_start, span.text_end, text_style)
        elif span.kind in _FAINT_KINDS:
            line.add_style(span.start, span.end, TextStyle.FAINT)


def _written_link(line: StyledLine, span: InlineSpan) -> WrittenLink:
    label = line.text[span.text_start : span.text_end] if span.kind is SpanKind.WIKILINK else ""
    return WrittenLink(_LINK_KINDS[span.kind], span.value, "" if " " in label else label)


def style_link(line: StyledLine, span: InlineSpan) -> None:
    """Style one link, shown as its label or else its target; an embed gets a sign."""
    for replacement in display_replacements(line.text, (span,)):
        line.replace(*replacement)
    line.add_link(span.start, span.end, _written_link(line, span))
