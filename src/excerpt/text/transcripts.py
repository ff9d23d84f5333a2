"""Transcripts: notes of talks and chats, recognised by their shape, and the lines where each message begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from excerpt.base.patterns import lazy_pattern
from excerpt.text.line_context import FENCES

_TIME = r"\d{1,2}:\d{2}(?::\d{2})?(?:\s?[AaPp][Mm])?"
_NAME = r"[^\W\d_][^\n:*\[\]()<>|`]{0,38}?"
_SPEAKER = lazy_pattern(
    rf"\s{{0,3}}(?:[\[(]?{_TIME}[\])]?\s+(?:-\s+)?)?"
    rf"(?:\*\*(?P<bold>{_NAME})(?::\*\*|\*\*:)|(?P<plain>{_NAME}):)(?=\s|$)"
    rf"|\s{{0,3}}[\[(]{_TIME}[\])]\s+<?(?P<timed>[^\W\d_][\w.'-]{{0,38}})>?(?=\s)"
)
"""The beginning of a message: `**User:**`, `Name:`, `[10:32] Name:` or `[10:32] name`."""
_MAX_NAME_WORDS = 4
_MIN_MESSAGES = 4
_MIN_MESSAGES_OF_SPEAKER = 2
_MIN_SHARE_OF_SPEAKER = 0.1
"""The least number of a speaker's messages, as a share of those of the one who speaks most.

What else stands before a colon, such as `**Note:**` in an answer, is rarer.
"""
_FRONTMATTER_EDGE = "---"


class _Speaker(Struct, frozen=True):
    """A line that may begin a message, with the name in it and the way in which that is written."""

    line: int
    name: str
    style: str


def find_messages(lines: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers of the lines on which messages begin, from 1; none if the note is no transcript.

    A transcript begins with a message, below any headings, and has several messages of two or more speakers.
    """
    start = _find_first_text(lines)
    first = next(_iterate_speakers(lines[:start], start), None)
    if first is None:
        return ()
    alike = [each for each in _iterate_speakers(lines, start) if each.style == first.style]
    counts = Counter(each.name for each in alike)
    least = max(_MIN_MESSAGES_OF_SPEAKER, _MIN_SHARE_OF_SPEAKER * max(counts.values()))
    messages = [each for each in alike if counts[each.name] >= least]
    speakers = {each.name for each in messages}
    if len(messages) < _MIN_MESSAGES or len(speakers) < 2 or first.name not in speakers:
        return ()
    return tuple(each.line for each in messages)


def find_speakers(lines: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers of the lines of a passage that may begin a message, from 1; none in fenced code."""
    return tuple(each.line for each in _iterate_speakers(lines, 1))


def _iterate_speakers(lines: Sequence[str], start: int) -> Iterator[_Speaker]:
    """Yield each line from `start` on that may begin a message, outside fenced code."""
    fence = ""
    for number, line in enumerate(lines[start - 1 :], start):
        text = line.lstrip()
        if text.startswith(FENCES):
            mark = text[:3]
            fence = "" if fence == mark else fence or mark
        elif not fence and (match := _SPEAKER.match(line)):
            style = match.lastgroup or ""
            name = match[style].strip().casefold()
            if len(name.split()) <= _MAX_NAME_WORDS:
                yield _Speaker(number, name, style)


def _find_first_text(lines: Sequence[str]) -> int:
    """Return the number of the first line below the frontmatter and any headings that has a text, 1 if none has."""
    start = 0
    if lines and lines[0].rstrip() == _FRONTMATTER_EDGE:
        start = next((n for n, line in enumerate(lines[1:], 2) if line.rstrip() == _FRONTMATTER_EDGE), 0)
    texts = (n for n, line in enumerate(lines[start:], start + 1) if line.strip() and not line.startswith("#"))
    return next(texts, 1)
