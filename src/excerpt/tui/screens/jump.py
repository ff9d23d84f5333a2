"""Jump: a letter on each pane, row, field and tab in sight; typing it goes there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.screen import ModalScreen, Screen
from textual.widget import Widget
from textual.widgets import Input, Static

from excerpt.tui.jump import labels
from excerpt.tui.screens.dialog import Leaving
from excerpt.tui.widgets.hit_list import HitList
from excerpt.tui.widgets.memory_list import MemoryList
from excerpt.tui.widgets.overview_list import OverviewList
from excerpt.tui.widgets.row_list import RowList
from excerpt.tui.widgets.tab_bar import TABS, TabBar

_MOVED_FROM_FIELD = (HitList, OverviewList, MemoryList)
"""In their rows one moves from the field; who types there goes on typing."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A place to go to: where its label stands, in cells of the screen, and what going there does."""

    x: int
    y: int
    go: Callable[[], object]


def spots_of(screen: Screen[object]) -> list[Spot]:
    """Rows first, as they are what one goes to most and get the easiest letters; then panes, fields and tabs."""
    rows: list[Spot] = []
    others: list[Spot] = []
    for widget in screen.query(Widget):
        region = screen.find_widget(widget).visible_region if widget.is_on_screen else None
        if not region:
            continue
        if isinstance(widget, RowList):
            rows.extend(_rows(widget))
        if isinstance(widget, TabBar):
            others.extend(_tabs(widget))
        elif widget.focusable and not (isinstance(widget, RowList) and widget.row_count):
            others.append(Spot(max(0, region.x - 1), region.y, widget.focus))
    return [*rows, *others]


def _rows(rows: RowList) -> Iterator[Spot]:
    region, height = rows.screen.find_widget(rows).visible_region, rows.row_height
    top = rows.scroll_offset.y
    for row in range(-(-top // height), min(rows.row_count, (top + region.height - 1) // height + 1)):
        yield Spot(region.x, region.y + row * height - top, partial(_go_to_row, rows, row))


def _go_to_row(rows: RowList, row: int) -> None:
    typing = isinstance(rows.screen.focused, Input) and isinstance(rows, _MOVED_FROM_FIELD)
    if rows.focusable and not typing:
        rows.focus()
    rows.cursor = row


def _tabs(tabs: TabBar) -> Iterator[Spot]:
    x = tabs.region.x
    for tab in TABS:
        yield Spot(x, tabs.region.y, partial(tabs.post_message, TabBar.Picked(tab)))
        x += len(tab) + 2


class Jump(ModalScreen[Spot], Leaving[Spot]):
    """Dismissed with the place whose label was typed, or None by any other key."""

    DEFAULT_CSS = """
    Jump {
        background: $background 40%;
        & > .jump--label {
            position: absolute;
            width: auto;
            height: 1;
            background: $accent;
            color: $background;
            text-style: bold;
        }
    }
    """

    def __init__(self, spots: list[Spot]) -> None:
        super().__init__()
        self._spots = dict(zip(labels(len(spots)), spots, strict=False))
        self._typed = ""

    def compose(self) -> ComposeResult:
        for label, spot in self._spots.items():
            drawn = Static(Content(label), classes="jump--label", name=label)
            drawn.styles.offset = (spot.x, spot.y)
            yield drawn

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        self._typed += event.key
        if self._typed in self._spots:
            self.dismiss(self._spots[self._typed])
        elif not any(label.startswith(self._typed) for label in self._spots):
            self.dismiss(None)
        else:
            for drawn in self.query(".jump--label"):
                drawn.display = (drawn.name or "").startswith(self._typed)

    def on_click(self) -> None:
        self.dismiss(None)

    def on_resize(self, event: events.Resize) -> None:
        """What the labels stood on is elsewhere."""
        if self.is_current and event.size != self._size_at_start:
            self.dismiss(None)

    def on_mount(self) -> None:
        self._size_at_start = self.app.size
