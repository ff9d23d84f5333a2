"""The overview as a list of lines: which lines fit, what each shows, and which search finds it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar

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

Item = MainNote | KeySection | KeyPassage | Theme | DistinctiveLabel | LinkedNote | LinkedName | Timeline | Month


@dataclass(frozen=True, slots=True)
class OverviewRow:
    """A line of the overview: its part, the item it shows, and the location of the item.

    `relative_value` is its share relative to the highest of its part, 0 to 1, if it has one. `hidden` is the number of
    items of its part that are not shown; it is set on the last line of the part.
    """

    part: str
    item: Item
    place: SourceLocation
    relative_value: float = 0.0
    hidden: int = 0
    is_first: bool = False
    """Whether it is the first line of its part."""


@dataclass(frozen=True, slots=True)
class _ListPart:
    """Items of one kind, of which `min_shown` are shown before any other part shows more than its own `min_shown`."""

    name: str
    items: tuple[tuple[Item, SourceLocation], ...]
    min_shown: int
    is_chronological: bool = False


def rows_of(overview: Overview, room: int | None = None, unfolded: Collection[str] = ()) -> tuple[OverviewRow, ...]:
    """Return the lines of an overview: all of them, or as many as fit into `room` lines.

    With `room`, each part gets one line, then up to its `min_shown`, then one more in turn while there is room. The
    parts in `unfolded` are shown whole, even if there is no room.
    """
    parts = [part for part in _parts(overview) if part.items]
    if room is None:
        counts = [len(part.items) for part in parts]
    else:
        counts = [1] * len(parts)
        for limits in ([part.min_shown for part in parts], [len(part.items) for part in parts]):
            _fill(counts, [min(limit, len(part.items)) for limit, part in zip(limits, parts, strict=True)], room)
    shown = [len(part.items) if part.name in unfolded else count for part, count in zip(parts, counts, strict=True)]
    return tuple(row for part, count in zip(parts, shown, strict=True) for row in _rows(part, count))


def _fill(shown: list[int], limits: Sequence[int], room: int) -> None:
    """Add 1 to each count in turn, up to `limits` for each and `room` for their sum."""
    while sum(shown) < room and any(count < maximum for count, maximum in zip(shown, limits, strict=True)):
        for number, limit in enumerate(limits):
            if shown[number] < limit and sum(shown) < room:
                shown[number] += 1


def _rows(part: _ListPart, count: int) -> Iterator[OverviewRow]:
    maximum = max((_size(item) for item, _ in part.items), default=0.0) or 1.0
    shown = part.items[:count]
    if not part.is_chronological:  # the best items, longest bar first
        shown = tuple(sorted(shown, key=lambda one: -_size(one[0])))
    for number, (item, place) in enumerate(shown):
        hidden = len(part.items) - count if number == count - 1 else 0
        yield OverviewRow(part.name, item, place, _size(item) / maximum, hidden, is_first=number == 0)


def _size(item: Item) -> float:
    """Return the value that the bar of an item shows."""
    if isinstance(item, MainNote | Theme):
        return item.share
    return float(item.notes) if isinstance(item, Month) else 0.0


def _parts(overview: Overview) -> tuple[_ListPart, ...]:
    dates = overview.timeline
    # The timeline as a whole leads to its newest month.
    months: list[tuple[Item, SourceLocation]] = [(month, month.place) for month in reversed(dates.months)]
    when: list[tuple[Item, SourceLocation]] = [(dates, dates.months[-1].place), *months] if months else []
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


def headline(overview: Overview) -> str:
    """Return how much of the vault is about the topic."""
    notes = f"{overview.notes:,} of {format_count(overview.vault_notes, 'note')}"
    return f"{format_count(overview.fragments, 'fragment')} in {notes}"


def below_title(place: SourceLocation) -> str:
    """Return the headings above a location, without the title of the note."""
    path = place.heading_path
    return " › ".join(path[1:] if path[:1] == (place.title,) else path)


def label(standout: DistinctiveLabel) -> str:
    """Return a tag, a folder or the value of a property as it is written."""
    labels = {LabelKind.TAG: f"#{standout.value}", LabelKind.FOLDER: f"{standout.value}/"}
    return labels.get(standout.kind, f"{standout.name}: {standout.value}")


def span_of(dates: Timeline) -> str:
    """Return the first and the last month; one month alone if they are the same."""
    first, last = dates.months[0].month, dates.months[-1].month
    return f"{first} – {last}" if first != last else first


def counts_by_time(dates: Timeline, max_periods: int) -> list[int]:
    """Return the number of notes in each period from the first to the last month, for at most `max_periods` periods.

    Periods have the same number of months; the last one ends with the last month. Months without notes count as 0.
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


