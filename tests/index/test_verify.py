"""Tests of verifying an index against its vault: every kind of fault is detected, named and repaired."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from excerpt.base.settings import EmbeddingSettings, PackSettings, Settings
from excerpt.index.build import build
from excerpt.index.catalog import CATALOG_FILE
from excerpt.index.lexical import open_segments
from excerpt.index.snapshot import Snapshot
from excerpt.index.verify import IndexHealth, RepairPart, StaleReason, examine, schedule_repair
from excerpt.vault import scan
from tests.index.conftest import WriteNote, flip_byte
from tests.index.content import content

NOTES = {
    "Tea.md": (
        "---\naliases: [Chai]\ntags: [drink]\n---\n# Tea\n\nBrew the leaf in a warm kettle.\n\n"
        "## Sugar\n\nOne cup, no sugar.\nSee [[Soil]].\n"
    ),
    "garden/Roses.md": (
        "# Roses\n\nPrune each rose in winter.\n\n```\nprune(rose)\n```\n\n## Water\n\nWater the rose.\n"
    ),
    "garden/Soil.md": "# Soil\n\nCompost and water.\n",
}

Look = Callable[..., IndexHealth]
Mend = Callable[[IndexHealth], str]


@pytest.fixture(scope="module")
def index_template(tmp_path_factory: pytest.TempPathFactory, models: tuple[Path, Path]) -> Path:
    """Build an index of several generations, segments and deleted fragments, with its vault; tests copy it."""
    folder = tmp_path_factory.mktemp("made")
    vault = folder / "vault"
    settings = Settings(embedding=EmbeddingSettings(str(models[0])), pack=PackSettings(tokenizer="chars/4"))
    (vault / "garden").mkdir(parents=True)
    changed = {"Tea.md": f"{NOTES['Tea.md']}Sugar in tea.\n"}
    soil = "garden/Soil.md"
    for notes in ({path: NOTES[path] for path in NOTES if path != soil}, {soil: NOTES[soil]}, changed):
        for path, text in notes.items():
            (vault / path).write_text(text, encoding="utf-8")
        build(vault, folder / "index", settings)
    segments = open_segments(folder / "index", Snapshot.current_generation(folder / "index"))
    assert [segment.has_no_deletions for segment in segments] == [False, True, True]
    return folder


@pytest.fixture
def built_index(vault: Path, index: Path, index_template: Path) -> Path:
    shutil.copytree(index_template / "vault", vault, dirs_exist_ok=True)
    shutil.copytree(index_template / "index", index)
    return index


@pytest.fixture
def examine_index(built_index: Path, vault: Path, settings: Settings) -> Look:
    def at_all(quick: bool = False, using: Settings = settings) -> IndexHealth:
        return examine(built_index, vault, scan.scan(vault, using.vault), using, lambda *_: None, quick=quick)

    return at_all


@pytest.fixture
def repair_parts(built_index: Path, vault: Path, settings: Settings) -> Mend:
    """Return a function that repairs as `excerpt doctor --fix` does and returns what was rebuilt."""

    def what_was_found(health: IndexHealth) -> str:
        schedule_repair(built_index, health.faults)
        return build(vault, built_index, settings).rebuilt

    return what_was_found


def fault_lines(health: IndexHealth) -> list[str]:
    return [f"{fault.path}: {fault.reason}" for fault in health.faults]


def sql(index: Path, *statements: str) -> None:
    with closing(sqlite3.connect(index / CATALOG_FILE)) as connection, connection:
        for statement in statements:
            assert connection.execute(statement).rowcount, statement


def test_a_healthy_index_has_no_fault_and_everything_was_checked(examine_index: Look) -> None:
    health = examine_index()
    assert (fault_lines(health), health.stale, health.outdated) == ([], [], [])
    assert (health.notes, health.fragments, health.vectors) == (3, 5, 5)


def test_an_index_of_several_generations_has_the_content_of_a_new_one(
    built_index: Path, vault: Path, settings: Settings, tmp_path: Path
) -> None:
    build(vault, tmp_path / "new", settings)
    assert content(built_index, settings) == content(tmp_path / "new", settings)


def test_notes_not_indexed_yet_are_named_with_the_reason(examine_index: Look, vault: Path, write: WriteNote) -> None:
    write("New.md", "New.\n")
    write("Tea.md", "Only water.\n")
    (vault / "garden" / "Soil.md").unlink()
    health = examine_index()
    assert sorted(health.stale) == [
        ("New.md", StaleReason.NEW),
        ("Tea.md", StaleReason.CHANGED),
        ("garden/Soil.md", StaleReason.GONE),
    ]
    assert fault_lines(health) == []


def test_a_skipped_file_is_not_a_new_note(
    examine_index: Look, built_index: Path, vault: Path, settings: Settings
) -> None:
    (vault / "Zeros.md").write_bytes(bytes(100))
    build(vault, built_index, settings)
    health = examine_index()
    assert health.stale == []
    assert sum(health.skipped.values()) == 1
    assert "zero bytes" in next(iter(health.skipped))


def test_a_note_whose_fragments_were_made_by_another_version_is_stale(examine_index: Look, built_index: Path) -> None:
    sql(built_index, "UPDATE notes SET cut = '0' WHERE path = 'Tea.md'")
    health = examine_index()
    assert health.stale == [("Tea.md", StaleReason.CUT)]
    assert fault_lines(health) == []


def edit_keeping_size(file: Path) -> None:
    """Change a text without changing its size or modification time."""
    before = file.stat()
    file.write_text(file.read_text().replace("Compost", "Compass"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.skipif(sys.platform == "win32", reason="there no time tells of it")
def test_a_change_that_keeps_time_and_size_is_stale(examine_index: Look, vault: Path) -> None:
    edit_keeping_size(vault / "garden" / "Soil.md")
    health = examine_index()
    assert health.stale == [("garden/Soil.md", StaleReason.CHANGED)]
    assert fault_lines(health) == []


def test_a_file_with_other_permissions_is_unchanged(examine_index: Look, vault: Path) -> None:
    (vault / "garden" / "Soil.md").chmod(0o600)
    assert examine_index().stale == []


@pytest.mark.usefixtures("without_ctime")
def test_a_change_that_no_time_shows_is_found_by_content(
    examine_index: Look, repair_parts: Mend, built_index: Path, vault: Path, settings: Settings
) -> None:
    file = vault / "garden" / "Soil.md"
    os.utime(file, (1_700_000_000, 1_700_000_000))  # a build reads the content of files written just now
    build(vault, built_index, settings)
    edit_keeping_size(file)
    assert build(vault, built_index, settings).changed == 0
    assert fault_lines(examine_index(quick=True)) == []
    health = examine_index()
    assert fault_lines(health) == [
        "garden/Soil.md: The file has a different text from the index, but the same time and size."
    ]
    repair_parts(health)
    assert fault_lines(examine_index()) == []


ROSES = "(SELECT id FROM notes WHERE path = 'garden/Roses.md')"
TEA = "(SELECT id FROM notes WHERE path = 'Tea.md')"


@pytest.mark.parametrize(
    "statement",
    [
        f"UPDATE fragments SET line_start = line_start + 1 WHERE note = {ROSES} AND ordinal = 0",
        f"UPDATE fragments SET text = 'Prune nothing.' WHERE note = {ROSES} AND ordinal = 1",
        f"UPDATE fragments SET tokens = 999 WHERE note = {ROSES} AND ordinal = 0",
        f"UPDATE fragments SET digest = 'x' WHERE note = {ROSES} AND ordinal = 0",
        f"UPDATE notes SET tokens = 999 WHERE id = {ROSES}",
        f"UPDATE notes SET title = 'Lilies' WHERE id = {ROSES}",
        f"UPDATE sections SET level = 5 WHERE note = {ROSES} AND heading = 'Water'",
        f"DELETE FROM names WHERE note = {ROSES}",
        f"DELETE FROM name_terms WHERE note = {ROSES}",
        f"UPDATE name_terms SET terms = x'0000000000000000' WHERE note = {ROSES}",
        f"DELETE FROM note_texts WHERE note = {ROSES}",
        f"UPDATE note_texts SET text = x'00' WHERE note = {ROSES}",
        f"UPDATE note_texts SET text = (SELECT text FROM note_texts WHERE note = {TEA}) WHERE note = {ROSES}",
        f"DELETE FROM seals WHERE note = {ROSES}",
    ],
)
def test_a_note_with_an_altered_row_is_named_and_read_again(
    examine_index: Look, repair_parts: Mend, built_index: Path, statement: str
) -> None:
    sql(built_index, statement)
    health = examine_index(quick=True)
    assert fault_lines(health) == ["garden/Roses.md: The note's rows in the catalog were altered."]
    repair_parts(health)
    assert fault_lines(examine_index()) == []


@pytest.mark.parametrize(
    "statement",
    [
        f"DELETE FROM links WHERE note = {TEA}",
        f"UPDATE labels SET value = 'food' WHERE note = {TEA} AND kind = 'tag'",
    ],
)
def test_altered_links_and_labels_are_found(examine_index: Look, built_index: Path, statement: str) -> None:
    sql(built_index, statement)
    assert fault_lines(examine_index()) == ["Tea.md: The note's rows in the catalog were altered."]


def test_a_lost_fragment_is_reported_for_its_note_and_for_the_word_index(
    examine_index: Look, repair_parts: Mend, built_index: Path
) -> None:
    sql(built_index, f"DELETE FROM fragments WHERE note = {ROSES} AND ordinal = 1")
    health = examine_index()
    assert fault_lines(health) == [
        "garden/Roses.md: The note's rows in the catalog were altered.",
        "words: The words in the lexical index do not match the fragments in the catalog.",
    ]
    repair_parts(health)
    assert fault_lines(examine_index()) == []


@pytest.mark.parametrize("pattern", ["words/*.toc", "words/*.lex", "words/*.pst", "words/*.npy", "vectors-*"])
def test_a_flipped_byte_in_a_derived_file_is_found_in_that_file(
    examine_index: Look, repair_parts: Mend, built_index: Path, pattern: str
) -> None:
    name = max(path for path in used_repairs(built_index) if Path(path).match(pattern))
    flip_byte(built_index / name)
    health = examine_index()
    assert fault_lines(health) == [f"{name}: The file is altered."]
    repair_parts(health)
    assert fault_lines(examine_index()) == []


def used_repairs(index: Path) -> list[str]:
    with closing(sqlite3.connect(index / CATALOG_FILE)) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM files")]


def test_a_missing_derived_file_is_named(examine_index: Look, built_index: Path) -> None:
    name = next(path for path in used_repairs(built_index) if path.endswith(".pst"))
    (built_index / name).unlink()
    assert fault_lines(examine_index()) == [f"{name}: The file is missing."]


def test_words_of_another_analyzer_are_reported_as_stale_not_as_damaged(examine_index: Look, built_index: Path) -> None:
    sql(built_index, "UPDATE meta SET value = '0/0' WHERE name = 'analyzer'")
    health = examine_index()
    assert fault_lines(health) == []
    assert health.outdated == ["the words: they are split differently now"]


def test_a_fragment_without_a_vector_is_named_and_embedded_again(
    examine_index: Look, repair_parts: Mend, built_index: Path
) -> None:
    sql(built_index, f"DELETE FROM vectors WHERE digest = (SELECT embedded FROM fragments WHERE note = {TEA} LIMIT 1)")
    health = examine_index()
    assert fault_lines(health) == ["Tea.md: The fragment at line 7 has no vector in the catalog."]
    repair_parts(health)
    assert fault_lines(examine_index()) == []


def test_a_vector_that_differs_between_catalog_and_matrix_is_rebuilt(
    examine_index: Look, repair_parts: Mend, built_index: Path
) -> None:
    first = f"(SELECT embedded FROM fragments WHERE note = {TEA} LIMIT 1)"
    sql(built_index, f"UPDATE vectors SET vector = zeroblob(length(vector)) WHERE digest = {first}")
    health = examine_index(quick=True)
    assert fault_lines(health) == [
        "Tea.md: The fragment at line 7 has different vectors in the matrix and in the catalog."
    ]
    repair_parts(health)
    assert fault_lines(examine_index()) == []


def test_vectors_of_another_model_are_reported_as_stale_not_as_damaged(
    examine_index: Look, settings: Settings, models: tuple[Path, Path]
) -> None:
    using = replace(settings, embedding=replace(settings.embedding, model=str(models[1])))
    health = examine_index(using=using)
    assert fault_lines(health) == []
    assert health.outdated == ["the vectors: they are from another model or another text"]


def test_an_unreadable_catalog_is_named_and_rebuilt(examine_index: Look, repair_parts: Mend, built_index: Path) -> None:
    data = (built_index / CATALOG_FILE).read_bytes()
    (built_index / CATALOG_FILE).write_bytes(data[:4096] + bytes(byte ^ 0x5A for byte in data[4096:]))
    health = examine_index()
    assert [(fault.path, fault.part) for fault in health.faults] == [(CATALOG_FILE, RepairPart.CATALOG)]
    repair_parts(health)
    assert fault_lines(examine_index()) == []


def test_text_that_is_not_utf8_is_named_and_its_note_read_again(
    examine_index: Look, repair_parts: Mend, built_index: Path
) -> None:
    sql(built_index, f"UPDATE fragments SET text = CAST(x'FF' AS TEXT) WHERE note = {TEA} AND ordinal = 0")
    health = examine_index()
    assert [(fault.path, fault.part) for fault in health.faults] == [("Tea.md", RepairPart.NOTE)]
    repair_parts(health)
    assert fault_lines(examine_index()) == []


def test_a_catalog_of_another_version_is_reported_as_stale_not_as_damaged(
    examine_index: Look, built_index: Path
) -> None:
    with closing(sqlite3.connect(built_index / CATALOG_FILE)) as connection:
        connection.execute("PRAGMA user_version = 999")
    health = examine_index()
    assert fault_lines(health) == []
    assert health.outdated == ["all of it: another version of excerpt made it"]


def test_rows_of_a_deleted_note_are_found(examine_index: Look, repair_parts: Mend, built_index: Path) -> None:
    sql(built_index, "DELETE FROM notes WHERE path = 'Tea.md'")
    health = examine_index()
    assert [(fault.path, fault.part) for fault in health.faults] == [(CATALOG_FILE, RepairPart.CATALOG)]
    assert "rows belong to notes that do not exist" in health.faults[0].reason
    repair_parts(health)
    assert fault_lines(examine_index()) == []


def test_files_of_a_killed_build_differ_from_those_of_the_previous_generation(
    examine_index: Look, built_index: Path
) -> None:
    assert not [name for name, _, newer in examine_index().leftovers if newer]
    leftover = built_index / "words" / "words_leftover.pst"
    leftover.write_bytes(b"half")
    os.utime(leftover, (time.time() + 60, time.time() + 60))
    assert [name for name, _, newer in examine_index().leftovers if newer] == ["words/words_leftover.pst"]


def test_an_index_whose_vault_is_missing_is_compared_only_with_its_checksums(
    built_index: Path, settings: Settings
) -> None:
    sql(built_index, f"UPDATE fragments SET line_start = line_start + 1 WHERE note = {ROSES} AND ordinal = 0")
    health = examine(built_index, None, None, settings, lambda *_: None)
    assert health.stale == []
    assert [fault.path for fault in health.faults if fault.part is RepairPart.NOTE] == ["garden/Roses.md"]


def test_without_an_index_nothing_is_checked(index: Path, settings: Settings) -> None:
    with pytest.raises(FileNotFoundError):
        examine(index, None, None, settings, lambda *_: None)
