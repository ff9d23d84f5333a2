"""Tests of files of the program's own: written atomically, and private whatever the umask."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from excerpt.base.kinds import Format, Scope, Strategy
from excerpt.base.model import Span
from excerpt.base.settings import Paths
from excerpt.base.state_files import append_lines, load_value, parse_lines, read_value, replace_file, write_value
from excerpt.pack.savings import SavingsFile, TokenSavings
from excerpt.pack.selection import MarkedFragment, PackOverrides, SavedMarks, read_marks
from excerpt.search.saved_queries import SavedQueries, read_saved
from excerpt.search.usage import UseEvent, UseKind, UseLog
from excerpt.tui.search.query_history import read_history
from excerpt.tui.session import NEW_SESSION, SelectedPosition, Session, read_session
from excerpt.vault import known_vaults
from excerpt.vault.known_vaults import RecentVault, recent_vaults
from tests.cli.conftest import Excerpt
from tests.cli.conftest import excerpt as run_excerpt
from tests.cli.conftest import home as excerpt_home
from tests.cli.conftest import vault as small_vault

excerpt, home, vault = run_excerpt, excerpt_home, small_vault  # fixtures


@dataclass(frozen=True, slots=True)
class Shape:
    path: str
    number: int = 0


NAMES = ("a.md", "ü冲突.md", "not UTF-8 \udce9.md", 'a "quoted"\\ \n\u2028.md')


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("lasting", [True, False])
def test_a_written_value_is_read_back_and_its_file_is_private(tmp_path: Path, name: str, lasting: bool) -> None:
    file = tmp_path / "state" / "value.json"
    for number in (1, 2):
        write_value(file, Shape(name, number), lasting=lasting)
    assert load_value(file, Shape) == Shape(name, 2)
    assert [one.name for one in file.parent.iterdir()] == ["value.json"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"path": 3}', "[" * 100_000, "\udce9", '{"path": "'])
def test_every_kind_of_invalid_content_raises_the_same_error(tmp_path: Path, damage: str) -> None:
    data = damage.encode("utf-8", "surrogateescape")
    file = tmp_path / "value.json"
    file.write_bytes(data)
    with pytest.raises(ValueError):
        load_value(file, Shape)
    assert read_value(file, Shape, None) is None
    assert read_value(tmp_path / "none.json", Shape, Shape("default")) == Shape("default")
    assert list(parse_lines(data + b'\n{"path": "a", "later": true}\n', Shape)) == [Shape("a")]


def test_a_log_has_one_value_per_line_and_appending_returns_its_size(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    append_lines(file, [Shape(name) for name in NAMES[:2]])
    with file.open("ab") as opened:
        opened.write(b'{"path": "cut')
    assert append_lines(file, [Shape(name) for name in NAMES[2:]]) == file.stat().st_size
    assert [one.path for one in parse_lines(file.read_bytes(), Shape)] == list(NAMES)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_file_has_the_requested_mode(tmp_path: Path) -> None:
    replace_file(tmp_path / "settings.toml", b"", lasting=True, mode=0o644)
    assert stat.S_IMODE((tmp_path / "settings.toml").stat().st_mode) == 0o644


# --- earlier formats --------------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file"


def test_a_history_of_an_earlier_version_is_read(file: Path) -> None:
    file.write_bytes(b'{"query": "sync"}\n{"query": "a \\"quoted\\" \\u51b2\\u7a81 \\udc80"}\n')
    assert read_history(file).queries == ('a "quoted" 冲突 \udc80', "sync")


def test_marks_of_an_earlier_version_are_read(file: Path) -> None:
    file.write_bytes(
        b'{"query": "wie \\u201csync\\u201d \\udce9", "marks": [{"fragment": "4be1c0a2d3f4", "path": '
        b'"\\u00fc\\udce9.md", "spans": [[4, 12], [20, 21]]}, {"fragment": "0c1d2e3f4a5b", "path": "b.md", "spans": '
        b'[]}], "dropped": ["aa", "bb"], "scopes": {"4be1c0a2d3f4": "section"}, "order": ["0c1d2e3f4a5b"]}\n'
    )
    assert read_marks(file) == SavedMarks(
        query="wie “sync” \udce9",
        marks=(
            MarkedFragment("4be1c0a2d3f4", "ü\udce9.md", (Span(4, 12), Span(20, 21))),
            MarkedFragment("0c1d2e3f4a5b", "b.md"),
        ),
        overrides=PackOverrides(frozenset({"aa", "bb"}), (("4be1c0a2d3f4", Scope.SECTION),), ("0c1d2e3f4a5b",)),
    )


def test_saved_queries_of_an_earlier_version_are_read(file: Path) -> None:
    file.write_bytes(
        b'{\n  "queries": [\n    {\n      "name": "weekly",\n      "query": "modified:7d"\n    },\n    {\n      '
        b'"name": "\xe5\x8d\x8a",\n      "query": "a \\"quoted\\" \\udc80"\n    }\n  ]\n}\n'
    )
    assert read_saved(file) == SavedQueries().with_query("weekly", "modified:7d").with_query("半", 'a "quoted" \udc80')


def test_savings_of_an_earlier_version_are_read(file: Path) -> None:
    file.write_bytes(
        b'{"since": "2025-03-01", "packs": 1, "tokens": 100, "source_tokens": 1000, "last": "34f2ddaa8b7615c9"}\n'
    )
    assert SavingsFile(file).read() == TokenSavings("2025-03-01", 1, 100, 1000, "34f2ddaa8b7615c9")


def test_a_session_of_an_earlier_version_is_read(file: Path) -> None:
    file.write_bytes(
        b'{"tab": "search", "query": "sync", "place": {"fragment": "aaaaaaaaaaaa", "path": "Notes/A [x].md", "line": '
        b'12}, "strategy": "semantic", "scope": "note", "budget": 8000, "form": "xml", "share": 0.61}\n'
    )
    place = SelectedPosition("aaaaaaaaaaaa", "Notes/A [x].md", 12)
    assert read_session(file) == Session("search", "sync", place, Strategy.SEMANTIC, Scope.NOTE, 8000, Format.XML, 0.61)
    file.write_bytes(
        b'{"tab": "search", "query": "", "place": null, "strategy": null, "scope": null, "budget": null, "form": null, '
        b'"share": null}\n'
    )
    assert read_session(file) == NEW_SESSION


def test_a_usage_log_of_an_earlier_version_is_read(file: Path) -> None:
    file.write_bytes(
        b'{"time": "2026-01-01T00:00:00.500Z", "kind": "opened", "query": "sync", "path": "\xc3\xbc\\udce9.md", '
        b'"fragment": "aa", "rank": 2, "share": 0.5, "above": ["a.md"]}\n'
        b'{"time": "2026-01-01T00:00:01.000Z", "kind": "marked", "query": "sync", "path": "b.md"}\n'
    )
    assert UseLog(file).events() == (
        UseEvent(1767225600.5, UseKind.OPENED, "sync", "ü\udce9.md", "aa", 2, 0.5, ("a.md",)),
        UseEvent(1767225601.0, UseKind.MARKED, "sync", "b.md"),
    )


def test_known_vaults_of_an_earlier_version_are_read(tmp_path: Path) -> None:
    where = Paths(tmp_path, tmp_path, tmp_path / "data", tmp_path / "state")
    for folder in (where.data, where.state):
        (folder / "vaults").mkdir(parents=True)
    vault = Path("/home/ada/v\udce9")
    (where.state / "vaults" / "v--c557ce8584.json").write_bytes(
        b'{"path": "/home/ada/v\\udce9", "opened": 1767225600.25}\n'
    )
    where.known_path_file(vault).write_bytes(b'{"path": "/home/ada/v\\udce9", "notes": {"a.md": "4adf4367f96e584f"}}\n')
    assert recent_vaults(where) == (RecentVault(str(vault), 1767225600.25),)
    slug = where.known_path_file(vault).stem
    assert known_vaults._last_known_path(where, slug) == str(vault)


def run_as_process(home: Path, *argv: str | Path) -> subprocess.CompletedProcess[str]:
    """Run `excerpt` with the umask that most systems have."""
    return subprocess.run(
        [sys.executable, "-m", "excerpt", *map(str, argv)],
        env={**os.environ, "EXCERPT_HOME": str(home)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        umask=0o022,
    )


def files_open_to_others(folder: Path) -> dict[str, str]:
    """Return the files that other users have any permission on, each with its mode."""
    modes = {path: path.stat().st_mode & 0o777 for path in (folder, *folder.rglob("*"))}
    return {str(path.relative_to(folder)): f"{mode:o}" for path, mode in modes.items() if mode & 0o077}


@pytest.fixture(scope="module")
def used_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home with an index, an index of memories, a memory and settings; tests copy it."""
    home, vault = tmp_path_factory.mktemp("used") / "home", tmp_path_factory.mktemp("notes")
    (vault / "Sync.md").write_text("Notes are synchronised between devices: sync them.\n", encoding="utf-8")
    assert run_as_process(home, "remember", "Lentils keep well.", "--vault", vault).returncode == 0
    assert run_as_process(home, "recall", "lentils", "--vault", vault).returncode == 0
    assert run_as_process(home, "pack", "sync", "--vault", vault).returncode == 0
    (home / "config").mkdir(exist_ok=True, mode=0o700)
    (home / "config" / "excerpt.toml").touch(mode=0o600)
    return home


