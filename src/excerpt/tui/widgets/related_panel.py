"""The related notes, nearest first, and below them why the selected one is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.reactive import reactive, var
from textual.strip import Strip

from excerpt.text.visible import visible_line
from excerpt.tui.bindings import bindings
from excerpt.tui.common.line_view import LineView
from excerpt.tui.common.notice import Notice, Said
from excerpt.tui.common.row_list import RowList
from excerpt.tui.common.strips import Part, fit, line, share_bar
from excerpt.tui.related_lines import Reason, WhyLine, first_reason, lines_of, reasons_of, why_lines

if TYPE_CHECKING:
    from excerpt.insight.related import Related, RelatedNote

_FOLDER_FROM = 58
"""Cells from which on folders and badges have room."""
_BAR = 8
_LINKS = {"to": "→", "from": "←", "both": "↔"}


class RelatedList(RowList):
    """One line for each note: title, folder, links, how near."""

    ROW_HEIGHT = 1
    BINDINGS: ClassVar[list[BindingType]] = bindings("Search, with related notes focused")

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "related--title",
        "related--soft",
        "related--badge",
        "related--bar",
        "related--mark",
    }

    DEFAULT_CSS = """
    RelatedList {
        height: auto;
        max-height: 40%;
        & > .related--title { text-style: bold; }
        & > .related--soft { color: $text-soft; }
        & > .related--badge { color: $warning; }
        & > .related--bar { color: $primary; }
        & > .related--mark { color: $secondary; text-style: bold; }
    }
    """

    notes: reactive[tuple[RelatedNote, ...]] = reactive((), init=False)
    marked: reactive[frozenset[str]] = reactive(frozenset(), init=False)
    """Ids of the marked fragments."""

    @property
    def row_count(self) -> int:
        return len(self.notes)

    def watch_notes(self) -> None:
        self.styles.height = max(1, len(self.notes))
        self.rows_changed()

    def watch_marked(self) -> None:
        self.rows_changed(self.cursor)

    async def action_pane(self, action: str) -> None:
        """Do what the pane around does by that name."""
        await self.app.run_action(action, self.query_ancestor("SearchPane"))

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
        note = self.notes[row]
        marked = any(match.there.fragment.id in self.marked for match in note.matches)
        left: list[Part] = [
            ("▌" if selected else " ", self.style_of("row--bar")),
            (f"{row + 1:>2} ", self.style_of("row--faint")),
            ("● " if marked else "  ", self.style_of("related--mark")),
            (visible_line(note.title), self.style_of("related--title")),
        ]
        folder = note.path.rpartition("/")[0]
        right: list[Part] = []
        if width >= _FOLDER_FROM:
            left.append((f"  {visible_line(folder)}/" if folder else "", self.style_of("related--soft")))
            right.append(("no link yet " if note.missing_link else "", self.style_of("related--badge")))
        sign = "!" if note.missing_link else _LINKS.get(note.linked, " ")
        right.append((f"{sign} ", self.style_of("related--badge" if note.missing_link else "related--soft")))
        highest = max(each.score for each in self.notes)
        right.append((share_bar(note.score / highest if highest > 0 else 0.0, _BAR), self.style_of("related--bar")))
        right.append((f" {note.score:.2f} ", self.style_of("row--faint")))
        return (line(left, right, width, base),)


class RelatedWhy(LineView, can_focus=False):
    """Why the selected note is related, the selected reason marked at the margin."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "why--label",
        "why--text",
        "why--soft",
        "why--match",
        "why--badge",
        "why--margin",
    }

    DEFAULT_CSS = """
    RelatedWhy {
        height: 1fr;
        border-top: solid $border-blurred;
        & > .why--label { color: $text-faint; }
        & > .why--soft { color: $text-soft; }
        & > .why--match { color: $match-foreground; background: $match-background; text-style: bold; }
        & > .why--badge { color: $warning; }
        & > .why--margin { color: $accent; }
    }
    """

    note: reactive[RelatedNote | None] = reactive(None, init=False)
    reason: reactive[int] = reactive(0, init=False)

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._lines: list[WhyLine] = []

    def watch_note(self) -> None:
        self._lay_out()
        self.scroll_to(y=0, animate=False, force=True, immediate=True)

    def watch_reason(self) -> None:
        self.refresh()
        rows = [row for row, each in enumerate(self._lines) if each.reason == self.reason]
        height = self.scrollable_content_region.height
        if rows and not (self.scroll_offset.y <= rows[0] and rows[-1] < self.scroll_offset.y + height):
            self.scroll_to(y=rows[0], animate=False, force=True)

    def on_resize(self) -> None:
        self._lay_out()

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width - 2
        self._lines = why_lines(self.note, width) if self.note is not None and width > 0 else []
        self.set_line_count(len(self._lines))

    def scroll_pages(self, pages: int) -> None:
        step = max(1, self.scrollable_content_region.height - 1)
        self.scroll_relative(y=pages * step, animate=False)

    def render_line(self, y: int) -> Strip:
        width, row = self.scrollable_content_region.width, y + self.scroll_offset.y
        if row >= len(self._lines):
            return Strip.blank(width, self.base_style)
        shown = self._lines[row]
        selected = shown.reason is not None and shown.reason == self.reason
        margin: Part = ("▌" if selected else " ", self._style("margin"))
        return line([margin, *((text, self._style(name)) for text, name in shown.pieces)], (), width, self.base_style)

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"why--{name}", partial=True)


