"""Tests that the first frame is drawn before anything heavy is imported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from excerpt.tui.startup import FIRST_QUERY_MODULES, OTHER_MODULES
from tests.tui.examples import write_notes

pytestmark = pytest.mark.programs

HEAVY = {
    "whoosh",
    "model2vec",
    "numpy",
    "sqlite3",
    "splintr",
    "frontmatter",
    "yaml",
    "Stemmer",
    "rapidfuzz",
    "watchfiles",
    "textual.document",
}

VALUES = {
    "excerpt.index",
    "excerpt.index.events",
    "excerpt.pack",
    "excerpt.pack.selection",
    "excerpt.pack.memory_fragment",
    "excerpt.insight",
    "excerpt.insight.overview_parts",
    "excerpt.search",
    "excerpt.search.query_word",
    "excerpt.vault",
    "excerpt.vault.known_vaults",
    "excerpt.vault.obsidian",
}
"""Packages of the engine that import nothing else of it."""

AFTER = {
    *FIRST_QUERY_MODULES,
    *OTHER_MODULES,
    "excerpt.base.model",
    "excerpt.tui.common.line_drawing",
    "excerpt.tui.search.note_window",
    "excerpt.tui.palette",
}
"""Modules for hits, notes and packs, which do not exist yet."""

MAX = 100
"""The number of own modules before the first frame: each costs a millisecond or more, so think before adding one."""

_PROBE = """
import json, sys
from pathlib import Path
from excerpt.base.settings import Settings, user_paths
from excerpt.tui.app import ExcerptApp
from excerpt.tui.main_screen import MainScreen

def begin(screen):
    frame = "\\n".join(strip.text for strip in screen._compositor.render_strips())
    widgets = [type(widget).__name__ for widget in screen.walk_children()]
    print(json.dumps({"modules": sorted(sys.modules), "frame": frame, "widgets": widgets}))
    screen.app.exit()

MainScreen._start_after_first_frame = begin
ExcerptApp(Path(sys.argv[1]), Settings(), user_paths()).run(headless=True, size=(80, 24))
"""


def test_the_first_frame_is_drawn_before_anything_it_does_not_show_is_imported(tmp_path: Path, home: Path) -> None:
    write_notes(tmp_path / "vault")
    run = subprocess.run(
        [sys.executable, "-c", _PROBE, str(tmp_path / "vault")], capture_output=True, text=True, check=False
    )
    assert run.stdout, run.stderr
    seen = json.loads(run.stdout.splitlines()[0])
    assert "Search your notes" in seen["frame"]
    assert not HEAVY.intersection(seen["modules"])
    packages = ("index", "search", "pack", "memory", "insight", "vault")
    engine = tuple(f"excerpt.{package}." for package in packages)
    assert not [name for name in seen["modules"] if f"{name}.".startswith(engine) and name not in VALUES]
    assert not AFTER.intersection(seen["modules"])
    assert len([name for name in seen["modules"] if name.startswith("excerpt")]) <= MAX
    assert not [name for name in seen["modules"] if name.startswith("excerpt.tui.screens.")], "dialogs"
    assert "Type to search" in seen["frame"]
    assert not {"Preview", "PackRows", "RelatedPanel", "MapPanel"}.intersection(seen["widgets"])
