"""Overview, related and map in a real terminal of 80 columns, and what their commands print for programs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from excerpt.known_vaults import DEMO
from tests.e2e.conftest import EXCERPT
from tests.e2e.terminal import Terminal


@pytest.fixture
def editor(tmp_path: Path) -> tuple[Path, Path]:
    """An editor that ends at once, and the file that it writes its arguments to."""
    program, seen = tmp_path / "vim", tmp_path / "argv"
    program.write_text(f'#!{sys.executable}\nimport sys\nopen({str(seen)!r}, "w").write("\\n".join(sys.argv[1:]))\n')
    program.chmod(0o755)
    return program, seen


@pytest.fixture
def app(shell: Mapping[str, str], editor: tuple[Path, Path]) -> Iterator[Terminal]:
    """The app on the demo vault, with the answer to a query on the screen."""
    with Terminal([*EXCERPT, "demo"], {**shell, "EDITOR": str(editor[0])}, 80, 24) as terminal:
        terminal.wait_for("Search", " notes")
        terminal.type("token budget")
        terminal.wait_for("❯ token budget", " hits", "▌ 1 ○ Token budget")
        yield terminal
        terminal.press("ctrl+q")
        assert terminal.wait_exit() == 0


def selected(app: Terminal, below: str) -> str:
    """The selected row below the line that holds `below`; "" while there is none."""
    return next((line for line in app.lines[app.row_of(below) + 1 :] if line.startswith("▌")), "")


def test_an_overview_leads_to_passages_to_the_editor_and_to_a_search(app: Terminal, editor: tuple[Path, Path]) -> None:
    app.press("f3")
    app.wait_for("◎ token budget", "▌main notes Token budget", " fragments in ", "passages", "themes")
    app.press("esc")
    app.wait_for("v passage")
    app.type("v")
    app.wait_for("Token budget.md · ")
    app.press("enter")
    app.wait_until(editor[1].exists, "to run the editor")
    app.wait_back()
    app.wait_for("▌main notes Token budget", "Token budget.md · ")
    assert editor[1].read_text(encoding="utf-8").endswith(str(DEMO / "Token budget.md"))
    app.press("ctrl+g")
    app.type("search for what is selected")
    app.wait_for("Search for what is selected")
    app.press("enter")
    app.wait_for('❯ path:"/Token budget.md"✕token', " hits", "▌ 1 ○ Token budget")


def test_related_notes_are_followed_and_come_back(app: Terminal, editor: tuple[Path, Path]) -> None:
    app.press("esc")
    app.wait_for("? help")
    app.press("v", "v", "l")
    app.wait_for("related to Token budget", "▌ 1 ", " common links", " words", " meaning", "l follow")
    first = re.split(r"\s{2,}", selected(app, "related to"))[1]
    assert not first.startswith("Token budget")
    app.press("l")
    app.wait_for(f"related to {first}")
    app.press("backspace")
    app.wait_for("related to Token budget", first)
    app.press("enter")
    app.wait_until(editor[1].exists, "to run the editor")
    app.wait_back()
    app.wait_for("related to Token budget")
    assert Path(editor[1].read_text(encoding="utf-8").split("\n")[-1]).stem == first
    app.press("esc")
    app.wait_for("space mark")


def test_a_branch_of_the_map_becomes_a_filter_and_is_taken_off_again(app: Terminal) -> None:
    found = re.search(r" (\d+) hits", app.text)
    assert found
    app.press("esc")
    app.wait_for("? help")
    app.press("v", "v", "v", "l")
    app.wait_for(f"map of token budget · {found[1]} fragments in ", "folders", "▸ tags")
    app.press("j", "j")
    app.wait_for("▌▸ tags")
    app.press("right", "right")
    app.wait_for("▾ tags")
    app.wait_until(lambda: " note" in selected(app, "▾ tags"), "to go into it")
    tag, _, fragments, *_ = re.split(r"\s{2,}", selected(app, "▾ tags").lstrip("▌ ▸▾"))
    app.press("space")
    app.wait_for(f"❯ tag:{tag}✕token budget", f" {fragments} hit", f"map of tag:{tag} token budget · {fragments} ")
    app.press("backspace")
    app.wait_for("❯ token budget", f" {found[1]} hits", f"map of token budget · {found[1]} ")
    app.press("esc")
    app.wait_for("space mark")


def printed(shell: Mapping[str, str], *words: str) -> Any:
    """What a command prints as JSON, in a process of its own."""
    command = [*EXCERPT, *words, "--vault", str(DEMO), "--no-refresh", "--json"]
    return json.loads(subprocess.run(command, env=dict(shell), check=True, capture_output=True).stdout)


def test_overview_and_map_count_as_the_search_does(shell: Mapping[str, str]) -> None:
    found = printed(shell, "search", "token budget", "--limit", "1")
    overview = printed(shell, "overview", "token budget")
    assert overview["topic"] == "token budget"
    assert overview["matched"] == found["matched"]
    assert overview["main_notes"][0]["path"] == "Token budget.md"
    assert all(overview[part] for part in ("sections", "passages", "themes", "related"))
    tree = printed(shell, "map", "token budget")
    assert tree["fragments"] == found["matched"]
    assert {"folders", "tags", "properties", "modified", "created"} < set(tree)
    assert set(tree["tags"][0]) == {"label", "filter", "fragments", "notes", "branches", "unlisted"}


def test_related_read_and_peek_name_lines_that_stand_in_the_note(shell: Mapping[str, str]) -> None:
    related = printed(shell, "related", "Token budget", "--limit", "3")
    assert related["path"] == "Token budget.md"
    nearest = related["notes"][0]
    assert nearest["score"] == pytest.approx(sum(signal["part"] for signal in nearest["signals"].values()))
    here = nearest["matches"][0]["here"]
    text = printed(shell, "read", f"{here['path']}:{here['line_start']}-{here['line_end']}")
    lines = (DEMO / here["path"]).read_text(encoding="utf-8").split("\n")
    assert text["text"] == "\n".join(lines[here["line_start"] - 1 : here["line_end"]])
    peeked = printed(shell, "peek", nearest["path"])
    assert peeked["title"] == nearest["title"]
    assert peeked["lines"] == len((DEMO / nearest["path"]).read_text(encoding="utf-8").rstrip("\n").split("\n"))
    assert peeked["outline"]
