"""alt+s: the queries that have names: run, save the one at hand, rename, delete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.style import Style
from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.strip import Strip
from textual.widgets import Input, Static

from excerpt.text.visible import visible_line
from excerpt.tui.bindings import bindings
from excerpt.tui.keymap import key_sign, shown_key
from excerpt.tui.query_keeper import QueryKeeper
from excerpt.tui.saved_queries import SavedQueries, SavedQueriesError, SavedQuery
from excerpt.tui.screens.dialog import Box, Dialog
from excerpt.tui.strips import fit, line
from excerpt.tui.widgets.field import Field
from excerpt.tui.widgets.row_list import RowList

_MOST_ROWS = 10
_NAME_SHARE = 0.5
"""The most of a row that a name takes."""
_HINTS = (("saved-run", "run"), ("saved-save", "save"), ("saved-delete", "delete"), ("saved-rename", "rename"))


class SavedList(RowList):
    """A name and its query, one line each."""

    ROW_HEIGHT = 1
    BINDINGS: ClassVar[list[BindingType]] = bindings("Saved queries, with the list focused")

    DEFAULT_CSS = """
    SavedList { background: $surface; height: auto; }
    """

    class Chosen(Message):
        """Run the selected one."""

    def __init__(self) -> None:
        super().__init__()
        self.queries: tuple[SavedQuery, ...] = ()

    @property
    def row_count(self) -> int:
        return len(self.queries)

    @property
    def selected(self) -> SavedQuery | None:
        return self.queries[self.cursor] if self.queries else None

    def show(self, saved: SavedQueries, name: str) -> None:
        """Show these, with the cursor on that name, or on the row where it is."""
        self.queries = saved.queries
        self.styles.height = min(len(self.queries), _MOST_ROWS)
        named = saved.named(name)
        self.rows_changed(self.queries.index(named) if named is not None else self.cursor)

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
        saved = self.queries[row]
        widest = max(cell_len(visible_line(one.name)) for one in self.queries)
        room = min(widest, int(width * _NAME_SHARE))
        name = fit(visible_line(saved.name), room)
        name += " " * (room - cell_len(name))
        bar = ("▌" if selected else " ", self.style_of("row--bar"))
        return [
            line(
                (bar, (f"{name}  ", Style()), (visible_line(saved.query), self.style_of("row--faint"))), (), width, base
            )
        ]

    def on_click(self, event: events.Click) -> None:
        super().on_click(event)
        self.post_message(self.Chosen())


class Saved(Dialog[str]):
    """Dismissed with the query to run."""

    DEFAULT_CSS = """
    Saved {
        #saved-hint { color: $text-soft; margin-bottom: 1; max-height: 2; text-overflow: ellipsis; }
        #saved-trouble { color: $error; display: none; margin-top: 1; &.-done { color: $foreground; } }
        #saved-name { display: none; margin-top: 1; background: $surface-active; }
        .-naming #saved-name, .-troubled #saved-trouble { display: block; }
    }
    """

    def __init__(self, keeper: QueryKeeper, query: str) -> None:
        """`query` is the one at hand, "" for none."""
        super().__init__()
        self._keeper = keeper
        self._query = query
        self._renamed: SavedQuery | None = None
        self._deleted: list[SavedQuery] = []

    def compose(self) -> ComposeResult:
        with Box() as box:
            box.border_title = "Saved queries"
            yield Static(id="saved-hint")
            yield SavedList()
            yield Field(id="saved-name", compact=True)
            yield Static(id="saved-trouble")

    async def on_mount(self) -> None:
        try:
            saved = await self._keeper.saved()
        except SavedQueriesError as error:
            self._tell(str(error))
            saved = SavedQueries()
        else:
            if not saved.queries and self._query:
                self._begin_naming(self._query)
        self._show(saved, (saved.of(self._query) or SavedQuery("", "")).name)

    @property
    def _rows(self) -> SavedList:
        return self.query_one(SavedList)

    @property
    def _field(self) -> Field:
        return self.query_one("#saved-name", Field)

    @property
    def _naming(self) -> bool:
        return self.query_one(Box).has_class("-naming")

    def _show(self, saved: SavedQueries, name: str = "") -> None:
        self._rows.show(saved, name)
        if self._naming:
            wanted = self._renamed.query if self._renamed is not None else self._query
            hint = f"A name for the query: {visible_line(wanted)}"
        elif saved.of(self._query) is None and self._query:
            hint = f"{key_sign('saved-save')} saves the query at hand: {visible_line(self._query)}"
        elif not saved.queries:
            hint = f"Nothing is saved yet: type a query, come back with {key_sign('saved')}, and give it a name."
        else:
            hint = ""
        self.query_one("#saved-hint", Static).update(Content(hint))
        self.query_one("#saved-hint").display = bool(hint)
        box, leave = self.query_one(Box), key_sign("dialog-leave")
        if self._naming:
            box.hint(f"{shown_key('enter')} keep", f"{leave} {'back' if saved.queries else 'close'}")
        else:
            hints = [f"{key_sign(id_)} {label}" for id_, label in _HINTS if saved.queries]
            box.hint(*hints, f"{leave} close")
        (self._field if self._naming else self._rows).focus()

    # --- what the keys do ---------------------------------------------------------------------------------------------

    @on(SavedList.Chosen)
    def action_run(self) -> None:
        if (saved := self._rows.selected) is not None:
            self.dismiss(saved.query)

    def action_save(self) -> None:
        if self._query:
            self._begin_naming(self._query)
            self._show(SavedQueries(self._rows.queries))
        else:
            self._tell("There is no query to save: type one first.")

    def action_rename(self) -> None:
        if (saved := self._rows.selected) is not None:
            self._renamed = saved
            self._begin_naming(saved.name)
            self._show(SavedQueries(self._rows.queries), saved.name)

    async def action_delete(self) -> None:
        if (saved := self._rows.selected) is not None:
            self._deleted.append(saved)
            await self._change(lambda every: every.without(saved.name))
            self._tell(
                f"{visible_line(saved.name)} is deleted; {key_sign('saved-undo')} brings it back.", trouble=False
            )

    async def action_undo(self) -> None:
        if self._deleted:
            saved = self._deleted.pop()
            await self._change(lambda every: every.saved(saved.name, saved.query), saved.name)

    def action_leave(self) -> None:
        if self._naming and self._rows.queries:
            self._stop_naming()
            self._show(SavedQueries(self._rows.queries))
        else:
            self.dismiss(None)

    # --- names --------------------------------------------------------------------------------------------------------

    def _begin_naming(self, beginning: str) -> None:
        self._tell("")
        self.query_one(Box).add_class("-naming")
        self._field.value = beginning
        self._field.select_all()

    def _stop_naming(self) -> None:
        self._renamed = None
        self.query_one(Box).remove_class("-naming")

    @on(Input.Submitted)
    async def _named(self) -> None:
        name = " ".join(self._field.value.split())
        other = SavedQueries(self._rows.queries).named(name)
        renamed, query = self._renamed, self._query
        if not name:
            self._tell("It needs a name.")
        elif other is not None and other != renamed:
            self._tell(f"{visible_line(other.name)} is another query's name: choose another, or delete that one first.")
        else:
            self._stop_naming()
            if renamed is not None:
                await self._change(lambda every: every.renamed(renamed.name, name), name)
            else:
                await self._change(lambda every: every.saved(name, query), name)

    async def _change(self, change: Callable[[SavedQueries], SavedQueries], name: str = "") -> None:
        self._tell("")
        try:
            saved = await self._keeper.change(change)
        except SavedQueriesError as error:
            self._tell(str(error))
            saved = SavedQueries(self._rows.queries)
        self._show(saved, name)

    def _tell(self, what: str, *, trouble: bool = True) -> None:
        said = self.query_one("#saved-trouble", Static)
        said.set_class(not trouble, "-done")
        said.update(Content(what))
        self.query_one(Box).set_class(bool(what), "-troubled")
