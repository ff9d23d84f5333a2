"""The names of a fragment in a row: its title and the headings above it, as much as there is room for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from rich.style import Style

from excerpt.text.visible import visible_line
from excerpt.tui.common.strips import Part, cells_in, fit, parts_with_matches, steady

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
    last says most of where a fragment stands; then title and last heading share the room."""
    from excerpt.model import Span

    shown = list(names)
    left_out = 0
    while _width(shown) > cells and len(names) - left_out > 2:
        left_out += 1
        shown = [names[0], _LEFT_OUT, *names[1 + left_out :]]
    if len(shown) > 1 and _width(shown) > cells:
        text, spans = shown[0]
        room = max(cells // 2, cells - _width(shown[1:]) - len(BETWEEN))
        cut = fit(text, room)
        kept = len(cut) - 1 if cut != text else len(cut)
        shown[0] = (cut, [Span(span.start, min(span.end, kept)) for span in spans if span.start < kept])
    return shown


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
