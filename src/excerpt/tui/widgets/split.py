"""Two panes of a tab, one beside or below the other, with a border between them that can be dragged."""

from __future__ import annotations

from textual import events
from textual.containers import Container
from textual.geometry import NULL_OFFSET, NULL_SPACING, Region, Size
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.message import Message
from textual.reactive import reactive, var
from textual.widget import Widget

from excerpt.tui.panes import BESIDE_FROM, SHARE, Arrangement, arranged, within

_NOT_YET = Arrangement(False, 0, True, False)


class Splitter(Widget):
    """The column between two panes that stand beside one another."""

    DEFAULT_CSS = """
    Splitter {
        width: 1;
        border-left: vkey $border-blurred;
        pointer: ew-resize;
        &:hover, &.-dragged { border-left: vkey $accent; }
    }
    """


class Split(Container):
    """Lay two children out as there is room. It has the class `-beside` where they stand so, and `-no-panel` where
    the second child is to leave it out. What in that has the class `context` is shown where there is room for one."""

    share: reactive[float] = reactive(SHARE, init=False)
    """The first pane's part of the room, 0 to 1."""
    context: var[bool] = var(True, init=False)
    """Whether there is a context to show."""
    panel: var[bool] = var(False, init=False)
    """Whether a panel is open."""
    asked: var[bool] = var(False, init=False)
    """Where the context is shown `by_key`: whether that key was pressed. Beside the list it then hides it."""
    least: var[float] = var(0.0, init=False)
    """The part of the height that the second pane wants at least, until the user says otherwise."""

    class Dragged(Message):
        """The user wants the first pane to have that part of the room, 0 to 1."""

        def __init__(self, share: float) -> None:
            super().__init__()
            self.share = share

    def __init__(self, *children: Widget, by_key: bool = False, extra: float = 0.0, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        """`extra` is added to the share of the first pane, where it holds more than a list."""
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
        """What is in sight."""
        return self._shown

    @property
    def _panes(self) -> tuple[Widget, Widget]:
        first, second = (child for child in self.children if not isinstance(child, Splitter))
        return first, second

    @property
    def _length(self) -> int:
        return self.size.width if self._shown.beside else self.size.height

    def resize(self, share: float) -> None:
        """The user wants the first pane to have that part, whatever a panel would like."""
        self.least = 0.0
        self.post_message(self.Dragged(share))

    # --- what is in sight ---------------------------------------------------------------------------------------------

    def on_resize(self) -> None:
        self.arrange_panes()

    def validate_share(self, share: float) -> float:
        return within(share)

    def watch_share(self) -> None:
        self.arrange_panes()

    def watch_context(self) -> None:
        self.arrange_panes()

    def watch_panel(self) -> None:
        self.arrange_panes()

    def watch_asked(self) -> None:
        self.arrange_panes()

    def watch_least(self) -> None:
        self.arrange_panes()

    def arrange_panes(self) -> None:
        """Work out what is in sight, and lay the screen out if it is something else than before."""
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
        # A widget's own request leaves its children where they are.
        splitter.refresh(layout=True)
        self._pass_focus_on(first if first.display else second)

    def show_context(self) -> None:
        """Show the context within the second child, or not. By a class of this one, as panels are, all within would be
        styled anew at the first letter of a query, which takes longer than to draw its hits."""
        for context in self._panes[1].query(".context"):
            context.display = self._shown.context

    def _pass_focus_on(self, seen: Widget) -> None:
        """Where the pane that has the focus goes out of sight, `seen` gets it: keys would lead nowhere."""
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
        """What would be in sight at that size."""
        columns, rows = size
        context, panel = self.context, self.panel
        if self._by_key:
            beside = columns >= BESIDE_FROM
            # Below, it was asked for, as a panel is.
            context, panel = context and beside and not self.asked, context and not beside and self.asked
        share = within(self.share + self._extra)
        return arranged(share, columns, rows, context=context, panel=panel, least=self.least)

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
        """Where the mouse is along the panes, in cells from the first one's beginning."""
        at = event.screen_offset - self.region.offset
        return at.x if self._shown.beside else at.y


class _SplitLayout(Layout):
    """The children where the split says. All in one pass: a width set at each resize would lay out twice."""

    name = "split"

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> ArrangeResult:  # noqa: ARG002 - Textual's shape
        assert isinstance(parent, Split)
        panes = [child for child in children if not isinstance(child, Splitter)]
        # The first frame is drawn before a size is told.
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
