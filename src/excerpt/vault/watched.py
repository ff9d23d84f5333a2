"""Marks that a vault is being watched: locked files, whose locks end with their processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import Timeout

from excerpt.base.state_files import file_lock


@contextmanager
def mark_watched(folder: Path) -> Iterator[None]:
    """Mark a vault as watched for the duration of a `with` block, by a locked file in `folder`.

    Does nothing if the folder is not writable.
    """
    file = folder / f"{os.getpid()}.lock"
    lock = file_lock(file, 0)
    with suppress(OSError, Timeout):
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    try:
        yield
    finally:
        with suppress(OSError):
            if lock.is_locked:
                file.unlink(missing_ok=True)
            lock.release()


def is_watched(folder: Path) -> bool:
    """Return whether a running process has marked a vault as watched in `folder`; False if that is unknown.

    Removes the files of processes that have ended.
    """
    try:
        return any(_is_lock_held(file) for file in sorted(folder.glob("*.lock")))
    except OSError:
        return False


class WatchClaim:
    """The right to start the process that watches a vault; one process at a time has it, by a locked file in `folder`.

    A new process takes a moment to mark the vault as watched; meanwhile the claim keeps others from starting one too.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = file_lock(folder / "claim", 0)

    def acquire(self) -> bool:
        """Acquire the claim; return False if another process has it, or if the vault is watched.

        In a folder that is not writable nobody can have the claim, so that every process gets it.
        """
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
        except Timeout:
            return False
        except OSError:
            return True
        if is_watched(self._folder):
            self._lock.release()
            return False
        return True

    def release(self) -> None:
        """Release the claim, if this process has it."""
        self._lock.release()


def _is_lock_held(file: Path) -> bool:
    try:
        with file_lock(file, 0):
            file.unlink(missing_ok=True)
    except Timeout:
        return True
    except OSError:
        pass
    return False
