"""Tests of the server as a process: its start, its events, its end, and lines at random."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from excerpt.servers.line_server.client import LineClient, LineServerError
from excerpt.service.inputs import find_leading_id, parse_json
from excerpt.vault.known_vaults import DEMO
from tests.servers.line_server.conftest import VALIDATOR, Message
from tests.servers.mcp.conftest import indexed_vaults, write_vault
from tests.servers.mcp.test_server import children_of, is_alive

pytestmark = pytest.mark.programs

ANSWER_SECONDS = 240.0  # on a busy machine
FUZZED_LINES = int(os.environ.get("EXCERPT_FUZZED_LINES", "500"))
KILLS = int(os.environ.get("EXCERPT_KILLS", "2"))


class Server:
    """`excerpt serve` as a child process, with a thread that reads its messages."""

    def __init__(self, home: Path, *words: str | Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "excerpt", "serve", *map(str, words)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "EXCERPT_HOME": str(home)},
        )
        self.messages: list[Message] = []
        self._arrived = threading.Condition()
        self.reader = threading.Thread(target=self._collect, daemon=True)
        self.reader.start()

    def _collect(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            VALIDATOR.validate(message)
            with self._arrived:
                self.messages.append(message)
                self._arrived.notify_all()

    def say(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def send(self, request_id: int, method: str, **params: Any) -> None:
        self.say(json.dumps({"id": request_id, "method": method, "params": params}).encode() + b"\n")

    def wait_for(self, **fields: Any) -> Message:
        """Return the first message with these fields."""

        def find() -> Message | None:
            return next((each for each in self.messages if fields.items() <= each.items()), None)

        with self._arrived:
            assert self._arrived.wait_for(find, ANSWER_SECONDS), self.messages
            found = find()
        assert found is not None
        return found

    def wait_indexed(self) -> None:
        """Wait for the first build, which may end before the server is ready."""
        if self.wait_for(method="ready")["params"]["generation"] == 0:
            self.wait_for(method="changed")


@contextmanager
def running(home: Path, *words: str | Path) -> Iterator[Server]:
    server = Server(home, *words)
    with server.process as process:
        try:
            yield server
        finally:
            assert process.stdin is not None
            with suppress(OSError):
                process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(ANSWER_SECONDS)
            process.kill()
            server.reader.join()


def has_ended(processes: list[int]) -> bool:
    until = threading.Event()
    for _ in range(int(ANSWER_SECONDS * 10)):
        if not any(map(is_alive, processes)):
            return True
        until.wait(0.1)
    return False


def test_a_vault_is_indexed_and_its_changes_are_reported_and_found(home: Path, vault: Path) -> None:
    with running(home, vault) as server:
        server.wait_indexed()
        write_vault(vault, {"Hornets.md": "# Hornets\n\nA hornet hunts at dusk.\n"})
        with server._arrived:
            assert server._arrived.wait_for(
                lambda: any(each.get("params", {}).get("notes") == 5 for each in server.messages), ANSWER_SECONDS
            )
        server.send(1, "search", query="hornet", limit=1)
        assert server.wait_for(id=1)["result"]["hits"][0]["path"] == "Hornets.md"


def test_a_first_build_reports_progress_and_requests_are_answered_before_its_end(home: Path, tmp_path: Path) -> None:
    text = "\n".join(f"## Part {part}\n\nHives and swarms of year {part}.\n" for part in range(20))
    vault = write_vault(tmp_path / "large", {f"{number}.md": text for number in range(200)})
    with running(home, vault) as server:
        server.send(1, "search", query="hive")
        if server.wait_for(method="ready")["params"]["generation"] == 0:  # else the build was ahead of the server
            assert server.wait_for(method="progress")["params"]["total"] == 200
        answer = server.wait_for(id=1)
        assert "result" in answer or answer["error"]["data"]["kind"] == "not_indexed_yet"


def test_all_requests_piped_into_the_server_are_answered(home: Path, vault: Path) -> None:
    indexed_vaults(vault)
    done = subprocess.run(
        [sys.executable, "-m", "excerpt", "serve", str(vault)],
        input=b'{"id": 1, "method": "status"}\n{"id": 2, "method": "search", "params": {"query": "tea"}}',
        capture_output=True,
        env={**os.environ, "EXCERPT_HOME": str(home)},
        timeout=ANSWER_SECONDS,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["id"] for each in answers if "id" in each] == [1, 2]
    assert done.stderr == b""


@pytest.mark.needs("ps")
@pytest.mark.parametrize("ended", ["stdin", "SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"])
def test_the_server_ends_with_its_client_and_leaves_no_process(home: Path, vault: Path, ended: str) -> None:
    with running(home, vault) as server:
        server.wait_indexed()
        left = children_of(server.process.pid)
        assert left
        if ended == "stdin":
            assert server.process.stdin is not None
            server.process.stdin.close()
        else:
            server.process.send_signal(getattr(signal, ended))
        assert server.process.wait(ANSWER_SECONDS) == (-9 if ended == "SIGKILL" else 0)
        assert server.process.stderr is not None
        assert b"Traceback" not in server.process.stderr.read()
    assert has_ended(left)


@pytest.mark.needs("ps")
def test_the_server_ends_when_nobody_reads_its_answers(home: Path, vault: Path) -> None:
    indexed_vaults(vault)
    with subprocess.Popen(
        [sys.executable, "-m", "excerpt", "serve", str(vault)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "EXCERPT_HOME": str(home)},
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        assert b"ready" in server.stdout.readline()
        server.stdout.close()
        server.stdin.write(b'{"id": 1, "method": "status"}\n')
        server.stdin.flush()
        assert server.wait(ANSWER_SECONDS) == 0  # with stdin still open


@pytest.mark.needs("ps")
def test_the_server_ends_when_its_parent_is_killed(home: Path, vault: Path) -> None:
    code = (
        "import subprocess, sys; p = subprocess.Popen([sys.executable, '-m', 'excerpt', 'serve', sys.argv[1]],"
        "stdin=subprocess.PIPE, stdout=subprocess.PIPE); print(p.pid, p.stdout.readline(), flush=True); p.wait()"
    )
    with subprocess.Popen(
        [sys.executable, "-P", "-c", code, str(vault)],
        stdout=subprocess.PIPE,
        env={**os.environ, "EXCERPT_HOME": str(home)},
    ) as parent:
        assert parent.stdout is not None
        server = int(parent.stdout.readline().split()[0])
        left = [server, *children_of(server)]
        parent.kill()
        parent.wait()
    assert has_ended(left)


@pytest.mark.needs("ps")
def test_a_server_killed_at_any_moment_leaves_no_process_and_can_be_restarted(home: Path, vault: Path) -> None:
    moments = random.Random(7)
    for _ in range(KILLS):
        with running(home, vault) as server:
            server.wait_for(method="ready")
            for number in range(20):
                server.send(number, "search", query=f"hive {number}")
            threading.Event().wait(moments.uniform(0, 1))
            left = children_of(server.process.pid)
            server.process.kill()
        assert has_ended(left)
    with running(home, vault) as server:
        hits: list[Message] = []
        number = 0
        while not hits:  # until the index, which may have none of its notes yet, is complete
            number += 1
            server.send(number, "search", query="swarm")
            hits = server.wait_for(id=number).get("result", {"hits": []})["hits"]
        assert hits[0]["path"] == "Swarms.md"


# --- lines at random --------------------------------------------------------------------------------------------------

REQUESTS: list[dict[str, Any]] = [
    {"method": "search", "params": {"query": "hive", "limit": 3}},
    {"method": "pack", "params": {"query": "green tea", "budget": 100}},
    {"method": "read", "params": {"source": "Hives.md", "context": 1}},
    {"method": "complete", "params": {"text": "tag:", "cursor": 4}},
    {"method": "recall", "params": {"query": "bees"}},
    {"method": "why", "params": {"query": "hive", "fragment_id": "x"}},
    {"method": "status", "params": {}},
    {"method": "cancel", "params": {"id": 1}},
]
VALUES: list[Any] = [None, True, -1, 10**30, 1.5, "", "\x00\ud800'\"", "a" * 3_000, [], [[]], {}, {"a": None}, "tag:("]


def fuzzed_line(chance: random.Random, number: int) -> bytes:
    """Return a request with something wrong in it, in its values, its members or its bytes, or nothing wrong."""
    request: dict[str, Any] = {"id": number, **chance.choice(REQUESTS)}
    if chance.random() < 0.3:
        request["channel"] = chance.choice(["a", "b", *VALUES])
    params = dict(request["params"])
    if chance.random() < 0.5:
        params[chance.choice(["query", "limit", "source", "where", "vault", "tags", "x"])] = chance.choice(VALUES)
    request["params"] = params
    if chance.random() < 0.2:
        request[chance.choice(["id", "method", "params", "jsonrpc", "y"])] = chance.choice(VALUES)
    line = bytearray(json.dumps(request).encode())
    for _ in range(chance.choice([0, 0, 0, 1, 3])):
        at = chance.randrange(len(line) + 1)
        line[at : at + chance.choice([0, 1, 40])] = chance.randbytes(chance.choice([0, 1, 4]))
    return bytes(line).replace(b"\n", b" ")


def id_of(line: bytes) -> Any:
    """Return the id that an answer to a line must have, None if it has none that can be read."""
    try:
        request = parse_json(line)
    except ValueError:
        return find_leading_id(line)
    number = request.get("id") if isinstance(request, dict) else None
    return number if type(number) in (str, int) else None


def test_each_random_line_with_an_id_gets_one_answer(home: Path, vault: Path) -> None:
    indexed_vaults(vault)
    chance = random.Random(11)
    lines = [fuzzed_line(chance, number) for number in range(FUZZED_LINES)]
    with running(home, vault) as server:
        for line in lines:
            server.say(line + b"\n")
        server.say(b'{"id": "last", "method": "status"}\n')
        server.wait_for(id="last")
        answers = [each for each in server.messages if "id" in each]
        expected = Counter(str(number) for line in lines if (number := id_of(line)) is not None)
        assert Counter(str(each["id"]) for each in answers if each["id"] is not None) == expected + Counter(["last"])
        kinds = {each["error"]["data"]["kind"] for each in answers if "error" in each}
        assert kinds >= {"parse_error", "invalid_request", "invalid_params", "superseded"}
        assert "internal" not in kinds


# --- the socket -------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="there are no Unix sockets")
def test_the_client_of_the_guide_prints_locations(
    vault: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (DEMO / "Line server.md").read_text(encoding="utf-8")
    example = page.partition("```python\n")[2].partition("```")[0]
    with tempfile.TemporaryDirectory(prefix="ex") as folder:
        home = Path(folder).resolve()
        for name, value in {"HOME": home, "EXCERPT_HOME": home / "e"}.items():
            monkeypatch.setenv(name, str(value))
        shutil.copytree(vault, home / "notes")
        indexed_vaults(home / "notes")
        with running(home / "e", home / "notes", "--socket") as server:
            assert server.process.stderr is not None
            server.process.stderr.readline()
            exec(example.replace("sync conflicts", "swarm queen"), {})
            server.process.terminate()
    assert "Swarms.md 3" in capsys.readouterr().out


@pytest.mark.skipif(os.name == "nt", reason="there are no Unix sockets")
def test_eight_clients_of_a_socket_are_answered_concurrently(home: Path, vault: Path) -> None:
    indexed_vaults(vault)
    wrong: list[object] = []
    with tempfile.TemporaryDirectory(prefix="ex") as folder:
        file = Path(folder).resolve() / "a.sock"

        def ask(number: int) -> None:
            query, path = [("green tea", "kitchen/Tea.md"), ("swarm queen", "Swarms.md")][number % 2]
            try:
                with LineClient.connect(file, ANSWER_SECONDS) as client:
                    found = [client.request("search", {"query": query, "limit": 1}, ANSWER_SECONDS) for _ in range(50)]
                    wrong.extend(each for each in found if each["hits"][0]["path"] != path)
            except LineServerError as error:
                wrong.append(error)

        with running(home, vault, "--socket-path", file) as server:
            assert server.process.stderr is not None
            assert str(file).encode() in server.process.stderr.readline()
            clients = [threading.Thread(target=ask, args=[number]) for number in range(8)]
            for each in clients:
                each.start()
            for each in clients:
                each.join()
            assert wrong == []
            second = subprocess.run(
                [sys.executable, "-m", "excerpt", "serve", str(vault), "--socket-path", str(file)],
                capture_output=True,
                env={**os.environ, "EXCERPT_HOME": str(home)},
                check=False,
            )
            assert (second.returncode, f"Process {server.process.pid}" in second.stderr.decode()) == (3, True)
            server.process.terminate()
            assert server.process.wait(ANSWER_SECONDS) == 0
            assert not file.exists()
