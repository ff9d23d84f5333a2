"""Marks of Markdown and HTML within a word, which a reader does not see: `un**believ**able` is one word.

Index, queries and highlights take a word as it is read. Only marks with a letter on both sides are removed, and only
where the parser finds a pair of them: a single `a**b`, code and maths stay as they are, and so does what stands between
digits, where it is an operator. Struck text and superscripts stay too, as they are often no part of the word beside
them (`~~old~~new`, footnotes).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from msgspec import Struct

from excerpt.text.line_context import FENCES, Context, contexts_of_passage

MAX_LINE_CHARACTERS = 20_000
"""Maximum number of characters of a line that is parsed: a longer one is data, not prose."""

# Punctuation outside of ASCII is no letter: German „**Wort**“ and Chinese 「**词**」 need no parsing.
_LETTERS = (
    "A-Za-z\u00aa\u00b5\u00ba\u00c0-\u1fff\u2c00-\u2dff\u3005-\u3007\u3021-\ufefe\uff10-\uffdc\U00010000-\U0010ffff"
)
# The character before a mark is looked at after it, because a search for few first characters is faster.
_INNER_MARK = re.compile(
    rf"\*(?<=[{_LETTERS}]\*)\*{{0,2}}[{_LETTERS}]|=(?<=[{_LETTERS}]=)=[{_LETTERS}]"
    rf"|<(?<=[0-9{_LETTERS}]<)/?(?:b|i|em|strong|u|mark|sub)>[0-9{_LETTERS}]"
)
_BEFORE, _AFTER = re.compile(rf"(?<=[{_LETTERS}])"), re.compile(rf"[{_LETTERS}]")
_TAG = re.compile(rf"(?<=[0-9{_LETTERS}])</?(?:b|i|em|strong|u|mark|sub)>(?=[0-9{_LETTERS}])")
_WORD = re.compile(rf"[*=0-9{_LETTERS}]+")
_INDENTED = re.compile(r"(?: {4}|\t)\s*(?!(?:[-*+]|\d+[.)])\s)\S")


class JoinedText(Struct, frozen=True):
    """A text without the marks within its words.

    It is made of runs of characters without such a mark: run i begins at offset `starts[i]` of the joined text, and
    `shifts[i]` characters of marks are before it in the text as written.
    """

    text: str
    starts: tuple[int, ...]
    shifts: tuple[int, ...]

    def written_range(self, start: int, end: int) -> tuple[int, int]:
        """Return the range in the text as written of the characters `start` to `end` (exclusive) of the joined text."""
        return self._written_offset(start), self._written_offset(end - 1) + 1

    def _written_offset(self, offset: int) -> int:
        return offset + self.shifts[bisect_right(self.starts, offset) - 1]


def join_marked_words(text: str) -> JoinedText | None:
    """Return `text` without the marks within its words; None if it has none, as most texts."""
    if not _INNER_MARK.search(text):
        return None
    parts: list[str] = []
    starts, shifts = [0], [0]
    at = 0
    for start, end in _find_inner_marks(text):
        parts.append(text[at:start])
        starts.append(starts[-1] + start - at)
        shifts.append(shifts[-1] + end - start)
        at = end
    return JoinedText("".join((*parts, text[at:])), tuple(starts), tuple(shifts)) if parts else None


def _find_inner_marks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the range of each mark within a word of `text`, ascending."""
    lines = text.split("\n")
    contexts = contexts_of_passage(lines) if any(fence in text for fence in FENCES) else None
    at = 0
    follows_blank, is_maths = True, False
    for number, line in enumerate(lines):
        is_prose = contexts is None or contexts[number].context is Context.PROSE
        is_indented_code = follows_blank and _INDENTED.match(line) is not None
        is_maths ^= line.count("$$") % 2 == 1
        if is_prose and not is_indented_code and not is_maths and len(line) <= MAX_LINE_CHARACTERS:
            yield from ((at + start, at + end) for start, end in _find_in_line(line))
        follows_blank = is_indented_code or not line.strip()
        at += len(line) + 1


def _find_in_line(line: str) -> Iterable[tuple[int, int]]:
    """Return the range of each mark within a word of a line of prose, ascending."""
    if not _INNER_MARK.search(line):
        return ()
    from excerpt.text.inline import SpanKind, inline_spans  # needs markdown-it, which most searches do not

    ranges: list[tuple[int, int]] = []
    for span in inline_spans(line):
        content = line[span.text_start : span.text_end]
        if span.kind is SpanKind.HTML:
            is_mark = _TAG.match(line, span.start, span.end + 1) is not None
        elif span.kind is SpanKind.STRONG:
            is_mark = "|" not in content  # a cell ends a pair
        else:  # these may belong to the text: "Leser*innen und Hörer*innen", "a==b or c==d"
            is_mark = span.kind in (SpanKind.EMPHASIS, SpanKind.HIGHLIGHT) and _WORD.fullmatch(content) is not None
        if is_mark:
            ranges += ((span.start, span.text_start), (span.text_end, span.end))
    ranges.sort()
    return [each for each in _merge_adjacent(ranges) if line[each[0]] == "<" or _is_between_letters(line, *each)]


def _is_between_letters(line: str, start: int, end: int) -> bool:
    return _BEFORE.match(line, start) is not None and _AFTER.match(line, end) is not None


def _merge_adjacent(ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the ascending `ranges`, those that touch as one: the marks of `***`."""
    first = last = -1
    for start, end in ranges:
        if start > last:
            if last > first:
                yield first, last
            first = start
        last = end
    if last > first:
        yield first, last
