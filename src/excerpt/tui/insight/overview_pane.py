"""The Overview tab: what the vault holds about a topic, in lines that lead to passages."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.reactive import reactive, var
from textual.widget import Widget
from textual.widgets import Input, Static

from excerpt.insight.overview_parts import Overview, SourceLocation
from excerpt.model import Fragment, Hit
from excerpt.text.display import format_count
from excerpt.tui.active_keys import bindings
from excerpt.tui.common.debouncer import Debouncer
from excerpt.tui.common.notice import EmptyState, Notice
from excerpt.tui.common.row_list import RowList
from excerpt.tui.common.split import Split
from excerpt.tui.engine_worker import EngineWorker
from excerpt.tui.insight.overview_list import OverviewList, headline, search_for
from excerpt.tui.keymap import key_sign
from excerpt.tui.messages import (
    CopyRequested,
    EditRequested,
    Failure,
    RememberRequested,
    SearchRequested,
)
from excerpt.tui.questions import AskFilteredQuery, AskMarkdown, AskOverview, AskPassage
from excerpt.tui.search.preview import Preview
from excerpt.tui.search.query_bar import QueryInput

if TYPE_CHECKING:
    from excerpt.search.highlight import Marks
    from excerpt.tui.note.window import NoteWindow

_BUSY_AFTER_SECONDS = 0.5
"""Seconds before the status shows that a request is running."""

_EXTRA = 0.1
"""Added to the share of the list in the window: its lines are longer than the rows of other lists."""

_NO_TOPIC = EmptyState(
    "What does the vault hold about …",
    "A topic gives its main notes, sections, key passages, themes, tags, related notes, names and dates.",
    "Type a topic. The query of the Search tab is used at first.",
)
_SEARCHING = EmptyState("Searching the vault", "A moment.")


class TopicStatus(Widget):
    """How much of the vault is about the topic. The width is fixed, because the text changes with every key."""

    DEFAULT_CSS = """
    TopicStatus { width: 44; max-width: 60%; height: 1; color: $text-soft; padding: 0 1; text-align: right; }
    """

    text: reactive[str] = reactive("")

    def render(self) -> Text:
        return Text(self.text, no_wrap=True, overflow="ellipsis", justify="right")


class OverviewPane(Vertical):
    """The Overview tab's pane. Its state is the topic, and the overview shown for it."""

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
        self._marks: Marks | None = None
        self._marks_topic = ""
        self._is_typed = False
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
        with Split(by_key=True, extra=_EXTRA, id="overview-body"):
            with Vertical(id="overview-found"):
                yield OverviewList(id="overview-lines")
                yield Notice(id="overview-notice")
            yield Preview(id="overview-passage")

    def on_mount(self) -> None:
        self._show()

    @property
    def topic(self) -> str:
        return self.query_one("#topic", Input).value.strip()

    @property
    def answered(self) -> bool:
        """Whether overview and passage are the answers to the newest requests."""
        return not (self._engine.is_waiting("overview") or self._engine.is_waiting("passage"))

    @property
    def _lines(self) -> OverviewList:
        return self.query_one(OverviewList)

    # --- the topic ----------------------------------------------------------------------------------------------------

    def activate(self, query: str) -> None:
        """Activate the tab: the query of the Search tab becomes the topic, unless one was typed here."""
        field, query = self.query_one("#topic", Input), query.strip()
        if query and query != self.topic and not self._is_typed:
            self._copied_query = query
            field.value = query
        elif self._is_outdated:
            self.ask()

    def index_changed(self) -> None:
        """Request the overview from a newer index: now if the tab is shown, else when it is activated."""
        self._is_outdated = True
        if self.display:
            self.ask()

    @on(Input.Changed, "#topic")
    def _topic_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._is_typed = bool(self.topic) and self.topic != self._copied_query
        self.ask()

    def ask(self) -> None:
        """Request the overview of the current topic."""
        self._is_outdated = False
        if not self.topic:
            self._engine.cancel("overview")
            self._passage_action = None
            self._stop_waiting()
            self.overview = None
        else:
            self._engine.ask(AskOverview(self.topic), self._overview_found, self._overview_failed)
            if not self._busy_debouncer.is_pending:
                self._busy_debouncer.schedule(_BUSY_AFTER_SECONDS, self._show_busy)
        self._show()

    def _show_busy(self) -> None:
        self.query_one(TopicStatus).text = "looking…"

    def _stop_waiting(self) -> None:
        self._failure = None
        self._busy_debouncer.stop()

    def _overview_found(self, answer: tuple[Overview, Marks | None]) -> None:
        self._stop_waiting()
        overview, self._marks = answer
        self._marks_topic = overview.topic
        self.overview = overview
        self._show()
        if self._is_copy_pending:
            self.action_copy()
        # The lines, and with them the passage to request, are known after the next layout.
        self.call_after_refresh(self._act_on_answer)

    def _overview_failed(self, failure: Failure) -> None:
        self._stop_waiting()
        self._is_copy_pending = False
        self._passage_action = None
        self.overview = None
        self._failure = EmptyState.of_failure(failure)
        self._show()

    def watch_overview(self) -> None:
        self._lines.overview = self.overview
        self._ask_passage()

    def _show(self) -> None:
        if not self.query("#overview-notice"):
            return  # the answer came while the pane is being removed, its parts first
        overview = self.overview
        has_overview = overview is not None and overview.found
        notice = self.query_one("#overview-notice", Notice)
        self._lines.display, notice.display = has_overview, not has_overview
        self.query_one(Split).context = has_overview
        self.query_one(TopicStatus).text = headline(overview) if overview is not None and has_overview else ""
        if overview is not None and not has_overview:
            notice.empty_state = _no_match_notice(overview)
        elif overview is None:
            notice.empty_state = self._failure or (_SEARCHING if self.topic else _NO_TOPIC)
        scene = (bool(self.topic), bool(has_overview), not has_overview and not self.answered)
        if scene != self._binding_state:
            self._binding_state = scene
            self.refresh_bindings()

    @on(OverviewList.LaidOut)
    def _show_title(self, event: OverviewList.LaidOut) -> None:
        event.stop()
        shown, hidden = self._lines.row_count, self._lines.hidden
        title = f"overview · {shown:,} of {format_count(shown + hidden, 'line')}" if hidden else "overview"
        container = self.query_one("#overview-found")
        if container.border_title != title:
            container.border_title = title
        row = self._lines.selected
        if row is not None and row.place != self._requested_location:
            self._ask_passage()

    # --- the passage --------------------------------------------------------------------------------------------------

    @on(RowList.Moved)
    def _moved(self, event: RowList.Moved) -> None:
        event.stop()
        self._passage_action = None
        self._ask_passage()

    def _ask_passage(self) -> None:
        place = self._requested_location = self._selected_location
        if place is None:
            self._engine.cancel("passage")
            self.query_one(Preview).window = None
        else:
            self._engine.ask(
                AskPassage(place, self._marks_topic, self._marks), self._passage_found, self._passage_failed
            )

    def _passage_found(self, window: NoteWindow | None) -> None:
        self.query_one(Preview).window = window
        self._act_on_answer()

    def _act_on_answer(self) -> None:
        """Run the action that waits for the passage, once the requests are answered."""
        act = self._passage_action
        if act is not None and self.answered:
            self._passage_action = None
            self._with_passage(act)

    def _passage_failed(self, _failure: Failure) -> None:
        self._passage_action = None

    @property
    def _selected_location(self) -> SourceLocation | None:
        """Location of the selected line."""
        row = self._lines.selected
        return row.place if row is not None else None

    def action_passage(self) -> None:
        """Show the passage below the lines, or in a wide window hide it beside them."""
        split = self.query_one(Split)
        split.prefers_context = not split.prefers_context

    def action_scroll_passage(self, pages: int) -> None:
        self.query_one(Preview).scroll_pages(pages)

    # --- actions ------------------------------------------------------------------------------------------------------

    def disabled_reason(self, action: str, parameters: tuple[object, ...]) -> str:  # noqa: ARG002 - `HasDisabledReason`'s name
        shown = self.overview is not None and self.overview.found
        return overview_disabled_reason(action, topic=bool(self.topic), shown=shown, is_waiting=not self.answered)

    def action_move(self, rows: int) -> None:
        preview = self.query_one(Preview)
        if preview.has_focus:
            preview.scroll_relative(y=rows, animate=False)
        else:
            self._lines.move(rows)

    def action_part(self) -> None:
        self._lines.next_part()

    def action_every_line(self) -> None:
        self._lines.every_line = not self._lines.every_line

    def action_edit(self) -> None:
        place = self._selected_location
        if place is not None:
            self.post_message(EditRequested(place.path, place.line_start, place.fragment_id, place=place.place))

    def action_search(self) -> None:
        """Search for the selected item in the Search tab."""
        row, overview = self._lines.selected, self.overview
        if row is None or overview is None:
            return
        query, filters = search_for(row, overview)
        if filters:
            self._engine.ask(AskFilteredQuery(query, filters), self._request_search)
        else:
            self._request_search(query)

    def _request_search(self, query: str) -> None:
        self.post_message(SearchRequested(query))

    def action_copy(self) -> None:
        """Copy the overview of the current topic; if it is still being made, once it is there."""
        self._is_copy_pending = self._engine.is_waiting("overview")
        if self._is_copy_pending:
            return
        if self.overview is None or not self.overview.found:
            self.notify("No overview to copy yet.", severity="warning")
        else:
            self._engine.ask(AskMarkdown(self.overview), partial(self._copy_text, self.overview))

    def _copy_text(self, overview: Overview, markdown: tuple[str, int]) -> None:
        text, tokens = markdown
        if not text:
            self.notify("The overview does not fit into its budget.", severity="warning")
            return
        notes = tuple((one.place.path, one.place.fragment_id) for one in overview.passages)
        self.post_message(CopyRequested(text, "Overview", tokens, notes))

    def action_copy_passage(self) -> None:
        """Copy the passage of the selected line; if it is still being loaded, once it is there."""
        self._with_passage(self._copy_passage)

    def _copy_passage(self, fragment: Fragment) -> None:
        self.post_message(CopyRequested(fragment.text, "Passage", fragment.tokens, ((fragment.path, fragment.id),)))

    def action_remember(self) -> None:
        """Keep the passage of the selected line as a memory; if it is still being loaded, once it is there."""
        self._with_passage(self._remember)

    def _remember(self, fragment: Fragment) -> None:
        self.post_message(RememberRequested(Hit(fragment, 0.0), self.topic))

    @property
    def is_opening(self) -> bool:
        """Whether an action waits for the passage."""
        return self._passage_action is not None

    def _with_passage(self, act: Callable[[Fragment], object]) -> None:
        window = self.query_one(Preview).window
        if not self.answered:
            self._passage_action = act
        elif window is None:
            self.notify("This line has no passage.", severity="warning")
        else:
            act(window.fragment)

    def action_focus_topic(self) -> None:
        self.query_one("#topic", Input).focus()

    def action_pane(self) -> None:
        focus_order = (self.query_one("#topic", Input), self._lines, self.query_one(Preview))
        panes = [pane for pane in focus_order if pane.focusable]
        at = next((i for i, pane in enumerate(panes) if pane.has_focus), -1)
        # `focus` is deferred: letters typed before it takes effect would go into the topic.
        self.screen.set_focus(panes[(at + 1) % len(panes)])

    def action_back(self) -> None:
        """Close the passage if it was opened below the lines, else focus the lines."""
        split = self.query_one(Split)
        is_open_below = split.prefers_context and not split.arrangement.is_side_by_side
        if is_open_below and not self.query_one(Preview).has_focus:
            split.prefers_context = False
        elif self._lines.display:
            self.screen.set_focus(self._lines)


def _no_match_notice(overview: Overview) -> EmptyState:
    return EmptyState(
        f"No note is about {overview.topic}",
        f"None of {format_count(overview.vault_fragments, 'fragment')} has most of its words, and none is likely to "
        "answer it.",
        f"Try fewer or other words; the Search tab ({key_sign('show-search')}) shows the nearest fragments.",
    )


_LINE_ACTIONS = frozenset(
    ("edit", "search", "copy", "copy_passage", "passage", "part", "every_line", "remember", "scroll_passage")
)


def overview_disabled_reason(action: str, *, topic: bool, shown: bool, is_waiting: bool) -> str:
    """Return why an action of the Overview tab is disabled; "" if it is enabled.

    `is_waiting` says that an overview is on its way, for which copying and remembering wait.
    """
    if shown or action not in _LINE_ACTIONS:
        return ""
    if not topic:
        return "No overview is shown yet: type a topic first."
    return "" if is_waiting and action in ("copy", "copy_passage", "remember") else "Nothing is shown of this topic."
