"""The catalog: one SQLite file with the indexed notes and the list of the files that are derived from them.

The catalog is the source of the derived files: the lexical index and the matrix are rebuilt from it whenever they may
be damaged, and the catalog is rebuilt from the vault. There is one writer (under the build's lock) and any number of
readers, each of which holds one read transaction and so sees one generation. A commit of the writer is the commit of
the generation: the derived files are on disk before it, and their names, sizes and checksums are part of it.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from excerpt.base.kinds import Dialect
from excerpt.base.model import FileProblem
from excerpt.index.catalog_rows import DamagedRowError, FragmentPosition, GivenUpFile, KnownNote, NoteRows
from excerpt.index.checksums import (
    CHECKSUM_TABLES,
    FRAGMENT_CHECKSUM_COLUMNS,
    FRAGMENT_TABLES_SQL,
    NOTE_CHECKSUM_COLUMNS,
    ONE_ROW_TABLES,
    check_rows,
    checksum,
    checksum_of_rows,
    checksum_of_text,
    read_checked_notes,
    split_notes,
    verify_fragment_checksums,
    verify_one_row_tables,
)
from excerpt.index.files import DerivedFile
from excerpt.text.display import format_count

SCHEMA_VERSION = 9
CATALOG_FILE = "catalog.sqlite"
UNFINISHED_KEY = "unfinished"
"""Name in table `meta` whose value is "yes" as long as the build still has files to read, else ""."""
_WRITER_CACHE_KIB = 32_000  # KiB
_LONG_LOG_BYTES = 8 << 20
_LOG_INDEX_BYTES = 32_768
"""Bytes of the log's index file (`-shm`) for each 4,096 pages of the log; the first bytes cover only 4,062 pages."""

DISK_FULL_CODES = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)
"""SQLite's error codes for a full disk.

SQLITE_IOERR_SHMSIZE means that a reader cannot create the log's index file (`-shm`, 32 kB) for lack of space.
"""

SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE files (name TEXT PRIMARY KEY, kind TEXT NOT NULL, size INTEGER NOT NULL, crc INTEGER NOT NULL)
    WITHOUT ROWID;
CREATE TABLE notes (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    ctime_ns INTEGER NOT NULL, digest TEXT NOT NULL, cut TEXT NOT NULL, title TEXT NOT NULL,
    language TEXT NOT NULL, tokens INTEGER NOT NULL, kind TEXT NOT NULL DEFAULT '',
    unread INTEGER NOT NULL DEFAULT 0, crc INTEGER NOT NULL DEFAULT 0);
CREATE TABLE seals (
    note INTEGER PRIMARY KEY REFERENCES notes ON DELETE CASCADE, sections INTEGER NOT NULL, links INTEGER NOT NULL,
    labels INTEGER NOT NULL, names INTEGER NOT NULL, fragments INTEGER NOT NULL,
    note_texts INTEGER NOT NULL, name_terms INTEGER NOT NULL, comments INTEGER NOT NULL DEFAULT 0);
CREATE TABLE note_texts (note INTEGER PRIMARY KEY REFERENCES notes ON DELETE CASCADE, text BLOB NOT NULL);
CREATE TABLE sections (
    note INTEGER NOT NULL REFERENCES notes ON DELETE CASCADE, ordinal INTEGER NOT NULL, level INTEGER NOT NULL,
    heading TEXT NOT NULL, heading_path TEXT NOT NULL, line_start INTEGER NOT NULL, line_end INTEGER NOT NULL,
    place TEXT NOT NULL DEFAULT '', PRIMARY KEY (note, ordinal)) WITHOUT ROWID;
CREATE TABLE fragments (
    key INTEGER PRIMARY KEY AUTOINCREMENT, note INTEGER NOT NULL REFERENCES notes ON DELETE CASCADE,
    id TEXT NOT NULL, ordinal INTEGER NOT NULL, section INTEGER NOT NULL, line_start INTEGER NOT NULL,
    line_end INTEGER NOT NULL, tokens INTEGER NOT NULL, digest TEXT NOT NULL, embedded BLOB NOT NULL,
    crc INTEGER NOT NULL DEFAULT 0, text TEXT NOT NULL);
CREATE INDEX fragments_of_note ON fragments (note, ordinal);
CREATE INDEX fragments_by_id ON fragments (id);
CREATE TABLE links (
    note INTEGER NOT NULL REFERENCES notes ON DELETE CASCADE, line INTEGER NOT NULL, kind TEXT NOT NULL,
    target TEXT NOT NULL, heading TEXT, block_id TEXT, text TEXT);
