"""The last look at what goes to the terminal: nothing in it may move the cursor, reorder text or be obeyed.

Widgets show vault text through `excerpt.text.visible`. What they cannot reach are fields that text was pasted or read
into, which Textual draws as it is.
"""

from __future__ import annotations

import re

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from excerpt.text.visible import visible_line

_SUSPECT = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


class Harmless(LineFilter):
    """Takes the place of each such character: with a sign where it was given a cell, with nothing where it was not, so
    that lines stay as wide as they were laid out."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - Textual's shape
        if not any(_is_suspect(segment.text) for segment in segments):
            return segments
        return [
            Segment(_SUSPECT.sub(_shown, segment.text), segment.style, segment.control)
            if _is_suspect(segment.text)
            else segment
            for segment in segments
        ]


def _is_suspect(text: str) -> bool:
    return not (text.isascii() and text.isprintable()) and _SUSPECT.search(text) is not None


def _shown(found: re.Match[str]) -> str:
    return visible_line(found[0]) * cell_len(found[0])
