"""Tests of completion in real shells: commands, options, notes with spaces and hostile names, tags, folders."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from excerpt.index.catalog import CATALOG_FILE
from excerpt.service.note_listing import _CATALOG_FILE
from tests import commands
from tests.conftest import require_program
from tests.e2e.conftest import environment
from tests.e2e.terminal import Terminal

pytestmark = pytest.mark.programs

SHELLS = {"bash": ["bash", "-i"], "zsh": ["zsh", "-i"], "fish": ["fish", "-i"]}
NOTES = {
    "Daily notes.md": "# Daily notes\n\nText. #diary/work\n",
    "Plans/Summer in Rome.md": "# Summer\n\nText.\n",
    "Evil $(touch hacked) `touch hacked`.md": "Text.\n",
    "Evil\nword\tforged.md": "Text.\n",
}


@contextmanager
def shell_with_completion(shell: str, folder: Path) -> Iterator[Terminal]:
    """Start a shell for a user who has installed the completion, in a folder beside a vault."""
    require_program(shell)
    vault, home, programs = folder / "vault", folder / "user", folder / "bin"
    for path, text in NOTES.items():
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_text(text)
    for each in (home, programs):
        each.mkdir()
    program = programs / "excerpt"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m excerpt "$@"\n')
    program.chmod(0o755)
    user: Mapping[str, str] = {
        **environment(folder / "home"),
        "HOME": str(home),
        "SHELL": f"/bin/{shell}",
        "EXCERPT_VAULT": str(vault),
        "PATH": f"{programs}:{environment(folder)['PATH']}",
    }
    commands.printed("index", environment=user)
    commands.printed("completion", "install", environment=user)
    (home / (".zshrc" if shell == "zsh" else ".bashrc")).open("a").write("PS1='ready '\n")
    with Terminal(SHELLS[shell], {**user, "PS1": "ready "}, columns=100, folder=folder) as terminal:
        terminal.wait_for("Type help" if shell == "fish" else "ready")
        yield terminal
    assert not (folder / "hacked").exists()


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_commands_options_notes_tags_and_folders(shell: str, tmp_path: Path) -> None:
    with shell_with_completion(shell, tmp_path) as terminal:
        for typed, completed in (
            ("excerpt ove", "excerpt overview"),
            ("excerpt search --expl", "excerpt search --explain"),
            ("excerpt search --strategy sem", "excerpt search --strategy semantic"),
            ("excerpt read Dai", r"excerpt read Daily\ notes.md"),
            ("excerpt read Summer", r"excerpt read Summer\ in\ Rome.md"),
            (r"excerpt peek Summer\ in", r"excerpt peek Summer\ in\ Rome.md"),
            ('excerpt read "Daily n', 'excerpt read "Daily notes.md"'),
            ("excerpt read Evil", "Evil"),
            ("excerpt remember x --tag dia", "excerpt remember x --tag diary/work"),
            ("excerpt vau", "excerpt vault/"),
        ):
            terminal.type(f"{typed}\t")
            terminal.wait_for(completed)
            terminal.press("ctrl+u", "ctrl+l")
            terminal.wait_gone(completed)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_note_name_with_shell_syntax_is_completed_as_plain_text(shell: str, tmp_path: Path) -> None:
    with shell_with_completion(shell, tmp_path) as terminal:
        terminal.type("excerpt peek Evil\t\r")
        terminal.wait_for("touch hacked", "1 line")


def test_the_module_that_lists_notes_for_completion_opens_the_file_of_the_catalog() -> None:
    assert _CATALOG_FILE == CATALOG_FILE
