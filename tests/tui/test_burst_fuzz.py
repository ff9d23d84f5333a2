"""Random keys in bursts on all screens: nothing fails, no text is lost, and escape always leads back.

They go through every widget, so no module has this name. The terminal must also show what a full redraw would.
EXCERPT_FUZZ is the number of keys in a run; `make fuzz` sets it. A failing run prints its seed and its last keys.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from random import Random
from unittest.mock import AsyncMock

import pytest
from rich.color import ColorSystem
from textual.widgets import Input

from excerpt.base.kinds import LinkForm
from excerpt.base.settings import Paths, ScreenSettings, Settings
from excerpt.memory.memory_file import make_memory
from excerpt.memory.store import FolderMemoryStore
from excerpt.tui.app import ExcerptApp
from excerpt.tui.common.dialog import ConfirmDialog, Dialog, OverlayScreen
from excerpt.tui.common.help import HelpDialog
from excerpt.tui.common.tab_bar import TabBar
from excerpt.tui.index.dialog import IndexDialog
from excerpt.tui.key_table import CONTEXTS
from excerpt.tui.keymap import binding_keys
from excerpt.tui.memory.form import RememberDialog
from excerpt.tui.pack.dialogs import BudgetDialog, ScopeDialog
from excerpt.tui.palette import Palette
from excerpt.tui.search.link_dialog import LinkDialog
from excerpt.tui.search.strategies import StrategiesScreen
from excerpt.tui.search.why_view import WhyNot
from excerpt.tui.settings.theme_picker import ThemePicker
from excerpt.tui.vault_chooser import VaultChooser
from tests.tui.driver import AppPilot, ScriptedApp, hit_list_of, pane_of, post_keys, screen_of, until, until_tabs
from tests.tui.terminal import TerminalApp, differences

pytestmark = pytest.mark.programs

KEYS = int(os.environ.get("EXCERPT_FUZZ", "300"))
LONG = 10_000
"""A number of keys that is enough to open every dialog."""
SEEDS = (1, 2, 3) if "EXCERPT_FUZZ" in os.environ else (1,)

PRESSED = sorted({key for rows in CONTEXTS.values() for row in rows for key in binding_keys(row, {})} | {*"abcz 1:#é"})
PRESSED += ["ctrl+end", "shift+left", "alt+b", "f6"]
PRESSED += [f"unbound-{row.id}" for rows in CONTEXTS.values() for row in rows if not row.keys]
OPENINGS = (
    *("f1", "ctrl+g", "ctrl+r", "ctrl+t", "ctrl+o"),
    *(f"unbound-{command}" for command in ("compare", "history", "saved", "suggest")),
    *(f"unbound-{command}" for command in ("budget", "scope", "index", "switch-vault")),
)
FROM_PALETTE: tuple[Callable[[ScriptedApp], object], ...] = (
    lambda app: app.action_change_theme(),
    lambda app: pane_of(app).action_why_not(),
    lambda app: app.push_screen(LinkDialog({LinkForm.WIKILINK: ("[[Sync]]",)}, LinkForm.WIKILINK)),
    lambda app: app.push_screen(ConfirmDialog("Rebuild the index?", "It is made anew.", "Rebuild")),
)
"""Dialogs that no key opens, opened as by the palette or a button."""
DIALOGS: frozenset[type[object]] = frozenset(
    (
        BudgetDialog,
        ConfirmDialog,
        HelpDialog,
        IndexDialog,
        LinkDialog,
        Palette,
        RememberDialog,
        ScopeDialog,
        StrategiesScreen,
        ThemePicker,
        VaultChooser,
        WhyNot,
    )
)
VIEWED = frozenset(("passage", "why", "related", "map", "pack", "overview", "memory"))
TABS = ("f2", "f3", "f4")
SMALL, LARGE = (80, 24), (140, 45)
FEW, ALL = ColorSystem.EIGHT_BIT, ColorSystem.TRUECOLOR
LOOKS = (
    list(product((SMALL, LARGE), (FEW, ALL), ("excerpt-dark", "excerpt-light")))
    if KEYS >= LONG
    else [(SMALL, FEW, "excerpt-dark"), (LARGE, ALL, "excerpt-light")]
)
"""Sizes of the terminal with its colours and a theme."""
DRAWN_KEYS = KEYS // 80 if KEYS >= LONG else 0
"""The number of random keys for each look, after the keys that open and use every screen and dialog.

