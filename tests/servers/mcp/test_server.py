"""Tests of the server as a process, of several that watch one vault, and of the work that hostile questions cause."""

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
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest
from benchmarks.limits import KINDS, METHODS, TOOLS
from mcp import Client, StdioServerParameters

from excerpt.base.installation import extra_command
from excerpt.base.settings import user_paths
from excerpt.search.bm25 import WordIndex
from excerpt.search.candidates import CandidateGenerator
from excerpt.search.proximity import flatten_positions
from excerpt.search.query import MAX_QUERY_WORDS
from excerpt.servers.line_server.server import LineServer
from excerpt.servers.mcp.server import build_server
from excerpt.servers.served_vaults import ServedVaults
from excerpt.vault.watched import mark_watched
from tests.cli.conftest import Excerpt
from tests.cli.conftest import excerpt as run_excerpt
from tests.clients.processes import processes_of, wait_for_end
from tests.servers.line_server.conftest import failure_text as line_failed
from tests.servers.line_server.conftest import talk_with
from tests.servers.mcp.conftest import Ask, failure_text, indexed_vaults, tool_caller, write_vault

command = run_excerpt  # a fixture
ANSWER_SECONDS = 240.0  # seconds, on a busy machine


def server_parameters(home: Path, *words: str | Path) -> StdioServerParameters:
    environment = {**os.environ, "EXCERPT_HOME": str(home)}
    return StdioServerParameters(
        command=sys.executable, args=["-m", "excerpt", "mcp", *map(str, words)], env=environment
    )


@pytest.mark.programs
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_clients_of_either_protocol_version_can_call_tools(home: Path, vault: Path, mode: Any) -> None:
    async with Client(server_parameters(home, vault), mode=mode) as client:
        ask = tool_caller(client)
        told = await ask("search", query="swarm")
        while "Swarms.md:3" not in told.text:  # until the index being built contains it
            told = await ask("search", query="swarm")
    assert "vault bees" in told.first_line


@pytest.mark.programs
async def test_a_changed_note_is_found_without_a_request(home: Path, vault: Path) -> None:
    async with Client(server_parameters(home, vault)) as client:
        ask = tool_caller(client)
        while "up to date" not in (await ask("search", query="hornet")).first_line:
            pass
        write_vault(vault, {"Hornets.md": "# Hornets\n\nA hornet hunts at dusk.\n"})
        while "Hornets.md:3" not in (await ask("search", query="hornet")).text:
            pass


@pytest.mark.programs
@pytest.mark.skipif(os.name == "nt", reason="the system cuts no file that is open")
@pytest.mark.parametrize(("pattern", "size"), [("words/*", 10), ("catalog.sqlite", 0), ("catalog.sqlite-shm", 0)])
async def test_the_server_survives_a_truncated_index_and_answers_after_its_repair(
    home: Path, vault: Path, pattern: str, size: int
) -> None:
    async with Client(server_parameters(home, vault)) as client:
        ask = tool_caller(client)
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


def start_server(home: Path, *words: str | Path) -> subprocess.Popen[bytes]:
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


@pytest.mark.programs
@pytest.mark.needs("ps")
@pytest.mark.parametrize("ended", ["stdin", "SIGTERM", "SIGKILL"])
def test_the_server_ends_with_its_client_and_leaves_no_process(home: Path, tmp_path: Path, ended: str) -> None:
    """End the client during the first build."""
    text = "\n".join(f"## Part {part}\n\nHives and swarms of year {part}.\n" for part in range(40))
    vault = write_vault(tmp_path / "large", {f"{number}.md": text for number in range(300)})
    with start_server(home, vault) as server:
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


HALVES = [
    *(("pack", "query"), ("search", "query"), ("read", "source"), ("related", "source"), ("overview", "topic")),
    *(("recall", "query"), ("remember", "text"), ("remember", "tags"), ("search", "vault")),
]
"""Arguments with half a surrogate pair, each of a tool and a parameter."""


def half_call(number: int, tool: str, parameter: str) -> str:
    half = '["hive \\ud83d"]' if parameter == "tags" else '"hive \\ud83d"'
    other = '"query": "hive", ' if parameter == "vault" else '"text": "A hive.", ' if parameter == "tags" else ""
    params = f'{{"name": "{tool}", "arguments": {{{other}"{parameter}": {half}}}}}'
    return f'{{"jsonrpc": "2.0", "id": {number}, "method": "tools/call", "params": {params}}}'


