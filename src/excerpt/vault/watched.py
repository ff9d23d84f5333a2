"""Whether a vault is watched just now: whoever watches it holds the lock of a file, which dies with its holder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import Timeout

from excerpt.state_files import file_lock


@contextmanager
def mark_watched(folder: Path) -> Iterator[None]:
    """Mark a vault as watched for a block, by a file in `folder`; does nothing if that is not writable."""
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
    """Return whether a watcher of `folder` is alive, False if unknown; files of dead ones are removed."""
    try:
        return any(_is_held(file) for file in sorted(folder.glob("*.lock")))
    except OSError:
        return False


def _is_held(file: Path) -> bool:
    try:
        with file_lock(file, 0):
            file.unlink(missing_ok=True)
    except Timeout:
        return True
    except OSError:
        pass
    return False
