"""Tests of excerpt started in a vault full of Python files and programs: it must import and run none of them."""

from __future__ import annotations

import http.client
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from excerpt.cli.main import COMMANDS
from tests.conftest import require_program
from tests.e2e.conftest import environment
from tests.e2e.terminal import PATIENCE, Terminal
from tests.images import text_image
from tests.servers.mcp.conftest import tool_caller

pytestmark = pytest.mark.programs

EXCERPT = str(Path(sys.executable).parent / "excerpt")
MODULES = sorted(
    {*sys.stdlib_module_names, *packages_distributions(), "rapidocr", "onnxruntime", "sitecustomize", "usercustomize"}
)
"""Names of modules that could be imported: the standard library, installed packages and missing ones."""
PROGRAMS = """
    tesseract tmux xclip xsel wl-copy clip.exe pbcopy xdg-open wslview open rundll32.exe mount git sh python python3
    nano vim vi micro emacs zathura okular evince mupdf gcc cc ld ldconfig uname
    """
"""Names of programs that could be started."""

WORDS: Mapping[str, Sequence[str]] = {
    "demo": ["--path"],
    "pick": ["."],
    "search": ["walrus"],
    "pack": ["walrus", "--template", "pack.j2"],
    "check": ["answer.txt", "--pack", "pack.txt"],
    "overview": ["walrus"],
    "related": ["Walrus"],
    "map": [],
    "read": ["Walrus"],
    "peek": ["Walrus"],
    "remember": ["The walrus swims."],
    "recall": ["walrus"],
    "edit": ["nothing", "--text", "x"],
    "forget": ["nothing"],
    "learned": [],
    "gold": ["list"],
    "news": [],
    "index": [],
    "watch": ["--progress"],
    "serve": ["--schema"],
    "mcp": [".", "--print-config", "claude"],
    "embedding": [],
    "status": [],
    "config": [],
    "completion": ["print", "--shell", "bash"],
    "editor": ["nvim"],
    "agents": ["log"],
    "doctor": [],
}
"""The arguments that each command is called with."""
CODES = {"agents": 1, "edit": 3, "forget": 3, "gold": 1, "learned": 1, "news": 1, "pick": 3}
"""Exit codes without such a memory, questions, learned notes, saved queries or a terminal; else 0."""


@dataclass(frozen=True, slots=True)
class Hostile:
    """A folder, the environment of a shell in it, and the folder where executed files leave their names."""

    folder: Path
    shell: Mapping[str, str]
    traces: Path

    def run(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [EXCERPT, *words],
            cwd=self.folder,
            env=self.shell,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )

    def change(self) -> None:
        """Write a note of more than 256 kB, which makes a worker process read it."""
        large = self.folder / "Large.md"
        large.write_text(f"# Large {os.urandom(4).hex()}\n\n" + "A walrus is large. \n\n" * 15_000)

    @property
    def ran(self) -> list[str]:
        return sorted(trace.name for trace in self.traces.iterdir())


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Hostile:
    """Index the vault from inside it, with attachments."""
    require_program("tesseract")
    base = tmp_path_factory.mktemp("hostile")
    folder, traces, home = base / "vault", base / "traces", base / "home"
    for made in (folder, traces, folder / "excerpt", folder / "multiprocessing", home / "config"):
        made.mkdir(parents=True)
    files = {f"{name}.py" for name in [*MODULES, "excerpt"]}
    files |= {f"{name}/{part}.py" for name in ("excerpt", "multiprocessing") for part in ("__init__", "__main__")}
    for name in files:
        trace = traces / name.replace("/", "-")
        (folder / name).write_text(f"open({str(trace)!r}, 'w').close()\n")
    for name in PROGRAMS.split():
        (folder / name).write_text(f"#!/bin/sh\n: > {traces}/program-{name}\n")
        (folder / name).chmod(0o755)
    (folder / "Walrus.md").write_text("# Walrus\n\nThe walrus swims in the cold sea.\n")
    (folder / "answer.txt").write_text("The walrus swims [1].\n")
    (folder / "pack.j2").write_text("{% for source in sources %}{{ source.text }}{% endfor %}\n")
    (folder / "drawn.png").write_bytes(image_bytes("PNG"))
    (folder / "scan.pdf").write_bytes(image_bytes("PDF"))
    (home / "config" / "excerpt.toml").write_text('[vault.attachments]\nocr = "auto"\n')
    elsewhere = [entry for entry in os.environ["PATH"].split(os.pathsep) if not Path(entry, "excerpt").exists()]
    path = os.pathsep.join(["", ".", *elsewhere])
    found = Hostile(folder, {**environment(home), "PATH": path, "DISPLAY": ":99", "EXCERPT_VAULT": "."}, traces)
    found.change()
    indexed = found.run("index", "--vault", ".")
    assert indexed.returncode == 0, indexed.stderr
    assert found.run("remember", "The walrus rests.").returncode == 0  # for `recall`
    (folder / "pack.txt").write_bytes(found.run("pack", "walrus", "--vault", ".").stdout)
    return found


