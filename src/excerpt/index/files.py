"""Files derived from the catalog: each is written, synced, and recorded in the catalog with its size and checksum.

A file that does not match its record is not used. Files without a record are leftovers of a killed build, or of a
generation that a reader may still be opening, and are removed later.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import weakref
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from excerpt.base.errors import IndexUnusableError
from excerpt.base.state_files import open_nonblocking, open_regular
from excerpt.text.display import format_count

READ_BYTES = 1 << 22

EMBEDDINGS_FOLDER = "embeddings"
"""Name of the subfolder with vectors that took long to compute, and outlive the index: see `encoder_vectors`."""

SUSPECT_FILE = "suspect"
"""Name of a file by which a reader asks the next build to check the whole catalog.

It contains the error message, if SQLite's own check would not find the error.
"""


def mark_suspect(folder: Path, reason: str = "") -> None:
    """Ask the next build to check the whole catalog.

    `reason` is the message of the error that was found, if SQLite's own check would not find it; else "".
    """
    # If the file cannot be written, the index could not be repaired either; a pipe in its place must not block.
    with (
        contextlib.suppress(OSError),
        open(folder / SUSPECT_FILE, "w", encoding="utf-8", opener=open_nonblocking) as file,
    ):
        file.write(reason)


class DamagedFileError(IndexUnusableError):
    """A file of the lexical index or the vector matrix is missing, cut short or altered; a build repairs it."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "Run `excerpt index` to rebuild this part of the index.")


class DerivedFile(Struct, frozen=True):
    """Name (relative to the index folder), size in bytes and CRC-32 of a file when it was committed."""

    name: str
    size: int
    crc: int


class RandomAccessFile:
    """An open file from which any thread can read bytes at any offset.

    The file is not mapped into memory: if another program cut a mapped file short, the next access would end the
    process (SIGBUS). Here a read raises OSError.
    """

    def __init__(self, path: Path) -> None:
        """Open the file at `path`. Raises OSError, also for a pipe, a socket or a device."""
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


def sync_and_record(folder: Path, name: str) -> DerivedFile:
    """Sync the finished file `name` in `folder` to disk, and return its size and checksum. Raises OSError."""
    with (folder / name).open("rb+") as file:
        os.fsync(file.fileno())
        return DerivedFile(
            name, os.fstat(file.fileno()).st_size, _compute_crc(folder / name, os.fstat(file.fileno()).st_size)
        )


def check_file(folder: Path, file: DerivedFile, *, content: bool = True, may_grow: bool = False) -> None:
    """Raise DamagedFileError if a file is missing or differs from its record in size or, with `content`, checksum.

    With `may_grow` the file may be larger than recorded, because a later commit appends to the vector matrix; only the
    recorded part is checked.
    """
    path = folder / file.name
    try:
        size = path.stat().st_size
        if size < file.size:
            raise DamagedFileError(f"{file.name} is cut short: {size} of {format_count(file.size, 'byte')}.")
        if size > file.size and not may_grow:
            raise DamagedFileError(f"{file.name} is too long: {size} instead of {format_count(file.size, 'byte')}.")
        if content and _compute_crc(path, file.size) != file.crc:
            raise DamagedFileError(f"{file.name} is altered.")
    except FileNotFoundError as error:
        raise DamagedFileError(f"{file.name} is missing.") from error
    except OSError as error:
        raise DamagedFileError(f"{file.name} cannot be read: {error.strerror}.") from error


def extend_crc(crc: int, data: bytes) -> int:
    """Return the CRC-32 of a file after `data` was appended; `crc` is the file's CRC-32 before."""
    return zlib.crc32(data, crc)


def remove_other_files(folder: Path, keep: Iterable[str]) -> None:
    """Remove every file in `folder` and its direct subfolders whose name (relative, with "/") is not in `keep`.

    Files in EMBEDDINGS_FOLDER stay. On Windows, a file that another process has open remains; the next build tries
    again.
    """
    names = set(keep)
    for path in (*folder.glob("*"), *folder.glob("*/*")):
        is_embeddings = path.parent == folder / EMBEDDINGS_FOLDER
        if not is_embeddings and path.is_file() and path.relative_to(folder).as_posix() not in names:
            with contextlib.suppress(OSError):
                path.unlink()


def _compute_crc(path: Path, size: int) -> int:
    with open_regular(path) as file:
        return read_crc(file, size)


def read_crc(file: BinaryIO, size: int) -> int:
    """Return the CRC-32 of the next `size` bytes of an open file, or of what is left if it is shorter.

    They are read in parts: a file may have hundreds of MB.
    """
    crc, left = 0, size
    while left and (data := file.read(min(left, READ_BYTES))):
        crc = zlib.crc32(data, crc)
        left -= len(data)
    return crc
