"""Tests that a watching process is known as long as it lives, however it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from excerpt.vault.watched import is_watched, mark_watched

HOLD = """
import sys
from pathlib import Path
from excerpt.vault.watched import mark_watched
with mark_watched(Path(sys.argv[1])):
    print("holds", flush=True)
    sys.stdin.read()
"""


def holder(folder: Path) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == b"holds"
    return process


def test_a_vault_is_watched_as_long_as_a_process_watches_it(tmp_path: Path) -> None:
    folder = tmp_path / "watch"
    assert not is_watched(folder)
    with holder(folder):
        assert is_watched(folder)
    assert not is_watched(folder)
    assert list(folder.iterdir()) == []


def test_a_vault_stays_watched_while_one_of_two_watchers_runs(tmp_path: Path) -> None:
    with holder(tmp_path):
        with mark_watched(tmp_path):
            pass
        assert is_watched(tmp_path)


def test_a_vault_is_not_watched_any_more_after_its_watcher_was_killed(tmp_path: Path) -> None:
    with holder(tmp_path) as process:
        process.kill()
        process.wait()
        assert list(tmp_path.iterdir()) != []
        assert not is_watched(tmp_path)
        assert list(tmp_path.iterdir()) == []


def test_marking_a_vault_as_watched_does_nothing_if_the_folder_of_locks_is_unwritable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with mark_watched(tmp_path / "file"):
        assert not is_watched(tmp_path / "file")


def test_a_vault_counts_as_unwatched_if_the_folder_of_locks_is_unusable(tmp_path: Path) -> None:
    assert not is_watched(tmp_path / ("x" * 300))
