"""The one screen: tabs, panes, keys. Starts engine and indexing after the first paint, and hands on what they say."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from shutil import which
from typing import ClassVar

from textual import on
from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import BindingType
from textual.widgets import ContentSwitcher, Input

from excerpt.errors import ExcerptError
from excerpt.pack.marks_file import read_marks, write_marks
from excerpt.settings import Places, Settings
from excerpt.tui.bindings import bindings
from excerpt.tui.copying import Copier
from excerpt.tui.editor import editor_command
from excerpt.tui.insights import OverviewReady, OverviewWritten, PassageReady
from excerpt.tui.keys import PLACES
from excerpt.tui.messages import (
    CopyRequested,
    EditRequested,
    MarksChanged,
    SearchRequested,
    Trouble,
)
from excerpt.tui.screens.pane_keeping import PaneKeeping
from excerpt.tui.screens.session_keeping import SessionKeeping
from excerpt.tui.session import NEW, Session
from excerpt.tui.state_keeper import StateKeeper
from excerpt.tui.use_recorder import UseRecorder
from excerpt.tui.widgets.index_pane import IndexPane
from excerpt.tui.widgets.key_bar import KeyBar
from excerpt.tui.widgets.memory_pane import MemoryPane
from excerpt.tui.widgets.overview_pane import OverviewPane
from excerpt.tui.widgets.search_pane import SearchPane
from excerpt.tui.widgets.tab_bar import TabBar

_PLACE_OF_TAB = {"search": "Search", "overview": "Overview", "memory": "Memory", "index": "Index"}
_FIRST_FOCUS = {"search": "#query", "overview": "#topic", "memory": "#filter", "index": "#files"}


class MainScreen(SessionKeeping, PaneKeeping):
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
        super().__init__(vault, settings, places, session)
        self._places = places
        self._environment = dict(environment)
        self._use = UseRecorder(places.use_file(vault), self._use_not_kept, on=settings.search.boosts.use)
        self._marks = StateKeeper(places.marks_file(vault), read_marks, write_marks, self._marks_not_kept)
        self._copier = Copier(vault, places, self._environment, self._send_escape)
        self._begun = False

    def compose(self) -> ComposeResult:
        yield TabBar(id="tabs")
        with ContentSwitcher(initial="search"):
            yield SearchPane(self.settings, self._engine, id="search")
        yield KeyBar()

    def on_mount(self) -> None:
        self.query_one(TabBar).vault = self.vault.name
        self.resume_session()
        self.call_after_refresh(self._begin)

    async def _begin(self) -> None:
        """Everything that costs time, once the first frame is out: the other tabs, the engine, the index."""
        overview = OverviewPane(self._engine, id="overview")
        memory = MemoryPane(self._places.memory_folder(self.vault), self._memories, self._engine, id="memory")
        index = IndexPane(self.vault, self._places.index_folder(self.vault), id="index")
        overview.display = memory.display = index.display = False
        await self.query_one(ContentSwitcher).mount(overview, memory, index)
        self._begun = True
        self.spread_panes(self.query_one(SearchPane).panes)
        self.show_index()
        self.begin_index()
        self.resume_tab()
        self.query_one(SearchPane).restore(await self._marks.read())

    async def keep_all(self) -> None:
        """Have everything written that is to be there when this vault is opened again."""
        self.keep_session()
        await asyncio.gather(self.end_session(), self._marks.end())

    async def on_unmount(self) -> None:
        await asyncio.gather(self.end_session(), self.end_index(), self._marks.end(), self.end_memories())

    @on(IndexPane.Asked)
    def _index_asked(self, event: IndexPane.Asked) -> None:
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

    # --- tabs and help ------------------------------------------------------------------------------------------------

    def action_show_tab(self, tab: str) -> None:
        if not self._begun:
            self.set_timer(0.02, partial(self.action_show_tab, tab))
            return
        self.query_one(ContentSwitcher).current = tab
        self.query_one(TabBar).active = tab
        self.query_one(_FIRST_FOCUS[tab]).focus()
        self.show_index()
        if tab == "memory":
            self.query_one(MemoryPane).reload()
        elif tab == "overview":
            self.query_one(OverviewPane).come_up(self.query_one(SearchPane).query_text)

    @on(TabBar.Picked)
    def _tab_picked(self, event: TabBar.Picked) -> None:
        self.action_show_tab(event.tab)

    @on(OverviewPane.Left)
    @on(MemoryPane.Left)
    @on(IndexPane.Left)
    def _pane_left(self) -> None:
        self.action_show_tab("search")

    def action_help(self) -> None:
        from excerpt.tui.screens.help import Help

        first = [_PLACE_OF_TAB[self.query_one(TabBar).active]]
        if first == ["Search"]:
            first += [place for place in PLACES if place.startswith("Search, ")]
        self.app.push_screen(Help(self.settings.screen.keys, first))

    def action_update_index(self) -> None:
        self.update_index()

    @on(OverviewReady)
    @on(PassageReady)
    @on(OverviewWritten)
    @on(Trouble)
    def _overview_told(self, message: OverviewReady | PassageReady | OverviewWritten | Trouble) -> None:
        for pane in self.query(OverviewPane):
            pane.hear(message)

    # --- what panes ask for -------------------------------------------------------------------------------------------

    @on(CopyRequested)
    def _copy_requested(self, message: CopyRequested) -> None:
        self.run_worker(self._copy(message), group="copy")

    async def _copy(self, message: CopyRequested) -> None:
        done = await self._copier.copy(message)
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

    def _use_not_kept(self, reason: str) -> None:
        self.notify(f"What you open and copy is not kept: {reason}.", markup=False)

    def _send_escape(self, sequence: str) -> None:
        """To the terminal, between two frames: Textual has no public way but one bare, unwrapped OSC 52."""
        driver = self.app._driver
        if driver is not None:
            driver.write(sequence)

    @on(EditRequested)
    def _edit_requested(self, message: EditRequested) -> None:
        file = self.vault / message.path
        if not file.is_file() or not file.resolve().is_relative_to(self.vault.resolve()):
            self.notify(
                f"{message.path} is not in the vault.", title="Cannot be opened", severity="error", markup=False
            )
            return
        if self.open_in_editor(file, message.line) and message.telling:
            self.run_worker(self._use.record("open", ((message.path, message.fragment),)), group="use")

    def open_in_editor(self, file: Path, line: int) -> bool:
        try:
            command = editor_command(self.settings.screen.editor, self._environment, which, file, line)
            run = self._start if command.windowed else self._run_here
            run(command.argv)
        except ExcerptError as error:
            self.notify(str(error), title=error.title, severity="error", markup=False)
            return False
        except OSError as error:
            self.notify(str(error), title="The editor cannot be started", severity="error", markup=False)
            return False
        return True

    def _start(self, argv: tuple[str, ...]) -> None:
        subprocess.Popen(
            argv, env=self._environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        seen = "What you save is found at once." if self.changes_are_seen else "F12 takes in what you save."
        self.notify(f"Opened with {Path(argv[0]).name}. {seen}", markup=False)

    def _run_here(self, argv: tuple[str, ...]) -> None:
        """Give the terminal to the editor, and take it back."""
        try:
            with self.app.suspend():
                done = subprocess.run(argv, env=self._environment, check=False)
        except SuspendNotSupported:
            self.notify("This terminal cannot be handed to an editor.", severity="error")
            return
        if done.returncode:
            self.notify(f"The editor ended with code {done.returncode}.", severity="warning")
        self.take_in_edit()

    def command_callback(self, tab: str | None, action: str) -> Callable[[], object]:
        """What the palette runs for a binding of that tab, or of the screen where it is None."""
        if tab is None:
            return partial(self.app.run_action, action, self)

        async def run() -> None:
            if self.query_one(TabBar).active != tab:
                self.action_show_tab(tab)
            await self.app.run_action(action, self.query_one(f"#{tab}"))

        return run
