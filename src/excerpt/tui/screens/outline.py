"""The headings of a note, to go to one of them; the context follows while one looks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.strip import Strip

from excerpt.model import Section
from excerpt.text.visible import visible_line
from excerpt.tui.bindings import bindings
from excerpt.tui.keymap import key_sign
from excerpt.tui.screens.dialog import Dialog
from excerpt.tui.strips import line
from excerpt.tui.widgets.row_list import RowList


class Headings(RowList):
    """One row a heading, as far in as it is below the highest."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("Outline, with the list focused")
    ROW_HEIGHT = 1

    def __init__(self, headings: Sequence[Section], *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._headings = headings
        self._highest = min((one.level for one in headings), default=1)

    @property
    def row_count(self) -> int:
        return len(self._headings)

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
        heading = self._headings[row]
        indent = "  " * (heading.level - self._highest)
        bar, faint = ("▌" if selected else " "), self.style_of("row--faint")
        left = ((bar, self.style_of("row--bar")), (f" {indent}{visible_line(heading.heading)}", Style()))
        return (line(left, [(f"{heading.line_start:,} ", faint)], width, base),)


class Outline(Dialog[int]):
    """Dismissed with the line of the heading that was gone to, or None. `show` has a line come into sight; `line` is
    the one in sight now."""

    DEFAULT_CSS = """
    Outline {
        align: left middle;
        background: $background 0%;
        & > Headings {
            width: 46%;
            min-width: 40;
            max-width: 84;
            height: auto;
            max-height: 90%;
            border: round $accent;
            background: $surface;
            border-title-color: $accent;
            border-title-style: bold;
            border-subtitle-color: $text-soft;
        }
        &.-narrow { align: center top; }
        &.-narrow > Headings { width: 100%; max-width: 100%; max-height: 50%; }
    }
    """

    def __init__(self, sections: Sequence[Section], line: int, show: Callable[[int], object]) -> None:
        super().__init__()
        self._named = [one for one in sections if one.level]
        self._line = line
        self._show = show

    def compose(self) -> ComposeResult:
        headings = Headings(self._named, id="headings")
        headings.border_title = "Outline"
        headings.border_subtitle = Content(f"{key_sign('outline-choose')} stay here · {key_sign('dialog-leave')} back")
        yield headings

    def on_mount(self) -> None:
        headings = self.query_one(Headings)
        at = [row for row, one in enumerate(self._named) if one.line_start <= self._line]
        headings.rows_changed(at[-1] if at else 0)
        headings.styles.height = min(len(self._named), 200) + 2
        headings.focus()

    @on(RowList.Moved)
    def _moved(self, event: RowList.Moved) -> None:
        event.stop()
        self._show(self._named[event.row].line_start)

    def action_choose(self) -> None:
        at = self._named[self.query_one(Headings).cursor].line_start
        self._show(at)
        self.dismiss(at)
