"""Two panes of a tab, side by side or stacked, with a border between them that the user can drag, or move by keys.

The first pane is a list. The second pane has a context (a view of the selected row), a panel (such as the pack), or
both.
"""

from __future__ import annotations

from msgspec import Struct
from textual import events
from textual.containers import Container
from textual.geometry import NULL_OFFSET, NULL_SPACING, Region, Size
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.message import Message
from textual.reactive import reactive, var
from textual.widget import Widget

DEFAULT_LIST_SHARE = 0.46
"""Share of the width or height for the list, 0 to 1, until the user drags the border."""

MIN_COLUMNS_BESIDE = 100
"""Minimum columns for panes side by side: each pane then has room for a line of prose."""
MIN_ROWS_STACKED = 13
"""Minimum rows for stacked panes: four fragments in the list and as many lines below."""
MIN_ROWS_FOR_CONTEXT_AND_PANEL = 16
"""Minimum rows for a context and a panel below it, in a pane beside the list."""

_MIN_COLUMNS = 28
_MIN_ROWS = 3
_MIN_SHARE, _MAX_SHARE = 0.15, 0.85
_STEP_SHARE = 0.05
"""Share of the width or height by which a key moves the border."""


class SplitArrangement(Struct, frozen=True):
    """The visible parts of a split.

    `list_cells` is the width of the list in columns if `is_side_by_side`, else its height in rows; 0 if the list is
    hidden. `has_context` and `has_panel` say what is visible besides the list.
    """

    is_side_by_side: bool
    list_cells: int
    has_context: bool
    has_panel: bool

    @property
    def is_divided(self) -> bool:
        """Whether there is a movable border between two panes."""
        return self.list_cells > 0 and (self.has_context or self.has_panel)


def clamp_share(share: float) -> float:
    """Return `share` (0 to 1), limited to the range that leaves room for both panes."""
    return max(_MIN_SHARE, min(_MAX_SHARE, round(share, 3)))


def compute_arrangement(
    share: float,
    columns: int,
    rows: int,
    *,
    context: bool,
    panel: bool,
    prefers_context: bool = False,
) -> SplitArrangement:
    """Return what is visible in a split of `columns` by `rows` cells, of which the list has `share`, 0 to 1.

    `context` and `panel` say whether there is a context or a panel to show. `prefers_context` says that the context
    replaces the list if there is no room for both.
    """
    is_side_by_side = columns >= MIN_COLUMNS_BESIDE
    if not (context or panel):
        return SplitArrangement(is_side_by_side, columns if is_side_by_side else rows, False, False)
    if is_side_by_side:
        has_context = context and (not panel or rows >= MIN_ROWS_FOR_CONTEXT_AND_PANEL)
        return SplitArrangement(is_side_by_side, _split_cells(share, columns, _MIN_COLUMNS), has_context, panel)
    if rows < MIN_ROWS_STACKED:
        replaces_list = context and prefers_context and not panel
        return SplitArrangement(is_side_by_side, 0 if panel or replaces_list else rows, replaces_list, panel)
    first = _split_cells(share, rows, _MIN_ROWS)
    return SplitArrangement(is_side_by_side, first, context and not panel, panel)


def _split_cells(share: float, length: int, minimum: int) -> int:
    """Return the cells of the first of two parts: `share` of `length`, with at least `minimum` for each part."""
    return max(minimum, min(length - minimum, round(share * length)))


_NO_ARRANGEMENT = SplitArrangement(False, 0, True, False)


class Splitter(Widget):
    """The one-column border between two panes that are side by side."""

    DEFAULT_CSS = """
    Splitter {
        width: 1;
        border-left: vkey $border-blurred;
        pointer: ew-resize;
        &:hover, &.-dragged { border-left: vkey $accent; }
    }
    """


