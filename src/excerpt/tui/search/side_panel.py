"""The panel beside the list, with four views of the selected hit: passage, why, related notes and map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.message import Message
from textual.reactive import reactive, var
from textual.strip import Strip
from textual.widget import Widget

from excerpt.base.model import Fragment, Hit, Result
from excerpt.service.engine_worker import QuestionQueue
from excerpt.service.event_loop import Failure
from excerpt.service.note_questions import Location, ResolvedLink
from excerpt.text.display import visible_line
from excerpt.text.fragments import digest_of_text
from excerpt.tui.active_keys import working_keys
from excerpt.tui.common.notice import EmptyState
from excerpt.tui.common.row_list import RowList
from excerpt.tui.common.split import Split
from excerpt.tui.common.strips import fit, line
from excerpt.tui.insight.controller import InsightController
from excerpt.tui.insight.map import MapPanel
from excerpt.tui.insight.related import RelatedPanel
from excerpt.tui.keymap import format_key
from excerpt.tui.messages import CopyRequested, EditRequested
from excerpt.tui.note.window import NoteWindow
from excerpt.tui.search.passage_controller import PassageController
from excerpt.tui.search.preview import NEAR_SIGN, PACKED_SIGN, PASSAGE_SIGN, Preview, heading_path_at
from excerpt.tui.search.why_view import WhyView

if TYPE_CHECKING:
    from excerpt.insight.results import RelatedNotes, VaultMap

_MAX_ADDRESS_CELLS = 80
"""Maximum width in cells of an address shown in a message."""

_RELATED_TO_NOTHING = EmptyState("Nothing is selected", "Related notes of the selected passage appear here.")
_RELATED_TO_MEMORY = EmptyState("A memory is selected", "Select a passage of a note to see what is related to it.")
_WHY_OF_NOTHING = EmptyState("Nothing is selected", "The reasons for the rank of the selected passage appear here.")
_WHY_OF_MEMORY = EmptyState("A memory is selected", "Memories are found separately and have no rank.")
_LOADING_RELATED = EmptyState("Looking for related notes")
_NOTE_MISSING = EmptyState("That note is no longer in the index")


_SIGN_MEANINGS = {PASSAGE_SIGN: "hit", PACKED_SIGN: "in the pack", NEAR_SIGN: "by meaning"}


class PanelView(StrEnum):
    """Name of a view of the side panel."""

    PASSAGE = "passage"
    WHY = "why"
    RELATED = "related"
    MAP = "map"


class ViewTabs(Widget):
    """One line with the names of the views, and the key that shows the next view (none while the user types).

    Between them are the signs in the margin of the passage, with what they mean, as far as there is room.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"views--shown", "views--margin", "views--packed"}

    DEFAULT_CSS = """
    ViewTabs {
        height: 1;
        color: $text-faint;
        & > .views--shown { color: $text; text-style: bold; }
        & > .views--margin { color: $accent; }
        & > .views--packed { color: $success; }
    }
    """

    view: reactive[PanelView] = reactive(PanelView.PASSAGE)
    next_view_key: reactive[str] = reactive("")
    """Label of the key that shows the next view; "" while that key is disabled."""
    signs: reactive[str] = reactive("")
    """The signs in the margin of the passage that is shown."""

    class Clicked(Message):
        """Sent when the name of a view is clicked."""

        def __init__(self, view: PanelView) -> None:
            super().__init__()
            self.view = view

    def on_mount(self) -> None:
        self.watch(self.screen, "focused", self._update_next_view_key)

    def _update_next_view_key(self) -> None:
        keys = working_keys(self.screen).get("view", ())
        self.next_view_key = format_key(keys[0]) if keys else ""

    def render_line(self, y: int) -> Strip:  # noqa: ARG002 - Textual's name
        highlight = self.get_component_rich_style("views--shown", partial=True)
        left = [(f"[{view}]", highlight) if view is self.view else (f" {view} ", Style.null()) for view in PanelView]
        key = f"{self.next_view_key} next " if self.next_view_key else ""
        room = self.size.width - sum(len(text) for text, _ in left) - len(key) - 1
        for sign in self.signs if self.view is PanelView.PASSAGE else "":
            meaning = f" {_SIGN_MEANINGS[sign]}"
            room -= len(meaning) + 3
            if room < 0:
                break
            name = "views--packed" if sign == PACKED_SIGN else "views--margin"
            left += [("  ", Style.null()), (sign, self.get_component_rich_style(name, partial=True))]
            left.append((meaning, Style.null()))
        return line(left, [(key, Style.null())] if key else [], self.size.width, self.rich_style)

    def on_click(self, event: events.Click) -> None:
        end = 0
        for view in PanelView:
            end += len(view) + 2
            if event.x < end:
                self.post_message(self.Clicked(view))
                return


