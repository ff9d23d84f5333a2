"""Measure `excerpt serve`: the time of an answer beside the engine's own, and memory over many requests.

`make serve-bench`. Fails if a warm answer takes more than MAX_EXTRA_MS longer than its search (95 %), or if after the
first tenth of the requests memory grows by more than MAX_GROWTH. Memory is the server's own (RssAnon).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import Data, environment, index, percentile, result, table, write_option
from excerpt.servers.line_server.client import LineClient

VAULT, QUERIES = "dendron-site", "dendron-site.dev"
SMALL_VAULT, SMALL_QUERIES = "obsidian-help/en", "obsidian-help-en.dev"
"""For the many requests of the measurement of memory."""
REQUESTS, SAMPLES, CLIENTS = 100_000, 10, 8
WARM_UPS, TIMED = 20, 200
MAX_EXTRA_MS = 15.0
MAX_GROWTH = 1.10
_WINDOW = 32  # requests that are sent before the first is answered
_TIMEOUT = 60.0  # seconds
_SHAPES: Sequence[tuple[str, dict[str, Any]]] = (
    ("20 hits with text and snippets", {}),
    ("20 hits with snippets", {"text": False}),
    ("200 hits with text and snippets", {"limit": 200}),
)


@dataclass(frozen=True, slots=True)
class Times:
    """Milliseconds of some answers: the engine's own, and how much longer the client waited."""

    engine: list[float]
    extra: list[float]

    def row(self, name: str) -> tuple[str, ...]:
        figures = (self.engine, 0.5), (self.extra, 0.5), (self.extra, 0.95), (self.extra, 1.0)
        return name, *(f"{percentile(values, share):.1f}" for values, share in figures)


class StdioClient:
    """A client that starts the server and talks to it over its stdin and stdout."""

    def __init__(self, vault: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "excerpt", "serve", str(vault)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(),
        )
        self._last_id = 0

    def send(self, message: dict[str, Any]) -> int:
        """Send a request, and return its id."""
        assert self.process.stdin is not None
        self._last_id += 1
        self.process.stdin.write(json.dumps({"id": self._last_id, **message}).encode() + b"\n")
        self.process.stdin.flush()
        return self._last_id

    def receive(self) -> dict[str, Any]:
        """Return the next answer or error; events are skipped."""
        assert self.process.stdout is not None
        while "id" not in (message := json.loads(self.process.stdout.readline())):
            pass
        assert isinstance(message, dict)
        return message

    def request(self, method: str, params: dict[str, Any], _timeout: float = _TIMEOUT) -> dict[str, Any]:
        """Return the result of a request."""
        self.send({"method": method, "params": params})
        answer: dict[str, Any] = self.receive()["result"]
        return answer

    def close(self) -> None:
        """End the server."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(_TIMEOUT)


@contextmanager
def _socket_server(vault: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="ex") as folder:
        file = Path(folder).resolve() / "a.sock"
        with subprocess.Popen(
            [sys.executable, "-m", "excerpt", "serve", str(vault), "--socket-path", str(file)],
            stderr=subprocess.PIPE,
            env=environment(),
        ) as server:
            assert server.stderr is not None
            server.stderr.readline()
            try:
                yield file
            finally:
                server.terminate()


# --- time -------------------------------------------------------------------------------------------------------------


def measure_times(client: StdioClient | LineClient, queries: Sequence[str], params: dict[str, Any]) -> Times:
    """Ask the queries one after another, and time the answers."""
    times = Times([], [])
    for number, query in enumerate(queries):
        start = time.perf_counter()
        answer = client.request("search", {"query": query, **params}, _TIMEOUT)
        waited = (time.perf_counter() - start) * 1_000
        if number >= WARM_UPS:
            times.engine.append(answer["elapsed_ms"])
            times.extra.append(waited - answer["elapsed_ms"])
    return times


def measure_clients(file: Path, queries: Sequence[str]) -> tuple[float, int]:
    """Ask the queries by CLIENTS clients side by side; return answers a second and wrong answers."""
    expected: dict[str, str] = {}
    with LineClient.connect(file, _TIMEOUT) as client:
        for query in queries:
            hits = client.request("search", {"query": query, "limit": 1}, _TIMEOUT)["hits"]
            expected[query] = hits[0]["fragment_id"] if hits else ""
    wrong: list[str] = []

    def ask(seed: int) -> None:
        with LineClient.connect(file, _TIMEOUT) as client:
            for query in random.Random(seed).sample(queries, len(queries)):
                hits = client.request("search", {"query": query, "limit": 1}, _TIMEOUT)["hits"]
                if (hits[0]["fragment_id"] if hits else "") != expected[query]:
                    wrong.append(query)

    threads = [threading.Thread(target=ask, args=[seed]) for seed in range(CLIENTS)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return CLIENTS * len(queries) / (time.perf_counter() - start), len(wrong)


# --- memory -----------------------------------------------------------------------------------------------------------


def _request(chance: random.Random, queries: Sequence[str], paths: Sequence[str]) -> dict[str, Any]:
    """Return a request as an editor sends it, some of a channel, some wrong."""
    query = chance.choice(queries)
    kinds: Sequence[dict[str, Any]] = (
        {"method": "search", "params": {"query": query, "limit": 5}, "channel": "picker"},
        {"method": "search", "params": {"query": query[: chance.randrange(1, 20)], "limit": 5}, "channel": "picker"},
        {"method": "search", "params": {"query": query, "limit": 5, "text": False}},
        {"method": "complete", "params": {"text": query[:4], "cursor": 4}},
        {"method": "read", "params": {"source": chance.choice(paths)}},
        {"method": "status"},
        {"method": "search", "params": {"query": query, "limt": 5}},
        {"method": "cancel", "params": {"id": chance.randrange(REQUESTS)}},
    )
    return chance.choice(kinds)


def _own_memory(pid: int) -> int:
    """Return the memory of a process that is its own, in kB."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon:"))


