"""Checksums of the catalog's rows: computed in SQL and Python, and compared when rows are read.

SQLite has no checksums: a text with a flipped bit looks like any other text. So each row that a search shows has a
checksum, written with the row and compared when the row is read to be shown, which takes 3 µs a fragment. A
fragment's covers the columns of its note and section that are shown with it; its text is covered by the digest.
Sections, links, labels and names have one checksum for each note and table, as a vault has hundreds of thousands of
these rows; so have the ids of its fragments, which shows that one is lost. Table `seals` holds these checksums, and
those of the tables with one row for each note.
"""

from __future__ import annotations

import marshal
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from excerpt.index.catalog_rows import MAX_SQL_VALUES, DamagedRowError, ReadRows
from excerpt.text.fragments import digest_of_text

NOTE_CHECKSUM_COLUMNS = "id, path, title, language, tokens, kind"
"""Columns of table `notes` that its column `crc` covers. Every build compares the other columns with the file."""
FRAGMENT_CHECKSUM_COLUMNS = (
    "f.key, f.id, n.path, n.title, n.kind, f.ordinal, f.section, s.level, s.heading, s.heading_path, s.place,"
    " f.line_start, f.line_end, f.tokens, f.digest"
)
"""Columns of a fragment, its note and its section that the fragment's `crc` covers."""
FRAGMENT_TABLES_SQL = (
    "fragments f JOIN notes n ON n.id = f.note JOIN sections s ON s.note = f.note AND s.ordinal = f.section"
)
_SEPARATOR, _NULL = "\x1f", "\x1e"
CHECKSUM_TABLES = {
    "sections": ("", ("ordinal", "level", "heading", "heading_path", "line_start", "line_end", "place")),
    "links": (
        "INDEXED BY links_of_note",
        ("line", "kind", "target", *(f"coalesce({name}, char(30))" for name in ("heading", "block_id", "text"))),
    ),
    "labels": ("INDEXED BY labels_of_note", ("kind", "name", "value")),
    "names": ("INDEXED BY names_of_note", ("name",)),
    "fragments": ("INDEXED BY fragments_of_note", ("id",)),
    "comments": ("", ("number", "line", "at", "begins", "coalesce(fragment, char(30))", "text")),
}
"""Tables that have one checksum for all rows of a note: an SQL clause that selects the rows in the order in which they
were written, and the columns that the checksum covers."""
ONE_ROW_TABLES = {"note_texts": "text", "name_terms": "own, lengths, terms, files, targets"}
"""Tables that have one row for each note, with the columns that its checksum covers."""


def checksum(*values: str | float | bytes | None) -> int:
    """Return the CRC-32 of the values of a row, which depends on their types too."""
    # Version 2 of the format is the same in all versions of Python, and takes a third of the time of JSON.
    return zlib.crc32(marshal.dumps(values, 2))


def checksum_of_rows(rows: Iterable[Sequence[object]]) -> int:
    """Return the CRC-32 of all rows that one note has in a table, in the order given."""
    return checksum_of_text(_SEPARATOR.join([_NULL if value is None else str(value) for row in rows for value in row]))


def checksum_of_text(rows: str) -> int:
    return zlib.crc32(rows.encode("utf-8", "surrogatepass"))


def read_checked_notes(rows: ReadRows, condition: str = "1", *values: object) -> list[tuple[Any, ...]]:
    """Read the notes that meet an SQL `condition` (default: all): NOTE_CHECKSUM_COLUMNS, checksum, size, mtime_ns.

    `values` are bound to the condition. Raises DamagedRowError if a row does not match its checksum.
    """
    note_rows = rows(f"SELECT {NOTE_CHECKSUM_COLUMNS}, crc, size, mtime_ns FROM notes WHERE {condition}", *values)
    for *sealed, crc, _, _ in note_rows:
        if checksum(*sealed) != crc:
            raise DamagedRowError("a note's title, path, language or number of tokens")
    return note_rows


