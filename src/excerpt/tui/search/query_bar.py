"""The query bar: the query with its filters as chips, the status of the answer below it, and the menu over that."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Offset
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Static
from textual.widgets.input import Selection

from excerpt.base.errors import ExcerptError
from excerpt.base.kinds import Confidence, Strategy
from excerpt.search.query_word import (
    apply_completion,
    filter_period,
    ignore_period,
    include_word,
    remove_span,
    token_at,
)
from excerpt.service.engine_worker import QuestionQueue
from excerpt.service.query_texts import use_next_order
from excerpt.text.display import format_confidence, format_count, format_day_span, visible_line
from excerpt.tui.active_keys import bindings
from excerpt.tui.common.background_work import Work, start_work
from excerpt.tui.common.debouncer import Debouncer
from excerpt.tui.common.field import Field
from excerpt.tui.common.row_list import RowList
from excerpt.tui.common.strips import StyledPart, click_style, fit, line, parts_with_matches
from excerpt.tui.keymap import key_sign
from excerpt.tui.messages import PartClicked, QuerySettled
from excerpt.tui.search.notices import is_unanswered
from excerpt.tui.search.query_controller import QueryController

if TYPE_CHECKING:
    from excerpt.base.model import Result
    from excerpt.insight.results import Completion, Suggestion
    from excerpt.search.results import QueryInterpretation, QueryNews
    from excerpt.search.saved_queries import SavedQueries, SavedQuery

MAX_MENU_ROWS, MAX_MENU_ROWS_TALL = 8, 12
"""Maximum visible rows of the menu, on a screen of under 30 lines and on a taller one: hits stay visible below it."""
_BUSY_AFTER_SECONDS = 0.5
"""Seconds after which the status says that a search is still running."""
_MIN_MENU_CELLS, _MAX_MENU_CELLS = 26, 76
_MAX_NEWS_TITLES = 3
"""Maximum titles of notes in a notice of what is new."""
_BORDER_CELLS = 6
"""Cells of the menu's border that its title and keys cannot use, both ends together."""


class MenuChoice(Struct, frozen=True):
    """A row of the menu: choosing it sets the query to `query`, with the cursor at `cursor` (-1: at the end).

    `prefix`, such as "narrower", is drawn before `label`, and `detail`, such as "14 hits", at the right. The first
    occurrence of `match_text` in the label is highlighted.
    """

    label: str
    query: str
    cursor: int = -1
    detail: str = ""
    prefix: str = ""
    match_text: str = ""


class QueryMenu(RowList, can_focus=False):
    """The menu below the query, which is open while it has choices."""

    ROW_HEIGHT = 1

    DEFAULT_CSS = """
    QueryMenu {
        display: none;
        overlay: screen;
        constrain: inside inside;
        background: $surface;
        border: round $border;
        border-title-color: $accent;
        border-subtitle-color: $text-soft;
        &.-open { display: block; }
    }
    """

    class ChoiceClicked(Message):
        """Sent when a row is clicked."""

        def __init__(self, choice: MenuChoice) -> None:
            super().__init__()
            self.choice = choice

    def __init__(self) -> None:
        super().__init__()
        self.choices: tuple[MenuChoice, ...] = ()
        self.kind = ""
        """What the menu lists: "history", "complete", "time", "suggest" or "saved"."""
        self._prefix_cells = 0
        """Cells of the widest prefix among the choices."""
        self._geometry: tuple[int, int, Offset] | None = None
        """Width, height and offset of the menu on the screen, in cells."""

    @property
    def row_count(self) -> int:
        return len(self.choices)

    @property
    def is_open(self) -> bool:
        return bool(self.choices)

    @property
    def selected_choice(self) -> MenuChoice | None:
        return self.choices[self.cursor] if self.choices else None

    def open(self, kind: str, title: str, keys: str, choices: Sequence[MenuChoice], anchor: Offset) -> None:
        """Show the choices below the cell `anchor` of the screen; close the menu if there are no choices.

        `kind` says what the menu lists, as the attribute does. `title` is shown in the upper border, `keys`, a text
        that names the menu's keys, in the lower one.
        """
        if not choices:
            self.close()
            return
        self.kind = kind
        self.choices = tuple(choices)
        self._prefix_cells = max(cell_len(choice.prefix) for choice in choices)
        self.border_title = Content(title)
        self.border_subtitle = Content(keys)
        self._set_geometry(anchor, max(cell_len(title), cell_len(keys)) + _BORDER_CELLS)
        self.redraw_rows()
        if not self.has_class("-open"):
            self.add_class("-open")
            self.screen.refresh_bindings()

    def close(self) -> None:
        if self.is_open:
            self.choices = ()
            self.remove_class("-open")
            self.screen.refresh_bindings()

    def _set_geometry(self, anchor: Offset, min_width: int) -> None:
        """Set the menu's size and offset to fit its rows and the screen; unchanged ones cause no layout."""
        screen = self.app.size
        widest = max(cell_len(c.label) + cell_len(c.detail) + self._prefix_cells + 4 for c in self.choices)
        width = min(max(widest + 4, min_width, _MIN_MENU_CELLS), _MAX_MENU_CELLS, screen.width)
        height = (
            min(
                len(self.choices),
                MAX_MENU_ROWS_TALL if screen.height >= 30 else MAX_MENU_ROWS,
                max(screen.height - anchor.y - 3, 2),
            )
            + 2
        )
        offset = Offset(max(0, min(anchor.x, screen.width - width)), anchor.y + 1)
        if self._geometry != (width, height, offset):
            self._geometry = width, height, offset
            self.styles.width, self.styles.height = width, height
            self.absolute_offset = offset

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
        choice = self.choices[row]
        faint = self.style_of("row--faint")
        left: list[StyledPart] = [self.cursor_bar(selected)]
        if self._prefix_cells:
            left.append((f"{choice.prefix:<{self._prefix_cells}} ", faint))
        label = visible_line(choice.label)
        match = re.search(re.escape(choice.match_text), label, re.IGNORECASE) if choice.match_text else None
        spans = [match.span()] if match else []
        left += parts_with_matches(label, spans, Style(), self.style_of("row--match"))
        right: list[StyledPart] = [(f"{choice.detail} ", faint)] if choice.detail else []
        return [line(left, right, width, base)]

    def on_click(self, event: events.Click) -> None:
        event.stop()
        offset = event.get_content_offset(self)
        row = -1 if offset is None else offset.y + self.scroll_offset.y
        if 0 <= row < self.row_count:
            self.post_message(self.ChoiceClicked(self.choices[row]))


