"""Make the characters visible that a terminal would obey, so that vault text can be printed.

Each is replaced by one character, so spans into the text stay true. Zero-width joiners stay: Persian and emoji are
spelt with them, and they neither move the cursor nor reorder text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

_REPLACED = "\N{REPLACEMENT CHARACTER}"

_C0 = {code: chr(0x2400 + code) for code in range(0x20)} | {0x7F: "\N{SYMBOL FOR DELETE}"}
_OTHERS = (
    range(0x80, 0xA0),  # C1: CSI, OSC and others as single characters
    (0x061C, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029, 0x2060, 0xFEFF),  # marks of direction and width, line separators
    range(0x202A, 0x202F),  # bidi embeddings and overrides
    range(0x2066, 0x2070),  # bidi isolates, deprecated format characters
    range(0xD800, 0xE000),  # lone surrogates: file names that are not UTF-8
    range(0xFFF9, 0xFFFC),  # interlinear annotation
    range(0xE0000, 0xE0080),  # tags
)
_LINE = _C0 | {code: _REPLACED for codes in _OTHERS for code in codes}
_TEXT = {code: shown for code, shown in _LINE.items() if code not in (0x09, 0x0A)}


def visible(text: str) -> str:
    """`text`, of the same length, with every control but tab and line feed shown as a character."""
    return text if text.isascii() and text.isprintable() else text.translate(_TEXT)


def visible_line(text: str) -> str:
    """`visible` for what must stay on one line: titles, headings, paths. Tabs and line feeds are shown too."""
    return text if text.isascii() and text.isprintable() else text.translate(_LINE)


def obeyed() -> str:
    """Return what `visible_line` replaces but what is below a space, as it stands between the brackets of a regular
    expression."""
    return "\x7f" + "".join(f"{chr(codes[0])}-{chr(codes[-1])}" for codes in _runs())


def visible_json(text: str) -> str:
    """JSON that says the same as `text`, with every such character written as an escape."""
    return _in_json().sub(_escaped, text)


@cache
def _in_json() -> re.Pattern[str]:
    """Those below a space have escapes in any JSON."""
    return re.compile(f"[{obeyed()}]")


def _runs() -> Iterator[Sequence[int]]:
    for codes in _OTHERS:
        yield from [codes] if isinstance(codes, range) else ([code] for code in codes)


def _escaped(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
