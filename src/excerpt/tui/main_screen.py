"""The main screen: tabs, panes and keys. It starts the search engine and the indexing after the first frame."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen
from textual.widgets import ContentSwitcher, Input
from textual.widgets.input import Selection

from excerpt.base.errors import ExcerptError
from excerpt.base.settings import Paths, Settings
from excerpt.encoders.model_names import remote_notice
from excerpt.index.events import VaultEmptied
from excerpt.pack.selection import read_marks, write_marks
from excerpt.service.event_loop import Failure, IndexOpened, MemoryChanged, QueryVectorsReady
from excerpt.service.stores import StoreAddress
from excerpt.text.display import file_address, format_count, knows_links, visible_line
from excerpt.tui.active_keys import OpensDialogs, bindings
from excerpt.tui.common.background_work import start_work
from excerpt.tui.common.footer import KeyBar
from excerpt.tui.common.split import Split
from excerpt.tui.common.tab_bar import TABS, TabBar
from excerpt.tui.index.controller import IndexController, format_bar_state, format_progress
from excerpt.tui.keymap import bindable_actions, key_sign
from excerpt.tui.memory.controller import MemoryController
from excerpt.tui.messages import (
    CopyRequested,
    CopyTarget,
    EditRequested,
    EventReported,
    MarksChanged,
    MarksTakenBack,
    MemoryEditRequested,
    MemoryFileRequested,
    MemoryShowRequested,
    ObsidianRequested,
    PaneLeft,
    Picked,
    QuerySettled,
    RememberRequested,
    SearchRequested,
)
from excerpt.tui.picking import PickOptions
from excerpt.tui.programs import TEXT_KINDS, ProgramLauncher
from excerpt.tui.search.hit_list import HitList
from excerpt.tui.search.hit_pane import NO_FILES
from excerpt.tui.search.notices import search_notice
from excerpt.tui.search.pane import SearchPane
from excerpt.tui.search.query_history import QueryStore
from excerpt.tui.session import (
    NEW_SESSION,
    SelectedPosition,
    Session,
    SessionController,
    StateFile,
    UsageRecorder,
    drop_default_values,
)
from excerpt.tui.settings.controller import SettingsController
from excerpt.tui.startup import FIRST_QUERY_MODULES, OTHER_MODULES, import_all
from excerpt.tui.textual_patches import FRAME_SECONDS, LowLatencyScreen
from excerpt.vault.known_vaults import DEMO, VaultFolders

if TYPE_CHECKING:
    from excerpt.base.model import Fragment, Result
    from excerpt.index.events import Command
    from excerpt.search.usage import UsedHit
    from excerpt.service.event_loop import ServiceEvent
    from excerpt.service.indexing_process import ProcessEvent
    from excerpt.service.note_files import NoteFile
    from excerpt.service.packer import Packer
    from excerpt.tui.index.dialog import IndexDialog
    from excerpt.tui.insight.overview_pane import OverviewPane
    from excerpt.tui.memory.pane import MemoryPane

_FIRST_FOCUS = {"search": "#query", "overview": "#topic", "memory": "#filter"}
"""CSS selector of the field that gets the focus when a tab is shown, by the tab's id."""

_START_DELAY_SECONDS = 0.5
"""Seconds between the opening of the index and the start of the indexing process.

In this time the modules that a query needs are imported. If both ran at once, the first query would take half as long
again.
"""
_POLL_SECONDS = 2.0
"""Seconds between periodic checks.

A check saves the session, looks for changed settings files and for commits of other processes. A crash loses at most
this many seconds of the session.
"""

_TYPING_PAUSE_SECONDS = 1.0
"""Seconds without typing before a question may be shown."""

_EMPTIED_TEXT = (
    "The index holds {} of {}, but the folder has no notes now.\n\n"
    "Its disk may not be mounted, or the folder is being moved or synchronised. Then keep the index: you can search "
    "it, and it updates itself when the notes are back.\n\n"
    "If you have emptied the folder on purpose, index it as empty. Your memories are kept in both cases."
)


