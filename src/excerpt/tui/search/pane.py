"""The Search tab: query, ranked list, preview, side panels, pack. Asks the engine, tells each part what it shows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.reactive import var
from textual.widgets import Input

from excerpt.kinds import Format, Scope, Strategy
from excerpt.pack.marks_file import Kept, Mark
from excerpt.pack.memory_fragment import memory_id_of
from excerpt.settings import Settings
from excerpt.text.line_range import lines_named
from excerpt.text.visible import visible_line
from excerpt.tui.bindings import bindings
from excerpt.tui.common.notice import Notice, Said
from excerpt.tui.common.pause import Pause
from excerpt.tui.common.row_list import RowList
from excerpt.tui.common.strips import fit
from excerpt.tui.engine_worker import EngineWorker
from excerpt.tui.insight.controller import InsightController
from excerpt.tui.keymap import key_sign
from excerpt.tui.memory.recall_controller import RecallController, Showing, is_memory, window_of_memory
from excerpt.tui.messages import (
    AllMarked,
    Answered,
    CopyRequested,
    EditRequested,
    MarksChanged,
    MemoryEditRequested,
    ObsidianRequested,
    RememberRequested,
    SearchDone,
    Trouble,
)
from excerpt.tui.pack.controller import PackController, mark_of, next_budget
from excerpt.tui.panes import SHARE
from excerpt.tui.search.disabled import OF_PANELS, PanelState, Row, SearchState, panel_disabled, search_disabled
from excerpt.tui.search.history import QueryKeeper
from excerpt.tui.search.hit_list import HitList
from excerpt.tui.search.notices import is_unanswered, list_title, nothing_found
from excerpt.tui.search.query_bar import Answer, QueryBar
from excerpt.tui.search.query_menu import QueryMenu
from excerpt.tui.search.reading_controller import Location, ReadingController
from excerpt.tui.turn import next_in_turn
from excerpt.tui.widgets.aside import Aside
from excerpt.tui.widgets.pack_bar import PackBar
from excerpt.tui.widgets.split import Split

if TYPE_CHECKING:
    from excerpt.insight.map import VaultMap
    from excerpt.insight.related import Related
    from excerpt.model import Hit, Memory, Result, Span
    from excerpt.tui.memory.worker import Found, MemoryWorker
    from excerpt.tui.reading import LinkFound
    from excerpt.tui.search.strategies import Choice
    from excerpt.tui.widgets.preview import Preview

_ABOUT_HITS = frozenset({"move", "mark", "edit", "obsidian", "copy_fragment", "remember", "why"})
"""Actions about the selected hit: pressed right behind the last letter, they are about the answer to all of it."""
_PATIENCE = 0.5
"""Seconds before waiting is said."""

_ADDRESS = 80
"""Cells of an address that is told."""

_TAKEN_BY_MENU = frozenset({"move", "mark", "edit", "back"})
"""Actions of the pane whose keys are the menu's while it is open."""

_NOTHING_SELECTED = Said("Nothing is selected", "What is related to the selected fragment stands here.")
_MEMORY_SELECTED = Said("A memory is selected", "Select a fragment of a note to see what is related to it.")
_LOOKING = Said("Looking for related notes")
_GONE = Said("That note is not in the index any more")


