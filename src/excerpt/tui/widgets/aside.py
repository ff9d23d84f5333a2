"""Where the context of the selected fragment stands, with at most one panel beside it or in its place."""

from __future__ import annotations

from textual.containers import Vertical
from textual.widget import Widget

from excerpt.tui.widgets.split import Split

_LEAST = {"related": 0.75, "map": 0.65}
"""The part of the height that a panel wants where it stands below the list: what it tells of one row takes lines."""


class Aside(Vertical):
    """State: the panel that is open. The split around it knows whether there is one."""

    DEFAULT_CSS = """
    Aside .panel {
        display: none;
        height: 1fr;
        border-top: solid $border-blurred;
        border-title-color: $text-soft;
        &.-open { display: block; }
        &:focus, &:focus-within { border-top: solid $accent; border-title-color: $accent; }
    }
    """

    panel: Widget | None = None

    def open(self, panel: Widget) -> None:
        """Show it; another that is open closes."""
        if self.panel is not None:
            self.panel.remove_class("-open")
        self.panel = panel
        panel.add_class("-open")
        split = self.query_ancestor(Split)
        split.least = _LEAST.get(panel.id or "", 0.0)
        split.panel = True

    def close(self) -> None:
        if self.panel is not None:
            self.panel.remove_class("-open")
            self.panel = None
            split = self.query_ancestor(Split)
            split.least = 0.0
            split.panel = False
