"""Every sign that the screen draws besides letters, with the ASCII sign that stands for it in the plain mode.

A widget draws the sign; `excerpt.tui.plain` puts the other in its place as the line goes to the terminal, one cell for
one. So a widget need not know of the plain mode, and a test holds every sign in the code to be in this table.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import lru_cache

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
