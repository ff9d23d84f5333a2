"""Tests of the server as a process: its start, its results during a build, and its end."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mcp import Client, StdioServerParameters
from tests.cli.conftest import Excerpt
from tests.cli.conftest import excerpt as run_excerpt
from tests.mcp.conftest import asking, indexed, written

pytestmark = pytest.mark.programs

command = run_excerpt  # a fixture
ANSWER_SECONDS = 60.0  # seconds, on a busy machine


def started(home: Path, *words: str | Path) -> StdioServerParameters:
    environment = {**os.environ, "EXCERPT_HOME": str(home)}
    return StdioServerParameters(
        command=sys.executable, args=["-m", "excerpt", "mcp", *map(str, words)], env=environment
    )


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_starts_it_and_asks_in_either_generation_of_the_protocol(
    home: Path, vault: Path, mode: Any
) -> None:
    async with Client(started(home, vault), mode=mode) as client:
        ask = asking(client)
        told = await ask("search", query="swarm")
        while "Swarms.md:3" not in told.text:  # until the index being built contains it
            told = await ask("search", query="swarm")
    assert "vault bees" in told.first_line


async def test_a_change_is_found_without_being_asked_for(home: Path, vault: Path) -> None:
    async with Client(started(home, vault)) as client:
        ask = asking(client)
        while "up to date" not in (await ask("search", query="hornet")).first_line:
            pass
        written(vault, {"Hornets.md": "# Hornets\n\nA hornet hunts at dusk.\n"})
        while "Hornets.md:3" not in (await ask("search", query="hornet")).text:
            pass


@pytest.mark.skipif(os.name == "nt", reason="the system cuts no file that is open")
@pytest.mark.parametrize(("pattern", "size"), [("words/*", 10), ("catalog.sqlite", 0), ("catalog.sqlite-shm", 0)])
async def test_it_outlives_an_index_that_is_cut_short_and_answers_when_it_is_mended(
    home: Path, vault: Path, pattern: str, size: int
) -> None:
    async with Client(started(home, vault)) as client:
        ask = asking(client)
        while "Swarms.md:3" not in (await ask("search", query="swarm")).text:
            pass
        files = list(home.glob(f"**/index/*/{pattern}"))
        assert files
        for file in files:
            os.truncate(file, size)
        while "Swarms.md:3" not in (await ask("search", query="an old queen in May")).text:
            pass
        # A damaged file of words is removed only when no snapshot reads it any more.
        while not any(file.stat().st_size > size for file in home.glob(f"**/index/*/{pattern}")):
            await ask("search", query="which bees leave")


def process(home: Path, *words: str | Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "excerpt", "mcp", *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "EXCERPT_HOME": str(home)},
    )


def children_of(number: int) -> list[int]:
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    return [int(own) for own, parent in (line.split() for line in listed.splitlines()) if int(parent) == number]


def is_alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.needs("ps")
@pytest.mark.parametrize("ended", ["stdin", "SIGTERM", "SIGKILL"])
def test_it_ends_with_its_client_and_leaves_no_process(home: Path, tmp_path: Path, ended: str) -> None:
    """End the client during the first build."""
    text = "\n".join(f"## Part {part}\n\nHives and swarms of year {part}.\n" for part in range(40))
    vault = written(tmp_path / "large", {f"{number}.md": text for number in range(300)})
    with process(home, vault) as server:
        assert server.stdin is not None
        initialize = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        _say(server, {"id": 1, "method": "initialize", "params": initialize})
        assert server.stdout is not None
        assert json.loads(server.stdout.readline())["id"] == 1
        _say(server, {"method": "notifications/initialized"})
        _say(server, {"id": 2, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "hive"}}})
        left = children_of(server.pid)
        assert left
        if ended == "stdin":
            server.stdin.close()
        else:
            server.send_signal(getattr(signal, ended))
        code = server.wait(ANSWER_SECONDS)
    assert code == (-9 if ended == "SIGKILL" else 0)
    until = threading.Event()
    for _ in range(int(ANSWER_SECONDS * 10)):
        if not any(map(is_alive, left)):
            break
        until.wait(0.1)
    assert not any(map(is_alive, left))


def _say(server: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert server.stdin is not None
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    server.stdin.flush()


def answers_to(server: subprocess.Popen[bytes], *lines: str) -> dict[Any, dict[str, Any]]:
    """Return the server's responses to lines on stdin by id, up to the response to a final ping."""
    initialize = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    _say(server, {"id": "first", "method": "initialize", "params": initialize})
    _say(server, {"method": "notifications/initialized"})
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write("".join(f"{line}\n" for line in lines).encode())
    _say(server, {"id": "last", "method": "ping"})
    answers: dict[Any, dict[str, Any]] = {}
    while not {"last", *(json.loads(line).get("id") for line in lines if _is_call(line))} <= answers.keys():
        answer = json.loads(server.stdout.readline())
        answers[answer["id"]] = answer
    server.stdin.close()
    assert server.wait(ANSWER_SECONDS) == 0
    return answers


