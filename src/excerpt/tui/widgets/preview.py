"""The context of the selected fragment: a window of its note, line numbers, the fragment marked at the margin."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.reactive import reactive
from textual.strip import Strip

from excerpt.pack.memory_fragment import memory_id_of
from excerpt.text.visible import visible_line
from excerpt.tui.inked_line import DrawnLine, Ink, Run
from excerpt.tui.note_window import NoteWindow
from excerpt.tui.strips import fit
from excerpt.tui.widgets.line_view import LineView
from excerpt.tui.wrapping import wrap

_INKS = {
    Ink.PROPERTY: "ink--property",
    Ink.QUOTE: "ink--quote",
    Ink.HEADING: "ink--heading",
    Ink.CALLOUT: "ink--callout",
    Ink.CODE: "ink--code",
    Ink.LINK: "ink--link",
    Ink.TAG: "ink--tag",
    Ink.BOLD: "ink--bold",
    Ink.ITALIC: "ink--italic",
    Ink.STRIKE: "ink--strike",
    Ink.DONE: "ink--done",
    Ink.FAINT: "ink--faint",
    Ink.HIGHLIGHT: "ink--highlight",
    Ink.MATCH: "ink--match",
}
"""Each ink's component class; of several on one run, the later lies over the earlier."""

_LEAD = 2
"""Lines of context above the fragment when it comes into view."""


def _place(window: NoteWindow | None) -> tuple[str, int] | None:
    """Where the fragment begins: an edited one is another, in the same place."""
    return (window.fragment.path, window.fragment.line_start) if window is not None else None


class Preview(LineView):
    """A window of a note, wrapped to the width it has."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"line--number", "line--margin", "line--neighbour", *_INKS.values()}

    DEFAULT_CSS = """
    Preview {
        & > .line--number { color: $text-faint; }
        & > .line--margin { color: $accent; }
        & > .line--neighbour { color: $text-soft; }
        & > .ink--property { color: $primary; }
        & > .ink--quote { text-style: italic; }
        & > .ink--heading { color: $primary; text-style: bold; }
        & > .ink--callout { color: $secondary; }
        & > .ink--code { color: $ink-code; background: $surface; }
        & > .ink--link { color: $primary; text-style: underline; }
        & > .ink--tag { color: $secondary; }
        & > .ink--bold { text-style: bold; }
        & > .ink--italic { text-style: italic; }
        & > .ink--strike { text-style: strike; }
        & > .ink--done { color: $text-faint; text-style: strike; }
        & > .ink--faint { color: $text-faint; }
        & > .ink--highlight { background: $highlight-background; }
        & > .ink--match { color: $match-foreground; background: $match-background; text-style: bold; }
    }
    """

    window: reactive[NoteWindow | None] = reactive(None, init=False)

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._rows: list[tuple[DrawnLine, int, list[Run]]] = []
        self._style_for = lru_cache(maxsize=256)(self._combined_style)

    def watch_window(self, old: NoteWindow | None, new: NoteWindow | None) -> None:
        self.border_title = self._title(new)
        self._wrap()
        if _place(old) != _place(new):
            self.scroll_to(y=self._first_row_of_fragment(), animate=False, force=True, immediate=True)

    def on_resize(self) -> None:
        at = self._line_at_top()
        self._wrap()
        self.border_title = self._title(self.window)
        if self.window is not None and at is not None:
            self.scroll_to(y=self._row_of_line(at), animate=False)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._style_for.cache_clear()

    def scroll_pages(self, pages: int) -> None:
        """Move by pages, one line of them kept in sight."""
        step = max(1, self.scrollable_content_region.height - 1)
        self.scroll_relative(y=pages * step, animate=False)

    def _title(self, window: NoteWindow | None) -> str:
        """Escaped, because Textual reads a border title as markup."""
        if window is None:
            return ""
        fragment = window.fragment
        lines = f"{fragment.line_start}–{fragment.line_end} of {window.line_count:,}"
        named = fragment.path if memory_id_of(fragment.id) is None else " › ".join(("Memory", *fragment.heading_path))
        path = fit(visible_line(named), max(10, self.size.width - len(lines) - 8))
        return f"{path} · {lines}".replace("[", r"\[")

    def _wrap(self) -> None:
        window = self.window
        rows: list[tuple[DrawnLine, int, list[Run]]] = []
        if window is not None:
            width = max(10, self.scrollable_content_region.width - self._gutter)
            for drawn in window.lines:
                for part, runs in enumerate(wrap(drawn.runs, width, drawn.hang)):
                    rows.append((drawn, part, runs))
        self._rows = rows
        self.set_line_count(len(rows) + self._above + self._below)

    @property
    def _gutter(self) -> int:
        last = self.window.lines[-1].number if self.window and self.window.lines else 0
        return len(str(last)) + 3

    @property
    def _above(self) -> int:
        return 1 if self.window is not None and self.window.above else 0

    @property
    def _below(self) -> int:
        return 1 if self.window is not None and self.window.below else 0

    def _row_of_line(self, number: int) -> int:
        found = (row for row, (drawn, _, _) in enumerate(self._rows) if drawn.number >= number)
        return next(found, 0) + self._above

    def _first_row_of_fragment(self) -> int:
        if self.window is None:
            return 0
        lead = _LEAD if self.scrollable_content_region.height > 6 else 0
        return max(0, self._row_of_line(self.window.fragment.line_start) - lead)

    def _line_at_top(self) -> int | None:
        row = self.scroll_offset.y - self._above
        return self._rows[row][0].number if 0 <= row < len(self._rows) else None

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        row = y + self.scroll_offset.y - self._above
        window = self.window
        if window is None or row < -1 or row > len(self._rows):
            return Strip.blank(width, self.base_style)
        if row == -1:
            return self._note_rest(f"⋯ {window.above:,} lines above", width)
        if row == len(self._rows):
            return self._note_rest(f"⋯ {window.below:,} lines below" if window.below else "", width)
        drawn, part, runs = self._rows[row]
        inside = window.fragment.line_start <= drawn.number <= window.fragment.line_end
        number = f"{drawn.number:>{self._gutter - 3}} " if part == 0 else " " * (self._gutter - 2)
        segments = [
            Segment(number, self.get_component_rich_style("line--number")),
            Segment("▎" if inside else " ", self.get_component_rich_style("line--margin")),
            Segment(" " * (1 + (min(drawn.hang, width // 2) if part else 0)), self.base_style),
        ]
        segments += [Segment(run.text, self._style_for(run.ink, inside)) for run in runs]
        return Strip(segments, sum(cell_len(s.text) for s in segments)).adjust_cell_length(width, self.base_style)

    def _note_rest(self, text: str, width: int) -> Strip:
        style = self.get_component_rich_style("line--number")
        return Strip([Segment(" " * self._gutter + text, style)]).adjust_cell_length(width, self.base_style)

    def _combined_style(self, ink: Ink, inside: bool) -> Style:
        """Within the fragment an ink has its colours; in a neighbour only its weight and lines."""
        style = self.base_style if inside else self.get_component_rich_style("line--neighbour")
        for one, name in _INKS.items():
            if one in ink:
                colours = self.get_component_rich_style(name, partial=True)
                style += colours if inside or one is Ink.MATCH else colours.without_color
        return style
