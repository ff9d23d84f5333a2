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


HEIGHT = 12
BELOW = f"{PROGRAM} pick {VAULT} --query '{QUERY}' --height {HEIGHT} > out"


@pytest.mark.programs
@pytest.mark.parametrize("above", ["seq 3", "seq 30", "seq 3; printf 'prompt> '", "seq 30; printf 'prompt> '"])
@pytest.mark.parametrize(("key", "code"), [("enter", 0), ("ctrl+c", 130)])
def test_below_the_prompt_the_app_leaves_the_rows_above_and_no_trace(
    shell: Mapping[str, str], tmp_path: Path, above: str, key: str, code: int
) -> None:
    with run(shell, f"{above}; {BELOW}", tmp_path) as terminal:
        terminal.wait_for("⏎ print", "best first", "in the pack", "up to date")
        shown, top = terminal.lines, terminal.row_of("Overview")
        last = shown[top - 1]
        assert last in {"3", "30", "prompt>"}
        assert "⏎ print" in shown[top + HEIGHT - 1]
        assert not any(shown[top + HEIGHT :])
        terminal.press("f1")
        terminal.wait_for("─ Keys ")
        terminal.press("esc")
        terminal.wait_gone("─ Keys ")
        terminal.press(key)
        terminal.wait_for(f"code {code}")
        ended = [*shown[: top - 1], f"{last} code {code}"] if last == "prompt>" else [*shown[:top], f"code {code}"]
        assert terminal.lines == [*ended, *[""] * (24 - len(ended))]
        assert "\x1b[?1049h" not in terminal.output.decode()
    assert bool((tmp_path / "out").read_bytes()) == (code == 0)


@pytest.mark.programs
def test_below_the_prompt_the_app_follows_a_new_size_of_the_window(shell: Mapping[str, str], tmp_path: Path) -> None:
    with run(shell, f"seq 3; {BELOW}", tmp_path) as terminal:
        terminal.wait_for("⏎ print", "best first", "in the pack", "up to date")
        terminal.resize(100, 24)
        terminal.wait_until(lambda: any(len(line) > 80 for line in terminal.lines), "to draw a wider list")
        terminal.wait_drawn()
        assert terminal.lines[:3] == ["1", "2", "3"]
        assert "⏎ print" in terminal.lines[3 + HEIGHT - 1]
        assert len([line for line in terminal.lines if "best first" in line]) == 1
        terminal.press("ctrl+c")
        terminal.wait_for("code 130")
        assert terminal.lines[:5] == ["1", "2", "3", "code 130", ""]


@pytest.mark.programs
def test_below_the_prompt_a_click_selects_the_row_under_the_mouse(shell: Mapping[str, str], tmp_path: Path) -> None:
    with run(shell, f"seq 3; {BELOW}", tmp_path) as terminal:
        terminal.wait_for("⏎ print", "best first", "in the pack", "up to date")
        terminal.type("\x1b[4;1R")  # the terminal reports the app's first cell
        first = terminal.row_of("▌")
        row = next(at for at, line in enumerate(terminal.lines) if at > first and not line.startswith("╌"))
        for sign in "Mm":
            terminal.type(f"\x1b[<0;10;{row + 1}{sign}")
        terminal.wait_until(lambda: terminal.lines[row].startswith("▌"), "to select the row")


@pytest.mark.programs
@pytest.mark.needs("bash")
def test_the_key_of_the_guide_puts_the_picked_path_into_the_line_of_bash(
    shell: Mapping[str, str], tmp_path: Path
) -> None:
    page = (DEMO / "How to/Pick passages in a shell.md").read_text()
    (binding,) = re.findall("^bind -x .*$", page, re.M)
    program = tmp_path / "excerpt"
    program.write_text(f'#!/bin/sh\nexec {PROGRAM} "$@"\n')
    program.chmod(0o755)
    user = {**shell, "PATH": f"{tmp_path}:{shell['PATH']}", "EXCERPT_VAULT": str(DEMO), "PS1": "prompt> "}
    with Terminal(["bash", "--norc", "--noprofile", "-i"], user, folder=DEMO) as terminal:
        terminal.wait_for("prompt>")
        terminal.type(f"{binding}\r")
        terminal.wait_until(lambda: terminal.text.count("prompt>") == 2, "to bind the key")
        terminal.type("echo ")
        terminal.press("ctrl+x", "p")
        terminal.wait_for("⏎ print", "Search your notes", "up to date")
        terminal.type(QUERY)
        terminal.wait_for("best first", "in the pack")
        terminal.press("enter")
        terminal.wait_gone("best first")
        terminal.wait_for("prompt> echo Memories.md")


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
