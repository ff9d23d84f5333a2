"""Pictures of memories: their tab, the form, and among the hits."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from excerpt.tui.memory_rows import is_memory
from excerpt.tui.widgets.hit_list import HitList
from excerpt.tui.widgets.memory_list import MemoryList
from excerpt.tui.widgets.memory_pane import MemoryPane
from excerpt.tui.widgets.offer_list import OfferList
from tests.tui.conftest import until
from tests.tui.pictures.conftest import Pictures
from tests.tui.pictures.steps import Steps, app_on, known_tags, ready, results, settled, still


async def no_memories(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await pilot.press("f4")


async def some_memories(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await pilot.press("f4")
    rows = still(pilot).still.query_one(MemoryList)
    pane = still(pilot).still.query_one(MemoryPane)
    await until(pilot, lambda: len(rows.memories) == 2 and pane.all_known, "the memories")


async def none_matches(pilot: Pilot[None]) -> None:
    await some_memories(pilot)
    await pilot.press(*"source:Nowhere")
    pane = still(pilot).still.query_one(MemoryPane)
    rows = still(pilot).still.query_one(MemoryList)
    await until(pilot, lambda: not rows.memories and pane.all_known, "no memory")


async def memories_filtered(pilot: Pilot[None]) -> None:
    await some_memories(pilot)
    rows = still(pilot).still.query_one(MemoryList)
    await pilot.press(*"fridge")
    await until(pilot, lambda: len(rows.memories) == 1, "the one memory")
    await until(pilot, lambda: still(pilot).still.query_one(MemoryPane).all_known, "its source")


async def memory_changed(pilot: Pilot[None]) -> None:
    await some_memories(pilot)
    await pilot.press("ctrl+e")
    await known_tags(pilot)


async def found_with_memories(pilot: Pilot[None]) -> None:
    await results(pilot)
    rows = still(pilot).still.query_one(HitList)
    await until(pilot, lambda: bool(rows.badges), "the badge")


async def memory_packed(pilot: Pilot[None]) -> None:
    """A fragment and a memory are marked; the memory is selected."""
    await found_with_memories(pilot)
    rows = still(pilot).still.query_one(HitList)
    await pilot.press("tab")
    while rows.selected is not None and not is_memory(rows.selected):
        await pilot.press("down")
    await pilot.press("tab", "up", "ctrl+o")
    await settled(pilot)


async def remember_again(pilot: Pilot[None]) -> None:
    await found_with_memories(pilot)
    rows = still(pilot).still.query_one(HitList)
    while rows.selected is not None and rows.selected.fragment.id not in rows.badges:
        await pilot.press("down")
    await pilot.press("ctrl+r")
    await known_tags(pilot)
    await until(pilot, lambda: bool(pilot.app.screen.query_one(OfferList).offers), "the offers")


async def broken_memory(pilot: Pilot[None]) -> None:
    """The list has the focus, and the cursor is on the file that cannot be read."""
    await some_memories(pilot)
    await pilot.press("shift+tab", "G")


STATES: list[Steps] = [
    some_memories,
    none_matches,
    memories_filtered,
    memory_changed,
    found_with_memories,
    memory_packed,
    remember_again,
]


@pytest.mark.parametrize("steps", STATES, ids=lambda steps: steps.__name__)
async def test_memory(pictures: Pictures, memories: Path, steps: Steps) -> None:
    await pictures(app_on(memories), steps)


async def test_no_memories(pictures: Pictures, tmp_path: Path) -> None:
    await pictures(app_on(tmp_path), no_memories)


async def test_a_broken_memory(pictures: Pictures, memories: Path) -> None:
    folder = next((memories / "memories").iterdir())
    (folder / "broken.md").write_text("---\ntags: [open\n---\nText.\n")
    await pictures(app_on(memories), broken_memory)
