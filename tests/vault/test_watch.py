"""Tests of watching a vault: every kind of change is reported in batches, and nothing else."""

from __future__ import annotations

import itertools
import os
import queue
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from excerpt.base.errors import VaultError
from excerpt.base.settings import VaultSettings
from excerpt.vault import watch as watching
from excerpt.vault.watch import ChangedPaths, VaultWatch

PATIENCE = 240.0  # seconds; only a failing test waits so long


class Watched:
    """A watched vault with its batches of changes."""

    def __init__(self, vault: Path, *, poll: bool = False) -> None:
        self.vault = vault
        self.batches: queue.Queue[ChangedPaths] = queue.Queue()
        self._stop = threading.Event()
        self.watch = VaultWatch(vault, VaultSettings(), self._stop, poll=poll, poll_seconds=0.05)
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def write(self, path: str, text: str = "text") -> Path:
        file = self.vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def until(self, *paths: str) -> set[str]:
        """Return the paths reported until all of `paths` are; fail if anything may have changed."""
        told: set[str] = set()
        while not told.issuperset(paths):
            batch = self.batches.get(timeout=PATIENCE)
            assert batch is not None
            told |= batch
        return told

    def until_anything(self) -> None:
        """Wait for the report that anything may have changed."""
        while self.batches.get(timeout=PATIENCE) is not None:
            pass

    def until_followed(self, path: str) -> set[str]:
        """Write a file until it is reported, and return that batch.

        It is written again as long as anything may have changed: how often that is reported for a folder that
        disappears and returns depends on timing.
        """
        for again in itertools.count():
            self.write(path, f"text {again}")
            batch = self.batches.get(timeout=PATIENCE)
            if batch is not None and path in batch:
                return set(batch)
        raise AssertionError

    def end(self) -> None:
        self._stop.set()
        self._thread.join(PATIENCE)
        self.watch.close()

    def _listen(self) -> None:
        for batch in self.watch.batches():
            self.batches.put(batch)


Watch = Callable[[], Watched]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    (folder / "kitchen/tea").mkdir(parents=True)
    for path in ("Roses.md", "kitchen/Sugar.md", "kitchen/tea/Oolong.md"):
        (folder / path).write_text("text")
    return folder


@pytest.fixture(params=["events", "polling"])
def watched(vault: Path, request: pytest.FixtureRequest) -> Iterator[Watched]:
    """Watch the vault, by events and by polling."""
    watched = Watched(vault, poll=request.param == "polling")
    assert watched.watch.is_polling == (request.param == "polling")
    yield watched
    watched.end()


@pytest.fixture
def by_events(vault: Path) -> Iterator[Watched]:
    watched = Watched(vault)
    yield watched
    watched.end()


def test_new_changed_and_deleted_notes_are_reported(watched: Watched) -> None:
    watched.write("kitchen/Cup.md")
    assert watched.until("kitchen/Cup.md") == {"kitchen/Cup.md"}
    watched.write("kitchen/Cup.md", "another text")
    assert watched.until("kitchen/Cup.md") == {"kitchen/Cup.md"}
    (watched.vault / "kitchen/Cup.md").unlink()
    assert watched.until("kitchen/Cup.md") == {"kitchen/Cup.md"}


def test_two_changes_within_a_second_are_both_reported(watched: Watched) -> None:
    for nanosecond in (1, 2, 3):
        os.utime(watched.vault / "Roses.md", ns=(10**18, 10**18 + nanosecond))
        assert watched.until("Roses.md") == {"Roses.md"}


def test_a_renamed_note_is_reported_with_both_names(watched: Watched) -> None:
    (watched.vault / "Roses.md").rename(watched.vault / "kitchen/Tulips.md")
    assert watched.until("Roses.md", "kitchen/Tulips.md") == {"Roses.md", "kitchen/Tulips.md"}


def test_a_note_replaced_by_a_rename_is_reported_by_its_name(watched: Watched) -> None:
    fresh = watched.write(".Roses.md.swp", "another text")
    fresh.replace(watched.vault / "Roses.md")
    assert watched.until("Roses.md") == {"Roses.md"}


def test_a_new_folder_is_watched_too(watched: Watched) -> None:
    watched.write("garden/beds/front/Roses.md")
    told = watched.until()
    while not any(path in told for path in ("garden", "garden/beds/front/Roses.md")):
        told |= watched.batches.get(timeout=PATIENCE) or set()
    watched.write("garden/beds/front/Tulips.md")
    assert "garden/beds/front/Tulips.md" in watched.until("garden/beds/front/Tulips.md")


def test_a_moved_folder_is_reported_and_watched_at_its_new_path(by_events: Watched) -> None:
    (by_events.vault / "kitchen").rename(by_events.vault / "pantry")
    assert by_events.until("kitchen", "pantry") == {"kitchen", "pantry"}
    by_events.write("pantry/tea/Oolong.md", "another text")
    assert by_events.until("pantry/tea/Oolong.md") == {"pantry/tea/Oolong.md"}


