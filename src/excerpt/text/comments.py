"""Comments in Markdown, which only the author of a note is to see: `%%…%%` of Obsidian, and `<!-- … -->` of HTML.

They are taken out of a note's text before it is parsed, so that nothing in them is a word, tag, link, heading or
property of the note. All other text keeps its line. What was taken out is kept line by line, so that the text as its
author wrote it can be restored. Comments that hold data of plugins are not kept.

- `%%` at the beginning of a line reaches to the next `%%`, over blank lines too; alone on its line, and without
  another one, to the end. Elsewhere in a line it is closed in the same paragraph, or is no comment.
- `<!--` at the beginning of a line reaches to the next `-->`, or to the end; elsewhere as above.
- In a quote or callout a comment ends with the quote. In code and maths there are none.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from excerpt.base.model import CommentLine
from excerpt.base.patterns import lazy_pattern

LEFT_OUT_MARK = "[comment left out]"
"""What a reader who may not see a comment is shown in its place."""


def may_have_comments(text: str) -> bool:
    """Return whether a text has characters that may begin a comment (`%%` or `<!--`)."""
    return "%%" in text or "<!--" in text


def take_out_comments(
    text: str, first_line: int, code: Sequence[tuple[int, int]]
) -> tuple[str, tuple[CommentLine, ...]]:
    """Return a note's text without its comments, and the lines of the comments in order.

    Comments begin after the first `first_line` lines, the frontmatter. `code` are the blocks of code and maths, each as
    (first line, line after the last one), from 0 and ascending.
    """
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    spans: dict[int, list[_CommentSpan]] = {}
    for start, end in _CommentScanner(text, lines, starts, code).find(first_line):
        is_data = _DATA.match(text, start) is not None
        first, last = bisect_right(starts, start) - 1, bisect_right(starts, end - 1) - 1
        is_quoted = ">" in _match_leading_signs(lines[first])[: start - starts[first]]
        for number in range(first, last + 1):
            line, begins = lines[number], number == first
            begin = start - starts[first] if begins else len(_match_leading_signs(line)) if is_quoted else 0
            spans.setdefault(number, []).append(
                _CommentSpan(begin, min(end - starts[number], len(line)), begins, is_data)
            )
    parts: dict[int, list[CommentLine]] = {}
    shown = lines.copy()
    for number, spans_of_line in spans.items():
        shown[number], parts[number] = _cut_line(lines[number], spans_of_line, number + 1)
    for number in list(_empty_quotes(shown, spans)):
        own = spans.get(number)
        parts[number] = (
            [CommentLine(number + 1, 0, False, lines[number])]
            if own is None
            else _whole_line(lines[number], own, number + 1)
        )
        shown[number] = ""
    # What is left can look like a comment that was none. Its lines are left out whole, or another reader sees them go.
    while begun := list(_lines_of_comments(shown, first_line, code)):
        for number, begins in begun:
            own = spans.get(number) or [_CommentSpan(0, len(lines[number]), begins, False)]
            shown[number], parts[number] = "", _whole_line(lines[number], own, number + 1)
    return "\n".join(shown), tuple(part for number in sorted(parts) for part in parts[number])


def _lines_of_comments(
    lines: Sequence[str], first_line: int, code: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, bool]]:
    """Yield the number of each line that has a part of a comment, and whether the comment begins there."""
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    for start, end in _CommentScanner("\n".join(lines), lines, starts, code).find(first_line):
        first = bisect_right(starts, start) - 1
        for number in range(first, bisect_right(starts, end - 1)):
            yield number, number == first


def restore_comments(lines: Sequence[str], first_line: int, comments: Iterable[CommentLine]) -> list[str]:
    """Return `lines`, which begin at line `first_line` of a note's text, with the comments inserted in their places.

    `comments` are the comments on these lines, in order.
    """
    restored = list(lines)
    shift, shifted_line = 0, 0
    for line, column, _, text in comments:
        shift = shift if line == shifted_line else 0
        whole, at = restored[line - first_line], column + shift
        restored[line - first_line] = whole[:at] + text + whole[at:]
        shift, shifted_line = shift + len(text), line
    return restored


def mark_comments(lines: Sequence[str], first_line: int, comments: Iterable[CommentLine]) -> list[str]:
    """Return `lines`, which begin at line `first_line` of a note's text, with LEFT_OUT_MARK where a comment begins."""
    marks = (
        comment._replace(text=LEFT_OUT_MARK + " " * comment.text.endswith(" "))
        for comment in comments
        if comment.begins
    )
    return restore_comments(lines, first_line, marks)


