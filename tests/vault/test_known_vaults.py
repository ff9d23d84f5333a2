"""Tests of the known vaults: recently opened ones, and those in Obsidian's own lists."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from excerpt.base.settings import Paths
from excerpt.vault import known_vaults
from excerpt.vault.known_vaults import (
    VaultFolders,
    add_recent_vault,
    describe_broad_folder,
    obsidian_vaults,
    recent_vaults,
    remove_recent_vault,
    unique_names,
)


@pytest.fixture
def user_paths(tmp_path: Path) -> Paths:
    home = tmp_path / "home"
    return Paths(home / "config", home / "cache", home / "data", home / "state")


def opened(user_paths: Paths) -> list[str]:
    return [recent.path for recent in recent_vaults(user_paths)]


def test_the_last_opened_vault_comes_first_and_each_is_listed_once(user_paths: Paths) -> None:
    for vault in ("/notes/a", "/notes/b", "/notes/a"):
        add_recent_vault(user_paths, Path(vault))
    assert opened(user_paths) == ["/notes/a", "/notes/b"]


def test_a_forgotten_vault_is_no_longer_listed(user_paths: Paths) -> None:
    add_recent_vault(user_paths, Path("/notes/a"))
    add_recent_vault(user_paths, Path("/notes/b"))
    remove_recent_vault(user_paths, Path("/notes/a"))
    assert opened(user_paths) == ["/notes/b"]


def test_the_vaults_opened_longest_ago_are_dropped(user_paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_vaults, "_MAX_RECENT_VAULTS", 2)
    for name in "abc":
        add_recent_vault(user_paths, Path("/notes", name))
    assert opened(user_paths) == ["/notes/c", "/notes/b"]


@pytest.mark.parametrize("damage", ["", "{", '{"path": 7}', '{"path": "", "opened": 0}', "[" * 100_000])
def test_a_damaged_file_of_one_recent_vault_does_not_hide_the_others(user_paths: Paths, damage: str) -> None:
    add_recent_vault(user_paths, Path("/notes/a"))
    (user_paths.state / "vaults" / "other.json").write_text(damage)
    assert opened(user_paths) == ["/notes/a"]


@pytest.mark.skipif(os.name != "posix", reason="only there a name need not be UTF-8")
def test_a_path_that_is_not_utf_8_is_kept_as_it_is(user_paths: Paths) -> None:
    vault = Path(os.fsdecode(b"/notes/caf\xe9"))
    add_recent_vault(user_paths, vault)
    assert opened(user_paths) == [str(vault)]


def write_obsidian_config(folder: Path, **vaults: tuple[str, int]) -> None:
    """Write Obsidian's list of vaults in its own format, with times in ms."""
    listed = {name: {"path": path, "ts": ts, "open": True} for name, (path, ts) in vaults.items()}
    (folder / "obsidian").mkdir(parents=True)
    (folder / "obsidian" / "obsidian.json").write_text(json.dumps({"vaults": listed, "frame": "native"}))


@pytest.mark.parametrize(
    ("platform", "folder"),
    [
        ("linux", ".config"),
        ("linux", ".var/app/md.obsidian.Obsidian/config"),
        ("linux", "snap/obsidian/current/.config"),
        ("darwin", "Library/Application Support"),
        ("win32", "AppData/Roaming"),
    ],
)
def test_the_list_of_obsidian_is_found_on_each_platform(tmp_path: Path, platform: str, folder: str) -> None:
    write_obsidian_config(tmp_path / folder, a=("/notes/a", 1_700_000_000_000), b=("/notes/b", 1_800_000_000_000))
    assert obsidian_vaults({"HOME": str(tmp_path)}, platform) == (Path("/notes/b"), Path("/notes/a"))


def test_lists_of_several_obsidian_installations_are_joined(tmp_path: Path) -> None:
    write_obsidian_config(tmp_path / "xdg", a=("/notes/a", 1), b=("/notes/b", 3))
    write_obsidian_config(tmp_path / "snap/obsidian/current/.config", c=("/notes/c", 2), a=("/notes/a", 4))
    found = obsidian_vaults({"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "xdg")}, "linux")
    assert found == (Path("/notes/a"), Path("/notes/b"), Path("/notes/c"))


@pytest.mark.parametrize("text", ["", "{}", '{"vaults": []}', '{"vaults": {"a": {"ts": 1}}}', "\x00"])
def test_a_list_of_obsidian_vaults_in_another_format_is_ignored(tmp_path: Path, text: str) -> None:
    (tmp_path / "obsidian").mkdir()
    (tmp_path / "obsidian" / "obsidian.json").write_text(text)
    assert obsidian_vaults({"XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)}, "linux") == ()


def test_a_relative_path_in_obsidians_list_of_vaults_is_ignored(tmp_path: Path) -> None:
    write_obsidian_config(tmp_path, a=("notes", 1))
    assert obsidian_vaults({"XDG_CONFIG_HOME": str(tmp_path), "HOME": str(tmp_path)}, "linux") == ()


def test_vaults_of_the_same_name_are_named_by_the_distinctive_part_of_their_paths() -> None:
    paths = ["/a/notes", "/b/notes", "/b/x/Notes", "/c/x/notes", "/wiki", "/notes", "/"]
    names = unique_names([Path(path) for path in paths])
    assert [names[Path(path)] for path in paths] == [
        "a/notes", "b/notes", "b/x/Notes", "c/x/notes", "wiki", "/notes", "/"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("vault", "named"),
    [
        ("/home/ada", "your home folder"),
        ("/home", "a folder around your home folder"),
        ("/", "the root of a disk"),
        ("/home/ada/notes", ""),
        ("/media/stick", ""),
    ],
)
def test_a_folder_that_contains_much_more_than_notes_needs_confirmation(
    user_paths: Paths, vault: str, named: str
) -> None:
    assert describe_broad_folder(user_paths, Path(vault), Path("/home/ada")) == named


def test_a_known_vault_needs_no_confirmation(user_paths: Paths) -> None:
    add_recent_vault(user_paths, Path("/home/ada"))
    user_paths.index_folder(Path("/")).mkdir(parents=True)
    assert [describe_broad_folder(user_paths, Path(path), Path("/home/ada")) for path in ("/home/ada", "/")] == ["", ""]


def test_every_known_vault_is_listed_except_those_that_need_confirmation(
    user_paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "ada"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "ada"))
    for vault in (tmp_path, tmp_path / "ada", tmp_path / "ada" / "notes"):
        add_recent_vault(user_paths, vault)
    assert known_vaults.known_vaults(user_paths, {"HOME": str(tmp_path / "ada")}) == (
        known_vaults.DEMO,
        tmp_path / "ada" / "notes",
    )


def test_the_key_of_one_vault_is_its_folder_and_the_key_of_several_ignores_their_order() -> None:
    work, family = Path("/home/ada/work"), Path("/home/ada/family")
    assert VaultFolders.of([work, family]).key == VaultFolders.of([family, work]).key
    assert VaultFolders.of([work, family]).key not in (work, family)
    assert VaultFolders.of([work, work]).key == work


def test_several_vaults_are_titled_by_their_names() -> None:
    assert VaultFolders.of([Path("/a/work"), Path("/a/family")]).title == "work + family"
    assert VaultFolders.of([Path("/a/work")]).title == "work"
