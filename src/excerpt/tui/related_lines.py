"""Why a note is related, as lines: what its score is made of, links, names, words, and the passages that say alike.

No terminal here: a part of a line is text and the name of a style.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len

from excerpt.model import Fragment, Span
from excerpt.text.line_range import line_range
from excerpt.text.visible import visible_line
from excerpt.tui.common.inked_line import Ink, Run, wrap
from excerpt.tui.common.snippet import snippet
from excerpt.tui.common.strips import fit

if TYPE_CHECKING:
    from excerpt.insight.related import Passage, PassageMatch, RelatedNote

SIDE_BY_SIDE = 64
"""Cells from which on two passages stand beside each other: below, a side would have some four words a line."""

_ROWS = 6
"""Rows of a passage at most where two stand side by side; three where one stands below the other."""
_MOST = 3
"""Names that are told one by one."""
_LEAST = 0.005
"""Parts of a score below this would read as nothing."""
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
    passages = [
        Reason(match.there.fragment.path, match.there.fragment.line_start, match.there.fragment, match.there.spans)
        for match in note.matches
    ]
    return (*named, *passages) or (Reason(note.path, note.line),)


def first_reason(note: RelatedNote) -> int:
    """The number of the one to look at first: the best passage."""
    return len(note.mentions[:_MOST]) if note.matches else 0


def why_lines(note: RelatedNote, width: int) -> list[WhyLine]:
    """All that is known of why, what tells most first, for `width` cells: only a long name or path is wider."""
    lines = [*_chunks(_sum(note), width)]
    if note.linked in _LINKED:
        lines.append(_labelled("links", (_LINKED[note.linked], "text")))
    lines.extend(_names(note))
    first = len(note.mentions[:_MOST])
    passages = [_passages(match, first + place, width) for place, match in enumerate(note.matches)]
    rest = [*_common(note, width), *_words(note, width)]
    if note.tags:
        rest.append(_labelled("tags", (" ".join(f"#{visible_line(tag)}" for tag in note.tags), "text")))
    lines.extend(passages[0] if passages else ())
    for part in (rest, *passages[1:]):
        if part:
            lines.extend((WhyLine(()), *part))
    return lines


def _labelled(label: str, *pieces: Piece, reason: int | None = None) -> WhyLine:
    return WhyLine((_label(label), (" ", "label"), *pieces), reason)


def _label(text: str) -> Piece:
    return f"{text:<6}", "label"


def _names(note: RelatedNote) -> Iterable[WhyLine]:
    for number, mention in enumerate(note.mentions[:_MOST]):
        name = (f"“{visible_line(mention.text)}”", "match")
        badge = (" · no link yet" if note.missing_link else "", "badge")
        where = (f" in {visible_line(mention.path)}:{mention.line}", "text")
        yield _labelled("names", name, where, badge, reason=number)
    if more := len(note.mentions[_MOST:]):
        yield _labelled("", (f"and {more} more", "soft"))


def _common(note: RelatedNote, width: int) -> Iterable[WhyLine]:
    for says, to_both in (("both link to", False), ("link to both:", True)):
        titles = [visible_line(link.title) for link in note.common if link.links_to_both is to_both]
        if titles:
            named = [f"{title}," for title in titles[:-1]] + titles[-1:]
            yield from _chunks([_label("common"), (says, "soft"), *((title, "text") for title in named)], width)


def _words(note: RelatedNote, width: int) -> Iterable[WhyLine]:
    shown = note.words[:_MOST_WORDS]
    words = [f"{visible_line(word.word)} ({word.notes})" for word in shown]
    if words:
        words[0] = f"{words[0][:-1]} note{'' if shown[0].notes == 1 else 's'})"
        yield from _chunks([_label("words"), *((word, "text") for word in words)], width)


def _sum(note: RelatedNote) -> list[Piece]:
    """The parts that make the score, the largest first."""
    told = (signal for signal in note.signals if abs(signal.part) >= _LEAST)
    parts = sorted(told, key=lambda signal: -abs(signal.part))
    pieces: list[Piece] = [(f"{note.score:.2f} =", "label")]
    for place, signal in enumerate(parts):
        sign = "" if place == 0 else "+ " if signal.part >= 0 else "− "
        pieces.append((f"{sign}{abs(signal.part):.2f} {signal.name}", "text"))
    return pieces


def _chunks(pieces: Sequence[Piece], width: int) -> Iterable[WhyLine]:
    """Pieces one after the other with a space between, as many a line as fit; the next begin under the second."""
    line: list[Piece] = [pieces[0]]
    used = cell_len(pieces[0][0])
    indent = (" " * used, "label")
    for text, style in pieces[1:]:
        if used + 1 + cell_len(text) > width and len(line) > 1:
            yield WhyLine(tuple(line))
            line, used = [indent], cell_len(indent[0])
        line.extend(((" ", "label"), (text, style)))
        used += 1 + cell_len(text)
    yield WhyLine(tuple(line))


# --- passages ---------------------------------------------------------------------------------------------------------


def _passages(match: PassageMatch, number: int, width: int) -> list[WhyLine]:
    return [*(_beside if width >= SIDE_BY_SIDE else _below)(match, number, width)]


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
    lines = lines_of(fragment)
    alike = f" · alike {similarity:.2f}" if similarity is not None else ""
    heading = f" · {visible_line(fragment.heading_path[-1])}" if fragment.heading_path else ""
    room = width - cell_len(f"{name} {lines}{alike}")
    return ((f"{name} ", "label"), (lines, "label"), (fit(heading, room), "soft"), (alike, "label"))


def lines_of(fragment: Fragment) -> str:
    """Its lines, as they are written on screen."""
    return line_range(fragment.line_start, fragment.line_end, "–")


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
