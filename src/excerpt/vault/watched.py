"""Marks that a vault is being watched: a locked file, whose lock ends with the watching process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import Timeout

from excerpt.state_files import file_lock


@contextmanager
def mark_watched(folder: Path) -> Iterator[None]:
    """Mark a vault as watched during a `with` block, by a locked file in `folder`.

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


def _is_lock_held(file: Path) -> bool:
    try:
        with file_lock(file, 0):
            file.unlink(missing_ok=True)
    except Timeout:
        return True
    except OSError:
        pass
    return False
