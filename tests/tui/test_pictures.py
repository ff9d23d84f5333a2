"""Every tab and state, drawn at two sizes. Look at a change before taking it with `pytest --snapshot-update`."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from textual.message import Message
from textual.pilot import Pilot
from textual.widgets import Input, Label, TextArea

from excerpt.memory.store import MemoryStore
from excerpt.model import Source
from excerpt.settings import Places, ScreenSettings, Settings
from excerpt.tui.memory_rows import is_memory
from excerpt.tui.messages import (
    IndexCancelled,
    IndexEnded,
    IndexOpened,
    IndexPaused,
    IndexProgressed,
    IndexWatched,
)
from excerpt.tui.screens.emptied import Emptied
from excerpt.tui.widgets.hit_list import HitList
from excerpt.tui.widgets.index_pane import IndexPane
from excerpt.tui.widgets.memory_list import MemoryList
from excerpt.tui.widgets.memory_pane import MemoryPane
from excerpt.tui.widgets.offer_list import OfferList
from excerpt.tui.widgets.preview import Preview
from excerpt.tui.widgets.search_pane import SearchPane
from tests.tui.conftest import until
from tests.tui.still import BROKEN, BUSY, EMPTIED, ENDED, PROGRESS, STATUS, StillApp

SIZES = [(80, 24), (140, 45)]

WATCHED = IndexWatched(polling=False)
BUILDING = tuple(
    IndexProgressed(
        replace(PROGRESS, notes_done=done, bytes_done=done * 3_818, seconds=seconds, current_seconds=in_work)
    )
    for done, seconds, in_work in ((12, 0.5, 0.0), (412, 4.0, 0.1), (812, 8.0, 2.6))
)
"""A build that goes on steadily, and then stays at one file for a while."""

Compare = Callable[..., bool]
Steps = Callable[[Pilot[None]], Awaitable[None]]


@pytest.fixture(autouse=True)
def steady_cursors(monkeypatch: pytest.MonkeyPatch) -> None:
    """A blinking cursor would be there in one picture and not in the next."""
    monkeypatch.setattr(Input, "cursor_blink", False)
    monkeypatch.setattr(TextArea, "cursor_blink", False)


@pytest.fixture
def greenwich(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Local time is UTC, whatever the machine's."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def memories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, greenwich: None) -> Path:
    """A data folder with two memories of fixed times."""
    places = Places(tmp_path, tmp_path, tmp_path / "data", tmp_path)
    store = MemoryStore(places.memory_folder(Path("/home/ada/notes")))
    numbers = count(1)  # ids count in the tokens of a pack
    monkeypatch.setattr("excerpt.memory.store.secrets.token_hex", lambda size: f"{next(numbers):0{2 * size}x}")
    monkeypatch.setattr("excerpt.memory.store.now", lambda: "2026-02-27T09:30:00+00:00")
    store.remember("Soup keeps for three days in the fridge.", tags=["kitchen"], why="plan the shopping")
    monkeypatch.setattr("excerpt.memory.store.now", lambda: "2026-03-01T14:05:00+00:00")
    source = Source("Sync/Conflicts.md", 8, 8, "", ("Conflicts",))
    store.remember(
        "The **newer** one is kept, and the older one stands beside it.",
        tags=["sync", "decision"],
        why="so nothing is lost when two devices meet",
        source=source,
        query="sync conflict",
    )
    return tmp_path / "data"


def app_on(data: Path, theme: str = "excerpt-dark") -> StillApp:
    return StillApp(data, Settings(screen=ScreenSettings(theme=theme)))


def still(pilot: Pilot[None]) -> StillApp:
    assert isinstance(pilot.app, StillApp)
    return pilot.app


async def settled(pilot: Pilot[None]) -> None:
    """All that was asked is answered, and drawn."""
    screen = still(pilot).still
    pane, rows, preview = screen.query_one(SearchPane), screen.query_one(HitList), screen.query_one(Preview)

    def shown() -> bool:
        hit, window = rows.selected, preview.window
        same = (hit and hit.fragment.id) == (window and window.fragment.id)
        known = pane.cost_is_known and pane.memories_answered
        return same and pane.asked_all_answered and known

    await until(pilot, shown, "the answers")
    await pilot.pause()


async def typed(pilot: Pilot[None], query: str) -> None:
    await pilot.press(*("space" if character == " " else character for character in query))
    await settled(pilot)


async def said(pilot: Pilot[None], *messages: Message) -> None:
    """Once the screen listens, let it hear `messages`."""
    screen = still(pilot).still
    await until(pilot, lambda: bool(screen.query(IndexPane)), "the tabs")
    screen.say(*messages)
    await pilot.pause()


async def opening(pilot: Pilot[None]) -> None:
    await said(pilot)


async def ready(pilot: Pilot[None]) -> None:
    await said(pilot, IndexOpened(STATUS), WATCHED)


async def building(pilot: Pilot[None]) -> None:
    for progress in BUILDING:  # of those that wait only the last would be heard
        await said(pilot, progress)


async def building_paused(pilot: Pilot[None]) -> None:
    await building(pilot)
    await said(pilot, IndexPaused(paused=True))


async def empty(pilot: Pilot[None]) -> None:
    await said(pilot, IndexOpened(replace(STATUS, notes=0, fragments=0, skipped=(), warnings=())), WATCHED)


async def broken(pilot: Pilot[None]) -> None:
    await said(pilot, BROKEN)


async def busy_elsewhere(pilot: Pilot[None]) -> None:
    await said(pilot, IndexOpened(STATUS), BUSY)


async def results(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await typed(pilot, "sync conflict")


async def results_while_building(pilot: Pilot[None]) -> None:
    await results(pilot)
    await building(pilot)


async def nothing_found(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await typed(pilot, "zebra [/x]")


async def unanswered(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await typed(pilot, "conflict of interest")


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


async def panel_shown(pilot: Pilot[None], *keys: str) -> None:
    """Press keys, and let the panel that is open follow."""
    await pilot.press(*keys)
    pane = still(pilot).still.query_one(SearchPane)
    await until(pilot, lambda: pane.insights_known, "the panel")
    await pilot.pause()


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


async def packed_nothing(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await pilot.press("ctrl+o")


async def hostile_pack(pilot: Pilot[None]) -> None:
    await hostile(pilot)
    await pilot.press("f9")


async def hostile(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await typed(pilot, "bidi")


async def chinese(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await typed(pilot, "笔记")


async def why(pilot: Pilot[None]) -> None:
    await results(pilot)
    await pilot.press("down", "ctrl+t")


async def remember(pilot: Pilot[None]) -> None:
    await results(pilot)
    await pilot.press("ctrl+r", *"sync")


async def help_keys(pilot: Pilot[None]) -> None:
    await results(pilot)
    await pilot.press("f1")


async def palette(pilot: Pilot[None]) -> None:
    await results(pilot)
    await pilot.press("ctrl+backslash")
    await pilot.pause(0.5)


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


async def no_memories(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await pilot.press("f4")


async def some_memories(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await pilot.press("f4")
    rows = still(pilot).still.query_one(MemoryList)
    pane = still(pilot).still.query_one(MemoryPane)
    await until(pilot, lambda: len(rows.memories) == 2 and pane.all_known, "the memories")


async def broken_memory(pilot: Pilot[None]) -> None:
    """The list has the focus, and the cursor is on the file that cannot be read."""
    await some_memories(pilot)
    await pilot.press("shift+tab", "G")


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


async def known_tags(pilot: Pilot[None]) -> None:
    label = pilot.app.screen.query_one("#tags-label", Label)
    await until(pilot, lambda: "in use" in str(label.content), "the tags in use")


async def index(pilot: Pilot[None]) -> None:
    await ready(pilot)
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
    await broken(pilot)


async def rebuild(pilot: Pilot[None]) -> None:
    await index(pilot)
    await pilot.press("r")


STATES: list[Steps] = [
    opening,
    building,
    building_paused,
    empty,
    broken,
    busy_elsewhere,
    ready,
    results,
    results_while_building,
    nothing_found,
    unanswered,
    marked,
    packed,
    packed_marks,
    packed_nothing,
    related,
    related_by_name,
    related_to_nothing,
    mapped,
    mapped_by_filter,
    hostile,
    hostile_pack,
    chinese,
    why,
    remember,
    help_keys,
    palette,
    no_topic,
    overview,
    overview_with_passage,
    overview_of_everything,
    overview_of_nothing,
    no_memories,
    index,
    index_building,
    index_paused,
    index_cancelled,
    index_broken,
    index_ended,
    emptied,
    index_emptied,
    rebuild,
]


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "140x45"])
@pytest.mark.parametrize("steps", STATES, ids=lambda steps: steps.__name__)
def test_state(snap_compare: Compare, tmp_path: Path, greenwich: None, steps: Steps, size: tuple[int, int]) -> None:
    assert snap_compare(app_on(tmp_path), terminal_size=size, run_before=steps)


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "140x45"])
def test_memories(snap_compare: Compare, memories: Path, size: tuple[int, int]) -> None:
    assert snap_compare(app_on(memories), terminal_size=size, run_before=some_memories)


MEMORY_STATES: list[Steps] = [
    memories_filtered,
    memory_changed,
    found_with_memories,
    memory_packed,
    remember_again,
]


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "140x45"])
@pytest.mark.parametrize("steps", MEMORY_STATES, ids=lambda steps: steps.__name__)
def test_memory_state(snap_compare: Compare, memories: Path, steps: Steps, size: tuple[int, int]) -> None:
    assert snap_compare(app_on(memories), terminal_size=size, run_before=steps)


@pytest.mark.parametrize("size", SIZES, ids=["80x24", "140x45"])
def test_broken_memory(snap_compare: Compare, memories: Path, size: tuple[int, int]) -> None:
    folder = next((memories / "memories").iterdir())
    (folder / "broken.md").write_text("---\ntags: [open\n---\nText.\n")
    assert snap_compare(app_on(memories), terminal_size=size, run_before=broken_memory)


def test_memories_at_the_smallest(snap_compare: Compare, memories: Path) -> None:
    assert snap_compare(app_on(memories), terminal_size=(60, 15), run_before=some_memories)


@pytest.mark.parametrize("size", [(60, 15), (200, 60)], ids=["60x15", "200x60"])
def test_results_at_the_extremes(snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
    assert snap_compare(app_on(tmp_path), terminal_size=size, run_before=marked)


@pytest.mark.parametrize("size", [(60, 15), (200, 60)], ids=["60x15", "200x60"])
def test_packs_at_the_extremes(snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
    assert snap_compare(app_on(tmp_path), terminal_size=size, run_before=packed)


@pytest.mark.parametrize("size", [(60, 15), (200, 60)], ids=["60x15", "200x60"])
def test_overviews_at_the_extremes(snap_compare: Compare, tmp_path: Path, size: tuple[int, int]) -> None:
    assert snap_compare(app_on(tmp_path), terminal_size=size, run_before=overview)


def test_an_overview_in_light(snap_compare: Compare, tmp_path: Path) -> None:
    assert snap_compare(app_on(tmp_path, "excerpt-light"), terminal_size=(140, 45), run_before=overview)


@pytest.mark.parametrize("size", [(60, 15), (200, 60)], ids=["60x15", "200x60"])
@pytest.mark.parametrize("steps", [related, mapped_by_filter], ids=lambda steps: steps.__name__)
def test_panels_at_the_extremes(snap_compare: Compare, tmp_path: Path, steps: Steps, size: tuple[int, int]) -> None:
    assert snap_compare(app_on(tmp_path), terminal_size=size, run_before=steps)


def test_light(snap_compare: Compare, tmp_path: Path) -> None:
    assert snap_compare(app_on(tmp_path, "excerpt-light"), terminal_size=(140, 45), run_before=marked)


def test_without_colours(snap_compare: Compare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(app_on(tmp_path), terminal_size=(80, 24), run_before=marked)