class AnswerStatus(Struct, frozen=True):
    """The status of the newest search shown.

    `strategy` is the strategy that ranked the hits, or None for a query of filters alone, which is not ranked; `sort`
    is the value of its `sort:`, and `undated_count` the number of listed hits without a date.
    `match_count` is the number of matching fragments. A `confidence` of None is not shown. With `is_lower_bound` more
    fragments may match, because not all fragments of a store are examined. `offers` are the names of actions that may
    help with these hits: keys of `OFFERS`. With `is_joined`, every second hit is ranked by meaning alone. `notice` is a
    sentence about the hits, `correction` a corrected query, `not_found` names the parts of the query that no passage
    covers; "" for none.
    """

    requested_strategy: Strategy
    strategy: Strategy | None
    match_count: int
    confidence: Confidence | None = None
    is_lower_bound: bool = False
    offers: tuple[str, ...] = ()
    sort: str = ""
    is_joined: bool = False
    undated_count: int = 0
    notice: str = ""
    correction: str = ""
    not_found: str = ""


_MIN_ROWS_FOR_STATUS = 12
"""Minimum rows of the terminal for a query bar with a status line."""
_SEPARATOR = " · "
_PROMPT = "❯"

OFFERS = {"use_order": "new order", "suggest": "narrower queries", "compare": "compare"}
"""The label of each action that the status may offer."""


class QuerySpan(Struct, frozen=True):
    """A span of the query that is highlighted: a filter, an excluded word, a recognised date, or one with a warning.

    `filter` is the filter for the same time as a recognised date, and `dates` are its days as a text; "" for others.
    `start` and `end` (exclusive) are characters of the query. `text` is the text between them when the engine read the
    query; a later change of the query may move or change that text.
    """

    start: int
    end: int
    text: str
    is_warning: bool = False
    is_exclusion: bool = False
    filter: str = ""
    dates: str = ""


class StatusPart(Struct, frozen=True):
    """A part of the status: the lower its number in `priority`, the later it is left out for lack of room.

    Before that it has its `short` text, if there is one.
    """

    text: Text
    priority: int
    short: Text | None = None


