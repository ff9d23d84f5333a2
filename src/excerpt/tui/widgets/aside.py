"""Where the context of the selected fragment stands, with at most one panel beside it or in its place."""

from __future__ import annotations

from textual.containers import Vertical
from textual.widget import Widget


class Aside(Vertical):
    """State: the panel that is open. Its body has the class `-panel` then, and one named after the panel's id."""

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
        self.close()
        self.panel = panel
        panel.add_class("-open")
        self._mark(panel, is_open=True)

    def close(self) -> None:
        if self.panel is not None:
            self.panel.remove_class("-open")
            self._mark(self.panel, is_open=False)
            self.panel = None

    def _mark(self, panel: Widget, *, is_open: bool) -> None:
        body = self.query_ancestor("#body")
        body.set_class(is_open, "-panel", f"-{panel.id}")
