"""The part of the Search tab that helps with the query: its filters, its history, what completes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.geometry import Offset
from textual.timer import Timer
from textual.widgets.input import Selection

from excerpt.settings import Settings
from excerpt.text.counted import counted
from excerpt.text.visible import visible_line
from excerpt.tui.completion import Begun, begun_at, completed, is_typed
from excerpt.tui.engine_worker import EngineWorker
from excerpt.tui.history import QueryHistory, Walk
from excerpt.tui.keymap import key_sign
from excerpt.tui.messages import CopyRequested, EditRequested, RememberRequested
from excerpt.tui.query_keeper import QueryKeeper
from excerpt.tui.widgets.pack_desk import PackDesk
from excerpt.tui.widgets.query_bar import QueryBar, QueryInput, QueryStatus, Stretch
from excerpt.tui.widgets.query_menu import Choice, QueryMenu

if TYPE_CHECKING:
    from excerpt.tui.query_questions import Completed, QueryRead, Suggested

_TYPED = 0.8
"""Seconds a query stands before it is told what of it does not do what it looks like: half of it may be missing."""
_ASKED = 2.0
"""Seconds a query stands with its hits before it belongs to the history: by then, someone reads them."""
_TAKEN_BY_MENU = frozenset({"move", "mark", "edit", "back"})
"""Actions of the pane whose keys are the menu's while it is open."""


