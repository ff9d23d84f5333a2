"""Tests of picking: the app is drawn on the terminal, and what was picked is printed into the pipe, as by fzf."""

from __future__ import annotations

import re
import shlex
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from excerpt.vault.known_vaults import DEMO
from tests.e2e.conftest import EXCERPT
from tests.e2e.terminal import Terminal

PROGRAM = shlex.join(EXCERPT)
VAULT = shlex.quote(str(DEMO))
QUERY = "what happens to forgotten memories"


def run(shell: Mapping[str, str], line: str, folder: Path) -> Terminal:
    """Run a line of shell in a terminal; it prints the exit code at its end."""
    return Terminal(["sh", "-c", f"{line}; echo code $?"], shell, folder=folder)


@pytest.mark.programs
@pytest.mark.parametrize("line", [f"{PROGRAM} {VAULT} > out", f'text="$({PROGRAM} {VAULT})"; echo "$text" > out'])
def test_enter_prints_the_pack_into_a_pipe(shell: Mapping[str, str], tmp_path: Path, line: str) -> None:
    with run(shell, line, tmp_path) as terminal:
        terminal.wait_for("Type to search")
        terminal.type(QUERY)
        terminal.wait_for("⏎ print", "trash")
        terminal.press("enter")
        terminal.wait_exit()
    pack = (tmp_path / "out").read_text()
    assert pack.startswith("## [1] ")
    assert "trash folder" in pack
    assert "\x1b" not in pack


@pytest.mark.programs
def test_the_picked_passage_reaches_the_next_program_of_the_pipe(shell: Mapping[str, str], tmp_path: Path) -> None:
    with run(shell, f"{PROGRAM} {VAULT} | sed -n 's/^## /got &/p' | head -1", tmp_path) as terminal:
        terminal.wait_for("Type to search")
        terminal.type(QUERY)
        terminal.wait_for("⏎ print", "trash")
        terminal.press("enter")
        terminal.wait_for("got ## [1]", "code 0")


@pytest.mark.programs
def test_picked_passages_are_printed_as_path_and_line_into_a_file(shell: Mapping[str, str], tmp_path: Path) -> None:
    with run(shell, f"{PROGRAM} pick {VAULT} --query '{QUERY}' > out", tmp_path) as terminal:
        terminal.wait_for("⏎ print", "trash")
        terminal.press("tab", "tab")
        terminal.wait_for("2 marked")
        terminal.press("enter")
        terminal.wait_for("code 0")
    lines = (tmp_path / "out").read_text().splitlines()
    assert len(lines) == 2
    for line in lines:
        path, _, number = line.rpartition(":")
        assert 0 < int(number) <= len(Path(path).read_text().splitlines())


@pytest.mark.programs
def test_a_picked_link_is_printed_on_the_terminal_too(shell: Mapping[str, str], tmp_path: Path) -> None:
    with run(shell, f"{PROGRAM} pick {VAULT} --query '{QUERY}' --print link", tmp_path) as terminal:
        terminal.wait_for("⏎ print", "trash")
        terminal.press("enter")
        terminal.wait_for("[[Memories", "code 0")


@pytest.mark.programs
@pytest.mark.parametrize("keys", [("ctrl+c",), ("ctrl+q",), ("esc", "esc")])
def test_leaving_without_picking_prints_nothing(
    shell: Mapping[str, str], tmp_path: Path, keys: tuple[str, ...]
) -> None:
    with run(shell, f"{PROGRAM} pick {VAULT} --query '{QUERY}' > out", tmp_path) as terminal:
        terminal.wait_for("⏎ print", "trash")
        for key in keys:
            terminal.press(key)
            time.sleep(0.3)  # two at once would be a key with alt
        terminal.wait_for("code 130")
    assert (tmp_path / "out").read_bytes() == b""


@pytest.mark.programs
def test_the_app_is_refused_without_any_terminal(shell: Mapping[str, str], tmp_path: Path) -> None:
    with run(shell, f"{PROGRAM} {VAULT} < /dev/null 2> error | cat", tmp_path) as terminal:
        terminal.wait_for("code 0")  # of cat
    assert "The app needs a terminal" in (tmp_path / "error").read_text()


@pytest.mark.programs
def test_piped_input_is_not_typed(shell: Mapping[str, str], tmp_path: Path) -> None:
    with run(shell, f"echo typed | {PROGRAM} pick {VAULT} --print path > out", tmp_path) as terminal:
        terminal.wait_for("Type to search")
        terminal.type(QUERY)
        terminal.wait_for("⏎ print", "trash")
        terminal.press("enter")
        terminal.wait_for("code 0")
    assert (tmp_path / "out").read_text().strip() == str(DEMO / "Memories.md")


@pytest.mark.programs
def test_picking_leaves_query_and_marks_of_the_app_unchanged(shell: Mapping[str, str], tmp_path: Path) -> None:
    with run(shell, f"{PROGRAM} pick {VAULT} --query '{QUERY}' > out; {PROGRAM} {VAULT}", tmp_path) as terminal:
        terminal.wait_for("⏎ print", "trash")
        terminal.press("tab", "enter")
        terminal.wait_for("Type to search")
        assert "from last time" not in terminal.text
        terminal.press("ctrl+q")
        terminal.wait_for("code 0")


@pytest.mark.programs
@pytest.mark.needs("fzf", "bash")
def test_the_shell_function_of_the_guide_finds_in_fzf_and_opens_the_editor(
    shell: Mapping[str, str], tmp_path: Path
) -> None:
    page = (DEMO / "How to/Pick passages in a shell.md").read_text()
    function = "\n".join(re.findall(r"^xf\(\) \{\n.*?^\}$", page, re.M | re.S))
    program = tmp_path / "excerpt"
    program.write_text(f'#!/bin/sh\nexec {PROGRAM} "$@"\n')
    program.chmod(0o755)
    user = {**shell, "PATH": f"{tmp_path}:{shell['PATH']}", "EDITOR": "echo edit", "EXCERPT_VAULT": str(DEMO)}
    with Terminal(["bash", "-c", f"{function}\nxf forgotten memories"], user, columns=120, folder=DEMO) as terminal:
        terminal.wait_for("Memories", "Forgotten memories and former")
        terminal.press("enter")
        terminal.wait_for("edit +")
        assert "Memories.md" in terminal.line_with("edit +")
