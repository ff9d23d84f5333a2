"""Shares and counts as something to look at: bars of eighths of a cell, and lines of one bar a count."""

from __future__ import annotations

from collections.abc import Sequence

_LYING = " ▏▎▍▌▋▊▉█"
_STANDING = " ▁▂▃▄▅▆▇█"


def share_bar(share: float, cells: int) -> str:
    """`share` of `cells`, 0 to 1, always `cells` wide; what is more than nothing is seen."""
    full, rest = divmod(_eighths(share, 8 * cells), 8)
    return ("█" * full + (_LYING[rest] if rest else "")).ljust(cells)


def sparkline(counts: Sequence[float]) -> str:
    """One bar a count, as high as it is beside the highest; none for 0."""
    highest = max(counts, default=0)
    return "".join(_STANDING[_eighths(count / highest if highest else 0, 8)] for count in counts)


def _eighths(share: float, whole: int) -> int:
    return 0 if share <= 0 else max(1, min(whole, round(share * whole)))
