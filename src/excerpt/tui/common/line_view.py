"""The base class of widgets that draw their own lines: scrolling causes no layout, and lines have no decoration."""

from __future__ import annotations

from typing import Self

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip
from textual.widget import Widget


class LineBar(ScrollBar):
    """A scrollbar of one column that draws equal lines only once.

    Most lines of a scrollbar are equal. Textual draws each line separately, which took a third of the time of drawing a
    list.
    """

    def render_lines(self, crop: Region) -> list[Strip]:
        bar = self.render()
        assert isinstance(bar, ScrollBarRender)
        assert isinstance(bar.style, Style)
        assert bar.style.color is not None
        assert bar.style.bgcolor is not None
        lines = bar.render_bar(
            size=self.size.height,
            virtual_size=bar.virtual_size,
            window_size=bar.window_size,
            position=bar.position,
            back_color=bar.style.bgcolor,
            bar_color=bar.style.color,
        )
        background, filters = self.background_colors[1], self.get_line_filters()
        cache: dict[Segment, Strip] = {}
        strips: list[Strip] = []
        for segment in lines.segments[crop.y : crop.bottom]:
            strip = cache.get(segment)
            if strip is None:
                strip = Strip([segment], 1)
                for line_filter in filters:
                    strip = strip.apply_filter(line_filter, background)
                cache[segment] = strip
            strips.append(strip)
        return strips


class LineView(ScrollView, can_focus=True):
    """A widget that draws its own lines; their number is set by `set_line_count`."""

    DEFAULT_CSS = """
    LineView {
        background: $background;
        color: $foreground;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
    }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, classes=classes)
        self._base: Style | None = None

    def focus(self, scroll_visible: bool = True) -> Self:
        """Focus the widget at once, not after queued messages, so that the next key goes to this widget."""
        self.screen.set_focus(self, scroll_visible)
        return self

    async def _on_key(self, event: events.Key) -> None:
        """Handle a key before the next one is read; Textual would pass the key up to the app first."""
        if await self.app._check_bindings(event.key):
            event.stop()

    @property
    def base_style(self) -> Style:
        """The widget's own style, cached because Textual computes the style at each access."""
        if self._base is None:
            self._base = self.rich_style
        return self._base

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        """A `LineBar`, created at the first access."""
        if self._vertical_scrollbar is None:
            self._vertical_scrollbar = LineBar(name="vertical", thickness=self.scrollbar_size_vertical)
            self._vertical_scrollbar.display = False
            self.app._start_widget(self, self._vertical_scrollbar)
        return self._vertical_scrollbar

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Refresh as Textual does, but without the scrollbar, which refreshes itself."""
        if repaint and not layout and not recompose and self.is_mounted:
            gutter, size = self.styles.gutter, self.outer_size
            lines = Region(-gutter.left, -gutter.top, size.width - self.scrollbar_size_vertical, size.height)
            regions = tuple(region.intersection(lines) for region in regions) or (lines,)
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return the drawn lines, which fill their width and have all their colours.

        Textual would make five more strips of each line, for borders, padding and shades that do not exist, and one for
        each filter: more than half of the time of a list. An upper border is drawn as Textual does; so is everything if
        there are other gutters.
        """
        above, right, below, left = self.styles.gutter
        if right or below or left:
            return super().render_lines(crop)
        border = Region(crop.x, crop.y, crop.width, max(0, min(above - crop.y, crop.height)))
        strips = super().render_lines(border) if border.height else []
        background, filters = self.background_colors[1], self.get_line_filters()
        width = self.scrollable_content_region.width
        for y in range(border.bottom - above, crop.bottom - above):
            strip = self.render_line(y)
            for line_filter in filters:
                strip = strip.apply_filter(line_filter, background)
            strips.append(strip)
        if (crop.x, crop.right) not in ((0, width), (0, self.region.width)):
            strips = [strip.crop(crop.x, crop.right) for strip in strips]
        return strips

    def set_line_count(self, lines: int) -> None:
        """Set the number of lines to scroll over, and redraw.

        Setting `virtual_size` would lay out and draw the whole screen at each key typed. The scrollbar always has its
        column, so only this widget and its scrollbar change.
        """
        size = Size(self.scrollable_content_region.width, lines)
        if size != self.virtual_size:
            self.set_reactive(Widget.virtual_size, size)
            self._scroll_update(size)
        self.refresh()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._base = None
