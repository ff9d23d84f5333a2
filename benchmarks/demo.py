"""Make the demo of the README from the app on the demo vault: from a question to a pack, in a dozen pictures.

What differs from run to run is removed from the screen, as in the screenshots (`benchmarks.screenshots`).
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Input
from textual.widgets._toast import Toast

from benchmarks.animated import Frame, animated
from benchmarks.screenshots import FOLDER, screen_of, until
from excerpt.base.settings import Settings, user_paths
from excerpt.tui import clipboard
from excerpt.tui.app import ExcerptApp
from excerpt.tui.search.pane import SearchPane
from excerpt.vault.known_vaults import DEMO

SIZE = (104, 28)

STORY: tuple[tuple[tuple[str, ...], float, str, str], ...] = (
    ((), 1.6, "excerpt ~/notes", "opens a folder of Markdown"),
    (tuple("pack"), 0.6, "", "type a question: every key ranks anew"),
    (("space", *"hits"), 0.6, "", "type a question: every key ranks anew"),
    (("space", *"within", "space", "a"), 0.6, "", "type a question: every key ranks anew"),
    (("space", *"token", "space", *"budget"), 2.6, "", "passages, not files, by words, closeness and meaning"),
    (("down",), 1.2, "↓", "each one is shown where it stands in its note"),
    (("down",), 1.2, "↓", "each one is shown where it stands in its note"),
    (("ctrl+t",), 3.2, "^t", "why it has this rank"),
    (("ctrl+t", "tab"), 1.8, "⇥", "marks it for the pack, counted to the token"),
    (("tab",), 1.8, "⇥", "and the next one"),
    (("escape", "s", "s", "enter"), 2.6, "esc s s ⏎", "grows the pack to whole sections, within the budget"),
    (("ctrl+y",), 3.6, "^y", "copies it, with its sources, for a prompt"),
)
"""The keys pressed, the seconds the picture is shown, and its caption: keys, then words."""


async def frames(vault: Path) -> list[Frame]:
    app = ExcerptApp(vault, Settings(), user_paths(), {"WAYLAND_DISPLAY": "wayland-0"})
    taken: list[Frame] = []
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        screen = screen_of(pilot)
        every = len(list(vault.rglob("*.md")))
        await until(
            pilot,
            lambda: (
                (known := screen.index.state).status is not None
                and known.status.notes == every
                and not known.is_working
            ),
        )
        for keys, seconds, shown, words in STORY:
            await pilot.press(*keys)
            await settled(pilot)
            if "ctrl+y" in keys:
                await until(pilot, lambda: bool(pilot.app.screen.query(Toast)))
                await pilot.pause(0.6)
            svg = re.sub(r"terminal-\d+-", "terminal-", app.export_screenshot(title="excerpt"))
            taken.append(Frame(svg, seconds, shown, words))
    return taken


async def settled(pilot: Pilot[None]) -> None:
    pane = screen_of(pilot).query_one(SearchPane)
    await until(pilot, lambda: pane.is_up_to_date)
    await pilot.pause(0.6)


def notes_of_some_age(folder: Path) -> Path:
    """Return a copy of the demo vault whose notes have the same ages in days in every run."""
    vault = folder / "notes"
    shutil.copytree(DEMO, vault)
    for at, note in enumerate(sorted(vault.rglob("*.md")), start=1):
        then = time.time() - 86_400 * (at * at % 90 + 0.5)
        os.utime(note, (then, then))
    return vault


@contextmanager
def stand_ins(home: Path) -> Iterator[None]:
    """Use a fake clipboard tool, and show the usual path of copied files, inside this context."""
    tool = home / "bin" / "wl-copy"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\ncat > /dev/null\n")
    tool.chmod(0o755)
    before, os.environ["PATH"] = os.environ["PATH"], f"{tool.parent}{os.pathsep}{os.environ['PATH']}"
    setattr(clipboard, "_abbreviate_home", lambda file: "~/.local/state/excerpt/copies/copy.md")  # noqa: B010, ARG005
    try:
        yield
    finally:
        os.environ["PATH"] = before


def main() -> None:
    setattr(Input, "cursor_blink", False)  # noqa: B010 - a reactive of the class; a blink would come and go
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"EXCERPT_HOME": home, "TZ": "UTC"}
        time.tzset()
        with stand_ins(Path(home)):
            svg = animated(asyncio.run(frames(notes_of_some_age(Path(home)))))
    (FOLDER / "demo.svg").write_text(svg, encoding="utf-8")
    print(FOLDER / "demo.svg")


if __name__ == "__main__":
    main()
