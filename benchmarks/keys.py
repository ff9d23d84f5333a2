"""Measure the time from a key press to the updated screen, without a terminal.

Two paces: one key after another, each pressed when the answer to the previous one is drawn; and sixty letters typed at
20 ms a key, where outdated answers are dropped, from the last key to the answer of the whole query. Then the cursor
moves through the rows of the list, each time until the row's context is drawn. A watchdog measures what blocks the
event loop meanwhile. The bytes that each key would send to a terminal are computed afterwards.

`python -m benchmarks --only keys`
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import RenderableType
from textual import events
from textual._compositor import ChopsUpdate, LayoutUpdate
from textual.screen import Screen

from benchmarks.measure import Data, environment, index, percentile, table
from benchmarks.watchdog import BLOCK, Watchdog
from excerpt.base.settings import Paths, ScreenSettings, Settings, user_paths
from excerpt.tui.app import ExcerptApp
from excerpt.tui.main_screen import MainScreen
from excerpt.tui.search.hit_list import HitList
from excerpt.tui.search.pane import SearchPane
from excerpt.tui.search.preview import Preview
from excerpt.tui.startup import configure_interpreter
from excerpt.tui.textual_patches import ChangedCellsUpdate, TerminalContent

SETS = (("obsidian-help/en", "obsidian-help-en.dev"), ("cpp-docs", "cpp-docs.dev"))
QUERIES = 12
MAX_QUERY_CHARS = 30
BURST = 60
"""Letters of a query typed at the second pace."""
PACE = 0.02
WALKED = 10
"""Rows moved through in the answer to each query."""
SIZE = (140, 45)
PATIENCE = 60.0
KEY_GOAL, PREVIEW_GOAL = 50.0, 60.0
"""Milliseconds below which the p95 must stay."""


@dataclass
class Spent:
    """The measurements of one kind of action.

    `times` are milliseconds of each, `sent` bytes to the terminal, `watchdog` has the turns of the event loop
    meanwhile, and `stale` counts frames that showed an older answer after a newer one, or rows that are not the
    answer's.
    """

    times: list[float] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    watchdog: Watchdog = field(default_factory=Watchdog)
    stale: int = 0


def measure(data: Data) -> None:
    print("\n## Key press to updated list\n")
    os.environ["EXCERPT_HOME"] = environment()["EXCERPT_HOME"]
    configure_interpreter()
    rows: list[Sequence[str]] = []
    for name, queries in SETS:
        vault = data.vault(name)
        if vault is not None:
            index(vault)
            asked = [query.strip() for query in data.queries(queries)]
            typed = asked[:: max(1, len(asked) // QUERIES)][:QUERIES]
            long = [" ".join(asked[at:])[:BURST].strip() for at in range(0, len(typed) * 7, 7)]
            key, burst, walk = asyncio.run(
                _measure(vault.resolve(), [query[:MAX_QUERY_CHARS] for query in typed], long)
            )
            rows += [
                _row(f"{name}: each key", key, KEY_GOAL),
                _row(f"{name}: after {BURST} letters at 20 ms", burst, None),
                _row(f"{name}: context of the next row", walk, PREVIEW_GOAL),
            ]
    if rows:
        own = f"own > {BLOCK * 1e3:.0f} ms"
        kb = ("kB p50", "kB p95")
        table(("", "n", "p50 ms", "p95 ms", "max ms", "goal p95", *kb, "blocks", "worst", own, "stale"), rows)
        print(
            f"\nBlocks are turns of the event loop above {BLOCK * 1e3:.0f} ms on the clock, worst the longest; own"
            " are those in which its thread computed for that long, which no other program can cause."
        )


def _row(name: str, spent: Spent, goal: float | None) -> Sequence[str]:
    figures = (percentile(spent.times, 0.5), percentile(spent.times, 0.95), max(spent.times))
    seen = spent.watchdog
    return (
        name,
        str(len(spent.times)),
        *(f"{figure:.1f}" for figure in figures),
        f"{goal:.0f}" if goal is not None else "",
        *(f"{percentile(spent.sent, share) / 1e3:.0f}" if spent.sent else "" for share in (0.5, 0.95)),
        f"{len(seen.blocks)} in {seen.seconds:.0f} s",
        f"{seen.worst.clock * 1e3:.0f}",
        str(len(seen.own_blocks)),
        str(spent.stale),
    )


async def _measure(vault: Path, queries: list[str], long: list[str]) -> tuple[Spent, Spent, Spent]:
    """Measure every single key, every query typed at a pace, and every step in a list."""
    app = TimedApp(vault, Settings(screen=ScreenSettings(restore=False)), user_paths())
    key, burst, walk = Spent(), Spent(), Spent()
    async with app.run_test(size=SIZE) as pilot:
        screen = app.screen
        assert isinstance(screen, MainScreen)
        while screen.index.state.is_working:
            await asyncio.sleep(0.05)
        typist = Typist(app, screen.query_one(SearchPane))
        await typist.settle("warm up")
        for query in queries:
            await typist.clear()
            with key.watchdog:
                for end in range(len(query)):
                    key.times.append(await typist.time_to_answer(query[: end + 1], query[end]))
                    app.begin_next()
            key.sent += app.sent_since()
            with walk.watchdog:
                walk.times += await typist.walk(WALKED)
            walk.sent += app.sent_since()
        for query in long:
            await typist.clear()
            typist.stale = 0
            with burst.watchdog:
                for char in query[:-1]:
                    typist.press(char)
                    await asyncio.sleep(PACE)
                burst.times.append(await typist.time_to_answer(query, query[-1]))
                await asyncio.sleep(10 * PACE)
            burst.stale += typist.stale + typist.shows_another(query)
        await pilot.press("ctrl+q")
    return key, burst, walk


class TimedApp(ExcerptApp):
    """Records when each frame was given to the terminal, and keeps the frames of each key to count their bytes."""

    def __init__(self, vault: Path, settings: Settings, where: Paths) -> None:
        super().__init__(vault, settings, where)
        self.frames: list[float] = []
        self._shown = TerminalContent()
        self._by_key: list[list[ChopsUpdate | LayoutUpdate]] = [[]]

    def _display(self, screen: Screen[object], renderable: RenderableType | None) -> None:
        super()._display(screen, renderable)
        self.frames.append(time.perf_counter())
        if isinstance(renderable, ChopsUpdate | LayoutUpdate):
            self._by_key[-1].append(renderable)

    def begin_next(self) -> None:
        """Count the following frames for the next key."""
        self._by_key.append([])

    def sent_since(self) -> list[int]:
        """Return the bytes of each key since the last call, without the key that has just begun."""
        sent = [
            sum(len(ChangedCellsUpdate(frame, self._shown).render_segments(self.console).encode()) for frame in frames)
            for frames in self._by_key
        ]
        self._by_key = [[]]
        return sent[:-1]


class Typist:
    """Presses keys and detects when the answer to the typed query has been drawn."""

    def __init__(self, app: TimedApp, pane: SearchPane) -> None:
        self._app = app
        self._pane = pane
        self._drawn = asyncio.Event()
        self._wanted: str | None = ""
        self._answered_at = self._context_at = 0.0
        self._newest = ""
        self.stale = 0
        """Answers shown that are older than one shown before, while a query grows."""
        pane.watch(pane, "result", self._answered, init=False)
        preview = pane.query_one("#preview")
        preview.watch(preview, "window", self._context_set, init=False)

    def press(self, char: str) -> None:
        self._app.post_message(events.Key(char, char))

    async def time_to_answer(self, query: str, char: str) -> float:
        """Return milliseconds from pressing `char` until the answer to `query` is drawn."""
        self._wanted = query.strip()
        self._drawn.clear()
        began = time.perf_counter()
        self.press(char)
        return await self._wait(began)

    async def _wait(self, began: float) -> float:
        await asyncio.wait_for(self._drawn.wait(), PATIENCE)
        return (await self._frame_after(self._answered_at) - began) * 1e3

    async def _frame_after(self, snapshot_time: float) -> float:
        """Return the time of the first frame given to the terminal after `snapshot_time`."""
        while not self._app.frames or self._app.frames[-1] < snapshot_time:
            await asyncio.sleep(0.001)
        return next(frame for frame in self._app.frames if frame >= snapshot_time)

    async def walk(self, rows: int) -> list[float]:
        """Return milliseconds from each press of the down key until the context of that row is drawn."""
        hits, preview = self._pane.query_one(HitList), self._pane.query_one(Preview)
        spent: list[float] = []
        for _ in range(min(rows, hits.row_count - 1)):
            drawn, row = asyncio.Event(), hits.cursor + 1
            began = time.perf_counter()
            self._app.post_message(events.Key("down", None))
            while hits.cursor != row:
                await asyncio.sleep(0.001)
            if hits.selected is None:  # the row that shows more fragments
                continue
            while not self._shows_selected(hits, preview):
                await asyncio.sleep(0.001)
            preview.call_after_refresh(drawn.set)
            await asyncio.wait_for(drawn.wait(), PATIENCE)
            spent.append((await self._frame_after(self._context_at) - began) * 1e3)
            self._app.begin_next()
        return spent

    def _shows_selected(self, hits: HitList, preview: Preview) -> bool:
        hit, window = hits.selected, preview.window
        return hit is not None and window is not None and window.fragment.id == hit.fragment.id

    def shows_another(self, query: str) -> bool:
        """Return whether the screen shows anything but the answer to `query`."""
        result, hits = self._pane.result, self._pane.query_one(HitList)
        return result is None or result.query != query or hits.hits[: len(result.hits)] != result.hits

    def _answered(self) -> None:
        result = self._pane.result
        query = result.query if result is not None else ""
        self.stale += bool(query) and self._newest.startswith(query) and query != self._newest
        self._newest = query
        if (result.query if result is not None else None) == self._wanted:
            self._answered_at = time.perf_counter()
            self._pane.call_after_refresh(self._drawn.set)

    def _context_set(self) -> None:
        self._context_at = time.perf_counter()

    async def settle(self, query: str) -> None:
        """Type a query and wait until it is answered and packed, so that the engine is open and warm."""
        for end in range(len(query)):
            await self.time_to_answer(query[: end + 1], query[end])
        while not self._pane.is_up_to_date:
            await asyncio.sleep(0.05)

    async def clear(self) -> None:
        """Clear the query."""
        self._wanted = None
        self._drawn.clear()
        self._app.post_message(events.Key("ctrl+u", None))
        await self._wait(0.0)
