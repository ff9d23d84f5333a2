"""The Search tab: query, ranked list, context, pack. Owns what is looked for, asks the engine, shows its answers."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.reactive import var
from textual.timer import Timer
from textual.widgets import Input

from excerpt.model import Hit, Result, Scope, Strategy
from excerpt.settings import Settings
from excerpt.tui.budget import next_budget
from excerpt.tui.engine_worker import EngineWorker, PackRequest
from excerpt.tui.keys import SEARCH
from excerpt.tui.messages import (
    CopyRequested,
    EditRequested,
    Explained,
    PackBuilt,
    RememberRequested,
    SearchDone,
    Trouble,
    WindowReady,
)
from excerpt.tui.vault_state import is_unanswered, list_title, nothing_found
from excerpt.tui.widgets.hit_list import MOST_ROWS, HitList
from excerpt.tui.widgets.notice import Notice, Said
from excerpt.tui.widgets.pack_bar import PackBar
from excerpt.tui.widgets.preview import Preview
from excerpt.tui.widgets.query_bar import Answer, QueryBar, QueryStatus

_PATIENCE = 0.5
"""Seconds before waiting is said."""


class SearchPane(Vertical):
    """State: the query, the strategy, the result shown, the marks, the scope and budget of the pack."""

    BINDINGS: ClassVar[list[BindingType]] = SEARCH

    DEFAULT_CSS = """
    SearchPane {
        #body { height: 1fr; layout: vertical; }
        #found { height: 1fr; border-top: solid $border-blurred; border-title-color: $text-soft; }
        #preview { height: 1.2fr; border-top: solid $border-blurred; border-title-color: $text-soft; }
        #found:focus-within, #preview:focus { border-top: solid $accent; border-title-color: $accent; }
        #found.-unanswered {
            border-title-color: $warning;
            HitList > .hit--title { text-style: none; color: $text-soft; }
            HitList > .hit--heading, HitList > .hit--bars { color: $text-faint; }
            HitList > .row--match { color: $text-soft; background: $background 0%; text-style: none; }
        }
        #hits { height: 1fr; }
        #body.-bare > #preview { display: none; }
    }
    """

    strategy: var[Strategy] = var(Strategy.AUTO, init=False)
    scope: var[Scope] = var(Scope.NEIGHBORS, init=False)
    budget: var[int] = var(4000, init=False)
    result: var[Result | None] = var(None, init=False)
    said: var[Said] = var(Said("Type to search."), init=False)
    """What stands in the list's place while there is no query."""
    progress: var[str] = var("", init=False)
    """How far the index is while it is being built; "" when it is not."""

    def __init__(self, settings: Settings, engine: EngineWorker, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._settings = settings
        self._engine = engine
        self._asked = 0
        self._shown = 0
        self._pack_asked = 0
        self._pack_shown = 0
        self._copy_waits = False
        self._failed: Said | None = None
        self._window_asked = 0
        self._marks: dict[str, Hit] = {}
        self._patience: Timer | None = None
        self.set_reactive(SearchPane.strategy, settings.search.strategy)
        self.set_reactive(SearchPane.scope, settings.pack.scope)
        self.set_reactive(SearchPane.budget, settings.pack.budget)

    def compose(self) -> ComposeResult:
        yield QueryBar()
        with Container(id="body"):
            with Vertical(id="found"):
                yield HitList(id="hits")
                yield Notice(id="notice")
            yield Preview(id="preview")
        yield PackBar(id="pack")

    def on_mount(self) -> None:
        self._status.strategy = self.strategy
        self._show_pack_settings()
        self._show_result()

    # --- the query ----------------------------------------------------------------------------------------------------

    @property
    def query_text(self) -> str:
        return self.query_one("#query", Input).value

    @property
    def _status(self) -> QueryStatus:
        return self.query_one(QueryStatus)

    @property
    def _hits(self) -> HitList:
        return self.query_one(HitList)

    @on(Input.Changed, "#query")
    def _query_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.search()

    def search(self) -> None:
        """Ask for what the query says now; called again when there is a newer index."""
        self._asked += 1
        query = self.query_text.strip()
        if not query:
            self._engine.forget("search")
            self._shown = self._asked
            self._stop_waiting()
            self._failed = None
            self.result = None
            self._ask_pack()
            return
        self._engine.search(self._asked, query, self.strategy)
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
            return
        self._shown = message.number
        if message.number == self._asked:
            self._stop_waiting()
        self._failed = None
        self.result = message.result

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
        selected = self._hits.selected if again else None
        hits = new.hits if new is not None else ()
        self._hits.hits = hits
        if selected is not None:
            ids = [hit.fragment.id for hit in hits[:MOST_ROWS]]
            if selected.fragment.id in ids:
                self._hits.rows_changed(ids.index(selected.fragment.id))
        self._ask_window()
        self._ask_pack()

    def watch_said(self) -> None:
        self._show_result()

    def watch_progress(self) -> None:
        self._show_result()

    def _show_result(self) -> None:
        result = self.result
        notice = self.query_one("#notice", Notice)
        self._hits.display = bool(result and result.hits)
        notice.display = not self._hits.display
        self.query_one("#body").set_class(result is None, "-bare")
        self.query_one("#found").set_class(is_unanswered(result), "-unanswered")
        self._show_title(list_title(result, MOST_ROWS))
        if result is None:
            self._status.answer = None
            notice.said = self._failed or self.said
            return
        led = None if result.confidence is None else result.strategy
        self._status.answer = Answer(led, result.matched, result.elapsed_ms, result.confidence)
        if not result.hits:
            notice.said = nothing_found(result, self.progress)

    def _show_title(self, title: str) -> None:
        """Only where it is another: the whole pane is drawn for it."""
        found = self.query_one("#found")
        if found.border_title != title:
            found.border_title = title

    # --- the context --------------------------------------------------------------------------------------------------

    @on(HitList.Moved)
    def _moved(self, event: HitList.Moved) -> None:
        event.stop()
        self._ask_window()

    def _ask_window(self) -> None:
        self._window_asked += 1
        hit = self._hits.selected
        if hit is None:
            self._engine.forget("window")
            self.query_one(Preview).window = None
        else:
            self._engine.window(self._window_asked, hit)

    @on(WindowReady)
    def _window_ready(self, message: WindowReady) -> None:
        message.stop()
        if message.number == self._window_asked:
            self.query_one(Preview).window = message.window

    # --- the pack -----------------------------------------------------------------------------------------------------

    def _ask_pack(self) -> None:
        """Build the pack that would be copied now: of the marks, else of the top hits."""
        self._pack_asked += 1
        result = self.result
        hits = result.hits if result is not None else ()
        if not hits and not self._marks:
            self._engine.forget("pack")
            self._pack_shown = self._pack_asked
            self.query_one(PackBar).pack = None
            return
        request = PackRequest(
            query=result.query if result is not None else "",
            strategy=result.strategy if result is not None else self.strategy,
            hits=hits,
            marked=tuple(self._marks.values()),
            settings=replace(self._settings.pack, budget=self.budget, scope=self.scope),
        )
        self._engine.pack(self._pack_asked, request)

    @on(PackBuilt)
    def _pack_built(self, message: PackBuilt) -> None:
        message.stop()
        if message.number != self._pack_asked:
            return
        self._pack_shown = message.number
        self.query_one(PackBar).pack = message.result
        if self._copy_waits and self._asked == self._shown:
            self.action_copy_pack()
        if message.gone:
            for hit in message.gone:
                self._marks.pop(hit.fragment.id, None)
            self._show_marks()
            count = len(message.gone)
            self.notify(f"{count} marked fragment{' is' if count == 1 else 's are'} no longer in the vault.")

    @property
    def asked_all_answered(self) -> bool:
        """Whether list and pack are of what was asked last."""
        return self._asked == self._shown and self._pack_asked == self._pack_shown

    def _show_marks(self) -> None:
        self._hits.marked = frozenset(self._marks)
        self.query_one(PackBar).marked = len(self._marks)

    def _show_pack_settings(self) -> None:
        bar = self.query_one(PackBar)
        bar.scope, bar.budget = self.scope, self.budget

    def watch_strategy(self) -> None:
        self._status.strategy = self.strategy
        self.search()

    def watch_scope(self) -> None:
        self._show_pack_settings()
        self._ask_pack()

    def watch_budget(self) -> None:
        self._show_pack_settings()
        self._ask_pack()

    def index_changed(self) -> None:
        """There is a newer index: ask everything again that is on screen."""
        if self.query_text.strip():
            self.search()
        elif self._marks:
            self._ask_pack()

    # --- the keys -----------------------------------------------------------------------------------------------------

    def action_move(self, rows: int) -> None:
        if self.query_one(Preview).has_focus:
            self.query_one(Preview).scroll_relative(y=rows, animate=False)
        else:
            self._hits.move(rows)

    def _toggle_mark(self, move_on: int) -> None:
        hit = self._hits.selected
        if hit is None:
            return
        if self._marks.pop(hit.fragment.id, None) is None:
            self._marks[hit.fragment.id] = hit
        self._show_marks()
        self._hits.move(move_on)
        self._ask_pack()

    def action_mark(self) -> None:
        self._toggle_mark(1)

    @on(HitList.MarkClicked)
    def _mark_clicked(self, event: HitList.MarkClicked) -> None:
        event.stop()
        self._toggle_mark(0)

    def action_clear_marks(self) -> None:
        self._marks.clear()
        self._show_marks()
        self._ask_pack()

    def action_copy_pack(self) -> None:
        """Copy the pack of what was asked last: where it is still being built, as soon as it is."""
        self._copy_waits = not self.asked_all_answered
        if self._copy_waits:
            return
        pack = self.query_one(PackBar).pack
        if pack is None or not pack.packs:
            self.notify("There is nothing to copy yet: the pack is empty.", severity="warning")
            return
        notes = tuple((one.path, one.entry.fragment_id) for one in pack.packs)
        self.post_message(CopyRequested(pack.text, f"Pack of {len(pack.packs)}", pack.tokens, notes))

    def action_copy_fragment(self) -> None:
        hit = self._hits.selected
        if hit is None:
            self.notify("There is no fragment to copy.", severity="warning")
            return
        fragment = hit.fragment
        notes = ((fragment.path, fragment.id),)
        self.post_message(CopyRequested(fragment.text, "Fragment", fragment.tokens, notes))

    def action_edit(self) -> None:
        hit = self._hits.selected
        if hit is not None:
            self.post_message(EditRequested(hit.fragment.path, hit.fragment.line_start, hit.fragment.id))

    def action_remember(self) -> None:
        self.post_message(RememberRequested(self._hits.selected, self.query_text.strip()))

    def action_strategy(self) -> None:
        order = list(Strategy)
        self.strategy = order[(order.index(self.strategy) + 1) % len(order)]

    def action_scope(self) -> None:
        order = list(Scope)
        self.scope = order[(order.index(self.scope) + 1) % len(order)]

    def action_budget(self, steps: int) -> None:
        self.budget = next_budget(self.budget, steps)

    def action_why(self) -> None:
        from excerpt.tui.screens.why import Why

        result = self.result
        if result is not None and self._hits.selected is not None:
            self.app.push_screen(
                Why(result, self._hits.cursor, partial(self._engine.explain, result.query, result.asked))
            )

    @on(Explained)
    def _explained(self, message: Explained) -> None:
        from excerpt.tui.screens.why import Why

        message.stop()
        for screen in self.app.screen_stack:
            if isinstance(screen, Why):
                screen.hear(message)

    def action_scroll_preview(self, pages: int) -> None:
        self.query_one(Preview).scroll_pages(pages)

    def action_focus_query(self) -> None:
        self.query_one("#query", Input).focus()

    def action_pane(self) -> None:
        panes = [pane for pane in (self.query_one("#query"), self._hits, self.query_one(Preview)) if pane.display]
        at = next((i for i, pane in enumerate(panes) if pane.has_focus), -1)
        panes[(at + 1) % len(panes)].focus()

    def action_back(self) -> None:
        """One layer at a time: out of a pane into the query, then clear the query."""
        field = self.query_one("#query", Input)
        if not field.has_focus:
            field.focus()
        else:
            field.value = ""
