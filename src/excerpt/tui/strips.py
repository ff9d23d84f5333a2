"""Lines of cells for the line-drawn widgets: fitted to a width, with an ellipsis, wide characters counted as two."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

Part = tuple[str, Style]
"""Text on one line, and its style."""


_UNSTEADY = re.compile(
    "[\ufe00-\ufe0f\U0001f3fb-\U0001f3ff]"
    "|\u200d[\u2190-\u2bff\U0001f000-\U0001faff][\ufe00-\ufe0f\U0001f3fb-\U0001f3ff]*"
)


def steady(text: str) -> str:
    """`text` without what terminals do not agree on the width of: variants and skin colours of an emoji, and all but
    the first of several joined to one. What stands behind them in the line is then where it is thought to be."""
    return text if text.isascii() else _UNSTEADY.sub("", text)


def fit(text: str, cells: int) -> str:
    """`text`, cut to `cells` with an ellipsis where it is longer."""
    if cells <= 0:
        return ""
    text = steady(text)
    if cell_len(text) <= cells:
        return text
    return set_cell_size(text, cells - 1).rstrip(" \u200d") + "…"


def fit_parts(parts: Iterable[Part], cells: int) -> list[Part]:
    """`parts`, cut to `cells` as one line; the ellipsis stands where the cut is."""
    fitted: list[Part] = []
    left = cells
    kept = [(steady(text), style) for text, style in parts if text]
    for index, (text, style) in enumerate(kept):
        width = cell_len(text)
        more = index + 1 < len(kept)
        if width < left or (width == left and not more):
            fitted.append((text, style))
            left -= width
            continue
        if left > 0:
            fitted.append((fit(text + "…" if width == left else text, left), style))
        break
    return fitted


def line(left: Iterable[Part], right: Sequence[Part], width: int, base: Style) -> Strip:
    """One line: `left` from the left, `right` whole at the right end, `base` beneath all of it."""
    right = [(steady(text), style) for text, style in right]
    right_width = sum(cell_len(text) for text, _ in right)
    room = max(0, width - right_width - (1 if right else 0))
    segments = [Segment(text, base + style) for text, style in fit_parts(left, room)]
    used = sum(cell_len(segment.text) for segment in segments)
    segments.append(Segment(" " * max(0, width - right_width - used), base))
    segments.extend(Segment(text, base + style) for text, style in right)
    return Strip(segments).adjust_cell_length(width, base)


def cells_of(parts: Iterable[Part]) -> int:
    """How wide `parts` are when they are drawn."""
    return sum(cell_len(steady(text)) for text, _ in parts)


def parts_with_matches(text: str, matches: Iterable[tuple[int, int]], plain: Style, match: Style) -> list[Part]:
    """`text` in parts: what matches (start, end) in one style, the rest in the other."""
    parts: list[Part] = []
    at = 0
    for start, end in matches:
        first = max(start, at)
        parts.append((text[at:first], plain))
        parts.append((text[first:end], match))
        at = max(at, end)
    parts.append((text[at:], plain))
    return [part for part in parts if cell_len(part[0])]