class SearchPane(Vertical):
    """State: the strategy, the result shown, how the panes stand. All else is a controller's, which the pane tells of
    the user's keys, and whose answers it shows in its widgets."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("Search")

    DEFAULT_CSS = """
    SearchPane {
        #body { height: 1fr; }
        #found { height: 1fr; border-top: solid $border-blurred; border-title-color: $text-soft; }
        #preview { height: 1fr; border-top: solid $border-blurred; border-title-color: $text-soft; }
        #found:focus-within, #preview:focus {
            border-top: solid $accent;
            border-title-color: $accent;
        }
        #found.-unanswered {
            border-title-color: $warning;
            HitList > .hit--title { text-style: none; color: $text-soft; }
            HitList > .hit--heading, HitList > .hit--score { color: $text-faint; }
            HitList > .row--match { color: $text-soft; background: $background 0%; text-style: none; }
        }
        #hits { height: 1fr; }
        #body.-no-panel .panel { display: none; }
        #body.-beside #related { height: 2fr; }
    }
    """

    strategy: var[Strategy] = var(Strategy.AUTO, init=False)
    result: var[Result | None] = var(None, init=False)
    said: var[Said] = var(Said("Type to search."), init=False)
    """What stands in the list's place while there is no query."""
    share = SHARE
    """The list's part of the body, here and in other tabs."""
    progress: var[str] = var("", init=False)
    """How far the index is while it is being built; "" when it is not."""

    is_furnished = False
    """Whether preview and panels are there, which come after the first frame."""

    def __init__(
        self,
        settings: Settings,
        engine: EngineWorker,
        memories: MemoryWorker,
        *,
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        super().__init__(id=id)
        self.set_reactive(SearchPane.strategy, settings.search.strategy)
        self.memories = RecallController(
            engine,
            memories,
            settings.memory,
            found=self._memories_found,
            changed=self._show_badges,
        )
        self.pack = PackController(
            engine,
            self.set_timer,
            settings.pack,
            selected=lambda: self.selected,
            memories=self.memories.marked,
            changed=self._show_pack,
            built=self._pack_built,
            keep=lambda kept: self.post_message(MarksChanged(kept)),
        )
        self.reading = ReadingController(
            engine,
            self.set_timer,
            line_at_top=lambda: self._preview.line_at_top,
            changed=self._show_window,
        )
        self.insight = InsightController(engine, self.set_timer, query=lambda: self.query_text, put=self._put)
        self._settings = settings
        self._engine = engine
        self._limit = settings.search.limit
        self._asked = 0
        self._shown = 0
        self._early: list[Callable[[], Awaitable[object]]] = []
        self._failed: Said | None = None
        self._busy = Pause(self.set_timer)
        self._to_select = ""
        self._meant = ""
        self._copy_waits: bool | None = None
        self._view_state = SearchState(), PanelState()

    def compose(self) -> ComposeResult:
        yield QueryBar(self._engine)
        with Split(id="body"):
            with Vertical(id="found"):
                yield HitList(id="hits")
                yield Notice(id="notice")
            yield Aside(id="aside")
        yield PackBar(id="pack")

    def on_mount(self) -> None:
        self._bar.status.strategy = self.strategy
        self._show_choices()
        self.query_one(Split).share = self.share
        self._show_result()

    async def furnish(self) -> None:
        """Mount what the first frame does not show: the preview and the panels."""
        await self.aside.furnish()
        self.query_one(Split).show_context()
        self.is_furnished = True
        self._show_choices()
        self.search()

    # --- the parts ----------------------------------------------------------------------------------------------------

    @property
    def _bar(self) -> QueryBar:
        return self.query_one(QueryBar)

    def _put(self, query: str) -> None:
        self._bar.put(query)

    @property
    def _hits(self) -> HitList:
        return self.query_one(HitList)

    @property
    def aside(self) -> Aside:
        """Where the preview and the panels stand."""
        return self.query_one(Aside)

    @property
    def _preview(self) -> Preview:
        return self.aside.preview

    @property
    def _panel_rows(self) -> RowList | None:
        """The rows of the panel that is open."""
        panel = self.aside.panel
        if panel is None:
            return None
        rows = panel.rows if panel is self.aside.related_panel else panel
        return rows if isinstance(rows, RowList) else None

    @property
    def query_text(self) -> str:
        return self._bar.text

    @property
    def selected(self) -> Hit | None:
        """The row that is selected in the list: a fragment or a memory."""
        return self._hits.selected

    @property
    def _selected_memory(self) -> Memory | None:
        hit = self.selected
        return self.memories.memory_of(hit.fragment.id) if hit is not None else None

    @property
    def _answered_query(self) -> str:
        return self.result.query if self.result is not None else ""

    @property
    def asked_all_answered(self) -> bool:
        """Whether list and pack are of what was asked last."""
        return not self._is_answering and self.pack.is_answered

    # --- what the main screen says ------------------------------------------------------------------------------------

    def use_settings(self, settings: Settings) -> None:
        """Go by other settings from now on: what they say differently is on the screen at once."""
        before, self._settings = self._settings, settings
        if before.search.strategy is not settings.search.strategy:
            self.strategy = settings.search.strategy
        self._decide(self.pack.use(settings.pack))
        if self.memories.use(settings.memory):
            self._showing_changed()

    def restore(self, kept: Kept) -> None:
        """Take up the marks of an earlier session."""
        self.pack.restore(kept)
        if kept.marks:
            self._show_choices()
            self._ask_pack()

    async def keep_queries(self, keeper: QueryKeeper) -> None:
        """Keep what is asked from now on, and know what was asked before."""
        await self._bar.queries.keep(keeper)

    def index_changed(self) -> None:
        """Ask everything again that is on screen: there is a newer index."""
        if self.query_text.strip():
            self._bar.read()
            self.search()
        elif self.pack.choices.marks:
            self._ask_pack()

    def look_for_gone(self) -> None:
        """Ask again for marked fragments that were gone: they may have been found elsewhere."""
        if self.pack.packed is not None and self.pack.packed.gone:
            self._ask_pack()

    def recall(self) -> None:
        """Ask for what was remembered about the query that is answered."""
        self.memories.ask(self._answered_query, self.pack.choices.marks)

    @property
    def scope(self) -> Scope:
        return self.pack.wanted.scope

    @scope.setter
    def scope(self, scope: Scope) -> None:
        self._decide(self.pack.want(scope=scope))

    @property
    def budget(self) -> int:
        return self.pack.wanted.budget

    @budget.setter
    def budget(self, budget: int) -> None:
        self._decide(self.pack.want(budget=budget))

    @property
    def form(self) -> Format:
        return self.pack.wanted.format

    @form.setter
    def form(self, form: Format) -> None:
        self._decide(self.pack.want(form=form))

    def watch_said(self) -> None:
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
        """Ask for what the query says now; called again when there is a newer index."""
        if not self.is_furnished:
            return
        self._asked += 1
        query = self.query_text.strip()
        if not query:
            self._engine.forget("search")
            self._end_search()
            self.result = None
            self._ask_pack()
            return
        in_sight = self.size.height // self._hits.ROW_HEIGHT
        self._engine.search(self._asked, query, self.strategy, in_sight, self._limit)
        if not self._busy.waits and not self._bar.status.busy:
            self._busy.begin(_PATIENCE, self._say_busy)

    def _say_busy(self) -> None:
        self._bar.status.busy = "searching…"

    def _stop_waiting(self) -> None:
        self._busy.stop()
        self._bar.status.busy = ""

    def _end_search(self, failed: Said | None = None) -> None:
        self._stop_waiting()
        self._early.clear()
        self._shown = self._asked
        self._failed = failed

    @on(Answered)
    def _answered(self, message: Answered) -> None:
        message.stop()
        self._engine.hand_over(message)

    @on(SearchDone)
    def _search_done(self, message: SearchDone) -> None:
        """Show an answer, unless a newer one is shown already."""
        message.stop()
        if message.number <= self._shown:
            self._engine.drawn(message.number)
            return
        self._shown = message.number
        if message.number == self._asked:
            self._stop_waiting()
        self._failed = None
        self.result = message.result
        self.call_after_refresh(self._engine.drawn, message.number)
        if not self._is_answering:
            self._act_on_answer()

    @property
    def _is_answering(self) -> bool:
        return self._asked != self._shown

    def is_early(self, action: str) -> bool:
        """Return whether the action is about hits that are still on their way."""
        walks = action == "move" and (self.aside.has_focus_within or self._bar.queries.walks)
        return action in _ABOUT_HITS and not walks and self._is_answering and self._engine.is_open

    def wait_with(self, act: Callable[[], Awaitable[object]]) -> None:
        """Act when the newest query is answered."""
        self._early.append(act)

    def _act_on_answer(self) -> None:
        acts, self._early = self._early, []
        for act in acts:
            self.app.call_later(act)

    @on(AllMarked)
    def _all_marked(self, message: AllMarked) -> None:
        """Of what is in sight, only fragments below better ones are drawn anew. A passage too long for the pack is cut
        to what is marked in it."""
        message.stop()
        if message.number == self._shown:
            self.set_reactive(SearchPane.result, message.result)
            self._show_rows(again=True)
            self._ask_pack()

    @on(Trouble)
    def _something_failed(self, message: Trouble) -> None:
        """Say so where the answer would stand; the message goes on to the screen."""
        said = Said(message.title, message.message, message.hint, serious=True)
        self._engine.fail(message)
        if message.asked == "search":
            self._end_search(said)
            self.result = None
            self._show_result()
        elif message.asked == "pack":
            self._copy_waits = None
            self.pack.failed()
        elif message.asked == "related":
            self._say_related(said)
        elif message.asked == "map":
            self.aside.map_panel.said = message.message
            self.aside.map_panel.vault_map = None

    def watch_result(self, old: Result | None, new: Result | None) -> None:
        """Show the result, then all that goes by it."""
        again = old is not None and new is not None and old.query == new.query
        self._ask_what_was_meant()
        self._show_result()
        self._show_rows(again=again)
        self._select_chosen()
        self.recall()
        self._ask_pack()
        self._selection_changed(again=again)

    def _ask_what_was_meant(self) -> None:
        """Where nothing answers the query, or it looks like it has a filter, ask for one that may have been meant."""
        from excerpt.tui.search.query_questions import AskCorrection

        result, self._meant = self.result, ""
        if result is not None and (result.hints or not result.hits or is_unanswered(result)):
            self._engine.ask(AskCorrection(result.query), partial(self._show_meant, result))

    def _show_meant(self, result: Result, meant: str) -> None:
        if meant and self.result is not None and self.result.query == result.query:
            self._meant = meant
            self._show_result()
            self._refresh_keys()

    def _show_result(self) -> None:
        """Say what came of the query: in its bar, above the list, and where there are no hits in its place."""
        result, bar = self.result, self._bar
        notice = self.query_one("#notice", Notice)
        self._hits.display = bool(result and result.hits)
        notice.display = not self._hits.display
        split = self.query_one(Split)
        split.context = result is not None
        found = self.query_one("#found")
        found.set_class(is_unanswered(result), "-unanswered")
        title = list_title(result, self._meant)
        if found.border_title != title:
            # Only then: the whole pane is drawn for it.
            found.border_title = title
        bar.answered = result.query if result is not None and result.hits else ""
        if result is None:
            bar.status.answer = None
            notice.said = self._failed or self.said
            return
        led = None if result.confidence is None else result.strategy
        bar.status.answer = Answer(led, max(result.matched, len(result.hits)), result.confidence)
        if not result.hits:
            notice.said = nothing_found(result, self.progress, self._meant)

    @property
    def _listed(self) -> Sequence[Hit]:
        return self.result.hits if self.result is not None else ()

    def _show_rows(self, *, again: bool) -> None:
        """List the hits, and the memories among them."""
        if self.result is None:
            self.memories.clear()
        self._hits.show(self.memories.rows(self._listed), again=again)

    # --- the selection ------------------------------------------------------------------------------------------------

    @on(HitList.EndReached)
    def _end_reached(self, event: HitList.EndReached) -> None:
        """List more, where there is more."""
        event.stop()
        result = self.result
        if result is not None and len(result.hits) == self._limit < result.matched and not self._is_answering:
            self._limit += self._settings.search.limit
            self.search()

    @on(RowList.Moved)
    def _moved(self, event: RowList.Moved) -> None:
        if event.control is self._hits:
            event.stop()
            self._selection_changed()
        else:
            self._refresh_keys()

    def _selection_changed(self, *, again: bool = False) -> None:
        """Have all follow that goes by the selected row: another one, or the same of a newer answer to the query."""
        self._show_selected(again=again)
        self.show_cost()
        self.insight.begin_again()
        panel = self.aside.panel
        if panel is not None and panel in (self.aside.related_panel, self.aside.map_panel):
            self.insight.when_settled(self._ask_panel)
        self._refresh_keys()

    def _show_selected(self, *, again: bool = False) -> None:
        """Show the selected row in the preview; whoever reads elsewhere stays there if the same query is answered
        `again`, by a newer index."""
        hit = self.selected
        if again and self.reading.is_away:
            self.reading.ask()
            return
        self.reading.come_back()
        if hit is None or is_memory(hit):
            self.reading.show(window_of_memory(hit))
        else:
            self.reading.look_at(Location.of(hit), self._answered_query)

    def _show_fragment(self, fragment_id: str, spans: Sequence[Span]) -> None:
        """Show in the preview what need not be selected: a fragment, or a memory."""
        window = self.memories.window_of(fragment_id)
        if window is not None:
            self.reading.show(window)
        else:
            self.reading.look_at(Location(fragment_id, "", 0, tuple(spans)), self._answered_query)

    def _memories_found(self, found: Found) -> None:
        listed = self.result is not None
        changes = listed and bool(found.hits or self.memories.lists_any)
        self.memories.take(found, listed=listed)
        if changes:
            selected = self.selected
            self._show_rows(again=True)
            if self.selected is not selected:
                self._selection_changed()
        self.memories.ask_badges(self._listed)
        if self.pack.lacks_memories:
            self._ask_pack()

    def _showing_changed(self) -> None:
        self._show_rows(again=True)
        self.memories.ask_badges(self._listed)
        self.recall()
        self._selection_changed()

    def _show_badges(self) -> None:
        self._hits.badges = self.memories.badges

    # --- the pack -----------------------------------------------------------------------------------------------------

    def _ask_pack(self) -> None:
        self.pack.ask(self.result, self.strategy)

    def _decide(self, decided: bool) -> None:
        """Show what was decided about the pack, if anything was, and ask for the pack."""
        if decided:
            self._show_choices()
            self._ask_pack()

    def _show_choices(self) -> None:
        """Show what is marked, and how the pack is wanted."""
        bar, choices = self.query_one(PackBar), self.pack.choices
        self._hits.marked = choices.marked
        if self.is_furnished:
            self.aside.related_panel.rows.marked = choices.marked
        bar.wanted, bar.marked, bar.order = self.pack.wanted, len(choices.marks), self.pack.order

    def show_cost(self) -> None:
        """Show what is known at once of what one more fragment costs; the exact cost follows."""
        self.pack.show_cost()
        self.query_one(PackBar).cost = self.pack.cost

    def _show_pack(self) -> None:
        """Show the pack as it is now, in its bar, at the margin of the preview and in its panel."""
        packed, bar = self.pack.packed, self.query_one(PackBar)
        self._show_choices()
        bar.pack, bar.cost = packed.result if packed is not None else None, self.pack.cost
        if self.is_furnished:
            self._show_margin()
            if self.aside.pack_panel.display:
                self._show_contents()
        self._refresh_keys()

    def _show_margin(self) -> None:
        """Mark at the preview's margin what of the note is in the pack."""
        window, packed = self.reading.window, self.pack.packed
        path = window.fragment.path if window is not None else ""
        packs = packed.result.packs if packed is not None else ()
        self._preview.packed = tuple((one.line_start, one.line_end) for one in packs if one.path == path)

    def _show_contents(self) -> None:
        from excerpt.tui.widgets.pack_panel import Contents

        pack, hits = self.pack, self.result.hits if self.result is not None else ()
        ranks = {hit.fragment.id: rank for rank, hit in enumerate(hits, start=1)}
        contents = Contents(pack.packed, pack.choices.marked, ranks, pack.order) if pack.packed is not None else None
        self.aside.pack_panel.contents = contents

    def _pack_built(self) -> None:
        if self._copy_waits is not None and self._asked == self._shown:
            self._copy(to_file=self._copy_waits)
        if new := self.pack.newly_gone():
            self.notify(f"{new} marked fragment{' is' if new == 1 else 's are'} no longer in the vault.")

    @on(HitList.MarkClicked)
    def _mark_clicked(self, event: HitList.MarkClicked) -> None:
        event.stop()
        self._toggle_selected(0)

    def _toggle_selected(self, move_on: int) -> None:
        hit = self.selected
        if hit is not None:
            self._decide(self.pack.toggle(mark_of(hit)))
            self._hits.move(move_on)

    def action_mark(self) -> None:
        """Mark what is looked at: in the related notes the passage, where a link led its fragment, else the hit."""
        related, read = self.aside.related_panel, self.reading
        if related.rows.has_focus:
            self._mark_related()
        elif read.is_away and read.location is not None and read.window is not None:
            fragment = read.window.fragment
            self._decide(self.pack.toggle(Mark(fragment.id, fragment.path, read.location.spans)))
        else:
            self._toggle_selected(1)

    def action_clear_marks(self) -> None:
        self._decide(self.pack.decide(self.pack.choices.unmarked()))

    def action_undo(self) -> None:
        if not self.pack.can_undo:
            self.notify("There is nothing to take back.")
        self._decide(self.pack.undo())

    def action_order(self) -> None:
        self._decide(self.pack.decide(self.pack.choices.next_order(self.pack.query)))

    def action_scope(self) -> None:
        self._decide(self.pack.next_scope())

    def action_format(self) -> None:
        self._decide(self.pack.next_format())

    def action_budget(self, steps: int) -> None:
        self._decide(self.pack.want(budget=next_budget(self.budget, steps)))

    def action_copy_pack(self) -> None:
        """Copy the pack of what was asked last: where it is still being built, as soon as it is."""
        self._copy(to_file=False)

    def action_save_pack(self) -> None:
        self._copy(to_file=True)

    def _copy(self, *, to_file: bool) -> None:
        self._copy_waits = None if self.asked_all_answered else to_file
        if self._copy_waits is not None:
            return
        wanted = self.pack.to_copy(to_file=to_file)
        if wanted is None:
            self.notify("There is nothing to copy yet: the pack is empty.", severity="warning")
        else:
            self.post_message(wanted)

    def action_remember_pack(self) -> None:
        """Keep the pack as it would be copied; it names its sources itself."""
        if self.pack.packed is None or self.pack.is_empty:
            self.notify("There is nothing to keep yet: the pack is empty.", severity="warning")
        else:
            self.post_message(RememberRequested(None, self.pack.query, self.pack.packed.text))

    # --- the pack's panel ---------------------------------------------------------------------------------------------

    def action_panel(self) -> None:
        """Open the panel and go there; from there, close it."""
        panel = self.aside.pack_panel
        if panel.has_focus:
            self._close_panel()
            return
        self.aside.open(panel)
        self._show_contents()
        panel.focus()

    def action_drop(self) -> None:
        """Drop the pack of the selected row, or bring back what was dropped."""
        row = self.aside.pack_panel.selected
        self._decide(row is not None and self.pack.drop(row))

    def action_shift(self, places: int) -> None:
        """Move the pack of the selected row."""
        panel = self.aside.pack_panel
        self._decide(panel.selected_pack is not None and self.pack.shift(panel.cursor, places))

    def action_own_scope(self) -> None:
        """Take the next scope for the pack of the selected row alone."""
        row = self.aside.pack_panel.selected_pack
        self._decide(row is not None and self.pack.next_own_scope(row))

    def _show_row_of_pack(self) -> None:
        """Show the fragment of the panel's row in the preview, which takes the panel's place where there is one place
        for both."""
        panel, rows = self.aside.pack_panel, self._hits
        row, pack = panel.selected, panel.selected_pack
        if row is None:
            return
        wanted = (pack.entry.fragment_id,) if pack is not None else row.fragment_ids
        if not wanted or not row.line_start:
            self.notify("That text is no longer in the vault." if wanted else "It is not among the hits any more.")
            return
        spans = {mark.fragment: mark.spans for mark in self.pack.choices.marks}
        spans.update((hit.fragment.id, hit.spans) for hit in rows.hits)
        fragment_id = next((each for each in wanted if each in spans), wanted[0])
        rows.go_to(fragment_id)
        self._show_fragment(fragment_id, spans.get(fragment_id, ()))
        self._give_way()

    def _remember_passage(self) -> None:
        """Keep the passage selected in the panel, as it was grown."""
        from excerpt.model import Source

        row = self.aside.pack_panel.selected_pack
        memory = self.memories.memory_of(row.path) if row is not None else None
        if memory is not None:
            self.post_message(MemoryEditRequested(memory))
        elif row is not None:
            source = Source(row.path, row.line_start, row.line_end, row.digest, row.heading_path)
            self.post_message(RememberRequested(None, self.pack.query, row.text, source))

    # --- panels -------------------------------------------------------------------------------------------------------

    def _toggle_panel(self, panel: Vertical | RowList, rows: RowList) -> None:
        """Open a panel and go there; from there, close it."""
        if rows.has_focus:
            self._close_panel()
            return
        self.aside.open(panel)
        self._ask_panel()
        rows.focus()

    def _close_panel(self) -> None:
        self.aside.close()
        self.action_focus_query()

    def _give_way(self) -> None:
        """Close the panel for the preview where there is one place for both."""
        if not self._preview.display:
            self._close_panel()
            self._preview.focus()

    def _ask_panel(self) -> None:
        """Ask for what the open panel shows, now."""
        self.insight.stop_waiting()
        panel = self.aside.panel
        if panel is None:
            return
        if panel is self.aside.related_panel:
            if not self.insight.ask_related(self.selected, self._related_found):
                self._say_related(_NOTHING_SELECTED if self.selected is None else _MEMORY_SELECTED)
            elif self.aside.related_panel.related is None:
                self.aside.related_panel.said = _LOOKING
        elif panel is self.aside.map_panel:
            query = self.result.query if self.result is not None else self.query_text
            self.insight.ask_map(query, self._mapped)

    # --- related notes ------------------------------------------------------------------------------------------------

    def action_related(self) -> None:
        panel = self.aside.related_panel
        self._toggle_panel(panel, panel.rows)

    def _related_found(self, related: Related | None) -> None:
        if related is None:
            self._say_related(_GONE)
        else:
            self.aside.related_panel.related = related
            self._refresh_keys()

    def _say_related(self, said: Said) -> None:
        panel = self.aside.related_panel
        panel.said, panel.related = said, None
        self._refresh_keys()

    def action_whole_note(self) -> None:
        """Show what is related to the whole note, or to the fragment alone."""
        self.insight.toggle_note()
        self._ask_panel()

    def action_reason(self, by: int) -> None:
        self.aside.related_panel.step(by)
        self._refresh_keys()

    def action_show_passage(self) -> None:
        """Show the selected passage in the preview, which takes the panel's place where there is one place for both."""
        if self._show_passage():
            self._give_way()

    def _show_passage(self) -> bool:
        reason = self.aside.related_panel.reason
        if reason is None:
            return False
        if reason.fragment is None:
            self.notify(f"That is a name, not a passage. {key_sign('edit')} opens its note there.")
            return False
        self._show_fragment(reason.fragment.id, reason.spans)
        return True

    def action_follow(self) -> None:
        """Go on from the selected passage: it is in the preview, and what is related to it stands in the panel."""
        panel = self.aside.related_panel
        if panel.selected is None or panel.reason is None:
            return
        fragment = panel.reason.fragment
        if fragment is None:
            self.insight.follow(Location("", panel.selected.path, panel.selected.line))
        else:
            self.insight.follow(Location(fragment.id, fragment.path, fragment.line_start))
            self._show_passage()
        self._ask_panel()

    def action_follow_back(self) -> None:
        if not self.insight.follow_back():
            self.notify("This is where you came from.")
            return
        if not self.insight.has_followed and self.selected is not None:
            self._show_fragment(self.selected.fragment.id, self.selected.spans)
        self._ask_panel()

    def _mark_related(self) -> None:
        """Mark the passage that is looked at in the related notes."""
        panel = self.aside.related_panel
        reason = panel.reason
        if reason is None:
            return
        if reason.fragment is None:
            self.notify("That is a name, not a passage: there is nothing to mark.")
            return
        self._decide(self.pack.toggle(Mark(reason.fragment.id, reason.fragment.path, reason.spans)))
        panel.rows.move(1)

    # --- the map ------------------------------------------------------------------------------------------------------

    def action_map(self) -> None:
        self._toggle_panel(self.aside.map_panel, self.aside.map_panel)

    def _mapped(self, vault_map: VaultMap) -> None:
        self.aside.map_panel.vault_map = vault_map
        self._refresh_keys()

    def action_put_filter(self) -> None:
        """Put the filter of the selected branch into the query, or take it off where it stands there."""
        branch = self.aside.map_panel.selected
        if branch is None or not branch.filter:
            self.notify("No filter leads there." if branch is not None else "Choose a branch: this line has no filter.")
        else:
            self.insight.toggle_filter(branch.filter)

    def action_take_filter(self) -> None:
        """Take off the filter that was put last, of those that still stand in the query."""
        if not self.insight.take_filter():
            self.notify("No filter of the map is in the query.")

    # --- the preview --------------------------------------------------------------------------------------------------

    def _show_window(self) -> None:
        self._preview.walked = self.reading.is_away
        self._preview.window = self.reading.window
        self._show_margin()

    @property
    def _reads_on(self) -> bool:
        """Whether what is done is about what the preview shows: it has the focus, or a link or the way back led to
        what is not selected in the list."""
        return (self._preview.has_focus or self.reading.is_away) and self.reading.location is not None

    def on_preview_line_wanted(self, message: Preview.LineWanted) -> None:
        message.stop()
        self.reading.ask(message.line)

    def on_preview_link_clicked(self, message: Preview.LinkClicked) -> None:
        message.stop()
        self.reading.ask_link(message.to, self._link_found)

    def action_read_whole(self) -> None:
        """Show the whole note in place of what is around the fragment, and back."""
        if self.reading.location is None:
            self.notify("There is no note to show.")
        else:
            self.reading.toggle_whole(seen=True)

    def action_visited(self, by: int) -> None:
        """Go back to the fragment that was looked at before this one, or forward again."""
        if not self.reading.go_visited(by, self.selected, self._answered_query):
            self.notify("Nothing was looked at before this." if by < 0 else "Nothing was looked at after this.")

    def _link_found(self, found: LinkFound) -> None:
        if found.told:
            self.notify(found.told, markup=False)
        if found.address:
            shown = fit(visible_line(found.address), _ADDRESS)
            self.post_message(CopyRequested(found.address, f"The address {shown}", None))
        elif found.location is not None:
            self.reading.go_to(found.location, self._answered_query)

    def action_scroll_preview(self, pages: int) -> None:
        related = self.aside.related_panel
        (related.why if related.rows.has_focus else self._preview).scroll_pages(pages)

    def action_copy_lines(self) -> None:
        """Copy the lines that are picked, or the fragment that is shown."""
        window, picked = self.reading.window, self._preview.picked
        if window is None:
            self.notify("There is nothing to copy.", severity="warning")
            return
        fragment = window.fragment
        notes = ((fragment.path, fragment.id),) if memory_id_of(fragment.id) is None else ()
        if picked is None:
            self.post_message(CopyRequested(fragment.text, "Fragment", fragment.tokens, notes))
            return
        text, named = window.text(picked.first, picked.last), lines_named(picked.first, picked.last, "–").capitalize()
        self.post_message(CopyRequested(text, named, None, notes))
        self._preview.picked = None

    def action_remember_lines(self) -> None:
        """Keep the lines that are picked, or the fragment that is shown."""
        if not self._remember_read():
            self.notify("There is nothing to keep.", severity="warning")

    def _remember_read(self) -> bool:
        """Keep what is read; False where it is no note's."""
        from excerpt.model import Hit, Source
        from excerpt.text.fragments import digest_of_text
        from excerpt.tui.context_rows import heading_path_at

        window, picked = self.reading.window, self._preview.picked
        if window is None or self.reading.location is None:
            return self._preview.has_focus and self._change_memory()
        fragment, query = window.fragment, self._answered_query
        if picked is None:
            self.post_message(RememberRequested(Hit(fragment, 0.0), query))
            return True
        text = window.text(picked.first, picked.last)
        headings = heading_path_at(window.headings, picked.first)
        source = Source(fragment.path, picked.first, picked.last, digest_of_text(text), headings)
        self.post_message(RememberRequested(None, query, text, source))
        self._preview.picked = None
        return True

    # --- one fragment or memory ---------------------------------------------------------------------------------------

    @on(EditRequested)
    @on(CopyRequested)
    @on(RememberRequested)
    def _something_done(self) -> None:
        """Something is done with the hits: their query belongs to the history."""
        self._bar.note_query()

    def action_copy_fragment(self) -> None:
        if self._reads_on:
            self.action_copy_lines()
            return
        hit = self.selected
        if hit is None:
            self.notify("There is no fragment to copy.", severity="warning")
            return
        fragment = hit.fragment
        notes = ((fragment.path, fragment.id),)
        self.post_message(CopyRequested(fragment.text, "Fragment", fragment.tokens, notes))

    def action_edit(self) -> None:
        """Do what enter does in a panel, else open the note that is read or selected."""
        aside, hit, window = self.aside, self.selected, self.reading.window
        if aside.pack_panel.has_focus:
            self._show_row_of_pack()
        elif aside.related_panel.rows.has_focus:
            if (reason := aside.related_panel.reason) is not None:
                fragment_id = reason.fragment.id if reason.fragment is not None else ""
                self.post_message(EditRequested(reason.path, reason.line, fragment_id))
        elif aside.map_panel.has_focus:
            aside.map_panel.toggle()
        elif self._reads_on and window is not None:
            read, picked = window.fragment, self._preview.picked
            self.post_message(EditRequested(read.path, picked.first if picked else read.line_start, read.id))
        elif (memory := self._selected_memory) is not None:
            if memory.source is None:
                self.notify("This memory is a thought of your own; it has no source to open.")
            else:
                self.post_message(EditRequested(memory.source.path, max(memory.source.line_start, 1)))
        elif hit is not None:
            self.post_message(EditRequested(hit.fragment.path, hit.fragment.line_start, hit.fragment.id))
        elif self._meant:
            self._bar.put(self._meant)

    def action_obsidian(self) -> None:
        """Open in Obsidian the note that a link led to, or that is selected."""
        hit, window = self.selected, self.reading.window
        if self.reading.is_away and window is not None and self.reading.location is not None:
            fragment = window.fragment
        elif hit is None or is_memory(hit):
            self.notify("There is no note to open." if hit is None else "A memory is no note of the vault.")
            return
        else:
            fragment = hit.fragment
        self.post_message(ObsidianRequested(fragment.path, fragment.heading_path, fragment.id))

    def action_remember(self) -> None:
        """Keep the passage of the pack's panel, what is read, or the hit; a memory is opened in the form."""
        if self.aside.pack_panel.has_focus:
            self._remember_passage()
        elif not ((self._reads_on and self._remember_read()) or self._change_memory()):
            self.post_message(RememberRequested(self.selected, self.query_text.strip()))

    def _change_memory(self) -> bool:
        """Open the memory that is selected in the form; False if none is."""
        memory = self._selected_memory
        if memory is not None:
            self.post_message(MemoryEditRequested(memory))
        return memory is not None

    def action_memories(self) -> None:
        """Show memories among the hits, before them, or not at all."""
        self.memories.next_showing()
        showing = self.memories.showing
        off = showing is Showing.OFF
        self.notify("Memories are not shown in the search." if off else f"Memories are shown {showing}.")
        self._showing_changed()

    # --- why, and other strategies ------------------------------------------------------------------------------------

    def action_strategy(self) -> None:
        self.strategy = next_in_turn(list(Strategy), self.strategy)

    def action_why(self) -> None:
        hit = self.selected
        if hit is not None and not is_memory(hit):
            self._open_why(hit)

    def action_why_not(self) -> None:
        """Ask of a note by its name, whether or not anything is listed."""
        self._open_why(None)

    def _open_why(self, hit: Hit | None) -> None:
        from excerpt.tui.search.why_view import Why

        if self.result is not None:
            self.app.push_screen(Why(self.result, hit, self._engine.ask))

    def action_compare(self) -> None:
        from excerpt.tui.search.strategies import StrategiesScreen

        result, hit = self.result, self.selected
        if result is not None:
            fragment = hit.fragment.id if hit is not None else ""
            screen = StrategiesScreen(result.query, result.asked, fragment, self._engine.ask)
            self.app.push_screen(screen, self._strategy_chosen)

    def _strategy_chosen(self, choice: Choice | None) -> None:
        result = self.result
        if choice is None:
            return
        if result is not None and result.asked is not self.strategy:
            self.notify(f"The query itself asks for {result.asked}: take the ! off its front to choose another.")
        elif choice.strategy is self.strategy:
            self._hits.go_to(choice.fragment)
        else:
            self._to_select = choice.fragment
            self.strategy = choice.strategy

    def _select_chosen(self) -> None:
        """Select the fragment that was chosen with a strategy, once its hits are listed."""
        fragment, self._to_select = self._to_select, ""
        if fragment:
            self._hits.go_to(fragment)

    # --- the query's menu ---------------------------------------------------------------------------------------------

    def action_complete(self) -> None:
        """Take the query that may have been meant, else complete the word."""
        if self._meant:
            self._bar.put(self._meant)
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
        panel = self._panel_rows
        if self._preview.has_focus:
            self._preview.move(rows)
        else:
            (panel if panel is not None and panel.has_focus else self._hits).move(rows)

    def action_focus_query(self) -> None:
        self._bar.field.focus()

    def action_pane(self) -> None:
        every = (self._bar.field, self._hits, self._preview, self._panel_rows)
        panes = [pane for pane in every if pane is not None and pane.focusable and pane.region]
        if not panes:  # the tab has just come up, and is laid out with the next frame
            self.call_after_refresh(self.action_pane)
            return
        at = next((i for i, pane in enumerate(panes) if pane.has_focus), -1)
        panes[(at + 1) % len(panes)].focus()

    def action_back(self) -> None:
        """Close one layer at a time: what is picked, the panel, the way links led; then go to the list."""
        field, rows = self._bar.field, self._panel_rows
        if self._preview.picked is not None:
            self._preview.picked = None
        elif rows is not None and (rows.has_focus or field.has_focus):
            self._close_panel()
        elif self.reading.is_away:
            self.reading.note_visit()
            self._show_selected()
        elif self._hits.display:
            if self._bar.answered == self.query_text.strip():
                self._bar.note_query()
            self._hits.focus()
        else:
            field.focus()

    # --- which keys work ----------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave some keys to the query's menu while it is open."""
        if action in _TAKEN_BY_MENU and any(menu.is_open for menu in self.query(QueryMenu)):
            return False
        return super().check_action(action, parameters)

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str:  # noqa: ARG002 - `Reasoned`'s name
        """Return why an action cannot be done now; "" where it can."""
        told = search_disabled(action, self._state_now())
        return told or (panel_disabled(action, self._panel_state_now()) if action in OF_PANELS else "")

    def _refresh_keys(self) -> None:
        """Have the keys shown that work now, where they are others."""
        state = self._state_now(), self._panel_state_now()
        if state != self._view_state:
            self._view_state = state
            self.refresh_bindings()

    def _state_now(self) -> SearchState:
        typed = bool(self.query_text.strip())
        if not self.is_furnished:
            return SearchState(typed=typed)
        hit, packed, panel, rows = self.selected, self.pack.packed, self.aside.pack_panel, self._panel_rows
        return SearchState(
            typed=typed,
            answered=self.result is not None,
            context=self.reading.window is not None,
            row=Row.NOTHING if hit is None else Row.MEMORY if is_memory(hit) else Row.FRAGMENT,
            marked=bool(self.pack.choices.marks),
            packed=not self.asked_all_answered or not self.pack.is_empty,
            decided=self.pack.can_undo,
            in_panel=rows is not None and rows.has_focus and rows.row_count > 0,
            pack_row=panel.selected is not None,
            on_pack=panel.selected_pack is not None,
            alone=packed is not None and len(packed.result.packs) == 1,
            meant=bool(self._meant),
        )

    def _panel_state_now(self) -> PanelState:
        if not self.is_furnished:
            return PanelState()
        panel, branch = self.aside.related_panel, self.aside.map_panel.selected
        return PanelState(
            in_related=panel.rows.has_focus,
            listed=panel.reason is not None,
            on_name=panel.reason is not None and panel.reason.fragment is None,
            followed=self.insight.has_followed,
            filter=branch.filter if branch is not None else None,
            filtered=self.insight.has_filtered,
        )
