"""Making of snippets: one line of a passage, from its best matching sentence on, without Markdown."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from excerpt.base.model import Span
from excerpt.base.patterns import lazy_pattern
from excerpt.text.columns import count_columns
from excerpt.text.display import visible_line
from excerpt.text.inline import INLINE_MARKS, visible_characters
from excerpt.text.line_context import FENCES, TABLE_RULE, Context, contexts_of_passage

_HEADING = lazy_pattern(r"\s*(?:#{1,6}\s[^\n]*\n+)?\s*")
_LINE_START = lazy_pattern(
    r"[ \t]*(?:>[ \t]?)*(?:(?P<bullet>[-*+][ \t]+)|(?P<number>\d+[.)][ \t]+))?(?P<task>\[(?P<done>.)\][ \t])?"
    r"(?P<block>#{1,6}[ \t]+|\[![\w-]+(?:\|[^\]]*)?\][+-]?[ \t]*|\|[ \t]*)?"
)
_SENTENCE_END = lazy_pattern(
    r"[.!?…。！？\n](?:"
    r"(?<=[.!?…])(?<![.!?…].)(?<!\b[A-Za-z].)(?<!\be\.g.)(?<!\bi\.e.)[.!?…]*[\"'”’)\]*_`]*\s+(?=[^\sa-z])"
    r"|(?<=[。！？])[。！？]*[」』）”]*\s*"
    r"|(?<=\n)(?:[ \t]*\n\s*|(?=[ \t]*(?:>[ \t]?)*(?:[-*+][ \t]|\d+[.)][ \t]|#{1,6}[ \t]|\|))))"
)
"""Ends of sentences: full stops (not of abbreviations), and ends of paragraphs, items and table rows.

The single character set at the front lets the search skip through the text: ten times as fast as three expressions.
"""
_ROW_END = lazy_pattern(r"[ \t]*\|[ \t]*$")
_SAMPLE = 80

_CHARACTERS_BEFORE = 200
"""Number of characters parsed before the snippet's start, so that a link that begins there is recognised."""
_MARKUP_ROOM = 600
"""Number of characters parsed beyond the snippet's width: a link's address is hidden and may be long."""


def snippet(text: str, spans: Sequence[Span], width: int) -> tuple[str, list[tuple[int, int]]]:
    """Return a snippet of `text` that fills `width` terminal cells of one line, and the matches in it.

    `spans` are the matches in `text`; those returned are (start, end) in the snippet. Markdown marks are left out and
    white space is collapsed. The snippet begins with the sentence that has most of the matches, or, without matches,
    with the first line that is not a heading. If the text continues, the snippet is wider than `width` or ends with an
    ellipsis.
    """
    row = _SnippetRow(text, _find_best_start(text, spans, _estimate_characters(width, text)), spans)
    row.fill(width)
    ordered = sorted(spans, key=lambda s: (s.start, s.end))
    ranges = [(row.column_of(span.start), row.column_of(span.end)) for span in ordered if span.end > row.start]
    shown = visible_line("".join(row.shown).rstrip())
    ranges = [(a, min(b, len(shown))) for a, b in ranges]
    if row.has_more and count_columns(shown) <= width:
        shown += " …"
    return shown, [(a, b) for a, b in ranges if a < b]


