"""Drawing only what changed: step by step it comes to what Textual would draw as a whole, and asks for no more."""

from __future__ import annotations

from pathlib import Path

import pyte
import pytest
from textual._compositor import Compositor, CompositorUpdate
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip

from excerpt.settings import Settings
from excerpt.tui.compositor import SparingCompositor
from excerpt.tui.search.query_bar import QueryInput
from tests.tui.conftest import until
from tests.tui.still import StillApp

SIZE = (100, 30)
STEPS = [*"sync", "down", "tab", "pagedown", "f1", "escape", "unbound-related", "escape", "ctrl+u", *"xyzzy", "escape"]


class Terminal(StillApp):
    """The app on a terminal that keeps what was written to it."""

    def __init__(self, data: Path, settings: Settings) -> None:
        super().__init__(data, settings)
        self.seen = pyte.Screen(*SIZE)
        self._stream = pyte.Stream(self.seen)

    def _display(self, screen: Screen[object], renderable: object) -> None:
        if isinstance(renderable, CompositorUpdate):
            self._stream.feed(renderable.render_segments(self.console))
        super()._display(screen, renderable)  # type: ignore[arg-type]


def _whole(app: StillApp) -> list[dict[int, Strip | None]]:
    """The screen as Textual's own compositor draws it, by line and by where each part begins."""
    compositor = app.screen._compositor
    return [dict(line) for line in Compositor._render_chops(compositor, Region(0, 0, *SIZE), lambda y: True)]


async def test_frame_by_frame_it_comes_to_what_textual_draws_as_a_whole(tmp_path: Path, home: Path) -> None:
    app = Terminal(tmp_path / "data", Settings())
    async with app.run_test(size=SIZE) as pilot:
        for key in STEPS:
            await pilot.press(key)
            await pilot.pause(0.03)

            def is_drawn() -> bool:
                lines = ["".join(part.text for part in line.values() if part).rstrip() for line in _whole(app)]
                return [line.rstrip() for line in app.seen.display] == lines

            await until(pilot, is_drawn, f"all that {key} changed")  # an answer may come just now
            compositor, whole = app.screen._compositor, _whole(app)
            assert [[part for strip in line.values() if strip for part in strip] for line in whole] == [
                [part for strip in line.values() if strip for part in strip]
                for line in compositor._render_chops(Region(0, 0, *SIZE), lambda y: True)
            ], key


async def test_for_a_line_only_those_are_asked_that_are_seen_in_it(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = StillApp(tmp_path / "data", Settings())
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press(*"sync")
        await pilot.pause()
        compositor = app.screen._compositor
        assert isinstance(compositor, SparingCompositor)
        asked: list[tuple[str, int]] = []
        for widget in compositor.visible_widgets:
            lines = widget.render_lines

            def noted(crop: Region, widget: object = widget, lines: object = lines) -> object:
                asked.append((type(widget).__name__, crop.height))
                return lines(crop)  # type: ignore[operator]

            monkeypatch.setattr(widget, "render_lines", noted)
        field = app.screen.query_one(QueryInput).region
        compositor._render_chops(field, lambda y: y == field.y)
    assert ("QueryInput", 1) in asked
    assert {height for _, height in asked} == {1}
    assert {"SearchPane", "MainScreen", "StillScreen", "HitList"}.isdisjoint(name for name, _ in asked)
