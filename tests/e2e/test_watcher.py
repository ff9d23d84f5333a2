"""Tests of a vault that changes while the app is open: changes appear, and no process remains."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.e2e.conftest import EXCERPT, environment
from tests.e2e.terminal import Terminal


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "Kitchen.md").write_text("# Kitchen\n\nSimmer red lentils with cumin.\n")
    return folder


@pytest.fixture
def shell(tmp_path: Path) -> Mapping[str, str]:
    """Return a shell environment with an editor that appends a line about parsnips."""
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "\\nRoast walrus beside parsnips.\\n" >> "$1"\n')
    editor.chmod(0o755)
    return {**environment(tmp_path / "home"), "EDITOR": str(editor)}


@pytest.mark.programs
def test_changes_by_other_programs_and_the_editor_appear_in_the_list(shell: Mapping[str, str], vault: Path) -> None:
    with Terminal([*EXCERPT, str(vault)], shell, 100, 30) as app:
        app.wait_for("1 note · up to date")
        app.type("walrus")
        app.wait_for("Nothing found for walrus")
        new = vault / ".Walrus.md.tmp"
        new.write_text("# Walrus\n\nThe walrus swims in the cold sea.\n")
        new.replace(vault / "Walrus.md")
        app.wait_for("▌  ", "swims in the cold sea", "2 notes · up to date")
        app.press("enter")
        app.wait_for("walrus beside parsnips")
        assert "watched    yes" in status(vault, shell)
        app.press("ctrl+g")
        app.wait_for("Search for commands")
        app.type("The index")
        app.wait_for("why files were skipped")
        app.press("enter")
        app.wait_for("changes    noticed at once", "no file was skipped", " Pause ")
        app.press("tab", "enter")
        app.wait_for("2 notes · paused", " Continue ")
        app.press("ctrl+q")
        assert app.wait_exit() == 0
    assert indexers_of(vault) == []
    assert "watched    no" in status(vault, shell)


def status(vault: Path, shell: Mapping[str, str]) -> str:
    command = [*EXCERPT, "status", "--vault", str(vault)]
    return subprocess.run(command, env=dict(shell), check=True, capture_output=True, text=True).stdout


def indexers_of(vault: Path) -> list[int]:
    """Return the ids of the processes that index a vault; none without /proc."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"watch" in arguments and os.fsencode(vault) in arguments:
            found.append(int(process.name))
    return found
