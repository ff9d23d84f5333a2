"""The Search tab: query, ranked list, side panel and pack. The tab asks the engine and shows the answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.dom import DOMNode
from textual.reactive import var
from textual.widget import Widget
from textual.widgets import Input

from excerpt.base.kinds import Fill, Format, Scope, Strategy, next_in_cycle
from excerpt.base.settings import Settings
from excerpt.pack.selection import SavedMarks
from excerpt.service.engine_worker import EngineWorker
from excerpt.service.event_loop import Failure
from excerpt.service.note_questions import Location
from excerpt.service.offers import list_offers
from excerpt.service.query_texts import remove_order
from excerpt.text.display import visible_line
from excerpt.tui.active_keys import HasDisabledReason, bindings
from excerpt.tui.common.debouncer import Debouncer
from excerpt.tui.common.notice import EmptyState
from excerpt.tui.common.row_list import RowList
from excerpt.tui.common.split import DEFAULT_LIST_SHARE, Split
from excerpt.tui.key_table import HIT_ACTIONS
from excerpt.tui.memory.controller import MemoryPlacement, RecallController, make_memory_window
from excerpt.tui.messages import (
    CopyRequested,
    EditRequested,
    MarksChanged,
    MarksTakenBack,
    PartClicked,
    RememberRequested,
)
from excerpt.tui.pack.bar import PackBar
from excerpt.tui.pack.controller import PackController
from excerpt.tui.pack.labels import not_found_label
from excerpt.tui.picking import PickOptions
from excerpt.tui.search.hit_list import HitList
from excerpt.tui.search.hit_pane import HitPane
from excerpt.tui.search.notices import answer_notice
from excerpt.tui.search.order_controller import OrderController
from excerpt.tui.search.query_bar import AnswerStatus, QueryBar
from excerpt.tui.search.query_history import QueryStore

if TYPE_CHECKING:
    from excerpt.base.model import Hit, Result
    from excerpt.service.memory_worker import FoundMemories, MemoryWorker
    from excerpt.service.packer import Packer
    from excerpt.tui.pack.panel import PackPanel, PackRows
    from excerpt.tui.search.side_panel import SidePanel
    from excerpt.tui.search.strategies import StrategyChoice
    from excerpt.tui.search.why_view import WhyView
    from excerpt.vault.known_vaults import VaultFolders

_HIT_ACTIONS = HIT_ACTIONS | {"move", "remember", "show_view", "mark_nearest"}
"""Actions that apply to a hit. While a search is pending, they are delayed until its hits are listed."""
_LIST_ACTIONS = frozenset({"copy_fragment", "obsidian", "next_view", "enter_side"})
"""Actions on the list or the side panel, whose keys are disabled while the pack panel has the focus."""

_MENU_ACTIONS = frozenset({"move", "mark", "edit", "accept", "back"})
"""Actions whose keys control the menu of the query bar instead while that menu is open."""


_FILL_DELAY_SECONDS = 0.3
"""Seconds after the answer and its pack until more hits fill the list, so that they never delay the next letter."""

_STACKED_SHARE, _STACKED_SHARE_FOR_VIEW = 0.58, 0.35
"""Share of the height for the list above the side panel, 0 to 1: above a passage, and above the other views.

