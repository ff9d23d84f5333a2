"""The tab bar, the first line of the screen, with the vault and the state of its index."""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from rich.style import Style
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip
from textual.widget import Widget

from excerpt.text.display import visible_line
from excerpt.tui.common.strips import StyledPart, click_style, fit, line, total_cells
from excerpt.tui.keymap import key_sign

TABS = ("search", "overview", "memory")

_NAME_CELLS = sum(len(tab) + 2 for tab in TABS)
"""Cells of the names of the tabs."""
_MIN_NAME = 6
"""Minimum cells for the vault's name: with less room, only the state of the index is shown."""


class TabBar(Widget):
    """The first line of the screen: the tabs at the left, the vault and the state of its index at the right.

    The tabs have their keys where these shorten nothing else.
    """

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
    """Name of the tab that is shown, one of `TABS`."""
    vault: reactive[str] = reactive("")
    """Name of the vault."""
    state: reactive[str] = reactive("")
    """State of the index: `171 notes · up to date`, or `reading 812 of 9,750`."""

    class TabPicked(Message):
        """Sent when a tab is clicked."""

        def __init__(self, tab: str) -> None:
            super().__init__()
            self.tab = tab

    class StatePicked(Message):
        """Sent when the vault and the state of its index, at the right, are clicked."""

    def render_line(self, y: int) -> Strip:
        if y:
            return Strip.blank(self.size.width, self.rich_style)
        keys = {
            tab: (f"{key_sign(f'show-{tab}')} ", self.get_component_rich_style("tab--name", partial=True))
            for tab in TABS
        }
        status_cells = cell_len(" · ".join(filter(None, (visible_line(self.vault), self.state))))
        has_room = _NAME_CELLS + total_cells(keys.values()) + status_cells + 2 <= self.size.width
        left: list[StyledPart] = []
        for tab in TABS:
            left.append((f" {tab.capitalize()} ", self._style_of(tab) + click_style(f"pick_tab('{tab}')")))
            left += [keys[tab]] if has_room else []
        status = (self._status_text(), click_style("pick_state"))
        return line(left, [status, (" ", Style.null())], self.size.width, self.rich_style)

    def _status_text(self) -> str:
        """Return the vault's name and the state of its index, shortened to the room beside the tabs."""
        room = self.size.width - _NAME_CELLS - 2
        state = fit(self.state, room)
        name = visible_line(self.vault)
        name_cells = room - cell_len(state) - 3
        vault = fit(name, name_cells) if name_cells >= min(cell_len(name), _MIN_NAME) else ""
        return " · ".join(part for part in (vault, state) if part)

    def _style_of(self, tab: str) -> Style:
        return self.get_component_rich_style("tab--active" if tab == self.active else "tab--name", partial=True)

    def action_pick_tab(self, tab: str) -> None:
        self.post_message(self.TabPicked(tab))

    def action_pick_state(self) -> None:
        self.post_message(self.StatePicked())
