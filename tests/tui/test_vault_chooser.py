"""Tests of the app without a vault, and of switching vaults."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path

import pytest
from textual.widgets import Input, OptionList, Static

from excerpt.base.settings import PackSettings, Paths, Settings
from excerpt.memory.memory_file import make_memory
from excerpt.memory.store import FolderMemoryStore
from excerpt.pack.selection import read_marks
from excerpt.tui.app import ExcerptApp
from excerpt.tui.common.dialog import ConfirmDialog
from excerpt.tui.common.tab_bar import TabBar
from excerpt.tui.main_screen import MainScreen
from excerpt.tui.session import read_session
from excerpt.tui.vault_chooser import (
    VaultChooser,
    VaultKind,
    abbreviate_home,
    complete_path,
    filter_rows,
    find_missing,
    is_path,
    list_known_vaults,
)
from excerpt.vault.known_vaults import (
    DEMO,
    RecentVault,
    add_recent_vault,
    recent_vaults,
    save_vault_path,
    suggest_adoption,
)
from tests.tui.driver import AppPilot, notices_of, pane_of, screen_of, search, until, until_screen


@pytest.fixture
def user_home(tmp_path: Path, vault: Path) -> Path:
    """Return a home folder with a vault, an unindexed one, and a missing one in Obsidian's list."""
    assert vault == tmp_path / "vault"
    (tmp_path / "garden").mkdir()
    listed = {"a": {"path": str(tmp_path / "gone"), "ts": 1}}
    (tmp_path / ".config" / "obsidian").mkdir(parents=True)
    (tmp_path / ".config" / "obsidian" / "obsidian.json").write_text(json.dumps({"vaults": listed}))
    return tmp_path


def app_of_user(vault: Path | None, user_home: Path, user_paths: Paths) -> ExcerptApp:
    return ExcerptApp(vault, Settings(pack=PackSettings(budget=2000)), user_paths, {"HOME": str(user_home)})


async def open_chooser(pilot: AppPilot) -> VaultChooser:
    """Return the chooser once it lists the known vaults."""
    chooser = await until_screen(pilot, VaultChooser)
    await until(pilot, lambda: bool(chooser.rows), "the list")
    return chooser


async def until_trouble(pilot: AppPilot, chooser: VaultChooser, words: str) -> None:
    await until(pilot, lambda: words in str(chooser.query_one("#trouble", Static).content), f"to be told: {words}")


async def until_vault(pilot: AppPilot, vault: Path) -> None:
    """Wait until that vault is on the screen and the previous vault's mode is removed.

    Textual cannot end an pilot.app in between.
    """
    await until(pilot, lambda: isinstance(s := pilot.app.screen, MainScreen) and s.vault == vault, f"{vault} to open")
    await until(pilot, lambda: len(pilot.app._screen_stacks) == 1, "the mode of before to go")


@pytest.mark.programs
async def test_without_a_vault_the_chooser_opens_a_typed_and_completed_path(
    user_home: Path, vault: Path, user_paths: Paths
) -> None:
    app = app_of_user(None, user_home, user_paths)
    async with app.run_test() as pilot:
        chooser = await open_chooser(pilot)
        assert [row.path for row in chooser.rows] == [user_home / "gone", DEMO]
        await until(pilot, lambda: chooser.missing_paths == {user_home / "gone"}, "what is missing")
        await pilot.press("enter")
        await until_trouble(pilot, chooser, f"There is no folder at {user_home / 'gone'}.")
        await pilot.press(*"~/vau", "tab", "enter")
        await until_vault(pilot, vault)
        await search(pilot, "conflict")
    assert [each.path for each in recent_vaults(user_paths)] == [str(vault)]


@pytest.mark.programs
async def test_query_and_marks_of_each_vault_are_restored_on_return(
    user_home: Path, vault: Path, user_paths: Paths
) -> None:
    add_recent_vault(user_paths, user_home / "garden")
    add_recent_vault(user_paths, vault)
    app = app_of_user(vault, user_home, user_paths)
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        await pilot.press("tab")
        await app.run_action("switch_vault")
        await open_chooser(pilot)
        await pilot.press("enter")
        await until_vault(pilot, user_home / "garden")
        assert read_session(user_paths.session_file(vault)).query == "conflict"
        assert len(read_marks(user_paths.marks_file(vault)).marks) == 1
        assert pane_of(app).query_text == ""
        await app.run_action("switch_vault")
        await open_chooser(pilot)
        await pilot.press("enter")
        await until_vault(pilot, vault)
        await until(pilot, lambda: (r := pane_of(app).result) is not None and r.query == "conflict", "the answer")
        await until(pilot, lambda: len(pane_of(app).pack.earlier_or_unlisted_marks) == 1, "the line about the mark")


