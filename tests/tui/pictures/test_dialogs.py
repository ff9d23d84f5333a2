"""Pictures of what opens over the tabs."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from excerpt.tui.history_file import add_query
from excerpt.tui.saved_queries import SavedQuery, change_saved
from excerpt.tui.screens.pick_link import PickLink
from excerpt.tui.screens.saved import SavedList
from excerpt.tui.screens.why import Why
from excerpt.tui.search.pane import SearchPane
from excerpt.tui.widgets.hit_list import HitList
from excerpt.tui.widgets.offer_list import OfferList
from excerpt.tui.widgets.query_menu import QueryMenu
from excerpt.tui.widgets.strategy_grid import StrategyGrid
from tests.tui.conftest import until
from tests.tui.pictures.conftest import Pictures
from tests.tui.pictures.steps import Steps, app_on, known_tags, ready, results, settled, still, typed


async def why(pilot: Pilot[None]) -> None:
    await results(pilot)
    await pilot.press("down", "ctrl+t")


async def why_chinese(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await typed(pilot, "冲突")
    await pilot.press("ctrl+t")


async def why_hostile(pilot: Pilot[None]) -> None:
    """The second hit is asked about: its note has markup and escape sequences in it."""
    await ready(pilot)
    await typed(pilot, "bidi")
    await pilot.press("ctrl+t")


async def why_not(pilot: Pilot[None]) -> None:
    """A note that is in no list, by its name."""
    await results(pilot)
    still(pilot).still.query_one(SearchPane).action_why_not()
    await until(pilot, lambda: bool(pilot.app.screen.query("#note:focus")), "the field")
    await pilot.press(*"Kitchen", "enter")


async def why_no_note(pilot: Pilot[None]) -> None:
    await results(pilot)
    still(pilot).still.query_one(SearchPane).action_why_not()
    await until(pilot, lambda: isinstance(pilot.app.screen, Why), "the question")
    await until(pilot, lambda: bool(pilot.app.screen.query("#note:focus")), "the field")


async def compared(pilot: Pilot[None]) -> None:
    """The second strategy is selected."""
    await results(pilot)
    await pilot.press("alt+c")
    await until(pilot, lambda: any(grid.columns for grid in pilot.app.screen.query(StrategyGrid)), "the answers")
    await pilot.press("right")


async def remember(pilot: Pilot[None]) -> None:
    await results(pilot)
    await pilot.press("ctrl+r", *"sync")


async def remember_again(pilot: Pilot[None]) -> None:
    """Something like it is kept already: that is offered."""
    await results(pilot)
    rows = still(pilot).still.query_one(HitList)
    await until(pilot, lambda: bool(rows.badges), "the badge")
    while rows.selected is not None and rows.selected.fragment.id not in rows.badges:
        await pilot.press("down")
    await pilot.press("ctrl+r")
    await known_tags(pilot)
    await until(pilot, lambda: bool(pilot.app.screen.query_one(OfferList).offers), "the offers")


async def help_keys(pilot: Pilot[None]) -> None:
    await results(pilot)
    await pilot.press("f1")


async def help_filtered(pilot: Pilot[None]) -> None:
    await help_keys(pilot)
    await pilot.press(*"pack")


async def help_of_nothing(pilot: Pilot[None]) -> None:
    await help_keys(pilot)
    await pilot.press(*"zebra")


async def help_in_a_dialog(pilot: Pilot[None]) -> None:
    await results(pilot)
    await pilot.press("alt+p")
    await until(pilot, lambda: bool(pilot.app.screen.query("SettingList:focus")), "the settings")
    await pilot.press("f1")


async def palette(pilot: Pilot[None]) -> None:
    """Empty it is in no picture: which of its two sources is first there, is listed first."""
    await results(pilot)
    await pilot.press("ctrl+backslash")
    await pilot.pause(0.5)


async def palette_searched(pilot: Pilot[None]) -> None:
    await palette(pilot)
    await pilot.press(*"pack")
    await pilot.pause(0.8)


async def saved_first(pilot: Pilot[None]) -> None:
    """None is saved yet: the query at hand is given a name."""
    await results(pilot)
    await pilot.press("alt+s")


async def saved_none(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await pilot.press("alt+s")


async def saved_queries(pilot: Pilot[None]) -> None:
    app = still(pilot)
    vault, _, places = app._still
    long = 'path:"Projects/同步" tag:decision modified:2026 (sync conflict | merge) -draft "two devices" ' * 2
    for name, query in (
        ("Open conflicts", "conflict status:open"),
        ("同步冲突", "同步 冲突"),
        ("[bold]All decisions of the two years that we worked on it", long),
        ("weekly", "modified:7d"),
    ):
        change_saved(places.saved_queries_file(vault), lambda saved, n=name, q=query: saved.saved(n, q))  # type: ignore[misc]
    await results(pilot)
    await pilot.press("alt+s")
    await until(pilot, lambda: bool(pilot.app.screen.query_one(SavedList).queries), "the queries")
    assert isinstance(pilot.app.screen.query_one(SavedList).selected, SavedQuery)
    await pilot.press("down")


async def saved_deleted(pilot: Pilot[None]) -> None:
    await saved_queries(pilot)
    await pilot.press("d")
    await until(pilot, lambda: len(pilot.app.screen.query_one(SavedList).queries) == 3, "the rest")


async def history(pilot: Pilot[None]) -> None:
    vault, _, places = still(pilot)._still
    for query in ("soup", "同步 冲突", "[bold]merge " * 20, "sync tag:howto"):
        add_query(places.history_file(vault), query)
    await ready(pilot)
    await pilot.press("alt+h")
    await until(pilot, lambda: pilot.app.screen.query_one(QueryMenu).is_open, "the menu")


async def narrower(pilot: Pilot[None]) -> None:
    await results(pilot)
    await pilot.press("alt+q")
    await until(pilot, lambda: pilot.app.screen.query_one(QueryMenu).is_open, "the menu")


async def completed(pilot: Pilot[None]) -> None:
    await results(pilot)
    await typed(pilot, " tag:")
    await until(pilot, lambda: pilot.app.screen.query_one(QueryMenu).is_open, "the menu")


async def outline(pilot: Pilot[None]) -> None:
    await results(pilot)
    await pilot.press("alt+u")
    await settled(pilot)


async def theme_picker(pilot: Pilot[None]) -> None:
    await results(pilot)
    await until(pilot, lambda: "phosphor" in pilot.app.available_themes, "the themes")
    await pilot.app.run_action("change_theme")
    await until(pilot, lambda: bool(pilot.app.screen.query("#themes:focus")), "the list")


async def confirm(pilot: Pilot[None]) -> None:
    await ready(pilot)
    await pilot.press("f5", "r")


STATES: list[Steps] = [
    why,
    why_chinese,
    why_hostile,
    why_not,
    why_no_note,
    compared,
    remember,
    help_keys,
    help_filtered,
    help_of_nothing,
    help_in_a_dialog,
    palette_searched,
    saved_first,
    saved_none,
    saved_queries,
    saved_deleted,
    theme_picker,
    confirm,
]


@pytest.mark.parametrize("steps", STATES, ids=lambda steps: steps.__name__)
async def test_dialogs(pictures: Pictures, tmp_path: Path, greenwich: None, steps: Steps) -> None:
    await pictures(app_on(tmp_path), steps)


async def test_remember_again(pictures: Pictures, memories: Path) -> None:
    await pictures(app_on(memories), remember_again)


async def jump(pilot: Pilot[None]) -> None:
    await results(pilot)
    await pilot.press("alt+j")


async def links(pilot: Pilot[None]) -> None:
    """Of a fragment that has one; in a low window the first press brings up the context."""
    await results(pilot)
    await pilot.press("down", "down")
    await settled(pilot)
    await pilot.press("alt+g")
    if not isinstance(pilot.app.screen, PickLink):
        await pilot.press("alt+g")
    await until(pilot, lambda: isinstance(pilot.app.screen, PickLink), "the letters")


@pytest.mark.parametrize("size", [(60, 15), (120, 36)], ids=["60x15", "120x36"])
@pytest.mark.parametrize(
    "steps", [jump, links, outline, history, narrower, completed], ids=lambda steps: steps.__name__
)
async def test_what_a_resize_closes(pictures: Pictures, tmp_path: Path, steps: Steps, size: tuple[int, int]) -> None:
    await pictures(app_on(tmp_path), steps, (size,))