class QueryDesk(PackDesk):
    """State: the queries asked before and a walk through them, the word being completed, what waits for a pause."""

    def __init__(self, settings: Settings, engine: EngineWorker, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(settings, engine, id=id)
        self.asked_before = QueryHistory()
        self._queries: QueryKeeper | None = None
        self._walk: Walk | None = None
        self._before = ""
        self._typing = False
        self._begun: Begun | None = None
        self._left_at = -1
        self._by_key = False
        self._completions_asked = 0
        self._pauses: list[Timer] = []

    @property
    def query_text(self) -> str:
        return self.query_one("#query", QueryInput).value

    @property
    def _bar(self) -> QueryBar:
        return self.query_one(QueryBar)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in _TAKEN_BY_MENU and any(menu.is_open for menu in self.query(QueryMenu)):
            return False
        return super().check_action(action, parameters)

    # --- what is typed ------------------------------------------------------------------------------------------------

    def follow_query(self, query: str) -> None:
        """The text of the query became this; by now it may be another, which is told next."""
        before, self._before = self._before, query
        self._typing = is_typed(before, query)
        if query != self.query_text:
            return
        self.read_query()
        if self._typing:
            self._follow_typing()
        else:
            self._bar.menu.close()

    def read_query(self) -> None:
        """Have the query read anew: its text is another, or the vault is."""
        for pause in self._pauses:
            pause.stop()
        self.query_one(QueryStatus).doubt = ""
        query = self.query_text
        if not query.strip():
            self._engine.forget("reading")
            self._bar.field.stretches = ()
            return
        from excerpt.tui.query_questions import AskReading

        self._engine.ask_insight(AskReading(query, thoroughly=False))
        self._pauses = [self.set_timer(_TYPED, self._doubt), self.set_timer(_ASKED, self.note_query_that_stood)]

    def _doubt(self) -> None:
        if self._bar.menu.is_open and self._bar.menu.kind == "complete":
            # Who is shown what to type need not be told that it is missing.
            self._pauses.append(self.set_timer(_TYPED, self._doubt))
        else:
            from excerpt.tui.query_questions import AskReading

            self._engine.ask_insight(AskReading(self.query_text, thoroughly=True))

    def on_query_read(self, message: QueryRead) -> None:
        message.stop()
        query = self.query_text
        if message.query != query:
            return
        reading = message.reading
        # One that is typed last and may go on is a word to who types it.
        ended = [one for one in reading.conditions if not (one.open and self._typing)]
        filters = [Stretch(one.start, one.end, query[one.start : one.end]) for one in ended]
        doubts = [Stretch(d.start, d.end, query[d.start : d.end], doubtful=True) for d in reading.doubts]
        self._bar.field.stretches = (*filters, *doubts)
        self.query_one(QueryStatus).doubt = visible_line(reading.doubts[0].said) if reading.doubts else ""

    # --- queries asked before -----------------------------------------------------------------------------------------

    async def keep_queries(self, keeper: QueryKeeper) -> None:
        """Keep what is asked from now on, and know what was asked before."""
        self._queries = keeper
        self.asked_before = await keeper.history()

    def note_query_that_stood(self) -> None:
        if self.result is not None and self.result.hits and self.result.query == self.query_text.strip():
            self.note_query()

    @on(EditRequested)
    @on(CopyRequested)
    @on(RememberRequested)
    def note_query(self) -> None:
        """The query belongs to the history: someone has read its hits, or done something with them."""
        query = self.query_text.strip()
        if self._queries is None or not query or query == next(iter(self.asked_before.queries), ""):
            return
        self.asked_before = self.asked_before.asked(query)
        self.run_worker(self._queries.asked(query), group="history")

    def move_in_history(self, rows: int) -> bool:
        """What up and down do in an empty bar and on the way through the history; False where they move the list."""
        field = self._bar.field
        walk = self._walk
        whole = Selection(0, len(field.value))
        if walk is None or not field.value or field.value != walk.query or field.selection != whole:
            walk = None
        if not field.has_focus or (walk is None and (field.value or rows > 0)):
            return False
        moved = (walk or Walk(self.asked_before)).moved(-rows)
        if moved is None:
            if walk is not None and rows > 0:
                self._walk = None
                field.cursor_position = len(field.value)
                return False
            return walk is not None
        self._walk = moved
        self._bar.put(moved.query)
        # Selected, so that what is typed takes its place.
        field.selection = Selection(0, len(moved.query))
        return True

    async def action_history(self) -> None:
        """Open the menu of queries asked before; those that have what is typed."""
        self.focus_query()
        if self._queries is not None:
            self.asked_before = await self._queries.history()
        if not self.asked_before.queries:
            self.notify("No query was asked of this vault before.", markup=False)
        self._show_history()

    def _show_history(self) -> None:
        field = self._bar.field
        # What is selected as a whole is to be replaced, and is not what is looked for.
        is_kept = field.selection.is_empty or len(field.selected_text) < len(field.value)
        typed = field.value.strip() if is_kept else ""
        found = self.asked_before.having(typed)
        choices = [Choice(query, query, typed=typed if " " not in typed else "") for query in found if query != typed]
        self._bar.menu.open(
            "history", "Asked before", f"{_taking()} · {key_sign('menu-forget')} forget", choices, self._at(0)
        )

    # --- completion ---------------------------------------------------------------------------------------------------

    def action_complete(self) -> None:
        """Complete the word at the cursor, whatever it is."""
        self.focus_query()
        self._left_at = -1
        self._by_key = True
        field = self._bar.field
        self._complete(begun_at(field.value, field.cursor_position))

    def _follow_typing(self) -> None:
        """The menu follows what is typed, and opens by itself behind the beginning of a filter."""
        field, menu = self._bar.field, self._bar.menu
        if menu.kind == "history" and menu.is_open:
            self._show_history()
            return
        begun = begun_at(field.value, field.cursor_position)
        if begun is None or begun.start != self._left_at:
            self._left_at = -1
        follows = menu.is_open and menu.kind == "complete" and self._begun is not None and begun is not None
        if begun is not None and (begun.operator or (follows and begun.value)) and self._left_at < 0:
            self._complete(begun)
        else:
            menu.close()
            self._completions_asked += 1

    def _complete(self, begun: Begun | None) -> None:
        self._begun = begun
        self._completions_asked += 1
        if begun is not None:
            from excerpt.tui.query_questions import AskCompletions

            self._engine.ask_insight(AskCompletions(self._completions_asked, begun.operator, begun.value))

    def on_completed(self, message: Completed) -> None:
        message.stop()
        begun = self._begun
        if message.number != self._completions_asked or begun is None or not self._bar.field.has_focus:
            return
        choices = [
            Choice(
                one.label,
                *completed(self.query_text, begun, one.text),
                beside=counted(one.count, one.unit) if one.count else "",
                typed=begun.value,
            )
            for one in message.completions
        ]
        if [choice.label.casefold() for choice in choices] == [begun.value.casefold()]:
            choices = []
        if self._by_key and not choices:
            self.notify("Nothing in the vault completes this.", markup=False)
        self._by_key = False
        title = f"{begun.operator}:" if begun.operator not in ("", "#") else begun.operator or "Words and filters"
        self._bar.menu.open("complete", visible_line(title), _taking(), choices, self._at(begun.start))

    # --- suggestions and saved queries --------------------------------------------------------------------------------

    def action_suggest(self) -> None:
        """Open the menu of narrower and wider queries."""
        from excerpt.tui.query_questions import AskSuggestions

        self.focus_query()
        self._engine.ask_insight(AskSuggestions(self.query_text))

    def on_suggested(self, message: Suggested) -> None:
        message.stop()
        query = self.query_text
        if message.query != query or not self._bar.field.has_focus:
            return
        choices = [
            Choice(one.label, one.query, beside=counted(one.hits, "hit"), kind=one.way) for one in message.suggestions
        ]
        if not choices:
            self.notify("Nothing in the vault makes this query narrower or wider.", markup=False)
        self._bar.menu.open("suggest", "Narrower and wider", _taking(), choices, self._at(0))

    def action_saved(self) -> None:
        """Open the dialog of saved queries; the one chosen there becomes the query."""
        from excerpt.tui.screens.saved import Saved

        def run(query: str | None) -> None:
            self.focus_query()
            if query is not None:
                self._bar.put(query)

        if self._queries is not None:
            self.app.push_screen(Saved(self._queries, self.query_text.strip()), run)

    # --- the menu -----------------------------------------------------------------------------------------------------

    def _at(self, index: int) -> Offset:
        """The cell of the screen where a letter of the query stands, less the menu's border."""
        field = self._bar.field
        cell = field._position_to_cell(index) - field.scroll_offset.x
        return Offset(field.region.x + max(cell, 0) - 2, field.region.y)

    @on(QueryBar.Wanted)
    def _wanted(self, event: QueryBar.Wanted) -> None:
        event.stop()
        menu, choice = self._bar.menu, event.choice
        if event.forgotten:
            self._forget(choice.query)
            return
        kind = menu.kind
        menu.close()
        self._bar.put(choice.query, choice.cursor)
        if kind == "complete" and choice.query[: choice.cursor].endswith(":"):
            self._complete(begun_at(choice.query, choice.cursor))

    @on(QueryBar.MenuLeft)
    def _menu_left(self, event: QueryBar.MenuLeft) -> None:
        event.stop()
        self._completions_asked += 1
        self._left_at = self._begun.start if self._begun is not None else -1

    def _forget(self, query: str) -> None:
        cursor = self._bar.menu.cursor
        self.asked_before = self.asked_before.without(query)
        if self._queries is not None:
            self.run_worker(self._queries.forget(query), group="history")
        self._show_history()
        self._bar.menu.cursor = cursor


def _taking() -> str:
    return f"{key_sign('menu-take')} take · {key_sign('menu-close')} close"
