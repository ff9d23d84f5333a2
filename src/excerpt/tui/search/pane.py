"""The Search tab: query, ranked list, side panel and pack. It asks the engine and passes the answers to its parts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.reactive import var
from textual.widgets import Input, Static

from excerpt.kinds import Format, Scope, Strategy, next_of
from excerpt.pack.selection import SavedMarks
from excerpt.settings import Settings
from excerpt.text.display import format_lines
from excerpt.tui.active_keys import bindings
from excerpt.tui.common.debouncer import Debouncer
from excerpt.tui.common.notice import EmptyState, Notice
from excerpt.tui.common.row_list import RowList
from excerpt.tui.common.split import SHARE, Split
from excerpt.tui.engine_worker import EngineWorker
from excerpt.tui.key_table import HIT_ACTIONS
from excerpt.tui.keymap import key_sign
from excerpt.tui.memory.controller import MemoryPlacement, RecallController, is_memory, make_memory_window
from excerpt.tui.messages import (
    CopyRequested,
    EditRequested,
    Failure,
    Location,
    MarksChanged,
    MemoryEditRequested,
    ObsidianRequested,
    RememberRequested,
)
from excerpt.tui.pack.bar import PackBar
from excerpt.tui.pack.controller import PackController, mark_hit, next_budget
from excerpt.tui.search.disabled import SearchState, SelectedRow, search_disabled
from excerpt.tui.search.hit_list import HitList
from excerpt.tui.search.notices import is_unanswered, list_title, no_hits_notice
from excerpt.tui.search.query_bar import AnswerStatus, QueryBar, QueryMenu
from excerpt.tui.search.query_history import QueryStore

if TYPE_CHECKING:
    from excerpt.model import Hit, Memory, Result
    from excerpt.tui.memory.worker import FoundMemories, MemoryWorker
    from excerpt.tui.pack.packer import Packer
    from excerpt.tui.pack.panel import PackPanel, TypedBudget
    from excerpt.tui.search.side_panel import SidePanel
    from excerpt.tui.search.strategies import Choice

_HIT_ACTIONS = HIT_ACTIONS | {"move", "remember", "show_view"}
"""Actions on hits: pressed right after a letter, they wait for the answer to the whole query."""
_BUSY_AFTER_SECONDS = 0.5
"""Seconds before a pending search is shown as such."""

_LIST_ACTIONS = frozenset({"copy_fragment", "obsidian", "next_view", "enter_side"})
"""Actions whose keys do nothing in the pack panel: they apply to the list and the side panel."""

_MENU_ACTIONS = frozenset({"move", "mark", "edit", "back"})
"""Actions whose keys belong to the menu while it is open."""


_MIN_SIDE_SHARE = 0.65
"""Least share of the height for the side panel when it is below the list and shows no passage."""


class SearchPane(Vertical):
    """The Search tab.

    State: the strategy, the result shown, and which panels are visible. All other state belongs to the controllers: the
    pane passes keys on to them and shows their answers.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("Search")

    DEFAULT_CSS = """
    SearchPane {
        #body { height: 1fr; }
        #found { height: 1fr; border-top: solid $border-blurred; border-title-color: $text-soft; }
        #found:focus-within { border-top: solid $accent; border-title-color: $accent; }
        #found.-unanswered {
            border-title-color: $warning;
            HitList > .hit--title { text-style: none; color: $text-soft; }
            HitList > .hit--heading, HitList > .hit--score { color: $text-faint; }
            HitList > .row--match { color: $text-soft; background: $background 0%; text-style: none; }
        }
        #hits { height: 1fr; }
        #before { height: 1; padding: 0 1; color: $accent; display: none; }
        #packed {
            display: none;
            height: 1fr;
            border-top: solid $border-blurred;
            border-title-color: $text-soft;
            &.-open { display: block; }
            &:focus { border-top: solid $accent; border-title-color: $accent; }
        }
        #body.-no-panel #packed { display: none; }
    }
    """

    strategy: var[Strategy] = var(Strategy.AUTO, init=False)
    result: var[Result | None] = var(None, init=False)
    placeholder: var[EmptyState] = var(EmptyState("Type to search."), init=False)
    """Text shown in place of the list while there is no query."""
    share = SHARE
    """The list's share of the body, the same in all tabs."""
    progress: var[str] = var("", init=False)
    """Progress of the index build; "" while none is running."""

    is_populated = False
    """Whether the panels are mounted, which happens after the first frame."""
    side: SidePanel
    pack_panel: PackPanel

    def __init__(
        self,
        settings: Settings,
        engine: EngineWorker,
        memories: MemoryWorker,
        open_packer: Callable[[], Packer],
        *,
        has_files: bool = True,
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        super().__init__(id=id)
        self._has_files = has_files
        self.set_reactive(SearchPane.strategy, settings.search.strategy)
        self.memories = RecallController(
            engine,
            memories,
            settings.memory,
            on_found=self._memories_found,
            on_change=self._show_badges,
        )
        self.pack = PackController(
            engine,
            open_packer,
            self.set_timer,
            settings.pack,
            selected=lambda: self.selected,
            memories=self.memories.marked_memories,
            on_change=self._show_pack,
            on_build=self._pack_built,
            on_failure=self._pack_failed,
            on_save=lambda marks: self.post_message(MarksChanged(marks)),
        )
        self._settings = settings
        self._engine = engine
        self._limit = settings.search.limit
        self._pending_actions: list[Callable[[], Awaitable[object]]] = []
        self._search_error: EmptyState | None = None
        self._busy = Debouncer(self.set_timer)
        self._pending_selection = ""
        self._correction = ""
        self._pending_copy: bool | None = None
        self._last_state = SearchState()

    def compose(self) -> ComposeResult:
        yield QueryBar(self._engine)
        with Split(id="body"):
            with Vertical(id="found"):
                yield Static(id="before", markup=False)
                yield HitList(id="hits")
                yield Notice(id="notice")
            yield Vertical(id="aside")
        yield PackBar(id="pack")

    def on_mount(self) -> None:
        self._bar.status.strategy = self.strategy
        self._show_choices()
        self.query_one(Split).share = self.share
        self._show_result()

    async def mount_panels(self) -> None:
        """Mount what the first frame does not show: the side panel and the pack panel."""
        from excerpt.tui.pack.panel import PackPanel
        from excerpt.tui.search.side_panel import SidePanel

        self.side = SidePanel(self._engine, query=lambda: self.query_text, put=self._bar.put, id="side")
        self.pack_panel = PackPanel(self.pack, self._apply_decision, id="packed", classes="panel")
        await self.query_one("#aside").mount(self.side, self.pack_panel)
        self.query_one(Split).show_context()
        self.is_populated = True
        self._show_choices()
        self.search()

    # --- widgets and selection ----------------------------------------------------------------------------------------

    @property
    def _bar(self) -> QueryBar:
        return self.query_one(QueryBar)

    @property
    def _hits(self) -> HitList:
        return self.query_one(HitList)

    @property
    def _split(self) -> Split:
        return self.query_one(Split)

    @property
    def query_text(self) -> str:
        return self._bar.text

    @property
    def selected(self) -> Hit | None:
        """The hit selected in the list: a fragment or a memory."""
        return self._hits.selected

    @property
    def _target_hit(self) -> Hit | None:
        """The hit that keys apply to: the passage in the side panel while that has the focus, else the selected hit."""
        return self.side.passage if self.is_populated and self.side.has_focus_within else self.selected

    @property
    def _target_memory(self) -> Memory | None:
        hit = self._target_hit
        return self.memories.find_memory(hit.fragment.id) if hit is not None else None

    @property
    def _answered_query(self) -> str:
        return self.result.query if self.result is not None else ""

    @property
    def is_up_to_date(self) -> bool:
        """Whether list and pack are up to date with the last requests."""
        return not self._is_searching and self.pack.is_answered

    # --- calls from the main screen -----------------------------------------------------------------------------------

    def use_settings(self, settings: Settings) -> None:
        """Use other settings from now on; only changed ones take effect, at once."""
        old, self._settings = self._settings, settings
        if old.search.strategy is not settings.search.strategy:
            self.strategy = settings.search.strategy
        self._apply_decision(self.pack.use(settings.pack))
        if self.memories.use_settings(settings.memory):
            self._showing_changed()

    def restore(self, saved_marks: SavedMarks) -> None:
        """Add the marks of an earlier session."""
        self.pack.restore(saved_marks)
        self._show_choices()

    async def open_query_store(self, store: QueryStore) -> None:
        """Store queries from now on, and load the history."""
        await self._bar.queries.open_store(store)

    def index_changed(self) -> None:
        """Repeat the requests for all that is shown, because there is a newer index."""
        if self.query_text.strip():
            self._bar.read()
            self.search()
        elif self.pack.choices.marks:
            self._ask_pack()

    def refresh_missing_marks(self) -> None:
        """Request marked fragments again that were missing: they may have been found elsewhere."""
        if self.pack.packed is not None and self.pack.packed.missing:
            self._ask_pack()

    def recall(self) -> None:
        """Request the memories that match the answered query."""
        self.memories.request_memories(self._answered_query, self.pack.choices.marks)

    @property
    def scope(self) -> Scope:
        return self.pack.pack_settings.scope

    @scope.setter
    def scope(self, scope: Scope) -> None:
        self._apply_decision(self.pack.change_settings(scope=scope))

    @property
    def budget(self) -> int:
        return self.pack.pack_settings.budget

    @budget.setter
    def budget(self, budget: int) -> None:
        self._apply_decision(self.pack.change_settings(budget=budget))

    @property
    def pack_format(self) -> Format:
        return self.pack.pack_settings.format

    @pack_format.setter
    def pack_format(self, pack_format: Format) -> None:
        self._apply_decision(self.pack.change_settings(pack_format=pack_format))

    def watch_placeholder(self) -> None:
        self._show_result()

    def watch_progress(self) -> None:
        self._show_result()

    # --- searching ----------------------------------------------------------------------------------------------------

    @on(Input.Changed, "#query")
    def _query_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._limit = self._settings.search.limit
        self.search()

    def watch_strategy(self) -> None:
        self._bar.status.strategy = self.strategy
        self._limit = self._settings.search.limit
        self.search()

    def search(self) -> None:
        """Search for the current query; called again when there is a newer index."""
        if not self.is_populated:
            return
        query = self.query_text.strip()
        if not query:
            self._engine.cancel("search")
            self._engine.cancel("marks")
            self._end_search()
            self.result = None
            self._ask_pack()
            return
        visible_hits = self.size.height // self._hits.ROW_HEIGHT
        from excerpt.tui.questions import AskSearch

        question = AskSearch(query, self.strategy, self._limit, visible_hits)
        self._engine.ask(question, partial(self._search_done, visible_hits), self._search_failed, is_interim=True)
        if not self._busy.is_pending and not self._bar.status.busy:
            self._busy.schedule(_BUSY_AFTER_SECONDS, self._show_busy)

    def _show_busy(self) -> None:
        self._bar.status.busy = "searching…"

    def _stop_waiting(self) -> None:
        self._busy.stop()
        self._bar.status.busy = ""

    def _end_search(self, error: EmptyState | None = None) -> None:
        self._stop_waiting()
        self._pending_actions.clear()
        self._search_error = error

    def _search_done(self, visible_hits: int, result: Result) -> None:
        """Show an answer, even if a newer query is pending, and request the matches of hits below the visible rows."""
        if not self._is_searching:
            self._stop_waiting()
        self._search_error = None
        self.result = result
        self.call_after_refresh(self._engine.mark_drawn, self._engine.last_delivered_number)
        if len(result.hits) > visible_hits:
            from excerpt.tui.questions import AskHighlights

            self._engine.ask(AskHighlights(result), self._show_all_matches)
        if not self._is_searching and self._pending_actions:
            self.app.call_later(self._act_on_answer)

    def _search_failed(self, failure: Failure) -> None:
        """Show the error in place of the hits."""
        self._end_search(EmptyState.of_failure(failure))
        self.result = None
        self._show_result()

    @property
    def _is_searching(self) -> bool:
        return self._engine.is_waiting("search")

    def has_to_wait(self, action: str) -> bool:
        """Return whether the action has to wait for hits that are not there yet."""
        moves_elsewhere = action == "move" and (
            self.query_one("#aside").has_focus_within or self._bar.queries.is_in_history
        )
        # While one action waits, later ones wait too, so that they run in order.
        waits = self._is_searching or bool(self._pending_actions)
        return action in _HIT_ACTIONS and not moves_elsewhere and waits and self._engine.is_open

    @property
    def is_opening(self) -> bool:
        """Whether actions wait for an answer, or the query menu for its rows."""
        return bool(self._pending_actions) or self._engine.is_waiting("suggest")

    def run_when_answered(self, action: Callable[[], Awaitable[object]]) -> None:
        """Call `action` when the newest query is answered."""
        self._pending_actions.append(action)

    async def _act_on_answer(self) -> None:
        actions, self._pending_actions = self._pending_actions, []
        for action in actions:
            await action()

    def _show_all_matches(self, result: Result) -> None:
        """Redraw the rows with the matches of all hits, and request the pack again.

        Of the visible rows, only fragments below the best one of their note change. A passage too long for the pack is
        cut to its matches, so the pack may change.
        """
        self.set_reactive(SearchPane.result, result)
        self._show_rows(is_repeat=True)
        self._ask_pack()

    def watch_result(self, old: Result | None, new: Result | None) -> None:
        """Show the result, then update what depends on it."""
        is_repeat = old is not None and new is not None and old.query == new.query
        self._ask_correction()
        self._show_result()
        self._show_rows(is_repeat=is_repeat)
        self._apply_pending_selection()
        self.recall()
        self._ask_pack()
        self._selection_changed(is_repeat=is_repeat)

    def _ask_correction(self) -> None:
        """Request a corrected query if nothing answers this one, or if it looks as if it had a filter."""
        from excerpt.tui.questions import AskCorrection

        result, self._correction = self.result, ""
        if result is not None and (result.hints or not result.hits or is_unanswered(result)):
            self._engine.ask(AskCorrection(result.query), partial(self._show_correction, result))

    def _show_correction(self, result: Result, correction: str) -> None:
        if correction and self.result is not None and self.result.query == result.query:
            self._correction = correction
            self._show_result()
            self._refresh_keys()

    def _show_result(self) -> None:
        """Show the outcome of the query in its bar and in the title of the list.

        If there are no hits, also show it in place of the list.
        """
        result, bar = self.result, self._bar
        notice = self.query_one("#notice", Notice)
        self._hits.display = bool(result and result.hits)
        self._show_earlier()
        notice.display = not self._hits.display
        self._show_side()
        frame = self.query_one("#found")
        frame.set_class(is_unanswered(result), "-unanswered")
        title = list_title(result, self._correction, is_lower_bound=not self._has_files)
        if frame.border_title != title:
            # Setting the title redraws the whole pane.
            frame.border_title = title
        bar.answered_query = result.query if result is not None and result.hits else ""
        if result is None:
            bar.status.answer = None
            notice.empty_state = self._search_error or self.placeholder
            return
        primary = None if result.confidence is None else result.strategy
        bar.status.answer = AnswerStatus(
            primary, max(result.matched, len(result.hits)), result.confidence, is_lower_bound=not self._has_files
        )
        if not result.hits:
            notice.empty_state = no_hits_notice(result, self.progress, self._correction)

    def _show_side(self) -> None:
        """Show the side panel if it has content; a map needs no query."""
        shows_map = self.is_populated and self.side.view == "map" and self._split.context
        self._split.context = bool(self._result_hits) or shows_map

    @property
    def _result_hits(self) -> Sequence[Hit]:
        return self.result.hits if self.result is not None else ()

    def _show_rows(self, *, is_repeat: bool) -> None:
        """List the hits, with memories among them."""
        if self.result is None:
            self.memories.clear_hits()
        self._hits.show(self.memories.merge_rows(self._result_hits), is_repeat=is_repeat)

    # --- the selection ------------------------------------------------------------------------------------------------

    @on(HitList.EndReached)
    def _end_reached(self, event: HitList.EndReached) -> None:
        """Request more hits, if there are more."""
        event.stop()
        result = self.result
        if result is not None and len(result.hits) == self._limit < result.matched and not self._is_searching:
            self._limit += self._settings.search.limit
            self.search()

    @on(RowList.Moved)
    def _moved(self, event: RowList.Moved) -> None:
        if event.control is self._hits:
            event.stop()
            self._selection_changed()
        elif self.is_populated and event.control is self.pack_panel:
            event.stop()
            self._refresh_keys()

    def _selection_changed(self, *, is_repeat: bool = False) -> None:
        """Update what depends on the selected hit; `is_repeat` says that the same query was answered again."""
        if self.is_populated:
            self._select_in_side(is_repeat=is_repeat)
        self.show_cost()
        self._refresh_keys()

    def _select_in_side(self, *, is_repeat: bool = False) -> None:
        hit = self.selected
        self.side.select(hit, self.result, make_memory_window(hit), is_repeat=is_repeat)

    def _memories_found(self, answer: FoundMemories) -> None:
        listed = self.result is not None
        changes = listed and bool(answer.hits or self.memories.has_memories)
        self.memories.store_answer(answer, has_hit_list=listed)
        if changes:
            selected = self.selected
            self._show_rows(is_repeat=True)
            if self.selected is not selected:
                self._selection_changed()
        self.memories.ask_badges(self._result_hits)
        if self.pack.lacks_memories:
            self._ask_pack()

    def _showing_changed(self) -> None:
        self._show_rows(is_repeat=True)
        self.memories.ask_badges(self._result_hits)
        self.recall()
        self._selection_changed()

    def _show_badges(self) -> None:
        self._hits.badges = self.memories.badges

    # --- the pack -----------------------------------------------------------------------------------------------------

    def _ask_pack(self) -> None:
        self.pack.ask(self.result, self.strategy)
        self._show_earlier()

    def _apply_decision(self, is_changed: bool) -> None:
        """Show a changed decision about the pack, if `is_changed`, and request the pack again."""
        if is_changed:
            self._show_choices()
            self._ask_pack()

    def _show_choices(self) -> None:
        """Show the marks, and the format, scope and budget of the pack."""
        bar, choices = self.query_one(PackBar), self.pack.choices
        self._hits.marked = choices.marked
        self._hits.packed = self.pack.packed_fragments
        self._show_earlier()
        if self.is_populated:
            self.side.related.rows.marked = choices.marked
        bar.pack_settings, bar.marked, bar.order = self.pack.pack_settings, len(choices.marks), self.pack.order

    def _show_earlier(self) -> None:
        """Show above the list how many marked fragments are not in it."""
        line, count = self.query_one("#before", Static), len(self.pack.earlier)
        line.display = count > 0 and self._hits.display
        if count:
            shows, drops = key_sign("show-earlier"), key_sign("drop-earlier")
            text = f"● {count:,} marked earlier: {shows} shows, {drops} drops"
            if line.content != text:
                line.update(text)

    def show_cost(self) -> None:
        """Show the estimated cost of adding the selected fragment; the exact cost follows."""
        self.pack.show_cost()
        self.query_one(PackBar).cost = self.pack.cost

    def _show_pack(self) -> None:
        """Show the current pack in its bar, in the margin of the preview and in its panel."""
        packed, bar = self.pack.packed, self.query_one(PackBar)
        self._show_choices()
        bar.pack, bar.cost = packed.result if packed is not None else None, self.pack.cost
        if self.is_populated:
            packs = packed.result.packs if packed is not None else ()
            self.side.show_packed(tuple((pack.path, pack.line_start, pack.line_end) for pack in packs))
            if self.pack_panel.display:
                self._show_contents()
        self._refresh_keys()

    def _show_contents(self) -> None:
        from excerpt.tui.pack.panel import PanelContents

        pack, hits = self.pack, self.result.hits if self.result is not None else ()
        ranks = {hit.fragment.id: rank for rank, hit in enumerate(hits, start=1)}
        contents = (
            PanelContents(pack.packed, pack.choices.marked, ranks, pack.order) if pack.packed is not None else None
        )
        self.pack_panel.contents = contents

    def _pack_built(self) -> None:
        if self._pending_copy is not None and not self._is_searching:
            self._copy(to_file=self._pending_copy)
        if count := self.pack.newly_missing():
            self.notify(f"{count} marked fragment{' is' if count == 1 else 's are'} no longer in the vault.")

    def _pack_failed(self) -> None:
        self._pending_copy = None

    @on(HitList.MarkClicked)
    def _mark_clicked(self, event: HitList.MarkClicked) -> None:
        event.stop()
        self._toggle_selected(0)

    def _toggle_selected(self, rows: int) -> None:
        hit = self.selected
        if hit is not None:
            self._apply_decision(self.pack.toggle(mark_hit(hit)))
            self._hits.move(rows)

    def action_mark(self) -> None:
        """Toggle the mark of the current passage; in lists the cursor moves on."""
        if not self.side.has_focus_within:
            self._toggle_selected(1)
        elif (hit := self.side.passage) is not None:
            self._apply_decision(self.pack.toggle(mark_hit(hit)))
            if self.side.view == "related":
                self.side.move(1)

    def action_clear_marks(self) -> None:
        self._apply_decision(self.pack.decide(self.pack.choices.without_marks()))

    def action_undo(self) -> None:
        if not self.pack.can_undo:
            self.notify("Nothing to undo.")
        self._apply_decision(self.pack.undo())

    def action_redo(self) -> None:
        if not self.pack.can_redo:
            self.notify("Nothing to redo.")
        self._apply_decision(self.pack.redo())

    def action_show_earlier(self) -> None:
        """Mark again what was marked in an earlier session, and show the pack."""
        if not self.pack.earlier:
            self.notify("No earlier marks are outside the list.")
            return
        self._apply_decision(self.pack.restore_marks())
        if not self.pack_panel.has_focus:
            self.action_panel()

    def action_drop_earlier(self) -> None:
        if not self.pack.earlier:
            self.notify("No earlier marks are outside the list.")
        self._apply_decision(self.pack.drop_earlier())

    def action_type_budget(self) -> None:
        """Open a dialog to type the budget."""
        from excerpt.tui.pack.panel import BudgetDialog

        def answered(typed: TypedBudget | None) -> None:
            if typed is not None:
                self.budget = typed.budget
                if typed.copying:
                    self.action_copy_pack()

        self.app.push_screen(BudgetDialog(self.budget), answered)

    def action_order(self) -> None:
        self._apply_decision(self.pack.decide(self.pack.choices.with_next_order(self.pack.query)))

    def action_scope(self) -> None:
        self._apply_decision(self.pack.next_scope())

    def action_format(self) -> None:
        self._apply_decision(self.pack.next_format())

    def action_budget(self, steps: int) -> None:
        self._apply_decision(self.pack.change_settings(budget=next_budget(self.budget, steps)))

    def action_copy_pack(self) -> None:
        """Copy the pack of the newest query; if it is still being built, as soon as it is ready."""
        self._copy(to_file=False)

    def action_save_pack(self) -> None:
        self._copy(to_file=True)

    def _copy(self, *, to_file: bool) -> None:
        self._pending_copy = None if self.is_up_to_date else to_file
        if self._pending_copy is not None:
            return
        request = self.pack.copy_request(to_file=to_file)
        if request is None:
            self.notify("Nothing to copy: the pack is empty.", severity="warning")
        else:
            self.post_message(request)

    def action_remember_pack(self) -> None:
        """Remember the pack as it would be copied; it names its sources itself."""
        if self.pack.packed is None or self.pack.is_empty:
            self.notify("Nothing to remember: the pack is empty.", severity="warning")
        else:
            self.post_message(RememberRequested(None, self.pack.query, self.pack.packed.text))

    # --- the pack's panel ---------------------------------------------------------------------------------------------

    def action_panel(self) -> None:
        """Open the pack panel and focus it; if it has the focus, close it."""
        panel = self.pack_panel
        if panel.has_focus:
            self._close_pack()
            return
        panel.add_class("-open")
        self._split.panel = True
        self._show_contents()
        panel.focus()

    def _close_pack(self) -> bool:
        """Close the pack panel and give its focus to the list; return False if it was closed already."""
        was_open, had_focus = self._split.panel, self.pack_panel.has_focus
        self.pack_panel.remove_class("-open")
        self._split.panel = False
        if had_focus:
            self._focus_list()
        return was_open

    def _preview_panel_row(self) -> None:
        """Show the fragment of the panel's row in the preview, in place of the panel if there is no room for both."""
        panel, rows = self.pack_panel, self._hits
        row, pack = panel.selected, panel.selected_pack
        if row is None:
            return
        fragment_ids = (pack.entry.fragment_id,) if pack is not None else row.fragment_ids
        if not fragment_ids or not row.line_start:
            self.notify("That text is no longer in the vault." if fragment_ids else "It is no longer among the hits.")
            return
        spans = {mark.fragment: mark.spans for mark in self.pack.choices.marks}
        spans.update((hit.fragment.id, hit.spans) for hit in rows.hits)
        fragment_id = next((each for each in fragment_ids if each in spans), fragment_ids[0])
        rows.select_fragment(fragment_id)
        window = self.memories.memory_window(fragment_id)
        if window is not None:
            self.side.show_memory(window)
        else:
            self.side.show_location(Location(fragment_id, "", 0, tuple(spans.get(fragment_id, ()))))
        if not self.side.display:
            self._close_pack()
            self._focus_side()

    def _remember_passage(self) -> None:
        """Remember the passage selected in the pack panel, with the text that the scope added."""
        from excerpt.model import Source

        row = self.pack_panel.selected_pack
        memory = self.memories.find_memory(row.path) if row is not None else None
        if memory is not None:
            self.post_message(MemoryEditRequested(memory))
        elif row is not None:
            source = Source(row.path, row.line_start, row.line_end, row.digest, row.heading_path, row.place)
            self.post_message(RememberRequested(None, self.pack.query, row.text, source))

    # --- the side panel -----------------------------------------------------------------------------------------------

    def action_show_view(self, view: str) -> None:
        """Show a view of the selected hit; if it is shown already, show the passage, or the list if it took its place.

        Related notes and map get the focus, as the user selects something in them.
        """
        from excerpt.tui.search.side_panel import PanelView

        is_shown = self.side.display and self.side.view == view
        if is_shown and self._replaces_list:
            self._return_to_list()
            return
        self.side.view = PanelView.PASSAGE if is_shown else PanelView(view)
        self._split.context = True
        if not self.side.display:
            self._close_pack()
            self._split.prefers_context = True
        if self.side.view in (PanelView.RELATED, PanelView.MAP):
            self.screen.set_focus(self.side.focus_target)

    def action_next_view(self) -> None:
        """Show the next view. If the side panel is hidden, show it, in place of the list if necessary."""
        if self.side.display:
            self.side.next_view()
        else:
            self._close_pack()
            self._focus_side()

    def action_enter_side(self) -> None:
        """Focus the side panel; if it shows the passage, move to the next link."""
        self._focus_side()
        if self.side.view == "passage":
            self.side.preview.action_next_link()

    def _focus_side(self) -> None:
        """Show and focus the side panel."""
        self._split.prefers_context = True
        self.screen.set_focus(self.side.focus_target)

    @property
    def _replaces_list(self) -> bool:
        """Whether the side panel is shown in place of the list."""
        return self._split.arrangement.context and not self._split.arrangement.first

    def _return_to_list(self) -> None:
        """Focus the list, and show it again if the side panel took its place."""
        self._split.prefers_context = False
        self._focus_list()

    def _focus_list(self) -> None:
        (self._hits if self._hits.display else self._bar.field).focus()

    def action_scroll_view(self, pages: int) -> None:
        self.side.scroll_pages(pages)

    def on_side_panel_content_changed(self) -> None:
        """Update the layout and the keys for the passage or view that the side panel shows now."""
        # Why, related notes and map need more room below the list than a passage.
        self._split.min_second_share = 0.0 if self.side.view == "passage" else _MIN_SIDE_SHARE
        self._refresh_keys()

    # --- one fragment or memory ---------------------------------------------------------------------------------------

    @on(EditRequested)
    @on(CopyRequested)
    @on(RememberRequested)
    def _note_used_query(self) -> None:
        """Add the query to the history, because its hits were used."""
        self._bar.note_query()

    def action_copy_fragment(self) -> None:
        """Copy the current passage, or the lines picked in it."""
        hit = self._target_hit
        lines = self.side.pop_picked_lines() if self.side.has_focus_within else None
        if lines is not None and hit is not None:
            label = format_lines(lines.line_start, lines.line_end, "–").capitalize()
            self.post_message(CopyRequested(lines.text, label, None, ((lines.path, hit.fragment.id),)))
        elif hit is not None:
            fragment = hit.fragment
            notes = () if is_memory(hit) else ((fragment.path, fragment.id),)
            self.post_message(CopyRequested(fragment.text, "Fragment", fragment.tokens, notes))

    def action_edit(self) -> None:
        """Do what enter does in the focused panel, else open the current note, or use the corrected query."""
        hit, memory = self._target_hit, self._target_memory
        if self.pack_panel.has_focus:
            self._preview_panel_row()
        elif self.side.has_focus_within and self.side.enter():
            return
        elif memory is not None:
            if memory.source is None:
                self.notify("This memory is your own thought: it has no source to open.")
            else:
                source = memory.source
                self.post_message(EditRequested(source.path, max(source.line_start, 1), place=source.place))
        elif hit is not None:
            picked_lines = self.side.preview.picked_lines if self.side.has_focus_within else None
            line = picked_lines.first if picked_lines is not None else hit.fragment.line_start
            self.post_message(EditRequested(hit.fragment.path, line, hit.fragment.id, place=hit.fragment.place))
        elif self._correction:
            self._bar.put(self._correction)

    def action_obsidian(self) -> None:
        """Open the current note in Obsidian."""
        hit = self._target_hit
        if hit is not None:
            fragment = hit.fragment
            self.post_message(ObsidianRequested(fragment.path, fragment.heading_path, fragment.id))

    def action_remember(self) -> None:
        """Remember the passage of the pack panel, or the current one; open a memory in the form."""
        if self.pack_panel.has_focus and self.pack_panel.row_count:
            self._remember_passage()
        elif (memory := self._target_memory) is not None:
            self.post_message(MemoryEditRequested(memory))
        else:
            from excerpt.model import Hit

            lines = self.side.pop_picked_lines() if self.side.has_focus_within else None
            hit = Hit(lines, 0.0) if lines is not None else self._target_hit
            self.post_message(RememberRequested(hit, self.query_text.strip()))

    def action_memories(self) -> None:
        """Switch between memories among the hits, before them, or not shown."""
        self.memories.select_next_placement()
        placement = self.memories.placement
        is_off = placement is MemoryPlacement.OFF
        self.notify("Memories are not shown in the search." if is_off else f"Memories are shown {placement}.")
        self._showing_changed()

    # --- why, and other strategies ------------------------------------------------------------------------------------

    def action_strategy(self) -> None:
        self.strategy = next_of(list(Strategy), self.strategy)

    def action_why_not(self) -> None:
        """Ask for a note by its name why it is not ranked higher, whether or not anything is listed."""
        from excerpt.tui.search.why_view import WhyNot

        if self.result is not None:
            self.app.push_screen(WhyNot(self.result, self._engine.ask))

    def action_compare(self) -> None:
        from excerpt.tui.search.strategies import StrategiesScreen

        result, hit = self.result, self.selected
        if result is not None:
            fragment = hit.fragment.id if hit is not None else ""
            screen = StrategiesScreen(result.query, result.requested_strategy, fragment, self._engine.ask)
            self.app.push_screen(screen, self._use_strategy)

    def _use_strategy(self, choice: Choice | None) -> None:
        result = self.result
        if choice is None:
            return
        if result is not None and result.requested_strategy is not self.strategy:
            self.notify(f"The query sets the strategy {result.requested_strategy}: remove its ! to choose another.")
        elif choice.strategy is self.strategy:
            self._hits.select_fragment(choice.fragment)
        else:
            self._pending_selection = choice.fragment
            self.strategy = choice.strategy

    def _apply_pending_selection(self) -> None:
        """Select the fragment that was chosen with a strategy, once the hits are listed."""
        fragment, self._pending_selection = self._pending_selection, ""
        if fragment:
            self._hits.select_fragment(fragment)

    # --- the query's menu ---------------------------------------------------------------------------------------------

    def action_complete(self) -> None:
        """Use the corrected query if one is suggested, else complete the word."""
        if self._correction:
            self._bar.put(self._correction)
        else:
            self._bar.complete()

    def action_suggest(self) -> None:
        self._bar.suggest()

    async def action_saved(self) -> None:
        await self._bar.open_saved()

    async def action_save_query(self) -> None:
        await self._bar.save_query()

    async def action_history(self) -> None:
        await self._bar.open_history()

    # --- moving -------------------------------------------------------------------------------------------------------

    def action_move(self, rows: int) -> None:
        if self._bar.move_in_history(rows):
            return
        if self.side.has_focus_within:
            self.side.move(rows)
        else:
            (self.pack_panel if self.pack_panel.has_focus else self._hits).move(rows)

    def action_focus_query(self) -> None:
        self._split.prefers_context = False
        self._bar.field.focus()

    def action_pane(self) -> None:
        chain = self.screen.focus_chain  # also contains widgets that are not laid out yet
        panes = [
            pane for pane in (self._bar.field, self._hits, self.side.focus_target, self.pack_panel) if pane in chain
        ]
        if panes:  # empty while the tab is being removed
            index = next((i for i, pane in enumerate(panes) if pane.has_focus), -1)
            self.screen.set_focus(panes[(index + 1) % len(panes)])

    def action_back(self) -> None:
        """Close the picked lines, the pack panel, or the side panel in place of the list; else focus the list.

        Each call closes one of them. Without hits, the query gets the focus.
        """
        field = self._bar.field
        if self.side.leave() or self._close_pack():
            return
        if self._replaces_list:
            self._return_to_list()
        elif self._hits.display:
            if field.has_focus and self._bar.answered_query == self.query_text.strip():
                self._bar.note_query()
            self._hits.focus()
        else:
            field.focus()

    # --- which keys work ----------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return False for actions whose keys belong to the open query menu, or do not apply to the focused widget."""
        if action in _MENU_ACTIONS and any(menu.is_open for menu in self.query(QueryMenu)):
            return False
        if action in _LIST_ACTIONS and self.is_populated:
            return not (
                self.screen.focused is self.pack_panel or (action == "enter_side" and self.side.has_focus_within)
            )
        return super().check_action(action, parameters)

    def disabled_reason(self, action: str, parameters: tuple[object, ...]) -> str:
        """Return why an action cannot be done now; "" if it can."""
        return search_disabled(action, self._search_state(), parameters)

    def _refresh_keys(self) -> None:
        """Update the keys shown, if other ones work now."""
        state = self._search_state()
        if state != self._last_state:
            self._last_state = state
            self.refresh_bindings()

    def _search_state(self) -> SearchState:
        typed = bool(self.query_text.strip())
        if not self.is_populated:
            return SearchState(has_query=typed, has_files=self._has_files)
        hit, panel = self._target_hit, self.pack_panel
        on_name = self.side.has_focus_within and self.side.view == "related" and self.side.related.reason is not None
        return SearchState(
            has_query=typed,
            has_result=self.result is not None,
            has_files=self._has_files,
            is_side_visible=self.side.display,
            is_on_name=on_name and hit is None,
            row=SelectedRow.NOTHING if hit is None else SelectedRow.MEMORY if is_memory(hit) else SelectedRow.FRAGMENT,
            has_marks=bool(self.pack.choices.marks),
            has_pack=not self.is_up_to_date or not self.pack.is_empty,
            can_undo=self.pack.can_undo,
            can_redo=self.pack.can_redo,
            has_earlier_marks=bool(self.pack.earlier),
            is_in_panel=panel.has_focus and panel.row_count > 0,
            selection=panel.selection,
            has_correction=bool(self._correction),
        )
