"""Tests of the catalog: altered tables and rows are noticed, never shown as correct, and repaired."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

from excerpt.base.errors import IndexUnusableError
from excerpt.base.settings import EmbeddingSettings, PackSettings, Settings
from excerpt.index.build import build
from excerpt.index.catalog import CATALOG_FILE, SCHEMA
from excerpt.index.checksums import checksum, checksum_of_rows
from excerpt.index.files import SUSPECT_FILE
from excerpt.index.snapshot import Snapshot
from excerpt.index.verify import RepairPart, examine
from excerpt.index.writer import LOCK_FILE
from tests.index.content import content

NOTES = {
    "Tea.md": "---\naliases: [Chai]\ntags: [drink]\nstatus: draft\n---\n# Tea\n\nBrew the leaf in a warm kettle.\n\n"
    "## Sugar\n\nThe key number 5 must not be deleted.\n\n%% Ask Ada. %%\n",
    "garden/Roses.md": "# Roses\n\nPrune each rose in winter. See [my tea](../Tea.md).\n\n## Soil\n\nCompost.\n",
}
Kept = tuple[Path, Path, Settings]

FLIPPED = [
    *(("fragments", column) for column in ("text", "id", "digest", "line_start", "line_end", "tokens", "ordinal")),
    *(("notes", column) for column in ("path", "title", "language", "tokens", "kind")),
    *(("sections", column) for column in ("heading", "heading_path", "level", "line_start", "line_end", "place")),
    *(("links", column) for column in ("target", "text", "line")),
    *(("labels", column) for column in ("kind", "name", "value")),
    ("names", "name"),
    *(("comments", column) for column in ("text", "line", "at")),
    *(("seals", table) for table in ("sections", "links", "labels", "names")),
    ("notes", "crc"),
    ("fragments", "crc"),
]


@pytest.fixture(scope="module")
def index_template(tmp_path_factory: pytest.TempPathFactory, models: tuple[Path, Path]) -> Kept:
    """Build an index to be copied; return the vault, the index and the settings."""
    folder = tmp_path_factory.mktemp("kept")
    settings = Settings(embedding=EmbeddingSettings(str(models[0])), pack=PackSettings(tokenizer="chars/4"))
    for path, text in NOTES.items():
        file = folder / "vault" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    build(folder / "vault", folder / "index", settings)
    return folder / "vault", folder / "index", settings


@pytest.fixture(scope="module")
def template_content(index_template: Kept) -> dict[str, object]:
    return content(index_template[1], index_template[2])


def _flip(value: str | int | None, chance: random.Random) -> str | int:
    """Return the value with one bit flipped; a text remains valid text."""
    if isinstance(value, int):
        return value ^ (1 << chance.randrange(3))
    if not value:
        return "!"
    at = chance.randrange(len(value))
    return f"{value[:at]}{chr(ord(value[at]) ^ 1)}{value[at + 1 :]}"


def _alter(index: Path, table: str, column: str, chance: random.Random) -> None:
    """Flip a bit of one value in the table and its indexes, as if it had been written so."""
    key = {"fragments": "key", "notes": "id", "seals": "note"}.get(table)
    where = f"{key} = ?" if key else f"note = ? AND {column} IS ?"
    with closing(sqlite3.connect(index / CATALOG_FILE)) as connection, connection:
        (*chosen, value) = chance.choice(
            connection.execute(f"SELECT {key or 'note'}, {column} FROM {table} ORDER BY 1, 2").fetchall()
        )
        values = chosen if key else [*chosen, value]
        connection.execute(f"UPDATE OR REPLACE {table} SET {column} = ? WHERE {where}", (_flip(value, chance), *values))


def _checked(one: Snapshot) -> Snapshot:
    """Return a snapshot after what is behind the first answer: until then, names and paths only lead to notes."""
    one.check()
    return one


READS: dict[str, Callable[[Snapshot], object]] = {
    "hits": lambda one: one.fragments(one.lexical.keys.tolist()),
    "a hit by its id": lambda one: [one.fragment(f.id) for f in one.fragments(one.lexical.keys.tolist())],
    "notes": lambda one: _checked(one).table.paths,
    "fragments of notes": lambda one: [one.note_fragments(path) for path in one.table.paths],
    "parts": lambda one: one.fragment_infos([(path, 0, None) for path in one.table.paths]),
    "sections": lambda one: [one.sections(path) for path in one.table.paths],
    "comments": lambda one: [one.comments(path) for path in one.table.paths],
    "texts": lambda one: [one.note_text(path) for path in one.table.paths],
    "facts of notes": lambda one: [one.note_info(path) for path in one.table.paths],
    "tokens of notes": lambda one: [one.note_tokens(path) for path in one.table.paths],
    "notes named": lambda one: [_checked(one).notes_named(name) for name in ("tea", "chai", "roses")],
    "links": lambda one: [part.tolist() for part in one.facets.links],
    "written links": lambda one: one.facets.written_links(np.arange(2, dtype=np.int32)),
    "labels": lambda one: one.facets.tags_and_properties(np.arange(2, dtype=np.int32)),
    "tags": lambda one: one.facets.tags_as_written(),
    "tag filter": lambda one: {tag: notes.tolist() for tag, notes in one.facets.tags.items()},
    "properties": lambda one: one.facets.properties_as_written(),
    "property names": lambda one: one.facets.property_names_as_written(),
    "property filter": lambda one: [v.tolist() for v in one.facets.properties.get("status", {}).values()],
    "titles": lambda one: sorted(one.facets.titles_as_written()),
    "headings": lambda one: sorted(one.facets.headings_as_written()),
    "names": lambda one: {name: notes.tolist() for name, notes in one.facets.names.items()},
    "kinds": lambda one: {kind: notes.tolist() for kind, notes in one.facets.kinds.items()},
}


def _answers(index: Path, settings: Settings) -> dict[str, object]:
    """Return the result or the error of each read, each from a newly opened snapshot."""
    found: dict[str, object] = {}
    for name, read in READS.items():
        with closing(Snapshot.open(index, settings)) as snapshot:
            try:
                found[name] = read(snapshot)
            except IndexUnusableError as error:
                found[name] = error
    return found


@pytest.mark.programs
@pytest.mark.parametrize(("table", "column"), FLIPPED)
def test_an_altered_row_is_reported_and_never_shown_and_the_next_build_repairs_it(
    index_template: Kept, template_content: dict[str, object], tmp_path: Path, table: str, column: str
) -> None:
    vault, index, settings = index_template
    right = _answers(index, settings)
    index = shutil.copytree(index, tmp_path / "index")
    _alter(index, table, column, random.Random(f"{table}.{column}"))
    faults = examine(index, vault, None, settings, lambda *_: None, quick=True).faults
    assert {fault.part for fault in faults} <= {RepairPart.NOTE, RepairPart.WORDS}
    assert faults
    errors = 0
    for name, answer in _answers(index, settings).items():
        if isinstance(answer, IndexUnusableError):
            assert "a row of the catalog is damaged" in answer.message
            assert answer.hint == "Run `excerpt index` to rebuild the index."
            errors += 1
        else:
            assert answer == right[name], name
    assert errors
    assert "everything from the vault" in build(vault, index, settings).rebuilt
    assert content(index, settings) == template_content


def test_an_altered_row_is_not_copied_into_derived_files(index_template: Kept, tmp_path: Path) -> None:
    vault, index, settings = index_template
    index = shutil.copytree(index, tmp_path / "index")
    with closing(sqlite3.connect(index / CATALOG_FILE)) as connection, connection:
        connection.execute("UPDATE fragments SET text = replace(text, 'not', 'NOW')")
    next(index.glob("words/*.lex")).write_bytes(b"")
    assert "a row of the catalog is damaged" in build(vault, index, settings).rebuilt
    with closing(Snapshot.open(index, settings)) as snapshot:
        assert "must not be deleted" in snapshot.note_fragments("Tea.md")[-1].text


def test_row_checksums_stay_valid_after_a_change_of_the_tokenizer(index_template: Kept, tmp_path: Path) -> None:
    vault, index, settings = index_template
    index = shutil.copytree(index, tmp_path / "index")
    other = Settings(embedding=settings.embedding, pack=PackSettings(tokenizer="o200k_base"))
    assert "the tokenizer changed" in build(vault, index, other).rebuilt
    with closing(Snapshot.open(index, other)) as snapshot:
        snapshot.check_rows()


def test_checksums_are_the_same_in_every_version_of_python() -> None:
    assert checksum(1, 1 << 40, "é\x00𝄞", "", b"x", None) == 0xADF1EF5E
    assert checksum_of_rows([(1, "é", None), (2, "", "b")]) == 0x9CA696D


NOTES_IN_GENERATIONS = {
    "Tea.md": "---\naliases: [Chai]\ntags: [drink]\n---\n# Tea\n\nBrew the leaf in a warm kettle.\n\n"
    "## Sugar\n\nOne cup, no sugar.\n",
    "garden/Roses.md": "# Roses\n\nPrune each rose in winter. See [tea](../Tea.md).\n\n```\nprune(rose)\n```\n",
    "garden/Soil.md": "# Soil\n\nCompost and water must not be mixed.\n",
}


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
def generations_template(tmp_path_factory: pytest.TempPathFactory, models: tuple[Path, Path]) -> Kept:
    """Build an index of three generations to be copied; return the vault, the index and the settings."""
    folder = tmp_path_factory.mktemp("kept")
    settings = Settings(embedding=EmbeddingSettings(str(models[0])), pack=PackSettings(tokenizer="chars/4"))
    for path, text in NOTES_IN_GENERATIONS.items():
        file = folder / "vault" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        os.utime(file, (1, 1))
        build(folder / "vault", folder / "index", settings)
    return folder / "vault", folder / "index", settings


@pytest.fixture(scope="module")
def generations_content(generations_template: Kept) -> dict[str, object]:
    return content(generations_template[1], generations_template[2])


@pytest.mark.programs
@pytest.mark.parametrize("statement", STATEMENTS)
def test_tables_of_another_schema_are_found_and_rebuilt(
    generations_template: Kept, generations_content: dict[str, object], tmp_path: Path, statement: str
) -> None:
    vault, index, settings = generations_template
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
    assert content(index, settings) == generations_content
    assert build(vault, index, settings).rebuilt == ""


# --- special files ----------------------------------------------------------------------------------------------------

SECONDS = 240.0
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
def test_special_files_in_place_of_index_files_do_not_block_and_are_repaired(
    generations_template: Kept,
    generations_content: dict[str, object],
    tmp_path: Path,
    pattern: str,
    replace: Callable[[Path], None],
) -> None:
    vault, index, settings = generations_template
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
    assert content(index, settings) == generations_content
    assert build(vault, index, settings).rebuilt == ""
