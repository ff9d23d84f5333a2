"""Where the context of the selected fragment stands, with at most one panel beside it or in its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Vertical
from textual.widget import Widget

from excerpt.tui.widgets.split import Split

if TYPE_CHECKING:
    from excerpt.tui.widgets.map_panel import MapPanel
    from excerpt.tui.widgets.pack_panel import PackPanel
    from excerpt.tui.widgets.preview import Preview
    from excerpt.tui.widgets.related_panel import RelatedPanel

_LEAST = {"related": 0.75, "map": 0.65}
"""The part of the height that a panel wants where it stands below the list: what it tells of one row takes lines."""


class Aside(Vertical):
    """State: the panel that is open. The split around it knows whether there is one.

    What stands here comes with `furnish`, after the first frame, which shows none of it.
    """

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
    preview: Preview
    pack_panel: PackPanel
    related_panel: RelatedPanel
    map_panel: MapPanel

    async def furnish(self) -> None:
        from excerpt.tui.widgets.map_panel import MapPanel
        from excerpt.tui.widgets.pack_panel import PackPanel
        from excerpt.tui.widgets.preview import Preview
        from excerpt.tui.widgets.related_panel import RelatedPanel

        self.preview = Preview(id="preview", classes="context")
        self.pack_panel = PackPanel(id="packed", classes="panel")
        self.related_panel = RelatedPanel(id="related", classes="panel")
        self.map_panel = MapPanel(id="map", classes="panel")
        await self.mount(self.preview, self.pack_panel, self.related_panel, self.map_panel)

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
