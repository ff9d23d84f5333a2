"""Tests of Obsidian links, and of the program that opens them on each system."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.corpus.passage_links import find_obsidian_vault, make_obsidian_link
from excerpt.settings import Paths, Settings
from excerpt.tui.app import ExcerptApp
from excerpt.tui.programs import find_link_opener, open_link
from tests.tui.driver import pane_of, screen_of, search, until

ROOT = Path("/home/ada/My vault")


def having(*names: str) -> Callable[[str], str | None]:
    return lambda name: f"/usr/bin/{name}" if name in names else None


@pytest.mark.parametrize(
    ("note", "headings", "link"),
    [
        ("Sync.md", (), "obsidian://open?vault=My%20vault&file=Sync"),
        ("R&D/a?b=c#d.md", (), "obsidian://open?vault=My%20vault&file=R%26D%2Fa%3Fb%3Dc%23d"),
        (
            "Sync.md",
            ("How to", "C#: [[x]] 100%"),
            "obsidian://open?vault=My%20vault&file=Sync%23How%20to%23C%20x%20100",
        ),
        ("同步.markdown", (), "obsidian://open?vault=My%20vault&file=%E5%90%8C%E6%AD%A5.markdown"),
        ("caf\udce9.md", (), "obsidian://open?vault=My%20vault&file=caf%E9"),
    ],
)
def test_a_link_names_vault_note_and_heading_with_every_reserved_character_encoded(
    note: str, headings: tuple[str, ...], link: str
) -> None:
    assert make_obsidian_link(ROOT, ROOT / note, headings) == link


@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1).filter(lambda name: "/" not in name))
def test_any_name_is_read_back_from_the_link_as_it_is(name: str) -> None:
    if name in (".", ".."):
        return
    query = urlsplit(make_obsidian_link(ROOT, ROOT / f"{name}.md", ())).query
    assert parse_qs(query, keep_blank_values=True) == {"vault": ["My vault"], "file": [name]}


def test_the_vault_of_obsidian_may_be_a_folder_above(tmp_path: Path) -> None:
    (tmp_path / ".obsidian").mkdir()
    inner = tmp_path / "Projects"
    inner.mkdir()
    assert find_obsidian_vault(inner) == tmp_path
    (inner / ".obsidian").mkdir()
    assert find_obsidian_vault(inner) == inner


def test_a_folder_that_obsidian_does_not_know_has_no_vault(tmp_path: Path) -> None:
    assert find_obsidian_vault(tmp_path) is None


@pytest.mark.parametrize(
    ("environment", "programs", "platform", "expected"),
    [
        ({}, ["open"], "darwin", ("open",)),
        ({"DISPLAY": ":0"}, ["xdg-open"], "linux", ("xdg-open",)),
        ({"WAYLAND_DISPLAY": "wayland-0"}, ["xdg-open"], "linux", ("xdg-open",)),
        ({}, ["rundll32.exe"], "win32", ("rundll32.exe", "url.dll,FileProtocolHandler")),
        ({"WSL_DISTRO_NAME": "Debian"}, ["wslview", "rundll32.exe"], "linux", ("wslview",)),
        ({"WSL_DISTRO_NAME": "Debian"}, ["rundll32.exe"], "linux", ("rundll32.exe", "url.dll,FileProtocolHandler")),
        ({}, ["xdg-open"], "linux", None),
        ({"DISPLAY": ":0"}, [], "linux", None),
        ({"DISPLAY": ":10", "SSH_CONNECTION": "a b"}, ["xdg-open"], "linux", None),
    ],
)
def test_each_system_opens_links_in_its_own_way(
    environment: dict[str, str], programs: list[str], platform: str, expected: tuple[str, ...] | None
) -> None:
    assert find_link_opener(environment, having(*programs), platform) == expected


def test_a_program_gets_the_link_as_one_word_and_what_it_answers_counts(tmp_path: Path) -> None:
    link = "obsidian://open?vault=a&file=b%20c"
    taken = tmp_path / "taken"
    assert open_link(("sh", "-c", f'printf "%s" "$1" > "{taken}"', "sh", link), {"PATH": "/usr/bin:/bin"})
    assert taken.read_text() == link
    assert not open_link(("false",), {"PATH": "/usr/bin:/bin"})
    assert not open_link((str(tmp_path / "none"),), {})


@pytest.mark.programs
@pytest.mark.skipif(os.name != "posix", reason="the stand-in is a shell script")
async def test_the_fragment_in_sight_is_opened_at_its_heading_and_without_a_desktop_its_link_is_copied(
    vault: Path, user_paths: Paths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opener = tmp_path / "bin" / "xdg-open"
    opener.parent.mkdir()
    opener.write_text(f'#!/bin/sh\nprintf "%s" "$1" > "{tmp_path}/opened"\n')
    opener.chmod(0o755)
    monkeypatch.setenv("PATH", f"{opener.parent}:{os.environ['PATH']}")
    (vault / ".obsidian").mkdir()
    link = f"obsidian://open?vault={vault.name}&file=Sync%23Conflicts"
    app = ExcerptApp(vault, Settings(), user_paths, {"DISPLAY": ":0", "PATH": os.environ["PATH"]})
    async with app.run_test() as pilot:
        await search(pilot, "two devices change one note")
        await app.run_action("obsidian", pane_of(app))
        opened = tmp_path / "opened"
        await until(pilot, lambda: opened.exists() and opened.read_text() == link, "Obsidian")
        screen_of(app)._environment.clear()
        await pilot.press("shift+tab", "O")
        copies = user_paths.copies_folder()
        await until(pilot, lambda: bool(list(copies.glob("copy-*"))), "the copy of the link")
        assert [file.read_text() for file in copies.glob("copy-*")] == [link]
