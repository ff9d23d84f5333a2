"""Fixtures: a small real vault with its index, the app on it, and helpers for its panes."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from textual import events
from textual.app import App
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.screen import Screen

from excerpt.index.build import build
from excerpt.kinds import Strategy
from excerpt.model import Status
from excerpt.settings import PackSettings, Places, Settings
from excerpt.tui.app import ExcerptApp
from excerpt.tui.index.controller import IndexController
from excerpt.tui.main_screen import MainScreen
from excerpt.tui.search.hit_list import HitList
from excerpt.tui.search.pane import SearchPane

PATIENCE = 60.0
"""Seconds until a wait fails: far more than any step takes, as other tests may keep the machine busy."""

NOTES = {
    "Sync.md": (
        "---\naliases: [Synchronising]\ntags: [howto]\n---\n"
        "Notes are synchronised between devices.\n\n"
        "## Conflicts\n\nA sync conflict arises when two devices change one note before they meet. "
        "Keep the **newer** one, or see [[Merging|how to merge]].\n\n"
        "## Devices\n\n- [x] Phone\n- [ ] Laptop\n\nEach device keeps its own history of changes.\n"
    ),
    "Merging.md": (
        "# Merging\n\nTwo versions of one note are merged line by line.\n\n"
        "> [!tip] Keep both\n> A conflict that cannot be merged leaves ==both versions== side by side.\n\n"
        "```python\nmerge(ours, theirs)  # a sync conflict, resolved\n```\n"
    ),
    "Cooking/Lentil soup.md": "# Lentil soup\n\nSimmer red lentils with cumin until they are soft.\n",
    "Hostile [bold]x.md": (
        "# [/red] not markup\n\nEscape \x1b[31m and \u202ebidi\u202c stay visible: hostile text, [/foo] and [x].\n"
    ),
}


def write_notes(vault: Path) -> None:
    for path, text in NOTES.items():
        file = vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def places_under(home: Path) -> Places:
    return Places(home / "config", home / "cache", home / "data", home / "state")


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Places]:
    """Build the vault and its index once; tests get copies."""
    root = tmp_path_factory.mktemp("indexed")
    vault = root / "vault"
    write_notes(vault)
    places = places_under(root / "home")
    build(vault, places.index_folder(vault), Settings())
    return vault, places


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    monkeypatch.setenv("EXCERPT_HOME", str(folder))
    for name in ("TMUX", "SSH_CONNECTION", "SSH_TTY", "DISPLAY", "WAYLAND_DISPLAY", "EDITOR", "VISUAL", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def places(home: Path) -> Places:
    return places_under(home)


@pytest.fixture
def vault(tmp_path: Path, indexed: tuple[Path, Places], places: Places) -> Path:
    """Copy the vault, and its index to where the app looks for it."""
    original, kept = indexed
    folder = tmp_path / "vault"
    shutil.copytree(original, folder)
    shutil.copytree(kept.index_folder(original), places.index_folder(folder))
    return folder


@pytest.fixture
def living() -> None:
    """Mark a test of the indexing process, which then scans and watches the vault as for a user."""


@pytest.fixture(autouse=True)
def unwatched(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start no indexing process, except in tests with `living`.

    It would repeat every query at an unpredictable time, and replace what a test has put on the screen.
    """
    if "living" not in request.fixturenames:
        monkeypatch.setattr(IndexController, "start", lambda _index: None)


@pytest.fixture
def app(vault: Path, places: Places) -> ExcerptApp:
    return ExcerptApp(vault, Settings(pack=PackSettings(budget=2000)), places)


AppPilot = Pilot[None]


async def until(pilot: AppPilot, reached: Callable[[], bool], what: str) -> None:
    """Let the app run until `reached()` is true, or fail."""
    deadline = time.monotonic() + PATIENCE
    while not reached():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain for {what}")
        await pilot.pause()
        await asyncio.sleep(0.01)


def screen_of(app: ExcerptApp) -> MainScreen:
    """Return the main screen, even below a dialog."""
    screen = app.screen_stack[0]
    assert isinstance(screen, MainScreen)
    return screen


def pane_of(app: ExcerptApp) -> SearchPane:
    return screen_of(app).query_one(SearchPane)


def status_of(app: ExcerptApp) -> Status | None:
    return screen_of(app).index.state.status


def strategy_of(app: ExcerptApp) -> Strategy:
    return pane_of(app).strategy


def top_screen(app: ExcerptApp) -> Screen[object]:
    return app.screen


def titles(app: ExcerptApp) -> list[str]:
    return [hit.fragment.title for hit in screen_of(app).query_one(HitList).hits]


async def search(pilot: AppPilot, app: ExcerptApp, query: str) -> None:
    """Type a query in one burst and wait for its hits.

    A terminal delivers pasted or fast text like that; typing single letters would draw a frame for each.
    """
    await until(pilot, lambda: status_of(app) is not None, "the index")
    at_once(app, *query)
    await pilot.pause()  # an earlier answer to the same query may still be there
    await until(pilot, lambda: (r := pane_of(app).result) is not None and r.query == query, f"the answer to {query}")


def at_once(app: App[None], *keys: str) -> None:
    """Post all keys before the app handles the first."""
    for key in keys:
        name = _character_to_key(key) if len(key) == 1 and not key.isalnum() else key
        app.post_message(events.Key(name, key if len(key) == 1 else None))


@pytest.fixture
def opened(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set an editor with its own window, and return the file that will hold its arguments."""
    arguments = tmp_path / "arguments"
    editor = tmp_path / "code"
    editor.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{arguments}.part" && mv "{arguments}.part" "{arguments}"\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    return arguments


@pytest.fixture
def quiet_clipboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hide all clipboard tools, so that a test never changes the user's clipboard."""
    monkeypatch.setattr("excerpt.tui.clipboard.find_program", lambda name: None)
    yield
