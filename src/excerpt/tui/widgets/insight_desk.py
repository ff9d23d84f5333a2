"""The part of the Search tab that shows what is related to the selected fragment, and where in the vault the matches
are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on
from textual.timer import Timer
from textual.widgets import Input

from excerpt.pack.marks_file import Mark
from excerpt.settings import Settings
from excerpt.tui.engine_worker import EngineWorker
from excerpt.tui.insight_messages import Mapped, Narrowed, RelatedFound
from excerpt.tui.keymap import key_sign
from excerpt.tui.map_rows import stands_in, without
from excerpt.tui.memory_rows import is_memory
from excerpt.tui.messages import EditRequested, Trouble
from excerpt.tui.reasons import PanelScene
from excerpt.tui.widgets.notice import Said
from excerpt.tui.widgets.pack_panel_desk import PackPanelDesk
from excerpt.tui.widgets.row_list import RowList

if TYPE_CHECKING:
    from excerpt.model import Fragment
    from excerpt.tui.widgets.map_panel import MapPanel
    from excerpt.tui.widgets.related_panel import RelatedPanel

_SETTLED = 0.15
"""Seconds a selection or a query stands before a panel follows it: whoever moves or types on needs none."""

_NOTHING_SELECTED = Said("Nothing is selected", "What is related to the selected fragment stands here.")
_MEMORY_SELECTED = Said("A memory is selected", "Select a fragment of a note to see what is related to it.")
_LOOKING = Said("Looking for related notes")
_GONE = Said("That note is not in the index any more")


@dataclass(frozen=True, slots=True)
class Subject:
    """What related notes are asked for: a note, or the fragment of it that holds `line`."""

    path: str
    line: int

    @staticmethod
    def of(fragment: Fragment) -> Subject:
        return Subject(fragment.path, fragment.line_start)


class InsightDesk(PackPanelDesk):
    """State: what related notes are asked of, the way that was followed from there, filters put by the map."""

    is_furnished = False
    """Whether the context and the panels are there, which come after the first frame."""

    def __init__(self, settings: Settings, engine: EngineWorker, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(settings, engine, id=id)
        self._followed: list[Subject] = []
        self._of_note = False
        self._put: list[str] = []
        self._insights_asked = 0
        self._insights_shown = 0
        self._waiting: Timer | None = None

    @property
    def insights_known(self) -> bool:
        """Whether the panel that is open shows what was asked last."""
        return self._waiting is None and self._insights_asked == self._insights_shown

    def scene_changed(self) -> None:
        """Other keys may work now."""
        raise NotImplementedError

    # --- what the panels share ----------------------------------------------------------------------------------------

    @property
    def panel_rows(self) -> RowList | None:
        """The rows of the panel that is open."""
        if self.aside.panel is None:
            return None
        related = self.aside.related_panel
        rows = related.rows if self.aside.panel is related else self.aside.panel
        return rows if isinstance(rows, RowList) else None

    @property
    def panel_has_focus(self) -> bool:
        return self.panel_rows is not None and self.panel_rows.has_focus

    def follow_selection(self) -> None:
        """Another fragment is selected, or another result shown: an open panel follows when that has settled."""
        self._followed.clear()
        panel = self.aside.panel
        if panel is not None and panel in (self.aside.related_panel, self.aside.map_panel):
            self._ask_soon()

    def ask_insights(self) -> None:
        """Ask for what the open panel shows, now."""
        self._stop_waiting_for_panel()
        aside = self.aside
        if aside.panel is None:
            return
        if aside.panel is aside.related_panel:
            self._ask_related(aside.related_panel)
        elif aside.panel is aside.map_panel:
            from excerpt.tui.insights import AskMap

            self._insights_asked += 1
            query = self.result.query if self.result is not None else self.query_one("#query", Input).value
            self._engine.ask_insight(AskMap(self._insights_asked, query))

    def _ask_soon(self) -> None:
        self._stop_waiting_for_panel()
        self._waiting = self.set_timer(_SETTLED, self.ask_insights)

    def _stop_waiting_for_panel(self) -> None:
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None

    @on(Trouble)
    def _insight_failed(self, message: Trouble) -> None:
        """Say so in the panel; the message goes on to the screen."""
        if message.asked in ("related", "map"):
            self._insights_shown = self._insights_asked
        if message.asked == "related":
            self._show_related(Said(message.title, message.message, message.hint, serious=True))
        elif message.asked == "map":
            self.aside.map_panel.said = message.message
            self.aside.map_panel.vault_map = None

    def _open(self, panel: RelatedPanel | MapPanel, has_focus: bool, focus: Callable[[], object]) -> None:
        """Open the panel and go there; from there, close it."""
        if has_focus:
            self.close_panel()
            return
        self.aside.open(panel)
        self.ask_insights()
        focus()

    def edit_in_panel(self) -> bool:
        """What enter does in a panel; False where none of these two has the focus."""
        related = self.aside.related_panel
        if related.rows.has_focus:
            if (reason := related.reason) is not None:
                fragment = reason.fragment.id if reason.fragment is not None else ""
                self.post_message(EditRequested(reason.path, reason.line, fragment))
            return True
        if self.aside.map_panel.has_focus:
            self.aside.map_panel.toggle()
            return True
        return False

    # --- related notes ------------------------------------------------------------------------------------------------

    def action_related(self) -> None:
        panel = self.aside.related_panel
        self._open(panel, panel.rows.has_focus, panel.rows.focus)

    @property
    def _subject(self) -> Subject | None:
        if self._followed:
            return self._followed[-1]
        hit = self.selected
        return Subject.of(hit.fragment) if hit is not None and not is_memory(hit) else None

    def _ask_related(self, panel: RelatedPanel) -> None:
        subject = self._subject
        self._insights_asked += 1
        if subject is None:
            self._engine.forget("related")
            self._insights_shown = self._insights_asked
            self._show_related(_NOTHING_SELECTED if self.selected is None else _MEMORY_SELECTED)
            return
        if panel.related is None:
            panel.said = _LOOKING
        from excerpt.tui.insights import AskRelated

        line = None if self._of_note else subject.line
        self._engine.ask_insight(AskRelated(self._insights_asked, subject.path, line))

    @on(RelatedFound)
    def _related_found(self, message: RelatedFound) -> None:
        message.stop()
        if message.number == self._insights_asked:
            self._insights_shown = message.number
            panel = self.aside.related_panel
            panel.rows.marked = self.choices.marked
            if message.related is None:
                self._show_related(_GONE)
            else:
                panel.related = message.related
                self.scene_changed()

    def _show_related(self, said: Said) -> None:
        panel = self.aside.related_panel
        panel.said = said
        panel.related = None
        self.scene_changed()

    def action_whole_note(self) -> None:
        """Related to the whole note, or to the fragment alone."""
        self._of_note = not self._of_note
        self.ask_insights()

    @property
    def panel_scene(self) -> PanelScene:
        """What the panels' actions act on."""
        if not self.is_furnished:
            return PanelScene()
        panel, branch = self.aside.related_panel, self.aside.map_panel.selected
        typed = self.query_one("#query", Input).value
        return PanelScene(
            in_related=panel.rows.has_focus,
            listed=panel.reason is not None,
            on_name=panel.reason is not None and panel.reason.fragment is None,
            followed=bool(self._followed),
            filter=branch.filter if branch is not None else None,
            filtered=any(stands_in(typed, condition) for condition in self._put),
        )

    def action_reason(self, by: int) -> None:
        self.aside.related_panel.step(by)
        self.scene_changed()

    def action_show_passage(self) -> None:
        """Show the selected passage in the context, which takes the panel's place where there is one place for both."""
        if self._show_passage():
            preview = self.aside.preview
            if not preview.display:
                self.close_panel()
                preview.focus()

    def _show_passage(self) -> bool:
        reason = self.aside.related_panel.reason
        if reason is None:
            return False
        if reason.fragment is None:
            self.notify(f"That is a name, not a passage. {key_sign('edit')} opens its note there.")
            return False
        self.show_fragment(reason.fragment.id, reason.spans)
        return True

    def action_follow(self) -> None:
        """The selected passage is the context from now on, and what is related to it stands in the panel."""
        panel = self.aside.related_panel
        if panel.selected is None or panel.reason is None:
            return
        if panel.reason.fragment is None:
            self._followed.append(Subject(panel.selected.path, panel.selected.line))
        else:
            self._followed.append(Subject.of(panel.reason.fragment))
            self._show_passage()
        self.ask_insights()

    def action_follow_back(self) -> None:
        if not self._followed:
            self.notify("This is where you came from.")
            return
        self._followed.pop()
        if not self._followed and self.selected is not None:
            self.show_fragment(self.selected.fragment.id, self.selected.spans)
        self.ask_insights()

    def action_mark(self) -> None:
        """In the related notes, mark the passage that is looked at."""
        panel = self.aside.related_panel
        if not panel.rows.has_focus:
            super().action_mark()
        elif panel.reason is not None and panel.reason.fragment is None:
            self.notify("That is a name, not a passage: there is nothing to mark.")
        elif panel.reason is not None and panel.reason.fragment is not None:
            fragment = panel.reason.fragment
            self.decide(self.choices.toggling(Mark(fragment.id, fragment.path, panel.reason.spans)))
            panel.rows.marked = self.choices.marked
            panel.rows.move(1)

    # --- the map ------------------------------------------------------------------------------------------------------

    def action_map(self) -> None:
        panel = self.aside.map_panel
        self._open(panel, panel.has_focus, panel.focus)

    @on(Mapped)
    def _mapped(self, message: Mapped) -> None:
        message.stop()
        if message.number == self._insights_asked:
            self._insights_shown = message.number
            self.aside.map_panel.vault_map = message.vault_map
            self.scene_changed()

    def action_put_filter(self) -> None:
        """Put the filter of the selected branch into the query, or take it off where it stands there."""
        branch, field = self.aside.map_panel.selected, self.query_one("#query", Input)
        if branch is None or not branch.filter:
            self.notify("No filter leads there." if branch is not None else "Choose a branch: this line has no filter.")
        elif stands_in(field.value, branch.filter):
            self._type(without(field.value, branch.filter))
        else:
            from excerpt.tui.insights import AskNarrowed

            self._engine.ask_insight(AskNarrowed(field.value, branch.filter))

    @on(Narrowed)
    def _narrowed(self, message: Narrowed) -> None:
        """Unless the query has become another."""
        message.stop()
        if message.query == self.query_one("#query", Input).value:
            self._put.append(message.filter)
            self._type(message.narrowed)

    def action_take_filter(self) -> None:
        """Take off the filter that was put last, of those that still stand in the query."""
        field = self.query_one("#query", Input)
        while self._put:
            condition = self._put.pop()
            if stands_in(field.value, condition):
                self._type(without(field.value, condition))
                return
        self.notify("No filter of the map is in the query.")

    def _type(self, query: str) -> None:
        field = self.query_one("#query", Input)
        field.value = query
        field.cursor_position = len(query)
