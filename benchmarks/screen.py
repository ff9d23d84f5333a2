"""Count what the Search tab shows: hits in sight, cells that are not text, colours, signs and words.

`python -m benchmarks.screen`. All are counted on the drawn screen, so they are the same at every run.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import statistics
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from msgspec import structs
from rich.segment import Segment
from textual.pilot import Pilot

from benchmarks.measure import Data, environment, index, table, write_option
from benchmarks.measure import result as open_result
from benchmarks.screenshots import screen_of, settled, until
from excerpt.base.settings import ScreenSettings, Settings, user_paths
from excerpt.text.display import visible_line
from excerpt.tui.app import ExcerptApp
from excerpt.tui.search.hit_list import HitList
from excerpt.tui.search.pane import SearchPane
from excerpt.vault.known_vaults import DEMO

SETS = (
    ("obsidian-help/en", "obsidian-help-en.dev"),
    ("dendron-site", "dendron-site.dev"),
    ("powershell-docs-one", "powershell-docs-one.dev"),
)
SIZES = ((80, 24), (140, 45))
QUERIES = 5
DEMO_QUERIES = ("pack hits within a token budget", "how sure is the answer", "memories of a passage")
HEAD = (
    *("vault and size", "hits in sight", "whole titles", "cells not text", "cells of the query"),
    *("text colours", "backgrounds", "signs", "words, empty", "words, query"),
)


def measure(data: Data) -> None:
    print("\n## What the screen shows\n")
    os.environ["EXCERPT_HOME"] = environment()["EXCERPT_HOME"]
    vaults: list[tuple[str, Path, Sequence[str]]] = [("demo", DEMO, DEMO_QUERIES)]
    for name, queries in SETS:
        vault = data.vault(name)
        if vault is not None:
            asked = [query.strip() for query in data.queries(queries)]
            vaults.append((name, vault.resolve(), asked[:: max(1, len(asked) // QUERIES)][:QUERIES]))
    rows: list[Sequence[str]] = []
    for name, folder, typed in vaults:
        index(folder)
        for size in SIZES:
            counts = asyncio.run(_count_all(folder, typed, size))
            rows.append((f"{name} {size[0]}x{size[1]}", *counts))
    table(HEAD, rows)
    print("\nMedians over the queries; whole titles and colours over all of them.")


async def _count_all(vault: Path, queries: Sequence[str], size: tuple[int, int]) -> Sequence[str]:
    settings = Settings(screen=ScreenSettings(theme="excerpt-dark"))
    app = ExcerptApp(vault, settings, user_paths(), {})
    hits, not_text, words, signs = [list[int]() for _ in range(4)]
    whole: list[bool] = []
    fronts, backs = set[str](), set[str]()
    async with app.run_test(size=size) as pilot:
        rows, pane = screen_of(pilot).query_one(HitList), screen_of(pilot).query_one(SearchPane)
        await until(pilot, lambda: screen_of(pilot).index.state.status is not None and pane.is_populated)
        await pilot.pause(0.3)
        empty = _count_words(_drawn(pilot))
        for query in queries:
            pane.query_bar.set_query(query)
            await until(pilot, lambda query=query: pane.result is not None and pane.result.query == query)  # type: ignore[misc]
            await settled(pilot)
            await until(pilot, lambda: not pane.is_filling)
            lines = [rows.render_line(y).text for y in range(rows.size.height)]
            last = min(rows.row_at_line(rows.scroll_offset.y + rows.size.height - 1), rows.row_count - 1)
            hits.append(last + 1)
            whole += [_is_whole(rows, row, lines) for row in range(last + 1)]
            not_text.append(_count_other_cells(rows))
            drawn = _drawn(pilot)
            words.append(_count_words(drawn))
            signs.append(len({sign for part in drawn for sign in part.text if not sign.isalnum() and sign != " "}))
            styles = [part.style for part in drawn if part.style is not None]
            fronts |= {str(style.color) for style in styles}
            backs |= {str(style.bgcolor) for style in styles}
        room, width = pane.query_bar.field.size.width, rows.size.width
    return (
        f"{statistics.median(hits):.0f}",
        f"{sum(whole) / len(whole):.0%}",
        f"{statistics.median(not_text):.0f} of {width}",
        *map(str, (room, len(fronts), len(backs))),
        f"{statistics.median(signs):.0f}",
        str(empty),
        f"{statistics.median(words):.0f}",
    )


def _drawn(pilot: Pilot[None]) -> list[Segment]:
    return [part for strip in pilot.app.screen._compositor.render_strips() for part in strip]


def _count_words(drawn: Sequence[Segment]) -> int:
    return len(re.findall(r"\w+", " ".join(part.text for part in drawn)))


def _is_whole(rows: HitList, row: int, lines: Sequence[str]) -> bool:
    """Return whether a row in sight shows the whole title of its note, or needs none."""
    one = rows.rows[row]
    first = rows.first_line_of(row) - rows.scroll_offset.y
    text = "".join(lines[first : rows.first_line_of(row + 1) - rows.scroll_offset.y])
    return one.repeats_note or visible_line(one.hit.fragment.title) in text


def _count_other_cells(rows: HitList) -> int:
    """Return the cells of the first row that a title without end leaves to all that is no title."""
    before = rows.rows
    hit = before[0].hit
    endless = replace(hit, fragment=replace(hit.fragment, title="x" * 999, heading_path=()), named=())
    rows.rows = (structs.replace(before[0], hit=endless, folder=""), *before[1:])
    width = rows.size.width
    strips = rows.draw_row(0, width, False, rows.base_style)
    rows.rows = before
    return width - max(strip.text.count("x") for strip in strips) - 1


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.screen", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared"), help="folder with data/ and eval/")
    write_option(parser, "screen")
    args = parser.parse_args()
    data = Data(args.data.resolve())
    with open_result("screen", "The screen in numbers", write=args.write and data.there):
        measure(data)


if __name__ == "__main__":
    main()