@pytest.mark.skipif(os.name != "posix", reason="Windows keeps a profile to its user by other means")
@pytest.mark.programs
def test_no_saved_file_is_readable_by_others(used_home: Path) -> None:
    assert len(list(used_home.rglob("*"))) > 20
    assert files_open_to_others(used_home) == {}


@pytest.mark.skipif(os.name != "posix", reason="Windows keeps a profile to its user by other means")
@pytest.mark.programs
def test_files_of_sqlite_beside_an_open_catalog_are_private(tmp_path: Path, vault: Path) -> None:
    home = tmp_path / "home"
    watching = subprocess.Popen(
        [sys.executable, "-m", "excerpt", "watch", "--progress", "--vault", str(vault)],
        env={**os.environ, "EXCERPT_HOME": str(home)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        umask=0o022,
    )
    with watching:
        assert watching.stdout is not None
        next(line for line in watching.stdout if b'"watching"' in line)
        names = [file.name for file in home.rglob("*")]
        found = files_open_to_others(home)
        watching.communicate(timeout=240)
    assert "catalog.sqlite-wal" in names
    assert found == {}


@pytest.mark.skipif(os.name != "posix", reason="Windows keeps a profile to its user by other means")
def test_files_left_open_by_an_earlier_version_are_closed_by_the_next_command(tmp_path: Path, used_home: Path) -> None:
    home = Path(shutil.copytree(used_home, tmp_path / "home"))
    for path in (home, *home.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    run_as_process(home, "config", "--check")
    home.chmod(0o700)
    assert files_open_to_others(home) == {}


@pytest.mark.skipif(os.name != "posix", reason="Windows keeps a profile to its user by other means")
def test_below_a_private_folder_no_file_is_checked_at_the_start(excerpt: Excerpt, home: Path, vault: Path) -> None:
    excerpt("remember", "Lentils keep well.", "--vault", vault)
    for folder in home.iterdir():
        folder.chmod(0o700)
    (file,) = (home / "data").rglob("*.md")
    file.chmod(0o644)
    excerpt("recall", "--vault", vault)
    assert file.stat().st_mode & 0o777 == 0o644


@pytest.mark.skipif(os.name != "posix", reason="Windows keeps a profile to its user by other means")
def test_the_doctor_names_files_readable_by_others_and_fixes_them(excerpt: Excerpt, home: Path, vault: Path) -> None:
    excerpt("remember", "Lentils keep well.", "--vault", vault)
    excerpt("index", "--vault", vault)
    for path in home.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    (file,) = (home / "data").rglob("*.md")
    file.chmod(0o640)
    assert "No other user can read these folders" in excerpt("doctor", "--vault", vault).out
    shared = [home / "cache", home / "data", home / "data" / "memories", file.parent]
    for folder in shared:
        folder.chmod(0o755)
    said = excerpt("doctor", "--vault", vault).out
    assert f"5 files and folders: {', '.join(map(str, shared[:3]))} and 2 more" in said
    mended = excerpt("doctor", "--vault", vault, "--fix").out
    assert re.search("^  done .*5 files and folders", mended, re.M)
    assert str(file) not in mended
    assert files_open_to_others(home / "data") == files_open_to_others(home / "cache") == {}


@pytest.mark.skipif(os.name != "posix", reason="Windows keeps a profile to its user by other means")
def test_links_among_saved_files_are_not_followed_when_modes_are_fixed(
    excerpt: Excerpt, home: Path, vault: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.toml"
    outside.touch()
    outside.chmod(0o644)
    (home / "config").mkdir(parents=True)
    (home / "config" / "excerpt.toml").symlink_to(outside)
    excerpt("config", "--check")
    assert outside.stat().st_mode & 0o777 == 0o644


@pytest.mark.skipif(os.name != "posix", reason="Windows keeps a profile to its user by other means")
@pytest.mark.programs
def test_a_file_requested_by_the_user_has_the_users_umask(tmp_path: Path, vault: Path) -> None:
    packed = run_as_process(tmp_path / "home", "pack", "sync", "--vault", vault, "-o", tmp_path / "out.md")
    assert packed.returncode == 0, packed.stderr
    assert (tmp_path / "out.md").stat().st_mode & 0o777 == 0o644


@pytest.mark.skipif(os.name != "posix", reason="Windows keeps a profile to its user by other means")
def test_a_started_editor_has_the_users_umask(tmp_path: Path, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "editor"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path / 'made'}\n")
    script.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(script))
    assert run_as_process(tmp_path / "home", "config", "--edit").returncode == 0
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o644
    assert files_open_to_others(tmp_path / "home") == {}
