"""Verification of an index: compares every file, row and vector with its checksum, and notes with their files."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, field

from excerpt.base.errors import ExcerptError
from excerpt.base.settings import Settings
from excerpt.index.catalog import CATALOG_FILE, Catalog, OtherVersionError
from excerpt.index.catalog_rows import DamagedRowError
from excerpt.index.changes import build_parameters, is_current_key, prepare_key
from excerpt.index.files import EMBEDDINGS_FOLDER, SUSPECT_FILE, DamagedFileError, DerivedFile, check_file
from excerpt.index.lexical import open_segments
from excerpt.index.terms import OpenSegment
from excerpt.index.vectors import MatrixSource
from excerpt.index.writer import OWN_FILES
from excerpt.vault.readers import digest_of_bytes, load_bytes
from excerpt.vault.scan import Scan

OnExamined = Callable[[str, int, int, str], None]
"""A callback for progress: what is being examined, number examined, total number, and path of the current note."""


class RepairPart(StrEnum):
    """The part of an index that must be rebuilt to repair a fault: everything, one note, the words or the vectors."""

    CATALOG = "catalog"
    NOTE = "note"
    WORDS = "words"
    VECTORS = "vectors"


class Fault(Struct, frozen=True):
    """An error in an index, and the part that must be rebuilt.

    `path` is the path of a note or the name of a file of the index; `reason` is one sentence for the user. `digest` is
    the digest of a text whose vector in the catalog may be wrong, b"" if no vector is concerned.
    """

    path: str
    reason: str
    part: RepairPart
    digest: bytes = b""


class StaleReason(StrEnum):
    """The reason why a note is out of date in the index; the next build updates it without a repair."""

    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"
    CUT = "split differently now"


class IndexHealth(Struct):
    """The result of examining an index.

    The counts are numbers of examined items, and `size` is the size of the index in bytes. `skipped` counts the skipped
    files by reason. `stale` are (path, reason) of notes that are out of date. `leftovers` are (name, bytes, whether
    newer than the last commit) of files in the index folder that the index does not use. `outdated` are phrases that
    name the parts which the next build redoes because code, model or tokenizer changed.
    """

    generation: int = 0
    notes: int = 0
    fragments: int = 0
    vectors: int = 0
    size: int = 0
    model: str = ""
    tokenizer: str = ""
    skipped: Counter[str] = field(default_factory=Counter)
    stale: list[tuple[str, StaleReason]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    leftovers: list[tuple[str, int, bool]] = field(default_factory=list)
    outdated: list[str] = field(default_factory=list)
    seconds: float = 0.0


def schedule_repair(folder: Path, faults: Sequence[Fault]) -> None:
    """Record the faults in the index, so that the next build repairs them.

    A build by itself would not find a fault that changes no size, time or checksum. Raises OSError and
    sqlite3.DatabaseError.
    """
    parts = {fault.part for fault in faults}
    if RepairPart.CATALOG in parts:
        (folder / SUSPECT_FILE).write_text("a check found errors in it", encoding="utf-8")
        return
    with closing(Catalog.open_to_write(folder)) as catalog, catalog.transaction():
        catalog.mark_for_reread({fault.path for fault in faults if fault.part is RepairPart.NOTE})
        catalog.delete_vectors({fault.digest for fault in faults if fault.digest})
        parts_to_rebuild = {part.value for part in (RepairPart.WORDS, RepairPart.VECTORS) if part in parts}
        catalog.set_meta("doubted", " ".join(sorted(parts_to_rebuild.union(catalog.meta("doubted").split()))))


_VECTORS_AT_ONCE = 2048
_EMBEDDED = (
    "SELECT f.key, f.embedded, v.vector, n.path, f.line_start FROM fragments f JOIN notes n ON n.id = f.note"
    " LEFT JOIN vectors v ON v.model = ? AND v.digest = f.embedded WHERE f.key > ? ORDER BY f.key LIMIT ?"
)

_Rows = dict[int, bytes]


def _check_vectors(catalog: Catalog, source: MatrixSource, health: IndexHealth, tick: OnExamined) -> None:
    """Compare the vectors in the catalog with the matrix; add differences to the faults of `health`."""
    dimensions = catalog.number("dimensions")
    try:
        matrix = _read_matrix(source, dimensions)
    except DamagedFileError as error:
        health.faults.append(Fault("vectors", error.message, RepairPart.VECTORS))
        return
    above, done = -1, 0
    while rows := catalog.rows(_EMBEDDED, health.model, above, _VECTORS_AT_ONCE):
        above, done = rows[-1][0], done + len(rows)
        tick("vectors", done, health.fragments, rows[-1][3])
        health.faults += [fault for row in rows if (fault := _find_vector_fault(row, matrix, dimensions))]
        health.vectors += len(rows)


def _read_matrix(source: MatrixSource, dimensions: int) -> _Rows:
    """Return the vectors in the matrix by fragment key, as bytes in the catalog's format."""
    rows: _Rows = {}
    for keys, quantised in source.blocks(dimensions):
        rows.update(zip(keys.tolist(), quantised.to_bytes(), strict=True))
    return rows


