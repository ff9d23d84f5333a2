"""Pictures of dialogs: questions, forms, the index, the keys, the choice of a vault.

Pictures are of the whole screen, not of one module.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Button, Label, OptionList, Static

from excerpt.base.settings import Paths, Settings
from excerpt.index.events import IndexingPaused
from excerpt.tui.app import ExcerptApp
from excerpt.tui.common.dialog import ConfirmDialog
from excerpt.tui.common.help import HelpDialog
from excerpt.tui.index.dialog import IndexDialog
from excerpt.tui.memory.form import OfferList
from excerpt.tui.palette import Palette
from excerpt.tui.search.strategies import StrategiesScreen
from excerpt.tui.search.why_view import WhyNot
from excerpt.tui.settings.theme_picker import ThemePicker
from excerpt.tui.vault_chooser import VaultChooser
from excerpt.vault.known_vaults import add_recent_vault
from tests.tui.driver import (
    hit_list_of,
    open_index,
    pane_of,
    places_under,
    report_events,
    screen_of,
    select_hit,
    show_results,
    until,
    until_screen,
)
from tests.tui.examples import EMPTIED
from tests.tui.pictures.conftest import SMALL, Pictures, Steps, building, themed_app


async def keys_listed(pilot: Pilot[None]) -> None:
    """Open the help from the list, whose keys come first."""
    await show_results(pilot)
    await pilot.press("escape", "question_mark")
    await until_screen(pilot, HelpDialog)


async def keys_filtered(pilot: Pilot[None]) -> None:
    await show_results(pilot)
    await pilot.press("f1", *"pack")
    await until_screen(pilot, HelpDialog)


async def palette(pilot: Pilot[None]) -> None:
    await show_results(pilot)
    await pilot.press("ctrl+g", *"mem")
    await until_screen(pilot, Palette)
    commands = pilot.app.screen.query_one(OptionList)
    await until(pilot, lambda: bool(commands.option_count), "the commands")
    await pilot.pause(0.5)  # the results arrive in parts


async def why_not(pilot: Pilot[None]) -> None:
    await show_results(pilot)
    await pilot.app.run_action("why_not", pane_of(pilot.app))
    await until_screen(pilot, WhyNot)
    await pilot.press(*"Kitchen", "enter")


async def compared(pilot: Pilot[None]) -> None:
    await show_results(pilot)
    await pilot.press("unbound-compare")
    await until_screen(pilot, StrategiesScreen)
    await until(pilot, lambda: bool(getattr(pilot.app.screen, "rows", ())), "the answers")


async def theme_picker(pilot: Pilot[None]) -> None:
    await show_results(pilot)
    await pilot.app.run_action("change_theme")
    await until_screen(pilot, ThemePicker)


async def index(pilot: Pilot[None]) -> None:
    """Open the index dialog, with a skipped file and one with a warning."""
    await open_index(pilot)
    await pilot.app.run_action("open_index", screen_of(pilot.app))
    await until_screen(pilot, IndexDialog)


async def index_building(pilot: Pilot[None]) -> None:
    await index(pilot)
    await building(pilot)


async def index_paused(pilot: Pilot[None]) -> None:
    await index_building(pilot)
    await report_events(pilot, IndexingPaused())


async def rebuild(pilot: Pilot[None]) -> None:
    await index(pilot)
    pilot.app.screen.query_one("#rebuild", Button).press()
    await until_screen(pilot, ConfirmDialog)


async def emptied(pilot: Pilot[None]) -> None:
    await show_results(pilot)
    await report_events(pilot, EMPTIED)
    await until_screen(pilot, ConfirmDialog)


async def until_known_tags(pilot: Pilot[None]) -> None:
    label = pilot.app.screen.query_one("#tags-label", Label)
    await until(pilot, lambda: "in use" in str(label.content), "the tags in use")


SMALL_ONES: list[Steps] = [
    keys_listed,
    keys_filtered,
    why_not,
    theme_picker,
    index_building,
    index_paused,
    rebuild,
    emptied,
]
"""Dialogs that hardly change in a larger window."""


@pytest.mark.parametrize("steps", [palette, compared, index], ids=lambda steps: steps.__name__)
async def test_dialog(pictures: Pictures, returning_user: Path, steps: Steps) -> None:
    await pictures(themed_app(returning_user), steps)


@pytest.mark.parametrize("steps", SMALL_ONES, ids=lambda steps: steps.__name__)
async def test_dialog_at_one_size(pictures: Pictures, returning_user: Path, steps: Steps) -> None:
    await pictures(themed_app(returning_user), steps, SMALL)


async def test_remembering_what_is_remembered(pictures: Pictures, memories: Path) -> None:
    """Remember a passage again: the form offers to merge it with the existing memory."""

    async def steps(pilot: Pilot[None]) -> None:
        await show_results(pilot)
        rows = hit_list_of(pilot.app)
        await select_hit(pilot, lambda hit: hit.fragment.id in rows.remembered_ids, "the hit with the badge")
        await pilot.press("ctrl+r")
        await until_known_tags(pilot)
        await until(pilot, lambda: bool(pilot.app.screen.query_one(OfferList).offers), "the offers")

    await pictures(themed_app(memories), steps)


# --- choosing a vault -------------------------------------------------------------------------------------------------

HOUR = 3_600
NAMES = {"notes": HOUR, "Work/wiki": 5 * HOUR, "日记": 30 * HOUR, "[bold]x": 24 * 40 * HOUR}
"""Recently opened vaults, by their path in the home folder, and how many seconds ago."""
GONE = "Documents/Projects/2024/A name that is longer than most windows are wide/Archive/old notes"


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """Return an empty home folder."""
    (tmp_path / "ada").mkdir()
    return tmp_path / "ada"


@pytest.fixture
def known(user: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home folder with recently opened vaults, and some from Obsidian's list."""
    now = time.time()
    for name, ago in NAMES.items():
        (user / name).mkdir(parents=True)
        with monkeypatch.context() as earlier:
            earlier.setattr("excerpt.vault.known_vaults.time.time", lambda then=now - ago: then)
            add_recent_vault(places_of(user), user / name)
    for folder in ("Zettelkasten/.obsidian", "Work/Wissen 2024/.obsidian", "Work/同步"):
        (user / folder).mkdir(parents=True)
    vaults = {str(at): {"path": str(user / name), "ts": 9 - at} for at, name in enumerate(("Zettelkasten", GONE))}
    listed = user / ".config/obsidian/obsidian.json"
    listed.parent.mkdir(parents=True)
    listed.write_text(json.dumps({"vaults": vaults}))
    return user


