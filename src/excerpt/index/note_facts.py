"""What the catalog says of a note besides its fragments: text, sections, size, dates, names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from excerpt.index.rows import AT_ONCE, ReadRows, heading_path_from_row, text_from_row
from excerpt.model import Section


@dataclass(frozen=True, slots=True)
class NoteInfo:
    """What is known of a note besides its text. `mtime_ns` is the file's time when it was read."""

    path: str
    title: str
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    language: str
    size: int
    mtime_ns: int
    tokens: int


def sections(rows: ReadRows, path: str) -> list[Section]:
    """A note's sections in their order, without their blocks."""
    sql = (
        "SELECT ordinal, level, heading, heading_path, s.line_start, s.line_end FROM sections s"
        " JOIN notes ON notes.id = s.note WHERE path = ? ORDER BY ordinal"
    )
    return [
        Section(ordinal, level, heading, heading_path_from_row(under), start, end, ())
        for ordinal, level, heading, under, start, end in rows(sql, path)
    ]


def text(rows: ReadRows, path: str) -> str:
    """With LF line ends. Raises KeyError for an unknown note, as all do that take one path but `sections`."""
    (packed,) = _row(rows, "text", path, joined="JOIN note_texts ON note = notes.id")
    return text_from_row(packed)


def tokens(rows: ReadRows, path: str) -> int:
    """Of the whole file."""
    (counted,) = _row(rows, "tokens", path)
    return int(counted)


def modified(rows: ReadRows, path: str) -> str:
    """A day, ISO 8601, UTC; empty for a time that no calendar has."""
    (mtime_ns,) = _row(rows, "mtime_ns", path)
    try:
        return datetime.fromtimestamp(mtime_ns / 1e9, UTC).date().isoformat()
    except (OverflowError, ValueError, OSError):
        return ""


def _row(rows: ReadRows, columns: str, path: str, joined: str = "") -> tuple[Any, ...]:
    found = rows(f"SELECT {columns} FROM notes {joined} WHERE path = ?", path)
    if not found:
        raise KeyError(path)
    return found[0]


def info(rows: ReadRows, path: str) -> NoteInfo:
    number, title, language, size, mtime_ns, counted = _row(rows, "id, title, language, size, mtime_ns, tokens", path)
    labels = rows("SELECT kind, value FROM labels WHERE note = ? ORDER BY rowid", number)
    return NoteInfo(
        path=path,
        title=title,
        aliases=tuple(value for kind, value in labels if kind == "alias"),
        tags=tuple(value for kind, value in labels if kind == "tag"),
        language=language,
        size=size,
        mtime_ns=mtime_ns,
        tokens=counted,
    )


def other_names(rows: ReadRows, numbers: Sequence[int]) -> list[tuple[str, ...]]:
    """What notes, by their numbers in the catalog, are called beside their titles: their aliases, and the file's name
    where it is another."""
    found: dict[int, list[str]] = {}
    for at in range(0, len(numbers), AT_ONCE):
        part = numbers[at : at + AT_ONCE]
        marks = ",".join("?" * len(part))
        sql = f"SELECT note, value FROM labels WHERE kind = 'alias' AND note IN ({marks}) ORDER BY rowid"
        for number, alias in rows(sql, *part):
            found.setdefault(number, []).append(alias)
        for number, path, title in rows(f"SELECT id, path, title FROM notes WHERE id IN ({marks})", *part):
            stem = PurePosixPath(path).stem
            found.setdefault(number, []).extend([stem] if stem != title else [])
    return [tuple(found.get(number, ())) for number in numbers]
