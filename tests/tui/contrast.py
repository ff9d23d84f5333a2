"""Colour pairs of text and background in the lines that widgets draw, and the contrast of two colours."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from rich.segment import Segment
from textual.color import Color
from textual.geometry import Region
from textual.screen import Screen
from textual.scrollbar import ScrollBar
from textual.theme import Theme
from textual.widget import Widget

READABLE = 4.5
"""The contrast that WCAG 2 (AA) requires for text."""

Pair = tuple[str, str]
"""The colours of a text and its background, both as `#rrggbb`."""


def contrast(one: Color, other: Color) -> float:
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: Color) -> float:
    """Return the relative luminance as WCAG 2 defines it."""
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def probe(like: Theme) -> tuple[Theme, dict[str, str]]:
    """Return a theme in which every variable has a unique colour, and the variables by colour."""
    every = {**like.to_color_system().generate(), **like.variables}
    colours = {name: value for name, value in every.items() if value[:1] == "#"}
    unique = {name: f"#{number % 16 * 16:02x}{number // 16 * 16:02x}7f" for number, name in enumerate(colours)}
    return Theme(name="probe", primary="#808080", dark=like.dark, variables=unique), {
        value: name for name, value in unique.items()
    }


def drawn_pairs(screen: Screen[object]) -> Iterator[tuple[Pair, str]]:
    """Yield each text of the screen's widgets as a colour pair, with a description of where it is.

    Symbols and lines are left out, as WCAG requires less of them.
    """
    for widget in screen.walk_children(Widget):
        if widget.region and widget.visible and not isinstance(widget, ScrollBar):
            for strip in widget.render_lines(Region(0, 0, *widget.outer_size)):
                for segment in strip:
                    if pair := _pair(segment):
                        yield pair, f"{widget!r}: {segment.text.strip()}"


def _pair(segment: Segment) -> Pair | None:
    style = segment.style
    if style is None or style.color is None or style.bgcolor is None or not any(map(_is_text, segment.text)):
        return None
    colours = [Color.from_rich_color(colour).hex6.lower() for colour in (style.color, style.bgcolor)]
    front, back = reversed(colours) if style.reverse else colours
    return front, back


def _is_text(sign: str) -> bool:
    return unicodedata.category(sign)[0] in "LNP" or (sign.isascii() and not sign.isspace())
