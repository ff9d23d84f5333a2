"""The app in tmux: what is copied reaches tmux's buffer whole."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.e2e.conftest import EXCERPT
from tests.e2e.terminal import PATIENCE

pytestmark = [
    pytest.mark.tmux,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed: what is tested here needs it"),
]


class Tmux:
    """A tmux server of the test's own."""

    def __init__(self, socket: Path, environment: Mapping[str, str]) -> None:
        self._socket = socket
        self._environment = environment

    def run(self, *command: str) -> str:
        done = subprocess.run(
            ["tmux", "-f", "/dev/null", "-S", str(self._socket), *command],
            env=self._environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def wait_for(self, *texts: str) -> str:
        """Until all `texts` are on the screen; the screen. tmux tells nobody when it draws, so it is asked again."""
        deadline = time.monotonic() + PATIENCE
        while not all(text in (screen := self.run("capture-pane", "-p")) for text in texts):
            assert time.monotonic() < deadline, f"waited in vain for {texts}; the screen:\n{screen}"
            time.sleep(0.05)
        return screen


@pytest.fixture
def tmux(tmp_path: Path, shell: Mapping[str, str]) -> Iterator[Tmux]:
    server = Tmux(tmp_path / "tmux", shell)
    server.run("new-session", "-d", "-x", "80", "-y", "24", *EXCERPT, "demo")
    server.run("set-option", "-s", "set-clipboard", "on")
    try:
        yield server
    finally:
        server.run("kill-server")


def test_a_copied_pack_is_in_the_buffer_of_tmux(tmux: Tmux, home: Path) -> None:
    tmux.wait_for("Search", " notes")
    tmux.run("send-keys", "token budget")
    tmux.wait_for("❯ token budget", "saves ")
    tmux.run("send-keys", "C-y")
    tmux.wait_for("copied by tmux")
    (file,) = (home / "state" / "copies").iterdir()
    assert tmux.run("show-buffer") == file.read_text(encoding="utf-8")