def measure_memory(client: StdioClient, queries: Sequence[str]) -> list[tuple[int, int, int]]:
    """Send REQUESTS requests; return samples of the requests so far, the server's own kB, and its open files."""
    chance, samples = random.Random(3), []
    paths = [hit["path"] for hit in client.request("search", {"query": queries[0], "limit": 200})["hits"]]
    pending = 0
    for number in range(1, REQUESTS + 1):
        client.send(_request(chance, queries, paths))
        pending += 1
        while pending > (0 if number == REQUESTS else _WINDOW):
            client.receive()
            pending -= 1
        if number % (REQUESTS // SAMPLES) == 0:
            pid = client.process.pid
            samples.append((number, _own_memory(pid), len(os.listdir(f"/proc/{pid}/fd"))))  # noqa: PTH208 - no paths
            print(f"  {samples[-1]}", file=sys.stderr, flush=True)
    return samples


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.line_server", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared"), help="folder with data/")
    write_option(parser, "line_server")
    args = parser.parse_args()
    data = Data(args.data.resolve())
    vault, small = data.vault(VAULT), data.vault(SMALL_VAULT)
    if vault is None or small is None or not Path("/proc/self/fd").exists():
        return
    for each in (vault, small):
        index(each)
    queries = data.queries(QUERIES)[: TIMED + WARM_UPS]
    client = StdioClient(vault)
    rows = [(name, measure_times(client, queries, params)) for name, params in _SHAPES]
    with _socket_server(vault) as file:
        with LineClient.connect(file, _TIMEOUT) as socket_client:
            rows.append(("at a socket, 20 hits", measure_times(socket_client, queries, {})))
        a_second, wrong = measure_clients(file, queries)
    client.close()
    client = StdioClient(small)
    samples = measure_memory(client, data.queries(SMALL_QUERIES))
    client.close()
    with result("line_server", "Line server", write=args.write):
        print(f"{VAULT}: {len(queries) - WARM_UPS} searches each, ms\n")
        table(
            ("answers", "engine, median", "more, median", "more, 95 %", "more, most"),
            [times.row(name) for name, times in rows],
        )
        print(f"\n{CLIENTS} clients of a socket: {a_second:,.0f} answers a second, {wrong} wrong")
        print(f"\n{SMALL_VAULT}: searches, completions, notes, some superseded, cancelled or wrong\n")
        table(
            ("requests", "own MB", "open files"),
            [(f"{number:,}", f"{own / 1e3:.1f}", str(files)) for number, own, files in samples],
        )
    if any(percentile(times.extra, 0.95) > MAX_EXTRA_MS for _, times in (rows[0], rows[1], rows[3])):
        sys.exit("An answer takes too long.")
    if wrong or max(own for _, own, _ in samples) > samples[0][1] * MAX_GROWTH:
        sys.exit("An answer is wrong, or what the server holds grows.")


if __name__ == "__main__":
    main()