class _SnippetRow:
    """The characters that a snippet shows of `text`, and the column of each character of `text`.

    A comment is shown only if it has one of `matches`.
    """

    def __init__(self, text: str, start: int, matches: Sequence[Span]) -> None:
        self._matches = matches
        self.shown: list[str] = []
        self.start = self._at = start
        self._text = text
        self._columns: list[int] = []
        self._is_plain = text.isascii()

    @property
    def has_more(self) -> bool:
        return not self._text[self._at :].isspace() and self._at < len(self._text)

    def column_of(self, offset: int) -> int:
        """Return the column where the character at `offset` is shown; of a hidden character, the nearest column."""
        offset -= self.start
        if offset < 0:
            return 0
        return self._columns[offset] if offset < len(self._columns) else len(self.shown)

    def fill(self, width: int) -> None:
        """Add lines of the text until the row is wider than `width` cells."""
        text = self._text
        line_start = text.rfind("\n", 0, self.start) + 1
        contexts = self._contexts(line_start)
        while self._at < len(text) and self._cells() <= width:
            end = text.find("\n", self._at)
            end = len(text) if end < 0 else end
            base = max(line_start, self._at - _CHARACTERS_BEFORE)
            stop = min(end, self._at + 2 * width)
            if INLINE_MARKS.search(text, base, stop):
                stop = min(end, stop + _MARKUP_ROOM)
            context = next(contexts, Context.PROSE)
            matches = [(match.start - base, match.end - base) for match in self._matches]
            characters = list(text[base:stop]) if context in _CODE else visible_characters(text[base:stop], matches)
            self._add_characters(characters, base, base == line_start, context, width)
            if self._at < end:
                return
            self._at = line_start = end + 1
            self._columns.append(len(self.shown))
            self._append_space()

    def _contexts(self, line_start: int) -> Iterator[Context]:
        """Return the contexts of the lines from the one at offset `line_start` on; none if no line is code."""
        if not any(fence in self._text for fence in FENCES):
            return iter(())
        contexts = contexts_of_passage(self._text.split("\n"))
        return (line.context for line in contexts[self._text.count("\n", 0, line_start) :])

    def _add_characters(self, characters: list[str], base: int, is_whole: bool, context: Context, width: int) -> None:
        """Add the displayed characters of a line until `width` cells are full.

        The characters begin at offset `base` of the text; `is_whole` says whether the line begins there.
        """
        line = self._text[base : base + len(characters)]
        sign, hidden = "", len(characters)
        if context is Context.CODE:
            hidden = 0
        elif context is not Context.CODE_EDGE and not ("-" in line and TABLE_RULE.match(line)):
            mark = _LINE_START.match(line) if is_whole else None
            hidden = mark.end() if mark else 0
            if mark and context is Context.PROSE:
                sign = _separator_sign(mark)
                if line[mark.start("block") :].startswith("|") and (end := _ROW_END.search(line, hidden)):
                    characters[end.start() :] = [""] * (len(line) - end.start())
        characters[:hidden] = [""] * hidden
        if sign and self.shown:
            self.shown.extend(sign)
        shown, offsets, full = self.shown, self._columns, width
        for character in characters[self._at - base :]:
            if len(shown) > full:
                if self._cells() > width:
                    break
                full = len(shown)
            offsets.append(len(shown))
            self._at += 1
            if not character.isspace():
                shown.extend(character)
            else:
                self._append_space()

    def _append_space(self) -> None:
        if self.shown and self.shown[-1] != " ":
            self.shown.append(" ")

    def _cells(self) -> int:
        return len(self.shown) if self._is_plain else count_columns("".join(self.shown))


_CODE = (Context.CODE, Context.CODE_EDGE, Context.QUOTED_CODE)


def _separator_sign(mark: re.Match[str]) -> str:
    """Return the sign ("• ", "☑ ") that separates a block from the text before it; `mark` is its Markdown mark."""
    if mark["task"]:
        return "☐ " if mark["done"] in " >/?!" else "☑ "
    return mark["number"] or ("• " if mark["bullet"] else "· " if mark["block"] else "")


def _estimate_characters(cells: int, text: str) -> int:
    """Return the number of characters of `text` that fill `cells` terminal cells, estimated from its beginning."""
    if text.isascii():
        return cells
    sample = text[:_SAMPLE]
    return cells * len(sample) // max(1, count_columns(sample))


def _find_body_start(text: str) -> int:
    """Return the offset where `text` begins after its heading; 0 or the first letter if it has no heading."""
    heading = _HEADING.match(text)
    return heading.end() if heading and heading.end() < len(text) else 0


def _find_best_start(text: str, spans: Sequence[Span], width: int) -> int:
    """Return the start of the sentence whose first `width` characters contain most of the matched words."""
    body = _find_body_start(text)
    ordered = sorted((span for span in spans if span.start >= body), key=lambda s: s.start)
    if not ordered or len(text) - body <= width:
        return body
    starts = sorted(
        {body, *(end.end() for end in _SENTENCE_END.finditer(text, body)), *_iterate_code_line_starts(text, body)}
    )
    of_sentence: dict[int, list[Span]] = {}
    for span in ordered:
        of_sentence.setdefault(starts[bisect_right(starts, span.start) - 1], []).append(span)

    def score(start: int) -> tuple[int, int, int]:
        of = of_sentence[start]
        words = [text[span.start : span.end].casefold() for span in of if span.end <= start + width]
        return len(set(words)), len(words), len(of)

    return max(of_sentence, key=score)


def _iterate_code_line_starts(text: str, body: int) -> Iterator[int]:
    """Yield the offsets from `body` on where lines of code begin: each of these lines counts as a sentence."""
    if not any(fence in text for fence in FENCES):
        return
    at = 0
    lines = text.split("\n")
    for line, context in zip(lines, contexts_of_passage(lines), strict=True):
        if context.context in _CODE and at >= body:
            yield at
        at += len(line) + 1