def verify_fragment_checksums(rows: ReadRows, notes: Sequence[int] | None = None) -> None:
    """Compare the fragments of some notes (by row id; None: of all notes) with their checksums. Raises DamagedRowError.

    Those of given notes are read at once, those of all notes in parts.
    """
    sql = f"SELECT {FRAGMENT_CHECKSUM_COLUMNS}, f.crc, f.text FROM {FRAGMENT_TABLES_SQL} WHERE f."
    for condition, part in split_notes(notes or ()):
        _verify_fragments(rows(f"{sql}note {condition}", *part))
    above = -1
    while notes is None and (fragment_rows := rows(f"{sql}key > ? ORDER BY f.key LIMIT ?", above, 4 * MAX_SQL_VALUES)):
        above = fragment_rows[-1][0]
        _verify_fragments(fragment_rows)


def _verify_fragments(fragment_rows: Iterable[tuple[Any, ...]]) -> None:
    for *sealed, crc, text in fragment_rows:
        if checksum(*sealed) != crc or digest_of_text(text) != sealed[-1]:
            raise DamagedRowError("a fragment")


def verify_one_row_tables(rows: ReadRows, notes: Sequence[int] | None = None) -> None:
    """Compare the text and the tokenized names of some notes (by row id; None: of all notes) with their checksums.

    Raises DamagedRowError.
    """
    for table, columns in ONE_ROW_TABLES.items():
        sql = (
            f"SELECT id, seals.{table}, {columns} FROM notes LEFT JOIN seals ON seals.note = id"
            f" LEFT JOIN {table} t ON t.note = id WHERE id "
        )
        for condition, part in split_notes(notes or ()):
            _verify_one_row(table, rows(sql + condition, *part))
        above = -1
        while notes is None and (note_rows := rows(f"{sql}> ? ORDER BY id LIMIT ?", above, MAX_SQL_VALUES)):
            above = note_rows[-1][0]
            _verify_one_row(table, note_rows)


def _verify_one_row(table: str, note_rows: Iterable[tuple[Any, ...]]) -> None:
    if any(checksum(*values) != crc for _, crc, *values in note_rows):
        raise DamagedRowError(f"the {table} of a note")


def split_notes(notes: Sequence[int]) -> Iterator[tuple[str, Sequence[int]]]:
    """Yield SQL conditions that a column is one of some notes, each with its values."""
    for at in range(0, len(notes), MAX_SQL_VALUES):
        part = notes[at : at + MAX_SQL_VALUES]
        yield f"IN ({','.join('?' * len(part))})", part


def check_rows(rows: ReadRows, table: str, notes: Sequence[int] | None = None) -> None:
    """Compare the rows of some notes in a table of `CHECKSUM_TABLES` with their checksums. Raises DamagedRowError.

    `notes` are row ids of notes; None compares the rows of all notes.
    """
    index, columns = CHECKSUM_TABLES[table]
    statement = f"SELECT note, group_concat({' || char(31) || '.join(columns)}, char(31)) FROM {table} {index}"
    sealed = f"SELECT id, {table} FROM notes LEFT JOIN seals ON note = id"
    if notes is None:
        _compare_checksums(table, rows(f"{statement} GROUP BY note"), rows(sealed))
        return
    for condition, part in split_notes(notes):
        part_rows = rows(f"{statement} WHERE note {condition} GROUP BY note", *part)
        _compare_checksums(table, part_rows, rows(f"{sealed} WHERE id {condition}", *part))


def _compare_checksums(table: str, actual: Iterable[tuple[Any, ...]], sealed: Iterable[tuple[Any, ...]]) -> None:
    known: dict[int, int] = dict(sealed)
    text_by_note: dict[int, str] = dict(actual)
    if text_by_note.keys() - known.keys() or any(
        checksum_of_text(text_by_note.get(note, "")) != crc for note, crc in known.items()
    ):
        raise DamagedRowError(f"the {table} of a note")