def _find_vector_fault(row: Sequence[Any], matrix: _Rows, dimensions: int) -> Fault | None:
    key, digest, vector, path, line = row
    at = f"The fragment at line {line}"
    if vector is None:
        return Fault(path, f"{at} has no vector in the catalog.", RepairPart.VECTORS)
    if len(vector) != 4 + dimensions:
        return Fault(path, f"{at} has a vector of the wrong length in the catalog.", RepairPart.VECTORS, digest)
    if key not in matrix:
        return Fault(path, f"{at} has no row in the matrix.", RepairPart.VECTORS)
    if matrix[key] != vector:
        return Fault(path, f"{at} has different vectors in the matrix and in the catalog.", RepairPart.VECTORS, digest)
    return None


# The catalog is compared with the vault, its rows and the derived files with their checksums. Nothing is changed. That
# a build writes what is right is for its tests: they derive rows, words and vectors again from the stored texts.

# Two commits between reading the catalog and opening its files remove the files; then the newest generation is used.
_MAX_OPENINGS = 3


def examine(
    folder: Path,
    vault: Path | None,
    scan_result: Scan | None,
    settings: Settings,
    tick: OnExamined,
    *,
    quick: bool = False,
) -> IndexHealth:
    """Examine the index in `folder` and return the faults, counts and outdated parts.

    `vault` and its scan `scan_result` are None if the vault cannot be read. `quick` leaves out the content of files
    with unchanged time and size. Raises FileNotFoundError if there is no index.
    """
    began = time.monotonic()
    if not (folder / CATALOG_FILE).is_file():
        raise FileNotFoundError(folder / CATALOG_FILE)
    health = IndexHealth()
    for _ in range(_MAX_OPENINGS):
        health = IndexHealth()
        try:
            with closing(Catalog.open_to_read(folder)) as catalog:
                _IndexExamination(folder, catalog, health, settings, tick).run(vault, scan_result, quick)
        except OtherVersionError:
            health.outdated.append("all of it: another version of excerpt made it")
        except sqlite3.DatabaseError as error:
            health.faults.append(Fault(CATALOG_FILE, f"The catalog cannot be read: {error}.", RepairPart.CATALOG))
        if not health.faults or health.generation == _read_generation(folder):
            break
    health.seconds = time.monotonic() - began
    return health


def _read_generation(folder: Path) -> int:
    try:
        with closing(Catalog.open_to_read(folder)) as catalog:
            return catalog.generation
    except sqlite3.DatabaseError:
        return 0


