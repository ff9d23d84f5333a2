"""The plain mode: no line or block is drawn, and nothing moves, for a screen reader or a terminal without such signs.

It is done where lines go to the terminal, after every widget, so that what Textual draws (borders, scrollbars) and
what stands in a note is plain as well. What is copied or remembered is the note's own text as ever.
"""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

from excerpt.tui.glyphs import plainly
from excerpt.tui.keymap import spell_keys

_LINE = 12
"""Cells from which a run of low bars is the edge of a box and no count."""


class Plain(LineFilter):
    """Draws ASCII signs in the place of others."""

    def switch(self, *, on: bool) -> None:
        """Draw so, and spell keys, or not."""
        self.enabled = on
        spell_keys(spelled=on)

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - Textual's shape
        return [segment if segment.text.isascii() else _plain(segment.text, segment.style) for segment in segments]


def _plain(text: str, style: Style | None) -> Segment:
    if set(text) == {"▁"} and len(text) >= _LINE:
        return Segment("_" * len(text), style)
    if style is not None and "@mouse.down" in style.meta:
        return Segment(" " * len(text), style)
    # A bar of half a cell is no cursor.
    return Segment(plainly(text.replace("▌", "▍") if len(text) > 2 else text), style)
