"""Text, numbers, lines and times for display, without characters that a terminal would interpret."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache

# --- visible ----------------------------------------------------------------------------------------------------------
# Characters that a terminal would interpret are made visible, so that text of a vault can be printed.
#
# Each is replaced by one character, so that spans into the text stay valid. Zero-width joiners are kept: Persian and
# emoji need them, and they neither move the cursor nor reorder text.

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
    """Return `text`, of the same length, with every control except tab and line feed shown as a character."""
    return text if text.isascii() and text.isprintable() else text.translate(_TEXT)


def visible_line(text: str) -> str:
    """Return `visible` text for one line, as a title, heading or path: tabs and line feeds are shown too."""
    return text if text.isascii() and text.isprintable() else text.translate(_LINE)


def escape_characters() -> str:
    """Return the characters from DEL on that `visible_line` replaces, as a regular expression's set."""
    return "\x7f" + "".join(f"{chr(codes[0])}-{chr(codes[-1])}" for codes in _runs())


def visible_json(text: str) -> str:
    """Return JSON equal to `text`, with every such character written as an escape."""
    return _in_json().sub(_escape_character, text)


@cache
def _in_json() -> re.Pattern[str]:
    """Return the pattern for characters to escape; those below a space are escaped in any JSON."""
    return re.compile(f"[{escape_characters()}]")


def _runs() -> Iterator[Sequence[int]]:
    for codes in _OTHERS:
        yield from [codes] if isinstance(codes, range) else ([code] for code in codes)


def _escape_character(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


# --- counted ----------------------------------------------------------------------------------------------------------
# Numbers of things, and shares, in words.


def extend_border(border: str, text: str) -> str:
    """Return `border`, repeated until it is longer than any run of its sign in `text`."""
    if border not in text:
        return border
    return border[0] * max(len(run) + 1 for run in re.findall(f"{border}+", text))


def format_count(number: int, singular: str, plural: str = "") -> str:
    """Return a number with its noun: `1 note`, `2,000 notes`."""
    return f"{number:,} {singular if number == 1 else plural or f'{singular}s'}"


def percent(share: float, between: str = " ") -> str:
    """Return a share as `36 %`. 0 % and 100 % are used only for exact values."""
    rounded = f"{min(share, 0.99) if share < 1 else share:.0%}"
    return ("<1%" if rounded == "0%" and share else rounded).replace("%", f"{between}%")


# --- line range -------------------------------------------------------------------------------------------------------
# Ranges of lines as text: a single line is one number, on the screen and in packs.


def line_range(first: int, last: int, dash: str = "-") -> str:
    """Return `8-12`, or `8` for one line. Lines are 1-based and inclusive; on the screen the dash is `–`."""
    return str(first) if first == last else f"{first}{dash}{last}"


def format_lines(first: int, last: int, dash: str = "-") -> str:
    """Return a range of lines for a sentence: `lines 8-12`, or `line 8`."""
    return f"line{'' if first == last else 's'} {line_range(first, last, dash)}"


def location(path: str, first: int, last: int, inner: str = "") -> str:
    """Return a location on one line: `path:first-last`, or `path#place` in a file with places instead of lines."""
    return visible_line(f"{path}#{inner}" if inner else f"{path}:{line_range(first, last)}")


# --- times ------------------------------------------------------------------------------------------------------------
# Times for display, in the local time zone.


def local_time(stamp: str) -> str:
    """Return an ISO 8601 time as `2026-03-01 14:05` in local time; text that cannot be parsed is returned as it is."""
    try:
        local = datetime.fromisoformat(stamp)
    except ValueError:
        return stamp
    with suppress(OverflowError, OSError, ValueError):  # a year outside the range of this system
        local = local.astimezone()
    return local.replace(tzinfo=None).isoformat(" ", "minutes")


def local_day(stamp: str) -> str:
    """Return the local day of an ISO 8601 time."""
    return local_time(stamp)[:10]


def format_age(timestamp: float, now: float) -> str:
    """Return an age in at most four cells: `now` within an hour, then `7h`, `9d`, `6w`, `14mo`, `3y`.

    Both times are in seconds since 1970.
    """
    hours = max(0, int(now - timestamp)) // 3600
    days = hours // 24
    if hours < 1:
        return "now"
    if days < 2:
        return f"{hours}h"
    if days < 14:
        return f"{days}d"
    if days < 63:
        return f"{days // 7}w"
    if days < 730:
        return f"{days // 30}mo"
    return f"{min(days // 365, 999)}y"


def title_and_headings(title: str, heading_path: Sequence[str]) -> str:
    """Return `Title › Heading › Heading`, without a first heading that repeats the title."""
    return " › ".join((title, *headings_below(title, heading_path)))


def headings_below(title: str, heading_path: Sequence[str]) -> Sequence[str]:
    """Return the headings without a first one that repeats the title."""
    return heading_path[1:] if heading_path and heading_path[0] == title else heading_path
