"""Measure a vault that changes: from an editor's write to the hit, searches while notes are read, and startup.

The app is the real one with its real indexing process, on a copy of a vault; Textual renders without a terminal. Single
notes are rewritten, half of them as most editors do it (by replacing the file), while a query is typed with a word that
the note has only after the write. Then many notes change at once, as in a git checkout.
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import json
import os
import pty
import random
import re
import shutil
import signal
import struct
import sys
import termios
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.keys import SIZE, TimedApp, Typist
from benchmarks.measure import WORK, Data, environment, index, percentile, table
from benchmarks.watchdog import Watchdog
from excerpt.base.settings import ScreenSettings, Settings, user_paths
from excerpt.tui.main_screen import MainScreen
from excerpt.tui.search.pane import SearchPane
from excerpt.tui.startup import configure_interpreter

VAULT = "cpp-docs"
QUERIES = f"{VAULT}.dev"
EDITS = 50
MAX_QUERY_CHARS = 16
"""Characters typed of a query."""
BURSTS, BURST = 4, 500
PACE = 0.05
"""Seconds from an answer to the next key."""
STARTS, WARM_UPS = 5, 1
"""Starts that are measured, and starts before them that warm the disk cache."""
SEED = 5
PATIENCE = 120.0

EDIT_GOAL, SEARCH_GOAL, SEARCHABLE_GOAL, CHECK_GOAL = 1000.0, 3.0, 1000.0, 2000.0
"""Milliseconds for an edit's p95; factor over the p95 at rest; milliseconds from the first paint."""


def measure(data: Data) -> None:
    print("\n## A living vault\n")
    vault = data.vault(VAULT)
    if vault is None:
        return
    os.environ["EXCERPT_HOME"] = environment()["EXCERPT_HOME"]
    copy = WORK / "edits" / VAULT
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(vault, copy)
    index(copy)
    again = json.loads(index(copy).output)
    print(f"Nothing changed: {again['embedded']} embedded, {again['unchanged']:,} notes unchanged.\n")
    _print_load()
    _starts(copy.resolve())
    queries = [query.strip() for query in data.queries(QUERIES)]
    asyncio.run(_measure(copy.resolve(), random.Random(SEED).sample(queries, EDITS)))
    _print_load()


def _print_load() -> None:
    """Print the machine's load: above its number of cores, all figures below include waiting for other processes."""
    print(f"Load of the last minute: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.\n", flush=True)


# --- a start with nothing changed -------------------------------------------------------------------------------------


def _starts(vault: Path) -> None:
    found = [_start(vault) for _ in range(WARM_UPS + STARTS)][WARM_UPS:]
    rows = [
        _row("first paint to the answer of a query", [one[0] for one in found], f"{SEARCHABLE_GOAL:.0f}"),
        _row("first paint to the end of the check", [one[1] for one in found], f"{CHECK_GOAL:.0f}"),
    ]
    table(("start, nothing changed", "n", "p50 ms", "p95 ms", "max ms", "goal"), rows)


def _start(vault: Path) -> tuple[float, float]:
    """Start the app and return milliseconds from its first frame to two events.

    They are the answer to a query typed at once, and the end of the first scan of the vault.
    """
    child, terminal = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", SIZE[1], SIZE[0], 0, 0))
        os.execvpe(sys.executable, [sys.executable, "-m", "excerpt", str(vault)], environment())
    output, typed = b"", False
    painted = answered = checked = 0.0
    try:
        while not (answered and checked):
            output += os.read(terminal, 65536)
            now = time.perf_counter()
            if not typed and b"Search" in output:
                painted, typed = now, True
                os.write(terminal, b"vector")
            answered = answered or (now if re.search(rb"\d hits", output) else 0.0)
            checked = checked or (now if b"up to date" in output else 0.0)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)
    return (answered - painted) * 1e3, (checked - painted) * 1e3


# --- edits ------------------------------------------------------------------------------------------------------------


async def _measure(vault: Path, queries: Sequence[str]) -> None:
    configure_interpreter()
    app = TimedApp(vault, Settings(screen=ScreenSettings(restore=False)), user_paths())
    async with app.run_test(size=SIZE) as pilot:
        screen = app.screen
        assert isinstance(screen, MainScreen)
        while screen.index.state.is_working:
            await asyncio.sleep(0.05)
        living = _Living(vault, app, screen.query_one(SearchPane))
        await living.typist.settle("warm up")
        rest = _Phase()
        edits, during = await living.edits(queries, rest)
        bursts, reading = await living.bursts(queries, rest)
        await pilot.press("ctrl+q")
    print()
    table(
        ("write to hit in the list", "n", "p50 ms", "p95 ms", "max ms", "goal p95"),
        [_row("one note", edits, f"{EDIT_GOAL:.0f}"), _row(f"the last of {BURST} at once", bursts, "")],
    )
    print()
    phases = (("at rest", rest), ("while single notes are read", during), (f"while {BURST} notes are read", reading))
    base = percentile(rest.keys, 0.95)
    table(
        ("key to answer", "n", "p50 ms", "p95 ms", "max ms", "p95 / at rest", "goal", "blocks > 30 ms", "worst", "own"),
        [
            (
                *_row(name, phase.keys, f"{percentile(phase.keys, 0.95) / base:.2f}"),
                "" if phase is rest else f"{SEARCH_GOAL:.0f}",
                f"{len(phase.watchdog.blocks)} in {phase.watchdog.seconds:.0f} s",
                f"{phase.watchdog.worst.clock * 1e3:.0f}",
                str(len(phase.watchdog.own_blocks)),
            )
            for name, phase in phases
        ],
    )