With a passage, ten hits and the rule are in sight at 24 rows. Why, related notes and the map need more room.
"""


class SearchPane(Vertical):
    """The Search tab.

    The pane holds the strategy and the result, shows the result in its parts, and moves the focus between them. It
    binds the keys of all parts, since a key works wherever the focus is; the part that a key concerns runs its action.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("Search"), *bindings("Picking")]

    DEFAULT_CSS = """
    SearchPane {
        #body { height: 1fr; }
        #body.-no-panel #packed { display: none; }
    }
    """

    strategy: var[Strategy] = var(Strategy.AUTO, init=False)
    result: var[Result | None] = var(None, init=False)
    placeholder: var[EmptyState] = var(EmptyState("Type to search."), init=False)
    """Text shown in place of the list while there is no query."""
    share = DEFAULT_LIST_SHARE
    """Share of the width or height for the list, 0 to 1, the same in all tabs."""
    progress: var[str] = var("", init=False)
    """Progress of the index build; "" while none is running."""

    is_populated = False
    """Whether the side panel, the pack panel and the start list are mounted, which happens after the first frame."""
    side: SidePanel
    pack_panel: PackPanel

    def __init__(
        self,
        settings: Settings,
        engine: EngineWorker,
        memory_worker: MemoryWorker,
        open_packer: Callable[[], Packer],
        *,
        folders: VaultFolders | None,
        pick: PickOptions | None = None,
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        """Prepare the tab. `folders` are the vaults, None for a store. With `pick`, what is picked is printed."""
        super().__init__(id=id)
        self._has_files = folders is not None
        self._pick = pick
        self.set_reactive(SearchPane.strategy, settings.search.strategy)
        self.memories = RecallController(
            engine,
            memory_worker,
            settings.memory,
            on_found=self._handle_memories,
            on_change=lambda: self.hits.show_badges(),  # noqa: PLW0108 - made below
        )
        self.pack = PackController(
            engine,
            open_packer,
            self.set_timer,
            settings.pack,
            selected_hit=lambda: self.selected,
            marked_memories=self.memories.marked_memories,
            on_change=self._show_pack,
            on_build=self._handle_built_pack,
            on_failure=lambda: self.pack_bar.cancel_copy(),  # noqa: PLW0108 - made below
            on_highlights=self._show_all_matches,
            on_save=lambda marks: self.post_message(MarksChanged(marks)),
            on_unmark=lambda fragments: self.post_message(MarksTakenBack(fragments)),
        )
        self.orders = OrderController(
            engine,
            self.set_timer,
            settings,
            shown=lambda: self.result,
            can_move=self._can_reorder,
            on_order=self._show_order,
            on_offer=self._show_offer,
        )
        self._settings = settings
        self._engine = engine
        self._unhighlighted: Result | None = None
        """The engine's result that is shown, if not all of its hits have their matched words yet."""
        self._has_decided = False
        """Whether the user has marked a hit or changed the pack since the hits of the query are listed."""
        self._has_new_vectors = False
        """Whether query vectors became ready that no search has used yet."""
        self._hit_limit = settings.search.limit
        self._fill_timer = Debouncer(self.set_timer)
        self._pending_actions: list[Callable[[], Awaitable[object]]] = []
        """Actions to run when the newest query is answered, in order."""
        self._search_error: EmptyState | None = None
        self.query_bar = QueryBar(engine, on_correction=self._show_offer)
        self.pack_bar = PackBar(
            self.pack,
            self._apply_decision,
            open_panel=lambda: self.pack_panel.open(),  # noqa: PLW0108 - made later
            copy_request=lambda target: self.pack.copy_request(target, tuple(self.hits.marked_hits())),
            is_up_to_date=lambda: self.is_up_to_date,
            id="pack",
        )
        self.hits = HitPane(
            engine,
            self.query_bar,
            self.pack,
            self.memories,
            folders=folders,
            pick=pick,
            on_decision=self._apply_decision,
            open_pack_row=self._preview_panel_row,
            copy_pack=self.pack_bar.copy,
            is_up_to_date=lambda: self.is_up_to_date,
            search=self.search,
            id="found",
        )
        self._split = Split(id="body")
        self._aside = Vertical(id="aside")
        self._last_key_states: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        yield self.query_bar
        with self._split:
            yield self.hits
            yield self._aside
        yield self.pack_bar

    def on_mount(self) -> None:
        self.query_bar.status.strategy = self.strategy
        self._show_choices()
        self._split.share = self.share
        self._show_result()

    def on_resize(self) -> None:
        """Show or hide snippets, as the height of the terminal allows."""
        self.hits.fit_height()

    async def mount_panels(self) -> None:
        """Mount the start list and both panels, which the first frame does not show, and search."""
        from excerpt.tui.pack.panel import PackPanel, PackRows
        from excerpt.tui.search.side_panel import SidePanel

        self.side = SidePanel(
            self._engine,
            self._split,
            query=lambda: self.query_text,
            set_query=self.query_bar.set_query,
            close_pack=lambda: self.pack_panel.close(),  # noqa: PLW0108 - made below
            focus_list=self.hits.focus_list,
            row_absence_reason=self.hits.row_absence_reason,
            id="side",
        )
        rows = PackRows(self.pack, self._apply_decision, best_hits=lambda: self.hits.best_hits)
        self.pack_panel = PackPanel(rows, self._split, self.hits.focus_list)
        await self.hits.mount_start_list(self.side, rows)
        await self._aside.mount(self.side, self.pack_panel)
        self._split.show_context()
        self.is_populated = True
        self._show_choices()
        self._fit_side_height()
        self.search()

    @property
    def _parts(self) -> tuple[QueryBar | HitPane | PackBar | SidePanel | PackRows, ...]:
        parts = (self.query_bar, self.hits, self.pack_bar)
        return (*parts, self.side, self.pack_panel.rows) if self.is_populated else parts

    def part_for(self, action: str) -> DOMNode:
        """Return the part that runs the action, or the pane itself."""
        return next((part for part in self._parts if hasattr(part, f"action_{action}")), self)

    @property
    def query_text(self) -> str:
        """The query as typed."""
        return self.query_bar.text

    @property
    def _has_query(self) -> bool:
        return bool(self.query_text.strip())

    @property
    def selected(self) -> Hit | None:
        """The hit selected in the list: a fragment or a memory."""
        return self.hits.hit_list.selected

    @property
    def _answered_query(self) -> str:
        return self.result.query if self.result is not None else ""

    @property
    def is_up_to_date(self) -> bool:
        """Whether the list and the pack show the answers to the newest requests."""
        return not self._is_searching and self.pack.is_answered

    @property
    def is_filling(self) -> bool:
        """Whether more hits may still be requested to fill the list."""
        is_waiting = self._fill_timer.is_pending or self._engine.is_waiting("more-hits")
        return is_waiting or not self.is_up_to_date

    def apply_settings(self, settings: Settings) -> None:
        """Apply `settings`. A value that the user has set by a key stays if its setting has not changed."""
        old, self._settings = self._settings, settings
        self.orders.settings = settings
        if old.search.strategy is not settings.search.strategy:
            self.strategy = settings.search.strategy
        self._apply_decision(self.pack.apply_settings(settings.pack))
        if self.memories.use_settings(settings.memory):
            self._refresh_memories()

    def load_saved_marks(self, saved_marks: SavedMarks) -> None:
        """Load the marks of an earlier session, which the pack does not include until the user restores them."""
        self.pack.load_saved_marks(saved_marks)
        self._show_choices()

    async def open_query_store(self, store: QueryStore) -> None:
        """Store queries in `store` from now on, and load the history from it."""
        await self.query_bar.queries.open_store(store)
        self._ask_start()

    def repeat_requests(self) -> None:
        """Repeat the requests for the hits and the pack, because the index has changed."""
        if self._has_query:
            self.query_bar.ask_interpretation()
            self.search()
            return
        self._ask_start()
        if self.pack.choices.marks:
            self._ask_pack()

    def retry_missing_marks(self) -> None:
        """Request the pack again if marked fragments were missing, because they may now be found in renamed notes."""
        if self.pack.newest_pack is not None and self.pack.newest_pack.missing:
            self._ask_pack()

    def ask_memories(self) -> None:
        """Request the memories that match the query of the result shown; all memories for an empty query."""
        if self._has_query:
            self.memories.request_memories(self._answered_query, self.pack.choices.marks)
        else:
            self.memories.request_all()

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

    @property
    def fill(self) -> Fill:
        return self.pack.pack_settings.fill

    @fill.setter
    def fill(self, fill: Fill) -> None:
        self._apply_decision(self.pack.change_settings(fill=fill))

    def watch_placeholder(self) -> None:
        self._show_result()

    def watch_progress(self) -> None:
        self._show_result()

    @on(Input.Changed, "#query")
    def _search_changed_query(self, event: Input.Changed) -> None:
        event.stop()
        self._hit_limit = self._settings.search.limit
        self.search()

    def watch_strategy(self) -> None:
        self.query_bar.status.strategy = self.strategy
        self._hit_limit = self._settings.search.limit
        self.search()

    def search(self) -> None:
        """Request the hits of the current query, and show when they arrive; clear the list if the query is empty."""
        self._fill_timer.stop()
        self._engine.cancel("more-hits")
        if not self.is_populated:
            return
        query = self.query_text.strip()
        if not query:
            self._engine.cancel("search")
            self._engine.cancel("marks")
            self._end_search()
            self.orders.forget()
            self._unhighlighted = None
            self.result = None
            self._ask_pack()
            self._ask_start()
            return
        self.orders.stop()
        self.hits.start.stop()
        visible_rows = self.size.height
        from excerpt.service.questions import AskSearch

        question = AskSearch(query, self.strategy, self._hit_limit, visible_rows, is_new_list=self.result is None)
        self._engine.ask(
            question, partial(self._handle_result, visible_rows), self._handle_search_failure, is_interim=True
        )
        self.query_bar.start_waiting()

    def _ask_start(self) -> None:
        """Request the rows of the start list if there is no query. Sources are checked only in an open index."""
        if self.is_populated and not self._has_query:
            self.hits.start.request(self.query_bar.queries.history.queries)
            if self._engine.is_open:
                self.ask_memories()

    def _end_search(self, error: EmptyState | None = None) -> None:
        self.query_bar.show_idle()
        self._pending_actions.clear()
        self._search_error = error

    def _handle_result(self, visible_rows: int, result: Result) -> None:
        """Show the result, even if a newer query is pending.

        `visible_rows` is the number of visible rows of the list: for these the result has the matched words already,
        for the others they come with the pack.
        """
        if not self._is_searching:
            self.query_bar.show_idle()
        self._search_error = None
        if result.is_without_meaning and self._has_new_vectors:
            self._has_new_vectors = False
            self.search()
        if self.orders.offer_full_order(result):
            self._engine.mark_drawn(self._engine.last_delivered_number)
            return
        self._engine.cancel("marks")
        self._unhighlighted = result if len(result.hits) > visible_rows else None
        self.result = self.orders.arrange(result)
        self.orders.handle_shown(self.result)
        self.call_after_refresh(self._engine.mark_drawn, self._engine.last_delivered_number)
        if not self._is_searching and self._pending_actions:
            self.app.call_later(self._run_pending_actions)

    def handle_query_vectors(self) -> None:
        """Search again with the vectors of the query, if the hits shown are ranked by words alone."""
        is_shown = self.result is not None and self.result.is_without_meaning and not self._is_searching
        self._has_new_vectors = not is_shown
        if is_shown:
            self.search()

    def _can_reorder(self) -> bool:
        """Return whether the order of hits may change: the query has the focus, and no hit was selected or marked."""
        return not (self.hits.hit_list.has_user_moved or self._has_decided) and self.query_bar.field.has_focus

    def _show_order(self, result: Result) -> None:
        """Show the hits of the query in another order."""
        self.result = result
        self.orders.handle_shown(result)

    def _show_offer(self) -> None:
        """Show that another order or a corrected query is offered."""
        self._show_result()
        self._refresh_keys()

    def action_use_order(self) -> None:
        self.orders.use_offer()

    def _handle_search_failure(self, failure: Failure) -> None:
        """Show the error in place of the hits."""
        self._end_search(EmptyState.of_failure(failure))
        self._unhighlighted = self.result = None
        self._show_result()

    @property
    def _is_searching(self) -> bool:
        return self._engine.is_waiting("search")

    def has_to_wait(self, action: str) -> bool:
        """Return whether the action applies to a hit and has to wait because a search is pending."""
        moves_elsewhere = action == "move" and (self._aside.has_focus_within or self.query_bar.queries.is_in_history)
        # While one action waits, later ones wait too, so that they run in order.
        waits = self._is_searching or bool(self._pending_actions)
        return action in _HIT_ACTIONS and not moves_elsewhere and waits and self._engine.is_open

    @property
    def is_opening(self) -> bool:
        """Whether actions wait for the hits of a query, or the query menu or the links for their rows."""
        waits = self._engine.is_waiting
        return bool(self._pending_actions) or waits("suggest") or waits("links")

    def run_when_answered(self, action: Callable[[], Awaitable[object]]) -> None:
        """Run `action` when the newest query is answered, after the actions that wait already."""
        self._pending_actions.append(action)

    async def _run_pending_actions(self) -> None:
        actions, self._pending_actions = self._pending_actions, []
        for action in actions:
            await action()

    def _show_all_matches(self, result: Result) -> None:
        """Redraw the list with the matched words of all hits in `result`."""
        self._unhighlighted = None
        self.set_reactive(SearchPane.result, self.orders.arrange(result))
        self.hits.show_rows(self.result, is_repeat=True)

    def watch_result(self, old: Result | None, new: Result | None) -> None:
        """Show the result, then update what depends on the result: selection, memories, pack and keys."""
        is_repeat = old is not None and new is not None and old.query == new.query
        self._has_decided = self._has_decided and is_repeat
        self.hits.notify_warnings(new)
        self.query_bar.ask_correction(new)
        self._show_result()
        self.hits.show_rows(self.result, is_repeat=is_repeat)
        self.hits.select_pending_fragment()
        self.ask_memories()
        self._ask_pack(keeps_rule=is_repeat)
        self._show_selection(is_repeat=is_repeat)

    def _show_result(self) -> None:
        """Show the number and confidence of the hits in the query bar.

        If there are no hits, a notice that says so replaces the list.
        """
        result, bar = self.result, self.query_bar
        self.hits.show_result(result, self._search_error, self.placeholder, self.progress)
        self._show_side()
        bar.answered_query = result.query if result is not None and result.hits else ""
        if result is None:
            bar.status.answer = None
            return
        bar.status.answer = AnswerStatus(
            result.requested_strategy,
            None if result.confidence is None else result.strategy,
            max(result.matched, len(result.hits)),
            result.confidence,
            is_lower_bound=not self._has_files,
            offers=(*(["use_order"] if self.orders.has_offer else []), *list_offers(result)),
            sort=result.sort,
            is_joined=result.is_joined,
            undated_count=sum(not hit.date for hit in result.hits),
            notice=answer_notice(result, has_correction=bool(bar.correction)),
            correction=visible_line(bar.correction) if result.hits else "",
            not_found=not_found_label(result),
        )

    def _show_side(self) -> None:
        """Show the side panel if there are hits, or if its view is the map, which needs no query."""
        shows_map = self.is_populated and self.side.view == "map" and self._split.context
        self._split.context = bool(self._result_hits) or shows_map

    @property
    def _result_hits(self) -> Sequence[Hit]:
        return self.result.hits if self.result is not None else ()

    @on(HitList.EndReached)
    def _extend_list(self, event: HitList.EndReached) -> None:
        event.stop()
        if self._has_more_hits:
            self._hit_limit += self._settings.search.limit
            self.search()

    def _fill_list(self) -> None:
        """Request more hits if the rows of the hits do not fill the list, because further hits of a note are folded.

        Once for a query: 500 hits may be of 24 notes. Meanwhile keys act on the rows shown: nobody waits for these
        hits, so passages are answered before them.
        """
        rows, is_first = self.hits.hit_list, self._hit_limit == self._settings.search.limit
        if is_first and rows.display and rows.has_room and self._has_more_hits:
            from excerpt.service.questions import AskMoreHits

            limit, visible_rows = self._hit_limit + self._settings.search.limit, self.size.height
            question = AskMoreHits(self.query_text.strip(), self.strategy, limit, visible_rows)
            self._engine.ask(question, partial(self._handle_more_hits, limit, visible_rows))

    def _handle_more_hits(self, limit: int, visible_rows: int, result: Result) -> None:
        self._hit_limit = limit
        self._handle_result(visible_rows, result)

    @property
    def _has_more_hits(self) -> bool:
        """Whether more fragments match than the newest search was to find."""
        result = self.result
        return result is not None and len(result.hits) == self._hit_limit < result.matched and not self._is_searching

    @on(RowList.Moved)
    def _handle_cursor_move(self, event: RowList.Moved) -> None:
        if event.control is self.hits.hit_list:
            event.stop()
            self._show_selection()
        elif self.is_populated and event.control is self.pack_panel.rows:
            event.stop()
            self._refresh_keys()

    def _show_selection(self, *, is_repeat: bool = False) -> None:
        """Show the selected hit in the side panel, the cost of marking it, and the keys that apply to it.

        `is_repeat` says that the same query was answered again.
        """
        if self.is_populated:
            hit = self.selected
            window = make_memory_window(hit, self._answered_query)
            self.side.show_selection(hit, self.result, window, is_repeat=is_repeat)
        self.show_cost()
        self._refresh_keys()

    def _handle_memories(self, answer: FoundMemories) -> None:
        listed = self.result is not None
        changes = listed and bool(answer.hits or self.memories.has_memories)
        self.memories.store_answer(answer, has_hit_list=listed)
        if not self._has_query:
            self.hits.start.check_memories(answer.memories)
        if changes:
            selected = self.selected
            self.hits.show_rows(self.result, is_repeat=True)
            if self.selected is not selected:
                self._show_selection()
        self.memories.ask_badges(self._result_hits)
        if self.pack.lacks_memories:
            self._ask_pack()

    def _refresh_memories(self) -> None:
        self.hits.show_rows(self.result, is_repeat=True)
        self.memories.ask_badges(self._result_hits)
        self.ask_memories()
        self._show_selection()

    def _ask_pack(self, *, keeps_rule: bool = False) -> None:
        """Request the pack of the marks, else of the best hits: the order of the list does not change what is packed.

        With `keeps_rule`, the rule in the list keeps its text until the pack is there.
        """
        result = self.result
        if result is not None and result.sort and result.confidence is not None:
            result = replace(result, query=remove_order(result.query), hits=result.best_first, sort="")
        self.pack.ask_pack(result, self.strategy, self._unhighlighted)
        if not keeps_rule:
            self.hits.show_pack_end()
        self.hits.show_earlier_count()

    def _apply_decision(self, is_changed: bool) -> None:
        """If `is_changed`, show the user's changed choices for the pack, and request the pack again."""
        if is_changed:
            self._has_decided = True
            self._show_choices()
            self._ask_pack()

    def _show_choices(self) -> None:
        """Show the marks, and the format, scope and budget of the pack."""
        self.hits.show_marks()
        if self.is_populated:
            self.side.related.rows.marked = self.pack.choices.marked_ids
        self.pack_bar.show_choices()

    def show_cost(self) -> None:
        """Show how many tokens marking the selected fragment would add: an estimate now, the exact number later."""
        self.pack.update_cost()
        self.pack_bar.cost = self.pack.cost

    def _show_pack(self) -> None:
        """Show the newest pack in the pack bar, in the margin of the preview and in the pack panel."""
        packed = self.pack.newest_pack
        self._show_choices()
        self.pack_bar.show_pack()
        if self.is_populated:
            packs = packed.result.passages if packed is not None else ()
            self.side.mark_packed_passages(tuple((pack.path, pack.line_start, pack.line_end) for pack in packs))
            if self.pack_panel.display:
                self.pack_panel.show_pack()
        self._refresh_keys()

    def _handle_built_pack(self) -> None:
        self._fill_timer.schedule(_FILL_DELAY_SECONDS, self._fill_list)
        self._refresh_keys()
        self.hits.show_pack_end()
        self.pack_bar.handle_built_pack()

    def _preview_panel_row(self) -> None:
        """Show the fragment of the pack panel's selected row in the preview.

        The preview replaces the pack panel if there is no room for both.
        """
        panel, rows = self.pack_panel.rows, self.hits.hit_list
        row, pack = panel.selected, panel.selected_pack
        if row is None:
            return
        fragment_ids = (pack.entry.fragment_id,) if pack is not None else row.fragment_ids
        if not fragment_ids or not row.line_start:
            where = "in the vault" if fragment_ids else "among the hits"
            self.notify(f"The text of the selected row is no longer {where}.")
            return
        spans = {mark.fragment_id: mark.spans for mark in self.pack.choices.marks}
        spans.update((hit.fragment.id, hit.spans) for hit in rows.hits)
        fragment_id = next((each for each in fragment_ids if each in spans), fragment_ids[0])
        rows.select_fragment(fragment_id)
        window = self.memories.memory_window(fragment_id)
        if window is not None:
            self.side.show_memory(window)
        else:
            self.side.show_location(Location(fragment_id, "", 0, tuple(spans.get(fragment_id, ()))))
        if not self.side.display:
            self.pack_panel.close()
            self.side.show_and_focus()

    def on_side_panel_content_changed(self) -> None:
        """Update the minimum height and the keys for the passage or view that the side panel shows now."""
        self._fit_side_height()
        self._refresh_keys()

    def _fit_side_height(self) -> None:
        """Set the height of the list above the panels."""
        if self.is_populated:
            is_passage = self.side.view == "passage"
            self._split.stacked_share = _STACKED_SHARE if is_passage else _STACKED_SHARE_FOR_VIEW

    @on(EditRequested)
    @on(CopyRequested)
    @on(RememberRequested)
    def _add_used_query_to_history(self) -> None:
        """Add the query to the history, because its hits were used."""
        self.query_bar.add_to_history()

    def on_why_view_forget_requested(self, event: WhyView.ForgetRequested) -> None:
        event.stop()
        self.hits.forget_uses(event.hit)

    def action_memories(self) -> None:
        """Switch the placement of memories: among the hits, before the hits, or not shown."""
        self.memories.select_next_placement()
        placement = self.memories.placement
        is_off = placement is MemoryPlacement.OFF
        self.notify("Memories are hidden from the search." if is_off else f"Memories are shown {placement}.")
        self._refresh_memories()

    @on(PartClicked)
    async def _run_clicked_action(self, event: PartClicked) -> None:
        event.stop()
        await self.run_action(event.action)

    def action_strategy(self) -> None:
        """Use the next strategy, and say in one line what it is for."""
        from excerpt.tui.search.strategies import STRATEGY_PURPOSES

        result = self.result
        if result is not None and not self._is_searching and result.requested_strategy is not self.strategy:
            self._notify_forced_strategy(result)
            return
        self.strategy = next_in_cycle(list(Strategy), self.strategy)
        self.notify(f"{self.strategy}: {STRATEGY_PURPOSES[self.strategy]}", markup=False)

    def _notify_forced_strategy(self, result: Result) -> None:
        self.notify(f"The query sets the strategy {result.requested_strategy}. Remove the ! to choose another.")

    def action_why_not(self) -> None:
        """Open a dialog that explains for a note, typed by name, why it is not ranked higher."""
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

    def _use_strategy(self, choice: StrategyChoice | None) -> None:
        result = self.result
        if choice is None:
            return
        if result is not None and result.requested_strategy is not self.strategy:
            self._notify_forced_strategy(result)
        elif choice.strategy is self.strategy:
            self.hits.hit_list.select_fragment(choice.fragment_id)
        else:
            self.hits.select_later(choice.fragment_id)
            self.strategy = choice.strategy

    def action_move(self, rows: int) -> None:
        if self.query_bar.move_in_history(rows):
            return
        if self.side.has_focus_within:
            self.side.move(rows)
        elif self.hits.start_list.display and not self.pack_panel.rows.has_focus:
            self.hits.move_in_start_list(rows)
        else:
            (packed if (packed := self.pack_panel.rows).has_focus else self.hits.hit_list).move(rows)

    def action_panel(self) -> None:
        """Open the pack panel and focus it, or close it if it has the focus already."""
        self.pack_panel.toggle()

    def action_scroll_view(self, pages: int) -> None:
        """Scroll the text to paste down by `pages` if the pack is in front, else the view of the side panel."""
        (self.pack_panel if self._scrolls_pack else self.side).scroll_pages(pages)

    @property
    def _scrolls_pack(self) -> bool:
        """Whether the pack panel is open, and has the focus or the only place."""
        return self.pack_panel.display and (self.pack_panel.rows.has_focus or not self.side.display)

    def action_focus_query(self) -> None:
        self._split.prefers_context = False
        self.query_bar.field.focus()

    def action_pane(self) -> None:
        chain = self.screen.focus_chain  # also contains widgets that are not laid out yet
        every: tuple[Widget, ...] = (
            self.query_bar.field,
            self.hits.hit_list,
            self.hits.start_list,
            self.side.focus_target,
            self.pack_panel.rows,
        )
        panes = [pane for pane in every if pane in chain]
        if panes:  # empty while the tab is being removed
            index = next((i for i, pane in enumerate(panes) if pane.has_focus), -1)
            self.screen.set_focus(panes[(index + 1) % len(panes)])

    def action_back(self) -> None:
        """Close one thing per call: picked lines, then the pack panel, then a side panel that replaces the list.

        If none of these is open, focus the list, or the query if there are no hits. If the query has the focus while
        the user picks, leave.
        """
        field, rows = self.query_bar.field, self.hits.hit_list
        if self.side.stop_picking() or self.pack_panel.close():
            return
        if self.side.replaces_list:
            self.side.return_to_list()
        elif self._pick is not None and (rows if rows.display else field).has_focus:
            self.app.exit()
        elif rows.display:
            if field.has_focus and self.query_bar.answered_query == self.query_text.strip():
                self.query_bar.add_to_history()
            rows.focus()
        else:
            field.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return False for an action whose key belongs to the open query menu or not to the focused panel.

        While the user picks, enter prints what is picked instead of opening the note.
        """
        if action == "forget_uses" and self.is_populated and self.side.why.has_focus:
            return not self.side.why.check_action("forget", ())
        if action in _MENU_ACTIONS and self.query_bar.menu.is_open:
            return False
        if action in ("accept", "cancel", "edit"):
            return (action != "edit") is (self._pick is not None)
        if action in _LIST_ACTIONS and self.is_populated:
            return not (
                self.screen.focused is self.pack_panel.rows or (action == "enter_side" and self.side.has_focus_within)
            )
        return super().check_action(action, parameters)

    def disabled_reason(self, action: str, parameters: tuple[object, ...]) -> str:
        """Return why an action cannot be done now, as a sentence of the part that would run it; "" if it can."""
        part = self.part_for(action)
        if part is not self and isinstance(part, HasDisabledReason):
            return part.disabled_reason(action, parameters)
        has_query = self.result is not None
        can_scroll = self.is_populated and (self._scrolls_pack or self.side.display)
        is_why = action == "show_view" and parameters == ("why",)
        reasons = {
            "scroll_view": "" if can_scroll else "No panel is open: there is nothing to scroll.",
            "show_view": self.hits.row_absence_reason() if is_why else "",  # the side panel is not mounted yet
            "use_order": "" if self.orders.has_offer else "The reranker offers no other order of these hits.",
            "compare": "" if has_query else "Type a query first, to compare strategies by their hits.",
            "why_not": "" if has_query else "Type a query first, to compare a note with its hits.",
        }
        return reasons.get(action, "")

    def _refresh_keys(self) -> None:
        """Update the keys in the footer if other actions are enabled now."""
        own = self.result is not None, self.orders.has_offer
        key_states = (*own, *(part.key_state for part in self._parts))
        if key_states != self._last_key_states:
            self._last_key_states = key_states
            self.refresh_bindings()
