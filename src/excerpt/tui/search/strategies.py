"""Compare strategies for one query: list the fragments whose ranks differ, with their ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from msgspec import Struct
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import DataTable, Static

from excerpt.base.kinds import Strategy
from excerpt.base.model import Fragment, Result
from excerpt.service.questions import AskStrategies
from excerpt.text.display import visible_line
from excerpt.tui.active_keys import bindings
from excerpt.tui.common.dialog import Dialog, DialogBox
from excerpt.tui.common.row_list import NAME_SEPARATOR, join_headings
from excerpt.tui.common.strips import fit
from excerpt.tui.keymap import key_sign

MAX_COMPARED_RANK = 10
"""Number of first hits of each strategy that are compared."""
STRATEGY_PURPOSES: Mapping[Strategy, str] = {
    Strategy.AUTO: "by words and meaning, weighted by the query's length",
    Strategy.ADAPTIVE: "by your words, rare ones most; for words that you know",
    Strategy.PROXIMITY: "by words close together; for words that belong together",
    Strategy.SEMANTIC: "by meaning; for questions in other words than the note's",
    Strategy.HYBRID: "by words and meaning, weighted the same for every query",
}
"""For each strategy, by what it ranks and for which queries, in one line of 80 cells after its name."""
_CELL_PADDING = 2
"""Cells of padding that the table adds to each column."""

SendStrategiesRequest = Callable[["AskStrategies", Callable[[Sequence[Result]], object]], object]
"""Sends a request to the engine, and calls the function given second with the answer."""


class RankComparison(Struct, frozen=True):
    """A fragment and its rank, from 1, under each strategy; None if the rank is above `MAX_COMPARED_RANK`."""

    fragment: Fragment
    ranks: tuple[int | None, ...]

    @property
    def difference(self) -> int:
        """Difference between the best and the worst rank; None counts as `MAX_COMPARED_RANK` + 1."""
        positions = [rank or MAX_COMPARED_RANK + 1 for rank in self.ranks]
        return max(positions) - min(positions)

    @property
    def best_rank(self) -> int:
        """The lowest number among the ranks."""
        return min(rank for rank in self.ranks if rank is not None)

    @property
    def name(self) -> str:
        """Title of the note and headings of the fragment, on one line."""
        fragment = self.fragment
        path = join_headings(fragment.title, fragment.heading_path)
        return visible_line(fragment.title) + (f"{NAME_SEPARATOR}{path}" if path else "")


class StrategyChoice(Struct, frozen=True):
    """The user's choice in the comparison: the strategy to use, and the id of the fragment to select."""

    strategy: Strategy
    fragment_id: str


def compare_ranks(results: Sequence[Result]) -> list[RankComparison]:
    """Return the fragments among the first hits of any strategy, with their ranks.

    `results` are the results of one query, one for each strategy. Fragments whose ranks differ most come first, ties by
    the best rank.
    """
    ranks: dict[str, dict[int, int]] = {}
    fragments: dict[str, Fragment] = {}
    for column, result in enumerate(results):
        for rank, hit in enumerate(result.hits[:MAX_COMPARED_RANK], 1):
            fragments[hit.fragment.id] = hit.fragment
            ranks.setdefault(hit.fragment.id, {})[column] = rank
    columns = range(len(results))
    rows = [
        RankComparison(fragments[id_], tuple(by_column.get(column) for column in columns))
        for id_, by_column in ranks.items()
    ]
    return sorted(rows, key=lambda row: (-row.difference, row.best_rank))


def describe_unchanged_ranks(rows: Sequence[RankComparison]) -> str:
    """Return a sentence that names the fragments whose rank is the same under all strategies."""
    same = [row for row in rows if not row.difference]
    if not rows:
        return "No strategy finds anything."
    if len(same) == len(rows):
        return "All strategies give the same list, in the same order."
    if not same:
        return "No hit has the same rank under all strategies."
    return f"Same rank under all strategies: {', '.join(f'{row.best_rank}. {row.name}' for row in same)}"


