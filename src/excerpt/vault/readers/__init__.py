"""Files -> notes: one reader for each kind of file."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path, PurePosixPath
from typing import Protocol

from excerpt.errors import ReadError
from excerpt.model import Note


class Reader(Protocol):
    """Reads one kind of file. `extensions` are in lower case, with the dot."""

    @property
    def extensions(self) -> tuple[str, ...]: ...

    def read(self, file: Path, path: str, max_bytes: int, language: str = "") -> tuple[Note, str]:
        """The note in `file`, which is `path` in its vault, and the digest of its content.

        Its language is `language` (ISO 639-1), or where that is "" the one it seems to be in.

        Raises ReadError, which says why in one sentence, if there is no note in it.
        """
        ...


def load_bytes(file: Path, max_bytes: int) -> bytes:
    """The bytes of a regular file, at most `max_bytes` of them; a link put in its place meanwhile is not followed."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(file, flags), "rb") as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise ReadError("It is not a file but a device, pipe or socket.")
            data = opened.read(max_bytes + 1)
    except FileNotFoundError:
        raise ReadError("It vanished before it could be read.") from None
    except OSError as error:
        raise ReadError(f"It cannot be read: {error.strerror or error}.", "Check its permissions.") from error
    if len(data) > max_bytes:
        limit = f"{max_bytes / 1024 / 1024:.3g} MB"
        raise ReadError(f"It is larger than {limit}.", "Raise vault.max_bytes in the settings to index it.")
    return data


def digest_of(data: bytes) -> str:
    """32 hex digits that tell a file's content from any other's."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def reader_for(path: str) -> Reader | None:
    """The reader for a file of this name, None if there is none."""
    from excerpt.vault.readers.markdown import MarkdownReader

    suffix = PurePosixPath(path).suffix.lower()
    reader = MarkdownReader()
    return reader if suffix in reader.extensions else None
