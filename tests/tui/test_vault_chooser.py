"""The app without a vault, and from one vault to another."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from rich.style import Style
from textual.widgets import Input, Static

from excerpt.known_vaults import DEMO, recent_vaults, remember_vault
from excerpt.memory.store import MemoryStore
from excerpt.moved_vaults import take_down
from excerpt.pack.marks_file import read_marks
from excerpt.settings import PackSettings, Places, Settings
from excerpt.tui.app import ExcerptApp
from excerpt.tui.common.tab_bar import TabBar
from excerpt.tui.main_screen import MainScreen
from excerpt.tui.screens.confirm import Confirm
from excerpt.tui.screens.vault_chooser import VaultChooser
from excerpt.tui.session import read_session
from excerpt.tui.vault_rows import Kind, VaultRow
from excerpt.tui.widgets.vault_list import VaultList
from tests.tui.conftest import AppPilot, pane_of, screen_of, search, until


@pytest.fixture
def user(tmp_path: Path, vault: Path) -> Path:
    """A user's home folder with a vault, another that is not indexed, and one in Obsidian's list that is gone."""
    assert vault == tmp_path / "vault"
    (tmp_path / "garden").mkdir()
    listed = {"a": {"path": str(tmp_path / "gone"), "ts": 1}}
    (tmp_path / ".config" / "obsidian").mkdir(parents=True)
    (tmp_path / ".config" / "obsidian" / "obsidian.json").write_text(json.dumps({"vaults": listed}))
    return tmp_path


def app_on(vault: Path | None, user: Path, places: Places) -> ExcerptApp:
    return ExcerptApp(vault, Settings(pack=PackSettings(budget=2000)), places, {"HOME": str(user)})


async def chooser_of(pilot: AppPilot, app: ExcerptApp) -> VaultChooser:
    """The chooser, when it lists what is known."""
    await until(pilot, lambda: isinstance(app.screen, VaultChooser) and app.screen.is_mounted, "the chooser")
    assert isinstance(app.screen, VaultChooser)
    chooser = app.screen
    await until(pilot, lambda: bool(chooser.query_one(VaultList).rows), "the list")
    return chooser


async def told(pilot: AppPilot, chooser: VaultChooser, words: str) -> None:
    await until(pilot, lambda: words in str(chooser.query_one("#trouble", Static).content), f"to be told: {words}")


async def opened(pilot: AppPilot, app: ExcerptApp, vault: Path) -> None:
    """Until that vault is on the screen."""
    await until(pilot, lambda: isinstance(s := app.screen, MainScreen) and s.vault == vault, f"{vault} to open")


async def test_without_a_vault_one_is_asked_for_and_a_path_that_is_completed_opens(
    user: Path, vault: Path, places: Places
) -> None:
    app = app_on(None, user, places)
    async with app.run_test() as pilot:
        chooser = await chooser_of(pilot, app)
        assert [row.path for row in chooser.query_one(VaultList).rows] == [user / "gone", DEMO]
        await until(pilot, lambda: chooser.query_one(VaultList).missing == {user / "gone"}, "what is missing")
        await pilot.press("enter")
        await told(pilot, chooser, f"There is no folder at {user / 'gone'}.")
        await pilot.press(*"~/vau", "tab", "enter")
        await opened(pilot, app, vault)
        await search(pilot, app, "conflict")
    assert [each.path for each in recent_vaults(places)] == [str(vault)]


async def test_query_and_marks_of_each_vault_are_there_again_when_one_goes_back_to_it(
    user: Path, vault: Path, places: Places
) -> None:
    remember_vault(places, user / "garden")
    remember_vault(places, vault)
    app = app_on(vault, user, places)
    async with app.run_test() as pilot:
        await search(pilot, app, "conflict")
        await pilot.press("tab", "unbound-switch-vault")
        await chooser_of(pilot, app)
        await pilot.press("enter")
        await opened(pilot, app, user / "garden")
        assert read_session(places.session_file(vault)).query == "conflict"
        assert len(read_marks(places.marks_file(vault)).marks) == 1
        assert pane_of(app).query_text == ""
        await pilot.press("unbound-switch-vault")
        await chooser_of(pilot, app)
        await pilot.press("enter")
        await opened(pilot, app, vault)
        await until(pilot, lambda: (r := pane_of(app).result) is not None and r.query == "conflict", "the answer")
        await until(pilot, lambda: len(pane_of(app).pack.choices.marks) == 1, "the mark")


async def test_what_came_along_with_a_vault_that_was_moved_is_told(user: Path, vault: Path, places: Places) -> None:
    MemoryStore(places.memory_folder(user / "before")).remember("one")
    take_down(places, vault)
    known = places.known_notes_file(vault)
    moved = known.read_text().replace(str(vault), str(user / "before"))
    places.known_notes_file(user / "before").write_text(moved)
    known.unlink()
    app = app_on(user / "garden", user, places)
    async with app.run_test() as pilot:
        await pilot.press("unbound-switch-vault")
        await chooser_of(pilot, app)
        await pilot.press(*str(vault), "enter")
        await opened(pilot, app, vault)
        said = f"This vault was at {user / 'before'} before: 1 memory came along."
        await until(pilot, lambda: said in [note.message for note in app._notifications], "to be told")
    assert [memory.text for memory in MemoryStore(places.memory_folder(vault)).all().memories] == ["one"]


async def test_of_the_vault_before_no_screen_and_no_thread_is_left(user: Path, vault: Path, places: Places) -> None:
    remember_vault(places, user / "garden")
    app = app_on(vault, user, places)
    async with app.run_test() as pilot:
        await search(pilot, app, "conflict")
        before = [thread for thread in threading.enumerate() if thread.name in ("engine", "generations")]
        screen = app.screen
        await pilot.press("unbound-switch-vault")
        await chooser_of(pilot, app)
        await pilot.press("enter")
        await opened(pilot, app, user / "garden")
        await until(pilot, lambda: not screen.is_running, "the screen to end")
        assert not [thread for thread in before if thread.is_alive()]
        assert len(app.screen_stack) == 1


async def test_a_vault_whose_settings_are_not_valid_is_not_opened(user: Path, vault: Path, places: Places) -> None:
    file = places.vault_settings_file(vault)
    file.parent.mkdir(parents=True)
    file.write_text("[pack]\nbudget = 'much'\n")
    app = app_on(None, user, places)
    async with app.run_test() as pilot:
        chooser = await chooser_of(pilot, app)
        chooser.query_one(Input).value = str(vault)
        await pilot.press("enter")
        await told(pilot, chooser, "pack.budget is not valid")
        assert app.screen is chooser


async def test_words_filter_what_is_known_and_what_is_not_wanted_is_taken_out(user: Path, places: Places) -> None:
    for name in ("Wiki", "Work notes"):
        remember_vault(places, user / name)
    app = app_on(None, user, places)
    async with app.run_test() as pilot:
        rows = (await chooser_of(pilot, app)).query_one(VaultList)
        await pilot.press(*"wiki")
        await until(pilot, lambda: [row.name for row in rows.rows] == ["Wiki"], "the filtered list")
        await pilot.press("unbound-vault-forget", "escape")
        await until(pilot, lambda: [row.name for row in rows.rows][:1] == ["Work notes"], "the whole list")
        assert [each.path for each in recent_vaults(places)] == [str(user / "Work notes")]
        await pilot.press("escape")
        await until(pilot, lambda: not app.is_running, "the app to end")


async def test_a_home_folder_is_opened_only_after_a_yes(user: Path, places: Places) -> None:
    app = app_on(None, user, places)
    async with app.run_test() as pilot:
        await chooser_of(pilot, app)
        await pilot.press("~", "enter")
        await until(pilot, lambda: isinstance(app.screen, Confirm), "the question")
        await pilot.press("enter")
        await told(pilot, await chooser_of(pilot, app), "Nothing was opened")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, Confirm), "the question")
        await pilot.press("y")
        await opened(pilot, app, user)


async def test_why_a_vault_is_asked_for_is_said(user: Path, places: Places) -> None:
    app = ExcerptApp(None, Settings(), places, {"HOME": str(user)}, said="There is no folder at [/red].")
    async with app.run_test() as pilot:
        chooser = await chooser_of(pilot, app)
        assert str(chooser.query_one("#said", Static).content) == "There is no folder at [/red]."


@pytest.mark.parametrize("width", [28, 50, 78])
def test_of_a_long_path_the_end_is_shown_in_a_line_of_the_width_whatever_it_is_called(width: int) -> None:
    paths = ("/home/ada/Documents/" + "deep/" * 30 + "笔记 e\u0301👩\u200d💻", "/a\x1b[31m/\u202eb", "/[red]x", "/")
    rows = VaultList(Path("/home/ada"))
    rows.set_reactive(
        VaultList.rows, tuple(VaultRow(Kind.RECENT, Path(path), Path(path).name, "3mo") for path in paths)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(VaultList, "style_of", lambda _self, _name: Style.null())
        strips = [rows.draw_row(row, width, selected=False, base=Style.null())[0] for row in range(len(paths))]
        assert "/deep " in strips[0].text or width < 50
        for strip in strips:
            assert strip.cell_length == width
            assert strip.text.isprintable() and strip.text.endswith("3mo ")


async def test_the_first_line_tells_vaults_of_one_name_apart(user: Path, places: Places) -> None:
    (user / "old" / "garden").mkdir(parents=True)
    remember_vault(places, user / "garden")
    remember_vault(places, user / "old" / "garden")
    app = app_on(user / "old" / "garden", user, places)
    async with app.run_test() as pilot:
        await until(pilot, lambda: screen_of(app).query_one(TabBar).vault == "old/garden", "the name")
