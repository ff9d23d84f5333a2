"""Pictures of the Overview and Memory tabs."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from excerpt.tui.memory.pane import MemoryList, MemoryPane
from tests.tui.driver import open_index, screen_of, show_results, until
from tests.tui.pictures.conftest import SMALL, Pictures, Steps, themed_app


async def no_topic(pilot: Pilot[None]) -> None:
    await open_index(pilot)
    await pilot.press("f3")


async def overview(pilot: Pilot[None]) -> None:
    """Show the overview of the last query, with its second line selected."""
    await show_results(pilot)
    await pilot.press("f3", "down")


async def overview_of_all_lines(pilot: Pilot[None]) -> None:
    """Show all lines, scrolled to the last, or the passage if only one of both fits."""
    await overview(pilot)
    await pilot.press("unbound-overview-all", "escape", "G", "v")


async def overview_of_nothing(pilot: Pilot[None]) -> None:
    await no_topic(pilot)
    await pilot.press(*"zebra_[/x]")


@pytest.mark.parametrize("steps", [overview, overview_of_all_lines], ids=lambda steps: steps.__name__)
async def test_overview(pictures: Pictures, returning_user: Path, steps: Steps) -> None:
    await pictures(themed_app(returning_user), steps)


async def no_memories(pilot: Pilot[None]) -> None:
    await open_index(pilot)
    await pilot.press("f4")


@pytest.mark.parametrize("steps", [no_topic, overview_of_nothing, no_memories], ids=lambda steps: steps.__name__)
async def test_empty_tabs(pictures: Pictures, returning_user: Path, steps: Steps) -> None:
    await pictures(themed_app(returning_user), steps, SMALL)


async def listed(pilot: Pilot[None]) -> MemoryList:
    await open_index(pilot)
    await pilot.press("f4")
    rows, pane = screen_of(pilot.app).query_one(MemoryList), screen_of(pilot.app).query_one(MemoryPane)
    await until(pilot, lambda: rows.row_count > 1 and pane.is_complete, "the memories")
    return rows


async def changed(pilot: Pilot[None]) -> None:
    """Show both texts of a memory whose source has changed."""
    await listed(pilot)


async def own_thought(pilot: Pilot[None]) -> None:
    await listed(pilot)
    await pilot.press("escape", "down")


async def none_matches(pilot: Pilot[None]) -> None:
    rows = await listed(pilot)
    pane = screen_of(pilot.app).query_one(MemoryPane)
    await pilot.press(*"source:Nowhere")
    await until(pilot, lambda: not rows.row_count and pane.is_complete, "no memory")


async def hinted(pilot: Pilot[None]) -> None:
    """Show a hint for text that resembles a known filter."""
    await listed(pilot)
    pane = screen_of(pilot.app).query_one(MemoryPane)
    hint = pane.query_one("#filter-hint", Static)
    await pilot.press(*"tga:kitchen")
    await until(pilot, lambda: bool(str(hint.content)) and pane.is_complete, "the hint")


@pytest.mark.parametrize("steps", [changed, own_thought], ids=lambda steps: steps.__name__)
async def test_memories(pictures: Pictures, memories: Path, steps: Steps) -> None:
    await pictures(themed_app(memories), steps)


@pytest.mark.parametrize("steps", [none_matches, hinted], ids=lambda steps: steps.__name__)
async def test_filtered_memories(pictures: Pictures, memories: Path, steps: Steps) -> None:
    await pictures(themed_app(memories), steps, SMALL)


async def test_a_memory_that_cannot_be_read(pictures: Pictures, memories: Path) -> None:
    folder = next((memories / "memories").iterdir())
    (folder / "broken.md").write_text("---\ntags: [open\n---\nText.\n")

    async def steps(pilot: Pilot[None]) -> None:
        await listed(pilot)
        await pilot.press("escape", "G")

    await pictures(themed_app(memories), steps, SMALL)