class Split(Container):
    """A container of two panes, side by side or stacked depending on its size.

    The container has the class `-beside` if the panes are side by side, and `-no-panel` if no panel is shown. Widgets
    of class `context` within the second pane are shown if there is room for a context.
    """

    share: reactive[float] = reactive(DEFAULT_LIST_SHARE, init=False)
    """Share of the width or height for the first pane, 0 to 1."""
    context: var[bool] = var(True, init=False)
    """Whether there is a context to show."""
    panel: var[bool] = var(False, init=False)
    """Whether a panel is open."""
    prefers_context: var[bool] = var(False, init=False)
    """Whether the user asked for the context, so that the context replaces the list if there is no room for both.

    With `by_key`, the context is visible beside the list without being asked for. Asking for it there hides it.
    """
    stacked_share: var[float] = var(DEFAULT_LIST_SHARE, init=False)
    """Share of the height for the first pane above the second, 0 to 1, unless the user has chosen a share."""

    class Dragged(Message):
        """Sent when the user gives the first pane another share of the width or height, 0 to 1."""

        def __init__(self, share: float) -> None:
            super().__init__()
            self.share = share

    def __init__(self, *children: Widget, by_key: bool = False, extra: float = 0.0, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        """Prepare the container. `extra` is added to the share of a first pane that contains more than a list.

        With `by_key`, a context below the list is shown only if the user asks for it with a key.
        """
        super().__init__(Splitter(), *children, id=id)
        self._by_key = by_key
        self._extra = extra
        self._split_layout = _SplitLayout()
        self._is_dragging = False
        self._arrangement = _NO_ARRANGEMENT

    @property
    def layout(self) -> Layout:
        return self._split_layout

    @property
    def arrangement(self) -> SplitArrangement:
        """What is visible now."""
        return self._arrangement

    @property
    def _panes(self) -> tuple[Widget, Widget]:
        first, second = (child for child in self.children if not isinstance(child, Splitter))
        return first, second

    @property
    def _divided_length(self) -> int:
        """Columns or rows that the two panes share."""
        return self.size.width if self._arrangement.is_side_by_side else self.size.height

    def move_border(self, steps: int) -> None:
        """Move the border by a twentieth of the window, at least by a cell, towards the end or, below 0, the start."""
        if self._arrangement.is_divided:
            cells = steps * max(1, round(_STEP_SHARE * self._divided_length))
            self.resize((self._arrangement.list_cells + cells) / self._divided_length - self._extra)

    def resize(self, share: float) -> None:
        """Request a share for the first pane, 0 to 1, that the user chose."""
        self.post_message(self.Dragged(share))

    # --- what is in sight ---------------------------------------------------------------------------------------------

    def validate_share(self, share: float) -> float:
        return clamp_share(share)

    def arrange_panes(self) -> None:
        """Compute what is visible, and lay out the screen if that has changed."""
        arrangement = self.arrangement_for(self.size)
        if not self.size or arrangement == self._arrangement:
            return
        self._arrangement = arrangement
        first, second = self._panes
        first.display = arrangement.list_cells > 0
        second.display = arrangement.has_context or arrangement.has_panel
        splitter = self.query_one(Splitter)
        splitter.display = arrangement.is_side_by_side and arrangement.is_divided
        self.set_class(arrangement.is_side_by_side, "-beside")
        self.show_context()
        self.set_class(not arrangement.has_panel, "-no-panel")
        # Requested by a child, because a request by this widget would not move its children.
        splitter.refresh(layout=True)
        self._move_hidden_focus(first if first.display else second)

    on_resize = watch_share = watch_context = watch_panel = watch_prefers_context = watch_stacked_share = arrange_panes

    def show_context(self) -> None:
        """Show or hide the context within the second pane.

        This sets the widget's `display`. A class of this container would restyle all widgets in it at the first letter
        of a query, which takes longer than drawing the hits.
        """
        for context in self._panes[1].query(".context"):
            context.display = self._arrangement.has_context

    def _move_hidden_focus(self, target: Widget) -> None:
        """Move the focus to `target` if the pane that has it is hidden, since keys would have no effect."""
        arrangement = self._arrangement
        passage = arrangement.has_context or (self._by_key and arrangement.has_panel)
        focused, second = self.screen.focused, self._panes[1]
        if focused is None or self not in focused.ancestors:
            return
        if second not in focused.ancestors_with_self:
            is_visible = arrangement.list_cells > 0
        else:
            in_panel = any(widget.has_class("panel") for widget in focused.ancestors_with_self)
            is_visible = arrangement.has_panel if in_panel else passage
        if not is_visible:
            self.screen.set_focus(next((one for one in (target, *target.query("*")) if one.focusable), None))

    def arrangement_for(self, size: Size) -> SplitArrangement:
        """Return what would be visible if this container had that size."""
        columns, rows = size
        context, panel = self.context, self.panel
        if self._by_key:
            is_side_by_side = columns >= MIN_COLUMNS_BESIDE
            # Below the list it is shown like a panel, if asked for.
            is_panel = not is_side_by_side and self.prefers_context
            context, panel = context and is_side_by_side and not self.prefers_context, context and is_panel
        has_chosen = self.share != DEFAULT_LIST_SHARE
        is_stacked = columns < MIN_COLUMNS_BESIDE
        share = clamp_share((self.stacked_share if is_stacked and not has_chosen else self.share) + self._extra)
        prefers_context = self.prefers_context and not self._by_key
        return compute_arrangement(
            share,
            columns,
            rows,
            context=context,
            panel=panel,
            prefers_context=prefers_context,
        )

    # --- the mouse ----------------------------------------------------------------------------------------------------

    def on_mouse_down(self, event: events.MouseDown) -> None:
        if self._arrangement.is_divided and self._mouse_cell(event) == self._arrangement.list_cells:
            self._is_dragging = True
            self.capture_mouse()
            self.query_one(Splitter).add_class("-dragged")
            event.stop()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._is_dragging and self._divided_length:
            self.resize(self._mouse_cell(event) / self._divided_length - self._extra)

    def on_mouse_up(self) -> None:
        self._end_drag()

    def on_mouse_release(self) -> None:
        self._end_drag()

    def _end_drag(self) -> None:
        if self._is_dragging:
            self._is_dragging = False
            self.release_mouse()
            self.query_one(Splitter).remove_class("-dragged")

    def _mouse_cell(self, event: events.MouseEvent) -> int:
        """Return the column of the mouse if the panes are side by side, else its row, from the first pane's start."""
        offset = event.screen_offset - self.region.offset
        return offset.x if self._arrangement.is_side_by_side else offset.y


class _SplitLayout(Layout):
    """The layout of a `Split`, in one pass: setting a width at each resize would lay out twice."""

    name = "split"

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> ArrangeResult:  # noqa: ARG002 - Textual's shape
        assert isinstance(parent, Split)
        panes = [child for child in children if not isinstance(child, Splitter)]
        # The first frame is drawn before the first resize event.
        arrangement = parent.arrangement_for(size) if parent.arrangement is _NO_ARRANGEMENT else parent.arrangement
        regions = _compute_regions(arrangement, size, len(panes))
        placements = [_place_widget(widget, region) for widget, region in zip(panes, regions, strict=True)]
        if len(panes) > 1 and arrangement.is_side_by_side:
            column = Region(arrangement.list_cells, 0, 1, size.height)
            placements += [_place_widget(child, column) for child in children if isinstance(child, Splitter)]
        return placements


def _compute_regions(arrangement: SplitArrangement, size: Size, panes: int) -> list[Region]:
    whole = size.region
    if panes < 2:
        return [whole] * panes
    if arrangement.is_side_by_side:
        left, right = whole.split_vertical(arrangement.list_cells)
        return [left, Region(right.x + 1, 0, max(0, right.width - 1), right.height)]
    return list(whole.split_horizontal(arrangement.list_cells))


def _place_widget(widget: Widget, region: Region) -> WidgetPlacement:
    return WidgetPlacement(region, NULL_OFFSET, NULL_SPACING, widget)