CREATE INDEX links_of_note ON links (note);
CREATE TABLE labels (
    note INTEGER NOT NULL REFERENCES notes ON DELETE CASCADE, kind TEXT NOT NULL, name TEXT NOT NULL,
    value TEXT NOT NULL);
CREATE INDEX labels_of_note ON labels (note);
CREATE INDEX labels_by_name ON labels (kind, name);
CREATE TABLE names (
    note INTEGER NOT NULL REFERENCES notes ON DELETE CASCADE, name TEXT NOT NULL, PRIMARY KEY (name, note))
    WITHOUT ROWID;
CREATE INDEX names_of_note ON names (note);
CREATE TABLE name_terms (
    note INTEGER PRIMARY KEY REFERENCES notes ON DELETE CASCADE, own INTEGER NOT NULL, lengths BLOB NOT NULL,
    terms BLOB NOT NULL, files BLOB NOT NULL, targets TEXT NOT NULL);
CREATE TABLE comments (
    note INTEGER NOT NULL REFERENCES notes ON DELETE CASCADE, number INTEGER NOT NULL, line INTEGER NOT NULL,
    at INTEGER NOT NULL, begins INTEGER NOT NULL, fragment INTEGER, text TEXT NOT NULL, PRIMARY KEY (note, number))
    WITHOUT ROWID;
CREATE TABLE vectors (model TEXT NOT NULL, digest BLOB NOT NULL, vector BLOB NOT NULL);
CREATE UNIQUE INDEX vectors_by_digest ON vectors (digest, model);
CREATE TABLE remarks (path TEXT NOT NULL, skipped INTEGER NOT NULL, reason TEXT NOT NULL);
CREATE INDEX notes_by_digest ON notes (digest);
CREATE TABLE moves (path TEXT PRIMARY KEY, became TEXT NOT NULL);
CREATE INDEX moves_to ON moves (became);
CREATE TABLE gone (
    number INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, digest TEXT NOT NULL, tokens INTEGER NOT NULL,
    sketch BLOB NOT NULL, fresh INTEGER NOT NULL);
CREATE INDEX gone_by_digest ON gone (digest);
CREATE TABLE arrived (path TEXT PRIMARY KEY) WITHOUT ROWID;
"""

_SET_NOTE_CHECKSUM = f"UPDATE notes SET crc = checksum({NOTE_CHECKSUM_COLUMNS})"
_SET_FRAGMENT_CHECKSUMS = (
    f"UPDATE fragments SET crc = coalesce((SELECT checksum({FRAGMENT_CHECKSUM_COLUMNS}) FROM {FRAGMENT_TABLES_SQL}"
    " WHERE f.key = fragments.key), 0)"
)


def _checksum_sql(table: str) -> str:
    """Return an SQL expression for the checksum of the rows that a note has in a table of `CHECKSUM_TABLES`."""
    index, columns = CHECKSUM_TABLES[table]
    text = f"coalesce(group_concat({' || char(31) || '.join(columns)}, char(31)), '')"
    return f"(SELECT checksum_of_listed({text}) FROM {table} {index} WHERE note = notes.id)"


def _one_row_checksum_sql(table: str) -> str:
    """Return an SQL expression for the checksum of the row that a note has in a table of `ONE_ROW_TABLES`."""
    columns = ONE_ROW_TABLES[table]
    return f"(SELECT checksum({columns}) FROM notes LEFT JOIN {table} t ON t.note = id WHERE id = seals.note)"


SET_NAME_TERMS_CHECKSUMS = f"UPDATE seals SET name_terms = {_one_row_checksum_sql('name_terms')}"


_MIGRATIONS = {
    # The next build compares the content of every file once, and computes no vector again.
    3: """
ALTER TABLE notes ADD COLUMN ctime_ns INTEGER NOT NULL DEFAULT 0;
DELETE FROM meta WHERE name = 'given_up';
""",
    # The next build fills the table.
    4: """
CREATE TABLE IF NOT EXISTS name_terms (
    note INTEGER PRIMARY KEY REFERENCES notes ON DELETE CASCADE, own INTEGER NOT NULL, lengths BLOB NOT NULL,
    terms BLOB NOT NULL, files BLOB NOT NULL, targets TEXT NOT NULL);
""",
    5: """
ALTER TABLE notes ADD COLUMN kind TEXT NOT NULL DEFAULT '';
ALTER TABLE notes ADD COLUMN unread INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sections ADD COLUMN place TEXT NOT NULL DEFAULT '';
""",
    # The existing rows are taken to be correct.
    6: f"""