@pytest.mark.programs
async def test_data_of_a_vault_that_is_gone_is_reported(user_home: Path, vault: Path, user_paths: Paths) -> None:
    before = user_home / "before"
    FolderMemoryStore(user_paths.memory_folder(before)).remember(make_memory("one"))
    save_vault_path(user_paths, before)
    app = app_of_user(user_home / "garden", user_home, user_paths)
    async with app.run_test() as pilot:
        await app.run_action("switch_vault")
        await open_chooser(pilot)
        await pilot.press(*str(vault), "enter")
        await until_vault(pilot, vault)
        (said,) = suggest_adoption(user_paths, vault, suggest_moves=True)
        assert said.startswith(f"{before} is gone, and has data: 1 memory.")
        await until(pilot, lambda: said in notices_of(app), "to be told")


@pytest.mark.programs
async def test_no_screen_or_thread_of_the_previous_vault_remains(
    user_home: Path, vault: Path, user_paths: Paths
) -> None:
    add_recent_vault(user_paths, user_home / "garden")
    app = app_of_user(vault, user_home, user_paths)
    async with app.run_test() as pilot:
        await search(pilot, "conflict")
        before = [thread for thread in threading.enumerate() if thread.name in ("engine", "generations")]
        screen = app.screen
        await app.run_action("switch_vault")
        await open_chooser(pilot)
        await pilot.press("enter")
        await until_vault(pilot, user_home / "garden")
        await until(pilot, lambda: not screen.is_running, "the screen to end")
        assert not [thread for thread in before if thread.is_alive()]
        assert len(app.screen_stack) == 1


@pytest.mark.programs
async def test_a_vault_with_invalid_settings_is_not_opened(user_home: Path, vault: Path, user_paths: Paths) -> None:
    file = user_paths.vault_settings_file(vault)
    file.parent.mkdir(parents=True)
    file.write_text("[pack]\nbudget = 'much'\n")
    app = app_of_user(None, user_home, user_paths)
    async with app.run_test() as pilot:
        chooser = await open_chooser(pilot)
        chooser.query_one(Input).value = str(vault)
        await pilot.press("enter")
        await until_trouble(pilot, chooser, "pack.budget is not valid")
        assert app.screen is chooser


@pytest.mark.programs
async def test_typing_filters_the_known_vaults_and_delete_removes_one(user_home: Path, user_paths: Paths) -> None:
    for name in ("Wiki", "Work notes"):
        add_recent_vault(user_paths, user_home / name)
    app = app_of_user(None, user_home, user_paths)
    async with app.run_test() as pilot:
        chooser = await open_chooser(pilot)
        await pilot.press(*"wiki")
        await until(pilot, lambda: [row.name for row in chooser.rows] == ["Wiki"], "the filtered list")
        await pilot.press("shift+tab", "delete")
        assert chooser.rows == ()
        assert [each.path for each in recent_vaults(user_paths)] == [str(user_home / "Work notes")]
        await pilot.press("shift+tab", "ctrl+u")
        await until(pilot, lambda: [row.name for row in chooser.rows][:1] == ["Work notes"], "the whole list")


@pytest.mark.programs
async def test_delete_in_the_field_removes_a_letter_and_no_vault(user_home: Path, user_paths: Paths) -> None:
    add_recent_vault(user_paths, user_home / "Wiki")
    app = app_of_user(None, user_home, user_paths)
    async with app.run_test() as pilot:
        chooser = await open_chooser(pilot)
        await pilot.press(*"wiki", "home", "delete")
        assert chooser.query_one(Input).value == "iki"
        await pilot.press("ctrl+e", "delete")
        assert [row.name for row in chooser.rows] == ["Wiki"]
        assert [each.path for each in recent_vaults(user_paths)] == [str(user_home / "Wiki")]


