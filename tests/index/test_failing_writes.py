"""Tests of a full or failing disk, at every single write.

Each gives one clear error, keeps the last generation, and the next build equals a clean one.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from excerpt.errors import IndexUnusableError
from excerpt.index import build as building
from excerpt.index import lexical, pool, vectors
from excerpt.index.build import build
from excerpt.index.catalog import CATALOG_FILE, Catalog
from excerpt.index.snapshot import Snapshot
from excerpt.settings import Settings
from tests.index.conftest import WriteNote, full_disk
from tests.index.content import content

# Calls that write to disk, except in SQLite. `open` counts if it creates a file.
_OF_FILES = {"write", "truncate", "flush"}
_OF_THE_SYSTEM = {"fsync", "replace", "rename"}
_MAKING = {"write_bytes", "create_file"}


class Disk:
    """A disk whose writes are counted and one of which can fail."""

    def __init__(self, index: Path) -> None:
        self._index = index
        self.writes = 0
        self._failing = 0
        self._error = 0

    @contextmanager
    def failing(self, write: int, error: int = errno.ENOSPC) -> Iterator[None]:
        """Let the write with that number fail; 0 for none."""
        self.writes, self._failing, self._error = 0, write, error
        sys.setprofile(self._look)
        try:
            yield
        finally:
            sys.setprofile(None)

    def _look(self, frame: FrameType, event: str, called: Any) -> None:
        if event != "c_call" or not _writes(frame, called):
            return
        self.writes += 1
        if self.writes == self._failing:
            sys.setprofile(None)
            raise OSError(self._error, os.strerror(self._error), "a file")


def _writes(frame: FrameType, called: Any) -> bool:
    name, of = called.__name__, getattr(called, "__self__", None)
    if name == "open" and of is sys.modules["_io"]:
        caller = frame.f_back
        return bool({frame.f_code.co_name, caller.f_code.co_name if caller else ""} & _MAKING)
    if isinstance(of, io.IOBase):
        return name in _OF_FILES
    return of is sys.modules[os.name] and name in _OF_THE_SYSTEM


@pytest.fixture
def index(quick_folder: Path) -> Path:
    return quick_folder / "index"


@pytest.fixture
def disk(index: Path, monkeypatch: pytest.MonkeyPatch) -> Disk:
    """Shrink the sizes so that a small build has several commits, merges and new matrices, as a large one has."""
    monkeypatch.setattr(building, "_FIRST_BATCH_NOTES", 3)
    monkeypatch.setattr(building, "_FIRST_BATCH_BYTES", 300)
    monkeypatch.setattr(building, "_BATCH_GROWTH_FACTOR", 1)
    monkeypatch.setattr(pool, "_IN_PROCESS_FILES", 2)
    monkeypatch.setattr(lexical, "_SEGMENTS_PER_MERGE", 3)
    monkeypatch.setattr(vectors, "_MAX_BLOCKS", 3)
    return Disk(index)


def note(number: int, words: str) -> str:
    return f"# Note {number}\n\n" + f"The {words} number {number} grows in soil and water.\n\n" * 4


@pytest.fixture
def built(vault: Path, index: Path, settings: Settings, write: WriteNote, disk: Disk) -> Path:
    """Build an index with one unmerged segment and block, then change the vault."""
    for number in range(6):
        write(f"{'deep/' * (number % 2)}note {number}.md", note(number, "rose"))
    build(vault, index, settings)
    write("note 0.md", note(0, "tea"))
    build(vault, index, settings)
    (vault / "deep").rename(vault / "deeper")
    (vault / "note 2.md").unlink()
    write("note 4.md", note(4, "seed"))
    write("note 9.md", note(9, "leaf"))
    return index


PrepareFunction = Callable[[], None]


def each_write_fails(disk: Disk, run: Callable[[], object], prepare: PrepareFunction, check: Callable[[], None]) -> int:
    """Run once for each write, with that write failing; return the number of writes."""
    prepare()
    with disk.failing(0):
        run()
    writes = disk.writes
    for number in range(1, writes + 1):
        prepare()
        with disk.failing(number, (errno.ENOSPC, errno.EIO)[number % 2]), pytest.raises(IndexUnusableError) as raised:
            run()
        reason = ("the disk is full", os.strerror(errno.EIO))[number % 2]
        assert f"cannot be written: {reason}." in raised.value.message
        check()
    return writes


@pytest.mark.programs
def test_in_an_update(built: Path, vault: Path, settings: Settings, disk: Disk, tmp_path: Path) -> None:
    kept, clean = tmp_path / "kept", tmp_path / "clean"
    shutil.copytree(built, kept)
    build(vault, clean, settings)
    before, after = content(built, settings), content(clean, settings)
    generation = Snapshot.current_generation(built)

    seen: set[str] = set()

    def prepare() -> None:
        shutil.rmtree(built)
        shutil.copytree(kept, built)

    def check() -> None:
        assert Snapshot.current_generation(built) >= generation
        left = content(built, settings)
        seen.add("before" if left == before else "after" if left == after else "between")
        build(vault, built, settings)
        assert content(built, settings) == after

    assert each_write_fails(disk, lambda: build(vault, built, settings), prepare, check) > 30
    assert {"before", "between"} <= seen


@pytest.mark.programs
def test_in_a_first_build(built: Path, vault: Path, settings: Settings, disk: Disk) -> None:
    after: list[object] = []

    def prepare() -> None:
        shutil.rmtree(built)

    def check() -> None:
        if Snapshot.current_generation(built):
            content(built, settings)
        build(vault, built, settings)
        after.append(content(built, settings))
        assert after[-1] == after[0]

    assert each_write_fails(disk, lambda: build(vault, built, settings), prepare, check) > 30


@pytest.mark.programs
def test_while_the_index_is_made_anew(built: Path, vault: Path, settings: Settings, disk: Disk) -> None:
    build(vault, built, settings)
    before = content(built, settings)

    def check() -> None:
        assert content(built, settings) == before
        build(vault, built, settings)
        assert content(built, settings) == before

    def run() -> None:
        build(vault, built, settings, rebuild=True)

    assert each_write_fails(disk, run, lambda: None, check) > 30


def test_a_full_database_is_told_as_that(index: Path) -> None:
    index.mkdir()
    with closing(Catalog.open_to_write(index)) as catalog:
        ((pages,),) = catalog.rows("PRAGMA page_count")
        catalog.rows(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(sqlite3.OperationalError, match="full"), catalog.transaction():
            catalog.rows("INSERT INTO meta VALUES ('name', zeroblob(100000))")


# --- reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="the limit of a file's size is of POSIX")
def test_a_reader_finds_what_only_the_log_of_the_catalog_holds(
    vault: Path, index: Path, settings: Settings, write: WriteNote, tmp_path: Path
) -> None:
    write("Tea.md", "# Tea\n\nBrew the leaf.\n")
    build(vault, index, settings)
    kept = tmp_path / "kept"
    with closing(Snapshot.open(index, settings)):  # an open reader prevents a checkpoint of the write-ahead log
        write("Soil.md", "# Soil\n\nCompost and water.\n")
        build(vault, index, settings)
        shutil.copytree(index, kept)
        before = content(index, settings)
    (kept / f"{CATALOG_FILE}-shm").unlink()
    assert (kept / f"{CATALOG_FILE}-wal").stat().st_size > 0
    with full_disk():
        assert content(kept, settings) == before


@pytest.mark.skipif(os.name == "nt", reason="the limit of a file's size is of POSIX")
def test_several_readers_do_not_keep_each_other_out_nor_the_next_build(
    vault: Path, index: Path, settings: Settings, write: WriteNote
) -> None:
    write("Tea.md", "# Tea\n\nBrew the leaf.\n")
    build(vault, index, settings)
    with full_disk():
        readers = [Snapshot.open(index, settings) for _ in range(2)]
    write("Tea.md", "# Tea\n\nBrew no leaf.\n")
    assert build(vault, index, settings).changed == 1
    for reader in readers:
        assert "Brew the leaf" in reader.note_text("Tea.md")
        reader.close()


@pytest.fixture
def disk_of(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Return a function that mounts a disk of a given size, or resizes it if mounted."""
    mount, folder = shutil.which("mount"), tmp_path / "disk"
    folder.mkdir()

    def sized(size: str) -> Path:
        how = f"remount,size={size}" if folder.is_mount() else f"size={size}"
        command = [str(mount), "-t", "tmpfs", "-o", how, "tmpfs", str(folder)]
        if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("nothing can be mounted here")
        return folder

    yield sized
    if folder.is_mount():
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.programs
def test_a_first_index_that_runs_out_of_room_is_searched_as_far_as_it_came(
    vault: Path, settings: Settings, write: WriteNote, disk_of: Callable[[str], Path], tmp_path: Path
) -> None:
    for number in range(500):
        write(f"note {number}.md", note(number, "rose"))
    index = disk_of("500k") / "index"
    with pytest.raises(IndexUnusableError, match="cannot be written: the disk is full"):
        build(vault, index, settings)
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)), (index.parent / "rest").open("wb", 0) as rest:
        while rest.write(bytes(4096)):
            pass
    with closing(Snapshot.open(index, settings)) as snapshot:
        found = len(snapshot.note_paths())
    assert 0 < found < 500
    disk_of("60m")
    assert build(vault, index, settings).added == 500 - found
    build(vault, tmp_path / "clean", settings)
    assert content(index, settings) == content(tmp_path / "clean", settings)
