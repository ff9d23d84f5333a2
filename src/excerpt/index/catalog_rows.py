"""Rows of the catalog: their types, and how texts and heading paths are stored in them."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct

from excerpt.corpus.names import NameTerms

ReadRows = Callable[..., list[tuple[Any, ...]]]
"""A function that runs SQL on the catalog: takes the statement and its values, returns the rows."""

MAX_SQL_VALUES = 500
"""Most values bound in one query: SQLite accepts at most some thousand."""

FragmentRow = tuple[str, int, int, int, int, int, str, bytes, str]
"""A fragment as a row: id, number in its note, number of its section, first line, last line, tokens, digest of the
text, digest of the embedded text (which includes title and headings), text."""

FragmentPosition = tuple[int, int, int]
"""A fragment's key, the row id of its note, and its first line."""


class NoteRows(Struct, frozen=True):
    """The rows of one note, as they are inserted into the catalog.

    `size` (bytes), `mtime_ns`, `ctime_ns` and `digest` are those of the file. `cut` is the version of the code and
    settings that prepared the file (`changes.prepare_key`). `text` is zlib-compressed UTF-8. `sections` are (number,
    level, heading, heading path as JSON, first line, last line, location), `links` are (line, kind, target, heading,
    block id, text), and `labels` are (kind, name, value) with the kinds of `FacetQueries.labels`. `names` are the
    folded title, aliases and file name; `name_terms` are the tokenized names. `kind` is "" for a note and for example
    "pdf" for an attachment; `unread` is the number of images that OCR has not read. `comments` are (number, line,
    column, 1 where the comment begins, number of the fragment that has the comment for its author, text).
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
    sections: list[tuple[int, int, str, str, int, int, str]]
    fragments: list[FragmentRow]
    links: list[tuple[int, str, str, str | None, str | None, str | None]]
    labels: list[tuple[str, str, str]]
    names: list[str]
    name_terms: NameTerms
    warnings: tuple[str, ...]
    kind: str
    unread: int
    comments: list[tuple[int, int, int, int, int | None, str]]


class DamagedRowError(sqlite3.DatabaseError):
    """A row of the catalog differs from its checksum, which SQLite does not check; `what` names the row."""

    def __init__(self, what: str) -> None:
        super().__init__(f"a row of the catalog is damaged ({what})")


class KnownNote(Struct, frozen=True):
    """The stored data of a file that decide whether the next build must read it again.

    `digest` is that of its content, `cut` the version of the code and settings that prepared it
    (`changes.prepare_key`), and `unread` the number of images that OCR has not read.
    """

    size: int
    mtime_ns: int
    ctime_ns: int
    digest: str
    cut: str
    unread: int = 0


class GivenUpFile(Struct, frozen=True):
    """A file that is skipped until it changes, because it exceeded a limit of time or memory or its reader failed.

    `cut` is the version of the code and settings that tried to prepare it; `reason` is a sentence for the user.
    """

    size: int
    mtime_ns: int
    ctime_ns: int
    cut: str
    reason: str


def heading_path_to_row(heading_path: Sequence[str]) -> str:
    return json.dumps(heading_path, ensure_ascii=False)


_decode_headings = msgspec.json.Decoder(tuple[str, ...]).decode  # a search decodes those of 50 fragments


@lru_cache(maxsize=10_000)
def heading_path_from_row(value: str) -> tuple[str, ...]:
    """Return the headings in a stored heading path, a JSON list. Raises DamagedRowError."""
    try:
        return _decode_headings(value)
    except (msgspec.DecodeError, TypeError) as error:
        raise DamagedRowError(f"a heading path, {error}") from error


def compress_text(text: str) -> bytes:
    return zlib.compress(text.encode(), 3)


def decompress_text(value: bytes) -> str:
    """Return the text in a stored value, zlib-compressed UTF-8. Raises DamagedRowError."""
    try:
        return zlib.decompress(value).decode()
    except (zlib.error, UnicodeDecodeError) as error:
        raise DamagedRowError(f"a text, {error}") from error
