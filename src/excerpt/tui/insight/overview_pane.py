"""The Overview tab: what the vault holds about a topic. Each line belongs to a passage, which can be shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.reactive import reactive, var
from textual.widget import Widget
from textual.widgets import Input, Static

from excerpt.base.model import Fragment, Hit
from excerpt.insight.overview_parts import Overview, SourceLocation
from excerpt.service.engine_worker import EngineWorker
from excerpt.service.event_loop import Failure
from excerpt.service.note_questions import AskPassage
from excerpt.service.questions import AskFilteredQuery, AskMarkdown, AskOverview
from excerpt.text.display import format_count
from excerpt.tui.active_keys import bindings
from excerpt.tui.common.debouncer import Debouncer
from excerpt.tui.common.notice import EmptyState, Notice
from excerpt.tui.common.row_list import RowList
from excerpt.tui.common.split import Split
from excerpt.tui.insight.overview_list import OverviewList, build_search, format_headline
from excerpt.tui.keymap import key_sign
from excerpt.tui.messages import CopyRequested, EditRequested, RememberRequested, SearchRequested
from excerpt.tui.note.window import NoteWindow, draw_note
from excerpt.tui.search.preview import Preview
from excerpt.tui.search.query_bar import QueryInput

_BUSY_AFTER_SECONDS = 0.5
"""Seconds after which the status shows that an overview is still being computed."""

_EXTRA_LIST_SHARE = 0.1
"""Added to the list's share of the window (0 to 1), since its lines are longer than the rows of other lists."""

_NO_TOPIC = EmptyState(
    "What does the vault hold about …",
    "The overview shows main notes, sections, key passages, themes, tags, related notes, names and dates of a topic.",
    "Type a topic. At first, the topic is the query of the Search tab.",
)
_SEARCHING = EmptyState("Searching the vault", "The overview appears in a moment.")


class TopicStatus(Widget):
    """The text that shows how much of the vault is about the topic.

    Its width is fixed, because the text changes with every key.
    """

    DEFAULT_CSS = """
    TopicStatus { width: 40; max-width: 60%; height: 1; color: $text-soft; padding: 0 1; text-align: right; }
    """

    text: reactive[str] = reactive("")

    def render(self) -> Text:
        return Text(self.text, no_wrap=True, overflow="ellipsis", justify="right")