@pytest.mark.programs
def test_half_a_surrogate_pair_in_an_argument_is_answered(home: Path, vault: Path) -> None:
    indexed_vaults(vault)
    with start_server(home, vault) as server:
        answers = answers_to(server, *(half_call(number, *half) for number, half in enumerate(HALVES)))
    assert all(answers[number]["result"]["content"][0]["text"] for number in range(len(HALVES)))


@pytest.mark.programs
def test_a_line_that_is_not_a_message_gets_an_error_with_its_readable_id(home: Path, vault: Path) -> None:
    indexed_vaults(vault)
    lines = {
        '{"jsonrpc":"2.0","id":78,"method":"ping"': (78, -32700),
        "hello": (None, -32700),
        '{"id": 80, "method": "ping"}': (80, -32600),
    }
    with start_server(home, vault) as server:
        answers = answers_to(server, *lines)
    for number, code in lines.values():
        assert answers[number]["error"]["code"] == code
    assert "result" in answers["last"]


@pytest.mark.programs
def test_blank_lines_notifications_and_responses_get_no_answer(home: Path, vault: Path) -> None:
    indexed_vaults(vault)
    lines = ["", '{"jsonrpc":"2.0","method":"notifications/none","params":5}', '{"jsonrpc":"2.0","id":9,"result":5}']
    with start_server(home, vault) as server:
        assert answers_to(server, *lines).keys() == {"first", "last"}


# --- over HTTP --------------------------------------------------------------------------------------------------------


@pytest.fixture
def served_address(home: Path, vault: Path) -> Iterator[tuple[int, str]]:
    """Start a server and return its port and token."""
    indexed_vaults(vault)
    with start_server(home, vault, "--http", "--port", "0") as server:
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


@pytest.mark.programs
def test_only_requests_with_the_token_from_a_local_origin_are_answered(served_address: tuple[int, str]) -> None:
    port, token = served_address
    right = {"Authorization": f"Bearer {token}"}
    assert status_of(port) == 401
    assert status_of(port, Authorization="Bearer wrong") == 401
    assert status_of(port, **right, Origin="https://example.org") == 403
    assert status_of(port, **right, Host="example.org") == 421
    assert status_of(port, **right, Origin=f"http://localhost:{port}") not in (401, 403, 421)


@pytest.mark.programs
def test_listening_for_other_machines_requires_a_token_chosen_by_the_user(command: Excerpt, vault: Path) -> None:
    answer = command("mcp", vault, "--http", "--host", "0.0.0.0")
    assert answer.code == 2
    assert "give a --token-file" in answer.err


@pytest.mark.programs
@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_token_that_is_too_short_is_refused(command: Excerpt, vault: Path, tmp_path: Path, host: str) -> None:
    (tmp_path / "token").write_text("short\n", encoding="utf-8")
    answer = command("mcp", vault, "--http", "--host", host, "--token-file", tmp_path / "token")
    assert answer.code == 2
    assert "is too short" in answer.err


@pytest.mark.programs
@pytest.mark.parametrize(
    "token", ["a secret of two words", "a-secret-of-one-line\nand-another-line", "sécret-with-an-accent"]
)
def test_a_token_that_cannot_be_sent_is_refused(command: Excerpt, vault: Path, tmp_path: Path, token: str) -> None:
    (tmp_path / "token").write_text(token, encoding="utf-8")
    (tmp_path / "token").chmod(0o600)
    answer = command("mcp", vault, "--http", "--token-file", tmp_path / "token")
    assert answer.code == 2
    assert "cannot be sent in a header" in answer.err


@pytest.mark.programs
@pytest.mark.skipif(os.name != "posix", reason="files have no mode")
@pytest.mark.parametrize("mode", [0o644, 0o640, 0o606])
def test_a_token_file_readable_by_others_is_refused(command: Excerpt, vault: Path, tmp_path: Path, mode: int) -> None:
    (tmp_path / "token").write_text("a-secret-of-one-line\n", encoding="utf-8")
    (tmp_path / "token").chmod(mode)
    answer = command("mcp", vault, "--http", "--token-file", tmp_path / "token")
    assert answer.code == 2
    assert f"chmod 600 {tmp_path / 'token'}" in answer.err


@pytest.mark.programs
def test_a_port_that_is_already_in_use_is_reported(
    command: Excerpt, vault: Path, served_address: tuple[int, str]
) -> None:
    answer = command("mcp", vault, "--http", "--port", str(served_address[0]))
    assert answer.code == 3
    assert "Cannot listen at" in answer.err


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.programs
@pytest.mark.parametrize("client", ["claude", "cursor", "vscode"])
def test_client_settings_are_printed_as_json(command: Excerpt, vault: Path, client: str) -> None:
    printed = command("mcp", vault, "--print-config", client).json
    (servers,) = printed.values()
    assert servers["excerpt"]["args"][-2:] == ["mcp", str(vault)]


