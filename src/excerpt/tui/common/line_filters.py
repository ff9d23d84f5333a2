"""The last look at what goes to the terminal, line by line: nothing in it may be obeyed, and in the plain mode no sign
is drawn that a screen reader or a terminal has none of.

Both come after every widget, so that what Textual draws (borders, scrollbars, fields that text was pasted into) and
what stands in a note goes through them as well. A widget need not know of the plain mode: it draws the sign, and a test
holds every sign in the code to be in the table here. What is copied or remembered is the note's own text as ever.
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

from excerpt.text.display import obeyed, visible_line
from excerpt.tui.keymap import spell_keys

_SUSPECT = re.compile(f"[\\x00-\\x1f{obeyed()}]")
# A joiner before such a character is measured with it, and without it would join what stands behind.
_WITH_JOINERS = re.compile(f"\u200d*{_SUSPECT.pattern}")


class Harmless(LineFilter):
    """Takes the place of each such character: with a sign where it was given a cell, with nothing where it was not, so
    that lines stay as wide as they were laid out."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:  # noqa: ARG002 - Textual's shape
        if not any(_is_suspect(segment.text) for segment in segments):
            return segments
        return [
            Segment(_WITH_JOINERS.sub(_shown, segment.text), segment.style, segment.control)
            if _is_suspect(segment.text)
            else segment
            for segment in segments
        ]


def _is_suspect(text: str) -> bool:
    return not (text.isascii() and text.isprintable()) and _SUSPECT.search(text) is not None


def _shown(found: re.Match[str]) -> str:
    return visible_line(found[0][-1]) * cell_len(found[0])


# --- the plain mode ---------------------------------------------------------------------------------------------------

SIGNS: Mapping[str, str] = {
    # Where one is, and what was chosen.
    "▌": ">",  # the selected row
    "┃": "#",  # in the pack, at the margin
    "≈": "~",  # near in meaning, at the margin
    "▐": "|",
    "▎": "|",  # the fragment, at the margin; a quote
    "▍": "|",
    "▏": "|",
    "●": "*",  # marked
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
    "✕": "]",  # takes the filter before it off
    "▣": "#",  # an embedded note or picture
    "•": "*",  # an item
    "⚠": "!",
    "★": "*",
    "☆": ".",
    # Ways and moves.
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
    "⋯": "~",
    "−": "-",
    "×": "x",
    "│": "|",
    "─": "-",
    "┼": "+",
    "├": "+",
    "┤": "+",
}
"""What is not here and is drawn is of a note, or of Textual: see `plain_sign`."""

PUNCTUATION = frozenset("…–“”‘’")
"""Stays as it is, like letters: notes are full of it."""

_RANGES = ((0x2190, 0x21FF), (0x2300, 0x23FF), (0x2500, 0x25FF), (0x2700, 0x27BF), (0x2800, 0x28FF))
"""Arrows, technical signs, lines, blocks and shapes, dingbats, Braille: what the plain mode draws none of."""


@lru_cache(maxsize=512)
def plain_sign(sign: str) -> str:
    """The ASCII sign for one character, or the character itself where it is a letter of some script."""
    if sign in SIGNS:
        return SIGNS[sign]
    if not any(first <= ord(sign) <= last for first, last in _RANGES) or unicodedata.east_asian_width(sign) in "WF":
        return sign
    name = unicodedata.name(sign, "")
    if name.startswith("BOX DRAWINGS"):
        return "+" if " AND " in name else "-" if name.endswith("HORIZONTAL") else "|"
    return "#" if name.startswith(("BLOCK", "BLACK SQUARE", "QUADRANT", "BRAILLE")) else "*"


def plainly(text: str) -> str:
    """`text` with ASCII in the place of lines, blocks and other signs, as wide as before; letters stay."""
    return text if text.isascii() else "".join(map(plain_sign, text))


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
