"""Keys at random, many at once, everywhere: nothing breaks, no text is lost, and escape always leads back.

EXCERPT_FUZZ is how many keys a run has; `make fuzz` sets it. A run that fails says its seed and its last keys.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from unittest.mock import AsyncMock

import pytest
from textual.widgets import Input

from excerpt.memory.store import MemoryStore
from excerpt.settings import Places, Settings
from excerpt.tui.app import ExcerptApp
from excerpt.tui.common.bars import TabBar
from excerpt.tui.common.dialog import Confirm
from excerpt.tui.common.help import Help
from excerpt.tui.index.dialog import IndexDialog
from excerpt.tui.keymap import keys_of
from excerpt.tui.keys import PLACES
from excerpt.tui.memory.form import Remember
from excerpt.tui.pack.panel import BudgetDialog
from excerpt.tui.palette import Palette
from excerpt.tui.search.pane import SearchPane
from excerpt.tui.search.strategies import StrategiesScreen
from excerpt.tui.search.why_view import WhyNot
from excerpt.tui.settings.theme_picker import ThemePicker
from excerpt.tui.vault_chooser import VaultChooser
from tests.tui.conftest import AppPilot, at_once, until
from tests.tui.still import StillApp

KEYS = int(os.environ.get("EXCERPT_FUZZ", "300"))
LONG = 10_000
"""Keys that lead to every dialog."""
SEEDS = (1, 2, 3) if "EXCERPT_FUZZ" in os.environ else (1,)

PRESSED = sorted({key for rows in PLACES.values() for row in rows for key in keys_of(row, {})} | {*"abcz 1:#é"})
PRESSED += ["ctrl+end", "shift+left", "alt+b", "f6"]
PRESSED += [f"unbound-{row.id}" for rows in PLACES.values() for row in rows if not row.keys]
OPENINGS = (
    *("f1", "ctrl+g", "ctrl+r", "ctrl+t", "ctrl+o"),
    *(f"unbound-{command}" for command in ("compare", "history", "suggest", "budget", "index", "switch-vault")),
)
FROM_PALETTE: tuple[Callable[[StillApp], object], ...] = (
    lambda app: app.action_change_theme(),
    lambda app: app.still.query_one(SearchPane).action_why_not(),
    lambda app: app.push_screen(Confirm("Rebuild the index?", "It is made anew.", "Rebuild")),
)
"""Dialogs that no key opens, as their row of the palette or their button does."""
DIALOGS: frozenset[type[object]] = frozenset(
    (BudgetDialog, Confirm, Help, IndexDialog, Palette, Remember, StrategiesScreen, ThemePicker, VaultChooser, WhyNot)
)
TABS = ("f2", "f3", "f4")
MOST_ESCAPES = 12
"""Layers that there can be, with the menu, a panel, and a field to be cleared."""


@pytest.fixture(autouse=True)
def nothing_is_started_or_left(monkeypatch: pytest.MonkeyPatch, quiet_clipboard: None) -> None:
    for name in ("_start", "_run_here"):
        monkeypatch.setattr(f"excerpt.tui.programs.Programs.{name}", lambda _programs, _argv: None)
    monkeypatch.setattr("excerpt.tui.programs.which", lambda _name: None)
    monkeypatch.setattr(ExcerptApp, "_chosen", lambda _app, _opening: None)
    monkeypatch.setattr(ExcerptApp, "action_quit", AsyncMock())


@pytest.fixture
def still(tmp_path: Path, home: Path) -> StillApp:
    """On the notes that are only spoken of, with two memories."""
    places = Places(tmp_path / "config", tmp_path, tmp_path, tmp_path)
    store = MemoryStore(places.memory_folder(Path("/home/ada/notes")))
    store.remember("Soup keeps for three days.", tags=["kitchen"], why="plan the shopping")
    store.remember("The newer one is kept.", tags=["sync"])
    return StillApp(tmp_path, Settings())


def bursts(random: Random, keys: int) -> Iterator[list[str]]:
    """Some `keys` keys: of a tab and mostly of a dialog, then at random, in bursts of one to eight, half of them pairs
    that are pressed again at once."""
    pressed = 0
    while pressed < keys:
        burst = [random.choice(TABS)] if random.random() < 0.2 else []
        if random.random() < 0.5:
            burst.append(random.choice(OPENINGS))
        pair = [random.choice(PRESSED), random.choice(PRESSED)]
        burst += pair * 2 if random.random() < 0.5 else [random.choice(PRESSED) for _ in range(random.randint(1, 6))]
        pressed += len(burst)
        yield burst


async def lead_out(pilot: AppPilot, app: StillApp) -> bool:
    """Press escape until the main screen is in front, then go to the query, and empty it."""
    for _ in range(MOST_ESCAPES):
        field = app.still.query_one("#query", Input)
        if app.screen is app.still:
            await pilot.press("f2", "end", "ctrl+u")
            await pilot.pause()
            if app.screen is app.still and field.has_focus and not field.value:
                return True
        await pilot.press("escape")
        await pilot.pause()
    return False


def where(app: StillApp) -> str:
    field = app.still.query_one("#query", Input)
    return f"{app.screen_stack}, {app.focused}, {field.value!r}"


@pytest.mark.parametrize("seed", SEEDS)
async def test_no_burst_of_keys_breaks_the_app_loses_text_or_leads_nowhere(still: StillApp, seed: int) -> None:
    random = Random(seed)
    last: list[list[str]] = []
    seen: set[type[object]] = set()
    async with still.run_test(size=random.choice([(80, 24), (120, 36), (60, 15)])) as pilot:
        await until(pilot, lambda: bool(still.still.query("#memory")), "the other tabs")
        for number, burst in enumerate(bursts(random, KEYS)):
            last = [*last[-5:], burst]
            if random.random() < 0.05:
                random.choice(FROM_PALETTE)(still)
            at_once(still, *burst)
            if number % 3 == 0:
                await pilot.pause()
            seen |= {type(screen) for screen in still.screen_stack}
            if still._exception is not None:
                break
            if number % 10 == 0:
                assert await lead_out(pilot, still), f"seed {seed}: {where(still)} after {last}"
                at_once(still, *"sync")
                text = still.still.query_one("#query", Input)
                await until(pilot, lambda t=text: t.value == "sync", f"what was typed after {last}")  # type: ignore[misc]
                assert still.still.query_one(TabBar).active == "search"
        if still._exception is None:
            assert await lead_out(pilot, still), f"seed {seed}: {where(still)} after {last}"
        assert still._exception is None, f"seed {seed}: {still._exception!r} after {last}"
    assert KEYS < LONG or not DIALOGS - seen, f"seed {seed} saw nothing of {DIALOGS - seen}"