def test_a_deleted_folder_is_reported(by_events: Watched) -> None:
    shutil.rmtree(by_events.vault / "kitchen")
    assert by_events.until("kitchen") <= {"kitchen", "kitchen/tea", "kitchen/Sugar.md", "kitchen/tea/Oolong.md"}


def test_files_that_cannot_be_notes_are_not_reported(watched: Watched) -> None:
    watched.write("picture.png")
    watched.write(".hidden.md")
    watched.write(".git/objects/ab/cdef.md")
    (watched.vault / ".git").rename(watched.vault / ".git2")
    watched.write("Roses.md", "another text")
    assert watched.until("Roses.md") == {"Roses.md"}


@pytest.mark.skipif(os.name != "posix", reason="needs symbolic links")
def test_changes_behind_a_link_out_of_the_vault_are_not_reported(vault: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (vault / "link").symlink_to(outside)
    watched = Watched(vault)
    (outside / "Secret.md").write_text("text")
    watched.write("Roses.md", "another text")
    assert watched.until("Roses.md") == {"Roses.md"}
    watched.end()


def test_a_changed_ignore_file_means_that_anything_may_have_changed(by_events: Watched) -> None:
    by_events.write("kitchen/.gitignore", "tea/\n")
    by_events.until_anything()


def test_a_folder_that_is_no_longer_ignored_is_watched(vault: Path) -> None:
    (vault / ".excerptignore").write_text("kitchen/\n")
    watched = Watched(vault)
    (vault / ".excerptignore").write_text("")
    watched.until_anything()
    assert watched.until_followed("kitchen/tea/Oolong.md") == {"kitchen/tea/Oolong.md"}
    watched.end()


def test_polling_reports_notes_excluded_by_an_ignore_file(vault: Path) -> None:
    watched = Watched(vault, poll=True)
    watched.write(".gitignore", "kitchen/\n")
    assert watched.until("kitchen/Sugar.md") == {"kitchen/Sugar.md", "kitchen/tea/Oolong.md"}
    watched.end()


def test_many_simultaneous_changes_are_reported_in_few_batches(watched: Watched) -> None:
    paths = [f"Note {number}.md" for number in range(400)]
    for path in paths:
        watched.write(path)
    told: set[str] = set()
    batches = 0
    while not told.issuperset(paths):
        told |= watched.batches.get(timeout=PATIENCE) or set()
        batches += 1
    assert batches <= 20


@pytest.mark.skipif(os.name != "posix", reason="names are Unicode elsewhere")
def test_a_name_that_is_not_utf8_means_that_anything_may_have_changed(by_events: Watched) -> None:
    (by_events.vault / os.fsdecode(b"kitchen/caf\xe9.md")).write_text("text")
    by_events.until_anything()
    by_events.until_anything()
    by_events.write("kitchen/Sugar.md", "another text")
    assert by_events.until("kitchen/Sugar.md") == {"kitchen/Sugar.md"}


def test_a_disappearing_and_returning_vault_means_that_anything_may_have_changed(
    watched: Watched, tmp_path: Path
) -> None:
    watched.vault.rename(tmp_path / "elsewhere")
    watched.until_anything()
    (tmp_path / "elsewhere").rename(watched.vault)
    watched.until_anything()
    assert watched.until_followed("kitchen/tea/Oolong.md") == {"kitchen/tea/Oolong.md"}


def test_a_replaced_vault_folder_is_watched_from_then_on(watched: Watched, tmp_path: Path) -> None:
    watched.vault.rename(tmp_path / "elsewhere")
    watched.vault.mkdir()
    watched.until_anything()
    assert watched.until_followed("New.md") == {"New.md"}


def test_a_vault_without_file_system_events_is_scanned_regularly_instead(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> object:
        raise OSError("OS file watch limit reached.")

    monkeypatch.setattr(watching, "RustNotify", refused)
    watched = Watched(vault)
    assert watched.watch.is_polling
    watched.write("Roses.md", "another text")
    assert watched.until("Roses.md") == {"Roses.md"}
    watched.end()


def test_a_vault_on_a_file_system_without_events_is_polled(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "lacks_change_events", lambda _: True)
    watched = Watched(vault)
    assert watched.watch.is_polling
    watched.end()


def test_the_whole_vault_is_checked_regularly(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_RESCAN_SECONDS", 0.0)
    watched = Watched(vault)
    watched.until_anything()
    watched.end()


def test_a_missing_vault_cannot_be_watched(tmp_path: Path) -> None:
    with pytest.raises(VaultError):
        VaultWatch(tmp_path / "nowhere", VaultSettings(), threading.Event())
