"""Why a note is related, as lines: what its score is made of, links, names, words, and the passages that say alike.

No terminal here: a part of a line is text and the name of a style.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len

from excerpt.model import Fragment, Span
from excerpt.text.visible import visible_line
from excerpt.tui.line_drawing import Ink, Run
from excerpt.tui.snippet import snippet
from excerpt.tui.strips import fit
from excerpt.tui.wrapping import wrap

if TYPE_CHECKING:
    from excerpt.insight.related import Passage, PassageMatch, RelatedNote

SIDE_BY_SIDE = 64
"""Cells from which on two passages stand beside each other: below, a side would have some four words a line."""

_ROWS = 6
"""Rows of a passage at most where two stand side by side; three where one stands below the other."""
_MOST = 3
"""Names, and notes that connect two, that are told one by one."""
_MOST_WORDS = 8

_LINKED = {"to": "This links to it.", "from": "It links to this.", "both": "They link to each other."}

Piece = tuple[str, str]
"""Text, and the name of its style: label, text, soft, match, badge or bar."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A place that one can go to for a reason; `fragment` and `spans` where it is a passage."""

    path: str
    line: int
    fragment: Fragment | None = None
    spans: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class WhyLine:
    """One line; `reason` is the number of the one it tells of."""

    pieces: tuple[Piece, ...]
    reason: int | None = None


def reasons_of(note: RelatedNote) -> tuple[Reason, ...]:
    """The places, in the order in which `why_lines` tells of them; never none."""
    named = [Reason(mention.path, mention.line) for mention in note.mentions[:_MOST]]
    common = [Reason(link.path, 1) for link in note.common[:_MOST]]
    passages = [
        Reason(match.there.fragment.path, match.there.fragment.line_start, match.there.fragment, match.there.spans)
        for match in note.matches
    ]
    return (*named, *common, *passages) or (Reason(note.path, note.line),)


def first_reason(note: RelatedNote) -> int:
    """The number of the one to look at first: the best passage."""
    before = len(note.mentions[:_MOST]) + len(note.common[:_MOST])
    return before if note.matches else 0


def why_lines(note: RelatedNote, width: int) -> list[WhyLine]:
    """All that is known of why, each line at most `width` cells."""
    lines = [WhyLine(pieces) for pieces in _chunks(_sum(note), width)]
    if note.linked in _LINKED:
        lines.append(WhyLine((("links  ", "label"), (_LINKED[note.linked], "text"))))
    number = 0
    for mention in note.mentions[:_MOST]:
        where = f"{visible_line(mention.path)}:{mention.line}"
        told: list[Piece] = [
            ("names  ", "label"),
            (f"“{visible_line(mention.text)}”", "match"),
            (f" in {where}", "text"),
        ]
        if note.missing_link:
            told.append((" · no link yet", "badge"))
        lines.append(WhyLine(tuple(told), number))
        number += 1
    for link in note.common[:_MOST]:
        title = visible_line(link.title)
        says = f"{title} links to both" if link.links_to_both else f"both link to {title}"
        lines.append(WhyLine((("links  ", "label"), (says, "text")), number))
        number += 1
    more = len(note.mentions[_MOST:]) + len(note.common[_MOST:])
    if more:
        lines.append(WhyLine((("       ", "label"), (f"and {more} more names and links", "soft"))))
    if note.words:
        words = [(f"{visible_line(word.word)} {word.notes}", "text") for word in note.words[:_MOST_WORDS]]
        lines.extend(WhyLine(pieces) for pieces in _chunks([("words ", "label"), *words], width))
    if note.tags:
        lines.append(WhyLine((("tags   ", "label"), (" ".join(f"#{visible_line(tag)}" for tag in note.tags), "text"))))
    for match in note.matches:
        lines.append(WhyLine(()))
        beside = width >= SIDE_BY_SIDE
        lines.extend(_beside(match, number, width) if beside else _below(match, number, width))
        number += 1
    return lines