@dataclass
class _Phase:
    """The milliseconds of each key typed in a phase, and the turns of the event loop."""

    keys: list[float] = field(default_factory=list)
    watchdog: Watchdog = field(default_factory=Watchdog)


class _Living:
    """Changes notes of the vault, types meanwhile, and detects when the hit list shows what was written."""

    def __init__(self, vault: Path, app: TimedApp, pane: SearchPane) -> None:
        self._vault = vault
        self._pane = pane
        self.typist = Typist(app, pane)
        self._random = random.Random(SEED)
        self._notes = sorted(vault.rglob("*.md"))
        self._new = f"qz{time.time_ns() // 1_000_000 % 1_000_000}"  # occurs in no note, not even from an earlier run
        self._looked_for = ("", "")
        self._seen = asyncio.Event()
        self._seen_at = 0.0
        pane.watch(pane, "result", self._look, init=False)

    async def at_rest(self, phase: _Phase, number: int, query: str) -> None:
        """Type a query while nothing is indexed.

        Called between the edits, so that the machine's other load affects both.
        """
        self._looked_for = ("", "")
        typed = await self._begin(f"{self._new}rest{number}")
        with phase.watchdog:
            await self._type(phase, typed, query, MAX_QUERY_CHARS)

    async def edits(self, queries: Sequence[str], rest: _Phase) -> tuple[list[float], _Phase]:
        """Return milliseconds from each write to its hit, and the keys typed meanwhile."""
        spent: list[float] = []
        phase = _Phase()
        for number, query in enumerate(queries):
            if number % 2:
                await self.at_rest(rest, number, query)
            word = f"{self._new}edit{number}"
            typed = await self._begin(word)
            note = self._random.choice(self._notes)
            with phase.watchdog:
                began = self._expect(note, word)
                _write(
                    note, f"{note.read_text('utf-8')}\n\nThe word {word} was added here.\n", by_rename=number % 2 == 0
                )
                await self._type(phase, typed, query)
            spent.append((self._seen_at - began) * 1e3)
        return spent, phase

    async def bursts(self, queries: Sequence[str], rest: _Phase) -> tuple[list[float], _Phase]:
        """Return milliseconds from the first of many writes to the hit of the last, and the keys typed meanwhile."""
        spent: list[float] = []
        phase = _Phase()
        for number in range(BURSTS):
            await self.at_rest(rest, EDITS + number, queries[number])
            word = f"{self._new}burst{number}"
            typed = await self._begin(word)
            notes = self._random.sample(self._notes, BURST)
            with phase.watchdog:
                began = self._expect(notes[-1], word)
                await asyncio.to_thread(_write_all, notes, word)
                await self._type(phase, typed, queries[number])
            spent.append((self._seen_at - began) * 1e3)
        return spent, phase

    def _expect(self, note: Path, word: str) -> float:
        self._looked_for = (note.relative_to(self._vault).as_posix(), word)
        self._seen.clear()
        return time.perf_counter()

    async def _begin(self, word: str) -> str:
        """Type a word that is in no note, and a space; return the text then in the field."""
        await self.typist.clear()
        for end in range(len(word)):
            await self.typist.time_to_answer(word[: end + 1], word[end])
        self.typist.press(" ")
        return f"{word} "

    async def _type(self, phase: _Phase, typed: str, query: str, most: int = 1_000) -> None:
        """Type the query after `typed` and repeat it; if something was written, until its hit is listed.

        At most `MAX_QUERY_CHARS` characters are typed at a time: among many other words the expected one would count
        for little.
        """
        word = typed.strip()
        deadline = time.perf_counter() + PATIENCE
        for number in range(most):
            if self._looked_for[0] and self._seen.is_set():
                return
            if time.perf_counter() > deadline:
                raise TimeoutError(f"{self._looked_for} never came into the list")
            if number and number % MAX_QUERY_CHARS == 0:
                typed = await self._begin(word)
            char = query[number % MAX_QUERY_CHARS % len(query)]
            typed += char
            phase.keys.append(await self.typist.time_to_answer(typed, char))
            await asyncio.sleep(PACE)

    def _look(self) -> None:
        path, word = self._looked_for
        result = self._pane.result
        if result is None or not path or self._seen.is_set():
            return
        if any(hit.fragment.path == path and word in hit.fragment.text for hit in result.hits):
            self._pane.call_after_refresh(self._drawn)

    def _drawn(self) -> None:
        if not self._seen.is_set():
            self._seen_at = time.perf_counter()
            self._seen.set()


def _write(note: Path, text: str, *, by_rename: bool) -> None:
    if not by_rename:
        note.write_text(text, "utf-8")
        return
    new = note.with_name(f".{note.name}.new")
    new.write_text(text, "utf-8")
    new.replace(note)


def _write_all(notes: Sequence[Path], word: str) -> None:
    """Change all notes; the last gets the word."""
    for note in notes:
        added = word if note is notes[-1] else "another"
        _write(note, f"{note.read_text('utf-8')}\n\nThe word {added} was added here.\n", by_rename=False)


def _row(name: str, spent: Sequence[float], last: str) -> Sequence[str]:
    figures = (percentile(spent, 0.5), percentile(spent, 0.95), max(spent))
    return name, str(len(spent)), *(f"{figure:,.0f}" for figure in figures), last


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.edits", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared"), help="folder with data/ and eval/")
    measure(Data(parser.parse_args().data.resolve()))


if __name__ == "__main__":
    main()