class MainScreen(LowLatencyScreen):
    """The screen with tabs and panes, which handles the requests of the panes.

    Controllers own the state of the index, the memories, the settings and the session. Other threads may call only
    `report_from_thread` and `call_from_thread`.
    """

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
        vaults: VaultFolders,
        settings: Settings,
        user_paths: Paths,
        environment: Mapping[str, str],
        session: Session = NEW_SESSION,
        *,
        use_settings: Callable[[Settings], object],
        store: StoreAddress | None = None,
        pick: PickOptions | None = None,
    ) -> None:
        """Create the controllers of the open vaults.

        If the vault is in a `store`, its folder is the path under which its settings, memories and marks are saved.
        `environment` is that of the user's shell, for programs that are started here. `session` is the state saved the
        last time. `use_settings` is called with the new settings when they have changed. With `pick`, the user picks
        what is printed; then session and marks are not saved.
        """
        super().__init__()
        self.vaults = vaults
        self.store = store
        self._pick = pick
        self._user_paths = user_paths
        self._environment = dict(environment)
        self._on_settings_change = use_settings
        self.index = IndexController(
            vaults, settings, user_paths, loop=self, notify=self.notify, on_state_change=self.show_index, store=store
        )
        self.memories = MemoryController(vaults, settings, user_paths, loop=self, store=store)
        self._settings = SettingsController(vaults.first, settings, user_paths)
        self._programs = ProgramLauncher(vaults, self._environment, notify=self.notify, suspend=self.app.suspend)
        self._session = SessionController(
            user_paths.session_file(vaults.key), session, self._make_failure_notifier("The session cannot be saved")
        )
        self._use_recorder = UsageRecorder(
            user_paths.use_file(vaults.key),
            self._make_failure_notifier("The log of opened notes cannot be saved"),
        )
        self._marks_file = StateFile(
            user_paths.marks_file(vaults.key),
            read_marks,
            write_marks,
            self._make_failure_notifier("Your marks cannot be saved"),
        )
        self._query_store = QueryStore(
            user_paths.history_file(vaults.key),
            user_paths.saved_queries_file(vaults.key),
            user_paths.seen_hits_file(vaults.key),
            self._make_failure_notifier("Your queries cannot be saved"),
        )
        self._emptied_dialog: Screen[bool] | None = None
        self._index_dialog: IndexDialog | None = None
        self._has_all_tabs = False
        self._show_first_steps = vaults.key == DEMO
        """Whether first steps are explained: always in the guide, and once in the user's own vaults."""
        self.is_populated = False
        """Whether the first tab is complete. Parts that the first frame does not show are mounted after that frame."""

    @property
    def vault(self) -> Path:
        """Folder of the open vault, or of the first if several are open."""
        return self.vaults.first

    def link_address(self, path: str) -> str:
        """Return the address of the note's file for a terminal that knows links; "" for others, and for a store."""
        has_terminal = not (self.app.is_headless or self.app.is_web)
        if self.store is not None or not has_terminal or not knows_links(self._environment):
            return ""
        return file_address(Path(*self.vaults.locate(path)))

    def compose(self) -> ComposeResult:
        yield TabBar(id="tabs")
        with ContentSwitcher(initial="search"):
            yield SearchPane(
                self.settings,
                self.index.engine,
                self.memories.worker,
                self._open_packer,
                folders=self.vaults if self.store is None else None,
                pick=self._pick,
                id="search",
            )
        yield KeyBar()

    def on_mount(self) -> None:
        self.query_one(TabBar).vault = self.vaults.title
        self._resume_session()
        self.call_after_refresh(self._start_when_drawn)

    def _start_when_drawn(self) -> None:
        """Call `_start_after_first_frame` as soon as the first frame is drawn.

        Textual calls back after a refresh, but draws nothing while the app handles its first messages.
        """
        if self.app._batch_count:
            self.set_timer(FRAME_SECONDS, self._start_when_drawn)
        else:
            self.refresh(layout=True)
            self.call_after_refresh(self._start_after_first_frame)

    async def _start_after_first_frame(self) -> None:
        """Mount the other tabs, open the index and restore the session, all after the first frame."""
        await asyncio.to_thread(import_all, FIRST_QUERY_MODULES)
        await self._search_pane.mount_panels()
        self._search_pane.side.insight.hides_linked = self._session.previous.unlinked
        self.is_populated = True
        await asyncio.to_thread(import_all, OTHER_MODULES)
        from excerpt.tui.insight.overview_pane import OverviewPane
        from excerpt.tui.memory.pane import MemoryPane

        engine = self.index.engine
        overview = OverviewPane(engine, id="overview")
        memory = MemoryPane(self.memories.worker, engine, id="memory")
        overview.display = memory.display = False
        await self.query_one(ContentSwitcher).mount(overview, memory)
        self._has_all_tabs = True
        if not self._show_first_steps:
            self._show_first_steps = await asyncio.to_thread(_create_hint_file, self._user_paths.first_hint_file)
        for split in self.query(Split):
            split.share = self._search_pane.share
        self.show_index()
        self.index.open()
        self.set_interval(_POLL_SECONDS, self._open_newer_generation)
        await self._search_pane.open_query_store(self._query_store)
        self._resume_tab()
        if self._pick is None:  # without reading, nothing is written either
            self._search_pane.load_saved_marks(await self._marks_file.read())
        await self._settings.start_watching()
        self.set_interval(_POLL_SECONDS, self._poll_settings)
        self._notify_of_remote_models("")

    async def save_state(self) -> None:
        """Save the session and the marks, which are restored when this vault is opened again."""
        self.save_session()
        await asyncio.gather(self._session.write_pending(), self._marks_file.write_pending())

    async def on_unmount(self) -> None:
        # Decisions about memories that are queued are still executed.
        memories = asyncio.to_thread(self.memories.worker.close)
        await asyncio.gather(
            self._session.write_pending(), self.index.close(), self._marks_file.write_pending(), memories
        )

    def _open_packer(self) -> Packer:
        from excerpt.service.packer import Packer

        return Packer(self.vaults, self._user_paths.config)

    @property
    def _search_pane(self) -> SearchPane:
        return self.query_one(SearchPane)

    def _overview_panes(self) -> Iterable[OverviewPane]:
        """Return the overview pane, or nothing if it is not mounted yet."""
        from excerpt.tui.insight.overview_pane import OverviewPane

        return self.query(OverviewPane)

    def _memory_panes(self) -> Iterable[MemoryPane]:
        """Return the memory pane, or nothing if it is not mounted yet."""
        from excerpt.tui.memory.pane import MemoryPane

        return self.query(MemoryPane)

    def report_from_thread(self, event: ServiceEvent) -> None:
        """Report an event of a thread or process from any thread; it is handled on the event loop."""
        if self.is_running:
            self.post_message(EventReported(event))

    def call_from_thread(self, function: Callable[[], object]) -> None:
        """Schedule `function` on the event loop, unless the vault is being closed. Any thread may call this."""
        if self.is_running:
            self.call_later(self._call_if_open, function)

    def _call_if_open(self, function: Callable[[], object]) -> None:
        if self.query(SearchPane):  # none if another vault is being opened
            function()

    @on(EventReported)
    def _handle_event(self, message: EventReported) -> None:
        match message.event:
            case Failure() as failure:
                self.index.handle_failure(failure)
            case IndexOpened() as opened:
                self._handle_index_opened(opened)
            case QueryVectorsReady():
                for pane in self.query(SearchPane):  # none if another vault is being opened
                    pane.handle_query_vectors()
            case MemoryChanged() as changed:
                self._handle_memory_change(changed)
            case event:
                self._handle_indexing_event(event)

    def _handle_index_opened(self, opened: IndexOpened) -> None:
        is_first = self.index.state.status is None
        for memories in self._memory_panes():
            memories.check_sources_again()
        if self.index.handle_opened(opened):
            self._search_pane.repeat_requests()
            for overview in self._overview_panes():
                overview.repeat_requests()
        else:
            self._search_pane.retry_missing_marks()
        if is_first:
            self.set_timer(_START_DELAY_SECONDS, self.index.start_unless_ended)

    def _handle_indexing_event(self, event: ProcessEvent) -> None:
        from excerpt.base.model import BuildReport

        self.index.handle_event(event)
        if isinstance(event, BuildReport) and self._emptied_dialog is not None:
            self._emptied_dialog.dismiss(False)
        elif isinstance(event, VaultEmptied):
            self._ask_about_emptied()

    def _handle_memory_change(self, changed: MemoryChanged) -> None:
        self.notify(changed.message, markup=False)
        for pane in self._memory_panes():
            pane.reload(changed.memory_id)
        self._search_pane.ask_memories()

    def show_index(self) -> None:
        """Show the state of the index in the tab bar, in the Search tab and in the index dialog."""
        state, tabs = self.index.state, self.query_one(TabBar)
        tabs.state = format_bar_state(state)
        self._search_pane.placeholder = search_notice(state, self.vaults, first=self._show_first_steps)
        self._search_pane.progress = format_progress(state)
        if self._index_dialog is not None:
            self._index_dialog.state = state

    def _open_newer_generation(self) -> None:
        start_work(self, self.index.open_newer_generation, group="look", exclusive=True)

    @on(TabBar.StatePicked)
    def action_open_index(self) -> None:
        """Show the index dialog, with progress, skipped files and commands."""
        from excerpt.tui.index.dialog import IndexDialog

        if self._index_dialog is None:
            self._index_dialog = IndexDialog(
                self.vaults,
                self._user_paths,
                self.index.state,
                send_command=self._run_index_command,
                open_file=lambda path: self.post_message(EditRequested(path, 1)),
                enable_ocr=lambda: start_work(self, self._enable_ocr, group="settings"),
                remote_notice=remote_notice(self.settings),
                store=self.store,
            )
            self.app.push_screen(self._index_dialog, self._forget_index_dialog)

    def _forget_index_dialog(self, _: None) -> None:
        self._index_dialog = None

    def _run_index_command(self, command: Command) -> None:
        if command == "update":
            self.action_update_index()
        elif command == "rebuild":
            self._ask_to_rebuild()
        else:
            self.index.send_command(command)

    def action_update_index(self) -> None:
        if self.index.state.emptied:
            self._ask_about_emptied()
        self.index.send_command("update")

    def _ask_to_rebuild(self) -> None:
        from excerpt.tui.common.dialog import ConfirmDialog

        question = "excerpt rebuilds the index from the vault. Your notes and memories do not change."

        def on_answer(yes: bool | None) -> None:
            if yes:
                self.index.send_command("rebuild")

        self.app.push_screen(ConfirmDialog("Rebuild the index?", question, "Rebuild"), on_answer)

    def _ask_about_emptied(self) -> None:
        if self._emptied_dialog is None:
            from excerpt.tui.common.dialog import ConfirmDialog

            # Without letter keys, because the user may be typing a query.
            self._emptied_dialog = ConfirmDialog(
                "The vault has no notes",
                _EMPTIED_TEXT.format(
                    format_count(self.index.state.emptied, "note"), visible_line(str(self.index.emptied_vault))
                ),
                "Index it as empty",
                "Keep the index",
                accepts_letters=False,
            )
            self._ask_when_idle()

    def _ask_when_idle(self, last_text: str | None = None) -> None:
        """Show the question about the emptied vault once the user neither types nor has another dialog open.

        `last_text` is the text of the focused field at the previous call.
        """
        field = self.focused
        text = field.value if isinstance(field, Input) else ""
        if self._emptied_dialog is None or not self.index.state.emptied:
            self._emptied_dialog = None
        elif last_text != text or self.app.screen not in (self, self._index_dialog):
            self.set_timer(_TYPING_PAUSE_SECONDS, partial(self._ask_when_idle, text))
        else:
            self.app.push_screen(self._emptied_dialog, self._handle_emptied_answer)

    def _handle_emptied_answer(self, empty: bool | None) -> None:
        self._emptied_dialog = None
        if empty:
            self.index.process.send("agree")

    @property
    def is_opening(self) -> bool:
        """Whether a pane is about to open a dialog."""
        panes: Iterable[OpensDialogs] = (*self.query(SearchPane), *self._overview_panes())
        return any(pane.is_opening for pane in panes)

    def action_show_tab(self, tab: str) -> None:
        if not self._has_all_tabs:
            self.set_timer(0.02, partial(self.action_show_tab, tab))
            return
        self.query_one(ContentSwitcher).current = tab
        self.query_one(TabBar).active = tab
        from excerpt.tui.insight.overview_pane import OverviewPane
        from excerpt.tui.memory.pane import MemoryPane

        self.query_one(_FIRST_FOCUS[tab]).focus()
        self.show_index()
        if tab == "memory":
            self.query_one(MemoryPane).reload()
        elif tab == "overview":
            self.query_one(OverviewPane).activate(self._search_pane.query_text)

    @on(TabBar.TabPicked)
    def _handle_tab_choice(self, event: TabBar.TabPicked) -> None:
        self.action_show_tab(event.tab)

    @on(QuerySettled)
    def _ask_model_offer(self) -> None:
        """Offer a better embedding model once, if it would help with the question; a store cannot have its vectors."""
        from excerpt.service.model_offer import is_minilm_helpful
        from excerpt.service.questions import AskModelOffer

        result = self._search_pane.result
        if self._pick is None and self.store is None and result is not None and is_minilm_helpful(result):
            self.index.engine.ask(AskModelOffer(self.settings, self._user_paths), self._show_model_offer)

    def _show_model_offer(self, line: str) -> None:
        if line:
            self.notify(line, title=f"A better model, {key_sign('help')} shows how", markup=False)

    @on(PaneLeft)
    def _return_to_search(self) -> None:
        self.action_show_tab("search")

    @on(SearchRequested)
    def _handle_search_request(self, message: SearchRequested) -> None:
        self.query_one("#query", Input).value = message.query
        self.action_show_tab("search")

    def palette_callback(self, tab: str | None, action: str) -> Callable[[], object]:
        """Return a function that runs `action` in the pane of `tab`, or on the screen if that is None."""
        if tab is None:
            return partial(self.app.run_action, action, self)

        async def run() -> None:
            if self.query_one(TabBar).active != tab:
                self.action_show_tab(tab)
            await self.app.run_action(action, self.query_one(f"#{tab}"))

        return run

    @on(Split.Dragged)
    def _handle_drag(self, message: Split.Dragged) -> None:
        """Give the list the same share of the window in every tab after its border was dragged."""
        message.stop()
        self._search_pane.share = message.share
        for split in self.query(Split):
            split.share = message.share

    @property
    def _visible_split(self) -> Split:
        return self.query_one(f"#{self.query_one(TabBar).active}").query_one(Split)

    def action_move_border(self, steps: int) -> None:
        """Move the border between the list and what is beside or below it."""
        self._visible_split.move_border(steps)

    def disabled_reason(self, action: str, parameters: tuple[object, ...]) -> str:  # noqa: ARG002 - as others have it
        """Return why the border cannot be moved now; "" for any other action."""
        is_without_border = action == "move_border" and not self._visible_split.arrangement.is_divided
        return "Only one pane is open: there is no border to move." if is_without_border else ""

    def _resume_session(self) -> None:
        """Restore query, strategy, pack options and window division of the previous session, before the first frame."""
        session, pane = self._session.previous, self._search_pane
        pane.strategy = session.strategy or pane.strategy
        pane.scope = session.scope or pane.scope
        pane.budget = session.budget or pane.budget
        pane.pack_format = session.form or pane.pack_format
        pane.fill = session.fill or pane.fill
        pane.share = session.share or pane.share
        pane.hits.link_form = session.link or pane.hits.link_form
        if session.query:
            self.prefill_query(session.query)
            self.watch(pane, "result", self._restore_selection, init=False)

    def prefill_query(self, query: str) -> None:
        """Put `query` into the query field if that is empty, and select it, so that typed text replaces it.

        A query that was given for picking is not selected, because the user continues typing it.
        """
        field = self.query_one("#query", Input)
        if not field.value:
            field.value = query
            field.selection = Selection(0 if self._pick is None else len(query), len(query))

    def _restore_selection(self, result: Result | None) -> None:
        if result is not None and self._session.position_to_restore is not None:
            rows = self.query_one(HitList)
            row = self._session.take_row_to_select(result.query, rows.hits)
            if row is not None:
                rows.select_fragment(rows.hits[row].fragment.id)

    def _resume_tab(self) -> None:
        """Show the tab of the previous session, unless the user has typed or changed the tab; start saving the session.

        All tabs must be mounted.
        """
        session = self._session.previous
        has_other_tab = session.tab in TABS and session.tab != self.query_one(TabBar).active == "search"
        if has_other_tab and self._search_pane.query_text == session.query:
            self.action_show_tab(session.tab)
        if self.settings.screen.restore and self._pick is None:
            self._session.start_saving()
            self.set_interval(_POLL_SECONDS, self.save_session)

    def save_session(self) -> None:
        """Save the session soon. Call this only while all widgets exist."""
        if self._session.is_saving:
            self._session.save_soon(drop_default_values(self._collect_session(), self.settings))

    def _collect_session(self) -> Session:
        pane, position = self._search_pane, self._session.position_to_restore
        hit = pane.selected
        if position is None and hit is not None:
            position = SelectedPosition(hit.fragment.id, hit.fragment.path, hit.fragment.line_start)
        tab = self.query_one(TabBar).active
        return Session(
            tab,
            pane.query_text,
            position,
            pane.strategy,
            pane.scope,
            pane.budget,
            pane.pack_format,
            pane.share,
            pane.fill,
            pane.side.insight.hides_linked,
            pane.hits.link_form,
        )

    @on(MarksTakenBack)
    def _handle_unmark(self, message: MarksTakenBack) -> None:
        start_work(self, partial(self._use_recorder.take_back, message.fragments), group="use")

    @on(MarksChanged)
    def _handle_marks_change(self, message: MarksChanged) -> None:
        self._marks_file.save_soon(message.marks)

    @property
    def settings(self) -> Settings:
        """The settings in effect."""
        return self._settings.in_effect

    def _poll_settings(self) -> None:
        # In a worker, so that no key waits for a slow disk.
        start_work(self, self._reload_changed_settings, group="settings")

    async def _reload_changed_settings(self) -> None:
        if await self._settings.have_files_changed():
            await self.reload_settings()

    async def reload_settings(self) -> None:
        """Read the settings files again and apply what has changed; show an error if a file is invalid."""
        try:
            before = await self._settings.apply_file_changes()
        except ExcerptError as error:
            self.notify(str(error), title=error.title, severity="error", markup=False, timeout=12)
        else:
            self._use_settings(before)

    def _use_settings(self, before: Settings) -> None:
        """Apply the settings in effect to index, memories, search and app if they differ from `before`."""
        settings = self.settings
        if settings == before:
            return
        self.memories.worker.use_settings(settings)
        if self.index.use_settings(before, settings):
            start_work(self, self.index.restart, group="indexing")
        self._search_pane.apply_settings(settings)
        self._on_settings_change(settings)
        self._notify_of_remote_models(remote_notice(before))

    def _notify_of_remote_models(self, before: str) -> None:
        """Say which other machines are sent text of the vault, unless `before` says the same."""
        if (notice := remote_notice(self.settings)) and notice != before:
            self.notify(notice, title="A model on another machine", severity="warning", markup=False)

    async def _enable_ocr(self) -> None:
        """Turn on the reading of images with OCR, in the settings file of each vault."""
        from excerpt.service.index_update import enable_ocr

        try:
            folders = self.vaults.by_name.values()
            changes = [
                await asyncio.to_thread(enable_ocr, folder, self._user_paths, bindable_actions()) for folder in folders
            ]
        except ExcerptError as error:
            self.notify(str(error), title=error.title, severity="error", markup=False, timeout=12)
            return
        if files := [str(file) for file in dict.fromkeys(changes) if file is not None]:
            self.notify(f"Images are now read with OCR, as set in {' and '.join(files)}.", markup=False)
        await self.reload_settings()
        if self.vaults.is_joined:  # the settings of the other vaults are read by their processes alone
            await self.index.restart()

    def action_settings(self, for_vault: bool = False) -> None:
        """Open the settings file in the user's editor, and create it if needed.

        With `for_vault`, this is the file with the settings of this vault only.
        """
        file = self._user_paths.vault_settings_file(self.vault) if for_vault else self._user_paths.settings_file
        try:
            self._settings.create_file(file)
        except OSError as error:
            self.notify(f"{file} cannot be created: {error.strerror or error}.", severity="error", markup=False)
            return
        self._edit_file(file, 1)

    @on(RememberRequested)
    def _handle_remember_request(self, message: RememberRequested) -> None:
        from excerpt.service.note_questions import AskSharedFragment
        from excerpt.text.comments import may_have_comments

        hit = message.hit
        if hit is None or not may_have_comments(hit.fragment.text):
            self.app.push_screen(*self.memories.make_new_memory_form(message))
            return

        def on_answer(fragment: Fragment) -> None:
            shared = replace(message, hit=replace(hit, fragment=fragment))
            self.app.push_screen(*self.memories.make_new_memory_form(shared))

        self.index.engine.ask(AskSharedFragment(hit.fragment), on_answer)

    @on(MemoryEditRequested)
    def _handle_memory_edit_request(self, message: MemoryEditRequested) -> None:
        self.app.push_screen(*self.memories.make_edit_form(message.memory))

    @on(MemoryShowRequested)
    def _handle_memory_show_request(self, message: MemoryShowRequested) -> None:
        self.action_show_tab("memory")
        for pane in self._memory_panes():
            pane.reload(message.memory_id)

    @on(MemoryFileRequested)
    def _handle_memory_file_request(self, message: MemoryFileRequested) -> None:
        self._edit_file(message.file, 1)

    @on(EditRequested)
    def _handle_edit_request(self, message: EditRequested) -> None:
        note = self._find_note_file(message.path)
        if note is not None and self._open_file(note, message) and message.used is not None:
            start_work(self, partial(self._record_use, "opened", (message.used,)), group="use")

    def _find_note_file(self, path: str) -> NoteFile | None:
        """Return the file of the note or attachment at `path`; show a notice and return None if there is no file."""
        from excerpt.service.note_files import find_note_file

        if self.store is not None:
            self.notify(NO_FILES, severity="error", markup=False)
            return None
        note = find_note_file(self.vaults, path, self.settings.vault)
        if note is None:
            title = "The note cannot be opened"
            self.notify(f"{path} is not in the vault.", title=title, severity="error", markup=False)
        return note

    def _open_file(self, note: NoteFile, message: EditRequested) -> bool:
        """Open a note in the editor or an attachment in its viewer; return whether the program was started."""
        file, kind = note.file, note.kind
        if kind in ("", *TEXT_KINDS):
            return self._edit_file(file, message.line if not kind else 1)
        reason = self._programs.view(self.settings.screen.viewers.get(kind, ""), kind, file, message.place)
        if reason is not None:
            link = visible_line(f"{file}#{message.place}" if message.place else str(file))
            self.notify(
                f"{reason} Address: {link}",
                title="No program can open the attachment",
                severity="warning",
                markup=False,
            )
        return reason is None

    def _edit_file(self, file: Path, line: int) -> bool:
        detects_changes = self.index.state.detects_changes
        save_hint = (
            "excerpt indexes your changes when you save."
            if detects_changes
            else "After saving, run “Update the index”."
        )
        editor = self.settings.screen.editor
        return self._programs.edit(editor, file, line, save_hint=save_hint, on_exit=self.index.update_after_edit)

    @on(ObsidianRequested)
    def _handle_obsidian_request(self, message: ObsidianRequested) -> None:
        note = self._find_note_file(message.path)
        if note is not None:
            start_work(self, partial(self._open_in_obsidian, note.file, message), group="obsidian")

    async def _open_in_obsidian(self, file: Path, message: ObsidianRequested) -> None:
        is_opened = await self._programs.open_in_obsidian(file, message.headings, self._copy_link)
        if is_opened and message.used is not None:
            await self._record_use("opened", (message.used,))

    def _copy_link(self, link: str) -> None:
        self.post_message(CopyRequested(link, "No program opens Obsidian links. Link", None))

    async def _record_use(self, kind: str, hits: tuple[UsedHit, ...]) -> None:
        if self.settings.search.learn:
            await self._use_recorder.record(kind, hits)

    @on(CopyRequested)
    def _handle_copy_request(self, message: CopyRequested) -> None:
        start_work(self, partial(self._copy_text, message), group="copy")

    async def _copy_text(self, message: CopyRequested) -> None:
        from excerpt.tui.clipboard import Copier

        copier = Copier(self.vault, self._user_paths, self._environment, self._send_escape)
        report = await copier.copy(message)
        if report.message:
            self.notify(report.message, severity="information" if report.is_copied else "warning", markup=False)
        await self._record_use("marked" if message.pack is not None else "copied", message.used)
        if message.target is CopyTarget.STDOUT:
            self.post_message(Picked(message.text))

    def _send_escape(self, sequence: str) -> None:
        """Write an escape sequence to the terminal between two frames.

        Textual's public method can only copy by a plain OSC 52 sequence, which tmux and screen need wrapped.
        """
        driver = self.app._driver
        if driver is not None:
            driver.write(sequence)

    def _make_failure_notifier(self, problem: str) -> Callable[[str], None]:
        """Return a function that is called with a reason and shows `problem` with that reason as a notice."""
        return lambda reason: self.notify(f"{problem}: {reason}.", markup=False)


def _create_hint_file(file: Path) -> bool:
    """Create the file that records that first steps were explained, and return whether it did not exist."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.touch(exist_ok=False)
    except FileExistsError:
        return False
    except OSError:  # first steps are then explained at the next start too
        return True
    return True
