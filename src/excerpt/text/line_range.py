"""Lines of a note as they are written: one line is one number, for readers and in packs alike."""

from __future__ import annotations


def line_range(first: int, last: int, dash: str = "-") -> str:
    """`8-12`, or `8` for one line; lines are 1-based and inclusive. On screen the dash is `–`."""
    return str(first) if first == last else f"{first}{dash}{last}"


def lines_named(first: int, last: int, dash: str = "-") -> str:
    """The same within a sentence: `lines 8-12`, or `line 8`."""
    return f"line{'' if first == last else 's'} {line_range(first, last, dash)}"