class SidePanel(Vertical):
    """The side panel, which shows one of four views of the selected hit.

    Why, related notes and map are requested from the engine only while visible.
    """

    DEFAULT_CSS = """
    SidePanel {
        height: 1fr;
        & > .view {
            height: 1fr;
            border-top: solid $border-blurred;
            border-title-color: $text-soft;
            &:focus, &:focus-within { border-top: solid $accent; border-title-color: $accent; }
        }
    }
    """

    view: var[PanelView] = var(PanelView.PASSAGE, init=False)

    class ContentChanged(Message):
        """Sent when the panel shows another passage or view, to which other keys may apply."""

    def __init__(
        self,
        engine: QuestionQueue,
        split: Split,
        *,
        query: Callable[[], str],
        set_query: Callable[[str], object],
        close_pack: Callable[[], object],
        focus_list: Callable[[], object],
        row_absence_reason: Callable[[], str],
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        """Prepare the panel, to be shown in `split` beside the list.

        `query` returns the current query, `set_query` replaces it. `close_pack` closes the pack panel, `focus_list`
        focuses the list. `row_absence_reason` returns why there is no hit that keys apply to, "" if there is one.
        """
        super().__init__(id=id, classes="context")
        self._split = split
        self._close_pack = close_pack
        self._focus_list = focus_list
        self._row_absence_reason = row_absence_reason
        self._tabs = ViewTabs()
        self.passages = PassageController(
            engine, line_at_top=lambda: self.preview.line_at_top, on_change=self._show_window
        )
        self.insight = InsightController(
            engine, self.set_timer, get_query=query, set_query=set_query, on_change=self._handle_related_step
        )
        self.preview = Preview(id="preview", classes="view")
        self.related = RelatedPanel(self.insight, id="related", classes="view")
        self.map = MapPanel(self.insight, id="map", classes="view")
        self.why = WhyView(engine.ask, id="why", classes="view")
        self._engine = engine
        self._query = query
        self._hit: Hit | None = None
        self._result: Result | None = None
        self._outdated_views = set(PanelView)
        self._opener: Widget | None = None
        """The widget that had the focus when a view was opened by its key."""
        self._packed_passages: tuple[tuple[str, int, int], ...] = ()

    def compose(self) -> ComposeResult:
        yield self.preview
        yield self.why
        yield self.related
        yield self.map
        yield self._tabs

    def on_mount(self) -> None:
        self.why.border_title = "why"
        self.watch_view()

    def show_selection(
        self, hit: Hit | None, result: Result | None, memory: NoteWindow | None, *, is_repeat: bool = False
    ) -> None:
        """Show the selected hit: a fragment of `result`, a memory, or nothing.

        `memory` is the drawn text of the hit if the hit is a memory. `is_repeat` says that the same query was answered
        again: a passage reached by a link then stays.
        """
        self._hit, self._result = hit, result
        if is_repeat and self.passages.is_linked_passage:
            self.passages.ask_window()
        elif hit is None or memory is not None:
            self.passages.show_memory(memory)
        else:
            self.passages.show_fragment(Location.from_hit(hit), self._answered_query)
        self.insight.clear_trail()
        self._mark_views_outdated()

    def show_location(self, location: Location) -> None:
        """Show a fragment in the passage view, whether or not the list has that fragment selected."""
        self.view = PanelView.PASSAGE
        self.passages.show_fragment(location, self._answered_query)

    def show_memory(self, window: NoteWindow) -> None:
        """Show a drawn memory in the passage view, whether or not the list has that memory selected."""
        self.view = PanelView.PASSAGE
        self.passages.show_memory(window)

    def mark_packed_passages(self, passages: tuple[tuple[str, int, int], ...]) -> None:
        """Mark lines that are in the pack in the preview's margin; `passages` are (path, first line, last line)."""
        self._packed_passages = passages
        window = self.passages.window
        path = window.fragment.path if window is not None else ""
        self.preview.packed_line_ranges = tuple(
            (first, last) for path_packed, first, last in passages if path_packed == path
        )
        self._tabs.signs = self.preview.signs

    @property
    def is_answered(self) -> bool:
        """Whether no request for the content of a view is pending."""
        return self.insight.is_answered and not self._engine.is_waiting("explain")

    @property
    def _answered_query(self) -> str:
        return self._result.query if self._result is not None else ""

    @property
    def _current_view(self) -> Widget:
        return (self.preview, self.why, self.related, self.map)[list(PanelView).index(self.view)]

    @property
    def focus_target(self) -> Widget:
        """The widget that takes the focus in the current view."""
        return self.related.rows if self.view is PanelView.RELATED else self._current_view

    def watch_view(self) -> None:
        had_focus = self.has_focus_within
        for widget in (self.preview, self.why, self.related, self.map):
            widget.display = widget is self._current_view
        self._tabs.view = self.view
        if had_focus:
            self.screen.set_focus(self.focus_target)
        self._request_current_view()
        self.post_message(self.ContentChanged())

    @on(RowList.Moved)
    def _refresh_keys_after_move(self) -> None:
        self.refresh_bindings()

    @on(ViewTabs.Clicked)
    def _show_clicked_view(self, event: ViewTabs.Clicked) -> None:
        event.stop()
        self.view = event.view

    def on_show(self) -> None:
        self._request_current_view()

    def _mark_views_outdated(self) -> None:
        """Mark all views but the passage as outdated, and request the visible one after a pause in changes."""
        self._outdated_views = {PanelView.WHY, PanelView.RELATED, PanelView.MAP}
        if self.view in self._outdated_views and self.display:
            self.insight.schedule_request(self._request_current_view)

    def _request_current_view(self) -> None:
        """Request the content of the current view, unless the view is up to date."""
        self.insight.cancel_scheduled_request()
        if self.view not in self._outdated_views:
            return
        self._outdated_views.discard(self.view)
        if self.view is PanelView.WHY:
            self._request_explanation()
        elif self.view is PanelView.MAP:
            query = self._result.query if self._result is not None else self._query()
            self.insight.ask_map(query, self._map_loaded, self._map_failed)
        elif self.view is PanelView.RELATED:
            if not self.insight.ask_related(self._hit, self._related_loaded, self._related_failed):
                self.related.show_message(_RELATED_TO_NOTHING if self._hit is None else _RELATED_TO_MEMORY)
            elif self.related.related is None:
                self.related.show_message(_LOADING_RELATED)

    def _related_loaded(self, related: RelatedNotes | None) -> None:
        if related is None:
            self.related.show_message(_NOTE_MISSING)
        else:
            self.related.related = related

    def _map_loaded(self, vault_map: VaultMap) -> None:
        self.map.vault_map = vault_map

    def _related_failed(self, failure: Failure) -> None:
        self.related.show_message(EmptyState.of_failure(failure))

    def _map_failed(self, failure: Failure) -> None:
        self.map.message = failure.message
        self.map.vault_map = None

    def _request_explanation(self) -> None:
        hit, result = self._hit, self._result
        if hit is not None and result is not None and hit in result.hits:
            self.why.explain(result, hit)
        else:
            self.why.show_text(_WHY_OF_MEMORY if hit is not None else _WHY_OF_NOTHING)

    def _handle_related_step(self) -> None:
        """Show the fragment to which the user has moved among the related notes, and request its related notes."""
        location = self.insight.trail_end
        if location is not None:
            self.passages.go_to(location)
        elif self.passages.is_linked_passage and self._hit is not None:
            self.passages.show_fragment(Location.from_hit(self._hit), self._answered_query)
        self._outdated_views.add(PanelView.RELATED)
        self._request_current_view()

    @property
    def passage(self) -> Hit | None:
        """The passage that keys apply to while the side panel has the focus, as a hit; None if there is none."""
        if self.view is PanelView.RELATED:
            reason = self.related.reason
            return Hit(reason.fragment, 0.0, spans=reason.spans) if reason and reason.fragment else None
        location, window = self.passages.location, self.passages.window
        if self.view is PanelView.PASSAGE and location is not None and window is not None:
            return Hit(window.fragment, 0.0, spans=location.spans)
        return self._hit

    def pop_picked_lines(self) -> Fragment | None:
        """Return the picked lines as a fragment without an id, and unpick them; None if no lines are picked."""
        window, picked_lines = self.passages.window, self.preview.picked_lines
        if self.view is not PanelView.PASSAGE or window is None or picked_lines is None:
            return None
        self.preview.picked_lines = None
        text = window.text(picked_lines.first, picked_lines.last)
        return replace(
            window.fragment,
            id="",
            heading_path=heading_path_at(window.headings, picked_lines.first),
            line_start=picked_lines.first,
            line_end=picked_lines.last,
            text=text,
            digest=digest_of_text(text),
        )

    def handle_enter(self) -> bool:
        """Handle the enter key in the current view; return False if the caller should open the passage in the editor.

        Enter follows the link under the cursor, folds or unfolds a branch of the map, or opens a related note that has
        no passage.
        """
        if self.view is PanelView.MAP:
            self.map.toggle_branch()
            return True
        if self.view is PanelView.RELATED and (reason := self.related.reason) is not None and reason.fragment is None:
            self.post_message(EditRequested(reason.path, reason.line))
            return True
        return self.view is PanelView.PASSAGE and self.preview.follow_cursor_link()

    def stop_picking(self) -> bool:
        """Unpick the picked lines; return False if no lines are picked."""
        had_picked_lines = self.preview.picked_lines is not None
        self.preview.picked_lines = None
        return had_picked_lines

    def move(self, rows: int) -> None:
        """Move the cursor of the current view down by `rows`, up if negative; scroll a view without a cursor."""
        widget = self.focus_target
        if isinstance(widget, RowList | Preview):
            widget.move(rows)
        else:
            widget.scroll_relative(y=rows, animate=False)

    @property
    def key_state(self) -> tuple[bool, str]:
        """The state by which actions of the panel are enabled: whether it is visible, and why it may have no hit."""
        return self.display, self._row_absence_reason()

    def disabled_reason(self, action: str, parameters: tuple[object, ...]) -> str:
        """Return why an action of the panel is disabled, as a sentence; "" if the action is enabled."""
        return self._row_absence_reason() if action == "show_view" and parameters == ("why",) else ""

    def action_show_view(self, view: str) -> None:
        """Show a view by its name, such as "why"; at the second call, show the passage instead.

        If the panel replaces the list, the second call shows the list. Related notes and the map get the focus, because
        the user selects something in them; the second call returns the focus to where it was.
        """
        is_shown, had_focus = self.display and self.view == view, self.has_focus_within
        if not had_focus:
            self._opener = self.screen.focused
        if is_shown and self.replaces_list:
            self.return_to_list()
            self._return_focus()
            return
        self.view = PanelView.PASSAGE if is_shown else PanelView(view)
        self._split.context = True
        if not self.display:
            self._close_pack()
            self._split.prefers_context = True
        if self.view in (PanelView.RELATED, PanelView.MAP):
            self.screen.set_focus(self.focus_target)
        elif is_shown and had_focus:
            self._return_focus()

    def _return_focus(self) -> None:
        """Focus the widget that had the focus when the view was opened, if it can be focused."""
        if self._opener in self.screen.focus_chain:
            self.screen.set_focus(self._opener)

    def action_next_view(self) -> None:
        """Show the next view; after the map, the passage. A hidden panel is shown, replacing the list if necessary."""
        if self.display:
            views = list(PanelView)
            self.view = views[(views.index(self.view) + 1) % len(views)]
        else:
            self._close_pack()
            self.show_and_focus()

    def action_enter_side(self) -> None:
        """Focus the panel; in the passage view, also put the cursor on the next link."""
        self.show_and_focus()
        if self.view is PanelView.PASSAGE:
            self.preview.action_next_link()

    def scroll_pages(self, pages: int) -> None:
        """Scroll the current view down by `pages`, up if negative; in the map, move the cursor instead.

        A page is the height of the view less one line, which stays visible.
        """
        widget = self.related.why if self.view is PanelView.RELATED else self._current_view
        step = pages * max(1, widget.scrollable_content_region.height - 1)
        if widget is self.map:
            self.map.move(step)
        else:
            widget.scroll_relative(y=step, animate=False)

    def show_and_focus(self) -> None:
        """Show and focus the panel."""
        self._split.prefers_context = True
        self.screen.set_focus(self.focus_target)

    @property
    def replaces_list(self) -> bool:
        """Whether the panel is shown in place of the list."""
        return self._split.arrangement.has_context and not self._split.arrangement.list_cells

    def return_to_list(self) -> None:
        """Focus the list, after showing it again if the panel replaces it."""
        self._split.prefers_context = False
        self._focus_list()

    def _show_window(self) -> None:
        self.preview.is_linked_passage = self.passages.is_linked_passage
        self.preview.window = self.passages.window
        self.mark_packed_passages(self._packed_passages)
        self.post_message(self.ContentChanged())

    @on(Preview.LineRequested)
    def _show_requested_line(self, message: Preview.LineRequested) -> None:
        message.stop()
        self.passages.ask_window(message.line)

    @on(Preview.WholeNoteRequested)
    def _toggle_whole_note(self, message: Preview.WholeNoteRequested) -> None:
        message.stop()
        self.passages.toggle_whole()

    @on(Preview.LinkFollowed)
    def _request_link_target(self, message: Preview.LinkFollowed) -> None:
        message.stop()
        self.passages.ask_link_target(message.link, self._handle_link_target)

    def _handle_link_target(self, target: ResolvedLink) -> None:
        if target.message:
            self.notify(target.message, markup=False)
        if target.address:
            address = fit(visible_line(target.address), _MAX_ADDRESS_CELLS)
            self.post_message(CopyRequested(target.address, f"The address {address}", None))
        elif target.location is not None:
            self.passages.go_to(target.location)

    @on(Preview.ReturnRequested)
    def _go_back(self, message: Preview.ReturnRequested) -> None:
        message.stop()
        self.passages.go_back()
