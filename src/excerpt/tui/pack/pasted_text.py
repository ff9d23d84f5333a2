"""The text of the pack as it will be pasted, below the list of its passages."""

from __future__ import annotations

from bisect import bisect_right

from rich.segment import Segment
from textual.geometry import Size
from textual.strip import Strip

from excerpt.service.packer import BuiltPack
from excerpt.text.display import format_count, visible_line
from excerpt.tui.common.line_drawing import StyledRun, TextStyle, wrap
from excerpt.tui.common.line_view import LineView
from excerpt.tui.common.strips import remove_unstable_characters

_LINES_ABOVE = 4
"""Lines of a source above its text in a Markdown pack, which stay visible with the beginning of the text."""


class PastedText(LineView, can_focus=False):
    """The text of the pack, wrapped to the width available.

    Lines are wrapped when they are about to be shown: a pack may have half a million characters.
    """

    DEFAULT_CSS = """
    PastedText {
        height: 1fr;
        border-top: solid $border-blurred;
        border-title-color: $text-soft;
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._pack: BuiltPack | None = None
        self._lines: list[str] = []
        self._rows: list[str] = []
        """The wrapped lines, as far as they have been shown."""
        self._first_rows: list[int] = []
        """For each wrapped line, the index of its first row."""
        self._width = 0
        self._top_line = 0
        """The line that was scrolled to the top last."""
        self._scrolled_row = 0
        """The row at the top after that."""

    def show(self, pack: BuiltPack | None) -> None:
        """Show the text of `pack` from its beginning, with its format and size; nothing for None."""
        if pack == self._pack:
            return
        self._pack = pack
        self._lines = pack.text.splitlines() if pack is not None else []
        self.border_title = self._format_border_title(pack)
        self._rewrap()
        self._scroll_to_line(0)

    def show_passage(self, number: int) -> None:
        """Scroll to passage `number`, from 0, unless a template leaves it out or writes it in another way."""
        if self._pack is None or number >= len(self._pack.result.passages):
            return
        text = self._pack.text
        start = self._pack.locate_passages()[number]
        if start is not None:
            lines_before = len(text[: start + 1].splitlines()) - 1
            self._scroll_to_line(max(0, lines_before - _LINES_ABOVE) if number else 0)

    def scroll_pages(self, pages: int) -> None:
        """Scroll down by a number of pages, up if negative. A page is the height less one line, which stays visible."""
        step = max(1, self.scrollable_content_region.height - 1)
        self.scroll_relative(y=pages * step, animate=False)

    def on_resize(self) -> None:
        """Wrap the text to the new width, with the same line at the top."""
        if self.scrollable_content_region.width == self._width:
            return
        if self.scroll_offset.y != self._scrolled_row:  # scrolled by the user
            self._top_line = max(0, bisect_right(self._first_rows, self.scroll_offset.y) - 1)
        self._rewrap()
        self._scroll_to_line(self._top_line)

    def render_line(self, y: int) -> Strip:
        width, row = self.scrollable_content_region.width, y + self.scroll_offset.y
        while len(self._rows) <= row and self._wrap_next_line():
            self.call_later(self._update_line_count)
        text = self._rows[row] if row < len(self._rows) else ""
        return Strip([Segment(f" {text}", self.base_style)]).adjust_cell_length(width, self.base_style)

    def _format_border_title(self, pack: BuiltPack | None) -> str:
        if pack is None:
            return ""
        size = f"{format_count(len(self._lines), 'line')}, {format_count(pack.result.tokens, 'token')}"
        return f"as it will be pasted · {pack.result.format} · {size}"

    def _rewrap(self) -> None:
        self._width = self.scrollable_content_region.width
        self._rows, self._first_rows = [], []
        self._update_line_count()

    def _scroll_to_line(self, line: int) -> None:
        """Scroll a line of the text to the top, as far as there are rows below it."""
        while len(self._first_rows) <= line and self._wrap_next_line():
            pass
        self._update_line_count()
        row = self._first_rows[line] if line < len(self._first_rows) else 0
        self.scroll_to(y=row, animate=False, force=True, immediate=True)
        self._top_line, self._scrolled_row = line, self.scroll_offset.y

    def _wrap_next_line(self) -> bool:
        """Wrap one line more; return False if all lines are wrapped."""
        if len(self._first_rows) == len(self._lines):
            return False
        line = remove_unstable_characters(visible_line(self._lines[len(self._first_rows)]))
        self._first_rows.append(len(self._rows))
        rows = wrap([StyledRun(line, TextStyle.PLAIN)], max(10, self._width - 1), 0)
        self._rows += ("".join(run.text for run in runs) for runs in rows)
        return True

    def _update_line_count(self) -> None:
        """Set the number of rows to scroll over, in which a line that is not wrapped yet counts as one."""
        lines = len(self._rows) + len(self._lines) - len(self._first_rows)
        if Size(self._width, lines) != self.virtual_size:
            self.set_line_count(lines)
