"""The part of the search that asks why: why a fragment stands where it stands, why a note is not there, and what the
other strategies make of the query."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from textual import on

from excerpt.tui.memory_rows import is_memory
from excerpt.tui.messages import Explained
from excerpt.tui.widgets.hit_list import HitList
from excerpt.tui.widgets.pack_desk import PackDesk

if TYPE_CHECKING:
    from excerpt.model import Hit
    from excerpt.tui.strategy_columns import Compared


class WhyDesk(PackDesk):
    """State: the fragment to select when a strategy that was chosen has answered."""

    _to_select = ""

    def action_why(self) -> None:
        hit = self.query_one(HitList).selected
        if self.result is not None and hit is not None and not is_memory(hit):
            self._open_why(self.result.hits.index(hit))

    def action_why_not(self) -> None:
        """Ask of a note by its name, whether or not anything is listed."""
        self._open_why(None)

    def _open_why(self, rank: int | None) -> None:
        from excerpt.tui.screens.why import Why

        result = self.result
        if result is not None:
            ask: partial[None] = partial(self._engine.explain, result.query, result.asked)
            self.app.push_screen(Why(result, rank, ask))

    @on(Explained)
    def _explained(self, message: Explained) -> None:
        from excerpt.tui.screens.why import Why

        message.stop()
        for screen in self.app.screen_stack:
            if isinstance(screen, Why):
                screen.hear(message)

    # --- every strategy -----------------------------------------------------------------------------------------------

    def action_compare(self) -> None:
        from excerpt.tui.screens.strategies import StrategiesScreen
        from excerpt.tui.strategy_columns import AskStrategies

        result = self.result
        if result is None:
            return
        hit: Hit | None = self.query_one(HitList).selected
        fragment = hit.fragment.id if hit is not None else ""
        ask = partial(self._engine.ask_insight, AskStrategies(result.query))
        self.app.push_screen(StrategiesScreen(result.query, result.asked, fragment, ask), self._strategy_chosen)

    def on_compared(self, message: Compared) -> None:
        from excerpt.tui.screens.strategies import StrategiesScreen

        message.stop()
        for screen in self.app.screen_stack:
            if isinstance(screen, StrategiesScreen):
                screen.hear(message)

    def _strategy_chosen(self, choice: object) -> None:
        from excerpt.tui.screens.strategies import Choice

        if not isinstance(choice, Choice):
            return
        result = self.result
        if result is not None and result.asked is not self.strategy:
            self.notify(f"The query itself asks for {result.asked}: take the ! off its front to choose another.")
            return
        if choice.strategy is self.strategy:
            self.query_one(HitList).go_to(choice.fragment)
            return
        self._to_select = choice.fragment
        self.strategy = choice.strategy

    def select_chosen(self) -> None:
        """Select the fragment that was chosen with a strategy, once its hits are listed."""
        fragment, self._to_select = self._to_select, ""
        if fragment:
            self.query_one(HitList).go_to(fragment)
