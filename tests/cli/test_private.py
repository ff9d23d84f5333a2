"""Tests of file modes: excerpt's own files are private whatever the umask; exports follow the user's umask."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Excerpt

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows keeps a profile to its user by other means")


def as_a_process(home: Path, *argv: str | Path) -> subprocess.CompletedProcess[str]:
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


def open_ones(folder: Path) -> dict[str, str]:
    """Return the files that other users have any permission on, each with its mode."""
    modes = {path: path.stat().st_mode & 0o777 for path in (folder, *folder.rglob("*"))}
    return {str(path.relative_to(folder)): f"{mode:o}" for path, mode in modes.items() if mode & 0o077}


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a home with an index, an index of memories, a memory and settings; tests copy it."""
    home, vault = tmp_path_factory.mktemp("used") / "home", tmp_path_factory.mktemp("notes")
    (vault / "Sync.md").write_text("Notes are synchronised between devices: sync them.\n", encoding="utf-8")
    assert as_a_process(home, "remember", "Lentils keep well.", "--vault", vault).returncode == 0
    assert as_a_process(home, "recall", "lentils", "--vault", vault).returncode == 0
    assert as_a_process(home, "pack", "sync", "--vault", vault).returncode == 0
    (home / "config").mkdir(exist_ok=True, mode=0o700)
    (home / "config" / "excerpt.toml").touch(mode=0o600)
    return home


@pytest.mark.programs
def test_nothing_that_is_kept_can_be_read_by_others(used: Path) -> None:
    assert len(list(used.rglob("*"))) > 20
    assert open_ones(used) == {}


@pytest.mark.programs
def test_the_files_of_sqlite_beside_an_open_catalog_are_as_closed(tmp_path: Path, vault: Path) -> None:
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
        found = open_ones(home)
        watching.communicate(timeout=60)
    assert "catalog.sqlite-wal" in names
    assert found == {}


def test_what_an_earlier_version_left_open_is_closed_by_the_next_command(tmp_path: Path, used: Path) -> None:
    home = Path(shutil.copytree(used, tmp_path / "home"))
    for path in (home, *home.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    as_a_process(home, "config", "--check")
    home.chmod(0o700)
    assert open_ones(home) == {}


def test_below_a_closed_folder_nothing_is_looked_at_at_a_start(excerpt: Excerpt, home: Path, vault: Path) -> None:
    excerpt("remember", "Lentils keep well.", "--vault", vault)
    for folder in home.iterdir():
        folder.chmod(0o700)
    (file,) = (home / "data").rglob("*.md")
    file.chmod(0o644)
    excerpt("recall", "--vault", vault)
    assert file.stat().st_mode & 0o777 == 0o644


def test_the_doctor_names_what_others_may_read_and_closes_it_on_request(
    excerpt: Excerpt, home: Path, vault: Path
) -> None:
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
    assert open_ones(home / "data") == open_ones(home / "cache") == {}


def test_links_among_what_is_kept_are_not_followed_when_it_is_closed(
    excerpt: Excerpt, home: Path, vault: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.toml"
    outside.touch()
    outside.chmod(0o644)
    (home / "config").mkdir(parents=True)
    (home / "config" / "excerpt.toml").symlink_to(outside)
    excerpt("config", "--check")
    assert outside.stat().st_mode & 0o777 == 0o644


@pytest.mark.programs
def test_a_file_that_the_user_asks_for_has_the_users_umask(tmp_path: Path, vault: Path) -> None:
    packed = as_a_process(tmp_path / "home", "pack", "sync", "--vault", vault, "-o", tmp_path / "out.md")
    assert packed.returncode == 0, packed.stderr
    assert (tmp_path / "out.md").stat().st_mode & 0o777 == 0o644


def test_an_editor_that_is_started_makes_files_by_the_users_umask(
    tmp_path: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "editor"
    script.write_text(f"#!/bin/sh\ntouch {tmp_path / 'made'}\n")
    script.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(script))
    assert as_a_process(tmp_path / "home", "config", "--edit").returncode == 0
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o644
    assert open_ones(tmp_path / "home") == {}
