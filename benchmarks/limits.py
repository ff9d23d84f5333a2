"""Measure what long and hostile input costs the servers and the prompt hook: `make limits`.

Every tool and method is asked with texts of each size and kind. Each question must be answered or refused, within
MAX_SECONDS; a server may grow by MAX_MEGABYTES in all, and another client that asks meanwhile waits for at most
MAX_WAIT_SECONDS. The vault has memories that are as long as memories may be. Fails if a limit is not kept.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Protocol

from benchmarks.measure import Data, environment, result, run, table, write_option
from benchmarks.memory import memory
from excerpt.service.inputs import MAX_MEMORY_LENGTH

VAULT, QUERIES = "obsidian-help/en", "obsidian-help-en.dev"
SIZES = (1_000, 10_000, 100_000, 10_000_000)
MEMORIES = 45
MAX_SECONDS, MAX_WAIT_SECONDS, MAX_MEGABYTES = 5.0, 2.0, 200
_TIMEOUT = 60.0  # seconds after which a question counts as lost
_INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "benchmark", "version": "1"}}

KINDS: Mapping[str, Callable[[str, int], str]] = {
    "words": lambda prose, size: (prose * (size // len(prose) + 1))[:size],
    "blanks": lambda _, size: " " * size,
    "quotation marks": lambda _, size: '"a" ' * (size // 4),
    "brackets": lambda _, size: "[1]" * (size // 3),
    "half characters": lambda _, size: "\ud83d " * (size // 2),
    "repeats": lambda _, size: "alpha " * (size // 6),
}
"""A text of each kind, made of the prose of the vault and a number of characters."""

TOOLS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "pack": lambda text: {"query": text},
    "search": lambda text: {"query": text},
    "search in": lambda text: {"query": "sync", "vault": text},
    "read": lambda text: {"source": text},
    "read for": lambda text: {"source": "Welcome", "query": text},
    "related": lambda text: {"source": text},
    "overview": lambda text: {"topic": text},
    "recall": lambda text: {"query": text},
    "remember": lambda text: {"text": text},
    "check": lambda text: {"answer": text},
    "status": lambda text: {"x": text},
}
"""The arguments of each tool; the first word of a name is the tool."""
METHODS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "search": lambda text: {"query": text},
    "search where": lambda text: {"query": "sync", "where": {"tag": text}},
    "pack": lambda text: {"query": text},
    "read": lambda text: {"source": text},
    "why": lambda text: {"query": text, "fragment_id": "x"},
    "complete": lambda text: {"text": text, "cursor": len(text)},
    "remember": lambda text: {"text": text},
    "recall": lambda text: {"query": text},
    "passages": lambda text: {"prompt": text},
    "status": lambda text: {"vault": text},
    "cancel": lambda text: {"id": text},
}


@dataclass
class Figures:
    """What the questions of one size to one server have cost."""

    answered: int = 0
    refused: int = 0
    lost: list[str] = field(default_factory=list)
    slowest: tuple[float, str] = (0.0, "")
    longest_wait: tuple[float, str] = (0.0, "")


class Client(Protocol):
    """A client of a server."""

    def ask(self, name: str, arguments: dict[str, Any]) -> bool:
        """Return whether a question is answered, and not refused. Raises OSError if there is no answer."""


class LineClient:
    """A client of JSON-RPC over the pipes of a process."""

    def __init__(self, process: subprocess.Popen[bytes], *, is_mcp: bool) -> None:
        self._process, self._is_mcp = process, is_mcp
        self._answers: dict[int, dict[str, Any]] = {}
        self._received = threading.Condition()
        self._last_id = 0
        threading.Thread(target=self._read, daemon=True).start()
        if is_mcp:
            self.request("initialize", _INITIALIZE)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if isinstance(message.get("id"), int):
                with self._received:
                    self._answers[message["id"]] = message
                    self._received.notify_all()

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        with self._received:
            self._last_id += 1
            number = self._last_id
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()
        with self._received:
            if not self._received.wait_for(lambda: number in self._answers, _TIMEOUT):
                raise TimeoutError("no answer")
            return self._answers.pop(number)

    def ask(self, name: str, arguments: dict[str, Any]) -> bool:
        name = name.partition(" ")[0]
        if not self._is_mcp:
            return "result" in self.request(name, arguments)
        return _is_answered(self.request("tools/call", {"name": name, "arguments": arguments}))


class HttpClient:
    """A client of the MCP server over HTTP."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
        }
        self.request("initialize", _INITIALIZE)

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=_TIMEOUT)
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        try:
            with suppress(BrokenPipeError, ConnectionResetError):  # it is refused before it has been sent
                connection.request("POST", "/mcp", body, self._headers)
            response = connection.getresponse()
            text = response.read().decode()
        except (ConnectionResetError, BrokenPipeError) as error:
            return {"error": str(error)}
        except HTTPException as error:
            raise OSError(str(error)) from error
        finally:
            connection.close()
        if session := response.headers.get("Mcp-Session-Id"):
            self._headers["Mcp-Session-Id"] = session
        found = re.search(r"^data: (\{.*)$", text, re.MULTILINE)
        answer: dict[str, Any] = json.loads(found[1] if found else text)
        return answer

    def ask(self, name: str, arguments: dict[str, Any]) -> bool:
        return _is_answered(self.request("tools/call", {"name": name.partition(" ")[0], "arguments": arguments}))