ALTER TABLE notes ADD COLUMN crc INTEGER NOT NULL DEFAULT 0;
ALTER TABLE fragments ADD COLUMN crc INTEGER NOT NULL DEFAULT 0;
CREATE TABLE seals (
    note INTEGER PRIMARY KEY REFERENCES notes ON DELETE CASCADE, sections INTEGER NOT NULL, links INTEGER NOT NULL,
    labels INTEGER NOT NULL, names INTEGER NOT NULL);
{_SET_NOTE_CHECKSUM};
{_SET_FRAGMENT_CHECKSUMS};
INSERT INTO seals SELECT id, {", ".join(map(_checksum_sql, ("sections", "links", "labels", "names")))} FROM notes;
""",
    7: f"""
ALTER TABLE seals ADD COLUMN fragments INTEGER NOT NULL DEFAULT 0;
ALTER TABLE seals ADD COLUMN note_texts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE seals ADD COLUMN name_terms INTEGER NOT NULL DEFAULT 0;
UPDATE seals SET note_texts = {_one_row_checksum_sql("note_texts")},
    fragments = (SELECT {_checksum_sql("fragments")} FROM notes WHERE id = seals.note);
{SET_NAME_TERMS_CHECKSUMS};
""",
    # The next build reads all notes again and fills the table.
    8: """
CREATE TABLE comments (
    note INTEGER NOT NULL REFERENCES notes ON DELETE CASCADE, number INTEGER NOT NULL, line INTEGER NOT NULL,
    at INTEGER NOT NULL, begins INTEGER NOT NULL, fragment INTEGER, text TEXT NOT NULL, PRIMARY KEY (note, number))
    WITHOUT ROWID;
ALTER TABLE seals ADD COLUMN comments INTEGER NOT NULL DEFAULT 0;
""",
}
"""The SQL that migrates a catalog from each older schema version to the next one."""

_SCHEMA_SQL = """
SELECT t.name, 'column', c.name, c.type, c."notnull", c.pk, NULL
    FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'
UNION ALL SELECT t.name, 'key', k."from", k."table", k."to", k.on_update, k.on_delete
    FROM sqlite_master t, pragma_foreign_key_list(t.name) k WHERE t.type = 'table'
UNION ALL SELECT t.name, t.type, t.tbl_name, c.name, c.seqno, NULL, NULL
    FROM sqlite_master t LEFT JOIN pragma_index_info(t.name) c
