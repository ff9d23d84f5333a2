"""The half of the main screen that keeps the index: its process, what is known of it, and taking up what is new."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on
from textual.css.query import NoMatches
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input

from excerpt.errors import ExcerptError, IndexUnusableError
from excerpt.kinds import Strategy
from excerpt.settings import Places, Settings
from excerpt.tui.compositor import PromptScreen
from excerpt.tui.engine_worker import EngineWorker
from excerpt.tui.index_state import IndexState, Watch, build_words
from excerpt.tui.indexing import Command, Indexing
from excerpt.tui.keymap import key_sign
from excerpt.tui.messages import (
    IndexBuilt,
    IndexCancelled,
    IndexEmptied,
    IndexEnded,
    IndexOpened,
    IndexPaused,
    IndexProgressed,
    IndexWatched,
    Trouble,
)
from excerpt.tui.vault_state import bar_state, progress_words, search_notice
from excerpt.tui.widgets.notice import Said
from excerpt.tui.widgets.search_pane import SearchPane
from excerpt.tui.widgets.tab_bar import TabBar

if TYPE_CHECKING:
    from excerpt.model import Status

_LOADING = 0.5
"""Seconds between the first index and the start of the process, in which what a query needs is loaded: both at once
would make whoever types at once wait half as long again."""

_LOOK_AGAIN = 2.0
"""Seconds between looks whether another process has committed."""

_IDLE = 1.0
"""Seconds without typing before a question may come up."""


class IndexKeeping(PromptScreen):
    """Owns the engine's threads, the indexing process, and what is known of the index."""

    def __init__(self, vault: Path, settings: Settings, places: Places) -> None:
        super().__init__()
        self.vault = vault
        self.settings = settings
        self._folder = places.index_folder(vault)
        self._engine = EngineWorker(vault, places, settings, self._from_behind)
        self._indexing = Indexing(vault, self._from_behind)
        self._index = IndexState()
        self._wanted = 0
        self._told = ""
        self._mended = -1
        self._question: Screen[bool] | None = None

    @property
    def status(self) -> Status | None:
        """That of the generation in use; None before there is one."""
        return self._index.status

    @property
    def indexing(self) -> bool:
        """Whether the first look at the vault, or a build worth showing, is under way."""
        return self._index.at_work

    @property
    def changes_are_seen(self) -> bool:
        """Whether what is saved is found within a moment, by itself."""
        return self._index.watch is Watch.EVENTS and not self._index.paused

    def begin_index(self) -> None:
        """Open what there is; the process is started when that is done, so that it does not take the time for it."""
        self._engine.start()
        self._engine.open()
        self.set_interval(_LOOK_AGAIN, self._look_elsewhere)

    async def end_index(self) -> None:
        await asyncio.gather(asyncio.to_thread(self._indexing.end), asyncio.to_thread(self._engine.close))

    def _from_behind(self, message: Message) -> None:
        """Post what a thread says; the search pane sees it first, then this screen."""
        if self.is_running:
            with suppress(NoMatches):  # another vault is opened, and the panes of this one are gone
                self.query_one(SearchPane).post_message(message)

    def start_indexing(self) -> None:
        """Have the index kept up to date from now on."""
        if not self._indexing.running:
            self._index = self._index.started()
            self._indexing.start()

    def use_settings(self, settings: Settings) -> None:
        """Search by other settings from now on; where they say what is read and how, the vault is read by them."""
        before, self.settings = self.settings, settings
        if _answering(before) != _answering(settings):
            self._engine.use(settings)
        if _reading(before) != _reading(settings) and self._indexing.running:
            self.run_worker(self._index_anew(), group="indexing")

    async def _index_anew(self) -> None:
        ended, self._indexing = self._indexing, Indexing(self.vault, self._from_behind)
        await asyncio.to_thread(ended.end)
        self.start_indexing()

    def ask_index(self, command: Command) -> None:
        """Have the indexing process do something; it is started if it is gone."""
        if self._index.watch is Watch.ENDED or not self._indexing.running:
            self.start_indexing()
        if command in ("update", "rebuild"):
            self._say_when(command)
            self._index = replace(self._index, asked=True)
        self._indexing.ask(command)
        self.show_index()

    def _say_when(self, command: Command) -> None:
        """Where it does not begin at once."""
        if self._index.paused:
            self.notify(f"It begins when you go on with {key_sign('index-resume')} in the Index tab.", title="Paused")
        elif self._index.progress is not None and command == "update":
            self.notify("The vault is being read; it is looked at once more after that.")

    def update_index(self) -> None:
        """Look at the whole vault again, and tell what came of it."""
        if self._index.emptied:
            self._ask_about_emptied()
        self.ask_index("update")

    def take_in_edit(self) -> None:
        """Something was edited: where that is not seen by itself, look."""
        if not self.changes_are_seen:
            self._index_first()
            self._indexing.ask("update")

    def show_index(self) -> None:
        """Put what is known on the screen."""
        search, index = self.query_one(SearchPane), self._index
        tabs = self.query_one(TabBar)
        tabs.state = bar_state(index)
        search.said = search_notice(index, self.vault)
        search.progress = progress_words(index)
        if tabs.active == "index":
            from excerpt.tui.widgets.index_pane import IndexPane

            self.query_one(IndexPane).index = index

    # --- what the process and the engine say --------------------------------------------------------------------------

    def _hear(self, message: Message) -> None:
        self._index = self._index.heard(message)
        self.show_index()

    @on(IndexOpened)
    def _index_opened(self, message: IndexOpened) -> None:
        first, changed = self.status is None, self.status != message.status
        self._told = "" if changed else self._told
        self._hear(message)
        if changed or message.anew:
            from excerpt.tui.widgets.overview_pane import OverviewPane

            self.query_one(SearchPane).index_changed()
            for pane in self.query(OverviewPane):
                pane.index_changed()
        else:
            self.query_one(SearchPane).look_for_gone()
        if first:
            self.set_timer(_LOADING, self._index_first)

    @on(IndexProgressed)
    def _index_progressed(self, message: IndexProgressed) -> None:
        self._hear(message)
        self._take_up(message.progress.generation)

    @on(IndexBuilt)
    def _index_built(self, message: IndexBuilt) -> None:
        asked, report = self._index.asked, message.report
        self._hear(message)
        if self._question is not None and self._question.is_current:
            self._question.dismiss(False)
        # Skipped files may be others in the same generation.
        self._wanted = report.generation
        self._engine.open()
        if report.rebuilt:
            self.notify(report.rebuilt, title="The index was made anew", markup=False)
        elif asked:
            self.notify(build_words(report), title="The index is up to date", markup=False)

    @on(IndexWatched)
    def _index_watched(self, message: IndexWatched) -> None:
        self._hear(message)

    @on(IndexPaused)
    def _index_paused(self, message: IndexPaused) -> None:
        self._hear(message)
        if message.paused:
            self.notify("Nothing is read until you go on with p; changes are kept till then.", title="Paused")
        else:
            self.notify("What has changed meanwhile is read now.", title="Going on")

    @on(IndexCancelled)
    def _index_cancelled(self, message: IndexCancelled) -> None:
        self._hear(message)
        self.notify("What was read stays and is searched. u reads the rest.", title="Cancelled")

    @on(IndexEmptied)
    def _index_emptied(self, message: IndexEmptied) -> None:
        self._hear(message)
        self._ask_about_emptied()

    @on(IndexEnded)
    def _index_ended(self, message: IndexEnded) -> None:
        if not self._indexing.running:  # it may have been started again before this was heard
            self._hear(message)

    @on(Trouble)
    def _trouble_came(self, message: Trouble) -> None:
        if message.asked == "open":
            self._wanted = 0
            if not self._index.at_work and not self._index.elsewhere:
                self._index = replace(
                    self._index, trouble=Said(message.title, message.message, message.hint, serious=True)
                )
                self._mend(message)
            self._index_first()
        elif message.asked == "index":
            self._index = self._index.heard(message)
            self._engine.open()
        else:
            # Once, not at every key: what cannot be done for one query cannot be done for the next.
            if message.message != self._told:
                self._told = message.message
                self.notify(f"{message.message} {message.hint}", title=message.title, severity="error", markup=False)
            self._mend(message)
        self.show_index()

    def _mend(self, message: Trouble) -> None:
        """A build mends an index found damaged while reading; it is tried once a generation."""
        if message.title == IndexUnusableError.title and self._mended != self._index.generation:
            self._mended = self._index.generation
            self._indexing.ask("update")

    def _index_first(self) -> None:
        if self._index.watch is not Watch.ENDED:
            self.start_indexing()

    # --- generations --------------------------------------------------------------------------------------------------

    def _take_up(self, generation: int) -> None:
        """Have a generation opened that was committed, once."""
        if generation and generation not in (self._index.generation, self._wanted):
            self._wanted = generation
            self._engine.open()

    def _look_elsewhere(self) -> None:
        self.run_worker(self._look_for_newer(), group="look", exclusive=True)

    async def _look_for_newer(self) -> None:
        """What another process commits is taken up too."""
        self._take_up(await asyncio.to_thread(newest_generation, self._folder))

    # --- a vault without notes ----------------------------------------------------------------------------------------

    def _ask_about_emptied(self) -> None:
        if self._question is None:
            from excerpt.tui.screens.emptied import Emptied

            self._question = Emptied(self.vault, self._index.emptied)
            self._ask_when_idle()

    def _ask_when_idle(self, typed: str | None = None) -> None:
        """Ask as soon as nobody types or answers something else."""
        field = self.focused
        now = field.value if isinstance(field, Input) else ""
        if self._question is None or not self._index.emptied:
            self._question = None
        elif typed != now or self.app.screen is not self:
            self.set_timer(_IDLE, partial(self._ask_when_idle, now))
        else:
            self.app.push_screen(self._question, self._emptied_answered)

    def _emptied_answered(self, empty: bool | None) -> None:
        self._question = None
        if empty:
            self._indexing.ask("agree")


def _answering(settings: Settings) -> object:
    """What an engine goes by; the strategy is said with each question."""
    return replace(settings.search, strategy=Strategy.AUTO), _reading(settings)


def _reading(settings: Settings) -> object:
    """What an index is made by; the process that makes it reads the settings when it starts."""
    return settings.vault, settings.embedding, settings.pack.tokenizer


def newest_generation(folder: Path) -> int:
    """That of the index in `folder`, 0 where none can be read. Imports the index, so it is for a thread."""
    from excerpt.index.snapshot import Snapshot

    with suppress(ExcerptError):
        return Snapshot.current_generation(folder)
    return 0
