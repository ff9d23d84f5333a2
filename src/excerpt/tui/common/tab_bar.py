"""The first line: tabs at the left, the vault and how its index stands at the right."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from rich.style import Style
from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from excerpt.text.visible import visible_line
from excerpt.tui.common.strips import fit, line

TABS = ("search", "overview", "memory")

_LEAST_NAME = 6
"""Cells of the vault's name that still tell something; where there are fewer, the state of the index stands alone."""


class TabBar(Widget):
    COMPONENT_CLASSES: ClassVar[set[str]] = {"tab--active", "tab--name"}

    DEFAULT_CSS = """
    TabBar {
        height: 1;
        background: $panel;
        color: $text-soft;
        & > .tab--active { color: $background; background: $accent; text-style: bold; }
        & > .tab--name { color: $text-soft; }
    }
    """

    active: reactive[str] = reactive("search")
    vault: reactive[str] = reactive("")
    state: reactive[str] = reactive("")
    """How the index stands: `171 notes · up to date`, or `reading 812 of 9,750`."""

    class Picked(Message):
        """A tab was clicked."""

        def __init__(self, tab: str) -> None:
            super().__init__()
            self.tab = tab

    class StatePicked(Message):
        """What stands at the right, of the vault and its index, was clicked."""

    def render_line(self, y: int) -> Strip:
        if y:
            return Strip.blank(self.size.width, self.rich_style)
        left = [(f" {tab.capitalize()} ", self._style_of(tab)) for tab in TABS]
        return line(left, [(f"{self._standing()} ", Style.null())], self.size.width, self.rich_style)

    def _standing(self) -> str:
        """Return the vault and how its index stands, in the room beside the tabs."""
        room = self.size.width - sum(len(tab) + 2 for tab in TABS) - 2
        state = fit(self.state, room)
        name = visible_line(self.vault)
        left_over = room - cell_len(state) - 3
        vault = fit(name, left_over) if left_over >= min(cell_len(name), _LEAST_NAME) else ""
        return " · ".join(part for part in (vault, state) if part)

    def _style_of(self, tab: str) -> Style:
        return self.get_component_rich_style("tab--active" if tab == self.active else "tab--name", partial=True)

    def on_click(self, event: events.Click) -> None:
        at = 0
        for tab in TABS:
            at += len(tab) + 2
            if event.x < at:
                self.post_message(self.Picked(tab))
                return
        if event.x >= self.size.width - cell_len(self._standing()) - 1:
            self.post_message(self.StatePicked())
