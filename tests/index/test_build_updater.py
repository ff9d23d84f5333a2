"""Tests of repeated updates in one process: it reads only reported files and verifies none twice."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from excerpt.base.errors import IndexUnusableError, VaultEmptiedError
from excerpt.base.settings import Settings
from excerpt.index import build as building
from excerpt.index import writer
from excerpt.index.build import Updater, build
from excerpt.index.files import DerivedFile, check_file
from excerpt.index.snapshot import Snapshot
from tests.index.conftest import WriteNote


@pytest.fixture
def updater(vault: Path, index: Path, settings: Settings, write: WriteNote) -> Iterator[Updater]:
    """Return an updater that has indexed a vault of three notes."""
    write("Roses.md", "# Roses\n\nPrune in winter.\n")
    write("kitchen/Tea.md", "# Tea\n\nBrew the leaf.\n")
    write("kitchen/Sugar.md", "# Sugar\n\nSugar for tea.\n")
    with closing(Updater(vault, index, settings)) as updater:
        updater.update()
        yield updater


@pytest.fixture
def checked_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that collects the names of derived files whose content is verified."""
    names: list[str] = []

    def check_and_note(folder: Path, file: DerivedFile, *, content: bool = True, may_grow: bool = False) -> None:
        names.extend([file.name] if content else [])
        check_file(folder, file, content=content, may_grow=may_grow)

    monkeypatch.setattr(writer, "check_file", check_and_note)
    return names


def texts_by_path(index: Path, settings: Settings) -> dict[str, str]:
    """Return the text of every note in the index, its fragments joined by "|"."""
    with closing(Snapshot.open(index, settings)) as snapshot:
        return {
            path: "|".join(fragment.text for fragment in snapshot.note_fragments(path))
            for path in snapshot.note_paths()
        }


def test_only_the_named_paths_are_checked(updater: Updater, index: Path, settings: Settings, write: WriteNote) -> None:
    write("Roses.md", "# Roses\n\nRich soil.\n")
    write("kitchen/Tea.md", "# Tea\n\nWarm the kettle.\n")
    report = updater.update(["kitchen/Tea.md"])
    assert (report.added, report.changed, report.removed, report.unchanged, report.embedded) == (0, 1, 0, 2, 1)
    assert "kettle" in texts_by_path(index, settings)["kitchen/Tea.md"]
    assert "winter" in texts_by_path(index, settings)["Roses.md"]
    assert updater.update().changed == 1


def test_a_new_note_is_added_and_a_deleted_one_removed(
    updater: Updater, vault: Path, index: Path, settings: Settings, write: WriteNote
) -> None:
    write("new/deep/Compost.md", "# Compost\n")
    (vault / "Roses.md").unlink()
    report = updater.update(["new/deep/Compost.md", "Roses.md", "never/there.md"])
    assert (report.added, report.changed, report.removed, report.unchanged) == (1, 0, 1, 2)
    assert sorted(texts_by_path(index, settings)) == ["kitchen/Sugar.md", "kitchen/Tea.md", "new/deep/Compost.md"]


def test_a_named_folder_covers_its_contents_and_is_not_embedded_again_when_it_moves(
    updater: Updater, vault: Path, index: Path, settings: Settings
) -> None:
    (vault / "kitchen").rename(vault / "pantry")
    report = updater.update(["kitchen", "pantry"])
    assert (report.added, report.removed, report.unchanged, report.embedded) == (2, 2, 1, 0)
    assert sorted(texts_by_path(index, settings)) == ["Roses.md", "pantry/Sugar.md", "pantry/Tea.md"]


def test_a_folder_whose_name_is_a_prefix_of_another_is_separate(
    updater: Updater, vault: Path, write: WriteNote
) -> None:
    write("kitchen 2/Rose.md", "# Rose\n")
    write("kitchen0/Seed.md", "# Seed\n")
    updater.update()
    shutil.rmtree(vault / "kitchen")
    assert updater.update(["kitchen"]).removed == 2


def test_a_named_path_is_indexed_only_if_the_ignore_rules_allow_it(
    updater: Updater, vault: Path, write: WriteNote
) -> None:
    write(".excerptignore", "drafts/\n")
    write("drafts/Draft.md", "# Draft\n")
    write(".trash/Old.md", "# Old\n")
    assert updater.update(["drafts/Draft.md", ".trash/Old.md", "drafts"]).added == 0


def test_many_paths_are_treated_as_the_whole_vault(
    updater: Updater, vault: Path, write: WriteNote, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "_MAX_SINGLE_PATHS", 2)
    for name in ("a.md", "b.md", "c.md", "d.md"):
        write(name, f"# {name}\n")
    assert updater.update(["a.md", "b.md", "c.md"]).added == 4