def places_of(user: Path) -> Paths:
    return places_under(user.parent)


def fresh(user: Path) -> ExcerptApp:
    return ExcerptApp(None, Settings(), places_of(user), {"HOME": str(user)})


async def chooser(pilot: Pilot[None]) -> VaultChooser:
    """Wait until the chooser lists the known vaults and marks the missing ones."""
    shown = await until_screen(pilot, VaultChooser)
    await until(pilot, lambda: bool(shown.rows), "the list")
    gone = {row.path for row in shown.rows if row.path.name == "old notes"}
    await until(pilot, lambda: shown.missing_paths == gone, "what is missing")
    return shown


async def known_vaults(pilot: Pilot[None]) -> None:
    await chooser(pilot)


async def path_typed(pilot: Pilot[None]) -> None:
    shown = await chooser(pilot)
    await pilot.press(*"~/Work/")
    await until(pilot, lambda: [row.name for row in shown.rows] == ["Work", "wiki", "Wissen 2024", "同步"], "folders")


async def bad_path(pilot: Pilot[None]) -> None:
    await chooser(pilot)
    await pilot.press(*"/nowhere/my_notes", "enter")
    await until(pilot, lambda: bool(str(pilot.app.screen.query_one("#trouble", Static).content)), "what is wrong")


@pytest.mark.parametrize("steps", [path_typed, bad_path], ids=lambda steps: steps.__name__)
async def test_choosing_a_vault(pictures: Pictures, known: Path, steps: Steps) -> None:
    await pictures(fresh(known), steps, SMALL)


async def test_known_vaults(pictures: Pictures, known: Path) -> None:
    await pictures(fresh(known), known_vaults)


async def test_no_vault_known(pictures: Pictures, user: Path) -> None:
    await pictures(fresh(user), known_vaults, SMALL)
