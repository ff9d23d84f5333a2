"""Steps that bring the app, with a scripted engine, to the states shown in pictures."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from textual.message import Message
from textual.pilot import Pilot
from textual.widgets import Label

from excerpt.settings import ScreenSettings, Settings
from excerpt.tui.memory.pane import MemoryPane
from excerpt.tui.messages import IndexOpened, IndexProgressed, IndexWatched
from excerpt.tui.search.hit_list import HitList
from excerpt.tui.search.pane import SearchPane
from excerpt.tui.search.preview import Preview
from tests.tui.conftest import at_once, until
from tests.tui.still import PROGRESS, STATUS, StillApp

Steps = Callable[[Pilot[None]], Awaitable[None]]

WATCHED = IndexWatched(polling=False)
BUILDING = tuple(
    IndexProgressed(
        replace(PROGRESS, notes_done=done, bytes_done=done * 3_818, seconds=seconds, current_seconds=in_work)
    )
    for done, seconds, in_work in ((12, 0.5, 0.0), (412, 4.0, 0.1), (812, 8.0, 2.6))
)
"""A build that progresses steadily, and then stays at one file for a while."""


def app_on(data: Path, theme: str = "excerpt-dark") -> StillApp:
    return StillApp(data, Settings(screen=ScreenSettings(theme=theme)))


def still(pilot: Pilot[None]) -> StillApp:
    assert isinstance(pilot.app, StillApp)
    return pilot.app


async def settled(pilot: Pilot[None]) -> None:
    """Wait until everything is answered and drawn."""
    screen = still(pilot).still
    pane, rows, preview = screen.query_one(SearchPane), screen.query_one(HitList), screen.query_one("#preview", Preview)

    def shown() -> bool:
        hit, window = rows.selected, preview.window
        same = (hit and hit.fragment.id) == (window and window.fragment.id)
        known = pane.pack.cost_is_known and pane.memories.is_answered
        return same and pane.is_up_to_date and known

    await until(pilot, shown, "the answers")
    await pilot.pause()


async def typed(pilot: Pilot[None], query: str) -> None:
    at_once(pilot.app, *query)
    await pilot.pause()
    await settled(pilot)


async def said(pilot: Pilot[None], *messages: Message) -> None:
    """Post `messages` to the screen once its tabs exist."""
    screen = still(pilot).still
    await until(pilot, lambda: bool(screen.query(MemoryPane)), "the tabs")
    screen.say(*messages)
    await pilot.pause()


async def ready(pilot: Pilot[None]) -> None:
    await said(pilot, IndexOpened(STATUS), WATCHED)


async def results(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await typed(pilot, "sync conflict")


async def panel_shown(pilot: Pilot[None], *keys: str) -> None:
    """Press keys, and wait for the open panel."""
    await pilot.press(*keys)
    pane = still(pilot).still.query_one(SearchPane)
    await until(pilot, lambda: pane.side.is_answered, "the panel")
    await pilot.pause()


async def known_tags(pilot: Pilot[None]) -> None:
    label = pilot.app.screen.query_one("#tags-label", Label)
    await until(pilot, lambda: "in use" in str(label.content), "the tags in use")


async def building(pilot: Pilot[None]) -> None:
    for progress in BUILDING:  # of several queued ones only the last would be handled
        await said(pilot, progress)
