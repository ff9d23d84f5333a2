"""Pictures of the whole app at two or three sizes, compared with approved ones.

After a change, `make pictures` records them again; look at each changed picture before you commit it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from pathlib import Path

import pytest
from pytest_textual_snapshot import SVGImageExtension
from syrupy.assertion import SnapshotAssertion
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from excerpt.base.model import Source
from excerpt.base.settings import Paths, ScreenSettings, Settings
from excerpt.memory.memory_file import make_memory
from excerpt.memory.store import FolderMemoryStore
from excerpt.tui.app import ExcerptApp
from tests.tui.driver import ScriptedApp, report_events
from tests.tui.examples import BUILDING, VAULT

SMALL = ((80, 24),)
LARGE = ((140, 45),)
BOTH = (*SMALL, *LARGE)

_SETTLED = 0.3
"""Seconds after which the cost of marking a fragment is counted instead of estimated."""

Steps = Callable[[Pilot[None]], Awaitable[None]]
Pictures = Callable[..., Awaitable[None]]


def themed_app(data: Path, theme: str = "excerpt-dark") -> ScriptedApp:
    return ScriptedApp(data, Settings(screen=ScreenSettings(theme=theme)))


async def building(pilot: Pilot[None]) -> None:
    for progress in BUILDING:  # of several queued ones only the last would be handled
        await report_events(pilot, progress)


@pytest.fixture
def pictures(snapshot: SnapshotAssertion) -> Pictures:
    """Return a function that runs `steps` in an app and compares a picture at each of `sizes`.

    One app serves all sizes, as starting it takes longer than a picture, and it can be resized at any time.
    """
    compared = snapshot.use_extension(SVGImageExtension)

    async def take(app: ExcerptApp, steps: Steps, sizes: Sequence[tuple[int, int]] = BOTH) -> None:
        others: list[str] = []
        async with app.run_test(size=sizes[0]) as pilot:
            await steps(pilot)
            await pilot.pause(_SETTLED)
            for width, height in sizes:
                if app.size != (width, height):
                    await pilot.resize_terminal(width, height)
                await pilot.pause()
                await pilot.pause()
                if app.export_screenshot() != compared(name=f"{width}x{height}"):
                    others.append(f"{width}x{height}")
        assert not others, f"drawn otherwise than in the picture: {', '.join(others)}"

    return take


@pytest.fixture(autouse=True)
def steady_cursors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable cursor blinking, which would make pictures differ."""
    monkeypatch.setattr(Input, "cursor_blink", False)
    monkeypatch.setattr(TextArea, "cursor_blink", False)


@pytest.fixture
def returning_user(tmp_path: Path) -> Path:
    """Return a data folder of a user who has opened a vault before."""
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "begun").touch()
    return tmp_path


@pytest.fixture
def memories(returning_user: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a data folder with two memories of fixed times."""
    store = FolderMemoryStore(
        Paths(returning_user, returning_user, returning_user, returning_user).memory_folder(VAULT)
    )
    numbers = count(1)  # ids count in the tokens of a pack
    monkeypatch.setattr("excerpt.memory.store.secrets.token_hex", lambda size: f"{next(numbers):0{2 * size}x}")
    monkeypatch.setattr("excerpt.memory.memory_file.format_current_time", lambda: "2026-02-27T09:30:00+00:00")
    store.remember(make_memory("Soup keeps for three days in the fridge.", tags=["kitchen"], why="plan the shopping"))
    monkeypatch.setattr("excerpt.memory.memory_file.format_current_time", lambda: "2026-03-01T14:05:00+00:00")
    source = Source("Sync/Conflicts.md", 8, 8, "", ("Conflicts",))
    store.remember(
        make_memory(
            "The **newer** one is kept, and the older one stands beside it.",
            tags=["sync", "decision"],
            why="so nothing is lost when two devices meet",
            source=source,
            query="sync conflict",
        )
    )
    return returning_user
