"""Links of Obsidian's, and what opens them where."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excerpt.errors import ExcerptError
from excerpt.tui.obsidian import link_opener, note_link, obsidian_vault, open_link

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
    assert note_link(ROOT, ROOT / note, headings) == link


@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1).filter(lambda name: "/" not in name))
def test_any_name_is_read_back_from_the_link_as_it_is(name: str) -> None:
    if name in (".", ".."):
        return
    query = urlsplit(note_link(ROOT, ROOT / f"{name}.md", ())).query
    assert parse_qs(query, keep_blank_values=True) == {"vault": ["My vault"], "file": [name]}


def test_the_vault_of_obsidian_may_be_a_folder_above(tmp_path: Path) -> None:
    (tmp_path / ".obsidian").mkdir()
    inner = tmp_path / "Projects"
    inner.mkdir()
    assert obsidian_vault(inner) == tmp_path
    (inner / ".obsidian").mkdir()
    assert obsidian_vault(inner) == inner


def test_a_folder_that_obsidian_does_not_know_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ExcerptError, match=r"has no .obsidian folder. Open the folder in Obsidian once."):
        obsidian_vault(tmp_path)


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
    assert link_opener(environment, having(*programs), platform) == expected


def test_a_program_gets_the_link_as_one_word_and_what_it_answers_counts(tmp_path: Path) -> None:
    link = "obsidian://open?vault=a&file=b%20c"
    taken = tmp_path / "taken"
    assert open_link(("sh", "-c", f'printf "%s" "$1" > "{taken}"', "sh", link), {"PATH": "/usr/bin:/bin"})
    assert taken.read_text() == link
    assert not open_link(("false",), {"PATH": "/usr/bin:/bin"})
    assert not open_link((str(tmp_path / "none"),), {})
