"""Tests of builds: they reflect the current vault, read only changed files, and survive any file."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

from excerpt.base.errors import IndexBusyError, IndexUnusableError, ModelError, VaultEmptiedError, VaultError
from excerpt.base.model import Fragment, Note, Progress
from excerpt.base.settings import EmbeddingSettings, PackSettings, Settings, VaultSettings
from excerpt.index import build as building
from excerpt.index import changes, pool, postings, prepare, writer
from excerpt.index.build import Updater, build
from excerpt.index.build_control import BuildCancelled, BuildControl
from excerpt.index.catalog import CATALOG_FILE, Catalog
from excerpt.index.snapshot import Snapshot
from excerpt.index.writer import LOCK_FILE
from excerpt.text import fragments
from excerpt.text.fragments import FRAGMENTS_VERSION, fragments_of
from excerpt.text.tokens import open_tokenizer
from excerpt.text.words import ANALYZER_VERSION
from tests.conftest import written_state
from tests.index.conftest import WriteNote
from tests.index.content import content

ROSES = """---
title: Roses
aliases: [Rosa]
tags: [garden]
season: winter
---
# Pruning

Prune each rose in winter, above an outward bud.

## Soil

Roses like a rich soil, with compost.
"""
TEA = "# Tea\n\nBrew the leaf in a warm kettle.\n\nSee [[Roses#Soil]].\n"

AS_OF_8 = "DROP TABLE comments; ALTER TABLE seals DROP COLUMN comments"
AS_OF_7 = "; ".join(
    (AS_OF_8, *(f"ALTER TABLE seals DROP COLUMN {table}" for table in ("fragments", "note_texts", "name_terms")))
)
AS_OF_6 = (
    "DROP TABLE comments; DROP TABLE seals; ALTER TABLE notes DROP COLUMN crc; ALTER TABLE fragments DROP COLUMN crc"
)
AS_OF_5 = (
    f"{AS_OF_6}; ALTER TABLE notes DROP COLUMN kind; ALTER TABLE notes DROP COLUMN unread;"
    " ALTER TABLE sections DROP COLUMN place"
)


def matching_notes(index: Path, settings: Settings, word: str, field: str = "text") -> list[str]:
    """Return the sorted paths of the notes that contain a word."""
    snapshot = Snapshot.open(index, settings)
    try:
        rows = snapshot.lexical.postings(field, word).rows
        return sorted({snapshot.table.paths[number] for number in snapshot.table.notes[rows]})
    finally:
        snapshot.close()


def test_a_first_build_makes_every_note_searchable(
    vault: Path, index: Path, settings: Settings, write: WriteNote
) -> None:
    write("Roses.md", ROSES)
    write("kitchen/Tea.md", TEA)
    report = build(vault, index, settings)
    assert (report.added, report.changed, report.removed, report.unchanged) == (2, 0, 0, 0)
    assert report.generation >= 1  # a slow build commits more than one
    assert report.rebuilt == ""
    assert matching_notes(index, settings, "kettl") == ["kitchen/Tea.md"]


def test_title_aliases_headings_tags_and_properties_are_fields_of_their_own(
    vault: Path, index: Path, settings: Settings, write: WriteNote
) -> None:
    write("beds/front/Roses 2.md", ROSES)
    build(vault, index, settings)
    for field, word in [
        ("title", "rose"),
        ("alias", "rosa"),
        ("alias", "2"),
        ("heading", "soil"),
        ("tags", "garden"),
        ("properties", "winter"),
        ("properties", "front"),
    ]:
        assert matching_notes(index, settings, word, field) == ["beds/front/Roses 2.md"], (field, word)
    assert matching_notes(index, settings, "garden") == []


def test_an_unchanged_vault_is_neither_read_nor_embedded_nor_committed(
    vault: Path, index: Path, settings: Settings, write: WriteNote, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.utime(write("Roses.md", ROSES), (1, 1))
    monkeypatch.setattr(changes, "_CLOCK_TICK_NS", 0)  # files written just now are read again
    first = build(vault, index, settings)
    told: list[Progress] = []
    second = build(vault, index, settings, told.append)
    assert (second.unchanged, second.embedded, told[-1].notes_total) == (1, 0, 0)
    assert second.generation == first.generation


def test_a_touched_file_with_the_same_text_is_unchanged(
    vault: Path, index: Path, settings: Settings, write: WriteNote
) -> None:
    note = write("Roses.md", ROSES)
    first = build(vault, index, settings)
    os.utime(note, ns=(1, 1))
    second = build(vault, index, settings)
    assert (second.unchanged, second.changed, second.generation) == (1, 0, first.generation)
    snapshot = Snapshot.open(index, settings)
    assert snapshot.note_info("Roses.md").mtime_ns == 1


def edit_keeping_size_and_time(note: Path, before: str, after: str) -> None:
    """Replace text in a note without changing its size or modification time."""
    was = note.stat()
    note.write_text(note.read_text().replace(before, after))
    os.utime(note, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert note.stat().st_size == was.st_size


@pytest.mark.usefixtures("without_ctime")
@pytest.mark.parametrize("seconds", [0.0, -1.0, 1e9], ids=["now", "a tick ago", "in the future"])
def test_an_edit_that_keeps_size_and_time_is_found_if_the_clock_is_too_coarse(
    vault: Path, index: Path, settings: Settings, write: WriteNote, seconds: float
) -> None:
    note = write("Tea.md", TEA)
    os.utime(note, (0, time.time() + seconds))
    build(vault, index, settings)
    edit_keeping_size_and_time(note, "kettle", "basket")
    assert build(vault, index, settings).changed == 1
    assert matching_notes(index, settings, "basket") == ["Tea.md"]


@pytest.mark.skipif(sys.platform == "win32", reason="there no time tells of it")
def test_an_edit_of_an_old_file_that_keeps_size_and_time_is_found(
    vault: Path, index: Path, settings: Settings, write: WriteNote
) -> None:
    note = write("Tea.md", TEA)
    os.utime(note, (1, 1))
    build(vault, index, settings)
    edit_keeping_size_and_time(note, "kettle", "basket")
    assert build(vault, index, settings).changed == 1
    assert matching_notes(index, settings, "basket") == ["Tea.md"]


@pytest.mark.skipif(sys.platform == "win32", reason="there no time tells of it")
def test_a_replaced_file_of_the_same_size_and_time_is_found(
    vault: Path, index: Path, settings: Settings, write: WriteNote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "_CLOCK_TICK_NS", 0)
    os.utime(write("Tea.md", TEA), (1, 1))
    os.utime(write("Other.md", TEA.replace("kettle", "basket")), (1, 1))
    build(vault, index, settings)
    (vault / "Other.md").replace(vault / "Tea.md")
    assert build(vault, index, settings).changed == 1
    assert matching_notes(index, settings, "basket") == ["Tea.md"]


def test_files_restored_with_new_times_are_compared_by_content_and_not_indexed_again(
    vault: Path, index: Path, settings: Settings, write: WriteNote
) -> None:
    write("Roses.md", ROSES)
    write("Tea.md", TEA)
    first = build(vault, index, settings)
    shutil.copytree(vault, vault.with_name("copy"))
    shutil.rmtree(vault)
    shutil.copytree(vault.with_name("copy"), vault)
    second = build(vault, index, settings)
    assert (second.unchanged, second.embedded, second.generation) == (2, 0, first.generation)


def test_an_index_of_an_older_version_with_one_time_per_file_is_still_used(
    vault: Path, index: Path, settings: Settings, write: WriteNote
) -> None:
    os.utime(write("Tea.md", TEA), (1, 1))
    first = build(vault, index, settings)
    with closing(sqlite3.connect(index / CATALOG_FILE)) as connection:
        connection.executescript(f"{AS_OF_5}; ALTER TABLE notes DROP COLUMN ctime_ns; PRAGMA user_version = 3")
    second = build(vault, index, settings)
    assert (second.unchanged, second.embedded, second.rebuilt) == (1, 0, "")
    assert second.generation == first.generation


def test_an_index_of_an_older_version_without_name_terms_is_updated_not_rebuilt(
    vault: Path, index: Path, settings: Settings, write: WriteNote
) -> None:
    write("Tea.md", TEA)
    write("Cups.md", "# Cups\n\nFor [a hot drink](Tea.md).\n")
    first = build(vault, index, settings)
    with closing(Snapshot.open(index, settings)) as snapshot:
        before = snapshot.name_terms([0, 1])
    with closing(sqlite3.connect(index / CATALOG_FILE)) as connection:
        connection.executescript(
            f"{AS_OF_5}; DROP TABLE name_terms; DELETE FROM meta WHERE name = 'names'; PRAGMA user_version = 4"
        )
    second = build(vault, index, settings)
    assert (second.unchanged, second.embedded, second.rebuilt) == (2, 0, "")
    assert second.generation == first.generation
    with closing(Snapshot.open(index, settings)) as snapshot:
        assert snapshot.name_terms([0, 1]) == before


def test_an_index_of_an_older_version_without_file_kinds_is_still_used(
    vault: Path, index: Path, settings: Settings, write: WriteNote
) -> None:
    write("Tea.md", TEA)
    first = build(vault, index, settings)
    with closing(sqlite3.connect(index / CATALOG_FILE)) as connection:
        connection.executescript(f"{AS_OF_5}; PRAGMA user_version = 5")
    second = build(vault, index, settings)
    assert (second.unchanged, second.embedded, second.rebuilt) == (1, 0, "")
    assert second.generation == first.generation


@pytest.mark.parametrize("older", [f"{AS_OF_7}; PRAGMA user_version = 7", f"{AS_OF_6}; PRAGMA user_version = 6"])
def test_an_index_of_an_older_version_gets_row_checksums_and_is_still_used(
    vault: Path, index: Path, settings: Settings, write: WriteNote, older: str
) -> None:
    write("Roses.md", ROSES)
    write("Tea.md", TEA)
    first = build(vault, index, settings)
    before = content(index, settings)
    with closing(sqlite3.connect(index / CATALOG_FILE)) as connection:
        connection.executescript(older)
    second = build(vault, index, settings)
    assert (second.unchanged, second.embedded, second.rebuilt) == (2, 0, "")
    assert second.generation == first.generation
    assert content(index, settings) == before
    with closing(Snapshot.open(index, settings)) as snapshot:
        snapshot.check_rows()


def test_an_index_with_comments_in_its_texts_is_read_again(
    vault: Path, index: Path, settings: Settings, write: WriteNote
) -> None:
    write("Tea.md", f"{TEA}\n%% Ask Ada. %%\n")
    first = build(vault, index, settings)
    before = content(index, settings)
    with closing(sqlite3.connect(index / CATALOG_FILE)) as connection:
        connection.executescript(f"UPDATE notes SET cut = '1'; {AS_OF_7}; PRAGMA user_version = 7")
    second = build(vault, index, settings)
    assert (second.changed, second.generation) == (1, first.generation + 1)
    assert content(index, settings)["texts"] == before["texts"]
    with closing(Snapshot.open(index, settings)) as snapshot:
        snapshot.check_rows()
        assert [comment.text for comment in snapshot.comments("Tea.md")] == ["%% Ask Ada. %%"]


@pytest.mark.usefixtures("without_ctime")
def test_an_edit_that_no_time_shows_is_found_if_the_file_is_named(
    vault: Path, index: Path, settings: Settings, write: WriteNote
) -> None:
    note = write("Tea.md", TEA)
    os.utime(note, (1, 1))
    build(vault, index, settings)
    edit_keeping_size_and_time(note, "kettle", "basket")
    assert build(vault, index, settings).changed == 0
    with closing(Updater(vault, index, settings)) as updater:
        assert updater.update(["Tea.md"]).changed == 1


def test_a_file_with_an_older_time_is_read(vault: Path, index: Path, settings: Settings, write: WriteNote) -> None:
    write("Tea.md", TEA)
    build(vault, index, settings)
    os.utime(write("Tea.md", TEA.replace("kettle", "basket")), (1, 1))
    assert build(vault, index, settings).changed == 1


def test_the_time_of_the_last_scan_is_written_once(
    vault: Path, index: Path, settings: Settings, write: WriteNote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "_CLOCK_TICK_NS", 0)
    os.utime(write("Tea.md", TEA), (1, 1))
    build(vault, index, settings)
    with closing(Catalog.open_to_read(index)) as catalog:
        before = catalog.meta("looked")
    build(vault, index, settings)
    with closing(Catalog.open_to_read(index)) as catalog:
        assert catalog.meta("looked") == before != ""


def test_a_changed_note_is_found_by_its_new_words_only(
    vault: Path, index: Path, settings: Settings, write: WriteNote
) -> None:
    write("Roses.md", ROSES)
    write("Tea.md", TEA)
    build(vault, index, settings)
    write("Tea.md", TEA.replace("kettle", "samovar"))
    report = build(vault, index, settings)
    assert (report.added, report.changed, report.removed, report.unchanged) == (0, 1, 0, 1)
    assert matching_notes(index, settings, "kettl") == []
    assert matching_notes(index, settings, "samovar") == ["Tea.md"]


def test_a_deleted_note_is_no_longer_found(vault: Path, index: Path, settings: Settings, write: WriteNote) -> None:
    write("Roses.md", ROSES)
    tea = write("Tea.md", TEA)
    build(vault, index, settings)
    tea.unlink()
    report = build(vault, index, settings)
    assert (report.removed, report.unchanged) == (1, 1)
    snapshot = Snapshot.open(index, settings)
    assert matching_notes(index, settings, "kettl") == []
    assert snapshot.note_paths() == ("Roses.md",)
    assert len(snapshot.vectors.keys) == snapshot.lexical.doc_count == snapshot.status().fragments


@pytest.mark.parametrize("rebuild", [False, True])
def test_a_vault_that_lost_every_note_does_not_empty_its_index(
    vault: Path, index: Path, settings: Settings, write: WriteNote, rebuild: bool
) -> None:
    note = write("Tea.md", TEA)
    first = build(vault, index, settings)
    note.unlink()
    with pytest.raises(VaultEmptiedError) as told:
        build(vault, index, settings, rebuild=rebuild)
    assert told.value.notes == 1
    assert "--accept-empty" in told.value.hint
    assert matching_notes(index, settings, "kettl") == ["Tea.md"]
    write("Tea.md", TEA)
    again = build(vault, index, settings)
    assert (again.generation, again.embedded) == (first.generation, 0)


def test_an_unreadable_index_raises_one_clear_error(tmp_path: Path, settings: Settings) -> None:
    with pytest.raises(IndexUnusableError):
        Snapshot.open(tmp_path / ("x" * 300), settings)


def test_a_missing_vault_leaves_the_index_unchanged(
    vault: Path, index: Path, settings: Settings, write: WriteNote
) -> None:
    write("Tea.md", TEA)
    build(vault, index, settings)
    before = {file: written_state(file) for file in index.rglob("*")}
    shutil.rmtree(vault)
    with pytest.raises(VaultError, match="There is no folder"):
        build(vault, index, settings)
    assert {file: written_state(file) for file in index.rglob("*")} == before


def test_a_vault_emptied_on_purpose_has_an_empty_index(
    vault: Path, index: Path, settings: Settings, write: WriteNote
) -> None:
    write("Tea.md", TEA).unlink()
    assert build(vault, index, settings).fragments == 0
    write("Tea.md", TEA)
    build(vault, index, settings)
    (vault / "Tea.md").unlink()
    build(vault, index, settings, accept_empty=True)
    snapshot = Snapshot.open(index, settings)
    assert (snapshot.lexical.doc_count, len(snapshot.vectors.vectors)) == (0, 0)


def test_a_renamed_note_is_not_embedded_again(vault: Path, index: Path, settings: Settings, write: WriteNote) -> None:
    note = write("Roses.md", ROSES)
    first = build(vault, index, settings)
    assert first.embedded == first.fragments
    note.rename(vault / "Old roses.md")
    second = build(vault, index, settings)
    assert (second.added, second.removed, second.embedded) == (1, 1, 0)


def test_a_text_that_returns_is_not_embedded_again(
    vault: Path, index: Path, settings: Settings, write: WriteNote
) -> None:
    write("Tea.md", TEA)
    build(vault, index, settings)
    write("Tea.md", "# Tea\n\nSugar.\n")
    assert build(vault, index, settings).embedded == 1
    write("Tea.md", TEA)
    assert build(vault, index, settings).embedded == 0


def test_fragment_keys_are_never_reused(vault: Path, index: Path, settings: Settings, write: WriteNote) -> None:
    seen: set[int] = set()
    for text in ("one", "two", "three"):
        write("Tea.md", f"# Tea\n\n{text}\n")
        build(vault, index, settings)
        keys = set(Snapshot.open(index, settings).lexical.keys.tolist())
        assert not keys & seen
        seen |= keys


def test_the_most_recently_modified_notes_are_indexed_first(
    vault: Path, index: Path, settings: Settings, write: WriteNote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "_FIRST_BATCH_NOTES", 8)
    for number in range(20):
        os.utime(write(f"{number:02}.md", f"# Note\n\nText {number}.\n"), (number, number))
    first: list[tuple[str, ...]] = []

    def keep_first_generation(progress: Progress) -> None:
        if progress.generation == 1 and not first:
            first.append(Snapshot.open(index, settings).note_paths())

    build(vault, index, settings, keep_first_generation)
    assert first == [tuple(f"{number:02}.md" for number in range(12, 20))]


def is_unfinished(index: Path, settings: Settings) -> bool:
    with closing(Snapshot.open(index, settings)) as snapshot:
        return snapshot.is_unfinished


def test_a_generation_records_whether_files_are_left_to_read(
    vault: Path, index: Path, settings: Settings, write: WriteNote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "_FIRST_BATCH_NOTES", 8)
    for number in range(20):
        write(f"{number:02}.md", f"# Note\n\nText {number}.\n")
    unfinished: dict[int, bool] = {}

    def note_generation(progress: Progress) -> None:
        if progress.generation and progress.phase == "reading":
            unfinished[progress.generation] = is_unfinished(index, settings)

    build(vault, index, settings, note_generation)
    assert unfinished == {1: True, 2: False}


def test_a_build_of_several_commits_leaves_the_files_of_its_last_generation_only(
    vault: Path, index: Path, settings: Settings, write: WriteNote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "_FIRST_BATCH_NOTES", 8)
    for number in range(20):
        write(f"{number:02}.md", f"# Note\n\nText {number}.\n")
    build(vault, index, settings)
    with closing(Catalog.open_to_read(index)) as catalog:
        recorded = {file.name for kind in ("words", "vectors") for file in catalog.files(kind)}
    kept = {path.relative_to(index).as_posix() for path in index.rglob("*") if path.is_file()}
    assert {name for name in kept if name.startswith(("words/", "vectors-"))} == recorded


def test_a_cancelled_build_leaves_an_unfinished_generation_until_all_is_read(
    vault: Path, index: Path, settings: Settings, write: WriteNote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "_FIRST_BATCH_NOTES", 8)
    for number in range(20):
        write(f"{number:02}.md", f"# Note\n\nText {number}.\n")
    control = BuildControl()

    def cancel_at_first_generation(progress: Progress) -> None:
        if progress.generation == 1:
            control.cancel()

    with pytest.raises(BuildCancelled):
        build(vault, index, settings, cancel_at_first_generation, control=control)
    with closing(Updater(vault, index, settings)) as updater:
        updater.update([write("new.md", "# New\n\nText.\n").name])
        assert is_unfinished(index, settings)
        for unread in {f"{number:02}.md" for number in range(20)} - paths_of(index, settings):
            (vault / unread).unlink()
        updater.update()
    assert not is_unfinished(index, settings)


def paths_of(index: Path, settings: Settings) -> set[str]:
    with closing(Snapshot.open(index, settings)) as snapshot:
        return set(snapshot.note_paths())


def test_progress_counts_up_to_the_total(vault: Path, index: Path, settings: Settings, write: WriteNote) -> None:
    write("Roses.md", ROSES)
    write("Tea.md", TEA)
    told: list[Progress] = []
    build(vault, index, settings, told.append)
    assert told[-1].phase == "done"
    assert told[-1].notes_done == told[-1].notes_total == 2
    assert told[-1].bytes_done == told[-1].bytes_total == len(ROSES) + len(TEA)
    assert [one.notes_done for one in told] == sorted(one.notes_done for one in told)


# --- unreadable files -------------------------------------------------------------------------------------------------


def test_files_that_are_not_notes_are_skipped_and_named(
    vault: Path, index: Path, settings: Settings, write: WriteNote
) -> None:
    write("Tea.md", TEA)
    (vault / "zeros.md").write_bytes(bytes(5000))
    write("large.md", "word " * 1000)
    settings = replace(settings, vault=VaultSettings(max_bytes=4000))
    report = build(vault, index, settings)
    assert [one.path for one in report.skipped] == ["large.md", "zeros.md"]
    assert all(one.reason.endswith(".") or " " in one.reason for one in report.skipped)
    assert Snapshot.open(index, settings).skipped == report.skipped


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the system lets this user read everything")
def test_a_note_without_permission_is_skipped(vault: Path, index: Path, settings: Settings, write: WriteNote) -> None:
    write("Tea.md", TEA).chmod(0)
    (skipped,) = build(vault, index, settings).skipped
    assert skipped.path == "Tea.md"


def test_a_note_that_became_unreadable_is_no_longer_found(
    vault: Path, index: Path, settings: Settings, write: WriteNote
) -> None:
    write("Tea.md", TEA)
    build(vault, index, settings)
    (vault / "Tea.md").write_bytes(bytes(5000))
    report = build(vault, index, settings)
    assert (report.removed, [one.path for one in report.skipped]) == (1, ["Tea.md"])
    assert matching_notes(index, settings, "kettl") == []


def test_a_skipped_file_is_no_longer_listed_once_it_can_be_read(
    vault: Path, index: Path, settings: Settings, write: WriteNote
) -> None:
    (vault / "Tea.md").write_bytes(bytes(5000))
    build(vault, index, settings)
    write("Tea.md", TEA)
    assert build(vault, index, settings).skipped == ()
    assert matching_notes(index, settings, "kettl") == ["Tea.md"]


def test_an_internal_error_in_one_note_does_not_stop_the_others(
    vault: Path, index: Path, settings: Settings, write: WriteNote, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("Tea.md", TEA)
    write("Roses.md", ROSES)

    def trip(note: Note, count: Callable[[str], int]) -> tuple[Fragment, ...]:
        if note.path == "Tea.md":
            raise RecursionError("too deep")
        return fragments_of(note, count)

    monkeypatch.setattr(prepare, "fragments_of", trip)
    (skipped,) = build(vault, index, settings).skipped
    assert skipped.path == "Tea.md"
    assert "RecursionError: too deep" in skipped.reason
    assert matching_notes(index, settings, "soil") == ["Roses.md"]


def test_warnings_of_a_note_are_kept_until_it_changes(
    vault: Path, index: Path, settings: Settings, write: WriteNote
) -> None:
    write("Tea.md", "---\ntags: [unclosed\n---\n" + TEA)
    assert [one.path for one in build(vault, index, settings).warnings] == ["Tea.md"]
    assert [one.path for one in build(vault, index, settings).warnings] == ["Tea.md"]
    write("Tea.md", TEA)
    assert build(vault, index, settings).warnings == ()


# --- other inputs of an index -----------------------------------------------------------------------------------------


def test_after_a_change_of_the_model_everything_is_embedded_again_and_the_report_says_so(
    vault: Path, index: Path, settings: Settings, write: WriteNote, models: tuple[Path, Path]
) -> None:
    write("Roses.md", ROSES)
    build(vault, index, settings)
    other = replace(settings, embedding=EmbeddingSettings(str(models[1])))
    report = build(vault, index, other)
    assert "the vectors from the catalog, because the embedding model changed" in report.rebuilt
    assert report.embedded == report.fragments
    snapshot = Snapshot.open(index, other)
    assert snapshot.vectors.vectors.shape == (report.fragments, 24)
    assert snapshot.embedder.dimensions == 24


def test_returning_to_a_former_model_embeds_nothing(
    vault: Path, index: Path, settings: Settings, write: WriteNote, models: tuple[Path, Path]
) -> None:
    write("Roses.md", ROSES)
    build(vault, index, settings)
    build(vault, index, replace(settings, embedding=EmbeddingSettings(str(models[1]))))
    assert build(vault, index, settings).embedded == 0


def test_a_snapshot_with_another_model_searches_words_and_refuses_vectors(
    vault: Path, index: Path, settings: Settings, write: WriteNote, models: tuple[Path, Path]
) -> None:
    write("Tea.md", TEA)
    build(vault, index, settings)
    snapshot = Snapshot.open(index, replace(settings, embedding=EmbeddingSettings(str(models[1]))))
    assert len(snapshot.lexical.postings("text", "kettl").rows) == 1
    with pytest.raises(ModelError, match="another embedding model"):
        _ = snapshot.embedder


def test_after_a_change_of_the_tokenizer_tokens_are_recounted_without_reading_the_vault(
    vault: Path, index: Path, settings: Settings, write: WriteNote
) -> None:
    write("Tea.md", TEA).chmod(0)
    (vault / "Tea.md").chmod(0o644)
    build(vault, index, settings)
    other = replace(settings, pack=PackSettings(tokenizer="o200k"))
    report = build(vault, index, other)
    assert report.rebuilt == "the token counts, because the tokenizer changed"
    assert (report.changed, report.embedded) == (0, 0)
    count = open_tokenizer("o200k").count
    snapshot = Snapshot.open(index, other)
    assert snapshot.note_tokens("Tea.md") == count(TEA)
    assert [one.tokens for one in snapshot.note_fragments("Tea.md")] == [
        count(one.text) for one in snapshot.note_fragments("Tea.md")
    ]


def test_after_a_change_of_the_analyzer_the_word_index_is_rebuilt_from_the_catalog(
    vault: Path, index: Path, settings: Settings, write: WriteNote, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("Roses.md", ROSES)
    build(vault, index, settings)
    monkeypatch.setattr(changes, "ANALYZER_VERSION", ANALYZER_VERSION + 1)
    report = build(vault, index, settings)
    assert report.rebuilt == "the lexical index from the catalog, because words are split differently now"
    assert (report.changed, report.embedded) == (0, 0)
    assert build(vault, index, settings).rebuilt == ""


def test_a_word_index_of_another_format_is_rebuilt_without_being_read(
    vault: Path, index: Path, settings: Settings, write: WriteNote, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("Roses.md", ROSES)
    build(vault, index, settings)
    for file in (index / "words").glob("*.toc"):
        file.write_bytes(b"of another form")
    monkeypatch.setattr(changes, "ANALYZER_VERSION", ANALYZER_VERSION + 1)
    assert (
        build(vault, index, settings).rebuilt
        == "the lexical index from the catalog, because words are split differently now"
    )
    assert build(vault, index, settings).rebuilt == ""


def test_after_a_change_of_the_fragment_rules_all_notes_are_read_again(
    vault: Path, index: Path, settings: Settings, write: WriteNote, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("Roses.md", ROSES)
    build(vault, index, settings)
    monkeypatch.setattr(fragments, "FRAGMENTS_VERSION", FRAGMENTS_VERSION + 1)
    report = build(vault, index, settings)
    assert "splitting or stemming changed" in report.rebuilt
    assert (report.changed, report.embedded) == (1, 0)
    assert build(vault, index, settings).rebuilt == ""


def test_after_a_change_of_the_language_setting_all_notes_are_read_again(
    vault: Path, index: Path, settings: Settings, write: WriteNote
) -> None:
    write("Roses.md", "Häuser")
    build(vault, index, settings)
    assert matching_notes(index, settings, "haus") == []
    german = replace(settings, vault=VaultSettings(language="de"))
    report = build(vault, index, german)
    assert "splitting or stemming changed" in report.rebuilt
    assert matching_notes(index, german, "haus") == ["Roses.md"]
    assert build(vault, index, german).rebuilt == ""
    build(vault, index, settings)
    assert matching_notes(index, settings, "haus") == []


def test_another_rule_for_embedded_texts_embeds_everything_again(
    vault: Path, index: Path, settings: Settings, write: WriteNote, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("Roses.md", ROSES)
    build(vault, index, settings)
    for module in (changes, writer):
        monkeypatch.setattr(module, "EMBEDDED_TEXT_VERSION", postings.EMBEDDED_TEXT_VERSION + 1)
    report = build(vault, index, settings)
    assert report.embedded == report.fragments


def test_rebuild_indexes_everything_again(vault: Path, index: Path, settings: Settings, write: WriteNote) -> None:
    write("Roses.md", ROSES)
    first = build(vault, index, settings)
    report = build(vault, index, settings, rebuild=True)
    assert (report.added, report.embedded) == (1, report.fragments)
    assert report.generation > first.generation  # so that a reader of the old one notices


# --- concurrent processes ---------------------------------------------------------------------------------------------


def test_a_second_writer_waits_and_then_names_the_holder_of_the_lock(
    vault: Path, index: Path, settings: Settings
) -> None:
    index.mkdir(parents=True)
    with FileLock(index / LOCK_FILE), pytest.raises(IndexBusyError, match=r"has not finished within 0\.05 s") as caught:
        build(vault, index, settings, wait=0.05)
    assert "try again" in caught.value.hint


def test_a_reader_keeps_its_generation_while_others_are_committed(
    vault: Path, index: Path, settings: Settings, write: WriteNote
) -> None:
    write("Tea.md", TEA)
    build(vault, index, settings)
    old = Snapshot.open(index, settings)
    for text in ("first", "second", "third"):
        write("Tea.md", f"# Tea\n\n{text}\n")
        build(vault, index, settings)
    assert old.lexical.postings("text", "kettl").rows.tolist() == [0]
    assert old.fragments(old.lexical.keys.tolist())[0].text.startswith("Brew the leaf")
    assert old.note_text("Tea.md") == TEA
    assert len(old.vectors.vectors) == old.lexical.doc_count
    assert Snapshot.current_generation(index) == old.generation + 3


@pytest.mark.programs
def test_readers_open_complete_generations_while_a_writer_commits(
    vault: Path, index: Path, settings: Settings, write: WriteNote
) -> None:
    write("Tea.md", "# Tea\n\nnumber0\n")
    build(vault, index, settings)
    stop = threading.Event()
    seen: set[int] = set()

    def keep_reading() -> None:
        while not stop.is_set():
            snapshot = Snapshot.open(index, settings)
            (fragment,) = snapshot.fragments(snapshot.lexical.keys.tolist())
            assert snapshot.lexical.postings("text", fragment.text).rows.tolist() == [0]
            assert snapshot.vectors.vectors.shape == (1, 16)
            seen.add(snapshot.generation)
            snapshot.close()

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(keep_reading) for _ in range(2)]
        for number in range(1, 40):
            write("Tea.md", f"# Tea\n\nnumber{number}\n")
            build(vault, index, settings)
        stop.set()
        for reader in readers:
            reader.result()
    assert len(seen) > 3


def test_an_index_that_cannot_be_written_is_one_clear_error(vault: Path, tmp_path: Path, settings: Settings) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(IndexUnusableError, match="cannot be written"):
        build(vault, tmp_path / "file" / "index", settings)


# --- workers ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def many_notes(write: WriteNote) -> None:
    for number in range(90):
        write(f"{number:03}.md", f"# Note {number}\n\nA garden text, number{number}.\n")


@pytest.mark.programs
def test_worker_processes_make_the_same_index(
    vault: Path, index: Path, settings: Settings, many_notes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(vault, index.parent / "alone", settings)
    monkeypatch.setattr(pool, "_WORKERS_FROM_BYTES", 0)
    monkeypatch.setattr(pool, "_FIRST_FILES", 8)
    report = build(vault, index, settings)
    assert (report.added, report.skipped) == (90, ())
    alone, together = Snapshot.open(index.parent / "alone", settings), Snapshot.open(index, settings)
    assert together.lexical.lexicon("text") == alone.lexical.lexicon("text")
    for path in alone.note_paths():
        ours, theirs = alone.note_fragments(path), together.note_fragments(path)
        assert [replace(one, key=0) for one in ours] == [replace(one, key=0) for one in theirs]


def test_build_and_search_open_no_socket(
    vault: Path, index: Path, settings: Settings, write: WriteNote, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    write("Tea.md", TEA)
    build(vault, index, settings)
    snapshot = Snapshot.open(index, settings)
    query = snapshot.embedder.embed(["kettle"])[0]
    assert snapshot.vectors.similarities(query).shape == (1,)
