"""Tests that searching, indexing and starting the app open no socket.

What no module may do belongs to none. A hook in every Python process, children included, logs each socket and each
name look-up. Only asyncio's own pair of connected Unix sockets, by which an event loop wakes itself, is allowed.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="elsewhere asyncio's pair is made of internet sockets")

_HOOK = """
import os, socket, sys

def hook(event, arguments):
    opened = event == "socket.__new__" and arguments[1] != socket.AF_UNIX
    if opened or event in ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname"):
        with open(os.environ["SOCKETS_SEEN"], "a") as seen:
            seen.write(f"{event} {arguments!r} in {sys.argv}\\n")

sys.addaudithook(hook)
"""


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file that lists what the processes of this test opened."""
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(_HOOK, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "hook"))
    monkeypatch.setenv("SOCKETS_SEEN", str(tmp_path / "seen"))
    monkeypatch.setenv("EXCERPT_HOME", str(tmp_path / "home"))
    return tmp_path / "seen"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "Sync.md").write_text("# Conflicts\n\nA sync conflict arises on two devices.\n", encoding="utf-8")
    return folder


def test_the_hook_detects_a_connection(seen: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"import socket; socket.create_connection(('127.0.0.1', {port}))"
        subprocess.run([sys.executable, "-c", code], check=True)
    assert "socket.connect" in seen.read_text(encoding="utf-8")


@pytest.mark.programs
@pytest.mark.parametrize("command", [("index", "--rebuild"), ("pack", "sync conflict"), ("doctor", "--fix")])
def test_a_command_opens_no_socket(seen: Path, vault: Path, command: tuple[str, ...]) -> None:
    subprocess.run([sys.executable, "-m", "excerpt", *command, "--vault", vault], check=True, capture_output=True)
    assert not seen.exists()


@pytest.mark.programs
def test_the_app_opens_no_socket(seen: Path, vault: Path) -> None:
    from tests.e2e.terminal import Terminal

    environment = {**os.environ, "TERM": "xterm-256color"}
    with Terminal([sys.executable, "-m", "excerpt", str(vault)], environment) as terminal:
        terminal.wait_for("Search")
        terminal.type("sync conflict")
        terminal.wait_for("arises on two devices")
        terminal.press("ctrl+q")
        terminal.wait_exit()
    assert not seen.exists()
