"""Drawing of what changed, at once.

Textual's compositor asks every widget for all its lines, whatever part of the screen is to be drawn anew: at 140x45
that is ten containers of forty lines each for one letter in the query's line, four times a key. And its screen draws in
steps of a sixtieth of a second, so that an answer that comes right after the letter was drawn waits for up to 17 ms.

Both stand on parts of Textual that are not public: it is pinned, and tests hold this drawing to Textual's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import cast

from textual import events
from textual._compositor import ChopsUpdate, Compositor
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip
from textual.timer import Timer

FRAME = 1 / 120
"""Seconds between two frames at least."""


class SparingCompositor(Compositor):
    """Asks widgets, those in front first, only for what is drawn anew and what nothing in front covers."""

    _dirty: dict[int, list[tuple[int, int]]] | None = None
    """First column and the one after the last of what is drawn anew, by line; None for all of the screen."""

    def render_partial_update(self) -> ChopsUpdate | None:
        self._dirty = {}
        for y, start, end in self._regions_to_spans(self._dirty_regions):
            self._dirty.setdefault(y, []).append((start, end))
        try:
            return super().render_partial_update()
        finally:
            self._dirty = None

    def _render_chops(self, crop: Region, is_rendered_line: Callable[[int], bool]) -> Sequence[Mapping[int, Strip]]:
        cuts = self.cuts
        chops: list[dict[int, Strip | None]] = [dict.fromkeys(line[:-1]) for line in cuts]
        missing = {y: self._wanted(y) for y in crop.line_range if is_rendered_line(y)}
        for widget, (region, clip) in self.visible_widgets.items():
            if not missing:
                break
            seen = region.intersection(clip)
            left, right = seen.column_span
            wanted = [y for y in seen.line_range if any(left <= x < right for x in missing.get(y, ()))]
            for first, last in _runs(wanted):
                lines = Region(left - region.x, first - region.y, seen.width, last - first + 1)
                for y, strip in enumerate(widget.render_lines(lines), first):
                    inside = [x for x in cuts[y] if left <= x <= right]
                    for x, part in zip(inside, _divided(strip, [x - left for x in inside[1:]]), strict=False):
                        if x in missing[y]:
                            chops[y][x] = part
                            missing[y].discard(x)
                    if not missing[y]:
                        del missing[y]
        return cast("Sequence[Mapping[int, Strip]]", chops)

    def _wanted(self, y: int) -> set[int]:
        """Where the parts of a line begin that are drawn anew."""
        cuts = self.cuts[y]
        if self._dirty is None:
            return set(cuts[:-1])
        spans = self._dirty.get(y, ())
        return {x for x, end in pairwise(cuts) if any(x < to and end > start for start, to in spans)}


def _divided(strip: Strip, cuts: Sequence[int]) -> Sequence[Strip]:
    """The strip in parts that end at `cuts`. Of one part Textual's strip keeps itself in a cache of its own, where only
    the collector frees it, with its segments: some 35,000 objects in 35 keys, looked for while a frame waits."""
    return (strip,) if cuts[0] == strip.cell_length else strip.divide(cuts)


def _runs(lines: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last of each run of lines that follow each other."""
    first = 0
    for at, line in enumerate(lines, 1):
        if at == len(lines) or lines[at] != line + 1:
            yield lines[first], line
            first = at


class PromptScreen(Screen[None]):
    """A screen that draws sparingly, and no later than it must."""

    def __init__(self) -> None:
        super().__init__()
        self._compositor = SparingCompositor()
        self._frames: Timer | None = None
        self._resumed = False

    @property
    def _update_timer(self) -> Timer:
        if self._frames is None:
            self._frames = self.set_interval(FRAME, self._on_timer_update, name="frames", pause=True)
        return self._frames

    async def _compose(self) -> None:
        """Have the classes of the window's size before the styles are worked out, which would be done again for
        them."""
        size = self.app.size
        across, down = self.app.HORIZONTAL_BREAKPOINTS or [], self.app.VERTICAL_BREAKPOINTS or []
        now = self._get_breakpoint_classes(size.width, across) | self._get_breakpoint_classes(size.height, down)
        self.update_classes({name: name in now for _, name in (*across, *down)}, update=False)
        await super()._compose()

    def _on_screen_resume(self, event: events.ScreenResume) -> None:
        """The styles of the first frame are worked out as its widgets are mounted, before one of them has the focus;
        Textual would work out all of them once more."""
        if not self._resumed:
            self._resumed = True
            event.refresh_styles = False
            if self.focused is not None and self.focused.parent is not None:
                self.app.stylesheet.update(self.focused.parent)
