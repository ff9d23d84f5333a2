"""Tests of a catalog with altered tables or rows, or with something else in place of its files.

The result must be correct answers or an error message, and a sound index after the next build.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest

from excerpt.errors import IndexUnusableError
from excerpt.index.build import build
from excerpt.index.catalog import CATALOG_FILE, SCHEMA
from excerpt.index.files import SUSPECT_FILE
from excerpt.index.snapshot import Snapshot
from excerpt.index.verify import RepairPart, examine
from excerpt.index.writer import LOCK_FILE
from excerpt.settings import EmbeddingSettings, PackSettings, Settings
from tests.index.content import content

NOTES = {
    "Tea.md": "---\naliases: [Chai]\ntags: [drink]\n---\n# Tea\n\nBrew the leaf in a warm kettle.\n\n"
    "## Sugar\n\nOne cup, no sugar.\n",
    "garden/Roses.md": "# Roses\n\nPrune each rose in winter. See [tea](../Tea.md).\n\n```\nprune(rose)\n```\n",
    "garden/Soil.md": "# Soil\n\nCompost and water must not be mixed.\n",
}

Kept = tuple[Path, Path, Settings]

with closing(sqlite3.connect(":memory:")) as _empty:
    _empty.executescript(SCHEMA)
    _TABLES = [row[0] for row in _empty.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    _INDEXES = [row[0] for row in _empty.execute("SELECT name FROM sqlite_master WHERE type = 'index' AND sql <> ''")]
    _COLUMNS = [(t, row[1]) for t in _TABLES for row in _empty.execute(f"PRAGMA table_info({t})")]
_OWN = [table for table in _TABLES if not table.startswith("sqlite_")]

STATEMENTS = [
    *(f"DROP TABLE {table}" for table in _OWN),
    *(f"DROP INDEX {index}" for index in _INDEXES),
    *(f'ALTER TABLE {table} RENAME COLUMN "{column}" TO other' for table, column in _COLUMNS if table in _OWN),
    "CREATE TABLE other (x)",
    "CREATE TRIGGER other AFTER INSERT ON notes BEGIN DELETE FROM notes; END",
]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, models: tuple[Path, Path]) -> Kept:
    """Build an index of three generations to be copied; return the vault, the index and the settings."""
    folder = tmp_path_factory.mktemp("kept")
    settings = Settings(embedding=EmbeddingSettings(str(models[0])), pack=PackSettings(tokenizer="chars/4"))
    for path, text in NOTES.items():
        file = folder / "vault" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        os.utime(file, (1, 1))
        build(folder / "vault", folder / "index", settings)
    return folder / "vault", folder / "index", settings


@pytest.fixture(scope="module")
def before(kept: Kept) -> dict[str, object]:
    return content(kept[1], kept[2])


@pytest.mark.programs
@pytest.mark.parametrize("statement", STATEMENTS)
def test_tables_that_this_version_does_not_make_are_noticed_and_made_anew(
    kept: Kept, before: dict[str, object], tmp_path: Path, statement: str
) -> None:
    vault, index, settings = kept
    index = shutil.copytree(index, tmp_path / "index")
    with closing(sqlite3.connect(index / CATALOG_FILE)) as connection:
        connection.execute(statement)
    with pytest.raises(
        IndexUnusableError, match=r"cannot be read: the definition of \w+ is damaged\. Run `excerpt index`"
    ):
        Snapshot.open(index, settings)
    faults = examine(index, vault, None, settings, lambda *_: None).faults
    assert [fault.part for fault in faults] == [RepairPart.CATALOG]
    report = build(vault, index, settings)
    assert "everything from the vault, because the catalog could not be used (the definition of" in report.rebuilt
    assert content(index, settings) == before
    assert build(vault, index, settings).rebuilt == ""


# --- special files ----------------------------------------------------------------------------------------------------

SECONDS = 60.0
"""Seconds allowed for reading and repairing such an index; a read of a pipe would never end."""


def _within_time(work: Callable[[], object]) -> None:
    """Run `work` in a daemon thread, and fail if it does not end in time."""
    failures: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(SECONDS)
    assert not thread.is_alive()
    assert failures == []


def _pipe(file: Path) -> None:
    os.mkfifo(file)


def _device(file: Path) -> None:
    file.symlink_to("/dev/null")


def _nowhere(file: Path) -> None:
    file.symlink_to(file.parent / "not there")


@pytest.mark.skipif(os.name == "nt", reason="needs pipes and links")
@pytest.mark.parametrize("replace", [_pipe, _device, _nowhere])
@pytest.mark.parametrize(
    "pattern",
    [
        *(CATALOG_FILE, f"{CATALOG_FILE}-wal", f"{CATALOG_FILE}-shm", SUSPECT_FILE, LOCK_FILE),
        *("vectors-*", "words/*.toc", "words/*.lex", "words/*.pst", "words/*.npy", "words", "anew"),
    ],
)
def test_what_stands_in_the_place_of_a_file_is_not_waited_for_and_is_mended(
    kept: Kept, before: dict[str, object], tmp_path: Path, pattern: str, replace: Callable[[Path], None]
) -> None:
    vault, index, settings = kept
    index = shutil.copytree(index, tmp_path / "index")
    file = max(index.glob(pattern), default=index / pattern)
    if file.is_dir():
        shutil.rmtree(file)
    file.unlink(missing_ok=True)
    replace(file)

    def read() -> None:
        with suppress(IndexUnusableError), closing(Snapshot.open(index, settings, wait_ms=0)) as snapshot:
            assert len(snapshot.vectors.keys)

    def look() -> None:
        with suppress(FileNotFoundError):
            examine(index, vault, None, settings, lambda *_: None)

    for work in (read, look, lambda: build(vault, index, settings)):
        _within_time(work)
    assert content(index, settings) == before
    assert build(vault, index, settings).rebuilt == ""
