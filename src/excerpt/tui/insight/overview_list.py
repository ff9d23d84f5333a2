"""The overview of a topic as a list of lines: which lines fit, what each shows, and the search for its item."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby
from typing import ClassVar

from msgspec import Struct
from rich.cells import cell_len
from rich.style import Style
from textual.binding import BindingType
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from excerpt.insight.overview_parts import (
    DistinctiveLabel,
    KeyPassage,
    KeySection,
    LabelKind,
    LinkedName,
    LinkedNote,
    MainNote,
    Month,
    Overview,
    SourceLocation,
    Theme,
    Timeline,
)
from excerpt.text.display import format_count, format_percent, visible_line
from excerpt.tui.active_keys import bindings
from excerpt.tui.common.row_list import RowList
from excerpt.tui.common.strips import StyledPart, fit, horizontal_bar, line, sparkline

OverviewItem = (
    MainNote | KeySection | KeyPassage | Theme | DistinctiveLabel | LinkedNote | LinkedName | Timeline | Month
)
"""What a line of the overview can show."""


class OverviewRow(Struct, frozen=True):
    """A line of the overview: the name of its part, the item it shows, and the location of the item.

    `relative_value` is the value of the item's bar, relative to the largest of the part, 0 to 1. `hidden_count` is the
    number of items of the part that are not shown; it is set only in the last line of the part.
    """

    part: str
    item: OverviewItem
    place: SourceLocation
    relative_value: float = 0.0
    hidden_count: int = 0
    is_first: bool = False
    """Whether this is the first line of its part."""


class _ListPart(Struct, frozen=True):
    """A part of the overview: items of one kind with their locations.

    `min_shown` items are shown before any part shows more than its own `min_shown`. If `is_chronological`, the items
    stay in their order; else they are sorted by the value of their bar.
    """

    name: str
    items: tuple[tuple[OverviewItem, SourceLocation], ...]
    min_shown: int
    is_chronological: bool = False


def make_overview_rows(
    overview: Overview, room: int | None = None, unfolded: Collection[str] = ()
) -> tuple[OverviewRow, ...]:
    """Return the lines of an overview: all lines, or as many as fit into a height of `room` lines.

    With `room`, each part first gets one line, then up to its `min_shown` lines. While there is room, each part in turn
    then gets one more line. The parts named in `unfolded` are shown whole, even without room.
    """
    parts = [part for part in _make_list_parts(overview) if part.items]
    if room is None:
        counts = [len(part.items) for part in parts]
    else:
        counts = [1] * len(parts)
        for limits in ([part.min_shown for part in parts], [len(part.items) for part in parts]):
            _distribute_rows(
                counts, [min(limit, len(part.items)) for limit, part in zip(limits, parts, strict=True)], room
            )
    shown = [len(part.items) if part.name in unfolded else count for part, count in zip(parts, counts, strict=True)]
    return tuple(row for part, count in zip(parts, shown, strict=True) for row in _make_part_rows(part, count))


def _distribute_rows(shown: list[int], limits: Sequence[int], room: int) -> None:
    """Add 1 to each of the counts `shown` in turn, up to its limit in `limits`, until their sum is `room`."""
    while sum(shown) < room and any(count < maximum for count, maximum in zip(shown, limits, strict=True)):
        for number, limit in enumerate(limits):
            if shown[number] < limit and sum(shown) < room:
                shown[number] += 1


def _make_part_rows(part: _ListPart, count: int) -> Iterator[OverviewRow]:
    maximum = max((_bar_value(item) for item, _ in part.items), default=0.0) or 1.0
    shown = part.items[:count]
    if not part.is_chronological:  # the best items, longest bar first
        shown = tuple(sorted(shown, key=lambda one: -_bar_value(one[0])))
    for number, (item, place) in enumerate(shown):
        hidden_count = len(part.items) - count if number == count - 1 else 0
        yield OverviewRow(part.name, item, place, _bar_value(item) / maximum, hidden_count, is_first=number == 0)


def _bar_value(item: OverviewItem) -> float:
    """Return the value that the bar of an item shows."""
    if isinstance(item, MainNote | Theme):
        return item.share
    return float(item.notes) if isinstance(item, Month) else 0.0


def _make_list_parts(overview: Overview) -> tuple[_ListPart, ...]:
    dates = overview.timeline
    # The timeline as a whole leads to its newest month.
    months: list[tuple[OverviewItem, SourceLocation]] = [(month, month.place) for month in reversed(dates.months)]
    when: list[tuple[OverviewItem, SourceLocation]] = [(dates, dates.months[-1].place), *months] if months else []
    return (
        _ListPart("main notes", tuple((one, one.place) for one in overview.main_notes), 5),
        _ListPart("sections", tuple((one, one.place) for one in overview.sections), 3),
        _ListPart("passages", tuple((one, one.place) for one in overview.passages), 3),
        _ListPart("themes", tuple((one, one.place) for one in overview.themes), 3),
        _ListPart("stands out", tuple((one, one.place) for one in overview.standouts), 2),
        _ListPart("related", tuple((one, one.place) for one in overview.related), 2),
        _ListPart("names", tuple((one, one.place) for one in overview.names), 1),
        _ListPart("when", tuple(when), 1, is_chronological=True),
    )


# --- words ------------------------------------------------------------------------------------------------------------


def format_headline(overview: Overview) -> str:
    """Return how much of the vault is about the topic, such as `12 passages in 5 of 171 notes`."""
    notes = f"{overview.notes:,} of {format_count(overview.vault_notes, 'note')}"
    return f"{format_count(overview.fragments, 'passage')} in {notes}"


def format_headings(place: SourceLocation) -> str:
    """Return the headings of a location, such as `Setup › Linux`, without the title of the note."""
    path = place.heading_path
    return " › ".join(path[1:] if path[:1] == (place.title,) else path)


def format_label(standout: DistinctiveLabel) -> str:
    """Return the text for a tag (`#sync`), a folder (`Work/`) or a property's value (`status: done`)."""
    labels = {LabelKind.TAG: f"#{standout.value}", LabelKind.FOLDER: f"{standout.value}/"}
    return labels.get(standout.kind, f"{standout.name}: {standout.value}")


