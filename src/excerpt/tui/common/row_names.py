"""The names of a fragment in a row: its title and the headings above it, as much as there is room for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from rich.cells import set_cell_size
from rich.style import Style

from excerpt.text.visible import visible_line
from excerpt.tui.common.strips import Part, cells_in, parts_with_matches, steady

if TYPE_CHECKING:
    from excerpt.model import Hit, Span

Name: TypeAlias = "tuple[str, Sequence[Span]]"
"""A title or heading, and what matched in it."""

BETWEEN = " › "
_LEFT_OUT: Name = ("…", ())


def names_of(hit: Hit) -> list[Name]:
    """The title, then the headings; a heading that only repeats the title is left out."""
    fragment = hit.fragment
    spans = hit.named or ((),) * (1 + len(fragment.heading_path))
    title, *headings = zip((fragment.title, *fragment.heading_path), spans, strict=True)
    shown = [title, *(heading for heading in headings if heading[0] != fragment.title)]
    return [(visible_line(text), matched) for text, matched in shown]


def path_below(title: str, heading_path: Sequence[str]) -> str:
    """The headings in one line, without one that only repeats the title."""
    return BETWEEN.join(visible_line(heading) for heading in heading_path if heading != title)


def shortened(names: Sequence[Name], cells: int) -> list[Name]:
    """`names` in at most `cells`, if that can be: headings between the first and the last are left out first, as the
    last says most of where a fragment stands; then title and last heading share the room, each without its middle."""
    shown = list(names)
    left_out = 0
    while _width(shown) > cells and len(names) - left_out > 2:
        left_out += 1
        shown = [names[0], _LEFT_OUT, *names[1 + left_out :]]
    if len(shown) == 1:
        return [elided(shown[0], cells)]
    if shown and _width(shown) > cells:
        shown[0] = elided(shown[0], max(cells // 2, cells - _width(shown[1:]) - len(BETWEEN)))
        shown[-1] = elided(shown[-1], cells - _width(shown[:-1]) - len(BETWEEN))
    return shown


def elided(name: Name, cells: int) -> Name:
    """A name in at most `cells`: what is too much is left out of its middle, as names begin and end in what tells them
    apart."""
    from excerpt.model import Span

    text = steady(name[0])
    if cells_in(text) <= cells:
        return name
    if cells < 1:
        return "", ()
    room = cells - 1
    head = set_cell_size(text, room - room // 2).rstrip(" \u200d")
    start, left = len(text), room // 2
    while start > len(head) and (left := left - cells_in(text[start - 1])) >= 0:
        start -= 1
    tail = text[start:].lstrip(" \u200d")
    start, shift = len(text) - len(tail), len(text) - len(tail) - len(head) - 1
    spans = name[1] if len(text) == len(name[0]) else ()
    kept = [Span(span.start, min(span.end, len(head))) for span in spans if span.start < len(head)]
    kept += [Span(max(span.start, start) - shift, span.end - shift) for span in spans if span.end > start]
    return f"{head}…{tail}", kept


def _width(names: Sequence[Name]) -> int:
    return sum(cells_in(steady(text)) for text, _ in names) + len(BETWEEN) * (len(names) - 1)


def name_parts(names: Sequence[Name], cells: int, title: Style, heading: Style, match: Style) -> list[Part]:
    """`names` as parts of a line, what matched in them set off."""
    parts: list[Part] = []
    for place, (text, spans) in enumerate(shortened(names, cells)):
        if place:
            parts.append((BETWEEN, heading))
        matches = [(span.start, span.end) for span in spans]
        parts.extend(parts_with_matches(text, matches, heading if place else title, match))
    return parts