def search_for(row: OverviewRow, overview: Overview) -> tuple[str, tuple[str, ...]]:
    """Return the query that finds what a line shows, and the filters to add to it."""
    item, topic, date = row.item, overview.topic, overview.timeline.date
    filters: tuple[str, ...]
    match item:
        case Theme():
            return f"{topic} {' '.join(item.words)}", ()
        case LinkedName(path=None):
            # A quotation mark would end the phrase.
            words = item.name if '"' in item.name else _quoted(item.name)
            return f"{topic} {words}", ()
        case LinkedName():
            filters = (f"link:{_quoted((item.path or item.name).removesuffix('.md'))}",)
        case DistinctiveLabel():
            filters = (item.filter,) if item.filter else ()
        case Timeline():
            filters = (_date_filter(date, item.months[0].month, item.months[-1].month),)
        case Month():
            filters = (_date_filter(date, item.month, item.month),)
        case _:
            filters = (f"path:{_quoted('/' + row.place.path)}",)
    if isinstance(item, KeySection) and row.place.heading_path:
        filters = (*filters, f"heading:{_quoted(row.place.heading_path[-1])}")
    return topic, filters


def _date_filter(date: str, first: str, last: str) -> str:
    name = _quoted(date) if any(sign.isspace() or sign in '":' for sign in date) else date
    return f"{name}:{first}..{last}"


def _quoted(value: str) -> str:
    """Return the value in quotation marks. Those inside it are doubled."""
    return '"' + value.replace('"', '""') + '"'


def first_rows(rows: Sequence[OverviewRow]) -> list[int]:
    """Return the row numbers of the first line of each part."""
    return [next(numbers)[0] for _, numbers in groupby(enumerate(rows), key=lambda pair: pair[1].part)]


_LABEL = 10
"""Width in cells of the names of parts at the left."""
_GUTTER = _LABEL + 2
_WIDE = 56
"""Minimum cells beside the gutter for counts in words."""
_BAR = 8
_MAX_BARS = 40
"""Maximum bars of a timeline. If it has more months, several share a bar."""

Cells = tuple[list[StyledPart], list[StyledPart]]
"""The parts at the left of a line and at its right."""


