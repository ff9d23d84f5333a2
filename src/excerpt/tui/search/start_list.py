"""The start list, shown while there is no query: recent queries, memories with a changed source, the newest notes.

A vault without any of these has two of its headings, as queries to try.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.strip import Strip

from excerpt.service.engine_worker import QuestionQueue
from excerpt.service.memory_questions import AskStaleMemories
from excerpt.service.questions import AskFirstQueries, AskNewestNotes
from excerpt.text.display import visible_line
from excerpt.tui.active_keys import bindings
from excerpt.tui.common.row_list import RowList, distinguishing_folders
from excerpt.tui.common.strips import line

if TYPE_CHECKING:
    from excerpt.base.model import Memory
    from excerpt.insight.results import DatedNote
    from excerpt.memory.results import SourceCheck

_QUERIES, _MEMORIES, _NOTES, _HEADINGS = "recent queries", "changed memories", "newest notes", "queries to try"
"""The names of the parts, in their order."""
MAX_ROWS = 5
"""Maximum number of rows of each part."""
_MAX_HEADINGS = 2
"""Maximum number of headings to try as queries."""
_PART_CELLS = 18
"""Width in cells of the column with the names of the parts."""
_CHECK_BATCH = 8
"""Maximum number of sources that one question checks, in about 2 ms, so that it delays no search."""
_MAX_CHECKED = 200
"""Maximum number of sources that are checked, those of the newest memories."""


class StartRow(Struct, frozen=True):
    """A row of the start list; one of `query`, `memory_id` and `path` is set: what enter runs or opens.

    `folder` distinguishes a note from others of the same title; "" if there are none.
    """

    part: str
    text: str
    detail: str = ""
    query: str = ""
    memory_id: str = ""
    path: str = ""
    folder: str = ""


class StartController:
    """Collects the rows of the start list. `on_change` is called when they have changed."""

    def __init__(self, engine: QuestionQueue, *, on_change: Callable[[], object]) -> None:
        self._engine = engine
        self._on_change = on_change
        self._parts: dict[str, tuple[StartRow, ...]] = dict.fromkeys((_QUERIES, _MEMORIES, _NOTES, _HEADINGS), ())
        self._unchecked: list[Memory] = []
        self._stale: list[StartRow] = []

    def rows(self, room: int) -> tuple[StartRow, ...]:
        """Return the rows: at most `MAX_ROWS` of each part, and not more than `room` if each part then has a row."""
        parts = [part for part in self._parts.values() if part]
        counts = [1] * len(parts)
        for _ in range(MAX_ROWS - 1):
            for index, part in enumerate(parts):
                if sum(counts) < room and counts[index] < len(part):
                    counts[index] += 1
        return tuple(row for part, count in zip(parts, counts, strict=True) for row in part[:count])

    def request(self, queries: Sequence[str]) -> None:
        """Show these recent queries, the newest first, and request the newest notes."""
        self._store(_QUERIES, [StartRow(_QUERIES, query, query=query) for query in queries[:MAX_ROWS]])
        self._engine.ask(AskNewestNotes(MAX_ROWS), self._store_notes)

    def stop(self) -> None:
        """Cancel the requests for notes and memories, because a query was typed.

        Headings are still stored: they take .13 s in cpp-docs, and so are requested once.
        """
        self._engine.cancel("newest")
        self._engine.cancel("stale_memories")

    def check_memories(self, memories: Sequence[Memory]) -> None:
        """Request which of all `memories` have a changed source. Until the answer arrives, the previous rows stay."""
        newest = sorted(memories, key=lambda memory: memory.created, reverse=True)
        self._unchecked = [memory for memory in newest if memory.source is not None][:_MAX_CHECKED]
        self._stale = []
        self._engine.cancel("stale_memories")
        self._check_next()

    def _check_next(self) -> None:
        if self._unchecked and len(self._stale) < MAX_ROWS:
            batch, self._unchecked = self._unchecked[:_CHECK_BATCH], self._unchecked[_CHECK_BATCH:]
            self._engine.ask(AskStaleMemories(tuple(batch)), self._add_stale)
        else:
            self._store(_MEMORIES, self._stale[:MAX_ROWS])

    def _add_stale(self, checks: Sequence[SourceCheck]) -> None:
        for check in checks:
            text = check.memory.text.strip().partition("\n")[0]
            self._stale.append(StartRow(_MEMORIES, text, f"source {check.kind}", memory_id=check.memory.id))
        self._check_next()

    def _store_notes(self, notes: Sequence[DatedNote]) -> None:
        folders = distinguishing_folders({note.path: note.title for note in notes})
        self._store(
            _NOTES,
            [
                StartRow(_NOTES, note.title, note.day.isoformat(), path=note.path, folder=folders.get(note.path, ""))
                for note in notes
            ],
        )
        if notes or self._parts[_QUERIES]:
            self._store(_HEADINGS, ())
        elif len(self._parts[_HEADINGS]) < _MAX_HEADINGS:
            self._engine.ask(AskFirstQueries(_MAX_HEADINGS), self._store_headings)

    def _store_headings(self, headings: Sequence[str]) -> None:
        self._store(_HEADINGS, [StartRow(_HEADINGS, heading, query=heading) for heading in headings])

    def _store(self, part: str, rows: Sequence[StartRow]) -> None:
        if self._parts[part] != tuple(rows):
            self._parts[part] = tuple(rows)
            self._on_change()


class StartList(RowList):
    """The start list: as many rows as fit. Its cursor is drawn only while it has the focus."""

    ROW_HEIGHT = 1
    BINDINGS: ClassVar[list[BindingType]] = bindings("Search tab, focus on the start list")

    COMPONENT_CLASSES: ClassVar[set[str]] = {"start--part"}

    DEFAULT_CSS = """
    StartList > .start--part { color: $text-soft; text-style: bold; }
    """

    def __init__(self, start: StartController, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._start = start
        self.rows: tuple[StartRow, ...] = ()

    @property
    def row_count(self) -> int:
        return len(self.rows)

    @property
    def selected(self) -> StartRow | None:
        return self.rows[self.cursor] if self.rows else None

    def update_rows(self) -> None:
        """List the rows of the controller that fit, with the cursor on the same row if that is listed."""
        selected, rows = self.selected, self._start.rows(self.size.height)
        if rows != self.rows:
            self.rows = rows
            self.redraw_rows(rows.index(selected) if selected in rows else 0)

    def on_resize(self) -> None:
        super().on_resize()
        self.update_rows()

    def on_focus(self) -> None:
        self.redraw_row(self.cursor)

    def on_blur(self) -> None:
        self.redraw_row(self.cursor)

    def on_click(self, event: events.Click) -> None:
        """Select the clicked row. A click on a query also runs it; a double click opens a memory or a note."""
        super().on_click(event)
        is_on_row = self.row_at_line(event.y + self.scroll_offset.y) < self.row_count
        if self.selected is not None and is_on_row and (self.selected.query or event.chain == 2):
            self.call_next(self.app.run_action, "edit", self.query_ancestor("SearchPane"))

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
        shown = self.rows[row]
        if selected and not self.has_focus:
            selected, base = False, self.base_style
        is_first = not row or self.rows[row - 1].part != shown.part
        part = f" {shown.part if is_first else '':<{_PART_CELLS}}", self.style_of("start--part")
        folder = self.format_folder(shown.path, shown.folder, width // 3), self.style_of("row--faint")
        left = [self.cursor_bar(selected), part, self.vault_part(shown.path), (visible_line(shown.text), Style.null())]
        left.append(folder)
        return (line(left, [(f"{shown.detail} ", self.style_of("row--faint"))], width, base),)
