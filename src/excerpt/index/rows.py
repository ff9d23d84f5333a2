"""Rows of the catalog: what a note becomes before it is inserted, and how values are written into columns."""

from __future__ import annotations

import json
import sqlite3
import unicodedata
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

ReadRows = Callable[..., list[tuple[Any, ...]]]
"""Asks the catalog: SQL and its values, to rows."""

AT_ONCE = 500
"""Values in one query: SQLite takes no more than some thousand."""

FragmentRow = tuple[str, int, int, int, int, int, str, bytes, str]
"""id, ordinal, section, first line, last line, tokens, digest, digest of the embedded text, text."""

Placed = tuple[int, int, int]
"""Where a fragment stands: its key, the number of its note, its first line."""


@dataclass(frozen=True, slots=True)
class NoteRows:
    """A note as rows, ready to insert.

    `text` is zlib-compressed UTF-8; `cut` is the version of the code that cut the fragments; `labels` are (kind, name,
    value) with the kinds alias, tag and property; `names` are what the note is called (title, aliases, file), folded.
    """

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    digest: str
    cut: str
    title: str
    language: str
    tokens: int
    text: bytes
    sections: list[tuple[int, int, str, str, int, int]]
    fragments: list[FragmentRow]
    links: list[tuple[int, str, str, str | None, str | None, str | None]]
    labels: list[tuple[str, str, str]]
    names: list[str]
    warnings: tuple[str, ...]


class DamagedRowError(sqlite3.DatabaseError):
    """A row does not hold what was written, which SQLite has no checksum to tell by. Raised with what it is."""

    def __init__(self, what: str) -> None:
        super().__init__(f"a row of the catalog is damaged ({what})")


@dataclass(frozen=True, slots=True)
class KnownNote:
    """What decides whether a file must be read again."""

    size: int
    mtime_ns: int
    ctime_ns: int
    digest: str
    cut: str


@dataclass(frozen=True, slots=True)
class GivenUp:
    """A file that took more time or memory than a file may, as it was then, and the reason it was skipped for."""

    size: int
    mtime_ns: int
    ctime_ns: int
    cut: str
    reason: str


def fold_name(name: str) -> str:
    """What two names of a note are compared by: without case, width and runs of white space."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def heading_path_to_row(heading_path: Sequence[str]) -> str:
    return json.dumps(heading_path, ensure_ascii=False)


@lru_cache(maxsize=10_000)
def heading_path_from_row(value: str) -> tuple[str, ...]:
    """Raises DamagedRowError."""
    try:
        return tuple(json.loads(value))
    except (ValueError, TypeError) as error:
        raise DamagedRowError(f"a heading path, {error}") from error


def text_to_row(text: str) -> bytes:
    return zlib.compress(text.encode(), 3)


def text_from_row(value: bytes) -> str:
    """Raises DamagedRowError."""
    try:
        return zlib.decompress(value).decode()
    except (zlib.error, UnicodeDecodeError) as error:
        raise DamagedRowError(f"a text, {error}") from error