Each burst takes some 0.3 s, mostly for reading the terminal twice.
"""
DRAWN_WITHIN = 100
"""The number of comparisons, at least 0.02 s apart, until everything must be drawn."""
VIEWS = ("f2", "unbound-related", "unbound-map", "f3", "f4")
MAX_ESCAPES = 12
"""The largest number of layers, with the menu, a panel, and a field to be cleared."""


@pytest.fixture(autouse=True)
def block_programs_and_quitting(monkeypatch: pytest.MonkeyPatch, quiet_clipboard: None) -> None:
    for name in ("_start_in_background", "_run_in_terminal"):
        monkeypatch.setattr(f"excerpt.tui.programs.ProgramLauncher.{name}", lambda _programs, _argv: None)
    monkeypatch.setattr("excerpt.tui.programs.find_program", lambda _name: None)
    monkeypatch.setattr(ExcerptApp, "_handle_vault_choice", lambda _app, _opening: None)
    monkeypatch.setattr(ExcerptApp, "action_quit", AsyncMock())


@pytest.fixture
def data(tmp_path: Path, home: Path) -> Path:
    """Return a data folder of the app with two memories."""
    user_paths = Paths(tmp_path / "config", tmp_path, tmp_path, tmp_path)
    store = FolderMemoryStore(user_paths.memory_folder(Path("/home/ada/notes")))
    store.remember(make_memory("Soup keeps for three days.", tags=["kitchen"], why="plan the shopping"))
    store.remember(make_memory("The newer one is kept.", tags=["sync"]))
    return tmp_path


@pytest.fixture
def scripted(data: Path) -> ScriptedApp:
    """Return the app on the fictitious notes."""
    return ScriptedApp(data)


def bursts(random: Random, keys: int) -> Iterator[list[str]]:
    """Yield about `keys` keys in bursts: mostly a tab or dialog first, then one to eight random keys.

    Half of the random parts are pairs that are repeated at once.
    """
    pressed = 0
    while pressed < keys:
        burst = [random.choice(TABS)] if random.random() < 0.2 else []
        if random.random() < 0.5:
            burst.append(random.choice(OPENINGS))
        pair = [random.choice(PRESSED), random.choice(PRESSED)]
        burst += pair * 2 if random.random() < 0.5 else [random.choice(PRESSED) for _ in range(random.randint(1, 6))]
        pressed += len(burst)
        yield burst


async def leave_dialog(pilot: AppPilot) -> None:
    """Press escape, or discard typed text if that is the question."""
    front = pilot.app.screen
    discards = isinstance(front, ConfirmDialog) and front._title.startswith("Discard")
    await pilot.press(*(("shift+tab", "enter") if discards else ("escape",)))


async def return_to_query(pilot: AppPilot) -> bool:
    """Press escape, and discard typed text, until the main screen is in front; then go to the query, and empty it."""
    for _ in range(MAX_ESCAPES):
        field = screen_of(pilot.app).query_one("#query", Input)
        if pilot.app.screen is screen_of(pilot.app):
            await pilot.press("f2", "end", "ctrl+u")
            await pilot.pause()
            if pilot.app.screen is screen_of(pilot.app) and field.has_focus and not field.value:
                return True
        await leave_dialog(pilot)
        await pilot.pause()
    return False


def describe_state(app: ScriptedApp) -> str:
    field = screen_of(app).query_one("#query", Input)
    return f"{app.screen_stack}, {app.focused}, {field.value!r}"


@pytest.mark.parametrize("seed", SEEDS)
async def test_random_bursts_of_keys_neither_crash_lose_text_nor_get_stuck(scripted: ScriptedApp, seed: int) -> None:
    random = Random(seed)
    last: list[list[str]] = []
    seen: set[type[object]] = set()
    async with scripted.run_test(size=random.choice([(80, 24), (120, 36), (60, 15)])) as pilot:
        await until_tabs(pilot)
        for number, burst in enumerate(bursts(random, KEYS)):
            last = [*last[-5:], burst]
            if random.random() < 0.05:
                random.choice(FROM_PALETTE)(scripted)
            post_keys(scripted, *burst)
            if number % 3 == 0:
                await pilot.pause()
            seen |= {type(screen) for screen in scripted.screen_stack}
            if scripted._exception is not None:
                break
            if number % 10 == 0:
                assert await return_to_query(pilot), f"seed {seed}: {describe_state(scripted)} after {last}"
                post_keys(scripted, *"sync")
                text = screen_of(scripted).query_one("#query", Input)
                await until(pilot, lambda t=text: t.value == "sync", f"what was typed after {last}")  # type: ignore[misc]
                assert screen_of(scripted).query_one(TabBar).active == "search"
        if scripted._exception is None:
            assert await return_to_query(pilot), f"seed {seed}: {describe_state(scripted)} after {last}"
        assert scripted._exception is None, f"seed {seed}: {scripted._exception!r} after {last}"
    assert KEYS < LONG or not DIALOGS - seen, f"seed {seed} saw nothing of {DIALOGS - seen}"


def open_view(app: ScriptedApp) -> str:
    """Return what is open on the main screen: a tab, or in the Search tab the pack or a side panel view."""
    tab, pane = screen_of(app).query_one(TabBar).active, pane_of(app)
    if tab != "search":
        return tab
    return "pack" if pane.pack_panel.rows.has_focus else str(pane.side.view)


def test_every_dialog_is_among_those_opened() -> None:
    found: set[type[object]] = set()
    left: set[type[object]] = {OverlayScreen}
    while left:
        left = {below for one in left for below in one.__subclasses__()}
        found |= {one for one in left if one.__module__.startswith("excerpt.")}
    assert found - {Dialog} == DIALOGS


async def expect_drawn(pilot: AppPilot, app: TerminalApp, after: object) -> None:
    """Fail if the terminal does not soon show what a full redraw would."""
    found: list[str] = []
    for _ in range(DRAWN_WITHIN):
        await pilot.pause(0.02)
        found = differences(app.cells(), app.expected_cells())
        if not found:
            return
    assert not found, f"after {after}: {app.screen}: {found}"


@pytest.mark.parametrize(("size", "colours", "theme"), LOOKS)
async def test_after_any_keys_every_cell_of_the_terminal_is_correct(
    data: Path, size: tuple[int, int], colours: ColorSystem, theme: str
) -> None:
    app = TerminalApp(data, Settings(screen=ScreenSettings(theme=theme)), size, colours)
    random = Random(f"{size} {colours} {theme}")
    seen: set[type[object]] = set()
    seen_views: set[str] = set()
    async with app.run_test(size=size, headless=False) as pilot:
        await until_tabs(pilot)
        views: list[str | Callable[[ScriptedApp], object]] = [*VIEWS, *OPENINGS, *FROM_PALETTE]
        for view in views:
            post_keys(app, "f2", "end", "ctrl+u", *"sync", "escape")
            await pilot.pause()
            await until(pilot, lambda: bool(hit_list_of(app).rows), "the hits, which the views are of")
            if isinstance(view, str):
                post_keys(app, view)
            else:
                view(app)
            await expect_drawn(pilot, app, view)
            seen.add(type(app.screen))
            seen_views.add(open_view(app))
            keys = [random.choice(PRESSED) for _ in range(3)]
            post_keys(app, *keys)
            await expect_drawn(pilot, app, (view, keys))
            seen_views.add(open_view(app))  # the keys may have opened what the next view's key closes
            while app.screen is not screen_of(app):
                await leave_dialog(pilot)
        for keys in bursts(random, DRAWN_KEYS):
            post_keys(app, *keys)
            await expect_drawn(pilot, app, keys)
        for now in (LARGE if size == SMALL else SMALL, size):
            app.resize_seen(now)
            await pilot.resize_terminal(*now)
            await expect_drawn(pilot, app, now)
    assert not DIALOGS - seen, f"saw nothing of {DIALOGS - seen}"
    assert not VIEWED - seen_views, f"saw nothing of {VIEWED - seen_views}"