@pytest.mark.programs
async def test_escape_keeps_the_typed_text_and_closes_only_from_the_list(user_home: Path, user_paths: Paths) -> None:
    app = app_of_user(None, user_home, user_paths)
    async with app.run_test() as pilot:
        chooser = await open_chooser(pilot)
        await pilot.press(*"~/gar", "escape")
        assert chooser.query_one(Input).value == "~/gar"
        assert chooser.query_one(OptionList).has_focus
        await pilot.press("escape")
        await until(pilot, lambda: not app.is_running, "the app to end")


@pytest.mark.programs
async def test_a_click_on_a_vault_opens_it(user_home: Path, user_paths: Paths) -> None:
    add_recent_vault(user_paths, user_home / "garden")
    app = app_of_user(None, user_home, user_paths)
    async with app.run_test() as pilot:
        await open_chooser(pilot)
        await pilot.click(OptionList, offset=(5, 0))
        await until_vault(pilot, user_home / "garden")


@pytest.mark.programs
async def test_a_home_folder_is_opened_only_after_confirmation(user_home: Path, user_paths: Paths) -> None:
    app = app_of_user(None, user_home, user_paths)
    async with app.run_test() as pilot:
        await open_chooser(pilot)
        await pilot.press("~", "enter")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog), "the question")
        await pilot.press("enter")
        await until_trouble(pilot, await open_chooser(pilot), "No vault was opened")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog), "the question")
        await pilot.press("y")
        await until_vault(pilot, user_home)


@pytest.mark.programs
async def test_the_reason_for_asking_for_a_vault_is_shown(user_home: Path, user_paths: Paths) -> None:
    app = ExcerptApp(None, Settings(), user_paths, {"HOME": str(user_home)}, message="There is no folder at [/red].")
    async with app.run_test() as pilot:
        chooser = await open_chooser(pilot)
        assert str(chooser.query_one("#message", Static).content) == "There is no folder at [/red]."


@pytest.mark.programs
@pytest.mark.parametrize("width", [40, 60, 100])
async def test_any_folder_name_is_one_line_that_shows_every_character(
    user_home: Path, user_paths: Paths, width: int
) -> None:
    names = ("deep/" * 30 + "笔记 e\u0301👩\u200d💻", "a\x1b[31m/\u202eb", "[red]x")
    for name in names:
        add_recent_vault(user_paths, user_home / name)
    app = app_of_user(None, user_home, user_paths)
    async with app.run_test(size=(width, 24)) as pilot:
        chooser = await open_chooser(pilot)
        await until(pilot, lambda: len(chooser.missing_paths) == 4, "what is missing")
        rows = chooser.query_one(OptionList)
        lines = [rows.render_line(y).text for y in range(len(chooser.rows))]
        assert all(line.isprintable() for line in lines)
        assert [line.split()[0] for line in lines] == ["recent", "recent", "recent", "Obsidian", "guide"]
        assert any("[red]x" in line for line in lines)


@pytest.mark.programs
async def test_the_first_line_distinguishes_vaults_of_the_same_name(user_home: Path, user_paths: Paths) -> None:
    (user_home / "old" / "garden").mkdir(parents=True)
    add_recent_vault(user_paths, user_home / "garden")
    add_recent_vault(user_paths, user_home / "old" / "garden")
    app = app_of_user(user_home / "old" / "garden", user_home, user_paths)
    async with app.run_test() as pilot:
        await until(pilot, lambda: screen_of(app).query_one(TabBar).vault == "old/garden", "the name")


NOW = 1_800_000_000.0
PATH_MAX = 4096 if sys.platform == "linux" else 1024  # bytes, with the last one 0


def listed(*recent: str, obsidian: tuple[str, ...] = (), current: str | None = None) -> list[tuple[str, str, str]]:
    opened = [RecentVault(path, NOW - hours * 3600) for hours, path in enumerate(recent, start=2)]
    now = Path(current) if current is not None else None
    rows = list_known_vaults(opened, [Path(path) for path in obsidian], NOW, now)
    return [(row.kind, row.path.as_posix(), row.detail) for row in rows if row.path != DEMO]


def test_each_vault_is_listed_once_recently_opened_ones_before_obsidians() -> None:
    assert listed("/a", "/b", obsidian=("/b", "/c")) == [
        ("recent", "/a", "2h"),
        ("recent", "/b", "3h"),
        ("Obsidian", "/c", ""),
    ]


