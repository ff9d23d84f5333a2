"""Tests of pausing, resuming and cancelling a build from another thread, and of its working time."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from excerpt.index import build as building
from excerpt.index.build import BuildCancelled, BuildControl, build
from excerpt.index.snapshot import Snapshot
from excerpt.model import Progress
from excerpt.settings import Settings
from tests.index.conftest import WriteNote


@pytest.fixture
def thirty(write: WriteNote, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write thirty notes, of which the first batch takes eight."""
    monkeypatch.setattr(building, "_FIRST_BATCH_NOTES", 8)
    for number in range(30):
        write(f"{number:02}.md", f"# Note\n\nText {number}.\n")


@pytest.mark.usefixtures("thirty")
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


@pytest.mark.usefixtures("thirty")
def test_time_paused_is_not_counted_as_work(vault: Path, index: Path, settings: Settings) -> None:
    control = BuildControl()
    control.pause()
    threading.Timer(1.0, control.resume).start()
    began = time.monotonic()
    report = build(vault, index, settings, control=control)
    assert control.seconds_paused > 0.5
    assert report.seconds <= time.monotonic() - began - control.seconds_paused


@pytest.mark.usefixtures("thirty")
@pytest.mark.parametrize("paused", [False, True])
def test_a_cancelled_build_keeps_what_it_has_committed_and_the_next_goes_on(
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


def test_the_time_that_a_file_has_been_in_work_is_told(
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
