"""Pictures of the first run, of opening another vault, and of the tour."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from excerpt.tui.screens.tour import Tour
from textual.pilot import Pilot
from textual.widgets import Static

from excerpt.known_vaults import remember_vault
from excerpt.settings import Places, Settings
from excerpt.tui.app import ExcerptApp
from excerpt.tui.screens.vault_chooser import VaultChooser
from excerpt.tui.vault_rows import missing
from excerpt.tui.widgets.vault_list import VaultList
from tests.tui.conftest import until
from tests.tui.pictures.conftest import Pictures
from tests.tui.pictures.steps import Steps, app_on, results

HOUR = 3_600
NAMES = {"notes": HOUR, "Work/wiki": 5 * HOUR, "日记": 30 * HOUR, "[bold]x": 24 * 40 * HOUR}
"""Vaults opened lately, by their path in the home folder, and how many seconds ago."""
GONE = "Documents/Projects/2024/A name that is longer than most windows are wide/Archive/old notes"


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """A home folder with nothing in it."""
    (tmp_path / "ada").mkdir()
    return tmp_path / "ada"


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(*(tmp_path / name for name in ("config", "cache", "data", "state")))


@pytest.fixture
def known(user: Path, places: Places, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with vaults that were opened, and some that Obsidian knows."""
    now = time.time()
    for name, ago in NAMES.items():
        (user / name).mkdir(parents=True)
        with monkeypatch.context() as earlier:
            earlier.setattr("excerpt.known_vaults.time.time", lambda then=now - ago: then)
            remember_vault(places, user / name)
    for folder in ("Zettelkasten/.obsidian", "Work/Wissen 2024/.obsidian", "Work/同步"):
        (user / folder).mkdir(parents=True)
    listed = [user / "Zettelkasten", user / "notes", user / GONE]
    list_of_obsidian = user / ".config/obsidian/obsidian.json"
    list_of_obsidian.parent.mkdir(parents=True)
    vaults = {str(at): {"path": str(path), "ts": 9 - at} for at, path in enumerate(listed)}
    list_of_obsidian.write_text(json.dumps({"vaults": vaults}))
    return user


def fresh(user: Path, places: Places, said: str = "") -> ExcerptApp:
    return ExcerptApp(None, Settings(), places, {"HOME": str(user)}, said)


async def listed(pilot: Pilot[None]) -> VaultList:
    """What is known is listed, and it is known what of it is missing."""
    await until(
        pilot, lambda: isinstance(pilot.app.screen, VaultChooser) and pilot.app.screen.is_mounted, "the chooser"
    )
    rows = pilot.app.screen.query_one(VaultList)
    await until(pilot, lambda: bool(rows.rows), "the list")
    gone = {row.path for row in rows.rows if row.path.name == "old notes"}
    await until(pilot, lambda: rows.missing == gone, "what is missing")
    return rows


async def chooser(pilot: Pilot[None]) -> None:
    await listed(pilot)


async def path_typed(pilot: Pilot[None]) -> None:
    rows = await listed(pilot)
    await pilot.press(*"~/Work/")
    await until(pilot, lambda: [row.name for row in rows.rows] == ["Work", "wiki", "Wissen 2024", "同步"], "folders")


async def bad_path(pilot: Pilot[None]) -> None:
    await listed(pilot)
    await pilot.press(*"/nowhere/my notes".replace(" ", "_"), "enter")
    await until(pilot, lambda: bool(str(pilot.app.screen.query_one("#trouble", Static).content)), "what is wrong")


async def nothing_called_so(pilot: Pilot[None]) -> None:
    await listed(pilot)
    await pilot.press(*"zebra")


async def tour(pilot: Pilot[None]) -> None:
    await results(pilot)
    await pilot.app.run_action("tour")
    await until(pilot, lambda: isinstance(pilot.app.screen, Tour), "the tour")


async def tour_second_page(pilot: Pilot[None]) -> None:
    await tour(pilot)
    await pilot.press("enter")


async def test_first_run_with_no_vault_known(pictures: Pictures, user: Path, places: Places) -> None:
    await pictures(fresh(user, places), chooser)


async def test_why_a_vault_is_asked_for(pictures: Pictures, user: Path, places: Places) -> None:
    await pictures(fresh(user, places, "There is no folder at /home/ada/notes any more."), chooser)


@pytest.mark.parametrize("steps", [chooser, path_typed, bad_path, nothing_called_so], ids=lambda steps: steps.__name__)
async def test_first_run(pictures: Pictures, known: Path, places: Places, steps: Steps) -> None:
    await pictures(fresh(known, places), steps)


async def test_another_vault(
    pictures: Pictures, tmp_path: Path, known: Path, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = app_on(tmp_path)
    app._shell = {"HOME": str(known)}
    app._places = places
    there = frozenset({Path("/home/ada/notes")})
    monkeypatch.setattr("excerpt.tui.screens.vault_chooser.missing", lambda rows: missing(rows) - there)
    # The folders of a test, which would tell vaults of one name apart, are others at each run.
    monkeypatch.setattr("excerpt.tui.vault_rows.names_apart", lambda vaults: {vault: vault.name for vault in vaults})
    monkeypatch.setattr("excerpt.tui.app.name_among_recent", lambda _places, vault: vault.name)

    async def switch(pilot: Pilot[None]) -> None:
        await results(pilot)
        await pilot.press("alt+v")
        rows = pilot.app.screen.query_one(VaultList)
        await until(pilot, lambda: bool(rows.missing), "the list")

    await pictures(app, switch)


@pytest.mark.parametrize("steps", [tour, tour_second_page], ids=lambda steps: steps.__name__)
async def test_tour(pictures: Pictures, tmp_path: Path, steps: Steps) -> None:
    await pictures(app_on(tmp_path), steps)
