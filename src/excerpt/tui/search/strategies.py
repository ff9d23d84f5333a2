"""One query under each strategy, side by side: what comes first, and how far it stands from where it stands now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content

from excerpt.kinds import Strategy
from excerpt.model import Result
from excerpt.text.visible import visible_line
from excerpt.tui.bindings import bindings
from excerpt.tui.common.strips import fit
from excerpt.tui.keymap import key_sign
from excerpt.tui.screens.dialog import Box, Dialog
from excerpt.tui.strategy_columns import columns_of
from excerpt.tui.widgets.strategy_grid import StrategyGrid

Ask = Callable[[Callable[[Sequence[Result]], object]], object]


@dataclass(frozen=True, slots=True)
class Choice:
    """A strategy to go on with, and the fragment that was selected under it; "" for none."""

    strategy: Strategy
    fragment: str


class StrategiesScreen(Dialog[Choice]):
    """Dismissed with the strategy that is chosen."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("Strategies")

    DEFAULT_CSS = """
    StrategiesScreen {
        & > .box { width: 96%; max-width: 180; height: 28; padding: 0 1; }
        &.-short > .box { height: 100%; max-height: 100%; }
    }
    """

    def __init__(self, query: str, in_use: Strategy, fragment: str, ask: Ask) -> None:
        """`fragment` is the id of the one selected now, "" for none. `ask` asks the engine, and calls what it is given
        with the answers."""
        super().__init__()
        self._query = query
        self._in_use = in_use
        self._fragment = fragment
        self._ask = ask

    def on_mount(self) -> None:
        self._ask(self.hear)

    def compose(self) -> ComposeResult:
        with Box() as box:
            box.border_title = Content(f"Strategies · {fit(visible_line(self._query), 40)}")
            box.hint(
                f"{key_sign('strategies-use')} use it",
                f"{key_sign('strategies-previous', 'strategies-next')} strategy",
                f"{key_sign('strategies-up', 'strategies-down')} fragment",
                f"{key_sign('dialog-leave')} close",
            )
            yield StrategyGrid()

    @property
    def _grid(self) -> StrategyGrid:
        return self.query_one(StrategyGrid)

    def hear(self, results: Sequence[Result]) -> None:
        """Show the answers, if the dialog is still open; the selected column and fragment stay if asked again."""
        if not self.is_attached:
            return
        grid = self._grid
        first = not grid.columns
        kept = grid.selected.fragment if grid.selected is not None else self._fragment
        columns = columns_of(results, self._in_use)
        now = next((at for at, column in enumerate(columns) if column.strategy is self._in_use), 0)
        grid.columns, grid.in_use = columns, now
        grid.column = now if first else grid.column
        place = columns[grid.column].place_of(kept)
        grid.row = place if place is not None else 0

    def action_step(self, columns: int) -> None:
        self._grid.step(columns)

    def action_move(self, rows: int) -> None:
        self._grid.move(rows)

    @on(StrategyGrid.Chosen)
    def action_choose(self) -> None:
        grid = self._grid
        if grid.columns:
            fragment = grid.selected.fragment if grid.selected is not None else ""
            self.dismiss(Choice(grid.columns[grid.column].strategy, fragment))
