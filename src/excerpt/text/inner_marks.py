"""Marks of Markdown and HTML within a word, which a reader does not see: `un**believ**able` is one word.

Index, queries and highlights take a word as it is read. Only `**`, `***` and tags with a letter on both sides are
removed, and only where the parser finds a pair of them: code and maths stay as they are, and so does what stands
between digits, where it is an operator. A single `*` and `==` stay, for they are as often operators between words
(`width*height*depth`, `a==b==c`). So do struck text and superscripts, which are often no part of the word beside them
(`~~old~~new`, footnotes).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import repeat

from msgspec import Struct

from excerpt.base.patterns import lazy_pattern
from excerpt.text.line_context import FENCES, PROSE, Context, contexts_of_passage

MAX_LINE_CHARACTERS = 20_000
"""Maximum number of characters of a line that is parsed: a longer one is data, not prose."""

# Punctuation outside of ASCII is no letter: German „**Wort**“ and Chinese 「**词**」 need no parsing. The classes name
# what is no letter, since re compiles them eight times as fast: 25 ms less at each start of a program.
_NO_DIGITS_OR_LETTERS = (
    "\0-/:-@\\[-`{-\u00a9\u00ab-\u00b4\u00b6-\u00b9\u00bb-\u00bf"
    "\u2000-\u2bff\u2e00-\u3004\u3008-\u3020\ufeff-\uff0f\uffdd-\uffff"
)
_LETTER, _DIGIT_OR_LETTER = f"[^0-9{_NO_DIGITS_OR_LETTERS}]", f"[^{_NO_DIGITS_OR_LETTERS}]"
# The character before a mark is looked at after it, because a search for few first characters is faster.
_TAG_NAMES = "b|i|em|strong|u|mark|sub"
_INNER_MARK = lazy_pattern(
    rf"\*(?<={_LETTER}\*)\*{{1,2}}{_LETTER}|<(?<={_DIGIT_OR_LETTER}<)/?(?i:{_TAG_NAMES})>{_DIGIT_OR_LETTER}"
)
_BEFORE, _AFTER = lazy_pattern(f"(?<={_LETTER})"), lazy_pattern(_LETTER)
_BEFORE_TAG, _AFTER_TAG = lazy_pattern(f"(?<={_DIGIT_OR_LETTER})"), lazy_pattern(_DIGIT_OR_LETTER)
_TAG = lazy_pattern(rf"<(/?)({_TAG_NAMES})>", re.IGNORECASE)
_INDENTED = lazy_pattern(r"(?: {4}|\t)\s*(?!(?:[-*+]|\d+[.)])\s)\S")


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
    if ("**" not in text and "</" not in text) or not _INNER_MARK.search(text):
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
    contexts = contexts_of_passage(lines) if any(fence in text for fence in FENCES) else repeat(PROSE)
    is_prose = [context.context is Context.PROSE for _, context in zip(lines, contexts, strict=False)]
    if "$$" in text:
        for first, last in _find_maths(lines, is_prose):
            is_prose[first : last + 1] = repeat(False, last + 1 - first)
    at = 0
    follows_blank = True
    for number, line in enumerate(lines):
        is_indented_code = follows_blank and _INDENTED.match(line) is not None
        if is_prose[number] and not is_indented_code and len(line) <= MAX_LINE_CHARACTERS and _INNER_MARK.search(line):
            yield from ((at + start, at + end) for start, end in _find_in_line(line))
        follows_blank = is_indented_code or not line.strip()
        at += len(line) + 1


def _find_maths(lines: Sequence[str], is_prose: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Yield the indexes of the first and last line of each block of maths between two `$$` on lines of prose."""
    edges = (
        number
        for number, line in enumerate(lines)
        if is_prose[number]
        and line.count("$$") % 2 == 1
        and (line.lstrip("> \t").startswith("$$") or line.rstrip().endswith("$$"))
    )
    return zip(edges, edges, strict=False)


@lru_cache(1000)  # for the index, a line is looked at twice: for its terms and for its vector
def _find_in_line(line: str) -> tuple[tuple[int, int], ...]:
    """Return the range of each mark within a word of a line of prose, ascending."""
    if line.count("**") < 2 and "</" not in line:
        return ()
    from excerpt.text.inline import SpanKind, inline_spans  # needs markdown-it, which most searches do not

    ranges: list[tuple[int, int]] = []
    open_tags: dict[str, tuple[int, int]] = {}
    for span in inline_spans(line):
        if span.kind is SpanKind.HTML and (tag := _TAG.fullmatch(line, span.start, span.end)):
            name = tag[2].lower()
            if not tag[1]:
                open_tags[name] = tag.span()
            elif (opening := open_tags.pop(name, None)) and "|" not in line[opening[1] : span.start]:
                ranges += (opening, tag.span())
            continue
        content = line[span.text_start : span.text_end]
        is_outer = span.kind is SpanKind.EMPHASIS and content[:2] == content[-2:] == "**"  # the first `*` of `***`
        if (span.kind is SpanKind.STRONG or is_outer) and "|" not in content:  # a cell ends a pair
            ranges += ((span.start, span.text_start), (span.text_end, span.end))
    ranges.sort()
    return tuple(each for each in _merge_adjacent(ranges) if _is_within_word(line, *each))


def _is_within_word(line: str, start: int, end: int) -> bool:
    before, after = (_BEFORE_TAG, _AFTER_TAG) if line[start] == "<" else (_BEFORE, _AFTER)
    return before.match(line, start) is not None and after.match(line, end) is not None


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
