"""Pictures of the tabs: hits and empty states, the query bar, the side panel, the pack, memories, an overview.

Pictures are of the whole screen, not of one module.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from excerpt.base.settings import Paths
from excerpt.service.event_loop import IndexOpened
from excerpt.tui.memory.pane import MemoryList, MemoryPane
from excerpt.tui.pack.dialogs import BudgetDialog
from excerpt.tui.search.query_bar import QueryBar, QueryStatus
from excerpt.tui.search.query_history import add_query
from tests.tui.driver import (
    hit_list_of,
    open_index,
    press,
    report_events,
    screen_of,
    settle,
    show_results,
    show_start_list,
    type_query,
    until,
)
from tests.tui.examples import BROKEN, STATUS, VAULT, WATCHED
from tests.tui.pictures.conftest import SMALL, Pictures, Steps, building, themed_app


async def no_topic(pilot: Pilot[None]) -> None:
    await open_index(pilot)
    await pilot.press("f3")


async def overview(pilot: Pilot[None]) -> None:
    """Show the overview of the last query, with its second line selected."""
    await show_results(pilot)
    await pilot.press("f3", "down")


async def overview_of_all_lines(pilot: Pilot[None]) -> None:
    """Show all lines, scrolled to the last, or the passage if only one of both fits."""
    await overview(pilot)
    await pilot.press("unbound-overview-all", "escape", "G", "v")


async def overview_of_nothing(pilot: Pilot[None]) -> None:
    await no_topic(pilot)
    await pilot.press(*"zebra_[/x]")


@pytest.mark.parametrize("steps", [overview, overview_of_all_lines], ids=lambda steps: steps.__name__)
async def test_overview(pictures: Pictures, returning_user: Path, steps: Steps) -> None:
    await pictures(themed_app(returning_user), steps)


async def no_memories(pilot: Pilot[None]) -> None:
    await open_index(pilot)
    await pilot.press("f4")


@pytest.mark.parametrize("steps", [no_topic, overview_of_nothing, no_memories], ids=lambda steps: steps.__name__)
async def test_empty_tabs(pictures: Pictures, returning_user: Path, steps: Steps) -> None:
    await pictures(themed_app(returning_user), steps, SMALL)


async def listed(pilot: Pilot[None]) -> MemoryList:
    await open_index(pilot)
    await pilot.press("f4")
    rows, pane = screen_of(pilot.app).query_one(MemoryList), screen_of(pilot.app).query_one(MemoryPane)
    await until(pilot, lambda: rows.row_count > 1 and pane.is_complete, "the memories")
    return rows


async def changed(pilot: Pilot[None]) -> None:
    """Show both texts of a memory whose source has changed."""
    await listed(pilot)


async def own_thought(pilot: Pilot[None]) -> None:
    await listed(pilot)
    await pilot.press("escape", "down")


async def none_matches(pilot: Pilot[None]) -> None:
    rows = await listed(pilot)
    pane = screen_of(pilot.app).query_one(MemoryPane)
    await pilot.press(*"source:Nowhere")
    await until(pilot, lambda: not rows.row_count and pane.is_complete, "no memory")


async def hinted(pilot: Pilot[None]) -> None:
    """Show a hint for text that resembles a known filter."""
    await listed(pilot)
    pane = screen_of(pilot.app).query_one(MemoryPane)
    hint = pane.query_one("#filter-hint", Static)
    await pilot.press(*"tga:kitchen")
    await until(pilot, lambda: bool(str(hint.content)) and pane.is_complete, "the hint")


@pytest.mark.parametrize("steps", [changed, own_thought], ids=lambda steps: steps.__name__)
async def test_memories(pictures: Pictures, memories: Path, steps: Steps) -> None:
    await pictures(themed_app(memories), steps)


@pytest.mark.parametrize("steps", [none_matches, hinted], ids=lambda steps: steps.__name__)
async def test_filtered_memories(pictures: Pictures, memories: Path, steps: Steps) -> None:
    await pictures(themed_app(memories), steps, SMALL)


async def test_a_memory_that_cannot_be_read(pictures: Pictures, memories: Path) -> None:
    folder = next((memories / "memories").iterdir())
    (folder / "broken.md").write_text("---\ntags: [open\n---\nText.\n")

    async def steps(pilot: Pilot[None]) -> None:
        await listed(pilot)
        await pilot.press("escape", "G")

    await pictures(themed_app(memories), steps, SMALL)


async def ready(pilot: Pilot[None]) -> None:
    await open_index(pilot)


async def no_notes(pilot: Pilot[None]) -> None:
    await report_events(pilot, IndexOpened(replace(STATUS, notes=0, fragments=0, skipped=(), warnings=())), WATCHED)


async def broken(pilot: Pilot[None]) -> None:
    await report_events(pilot, BROKEN)


async def one_note(pilot: Pilot[None]) -> None:
    """Show thirty fragments of one note."""
    await open_index(pilot)
    await type_query(pilot, "litres")


async def meant_otherwise(pilot: Pilot[None]) -> None:
    """Show no hits, but a suggestion with a similar spelling."""
    await open_index(pilot)
    await type_query(pilot, "konflict")


async def weak(pilot: Pilot[None]) -> None:
    """Show hits of which none is likely to answer the query."""
    await open_index(pilot)
    await type_query(pilot, "conflict of interest")


async def hostile(pilot: Pilot[None]) -> None:
    await open_index(pilot)
    await type_query(pilot, "bidi")


async def chinese(pilot: Pilot[None]) -> None:
    """Show emoji, half and full width and combining characters, with the second row selected."""
    await open_index(pilot)
    await type_query(pilot, "菜园")
    await pilot.press("down")
    await settle(pilot)


async def right_to_left(pilot: Pilot[None]) -> None:
    await open_index(pilot)
    await type_query(pilot, "סנכרון")


async def chips_and_doubt(pilot: Pilot[None]) -> None:
    await open_index(pilot)
    await type_query(pilot, 'tag:sync -path:Archive "line by')
    status = screen_of(pilot.app).query_one("#search QueryStatus", QueryStatus)
    await until(pilot, lambda: bool(status.warning), "the doubt")


async def passage(pilot: Pilot[None]) -> None:
    """Show frontmatter, a folded callout with a quotation, and highlights, with the cursor on a link."""
    await open_index(pilot)
    await type_query(pilot, "water main garden")
    await pilot.press("escape", "l")
    await settle(pilot)


async def passage_scrolled(pilot: Pilot[None]) -> None:
    """Show lists, a table, embeds, code, a formula, a footnote and picked lines."""
    await open_index(pilot)
    await type_query(pilot, "wires trellis")
    await pilot.press("escape", "l", "G", *["k"] * 14, "shift+down", "shift+down")
    await settle(pilot)


async def why(pilot: Pilot[None]) -> None:
    await show_results(pilot)
    await press(pilot, "ctrl+t")


async def related(pilot: Pilot[None]) -> None:
    """Show related notes: the first lacks a link, the second is selected."""
    await show_results(pilot)
    await press(pilot, "unbound-related", "down")


async def mapped(pilot: Pilot[None]) -> None:
    """Show the map with an open branch and the cursor in it."""
    await show_results(pilot)
    await press(pilot, "unbound-map", "down", "down", "right", "right")


STATES: list[Steps] = [
    ready,
    one_note,
    meant_otherwise,
    weak,
    hostile,
    chinese,
    right_to_left,
    chips_and_doubt,
    passage,
    passage_scrolled,
    why,
    related,
    mapped,
]


@pytest.mark.parametrize("steps", STATES, ids=lambda steps: steps.__name__)
async def test_search_tab(pictures: Pictures, returning_user: Path, steps: Steps) -> None:
    await pictures(themed_app(returning_user), steps)


@pytest.mark.parametrize("steps", [no_notes, building, broken], ids=lambda steps: steps.__name__)
async def test_without_notes_to_search(pictures: Pictures, returning_user: Path, steps: Steps) -> None:
    await pictures(themed_app(returning_user), steps, SMALL)


async def test_the_first_run(pictures: Pictures, tmp_path: Path) -> None:
    await pictures(themed_app(tmp_path), open_index, SMALL)


async def test_hits_with_marks_and_memories(pictures: Pictures, memories: Path) -> None:
    """Show one marked row, others in the pack automatically, a remembered one, and a memory."""

    async def steps(pilot: Pilot[None]) -> None:
        await show_results(pilot)
        await until(pilot, lambda: bool(hit_list_of(pilot.app).remembered_ids), "the badge")

    await pictures(themed_app(memories), steps)


async def test_without_a_query(pictures: Pictures, memories: Path) -> None:
    """Show recent queries, a memory whose source changed, and the newest notes, with the memory selected."""
    file = Paths(memories, memories, memories, memories / "state").history_file(VAULT)
    for query in ("sync conflict", "how do I keep what two devices wrote into one note", "[bold]同步 冲突 path:同步/"):
        add_query(file, query)

    async def steps(pilot: Pilot[None]) -> None:
        await show_start_list(pilot)
        await press(pilot, "down", "G", *["up"] * 5)

    await pictures(themed_app(memories), steps)


async def completed(pilot: Pilot[None]) -> None:
    """Show the menu after the start of a filter, with hits below it."""
    await open_index(pilot)
    await type_query(pilot, "merge tag:")
    bar = screen_of(pilot.app).query_one(QueryBar)
    await until(pilot, lambda: bar.menu.is_open, "the menu")


async def suggested(pilot: Pilot[None]) -> None:
    """Show narrower and wider queries."""
    await show_results(pilot)
    await pilot.press("unbound-suggest")
    bar = screen_of(pilot.app).query_one(QueryBar)
    await until(pilot, lambda: bar.menu.is_open and bool(bar.menu.choices), "the menu")


async def asked_before(pilot: Pilot[None]) -> None:
    await open_index(pilot)
    await pilot.press("unbound-history")
    bar = screen_of(pilot.app).query_one(QueryBar)
    await until(pilot, lambda: bar.menu.is_open, "the menu")


@pytest.mark.parametrize("steps", [completed, suggested, asked_before], ids=lambda steps: steps.__name__)
async def test_query_menu(pictures: Pictures, returning_user: Path, steps: Steps) -> None:
    """Compare at one size, as a menu closes when the window is resized."""
    file = Paths(returning_user, returning_user, returning_user, returning_user / "state").history_file(VAULT)
    for query in (
        "how do I keep what two devices wrote into one note",
        'tag:sync "line by line" -binary',
        "[bold]同步 冲突 path:同步/",
    ):
        add_query(file, query)
    await pictures(themed_app(returning_user), steps, SMALL)


async def marked(pilot: Pilot[None]) -> None:
    """Mark two rows, so that no other is in the pack."""
    await show_results(pilot)
    await pilot.press("tab", "tab")
    await settle(pilot)


async def marked_before(pilot: Pilot[None]) -> None:
    """Mark rows that are not among the hits of the next query."""
    await open_index(pilot)
    await type_query(pilot, "litres")
    await pilot.press("tab", "tab", "ctrl+u")
    await type_query(pilot, "sync conflict")


async def decided(pilot: Pilot[None]) -> None:
    """Drop one passage, move one, and set the scope of one."""
    await show_results(pilot)
    await pilot.press("ctrl+o")
    for key in ("shift+down", "s", "s", "enter", "down", "x"):
        await pilot.press(key)
        await settle(pilot)


async def left_out(pilot: Pilot[None]) -> None:
    """Set a budget that fits two of the passages."""
    await show_results(pilot)
    await pilot.press("escape", "b")
    await until(pilot, lambda: isinstance(pilot.app.screen, BudgetDialog), "the dialog")
    await pilot.press(*"220", "enter", "ctrl+o")
    await settle(pilot)


async def empty(pilot: Pilot[None]) -> None:
    await open_index(pilot)
    await pilot.press("ctrl+o")


async def budget_refused(pilot: Pilot[None]) -> None:
    await show_results(pilot)
    await pilot.press("escape", "b")
    await until(pilot, lambda: isinstance(pilot.app.screen, BudgetDialog), "the dialog")
    await pilot.press(*"much", "enter")


PACK_STATES: list[Steps] = [marked, marked_before, decided, left_out]


@pytest.mark.parametrize("steps", PACK_STATES, ids=lambda steps: steps.__name__)
async def test_pack_states(pictures: Pictures, returning_user: Path, steps: Steps) -> None:
    await pictures(themed_app(returning_user), steps)


@pytest.mark.parametrize("steps", [empty, budget_refused], ids=lambda steps: steps.__name__)
async def test_pack_at_one_size(pictures: Pictures, returning_user: Path, steps: Steps) -> None:
    await pictures(themed_app(returning_user), steps, SMALL)
