"""Pictures of the pack: marks, its panel, decisions made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.tui.pictures.conftest import Pictures
from tests.tui.pictures.steps import Steps, app_on, ready, results, settled, typed


async def marked(pilot: Pilot[None]) -> None:
    await results(pilot)
    await pilot.press("tab", "tab", "ctrl+e", "ctrl+down")
    await settled(pilot)


async def packed(pilot: Pilot[None]) -> None:
    """The pack in its panel: one passage dropped, one moved, one with a scope of its own."""
    await results(pilot)
    await pilot.press("ctrl+o")
    for key in ("J", "s", "down", "d"):
        await pilot.press(key)
        await settled(pilot)


async def packed_marks(pilot: Pilot[None]) -> None:
    await marked(pilot)
    await pilot.press("alt+t", "ctrl+o", "f7", "f7")
    await settled(pilot)


async def packed_nothing(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await pilot.press("ctrl+o")


async def hostile_pack(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await typed(pilot, "bidi")
    await pilot.press("f9")


async def chinese_pack(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await typed(pilot, "冲突")
    await pilot.press("tab", "ctrl+o")
    await settled(pilot)


STATES: list[Steps] = [
    marked,
    packed,
    packed_marks,
    packed_nothing,
    hostile_pack,
    chinese_pack,
]


@pytest.mark.parametrize("steps", STATES, ids=lambda steps: steps.__name__)
async def test_pack(pictures: Pictures, tmp_path: Path, steps: Steps) -> None:
    await pictures(app_on(tmp_path), steps)