class QueryStatus(Widget):
    """The status of the answer, below the query: `strong · auto: hybrid · 41 hits · …`, its order at the right.

    A click on a part runs its action: the confidence, the strategy, an offer or the order.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "status--sure",
        "status--unsure",
        "status--offer",
        "status--period",
        "status--excluded",
    }

    DEFAULT_CSS = """
    QueryStatus {
        height: 1;
        color: $text-soft;
        padding: 0 1 0 0;
        & > .status--sure { color: $success; }
        & > .status--unsure { color: $warning; }
        & > .status--offer { color: $accent; }
        & > .status--period { background: $surface-active; color: $accent; }
        & > .status--excluded { background: $surface-active; color: $error; }
    }
    """

    strategy: reactive[Strategy] = reactive(Strategy.AUTO)
    """The strategy of the next search, shown while there is no answer."""
    answer: reactive[AnswerStatus | None] = reactive(None)
    busy: reactive[str] = reactive("")
    """Name of an operation that has taken half a second or more, such as "searching…"; "" if there is none."""
    warning: reactive[str] = reactive("")
    """A short warning that a part of the query has another effect than its spelling suggests; "" for none."""
    chips: reactive[tuple[QuerySpan, ...]] = reactive(())
    """The periods and excluded words of the query."""
    can_include: reactive[bool] = reactive(False)
    """Whether a key searches the excluded word at the cursor."""
    earlier_marks: reactive[str] = reactive("")
    """A phrase about marks that are not in the list, with the keys to add and clear them; "" for none."""
    earlier_marks_short: reactive[str] = reactive("")
    """The same phrase in few words."""

    class ChipClicked(Message):
        """Sent when a period or an excluded word is clicked."""

        def __init__(self, query_span: QuerySpan) -> None:
            super().__init__()
            self.query_span = query_span

    @property
    def link_style(self) -> Style:
        """No style: each part has a colour of its own, which Textual's colour of links would replace."""
        return Style.null()

    def action_click(self, action: str) -> None:
        self.post_message(PartClicked(action))

    def action_click_chip(self, number: int) -> None:
        if number < len(self.chips):
            self.post_message(self.ChipClicked(self.chips[number]))

    def render(self) -> Text:
        parts, room = self._list_parts(), self.content_size.width
        answer = self.answer
        order = Text() if answer is None or self.busy or not answer.match_count else self._order_label(answer)
        while len(parts) > 1 and _total_cells(parts) > room:
            last = max(parts, key=lambda part: part.priority)
            shorter = [StatusPart(last.short, last.priority)] if last.short is not None else []
            at = parts.index(last)
            parts[at : at + 1] = shorter
        text = Text(_SEPARATOR, no_wrap=True).join(part.text for part in parts)
        if text.cell_len > room and answer is not None and answer.correction:
            text = self._correction_offer(answer.correction, room)
        text.truncate(room, overflow="ellipsis")
        gap = room - text.cell_len - order.cell_len
        return Text.assemble(text, " " * gap, order) if order and gap >= len(_SEPARATOR) else text

    def _list_parts(self) -> list[StatusPart]:
        """Return the parts in their order on the line; the first keep their cells when others come and go."""
        answer = self.answer
        parts = [StatusPart(Text(self.warning, self._style("unsure")), 1)] if self.warning else []
        parts += [StatusPart(self._chip(number, span), 2) for number, span in enumerate(self.chips)]
        if answer is None or self.busy:
            busy = [StatusPart(Text(self.busy), 2)] if self.busy else []
            return [*parts, StatusPart(self._strategy_label(), 3), *busy]
        verdict = 1 if self.earlier_marks else 3  # marks of another question do not hide how sure this answer is
        if answer.confidence and answer.match_count:
            parts.append(StatusPart(self._confidence_label(answer.confidence), verdict))
        if answer.notice:
            parts.append(StatusPart(Text(answer.notice), verdict))
        if answer.not_found and self.earlier_marks:  # else the pack bar names them
            parts.append(StatusPart(Text(answer.not_found), verdict))
        if answer.correction:
            parts.append(StatusPart(self._correction_offer(answer.correction), 0))
        hits = format_count(answer.match_count, "hit")
        count = Text(hits.replace(" ", "+ ", 1) if answer.is_lower_bound and answer.match_count else hits)
        # Where words fail, a narrower query helps more than the count.
        if answer.strategy is not None:
            parts.append(StatusPart(self._strategy_label(), 6))
        parts.append(StatusPart(count, 7 if answer.is_joined else 5))
        for name in answer.offers:
            label = _clickable(OFFERS[name], name, self._style("offer"))
            parts.append(StatusPart(label, 2 if name == "use_order" else 4))
        if self.earlier_marks:
            phrases = (self.earlier_marks, self.earlier_marks_short)
            text, short = (_clickable(each, "show_earlier", self._style("offer")) for each in phrases)
            parts.append(StatusPart(text, 2, short))
        return parts

    def _chip(self, number: int, span: QuerySpan) -> Text:
        """Return a period with its days and a cross, or what an excluded word leaves out, with the key to search it."""
        text = visible_line(span.text)
        style = click_style(f"click_chip({number})")
        if not span.is_exclusion:
            return Text(f"{text}: {span.dates} ✕", self._style("period") + style)
        key = f": {key_sign('complete')} searches it" if self.can_include and len(self.chips) == 1 else " ✕"
        return Text(f"without {text.removeprefix('-')}{key}", self._style("excluded") + style)

    def _correction_offer(self, correction: str, room: int = 0) -> Text:
        """Return the offer of a corrected query with its key; with `room`, the query is truncated to fit the cells."""
        before, after = "did you mean ", f"? {key_sign('complete')} takes it"
        query = fit(correction, room - len(before) - len(after)) if room else correction
        return _clickable(f"{before}{query}{after}", "complete", self._style("offer"))

    def _order_label(self, answer: AnswerStatus) -> Text:
        order = "oldest first" if answer.sort == "date" else "newest first"
        if answer.undated_count and answer.sort:
            order = f"{order}, {answer.undated_count:,} without a date"
        return _clickable(order if answer.sort or answer.strategy is None else "best first", "sort")

    def _strategy_label(self) -> Text:
        """Return the name of the strategy that ranks the hits: `auto: hybrid`, or `semantic` if that was chosen."""
        answer, label = self.answer, str(self.strategy)
        if answer is not None:
            label = str(answer.strategy or answer.requested_strategy)
            if answer.is_joined:
                label = "words and meaning"
            elif answer.strategy not in (None, answer.requested_strategy):
                label = f"{answer.requested_strategy}: {answer.strategy}"
        return _clickable(label, "strategy")

    def _confidence_label(self, confidence: Confidence) -> Text:
        names = {Confidence.STRONG: "sure", Confidence.UNSURE: "unsure", Confidence.NOTHING: "unsure"}
        style = self._style(names[confidence]) if confidence in names else Style.null()
        return _clickable(format_confidence(confidence), "explain_first", style)

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"status--{name}", partial=True)


