"""Two panes of a tab, beside or below each other, with a border between them that can be dragged."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events
from textual.containers import Container
from textual.geometry import NULL_OFFSET, NULL_SPACING, Region, Size
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.message import Message
from textual.reactive import reactive, var
from textual.widget import Widget

SHARE = 0.46
"""The list's share of the body, across or down, until the border is dragged."""

BESIDE_FROM = 100
"""Minimum columns to show the context beside the list: each then has room for a line of prose."""
BELOW_FROM = 13
"""Minimum rows of the body for two panes below each other: four fragments and as many lines."""
BOTH_FROM = 16
"""Minimum rows of the body for a context above a panel."""

_MIN_COLUMNS = 28
_MIN_ROWS = 3
_MIN_SHARE, _MAX_SHARE = 0.15, 0.85


@dataclass(frozen=True, slots=True)
class Arrangement:
    """The visible parts of a body.

    `first` is the list's columns if `beside`, else its rows: all of them if it is alone, 0 if it is hidden.
    """

    beside: bool
    first: int
    context: bool
    panel: bool

    @property
    def divided(self) -> bool:
        """Whether there is a movable border between two panes."""
        return self.first > 0 and (self.context or self.panel)


def within(share: float) -> float:
    """Return the nearest share that leaves room for both panes."""
    return max(_MIN_SHARE, min(_MAX_SHARE, round(share, 3)))


def arranged(
    share: float, columns: int, rows: int, *, context: bool, panel: bool, asked: bool = False, least: float = 0
) -> Arrangement:
    """Return the visible parts of a body of that size, of which the list has `share`, 0 to 1.

    `context` and `panel`: whether there is one to show. `asked`: whether the context replaces the list if there is no
    room for both. `least` is the minimum share of the height for the other pane if it is below.
    """
    beside = columns >= BESIDE_FROM
    if not (context or panel):
        return Arrangement(beside, columns if beside else rows, False, False)
    if beside:
        both = context and (not panel or rows >= BOTH_FROM)
        return Arrangement(beside, _part(share, columns, _MIN_COLUMNS), both, panel)
    if rows < BELOW_FROM:
        in_place = context and asked and not panel
        return Arrangement(beside, 0 if panel or in_place else rows, in_place, panel)
    first = _part(min(share, 1 - least), rows, _MIN_ROWS)
    return Arrangement(beside, first, context and not panel, panel)


def _part(share: float, length: int, least: int) -> int:
    """Return `share` of `length`, with at least `least` for both parts."""
    return max(least, min(length - least, round(share * length)))


_NOT_YET = Arrangement(False, 0, True, False)


class Splitter(Widget):
    """The column between two panes that are beside each other."""

    DEFAULT_CSS = """
    Splitter {
        width: 1;
        border-left: vkey $border-blurred;
        pointer: ew-resize;
        &:hover, &.-dragged { border-left: vkey $accent; }
    }
    """