def format_month_range(dates: Timeline) -> str:
    """Return the first and the last month of a timeline, such as `2024-01 – 2025-03`; one month if they are equal."""
    first, last = dates.months[0].month, dates.months[-1].month
    return f"{first} – {last}" if first != last else first


def count_notes_by_period(dates: Timeline, max_periods: int) -> list[int]:
    """Return the number of notes in each of at most `max_periods` periods of a timeline.

    All periods have the same number of months; the last period ends with the last month. Months without notes count as
    0.
    """
    notes = {_month_number(month.month): month.notes for month in dates.months}
    first, last = min(notes), max(notes)
    step = -(-(last - first + 1) // max(max_periods, 1))
    begin = last - (-(-(last - first + 1) // step)) * step + 1
    return [sum(notes.get(at, 0) for at in range(start, start + step)) for start in range(begin, last + 1, step)]


def _month_number(month: str) -> int:
    year, number = month.split("-")
    return int(year) * 12 + int(number) - 1


# --- searches ---------------------------------------------------------------------------------------------------------


def build_search(row: OverviewRow, overview: Overview) -> tuple[str, tuple[str, ...]]:
    """Return the query that finds the item of a line, and the filters to add to this query."""
    item, topic, date = row.item, overview.topic, overview.timeline.date
    filters: tuple[str, ...]
    match item:
        case Theme():
            return f"{topic} {' '.join(item.words)}", ()
        case LinkedName(path=None):
            # A quotation mark would end the phrase.
            words = item.name if '"' in item.name else _quote(item.name)
            return f"{topic} {words}", ()
        case LinkedName():
            filters = (f"link:{_quote((item.path or item.name).removesuffix('.md'))}",)
        case DistinctiveLabel():
            filters = (item.filter,) if item.filter else ()
        case Timeline():
            filters = (_date_filter(date, item.months[0].month, item.months[-1].month),)
        case Month():
            filters = (_date_filter(date, item.month, item.month),)
        case _:
            filters = (f"path:{_quote('/' + row.place.path)}",)
    if isinstance(item, KeySection) and row.place.heading_path:
        filters = (*filters, f"heading:{_quote(row.place.heading_path[-1])}")
    return topic, filters


def _date_filter(date: str, first: str, last: str) -> str:
    name = _quote(date) if any(sign.isspace() or sign in '":' for sign in date) else date
    return f"{name}:{first}..{last}"


def _quote(value: str) -> str:
    """Return the value in quotation marks, with quotation marks inside it doubled."""
    return '"' + value.replace('"', '""') + '"'


def find_part_starts(rows: Sequence[OverviewRow]) -> list[int]:
    """Return the row numbers of the first line of each part."""
    return [next(numbers)[0] for _, numbers in groupby(enumerate(rows), key=lambda pair: pair[1].part)]


_PART_NAME_CELLS = 10
"""Width in cells of the column with the names of the parts."""
_GUTTER_CELLS = _PART_NAME_CELLS + 2
_MIN_CELLS_FOR_WORDS = 56
"""Minimum cells beside the column of part names to show counts in words."""
_BAR_CELLS = 8
_MAX_TIMELINE_BARS = 40
"""Maximum number of bars of a timeline. If there are more months, several months share a bar."""

LineParts = tuple[list[StyledPart], list[StyledPart]]
"""The styled texts at the left end and at the right end of a line."""


class OverviewList(RowList):
    """List of the lines of an overview, one for each item: as many lines as fit, or all lines.

    The first line of each part begins with the name of the part.
    """

    ROW_HEIGHT = 1
    BINDINGS: ClassVar[list[BindingType]] = bindings("Overview tab, focus on the lines")

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "overview--part",
        "overview--title",
        "overview--soft",
        "overview--bar",
        "overview--label",
    }

    DEFAULT_CSS = """
    OverviewList {
        & > .overview--part { color: $text-soft; text-style: bold; }
        & > .overview--title { text-style: bold; }
        & > .overview--soft { color: $text-soft; }
        & > .overview--bar { color: $primary; }
        & > .overview--label { color: $secondary; }
    }
    """

    overview: reactive[Overview | None] = reactive(None, init=False)
    every_line: reactive[bool] = reactive(False, init=False)
    """Whether to list all lines, also those that do not fit; the list then scrolls."""
    unfolded: reactive[frozenset[str]] = reactive(frozenset(), init=False)
    """Names of the parts of which all lines are listed, even if `every_line` is off."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._rows: tuple[OverviewRow, ...] = ()

    @property
    def row_count(self) -> int:
        return len(self._rows)

    @property
    def rows(self) -> tuple[OverviewRow, ...]:
        return self._rows

    @property
    def selected(self) -> OverviewRow | None:
        return self._rows[self.cursor] if self._rows else None

    @property
    def hidden_count(self) -> int:
        """Number of lines of the overview that are not listed."""
        return sum(row.hidden_count for row in self._rows)

    class LinesChanged(Message):
        """Posted when the listed lines may have changed."""

    def watch_overview(self, old: Overview | None, new: Overview | None) -> None:
        """Show the new overview. If its topic is the same as before, keep the cursor on its item."""
        is_same_topic = old is not None and new is not None and old.topic == new.topic
        if not is_same_topic:
            self.set_reactive(OverviewList.unfolded, frozenset())
        self._lay_out(keeps_cursor=is_same_topic)

    def watch_every_line(self) -> None:
        self._lay_out(keeps_cursor=True)

    def watch_unfolded(self) -> None:
        self._lay_out(keeps_cursor=True)

    def on_resize(self) -> None:
        self._lay_out(keeps_cursor=True)

    def _lay_out(self, *, keeps_cursor: bool) -> None:
        selected, cursor = self.selected, self.cursor
        # The height of list and passage together, so that opening the passage below does not change the lines.
        room = None if self.every_line else self.query_ancestor("#overview-body", Widget).size.height - 1
        self._rows = make_overview_rows(self.overview, room, self.unfolded) if self.overview is not None else ()
        self.redraw_rows(_find_row(selected, cursor, self._rows) if keeps_cursor else 0)
        self.post_message(self.LinesChanged())

    def move_to_next_part(self) -> None:
        """Move the cursor to the first line of the next part; from the last part to the first part."""
        firsts = find_part_starts(self._rows)
        self.cursor = next((at for at in firsts if at > self.cursor), 0)

    def action_unfold(self) -> None:
        """Show all lines of the selected part."""
        if self.selected is not None:
            self.unfolded |= {self.selected.part}

    def action_fold(self) -> None:
        """Show only as many lines of the selected part as fit."""
        if self.selected is not None:
            self.unfolded -= {self.selected.part}

    # --- drawing ------------------------------------------------------------------------------------------------------

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
        shown = self._rows[row]
        edge = self.cursor_bar(selected)
        left, right = self._draw_item(shown, width - _GUTTER_CELLS)
        return (line([edge, *self._draw_gutter(shown), *left], [*right, (" ", base)], width, base),)

    def _draw_gutter(self, row: OverviewRow) -> list[StyledPart]:
        if row.is_first:
            title = f"{row.part} +{row.hidden_count:,}" if row.hidden_count else row.part
            name = title if len(title) <= _PART_NAME_CELLS else row.part
            return [(f"{name:<{_PART_NAME_CELLS}} ", self.style_of("overview--part"))]
        more = f"+{row.hidden_count:,} more" if row.hidden_count else ""
        return [(f"{more:>{_PART_NAME_CELLS}} ", self.style_of("row--faint"))]

    def _draw_item(self, row: OverviewRow, room: int) -> LineParts:
        item, is_wide = row.item, room >= _MIN_CELLS_FOR_WORDS
        match item:
            case MainNote():
                cells = self._draw_main_note(row, item, is_wide)
            case KeySection():
                cells = self._draw_section(item)
            case KeyPassage():
                cells = self._draw_passage(item, room)
            case Theme():
                cells = self._draw_theme(row, item, is_wide)
            case DistinctiveLabel():
                cells = self._draw_standout(item, is_wide)
            case LinkedNote():
                cells = self._draw_linked_note(item, is_wide)
            case LinkedName():
                cells = self._draw_linked_name(item, is_wide)
            case Timeline():
                cells = self._draw_timeline(item, room)
            case Month():
                cells = self._draw_month(row, item)
        return cells

    def _draw_main_note(self, row: OverviewRow, note: MainNote, is_wide: bool) -> LineParts:
        counts = f"{note.fragments:,} of its {note.of:,}" if is_wide else f"{note.fragments:,}/{note.of:,}"
        return [self.vault_part(row.place.path), self._title_part(row.place.title)], self._draw_share(
            row.relative_value, note.share, counts, 16 if is_wide else 8
        )

    def _draw_section(self, section: KeySection) -> LineParts:
        below = format_headings(section.place)
        left = [self.vault_part(section.place.path), self._title_part(below or section.place.title)]
        if below:
            left.append(self._soft_part(f" · {visible_line(section.place.title)}"))
        return left, [self._faint_part(f"{section.tokens:,}t")]

    def _draw_passage(self, passage: KeyPassage, room: int) -> LineParts:
        before, after = "…" if passage.cut_before else "", "…" if passage.cut_after else ""
        text = f"{before}{visible_line(passage.text)}{after}"
        title = f"{self.vault_part(passage.place.path)[0]}{visible_line(passage.place.title)}"
        title = fit(title, room // 3 if room >= _MIN_CELLS_FOR_WORDS else 0)
        return [(text, Style.null())], [self._faint_part(title)] if title else []

    def _draw_theme(self, row: OverviewRow, theme: Theme, is_wide: bool) -> LineParts:
        words: list[StyledPart] = []
        for number, word in enumerate(theme.words):
            words += [self._faint_part(" · ")] if number else []
            words.append((visible_line(word), self.style_of("overview--label")))
        counts = f"{theme.fragments:,} in {format_count(theme.notes, 'note')}" if is_wide else f"{theme.fragments:,}"
        return words, self._draw_share(row.relative_value, theme.share, counts, 16 if is_wide else 8)

    def _draw_standout(self, standout: DistinctiveLabel, is_wide: bool) -> LineParts:
        if is_wide:
            here = f"{standout.in_topic:,} of {standout.topic_size:,}"
            overall = f"{standout.overall:,} of {standout.overall_of:,}"
        else:
            here = _format_percent(standout.in_topic, standout.topic_size)
            overall = _format_percent(standout.overall, standout.overall_of)
        counts = f"{here} here · {overall} in all"
        return [(visible_line(format_label(standout)), self.style_of("overview--label"))], [self._faint_part(counts)]

    def _draw_linked_note(self, note: LinkedNote, is_wide: bool) -> LineParts:
        by, to = len(note.linked_from), len(note.links_to)
        if is_wide:
            parts = [f"linked from {by:,}"] * bool(by) + [f"links to {to:,}"] * bool(to)
            counts = " · ".join(parts)
        else:
            counts = " ".join([f"←{by:,}"] * bool(by) + [f"→{to:,}"] * bool(to))
        left = [self.vault_part(note.place.path), (visible_line(note.place.title), Style.null())]
        return left, [self._faint_part(counts)]

    def _draw_linked_name(self, name: LinkedName, is_wide: bool) -> LineParts:
        left: list[StyledPart] = [(visible_line(name.name), Style.null())]
        if name.path is None:
            left.append(self._faint_part(" no note yet"))
        counts = f"in {format_count(name.notes, 'note')}"
        return left, [self._faint_part(f"{counts} here · {name.overall:,} in all" if is_wide else counts)]

    def _draw_timeline(self, dates: Timeline, room: int) -> LineParts:
        span = f"  {format_month_range(dates)}"
        undated = f" · {dates.undated:,} undated" if dates.undated else ""
        dates_text = f"{visible_line(dates.date)}{undated}"
        cells = room - cell_len(span) - cell_len(dates_text) - 1
        bars = sparkline(count_notes_by_period(dates, min(_MAX_TIMELINE_BARS, max(cells, 6))))
        return [(bars, self.style_of("overview--bar")), self._soft_part(span)], [self._faint_part(dates_text)]

    def _draw_month(self, row: OverviewRow, month: Month) -> LineParts:
        return [self._soft_part(f"{month.month} "), self._draw_bar(row.relative_value)], [
            self._faint_part(format_count(month.notes, "note"))
        ]

    def _draw_share(self, relative_value: float, share: float, counts: str, room: int) -> list[StyledPart]:
        return [
            self._draw_bar(relative_value),
            self._soft_part(f"{format_percent(share):>6}"),
            self._faint_part(f"{counts:>{room}}"),
        ]

    def _draw_bar(self, relative_value: float) -> StyledPart:
        return horizontal_bar(relative_value, _BAR_CELLS), self.style_of("overview--bar")

    def _title_part(self, title: str) -> StyledPart:
        return visible_line(title), self.style_of("overview--title")

    def _soft_part(self, text: str) -> StyledPart:
        return text, self.style_of("overview--soft")

    def _faint_part(self, text: str) -> StyledPart:
        return text, self.style_of("row--faint")


def _find_row(selected: OverviewRow | None, cursor: int, rows: Sequence[OverviewRow]) -> int:
    """Return the index in `rows` of the line that was selected before.

    The line found shows the same item, else the same note in the same part; if there is none, `cursor` is returned.
    """
    if selected is None:
        return 0
    same_item = [at for at, row in enumerate(rows) if row.item == selected.item]
    same_note = [
        at for at, row in enumerate(rows) if (row.part, row.place.path) == (selected.part, selected.place.path)
    ]
    return next(iter((*same_item, *same_note)), cursor)


def _format_percent(count: int, of: int) -> str:
    return format_percent(count / of if of else 0)