def _is_call(line: str) -> bool:
    with suppress(ValueError):
        return "tools/call" in line and bool(json.loads(line))
    return False


@pytest.mark.parametrize(
    ("tool", "parameter"),
    [
        *(("pack", "query"), ("search", "query"), ("read", "source"), ("related", "source"), ("overview", "topic")),
        *(("recall", "query"), ("remember", "text"), ("remember", "tags"), ("search", "vault")),
    ],
)
def test_half_a_surrogate_pair_in_an_argument_is_answered(home: Path, vault: Path, tool: str, parameter: str) -> None:
    indexed(vault)
    half = '["hive \\ud83d"]' if parameter == "tags" else '"hive \\ud83d"'
    other = '"query": "hive", ' if parameter == "vault" else '"text": "A hive.", ' if parameter == "tags" else ""
    params = f'{{"name": "{tool}", "arguments": {{{other}"{parameter}": {half}}}}}'
    with process(home, vault) as server:
        answers = answers_to(server, f'{{"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": {params}}}')
    assert answers[77]["result"]["content"][0]["text"]


def test_a_line_that_is_no_message_gets_an_error_with_the_id_that_can_be_read(home: Path, vault: Path) -> None:
    indexed(vault)
    lines = {
        '{"jsonrpc":"2.0","id":78,"method":"ping"': (78, -32700),
        "hello": (None, -32700),
        '{"id": 80, "method": "ping"}': (80, -32600),
    }
    for line, (number, code) in lines.items():
        with process(home, vault) as server:
            answers = answers_to(server, line)
        assert answers[number]["error"]["code"] == code
        assert "result" in answers["last"]


@pytest.mark.parametrize(
    "line", ["", '{"jsonrpc":"2.0","method":"notifications/none","params":5}', '{"jsonrpc":"2.0","id":9,"result":5}']
)
def test_a_blank_line_a_notification_and_an_answer_are_not_answered(home: Path, vault: Path, line: str) -> None:
    indexed(vault)
    with process(home, vault) as server:
        assert answers_to(server, line).keys() == {"first", "last"}


# --- over HTTP --------------------------------------------------------------------------------------------------------


@pytest.fixture
def served(home: Path, vault: Path) -> Iterator[tuple[int, str]]:
    """Start a server and return its port and token."""
    indexed(vault)
    with process(home, vault, "--http", "--port", "0") as server:
        assert server.stderr is not None
        said = server.stderr.readline().decode()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp; the token is in (.*)\n", said)
        assert found, said
        file = Path(found[2])
        if os.name == "posix":
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
        yield int(found[1]), file.read_text(encoding="utf-8").strip()
        server.terminate()
        assert server.wait(ANSWER_SECONDS) == 0


def status_of(port: int, **headers: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_SECONDS)
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {}}
    asked = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
    connection.request("POST", "/mcp", json.dumps(body), asked)
    return connection.getresponse().status


def test_only_who_brings_the_token_from_a_place_of_this_machine_is_answered(served: tuple[int, str]) -> None:
    port, token = served
    right = {"Authorization": f"Bearer {token}"}
    assert status_of(port) == 401
    assert status_of(port, Authorization="Bearer wrong") == 401
    assert status_of(port, **right, Origin="https://example.org") == 403
    assert status_of(port, **right, Host="example.org") == 421
    assert status_of(port, **right, Origin=f"http://localhost:{port}") not in (401, 403, 421)


