"""The part of a fragment that a row of the list shows: one line around the best of its matches."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.cells import cell_len

from excerpt.model import Span
from excerpt.text.visible import visible_line
from excerpt.tui.line_drawing import drawn_characters

_LINE_START = re.compile(
    r"^[ \t]*(?:>[ \t]?)*(?:[-*+][ \t]|\d+[.)][ \t])?(?:\[.\][ \t])?(?:#{1,6}[ \t])?(?:\[!\w+\][+-]?)?", re.M
)
_HEADING = re.compile(r"\s*(?:#{1,6}\s[^\n]*\n+)?\s*")

_BEFORE = 80
"""Characters looked at before the line begins, so that a link or emphasis begun there is still taken for one."""


def snippet(text: str, spans: Sequence[Span], width: int) -> tuple[str, list[tuple[int, int]]]:
    """What of `text` fills about `width` cells of one line, and the matches in it (start, end).

    Markdown marks are left out and white space is drawn together. The line begins some words before the densest group
    of matches; without any, at the first line that is not a heading.
    """
    width = _characters_in(width, text)
    body = _body_start(text)
    start = _best_start(text, body, spans, width)
    base = max(body, start - _BEFORE)
    piece = text[base : start + width * 2]
    characters = drawn_characters(piece.replace("\n", " "))
    for mark in _LINE_START.finditer(piece):
        characters[mark.start() : mark.end()] = [""] * (mark.end() - mark.start())
    shown: list[str] = ["…"] if start > body else []
    places = [0] * (start - base)
    for character in characters[start - base :]:
        places.append(len(shown))
        if not character.isspace():
            shown.extend(character)
        elif shown and shown[-1] not in (" ", "…"):
            shown.append(" ")
    places.append(len(shown))
    found = [
        (places[span.start - base], places[min(span.end - base, len(piece))])
        for span in sorted(spans, key=lambda s: (s.start, s.end))
        if start <= span.start < base + len(piece)
    ]
    return visible_line("".join(shown).rstrip()), [(a, b) for a, b in found if a < b]


def _characters_in(cells: int, text: str) -> int:
    """How many characters of `text` fill that many cells, judged by its beginning."""
    if text.isascii():
        return cells
    sample = text[:_BEFORE]
    return cells * len(sample) // max(1, cell_len(sample))


def _body_start(text: str) -> int:
    """Where the text begins after the heading it may stand under."""
    heading = _HEADING.match(text)
    return heading.end() if heading and heading.end() < len(text) else 0


def _best_start(text: str, body: int, spans: Sequence[Span], width: int) -> int:
    """Where the line begins: so that it holds most matches, and some words before the first of them."""
    ordered = sorted((span for span in spans if span.start >= body), key=lambda s: s.start)
    if not ordered:
        return body
    reach = width * 3 // 4
    held = [sum(1 for other in ordered[i:] if other.end <= span.start + reach) for i, span in enumerate(ordered)]
    first = held.index(max(held))
    best = ordered[first].start
    if ordered[first + max(held[first], 1) - 1].end - body <= reach:
        return body
    # Near the end of the text more stands before it, so that the line is full.
    start = max(body, min(best - width // 5, len(text) - reach))
    space = max(text.find(" ", start, best), text.find("\n", start, best))
    return space + 1 if space >= 0 else start
