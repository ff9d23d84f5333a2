"""Measure the app's memory with a large vault open: at rest, and after searches with packs.

The real app renders without a terminal. Measured from /proc (Linux): the process's own pages (RssAnon), mapped pages of
files, which the system may reclaim at any time and shares with other processes (RssFile), both together (RSS), and the
process's share of them (PSS). At rest, REST seconds after the last answer, the PSS must stay below LIMIT.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from textual.widgets import Input

from benchmarks.measure import Data, environment, index, run, table

VAULT, QUERIES = "cpp-docs", "cpp-docs.dev"
LIMIT = 400
"""Megabytes."""
SEARCHES = 200
MARK_EACH = 3
"""In one of this many searches the best hit is marked for the pack; a pack is built for every search."""
REST = 64.0
"""Seconds without a search after which the app counts as at rest: it has released its caches after a minute."""
SIZE = (140, 45)


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of a process, in megabytes."""

    own: int
    files: int
    resident: int
    share: int
    peak: int


def memory(process: int | str = "self") -> Memory:
    """Return the current values of a process from /proc."""
    found = dict(_fields(f"/proc/{process}/status")) | dict(_fields(f"/proc/{process}/smaps_rollup"))
    return Memory(*(found[name] // 1000 for name in ("RssAnon", "RssFile", "Rss", "Pss", "VmHWM")))


def _fields(file: str) -> Iterator[tuple[str, int]]:
    for line in Path(file).read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if value.endswith("kB"):
            yield name, int(value.split()[0]) * 1024 // 1000


def measure(data: Data) -> None:
    print("\n## Memory of the app\n")
    vault = data.vault(VAULT)
    if vault is None or not Path("/proc/self/smaps_rollup").exists():
        return
    index(vault)
    # In a new process, which has allocated nothing else.
    command = [sys.executable, "-m", "benchmarks.memory", "--data", str(data.root), "--rest", str(REST)]
    try:
        print(run(command).output, end="", flush=True)
    except subprocess.CalledProcessError as error:
        print(error.output, end="", flush=True)
        raise


async def _measured(vault: Path, queries: Sequence[str], rest: float) -> list[tuple[str, Memory]]:
    from excerpt.base.settings import Settings, user_paths
    from excerpt.tui.app import ExcerptApp
    from excerpt.tui.main_screen import MainScreen

    app = ExcerptApp(vault, Settings(), user_paths())
    async with app.run_test(size=SIZE) as pilot:
        screen = app.screen
        assert isinstance(screen, MainScreen)
        while screen.index.state.status is None or screen.index.state.is_working:
            await pilot.pause(0.1)
        await pilot.pause(rest)
        found = [("open, at rest", memory())]
        query = screen.query_one("#query", Input)
        for number, text in enumerate(queries):
            query.value = text
            await pilot.pause(0.2)
            if number % MARK_EACH == 0:
                await pilot.press("tab")
        found.append((f"after {len(queries)} searches with packs", memory()))
        await pilot.pause(rest)
        found.append(("at rest again", memory()))
        await pilot.press("ctrl+q")
    return found


def main() -> None:
    import argparse

    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared"), help="folder with data/")
    parser.add_argument("--rest", type=float, default=REST, help="seconds without a search that count as rest")
    args = parser.parse_args()
    data = Data(args.data.resolve())
    os.environ["EXCERPT_HOME"] = environment()["EXCERPT_HOME"]
    vault = data.vault(VAULT)
    if vault is None:
        return
    asked = data.queries(QUERIES)
    found = asyncio.run(_measured(vault.resolve(), asked[:: max(1, len(asked) // SEARCHES)][:SEARCHES], args.rest))
    rows = [(name, *(str(n) for n in (m.own, m.files, m.resident, m.share, m.peak))) for name, m in found]
    table((VAULT, "own MB", "of files MB", "RSS MB", "PSS MB", "peak RSS MB"), rows)
    if max(held.share for name, held in found if "at rest" in name) >= LIMIT:
        sys.exit(f"The app holds {LIMIT} MB or more.")


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
