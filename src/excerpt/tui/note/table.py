"""Align the columns of a Markdown table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from excerpt.tui.common.line_drawing import StyledLine

_BAR = re.compile(r"(?<!\\)\|")
_IN_CODE = re.compile(r"`[^`\n]*`")
_WIDEST_TABLE = 200
"""Widest table, in cells, whose columns are aligned: no window shows a wider one side by side."""


def align_table(rows: Sequence[StyledLine], rule: int) -> bool:
    """Pad the cells of drawn `rows` to the width of their column, and draw row `rule` as a line.

    Returns False if the table is empty or wider than `_WIDEST_TABLE`; it is then left unchanged. A bar inside inline
    code is not taken as a border; a Markdown parser differs only where the bar breaks the code.
    """
    bars = [_bars(row.text) for row in rows]
    cells = [[_cell(row, *edges) for edges in _edges(row.text, index)] for row, index in zip(rows, bars, strict=True)]
    count = max((len(row_cells) for index, row_cells in enumerate(cells) if index != rule), default=0)
    widths = [
        max((cell_len(each[column]) for i, each in enumerate(cells) if i != rule and column < len(each)), default=0)
        for column in range(count)
    ]
    if not count or sum(widths) + 3 * count > _WIDEST_TABLE:
        return False
    for index, row in enumerate(rows):
        _pad(row, bars[index], cells[index], widths, is_rule=index == rule)
    return True


def _bars(text: str) -> list[int]:
    code = {index for match in _IN_CODE.finditer(text) for index in range(*match.span())}
    return [match.start() for match in _BAR.finditer(text) if match.start() not in code]


def _edges(text: str, bars: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each cell between the bars, and of any text before the first or after the last bar."""
    starts = [0, *(bar + 1 for bar in bars)]
    ends = [*bars, len(text)]
    for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if 0 < index < len(bars) or text[start:end].strip():
            yield start, end


def _cell(row: StyledLine, start: int, end: int) -> str:
    return row.shown_text(start, end).strip()


def _pad(row: StyledLine, bars: Sequence[int], cells: Sequence[str], widths: Sequence[int], *, is_rule: bool) -> None:
    """Hide the blanks of the cells, and draw each bar with the blanks that pad the cell before it."""
    text = row.text
    edges = list(_edges(text, bars))[: len(widths)]
    ending = {end: column for column, (_, end) in enumerate(edges)}
    beginning = {start for start, _ in edges}
    blank = "─" if is_rule else " "
    for column, (start, end) in enumerate(edges):
        if is_rule:
            row.replace(start, end, "─" * widths[column])
            continue
        content = text[start:end]
        row.hide(start, end - len(content.lstrip()))
        row.hide(max(start, start + len(content.rstrip())), end)
    for bar in bars:
        filler = ""
        if bar in ending:
            column = ending[bar]
            filler = blank * ((0 if is_rule else widths[column] - cell_len(cells[column])) + 1)
        is_inner = bar in ending and bar + 1 in beginning
        sign = "│" if not is_rule else "┼" if is_inner else "├" if bar + 1 in beginning else "┤"
        row.replace(bar, bar + 1, filler + sign + (blank if bar + 1 in beginning else ""))
