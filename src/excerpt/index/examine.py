"""Whether an index says what it was made from: every file, row, vector and posting held against its source.

The catalog is held against the vault and against the texts that it keeps; words and vectors are made once more from
the catalog and compared with the derived files. Nothing is changed.
"""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path

from excerpt.errors import ExcerptError
from excerpt.index.catalog import FILE, Catalog, DamagedCatalogError
from excerpt.index.examine_notes import NoteCheck
from excerpt.index.examine_vectors import check_vectors
from excerpt.index.examine_words import WordCheck
from excerpt.index.fields import FIELDS_VERSION
from excerpt.index.files import DamagedFileError, DerivedFile, check
from excerpt.index.health import Fault, Health, Part, Stale, Tick
from excerpt.index.lexical import open_segments
from excerpt.index.stored import read_stored
from excerpt.index.terms import OpenSegment
from excerpt.index.vectors import MatrixSource
from excerpt.index.writer import LOCK, SUSPECT
from excerpt.settings import Settings
from excerpt.text.words import ANALYZER_VERSION
from excerpt.vault.readers import digest_of
from excerpt.vault.readers.markdown import load_bytes
from excerpt.vault.scan import Scan

_OWN = (LOCK, FILE, f"{FILE}-wal", f"{FILE}-shm", SUSPECT)
# Two commits between reading the catalog and opening its files remove them; then the newest generation is taken.
_MOST_OPENINGS = 3


def examine(
    folder: Path, vault: Path | None, found: Scan | None, settings: Settings, tick: Tick, *, quick: bool = False
) -> Health:
    """Look at the index in `folder`. `vault` and what a scan `found` in it are None where it cannot be read.

    `quick` leaves out what is made once more to be compared (fragments, words and vectors) and the content of files
    whose time and size are the known ones. Raises FileNotFoundError if there is no index.
    """
    began = time.monotonic()
    if not (folder / FILE).is_file():
        raise FileNotFoundError(folder / FILE)
    health = Health()
    for _ in range(_MOST_OPENINGS):
        health = Health()
        try:
            with closing(Catalog.open_to_read(folder)) as catalog:
                _Examination(folder, catalog, health, settings, tick).run(vault, found, quick)
        except DamagedCatalogError:
            health.behind.append("all of it, which another version of excerpt made")
        except sqlite3.DatabaseError as error:
            health.faults.append(Fault(FILE, f"It cannot be read: {error}.", Part.CATALOG))
        if not health.faults or health.generation == _generation(folder):
            break
    health.seconds = time.monotonic() - began
    return health


def _generation(folder: Path) -> int:
    try:
        with closing(Catalog.open_to_read(folder)) as catalog:
            return catalog.generation
    except sqlite3.DatabaseError:
        return 0