"""

# "0" is the character after "/". Two ranges of the index over the paths, where LIKE would scan it.
_AT_OR_BELOW = "(path = ?1 OR (path >= ?1 || '/' AND path < ?1 || '0'))"


class Catalog:
    """A connection to the catalog. Methods may be called from any thread; a lock lets one run at a time.

    Methods raise sqlite3.DatabaseError if the file is damaged.
    """

    def __init__(self, connection: sqlite3.Connection, index: Path | None = None, *, is_reader: bool = False) -> None:
        """Wrap a connection to the catalog in the folder `index`; None for a copy in memory.

        `is_reader`: the connection only reads, in one read transaction that stays open.
        """
        self._connection = connection
        self._lock = threading.Lock()
        self._index, self._is_reader = index, is_reader
        self._log_index_bytes = 0
        self._edition = self._read_edition() if is_reader else ()

    @classmethod
    def open_to_write(cls, index: Path) -> Catalog:
        """Open the catalog in the folder `index` for writing, creating or migrating the file.

        Raises sqlite3.DatabaseError if the file is not a catalog that this version can read.
        """
        _check_file_before_opening(index)
        connection = sqlite3.connect(index / CATALOG_FILE, isolation_level=None, check_same_thread=False, timeout=10)
        try:
            _make_durable(connection)
            connection.create_function("checksum", -1, checksum)
            connection.create_function("checksum_of_listed", 1, checksum_of_text)
            connection.execute("PRAGMA foreign_keys = ON")
            # A batch changes pages all over several indexes. With more cache than SQLite's 2 MB it takes half of the
            # time.
            connection.execute(f"PRAGMA cache_size = -{_WRITER_CACHE_KIB}")
            # The log is truncated after a large batch instead of keeping its size for good.
            connection.execute("PRAGMA journal_size_limit = 67108864")
            if not connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                connection.executescript(f"BEGIN; {SCHEMA} PRAGMA user_version = {SCHEMA_VERSION}; COMMIT;")
            while (step := _MIGRATIONS.get(version := _read_schema_version(connection))) is not None:
                connection.executescript(f"BEGIN; {step} PRAGMA user_version = {version + 1}; COMMIT;")
            _check_schema(connection)
        except BaseException:
            connection.close()
            raise
        return cls(connection, index)

    @classmethod
    def open_to_read(cls, index: Path, *, is_optional: bool = False) -> Catalog:
        """Open an existing catalog in one read transaction, so that all reads see one generation (committed state).

        If the disk is too full for SQLite to read the file, the catalog is copied into memory; with `is_optional`
        sqlite3.OperationalError is raised instead.
        """
        try:
            return cls._wrap_for_reading(_connect_to_read(index, ""), index)
        except sqlite3.OperationalError as error:
            code, log = error.sqlite_errorcode & 0xFF, index / f"{CATALOG_FILE}-wal"
            if code == sqlite3.SQLITE_CANTOPEN and not (log.exists() and log.stat().st_size):
                # On a read-only disk, SQLite cannot make the file by which it detects writers; but there are no writers
                # then.
                return cls._wrap_for_reading(_connect_to_read(index, "&immutable=1"), index)
            if is_optional or error.sqlite_errorcode not in DISK_FULL_CODES:
                raise
            return cls(_copy_to_memory(index))

    @classmethod
    def _wrap_for_reading(cls, connection: sqlite3.Connection, index: Path) -> Catalog:
        try:
            return cls(connection, index, is_reader=True)
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        with self._lock:
            self._restore_log_index()
            self._connection.close()

    def shorten_wal(self, index: Path) -> None:
        """Let SQLite restart its write-ahead log with the next commit, if the log is longer than 8 MB.

        SQLite restarts the log only if no reader needs it, but a process that opens one generation after the other
        always has a reader. So the log is copied into the database, and the read transaction is opened again.
        """
        log = index / f"{CATALOG_FILE}-wal"
        if not log.is_file() or log.stat().st_size < _LONG_LOG_BYTES:
            return
        _check_file_before_opening(index)
        with closing(sqlite3.connect(index / CATALOG_FILE, isolation_level=None, timeout=0)) as writing:
            writing.execute("PRAGMA wal_checkpoint(PASSIVE)")
        with self._lock:
            self._renew_read_transaction(index)

    def _renew_read_transaction(self, index: Path) -> bool:
        """Replace the read transaction by a new one; return False, with nothing done, if the generation has changed."""
        with closing(Catalog.open_to_read(index)) as fresh:
            if fresh._edition != self._edition:
                return False
            self._connection, fresh._connection = fresh._connection, self._connection
            return True

    def _read_edition(self) -> tuple[object, ...]:
        return self.generation, self.files("words"), self.files("vectors")

    def _restore_log_index(self) -> bool:
        """Restore the size of the log's index file (`-shm`) with zeros if it was cut short; return whether it was."""
        if self._index is None:
            return False
        before, size = self._log_index_bytes, _restore_log_index(self._index, self._log_index_bytes)
        self._log_index_bytes = max(before, size)
        return size < before

    def _ensure_log_index(self) -> None:
        """Restore the log's index file (`-shm`) if it was cut short, before SQLite uses it; call with the lock held.

        Raises sqlite3.OperationalError if the open transaction may have read from the lost part.
        """
        if not self._restore_log_index() or not self._connection.in_transaction:
            return  # what begins now reads the file again
        if not self._is_reader or self._index is None or not self._renew_read_transaction(self._index):
            raise sqlite3.OperationalError(f"{CATALOG_FILE}-shm was cut short while it was in use")

    def copy_to(self, index: Path) -> None:
        """Replace the catalog in the folder `index` by a copy of this one, in one transaction."""
        _check_file_before_opening(index)
        with closing(sqlite3.connect(index / CATALOG_FILE, timeout=10)) as other:
            _make_durable(other)
            with self._lock:
                self._ensure_log_index()
                self._connection.backup(other)

    def find_damage(self) -> str:
        """Check the whole file with SQLite's integrity_check; return its error message, "" if the file is intact.

        Takes half a second for 200 MB. SQLite's quick_check is not used: in version 3.40 it reports NULL values in
        intact tables without rowid whose primary key has the columns in another order.
        """
        try:
            messages = [str(row[0]) for row in self.rows("PRAGMA integrity_check(1)")]
            orphans = self.rows("PRAGMA foreign_key_check")
        except sqlite3.DatabaseError as error:
            return str(error)
        if messages != ["ok"]:
            return "; ".join(messages)
        return (
            f"{format_count(len(orphans), 'row belongs', 'rows belong')} to notes that do not exist" if orphans else ""
        )

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run an SQL statement with bound `values` and return all rows of its result."""
        with self._lock:
            self._ensure_log_index()
            try:
                return self._connection.execute(sql, values).fetchall()
            except sqlite3.OperationalError as error:
                if hasattr(error, "sqlite_errorcode"):
                    raise
                raise DamagedRowError("a text that is not UTF-8") from None  # Python's own message holds the whole text

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a block in one write transaction: committed and synced at its end, rolled back after an error."""
        self.rows("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._connection.in_transaction:  # SQLite itself ends the transaction if the disk is full
                self.rows("ROLLBACK")
            raise
        self.rows("COMMIT")

    def meta(self, name: str) -> str:
        """Return the value of `name` in table `meta`, "" if the table has no such name."""
        values = self.rows("SELECT value FROM meta WHERE name = ?", name)
        return str(values[0][0]) if values else ""

    def set_meta(self, name: str, value: str) -> None:
        if self.meta(name) != value:
            self.rows("INSERT OR REPLACE INTO meta VALUES (?, ?)", name, value)

    @property
    def generation(self) -> int:
        return self.number("generation")

    def number(self, name: str) -> int:
        """Return the value of `name` in table `meta` as an integer, 0 if it has no such row. Raises DamagedRowError."""
        value = self.meta(name)
        try:
            return int(value or 0)
        except ValueError as error:
            raise DamagedRowError(f"{name}, {value}") from error

    @property
    def is_unfinished(self) -> bool:
        """Whether the build that committed this generation (committed state) still had files to read."""
        return bool(self.meta(UNFINISHED_KEY))

    def files(self, kind: str) -> list[DerivedFile]:
        """Return the files of the lexical index (`kind` "words") or of the vector matrix ("vectors"), by name."""
        return [
            DerivedFile(*row)
            for row in self.rows("SELECT name, size, crc FROM files WHERE kind = ? ORDER BY name", kind)
        ]

    def set_files(self, kind: str, files: Sequence[DerivedFile]) -> None:
        before, now = set(self.files(kind)), set(files)
        self._execute_many("DELETE FROM files WHERE name = ?", [(file.name,) for file in before - now])
        self._execute_many(
            "INSERT INTO files VALUES (?, ?, ?, ?)", [(f.name, kind, f.size, f.crc) for f in now - before]
        )

    def known_notes(self, only: Iterable[str] | None = None) -> dict[str, KnownNote]:
        """Return the stored file data of all notes by path, or only of the files and folders in `only`."""
        sql = "SELECT path, size, mtime_ns, ctime_ns, digest, cut, unread FROM notes"
        if only is None:
            note_rows = self.rows(sql)
        else:
            note_rows = [row for path in only for row in self.rows(f"{sql} WHERE {_AT_OR_BELOW}", path)]
        return {path: KnownNote(*rest) for path, *rest in note_rows}

    def data_version(self) -> int:
        """Return a number that changes whenever another connection commits (SQLite's data_version)."""
        return int(self.rows("PRAGMA data_version")[0][0])

    def count_notes_and_fragments(self) -> tuple[int, int]:
        """Return the number of notes (attachments included) and the number of fragments."""
        row = self.rows("SELECT (SELECT count(*) FROM notes), (SELECT count(*) FROM fragments)")[0]
        return row[0], row[1]

    def attachments(self) -> dict[str, int]:
        """Return the number of attachments of each kind."""
        return dict(self.rows("SELECT kind, count(*) FROM notes WHERE kind <> '' GROUP BY kind ORDER BY kind"))

    def count_unread_images(self) -> tuple[int, int]:
        """Return the number of files with images that OCR has not read, and the number of these images."""
        row = self.rows("SELECT count(*), coalesce(sum(unread), 0) FROM notes WHERE unread > 0")[0]
        return row[0], row[1]

    def fragment_keys(self) -> NDArray[np.int64]:
        """Return the keys of all fragments, ascending."""
        # By the index over notes, which is small; the rows themselves hold the texts.
        key_rows = self.rows("SELECT key FROM fragments INDEXED BY fragments_of_note")
        return np.sort(np.fromiter((row[0] for row in key_rows), np.int64, len(key_rows)))

    def insert(self, note: NoteRows) -> list[FragmentPosition]:
        """Insert a note with all its rows; return its fragments' positions.

        The new keys of the fragments ascend and were never used before.
        """
        ((last,),) = self.rows("SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'fragments'), 0)")
        keys = list(range(last + 1, last + 1 + len(note.fragments)))
        number = self._insert_note(note)
        self._execute_many(
            "INSERT INTO sections VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [(number, *s) for s in note.sections]
        )
        self._execute_many(
            "INSERT INTO fragments (key, note, id, ordinal, section, line_start, line_end, tokens, digest, embedded,"
            " text, crc) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (key, number, *fragment, crc)
                for key, fragment, crc in zip(keys, note.fragments, _fragment_checksums(keys, note), strict=True)
            ],
        )
        self._execute_many("INSERT INTO links VALUES (?, ?, ?, ?, ?, ?, ?)", [(number, *link) for link in note.links])
        self._execute_many("INSERT INTO labels VALUES (?, ?, ?, ?)", [(number, *label) for label in note.labels])
        self._execute_many("INSERT INTO names VALUES (?, ?)", [(number, name) for name in note.names])
        self._execute_many(
            "INSERT INTO comments VALUES (?, ?, ?, ?, ?, ?, ?)", [(number, *comment) for comment in note.comments]
        )
        self.rows("INSERT INTO name_terms VALUES (?, ?, ?, ?, ?, ?)", number, *note.name_terms)
        self.rows(
            "INSERT INTO seals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            *(number, checksum_of_rows(note.sections), checksum_of_rows(note.links), checksum_of_rows(note.labels)),
            checksum_of_rows([(name,) for name in note.names]),
            checksum_of_rows([fragment[:1] for fragment in note.fragments]),
            *(checksum(note.text), checksum(*note.name_terms), checksum_of_rows(note.comments)),
        )
        return [(key, number, fragment[3]) for key, fragment in zip(keys, note.fragments, strict=True)]

    def _insert_note(self, note: NoteRows) -> int:
        row = self.rows(
            "INSERT INTO notes (path, size, mtime_ns, ctime_ns, digest, cut, title, language, tokens, kind, unread)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
            *(note.path, note.size, note.mtime_ns, note.ctime_ns, note.digest, note.cut),
            *(note.title, note.language, note.tokens, note.kind, note.unread),
        )
        self.rows(f"{_SET_NOTE_CHECKSUM} WHERE id = ?", row[0][0])
        self.rows("INSERT INTO note_texts VALUES (?, ?)", row[0][0], note.text)
        self._execute_many("INSERT INTO remarks VALUES (?, 0, ?)", [(note.path, warning) for warning in note.warnings])
        return int(row[0][0])

    def set_tokens(self, note: int, tokens: int, fragment_tokens: Iterable[tuple[int, int]]) -> None:
        """Replace the token counts of a note (by row id) and of its fragments, given as (key, tokens)."""
        self.rows("UPDATE notes SET tokens = ? WHERE id = ?", tokens, note)
        self._execute_many(
            "UPDATE fragments SET tokens = ? WHERE key = ?", [(count, key) for key, count in fragment_tokens]
        )
        self.rows(f"{_SET_NOTE_CHECKSUM} WHERE id = ?", note)
        self.rows(f"{_SET_FRAGMENT_CHECKSUMS} WHERE note = ?", note)

    def check_rows(self) -> None:
        """Compare all rows that a search shows with their checksums. Raises DamagedRowError."""
        read_checked_notes(self.rows)
        verify_fragment_checksums(self.rows)
        verify_one_row_tables(self.rows)
        for table in CHECKSUM_TABLES:
            check_rows(self.rows, table)

    def check_note_rows(self, notes: Sequence[int]) -> None:
        """Compare the rows of some notes (by row id) with their checksums. Raises DamagedRowError."""
        for condition, part in split_notes(notes):
            read_checked_notes(self.rows, f"id {condition}", *part)
        verify_fragment_checksums(self.rows, notes)
        verify_one_row_tables(self.rows, notes)
        for table in CHECKSUM_TABLES:
            check_rows(self.rows, table, notes)

    def remove(self, paths: Iterable[str]) -> NDArray[np.int64]:
        """Delete the notes at these paths with all their rows; return the keys of the deleted fragments."""
        keys: list[int] = []
        for path in paths:
            self.rows("DELETE FROM remarks WHERE path = ? AND NOT skipped", path)
            key_rows = self.rows("SELECT key FROM fragments JOIN notes ON notes.id = note WHERE path = ?", path)
            keys += [row[0] for row in key_rows]
            self.rows("DELETE FROM notes WHERE path = ?", path)
        return np.array(keys, np.int64)

    def update_file_times(self, path: str, size: int, mtime_ns: int, ctime_ns: int) -> None:
        """Store the new size and times of a file whose content is unchanged."""
        self.rows(
            "UPDATE notes SET size = ?1, mtime_ns = ?2, ctime_ns = ?3"
            " WHERE path = ?4 AND (size, mtime_ns, ctime_ns) <> (?1, ?2, ?3)",
            *(size, mtime_ns, ctime_ns, path),
        )

    def mark_for_reread(self, paths: Iterable[str]) -> None:
        """Make the next build read some notes again, even if their files are unchanged.

        Until then their fragments have random digests, so that a vector of a wrong text is not found under the digest
        of the right text.
        """
        path_rows = [(path,) for path in paths]
        self._execute_many("UPDATE notes SET mtime_ns = -1, digest = '' WHERE path = ?", path_rows)
        sql = "UPDATE fragments SET embedded = randomblob(12) WHERE note = (SELECT id FROM notes WHERE path = ?)"
        self._execute_many(sql, path_rows)

    def set_skipped(self, skipped: Sequence[FileProblem], only: Iterable[str] | None = None) -> None:
        """Replace the list of skipped files, or only its entries for the files and folders in `only`."""
        if only is None:
            self.rows("DELETE FROM remarks WHERE skipped")
        else:
            paths = {*only, *(file.path for file in skipped)}
            self._execute_many(f"DELETE FROM remarks WHERE skipped AND {_AT_OR_BELOW}", [(path,) for path in paths])
        self._execute_many("INSERT INTO remarks VALUES (?, 1, ?)", [(file.path, file.reason) for file in skipped])

    def remarks(self, *, skipped: bool) -> tuple[FileProblem, ...]:
        """Return the skipped files with the reasons or, if not `skipped`, the notes with warnings; ordered by path."""
        remark_rows = self.rows("SELECT path, reason FROM remarks WHERE skipped = ? ORDER BY path, reason", skipped)
        return tuple(FileProblem(str(path), str(reason)) for path, reason in remark_rows)

    def given_up(self) -> dict[str, GivenUpFile]:
        """Return the files that are skipped until they change, by path."""
        return {path: GivenUpFile(*values) for path, values in json.loads(self.meta("given_up") or "{}").items()}

    def set_given_up(self, files: Mapping[str, GivenUpFile]) -> None:
        """Store the files (by path) that are skipped until they change."""
        rows = {path: (file.size, file.mtime_ns, file.ctime_ns, file.cut, file.reason) for path, file in files.items()}
        self.set_meta("given_up", json.dumps(rows))

    def unread_files(self) -> tuple[tuple[str, int], ...]:
        """Return (suffix, number of files) of the files whose reader is not installed or not switched on."""
        return tuple((suffix, count) for suffix, count in json.loads(self.meta("unread_files") or "[]"))

    @property
    def dialect(self) -> Dialect:
        """Dialect of the vault when it was indexed, if it changes how notes are read; else MARKDOWN."""
        stored = self.meta("dialect")
        return Dialect(stored) if stored in tuple(Dialect) else Dialect.MARKDOWN

    def set_unread_files(self, unread: Sequence[tuple[str, int]]) -> None:
        self.set_meta("unread_files", json.dumps(unread))

    def known_vectors(self, model: str, digests: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the stored vectors of `model` (scale, then int8 row) for the texts with these digests, by digest."""
        vectors: dict[bytes, bytes] = {}
        for at in range(0, len(digests), 500):
            part = digests[at : at + 500]
            marks = ",".join("?" * len(part))
            sql = f"SELECT digest, vector FROM vectors WHERE model = ? AND digest IN ({marks})"
            vectors.update((digest, vector) for digest, vector in self.rows(sql, model, *part))
        return vectors

    def add_vectors(self, model: str, vectors: Iterable[tuple[bytes, bytes]]) -> None:
        self._execute_many("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", [(model, *row) for row in vectors])

    def delete_vectors(self, digests: Iterable[bytes]) -> None:
        """Delete the vectors of texts with these digests; a later build computes them again if necessary."""
        self._execute_many("DELETE FROM vectors WHERE digest = ?", [(digest,) for digest in digests])

    def prune_vectors(self) -> None:
        """Delete the vectors of texts that are in no note, once there are more unused vectors than used ones.

        Until then a text that comes back (a switched branch, a restored note) is not embedded again.
        """
        stored, used = self.rows("SELECT (SELECT count(*) FROM vectors), (SELECT count(*) FROM fragments)")[0]
        if stored > 2 * used + 1000:
            self.rows(
                "DELETE FROM vectors WHERE digest NOT IN (SELECT embedded FROM fragments) OR model <> ?",
                self.meta("model_id"),
            )

    def _execute_many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        if rows:
            with self._lock:
                self._ensure_log_index()
                self._connection.executemany(sql, rows)


def _fragment_checksums(keys: Sequence[int], note: NoteRows) -> Iterator[int]:
    """Yield the checksum of each fragment of a note over FRAGMENT_CHECKSUM_COLUMNS; `keys` are the fragments' keys."""
    sections = {row[0]: (*row[1:4], row[6]) for row in note.sections}
    for key, (fragment_id, ordinal, section, first, last, tokens, digest, _, _) in zip(
        keys, note.fragments, strict=True
    ):
        yield checksum(
            *(key, fragment_id, note.path, note.title, note.kind, ordinal, section, *sections[section]),
            *(first, last, tokens, digest),
        )


def _connect_to_read(index: Path, uri_options: str) -> sqlite3.Connection:
    _check_file_before_opening(index)
    uri = f"{(index / CATALOG_FILE).absolute().as_uri()}?mode=ro{uri_options}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=10)
    try:
        connection.execute("PRAGMA mmap_size = 0")  # if a memory-mapped file is cut short, a read ends the process
        connection.execute("BEGIN")
        _check_schema(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _copy_to_memory(index: Path) -> sqlite3.Connection:
    """Copy the catalog and its log into memory; return a connection to the copy.

    With an exclusive lock SQLite needs no index file of the log, for which there is no space. This lock excludes all
    other processes, so it is held only while copying. (With `immutable` SQLite would ignore the log, and a later commit
    would change the file while it is read.)
    """
    _check_file_before_opening(index)
    copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        uri = f"{(index / CATALOG_FILE).absolute().as_uri()}?mode=rw"  # mode=ro does not allow such a lock
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10)) as exclusive:
            exclusive.execute("PRAGMA locking_mode = EXCLUSIVE")
            _check_schema(exclusive)  # takes the lock; `backup` would wait for it for ever
            exclusive.backup(copy)
    except BaseException:
        copy.close()
        raise
    return copy


