"""Tests of `excerpt watch` as a real process beside a real vault, started as by the app and by users."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from excerpt.base.errors import IndexBusyError, IndexUnusableError, VaultError
from excerpt.base.settings import Paths, user_paths
from excerpt.cli.main import run
from excerpt.index.writer import LOCK_FILE
from tests.cli.conftest import NOTES

PATIENCE = 240.0  # seconds; only a failing test waits so long
Event = dict[str, Any]


class Child:
    """A running `excerpt watch --progress`."""

    def __init__(self, vault: Path, *more: str) -> None:
        command = [sys.executable, "-m", "excerpt", "watch", "--vault", str(vault), "--progress", *more]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8"
        )
        self._events: queue.Queue[Event | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def do(self, command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": command}) + "\n")
        self.process.stdin.flush()

    def until(self, name: str, holds: Callable[[Event], bool] = lambda _: True) -> Event:
        """Return the next event of this name for which `holds` is true, skipping earlier events."""
        while True:
            event = self._events.get(timeout=PATIENCE)
            assert event is not None, f"it ended before {name}"
            if event["event"] == name and holds(event):
                return event

    def names_until(self, name: str) -> list[str]:
        """Return the names of the events up to the next one of this name, without progress events."""
        names: list[str] = []
        while name not in names:
            event = self._events.get(timeout=PATIENCE)
            assert event is not None
            names += [event["event"]] if event["event"] != "progress" else []
        return names

    def end(self) -> int:
        """Close stdin, as the app does when it ends, wait, and return the exit code."""
        assert self.process.stdin is not None
        assert self.process.stderr is not None
        self.process.stdin.close()
        code = self.process.wait(PATIENCE)
        assert "Traceback" not in self.process.stderr.read()
        return code

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._events.put(json.loads(line))
        self._events.put(None)


@pytest.fixture
def child(home: Path, vault: Path) -> Iterator[Child]:
    """Start a watching child that has caught up."""
    child = Child(vault)
    child.until("watching")
    yield child
    if child.process.poll() is None:
        assert child.end() == 0


@pytest.fixture
def paths(home: Path) -> Paths:
    return user_paths()


class Killed:
    """A context for `closing` that kills a process which a failing test leaves running."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.close = process.kill


def changes(added: int = 0, changed: int = 0, removed: int = 0) -> Callable[[Event], bool]:
    return lambda event: (event["added"], event["changed"], event["removed"]) == (added, changed, removed)


@pytest.mark.programs
def test_watching_is_reported_after_the_index_is_updated(home: Path, vault: Path) -> None:
    run(["index", "--vault", str(vault)])
    (vault / "Colour.md").write_text("The colour of a pear tells little.\n", encoding="utf-8")
    child = Child(vault)
    assert child.until("done", changes(changed=1))["unchanged"] == 2
    assert child.until("watching") == {"event": "watching", "polling": False}
    assert child.end() == 0


@pytest.mark.programs
def test_every_kind_of_change_reaches_the_index(child: Child, vault: Path) -> None:
    (vault / "New.md").write_text("# New\n\nKohlrabi.\n", encoding="utf-8")
    child.until("done", changes(added=1))
    (vault / "New.md").write_text("# New\n\nKohlrabi and leek.\n", encoding="utf-8")
    assert child.until("done", changes(changed=1))["embedded"] == 1
    (vault / ".New.md.tmp").write_text("# New\n\nKohlrabi, leek and dill.\n", encoding="utf-8")
    (vault / ".New.md.tmp").replace(vault / "New.md")
    child.until("done", changes(changed=1))
    (vault / "New.md").rename(vault / "Cooking" / "New.md")
    assert child.until("done", changes(added=1, removed=1))["embedded"] == 0
    (vault / "Cooking").rename(vault / "Kitchen")
    assert child.until("done", changes(added=2, removed=2))["embedded"] == 0
    (vault / "Kitchen" / "New.md").unlink()
    child.until("done", changes(removed=1))


@pytest.mark.programs
def test_hundreds_of_changed_files_make_few_commits(child: Child, vault: Path) -> None:
    before = child_generation(child)
    for number in range(300):
        (vault / f"Note {number}.md").write_text(f"# Note {number}\n", encoding="utf-8")
    last = child.until("done", lambda event: bool(event["unchanged"] + event["added"] == 303))
    assert last["generation"] - before <= 10


def child_generation(child: Child) -> int:
    child.do("update")
    return int(child.until("done")["generation"])


@pytest.mark.programs
def test_a_changed_ignore_file_removes_and_restores_notes(child: Child, vault: Path) -> None:
    (vault / ".excerptignore").write_text("Cooking/\n")
    child.until("done", changes(removed=1))
    (vault / ".excerptignore").unlink()
    assert child.until("done", changes(added=1))["embedded"] == 0


@pytest.mark.programs
def test_without_file_events_changes_are_found_by_polling(home: Path, vault: Path) -> None:
    child = Child(vault, "--poll")
    assert child.until("watching")["polling"] is True
    (vault / "New.md").write_text("# New\n", encoding="utf-8")
    child.until("done", changes(added=1))
    assert child.end() == 0


