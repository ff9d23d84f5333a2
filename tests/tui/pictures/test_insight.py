"""Pictures of the overview, of related notes and of the map."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from excerpt.tui.messages import Trouble
from excerpt.tui.search.pane import SearchPane
from tests.tui.pictures.conftest import Pictures
from tests.tui.pictures.steps import Steps, app_on, panel_shown, ready, results, said, settled, still, typed

FAILED = ("The index cannot be read", "The file fragments.npy is cut short.", "F12 makes it anew.")


async def related(pilot: Pilot[None]) -> None:
    """The note at the top lacks a link; the one below it is selected."""
    await results(pilot)
    await panel_shown(pilot, "alt+r", "down")


async def related_by_name(pilot: Pilot[None]) -> None:
    """Related to the whole of another note, by a name in the text."""
    await results(pilot)
    await panel_shown(pilot, "alt+r", "f", "n", "left")
    await panel_shown(pilot, "tab", "up")


async def related_to_nothing(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await panel_shown(pilot, "alt+r")


async def mapped(pilot: Pilot[None]) -> None:
    await results(pilot)
    await panel_shown(pilot, "alt+m")


async def mapped_by_filter(pilot: Pilot[None]) -> None:
    """A branch is open, another is put into the query."""
    await results(pilot)
    await panel_shown(pilot, "alt+m", *"jjlGkljkkkkkkk")
    await panel_shown(pilot, "G", "l", "l", "l", "g", "j", "f")
    await settled(pilot)
    await panel_shown(pilot)


async def no_topic(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await pilot.press("f3")


async def overview(pilot: Pilot[None]) -> None:
    """Of the query that was searched, with its second line selected."""
    await results(pilot)
    await pilot.press("f3", "down")


async def overview_with_passage(pilot: Pilot[None]) -> None:
    """In a narrow window the passage below the lines, in a wide one the lines alone."""
    await overview(pilot)
    await pilot.press("ctrl+o", "tab", "tab", "down")


async def overview_of_everything(pilot: Pilot[None]) -> None:
    """All lines, the last ones in sight, with the lines focused."""
    await overview(pilot)
    await pilot.press("ctrl+e", "shift+tab", "G")


async def overview_of_nothing(pilot: Pilot[None]) -> None:
    await no_topic(pilot)
    await pilot.press(*"zebra [/x]".replace(" ", "_"))


async def related_chinese(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await typed(pilot, "冲突")
    await panel_shown(pilot, "alt+r", "G")


async def related_failed(pilot: Pilot[None]) -> None:
    await related(pilot)
    still(pilot).still.query_one(SearchPane).post_message(Trouble("related", *FAILED))
    await pilot.pause()


async def map_failed(pilot: Pilot[None]) -> None:
    await mapped(pilot)
    still(pilot).still.query_one(SearchPane).post_message(Trouble("map", *FAILED))
    await pilot.pause()


async def overview_failed(pilot: Pilot[None]) -> None:
    await overview(pilot)
    await said(pilot, Trouble("overview", *FAILED))


async def overview_before_the_index(pilot: Pilot[None]) -> None:
    await said(pilot)
    await pilot.press("f3")


STATES: list[Steps] = [
    related,
    related_by_name,
    related_to_nothing,
    mapped,
    mapped_by_filter,
    no_topic,
    overview,
    overview_with_passage,
    overview_of_everything,
    overview_of_nothing,
    overview_failed,
    overview_before_the_index,
    related_chinese,
    related_failed,
    map_failed,
]


@pytest.mark.parametrize("steps", STATES, ids=lambda steps: steps.__name__)
async def test_insight(pictures: Pictures, tmp_path: Path, steps: Steps) -> None:
    await pictures(app_on(tmp_path), steps)