class _Examination:
    def __init__(self, folder: Path, catalog: Catalog, health: Health, settings: Settings, tick: Tick) -> None:
        self._folder, self._catalog, self._health, self._settings = folder, catalog, health, settings
        self._tick = tick

    def run(self, vault: Path | None, found: Scan | None, quick: bool) -> None:
        health, catalog = self._health, self._catalog
        health.generation = catalog.generation
        health.notes, health.fragments = catalog.counts()
        health.model, health.tokenizer = catalog.meta("model_id"), catalog.meta("tokenizer")
        health.skipped = Counter(one.reason for one in catalog.remarks(skipped=True))
        words, vectors = catalog.files("words"), catalog.files("vectors")
        segments, matrix = self._open_words(words), self._open_matrix(vectors)
        try:
            self._look_into_folder({file.name for file in (*words, *vectors)})
            if not self._catalog_is_sound():
                return
            if vault is not None and found is not None:
                self._compare_with_vault(vault, found, quick)
            self._check_notes(segments, quick)
            if matrix is not None:
                check_vectors(catalog, matrix, self._settings, health, self._tick, quick=quick)
        finally:
            if matrix is not None:
                matrix.close()

    def _fault(self, where: str, what: str, part: Part) -> None:
        self._health.faults.append(Fault(where, what, part))

    # --- files --------------------------------------------------------------------------------------------------------

    def _open_words(self, files: Sequence[DerivedFile]) -> list[OpenSegment] | None:
        """The segments, None if a file of theirs is damaged."""
        if [file for file in files if not self._is_sound(file, Part.WORDS)]:
            return None
        try:
            return open_segments(self._folder, self._catalog.generation)
        except DamagedFileError as error:
            self._fault("words", error.message, Part.WORDS)
            return None

    def _open_matrix(self, files: Sequence[DerivedFile]) -> MatrixSource | None:
        if len(files) != 1:
            self._fault(FILE, f"It names {len(files)} matrices of vectors in place of one.", Part.VECTORS)
            return None
        return MatrixSource(self._folder, files[0]) if self._is_sound(files[0], Part.VECTORS) else None

    def _is_sound(self, file: DerivedFile, part: Part) -> bool:
        try:
            check(self._folder, file, grows=part is Part.VECTORS)
        except DamagedFileError as error:
            self._fault(file.name, f"It {error.message.removeprefix(file.name).strip()}", part)
            return False
        return True

    def _look_into_folder(self, used: set[str]) -> None:
        committed = self._committed()
        for path in sorted(self._folder.rglob("*")):
            name = path.relative_to(self._folder).as_posix()
            try:
                status = path.stat()
            except OSError:
                continue  # gone meanwhile
            if path.is_file():
                self._health.size += status.st_size
                if name not in used and name not in _OWN:
                    self._health.left.append((name, status.st_size, status.st_mtime > committed + 1))

    def _committed(self) -> float:
        try:
            return datetime.fromisoformat(self._catalog.meta("updated")).timestamp()
        except ValueError:
            return 0.0

    def _catalog_is_sound(self) -> bool:
        self._tick("the catalog", 0, 0, "")
        if damage := self._catalog.damage():
            self._fault(FILE, f"SQLite's check of it says: {damage}.", Part.CATALOG)
            return False
        return True

    # --- notes --------------------------------------------------------------------------------------------------------

    def _compare_with_vault(self, vault: Path, found: Scan, quick: bool) -> None:
        """What the next build will see, and what it cannot: a file that changed without its time or size."""
        known = self._catalog.known_notes()
        skipped = {one.path for one in self._catalog.remarks(skipped=True)}
        stale = self._health.stale
        for done, file in enumerate(found.files):
            self._tick("the vault", done, len(found.files), file.path)
            note = known.pop(file.path, None)
            if note is None:
                # One that was skipped stays no note as long as its file does not change.
                stale += [] if file.path in skipped else [(file.path, Stale.NEW)]
            elif (note.size, note.mtime_ns) != (file.size, file.mtime_ns):
                stale.append((file.path, Stale.CHANGED))
            elif not quick and note.digest != self._digest(vault / file.path):
                if note.ctime_ns != file.ctime_ns:
                    stale.append((file.path, Stale.CHANGED))
                    continue
                what = "Its file holds another text than the index, with the same time and size."
                self._fault(file.path, what, Part.NOTE)
        stale += [(path, Stale.GONE) for path in sorted(known)]

    def _digest(self, file: Path) -> str:
        try:
            return digest_of(load_bytes(file, self._settings.vault.max_bytes))
        except ExcerptError:
            return ""

    def _check_notes(self, segments: list[OpenSegment] | None, quick: bool) -> None:
        """Every note's rows against its text, and every word of it against the postings."""
        catalog, health = self._catalog, self._health
        words = None
        if segments is not None and self._words_are_current():
            words = WordCheck(catalog, segments, health)
        of_note = NoteCheck(self._settings, health, quick=quick)
        in_order = "SELECT n.id FROM notes n LEFT JOIN fragments f ON f.note = n.id GROUP BY n.id ORDER BY min(f.key)"
        for done, (number,) in enumerate(catalog.rows(in_order)):
            note = read_stored(catalog.rows, number)
            self._tick("notes and words", done, health.notes, note.path)
            of_note.check(note)
            if words is not None and not quick:
                words.add(note)
        if words is not None and not quick:
            words.finish()

    def _words_are_current(self) -> bool:
        if self._catalog.meta("analyzer") == f"{ANALYZER_VERSION}/{FIELDS_VERSION}":
            return True
        self._health.behind.append("the words, which are told apart differently now")
        return False
