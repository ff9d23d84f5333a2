"""Tests of a memory whose source changes, in a terminal of 80 columns, and of memories on the command line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests import commands
from tests.e2e.conftest import EXCERPT, environment
from tests.e2e.terminal import Terminal

pytestmark = pytest.mark.programs

_SHIPS = "We ship on the 12th of March."
_PAYS = "Grace pays as soon as we ship."


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "Launch.md").write_text(f"# Launch\n\n{_SHIPS}\n\n## Who decides\n\nAda decides about the date.\n")
    (folder / "Money.md").write_text("# Money\n\nThe costs are shared by all.\n")
    return folder


@pytest.fixture
def shell(tmp_path: Path) -> Mapping[str, str]:
    return environment(tmp_path / "home")


@pytest.fixture
def app(shell: Mapping[str, str], vault: Path) -> Iterator[Terminal]:
    """Start the app on the vault with the hits of a query on the screen."""
    with Terminal([*EXCERPT, str(vault)], shell, 80, 24) as terminal:
        terminal.wait_for("2 notes · up to date")
        terminal.type("ship march")
        terminal.wait_for("❯ ship march", "▌  Launch", "Launch.md · ")
        yield terminal
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0


def run(shell: Mapping[str, str], vault: Path, *words: str) -> Any:
    """Return the JSON that a command prints."""
    return json.loads(commands.printed(*words, "--vault", vault, "--json", environment=shell))


def remember_hit(app: Terminal) -> None:
    """Remember the selected hit, with a tag and a reason."""
    app.press("ctrl+r")
    app.wait_for("Why it matters", "Launch.md, line 3")
    app.type("release")
    app.wait_for("  release")
    app.press("tab")
    app.type("final date")
    app.wait_for("  final date")
    app.press("enter")
    app.wait_gone("Why it matters")


def test_a_changed_source_is_shown_as_a_difference_and_its_new_text_saved(app: Terminal, vault: Path) -> None:
    remember_hit(app)
    app.press("f4")
    app.wait_for("memories · 1", f"▌ {_SHIPS}")
    note = (vault / "Launch.md").read_text()
    (vault / "Launch.md").write_text(note.replace("12th of March", "2nd of April"))
    app.wait_for("changed", "12th of March", "2nd of April")
    app.press("esc")
    app.wait_for("t take new")
    app.type("t")
    app.wait_for("▌ We ship on the 2nd of April.")
    app.wait_gone("12th of March")


def test_a_memory_is_saved_found_changed_forgotten_and_restored(shell: Mapping[str, str], vault: Path) -> None:
    kept = run(shell, vault, "remember", "--source", "Launch:3", "--tag", "release", "--why", "final date")
    assert kept["text"] == _SHIPS
    assert (kept["source"]["path"], kept["source"]["line_start"], kept["source"]["line_end"]) == ("Launch.md", 3, 3)
    other = run(shell, vault, "remember", _PAYS)
    (vault / "Launch.md").write_text(f"# Launch\n\nIt is late.\n\n{_SHIPS.replace('12th', '13th')}\n")
    best = run(shell, vault, "recall", "ship on the 12th", "--sources")["memories"][0]
    assert (best["id"], best["source_check"]["kind"]) == (kept["id"], "changed")
    assert best["source_check"]["now"] == _SHIPS.replace("12th", "13th")
    updated = run(shell, vault, "edit", kept["id"], "--update", "--tag", "sure")
    assert (updated["text"], updated["tags"]) == (best["source_check"]["now"], ["release", "sure"])
    assert updated["source"]["line_start"] == 5
    assert run(shell, vault, "forget", other["id"])["id"] == other["id"]
    assert [memory["id"] for memory in run(shell, vault, "recall")["memories"]] == [kept["id"]]
    restored = run(shell, vault, "forget", "--undo", other["id"])
    assert restored == {key: other[key] for key in other if key not in ("similar", "replaces")}