class Split(Container):
    """A container of two children, arranged by the available room.

    It has the class `-beside` if they are beside each other, and `-no-panel` if no panel is shown. Widgets of class
    `context` within the second child are shown if there is room for a context.
    """

    share: reactive[float] = reactive(SHARE, init=False)
    """The first pane's share of the room, 0 to 1."""
    context: var[bool] = var(True, init=False)
    """Whether there is a context to show."""
    panel: var[bool] = var(False, init=False)
    """Whether a panel is open."""
    asked: var[bool] = var(False, init=False)
    """Whether the context was asked for: it replaces the list if there is no room for both.

    If the context is shown `by_key` only, this hides it beside the list.
    """
    least: var[float] = var(0.0, init=False)
    """Minimum share of the height for the second pane, until the user resizes."""

    class Dragged(Message):
        """The user wants the first pane to have this share of the room, 0 to 1."""

        def __init__(self, share: float) -> None:
            super().__init__()
            self.share = share

    def __init__(self, *children: Widget, by_key: bool = False, extra: float = 0.0, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        """Prepare the container; `extra` is added to the share of the first pane, if it holds more than a list."""
        super().__init__(Splitter(), *children, id=id)
        self._by_key = by_key
        self._extra = extra
        self._split_layout = _SplitLayout()
        self._dragging = False
        self._shown = _NOT_YET

    @property
    def layout(self) -> Layout:
        return self._split_layout

    @property
    def shown(self) -> Arrangement:
        """The visible parts."""
        return self._shown

    @property
    def _panes(self) -> tuple[Widget, Widget]:
        first, second = (child for child in self.children if not isinstance(child, Splitter))
        return first, second

    @property
    def _length(self) -> int:
        return self.size.width if self._shown.beside else self.size.height

    def resize(self, share: float) -> None:
        """Give the first pane a share that the user chose, whatever a panel would like."""
        self.least = 0.0
        self.post_message(self.Dragged(share))

    # --- what is in sight ---------------------------------------------------------------------------------------------

    def validate_share(self, share: float) -> float:
        return within(share)

    def arrange_panes(self) -> None:
        """Compute the visible parts, and lay out the screen if they have changed."""
        shown = self.wanted(self.size)
        if not self.size or shown == self._shown:
            return
        self._shown = shown
        first, second = self._panes
        first.display = shown.first > 0
        second.display = shown.context or shown.panel
        splitter = self.query_one(Splitter)
        splitter.display = shown.beside and shown.divided
        self.set_class(shown.beside, "-beside")
        self.show_context()
        self.set_class(not shown.panel, "-no-panel")
        # Requested by a child, because a request by this widget would not move its children.
        splitter.refresh(layout=True)
        self._pass_focus_on(first if first.display else second)

    on_resize = watch_share = watch_context = watch_panel = watch_asked = watch_least = arrange_panes

    def show_context(self) -> None:
        """Show or hide the context within the second child.

        Not by a class of this widget, which would restyle everything within at the first letter of a query and take
        longer than to draw its hits.
        """
        for context in self._panes[1].query(".context"):
            context.display = self._shown.context

    def _pass_focus_on(self, seen: Widget) -> None:
        """Move the focus to `seen` if the pane that has it is hidden, since keys would have no effect."""
        shown = self._shown
        passage = shown.context or (self._by_key and shown.panel)
        focused, second = self.screen.focused, self._panes[1]
        if focused is None or self not in focused.ancestors:
            return
        if second not in focused.ancestors_with_self:
            still = shown.first > 0
        else:
            in_panel = any(widget.has_class("panel") for widget in focused.ancestors_with_self)
            still = shown.panel if in_panel else passage
        if not still:
            self.screen.set_focus(next((one for one in (seen, *seen.query("*")) if one.focusable), None))

    def wanted(self, size: Size) -> Arrangement:
        """Return what would be visible at that size."""
        columns, rows = size
        context, panel = self.context, self.panel
        if self._by_key:
            beside = columns >= BESIDE_FROM
            # Below the list it is shown like a panel, if asked for.
            context, panel = context and beside and not self.asked, context and not beside and self.asked
        share = within(self.share + self._extra)
        asked = self.asked and not self._by_key
        return arranged(share, columns, rows, context=context, panel=panel, asked=asked, least=self.least)

    # --- the mouse ----------------------------------------------------------------------------------------------------

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if self._shown.divided and self._place(event) == self._shown.first:
            self._dragging = True
            self.capture_mouse()
            self.query_one(Splitter).add_class("-dragged")
            event.stop()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._dragging and self._length:
            self.resize(self._place(event) / self._length - self._extra)

    def on_mouse_up(self) -> None:
        self._dropped()

    def on_mouse_release(self) -> None:
        self._dropped()

    def _dropped(self) -> None:
        if self._dragging:
            self._dragging = False
            self.release_mouse()
            self.query_one(Splitter).remove_class("-dragged")

    def _place(self, event: events.MouseEvent) -> int:
        """Return the mouse position along the panes, in cells from the start of the first one."""
        at = event.screen_offset - self.region.offset
        return at.x if self._shown.beside else at.y


class _SplitLayout(Layout):
    """The layout of a `Split`, in one pass: setting a width at each resize would lay out twice."""

    name = "split"

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> ArrangeResult:  # noqa: ARG002 - Textual's shape
        assert isinstance(parent, Split)
        panes = [child for child in children if not isinstance(child, Splitter)]
        # The first frame is drawn before the first resize event.
        shown = parent.wanted(size) if parent.shown is _NOT_YET else parent.shown
        regions = _regions(shown, size, len(panes))
        placements = [_placed(widget, region) for widget, region in zip(panes, regions, strict=True)]
        if len(panes) > 1 and shown.beside:
            column = Region(shown.first, 0, 1, size.height)
            placements += [_placed(child, column) for child in children if isinstance(child, Splitter)]
        return placements


def _regions(shown: Arrangement, size: Size, panes: int) -> list[Region]:
    whole = size.region
    if panes < 2:
        return [whole] * panes
    if shown.beside:
        left, right = whole.split_vertical(shown.first)
        return [left, Region(right.x + 1, 0, max(0, right.width - 1), right.height)]
    return list(whole.split_horizontal(shown.first))


def _placed(widget: Widget, region: Region) -> WidgetPlacement:
    return WidgetPlacement(region, NULL_OFFSET, NULL_SPACING, widget)