class OverviewPane(Vertical):
    """The pane of the Overview tab. Its state is the topic and the overview that is shown."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("Overview")

    DEFAULT_CSS = """
    OverviewPane {
        #topic-bar {
            height: 1;
            background: $surface;
            #topic-prompt { width: 3; padding: 0 0 0 1; color: $text-faint; text-style: bold; }
            Input { width: 1fr; background: $surface; color: $foreground; &:focus { background-tint: $background 0%; } }
            &:focus-within #topic-prompt { color: $accent; }
        }
        #overview-body { height: 1fr; }
        #overview-found { height: 1fr; border-top: solid $border-blurred; border-title-color: $text-soft; }
        #overview-found:focus-within { border-top: solid $accent; border-title-color: $accent; }
        #overview-passage { height: 1fr; border-top: solid $border-blurred; border-title-color: $text-soft; }
        #overview-passage:focus { border-top: solid $accent; border-title-color: $accent; }
        #overview-lines { height: 1fr; }
    }
    """

    overview: var[Overview | None] = var(None, init=False)

    def __init__(self, engine: EngineWorker, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._engine = engine
        self._requested_location: SourceLocation | None = None
        self._is_topic_typed = False
        self._copied_query = ""
        self._is_outdated = False
        self._failure: EmptyState | None = None
        self._binding_state = (False, False, False)
        self._is_copy_pending = False
        self._passage_action: Callable[[Fragment], object] | None = None
        self._busy_debouncer = Debouncer(self.set_timer)

    def compose(self) -> ComposeResult:
        with Horizontal(id="topic-bar"):
            yield Static("◎", id="topic-prompt")
            yield QueryInput(placeholder="A topic", compact=True, select_on_focus=False, id="topic")
            yield TopicStatus()
        with Split(by_key=True, extra=_EXTRA_LIST_SHARE, id="overview-body"):
            with Vertical(id="overview-found"):
                yield OverviewList(id="overview-lines")
                yield Notice(id="overview-notice")
            yield Preview(id="overview-passage")

    def on_mount(self) -> None:
        self._refresh_view()

    @property
    def topic(self) -> str:
        return self.query_one("#topic", Input).value.strip()

    @property
    def is_answered(self) -> bool:
        """Whether no request for an overview or a passage is waiting for its answer."""
        return not (self._engine.is_waiting("overview") or self._engine.is_waiting("passage"))

    @property
    def _list(self) -> OverviewList:
        return self.query_one(OverviewList)

    # --- the topic ----------------------------------------------------------------------------------------------------

    def activate(self, query: str) -> None:
        """Prepare the tab for being shown: the Search tab's `query` becomes the topic, unless one was typed."""
        field, query = self.query_one("#topic", Input), query.strip()
        if query and query != self.topic and not self._is_topic_typed:
            self._copied_query = query
            field.value = query
        elif self._is_outdated:
            self.request_overview()

    def repeat_requests(self) -> None:
        """Request the overview again, because the index is newer: now if the tab is shown, else at `activate`."""
        self._is_outdated = True
        if self.display:
            self.request_overview()

    @on(Input.Changed, "#topic")
    def _handle_topic_change(self, event: Input.Changed) -> None:
        event.stop()
        self._is_topic_typed = bool(self.topic) and self.topic != self._copied_query
        self.request_overview()

    def request_overview(self) -> None:
        """Request the overview of the current topic."""
        self._is_outdated = False
        if not self.topic:
            self._engine.cancel("overview")
            self._passage_action = None
            self._clear_busy_and_failure()
            self.overview = None
        else:
            self._engine.ask(AskOverview(self.topic), self._handle_overview, self._handle_overview_failure)
            if not self._busy_debouncer.is_pending:
                self._busy_debouncer.schedule(_BUSY_AFTER_SECONDS, self._show_busy)
        self._refresh_view()

    def _show_busy(self) -> None:
        self.query_one(TopicStatus).text = "looking…"

    def _clear_busy_and_failure(self) -> None:
        self._failure = None
        self._busy_debouncer.stop()

    def _handle_overview(self, overview: Overview) -> None:
        self._clear_busy_and_failure()
        self.overview = overview
        self._refresh_view()
        if self._is_copy_pending:
            self.action_copy()
        # The lines, and with them the passage to request, are known after the next layout.
        self.call_after_refresh(self._run_waiting_action)

    def _handle_overview_failure(self, failure: Failure) -> None:
        self._clear_busy_and_failure()
        self._is_copy_pending = False
        self._passage_action = None
        self.overview = None
        self._failure = EmptyState.of_failure(failure)
        self._refresh_view()

    def watch_overview(self) -> None:
        self._list.overview = self.overview
        self._request_passage()

    def _refresh_view(self) -> None:
        if not self.query("#overview-notice"):
            return  # the answer came while the pane is being removed, its parts first
        overview = self.overview
        has_overview = overview is not None and overview.found
        notice = self.query_one("#overview-notice", Notice)
        self._list.display, notice.display = has_overview, not has_overview
        self.query_one(Split).context = has_overview
        self.query_one(TopicStatus).text = format_headline(overview) if overview is not None and has_overview else ""
        if overview is not None and not has_overview:
            notice.empty_state = _no_match_notice(overview)
        elif overview is None:
            notice.empty_state = self._failure or (_SEARCHING if self.topic else _NO_TOPIC)
        binding_state = (bool(self.topic), bool(has_overview), not has_overview and not self.is_answered)
        if binding_state != self._binding_state:
            self._binding_state = binding_state
            self.refresh_bindings()

    @on(OverviewList.LinesChanged)
    def _show_title(self, event: OverviewList.LinesChanged) -> None:
        event.stop()
        shown, hidden_count = self._list.row_count, self._list.hidden_count
        title = f"overview · {shown:,} of {format_count(shown + hidden_count, 'line')}" if hidden_count else "overview"
        container = self.query_one("#overview-found")
        if container.border_title != title:
            container.border_title = title
        row = self._list.selected
        if row is not None and row.place != self._requested_location:
            self._request_passage()

    # --- the passage --------------------------------------------------------------------------------------------------

    @on(RowList.Moved)
    def _handle_cursor_move(self, event: RowList.Moved) -> None:
        event.stop()
        self._passage_action = None
        self._request_passage()

    def _request_passage(self) -> None:
        place = self._requested_location = self._selected_location
        if place is None or self.overview is None:
            self._engine.cancel("passage")
            self.query_one(Preview).window = None
        else:
            question = AskPassage(draw_note, place, self.overview.topic)
            self._engine.ask(question, self._handle_passage, self._handle_passage_failure)

    def _handle_passage(self, window: NoteWindow | None) -> None:
        self.query_one(Preview).window = window
        self._run_waiting_action()

    def _run_waiting_action(self) -> None:
        """Run the action that waits for the passage, if there is one and all requests are answered."""
        act = self._passage_action
        if act is not None and self.is_answered:
            self._passage_action = None
            self._run_with_passage(act)

    def _handle_passage_failure(self, _failure: Failure) -> None:
        self._passage_action = None

    @property
    def _selected_location(self) -> SourceLocation | None:
        """Location of the selected line's item; None if no line is listed."""
        row = self._list.selected
        return row.place if row is not None else None

    def action_passage(self) -> None:
        """Show or hide the passage, which is below the lines or, in a wide window, beside them."""
        split = self.query_one(Split)
        split.prefers_context = not split.prefers_context

    def action_scroll_passage(self, pages: int) -> None:
        self.query_one(Preview).scroll_pages(pages)

    # --- actions ------------------------------------------------------------------------------------------------------

    def disabled_reason(self, action: str, parameters: tuple[object, ...]) -> str:  # noqa: ARG002 - `HasDisabledReason`'s name
        shown = self.overview is not None and self.overview.found
        return overview_disabled_reason(action, topic=bool(self.topic), shown=shown, is_waiting=not self.is_answered)

    def action_move(self, rows: int) -> None:
        preview = self.query_one(Preview)
        if preview.has_focus:
            preview.scroll_relative(y=rows, animate=False)
        else:
            self._list.move(rows)

    def action_part(self) -> None:
        self._list.move_to_next_part()

    def action_every_line(self) -> None:
        self._list.every_line = not self._list.every_line

    def action_edit(self) -> None:
        place = self._selected_location
        if place is not None:
            self.post_message(EditRequested(place.path, place.line_start, place.place))

    def action_search(self) -> None:
        """Search in the Search tab for the item of the selected line."""
        row, overview = self._list.selected, self.overview
        if row is None or overview is None:
            return
        query, filters = build_search(row, overview)
        if filters:
            self._engine.ask(AskFilteredQuery(query, filters), self._request_search)
        else:
            self._request_search(query)

    def _request_search(self, query: str) -> None:
        self.post_message(SearchRequested(query))

    def action_copy(self) -> None:
        """Copy the overview of the current topic, as soon as it has arrived."""
        self._is_copy_pending = self._engine.is_waiting("overview")
        if self._is_copy_pending:
            return
        if self.overview is None or not self.overview.found:
            self.notify("No overview to copy. Type a topic that the vault has notes about.", severity="warning")
        else:
            self._engine.ask(AskMarkdown(self.overview), self._copy_text)

    def _copy_text(self, markdown: tuple[str, int]) -> None:
        text, tokens = markdown
        if not text:
            self.notify("The overview exceeds its token budget. Nothing was copied.", severity="warning")
            return
        self.post_message(CopyRequested(text, "Overview", tokens))

    def action_copy_passage(self) -> None:
        """Copy the passage of the selected line, as soon as it is loaded."""
        self._run_with_passage(self._copy_passage)

    def _copy_passage(self, fragment: Fragment) -> None:
        self.post_message(CopyRequested(fragment.text, "Passage", fragment.tokens))

    def action_remember(self) -> None:
        """Open the form that keeps the passage of the selected line as a memory, as soon as it is loaded."""
        self._run_with_passage(self._remember_passage)

    def _remember_passage(self, fragment: Fragment) -> None:
        self.post_message(RememberRequested(Hit(fragment, 0.0), self.topic))

    @property
    def is_opening(self) -> bool:
        """Whether an action, which may open the form of a memory, waits for the passage."""
        return self._passage_action is not None

    def _run_with_passage(self, act: Callable[[Fragment], object]) -> None:
        window = self.query_one(Preview).window
        if not self.is_answered:
            self._passage_action = act
        elif window is None:
            self.notify("The selected line has no passage. Select another line.", severity="warning")
        else:
            act(window.fragment)

    def action_focus_topic(self) -> None:
        self.query_one("#topic", Input).focus()

    def action_pane(self) -> None:
        focus_order = (self.query_one("#topic", Input), self._list, self.query_one(Preview))
        panes = [pane for pane in focus_order if pane.focusable]
        at = next((i for i, pane in enumerate(panes) if pane.has_focus), -1)
        # `focus` is deferred: letters typed before it takes effect would go into the topic.
        self.screen.set_focus(panes[(at + 1) % len(panes)])

    def action_back(self) -> None:
        """Close the passage if it was opened below the lines; else focus the lines."""
        split = self.query_one(Split)
        is_open_below = split.prefers_context and not split.arrangement.is_side_by_side
        if is_open_below and not self.query_one(Preview).has_focus:
            split.prefers_context = False
        elif self._list.display:
            self.screen.set_focus(self._list)


def _no_match_notice(overview: Overview) -> EmptyState:
    return EmptyState(
        f"No note is about {overview.topic}",
        f"None of {format_count(overview.vault_fragments, 'passage')} has most words of the topic or is likely to "
        "answer it.",
        f"Try fewer or other words; the Search tab ({key_sign('show-search')}) shows the nearest passages.",
    )


_LINE_ACTIONS = frozenset(
    ("edit", "search", "copy", "copy_passage", "passage", "part", "every_line", "remember", "scroll_passage")
)


def overview_disabled_reason(action: str, *, topic: bool, shown: bool, is_waiting: bool) -> str:
    """Return why an action of the Overview tab is disabled; "" if it is enabled.

    `topic`: a topic is typed. `shown`: an overview is shown. `is_waiting`: an overview was requested and has not
    arrived; then the actions that copy and remember are enabled, because they wait for it.
    """
    if shown or action not in _LINE_ACTIONS:
        return ""
    if not topic:
        return "No overview is shown. Type a topic first."
    return (
        "" if is_waiting and action in ("copy", "copy_passage", "remember") else "No overview is shown for this topic."
    )
