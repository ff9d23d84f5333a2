"""Files -> notes: one reader for each kind of file."""

from __future__ import annotations

import hashlib
from pathlib import Path, PurePosixPath
from typing import Protocol

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


def digest_of(data: bytes) -> str:
    """32 hex digits that tell a file's content from any other's."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def reader_for(path: str) -> Reader | None:
    """The reader for a file of this name, None if there is none."""
    from excerpt.vault.readers.markdown import MarkdownReader

    suffix = PurePosixPath(path).suffix.lower()
    reader = MarkdownReader()
    return reader if suffix in reader.extensions else None
