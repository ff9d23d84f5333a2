"""The Search tab: query, ranked list, context. Owns what is looked for, asks the engine, shows its answers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.reactive import var
from textual.timer import Timer
from textual.widgets import Input

from excerpt.kinds import Strategy
from excerpt.settings import Settings
from excerpt.tui.bindings import bindings
from excerpt.tui.engine_worker import EngineWorker
from excerpt.tui.memory_rows import is_memory
from excerpt.tui.messages import (
    AllMarked,
    CopyRequested,
    EditRequested,
    ObsidianRequested,
    PanesChanged,
    RememberRequested,
    SearchDone,
    Trouble,
)
from excerpt.tui.panes import CONTEXT, Panes, beginning
from excerpt.tui.reasons import OF_PANELS, PanelScene, SearchScene, in_panel, in_search
from excerpt.tui.turn import next_in_turn
from excerpt.tui.vault_state import is_unanswered, list_title, nothing_found
from excerpt.tui.widgets.aside import Aside
from excerpt.tui.widgets.hit_list import MOST_ROWS, HitList
from excerpt.tui.widgets.insight_desk import InsightDesk
from excerpt.tui.widgets.notice import Notice, Said
from excerpt.tui.widgets.pack_bar import PackBar
from excerpt.tui.widgets.query_bar import Answer, QueryBar, QueryStatus
from excerpt.tui.widgets.query_desk import QueryDesk
from excerpt.tui.widgets.reading_desk import ReadingDesk
from excerpt.tui.widgets.row_list import RowList
from excerpt.tui.widgets.search_scene import scene_of
from excerpt.tui.widgets.split import Split
from excerpt.tui.widgets.why_desk import WhyDesk

if TYPE_CHECKING:
    from excerpt.model import Result

_PATIENCE = 0.5
"""Seconds before waiting is said."""


class SearchPane(InsightDesk, WhyDesk, ReadingDesk, QueryDesk):
    """State: the query, the strategy, the result shown. What becomes a pack of it is the `PackDesk`'s, what is near
    and where it is the `InsightDesk`'s."""

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
            HitList > .hit--heading, HitList > .hit--bars { color: $text-faint; }
            HitList > .row--match { color: $text-soft; background: $background 0%; text-style: none; }
        }
        #hits { height: 1fr; }
        #body.-no-panel .panel { display: none; }
        #body.-beside #related { height: 2fr; }
    }
    """

    said: var[Said] = var(Said("Type to search."), init=False)
    """What stands in the list's place while there is no query."""
    panes: var[Panes] = var(Panes(), init=False)
    """How the panes stand, here and in other tabs."""
    progress: var[str] = var("", init=False)
    """How far the index is while it is being built; "" when it is not."""

    def __init__(self, settings: Settings, engine: EngineWorker, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(settings, engine, id=id)
        self.set_reactive(SearchPane.panes, beginning(None, settings.screen))
        self._asked = 0
        self._shown = 0
        self._failed: Said | None = None
        self._scene = SearchScene(), PanelScene()
        self._patience: Timer | None = None

    def compose(self) -> ComposeResult:
        yield QueryBar()
        with Split(id="body"):
            with Vertical(id="found"):
                yield HitList(id="hits")
                yield Notice(id="notice")
            yield Aside(id="aside")
        yield PackBar(id="pack")

    async def furnish(self) -> None:
        """After the first frame, which shows neither: the context and the panels."""
        await self.aside.furnish()
        self.query_one(Split).show_context()
        self.is_furnished = True
        self.search()

    def on_mount(self) -> None:
        self._status.strategy = self.strategy
        self.show_wanted()
        self.watch_panes()
        self._show_result()

    def use_settings(self, settings: Settings) -> None:
        before, now = self._settings.screen, settings.screen
        super().use_settings(settings)
        if before.context is not now.context:
            self.panes = replace(self.panes, placing=now.context)
        if before.density is not now.density:
            self.panes = replace(self.panes, density=now.density)

    def watch_panes(self) -> None:
        self.post_message(PanesChanged(self.panes))

    # --- the query ----------------------------------------------------------------------------------------------------

    @property
    def _status(self) -> QueryStatus:
        return self.query_one(QueryStatus)

    @property
    def _hits(self) -> HitList:
        return self.query_one(HitList)

    @on(Input.Changed, "#query")
    def _query_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.follow_query(event.value)
        self.search()

    def search(self) -> None:
        """Ask for what the query says now; called again when there is a newer index."""
        if not self.is_furnished:
            return
        self._asked += 1
        query = self.query_text.strip()
        if not query:
            self._engine.forget("search")
            self._shown = self._asked
            self._stop_waiting()
            self._failed = None
            self.result = None
            self.ask_pack()
            return
        in_sight = self.size.height // self._hits.row_height
        self._engine.search(self._asked, query, self.strategy, in_sight)
        if self._patience is None:
            self._patience = self.set_timer(_PATIENCE, self._say_busy)

    def _say_busy(self) -> None:
        self._status.busy = "searching…"

    def _stop_waiting(self) -> None:
        if self._patience is not None:
            self._patience.stop()
            self._patience = None
        self._status.busy = ""

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

    @on(AllMarked)
    def _all_marked(self, message: AllMarked) -> None:
        """Nothing in sight is drawn anew. A passage too long for the pack is cut to what is marked in it."""
        message.stop()
        if message.number == self._shown:
            self.set_reactive(SearchPane.result, message.result)
            self.show_rows(again=True)
            self.ask_pack()

    @on(Trouble)
    def _search_failed(self, message: Trouble) -> None:
        """Say so where the hits would stand; the message goes on to the screen."""
        if message.asked == "search":
            self._stop_waiting()
            self._shown = self._asked
            self._failed = Said(message.title, message.message, message.hint, serious=True)
            self.result = None
            self._show_result()

    def watch_result(self, old: Result | None, new: Result | None) -> None:
        self._show_result()
        again = old is not None and new is not None and old.query == new.query
        same = old is not None and new is not None and (old.query, old.asked) == (new.query, new.asked)
        self._hits.rank(new.hits if new is not None else None, again=same)
        self.show_rows(again=again)
        self.select_chosen()
        self.recall()
        self.show_selected(again=again)
        self.show_cost()
        self.ask_pack()
        self.follow_selection()
        self.scene_changed()

    def watch_said(self) -> None:
        self._show_result()

    def watch_progress(self) -> None:
        self._show_result()

    def _show_result(self) -> None:
        result = self.result
        notice = self.query_one("#notice", Notice)
        self._hits.display = bool(result and result.hits)
        notice.display = not self._hits.display
        split = self.query_one(Split)
        split.context, split.filled = result is not None, self._hits.display
        self.query_one("#found").set_class(is_unanswered(result), "-unanswered")
        self._show_title(list_title(result, MOST_ROWS))
        if result is None:
            self._status.answer = None
            notice.said = self._failed or self.said
            return
        led = None if result.confidence is None else result.strategy
        self._status.answer = Answer(led, max(result.matched, len(result.hits)), result.elapsed_ms, result.confidence)
        if not result.hits:
            notice.said = nothing_found(result, self.progress)

    def _show_title(self, title: str) -> None:
        """Only where it is another: the whole pane is drawn for it."""
        found = self.query_one("#found")
        if found.border_title != title:
            found.border_title = title

    # --- the context --------------------------------------------------------------------------------------------------

    @on(RowList.Moved)
    def _moved(self, event: RowList.Moved) -> None:
        if event.control is self._hits:
            event.stop()
            self.selection_changed()
        else:
            self.scene_changed()

    def selection_changed(self) -> None:
        self.show_selected()
        self.show_cost()
        self.follow_selection()
        self.scene_changed()

    def bring_up_context(self) -> None:
        self.panes = replace(self.panes, zoomed=CONTEXT)
        self.query_one("#preview").focus()

    @property
    def answered(self) -> bool:
        return self._asked == self._shown

    def watch_strategy(self) -> None:
        self._status.strategy = self.strategy
        self.search()

    def index_changed(self) -> None:
        """There is a newer index: ask everything again that is on screen."""
        if self.query_text.strip():
            self.read_query()
            self.search()
        elif self.choices.marks:
            self.ask_pack()

    # --- the keys -----------------------------------------------------------------------------------------------------

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str:  # noqa: ARG002 - `Reasoned`'s name
        told = in_search(action, scene_of(self))
        return told or (in_panel(action, self.panel_scene) if action in OF_PANELS else "")

    def scene_changed(self) -> None:
        """Other keys may work now."""
        scene = scene_of(self), self.panel_scene
        if scene != self._scene:
            self._scene = scene
            self.refresh_bindings()

    def watch_packed(self) -> None:
        super().watch_packed()
        self.scene_changed()

    def action_move(self, rows: int) -> None:
        if self.move_in_history(rows):
            return
        if self.aside.preview.has_focus:
            self.aside.preview.move(rows)
        else:
            panel = self.panel_rows
            (panel if panel is not None and panel.has_focus else self._hits).move(rows)

    def action_copy_fragment(self) -> None:
        if self.reads_on:
            self.action_copy_lines()
            return
        hit = self._hits.selected
        if hit is None:
            self.notify("There is no fragment to copy.", severity="warning")
            return
        fragment = hit.fragment
        notes = ((fragment.path, fragment.id),)
        self.post_message(CopyRequested(fragment.text, "Fragment", fragment.tokens, notes))

    def action_edit(self) -> None:
        if self.aside.pack_panel.has_focus:
            self.jump()
            return
        hit = self._hits.selected
        if not (self.edit_in_panel() or self.edit_read() or self.edit_memory()) and hit is not None:
            self.post_message(EditRequested(hit.fragment.path, hit.fragment.line_start, hit.fragment.id))

    def action_obsidian(self) -> None:
        if self.obsidian_read():
            return
        hit = self._hits.selected
        if hit is None or is_memory(hit):
            self.notify("There is no note to open." if hit is None else "A memory is no note of the vault.")
            return
        fragment = hit.fragment
        self.post_message(ObsidianRequested(fragment.path, fragment.heading_path, fragment.id))

    def action_remember(self) -> None:
        if not (self.remember_passage() or (self.reads_on and self.remember_read()) or self.change_memory()):
            self.post_message(RememberRequested(self._hits.selected, self.query_text.strip()))

    def action_strategy(self) -> None:
        self.strategy = next_in_turn(list(Strategy), self.strategy)

    def action_scroll_preview(self, pages: int) -> None:
        related, preview = self.aside.related_panel, self.aside.preview
        (related.why if related.rows.has_focus else preview).scroll_pages(pages)

    def focus_query(self) -> None:
        self.query_one("#query", Input).focus()

    def action_focus_query(self) -> None:
        self.focus_query()

    def action_pane(self) -> None:
        every = (self.query_one("#query"), self._hits, self.aside.preview, self.panel_rows)
        panes = [pane for pane in every if pane is not None and pane.focusable and pane.region]
        at = next((i for i, pane in enumerate(panes) if pane.has_focus), -1)
        panes[(at + 1) % len(panes)].focus()

    def action_back(self) -> None:
        """One layer at a time: leave the zoom, close the panel or leave another pane, come back from where links led,
        then clear the query."""
        field = self.query_one("#query", Input)
        if self.stop_picking():
            return
        if self.query_one(Split).leave_zoom(typing=field.has_focus):
            return
        if self.panel_has_focus or (field.has_focus and self.panel_rows is not None):
            self.close_panel()
        elif not field.has_focus:
            field.focus()
        elif not self.end_walk():
            self.note_query_that_stood()
            field.value = ""
