"""The Search tab: query, ranked list, side panel and pack. The tab asks the engine and shows the answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.reactive import var
from textual.widgets import Input, Static

from excerpt.kinds import Fill, Format, LinkForm, Scope, Strategy, next_in_cycle
from excerpt.pack.selection import SavedMarks
from excerpt.service.engine_worker import EngineWorker
from excerpt.service.events import Failure
from excerpt.settings import Settings
from excerpt.text.display import format_count, format_lines, visible_line
from excerpt.tui.active_keys import bindings
from excerpt.tui.common.debouncer import Debouncer
from excerpt.tui.common.notice import EmptyState, Notice
from excerpt.tui.common.row_list import RowList
from excerpt.tui.common.split import DEFAULT_LIST_SHARE, Split
from excerpt.tui.key_table import HIT_ACTIONS
from excerpt.tui.keymap import key_sign
from excerpt.tui.memory.controller import MemoryPlacement, RecallController, is_memory, make_memory_window
from excerpt.tui.messages import (
    CopyRequested,
    CopyTarget,
    EditRequested,
    GoldRequested,
    Location,
    MarksChanged,
    MemoryEditRequested,
    MemoryShowRequested,
    ObsidianRequested,
    PartClicked,
    RememberRequested,
)
from excerpt.tui.pack.bar import PackBar
from excerpt.tui.pack.controller import PackController, mark_hit, next_budget
from excerpt.tui.picking import PickOptions, path_for_shell
from excerpt.tui.search.disabled import SearchState, SelectedRowKind, empty_pack_reason, search_disabled_reason
from excerpt.tui.search.hit_list import HitList, arrange_hits
from excerpt.tui.search.notices import answer_warning, is_unanswered, list_offers, list_title, no_hits_notice
from excerpt.tui.search.order_controller import OrderController
from excerpt.tui.search.query_bar import AnswerStatus, QueryBar, QueryMenu
from excerpt.tui.search.query_history import QueryStore

if TYPE_CHECKING:
    from excerpt.known_vaults import VaultFolders
    from excerpt.model import Hit, Memory, Result
    from excerpt.search.usage import UsedHit
    from excerpt.service.memory_worker import FoundMemories, MemoryWorker
    from excerpt.service.packer import Packer
    from excerpt.tui.pack.dialogs import BudgetDialogResult
    from excerpt.tui.pack.panel import PackPanel
    from excerpt.tui.search.side_panel import SidePanel
    from excerpt.tui.search.start_list import StartController, StartList
    from excerpt.tui.search.strategies import StrategyChoice
    from excerpt.tui.search.why_view import WhyView

_HIT_ACTIONS = HIT_ACTIONS | {"move", "remember", "show_view", "mark_nearest"}
"""Actions that apply to a hit. While a search is pending, they are delayed until its hits are listed."""
_BUSY_AFTER_SECONDS = 0.5
"""Seconds after which the status of the query bar says that a search is still running."""

_LIST_ACTIONS = frozenset({"copy_fragment", "obsidian", "next_view", "enter_side"})
"""Actions on the list or the side panel, whose keys are disabled while the pack panel has the focus."""

_NEAREST_HITS = 3
"""Number of hits that one key marks if nothing answers the query."""

_MENU_ACTIONS = frozenset({"move", "mark", "edit", "accept", "back"})
"""Actions whose keys control the menu of the query bar instead while that menu is open."""


_MIN_ROWS_FOR_SNIPPETS = 30
"""Minimum rows of the terminal for a list with a title, and with the snippet of a hit on a second line."""
_MIN_SIDE_HEIGHT_SHARE = 0.65
"""Minimum share of the height, 0 to 1, for the side panel below the list.