def test_files_checked_or_written_by_this_process_are_not_checked_again(
    updater: Updater, write: WriteNote, checked_files: list[str]
) -> None:
    write("Roses.md", "# Roses\n\nRich soil.\n")
    updater.update(["Roses.md"])
    updater.update()
    assert checked_files == []


def test_an_update_continues_from_the_commit_of_another_process_after_checking_it(
    updater: Updater, vault: Path, index: Path, settings: Settings, checked_files: list[str]
) -> None:
    (vault / "Seed.md").write_text("# Seed\n")
    build(vault, index, settings)
    checked_files.clear()
    (vault / "Roses.md").write_text("# Roses\n\nRich soil.\n")
    report = updater.update(["Roses.md"])
    assert (report.changed, report.unchanged, report.rebuilt) == (1, 3, "")
    assert checked_files
    assert "Seed.md" in texts_by_path(index, settings)


def test_a_missing_derived_file_is_written_again(updater: Updater, index: Path, write: WriteNote) -> None:
    next(index.glob("words/*.lex")).unlink()
    write("Roses.md", "# Roses\n\nRich soil.\n")
    report = updater.update(["Roses.md"])
    assert (report.changed, report.embedded) == (1, 1)
    assert "lexical index" in report.rebuilt


def test_a_missing_index_is_built_again(updater: Updater, index: Path, settings: Settings, write: WriteNote) -> None:
    before = Snapshot.current_generation(index)
    shutil.rmtree(index)
    write("Roses.md", "# Roses\n\nRich soil.\n")
    report = updater.update(["Roses.md"])
    assert report.added == 3
    assert report.generation > before
    assert len(texts_by_path(index, settings)) == 3


def test_updating_one_changed_note_reads_no_other_note(
    updater: Updater, index: Path, settings: Settings, write: WriteNote
) -> None:
    def state() -> tuple[dict[str, list[int]], dict[Path, bytes]]:
        with closing(Snapshot.open(index, settings)) as snapshot:
            keys = {path: [f.key for f in snapshot.note_fragments(path)] for path in snapshot.note_paths()}
        return keys, {file: file.read_bytes() for file in index.glob("words/*") if file.suffix != ".toc"}

    keys, segments = state()
    matrix = next(index.glob("vectors-*")).read_bytes()
    write("Roses.md", "# Roses\n\nRich soil.\n")
    updater.update(["Roses.md"])
    keys_now, segments_now = state()
    assert {path: keys_now[path] for path in keys if path != "Roses.md"} == {
        path: keys[path] for path in keys if path != "Roses.md"
    }
    assert segments.items() <= segments_now.items()
    assert next(index.glob("vectors-*")).read_bytes().startswith(matrix)


def test_files_skipped_by_another_process_stay_listed(updater: Updater, vault: Path) -> None:
    for name in ("one.md", "kitchen/two.md"):
        (vault / name).write_bytes(bytes(5000))
    assert [one.path for one in updater.update().skipped] == ["kitchen/two.md", "one.md"]
    (vault / "kitchen/three.md").write_bytes(bytes(5000))
    assert [one.path for one in updater.update(["kitchen/three.md"]).skipped] == [
        "kitchen/three.md",
        "kitchen/two.md",
        "one.md",
    ]
    (vault / "kitchen/two.md").write_text("# Two\n")
    assert [one.path for one in updater.update(["kitchen"]).skipped] == ["kitchen/three.md", "one.md"]


def test_the_last_note_is_not_removed_before_the_user_confirms(
    updater: Updater, vault: Path, index: Path, settings: Settings
) -> None:
    (vault / "Roses.md").unlink()
    updater.update(["Roses.md"])
    shutil.rmtree(vault / "kitchen")
    with pytest.raises(VaultEmptiedError):
        updater.update(["kitchen"])
    assert len(texts_by_path(index, settings)) == 2
    assert updater.update(["kitchen"], accept_empty=True).removed == 2


def test_the_update_after_a_failed_one_includes_its_changes(
    updater: Updater, index: Path, settings: Settings, write: WriteNote, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> object:
        raise OSError(28, "No space left on device")

    write("Roses.md", "# Roses\n\nRich soil.\n")
    with monkeypatch.context() as patch:
        patch.setattr("excerpt.index.lexical_writer.sync_and_record", full)
        with pytest.raises(IndexUnusableError, match="the disk is full"):
            updater.update(["Roses.md"])
    assert "winter" in texts_by_path(index, settings)["Roses.md"]
    report = updater.update(["Roses.md"])
    assert (report.changed, report.rebuilt) == (1, "")
    assert "soil" in texts_by_path(index, settings)["Roses.md"]