class _IndexExamination:
    def __init__(
        self, folder: Path, catalog: Catalog, health: IndexHealth, settings: Settings, tick: OnExamined
    ) -> None:
        self._folder, self._catalog, self._health, self._settings = folder, catalog, health, settings
        self._tick = tick

    def run(self, vault: Path | None, scan_result: Scan | None, quick: bool) -> None:
        health, catalog = self._health, self._catalog
        health.generation = catalog.generation
        health.notes, health.fragments = catalog.count_notes_and_fragments()
        health.model, health.tokenizer = catalog.meta("model_id"), catalog.meta("tokenizer")
        health.skipped = Counter(remark.reason for remark in catalog.remarks(skipped=True))
        words, vectors = catalog.files("words"), catalog.files("vectors")
        segments, matrix = self._open_words(words), self._open_matrix(vectors)
        try:
            self._check_folder({file.name for file in (*words, *vectors)})
            if not self._is_catalog_intact():
                return
            if vault is not None and scan_result is not None:
                self._compare_with_vault(vault, scan_result, quick)
            self._find_outdated_parts()
            self._check_notes()
            if segments is not None:
                self._check_fragments_of_words(segments)
            if matrix is not None:
                _check_vectors(catalog, matrix, health, self._tick)
        finally:
            if matrix is not None:
                matrix.close()

    def _record_fault(self, path: str, reason: str, part: RepairPart) -> None:
        self._health.faults.append(Fault(path, reason, part))

    def _open_words(self, files: Sequence[DerivedFile]) -> list[OpenSegment] | None:
        """Open the segments of the lexical index; record a fault and return None if one of their files is damaged."""
        if [file for file in files if not self._is_intact(file, RepairPart.WORDS)]:
            return None
        try:
            return open_segments(self._folder, self._catalog.generation)
        except DamagedFileError as error:
            self._record_fault("words", error.message, RepairPart.WORDS)
            return None

    def _open_matrix(self, files: Sequence[DerivedFile]) -> MatrixSource | None:
        if len(files) != 1:
            self._record_fault(
                CATALOG_FILE, f"The catalog names {len(files)} vector matrices instead of one.", RepairPart.VECTORS
            )
            return None
        return MatrixSource(self._folder, files[0]) if self._is_intact(files[0], RepairPart.VECTORS) else None

    def _is_intact(self, file: DerivedFile, part: RepairPart) -> bool:
        try:
            check_file(self._folder, file, may_grow=part is RepairPart.VECTORS)
        except DamagedFileError as error:
            self._record_fault(file.name, f"The file {error.message.removeprefix(file.name).strip()}", part)
            return False
        return True

    def _check_folder(self, used: set[str]) -> None:
        committed = self._commit_time()
        for path in sorted(self._folder.rglob("*")):
            name = path.relative_to(self._folder).as_posix()
            try:
                status = path.stat()
            except OSError:
                continue  # removed meanwhile
            if path.is_file():
                self._health.size += status.st_size
                is_own = name in OWN_FILES or path.parent.name == EMBEDDINGS_FOLDER
                if name not in used and not is_own:
                    self._health.leftovers.append((name, status.st_size, status.st_mtime > committed + 1))

    def _commit_time(self) -> float:
        try:
            return datetime.fromisoformat(self._catalog.meta("updated")).timestamp()
        except ValueError:
            return 0.0

    def _is_catalog_intact(self) -> bool:
        self._tick("the catalog", 0, 0, "")
        if damage := self._catalog.find_damage():
            self._record_fault(CATALOG_FILE, f"SQLite's check reports: {damage}.", RepairPart.CATALOG)
            return False
        return True

    def _compare_with_vault(self, vault: Path, scan_result: Scan, quick: bool) -> None:
        """Record notes that are out of date, and faults that a build by itself would not find.

        Such a fault is a file whose content changed, although its time and size did not.
        """
        known = self._catalog.known_notes()
        skipped = {remark.path for remark in self._catalog.remarks(skipped=True)}
        stale = self._health.stale
        for done, file in enumerate(scan_result.files):
            self._tick("the vault", done, len(scan_result.files), file.path)
            note = known.pop(file.path, None)
            if note is None:
                # A file that was skipped is not expected to be a note until it changes.
                stale += [] if file.path in skipped else [(file.path, StaleReason.NEW)]
            elif (note.size, note.mtime_ns) != (file.size, file.mtime_ns):
                stale.append((file.path, StaleReason.CHANGED))
            elif not quick and note.digest != self._read_digest(vault, file.path):
                if note.ctime_ns != file.ctime_ns:
                    stale.append((file.path, StaleReason.CHANGED))
                    continue
                error = "The file has a different text from the index, but the same time and size."
                self._record_fault(file.path, error, RepairPart.NOTE)
        stale += [(path, StaleReason.GONE) for path in sorted(known)]

    def _read_digest(self, vault: Path, path: str) -> str:
        bounds = self._settings.vault
        try:
            return digest_of_bytes(load_bytes(vault, path, max(bounds.max_bytes, bounds.attachments.max_bytes)))
        except ExcerptError:
            return ""

    def _find_outdated_parts(self) -> None:
        made_with, outdated = build_parameters(self._settings), self._health.outdated
        if self._health.tokenizer != made_with["tokenizer"]:
            outdated.append("the token counts: they are from another tokenizer")
        if self._catalog.meta("analyzer") != made_with["analyzer"]:
            outdated.append("the words: they are split differently now")
        if self._catalog.meta("model_source") != made_with["model_source"]:
            outdated.append("the vectors: they are from another model or another text")

    def _check_notes(self) -> None:
        """Compare every note's rows with their checksums, and the version that prepared it with the current version."""
        catalog, health, dialect = self._catalog, self._health, self._catalog.dialect
        for done, (number, path, cut) in enumerate(catalog.rows("SELECT id, path, cut FROM notes ORDER BY path")):
            self._tick("notes", done, health.notes, path)
            if not is_current_key(cut, prepare_key(path, self._settings.vault, dialect)):
                health.stale.append((path, StaleReason.CUT))
            try:
                catalog.check_note_rows([number])
            except DamagedRowError:
                self._record_fault(path, "The note's rows in the catalog were altered.", RepairPart.NOTE)

    def _check_fragments_of_words(self, segments: Sequence[OpenSegment]) -> None:
        keys = [segment.docs["key"][segment.alive].astype(np.int64) for segment in segments]
        if not np.array_equal(np.concatenate([np.zeros(0, np.int64), *keys]), self._catalog.fragment_keys()):
            error = "The words in the lexical index do not match the fragments in the catalog."
            self._record_fault("words", error, RepairPart.WORDS)
