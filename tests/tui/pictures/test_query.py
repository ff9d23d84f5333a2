"""Pictures of the query bar: completion, chips, doubts, long queries, history, narrower and wider."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from excerpt.settings import Places
from excerpt.tui.history_file import add_query
from excerpt.tui.search.query_bar import QueryBar, QueryStatus
from tests.tui.conftest import until
from tests.tui.pictures.conftest import SIZES, Pictures
from tests.tui.pictures.steps import Steps, app_on, ready, results, settled, still, typed

ASKED = (
    "how do I keep what two devices wrote into one note",
    'tag:sync "line by line" -binary',
    "[bold]同步 冲突 path:同步/",
)


MENUS_AT = [pytest.param((size,), id=f"{size[0]}x{size[1]}") for size in SIZES]
"""A menu closes when the window gets another size."""


async def completed(pilot: Pilot[None]) -> None:
    """The menu behind a filter's beginning, with hits below it."""
    await ready(pilot)
    await typed(pilot, "merge tag:")
    bar = still(pilot).still.query_one(QueryBar)
    await until(pilot, lambda: bar.menu.is_open, "the menu")


async def chips(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await typed(pilot, "tag:sync -path:Archive conflict ")


async def doubted(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await typed(pilot, 'merging "line by')
    status = still(pilot).still.query_one("#search QueryStatus", QueryStatus)
    await until(pilot, lambda: bool(status.doubt), "the doubt")


async def long(pilot: Pilot[None]) -> None:
    """The query goes before what is said of it, and its end is in sight."""
    await ready(pilot)
    still(pilot).still.query_one(QueryBar).put(
        "merging lines while several devices changed versions beside another without meeting, newest versions later"
    )
    await settled(pilot)


async def narrower(pilot: Pilot[None]) -> None:
    await results(pilot)
    await pilot.press("alt+q")
    bar = still(pilot).still.query_one(QueryBar)
    await until(pilot, lambda: bar.menu.is_open and bool(bar.menu.choices), "the menu")


STATES: list[Steps] = [chips, doubted, long]


@pytest.mark.parametrize("steps", STATES, ids=lambda steps: steps.__name__)
async def test_query(pictures: Pictures, tmp_path: Path, steps: Steps) -> None:
    await pictures(app_on(tmp_path), steps)


@pytest.mark.parametrize("size", MENUS_AT)
@pytest.mark.parametrize("steps", [completed, narrower], ids=lambda steps: steps.__name__)
async def test_menu(pictures: Pictures, tmp_path: Path, steps: Steps, size: tuple[tuple[int, int]]) -> None:
    await pictures(app_on(tmp_path), steps, size)


async def history(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await pilot.press("alt+h")
    bar = still(pilot).still.query_one(QueryBar)
    await until(pilot, lambda: bar.menu.is_open, "the menu")


@pytest.mark.parametrize("size", MENUS_AT)
async def test_history(pictures: Pictures, tmp_path: Path, size: tuple[tuple[int, int]]) -> None:
    app = app_on(tmp_path)
    file = Places(tmp_path, tmp_path, tmp_path, tmp_path / "state").history_file(Path("/home/ada/notes"))
    for query in ASKED:
        add_query(file, query)
    await pictures(app, history, size)
