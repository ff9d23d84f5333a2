"""The tour: two pages, once on the demo vault, and whenever it is asked for."""

from __future__ import annotations

from pathlib import Path

from rich.cells import cell_len

from excerpt.known_vaults import DEMO
from excerpt.settings import Places, Settings
from excerpt.tui.app import ExcerptApp
from excerpt.tui.screens.main import MainScreen
from excerpt.tui.screens.tour import EXAMPLE, Tour, pages
from tests.tui.conftest import pane_of, until
from tests.tui.still import StillApp


def test_the_tour_has_two_pages_that_fit_a_window_of_60_columns() -> None:
    first, second = pages({})
    for page in (first, second):
        keys = max(cell_len(each) for each, _ in page.rows)
        assert len(page.rows) <= 11
        assert all(keys + 2 + cell_len(what) <= 48 for _, what in page.rows)


def test_the_tour_names_the_users_own_keys() -> None:
    first, _ = pages({"copy-pack": "alt+c"})
    assert ("alt+c", "copy the pack with sources, for a prompt") in first.rows


async def test_the_tour_comes_once_on_the_demo_with_an_example_behind_it(places: Places) -> None:
    app = ExcerptApp(DEMO, Settings(), places, {})
    async with app.run_test(size=(60, 15)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, Tour), "the tour")
        await pilot.press("enter", "left", "enter", "enter")
        await until(pilot, lambda: isinstance(app.screen, MainScreen), "the end of the tour")
        assert pane_of(app).query_text == EXAMPLE
        await pilot.press("x")
        assert pane_of(app).query_text == "x"
        await until(pilot, places.tour_file.exists, "the tour to be kept as shown")
    again = ExcerptApp(DEMO, Settings(), places, {})
    async with again.run_test() as pilot:
        await until(pilot, lambda: not again.workers and bool(again.screen.query("#memory")), "the start")
        assert isinstance(again.screen, MainScreen)


async def test_the_tour_of_a_vault_of_ones_own_leaves_the_query_alone(tmp_path: Path) -> None:
    app = StillApp(tmp_path, Settings())
    async with app.run_test() as pilot:
        await app.run_action("tour")
        await until(pilot, lambda: isinstance(app.screen, Tour), "the tour")
        await pilot.press("escape")
        assert pane_of(app).query_text == ""
