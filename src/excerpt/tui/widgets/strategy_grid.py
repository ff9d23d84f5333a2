"""Columns of strategies beside each other, and where the selected fragment stands in each."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from excerpt.text.counted import counted
from excerpt.text.visible import visible_line
from excerpt.tui.common.row_names import BETWEEN, path_below
from excerpt.tui.common.strips import Part, fit_parts
from excerpt.tui.strategy_columns import DEPTH, Column, Row, first_shown

_NARROWEST = 26
"""Cells of a column in which a title can be told from others."""
_HEAD = 3
"""Lines above the rows."""
_FOOT = 1
"""Lines below them: the whole name of what is selected."""


class StrategyGrid(Widget):
    """State: the selected column and row. As many columns are shown as there is room for."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "grid--name",
        "grid--chosen",
        "grid--soft",
        "grid--faint",
        "grid--move",
        "grid--same",
        "grid--cursor",
        "grid--bar",
    }

    DEFAULT_CSS = """
    StrategyGrid {
        height: 1fr;
        background: $surface;
        color: $foreground;
        & > .grid--name { text-style: bold; }
        & > .grid--chosen { color: $accent; text-style: bold underline; }
        & > .grid--soft { color: $text-soft; }
        & > .grid--faint { color: $text-faint; }
        & > .grid--move { color: $secondary; }
        & > .grid--same { color: $match-foreground; background: $match-background; text-style: bold; }
        & > .grid--cursor { background: $surface-active; }
        & > .grid--bar { color: $accent; }
    }
    """

    columns: reactive[tuple[Column, ...]] = reactive(())
    column: reactive[int] = reactive(0)
    row: reactive[int] = reactive(0)
    in_use: reactive[int] = reactive(0)
    """The column of the strategy in use, which the others are compared with."""

    class Chosen(Message):
        """The selected cell was clicked."""

    @property
    def selected(self) -> Row | None:
        """None in an empty column."""
        rows = self.columns[self.column].rows if self.columns else ()
        return rows[min(self.row, len(rows) - 1)] if rows else None

    def move(self, rows: int) -> None:
        if self.columns:
            last = len(self.columns[self.column].rows) - 1
            self.row = max(0, min(min(self.row, last) + rows, last))

    def step(self, columns: int) -> None:
        """To the next column, and there to the same fragment, if it has it."""
        fragment = self.selected
        at = max(0, min(self.column + columns, len(self.columns) - 1))
        if fragment is not None and self.columns:
            place = self.columns[at].place_of(fragment.fragment)
            self.row = self.row if place is None else place
        self.column = at

    # --- what is where ------------------------------------------------------------------------------------------------

    @property
    def _fitting(self) -> int:
        return max(1, min(len(self.columns), self.size.width // _NARROWEST))

    @property
    def _first(self) -> int:
        return first_shown(self.column, len(self.columns), self._fitting)

    @property
    def _top(self) -> int:
        """The first row in sight."""
        room = max(1, self.size.height - _HEAD - _FOOT)
        return max(0, min(self.row - room + 1, DEPTH - room)) if self.row >= room else 0

    def on_click(self, event: events.Click) -> None:
        if not self.columns:
            return
        column = min(self._first + event.x // (self.size.width // self._fitting), len(self.columns) - 1)
        row = self._top + event.y - _HEAD
        if (column, row) == (self.column, self.row):
            self.post_message(self.Chosen())
        self.column = column
        if 0 <= row < len(self.columns[column].rows):
            self.row = row

    def on_mouse_scroll_down(self) -> None:
        self.move(1)

    def on_mouse_scroll_up(self) -> None:
        self.move(-1)

    # --- drawing ------------------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if not self.columns:
            text = "Asking each strategy…" if y == 0 else ""
            return Strip([Segment(text, self.rich_style)]).adjust_cell_length(width, self.rich_style)
        if y >= self.size.height - _FOOT:
            return self._name_of_selected(width)
        each = width // self._fitting
        segments: list[Segment] = []
        for at in range(self._first, self._first + self._fitting):
            base, parts = self._cell(at, y)
            used = fit_parts(parts, each - 1)
            cells = [Segment(text, base + style) for text, style in used]
            segments.extend(Strip(cells).adjust_cell_length(each - 1, base))
            segments.append(Segment(" ", self.rich_style))
        return Strip(segments).adjust_cell_length(width, self.rich_style)

    def _name_of_selected(self, width: int) -> Strip:
        row = self.selected
        names = (visible_line(row.title), path_below(row.title, row.heading_path)) if row is not None else ()
        parts = fit_parts([(f" {BETWEEN.join(filter(None, names))}", self._ink("soft"))], width)
        segments = [Segment(text, self.rich_style + style) for text, style in parts]
        return Strip(segments).adjust_cell_length(width, self.rich_style)

    def _cell(self, at: int, y: int) -> tuple[Style, list[Part]]:
        """The ground and the text of one line of a column."""
        column = self.columns[at]
        if y < _HEAD:
            return self.rich_style, self._head(at, column)[y]
        number = self._top + y - _HEAD
        if number >= len(column.rows):
            nothing = "  nothing" if number == 0 else ""
            return self.rich_style, [(nothing, self._ink("faint"))]
        is_here = at == self.column and number == min(self.row, len(column.rows) - 1)
        base = self.get_component_rich_style("grid--cursor") if is_here else self.rich_style
        return base, self._row(column.rows[number], number, is_here=is_here)

    def _head(self, at: int, column: Column) -> list[list[Part]]:
        name = f"{column.strategy} ▸ {column.led}" if column.led is not column.strategy else str(column.strategy)
        hits = counted(column.matched, "hit")
        sure = f" · {column.confidence}" if column.confidence else ""
        compared = "in use" if at == self.in_use else f"shares {column.kept} of {len(column.rows)}"
        ink = self._ink("chosen" if at == self.column else "name")
        return [[("▌" if at == self.column else " ", self._ink("bar")), (name, ink)],
                [(f" {hits}{sure}", self._ink("soft"))],
                [(f" {compared}", self._ink("faint"))]]  # fmt: skip

    def _row(self, row: Row, number: int, *, is_here: bool) -> list[Part]:
        selected = self.selected
        is_same = selected is not None and selected.fragment == row.fragment and not is_here
        moved = "new" if row.move is None else f"{'↑' if row.move > 0 else '↓'}{abs(row.move)}" if row.move else ""
        path = path_below(row.title, row.heading_path)
        title = self._ink("same") if is_same else Style(bold=True)
        return [
            ("▌" if is_here else "•" if is_same else " ", self._ink("bar")),
            (f"{number + 1:>2} ", self._ink("faint")),
            (f"{moved:<4}", self._ink("move")),
            (visible_line(row.title), title),
            (f" › {path}" if path else "", self._ink("soft")),
        ]

    def _ink(self, name: str) -> Style:
        return self.get_component_rich_style(f"grid--{name}", partial=True)
