"""Tests of the app with invalid vaults, settings and indexes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from excerpt.vault.known_vaults import DEMO
from tests.e2e.conftest import EXCERPT
from tests.e2e.terminal import Terminal

pytestmark = pytest.mark.programs


@pytest.mark.parametrize(
    ("vault", "code", "said"),
    [("nowhere", 3, "There is no folder at"), ("note.md", 3, "is a file, not a folder")],
)
def test_an_invalid_vault_is_reported_in_one_sentence(
    shell: Mapping[str, str], tmp_path: Path, vault: str, code: int, said: str
) -> None:
    (tmp_path / "note.md").touch()
    with Terminal([*EXCERPT, str(tmp_path / vault)], shell, 200, 24) as app:
        assert app.wait_exit() == code
        assert said in app.text
        assert "\x1b[?1049h" not in app.output.decode()


def test_broken_settings_name_the_key_before_the_app_opens(shell: Mapping[str, str], home: Path) -> None:
    (home / "config").mkdir()
    (home / "config" / "excerpt.toml").write_text("[pack]\nbugdet = 5\n", encoding="utf-8")
    with Terminal([*EXCERPT, "demo"], shell, 200, 24) as app:
        assert app.wait_exit() == 2
        assert "Did you mean pack.budget?" in app.text


def test_escape_sequences_in_notes_are_shown_and_not_executed(shell: Mapping[str, str], tmp_path: Path) -> None:
    vault = tmp_path / "hostile"
    vault.mkdir()
    (vault / "Trap.md").write_text(
        '---\ntitle: "\\e]0;owned\\a"\n---\nA zeppelin \x1b]0;owned\x07\x1b[2J [/foo] [red]not red[/] \x9b31m end.\n',
        encoding="utf-8",
    )
    with Terminal([*EXCERPT, str(vault)], shell) as app:
        app.wait_for("1 note")
        app.type("zeppelin")
        app.wait_for("▌  ", "[/foo] [red]not red[/]", "␛]0;owned␇")
        assert b"owned\x07" not in app.output
        app.press("ctrl+q")
        assert app.wait_exit() == 0


def test_escape_sequences_in_file_names_are_shown_and_not_executed(shell: Mapping[str, str], tmp_path: Path) -> None:
    vault = tmp_path / "vault\x1b]0;owned\x07"
    vault.mkdir()
    name = "Trap\n\x1b]0;owned\x07\u202e.md"
    (vault / name).write_text("A zeppelin.\n", encoding="utf-8")
    (vault / f"Skipped {name}").symlink_to("/nowhere")
    with Terminal([*EXCERPT, str(vault)], shell) as app:
        app.wait_for("1 note")
        app.type("zeppelin")
        app.wait_for("▌  ", "Trap␊␛]0;owned␇")
        app.press("tab", "esc", "ctrl+g")
        app.wait_for("Search for commands")
        app.type("The index")
        app.wait_for("why files were skipped")
        app.press("enter")
        app.wait_for("Skipped Trap␊␛]0;owned␇")
        app.press("ctrl+q")
        assert app.wait_exit() == 0
    written = app.output.decode()
    assert "owned\x07" not in written
    assert "\u202e" not in written


@pytest.mark.parametrize(("terminal", "is_linked"), [("xterm-256color", True), ("linux", False)])
def test_the_path_of_the_passage_is_a_link_where_the_terminal_knows_links(
    shell: Mapping[str, str], tmp_path: Path, terminal: str, is_linked: bool
) -> None:
    note = tmp_path / "My vault" / "Trap [link=x].md"
    note.parent.mkdir()
    note.write_text("A zeppelin.\n", encoding="utf-8")
    with Terminal([*EXCERPT, str(note.parent)], {**shell, "TERM": terminal}) as app:
        app.wait_for("1 note")
        app.type("zeppelin")
        app.wait_for("▌  ", "Trap [link=x].md · line")
        app.wait_drawn()
        links = set(re.findall(rb"\x1b\]8;;(.*?)\x1b\\", app.output))
    assert links == ({note.as_uri().encode(), b""} if is_linked else set())


def test_the_guide_is_never_written_to(shell: Mapping[str, str]) -> None:
    before = {path: path.stat().st_mtime_ns for path in DEMO.rglob("*")}
    with Terminal([*EXCERPT, "demo"], shell) as app:
        app.wait_for(" notes")
        app.press("ctrl+q")
        assert app.wait_exit() == 0
    assert {path: path.stat().st_mtime_ns for path in DEMO.rglob("*")} == before
