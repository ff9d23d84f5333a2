"""What the main screen does about the panes of its tabs: zoom, beside or below, how much room, how close the rows."""

from __future__ import annotations

from dataclasses import replace

from textual import on
from textual.screen import Screen

from excerpt.settings import Density, Placing
from excerpt.tui.messages import PanesChanged
from excerpt.tui.panes import Panes, next_zoom
from excerpt.tui.widgets.row_list import RowList
from excerpt.tui.widgets.search_pane import SearchPane
from excerpt.tui.widgets.split import Split

_TOLD = {
    Placing.AUTO: "Beside the list where there is room, else below.",
    Placing.BESIDE: "Beside the list.",
    Placing.BELOW: "Below the list.",
}


class PaneKeeping(Screen[None]):
    """Owns nothing: how the panes stand is the search pane's, and holds for every tab, but for the zoom."""

    @on(PanesChanged)
    def _panes_changed(self, message: PanesChanged) -> None:
        self.spread_panes(message.panes)

    def spread_panes(self, panes: Panes) -> None:
        """Have the panes of every tab stand so."""
        for split in self.query(Split):
            split.panes = panes if self._is_searching(split) else replace(panes, zoomed=split.panes.zoomed)
        for rows in self.query(RowList):
            rows.density = panes.density

    @on(Split.Dragged)
    def _dragged(self, message: Split.Dragged) -> None:
        message.stop()
        self._change(self._panes.sharing(message.share))

    @on(Split.Unzoomed)
    def _unzoomed(self, message: Split.Unzoomed) -> None:
        message.stop()
        if self._is_searching(message.split):
            self._change(replace(self._panes, zoomed=""))

    @property
    def _panes(self) -> Panes:
        return self.query_one(SearchPane).panes

    def _change(self, panes: Panes) -> None:
        self.query_one(SearchPane).panes = panes
        # At once, as the next key goes by what stands.
        self.spread_panes(panes)

    @property
    def _split(self) -> Split | None:
        """Of the tab that is shown."""
        return next((split for split in self.query(Split) if split.region), None)

    def _is_searching(self, split: Split) -> bool:
        return self.query_one(SearchPane) in split.ancestors

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str:  # noqa: ARG002 - `Reasoned`'s name
        split = self._split
        if action not in ("zoom_pane", "place_context", "widen_list"):
            return ""
        if split is None:
            return "This tab has one pane."
        if action == "zoom_pane" and not split.panes.zoomed and len(split.zoomable) == 1:
            return "There is only one pane to show yet."
        if action == "widen_list" and not split.shown.divided:
            return "Only one pane is in sight."
        return ""

    # --- the keys -----------------------------------------------------------------------------------------------------

    def action_zoom_pane(self) -> None:
        split = self._split
        if split is None:
            return
        panes = next_zoom(split.panes, split.pane_of(self.focused), split.zoomable)
        if self._is_searching(split):
            self._change(panes)
        else:
            split.panes = panes

    def action_place_context(self) -> None:
        split = self._split
        if split is None:
            return
        self._change(self._panes.next_placing(wide=split.would_stand_beside(Placing.AUTO)))
        placing = self._panes.placing
        too_narrow = placing is Placing.BESIDE and not split.would_stand_beside(placing)
        self.notify("Beside, in a wider window." if too_narrow else _TOLD[placing], title="The context", timeout=2)

    def action_widen_list(self, steps: int) -> None:
        split = self._split
        if split is not None:
            share = self._panes.sharing(split.share).wider(steps).share
            split.least = 0.0
            self._change(self._panes.sharing(share))

    def action_density(self) -> None:
        self._change(self._panes.other_density())
        dense = self._panes.density is Density.COMPACT
        self.notify(f"{'One line' if dense else 'Two lines'} a row.", title="The list", timeout=2)
