"""The panes of the running app: keys, the mouse, rows of one line, and what a row tells."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.pilot import Pilot

from excerpt.model import Result
from excerpt.settings import Settings
from excerpt.tui.search.hit_list import HitList
from excerpt.tui.search.pane import SearchPane
from excerpt.tui.widgets.preview import Preview
from excerpt.tui.widgets.split import Splitter
from tests.tui.still import StillApp


@pytest.fixture
def still(tmp_path: Path) -> StillApp:
    return StillApp(tmp_path / "data", Settings())


def pane_of(app: StillApp) -> SearchPane:
    return app.still.query_one(SearchPane)


def rows_of(app: StillApp) -> HitList:
    return pane_of(app).query_one(HitList)


def preview_of(app: StillApp) -> Preview:
    return pane_of(app).query_one(Preview)


def lines_of(app: StillApp) -> list[str]:
    rows = rows_of(app)
    return [rows.render_line(y).text.rstrip() for y in range(rows.size.height)]


def moves_of(app: StillApp) -> list[str]:
    return [line[1:4].strip() for line in lines_of(app)[1::2]]


async def typed(pilot: Pilot[None], text: str) -> None:
    await pilot.press(*("space" if letter == " " else letter for letter in text))
    await pilot.pause()


async def test_the_context_goes_where_the_key_puts_it_and_the_rows_stay(still: StillApp) -> None:
    async with still.run_test(size=(120, 30)) as pilot:
        await typed(pilot, "sync")
        rows, preview = rows_of(still), preview_of(still)
        assert preview.region.x > rows.region.right
        await pilot.press("down", "alt+l")
        await pilot.pause()
        assert preview.region.y >= rows.region.bottom
        assert (rows.cursor, rows.region.width) == (1, 120)


async def test_keys_give_the_list_more_and_less_room_at_once(still: StillApp) -> None:
    async with still.run_test(size=(120, 30)) as pilot:
        await typed(pilot, "sync")
        before = rows_of(still).region.width
        await pilot.press("alt+shift+right", "alt+shift+right", "alt+shift+right")
        await pilot.pause()
        assert rows_of(still).region.width == before + 18
        rows_of(still).focus()
        await pilot.press("less_than_sign")
        await pilot.pause()
        assert rows_of(still).region.width == before + 12


async def test_the_border_is_dragged_with_the_mouse_beside_and_below(still: StillApp) -> None:
    async with still.run_test(size=(120, 30)) as pilot:
        await typed(pilot, "sync")
        border = still.still.query_one("#body Splitter", Splitter).region
        await pilot.mouse_down(offset=(border.x, 10))
        await pilot.hover(offset=(80, 12))
        await pilot.mouse_up(offset=(80, 12))
        await pilot.pause()
        assert still.still.query_one("#body Splitter", Splitter).region.x == 80
        await pilot.press("alt+l")
        await pilot.pause()
        await pilot.mouse_down(offset=(50, preview_of(still).region.y))
        await pilot.hover(offset=(50, 8))
        await pilot.mouse_up(offset=(50, 8))
        await pilot.pause()
        assert preview_of(still).region.y == 8


async def test_rows_tell_how_far_they_moved_when_the_query_was_refined(still: StillApp) -> None:
    async with still.run_test(size=(120, 30)) as pilot:
        seconds = itertools.count(0, 10)
        rows_of(still).clock = lambda: float(next(seconds))
        await typed(pilot, "sync")
        assert not any(moves_of(still))
        result = pane_of(still).result
        assert result is not None
        a, b, *others = result.hits[:-1]
        show(still, replace(result, query="sync a", hits=(result.hits[-1], b, a, *others)))
        await pilot.pause()
        assert moves_of(still)[:3] == [f"↑{len(result.hits) - 1}", "", "↓2"]


def show(app: StillApp, result: Result) -> None:
    pane_of(app).result = result


HOSTILE = [
    "[/red] [bold]x[/bold] \x1b[31m \x1b]52;c;eA==\x07 \u202eidib\u202c \u2066\u200b",
    "👨‍👩‍👧 ❤️ 1️⃣ 👍🏽 🏳️‍🌈 Z̡͖̜̱algo",
    "冲突" * 200,
    "ｶﾞｷﾞ 각 ที่ می‌خواهم سلام",
    "x" * 10_000,
    "\t\r\n \ud800",
]


async def test_hostile_names_and_text_leave_every_line_of_a_row_its_width(still: StillApp) -> None:
    async with still.run_test(size=(100, 40)) as pilot:
        await typed(pilot, "sync")
        result, rows = pane_of(still).result, rows_of(still)
        assert result is not None
        hit = replace(result.hits[0], modified=1)
        texts = [
            replace(hit.fragment, id=f"{i}", title=title, heading_path=(title, text), text=text)
            for i, (title, text) in enumerate(itertools.product(HOSTILE, HOSTILE))
        ]
        show(still, replace(result, hits=tuple(replace(hit, fragment=one, named=()) for one in texts)))
        for row in range(rows.row_count):
            for width in (20, 37, 61, 99):
                lines = rows.draw_row(row, width, False, rows.base_style)
                assert [cell_len("".join(part.text for part in line)) for line in lines] == [width] * rows.row_height
                assert not set("\x1b\u202e\u2066\n") & set("".join(line.text for line in lines))


async def test_a_row_tells_how_old_its_note_is(still: StillApp) -> None:
    async with still.run_test(size=(120, 30)) as pilot:
        await typed(pilot, "sync")
        result = pane_of(still).result
        assert result is not None
        old = int(time.time()) - 20 * 86_400
        show(still, replace(result, hits=tuple(replace(hit, modified=old) for hit in result.hits)))
        await pilot.pause()
        assert lines_of(still)[1].endswith(" 2w")


@pytest.mark.parametrize("size", [(60, 15), (80, 24), (120, 30), (200, 60)])
async def test_nothing_moves_where_hits_give_way_to_other_hits(still: StillApp, size: tuple[int, int]) -> None:
    async with still.run_test(size=size) as pilot:
        await typed(pilot, "s")
        stood = rows_of(still).region, preview_of(still).region
        for letter in "ync conflict":
            await typed(pilot, letter)
            assert (rows_of(still).region, preview_of(still).region) == stood


async def test_a_context_that_has_no_room_any_more_gives_the_focus_away(still: StillApp) -> None:
    async with still.run_test(size=(120, 30)) as pilot:
        await typed(pilot, "sync")
        preview_of(still).focus()
        await pilot.pause()
        await pilot.resize_terminal(60, 15)
        await pilot.pause()
        assert preview_of(still).region.area == 0
        assert still.focused is not None
        assert still.focused is not preview_of(still)


async def test_the_passage_that_takes_the_place_of_the_lines_takes_the_focus_from_them(still: StillApp) -> None:
    async with still.run_test(size=(60, 15)) as pilot:
        await typed(pilot, "sync")
        await pilot.press("f3", "shift+tab", "ctrl+o")
        await pilot.pause()
        assert still.focused is still.still.query_one("#overview-passage")
