"""The one screen: tabs, panes, keys. Starts engine and indexing after the first paint, and hands on what they say."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import BindingType
from textual.message import Message
from textual.screen import Screen
from textual.widgets import ContentSwitcher

from excerpt.errors import ExcerptError, IndexBusyError, IndexUnusableError
from excerpt.model import Hit, Progress, Source, Status
from excerpt.settings import Places, Settings
from excerpt.tui.bindings import bindings
from excerpt.tui.copying import Copier
from excerpt.tui.editor import editor_command
from excerpt.tui.engine_worker import EngineWorker
from excerpt.tui.indexing import Indexing
from excerpt.tui.marks_keeper import MarksKeeper
from excerpt.tui.messages import (
    CopyRequested,
    EditRequested,
    IndexBuilt,
    IndexOpened,
    IndexProgressed,
    MarksChanged,
    RememberRequested,
    Trouble,
)
from excerpt.tui.use_recorder import UseRecorder
from excerpt.tui.vault_state import bar_state, search_notice
from excerpt.tui.widgets.index_pane import IndexPane
from excerpt.tui.widgets.key_bar import KeyBar
from excerpt.tui.widgets.memory_pane import MemoryPane
from excerpt.tui.widgets.notice import Said
from excerpt.tui.widgets.search_pane import SearchPane
from excerpt.tui.widgets.tab_bar import TabBar

if TYPE_CHECKING:
    from excerpt.tui.screens.remember import Kept

_PLACE_OF_TAB = {"search": "Search", "memory": "Memory", "index": "Index"}
_FIRST_FOCUS = {"search": "#query", "memory": "#filter", "index": "#files"}

_LOOK_AGAIN = 2.0
"""Seconds between looks at an index that another excerpt is writing."""


class MainScreen(Screen[None]):
    """Owns the engine's thread and the indexing process, and what is known of the index: status, progress, trouble."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("Everywhere")
    AUTO_FOCUS = "#query"

    DEFAULT_CSS = """
    MainScreen {
        layout: vertical;
        ContentSwitcher { height: 1fr; }
        &.-wide #body, &.-wide #memory-body { layout: horizontal; }
        &.-wide #found, &.-wide #memory-found { width: 46%; height: 1fr; }
        &.-wide #aside, &.-wide #memory-view { width: 54%; height: 1fr; }
        &.-wide #preview, &.-wide #packed, &.-wide #memory-view { border-left: vkey $border-blurred; }
        &.-wide #body.-packed #preview { display: block; }
        &.-wide #body.-bare.-packed #preview { display: none; }
        &.-wide #body.-bare > #found, &.-wide #memory-body.-bare > #memory-found { width: 100%; }
        &.-wide #body.-bare.-packed > #found { width: 46%; }
        &.-short #aside, &.-short #preview, &.-short #memory-view { display: none; }
        &.-short #body.-packed > #aside { display: block; }
        &.-short.-narrow #body.-packed > #found { display: none; }
    }
    """

    def __init__(self, vault: Path, settings: Settings, places: Places, environment: Mapping[str, str]) -> None:
        """`environment` is that of the user's shell, for the programs started from here."""
        super().__init__()
        self.vault = vault
        self.settings = settings
        self._places = places
        self._environment = dict(environment)
        self._folder = places.index_folder(vault)
        self._engine = EngineWorker(vault, places, settings, self._from_behind)
        self._indexing = Indexing(vault, self._from_behind)
        self._use = UseRecorder(places.use_file(vault), self._use_not_kept, on=settings.search.boosts.use)
        self._marks = MarksKeeper(places.marks_file(vault), self._marks_not_kept)
        self._copier = Copier(vault, places, self._environment, self._send_escape)
        self.status: Status | None = None
        self._progress: Progress | None = None
        self._trouble: Said | None = None
        self._elsewhere = False
        self._indexed_once = False
        self._begun = False
        self._told = ""
        self._once_more = False
        self._mended = -1

    def compose(self) -> ComposeResult:
        yield TabBar(id="tabs")
        with ContentSwitcher(initial="search"):
            yield SearchPane(self.settings, self._engine, id="search")
        yield KeyBar()

    def on_mount(self) -> None:
        self.query_one(TabBar).vault = self.vault.name
        self.call_after_refresh(self._begin)

    async def _begin(self) -> None:
        """Everything that costs time, once the first frame is out: the other tabs, the engine, the index."""
        memory = MemoryPane(self._places.memory_folder(self.vault), id="memory")
        index = IndexPane(self.vault, self._folder, id="index")
        memory.display = index.display = False
        await self.query_one(ContentSwitcher).mount(memory, index)
        self._begun = True
        self._show_state()
        self._engine.start()
        self._engine.open()
        self.query_one(SearchPane).restore(await self._marks.read())
        self.set_interval(_LOOK_AGAIN, self._look_elsewhere)

    async def on_unmount(self) -> None:
        await self._indexing.end()
        await self._marks.end()
        await asyncio.to_thread(self._engine.close)

    def _from_behind(self, message: Message) -> None:
        """Post what a thread or process says; the search pane sees it first, then this screen."""
        if self.is_running:
            self.query_one(SearchPane).post_message(message)

    @property
    def indexing(self) -> bool:
        """Whether the vault is being indexed by a process of this app."""
        return not self._indexed_once or self._indexing.running

    # --- the index ----------------------------------------------------------------------------------------------------

    @on(IndexOpened)
    def _index_opened(self, message: IndexOpened) -> None:
        changed = self.status != message.status
        self._told = "" if changed else self._told
        self.status = message.status
        self._show_state()
        if changed:
            self.query_one(SearchPane).index_changed()
        else:
            self.query_one(SearchPane).look_for_gone()
        self._index_first()

    @on(Trouble)
    def _trouble_came(self, message: Trouble) -> None:
        said = Said(message.title, message.message, message.hint, serious=True)
        if message.asked == "open":
            if self._indexed_once and not self._indexing.running and not self._elsewhere:
                self._trouble = said
            self._index_first()
        elif message.asked == "index":
            self._progress = None
            self._elsewhere = message.title == IndexBusyError.title
            self._trouble = said
            self._engine.open()
        else:
            # Once, not at every key: what cannot be done for one query cannot be done for the next.
            if message.message != self._told:
                self._told = message.message
                self.notify(f"{message.message} {message.hint}", title=message.title, severity="error", markup=False)
            self._mend(message)
        self._show_state()

    def _mend(self, message: Trouble) -> None:
        """A build mends an index found damaged while reading; it is tried once a generation."""
        generation = self.status.generation if self.status is not None else 0
        if message.title == IndexUnusableError.title and self._mended != generation and not self._indexing.running:
            self._mended = generation
            self.update_index()

    @on(IndexProgressed)
    def _index_progressed(self, message: IndexProgressed) -> None:
        self._progress = message.progress
        opened = self.status.generation if self.status is not None else 0
        if message.progress.generation != opened:
            self._engine.open()
        self._show_state()

    @on(IndexBuilt)
    def _index_built(self, message: IndexBuilt) -> None:
        self._progress = None
        self._trouble = None
        report = message.report
        self._engine.open()
        if report.rebuilt:
            self.notify(report.rebuilt, title="The index was made anew", markup=False)
        self._show_state()

    def _index_first(self) -> None:
        if not self._indexed_once:
            self.update_index()

    def update_index(self, rebuild: bool = False) -> None:
        """Bring the index up to date in a process of its own; if one is at it, once more after it."""
        self._indexed_once = True
        if self._indexing.running:
            self._once_more = True
            self.notify("The vault is being indexed; it is looked at once more after that.")
            return
        self._elsewhere, self._trouble = False, None
        self.run_worker(self._index(rebuild), group="index")

    async def _index(self, rebuild: bool) -> None:
        await self._indexing.run(rebuild)
        while self._once_more:
            self._once_more = False
            await self._indexing.run()

    def _look_elsewhere(self) -> None:
        if self._elsewhere:
            self._engine.open()

    def _show_state(self) -> None:
        search, index = self.query_one(SearchPane), self.query_one(IndexPane)
        self.query_one(TabBar).state = bar_state(self.status, self._progress, self._trouble, self._elsewhere)
        search.said = search_notice(self.status, self._progress, self._trouble, self._elsewhere)
        progress = self._progress
        search.progress = f"{progress.notes_done:,} of {progress.notes_total:,} notes" if progress else ""
        index.status, index.progress, index.trouble = self.status, self._progress, self._trouble

    @on(IndexPane.UpdateAsked)
    def _update_asked(self, event: IndexPane.UpdateAsked) -> None:
        if not event.rebuild:
            self.update_index()
            return
        from excerpt.tui.screens.confirm import Confirm

        question = "The index is made anew from the vault. Your notes and memories are not touched."

        def answered(yes: bool | None) -> None:
            if yes:
                self.update_index(rebuild=True)

        self.app.push_screen(Confirm("Rebuild the index?", question, "Rebuild"), answered)

    # --- tabs and help ------------------------------------------------------------------------------------------------

    def action_show_tab(self, tab: str) -> None:
        if not self._begun:
            self.set_timer(0.02, partial(self.action_show_tab, tab))
            return
        self.query_one(ContentSwitcher).current = tab
        self.query_one(TabBar).active = tab
        self.query_one(_FIRST_FOCUS[tab]).focus()
        if tab == "memory":
            self.query_one(MemoryPane).reload()

    @on(TabBar.Picked)
    def _tab_picked(self, event: TabBar.Picked) -> None:
        self.action_show_tab(event.tab)

    @on(MemoryPane.Left)
    @on(IndexPane.Left)
    def _pane_left(self) -> None:
        self.action_show_tab("search")

    def action_help(self) -> None:
        from excerpt.tui.screens.help import Help

        first = [_PLACE_OF_TAB[self.query_one(TabBar).active]]
        if first == ["Search"]:
            first += ["Search, with the list focused", "Search, with the pack focused"]
        self.app.push_screen(Help(self.settings.screen.keys, first))

    def action_update_index(self) -> None:
        self.update_index()

    # --- what panes ask for -------------------------------------------------------------------------------------------

    @on(CopyRequested)
    def _copy_requested(self, message: CopyRequested) -> None:
        self.run_worker(self._copy(message), group="copy")

    async def _copy(self, message: CopyRequested) -> None:
        done = await self._copier.copy(message)
        self.notify(done.told, severity="information" if done.taken else "warning", markup=False)
        await self._use.record("pack", message.notes)

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
        try:
            command = editor_command(self.settings.screen.editor, self._environment, which, file, message.line)
            run = self._start if command.windowed else self._run_here
            run(command.argv)
            if message.telling:
                self.run_worker(self._use.record("open", ((message.path, message.fragment),)), group="use")
        except ExcerptError as error:
            self.notify(str(error), title=error.title, severity="error", markup=False)
        except OSError as error:
            self.notify(str(error), title="The editor cannot be started", severity="error", markup=False)

    def _start(self, argv: tuple[str, ...]) -> None:
        subprocess.Popen(
            argv, env=self._environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.notify(f"Opened with {Path(argv[0]).name}. F5 brings the index up to date after.", markup=False)

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
        self.update_index()

    @on(RememberRequested)
    def _remember_requested(self, message: RememberRequested) -> None:
        from excerpt.tui.screens.remember import Remember

        hit = message.hit
        text = hit.fragment.text if hit is not None else ""
        told = (
            f"{hit.fragment.path}, lines {hit.fragment.line_start}–{hit.fragment.line_end}" if hit is not None else ""
        )
        source = source_of(hit) if hit is not None else None

        def decided(kept: Kept | None) -> None:
            if kept is not None:
                self.query_one(MemoryPane).keep(kept.text, kept.tags, kept.why, source, message.query)

        self.app.push_screen(Remember(text, told), decided)

    def command_callback(self, tab: str | None, action: str) -> Callable[[], object]:
        """What the palette runs for a binding of that tab, or of the screen where it is None."""
        if tab is None:
            return partial(self.app.run_action, action, self)

        async def run() -> None:
            if self.query_one(TabBar).active != tab:
                self.action_show_tab(tab)
            await self.app.run_action(action, self.query_one(f"#{tab}"))

        return run


def source_of(hit: Hit) -> Source:
    """Where a hit's fragment stands, as a memory keeps it."""
    fragment = hit.fragment
    return Source(fragment.path, fragment.line_start, fragment.line_end, fragment.digest, fragment.heading_path)
