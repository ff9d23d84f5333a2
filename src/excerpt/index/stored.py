"""A note as the catalog keeps it, read back whole: to be held against its own text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from excerpt.index.fields import FieldCollector
from excerpt.index.rows import DamagedRowError, ReadRows, heading_path_from_row, text_from_row

_NOTE = (
    "SELECT n.path, n.size, n.mtime_ns, n.ctime_ns, n.digest, n.cut, n.title, n.language, n.tokens, t.text FROM notes n"
    " LEFT JOIN note_texts t ON t.note = n.id WHERE n.id = ?"
)
_SECTIONS = (
    "SELECT ordinal, level, heading, heading_path, line_start, line_end FROM sections WHERE note = ? ORDER BY ordinal"
)
_FRAGMENTS = (
    "SELECT key, id, ordinal, section, line_start, line_end, tokens, digest, embedded, text FROM fragments"
    " WHERE note = ? ORDER BY key"
)
_LINKS = "SELECT line, kind, target, heading, block_id, text FROM links WHERE note = ? ORDER BY rowid"
_LABELS = "SELECT kind, name, value FROM labels WHERE note = ? ORDER BY rowid"
_NAMES = "SELECT name FROM names WHERE note = ? ORDER BY name"


@dataclass(frozen=True, slots=True)
class StoredNote:
    """The rows of one note, as `NoteRows` has them; `keys` are those of its fragments. `text` is None if it is lost."""

    number: int
    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    digest: str
    cut: str
    title: str
    language: str
    tokens: int
    text: str | None
    sections: list[tuple[Any, ...]]
    keys: list[int]
    fragments: list[tuple[Any, ...]]
    links: list[tuple[Any, ...]]
    labels: list[tuple[Any, ...]]
    names: list[str]


def read_stored(rows: ReadRows, number: int) -> StoredNote:
    """The note of that number in the catalog. Raises sqlite3.DatabaseError."""
    ((path, size, mtime_ns, ctime_ns, digest, cut, title, language, tokens, text),) = rows(_NOTE, number)
    fragments = rows(_FRAGMENTS, number)
    return StoredNote(
        number=number,
        path=path,
        size=size,
        mtime_ns=mtime_ns,
        ctime_ns=ctime_ns,
        digest=digest,
        cut=cut,
        title=title,
        language=language,
        tokens=tokens,
        text=None if text is None else _unpacked(text),
        sections=rows(_SECTIONS, number),
        keys=[row[0] for row in fragments],
        fragments=[row[1:] for row in fragments],
        links=rows(_LINKS, number),
        labels=rows(_LABELS, number),
        names=[row[0] for row in rows(_NAMES, number)],
    )


def collect_words(note: StoredNote, collector: FieldCollector) -> None:
    """Add the words of the stored fragments, as they were added when the note was taken apart."""
    properties: dict[str, list[str]] = {}
    for kind, name, value in note.labels:
        if kind == "property":
            properties.setdefault(name, []).append(value)
    above = {row[0]: heading_path_from_row(row[3]) for row in note.sections}
    collector.add_note(
        *(note.path, note.title, note.language),
        aliases=[value for kind, _, value in note.labels if kind == "alias"],
        tags=[value for kind, _, value in note.labels if kind == "tag"],
        properties=properties,
        fragments=[(above.get(row[2], ()), row[8]) for row in note.fragments],
    )


def lines_of(note: StoredNote) -> Sequence[str]:
    """The lines of its text; line n of the file is item n - 1."""
    return (note.text or "").split("\n")


def _unpacked(text: bytes) -> str | None:
    try:
        return text_from_row(text)
    except DamagedRowError:
        return None
