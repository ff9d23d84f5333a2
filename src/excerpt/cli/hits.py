"""Hits as text for readers."""

from __future__ import annotations

import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence

import click

from excerpt.cli.printing import put
from excerpt.kinds import Confidence
from excerpt.model import Fragment, Hit, Span
from excerpt.text.display import line_range, percent, visible_line

_SEPARATOR = " › "
INDENT = " " * 5
"""What stands under a hit's first line begins here."""
_SNIPPET_LINES = 2
_WIDEST = 120


def said_of(hit: Hit) -> str:
    """How sure the hit is, in a word; "" where nothing was asked."""
    if hit.confidence is Confidence.NOTHING:
        return "no answer"
    return "" if hit.confidence is None else hit.confidence.value


def print_hits(hits: Sequence[Hit], explain: Callable[[int], None] | None = None, vaults: Sequence[str] = ()) -> None:
    """The hits for a reader: rank, place, lines, size, score, how sure, and the lines around the densest matches.

    `explain` prints what stands below the hit at a place, counted from 0. `vaults` are the names of those that the hits
    are from, where they are from several.
    """
    width = min(shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST) - len(INDENT)
    for rank, hit in enumerate(hits, 1):
        fragment = hit.fragment
        if rank > 1:
            put("")
        place = f"{vaults[rank - 1]}: {place_of(fragment)}" if vaults else place_of(fragment)
        put(f"{paint(f'{rank:>3}', fg='cyan')}  {paint(visible_line(place), bold=True)}")
        lines = visible_line(f"{fragment.path}:{line_range(fragment.line_start, fragment.line_end)}")
        sure = f" · {said}" if (said := said_of(hit)) else ""
        put(f"{INDENT}{paint(lines, fg='green')} · {fragment.tokens:,} tokens · score {hit.score:.3f}{sure}")
        text, spans = snippet(fragment.text, hit.spans, width * _SNIPPET_LINES - 10)
        text = visible_line(text)
        for start, end in wrapped(text, width):
            put(f"{INDENT}{_marked(text, start, end, spans)}")
        if explain is not None:
            explain(rank - 1)


def place_of(fragment: Fragment) -> str:
    """Title › heading path, the title not said twice."""
    path = fragment.heading_path
    below = path[1:] if path and path[0] == fragment.title else path
    return _SEPARATOR.join((fragment.title, *below))


def snippet(text: str, spans: Sequence[Span], columns: int) -> tuple[str, list[Span]]:
    """About `columns` columns of `text` on one line, from where the most matches stand, and the matches in it."""
    lead_in = columns // 5
    start = _densest_window(spans, columns - lead_in)
    if start:
        start = max(0, start - lead_in)
        start += _to_next_word(text[start : start + lead_in])
    out = ["…"] if start else []
    moved: dict[int, int] = {}
    used = 0
    for i in range(start, len(text)):
        if used >= columns:
            out.append("…")
            break
        c = " " if text[i].isspace() else text[i]
        if c == " " and (not out or out[-1] == " "):
            continue
        moved[i] = len(out)
        out.append(c)
        used += _columns_of_char(c)
    inside = [Span(moved[s.start], moved[s.end - 1] + 1) for s in spans if s.start in moved and s.end - 1 in moved]
    return "".join(out).rstrip(), inside


def _to_next_word(text: str) -> int:
    """Characters until a word of `text` begins; none where it has no spaces, as Chinese has none."""
    found = re.search(r"\s\S", text)
    return found.start() + 1 if found else 0


def _densest_window(spans: Sequence[Span], columns: int) -> int:
    """Where the window begins that holds the most spans, the first of equals; 0 where the text's beginning will do."""
    best, most = 0, sum(1 for span in spans if span.end <= columns)
    for i, first in enumerate(spans):
        held = sum(1 for span in spans[i:] if span.end <= first.start + columns)
        if held > most:
            best, most = first.start, held
    return best


def wrapped(text: str, width: int) -> Iterator[tuple[int, int]]:
    """The lines of `text` at most `width` columns wide, as (start, end), broken at spaces where there are any."""
    start = 0
    while start < len(text):
        end, used, space = start, 0, -1
        while end < len(text) and used + _columns_of_char(text[end]) <= width:
            used += _columns_of_char(text[end])
            if text[end] == " ":
                space = end
            end += 1
        end = max(end, start + 1)
        if end < len(text) and text[end] != " " and space > start:
            end = space
        yield start, end
        start = end + (end < len(text) and text[end] == " ")


def columns_of(text: str) -> int:
    """How many columns of a terminal `text` takes."""
    return sum(_columns_of_char(char) for char in text)


def _columns_of_char(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, columns: int) -> str:
    """`text`, or as much of it as fits `columns` with an ellipsis."""
    if columns_of(text) <= columns:
        return text
    used, end = 1, 0
    while used + _columns_of_char(text[end]) <= columns:
        used += _columns_of_char(text[end])
        end += 1
    return f"{text[:end]}…"


def bar(part: float, highest: float, columns: int) -> str:
    """A bar as long as `part` is beside `highest`, which has them all."""
    return "█" * round(part / highest * columns) if part > 0 and highest > 0 else ""


def share_of(value: float) -> str:
    """0.363 as "36 %"."""
    return percent(value)


def paint(text: str, fg: str | None = None, bold: bool | None = None, dim: bool | None = None) -> str:
    """`text` in colour, where stdout is a terminal that may have it."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return click.style(text, fg=fg, bold=bold, dim=dim)


def _marked(text: str, start: int, end: int, spans: Sequence[Span]) -> str:
    """`text[start:end]` with the parts of it that matched set off."""
    out, at = [], start
    for span in spans:
        first, last = max(span.start, at), min(span.end, end)
        if first < last:
            out += [text[at:first], paint(text[first:last], fg="yellow", bold=True)]
            at = last
    return "".join((*out, text[at:end]))
