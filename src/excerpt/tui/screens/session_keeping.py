"""The part of the main screen that comes back to where the user was, and keeps where the user is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from textual.widgets import Input
from textual.widgets.input import Selection

from excerpt.settings import Places, Settings
from excerpt.tui.panes import beginning
from excerpt.tui.screens.memory_keeping import MemoryKeeping
from excerpt.tui.session import Place, Session, read_session, row_of, write_session
from excerpt.tui.state_keeper import StateKeeper
from excerpt.tui.widgets.hit_list import MOST_ROWS, HitList
from excerpt.tui.widgets.search_pane import SearchPane
from excerpt.tui.widgets.tab_bar import TABS, TabBar

if TYPE_CHECKING:
    from excerpt.model import Result

_LOOK = 2.0
"""Seconds between looks at what is on the screen: what a crash or a closed terminal may cost."""


class SessionKeeping(MemoryKeeping):
    """Owns what was kept of an earlier session, until it is taken up."""

    def __init__(self, vault: Path, settings: Settings, places: Places, session: Session) -> None:
        super().__init__(vault, settings, places)
        self._session = session
        self._waiting_for: Place | None = None
        self._keeper = StateKeeper(places.session_file(vault), read_session, write_session, self._session_not_kept)

    def action_show_tab(self, tab: str) -> None:
        raise NotImplementedError

    def resume_session(self) -> None:
        """Before the first frame: panes, how packs are wanted, and the query, so that what is typed takes its place."""
        session, pane = self._session, self.query_one(SearchPane)
        pane.strategy = session.strategy or pane.strategy
        pane.scope = session.scope or pane.scope
        pane.budget = session.budget or pane.budget
        pane.form = session.form or pane.form
        pane.panes = beginning(session.panes, self.settings.screen)
        if session.query:
            self._waiting_for = session.place
            self.propose(session.query)
            self.watch(pane, "result", self._result_came, init=False)

    def propose(self, query: str) -> None:
        """Put a query where none is, selected, so that what is typed takes its place."""
        field = self.query_one("#query", Input)
        if not field.value:
            field.value = query
            field.selection = Selection(0, len(query))

    def resume_tab(self) -> None:
        """When all tabs are there; who has typed meanwhile stays."""
        session = self._session
        another = session.tab in TABS and session.tab != self.query_one(TabBar).active
        if another and self.query_one(SearchPane).query_text == session.query:
            self.action_show_tab(session.tab)
        if self.settings.screen.restore:
            self._keeper.known(session)
            self.set_interval(_LOOK, self.keep_session)

    def _result_came(self, result: Result | None) -> None:
        """Select what was selected, in the first answer to the query that came back."""
        place = self._waiting_for
        if place is None or result is None:
            return
        self._waiting_for = None
        if result.query == self._session.query.strip():
            rows = self.query_one(HitList)
            row = row_of(place, rows.hits[:MOST_ROWS])
            rows.cursor = rows.cursor if row is None else row

    def session_now(self) -> Session:
        pane, settings = self.query_one(SearchPane), self.settings
        hit, panes = pane.selected, replace(pane.panes, zoomed="")
        place = self._waiting_for
        if place is None and hit is not None:
            place = Place(hit.fragment.id, hit.fragment.path, hit.fragment.line_start)
        return Session(
            tab=self.query_one(TabBar).active,
            query=pane.query_text,
            place=place if pane.query_text else None,
            strategy=pane.strategy if pane.strategy is not settings.search.strategy else None,
            scope=pane.scope if pane.scope is not settings.pack.scope else None,
            budget=pane.budget if pane.budget != settings.pack.budget else None,
            form=pane.form if pane.form is not settings.pack.format else None,
            panes=panes if panes != beginning(None, settings.screen) else None,
        )

    def keep_session(self) -> None:
        """Have it written soon; called while all widgets are there."""
        if self._keeper.is_known:
            self._keeper.keep(self.session_now())

    async def end_session(self) -> None:
        await self._keeper.end()

    def _session_not_kept(self, reason: str) -> None:
        self.notify(f"Where you are is not kept for the next time: {reason}.", markup=False)