def _total_cells(parts: Sequence[StatusPart]) -> int:
    return sum(part.text.cell_len for part in parts) + len(_SEPARATOR) * (len(parts) - 1)


def _clickable(label: str, action: str, style: Style = Style.null()) -> Text:  # noqa: B008 - immutable
    """Return a label of the status that runs an action of the Search tab when clicked."""
    return Text(label, style + click_style(f"click('{action}')"))


class QueryInput(Field):
    """The input field of the query; filters, excluded words and recognised dates are chips: shaded words.

    A filter has a cross to drop it. The words of a date have the colour of matches, because they rank and do not
    filter; the status has its days and its cross.
    """

    query_spans: reactive[tuple[QuerySpan, ...]] = reactive(())
    """Filters, periods and warnings to highlight. A span is skipped if the query has another text there now."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "query--filter",
        "query--excluded",
        "query--period",
        "query--cross",
        "query--doubtful",
    }

    DEFAULT_CSS = """
    QueryInput {
        & > .query--filter { background: $surface-active; color: $secondary; }
        & > .query--excluded { background: $surface-active; color: $error; }
        & > .query--period { background: $surface-active; color: $accent; }
        & > .query--cross { background: $surface-active; color: $text-soft; }
        & > .query--doubtful { color: $warning; text-style: underline; }
    }
    """

    class ChipDropped(Message):
        """Sent when the cross of a chip is clicked, or a filter is deleted as a whole."""

        def __init__(self, query_span: QuerySpan) -> None:
            super().__init__()
            self.query_span = query_span

    @property
    def _current_spans(self) -> list[QuerySpan]:
        return [span for span in self.query_spans if self.value[span.start : span.end] == span.text]

    @property
    def chips(self) -> list[QuerySpan]:
        """The spans of the filters and recognised dates in the query."""
        return [span for span in self._current_spans if not span.is_warning]

    @property
    def filters(self) -> list[QuerySpan]:
        """The spans of the filters and excluded words in the query, in order."""
        return [span for span in self.chips if not span.filter]

    @property
    def periods(self) -> list[QuerySpan]:
        """The spans of the recognised dates ("in May 2025") in the query, in order."""
        return [span for span in self.chips if span.filter]

    @property
    def period_at_cursor(self) -> QuerySpan | None:
        return self._at_cursor(self.periods)

    @property
    def exclusion_at_cursor(self) -> QuerySpan | None:
        return self._at_cursor([span for span in self.chips if span.is_exclusion])

    def _at_cursor(self, spans: Sequence[QuerySpan]) -> QuerySpan | None:
        return next((span for span in spans if span.start <= self.cursor_position <= span.end), None)

    @property
    def _value(self) -> Text:
        chip_text = visible_line(self.value)
        for chip in self.filters:
            if chip_text[chip.end : chip.end + 1] == " ":
                chip_text = f"{chip_text[: chip.end]}✕{chip_text[chip.end + 1 :]}"
        text = Text(chip_text, no_wrap=True, overflow="ignore", end="")
        for chip in self.chips:
            kind = "period" if chip.filter else "excluded" if chip.text.startswith("-") else "filter"
            text.stylize(self.get_component_rich_style(f"query--{kind}", partial=True), chip.start, chip.end)
            if chip_text[chip.end : chip.end + 1] == "✕":
                text.stylize(self.get_component_rich_style("query--cross", partial=True), chip.end, chip.end + 1)
        for span in self._current_spans:
            if span.is_warning:
                text.stylize(self.get_component_rich_style("query--doubtful", partial=True), span.start, span.end)
        return text

    async def _on_mouse_down(self, event: events.MouseDown) -> None:
        index = self._cell_offset_to_index(event.get_content_offset_capture(self).x)
        chip = next((span for span in self.filters if span.end == index and self.value[index : index + 1] == " "), None)
        if chip is not None:
            event.prevent_default()
            event.stop()
            self.post_message(self.ChipDropped(chip))

    def action_delete_left(self) -> None:
        """Delete the character to the left; at the start of the query, remove its last filter instead."""
        if self.cursor_at_start and self.selection.is_empty and (filters := self.filters):
            self.post_message(self.ChipDropped(filters[-1]))
        else:
            super().action_delete_left()

    def action_delete_left_word(self) -> None:
        """Delete the word to the left of the cursor; a filter there is removed as a whole."""
        end = len(self.value[: self.cursor_position].rstrip())
        chip = next((span for span in self.filters if span.end == end), None)
        if chip is not None and self.selection.is_empty:
            self.post_message(self.ChipDropped(chip))
        else:
            super().action_delete_left_word()


class QueryBar(Vertical):
    """The query on a line of its own, its status on the next, and the menu, which opens over the status."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("The query's menu")

    DEFAULT_CSS = """
    QueryBar {
        height: 2;
        background: $surface;
        &.-low { height: 1; }
        #prompt { dock: left; width: 3; height: 1; padding: 0 0 0 1; color: $text-faint; text-style: bold; }
        Input { width: 1fr; background: $surface; color: $foreground; &:focus { background-tint: $background 0%; } }
        &:focus-within #prompt { color: $accent; }
    }
    """

    answered_query = ""
    """The query whose hits are listed; "" if there are none."""

    def __init__(self, engine: QuestionQueue, on_correction: Callable[[], object]) -> None:
        """Prepare the bar. `on_correction` is called when a corrected query is suggested."""
        super().__init__()
        self.field = QueryInput(placeholder="Search your notes", compact=True, select_on_focus=False, id="query")
        self.status = QueryStatus(id="status")
        self.menu = QueryMenu()
        self.queries = QueryController(engine, self.set_timer, lambda: self.text)
        self.correction = ""
        """The corrected query that is suggested; "" for none."""
        self._engine = engine
        self._on_correction = on_correction
        self._busy_timer = Debouncer(self.set_timer)
        self._has_dates = True
        """Whether the vault has dates to sort by, as far as is known."""
        self._corrected_result: Result | None = None
        """The result whose query may be corrected."""
        self._news: dict[str, QueryNews] = {}
        """What is new in the answers to the saved queries that the menu lists, by query."""

    def compose(self) -> ComposeResult:
        # Not in a container of their own, through which each change of the query would take another turn.
        yield Static(_PROMPT, id="prompt")
        yield self.field
        yield self.status
        yield self.menu

    def on_mount(self) -> None:
        self.watch(self.field, "selection", self._show_chips, init=False)
        self.watch(self.screen, "focused", self._show_prompt)

    def _show_prompt(self) -> None:
        """Show the key that goes to the query instead of the prompt while the focus is elsewhere."""
        key = key_sign("query")
        prompt = _PROMPT if self.has_focus_within or cell_len(key) > 1 else key
        self.query_one("#prompt", Static).update(prompt, layout=False)

    def on_resize(self) -> None:
        self.menu.close()
        self.set_class(self.app.size.height < _MIN_ROWS_FOR_STATUS, "-low")

    @on(Input.Changed)
    def _handle_query_change(self, event: Input.Changed) -> None:
        """Request the interpretation of the changed query, and update or close the menu.

        Nothing is requested if the field has a newer text already, whose own event is still to come.
        """
        self.queries.record_change(event.value)
        if event.value != self.text:
            return
        self.ask_interpretation()
        if self.queries.is_typing:
            self._update_menu_while_typing()
        else:
            self.menu.close()

    def ask_interpretation(self) -> None:
        """Request the query's filters and warnings from the engine, because the query or the vault has changed."""
        self.status.warning = ""
        if not self.text.strip():
            self.field.query_spans = ()
            self._show_chips()
        self.queries.ask_interpretation(
            self._show_interpretation,
            lambda: self.menu.is_open and self.menu.kind == "complete",
            self._add_settled_query_to_history,
        )

    def _show_interpretation(self, reading: QueryInterpretation) -> None:
        query, self._has_dates = self.text, reading.has_dates
        # A condition that is still being typed at the end is not drawn as a filter yet.
        is_typing = self.queries.is_typing
        finished = [each for each in reading.conditions if each.filter is None or not (each.open and is_typing)]
        filters = [
            QuerySpan(each.start, each.end, query[each.start : each.end], is_exclusion=each.filter is None)
            for each in finished
        ]
        warnings = [
            QuerySpan(warning.start, warning.end, query[warning.start : warning.end], is_warning=True)
            for warning in reading.warnings
        ]
        periods = [
            QuerySpan(
                each.start,
                each.end,
                query[each.start : each.end],
                filter=f"date:{each.filter_value}",
                dates=format_day_span(each.first, each.last, date.today()),
            )
            for each in reading.periods
        ]
        self.field.query_spans = (*filters, *periods, *warnings)
        self._show_chips()
        self.status.warning = visible_line(reading.warnings[0].message) if reading.warnings else ""

    def _show_chips(self) -> None:
        """Show the periods and excluded words in the status, and whether a key searches the one at the cursor."""
        status = self.status
        status.chips = tuple(span for span in self.field.chips if span.filter or span.is_exclusion)
        status.can_include = not self.correction and self.field.exclusion_at_cursor is not None

    @on(QueryStatus.ChipClicked)
    def _change_clicked_chip(self, event: QueryStatus.ChipClicked) -> None:
        """Search an excluded word, or make the words of a period plain words."""
        event.stop()
        span, value = event.query_span, self.field.value
        if value[span.start : span.end] == span.text:
            change = include_word if span.is_exclusion else ignore_period
            self.set_query(*change(value, span.start, span.end))

    @property
    def text(self) -> str:
        """The query."""
        return self.field.value

    def set_query(self, query: str, cursor: int = -1) -> None:
        """Replace the query, and move the cursor to the character `cursor`; -1 is the end."""
        self.field.value = query
        self.field.cursor_position = len(query) if cursor < 0 else cursor
        self.field.on_resize()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return False for an action of the menu while the menu is closed."""
        if not action.startswith("menu_"):
            return super().check_action(action, parameters)
        return self.menu.is_open and (action != "menu_forget" or self.menu.kind in ("history", "saved"))

    @property
    def key_state(self) -> bool:
        """The state by which actions of the bar are enabled: whether the query names a date or time."""
        return bool(self.field.periods)

    def disabled_reason(self, action: str, parameters: tuple[object, ...]) -> str:  # noqa: ARG002 - as others have it
        """Return why an action of the bar is disabled, as a sentence; "" if the action is enabled."""
        if action in ("filter_time", "ignore_time") and not self.key_state:
            return "The query names no time, such as “last week”."
        return ""

    def start_waiting(self) -> None:
        """Show after `_BUSY_AFTER_SECONDS` that a search is running, unless that is shown or scheduled already."""
        if not self._busy_timer.is_pending and not self.status.busy:
            self._busy_timer.schedule(_BUSY_AFTER_SECONDS, self._show_busy)

    def _show_busy(self) -> None:
        self.status.busy = "searching…"

    def show_idle(self) -> None:
        """Stop showing that a search is running."""
        self._busy_timer.stop()
        self.status.busy = ""

    def ask_correction(self, result: Result | None) -> None:
        """Request a corrected query if no hit surely answers it, or if a word of the query looks like a filter."""
        from excerpt.service.questions import AskCorrection

        self.correction = ""
        self._corrected_result = result
        if result is not None and (result.hints or not result.hits or is_unanswered(result)):
            self._engine.ask(AskCorrection(result.query), partial(self._show_correction, result))

    def _show_correction(self, result: Result, correction: str) -> None:
        newest = self._corrected_result
        if correction and newest is not None and newest.query == result.query:
            self.correction = correction
            self._on_correction()

    def _add_settled_query_to_history(self) -> None:
        if self.answered_query and self.answered_query == self.text.strip():
            self.add_to_history()
            self.post_message(QuerySettled())

    def add_to_history(self) -> None:
        """Add the query to the history, because the user has read or used its hits."""
        self._run_history_change(self.queries.add_query_to_history())

    def _run_history_change(self, write: Work | None) -> None:
        if write is not None:
            start_work(self, write, group="history")

    def move_in_history(self, rows: int) -> bool:
        """Put an earlier (`rows` < 0) or later query into the bar, if it is empty or shows a query of the history.

        Returns False if the key is not used, so that it moves the cursor of the list.
        """
        field = self.field
        if not field.has_focus:
            return False
        was_in_history = self.queries.is_in_history
        query, is_handled = self.queries.step_history(
            rows, is_selected=field.selection == Selection(0, len(field.value))
        )
        if query is not None:
            self.set_query(query)
            # Selected, so that typing replaces it.
            field.selection = Selection(0, len(query))
        elif was_in_history and not self.queries.is_in_history:
            field.cursor_position = len(field.value)
        return is_handled

    async def action_history(self) -> None:
        """Open the menu of the earlier queries that contain the words typed."""
        self.field.focus()
        await self.queries.reload_history()
        if not self.queries.history.queries:
            self.notify("No earlier queries in this vault.", markup=False)
        self._show_history()

    def _show_history(self) -> None:
        field = self.field
        # A query selected as a whole is about to be replaced, so the history is not filtered by it.
        is_edited = field.selection.is_empty or len(field.selected_text) < len(field.value)
        typed = field.value.strip() if is_edited else ""
        queries = self.queries.history.filter_by(typed)
        choices = [
            MenuChoice(query, query, match_text=typed if " " not in typed else "")
            for query in queries
            if query != typed
        ]
        self.menu.open(
            "history",
            "Earlier queries",
            f"{_menu_keys()} · {key_sign('menu-forget')} forget",
            choices,
            self._menu_anchor(0),
        )

    def action_complete(self) -> None:
        """Use the corrected query if one is suggested, else list completions of the word at the cursor.

        The user may have closed their menu. An excluded word is searched instead; at a recognised date, list choices.
        """
        if self.correction:
            self.set_query(self.correction)
            return
        self.field.focus()
        if excluded := self.field.exclusion_at_cursor:
            self.set_query(*include_word(self.text, excluded.start, excluded.end))
            return
        if period := self.field.period_at_cursor:
            self._show_period_choices(period)
            return
        self.queries.ask_completions_at(self.field.cursor_position, partial(self._show_completions, by_key=True))

    def _update_menu_while_typing(self) -> None:
        """Update the menu while the user types; a filter's first characters open the menu of completions."""
        menu = self.menu
        if menu.kind == "history" and menu.is_open:
            self._show_history()
            return
        completes = menu.is_open and menu.kind == "complete"
        cursor = self.field.cursor_position
        if not self.queries.complete_while_typing(cursor, self._show_completions, is_menu_open=completes):
            menu.close()

    def _show_completions(self, completions: Sequence[Completion], *, by_key: bool = False) -> None:
        cursor_token = self.queries.cursor_token
        if cursor_token is None or not self.field.has_focus:
            return
        units = {"fragment": "passage"}
        choices = [
            MenuChoice(
                completion.label,
                *apply_completion(self.text, cursor_token, completion.text),
                detail=format_count(completion.count, units.get(completion.unit, completion.unit))
                if completion.count
                else "",
                match_text=cursor_token.value,
            )
            for completion in completions
        ]
        if [choice.label.casefold() for choice in choices] == [cursor_token.value.casefold()]:
            choices = []
        if by_key and not choices:
            self.notify("No completions for this word.", markup=False)
        title = (
            f"{cursor_token.operator}:"
            if cursor_token.operator not in ("", "#")
            else cursor_token.operator or "Words and filters"
        )
        self.menu.open("complete", visible_line(title), _menu_keys(), choices, self._menu_anchor(cursor_token.start))

    def _show_period_choices(self, period: QuerySpan) -> None:
        filtered = filter_period(self.text, period.start, period.end, period.filter)
        ignored, end = ignore_period(self.text, period.start, period.end)
        choices = [
            MenuChoice("only notes of this time", *filtered, detail=period.filter),
            MenuChoice("ignore the time", ignored, end, detail=visible_line(ignored[period.start : end])),
        ]
        self.menu.open("time", visible_line(period.text), _menu_keys(), choices, self._menu_anchor(period.start))

    def action_filter_time(self) -> None:
        """Replace the recognised date at the cursor, else the first one of the query, by its filter."""
        if period := self._target_period:
            self.set_query(*filter_period(self.text, period.start, period.end, period.filter))

    def action_ignore_time(self) -> None:
        """Make the words of the recognised date at the cursor, else of the first one of the query, plain words."""
        if period := self._target_period:
            self.set_query(*ignore_period(self.text, period.start, period.end))

    @property
    def _target_period(self) -> QuerySpan | None:
        return self.field.period_at_cursor or next(iter(self.field.periods), None)

    def action_sort(self) -> None:
        """Put the next order at the end of the query, whose cursor stays, and name it; without dates, say so."""
        if not self._has_dates:
            self.notify("No note of this vault has a date of its own: the order stays.")
            return
        query, order = use_next_order(self.text)
        self.set_query(query, min(self.field.cursor_position, len(query)))
        self.notify(f"Sorted: {order}.")

    def action_suggest(self) -> None:
        """Request narrower and wider queries, and list them in the menu."""
        self.field.focus()
        self.queries.ask_suggestions(self._show_suggestions)

    def _show_suggestions(self, suggestions: Sequence[Suggestion]) -> None:
        if not self.field.has_focus:
            return
        choices = [
            MenuChoice(each.label, each.query, detail=format_count(each.hits, "hit"), prefix=each.way)
            for each in suggestions
        ]
        if not choices:
            self.notify("No narrower or wider queries.", markup=False)
        self.menu.open("suggest", "Narrower and wider", _menu_keys(), choices, self._menu_anchor(0))

    async def action_saved(self) -> None:
        """Open the menu of saved queries."""
        self.field.focus()
        saved = await self._change_saved_queries(lambda queries: queries)
        if saved is None:
            return
        if not saved.queries:
            self.notify("No saved queries yet.", markup=False)
        self._news = {}
        self._show_saved_queries(saved.queries)
        self.queries.ask_news(saved.queries, partial(self._show_query_news, saved.queries))

    def _show_saved_queries(self, saved: Sequence[SavedQuery], cursor: int = 0) -> None:
        """Show the menu of saved queries, each with its news, or else with its text if it has another name."""
        choices = [
            MenuChoice(
                each.name,
                each.query,
                detail=news.count_text
                if (news := self._news.get(each.query)) and news.count_text
                else visible_line(each.query if each.query != each.name else ""),
            )
            for each in saved
        ]
        keys = f"{_menu_keys()} · {key_sign('menu-forget')} delete"
        self.menu.open("saved", "Saved queries", keys, choices, self._menu_anchor(0))
        self.menu.cursor = cursor

    def _show_query_news(self, saved: Sequence[SavedQuery], news: QueryNews) -> bool:
        """Show the news of a saved query in the menu; return whether the menu still lists `saved`."""
        is_listed = self.menu.kind == "saved" and [each.query for each in saved] == [
            choice.query for choice in self.menu.choices
        ]
        if is_listed:
            self._news[news.query] = news
            if news.count_text:
                self._show_saved_queries(saved, self.menu.cursor)
        return is_listed

    async def action_save_query(self) -> None:
        """Add the query to the saved queries, with its own text as its name."""
        query = self.text.strip()
        if query and await self._change_saved_queries(lambda queries: queries.with_query(query, query)) is not None:
            self.queries.mark_seen(query)
            self.notify(f"Saved: {visible_line(query)}", markup=False)

    async def _change_saved_queries(self, change: Callable[[SavedQueries], SavedQueries]) -> SavedQueries | None:
        """Change the file of saved queries with `change`, and return the new saved queries.

        Returns None if no store is open or the file cannot be written; an error is shown.
        """
        if self.queries.store is None:
            return None
        try:
            return await self.queries.store.change(change)
        except ExcerptError as error:
            self.notify(str(error), title=error.title, severity="error", markup=False)
            return None

    def _menu_anchor(self, index: int) -> Offset:
        """Return the screen cell for the menu's left edge, which puts its labels below character `index`."""
        field = self.field
        cell = field._position_to_cell(index) - field.scroll_offset.x
        return Offset(field.region.x + max(cell, 0) - 2, field.region.y)

    def action_menu_move(self, rows: int) -> None:
        self.menu.move(rows)

    def action_menu_take(self) -> None:
        if (choice := self.menu.selected_choice) is not None:
            self._use_choice(choice)

    @on(QueryMenu.ChoiceClicked)
    def _use_clicked_choice(self, event: QueryMenu.ChoiceClicked) -> None:
        event.stop()
        self._use_choice(event.choice)

    def _use_choice(self, choice: MenuChoice) -> None:
        kind = self.menu.kind
        self.menu.close()
        self.set_query(choice.query, choice.cursor)
        if kind == "saved":
            self._report_news(choice.query)
            self.queries.mark_seen(choice.query)
        if kind == "complete" and choice.query[: choice.cursor].endswith(":"):
            self.queries.ask_completions(token_at(choice.query, choice.cursor), self._show_completions)

    def _report_news(self, query: str) -> None:
        """Name the notes with new passages of a saved query, because the list of hits does not mark them."""
        news = self._news.get(query)
        if news is not None and news.count_text:
            titles = list(dict.fromkeys(hit.fragment.title for hit in (*news.new, *news.changed)))
            more = f" and {len(titles) - _MAX_NEWS_TITLES} more" if len(titles) > _MAX_NEWS_TITLES else ""
            listed = visible_line(", ".join(titles[:_MAX_NEWS_TITLES]))
            self.notify(f"{news.count_text}: {listed}{more}", markup=False)

    async def action_menu_forget(self) -> None:
        choice, cursor = self.menu.selected_choice, self.menu.cursor
        if choice is None:
            return
        if self.menu.kind == "saved":
            await self._change_saved_queries(lambda queries: queries.without(choice.label))
            await self.action_saved()
        else:
            self._run_history_change(self.queries.forget(choice.query))
            self._show_history()
        self.menu.cursor = cursor

    def action_menu_leave(self) -> None:
        self.menu.close()
        self.queries.dismiss_completions()

    @on(Input.Blurred)
    def _close_menu(self) -> None:
        self.menu.close()

    @on(QueryInput.ChipDropped)
    def _drop_chip(self, event: QueryInput.ChipDropped) -> None:
        """Remove a filter from the query, or make the words of a recognised date plain words."""
        event.stop()
        span, value = event.query_span, self.field.value
        if value[span.start : span.end] == span.text:
            drop = ignore_period if span.filter else remove_span
            self.set_query(*drop(value, span.start, span.end))


def _menu_keys() -> str:
    return f"{key_sign('menu-take')} take · {key_sign('menu-close')} close"
