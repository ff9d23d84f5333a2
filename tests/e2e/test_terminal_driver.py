"""Tests of suspending and resuming the program, as by ctrl+z and fg in a shell, and of losing the terminal."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from excerpt.servers.line_server.client import LineClient
from excerpt.vault.known_vaults import DEMO
from tests.e2e.conftest import EXCERPT
from tests.e2e.terminal import PATIENCE, Terminal

pytestmark = pytest.mark.programs


def test_the_screen_is_redrawn_after_a_suspension_and_on_request(shell: Mapping[str, str]) -> None:
    with Terminal([*EXCERPT, "demo"], shell) as app:
        app.wait_for("Search", " notes")
        app.type("token budget")
        app.wait_for("▌  ", " hits", "/4,000")
        shown = ("Search", "❯ token budget", "▌  ", "Token budget.md", "/4,000", "F1 more")
        for kill in (app.suspend, lambda: app.press("ctrl+z")):
            kill()
            app.wait_stopped()
            app.go_on()
            app.wait_for(*shown)
        app.clear()
        app.press("ctrl+l")
        app.wait_for(*shown)
        app.press("ctrl+q")
        assert app.wait_exit() == 0


@pytest.mark.parametrize(
    "parent",
    [
        (),
        ("sh", "-c", 'trap "" HUP; exec "$@"', "sh"),  # as nohup does
        ("sh", "-c", 'trap "" HUP; "$@"; true', "sh"),
        ("sh", "-c", '"$@"; true', "sh"),  # as make waits
        ("setsid", "-w"),  # the terminal is that of no session
    ],
    ids=["none", "ignores hanging up", "ignores hanging up and waits", "waits", "another session"],
)
def test_the_app_ends_with_its_terminal_and_leaves_no_process(shell: Mapping[str, str], parent: Sequence[str]) -> None:
    if parent and shutil.which(parent[0]) is None:
        pytest.skip(f"needs the program {parent[0]}")
    with Terminal([*parent, *EXCERPT, "demo"], shell) as app:
        app.wait_for("Search", " notes")
        app.type("token budget")
        app.wait_for("▌  ", " hits", "/4,000")
        left = app.processes()
        app.hang_up()
        app.wait_ended(left)
    (session,) = Path(shell["EXCERPT_HOME"], "state", "sessions").iterdir()
    assert '"query": "token budget"' in session.read_text(encoding="utf-8")


@pytest.mark.parametrize("height", [(), ("--height", "15")], ids=["screen", "below the prompt"])
def test_pick_prints_nothing_when_the_terminal_is_closed(
    shell: Mapping[str, str], tmp_path: Path, height: Sequence[str]
) -> None:
    picked = tmp_path / "picked"
    script = f'"$@" > "{picked}"; echo "code $?" >> "{picked}"'
    command = ["sh", "-c", script, "sh", *EXCERPT, "pick", str(DEMO), *height]
    with Terminal(["sh", "-c", 'trap "" HUP; "$@"; true', "sh", *command], shell) as app:
        app.wait_for("Search", " notes")
        left = app.processes()
        app.hang_up()
        app.wait_ended(left)
    assert picked.read_text(encoding="utf-8") == "code 130\n"


def test_the_indexing_process_ends_with_a_killed_app(shell: Mapping[str, str]) -> None:
    with Terminal([*EXCERPT, "demo"], shell) as app:
        app.wait_for("Search", " notes")
        app.wait_until(lambda: len(app.processes()) == 2, "to start indexing")
        left = app.processes()
        os.kill(left[0], signal.SIGKILL)
        app.wait_ended(left[1:])


def test_a_server_at_a_socket_survives_its_terminal(shell: Mapping[str, str]) -> None:
    with TemporaryDirectory(prefix="ex") as folder:  # a socket's path is short
        file = Path(folder).resolve() / "socket"
        with Terminal([*EXCERPT, "serve", str(DEMO), "--socket-path", str(file)], shell) as server:
            server.wait_for("serving demo at")
            left = server.processes()
            server.hang_up()
            with LineClient.connect(file) as client:
                assert client.request("status", {})["notes"]
            os.kill(left[0], signal.SIGTERM)
            server.wait_ended(left)
            assert server.exit_code == 0


def test_a_server_over_http_survives_its_terminal(shell: Mapping[str, str]) -> None:
    with Terminal([*EXCERPT, "mcp", str(DEMO), "--http", "--port", "0"], shell) as server:
        server.wait_for("serving at", "/mcp;")
        port = re.search(r":(\d+)/mcp", server.text)
        assert port is not None
        left = server.processes()
        server.hang_up()
        connection = http.client.HTTPConnection("127.0.0.1", int(port[1]), timeout=PATIENCE)
        connection.request("POST", "/mcp", "{}")
        assert connection.getresponse().status == 401  # it asks for its token
        os.kill(left[0], signal.SIGTERM)
        server.wait_ended(left)
        assert server.exit_code == 0


@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_a_server_over_stdin_ends_without_a_crash_when_its_terminal_is_closed(
    shell: Mapping[str, str], command: str
) -> None:
    parent = ("sh", "-c", 'trap "" HUP; "$@"; true', "sh")
    with Terminal([*parent, *EXCERPT, command, str(DEMO)], shell) as server:
        server.wait_for("Waiting for ")
        left = server.processes()
        server.hang_up()
        server.wait_ended(left)
    assert not [*Path(shell["EXCERPT_HOME"]).rglob("errors.log")]
