"""Pictures of the Search tab: what is found, what is not, what the index is doing meanwhile."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from excerpt.tui.messages import IndexOpened, IndexPaused
from excerpt.tui.widgets.hit_list import HitList
from tests.tui.pictures.conftest import Pictures
from tests.tui.pictures.steps import (
    WATCHED,
    Steps,
    app_on,
    building,
    ready,
    results,
    said,
    settled,
    still,
    typed,
)
from tests.tui.still import BROKEN, BUSY, STATUS


async def opening(pilot: Pilot[None]) -> None:
    await said(pilot)


async def building_paused(pilot: Pilot[None]) -> None:
    await building(pilot)
    await said(pilot, IndexPaused(paused=True))


async def empty(pilot: Pilot[None]) -> None:
    await said(pilot, IndexOpened(replace(STATUS, notes=0, fragments=0, skipped=(), warnings=())), WATCHED)


async def broken(pilot: Pilot[None]) -> None:
    await said(pilot, BROKEN)


async def busy_elsewhere(pilot: Pilot[None]) -> None:
    await said(pilot, IndexOpened(STATUS), BUSY)


async def results_while_building(pilot: Pilot[None]) -> None:
    await results(pilot)
    await building(pilot)


async def nothing_found(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await typed(pilot, "zebra [/x]")


async def unanswered(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await typed(pilot, "conflict of interest")


async def hostile(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await typed(pilot, "bidi")


async def chinese(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await typed(pilot, "笔记")


async def chinese_list(pilot: Pilot[None]) -> None:
    """Emoji, half and full width, combining characters; the second row selected."""
    await ready(pilot)
    await typed(pilot, "菜园")
    await pilot.press("down")
    await settled(pilot)


async def refined(pilot: Pilot[None]) -> None:
    """The query was read, then refined: what moved says how far."""
    await ready(pilot)
    rows = still(pilot).still.query_one(HitList)
    rows.clock = lambda: 0.0
    await typed(pilot, "sync")
    rows.clock = lambda: math.inf
    await typed(pilot, " merged newest")


async def compact(pilot: Pilot[None]) -> None:
    await refined(pilot)
    await pilot.press("alt+d")
    await settled(pilot)


async def placed_otherwise(pilot: Pilot[None]) -> None:
    """Beside where the width asks for below, as far as there is room; a marked fragment."""
    await results(pilot)
    await pilot.press("tab", "alt+l")
    await settled(pilot)


async def zoomed_list(pilot: Pilot[None]) -> None:
    await results(pilot)
    await pilot.press("alt+z")
    await settled(pilot)


async def narrowed_list(pilot: Pilot[None]) -> None:
    """The list as narrow as it can be."""
    await results(pilot)
    await pilot.press(*["alt+shift+left"] * 8)
    await settled(pilot)


STATES: list[Steps] = [
    ready,
    results,
    refined,
    compact,
    placed_otherwise,
    zoomed_list,
    narrowed_list,
    chinese_list,
    opening,
    building,
    building_paused,
    empty,
    broken,
    busy_elsewhere,
    results_while_building,
    nothing_found,
    unanswered,
    hostile,
    chinese,
]


@pytest.mark.parametrize("steps", STATES, ids=lambda steps: steps.__name__)
async def test_search(pictures: Pictures, tmp_path: Path, steps: Steps) -> None:
    await pictures(app_on(tmp_path), steps)
