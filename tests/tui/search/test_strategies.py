"""One query under every strategy, side by side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from excerpt.kinds import Strategy
from excerpt.model import Fragment, Hit, Result
from excerpt.settings import Settings
from excerpt.tui.search.pane import SearchPane
from excerpt.tui.search.strategies import StrategiesScreen
from excerpt.tui.search.why_view import Why
from excerpt.tui.strategy_columns import DEPTH, columns_of, first_shown
from excerpt.tui.widgets.strategy_grid import StrategyGrid
from tests.tui.conftest import until
from tests.tui.pictures.steps import results, settled
from tests.tui.still import StillApp


def result(strategy: Strategy, ids: str) -> Result:
    """Hits that are called by one letter each."""
    fragments = [Fragment(one, f"{one}.md", one.upper(), (), 0, 0, 1, 1, one, 1, "") for one in ids]
    return Result("query", strategy, strategy, tuple(Hit(fragment, 1.0) for fragment in fragments), len(ids), 1.0, 7)


def test_a_row_says_how_many_places_higher_it_stands_than_under_the_strategy_in_use() -> None:
    found = [result(Strategy.ADAPTIVE, "abc"), result(Strategy.SEMANTIC, "cad")]
    _, semantic = columns_of(found, Strategy.ADAPTIVE)
    assert [(row.title, row.move) for row in semantic.rows] == [("C", 2), ("A", -1), ("D", None)]
    assert semantic.kept == 2


def test_under_the_strategy_in_use_nothing_has_moved() -> None:
    (now,) = columns_of([result(Strategy.HYBRID, "abc")], Strategy.HYBRID)
    assert [row.move for row in now.rows] == [0, 0, 0]


def test_only_the_first_hits_are_compared() -> None:
    ids = "".join(map(chr, range(0x4E00, 0x4E00 + DEPTH + 5)))
    (now,) = columns_of([result(Strategy.AUTO, ids)], Strategy.AUTO)
    assert len(now.rows) == DEPTH


@given(st.integers(1, 8), st.integers(1, 8), st.data())
def test_the_selected_column_is_among_those_shown_and_no_room_is_left_empty(
    count: int, fitting: int, data: st.DataObject
) -> None:
    fitting = min(fitting, count)
    selected = data.draw(st.integers(0, count - 1))
    first = first_shown(selected, count, fitting)
    assert first <= selected < first + fitting <= count


async def compared(pilot: Pilot[None]) -> StrategyGrid:
    await pilot.press("unbound-compare")
    await until(pilot, lambda: any(grid.columns for grid in pilot.app.screen.query(StrategyGrid)), "the answers")
    return pilot.app.screen.query_one(StrategyGrid)


async def test_a_strategy_is_chosen_with_the_fragment_that_was_selected_under_it(tmp_path: Path) -> None:
    app = StillApp(tmp_path, Settings())
    async with app.run_test(size=(120, 36)) as pilot:
        await results(pilot)
        grid = await compared(pilot)
        pane, rows = app.still.query_one(SearchPane), app.still.query_one(HitList)
        assert grid.columns[grid.column].strategy is Strategy.AUTO
        assert grid.selected is not None
        assert rows.selected is not None
        assert grid.selected.fragment == rows.selected.fragment.id
        await pilot.press("right", "down")
        wanted = grid.selected.fragment
        await pilot.press("enter")
        await settled(pilot)
        assert pane.strategy is Strategy.ADAPTIVE
        assert rows.selected.fragment.id == wanted


async def test_the_same_fragment_stays_selected_from_column_to_column(tmp_path: Path) -> None:
    app = StillApp(tmp_path, Settings())
    async with app.run_test(size=(60, 15)) as pilot:
        await results(pilot)
        grid = await compared(pilot)
        selected = []
        for _ in Strategy:
            assert grid.selected is not None
            selected.append(grid.selected.fragment)
            await pilot.press("right")
        assert len(set(selected)) == 1
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, StrategiesScreen), "the dialog to close")
        assert app.still.query_one(SearchPane).strategy is Strategy.AUTO


async def test_a_strategy_that_the_query_forces_is_said_to_stand_there(tmp_path: Path) -> None:
    app = StillApp(tmp_path, Settings())
    async with app.run_test(size=(80, 24)) as pilot:
        await results(pilot)
        pane = app.still.query_one(SearchPane)
        assert pane.result is not None
        pane.result = replace(pane.result, query="!s sync conflict", asked=Strategy.SEMANTIC)
        await compared(pilot)
        await pilot.press("right", "enter")
        await until(pilot, lambda: any("take the !" in toast.message for toast in app._notifications), "the toast")
        assert pane.strategy is Strategy.AUTO


async def test_the_palette_asks_why_a_note_is_not_there_and_takes_its_name_at_once(tmp_path: Path) -> None:
    app = StillApp(tmp_path, Settings())
    async with app.run_test(size=(80, 24)) as pilot:
        titles = [command.title for command in app.get_system_commands(app.screen)]
        assert "Why not this note…" in titles
        pane = app.still.query_one(SearchPane)
        pane.action_why_not()
        assert app.screen is app.still
        await results(pilot)
        pane.action_why_not()
        await until(pilot, lambda: isinstance(app.screen, Why) and bool(app.screen.query("#note:focus")), "the field")