@pytest.mark.programs
def test_codex_settings_are_printed_as_toml(command: Excerpt, vault: Path) -> None:
    import tomllib

    printed = tomllib.loads(command("mcp", vault, "--no-memory", "--print-config", "codex").out)
    assert printed["mcp_servers"]["excerpt"]["args"][-3:] == ["mcp", "--no-memory", str(vault)]


@pytest.mark.programs
def test_a_missing_folder_is_reported(command: Excerpt, tmp_path: Path) -> None:
    answer = command("mcp", tmp_path / "none")
    assert (answer.code, answer.out) == (3, "")
    assert "There is no folder at" in answer.err


@pytest.mark.programs
def test_another_version_of_the_sdk_is_reported(home: Path, vault: Path, tmp_path: Path) -> None:
    write_vault(tmp_path / "old", {"mcp/__init__.py": "", "mcp/server.py": "class FastMCP: pass\n"})
    path = os.pathsep.join([str(tmp_path / "old"), *filter(None, sys.path)])
    environment = {**os.environ, "EXCERPT_HOME": str(home), "PYTHONPATH": path}
    command = [sys.executable, "-m", "excerpt", "mcp", str(vault)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "cannot import name 'MCP" in done.stderr
    assert extra_command("mcp") in done.stderr


@pytest.mark.programs
def test_a_client_that_stops_reading_is_not_an_internal_error(home: Path, vault: Path) -> None:
    indexed_vaults(vault)
    with start_server(home, vault) as server:
        assert server.stdout is not None
        server.stdout.close()
        for number in range(1, 4):
            _say(server, {"id": number, "method": "ping"})
        assert server.stdin is not None
        server.stdin.close()
        assert server.wait(ANSWER_SECONDS) == 0
    assert not list(home.rglob("errors.log"))


@pytest.mark.programs
def test_a_missing_sdk_is_reported_with_what_to_install(home: Path, vault: Path) -> None:
    code = (
        "import sys; sys.modules['mcp'] = None\n"
        f"from excerpt.cli.main import run; sys.exit(run(['mcp', {str(vault)!r}]))"
    )
    environment = {**os.environ, "EXCERPT_HOME": str(home)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert extra_command("mcp") in done.stderr
    assert "Traceback" not in done.stderr


SECONDS = 240.0  # on a busy machine
OBSERVED_SECONDS = 4.0  # longer than two looks of a server for a vault that nobody watches

Servers = list[subprocess.Popen[bytes]]


@pytest.fixture
def servers(home: Path, vault: Path) -> Iterator[Servers]:
    """Start three servers of one vault at the same moment."""
    indexed_vaults(vault)
    with ExitStack() as stack:
        started = [stack.enter_context(start_server(home, vault)) for _ in range(3)]
        yield started
        for each in started:
            each.kill()


def watchers(home: Path) -> set[int]:
    return {number for number, command in processes_of(home).items() if " watch --vault " in command}


def parent_of(number: int) -> int:
    return int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1])


