"""Tests of outside events: a deleted index folder, a power failure, another process that writes the index."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from excerpt.index import lexical, vectors
from excerpt.index.build import build
from excerpt.index.catalog import Catalog
from excerpt.index.snapshot import Snapshot
from excerpt.settings import Settings
from tests.index.conftest import WriteNote
from tests.index.content import content


def write_notes(write: WriteNote, count: int) -> None:
    for number in range(count):
        write(f"note {number}.md", f"# Note {number}\n\nBrew tea number {number} in a warm kettle.\n")


# --- the folder is deleted --------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps what is open")
def test_a_snapshot_answers_on_when_its_folder_is_deleted_and_the_next_build_makes_it_anew(
    vault: Path, index: Path, settings: Settings, write: WriteNote
) -> None:
    write_notes(write, 5)
    build(vault, index, settings)
    before = content(index, settings)
    with closing(Snapshot.open(index, settings)) as snapshot:
        shutil.rmtree(index)
        assert Snapshot.current_generation(index) == 0
        rows = snapshot.lexical.postings("text", "kettl").rows
        assert len(rows) == 5
        assert len(snapshot.fragments(snapshot.lexical.keys.tolist())) == 5
        assert snapshot.vectors.vectors.shape[0] == 5
        assert snapshot.note_text("note 3.md").startswith("# Note 3")
        assert build(vault, index, settings).added == 5
        assert snapshot.note_text("note 4.md").startswith("# Note 4")
    assert content(index, settings) == before


# --- power failure ----------------------------------------------------------------------------------------------------


class Disk:
    """The synced state of a disk: the status of each file and the names in each folder at its last sync."""

    def __init__(self, index: Path) -> None:
        self._index = index
        self._files: dict[int, tuple[int, int]] = {}
        self._names: dict[int, set[str]] = {}
        self.commits = 0

    def fsync(self, descriptor: int) -> None:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            self._names[status.st_ino] = set(os.listdir(descriptor))
        else:
            self._files[status.st_ino] = status.st_size, status.st_mtime_ns

    def check(self, catalog: Catalog) -> None:
        """Check that a commit names only files that survive a power failure, with their content and name."""
        files = [self._index / file.name for kind in ("words", "vectors") for file in catalog.files(kind)]
        for file in files:
            status = file.stat()
            assert self._files.get(status.st_ino) == (status.st_size, status.st_mtime_ns), file.name
            assert file.name in self._names.get(file.parent.stat().st_ino, ()), file.name
        self.commits += bool(files)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no folders to sync")
def test_whatever_a_commit_names_is_on_disk_before_it(
    vault: Path, index: Path, settings: Settings, write: WriteNote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexical, "_SEGMENTS_PER_MERGE", 3)
    monkeypatch.setattr(vectors, "_MAX_BLOCKS", 3)
    disk, ask = Disk(index), Catalog.rows

    def rows(catalog: Catalog, sql: str, *values: object) -> list[tuple[object, ...]]:
        if sql == "COMMIT":
            disk.check(catalog)
        return ask(catalog, sql, *values)

    monkeypatch.setattr(os, "fsync", disk.fsync)
    monkeypatch.setattr(Catalog, "rows", rows)
    for number in range(8):
        write(f"note {number}.md", f"# Note {number}\n\nBrew tea number {number} in a warm kettle.\n")
        (vault / f"note {number - 3}.md").unlink(missing_ok=True)
        build(vault, index, settings)
    assert disk.commits >= 8
    next(index.glob("words/*.lex")).unlink()
    assert "lexical index" in build(vault, index, settings).rebuilt


def test_commits_of_the_catalog_are_synced(vault: Path, index: Path, settings: Settings, write: WriteNote) -> None:
    write_notes(write, 1)
    build(vault, index, settings)
    with closing(Catalog.open_to_write(index)) as catalog:
        full = 2
        assert catalog.rows("PRAGMA synchronous") == [(full,)]
        assert catalog.rows("PRAGMA journal_mode") == [("wal",)]


# --- another process --------------------------------------------------------------------------------------------------

HOLDER = """
import sys, time
from filelock import FileLock
with FileLock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL")
def test_the_lock_of_a_process_that_was_killed_holds_nobody_up(
    vault: Path, index: Path, settings: Settings, write: WriteNote
) -> None:
    write_notes(write, 2)
    build(vault, index, settings)
    command = [sys.executable, "-c", HOLDER, str(index / "write.lock")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        write("note 0.md", "# Note 0\n\nSoil.\n")
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert build(vault, index, settings, wait=0.0).changed == 1
