"""The lines of an overview: at the left which part, at the right how much, as bars where that says more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.style import Style
from textual.binding import BindingType
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from excerpt.insight.overview_parts import (
    KeyPassage,
    KeySection,
    LinkedName,
    MainNote,
    Month,
    Overview,
    RelatedNote,
    Standout,
    Theme,
    Timeline,
)
from excerpt.text.counted import counted, percent
from excerpt.text.visible import visible_line
from excerpt.tui.bindings import bindings
from excerpt.tui.common.row_list import RowList
from excerpt.tui.common.strips import Part, fit, line, share_bar, sparkline
from excerpt.tui.insight.overview_rows import (
    Row,
    below_title,
    counts_by_time,
    first_rows,
    label,
    rows_of,
    span_of,
)

_LABEL = 10
"""Cells of a part's name at the left."""
_GUTTER = _LABEL + 2
_WIDE = 56
"""Cells beside the gutter from which on counts are said in words."""
_BAR = 8
_MOST_BARS = 40
"""Bars of a timeline; with more months than that, some share one."""

Cells = tuple[list[Part], list[Part]]
"""What stands at the left of a line and at its right."""


class OverviewList(RowList):
    """One line an item, a part's name before its first. As many as fit, or all."""

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
    """Whether lines are shown that do not fit, to be scrolled to."""
    unfolded: reactive[frozenset[str]] = reactive(frozenset(), init=False)
    """The parts of which that is done alone."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._rows: tuple[Row, ...] = ()

    @property
    def row_count(self) -> int:
        return len(self._rows)

    @property
    def rows(self) -> tuple[Row, ...]:
        return self._rows

    @property
    def selected(self) -> Row | None:
        return self._rows[self.cursor] if self._rows else None

    @property
    def hidden(self) -> int:
        """How many lines there are beside those shown."""
        return sum(row.hidden for row in self._rows)

    class Laid(Message):
        """Other lines are shown, or fewer, or more."""

    def watch_overview(self, old: Overview | None, new: Overview | None) -> None:
        """Of the same topic, the cursor stays on what it was on."""
        same = old is not None and new is not None and old.topic == new.topic
        if not same:
            self.set_reactive(OverviewList.unfolded, frozenset())
        self._lay_out(keep=same)

    def watch_every_line(self) -> None:
        self._lay_out(keep=True)

    def watch_unfolded(self) -> None:
        self._lay_out(keep=True)

    def on_resize(self) -> None:
        self._lay_out(keep=True)

    def _lay_out(self, *, keep: bool) -> None:
        selected, cursor = self.selected, self.cursor
        # That of both where the passage stands below: whoever walks through passages wants the same lines.
        room = None if self.every_line else self.query_ancestor("#overview-body", Widget).size.height - 1
        self._rows = rows_of(self.overview, room, self.unfolded) if self.overview is not None else ()
        self.rows_changed(_row_of(selected, cursor, self._rows) if keep else 0)
        self.post_message(self.Laid())

    async def action_pane(self, action: str) -> None:
        """Do what the pane around does by that name."""
        await self.app.run_action(action, self.query_ancestor("OverviewPane"))

    def next_part(self) -> None:
        """To the first line of the next part; from the last to the first."""
        firsts = first_rows(self._rows)
        self.cursor = next((at for at in firsts if at > self.cursor), 0)

    def action_unfold(self) -> None:
        """Show all lines of the part."""
        if self.selected is not None:
            self.unfolded |= {self.selected.part}

    def action_fold(self) -> None:
        """Show as many lines of the part as fit."""
        if self.selected is not None:
            self.unfolded -= {self.selected.part}

    # --- drawing ------------------------------------------------------------------------------------------------------

    def draw_row(self, row: int, width: int, selected: bool, base: Style) -> Sequence[Strip]:
        shown = self._rows[row]
        edge: Part = ("▌" if selected else " ", self.style_of("row--bar"))
        left, right = self._cells(shown, width - _GUTTER)
        return (line([edge, *self._gutter(shown), *left], [*right, (" ", base)], width, base),)

    def _gutter(self, row: Row) -> list[Part]:
        if row.opens:
            told = f"{row.part} +{row.hidden:,}" if row.hidden else row.part
            name = told if len(told) <= _LABEL else row.part
            return [(f"{name:<{_LABEL}} ", self.style_of("overview--part"))]
        more = f"+{row.hidden:,} more" if row.hidden else ""
        return [(f"{more:>{_LABEL}} ", self.style_of("row--faint"))]

    def _cells(self, row: Row, room: int) -> Cells:
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
            case Standout():
                cells = self._standout(item, wide)
            case RelatedNote():
                cells = self._related(item, wide)
            case LinkedName():
                cells = self._linked_name(item, wide)
            case Timeline():
                cells = self._timeline(item, room)
            case Month():
                cells = self._month(row, item)
        return cells

    def _main_note(self, row: Row, note: MainNote, wide: bool) -> Cells:
        told = f"{note.fragments:,} of its {note.of:,}" if wide else f"{note.fragments:,}/{note.of:,}"
        return [self._title(row.place.title)], self._share(row.of_highest, note.share, told, 16 if wide else 8)

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

    def _theme(self, row: Row, theme: Theme, wide: bool) -> Cells:
        words: list[Part] = []
        for number, word in enumerate(theme.words):
            words += [self._faint(" · ")] if number else []
            words.append((visible_line(word), self.style_of("overview--label")))
        told = f"{theme.fragments:,} in {counted(theme.notes, 'note')}" if wide else f"{theme.fragments:,}"
        return words, self._share(row.of_highest, theme.share, told, 16 if wide else 8)

    def _standout(self, one: Standout, wide: bool) -> Cells:
        if wide:
            told = f"{one.here:,} of {one.here_of:,} here · {one.overall:,} of {one.overall_of:,} in all"
        else:
            told = f"{_percent(one.here, one.here_of)} here · {_percent(one.overall, one.overall_of)} in all"
        return [(visible_line(label(one)), self.style_of("overview--label"))], [self._faint(told)]

    def _related(self, note: RelatedNote, wide: bool) -> Cells:
        by, to = len(note.linked_from), len(note.links_to)
        if wide:
            said = [f"linked from {by:,}"] * bool(by) + [f"links to {to:,}"] * bool(to)
            told = " · ".join(said)
        else:
            told = " ".join([f"←{by:,}"] * bool(by) + [f"→{to:,}"] * bool(to))
        return [(visible_line(note.place.title), Style.null())], [self._faint(told)]

    def _linked_name(self, name: LinkedName, wide: bool) -> Cells:
        left: list[Part] = [(visible_line(name.name), Style.null())]
        if name.path is None:
            left.append(self._faint(" no note yet"))
        told = f"in {counted(name.notes, 'note')}"
        return left, [self._faint(f"{told} here · {name.overall:,} in all" if wide else told)]

    def _timeline(self, dates: Timeline, room: int) -> Cells:
        span = f"  {span_of(dates)}"
        undated = f" · {dates.undated:,} undated" if dates.undated else ""
        told = f"{visible_line(dates.date)}{undated}"
        cells = room - cell_len(span) - cell_len(told) - 1
        bars = sparkline(counts_by_time(dates, min(_MOST_BARS, max(cells, 6))))
        return [(bars, self.style_of("overview--bar")), self._soft(span)], [self._faint(told)]

    def _month(self, row: Row, month: Month) -> Cells:
        return [self._soft(f"{month.month} "), self._bar(row.of_highest)], [self._faint(counted(month.notes, "note"))]

    def _share(self, of_highest: float, share: float, told: str, room: int) -> list[Part]:
        return [self._bar(of_highest), self._soft(f"{percent(share):>6}"), self._faint(f"{told:>{room}}")]

    def _bar(self, of_highest: float) -> Part:
        return share_bar(of_highest, _BAR), self.style_of("overview--bar")

    def _title(self, title: str) -> Part:
        return visible_line(title), self.style_of("overview--title")

    def _soft(self, text: str) -> Part:
        return text, self.style_of("overview--soft")

    def _faint(self, text: str) -> Part:
        return text, self.style_of("row--faint")


def _row_of(selected: Row | None, cursor: int, rows: Sequence[Row]) -> int:
    """Where the line stands that was selected: the same item, else the same place of its part, else the same line."""
    if selected is None:
        return 0
    same = [at for at, row in enumerate(rows) if row.item == selected.item]
    near = [at for at, row in enumerate(rows) if (row.part, row.place.path) == (selected.part, selected.place.path)]
    return next(iter((*same, *near)), cursor)


def _percent(count: int, of: int) -> str:
    return percent(count / of if of else 0)
