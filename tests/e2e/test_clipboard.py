"""Tests in tmux: a copied pack reaches tmux and the outer terminal complete, or a message names its file."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.conftest import EXCERPT
from tests.e2e.terminal import Terminal

pytestmark = [
    pytest.mark.programs,
    pytest.mark.needs("tmux"),
]

WORDS = 6_000
"""The number of words in a note whose pack exceeds 60,000 bytes."""


class Tmux:
    """A terminal that runs tmux with its own server, and the app inside it."""

    def __init__(self, terminal: Terminal, socket: Path, environment: Mapping[str, str]) -> None:
        self.terminal = terminal
        self._socket = socket
        self._environment = environment

    def run(self, *command: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", str(self._socket), *command],
            env=self._environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout


Start = Callable[..., Tmux]


@pytest.fixture
def start(tmp_path: Path, shell: Mapping[str, str]) -> Iterator[Start]:
    """Return a function that starts tmux with the app on a vault.

    It takes commands for tmux's configuration, the terminal type `term`, and `path`, the app's PATH if it differs from
    the shell's.
    """
    socket, config = tmp_path / "tmux", tmp_path / "tmux.conf"

    with ExitStack() as stack:

        def begin(vault: Path, *commands: str, term: str = "xterm-256color", path: str | None = None) -> Tmux:
            config.write_text("".join(f"{command}\n" for command in commands), encoding="utf-8")
            environment = {**shell, "TERM": term}
            inside = ("env", f"PATH={path}", *EXCERPT) if path is not None else EXCERPT
            command = ["tmux", "-f", str(config), "-S", str(socket), "new-session", *inside, str(vault)]
            terminal = stack.enter_context(Terminal(command, environment, columns=100, rows=30))
            tmux = Tmux(terminal, socket, environment)
            stack.callback(subprocess.run, ["tmux", "-S", str(socket), "kill-server"], check=False, capture_output=True)
            return tmux

        yield begin


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """Write a note whose pack exceeds 60,000 bytes, all its words different."""
    folder = tmp_path / "vault"
    folder.mkdir()
    paragraphs = (" ".join(f"naïve{number}" for number in range(at, at + 100)) for at in range(0, WORDS, 100))
    (folder / "Long.md").write_text("# Long\n\nsynchronise\n\n" + "\n\n".join(paragraphs) + "\n", encoding="utf-8")
    return folder


def copy_pack(tmux: Tmux, told: str) -> None:
    """Copy the whole note as a pack, and wait until the notice contains `told`."""
    terminal = tmux.terminal
    terminal.wait_for("1 note")
    terminal.type("synchronise")
    terminal.wait_for("Long.md ·")
    terminal.press("shift+tab", "b")
    terminal.wait_for("such as 4000 or 4k")
    terminal.type("128k")
    terminal.press("enter")
    terminal.wait_for("/128,000 tokens")
    terminal.press("s")
    terminal.wait_for("Scope of all passages")
    terminal.press("s", "s", "enter")
    terminal.wait_for("whole note")
    terminal.press("ctrl+y")
    terminal.wait_for(told)


def text_in_box(terminal: Terminal) -> str:
    """Return the lines of the dialog, joined without the spaces around them."""
    return "".join(line.split("│")[1].strip() for line in terminal.lines if line.count("│") > 1)


def kept_copy(home: Path) -> str:
    (file,) = (home / "state" / "copies").iterdir()
    text = file.read_text(encoding="utf-8")
    assert 60_000 < len(text.encode()) < 75_000
    assert f"naïve{WORDS - 1}" in text
    return text


def reached(tmux: Tmux) -> str:
    """Return the text last sent to the outer terminal's clipboard."""
    tmux.terminal.wait_until(lambda: bool(tmux.terminal.copied()), "to send what was copied")
    return tmux.terminal.copied()[-1]


@pytest.mark.parametrize("setting", ["external", "off"])
def test_a_large_pack_reaches_the_tmux_buffer_and_the_outer_clipboard(
    start: Start, vault: Path, home: Path, setting: str
) -> None:
    tmux = start(vault, f"set -s set-clipboard {setting}")
    copy_pack(tmux, "copied by tmux.")
    text = kept_copy(home)
    assert reached(tmux) == text
    assert tmux.run("show-buffer") == text


def test_without_an_outer_clipboard_the_message_names_tmux_only(start: Start, vault: Path, home: Path) -> None:
    tmux = start(vault, term="linux")
    copy_pack(tmux, "copied by tmux, its buffer only.")
    assert tmux.run("show-buffer") == kept_copy(home)
    assert tmux.terminal.copied() == []


@pytest.mark.parametrize("command", ["set -s set-clipboard on", "set -g allow-passthrough on"])
def test_without_the_tmux_program_a_large_pack_is_forwarded_if_allowed(
    start: Start, vault: Path, home: Path, tmp_path: Path, command: str
) -> None:
    tmux = start(vault, command, path=str(tmp_path / "nowhere"))
    copy_pack(tmux, "copied (if your terminal allows it)")
    assert reached(tmux) == kept_copy(home)


def test_an_unverifiable_copy_is_reported_with_its_file(start: Start, vault: Path, home: Path, tmp_path: Path) -> None:
    tmux = start(vault, "set -s set-clipboard off", path=str(tmp_path / "nowhere"))
    copy_pack(tmux, "allows it). Saved as")
    assert kept_copy(home)
    (file,) = (home / "state" / "copies").iterdir()
    tmux.terminal.press("f1")
    tmux.terminal.wait_until(lambda: file.name in text_in_box(tmux.terminal), "to show the whole notice in the help")
    assert tmux.terminal.copied() == []
