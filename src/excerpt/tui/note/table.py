"""Align the columns of a Markdown table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from excerpt.base.patterns import lazy_pattern
from excerpt.tui.common.line_drawing import StyledLine

_BAR = lazy_pattern(r"(?<!\\)\|")
_IN_CODE = lazy_pattern(r"`[^`\n]*`")
_MAX_TABLE_CELLS = 200
"""Maximum width in cells of a table whose columns are aligned: no terminal shows a wider one without wrapping."""


def align_table(rows: Sequence[StyledLine], rule_row: int) -> bool:
    """Pad the cells of a table's rows to the width of their column, and draw row `rule_row` as a line.

    `rule_row` is the index of the row of dashes below the header. Returns False if the table is empty or wider than
    `_MAX_TABLE_CELLS`; the rows are then unchanged. A bar inside inline code does not end a cell, although a Markdown
    parser ends the cell there if the bar breaks the code.
    """
    bars = [_find_bars(row.text) for row in rows]
    cells = [
        [_shown_cell_text(row, *edges) for edges in _iterate_cell_ranges(row.text, index)]
        for row, index in zip(rows, bars, strict=True)
    ]
    count = max((len(row_cells) for index, row_cells in enumerate(cells) if index != rule_row), default=0)
    widths = [
        max((cell_len(each[column]) for i, each in enumerate(cells) if i != rule_row and column < len(each)), default=0)
        for column in range(count)
    ]
    if not count or sum(widths) + 3 * count > _MAX_TABLE_CELLS:
        return False
    for index, row in enumerate(rows):
        _pad_row(row, bars[index], cells[index], widths, is_rule=index == rule_row)
    return True


def _find_bars(text: str) -> list[int]:
    code = {index for match in _IN_CODE.finditer(text) for index in range(*match.span())}
    return [match.start() for match in _BAR.finditer(text) if match.start() not in code]


def _iterate_cell_ranges(text: str, bars: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each cell: between two bars, or text before the first or after the last bar."""
    starts = [0, *(bar + 1 for bar in bars)]
    ends = [*bars, len(text)]
    for index, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if 0 < index < len(bars) or text[start:end].strip():
            yield start, end


def _shown_cell_text(row: StyledLine, start: int, end: int) -> str:
    return row.shown_text(start, end).strip()


def _pad_row(
    row: StyledLine, bars: Sequence[int], cells: Sequence[str], widths: Sequence[int], *, is_rule: bool
) -> None:
    """Hide the blanks around the text of the cells, and draw each bar after blanks that pad the cell before the bar.

    `bars` are the columns of the bars, `cells` the texts of the cells, `widths` the widths of the table's columns.
    """
    text = row.text
    edges = list(_iterate_cell_ranges(text, bars))[: len(widths)]
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
