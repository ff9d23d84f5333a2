"""Tests of the rows of the vault chooser."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from excerpt.known_vaults import DEMO, RecentVault
from excerpt.tui.vault_chooser import (
    VaultKind,
    abbreviate_home,
    complete_path,
    filter_rows,
    find_missing,
    is_path,
    list_known_vaults,
)

NOW = 1_800_000_000.0
PATH_MAX = 4096 if sys.platform == "linux" else 1024  # bytes, with the last one 0


def listed(*recent: str, obsidian: tuple[str, ...] = (), current: str | None = None) -> list[tuple[str, str, str]]:
    opened = [RecentVault(path, NOW - hours * 3600) for hours, path in enumerate(recent, start=2)]
    now = Path(current) if current is not None else None
    rows = list_known_vaults(opened, [Path(path) for path in obsidian], NOW, now)
    return [(row.kind, row.path.as_posix(), row.detail) for row in rows if row.path != DEMO]


def test_each_vault_is_listed_once_those_opened_lately_before_obsidians() -> None:
    assert listed("/a", "/b", obsidian=("/b", "/c")) == [
        ("recent", "/a", "2h"),
        ("recent", "/b", "3h"),
        ("Obsidian", "/c", ""),
    ]


def test_the_demo_stands_last_and_always() -> None:
    assert list_known_vaults((), (), NOW, None)[-1].path == DEMO
    assert list_known_vaults([RecentVault("/a", NOW)], [Path("/b")], NOW, None)[-1].kind is VaultKind.GUIDE


def test_the_vault_that_is_open_says_so_whether_it_was_kept_or_not() -> None:
    assert listed("/a", "/b", obsidian=("/b",), current="/b") == [("recent", "/a", "2h"), ("recent", "/b", "open now")]
    assert listed("/a", current="/new") == [("recent", "/new", "open now"), ("recent", "/a", "2h")]


def test_vaults_of_one_name_are_told_apart_and_no_folder_is_said_twice() -> None:
    rows = list_known_vaults(
        [RecentVault("/home/ada/office/notes", NOW)], [Path("/home/ada/own/notes")], NOW, Path("/srv/wiki")
    )
    assert [(row.name, row.shortened_location(Path("/home/ada"))) for row in rows[:3]] == [
        ("wiki", "/srv"),
        ("office/notes", "~"),
        ("own/notes", "~"),
    ]


def test_words_are_looked_for_in_names_and_paths() -> None:
    rows = list_known_vaults([RecentVault("/home/ada/Work notes", NOW), RecentVault("/srv/wiki", NOW)], (), NOW, None)
    assert [row.name for row in filter_rows(rows, "WORK ada")] == ["Work notes"]
    assert [row.name for row in filter_rows(rows, "guide")] == ["The guide"]


@pytest.mark.parametrize(("typed", "path"), [("~", True), ("./a", True), ("a/b", True), ("notes", False), ("", False)])
def test_a_path_is_told_from_a_word(typed: str, path: bool) -> None:
    assert is_path(typed) is path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    for folder in ("notes/.obsidian", "notes-old", "My notes", ".notes", "work/wiki"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "notes.md").write_text("a file")
    return tmp_path


def names(typed: str, here: Path) -> list[str]:
    return [row.name for row in complete_path(typed, here, here)]


def test_a_path_as_it_is_typed_lists_the_folders_it_may_become(home: Path) -> None:
    assert names(f"{home}/no", home) == ["notes", "notes-old", "My notes"]
    assert names("./WO", home) == ["work"]
    assert names("work/", home) == ["work", "wiki"]
    assert names("./.n", home) == [".notes"]


def test_the_folder_that_is_typed_stands_first_and_a_vault_of_obsidian_is_said_to_be_one(home: Path) -> None:
    first, second, *_ = complete_path("~/notes", home, home)
    assert (first.kind, first.path, first.detail) == (VaultKind.TYPED, home / "notes", "Obsidian vault")
    assert (second.kind, second.name, second.detail) == (VaultKind.FOLDER, "notes-old", "")


@pytest.mark.skipif(os.name == "nt", reason="its paths may be longer")
def test_a_folder_that_cannot_be_looked_into_is_listed_too(tmp_path: Path) -> None:
    # A path so long that no file in the folder can be asked for, as in a folder of another user.
    folder = tmp_path
    while (left := PATH_MAX - 5 - len(os.fsencode(folder))) > 1:
        folder = folder / ("a" * min(left - 1, 200))
    folder.mkdir(parents=True)
    assert [row.path for row in complete_path(str(folder), tmp_path, tmp_path)] == [folder]
    assert [row.path for row in complete_path(f"{folder.parent}/", tmp_path, tmp_path)] == [folder.parent, folder]


@pytest.mark.parametrize("typed", ["/nowhere/at/all", "~nobody-of-that-name/x", "a/\x00", "notes.md/x"])
def test_a_path_that_leads_nowhere_lists_nothing(home: Path, typed: str) -> None:
    assert complete_path(typed, home, home) == ()


def test_a_vault_that_was_removed_is_known_to_be_missing(home: Path) -> None:
    rows = list_known_vaults(
        [RecentVault(str(home / "notes"), NOW), RecentVault(str(home / "gone"), NOW)], (), NOW, None
    )
    assert find_missing(rows) == {home / "gone"}


def test_paths_below_the_home_folder_are_short(home: Path) -> None:
    assert abbreviate_home(home / "texts" / "wiki", home) == "~/texts/wiki"
    assert abbreviate_home(home, home) == "~"
    assert abbreviate_home(Path("/srv/wiki"), home) == "/srv/wiki"
