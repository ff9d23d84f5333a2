"""The one screen: tabs, panes, keys. Starts engine and indexing after the first paint, and hands on what they say."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import ContentSwitcher, Input

from excerpt.pack.marks_file import read_marks, write_marks
from excerpt.settings import Places, Settings
from excerpt.tui.bindings import bindings
from excerpt.tui.compositor import FRAME
from excerpt.tui.insight_messages import OverviewReady, OverviewWritten, PassageReady
from excerpt.tui.later import LATER, NEXT, import_all
from excerpt.tui.messages import (
    CopyRequested,
    IndexAsked,
    MarksChanged,
    PaneLeft,
    SearchRequested,
    Trouble,
)
from excerpt.tui.query_keeper import QueryKeeper
from excerpt.tui.screens.outside import Outside
from excerpt.tui.screens.pane_keeping import PaneKeeping
from excerpt.tui.session import NEW, Session
from excerpt.tui.state_keeper import StateKeeper
from excerpt.tui.use_recorder import UseRecorder
from excerpt.tui.widgets.key_bar import KeyBar
from excerpt.tui.widgets.search_pane import SearchPane
from excerpt.tui.widgets.tab_bar import TabBar

_FIRST_FOCUS = {"search": "#query", "overview": "#topic", "memory": "#filter", "index": "#files"}


class MainScreen(Outside, PaneKeeping):
    """Tabs and panes, and what panes ask for."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("Everywhere")
    AUTO_FOCUS = "#query"

    DEFAULT_CSS = """
    MainScreen {
        layout: vertical;
        ContentSwitcher { height: 1fr; }
    }
    """

    def __init__(
        self,
        vault: Path,
        settings: Settings,
        places: Places,
        environment: Mapping[str, str],
        session: Session = NEW,
    ) -> None:
        """`environment` is that of the user's shell, for the programs started from here; `session` is where the user
        was the last time."""
        super().__init__(vault, settings, places, environment, session)
        self._use = UseRecorder(places.use_file(vault), self._use_not_kept, on=settings.search.boosts.use)
        self._marks = StateKeeper(places.marks_file(vault), read_marks, write_marks, self._marks_not_kept)
        self._queries = QueryKeeper(
            places.history_file(vault), places.saved_queries_file(vault), self._queries_not_kept
        )
        self._begun = False
        self.is_furnished = False
        """Whether all of the first tab is there: what the first frame does not show of it comes right after."""

    def compose(self) -> ComposeResult:
        yield TabBar(id="tabs")
        with ContentSwitcher(initial="search"):
            yield SearchPane(self.settings, self._engine, id="search")
        yield KeyBar()

    def on_mount(self) -> None:
        self.query_one(TabBar).vault = self.vault.name
        self.resume_session()
        self.spread_panes(self.query_one(SearchPane).panes)
        self.call_after_refresh(self._begin_when_drawn)

    def _begin_when_drawn(self) -> None:
        """Textual draws nothing until the app's own messages at the start are done, though it has refreshed."""
        if self.app._batch_count:
            self.set_timer(FRAME, self._begin_when_drawn)
        else:
            self.refresh(layout=True)
            self.call_after_refresh(self._begin)

    async def _begin(self) -> None:
        """Everything that costs time, once the first frame is out: the other tabs, the engine, the index."""
        await asyncio.to_thread(import_all, NEXT)
        await self.query_one(SearchPane).furnish()
        self.is_furnished = True
        await asyncio.to_thread(import_all, LATER)
        from excerpt.tui.widgets.index_pane import IndexPane
        from excerpt.tui.widgets.memory_pane import MemoryPane
        from excerpt.tui.widgets.overview_pane import OverviewPane

        overview = OverviewPane(self._engine, id="overview")
        memory = MemoryPane(self._places.memory_folder(self.vault), self._memories, self._engine, id="memory")
        index = IndexPane(self.vault, self._places.index_folder(self.vault), id="index")
        overview.display = memory.display = index.display = False
        await self.query_one(ContentSwitcher).mount(overview, memory, index)
        self._begun = True
        self.spread_panes(self.query_one(SearchPane).panes)
        self.show_index()
        self.begin_index()
        await self.query_one(SearchPane).keep_queries(self._queries)
        self.resume_tab()
        self.query_one(SearchPane).restore(await self._marks.read())
        await self.begin_settings()

    async def keep_all(self) -> None:
        """Have everything written that is to be there when this vault is opened again."""
        self.keep_session()
        await asyncio.gather(self.end_session(), self._marks.end())

    async def on_unmount(self) -> None:
        await asyncio.gather(self.end_session(), self.end_index(), self._marks.end(), self.end_memories())

    @on(IndexAsked)
    def _index_asked(self, event: IndexAsked) -> None:
        if event.command == "update":
            self.update_index()
        elif event.command == "rebuild":
            self._ask_to_rebuild()
        else:
            self.ask_index(event.command)

    def _ask_to_rebuild(self) -> None:
        from excerpt.tui.screens.confirm import Confirm

        question = "The index is made anew from the vault. Your notes and memories are not touched."

        def answered(yes: bool | None) -> None:
            if yes:
                self.ask_index("rebuild")

        self.app.push_screen(Confirm("Rebuild the index?", question, "Rebuild"), answered)

    # --- tabs -----------------------------------------------------------------------------------------------------

    def action_show_tab(self, tab: str) -> None:
        if not self._begun:
            self.set_timer(0.02, partial(self.action_show_tab, tab))
            return
        self.query_one(ContentSwitcher).current = tab
        self.query_one(TabBar).active = tab
        from excerpt.tui.widgets.memory_pane import MemoryPane
        from excerpt.tui.widgets.overview_pane import OverviewPane

        self.query_one(_FIRST_FOCUS[tab]).focus()
        self.show_index()
        if tab == "memory":
            self.query_one(MemoryPane).reload()
        elif tab == "overview":
            self.query_one(OverviewPane).come_up(self.query_one(SearchPane).query_text)

    @on(TabBar.Picked)
    def _tab_picked(self, event: TabBar.Picked) -> None:
        self.action_show_tab(event.tab)

    @on(PaneLeft)
    def _pane_left(self) -> None:
        self.action_show_tab("search")

    def action_update_index(self) -> None:
        self.update_index()

    @on(OverviewReady)
    @on(PassageReady)
    @on(OverviewWritten)
    @on(Trouble)
    def _overview_told(self, message: OverviewReady | PassageReady | OverviewWritten | Trouble) -> None:
        from excerpt.tui.widgets.overview_pane import OverviewPane

        for pane in self.query(OverviewPane):
            pane.hear(message)

    # --- what panes ask for -------------------------------------------------------------------------------------------

    @on(CopyRequested)
    def _copy_requested(self, message: CopyRequested) -> None:
        self.run_worker(self._copy(message), group="copy")

    async def _copy(self, message: CopyRequested) -> None:
        from excerpt.tui.copying import Copier

        copier = Copier(self.vault, self._places, self._environment, self._send_escape)
        done = await copier.copy(message)
        self.notify(done.told, severity="information" if done.taken else "warning", markup=False)
        await self._use.record("pack", message.notes)

    @on(SearchRequested)
    def _search_requested(self, message: SearchRequested) -> None:
        self.query_one("#query", Input).value = message.query
        self.action_show_tab("search")

    @on(MarksChanged)
    def _marks_changed(self, message: MarksChanged) -> None:
        self._marks.keep(message.kept)

    def _marks_not_kept(self, reason: str) -> None:
        self.notify(f"Your marks are not kept for the next time: {reason}.", markup=False)

    def _queries_not_kept(self, reason: str) -> None:
        self.notify(f"What you ask is not kept for the next time: {reason}.", markup=False)

    def _use_not_kept(self, reason: str) -> None:
        self.notify(f"What you open and copy is not kept: {reason}.", markup=False)

    def _send_escape(self, sequence: str) -> None:
        """To the terminal, between two frames: Textual has no public way but one bare, unwrapped OSC 52."""
        driver = self.app._driver
        if driver is not None:
            driver.write(sequence)

    async def record_opened(self, path: str, fragment: str) -> None:
        await self._use.record("open", ((path, fragment),))

    def command_callback(self, tab: str | None, action: str) -> Callable[[], object]:
        """What the palette runs for a binding of that tab, or of the screen where it is None."""
        if tab is None:
            return partial(self.app.run_action, action, self)

        async def run() -> None:
            if self.query_one(TabBar).active != tab:
                self.action_show_tab(tab)
            await self.app.run_action(action, self.query_one(f"#{tab}"))

        return run