class StrategiesScreen(Dialog[StrategyChoice]):
    """A dialog that compares the strategies for a query.

    Its result is the chosen fragment, with the strategy that ranks that fragment highest.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("Strategies")

    DEFAULT_CSS = """
    StrategiesScreen {
        & > .box { width: 96%; max-width: 140; height: 28; padding: 0 1; }
        &.-short > .box { height: 100%; max-height: 100%; }
        #alike { color: $text-soft; max-height: 2; margin-bottom: 1; }
        DataTable {
            height: 1fr;
            background: $surface;
            &:focus, &:focus > .datatable--header { background-tint: $foreground 0%; }
            & > .datatable--header { background: $surface; color: $text-soft; text-style: none; }
            & > .datatable--cursor, &:focus > .datatable--cursor { background: $surface-active; color: $foreground; }
        }
    }
    """

    def __init__(
        self, query: str, current_strategy: Strategy, fragment_id: str, send_request: SendStrategiesRequest
    ) -> None:
        """Prepare the dialog. `fragment_id` is the fragment whose row is selected at first; "" for the first row."""
        super().__init__()
        self._query = query
        self._current_strategy = current_strategy
        self._fragment_id = fragment_id
        self._send_request = send_request
        self._strategies: Sequence[Strategy] = ()
        self.rows: Sequence[RankComparison] = ()

    def compose(self) -> ComposeResult:
        with DialogBox() as box:
            box.border_title = Content(f"Where strategies differ · {fit(visible_line(self._query), 40)}")
            box.set_hints(
                f"{key_sign('strategies-use')} use the strategy that ranks it highest",
                f"{key_sign('strategies-up', 'strategies-down')} passage",
                f"{key_sign('dialog-leave')} close",
            )
            yield Static("Running each strategy…", id="alike", markup=False)
            yield DataTable[Text](cursor_type="row")

    def on_mount(self) -> None:
        self._send_request(AskStrategies(self._query, MAX_COMPARED_RANK), self.show_results)

    @property
    def is_opening(self) -> bool:
        """Whether the results of the strategies are still pending."""
        return not self._strategies

    def on_resize(self) -> None:
        self._fill_table()

    def show_results(self, results: Sequence[Result]) -> None:
        """List the fragments whose ranks differ between `results`; do nothing if the dialog is closed."""
        if not self.is_attached:
            return
        rows = compare_ranks(results)
        self._strategies = [result.requested_strategy for result in results]
        self.rows = [row for row in rows if row.difference]
        self.query_one("#alike", Static).update(Content(describe_unchanged_ranks(rows)))
        self._fill_table()

    def _fill_table(self) -> None:
        """Fill the table with `rows`; a name wider than its column is wrapped."""
        table = self.query_one(DataTable)
        row_number = table.cursor_row if table.row_count else self._row_of(self._fragment_id)
        table.clear(columns=True)
        if not self.rows:
            return
        ranks = sum(len(strategy) + _CELL_PADDING for strategy in self._strategies)
        table.add_column(
            "passage", width=max(16, self.query_one(DialogBox).content_size.width - ranks - 2 * _CELL_PADDING)
        )
        accent = f"bold {self.app.theme_variables['accent']}"
        for strategy in self._strategies:
            table.add_column(Text(strategy, accent if strategy is self._current_strategy else ""), width=len(strategy))
        for row in self.rows:
            ranked = (
                Text("–" if rank is None else str(rank), accent if rank == row.best_rank else "", justify="right")
                for rank in row.ranks
            )
            table.add_row(Text(row.name), *ranked, height=None)
        table.move_cursor(row=row_number)

    def _row_of(self, fragment_id: str) -> int:
        return next((index for index, row in enumerate(self.rows) if row.fragment.id == fragment_id), 0)

    def action_move(self, rows: int) -> None:
        if self.rows:
            table = self.query_one(DataTable)
            table.move_cursor(row=table.cursor_row + rows)

    @on(DataTable.RowSelected)
    def action_choose(self) -> None:
        if self.rows:
            row = self.rows[self.query_one(DataTable).cursor_row]
            best = [
                strategy for strategy, rank in zip(self._strategies, row.ranks, strict=True) if rank == row.best_rank
            ]
            self.dismiss(
                StrategyChoice(self._current_strategy if self._current_strategy in best else best[0], row.fragment.id)
            )