@pytest.mark.programs
def test_commands_to_the_watcher_are_answered_while_no_build_runs(child: Child) -> None:
    for command, answer in (("pause", "paused"), ("resume", "resumed"), ("cancel", "cancelled"), ("update", "done")):
        child.do(command)
        assert child.names_until(answer) == [answer]


@pytest.mark.programs
def test_changes_of_the_vault_wait_while_indexing_is_paused(child: Child, vault: Path) -> None:
    child.do("pause")
    child.until("paused")
    (vault / "New.md").write_text("# New\n", encoding="utf-8")
    child.do("update")
    child.do("nonsense")
    assert child.names_until("error") == ["error"]
    child.do("resume")
    assert child.names_until("done") == ["resumed", "done"]


@pytest.mark.programs
def test_a_rebuild_indexes_everything_again(child: Child) -> None:
    child.do("rebuild")
    child.until("done", changes(added=3))


@pytest.mark.programs
def test_a_build_is_paused_resumed_and_cancelled_while_it_runs(child: Child, vault: Path) -> None:
    for number in range(1000):
        (vault / f"Note {number}.md").write_text(f"# Note {number}\n\nText.\n", encoding="utf-8")
    child.until("progress", lambda event: event["phase"] == "reading" and event["notes_total"] > 100)
    child.do("pause")
    child.until("paused")
    child.do("cancel")
    child.until("cancelled")
    child.do("resume")
    child.do("update")
    child.until("done", lambda event: bool(event["unchanged"] + event["added"] == 1003))


@pytest.mark.programs
def test_a_vault_without_notes_waits_for_confirmation(child: Child, vault: Path) -> None:
    shutil.rmtree(vault / "Cooking")
    for file in vault.glob("*.md"):
        file.unlink()
    emptied = child.until("emptied")
    assert emptied["notes"] >= 1
    assert emptied["message"]
    assert emptied["hint"]
    child.do("agree")
    assert child.until("done", lambda event: bool(event["removed"]))["fragments"] == 0


@pytest.mark.programs
def test_a_vault_that_disappears_and_returns_keeps_its_index(child: Child, vault: Path, tmp_path: Path) -> None:
    vault.rename(tmp_path / "elsewhere")
    assert child.until("error")["title"] == VaultError.title
    (tmp_path / "elsewhere").rename(vault)
    done = child.until("done")
    assert (done["unchanged"], done["removed"], done["embedded"]) == (3, 0, 0)


@pytest.mark.programs
def test_the_watcher_waits_for_another_process_that_writes_the_index_and_reports_it_once(
    child: Child, vault: Path, paths: Paths
) -> None:
    lock = FileLock(paths.index_folder(vault) / LOCK_FILE)
    with lock:
        (vault / "New.md").write_text("# New\n", encoding="utf-8")
        busy = child.until("error")
        assert busy["title"] == IndexBusyError.title
        assert busy["hint"]
        (vault / "Newer.md").write_text("# Newer\n", encoding="utf-8")
        child.do("pause")
        child.until("paused")
    child.do("resume")
    assert child.names_until("done") == ["resumed", "done"]


@pytest.mark.programs
def test_a_deleted_index_is_built_again(child: Child, vault: Path, paths: Paths) -> None:
    shutil.rmtree(paths.cache)
    assert child.until("done", changes(added=len(NOTES)))["unchanged"] == 0


@pytest.mark.programs
def test_a_failed_build_is_reported_and_tried_again_at_the_next_change(child: Child, vault: Path, paths: Paths) -> None:
    index = paths.index_folder(vault)
    away = index.rename(index.with_name("away"))
    index.write_text("no folder can be made here")
    (vault / "New.md").write_text("# New\n", encoding="utf-8")
    error = child.until("error")
    assert error["title"] == IndexUnusableError.title
    index.unlink()
    away.rename(index)
    (vault / "Newer.md").write_text("# Newer\n", encoding="utf-8")
    child.until("done", lambda event: bool(event["unchanged"] + event["added"] == 5))


@pytest.mark.programs
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_a_termination_signal_ends_watching_cleanly(child: Child) -> None:
    child.process.terminate()
    assert child.process.wait(PATIENCE) == 0
    assert child.process.stderr is not None
    assert child.process.stderr.read() == ""


def test_a_missing_vault_at_the_start_is_an_error(home: Path, tmp_path: Path) -> None:
    child = Child(tmp_path / "nowhere")
    assert child.until("error")["title"] == VaultError.title
    assert child.process.wait(PATIENCE) == 3


@pytest.mark.programs
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_text_output_has_one_line_per_update_until_interrupted(home: Path, vault: Path) -> None:
    command = [sys.executable, "-m", "excerpt", "watch", "--vault", str(vault)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process,
        contextlib.closing(Killed(process)),
    ):
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        assert re.findall(r"\d+ [a-z]+", line)[:3] == ["0 changed", "3 added", "0 removed"]
        first = re.search(r"generation (\d+) · ", line)  # a first build on a busy machine commits several
        assert first is not None
        notice = process.stderr.readline()
        assert str(vault) in notice
        assert "Ctrl+C" in notice
        (vault / "New.md").write_text("# New\n", encoding="utf-8")
        line = process.stdout.readline()
        assert re.findall(r"\d+ [a-z]+", line)[:3] == ["0 changed", "1 added", "0 removed"]
        assert f"generation {int(first[1]) + 1} · " in line
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert process.stderr.read() == ""