class OverviewList(RowList):
    """List of the lines of an overview, one for each item: as many as fit, or all.

    The first line of a part begins with its name.
    """

    ROW_HEIGHT = 1
    BINDINGS: ClassVar[list[BindingType]] = bindings("Overview, with the lines focused")

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
    """Whether to list the lines that do not fit too; the list then scrolls."""
    unfolded: reactive[frozenset[str]] = reactive(frozenset(), init=False)
    """The parts for which this is done alone."""

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
    def hidden(self) -> int:
        """Number of lines that are not shown."""
        return sum(row.hidden for row in self._rows)

    class LaidOut(Message):
        """Posted when the lines were laid out again."""

    def watch_overview(self, old: Overview | None, new: Overview | None) -> None:
        """Show another overview. If the topic is the same, keep the cursor on its item."""
        is_same_topic = old is not None and new is not None and old.topic == new.topic
        if not is_same_topic:
            self.set_reactive(OverviewList.unfolded, frozenset())
        self._lay_out(keep=is_same_topic)

    def watch_every_line(self) -> None:
        self._lay_out(keep=True)

    def watch_unfolded(self) -> None:
        self._lay_out(keep=True)

    def on_resize(self) -> None:
        self._lay_out(keep=True)

    def _lay_out(self, *, keep: bool) -> None:
        selected, cursor = self.selected, self.cursor
        # The height of list and passage together, so that opening the passage below does not change the lines.
        room = None if self.every_line else self.query_ancestor("#overview-body", Widget).size.height - 1
        self._rows = rows_of(self.overview, room, self.unfolded) if self.overview is not None else ()
        self.redraw_rows(_row_of(selected, cursor, self._rows) if keep else 0)
        self.post_message(self.LaidOut())

    def next_part(self) -> None:
        """Move to the first line of the next part; from the last part to the first."""
        firsts = first_rows(self._rows)
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
        edge: StyledPart = ("▌" if selected else " ", self.style_of("row--bar"))
        left, right = self._cells(shown, width - _GUTTER)
        return (line([edge, *self._gutter(shown), *left], [*right, (" ", base)], width, base),)

    def _gutter(self, row: OverviewRow) -> list[StyledPart]:
        if row.is_first:
            title = f"{row.part} +{row.hidden:,}" if row.hidden else row.part
            name = title if len(title) <= _LABEL else row.part
            return [(f"{name:<{_LABEL}} ", self.style_of("overview--part"))]
        more = f"+{row.hidden:,} more" if row.hidden else ""
        return [(f"{more:>{_LABEL}} ", self.style_of("row--faint"))]

    def _cells(self, row: OverviewRow, room: int) -> Cells:
        item, wide = row.item, room >= _WIDE
        match item:
            case MainNote():
                cells = self._main_note(row, item, wide)
            case KeySection():
                cells = self._section(item)
            case KeyPassage():
                cells = self._passage(item, room)
            case Theme():
                cells = self._theme(row, item, wide)
            case DistinctiveLabel():
                cells = self._standout(item, wide)
            case LinkedNote():
                cells = self._related(item, wide)
            case LinkedName():
                cells = self._linked_name(item, wide)
            case Timeline():
                cells = self._timeline(item, room)
            case Month():
                cells = self._month(row, item)
        return cells

    def _main_note(self, row: OverviewRow, note: MainNote, wide: bool) -> Cells:
        counts = f"{note.fragments:,} of its {note.of:,}" if wide else f"{note.fragments:,}/{note.of:,}"
        return [self._title(row.place.title)], self._share(row.relative_value, note.share, counts, 16 if wide else 8)

    def _section(self, section: KeySection) -> Cells:
        below = below_title(section.place)
        left = [self._title(below or section.place.title)]
        if below:
            left.append(self._soft(f" · {visible_line(section.place.title)}"))
        return left, [self._faint(f"{section.tokens:,}t")]

    def _passage(self, passage: KeyPassage, room: int) -> Cells:
        before, after = "…" if passage.cut_before else "", "…" if passage.cut_after else ""
        text = f"{before}{visible_line(passage.text)}{after}"
        title = fit(visible_line(passage.place.title), room // 3 if room >= _WIDE else 0)
        return [(text, Style.null())], [self._faint(title)] if title else []

    def _theme(self, row: OverviewRow, theme: Theme, wide: bool) -> Cells:
        words: list[StyledPart] = []
        for number, word in enumerate(theme.words):
            words += [self._faint(" · ")] if number else []
            words.append((visible_line(word), self.style_of("overview--label")))
        counts = f"{theme.fragments:,} in {format_count(theme.notes, 'note')}" if wide else f"{theme.fragments:,}"
        return words, self._share(row.relative_value, theme.share, counts, 16 if wide else 8)

    def _standout(self, standout: DistinctiveLabel, wide: bool) -> Cells:
        if wide:
            here = f"{standout.here:,} of {standout.here_of:,}"
            overall = f"{standout.overall:,} of {standout.overall_of:,}"
        else:
            here = _percent(standout.here, standout.here_of)
            overall = _percent(standout.overall, standout.overall_of)
        counts = f"{here} here · {overall} in all"
        return [(visible_line(label(standout)), self.style_of("overview--label"))], [self._faint(counts)]

    def _related(self, note: LinkedNote, wide: bool) -> Cells:
        by, to = len(note.linked_from), len(note.links_to)
        if wide:
            parts = [f"linked from {by:,}"] * bool(by) + [f"links to {to:,}"] * bool(to)
            counts = " · ".join(parts)
        else:
            counts = " ".join([f"←{by:,}"] * bool(by) + [f"→{to:,}"] * bool(to))
        return [(visible_line(note.place.title), Style.null())], [self._faint(counts)]

    def _linked_name(self, name: LinkedName, wide: bool) -> Cells:
        left: list[StyledPart] = [(visible_line(name.name), Style.null())]
        if name.path is None:
            left.append(self._faint(" no note yet"))
        counts = f"in {format_count(name.notes, 'note')}"
        return left, [self._faint(f"{counts} here · {name.overall:,} in all" if wide else counts)]

    def _timeline(self, dates: Timeline, room: int) -> Cells:
        span = f"  {span_of(dates)}"
        undated = f" · {dates.undated:,} undated" if dates.undated else ""
        dates_text = f"{visible_line(dates.date)}{undated}"
        cells = room - cell_len(span) - cell_len(dates_text) - 1
        bars = sparkline(counts_by_time(dates, min(_MAX_BARS, max(cells, 6))))
        return [(bars, self.style_of("overview--bar")), self._soft(span)], [self._faint(dates_text)]

    def _month(self, row: OverviewRow, month: Month) -> Cells:
        return [self._soft(f"{month.month} "), self._bar(row.relative_value)], [
            self._faint(format_count(month.notes, "note"))
        ]

    def _share(self, relative_value: float, share: float, counts: str, room: int) -> list[StyledPart]:
        return [self._bar(relative_value), self._soft(f"{format_percent(share):>6}"), self._faint(f"{counts:>{room}}")]

    def _bar(self, relative_value: float) -> StyledPart:
        return horizontal_bar(relative_value, _BAR), self.style_of("overview--bar")

    def _title(self, title: str) -> StyledPart:
        return visible_line(title), self.style_of("overview--title")

    def _soft(self, text: str) -> StyledPart:
        return text, self.style_of("overview--soft")

    def _faint(self, text: str) -> StyledPart:
        return text, self.style_of("row--faint")


def _row_of(selected: OverviewRow | None, cursor: int, rows: Sequence[OverviewRow]) -> int:
    """Return the row of the line that was selected.

    That is the row of the same item, else of the same note in the same part, else the row of the cursor.
    """
    if selected is None:
        return 0
    same_item = [at for at, row in enumerate(rows) if row.item == selected.item]
    same_note = [
        at for at, row in enumerate(rows) if (row.part, row.place.path) == (selected.part, selected.place.path)
    ]
    return next(iter((*same_item, *same_note)), cursor)


def _percent(count: int, of: int) -> str:
    return format_percent(count / of if of else 0)