# --- where comments are -----------------------------------------------------------------------------------------------

_DATA = lazy_pattern(r"(?:%%|<!--)\s*(?:kanban:settings\b|SR:)")
"""The beginning of a comment that holds data: settings of a Kanban board, dates of spaced repetition."""
_MARK = lazy_pattern(r"\\.|`+|%%|<!--", re.DOTALL)
_LINE_BEGINNING = lazy_pattern(r"[ \t]*(?:>[ \t]*)*")
"""The white space and quote marks at the beginning of a line."""
_QUOTED = lazy_pattern(r"[ \t]*>")
_ONE_LINE_BLOCK = lazy_pattern(r"[ \t>]*(?:\||#{1,6}[ \t])")
"""The beginning of a line that is a block of its own, or cells of one: a heading or a row of a table."""
_CLOSING = {"%%": "%%", "<!--": "-->"}


class _CommentScanner:
    """Finds the comments of a text in one pass. `starts` are the offsets where its lines begin, and the text's end."""

    def __init__(self, text: str, lines: Sequence[str], starts: Sequence[int], code: Sequence[tuple[int, int]]) -> None:
        self._text = text
        self._lines = lines
        self._starts = starts
        self._code = code
        self._code_begins = [first for first, _ in code]
        self._unquoted = [number for number, line in enumerate(lines) if not _QUOTED.match(line)]
        self._blank = [number for number, line in enumerate(lines) if not line.strip(" \t>")]
        self._runs = [match.span() for match in re.finditer("`+", text)] if "`" in text else []
        self._run_begins = [start for start, _ in self._runs]
        self._unclosed_until = dict.fromkeys(_CLOSING, 0)

    def find(self, first_line: int) -> Iterator[tuple[int, int]]:
        """Yield the start and end of each comment after the first `first_line` lines, ascending."""
        at = self._starts[min(first_line, len(self._lines))]
        while match := _MARK.search(self._text, at):
            line = bisect_right(self._starts, match.start()) - 1
            block = bisect_right(self._code_begins, line) - 1
            if block >= 0 and line < self._code[block][1]:
                at = self._starts[min(self._code[block][1], len(self._lines))]
                continue
            at = match.end()
            if match[0][0] == "`":
                at = self._end_of_code(*match.span(), line)
            elif match[0][0] != "\\":
                end = self._end_of_comment(match.start(), match[0], line)
                if end > at:
                    yield match.start(), end
                    at = end

    def _start_of_next(self, numbers: Sequence[int], line: int) -> int:
        """Return the offset where the first line in `numbers` (ascending) after `line` begins, else the text's end."""
        following = bisect_right(numbers, line)
        return self._starts[numbers[following]] if following < len(numbers) else len(self._text)

    def _end_of_code(self, start: int, end: int, line: int) -> int:
        """Return the end of the code span whose backticks are at `start` to `end`; `end` if it is never closed."""
        limit = self._start_of_next(self._blank, line)
        for number in range(bisect_right(self._run_begins, start), len(self._runs)):
            begin, stop = self._runs[number]
            if begin >= limit:
                break
            if stop - begin == end - start:
                return stop
        return end

    def _end_of_comment(self, start: int, mark: str, line: int) -> int:
        """Return the end of the comment that begins with `mark` at `start`; 0 if no comment begins there."""
        beginning = _match_leading_signs(self._lines[line])
        begins_line = len(beginning) == start - self._starts[line]
        if not begins_line:
            is_alone = _ONE_LINE_BLOCK.match(self._lines[line]) is not None
            limit = self._starts[line + 1] - 1 if is_alone else self._start_of_next(self._blank, line)
        elif ">" in beginning:
            limit = self._start_of_next(self._unquoted, line)
        else:
            limit = len(self._text)
        closing = _CLOSING[mark]
        # After a search in vain, a later one in the same text is in vain too.
        if limit > self._unclosed_until[mark]:
            end = self._text.find(closing, start + 2, limit)
            if end >= 0:
                return end + len(closing)
            self._unclosed_until[mark] = limit
        is_block = mark == "<!--" or not self._text[start + len(mark) : self._starts[line + 1]].strip()
        return limit if begins_line and is_block else 0