class RelatedPanel(Vertical):
    """State: what is shown, or said in its place. Which reason of the selected note is looked at is `reason`."""

    related: var[Related | None] = var(None, init=False)
    said: var[Said] = var(Said("Related notes"), init=False)
    """What stands in the list's place when there is none."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self.rows = RelatedList(id="related-notes")
        self.why = RelatedWhy(id="related-why")

    def compose(self) -> ComposeResult:
        yield self.rows
        yield self.why
        yield Notice(id="related-notice")

    def on_mount(self) -> None:
        self.border_title = "related"
        self._show()

    @property
    def selected(self) -> RelatedNote | None:
        return self.rows.notes[self.rows.cursor] if self.rows.notes else None

    @property
    def reason(self) -> Reason | None:
        """The place that the selected reason names."""
        return reasons_of(self.selected)[self.why.reason] if self.selected is not None else None

    def step(self, by: int) -> None:
        """Look at another reason of the selected note, round and round."""
        if self.selected is not None:
            self.why.reason = (self.why.reason + by) % len(reasons_of(self.selected))

    def watch_related(self, old: Related | None, new: Related | None) -> None:
        """Asked again about the same, the cursor stays on its note."""
        same = old is not None and new is not None and (old.path, old.line) == (new.path, new.line)
        before = self.selected.path if same and self.selected is not None else ""
        self.rows.notes = new.notes if new is not None else ()
        paths = [note.path for note in self.rows.notes]
        self.rows.cursor = paths.index(before) if before in paths else 0
        self._show()

    def watch_said(self) -> None:
        self._show()

    def on_resize(self) -> None:
        self.border_title = self._title()

    @on(RowList.Moved)
    def _moved(self) -> None:
        self._show_why()

    def _show(self) -> None:
        notice, shown = self.query_one("#related-notice", Notice), self.related is not None and bool(self.related.notes)
        if self.related is not None and not shown:
            notice.said = Said("Nothing near", "No other note shares words, meaning or links with this.")
        else:
            notice.said = self.said
        notice.display, self.why.display = not shown, shown
        self.border_title = self._title()
        self._show_why()

    def _show_why(self) -> None:
        note = self.selected
        self.why.set_reactive(RelatedWhy.reason, first_reason(note) if note is not None else 0)
        self.why.note = note

    def _title(self) -> str:
        """Escaped, because Textual reads a border title as markup."""
        about = self.related
        if about is None:
            return "related"
        fragment = about.fragment
        where = " · the whole note"
        if fragment is not None:
            heading = f" › {visible_line(fragment.heading_path[-1])}" if fragment.heading_path else ""
            where = f"{heading} · {lines_of(fragment)}"
        name = f"related to {visible_line(about.title)}{where}"
        return fit(name, max(10, self.size.width - 6)).replace("[", r"\[")
