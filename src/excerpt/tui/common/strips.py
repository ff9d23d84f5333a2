"""Build lines of terminal cells: truncate text, join styled parts, draw bars. A wide character has two cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from excerpt.base.patterns import lazy_pattern

StyledPart = tuple[str, Style]
"""A part of a line: its text and style."""


_VARIANTS = lazy_pattern("[\ufe00-\ufe0f\U0001f3fb-\U0001f3ff]")
_JOINED_EMOJI = lazy_pattern("^\u200d+|(?:\u200d+[\u2190-\u2bff\U0001f000-\U0001faff])+")


@cache
def click_style(action: str) -> Style:
    """Return the style of a text that runs `action` of its widget when clicked, and is highlighted under the mouse.

    The style is cached, because each new style is another link for Textual, and a link drawn again would lose its
    highlight.
    """
    return Style.from_meta({"@click": action})


def remove_unstable_characters(text: str) -> str:
    """Return `text` without the characters whose width differs between terminals.

    These are variation selectors and skin tones of an emoji, all but the first of several joined emoji, and joiners
    with nothing before them. Without these, each character of the line appears in the cell that was computed.
    """
    return text if text.isascii() else _JOINED_EMOJI.sub("", _VARIANTS.sub("", text))


def text_cells(text: str) -> int:
    """Return the width in cells of `text`, which is one line without control characters."""
    return len(text) if text.isascii() else cell_len(text)


def fit(text: str, cells: int) -> str:
    """Return `text`, truncated with an ellipsis if it is wider than `cells` cells."""
    if cells <= 0:
        return ""
    text = remove_unstable_characters(text)
    if text_cells(text) <= cells:
        return text
    return set_cell_size(text, cells - 1).rstrip(" \u200d") + "…"


def fit_path(path: str, cells: int) -> str:
    """Return a path, shortened to `cells` cells: without its first folders, last of all without its name's end.

    Of a name with dots, as in Dendron, the parts before the dots are left out like folders.
    """
    folders = remove_unstable_characters(path).split("/")
    levels = folders[-1].split(".")
    shortened = (
        "/".join(folders),
        *(f"…/{'/'.join(folders[at:])}" for at in range(1, len(folders))),
        *(f"…{'.'.join(levels[at:])}" for at in range(1, len(levels) - 1)),
    )
    return next((each for each in shortened if text_cells(each) <= cells), fit(folders[-1], cells))


def truncate_parts(parts: Iterable[StyledPart], cells: int) -> list[StyledPart]:
    """Return `parts` as one line, truncated to `cells` cells in total."""
    fitted: list[StyledPart] = []
    cells_left = cells
    stable = [(remove_unstable_characters(text), style) for text, style in parts if text]
    for index, (text, style) in enumerate(stable):
        width = text_cells(text)
        has_more = index + 1 < len(stable)
        if width < cells_left or (width == cells_left and not has_more):
            fitted.append((text, style))
            cells_left -= width
            continue
        if cells_left > 0:
            fitted.append((fit(text + "…" if width == cells_left else text, cells_left), style))
        break
    return fitted


def line(left: Iterable[StyledPart], right: Sequence[StyledPart], width: int, base: Style) -> Strip:
    """Return a line of `width` cells: `left`, truncated if necessary, and `right` at the right end, on style `base`."""
    right = [(remove_unstable_characters(text), style) for text, style in right]
    right_width = sum(text_cells(text) for text, _ in right)
    fitted = truncate_parts(left, max(0, width - right_width - (1 if right else 0)))
    used = sum(text_cells(text) for text, _ in fitted)
    between = (" " * max(0, width - right_width - used), Style.null())
    segments = [Segment(text, base + style) for text, style in (*fitted, between, *right)]
    return Strip(segments, max(width, right_width + used)).adjust_cell_length(width, base)


def total_cells(parts: Iterable[StyledPart]) -> int:
    """Return the total width of the parts of a line in cells."""
    return sum(text_cells(remove_unstable_characters(text)) for text, _ in parts)


def parts_with_matches(text: str, matches: Iterable[tuple[int, int]], plain: Style, match: Style) -> list[StyledPart]:
    """Return `text` in parts: its matches, as (start, end), in style `match` and the rest in style `plain`."""
    parts: list[StyledPart] = []
    at = 0
    for start, end in matches:
        first = max(start, at)
        parts.append((text[at:first], plain))
        parts.append((text[first:end], match))
        at = max(at, end)
    parts.append((text[at:], plain))
    return [part for part in parts if text_cells(remove_unstable_characters(part[0]))]


# --- bars -------------------------------------------------------------------------------------------------------------

_HORIZONTAL_BARS = " ▏▎▍▌▋▊▉█"
_VERTICAL_BARS = " ▁▂▃▄▅▆▇█"


def horizontal_bar(share: float, cells: int) -> str:
    """Return a horizontal bar for `share` (0 to 1) in `cells` cells; a share above 0 fills at least 1/8 of a cell."""
    full, rest = divmod(_count_eighths(share, 8 * cells), 8)
    return ("█" * full + (_HORIZONTAL_BARS[rest] if rest else "")).ljust(cells)


def vertical_bar(share: float) -> str:
    """Return a vertical bar of one cell for `share` (0 to 1); a share above 0 fills at least 1/8 of the cell."""
    return _VERTICAL_BARS[_count_eighths(share, 8)]


def sparkline(counts: Sequence[float]) -> str:
    """Return one vertical bar for each count, relative to the highest count; a blank for 0."""
    maximum = max(counts, default=0)
    return "".join(vertical_bar(count / maximum if maximum else 0) for count in counts)


def _count_eighths(share: float, whole: int) -> int:
    return 0 if share <= 0 else max(1, min(whole, round(share * whole)))