def _sum(note: RelatedNote) -> list[Piece]:
    """The parts that make the score, the largest first."""
    parts = sorted((signal for signal in note.signals if signal.part), key=lambda signal: -abs(signal.part))
    told: list[Piece] = [(f"{note.score:.2f} =", "label")]
    for place, signal in enumerate(parts):
        sign = "" if place == 0 else "+ " if signal.part >= 0 else "− "
        told.append((f"{sign}{abs(signal.part):.2f} {signal.name}", "text"))
    return told


def _chunks(pieces: Sequence[Piece], width: int) -> Iterable[tuple[Piece, ...]]:
    """Pieces one after the other with a space between, as many a line as fit; the first one begins each line."""
    line: list[Piece] = [pieces[0]]
    used = cell_len(pieces[0][0])
    indent = (" " * used, "label")
    for text, style in pieces[1:]:
        if used + 1 + cell_len(text) > width and len(line) > 1:
            yield tuple(line)
            line, used = [indent], cell_len(indent[0])
        line.extend(((" ", "label"), (text, style)))
        used += 1 + cell_len(text)
    yield tuple(line)


# --- passages ---------------------------------------------------------------------------------------------------------


def _beside(match: PassageMatch, number: int, width: int) -> Iterable[WhyLine]:
    side = (width - 3) // 2
    left = [_head("here ", match.here, None, side), *_rows(match.here, side, _ROWS)]
    right = [_head("there", match.there, match.similarity, side), *_rows(match.there, side, _ROWS)]
    for row in range(max(len(left), len(right))):
        one, other = (rows[row] if row < len(rows) else () for rows in (left, right))
        yield WhyLine((*_filled(one, side), (" │ ", "soft"), *other), number)


def _below(match: PassageMatch, number: int, width: int) -> Iterable[WhyLine]:
    for name, passage, alike in (("here ", match.here, None), ("there", match.there, match.similarity)):
        yield WhyLine(_head(name, passage, alike, width), number)
        yield from (WhyLine(row, number) for row in _rows(passage, width, _ROWS // 2))


def _head(name: str, passage: Passage, similarity: float | None, width: int) -> tuple[Piece, ...]:
    """`there 8–10 · Heading · alike 0.83`."""
    fragment = passage.fragment
    start, end = fragment.line_start, fragment.line_end
    lines = str(start) if start == end else f"{start}–{end}"
    alike = f" · alike {similarity:.2f}" if similarity is not None else ""
    heading = f" · {visible_line(fragment.heading_path[-1])}" if fragment.heading_path else ""
    room = width - cell_len(f"{name} {lines}{alike}")
    return ((f"{name} ", "label"), (lines, "label"), (fit(heading, room), "soft"), (alike, "label"))


def _rows(passage: Passage, width: int, most: int) -> list[tuple[Piece, ...]]:
    """The passage around its matches, as running text of at most that many rows."""
    text, matches = snippet(passage.fragment.text, passage.spans, width * most)
    runs: list[Run] = []
    at = 0
    for start, end in matches:
        first = max(start, at)
        runs += [Run(text[at:first], Ink.PLAIN), Run(text[first:end], Ink.MATCH)]
        at = max(at, end)
    rows = wrap([*runs, Run(text[at:], Ink.PLAIN)], width, 0)
    shown = [
        tuple((run.text, "match" if run.ink is Ink.MATCH else "text") for run in row if run.text) for row in rows[:most]
    ]
    if len(rows) > most and shown[-1]:
        *before, (last, style) = shown[-1]
        room = width - sum(cell_len(text) for text, _ in before)
        shown[-1] = (*before, (fit(f"{last.rstrip()} …", room), style))
    return shown


def _filled(pieces: tuple[Piece, ...], width: int) -> tuple[Piece, ...]:
    used = sum(cell_len(text) for text, _ in pieces)
    return (*pieces, (" " * max(0, width - used), "text"))
