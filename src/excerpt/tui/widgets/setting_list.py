"""Settings, one line each: what it is called, its value, where that stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from excerpt.text.visible import visible_line
from excerpt.tui.bindings import bindings
from excerpt.tui.setting_rows import Kind, Origin, Row, shown_value
from excerpt.tui.strips import Part, line
from excerpt.tui.widgets.row_list import RowList

_LABEL = 16
"""Cells of the column of names."""


class SettingList(RowList):
    """The selected value stands between arrows where left and right change it."""

    ROW_HEIGHT = 1
    BINDINGS: ClassVar[list[BindingType]] = bindings("Settings, with the list focused")
    COMPONENT_CLASSES: ClassVar[set[str]] = {"setting--value", "setting--own"}

    DEFAULT_CSS = """
    SettingList {
        background: $surface;
        & > .setting--value { color: $accent; }
        & > .setting--own { color: $text-soft; }
    }
    """

    rows: reactive[tuple[Row, ...]] = reactive((), init=False)

    class Stepped(Message):
        """The arrow before (-1) or behind (1) the selected value was clicked."""

        def __init__(self, steps: int) -> None:
            super().__init__()
            self.steps = steps

    @property
    def row_count(self) -> int:
        return len(self.rows)

    @property
    def selected(self) -> Row | None:
        return self.rows[self.cursor] if self.rows else None

    def watch_rows(self) -> None:
        self.rows_changed(self.cursor)

    def on_click(self, event: events.Click) -> None:
        """A click on the row that is selected already changes it, by its arrows or onward."""
        if (event.y + self.scroll_offset.y) // self.ROW_HEIGHT == self.cursor and event.x > _LABEL:
            self.post_message(self.Stepped(-1 if event.x < _LABEL + 3 else 1))
        else:
            super().on_click(event)

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
        one = self.rows[row]
        faint = self.style_of("row--faint")
        arrows = ("‹ ", " ›") if selected and one.field.kind is not Kind.TEXT else ("  ", "")
        left: list[Part] = [
            ("▌" if selected else " ", self.style_of("row--bar")),
            (f"{one.field.label:<{_LABEL - 1}}", Style.null()),
            (arrows[0], faint),
            (visible_line(shown_value(one)), self.style_of("setting--value")),
            (arrows[1], faint),
        ]
        where = "this vault has its own" if one.overruled else one.origin.value
        own = self.style_of("setting--own" if one.overruled or one.origin is not Origin.DEFAULT else "row--faint")
        return (line(left, [(f" {where} ", own)] if width >= 44 else [], width, base),)
