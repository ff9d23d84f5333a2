"""The panel that lists the passages of the pack and what was left out."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from excerpt.base.kinds import Scope
from excerpt.base.model import Hit, Pack
from excerpt.pack.memory_fragment import memory_id_of
from excerpt.service.packer import BuiltPack, LeftOutRow
from excerpt.text.display import format_count, line_range, visible_line
from excerpt.tui.active_keys import bindings
from excerpt.tui.common.row_list import RowList, format_place, join_headings
from excerpt.tui.common.split import Split
from excerpt.tui.common.strips import StyledPart, line
from excerpt.tui.keymap import key_sign
from excerpt.tui.pack.controller import PackController
from excerpt.tui.pack.labels import scope_label
from excerpt.tui.pack.pasted_text import PastedText

_NAME_CELLS = 26
"""Minimum cells for names (title and headings): a column of equal scopes is left out if names had less room."""
_MIN_NAME_CELLS = 18
"""Minimum cells for names: columns of scopes and reasons are left out if names had less room."""
_MIN_ROWS = 2
"""Minimum rows of the list, which an empty pack needs for its text."""
_EMPTY_TEXT = "The pack is empty. Type a query: the pack takes its best hits, or only your marks."

_COLUMN_STYLES = ("row--faint", "pack--heading", "pack--why")
"""Component classes of the three columns: lines, scope and reason."""


class PackPanelContents(Struct, frozen=True):
    """What the pack panel shows: a pack, and the data for the reasons of its passages.

    `marked_ids` are the ids of the marked fragments, `ranks` the ranks of the hits, from 1, by fragment id. `order` is
    `vault order`, `own order`, or "" for the order of the scores.
    """

    built_pack: BuiltPack
    marked_ids: frozenset[str]
    ranks: Mapping[str, int]
    order: str = ""

    @property
    def rows(self) -> tuple[Pack | LeftOutRow, ...]:
        """The passages of the pack, then the hits that were left out of the pack."""
        return (*self.built_pack.result.passages, *self.built_pack.left_out)


class PackPanelSelection(Struct, frozen=True):
    """The number of the selected row of the pack panel, from 0.

    Of the `row_count` rows, the first `passage_count` are passages of the pack, the others were left out. `is_dropped`:
    the user has dropped the selected row.
    """

    row: int = 0
    passage_count: int = 0
    row_count: int = 0
    is_dropped: bool = False

    @property
    def is_passage(self) -> bool:
        """Whether the selected row is a passage that is in the pack."""
        return self.row < self.passage_count

    @property
    def not_in_pack_reason(self) -> str:
        """Why the selected row is not in the pack, as a sentence; "" if it is a passage of the pack."""
        if self.is_passage:
            return ""
        if self.is_dropped:
            return f"Put it back first ({key_sign('pack-drop')})."
        return "This hit is not in the pack." if self.row_count else "The pack is empty."


class PackRows(RowList):
    """A list of the passages in the pack, then of the hits that were left out, one line each."""

    ROW_HEIGHT = 1
    BINDINGS: ClassVar[list[BindingType]] = bindings("Search tab, focus on the pack")

    COMPONENT_CLASSES: ClassVar[set[str]] = {"pack--title", "pack--heading", "pack--number", "pack--why", "pack--out"}

    DEFAULT_CSS = """
    PackRows {
        & > .pack--title { text-style: bold; }
        & > .pack--heading { color: $text-soft; }
        & > .pack--number { color: $text-faint; }
        & > .pack--why { color: $secondary; }
        & > .pack--out { color: $warning; }
    }
    """

    contents: reactive[PackPanelContents | None] = reactive(None, init=False)

    def __init__(
        self,
        controller: PackController,
        on_decision: Callable[[bool], object],
        *,
        best_hits: Callable[[], Sequence[Hit]],
    ) -> None:
        """Create the list.

        `on_decision` is called after each key of the list: with True if the choices changed. `best_hits` returns the
        hits in order of rank.
        """
        super().__init__()
        self._best_hits = best_hits
        self._controller = controller
        self._on_decision = on_decision

    def on_mount(self) -> None:
        self.border_title = self._format_border_title(None)

    @property
    def row_count(self) -> int:
        return len(self.contents.rows) if self.contents is not None else 0

    @property
    def selected(self) -> Pack | LeftOutRow | None:
        return self.contents.rows[self.cursor] if self.contents is not None and self.row_count else None

    @property
    def selected_pack(self) -> Pack | None:
        """The selected passage of the pack; None if the selected row was left out."""
        return self.selected if isinstance(self.selected, Pack) else None

    def watch_contents(self, old: PackPanelContents | None, new: PackPanelContents | None) -> None:
        """Keep the cursor on the selected passage, or on the same row if that passage is gone."""
        selected = old.rows[self.cursor] if old is not None and self.cursor < len(old.rows) else None
        packs = new.built_pack.result.passages if new is not None else ()
        entries = [pack.entry.fragment_id for pack in packs]
        entry = selected.entry.fragment_id if isinstance(selected, Pack) else ""
        self.redraw_rows(entries.index(entry) if entry in entries else self.cursor)
        self.border_title = self._format_border_title(new)

    def show_pack(self) -> None:
        """List the passages of the newest pack, each with the rank of its hit."""
        pack = self._controller
        ranks = {hit.fragment.id: rank for rank, hit in enumerate(self._best_hits(), start=1)}
        self.contents = (
            PackPanelContents(pack.newest_pack, pack.choices.marked_ids, ranks, pack.order)
            if pack.newest_pack is not None
            else None
        )

    # --- actions ------------------------------------------------------------------------------------------------------

    @property
    def selection(self) -> PackPanelSelection:
        """The number of the selected row, the numbers of passages and rows, and whether the row is dropped."""
        passages, row = len(self.contents.built_pack.result.passages) if self.contents is not None else 0, self.selected
        return PackPanelSelection(self.cursor, passages, self.row_count, isinstance(row, LeftOutRow) and row.is_dropped)

    @property
    def key_state(self) -> PackPanelSelection:
        """The state by which actions of the panel are enabled or disabled."""
        return self.selection

    def disabled_reason(self, action: str, parameters: tuple[object, ...]) -> str:
        """Return why an action of this panel is disabled, as a sentence; "" if the action is enabled."""
        return pack_disabled_reason(action, self.selection, parameters)

    def action_drop(self) -> None:
        """Drop the selected passage from the pack, or restore a dropped passage."""
        row = self.selected
        self._on_decision(row is not None and self._controller.drop_or_restore(row))

    def action_shift(self, steps: int) -> None:
        """Move the selected passage down by `steps` rows, up if negative."""
        self._on_decision(self.selected_pack is not None and self._controller.move_pack(self.cursor, steps))

    def action_own_scope(self) -> None:
        """Open a dialog to choose a scope for the selected passage alone."""
        from excerpt.tui.pack.dialogs import ScopeDialog

        pack = self.selected_pack

        def use(scope: Scope | None) -> None:
            self._on_decision(pack is not None and scope is not None and self._controller.use_scope(pack, scope))

        if pack is not None:
            self.app.push_screen(ScopeDialog(self._controller, pack), use)

    # --- drawing ------------------------------------------------------------------------------------------------------

    def _format_border_title(self, contents: PackPanelContents | None) -> str:
        """Return the title: how much was left out, and the order. What is in the pack is counted in its bar."""
        if contents is None:
            return "pack"
        count, comments = len(contents.built_pack.left_out), contents.built_pack.result.left_out_comments
        out = f"{count} left out" if count else ""
        hidden = f"{format_count(comments, 'comment')} left out" if comments else ""
        return " · ".join(filter(None, ("pack", out, hidden, contents.order)))

    def render_line(self, y: int) -> Strip:
        if self.row_count:
            return super().render_line(y)
        width = self.scrollable_content_region.width
        text = "".join(textwrap.wrap(_EMPTY_TEXT, max(width - 4, 10))[y : y + 1])
        return line([(f"  {text}", self.style_of("pack--heading"))], (), width, self.base_style)

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
        assert self.contents is not None
        content = self.contents.rows[row]
        bar = self.cursor_bar(selected)
        left, right = (
            self._draw_pack(row, content, width) if isinstance(content, Pack) else self._draw_left_out(content)
        )
        return (line([bar, *left], right, width, base),)

    def _draw_pack(self, row: int, pack: Pack, width: int) -> tuple[list[StyledPart], list[StyledPart]]:
        assert self.contents is not None
        left: list[StyledPart] = [
            (f"{row + 1:>2} ", self.style_of("pack--number")),
            self.vault_part(pack.path),
            (visible_line(pack.title), self.style_of("pack--title")),
        ]
        path = join_headings(pack.title, pack.heading_path)
        left.append((f" › {path}" if path else "", self.style_of("pack--heading")))
        right: list[StyledPart] = []
        columns = zip(self._column_texts(pack), self._column_widths(width), _COLUMN_STYLES, strict=True)
        for text, cells, name in columns:
            if cells:
                pad = " " * (cells - cell_len(text))
                right.append((f"  {pad}{text}" if name == "row--faint" else f"  {text}{pad}", self.style_of(name)))
        right.append(self._draw_tokens(self.contents.built_pack.result.costs[row]))
        return left, right

    def _column_texts(self, pack: Pack) -> tuple[str, str, str]:
        """Return the lines, the scope and the reason of a passage; a memory has "" for lines and scope."""
        if memory_id_of(pack.path) is not None:
            return "", "", self._pack_reason(pack)
        cut = " […]" if pack.cut_above or pack.cut_below else ""
        lines = format_place(pack.place, pack.line_start, pack.line_end)
        if (header := pack.table_header) is not None:
            lines = f"{line_range(header.line_start, header.line_end, '–')}, {lines}"
        return lines, scope_label(pack.scope) + cut, self._pack_reason(pack)

    def _column_widths(self, width: int) -> tuple[int, int, int]:
        """Return the width of each column in cells: its widest cell, or 0 where names would get no room."""
        assert self.contents is not None
        texts = [self._column_texts(pack) for pack in self.contents.built_pack.result.passages]
        lines, scope, why = (max(map(cell_len, column)) for column in zip(*texts, strict=True))
        room = width - 4 - 9 - (lines + scope + why + 6)
        is_uniform = len({scope for _, scope, _ in texts if scope}) == 1
        if room < (_NAME_CELLS if is_uniform else _MIN_NAME_CELLS):
            room, scope = room + scope + 2, 0
        return lines, scope, why if room >= _MIN_NAME_CELLS else 0

    def _pack_reason(self, pack: Pack) -> str:
        """Return why a passage is in the pack: `marked`, `2 marks`, `hit 3`, `hits 3, 4`, or `hits 3, 4…` for more."""
        assert self.contents is not None
        marks = len(self.contents.marked_ids.intersection(pack.fragment_ids))
        if marks:
            return "marked" if marks == 1 else format_count(marks, "mark")
        ranks = sorted(self.contents.ranks[each] for each in pack.fragment_ids if each in self.contents.ranks)
        if not ranks:
            return ""
        return f"hit {ranks[0]}" if len(ranks) == 1 else f"hits {ranks[0]}, {ranks[1]}{'…' if len(ranks) > 2 else ''}"

    def _draw_left_out(self, row: LeftOutRow) -> tuple[list[StyledPart], list[StyledPart]]:
        parts: list[StyledPart] = [
            (" – ", self.style_of("pack--number")),
            (visible_line(row.reason), self.style_of("pack--out")),
            (f" · {visible_line(row.path)}", self.style_of("pack--heading")),
        ]
        lines = line_range(row.line_start, row.line_end, "–") if row.line_start else ""
        return parts, [(f"{lines:>9}", self.style_of("row--faint")), self._draw_tokens(row.tokens)]

    def _draw_tokens(self, tokens: int) -> StyledPart:
        text = f"{tokens:,}t"
        return f"{' ' * max(1, 8 - cell_len(text))}{text} ", self.style_of("row--faint")


class PackPanel(Vertical):
    """The panel of the pack: the list of its passages, and below it the text that will be pasted."""

    DEFAULT_CSS = """
    PackPanel {
        display: none;
        height: 1fr;
        &.-open { display: block; }
        PackRows {
            max-height: 50%;
            min-height: 4;
            border-top: solid $border-blurred;
            border-title-color: $text-soft;
            &:focus { border-top: solid $accent; border-title-color: $accent; }
        }
    }
    """

    def __init__(self, rows: PackRows, split: Split, focus_list: Callable[[], object]) -> None:
        """Create the panel of `rows`, to be shown in `split`. `focus_list` focuses the list of hits."""
        super().__init__(id="packed", classes="panel")
        self.rows = rows
        self._pasted = PastedText()
        self._split = split
        self._focus_list = focus_list
        self._opener: Widget | None = None
        """The widget that had the focus when the panel was opened."""

    def compose(self) -> ComposeResult:
        yield self.rows
        yield self._pasted

    def toggle(self) -> None:
        """Open the panel and focus it, or close the panel if it has the focus already."""
        if self.rows.has_focus:
            self.close()
        else:
            self.open()

    def open(self) -> None:
        """Open the panel and focus it."""
        if not self.rows.has_focus:
            self._opener = self.screen.focused
        self.add_class("-open")
        self._split.panel = True
        self.show_pack()
        self.rows.focus()

    def close(self) -> bool:
        """Close the panel; return False if it was closed already. Its focus returns to where the panel was opened."""
        was_open, had_focus = self._split.panel, self.rows.has_focus
        self.remove_class("-open")
        self._split.panel = False
        if had_focus and self._opener in self.screen.focus_chain:
            self.screen.set_focus(self._opener)
        elif had_focus:
            self._focus_list()
        return was_open

    def show_pack(self) -> None:
        """Show the newest pack: its passages, and the text to paste."""
        self.rows.show_pack()
        contents = self.rows.contents
        self.rows.styles.height = max(self.rows.row_count, _MIN_ROWS) + 1
        self._pasted.show(contents.built_pack if contents is not None else None)
        self._show_selected_text()

    @on(RowList.Moved)
    def _show_selected_text(self) -> None:
        self._pasted.show_passage(self.rows.cursor)

    def scroll_pages(self, pages: int) -> None:
        """Scroll the text to paste down by a number of pages, up if negative."""
        self._pasted.scroll_pages(pages)


def pack_disabled_reason(action: str, selection: PackPanelSelection, parameters: tuple[object, ...] = ()) -> str:
    """Return why an action of the pack panel is disabled, as a sentence; "" if the action is enabled.

    `parameters` are those of the action, as Textual passes them.
    """
    if action == "drop":
        return "" if selection.row_count else "The pack is empty."
    if action == "own_scope":
        return selection.not_in_pack_reason
    return _shift_disabled_reason(selection, parameters) if action == "shift" else ""


def _shift_disabled_reason(selection: PackPanelSelection, parameters: tuple[object, ...]) -> str:
    if not selection.is_passage:
        return selection.not_in_pack_reason
    if selection.passage_count == 1:
        return "A pack of one passage has no other order."
    end = "last" if parameters == (1,) else "first"
    at_end = selection.row == (selection.passage_count - 1 if end == "last" else 0)
    return f"The passage is the {end} one of the pack already." if at_end else ""
