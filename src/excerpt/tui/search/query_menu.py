"""The menu below the query: completions, queries asked before, narrower and wider ones. The field keeps the focus."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.style import Style
from textual import events
from textual.content import Content
from textual.geometry import Offset
from textual.message import Message
from textual.strip import Strip

from excerpt.text.visible import visible_line
from excerpt.tui.common.row_list import RowList
from excerpt.tui.common.strips import Part, line, parts_with_matches

MOST_SHOWN, TALL = 8, 12
"""Rows in sight at most, so that the list below stays in sight too; more on a screen of 30 lines."""
_NARROWEST, _WIDEST = 26, 76
_BESIDE_KEYS = 6
"""Cells of the border that stand beside what is written in it, at both ends."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A row: choosing it makes the query `query`, with the cursor at `cursor` (-1 for its end).

    `label` is what it is called and `beside` what stands at its right; `kind` stands before it, faintly. What of the
    label matches `typed` is set off.
    """

    label: str
    query: str
    cursor: int = -1
    beside: str = ""
    kind: str = ""
    typed: str = ""


class QueryMenu(RowList, can_focus=False):
    """Open while it has choices."""

    ROW_HEIGHT = 1

    DEFAULT_CSS = """
    QueryMenu {
        display: none;
        overlay: screen;
        constrain: inside inside;
        background: $surface;
        border: round $border;
        border-title-color: $accent;
        border-subtitle-color: $text-soft;
        &.-open { display: block; }
    }
    """

    class Chosen(Message):
        """A row was clicked."""

        def __init__(self, choice: Choice) -> None:
            super().__init__()
            self.choice = choice

    def __init__(self) -> None:
        super().__init__()
        self.choices: tuple[Choice, ...] = ()
        self.kind = ""
        self._kinds = 0
        self._placed: tuple[int, int, Offset] | None = None

    @property
    def row_count(self) -> int:
        return len(self.choices)

    @property
    def is_open(self) -> bool:
        return bool(self.choices)

    @property
    def chosen(self) -> Choice | None:
        return self.choices[self.cursor] if self.choices else None

    def open(self, kind: str, title: str, keys: str, choices: Sequence[Choice], at: Offset) -> None:
        """Show choices of one kind below the cell `at` of the screen; none closes it. `keys` says what can be done."""
        if not choices:
            self.close()
            return
        self.kind = kind
        self.choices = tuple(choices)
        self._kinds = max(cell_len(choice.kind) for choice in choices)
        self.border_title = Content(title)
        self.border_subtitle = Content(keys)
        self._place(at, max(cell_len(title), cell_len(keys)) + _BESIDE_KEYS)
        self.rows_changed()
        if not self.has_class("-open"):
            self.add_class("-open")
            self.screen.refresh_bindings()

    def close(self) -> None:
        if self.is_open:
            self.choices = ()
            self.remove_class("-open")
            self.screen.refresh_bindings()

    def _place(self, at: Offset, least: int) -> None:
        """As large as its rows, and within the screen; laid out anew only where that is another size."""
        room = self.app.size
        widest = max(cell_len(c.label) + cell_len(c.beside) + self._kinds + 4 for c in self.choices)
        width = min(max(widest + 4, least, _NARROWEST), _WIDEST, room.width)
        height = min(len(self.choices), TALL if room.height >= 30 else MOST_SHOWN, max(room.height - at.y - 3, 2)) + 2
        offset = Offset(max(0, min(at.x, room.width - width)), at.y + 1)
        if self._placed != (width, height, offset):
            self._placed = width, height, offset
            self.styles.width, self.styles.height = width, height
            self.absolute_offset = offset

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
        choice = self.choices[row]
        faint = self.style_of("row--faint")
        left: list[Part] = [("▌" if selected else " ", self.style_of("row--bar"))]
        if self._kinds:
            left.append((f"{choice.kind:<{self._kinds}} ", faint))
        label = visible_line(choice.label)
        match = re.search(re.escape(choice.typed), label, re.IGNORECASE) if choice.typed else None
        spans = [match.span()] if match else []
        left += parts_with_matches(label, spans, Style(), self.style_of("row--match"))
        right: list[Part] = [(f"{choice.beside} ", faint)] if choice.beside else []
        return [line(left, right, width, base)]

    def on_click(self, event: events.Click) -> None:
        event.stop()
        at = event.get_content_offset(self)
        row = -1 if at is None else at.y + self.scroll_offset.y
        if 0 <= row < self.row_count:
            self.post_message(self.Chosen(self.choices[row]))