def _match_leading_signs(line: str) -> str:
    match = _LINE_BEGINNING.match(line)
    return match[0] if match else ""


# --- what is left of the lines ----------------------------------------------------------------------------------------

_ONLY_MARKS = lazy_pattern(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]*(?:\[.\][ \t]*)?)?")
_ONLY_QUOTE_MARKS = lazy_pattern(r"[ \t]*>[ \t>]*")
_HALF_MARKS = "%<!-"
_SIGN = lazy_pattern(r"[ \t]*(?:%%|<!--)")


class _CommentSpan(NamedTuple):
    """The characters `start` to `end` of a line that belong to a comment; `is_data`: a plugin's data, never shown."""

    start: int
    end: int
    begins: bool
    is_data: bool


def _cut_line(line: str, spans: Sequence[_CommentSpan], number: int) -> tuple[str, list[CommentLine]]:
    """Return a line without its comments, and these comments. A line that has no words left becomes blank."""
    shown, parts, at = "", [], 0
    for span, following in zip(spans, [*(each.start for each in spans[1:]), len(line)], strict=True):
        start, end = span.start, span.end
        while not (shown + line[at:start]).strip(" \t>") and (mark := _SIGN.match(line, end, following)):
            end = mark.end()  # what is left must not begin with a mark that was none before
        while start > at and line[start - 1] in _HALF_MARKS and line[end : end + 1] in _HALF_MARKS and end < len(line):
            start -= 1  # what is left must not be a mark again
        if line[end : end + 1] == " " and (shown + line[at:start])[-1:] in ("", " "):
            end += 1
        shown += line[at:start]
        if not span.is_data:
            parts.append(CommentLine(number, len(shown), span.begins, line[start:end]))
        at = end
    shown += line[at:]
    return ("", _whole_line(line, spans, number)) if _ONLY_MARKS.fullmatch(shown) else (shown, parts)


def _whole_line(line: str, spans: Sequence[_CommentSpan], number: int) -> list[CommentLine]:
    """Return a whole line as a line of a comment; [] if it is empty or holds only a plugin's data."""
    read = [span for span in spans if not span.is_data]
    return [CommentLine(number, 0, any(span.begins for span in read), line)] if read and line else []


def _empty_quotes(shown: Sequence[str], spans: dict[int, list[_CommentSpan]]) -> Iterator[int]:
    """Yield the numbers of the lines of quotes that, without their comments, have only quote marks left."""
    quote_end = -1
    for number in sorted(spans):
        if number <= quote_end or not _ONLY_QUOTE_MARKS.fullmatch(shown[number]):
            continue
        first = last = number
        while first > 0 and _QUOTED.match(shown[first - 1]):
            first -= 1
        while last + 1 < len(shown) and _QUOTED.match(shown[last + 1]):
            last += 1
        quote_end = last
        if all(_ONLY_QUOTE_MARKS.fullmatch(line) for line in shown[first : last + 1]):
            yield from range(first, last + 1)