def test_the_demo_vault_is_always_listed_last() -> None:
    assert list_known_vaults((), (), NOW, None)[-1].path == DEMO
    assert list_known_vaults([RecentVault("/a", NOW)], [Path("/b")], NOW, None)[-1].kind is VaultKind.GUIDE


def test_the_open_vault_is_labelled_whether_it_was_saved_or_not() -> None:
    assert listed("/a", "/b", obsidian=("/b",), current="/b") == [("recent", "/a", "2h"), ("recent", "/b", "open now")]
    assert listed("/a", current="/new") == [("recent", "/new", "open now"), ("recent", "/a", "2h")]


def test_vaults_of_the_same_name_are_distinguished_and_no_folder_is_repeated() -> None:
    rows = list_known_vaults(
        [RecentVault("/home/ada/office/notes", NOW)], [Path("/home/ada/own/notes")], NOW, Path("/srv/wiki")
    )
    assert [(row.name, row.shortened_location(Path("/home/ada"))) for row in rows[:3]] == [
        ("wiki", "/srv"),
        ("office/notes", "~"),
        ("own/notes", "~"),
    ]


def test_words_are_searched_in_names_and_paths() -> None:
    rows = list_known_vaults([RecentVault("/home/ada/Work notes", NOW), RecentVault("/srv/wiki", NOW)], (), NOW, None)
    assert [row.name for row in filter_rows(rows, "WORK ada")] == ["Work notes"]
    assert [row.name for row in filter_rows(rows, "guide")] == ["The guide"]


@pytest.mark.parametrize(("typed", "path"), [("~", True), ("./a", True), ("a/b", True), ("notes", False), ("", False)])
def test_a_typed_path_is_distinguished_from_words_to_search(typed: str, path: bool) -> None:
    assert is_path(typed) is path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for folder in ("notes/.obsidian", "notes-old", "My notes", ".notes", "work/wiki"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "notes.md").write_text("a file")
    return tmp_path


def listed_names(typed: str, here: Path) -> list[str]:
    return [row.name for row in complete_path(typed, here, here)]


def test_a_typed_path_lists_the_folders_it_may_become(home: Path) -> None:
    assert listed_names(f"{home}/no", home) == ["notes", "notes-old", "My notes"]
    assert listed_names("./WO", home) == ["work"]
    assert listed_names("work/", home) == ["work", "wiki"]
    assert listed_names("./.n", home) == [".notes"]


def test_the_typed_folder_is_first_and_a_vault_of_obsidian_is_labelled(home: Path) -> None:
    first, second, *_ = complete_path("~/notes", home, home)
    assert (first.kind, first.path, first.detail) == (VaultKind.TYPED, home / "notes", "Obsidian vault")
    assert (second.kind, second.name, second.detail) == (VaultKind.FOLDER, "notes-old", "")


@pytest.mark.skipif(os.name == "nt", reason="its paths may be longer")
def test_an_unreadable_folder_is_listed_too(tmp_path: Path) -> None:
    # A path so long that no file in the folder can be asked for, as in a folder of another user.
    folder = tmp_path
    while (left := PATH_MAX - 5 - len(os.fsencode(folder))) > 1:
        folder = folder / ("a" * min(left - 1, 200))
    folder.mkdir(parents=True)
    assert [row.path for row in complete_path(str(folder), tmp_path, tmp_path)] == [folder]
    assert [row.path for row in complete_path(f"{folder.parent}/", tmp_path, tmp_path)] == [folder.parent, folder]


@pytest.mark.parametrize("typed", ["/nowhere/at/all", "~nobody-of-that-name/x", "a/\x00", "notes.md/x"])
def test_a_typed_path_that_leads_nowhere_lists_no_folder(home: Path, typed: str) -> None:
    assert complete_path(typed, home, home) == ()


def test_a_deleted_vault_is_recognised_as_missing(home: Path) -> None:
    rows = list_known_vaults(
        [RecentVault(str(home / "notes"), NOW), RecentVault(str(home / "gone"), NOW)], (), NOW, None
    )
    assert find_missing(rows) == {home / "gone"}


def test_paths_below_the_home_folder_are_short(home: Path) -> None:
    assert abbreviate_home(home / "texts" / "wiki", home) == "~/texts/wiki"
    assert abbreviate_home(home, home) == "~"
    assert abbreviate_home(Path("/srv/wiki"), home) == "/srv/wiki"
