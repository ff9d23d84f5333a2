"""Filter each line before it goes to the terminal: replace control characters, and in plain mode signs by ASCII.

The filters apply to the lines of all widgets, also to what Textual draws (borders, scrollbars, fields with pasted
text) and to the text of notes. A widget needs no code for plain mode: it draws the sign, and a test checks that the
table here has every sign in the code. Text that is copied or stored as a memory is not filtered.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.filter import LineFilter

from excerpt.base.patterns import lazy_pattern
from excerpt.text.display import control_character_set, visible_line
from excerpt.tui.keymap import use_spelled_keys

_CONTROL = lazy_pattern(f"[\\x00-\\x1f{control_character_set()}]")
# With joiners before such a character: they are measured with it, and alone would join what follows.
_WITH_JOINERS = lazy_pattern(f"\u200d*{_CONTROL.pattern}")


class ControlCharacterFilter(LineFilter):
    """A filter that replaces characters which a terminal would interpret, such as escape.

    A character with a width is replaced by a sign, and a character without width is removed, so that the width of a
    line does not change.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - Textual's shape
        if not any(_has_control(segment.text) for segment in segments):
            return segments
        return [
            Segment(_WITH_JOINERS.sub(_control_sign, segment.text), segment.style, segment.control)
            if _has_control(segment.text)
            else segment
            for segment in segments
        ]


def _has_control(text: str) -> bool:
    return not (text.isascii() and text.isprintable()) and _CONTROL.search(text) is not None


def _control_sign(match: re.Match[str]) -> str:
    return visible_line(match[0][-1]) * cell_len(match[0])


# --- the plain mode ---------------------------------------------------------------------------------------------------

ASCII_SIGNS: Mapping[str, str] = {
    # Positions and selections.
    "▌": ">",  # the selected row
    "┃": "#",  # in the pack, at the margin
    "≈": "~",  # near in meaning, at the margin
    "▐": "|",
    "▎": "|",  # the fragment, at the margin; a quote
    "▍": "|",
    "▏": "|",
    "●": "*",  # marked
    "↺": "=",  # used before
    "○": "o",
    "◉": "@",
    "◎": "?",  # before a topic
    "◆": "+",  # a memory; a callout, as are the next three
    "✦": "*",
    "✖": "x",
    "❝": '"',
    "◇": "-",
    "❯": ">",  # before the query
    "☑": "x",  # a task that is done
    "☐": "_",
    "✓": "x",
    "✔": "x",
    "✗": "-",
    "✕": "]",  # removes the filter before it
    "▣": "#",  # an embedded note or picture
    "•": "*",  # an item
    "⚠": "!",
    "★": "*",
    "☆": ".",
    # Arrows and separators.
    "›": ">",
    "‹": "<",
    "▸": ">",
    "▾": "v",
    "▴": "^",
    "◂": "<",
    "▶": ">",
    "◀": "<",
    "▲": "^",
    "▼": "v",
    "→": ">",
    "←": "<",
    "↔": "=",
    "↑": "^",
    "↓": "v",
    "↕": "|",
    "↗": "/",
    "↘": "\\",
    "↩": "<",
    "↵": "<",
    # Keys, where they are not spelled.
    "⏎": "<",
    "⌫": "<",
    "⇥": ">",
    "⇤": "<",
    "⇧": "^",
    # Heights and lengths: figures from 1, the highest and the full cell as #.
    "▁": "1",
    "▂": "2",
    "▃": "3",
    "▄": "4",
    "▅": "5",
    "▆": "6",
    "▇": "7",
    "█": "#",
    "▉": "#",
    "▊": "#",
    "▋": "|",
    "▓": "#",
    "▒": "+",
    "░": ".",
    "▔": "-",
    # Between words.
    "·": "-",
    "–": "-",
    "—": "-",
    "…": "~",
    "“": '"',
    "”": '"',
    "‘": "'",
    "’": "'",
    "⋯": "~",
    "−": "-",
    "×": "x",
    "│": "|",
    "─": "-",
    "╌": "-",
    "┼": "+",
    "├": "+",
    "┤": "+",
}
"""ASCII replacements for the signs that this program draws. For signs of notes or Textual see `ascii_sign`."""

_RANGES = ((0x2190, 0x21FF), (0x2300, 0x23FF), (0x2500, 0x25FF), (0x2700, 0x27BF), (0x2800, 0x28FF))
"""Code points that plain mode replaces: arrows, technical signs, lines, blocks and shapes, dingbats, Braille."""


@lru_cache(maxsize=512)
def ascii_sign(sign: str) -> str:
    """Return the ASCII replacement for a character, or the character itself if it is no sign but a letter."""
    if sign in ASCII_SIGNS:
        return ASCII_SIGNS[sign]
    if not any(first <= ord(sign) <= last for first, last in _RANGES) or unicodedata.east_asian_width(sign) in "WF":
        return sign
    name = unicodedata.name(sign, "")
    if name.startswith("BOX DRAWINGS"):
        return "+" if " AND " in name else "-" if name.endswith("HORIZONTAL") else "|"
    return "#" if name.startswith(("BLOCK", "BLACK SQUARE", "QUADRANT", "BRAILLE")) else "*"


def to_ascii(text: str) -> str:
    """Return `text` with its signs (lines, blocks, arrows and others) replaced by ASCII of the same width."""
    return text if text.isascii() else "".join(map(ascii_sign, text))


_MIN_EDGE_CELLS = 12
"""Minimum length of a run of low bars (`▁`) that is drawn as the edge of a box, not as bars of height 1."""


class AsciiFilter(LineFilter):
    """A filter that replaces signs by ASCII in plain mode, and is disabled otherwise."""

    def switch(self, *, on: bool) -> None:
        """Turn plain mode on or off; keys are then shown as words, such as "up", or as signs."""
        self.enabled = on
        use_spelled_keys(is_spelled=on)

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - Textual's shape
        return [
            segment if segment.text.isascii() else _ascii_segment(segment.text, segment.style) for segment in segments
        ]


def _ascii_segment(text: str, style: Style | None) -> Segment:
    if set(text) == {"▁"} and len(text) >= _MIN_EDGE_CELLS:
        return Segment("_" * len(text), style)
    if style is not None and "@mouse.down" in style.meta:
        return Segment(" " * len(text), style)
    # In longer text a half-cell bar is not the cursor.
    return Segment(to_ascii(text.replace("▌", "▍") if len(text) > 2 else text), style)