def _is_answered(message: dict[str, Any]) -> bool:
    return "result" in message and not message["result"].get("isError")


class SocketClient:
    """A client of the line server at a Unix socket."""

    def __init__(self, file: Path) -> None:
        from excerpt.servers.line_server.client import LineClient as Connection

        self._client = Connection.connect(file, _TIMEOUT)

    def ask(self, name: str, arguments: dict[str, Any]) -> bool:
        from excerpt.servers.line_server.client import LineServerError

        try:
            self._client.request(name.partition(" ")[0], arguments, _TIMEOUT)
        except LineServerError as error:
            if error.kind == "unreachable":
                raise OSError(str(error)) from error
            return False
        return True


@dataclass(frozen=True)
class Served:
    """A server that was started, with what connects a client to it, and its questions."""

    process: subprocess.Popen[bytes]
    connect: Callable[[], Client]
    questions: Mapping[str, Callable[[str], dict[str, Any]]]


@contextmanager
def _started(home: Path, *words: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [sys.executable, "-m", "excerpt", *map(str, words)],
        env=environment() | {"EXCERPT_HOME": str(home)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.wait()


@contextmanager
def _line_server(home: Path, vault: Path) -> Iterator[Served]:
    with tempfile.TemporaryDirectory(prefix="ex") as folder:
        file = Path(folder).resolve() / "a.sock"
        with _started(home, "serve", vault, "--socket-path", file) as process:
            assert process.stderr is not None
            process.stderr.readline()
            yield Served(process, lambda: SocketClient(file), METHODS)


@contextmanager
def _stdio_server(home: Path, vault: Path) -> Iterator[Served]:
    """Start an MCP server over stdio; its second client is a second call of the same client."""
    with _started(home, "mcp", vault) as process:
        client = LineClient(process, is_mcp=True)
        yield Served(process, lambda: client, TOOLS)


@contextmanager
def _http_server(home: Path, vault: Path) -> Iterator[Served]:
    with _started(home, "mcp", vault, "--http", "--port", "0") as process:
        assert process.stderr is not None
        found = re.search(r":(\d+)/mcp; the token is in (.*)\n", process.stderr.readline().decode())
        assert found is not None
        token = Path(found[2]).read_text(encoding="utf-8").strip()
        yield Served(process, lambda: HttpClient(int(found[1]), token), TOOLS)


SERVERS = {"line server": _line_server, "MCP, stdio": _stdio_server, "MCP, HTTP": _http_server}


def measure_size(served: Served, prose: str, size: int, query: str) -> Figures:
    """Ask every question with texts of one size, and another client's question beside each."""
    figures, client, other = Figures(), served.connect(), served.connect()
    for kind, write in KINDS.items():
        text = write(prose, size)
        for name, arguments in served.questions.items():
            what = f"{name}, {kind}"
            waited: list[float] = []

            def wait(other: Client = other, waited: list[float] = waited) -> None:
                start = time.perf_counter()
                with suppress(OSError):
                    other.ask("search", {"query": query, "limit": 3})
                    waited.append(time.perf_counter() - start)

            beside = threading.Timer(0.01, wait)
            beside.start()
            start = time.perf_counter()
            try:
                if client.ask(name, arguments(text)):
                    figures.answered += 1
                else:
                    figures.refused += 1
            except OSError as error:
                figures.lost.append(f"{what}: {error}")
                client = served.connect()
            figures.slowest = max(figures.slowest, (time.perf_counter() - start, what))
            beside.join()
            if not waited:
                figures.lost.append(f"beside {what}")
                other = served.connect()
            figures.longest_wait = max(figures.longest_wait, (max(waited, default=0.0), what))
    return figures


def measure_hook(home: Path, vault: Path, prose: str, size: int) -> tuple[int, float, str, int]:
    """Return how often the prompt hook ended well, its longest time in seconds and the kind, and its peak in MB."""
    ended, slowest, peak = 0, (0.0, ""), 0
    for kind, write in KINDS.items():
        event = home / "event.json"
        event.write_text(json.dumps({"prompt": write(prose, size), "session_id": "a"}), encoding="utf-8")
        code = (
            "import subprocess, sys; sys.exit(subprocess.run([sys.executable, '-m', 'excerpt', 'agents', 'hook',"
            " 'claude', sys.argv[2]], stdin=open(sys.argv[1])).returncode)"
        )
        once = run([sys.executable, "-c", code, str(event), str(vault)], environment() | {"EXCERPT_HOME": str(home)})
        ended += 1
        slowest, peak = max(slowest, (once.seconds, kind)), max(peak, once.peak // 1_000_000)
    return ended, *slowest, peak


def fill_memories(home: Path, vault: Path) -> None:
    """Remember MEMORIES texts of the greatest length, which repeat a few words."""
    with _line_server(home, vault) as served:
        client = served.connect()
        for number in range(MEMORIES):
            word = ("alpha", "note", "sync")[number % 3]
            text = f"{number} {word} 1 " * MAX_MEMORY_LENGTH
            client.ask("remember", {"text": text[:MAX_MEMORY_LENGTH]})


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.limits", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared"), help="folder with data/")
    write_option(parser, "limits")
    args = parser.parse_args()
    data = Data(args.data.resolve())
    vault = data.vault(VAULT)
    if vault is None or not Path("/proc/self/smaps_rollup").exists() or os.name != "posix":
        return
    prose, query = _prose(vault), data.queries(QUERIES)[0]
    failures: list[str] = []
    with result("limits", "Long and hostile input", write=args.write), ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        run(
            [sys.executable, "-m", "excerpt", "index", "--vault", str(vault)],
            environment() | {"EXCERPT_HOME": str(home)},
        )
        fill_memories(home, vault)
        kinds = ", ".join(KINDS)
        print(f"{len(SIZES)} sizes of {kinds}; {MEMORIES} memories of {MAX_MEMORY_LENGTH:,} characters.\n")
        rows: list[Sequence[str]] = []
        for name, start in SERVERS.items():
            with start(home, vault) as served:
                client = served.connect()
                for tool, arguments in served.questions.items():  # loads what each question needs
                    client.ask(tool, arguments(query))
                before = memory(served.process.pid).peak
                for size in SIZES:
                    figures = measure_size(served, prose, size, query)
                    grown = memory(served.process.pid).peak - before
                    rows.append(_row(name, size, figures, grown))
                    print(*rows[-1], file=sys.stderr, flush=True)
                    failures += _failures(f"{name}, {size:,}", figures, grown)
        for size in SIZES:
            ended, seconds, kind, peak = measure_hook(home, vault, prose, size)
            rows.append(("prompt hook", f"{size:,}", str(ended), "0", "0", f"{seconds:.2f}", kind, "", "", str(peak)))
            if seconds > MAX_SECONDS:
                failures.append(f"prompt hook, {size:,}: {seconds:.1f} s")
        head = (
            "door",
            "characters",
            "answered",
            "refused",
            "lost",
            "slowest s",
            "by",
            "other's s",
            "beside",
            "MB more",
        )
        table(head, rows)
        print("\nOf the prompt hook: the peak of its process.")
    if failures:
        sys.exit("\n".join(failures))


def _prose(vault: Path) -> str:
    """Return prose of the vault with few repeated sentences."""
    texts = (file.read_text(encoding="utf-8", errors="replace") for file in sorted(vault.rglob("*.md"))[:100])
    return " ".join(" ".join(texts).split())


def _row(name: str, size: int, figures: Figures, grown: int) -> Sequence[str]:
    (seconds, slowest), (wait, beside) = figures.slowest, figures.longest_wait
    counts = figures.answered, figures.refused, len(figures.lost)
    return name, f"{size:,}", *map(str, counts), f"{seconds:.2f}", slowest, f"{wait:.2f}", beside, str(grown)


def _failures(name: str, figures: Figures, grown: int) -> list[str]:
    (seconds, slowest), (wait, beside) = figures.slowest, figures.longest_wait
    return [
        *(f"{name}: lost: {each}" for each in figures.lost),
        *([f"{name}: {slowest} took {seconds:.1f} s"] if seconds > MAX_SECONDS else []),
        *([f"{name}: beside {beside} another client waited {wait:.1f} s"] if wait > MAX_WAIT_SECONDS else []),
        *([f"{name}: the server grew by {grown} MB"] if grown > MAX_MEGABYTES else []),
    ]


if __name__ == "__main__":
    main()
