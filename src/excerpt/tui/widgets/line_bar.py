"""The scrollbar of a line-drawn widget."""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip


class LineBar(ScrollBar):
    """One column. Of its lines most are alike, so each kind is made once; Textual takes every line through all that it
    does for a widget, which was a third of the time of drawing a list."""

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
        made: dict[Segment, Strip] = {}
        strips: list[Strip] = []
        for segment in lines.segments[crop.y : crop.bottom]:
            strip = made.get(segment)
            if strip is None:
                strip = Strip([segment], 1)
                for one in filters:
                    strip = strip.apply_filter(one, background)
                made[segment] = strip
            strips.append(strip)
        return strips
