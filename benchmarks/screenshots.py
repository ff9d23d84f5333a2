"""Make every picture in screenshots/ from the app on the demo vault: `make screenshots`.

The guide has its own copies of the pictures in its notes, since it is shipped without the rest of the repository. What
differs from run to run (milliseconds, folders of this machine) is removed from the screen before the picture is taken.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from excerpt.base.model import Source
from excerpt.base.settings import ScreenSettings, Settings, user_paths
from excerpt.memory import memory_file
from excerpt.memory.memory_file import make_memory
from excerpt.memory.store import FolderMemoryStore
from excerpt.text.fragments import digest_of_text
from excerpt.tui.app import ExcerptApp
from excerpt.tui.index.dialog import IndexDialog
from excerpt.tui.insight.overview_pane import OverviewPane
from excerpt.tui.main_screen import MainScreen
from excerpt.tui.memory.pane import MemoryList, MemoryPane
from excerpt.tui.search.hit_list import HitList
from excerpt.tui.search.pane import SearchPane
from excerpt.tui.search.preview import Preview
from excerpt.vault.known_vaults import DEMO

FOLDER = Path("screenshots")
GUIDE = DEMO / "Pictures"
PATIENCE = 60.0

Steps = Callable[[Pilot[None]], Awaitable[None]]


@dataclass(frozen=True)
class Shot:
    """One picture: its name, the steps before it, its size and its theme."""

    name: str
    steps: Steps
    size: tuple[int, int] = (120, 32)
    theme: str = "excerpt-dark"


def screen_of(pilot: Pilot[None]) -> MainScreen:
    screen = pilot.app.screen_stack[0]
    assert isinstance(screen, MainScreen)
    return screen


async def until(pilot: Pilot[None], reached: Callable[[], bool]) -> None:
    for _ in range(int(PATIENCE / 0.02)):
        await pilot.pause(0.02)
        if reached():
            return
    raise TimeoutError("the app did not come to what the picture is of")


async def search(pilot: Pilot[None], query: str = "pack hits within a token budget") -> None:
    screen = screen_of(pilot)
    await until(pilot, lambda: screen.index.state.status is not None and not screen.index.state.is_working)
    await pilot.press(*("space" if character == " " else character for character in query))
    await settled(pilot)


async def settled(pilot: Pilot[None]) -> None:
    pane = screen_of(pilot).query_one(SearchPane)
    context = pane.query_one("#preview", Preview)
    await until(pilot, lambda: pane.is_up_to_date and context.window is not None)
    await pilot.pause(0.3)


async def shown(pilot: Pilot[None]) -> None:
    """Wait until the side panel has its answer."""
    pane = screen_of(pilot).query_one(SearchPane)
    await until(pilot, lambda: pane.side.is_answered)
    await pilot.pause(0.3)


async def pack(pilot: Pilot[None]) -> None:
    await search(pilot)
    await pilot.press("tab", "tab", "down", "tab", "escape", "s")
    await settled(pilot)


async def why(pilot: Pilot[None]) -> None:
    await search(pilot)
    await pilot.press("down", "ctrl+t")
    await shown(pilot)


async def remember(pilot: Pilot[None]) -> None:
    await search(pilot)
    await pilot.press("ctrl+r", *"budget,howto", "tab", *"the rule for every prompt")


def some_memories() -> None:
    """Create three memories with fixed times; the source of the newest has changed since."""
    store = FolderMemoryStore(user_paths().memory_folder(DEMO))
    kept = (
        ("2026-02-16", "Paste packs below the question for long prompts.", "howto", "Grace tried both", "", ""),
        ("2026-02-27", "Marks outlive the query: collect first, then copy.", "packs", "for the talk", "", "marks"),
        ("2026-03-01", _OUTDATED, "budget,rule", "what a budget of 4,000 means", "Token budget.md", "budget"),
    )
    for day, text, tags, why, path, query in kept:
        source = Source(path, 5, 5, digest_of_text(text)) if path else None
        setattr(memory_file, "format_current_time", lambda day=day: f"{day}T09:30:00+00:00")  # noqa: B010
        store.remember(make_memory(text, tags.split(","), why, source, query=query))


_OUTDATED = "The budget is the most tokens a pack may hold. It counts the passages, but no source lines."


async def memory(pilot: Pilot[None]) -> None:
    some_memories()
    await search(pilot, "token budget")
    await pilot.press("f4")
    pane, rows = screen_of(pilot).query_one(MemoryPane), screen_of(pilot).query_one(MemoryList)
    await until(pilot, lambda: len(rows.memories) == 3 and pane.is_complete)


async def found(pilot: Pilot[None]) -> None:
    some_memories()
    await search(pilot, "token budget")
    rows = screen_of(pilot).query_one(HitList)
    await until(pilot, lambda: bool(rows.remembered_ids))
    await pilot.press("down", "down")
    await settled(pilot)


async def related(pilot: Pilot[None]) -> None:
    await search(pilot, "token budget")
    await pilot.press("escape", "v", "v")
    await shown(pilot)
    await pilot.press("shift+tab", "down", "right")


async def vault_map(pilot: Pilot[None]) -> None:
    await search(pilot, "token budget")
    await pilot.press("escape", "v", "v", "v")
    await shown(pilot)
    await pilot.press("shift+tab", "j", "j", "right", "j")


async def overview(pilot: Pilot[None]) -> None:
    await search(pilot, "token budget")
    await pilot.press("f3")
    pane = screen_of(pilot).query_one(OverviewPane)
    await until(pilot, lambda: pane.overview is not None and pane.is_answered)
    await pilot.press("down")
    await until(pilot, lambda: pane.is_answered)


async def index(pilot: Pilot[None]) -> None:
    await search(pilot)
    await pilot.app.run_action("open_index", screen_of(pilot))
    dialog = pilot.app.screen
    assert isinstance(dialog, IndexDialog)
    dialog.index_folders = [Path("~/.cache/excerpt/index/notes-5d9a1c0e7b")]
    dialog.mutate_reactive(IndexDialog.state)


async def help_keys(pilot: Pilot[None]) -> None:
    await search(pilot)
    await pilot.press("f1")


SHOTS = (
    Shot("search", search),
    Shot("pack", pack),
    Shot("why", why),
    Shot("remember", remember),
    Shot("memory", memory),
    Shot("found", found),
    Shot("overview", overview, size=(140, 40)),
    Shot("related", related, size=(140, 40)),
    Shot("map", vault_map),
    Shot("index", index),
    Shot("help", help_keys),
    Shot("light", pack, theme="excerpt-light"),
    Shot("narrow", pack, size=(80, 24)),
)


OF_GUIDE = frozenset({"remember", "memory", "found", "overview", "related", "map"})


async def take(shot: Shot) -> None:
    settings = Settings(screen=ScreenSettings(theme=shot.theme))
    app = ExcerptApp(DEMO, settings, user_paths(), {})
    async with app.run_test(size=shot.size) as pilot:
        await shot.steps(pilot)
        await pilot.pause(0.3)
        svg = app.export_screenshot(title="excerpt")
    for folder in (user_paths().data, user_paths().state):  # each picture has its own memories and marks
        shutil.rmtree(folder, ignore_errors=True)
    # Remove Textual's random numbers, so that a picture changes only with its content.
    svg = re.sub(r"terminal-\d+-", "terminal-", svg)
    for folder in (FOLDER, GUIDE) if shot.name in OF_GUIDE else (FOLDER,):
        (folder / f"{shot.name}.svg").write_text(svg, encoding="utf-8")
    print(f"{FOLDER / shot.name}.svg")


def main() -> None:
    setattr(Input, "cursor_blink", False)  # noqa: B010 - a reactive of the class; a blink would come and go
    setattr(TextArea, "cursor_blink", False)  # noqa: B010
    FOLDER.mkdir(exist_ok=True)
    GUIDE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"EXCERPT_HOME": home, "TZ": "UTC"}
        time.tzset()
        for shot in SHOTS:
            asyncio.run(take(shot))


if __name__ == "__main__":
    main()
