"""Pictures of the Index tab, and of questions about the index."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from excerpt.tui.messages import IndexCancelled, IndexEnded, IndexPaused, IndexWatched
from excerpt.tui.screens.emptied import Emptied
from tests.tui.conftest import until
from tests.tui.pictures.conftest import Pictures
from tests.tui.pictures.steps import Steps, app_on, building, ready, results, said
from tests.tui.still import BROKEN, EMPTIED, ENDED


async def index(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await pilot.press("f5")


async def index_opening(pilot: Pilot[None]) -> None:
    """Before the index is open."""
    await said(pilot)
    await pilot.press("f5")


async def index_building(pilot: Pilot[None]) -> None:
    await index(pilot)
    await building(pilot)


async def index_paused(pilot: Pilot[None]) -> None:
    await index_building(pilot)
    await said(pilot, IndexPaused(paused=True))


async def index_cancelled(pilot: Pilot[None]) -> None:
    await index_building(pilot)
    await said(pilot, IndexWatched(polling=True), IndexCancelled())


async def index_ended(pilot: Pilot[None]) -> None:
    await index(pilot)
    await said(pilot, ENDED, IndexEnded())


async def emptied(pilot: Pilot[None]) -> None:
    await results(pilot)
    await said(pilot, EMPTIED)
    await until(pilot, lambda: isinstance(pilot.app.screen, Emptied), "the question")


async def index_emptied(pilot: Pilot[None]) -> None:
    await index(pilot)
    await said(pilot, EMPTIED)
    await until(pilot, lambda: isinstance(pilot.app.screen, Emptied), "the question")
    await pilot.press("escape")


async def index_broken(pilot: Pilot[None]) -> None:
    await index(pilot)
    await said(pilot, BROKEN)


async def rebuild(pilot: Pilot[None]) -> None:
    await index(pilot)
    await pilot.press("r")


STATES: list[Steps] = [
    index,
    index_opening,
    index_building,
    index_paused,
    index_cancelled,
    index_ended,
    emptied,
    index_emptied,
    index_broken,
    rebuild,
]


@pytest.mark.parametrize("steps", STATES, ids=lambda steps: steps.__name__)
async def test_index(pictures: Pictures, tmp_path: Path, steps: Steps) -> None:
    await pictures(app_on(tmp_path), steps)