def _make_durable(connection: sqlite3.Connection) -> None:
    # WAL: readers keep their generation while the writer commits the next. FULL: the write-ahead log is synced at each
    # commit, so that after a power failure the catalog never names a generation older than the derived files that were
    # removed because of it. Commits are few (one a batch), so the sync costs little.
    connection.execute("PRAGMA mmap_size = 0")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


class DamagedCatalogError(sqlite3.DatabaseError):
    """The file is an SQLite database, but not a catalog that this version of excerpt can read."""


class OtherVersionError(DamagedCatalogError):
    """The catalog has the schema of another version of excerpt."""


def _read_schema_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _check_schema(connection: sqlite3.Connection) -> None:
    """Raise DamagedCatalogError if the tables and indexes differ from those that this version creates."""
    version = _read_schema_version(connection)
    if version != SCHEMA_VERSION:
        raise OtherVersionError(f"schema version {version} instead of {SCHEMA_VERSION}")
    if differing := read_schema(connection) ^ _expected_schema():
        raise DamagedCatalogError(f"the definition of {min(name for name, *_ in differing)} is damaged")


def read_schema(connection: sqlite3.Connection) -> frozenset[tuple[Any, ...]]:
    """Return the columns, indexes and foreign keys of a database as a set of rows that begin with the table's name.

    As a set, because the order of columns may differ: a migration adds columns at the end.
    """
    return frozenset(connection.execute(_SCHEMA_SQL))


