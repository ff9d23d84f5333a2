"""Files that several excerpts write: one at a time, replaced whole or not at all, for their owner alone to read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_LOCK_SECONDS = 2.0


def replace_file(file: Path, data: bytes, *, lasting: bool = False) -> None:
    """Write `data` in the place of what the file holds, its folder with it. Raises OSError, and the file is then as it
    was. A `lasting` one survives a power cut, for which the disk is waited for."""
    make_folder(file)
    fresh = file.with_suffix(f".{os.getpid()}")
    try:
        with open(fresh, "wb", opener=for_owner) as out:
            out.write(data)
            if lasting:
                out.flush()
                os.fsync(out.fileno())
        fresh.replace(file)
    except OSError:
        with suppress(OSError):
            fresh.unlink()
        raise


def make_folder(file: Path) -> None:
    """The folder of a file. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)


def for_owner(path: str, flags: int) -> int:
    """An opener of files that others may not read."""
    return os.open(path, flags, 0o600)


def ends_line(opened: BinaryIO) -> bool:
    """Whether a file that has anything in it ends with a line's end: not, where a process died while it wrote."""
    opened.seek(-1, os.SEEK_END)
    return opened.read(1) == b"\n"


@contextmanager
def alone(file: Path) -> Iterator[None]:
    """Hold the file's lock, so that nothing is lost between a read and a write. Raises OSError where it is not to be
    had in two seconds."""
    from filelock import FileLock

    make_folder(file)
    with FileLock(file.with_suffix(".lock"), timeout=_LOCK_SECONDS):
        yield