def test_another_machine_needs_a_token_of_the_user_s_own(command: Excerpt, vault: Path) -> None:
    answer = command("mcp", vault, "--http", "--host", "0.0.0.0")
    assert answer.code == 2
    assert "give a --token-file" in answer.err


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_token_that_is_too_short_is_refused(command: Excerpt, vault: Path, tmp_path: Path, host: str) -> None:
    (tmp_path / "token").write_text("short\n", encoding="utf-8")
    answer = command("mcp", vault, "--http", "--host", host, "--token-file", tmp_path / "token")
    assert answer.code == 2
    assert "is too short" in answer.err


@pytest.mark.parametrize(
    "token", ["a secret of two words", "a-secret-of-one-line\nand-another-line", "sécret-with-an-accent"]
)
def test_a_token_that_no_client_can_send_is_refused(command: Excerpt, vault: Path, tmp_path: Path, token: str) -> None:
    (tmp_path / "token").write_text(token, encoding="utf-8")
    (tmp_path / "token").chmod(0o600)
    answer = command("mcp", vault, "--http", "--token-file", tmp_path / "token")
    assert answer.code == 2
    assert "cannot be sent in a header" in answer.err


@pytest.mark.skipif(os.name != "posix", reason="files have no mode")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o606])
def test_a_token_file_that_others_can_open_is_refused(command: Excerpt, vault: Path, tmp_path: Path, mode: int) -> None:
    (tmp_path / "token").write_text("a-secret-of-one-line\n", encoding="utf-8")
    (tmp_path / "token").chmod(mode)
    answer = command("mcp", vault, "--http", "--token-file", tmp_path / "token")
    assert answer.code == 2
    assert f"chmod 600 {tmp_path / 'token'}" in answer.err


def test_a_port_that_is_taken_is_told(command: Excerpt, vault: Path, served: tuple[int, str]) -> None:
    answer = command("mcp", vault, "--http", "--port", str(served[0]))
    assert answer.code == 3
    assert "Cannot listen at" in answer.err


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("client", ["claude", "cursor", "vscode"])
def test_a_client_s_settings_are_printed_as_json(command: Excerpt, vault: Path, client: str) -> None:
    printed = command("mcp", vault, "--print-config", client).json
    (servers,) = printed.values()
    assert servers["excerpt"]["args"][-2:] == ["mcp", str(vault)]


def test_codex_s_settings_are_printed_as_toml(command: Excerpt, vault: Path) -> None:
    import tomllib

    printed = tomllib.loads(command("mcp", vault, "--no-memory", "--print-config", "codex").out)
    assert printed["mcp_servers"]["excerpt"]["args"][-3:] == ["mcp", "--no-memory", str(vault)]


def test_a_folder_that_is_not_there_is_told(command: Excerpt, tmp_path: Path) -> None:
    answer = command("mcp", tmp_path / "none")
    assert (answer.code, answer.out) == (3, "")
    assert "There is no folder at" in answer.err


def test_an_sdk_of_another_version_is_told_too(home: Path, vault: Path, tmp_path: Path) -> None:
    written(tmp_path / "old", {"mcp/__init__.py": "", "mcp/server.py": "class FastMCP: pass\n"})
    path = os.pathsep.join([str(tmp_path / "old"), *filter(None, sys.path)])
    environment = {**os.environ, "EXCERPT_HOME": str(home), "PYTHONPATH": path}
    command = [sys.executable, "-m", "excerpt", "mcp", str(vault)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "cannot import name 'MCPServer'" in done.stderr
    assert "pip install '.[mcp]'" in done.stderr


def test_a_client_that_reads_no_more_is_no_defect(home: Path, vault: Path) -> None:
    indexed(vault)
    with process(home, vault) as server:
        assert server.stdout is not None
        server.stdout.close()
        for number in range(1, 4):
            _say(server, {"id": number, "method": "ping"})
        assert server.stdin is not None
        server.stdin.close()
        assert server.wait(ANSWER_SECONDS) == 0
    assert not list(home.rglob("errors.log"))


def test_without_the_sdk_a_sentence_says_what_to_install(home: Path, vault: Path) -> None:
    code = (
        "import sys; sys.modules['mcp'] = None\n"
        f"from excerpt.cli.main import run; sys.exit(run(['mcp', {str(vault)!r}]))"
    )
    environment = {**os.environ, "EXCERPT_HOME": str(home)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "pip install '.[mcp]'" in done.stderr
    assert "Traceback" not in done.stderr
