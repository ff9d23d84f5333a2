"""The part of a fragment that a row of the list shows: one line around the best of its matches."""

from __future__ import annotations

import re
from collections.abc import Sequence

from excerpt.model import Span
from excerpt.text.visible import visible_line

_HEADING = re.compile(r"\s*(?:#{1,6}\s[^\n]*\n+)?\s*")


def snippet(text: str, spans: Sequence[Span], width: int) -> tuple[str, list[tuple[int, int]]]:
    """At most about `width` characters of `text` on one line, and the matches in it (start, end).

    White space is drawn together. Without spans, or where all fit, it begins at the first line that is not a heading.
    """
    start = _best_start(text, spans, width)
    piece = text[start : start + width * 2]
    shown: list[str] = ["…"] if text[:start].strip() and not _HEADING.fullmatch(text[:start]) else []
    places: list[int] = []
    for character in piece:
        places.append(len(shown))
        if not character.isspace():
            shown.append(character)
        elif shown and shown[-1] not in (" ", "…"):
            shown.append(" ")
    places.append(len(shown))
    found = [
        (places[max(span.start, start) - start], places[min(span.end, start + len(piece)) - start])
        for span in sorted(spans, key=lambda s: (s.start, s.end))
        if span.start < start + len(piece) and span.end > start
    ]
    return visible_line("".join(shown).rstrip()), [(a, b) for a, b in found if a < b]


def _best_start(text: str, spans: Sequence[Span], width: int) -> int:
    """Where the line begins: so that it holds most matches, and some words before the first of them."""
    heading = _HEADING.match(text)
    body = heading.end() if heading and heading.end() < len(text) else 0
    ordered = sorted((span for span in spans if span.start >= body), key=lambda s: s.start)
    if not ordered:
        return body
    reach = width * 3 // 4
    held = [sum(1 for other in ordered[i:] if other.end <= span.start + reach) for i, span in enumerate(ordered)]
    best = ordered[held.index(max(held))].start
    if best - body <= width // 3:
        return body
    start = best - width // 5
    space = text.find(" ", start, best)
    return space + 1 if space >= 0 else start