@lru_cache(maxsize=1)
def _expected_schema() -> frozenset[tuple[Any, ...]]:
    with closing(sqlite3.connect(":memory:")) as empty:
        empty.executescript(SCHEMA)
        return read_schema(empty)


def _check_file_before_opening(index: Path) -> None:
    """Raise DamagedCatalogError if the catalog is a pipe or a device; restore the log's index file (`-shm`)."""
    try:
        mode = (index / CATALOG_FILE).stat().st_mode
    except OSError:
        return  # SQLite reports what is wrong with it
    if not stat.S_ISREG(mode):
        raise DamagedCatalogError("it is not a regular file")
    _restore_log_index(index)


def _restore_log_index(index: Path, known: int = 0) -> int:
    """Extend the log's index file (`-shm`) if it was cut short; return the size in bytes that it had before.

    `known` is the largest size seen earlier; the file gets at least this size and what the log needs. SQLite maps this
    file whatever `mmap_size` is, with one mapping for all connections of a process: if the file is cut short, the next
    access ends the process (SIGBUS). Zeros in place of the lost part make the next transaction write it again. The
    file is changed by name, because closing a descriptor would release SQLite's locks.
    """
    name = os.path.join(index, CATALOG_FILE)  # noqa: PTH118 - called before every query
    try:
        size = os.stat(f"{name}-shm").st_size  # noqa: PTH116
    except OSError:
        return known  # removed: what is mapped stays as it is
    if size >= known and size >= _LOG_INDEX_BYTES:
        return size
    try:
        pages = os.stat(f"{name}-wal").st_size // 4096  # noqa: PTH116
    except OSError:
        pages = 0
    with suppress(OSError):  # on a full disk, SQLite reports the error
        os.truncate(f"{name}-shm", max(known, _LOG_INDEX_BYTES * (1 + (pages + 64) // 4096)))
    return size


def is_damage(error: sqlite3.DatabaseError) -> bool:
    """Return whether a database error means that the file is damaged, and not for example that the disk is full."""
    if isinstance(error, DamagedCatalogError | DamagedRowError):
        return True
    code = getattr(error, "sqlite_errorcode", 0)
    # A read is short if the log was truncated while its index file was in use.
    return code == sqlite3.SQLITE_IOERR_SHORT_READ or code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
