"""Derived files: each is written whole, synced, and recorded in the catalog with its size and checksum.

A file that does not match its record is not used. Files without a record are leftovers of a killed build, or of a
generation that a reader may still be opening, and are removed later.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import threading
import weakref
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from excerpt.errors import IndexUnusableError
from excerpt.text.display import format_count

_CHUNK = 1 << 22

SUSPECT = "suspect"
"""A file that a reader creates in the index folder when the catalog seems damaged: the next build checks all of it.

It holds the error if SQLite's own check would not find it.
"""


def mark_suspect(folder: Path, reason: str = "") -> None:
    """Have the next build check the whole catalog. `reason` is the error, if SQLite's own check would not find it."""
    # If the file cannot be written, the index could not be repaired either; a pipe in its place must not block.
    with contextlib.suppress(OSError), open(folder / SUSPECT, "w", encoding="utf-8", opener=_open_nonblocking) as file:
        file.write(reason)


class DamagedFileError(IndexUnusableError):
    """A derived file is missing, cut short or altered. The next build rebuilds it from the catalog."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "Run `excerpt index` to rebuild it.")


@dataclass(frozen=True, slots=True)
class DerivedFile:
    """A file as it was when its generation was committed; `name` is relative to the index folder."""

    name: str
    size: int
    crc: int


def open_regular(path: Path) -> io.FileIO:
    """Open a file for reading, unbuffered. Raises OSError, also for a pipe, a socket or a device, without blocking."""
    file = io.FileIO(path, opener=_open_nonblocking)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a regular file")
    return file


def _open_nonblocking(path: str, flags: int) -> int:
    # Opening a pipe that nobody writes into would block forever.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


class RandomAccessFile:
    """An open file that any thread reads from by offset.

    It is not mapped into memory: if another program cuts a mapped file short, the next access ends the process
    (SIGBUS); if it cuts this one, a read raises OSError.
    """

    def __init__(self, path: Path) -> None:
        """Open a file for reads at any offset. Raises OSError."""
        self._file = open_regular(path)
        self._lock = threading.Lock()
        self.size = os.fstat(self._file.fileno()).st_size
        self.close = weakref.finalize(self, self._file.close)

    def read(self, start: int, end: int) -> bytearray:
        """Return the bytes from `start` to before `end`. Raises OSError if the file is too short."""
        data = bytearray(end - start)
        view = memoryview(data)
        with self._lock:
            self._file.seek(start)
            while view and (count := self._file.readinto(view)):
                view = view[count:]
        if view:
            raise OSError(errno.EIO, "it was cut short")
        return data


def seal(folder: Path, name: str) -> DerivedFile:
    """Sync a finished file to disk and return its record. Raises OSError."""
    with (folder / name).open("rb+") as file:
        os.fsync(file.fileno())
        return DerivedFile(name, os.fstat(file.fileno()).st_size, _crc(folder / name, os.fstat(file.fileno()).st_size))


def check(folder: Path, file: DerivedFile, *, content: bool = True, grows: bool = False) -> None:
    """Raise DamagedFileError unless the file exists, is as large as recorded and, with `content`, has its checksum.

    A file that `grows` may be larger: a later generation appends to the matrix, and only the recorded part is checked.
    """
    path = folder / file.name
    try:
        size = path.stat().st_size
        if size < file.size:
            raise DamagedFileError(f"{file.name} is cut short: {size} of {format_count(file.size, 'byte')}.")
        if size > file.size and not grows:
            raise DamagedFileError(f"{file.name} is too long: {size} instead of {format_count(file.size, 'byte')}.")
        if content and _crc(path, file.size) != file.crc:
            raise DamagedFileError(f"{file.name} is altered.")
    except FileNotFoundError as error:
        raise DamagedFileError(f"{file.name} is missing.") from error
    except OSError as error:
        raise DamagedFileError(f"{file.name} cannot be read: {error.strerror}.") from error


def extend_crc(crc: int, data: bytes) -> int:
    """Return the checksum of a file after `data` was appended to it."""
    return zlib.crc32(data, crc)


def remove_others(folder: Path, keep: Iterable[str]) -> None:
    """Remove every file in `folder` and one folder below whose name (relative, with "/") is not in `keep`.

    A file that is still open elsewhere may remain for now: Windows refuses, and the next build tries again.
    """
    names = set(keep)
    for path in (*folder.glob("*"), *folder.glob("*/*")):
        if path.is_file() and path.relative_to(folder).as_posix() not in names:
            with contextlib.suppress(OSError):
                path.unlink()


def _crc(path: Path, size: int) -> int:
    crc, left = 0, size
    with open_regular(path) as file:
        while left and (data := file.read(min(left, _CHUNK))):
            crc = zlib.crc32(data, crc)
            left -= len(data)
    return crc
