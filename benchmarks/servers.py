"""Measure the memory of the MCP servers of one vault, and count the processes that watch it: `make servers`.

Each client starts a server of its own over stdio, as agents do, and asks for packs. Measured from /proc (Linux) after
that, for 1, 2 and 4 clients, of the largest server and of the process that watches the vault for all of them: its own
pages, which a further client adds, the resident ones, which include shared pages of files, and its share (PSS). Fails
if a server's own pages take more than LIMIT, or if there is not exactly one watching process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import Data, environment, index, result, table, write_option
from benchmarks.memory import Memory, memory

SETS = (("obsidian-help/en", "obsidian-help-en.dev"), ("dendron-site", "dendron-site.dev"))
"""Vaults with their sets of queries."""
CLIENTS = (1, 2, 4)
PACKS = 50
LIMIT = 150
"""Megabytes of each further client."""
_WAIT_SECONDS = 0.2
_INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "benchmark", "version": "1"}}


@dataclass(frozen=True, slots=True)
class Server:
    """A server with its client's ends of the pipes."""

    process: subprocess.Popen[str]

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return its response."""
        self.send({"id": 1, "method": method, "params": params})
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if "id" in (answer := json.loads(line)):
                return dict(answer)
        raise AssertionError("the server has ended")

    def pack(self, query: str) -> str:
        """Return the text of a pack."""
        response = self.request("tools/call", {"name": "pack", "arguments": {"query": query}})
        return str(response["result"]["content"][0]["text"])


@contextmanager
def started(vault: Path) -> Iterator[Server]:
    """Start a server, connect to it, and end it with its client at the end of the block."""
    command = [sys.executable, "-m", "excerpt", "mcp", str(vault)]
    with subprocess.Popen(
        command,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    ) as process:
        server = Server(process)
        server.request("initialize", _INITIALIZE)
        server.send({"method": "notifications/initialized"})
        yield server
        assert process.stdin is not None
        process.stdin.close()


def measured(vault: Path, clients: int, queries: Sequence[str]) -> tuple[list[Memory], list[Memory]]:
    """Return the memory of as many servers, and of the processes that watch the vault, after packs by each client."""
    with ExitStack() as stack:
        servers = [stack.enter_context(started(vault)) for _ in range(clients)]
        for server in servers:
            while "up to date" not in server.pack(queries[0]).partition("\n")[0]:
                time.sleep(_WAIT_SECONDS)
            for query in queries:
                server.pack(query)
        numbers = [server.process.pid for server in servers]
        return [memory(number) for number in numbers], [memory(child) for child in _children(numbers)]


def _children(parents: Sequence[int]) -> list[int]:
    """Return the child processes of these processes."""
    stats = {int(file.parent.name): file.read_text(encoding="utf-8") for file in Path("/proc").glob("[0-9]*/stat")}
    return [number for number, stat in stats.items() if int(stat.rpartition(")")[2].split()[1]) in parents]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.servers", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared"), help="folder with data/")
    write_option(parser, "servers")
    args = parser.parse_args()
    data, failures = Data(args.data.resolve()), []
    if not Path("/proc/self/smaps_rollup").exists():
        return
    with result("servers", "MCP servers", write=args.write):
        print(f"Megabytes after {PACKS} packs by each client.\n")
        rows = []
        for name, query_set in SETS:
            vault = data.vault(name)
            if vault is None:
                continue
            index(vault)
            for clients in CLIENTS:
                servers, watchers = measured(vault, clients, data.queries(query_set)[:PACKS])
                own, resident, share = (
                    max(getattr(each, field) for each in servers) for field in ("own", "resident", "share")
                )
                total = sum(each.share for each in (*servers, *watchers))
                figures = clients, own, resident, share, len(watchers), sum(each.share for each in watchers), total
                rows.append((name, *map(str, figures)))
                if own > LIMIT or len(watchers) != 1:
                    failures.append(f"{name}, {clients} clients: {own} MB each, {len(watchers)} processes watch.")
        head = ("vault", "clients", "own MB", "RSS MB", "PSS MB", "watching", "its PSS MB", "all PSS MB")
        table(head, rows)
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