def image_bytes(kind: str) -> bytes:
    data = io.BytesIO()
    text_image("The narwhal has a tusk.").save(data, kind)
    return data.getvalue()


def test_processes_that_read_notes_and_pdfs_and_images_run_no_file_of_the_working_directory(hostile: Hostile) -> None:
    hostile.change()
    found = hostile.run("search", "narwhal tusk", "--vault", ".", "--json")
    assert {hit["path"] for hit in json.loads(found.stdout)["hits"]} >= {"drawn.png", "scan.pdf"}
    assert hostile.ran == []


def test_every_command_is_run_in_the_hostile_working_directory() -> None:
    assert set(WORDS) == set(COMMANDS)


@pytest.mark.parametrize("command", WORDS)
def test_no_command_runs_files_of_the_working_directory(hostile: Hostile, command: str) -> None:
    done = hostile.run(command, *WORDS[command])
    assert done.returncode == CODES.get(command, 0), done.stderr
    assert hostile.ran == []
    assert b"Traceback" not in done.stderr


def test_indexing_a_large_vault_runs_no_file_of_the_working_directory(hostile: Hostile, tmp_path: Path) -> None:
    (tmp_path / "Large.md").write_text("# Large\n\n" + "A walrus is large. \n\n" * 15_000)
    assert hostile.run("search", "walrus", "--vault", str(tmp_path)).returncode == 0
    assert hostile.ran == []


def test_the_app_and_its_indexing_process_run_no_file_of_the_working_directory(hostile: Hostile) -> None:
    hostile.change()
    with Terminal([EXCERPT, "."], hostile.shell, 100, 30, folder=hostile.folder) as app:
        app.wait_for("up to date")
        (hostile.folder / "New.md").write_text("# New\n\nThe dugong grazes.\n")
        app.type("dugong")
        app.wait_for("▌  ", "grazes")
        app.press("tab", "ctrl+y")
        app.wait_until(lambda: bool(app.copied()), "to copy")
        app.press("ctrl+q")
        assert app.wait_exit() == 0
    assert hostile.ran == []


async def test_an_mcp_server_and_its_indexing_process_run_no_file_of_the_working_directory(hostile: Hostile) -> None:
    hostile.change()
    server = StdioServerParameters(command=EXCERPT, args=["mcp", "."], env=dict(hostile.shell), cwd=hostile.folder)
    async with Client(server) as client:
        ask = tool_caller(client)
        while "up to date" not in (await ask("search", query="walrus")).first_line:
            pass
    assert hostile.ran == []


def test_a_line_server_and_its_indexing_process_run_no_file_of_the_working_directory(hostile: Hostile) -> None:
    hostile.change()
    with subprocess.Popen(
        [EXCERPT, "serve", "."],
        cwd=hostile.folder,
        env=hostile.shell,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        answer: dict[str, object] = {}
        while answer.get("freshness") != "up to date":
            server.stdin.write(b'{"id": 1, "method": "status"}\n')
            server.stdin.flush()
            while "id" not in (message := json.loads(server.stdout.readline())):
                pass
            answer = message["result"]
        server.stdin.close()
        assert server.wait(PATIENCE) == 0
    assert hostile.ran == []


def test_an_mcp_server_over_http_runs_no_file_of_the_working_directory(hostile: Hostile) -> None:
    hostile.change()
    with subprocess.Popen(
        [EXCERPT, "mcp", ".", "--http", "--port", "0"],
        cwd=hostile.folder,
        env=hostile.shell,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as server:
        try:
            assert server.stderr is not None
            said = server.stderr.readline().decode()
            found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp; the token is in (.*)\n", said)
            assert found, said
            assert "up to date" in search_over_http(int(found[1]), Path(found[2]).read_text(encoding="utf-8").strip())
        finally:
            server.terminate()
    assert hostile.ran == []


def search_over_http(port: int, token: str) -> str:
    """Return the server's result of a search once the index is up to date."""
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)

    def post(method: str, params: Mapping[str, object], number: int | None) -> str:
        body = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number})
        connection.request("POST", "/mcp", json.dumps(body), headers)
        response = connection.getresponse()
        headers.update({"Mcp-Session-Id": named} if (named := response.getheader("Mcp-Session-Id")) else {})
        return response.read().decode()

    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    post("initialize", client, 1)
    post("notifications/initialized", {}, None)
    answer = ""
    while "up to date" not in answer:
        answer = post("tools/call", {"name": "search", "arguments": {"query": "walrus"}}, 2)
        assert '"result"' in answer, answer
    return answer


def test_the_settings_of_an_agent_use_no_python_that_imports_from_the_working_directory(hostile: Hostile) -> None:
    """Check the printed agent settings when the program is not on the PATH."""
    said = hostile.run("mcp", ".", "--print-config", "claude")
    server = json.loads(said.stdout)["mcpServers"]["excerpt"]
    assert [server["command"], *server["args"][:3]] == [sys.executable, "-P", "-m", "excerpt"]
