"""The app on an emulated terminal: the cells it wrote, and those it should show."""

from __future__ import annotations

from pathlib import Path

import pyte
from rich.color import ColorSystem
from rich.control import Control
from rich.style import Style
from textual._compositor import Compositor
from textual.drivers.headless_driver import HeadlessDriver
from textual.geometry import Region
from textual.strip import Strip

from excerpt.base.settings import Settings
from excerpt.tui.textual_patches import limit_colours
from tests.tui.driver import ScriptedApp

Cells = list[list[pyte.screens.Char]]
"""Every cell of a terminal by row: its character, colours and attributes."""


class TerminalDriver(HeadlessDriver):
    """A driver without input that writes to the app's emulated terminal."""

    @property
    def is_headless(self) -> bool:
        return False

    def write(self, data: str) -> None:
        assert isinstance(self._app, TerminalApp)
        self._app.write(data)

    def flush(self) -> None:
        """Do nothing: everything is written already."""


class TerminalApp(ScriptedApp):
    """The app on a terminal that keeps what was written to it. Run it with `headless=False`."""

    def __init__(
        self,
        data: Path,
        settings: Settings,
        size: tuple[int, int],
        colours: ColorSystem = ColorSystem.TRUECOLOR,
    ) -> None:
        super().__init__(data, settings)
        self.driver_class = TerminalDriver
        self.console._color_system = colours
        self.size_now = size
        self.seen = pyte.Screen(*size)
        self._stream = pyte.Stream(self.seen)

    def write(self, data: str) -> None:
        self._stream.feed(data)

    def resize_seen(self, size: tuple[int, int]) -> None:
        """Resize the terminal; the app must still be notified."""
        self.size_now = size
        self.seen.resize(size[1], size[0])

    def cells(self) -> Cells:
        """Return what the terminal shows."""
        return _cells(self.seen)

    def whole(self) -> list[dict[int, Strip | None]]:
        """Return the screen as Textual's compositor draws it: for each line the parts by start column."""
        region = Region(0, 0, *self.size_now)
        return [dict(line) for line in Compositor._render_chops(self.screen._compositor, region, lambda y: True)]

    def expected_cells(self) -> Cells:
        """Return the cells of a terminal to which the whole screen is written, each text with all its codes."""
        colours = self.console._color_system or ColorSystem.TRUECOLOR
        written = []
        for y, line in enumerate(self.whole()):
            written.append(Control.move_to(0, y).segment.text)
            for text, style, _ in (segment for part in line.values() if part for segment in part):
                shown = limit_colours(style or Style.null(), colours)
                written.append(f"\x1b[0;{Strip.render_ansi(shown, colours)}m{text}")
        whole = pyte.Screen(*self.size_now)
        pyte.Stream(whole).feed("".join(written).replace("[0;m", "[0m"))
        return _cells(whole)


def _cells(seen: pyte.Screen) -> Cells:
    return [[seen.buffer[row][column] for column in range(seen.columns)] for row in range(seen.lines)]


def differences(seen: Cells, expected: Cells) -> list[str]:
    """Return the first ten differing cells of two screens, one line each."""
    found = [
        f"line {y} column {x}: {one} instead of {other}"
        for y, (left, right) in enumerate(zip(seen, expected, strict=True))
        for x, (one, other) in enumerate(zip(left, right, strict=True))
        if one != other
    ]
    return [f"{len(found)} cells", *found[:10]] if found else []
