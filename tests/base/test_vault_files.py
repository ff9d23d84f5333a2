"""Tests of folders and files that become links while being read: nothing outside the vault is read."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from excerpt.base import vault_files
from excerpt.base.errors import ReadError
from excerpt.base.settings import VaultSettings
from excerpt.index.prepare import FileTask, PrepareOptions, prepare
from excerpt.vault.readers import load_bytes
from excerpt.vault.scan import scan

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links take a privilege on Windows")

DEFAULTS = VaultSettings()
TIMES = 3_000


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """Write a folder beside the vault with a note named as one in the vault, and one named as none."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "a.md").write_text("outside")
    (folder / "secret.md").write_text("outside")
    (folder / "b.csv").write_text("outside,outside\n1,2\n")
    return folder


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    (folder / "x" / "sub").mkdir(parents=True)
    (folder / "x" / "sub" / "a.md").write_text("inside")
    (folder / "x" / "sub" / "b.csv").write_text("inside,inside\n1,2\n")
    return folder


def swap(folder: Path, target: Path) -> None:
    """Replace a folder by a link to `target`."""
    folder.rename(folder.with_name(f".{folder.name}"))
    folder.symlink_to(target)


def swap_back(folder: Path) -> None:
    folder.unlink()
    folder.with_name(f".{folder.name}").rename(folder)


@contextmanager
def swapping(folder: Path, target: Path) -> Iterator[None]:
    """Swap a folder for a link and back continuously within the context."""
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            swap(folder, target)
            swap_back(folder)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def do_after_listing(monkeypatch: pytest.MonkeyPatch, folder: int, action: Callable[[], None]) -> None:
    """Run `action` after a scan has listed its first, second or third folder."""
    listed: list[object] = []
    scandir = os.scandir

    @contextmanager
    def counted(place: str | int) -> Iterator[Iterator[os.DirEntry[str]]]:
        with scandir(place) as found:
            entries: list[Any] = list(found)
        listed.append(place)
        if len(listed) == folder:
            action()
        yield iter(entries)

    monkeypatch.setattr(os, "scandir", counted)


@pytest.mark.parametrize("folder", ["x", "x/sub"])
def test_a_scanned_file_is_not_read_if_its_folder_became_a_link(vault: Path, outside: Path, folder: str) -> None:
    found = scan(vault, DEFAULTS).files
    (outside / "sub").symlink_to(outside)
    swap(vault / folder, outside)
    for file in found:
        with pytest.raises(ReadError, match="link"):
            load_bytes(vault, file.path, 1000)


def test_an_attachment_is_read_again_once_its_folder_is_no_longer_a_link(vault: Path, outside: Path) -> None:
    (file,) = (file for file in scan(vault, DEFAULTS).files if file.path.endswith(".csv"))
    task = FileTask(file.path, file.size, file.mtime_ns, file.ctime_ns, kind="sheet")
    swap(vault / "x" / "sub", outside)
    away = prepare(PrepareOptions(vault, "o200k", DEFAULTS), [task])
    assert not away.notes
    assert not away.given_up  # to be tried again: its content was not read, and its times did not change
    swap_back(vault / "x" / "sub")
    assert [note.path for note in prepare(PrepareOptions(vault, "o200k", DEFAULTS), [task]).notes] == ["x/sub/b.csv"]


def test_a_scan_lists_nothing_outside_the_vault_if_a_folder_becomes_a_link(
    vault: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    do_after_listing(monkeypatch, 2, lambda: swap(vault / "x" / "sub", outside))
    found = scan(vault, DEFAULTS)
    paths = [file.path for file in found.files] + [skip.path for skip in found.skipped]
    assert not [path for path in paths if "secret" in path]


def test_the_rules_of_an_ignore_file_are_read_from_the_folder_that_is_listed(
    vault: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (outside / ".gitignore").write_text("!a.md\n")
    (vault / "x" / "sub" / ".gitignore").write_text("a.md\n")
    do_after_listing(monkeypatch, 3, lambda: swap(vault / "x" / "sub", outside))
    assert [file.path for file in scan(vault, DEFAULTS).files] == ["x/sub/b.csv"]


def test_nothing_outside_the_vault_is_read_while_a_folder_is_swapped_with_a_link(vault: Path, outside: Path) -> None:
    texts: set[bytes] = set()
    with swapping(vault / "x" / "sub", outside):
        for _ in range(TIMES):
            try:
                texts.add(load_bytes(vault, "x/sub/a.md", 1000))
            except ReadError:
                continue
    assert texts <= {b"inside"}


@pytest.mark.parametrize("path", ["../outside/a.md", "x/../../outside/a.md", "/x/sub/a.md", "", "x//sub/a.md", "."])
def test_a_path_outside_the_vault_is_not_opened(vault: Path, outside: Path, path: str) -> None:
    assert outside.is_dir()
    with pytest.raises(ReadError):
        load_bytes(vault, path, 1000)


def test_an_oversized_file_is_not_read(vault: Path) -> None:
    """Use a sparse file of 100 GB that takes no disk space."""
    with (vault / "huge.md").open("wb") as file:
        file.truncate(100 * 10**9)
    with pytest.raises(ReadError, match="larger than"):
        load_bytes(vault, "huge.md", 10**11 - 1)


def test_a_folder_in_place_of_a_file_is_not_a_file(vault: Path) -> None:
    with pytest.raises(ReadError, match="not a file"):
        load_bytes(vault, "x/sub", 1000)


def test_without_folder_descriptors_files_are_opened_by_resolved_paths(
    vault: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Simulate Windows, where a folder cannot be opened."""
    monkeypatch.setattr(vault_files, "_CAN_OPEN_FOLDERS", False)
    monkeypatch.setattr(vault_files, "_NO_FOLLOW", 0)
    assert [file.path for file in scan(vault, DEFAULTS).files] == ["x/sub/a.md", "x/sub/b.csv"]
    assert load_bytes(vault, "x/sub/a.md", 1000) == b"inside"
    swap(vault / "x" / "sub", outside)
    with pytest.raises(ReadError, match="link"):
        load_bytes(vault, "x/sub/a.md", 1000)
