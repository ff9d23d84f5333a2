"""Tests of pausing, resuming and cancelling a build, and of a rebuild, which keeps the previous index until its end."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from excerpt.base.errors import IndexUnusableError
from excerpt.base.model import Progress
from excerpt.base.settings import Settings
from excerpt.index import build as building
from excerpt.index.build import build
from excerpt.index.build_control import BuildCancelled, BuildControl
from excerpt.index.catalog import CATALOG_FILE
from excerpt.index.changes import REBUILD_FOLDER
from excerpt.index.snapshot import Snapshot
from tests.index.conftest import WriteNote
from tests.index.content import content


@pytest.fixture
def thirty_notes(write: WriteNote, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write thirty notes, of which the first batch takes eight."""
    monkeypatch.setattr(building, "_FIRST_BATCH_NOTES", 8)
    for number in range(30):
        write(f"{number:02}.md", f"# Note\n\nText {number}.\n")


@pytest.mark.usefixtures("thirty_notes")
def test_a_paused_build_does_nothing_until_it_is_resumed(vault: Path, index: Path, settings: Settings) -> None:
    control, paused, done = BuildControl(), threading.Event(), threading.Event()

    def pause_at_first_generation(progress: Progress) -> None:
        if progress.generation == 1 and not paused.is_set():
            control.pause()
            paused.set()

    def run() -> None:
        build(vault, index, settings, pause_at_first_generation, control=control)
        done.set()

    building = threading.Thread(target=run)
    building.start()
    assert paused.wait(60)
    assert not done.wait(0.3)
    assert len(Snapshot.open(index, settings).note_paths()) == 8
    control.resume()
    building.join(60)
    assert len(Snapshot.open(index, settings).note_paths()) == 30


@pytest.mark.usefixtures("thirty_notes")
def test_paused_time_is_not_counted_as_working_time(vault: Path, index: Path, settings: Settings) -> None:
    control = BuildControl()
    control.pause()
    threading.Timer(1.0, control.resume).start()
    began = time.monotonic()
    report = build(vault, index, settings, control=control)
    assert control.seconds_paused > 0.5
    assert report.seconds <= time.monotonic() - began - control.seconds_paused


@pytest.mark.usefixtures("thirty_notes")
@pytest.mark.parametrize("paused", [False, True])
def test_a_cancelled_build_keeps_its_commits_and_the_next_continues(
    vault: Path, index: Path, settings: Settings, paused: bool
) -> None:
    control = BuildControl()

    def cancel_at_first_generation(progress: Progress) -> None:
        if progress.generation == 1:
            if paused:
                control.pause()
            control.cancel()

    with pytest.raises(BuildCancelled):
        build(vault, index, settings, cancel_at_first_generation, control=control)
    assert len(Snapshot.open(index, settings).note_paths()) == 8
    report = build(vault, index, settings)
    assert (report.added, report.unchanged) == (22, 8)


def test_the_working_time_of_the_current_file_is_reported(
    vault: Path, index: Path, settings: Settings, write: WriteNote, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr("excerpt.index.build.time.monotonic", lambda: now[0])
    write("slow.md", "# Slow\n")

    def slow(workers: object, options: object, tasks: object, tick: object) -> object:
        assert callable(tick)
        for _ in range(3):
            now[0] += 2
            tick("slow.md")
        return iter(())

    monkeypatch.setattr("excerpt.index.pool.Workers.prepare", slow)
    told: list[Progress] = []
    build(vault, index, settings, told.append)
    assert [one.current_seconds for one in told if one.current == "slow.md"] == [0.0, 2.0, 4.0]


@pytest.fixture
def built_index(vault: Path, index: Path, settings: Settings, write: WriteNote) -> Path:
    """Build an index of three generations."""
    for number in range(3):
        write(f"note {number}.md", f"# Note {number}\n\nBrew tea number {number} in a kettle.\n")
        build(vault, index, settings)
    return index


def test_during_a_rebuild_the_last_generation_answers(built_index: Path, vault: Path, settings: Settings) -> None:
    before, seen = content(built_index, settings), []

    def look(progress: Progress) -> None:
        seen.append((content(built_index, settings) == before, progress.generation))

    with closing(Snapshot.open(built_index, settings)) as old:
        report = build(vault, built_index, settings, look, rebuild=True)
        assert old.note_text("note 1.md").startswith("# Note 1")
        assert old.generation < report.generation == Snapshot.current_generation(built_index)
    assert (report.added, report.unchanged) == (3, 0)
    assert {generation for _, generation in seen[1:]} == {old.generation}
    assert all(same for same, _ in seen)
    assert content(built_index, settings) == before
    assert not (built_index / REBUILD_FOLDER).exists()


def test_a_rebuilt_index_can_be_updated(built_index: Path, vault: Path, settings: Settings, write: WriteNote) -> None:
    first = build(vault, built_index, settings, rebuild=True)
    again = build(vault, built_index, settings)
    assert (again.added, again.unchanged, again.rebuilt, again.generation) == (0, 3, "", first.generation)
    write("note 1.md", "# Note 1\n\nSoil and compost.\n")
    assert build(vault, built_index, settings).changed == 1
    assert build(vault, built_index, settings, rebuild=True).added == 3


def test_a_cancelled_rebuild_keeps_the_previous_index(built_index: Path, vault: Path, settings: Settings) -> None:
    before, control = content(built_index, settings), BuildControl()

    def cancel(_: Progress) -> None:
        control.cancel()

    with pytest.raises(BuildCancelled):
        build(vault, built_index, settings, cancel, rebuild=True, control=control)
    assert content(built_index, settings) == before
    assert build(vault, built_index, settings).rebuilt == ""
    assert not (built_index / REBUILD_FOLDER).exists()


def test_a_rebuild_that_cannot_replace_the_index_keeps_the_previous_one(
    built_index: Path, vault: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    before = content(built_index, settings)
    with monkeypatch.context() as patch:
        patch.setattr("excerpt.index.catalog.Catalog.copy_to", full)
        with pytest.raises(IndexUnusableError, match="the disk is full"):
            build(vault, built_index, settings, rebuild=True)
    assert content(built_index, settings) == before
    build(vault, built_index, settings)
    assert content(built_index, settings) == before


def test_a_rebuild_removes_an_unreadable_index_first(built_index: Path, vault: Path, settings: Settings) -> None:
    before = content(built_index, settings)
    (built_index / CATALOG_FILE).write_bytes(b"no database")
    report = build(vault, built_index, settings, rebuild=True)
    assert report.added == 3
    assert content(built_index, settings) == before
