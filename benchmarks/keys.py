"""From a key press to the updated list on the screen, without a terminal: Textual draws into nothing.

Two paces: one key after another, each waited for; and a whole query typed at 20 ms a key, where answers that are
older than the newest shown are dropped, from the last key to the answer of the whole query.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path

from textual import events

from benchmarks.measure import Data, environment, index, percentile, table
from excerpt.settings import Settings, places
from excerpt.tui.app import ExcerptApp
from excerpt.tui.screens.main import MainScreen
from excerpt.tui.widgets.search_pane import SearchPane

SETS = (("obsidian-help/en", "obsidian-help-en.dev"), ("cpp-docs", "cpp-docs.dev"))
QUERIES = 12
LONGEST = 30
PACE = 0.02
SIZE = (140, 45)
PATIENCE = 60.0


def measure(data: Data) -> None:
    print("\n## Key press to updated list\n")
    os.environ["EXCERPT_HOME"] = environment()["EXCERPT_HOME"]
    rows: list[Sequence[str]] = []
    for name, queries in SETS:
        vault = data.vault(name)
        if vault is not None:
            index(vault)
            asked = data.queries(queries)
            typed = [query.strip()[:LONGEST] for query in asked[:: max(1, len(asked) // QUERIES)][:QUERIES]]
            single, burst = asyncio.run(_measure(vault.resolve(), typed))
            rows += [_row(f"{name}: each key", single), _row(f"{name}: after 20 ms a key", burst)]
    if rows:
        table(("", "n", "p50 ms", "p95 ms", "max ms"), rows)


def _row(name: str, spent: list[float]) -> Sequence[str]:
    figures = (percentile(spent, 0.5), percentile(spent, 0.95), max(spent))
    return name, str(len(spent)), *(f"{figure:.1f}" for figure in figures)


async def _measure(vault: Path, queries: list[str]) -> tuple[list[float], list[float]]:
    """Milliseconds of every single key, and of every query typed at a pace."""
    app = ExcerptApp(vault, Settings(), places())
    async with app.run_test(size=SIZE) as pilot:
        screen = app.screen
        assert isinstance(screen, MainScreen)
        typist = Typist(app, screen.query_one(SearchPane))
        await typist.settle("warm up")
        single: list[float] = []
        for query in queries:
            await typist.clear()
            single += [await typist.time_to_answer(query[: end + 1], query[end]) for end in range(len(query))]
        burst: list[float] = []
        for query in queries:
            await typist.clear()
            for char in query[:-1]:
                typist.press(char)
                await asyncio.sleep(PACE)
            burst.append(await typist.time_to_answer(query, query[-1]))
        await pilot.press("ctrl+q")
    return single, burst


class Typist:
    """Presses keys and knows when the answer to what is typed has been drawn."""

    def __init__(self, app: ExcerptApp, pane: SearchPane) -> None:
        self._app = app
        self._pane = pane
        self._drawn = asyncio.Event()
        self._wanted: str | None = ""
        pane.watch(pane, "result", self._answered, init=False)

    def press(self, char: str) -> None:
        self._app.post_message(events.Key(char, char))

    async def time_to_answer(self, query: str, char: str) -> float:
        """Milliseconds from pressing `char` until the answer to `query` is drawn."""
        self._wanted = query.strip()
        self._drawn.clear()
        began = time.perf_counter()
        self.press(char)
        return await self._wait(began)

    async def _wait(self, began: float) -> float:
        await asyncio.wait_for(self._drawn.wait(), PATIENCE)
        return (time.perf_counter() - began) * 1e3

    def _answered(self) -> None:
        result = self._pane.result
        if (result.query if result is not None else None) == self._wanted:
            self._pane.call_after_refresh(self._drawn.set)

    async def settle(self, query: str) -> None:
        """Type a query until it is answered, so that the engine is open and warm."""
        for end in range(len(query)):
            await self.time_to_answer(query[: end + 1], query[end])

    async def clear(self) -> None:
        """Empty the query."""
        self._wanted = None
        self._drawn.clear()
        self._app.post_message(events.Key("escape", None))
        await self._wait(0.0)