def new_watcher(home: Path, ended: int = 0) -> int:
    """Wait for a watcher, and return it; there may never be two, but for one that is about to end."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        running = watchers(home) - {ended}
        assert len(running) <= 1
        if running:
            return running.pop()
        time.sleep(0.02)
    raise AssertionError("nobody watches the vault")


def expect_only_watchers(home: Path, expected: set[int]) -> None:
    deadline = time.monotonic() + OBSERVED_SECONDS
    while time.monotonic() < deadline:
        assert watchers(home) == expected
        time.sleep(0.05)


@pytest.mark.programs
@pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
@pytest.mark.parametrize("end", [subprocess.Popen.kill, lambda server: server.stdin.close()], ids=["killed", "left"])
def test_only_one_of_several_servers_watches_and_another_takes_over_after_its_end(
    home: Path, servers: Servers, end: Callable[[subprocess.Popen[bytes]], None]
) -> None:
    first = new_watcher(home)
    expect_only_watchers(home, {first})
    (server,) = (each for each in servers if each.pid == parent_of(first))
    end(server)
    server.wait(SECONDS)
    second = new_watcher(home, ended=first)
    assert parent_of(second) in {each.pid for each in servers} - {server.pid}
    for each in servers:
        each.kill()
    assert not wait_for_end(home)


@pytest.mark.programs
@pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
def test_if_the_watching_process_is_killed_exactly_one_server_takes_over(home: Path, servers: Servers) -> None:
    first = new_watcher(home)
    subprocess.run(["kill", "-9", str(first)], check=True)
    second = new_watcher(home, ended=first)
    expect_only_watchers(home, {second})


@pytest.mark.programs
@pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
def test_a_server_starts_to_watch_when_the_app_stops(home: Path, vault: Path) -> None:
    indexed_vaults(vault)
    with ExitStack() as app:
        app.enter_context(mark_watched(user_paths().watch_folder(vault)))
        with start_server(home, vault) as server:
            expect_only_watchers(home, set())
            app.close()
            assert parent_of(new_watcher(home)) == server.pid
            server.kill()


PROSE = "A swarm leaves the hive in May when the queen is old, and green tea is steeped at eighty degrees. "
SIZES = (1_000, 10_000, 100_000)
MAX_SEARCHES = 3  # of one question: of the vault, of its memories, and of a note
MAX_POSITIONS = 100_000  # of all words in all fragments of the vault and its memory


@dataclass
class Work:
    """What was done for a question: words looked up, fragments scored, positions of words read."""

    words: int = 0
    fragments: int = 0
    positions: int = 0

    def check(self, vault_fragments: int) -> None:
        """Check that the work is that of a short question."""
        assert self.words <= MAX_SEARCHES * MAX_QUERY_WORDS
        assert self.fragments <= MAX_SEARCHES * vault_fragments
        assert self.positions <= MAX_SEARCHES * MAX_POSITIONS


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    done = Work()

    def match(index: WordIndex, word: Any, match_word: Callable[..., Any] = WordIndex.match) -> Any:
        done.words += 1
        return match_word(index, word)

    def generate(
        generator: CandidateGenerator,
        *args: Any,
        generate_candidates: Callable[..., Any] = CandidateGenerator.generate,
        **options: Any,
    ) -> Any:
        candidates = generate_candidates(generator, *args, **options)
        done.fragments += len(candidates.rows)
        return candidates

    def flatten(*args: Any) -> Any:
        positions = flatten_positions(*args)
        done.positions += len(positions)
        return positions

    monkeypatch.setattr(WordIndex, "match", partialmethod(match))
    monkeypatch.setattr(CandidateGenerator, "generate", partialmethod(generate))
    monkeypatch.setattr("excerpt.search.candidates.flatten_positions", flatten)
    return done


@pytest.fixture
def vaults(home: Path, vault: Path) -> ServedVaults:
    """Return a served vault with a memory as long as memories may be."""
    found = indexed_vaults(vault)
    found.all[0].vault.memories.remember("alpha " * 16_000)
    return found


def count_fragments(vaults: ServedVaults) -> int:
    return found.fragments + 1_000 if (found := vaults.all[0].vault.status()) else 0


@pytest.mark.programs
@pytest.mark.parametrize("kind", KINDS)
async def test_every_tool_does_no_more_work_for_a_hostile_question_than_for_a_short_one(
    vaults: ServedVaults, work: Work, kind: str
) -> None:
    fragments = count_fragments(vaults)
    async with Client(build_server(vaults, failure_text)) as client:
        ask: Ask = tool_caller(client)
        for size in SIZES:
            text = KINDS[kind](PROSE, size).replace("\ud83d", "\ufffd")
            for name, arguments in TOOLS.items():
                if name == "remember":
                    continue
                work.__init__()  # type: ignore[misc]  # counted anew for each question
                told = await ask(name.partition(" ")[0], **arguments(text))
                assert told.text
                assert told.is_error or name == "check" or size <= 10_000
                work.check(fragments)
    vaults.end()


@pytest.mark.programs
@pytest.mark.parametrize("kind", KINDS)
async def test_every_method_does_no_more_work_for_a_hostile_question_than_for_a_short_one(
    vaults: ServedVaults, work: Work, kind: str
) -> None:
    fragments = count_fragments(vaults)
    async with talk_with(LineServer(vaults, line_failed)) as talk:
        for size in SIZES:
            text = KINDS[kind](PROSE, size)
            for name, arguments in METHODS.items():
                if name == "remember":
                    continue
                work.__init__()  # type: ignore[misc]
                method, params = name.partition(" ")[0], arguments(text)
                talk.say(json.dumps({"id": f"{name} {size}", "method": method, "params": params}).encode() + b"\n")
                answer = await talk.answer(f"{name} {size}")
                assert "error" in answer or size <= 10_000 or name in ("passages", "cancel")
                if name != "passages":  # which searches for each of several clauses
                    work.check(fragments)
    vaults.end()