It applies to a list of one-line rows, and to the views why, related notes and map, which need more room than a passage.
"""


class SearchPane(Vertical):
    """The Search tab.

    The pane holds the strategy, the result shown, and which panels are visible. Controllers hold all other state: the
    pane passes keys on to the controllers and shows their answers.
    """

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("Search"), *bindings("Picking")]

    DEFAULT_CSS = """
    SearchPane {
        #body { height: 1fr; }
        #found { height: 1fr; border-title-color: $text-soft; }
        #found.-titled { border-top: solid $border-blurred; }
        #found.-titled:focus-within { border-top: solid $accent; border-title-color: $accent; }
        #found.-unanswered {
            border-title-color: $warning;
            HitList > .hit--title { text-style: none; color: $text-soft; }
            HitList > .hit--heading, HitList > .hit--score { color: $text-faint; }
            HitList > .row--match { color: $text-soft; text-style: none; }
        }
        #hits, #start { height: 1fr; }
        #found.-start #notice { height: auto; max-height: 60%; padding: 1 2; }
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
    share = DEFAULT_LIST_SHARE
    """Share of the width or height for the list, 0 to 1, the same in all tabs."""
    progress: var[str] = var("", init=False)
    """Progress of the index build; "" while none is running."""

    is_populated = False
    """Whether the start list, the side panel and the pack panel are mounted, which happens after the first frame."""
    side: SidePanel
    pack_panel: PackPanel
    start: StartController
    start_list: StartList

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
        self._folders = folders
        self._has_files = folders is not None
        self._pick = pick
        self.set_reactive(SearchPane.strategy, settings.search.strategy)
        self.memories = RecallController(
            engine,
            memory_worker,
            settings.memory,
            on_found=self._handle_memories,
            on_change=self._show_badges,
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
            on_failure=self._cancel_copy,
            on_save=lambda marks: self.post_message(MarksChanged(marks)),
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
        self._has_decided = False
        """Whether the user has marked a hit or changed the pack since the hits of the query are listed."""
        self._last_warnings: tuple[str, ...] = ()
        """The warnings of the last result, each of which is shown in full when it comes."""
        self._has_new_vectors = False
        """Whether query vectors became ready that no search has used yet."""
        self._hit_limit = settings.search.limit
        self._pending_actions: list[Callable[[], Awaitable[object]]] = []
        """Actions to run when the newest query is answered, in order."""
        self._search_error: EmptyState | None = None
        self._busy_timer = Debouncer(self.set_timer)
        self._pending_selection_id = ""
        """Id of the fragment to select in the next result; "" for none."""
        self._corrected_query = ""
        self._pending_copy: CopyTarget | None = None
        """Where the copy of the pack goes that waits for an answer; None if no copy waits."""
        self.link_form = LinkForm.WIKILINK
        """The form of the last link that was copied."""
        self._marked_hits: dict[str, UsedHit] = {}
        """Hits that were marked, with their queries of that time, by the ids of their fragments."""
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
        self._hits.has_snippets = self._is_tall
        self._bar.status.strategy = self.strategy
        self._show_choices()
        self.query_one(Split).share = self.share
        self._show_result()

    @property
    def _is_tall(self) -> bool:
        """Whether there is room for the title of the list and for snippets."""
        return self.app.size.height >= _MIN_ROWS_FOR_SNIPPETS

    def on_resize(self) -> None:
        """Show or hide the title of the list and the snippets, as the height of the terminal allows."""
        self._hits.has_snippets = self._is_tall
        self._show_title()
        self._fit_side_height()

    async def mount_panels(self) -> None:
        """Mount the start list and both panels, which the first frame does not show, and search."""
        from excerpt.tui.pack.panel import PackPanel
        from excerpt.tui.search.side_panel import SidePanel
        from excerpt.tui.search.start_list import StartController, StartList

        self.start = StartController(self._engine, on_change=self._show_start)
        self.start_list = StartList(self.start, id="start")
        self.start_list.display = False
        await self.query_one("#found").mount(self.start_list)
        self.side = SidePanel(self._engine, query=lambda: self.query_text, set_query=self._bar.set_query, id="side")
        self.pack_panel = PackPanel(self.pack, self._apply_decision, id="packed", classes="panel")
        await self.query_one("#aside").mount(self.side, self.pack_panel)
        self.query_one(Split).show_context()
        self.is_populated = True
        self._show_choices()
        self._fit_side_height()
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
        """The query as typed."""
        return self._bar.text

    @property
    def _has_query(self) -> bool:
        return bool(self.query_text.strip())

    @property
    def selected(self) -> Hit | None:
        """The hit selected in the list: a fragment or a memory."""
        return self._hits.selected

    @property
    def _target_hit(self) -> Hit | None:
        """The hit that keys apply to: the side panel's passage if that panel has the focus, else the selected hit."""
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
        """Whether the list and the pack show the answers to the newest requests."""
        return not self._is_searching and self.pack.is_answered

    # --- calls from the main screen -----------------------------------------------------------------------------------

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
        await self._bar.queries.open_store(store)
        self._ask_start()

    def repeat_requests(self) -> None:
        """Repeat the requests for the hits and the pack, because the index has changed."""
        if self._has_query:
            self._bar.ask_interpretation()
            self.search()
            return
        self._ask_start()
        if self.pack.choices.marks:
            self._ask_pack()

    def retry_missing_marks(self) -> None:
        """Request the pack again if marked fragments were missing: they may have been found at another place."""
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

    # --- searching ----------------------------------------------------------------------------------------------------

    @on(Input.Changed, "#query")
    def _search_changed_query(self, event: Input.Changed) -> None:
        event.stop()
        self._hit_limit = self._settings.search.limit
        self.search()

    def watch_strategy(self) -> None:
        self._bar.status.strategy = self.strategy
        self._hit_limit = self._settings.search.limit
        self.search()

    def search(self) -> None:
        """Request the hits of the current query, and show when they arrive; clear the list if the query is empty."""
        if not self.is_populated:
            return
        query = self.query_text.strip()
        if not query:
            self._engine.cancel("search")
            self._engine.cancel("marks")
            self._end_search()
            self.orders.forget()
            self.result = None
            self._ask_pack()
            self._ask_start()
            return
        self.orders.stop()
        visible_rows = self.size.height // self._hits.row_height
        from excerpt.service.questions import AskSearch

        question = AskSearch(query, self.strategy, self._hit_limit, visible_rows, is_new_list=self.result is None)
        self._engine.ask(
            question, partial(self._handle_result, visible_rows), self._handle_search_failure, is_interim=True
        )
        if not self._busy_timer.is_pending and not self._bar.status.busy:
            self._busy_timer.schedule(_BUSY_AFTER_SECONDS, self._show_busy)

    def _ask_start(self) -> None:
        """Request the rows of the start list if there is no query. Sources are checked only in an open index."""
        if self.is_populated and not self._has_query:
            self.start.request(self._bar.queries.history.queries)
            if self._engine.is_open:
                self.ask_memories()

    def _show_busy(self) -> None:
        self._bar.status.busy = "searching…"

    def _stop_waiting(self) -> None:
        self._busy_timer.stop()
        self._bar.status.busy = ""

    def _end_search(self, error: EmptyState | None = None) -> None:
        self._stop_waiting()
        self._pending_actions.clear()
        self._search_error = error

    def _handle_result(self, visible_rows: int, result: Result) -> None:
        """Show the result, even if a newer query is pending, and request the matched words of the hits not yet visible.

        `visible_rows` is the number of visible rows of the list: for these the result has the matched words already.
        """
        if not self._is_searching:
            self._stop_waiting()
        self._search_error = None
        if result.is_without_meaning and self._has_new_vectors:
            self._has_new_vectors = False
            self.search()
        if self.orders.offer_full_order(result):
            self._engine.mark_drawn(self._engine.last_delivered_number)
            return
        self.result = self.orders.arrange(result)
        self.orders.handle_shown(self.result)
        self.call_after_refresh(self._engine.mark_drawn, self._engine.last_delivered_number)
        if len(result.hits) > visible_rows:
            from excerpt.service.questions import AskHighlights

            self._engine.ask(AskHighlights(result), self._show_all_matches)
        if not self._is_searching and self._pending_actions:
            self.app.call_later(self._run_pending_actions)

    def handle_query_vectors(self) -> None:
        """Search again with the vectors of the query, if the hits shown are ranked by words alone."""
        is_shown = self.result is not None and self.result.is_without_meaning and not self._is_searching
        self._has_new_vectors = not is_shown
        if is_shown:
            self.search()

    def _can_reorder(self) -> bool:
        """Return whether the order of the hits may change: the user is still at the query, without a decision."""
        return not (self._hits.has_user_moved or self._has_decided) and self._bar.field.has_focus

    def _show_order(self, result: Result) -> None:
        """Show the hits of the query in another order."""
        self.result = result
        self.orders.handle_shown(result)

    def _show_offer(self) -> None:
        self._show_result()
        self._refresh_keys()

    def action_use_order(self) -> None:
        self.orders.use_offer()

    def _handle_search_failure(self, failure: Failure) -> None:
        """Show the error in place of the hits."""
        self._end_search(EmptyState.of_failure(failure))
        self.result = None
        self._show_result()

    @property
    def _is_searching(self) -> bool:
        return self._engine.is_waiting("search")

    def has_to_wait(self, action: str) -> bool:
        """Return whether the action applies to a hit and has to wait because a search is pending."""
        moves_elsewhere = action == "move" and (
            self.query_one("#aside").has_focus_within or self._bar.queries.is_in_history
        )
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
        """Redraw the list with the matched words of all hits in `result`, and request the pack again.

        The pack may change because a passage that is too long for it is cut to the lines with matches.
        """
        self.set_reactive(SearchPane.result, self.orders.arrange(result))
        self._show_rows(is_repeat=True)
        self._ask_pack()

    def watch_result(self, old: Result | None, new: Result | None) -> None:
        """Show the result, then update what depends on the result: selection, memories, pack and keys."""
        is_repeat = old is not None and new is not None and old.query == new.query
        self._has_decided = self._has_decided and is_repeat
        self._notify_warnings(new)
        self._ask_correction()
        self._show_result()
        self._show_rows(is_repeat=is_repeat)
        self._select_pending_fragment()
        self.ask_memories()
        self._ask_pack()
        self._show_selection(is_repeat=is_repeat)

    def _notify_warnings(self, result: Result | None) -> None:
        """Show the warnings of a result, unless those of the last one were the same."""
        if result is None or (result.is_without_meaning and not result.warnings):
            return
        for warning in result.warnings:
            if warning not in self._last_warnings:
                self.notify(visible_line(warning), severity="warning", markup=False)
        self._last_warnings = result.warnings

    def _ask_correction(self) -> None:
        """Request a corrected query if no hit answers the query, or if a word of the query looks like a filter."""
        from excerpt.service.questions import AskCorrection

        result, self._corrected_query = self.result, ""
        if result is not None and (result.hints or not result.hits or is_unanswered(result)):
            self._engine.ask(AskCorrection(result.query), partial(self._show_correction, result))

    def _show_correction(self, result: Result, correction: str) -> None:
        if correction and self.result is not None and self.result.query == result.query:
            self._corrected_query = correction
            self._show_result()
            self._refresh_keys()

    def _show_result(self) -> None:
        """Show the number and confidence of the hits in the query bar and above the list.

        If there are no hits, a notice that says so replaces the list.
        """
        result, bar = self.result, self._bar
        notice = self.query_one("#notice", Notice)
        self._hits.display = bool(result and result.hits)
        self._show_earlier_count()
        notice.display = not self._hits.display
        self._show_start()
        self._show_side()
        self._show_title()
        bar.answered_query = result.query if result is not None and result.hits else ""
        if result is None:
            bar.status.answer = None
            notice.empty_state = self._search_error or self.placeholder
            return
        bar.status.answer = AnswerStatus(
            result.requested_strategy,
            None if result.confidence is None else result.strategy,
            max(result.matched, len(result.hits)),
            result.confidence,
            is_lower_bound=not self._has_files,
            offers=(*(["use_order"] if self.orders.has_offer else []), *list_offers(result)),
            sort=result.sort,
        )
        if not result.hits:
            notice.empty_state = no_hits_notice(result, self.progress, self._corrected_query)

    def _show_title(self) -> None:
        """Show the title of the list; in a low terminal only if it warns, since the query bar counts the hits."""
        frame, result = self.query_one("#found"), self.result
        warning = answer_warning(result, self._corrected_query)
        frame.set_class(is_unanswered(result), "-unanswered")
        frame.set_class(self._is_tall or bool(warning), "-titled")
        title = list_title(result, warning, is_lower_bound=not self._has_files)
        if frame.border_title != title:
            # Setting the title redraws the whole pane.
            frame.border_title = title

    def _show_start(self) -> None:
        """Show the start list below the notice until there is a query, if the list has rows."""
        if not self.is_populated:
            return
        rows = self.start_list
        is_shown = self.result is None and self._search_error is None and bool(self.start.rows(room=1))
        if rows.has_focus and not is_shown:
            self._bar.field.focus()
        rows.display = is_shown
        self.query_one("#found").set_class(is_shown, "-start")
        rows.update_rows()

    def _show_side(self) -> None:
        """Show the side panel if there are hits, or if its view is the map, which needs no query."""
        shows_map = self.is_populated and self.side.view == "map" and self._split.context
        self._split.context = bool(self._result_hits) or shows_map

    @property
    def _result_hits(self) -> Sequence[Hit]:
        return self.result.hits if self.result is not None else ()

    @property
    def _best_hits(self) -> Sequence[Hit]:
        """The hits in order of rank."""
        return self.result.best_first if self.result is not None else ()

    def _show_rows(self, *, is_repeat: bool) -> None:
        """List the hits, with memories among them; `is_repeat` says that the same query was answered again."""
        if self.result is None:
            self.memories.clear_hits()
        result = self.result
        hits = self.memories.merge_rows(arrange_hits(result) if result is not None else ())
        best_first = result.best_first if result is not None and result.sort else None
        self._hits.show(hits, self._answered_query, is_repeat=is_repeat, best_first=best_first)

    # --- the selection ------------------------------------------------------------------------------------------------

    @on(HitList.EndReached)
    def _request_more_hits(self, event: HitList.EndReached) -> None:
        """Request more hits if the cursor reaches the last row and more fragments match."""
        event.stop()
        result = self.result
        if result is not None and len(result.hits) == self._hit_limit < result.matched and not self._is_searching:
            self._hit_limit += self._settings.search.limit
            self.search()

    @on(RowList.Moved)
    def _handle_cursor_move(self, event: RowList.Moved) -> None:
        if event.control is self._hits:
            event.stop()
            self._show_selection()
        elif self.is_populated and event.control is self.pack_panel:
            event.stop()
            self._refresh_keys()

    def _show_selection(self, *, is_repeat: bool = False) -> None:
        """Show the selected hit in the side panel, the cost of marking it, and the keys that apply to it.

        `is_repeat` says that the same query was answered again.
        """
        if self.is_populated:
            self._select_in_side(is_repeat=is_repeat)
        self.show_cost()
        self._refresh_keys()

    def _select_in_side(self, *, is_repeat: bool = False) -> None:
        hit = self.selected
        self.side.show_selection(hit, self.result, make_memory_window(hit), is_repeat=is_repeat)

    def _handle_memories(self, answer: FoundMemories) -> None:
        listed = self.result is not None
        changes = listed and bool(answer.hits or self.memories.has_memories)
        self.memories.store_answer(answer, has_hit_list=listed)
        if not self._has_query:
            self.start.check_memories(answer.memories)
        if changes:
            selected = self.selected
            self._show_rows(is_repeat=True)
            if self.selected is not selected:
                self._show_selection()
        self.memories.ask_badges(self._result_hits)
        if self.pack.lacks_memories:
            self._ask_pack()

    def _refresh_memories(self) -> None:
        self._show_rows(is_repeat=True)
        self.memories.ask_badges(self._result_hits)
        self.ask_memories()
        self._show_selection()

    def _show_badges(self) -> None:
        self._hits.remembered_ids = self.memories.badges

    # --- the pack -----------------------------------------------------------------------------------------------------

    def _ask_pack(self) -> None:
        """Request the pack of the marks, else of the first hits in the order of the list."""
        result = self.result
        listed = replace(result, hits=arrange_hits(result)) if result is not None and result.sort else result
        self.pack.ask_pack(listed, self.strategy)
        self._show_earlier_count()

    def _apply_decision(self, is_changed: bool) -> None:
        """If `is_changed`, show the user's changed choices for the pack, and request the pack again."""
        if is_changed:
            self._has_decided = True
            self._show_choices()
            self._ask_pack()

    def _show_choices(self) -> None:
        """Show the marks, and the format, scope and budget of the pack."""
        bar, choices = self.query_one(PackBar), self.pack.choices
        self._hits.marked_ids = choices.marked_ids
        self._hits.packed_ids = self.pack.packed_fragments
        self._show_earlier_count()
        if self.is_populated:
            self.side.related.rows.marked = choices.marked_ids
        bar.pack_settings, bar.mark_count, bar.order_name = self.pack.pack_settings, len(choices.marks), self.pack.order

    def _show_earlier_count(self) -> None:
        """Show above the list how many marks are of an earlier session, or of fragments that are not listed."""
        line, marks = self.query_one("#before", Static), self.pack.earlier_or_unlisted_marks
        line.display = bool(marks) and self._hits.display
        if marks:
            is_new = any(mark.fragment_id in self.pack.choices.marked_ids for mark in marks)
            where = "not in this list" if is_new else "from last time"
            keys = f"{key_sign('show-earlier')} {'show' if is_new else 'add'}, {key_sign('drop-earlier')} clear"
            text = f"● {format_count(len(marks), 'mark')} {where}: {keys}"
            if line.content != text:
                line.update(text)

    def show_cost(self) -> None:
        """Show how many tokens marking the selected fragment would add: an estimate now, the exact number later."""
        self.pack.update_cost()
        self.query_one(PackBar).cost = self.pack.cost

    def _show_pack(self) -> None:
        """Show the newest pack in the pack bar, in the margin of the preview and in the pack panel."""
        packed, bar = self.pack.newest_pack, self.query_one(PackBar)
        self._show_choices()
        bar.pack, bar.cost = packed.result if packed is not None else None, self.pack.cost
        if self.is_populated:
            packs = packed.result.passages if packed is not None else ()
            self.side.mark_packed_passages(tuple((pack.path, pack.line_start, pack.line_end) for pack in packs))
            if self.pack_panel.display:
                self._fill_pack_panel()
        self._refresh_keys()

    def _fill_pack_panel(self) -> None:
        from excerpt.tui.pack.panel import PackPanelContents

        pack, hits = self.pack, self._best_hits
        ranks = {hit.fragment.id: rank for rank, hit in enumerate(hits, start=1)}
        contents = (
            PackPanelContents(pack.newest_pack, pack.choices.marked_ids, ranks, pack.order)
            if pack.newest_pack is not None
            else None
        )
        self.pack_panel.contents = contents

    def _handle_built_pack(self) -> None:
        self._refresh_keys()
        if self._pending_copy is not None and not self._is_searching:
            self._copy(self._pending_copy)
        if count := self.pack.count_newly_missing():
            self.notify(f"{count} marked passage{' is' if count == 1 else 's are'} no longer in the vault.")

    def _cancel_copy(self) -> None:
        self._pending_copy = None

    @on(HitList.MarkClicked)
    def _toggle_clicked_mark(self, event: HitList.MarkClicked) -> None:
        event.stop()
        self._toggle_mark_and_move(0)

    def _toggle_mark_and_move(self, rows: int) -> None:
        hit = self.selected
        if hit is not None:
            self._toggle_mark(hit)
            self._hits.move(rows)

    def _toggle_mark(self, hit: Hit) -> None:
        if (used := self._find_used_hit(hit)) is not None:
            self._marked_hits[hit.fragment.id] = used
        self._apply_decision(self.pack.toggle_mark(mark_hit(hit)))

    def action_mark(self) -> None:
        """Toggle the mark of the selected hit or the side panel's passage; in a list, select the next row."""
        if not self.side.has_focus_within:
            self._toggle_mark_and_move(1)
        elif (hit := self.side.passage) is not None:
            self._toggle_mark(hit)
            if self.side.view == "related":
                self.side.move(1)

    def action_mark_nearest(self) -> None:
        """Mark the hits nearest to a query that nothing answers."""
        marks = [mark_hit(hit) for hit in self._best_hits[:_NEAREST_HITS]]
        self._apply_decision(self.pack.replace_choices(self.pack.choices.with_marks(marks)))

    def action_clear_marks(self) -> None:
        self._apply_decision(self.pack.replace_choices(self.pack.choices.without_marks()))

    def action_undo(self) -> None:
        if not self.pack.can_undo:
            self.notify("Nothing to undo.")
        self._apply_decision(self.pack.undo())

    def action_redo(self) -> None:
        if not self.pack.can_redo:
            self.notify("Nothing to redo.")
        self._apply_decision(self.pack.redo())

    def action_show_earlier(self) -> None:
        """Restore the marks of an earlier session, and open the pack panel."""
        if not self.pack.earlier_or_unlisted_marks:
            self.notify("No passage is marked outside of the list.")
            return
        self._apply_decision(self.pack.restore_marks())
        if not self.pack_panel.has_focus:
            self.action_panel()

    def action_drop_earlier(self) -> None:
        if not self.pack.earlier_or_unlisted_marks:
            self.notify("No passage is marked outside of the list.")
        self._apply_decision(self.pack.drop_earlier())

    def action_type_budget(self) -> None:
        """Open a dialog to type the token budget; copy the pack afterwards if the user asks for that."""
        from excerpt.tui.pack.dialogs import BudgetDialog

        def answered(typed: BudgetDialogResult | None) -> None:
            if typed is not None:
                self.budget = typed.budget_tokens
                if typed.copies_pack:
                    self.action_copy_pack()

        self.app.push_screen(BudgetDialog(self.pack), answered)

    def action_order(self) -> None:
        self._apply_decision(self.pack.replace_choices(self.pack.choices.with_next_order(self.pack.query)))

    def action_scope(self) -> None:
        """Open a dialog to choose the scope of all passages."""
        from excerpt.tui.pack.dialogs import ScopeDialog

        def use(scope: Scope | None) -> None:
            if scope is not None:
                self.scope = scope

        self.app.push_screen(ScopeDialog(self.pack), use)

    def action_fill(self) -> None:
        self._apply_decision(self.pack.next_fill())
        fills = self.fill is Fill.BUDGET
        self.notify("Packs fill the budget now." if fills else "Packs stop now when they have enough.")

    def action_format(self) -> None:
        self._apply_decision(self.pack.next_format())

    def action_budget(self, steps: int) -> None:
        self._apply_decision(self.pack.change_settings(budget=next_budget(self.budget, steps)))

    def action_copy_pack(self) -> None:
        """Copy the pack of the newest query; wait if that pack is still being built."""
        self._copy(CopyTarget.CLIPBOARD)

    def action_save_pack(self) -> None:
        self._copy(CopyTarget.FILE)

    def _copy(self, target: CopyTarget) -> None:
        self._pending_copy = None if self.is_up_to_date else target
        if self._pending_copy is not None:
            return
        marks = (self._marked_hits.get(mark.fragment_id) for mark in self.pack.choices.marks)
        request = self.pack.copy_request(target, tuple(hit for hit in marks if hit is not None))
        if request is None:
            verb = "print" if target is CopyTarget.STDOUT else "copy"
            reason = empty_pack_reason(verb, has_no_answer=self.pack.has_no_answer)
            self.notify(reason, severity="warning", markup=False)
        else:
            self.post_message(request)

    def action_remember_pack(self) -> None:
        """Store the text of the pack as a memory. The text names its sources, so the memory has none."""
        if self.pack.newest_pack is None or self.pack.is_empty:
            reason = empty_pack_reason("remember", has_no_answer=self.pack.has_no_answer)
            self.notify(reason, severity="warning", markup=False)
        else:
            self.post_message(RememberRequested(None, self.pack.query, self.pack.newest_pack.text))

    # --- the pack's panel ---------------------------------------------------------------------------------------------

    def action_panel(self) -> None:
        """Open the pack panel and focus it, or close the panel if it has the focus already."""
        panel = self.pack_panel
        if panel.has_focus:
            self._close_pack()
            return
        panel.add_class("-open")
        self._split.panel = True
        self._fill_pack_panel()
        panel.focus()

    def _close_pack(self) -> bool:
        """Close the pack panel; return False if the panel was closed already. Its focus moves to the list."""
        was_open, had_focus = self._split.panel, self.pack_panel.has_focus
        self.pack_panel.remove_class("-open")
        self._split.panel = False
        if had_focus:
            self._focus_list()
        return was_open

    def _preview_panel_row(self) -> None:
        """Show the fragment of the pack panel's selected row in the preview.

        The preview replaces the pack panel if there is no room for both.
        """
        panel, rows = self.pack_panel, self._hits
        row, pack = panel.selected, panel.selected_pack
        if row is None:
            return
        fragment_ids = (pack.entry.fragment_id,) if pack is not None else row.fragment_ids
        if not fragment_ids or not row.line_start:
            where = "in the vault" if fragment_ids else "among the hits"
            self.notify(f"That text is no longer {where}.")
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
            self._close_pack()
            self._focus_side()

    def _remember_passage(self) -> None:
        """Store the passage selected in the pack panel as a memory, with the context that the scope added.

        If the passage is a memory already, open that memory in the form.
        """
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
        """Show a view of the side panel by its name, such as "why"; at the second call, show the passage instead.

        If the side panel replaces the list, the second call shows the list. Related notes and the map get the focus,
        because the user selects something in them.
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
        """Show the next view of the side panel. If the panel is hidden, show it, replacing the list if necessary."""
        if self.side.display:
            self.side.next_view()
        else:
            self._close_pack()
            self._focus_side()

    def action_enter_side(self) -> None:
        """Focus the side panel; in the passage view, also put the cursor on the next link."""
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
        return self._split.arrangement.has_context and not self._split.arrangement.list_cells

    def _return_to_list(self) -> None:
        """Focus the list, after showing it again if the side panel replaces it."""
        self._split.prefers_context = False
        self._focus_list()

    def _focus_list(self) -> None:
        (self._hits if self._hits.display else self._bar.field).focus()

    def action_scroll_view(self, pages: int) -> None:
        self.side.scroll_pages(pages)

    def on_side_panel_content_changed(self) -> None:
        """Update the minimum height and the keys for the passage or view that the side panel shows now."""
        self._fit_side_height()
        self._refresh_keys()

    def _fit_side_height(self) -> None:
        """Set the minimum height of the panels below the list."""
        if self.is_populated:
            needs_little = self._hits.has_snippets and self.side.view == "passage"
            self._split.min_second_share = 0.0 if needs_little else _MIN_SIDE_HEIGHT_SHARE

    # --- one fragment or memory ---------------------------------------------------------------------------------------

    @on(EditRequested)
    @on(CopyRequested)
    @on(GoldRequested)
    @on(RememberRequested)
    def _add_used_query_to_history(self) -> None:
        """Add the query to the history, because its hits were used."""
        self._bar.add_to_history()

    def action_copy_fragment(self) -> None:
        """Copy the lines picked in the preview, else the selected hit or the side panel's passage."""
        hit = self._target_hit
        lines = self.side.pop_picked_lines() if self.side.has_focus_within else None
        if lines is not None and hit is not None:
            label = format_lines(lines.line_start, lines.line_end, "–").capitalize()
            used = self._find_used_hit(hit) if lines.path == hit.fragment.path else None
            self.post_message(CopyRequested(lines.text, label, None, () if used is None else (used,)))
        elif hit is not None:
            fragment, used = hit.fragment, self._find_used_hit(hit)
            used_hits = () if used is None else (used,)
            self.post_message(CopyRequested(fragment.text, "Passage", fragment.tokens, used_hits))

    def action_edit(self) -> None:
        """Handle enter: pass it to the focused panel, else open the note in the editor.

        For a memory, its source is opened. Without hits, the corrected query is used.
        """
        hit, memory = self._target_hit, self._target_memory
        if self.pack_panel.has_focus:
            self._preview_panel_row()
        elif self.start_list.has_focus:
            self._use_start_row()
        elif self.side.has_focus_within and self.side.handle_enter():
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
            used = self._find_used_hit(hit)
            self.post_message(EditRequested(hit.fragment.path, line, hit.fragment.place, used))
        elif self._corrected_query:
            self._bar.set_query(self._corrected_query)

    def _use_start_row(self) -> None:
        """Run the query, show the memory or open the note of the start list's selected row."""
        row = self.start_list.selected
        if row is None:
            return
        if row.query:
            self._bar.field.focus()
            self._bar.set_query(row.query)
        elif row.memory_id:
            self.post_message(MemoryShowRequested(row.memory_id))
        else:
            self.post_message(EditRequested(row.path, 1))

    def action_accept(self) -> None:
        """Leave and print what is picked: the pack, or links to the marked passages or the selected one.

        On a link, a branch of the map, a row of the start list or a corrected query, enter does the same as ever.
        """
        assert self._pick is not None
        if self.start_list.has_focus:
            self._use_start_row()
        elif self.side.has_focus_within and self.side.handle_enter():
            return
        elif self._target_hit is None and not self.pack.choices.marks:
            self._bar.set_query(self._corrected_query)
        elif self._pick.form is None:
            self._copy(CopyTarget.STDOUT)
        else:
            self._ask_links(partial(self._copy_links, CopyTarget.STDOUT, self._pick.form))

    def action_cancel(self) -> None:
        """Leave without printing anything."""
        self.app.exit()

    def action_copy_link(self) -> None:
        """Open a dialog to choose the form of the link to the marked passages, or to the selected one, and copy it."""
        from excerpt.tui.search.link_dialog import LinkDialog

        def open_dialog(links: Mapping[LinkForm, Sequence[str]]) -> None:
            def copy(form: LinkForm | None) -> None:
                if form is not None:
                    self.link_form = form
                    self._copy_links(CopyTarget.CLIPBOARD, form, links)

            self.app.push_screen(LinkDialog(links, self.link_form), copy)

        self._ask_links(open_dialog)

    def _ask_links(self, on_answer: Callable[[Mapping[LinkForm, Sequence[str]]], object]) -> None:
        """Request the links to the picked lines, else to the marked passages, else to the selected one.

        A memory is linked by its source.
        """
        from excerpt.service.questions import AskLinks

        lines, hit = self.side.pop_picked_lines() if self.side.has_focus_within else None, self._target_hit
        marked = [mark.fragment_id for mark in self.pack.choices.marks]
        ids = marked or ([hit.fragment.id] if hit is not None else [])
        memories = {id_: self.memories.find_memory(id_) for id_ in ids}
        passages = [memory.source if memory is not None else id_ for id_, memory in memories.items()]
        question = AskLinks((lines,) if lines else tuple(each for each in passages if each), self._folders)

        def handle(links: Mapping[LinkForm, Sequence[str]]) -> None:
            if links:
                on_answer(links)
            else:
                self.notify("Nothing to link to: a memory without a source, or a passage that is gone.")

        self._engine.ask(question, handle)

    def _copy_links(self, target: CopyTarget, form: LinkForm, links: Mapping[LinkForm, Sequence[str]]) -> None:
        """Copy the links of one form. For programs, `path:line` has the path from the working directory."""
        rows = links.get(form, ())
        if target is CopyTarget.STDOUT and self._folders is not None and form in (LinkForm.LINES, LinkForm.PATH):
            rows = [path_for_shell(*self._folders.locate(row)) for row in rows]
        hits = [self._marked_hits.get(mark.fragment_id) for mark in self.pack.choices.marks]
        if not hits and (hit := self._target_hit) is not None:
            hits = [self._find_used_hit(hit)]
        used = tuple(each for each in hits if each is not None)
        self.post_message(CopyRequested("\n".join(rows), format_count(len(rows), "link"), None, used, target=target))

    def action_obsidian(self) -> None:
        """Open the note of the selected hit or of the side panel's passage in Obsidian."""
        hit = self._target_hit
        if hit is not None:
            fragment = hit.fragment
            self.post_message(ObsidianRequested(fragment.path, fragment.heading_path, self._find_used_hit(hit)))

    def action_forget_uses(self) -> None:
        """Forget that the selected hit was opened, marked or copied for similar words, and search again."""
        hit = self._target_hit
        if hit is None or not hit.past_uses:
            self.notify("Nothing to forget: this hit was not opened, marked or copied for these words before.")
        else:
            self._forget_uses(hit)

    def on_why_view_forget_requested(self, event: WhyView.ForgetRequested) -> None:
        event.stop()
        self._forget_uses(event.hit)

    def _forget_uses(self, hit: Hit) -> None:
        from excerpt.service.questions import AskForgetUses

        self._engine.ask(AskForgetUses(hit.past_uses), partial(self._handle_forgotten, hit))

    def _handle_forgotten(self, hit: Hit, problem: str) -> None:
        """Search again, with the selection on the hit wherever it is now; if forgetting failed, say so."""
        if problem:
            self.notify(f"Nothing was forgotten: {problem}.", severity="warning", markup=False)
        else:
            self._pending_selection_id = hit.fragment.id
            self.notify("Forgotten. The list is ranked without it.")
            self.search()

    def _find_used_hit(self, hit: Hit) -> UsedHit | None:
        """Return `hit` as what the user uses for the query; None if it is not in the list, such as a memory."""
        from excerpt.search.usage import find_used_hit

        result = self.result
        return find_used_hit(result.query, result.best_first, hit.fragment.id) if result is not None else None

    def action_remember(self) -> None:
        """Store the focused passage as a memory: of the pack panel, the picked lines, the side panel or the list.

        If that passage is a memory already, open the memory in the form.
        """
        if self.pack_panel.has_focus and self.pack_panel.row_count:
            self._remember_passage()
        elif (memory := self._target_memory) is not None:
            self.post_message(MemoryEditRequested(memory))
        else:
            from excerpt.model import Hit

            lines = self.side.pop_picked_lines() if self.side.has_focus_within else None
            hit = Hit(lines, 0.0) if lines is not None else self._target_hit
            self.post_message(RememberRequested(hit, self.query_text.strip()))

    def action_add_to_gold(self) -> None:
        """Add the query to the gold set, with the selected hit or the side panel's passage as what answers it."""
        hit = self._target_hit
        if hit is not None:
            self.post_message(GoldRequested(self.query_text.strip(), hit))

    def action_memories(self) -> None:
        """Switch the placement of memories: among the hits, before the hits, or not shown."""
        self.memories.select_next_placement()
        placement = self.memories.placement
        is_off = placement is MemoryPlacement.OFF
        self.notify("Memories are hidden from the search." if is_off else f"Memories are shown {placement}.")
        self._refresh_memories()

    # --- why, and other strategies ------------------------------------------------------------------------------------

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

    def action_explain_first(self) -> None:
        """Select the best hit, whose confidence is that of the answer, and show why it is the best."""
        if self._best_hits:
            self._hits.select_fragment(self._best_hits[0].fragment.id)
            if not (self.side.display and self.side.view == "why"):
                self.action_show_view("why")

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
            self._hits.select_fragment(choice.fragment_id)
        else:
            self._pending_selection_id = choice.fragment_id
            self.strategy = choice.strategy

    def _select_pending_fragment(self) -> None:
        """Select the fragment that the user chose in the comparison of strategies, once the hits are listed."""
        fragment, self._pending_selection_id = self._pending_selection_id, ""
        if fragment:
            self._hits.select_fragment(fragment)

    # --- the query's menu ---------------------------------------------------------------------------------------------

    def action_complete(self) -> None:
        """Use the corrected query if one is suggested, else open completions of the word at the cursor."""
        if self._corrected_query:
            self._bar.set_query(self._corrected_query)
        else:
            self._bar.open_completions()

    def action_sort(self) -> None:
        self._bar.use_next_order()

    def action_filter_time(self) -> None:
        self._bar.filter_by_period()

    def action_ignore_time(self) -> None:
        self._bar.ignore_period()

    def action_suggest(self) -> None:
        self._bar.open_suggestions()

    async def action_saved(self) -> None:
        await self._bar.open_saved_queries()

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
        elif self.start_list.display and not self.pack_panel.has_focus:
            self._move_in_start_list(rows)
        else:
            (self.pack_panel if self.pack_panel.has_focus else self._hits).move(rows)

    def _move_in_start_list(self, rows: int) -> None:
        """Move the cursor of the start list; from the query go down into the list, from its first row up out of it."""
        if not self.start_list.has_focus:
            if rows > 0:
                self.start_list.focus()
        elif rows < 0 and not self.start_list.cursor:
            self._bar.field.focus()
        else:
            self.start_list.move(rows)

    def action_focus_query(self) -> None:
        self._split.prefers_context = False
        self._bar.field.focus()

    def action_pane(self) -> None:
        chain = self.screen.focus_chain  # also contains widgets that are not laid out yet
        every = self._bar.field, self._hits, self.start_list, self.side.focus_target, self.pack_panel
        panes = [pane for pane in every if pane in chain]
        if panes:  # empty while the tab is being removed
            index = next((i for i, pane in enumerate(panes) if pane.has_focus), -1)
            self.screen.set_focus(panes[(index + 1) % len(panes)])

    def action_back(self) -> None:
        """Close one thing per call: picked lines, then the pack panel, then a side panel that replaces the list.

        If none of these is open, focus the list, or the query if there are no hits. If that has the focus while the
        user picks, leave.
        """
        field = self._bar.field
        if self.side.stop_picking() or self._close_pack():
            return
        if self._replaces_list:
            self._return_to_list()
        elif self._pick is not None and (self._hits if self._hits.display else field).has_focus:
            self.app.exit()
        elif self._hits.display:
            if field.has_focus and self._bar.answered_query == self.query_text.strip():
                self._bar.add_to_history()
            self._hits.focus()
        else:
            field.focus()

    # --- which keys work ----------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return False for an action whose key belongs to the open query menu or not to the focused panel.

        While the user picks, enter prints what is picked instead of opening the note.
        """
        if action == "forget_uses" and self.is_populated and self.side.why.has_focus:
            return not self.side.why.check_action("forget", ())
        if action in _MENU_ACTIONS and any(menu.is_open for menu in self.query(QueryMenu)):
            return False
        if action in ("accept", "cancel", "edit"):
            return (action != "edit") is (self._pick is not None)
        if action in _LIST_ACTIONS and self.is_populated:
            return not (
                self.screen.focused is self.pack_panel or (action == "enter_side" and self.side.has_focus_within)
            )
        return super().check_action(action, parameters)

    def disabled_reason(self, action: str, parameters: tuple[object, ...]) -> str:
        """Return why an action cannot be done now; "" if it can."""
        return search_disabled_reason(action, self._search_state(), parameters)

    def _refresh_keys(self) -> None:
        """Update the keys in the footer if other actions are enabled now."""
        state = self._search_state()
        if state != self._last_state:
            self._last_state = state
            self.refresh_bindings()

    def _search_state(self) -> SearchState:
        typed = self._has_query
        if not self.is_populated:
            return SearchState(has_query=typed, has_files=self._has_files)
        hit, panel = self._target_hit, self.pack_panel
        on_name = self.side.has_focus_within and self.side.view == "related" and self.side.related.reason is not None
        kind = SelectedRowKind.NOTHING
        if hit is not None:
            kind = SelectedRowKind.MEMORY if is_memory(hit) else SelectedRowKind.FRAGMENT
        return SearchState(
            has_query=typed,
            has_period=bool(self._bar.field.periods),
            has_result=self.result is not None,
            has_files=self._has_files,
            is_side_visible=self.side.display,
            is_on_name=on_name and hit is None,
            row_kind=kind,
            has_marks=bool(self.pack.choices.marks),
            has_pack=not self.is_up_to_date or not self.pack.is_empty,
            can_undo=self.pack.can_undo,
            can_redo=self.pack.can_redo,
            has_earlier_marks=bool(self.pack.earlier_or_unlisted_marks),
            has_no_answer=self.is_up_to_date and self.pack.has_no_answer,
            is_in_panel=panel.has_focus and panel.row_count > 0,
            is_on_start_row=self.start_list.has_focus,
            selection=panel.selection,
            has_offered_order=self.orders.has_offer,
            has_correction=bool(self._corrected_query),
        )
