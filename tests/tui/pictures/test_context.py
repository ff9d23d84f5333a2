"""Pictures of the context: what a note may hold, whole notes, links, picked lines, memories."""

from __future__ import annotations

from pathlib import Path

import pytest
from excerpt.tui.screens.pick_link import PickLink
from textual.pilot import Pilot

from excerpt.tui.memory_rows import is_memory
from excerpt.tui.widgets.hit_list import HitList
from tests.tui.conftest import until
from tests.tui.pictures.conftest import SIZES, Pictures
from tests.tui.pictures.steps import Steps, app_on, ready, results, settled, still, typed


async def fragment(pilot: Pilot[None]) -> None:
    """In its window: frontmatter, a folded callout with a quotation in it, highlights, marks of words and nearness."""
    await ready(pilot)
    await typed(pilot, "garden trellis")


async def zoomed(pilot: Pilot[None]) -> None:
    """Alone: lists, a table, embeds, code, a formula, a footnote, a block's name."""
    await ready(pilot)
    await typed(pilot, "wires trellis")
    await pilot.press("f6", "f6", "z")
    await settled(pilot)


async def whole_note(pilot: Pilot[None]) -> None:
    """Of 120 lines, at its end."""
    await ready(pilot)
    await typed(pilot, "garden week")
    await pilot.press("alt+n", "alt+z", "alt+z", "f6", "G")
    await settled(pilot)


async def links_labelled(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await typed(pilot, "water main garden")
    await pilot.press("alt+z", "alt+z", "alt+g")
    await until(pilot, lambda: isinstance(pilot.app.screen, PickLink), "the letters")
    await pilot.pause()


async def outlined(pilot: Pilot[None]) -> None:
    await fragment(pilot)
    await pilot.press("alt+u")
    await pilot.pause()


async def lines_picked(pilot: Pilot[None]) -> None:
    await results(pilot)
    await pilot.press("alt+n", "f6", "f6", "z", "v", "j", "j")
    await pilot.pause()


async def chinese(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await typed(pilot, "豆角")


STATES: list[Steps] = [fragment, zoomed, whole_note, lines_picked, chinese]


@pytest.mark.parametrize("steps", STATES, ids=lambda steps: steps.__name__)
async def test_context(pictures: Pictures, tmp_path: Path, steps: Steps) -> None:
    await pictures(app_on(tmp_path), steps)


@pytest.mark.parametrize("size", [(size,) for size in SIZES], ids=lambda size: f"{size[0][0]}x{size[0][1]}")
@pytest.mark.parametrize("steps", [links_labelled, outlined], ids=lambda steps: steps.__name__)
async def test_asked_of_the_context(
    pictures: Pictures, tmp_path: Path, steps: Steps, size: tuple[tuple[int, int]]
) -> None:
    """What is asked of a context that has no room brings it up alone."""
    await pictures(app_on(tmp_path), steps, size)


async def memory(pilot: Pilot[None]) -> None:
    await results(pilot)
    rows = still(pilot).still.query_one(HitList)
    await until(pilot, lambda: bool(rows.badges), "the badge")
    while rows.selected is not None and not is_memory(rows.selected):
        await pilot.press("down")
    await settled(pilot)


async def test_a_memory_in_the_context(pictures: Pictures, memories: Path) -> None:
    await pictures(app_on(memories), memory)
