"""The writer of an index: opens the index, repairs damaged or outdated parts, and commits generations (new states).

The order of a commit: rows into the catalog's open transaction; new segments, the table of contents and the matrix
block written and synced; their names, sizes and checksums into the transaction; COMMIT. Only then are files removed
that neither this generation nor the one before uses, so a reader that has just opened the catalog finds its files.
After a kill before the COMMIT, the last generation has all of its files; the new files are not in the catalog and the
next build removes them.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from excerpt.base.model import FileProblem
from excerpt.base.settings import Settings
from excerpt.base.state_files import read_limited
from excerpt.corpus.tables import FIELDS
from excerpt.encoders.model_names import static_model_name
from excerpt.encoders.static_model import Embedder, open_embedder
from excerpt.index import renames
from excerpt.index.catalog import CATALOG_FILE, UNFINISHED_KEY, Catalog, DamagedCatalogError, is_damage
from excerpt.index.catalog_rows import FragmentPosition, GivenUpFile, decompress_text, heading_path_from_row
from excerpt.index.changes import build_parameters, vault_parameters
from excerpt.index.encoder_vectors import RECORD_KEY, SearchVectorsRecord
from excerpt.index.files import SUSPECT_FILE, DamagedFileError, check_file, remove_other_files
from excerpt.index.lexical_writer import LexicalWriter, document_rows, last_generation
from excerpt.index.link_file import LINKS_FILE
from excerpt.index.names import rebuild_all_names
from excerpt.index.postings import EMBEDDED_TEXT_VERSION, FieldCollector, embedded_text, join
from excerpt.index.prepare import PreparedFiles, without_garbage_collection
from excerpt.index.vectors import MatrixWriter, QuantisedVectors, quantise
from excerpt.text.tokens import open_tokenizer

LOCK_FILE = "write.lock"
OWN_FILES = frozenset((LOCK_FILE, CATALOG_FILE, f"{CATALOG_FILE}-wal", f"{CATALOG_FILE}-shm", SUSPECT_FILE, LINKS_FILE))
"""Names of the files in an index's folder that are not of one generation."""

_EMBED_AT_ONCE = 2048
_ROWS_AT_ONCE = 8000
_MAX_REASON_BYTES = 10_000

OnCurrentPath = Callable[[str], None]
Keys = NDArray[np.int64]


class IndexWriter:
    """Writes the index in one folder. The caller holds the build's lock.

    `rebuilt` lists phrases for the user about what was rebuilt and why; `embedded` is the number of texts that were
    embedded.
    """

    def __init__(self, index: Path, vault: Path, settings: Settings, tick: OnCurrentPath, *, after: int = 0) -> None:
        """Open the index in the folder `index`, or start an empty one if it is missing or damaged.

        `tick` is called with the path of the current note (or "") every few milliseconds. New generation numbers are
        above `after`, so that readers of a discarded index see that there is a newer one.
        """
        self._index = index
        self._min_generation = after
        self._tick = tick
        self._settings = settings
        self._embedder: Embedder | None = None
        self._files_before: set[str] = set()
        self._ends_build = False
        self._is_repaired = False
        self.rebuilt: list[str] = []
        self.embedded = 0
        self.catalog = self._open_catalog()
        self._identity_at_open = self._catalog_identity()
        if not self.catalog.generation:
            self._min_generation = max(self._min_generation, last_generation(index))
        for name, value in vault_parameters(vault).items():
            self.catalog.set_meta(name, value)

    def close(self) -> None:
        self.catalog.close()

    def reset_report(self) -> None:
        """Clear `rebuilt` and `embedded`, before another build with this writer."""
        self.rebuilt.clear()
        self.embedded = 0

    def is_in_folder(self) -> bool:
        """Return whether the open catalog file is still the one in the index folder, and not deleted or replaced."""
        try:
            file = (self._index / CATALOG_FILE).stat()
        except OSError:
            return False
        return (file.st_dev, file.st_ino) == self._identity_at_open[:2]

    def is_current(self) -> bool:
        """Return whether the index is unchanged since this writer checked or wrote it.

        Returns False if another process has committed, removed a file or found damage.
        """
        try:
            for kind in ("words", "vectors"):
                for file in self.catalog.files(kind):
                    check_file(self._index, file, content=False, may_grow=kind == "vectors")
            return self._catalog_identity() == self._identity_at_open and not (self._index / SUSPECT_FILE).exists()
        except (OSError, sqlite3.DatabaseError, DamagedFileError):
            return False

    def _catalog_identity(self) -> tuple[int, int, int]:
        """Return device and inode of the catalog file, and a number that changes when another connection commits."""
        file = (self._index / CATALOG_FILE).stat()
        return file.st_dev, file.st_ino, self.catalog.data_version()

    # --- mending ------------------------------------------------------------------------------------------------------

    def _open_catalog(self) -> Catalog:
        suspect = self._index / SUSPECT_FILE
        try:
            if (self._index / CATALOG_FILE).is_file() and not (self._index / CATALOG_FILE).stat().st_size:
                # Before writing to the file, SQLite would wait for the readers of its old content.
                raise DamagedCatalogError("it is empty")
            catalog = Catalog.open_to_write(self._index)
            reason = ""
            if suspect.exists():
                with contextlib.suppress(OSError):
                    reason = read_limited(suspect, _MAX_REASON_BYTES).decode("utf-8", "replace")
                reason = reason or catalog.find_damage()
            if not reason:
                suspect.unlink(missing_ok=True)
                return catalog
            catalog.close()
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            reason = str(error)
        self.rebuilt.append(f"everything from the vault, because the catalog could not be used ({reason})")
        self._min_generation = discard_index(self._index)
        return Catalog.open_to_write(self._index)

    def repair_parts(self) -> None:
        """Rebuild damaged or outdated parts of the index from the catalog, and commit them as one generation.

        Outdated parts were made with another analyzer, model or tokenizer. Only the first call does anything: after
        that the writer knows the state of the index.
        """
        if self._is_repaired:
            return
        self._remove_leftovers()  # of a build that was killed while it wrote this generation
        words, vectors = self._open_words(), self._open_matrix()
        tokenizer = self._settings.pack.tokenizer
        recount = bool(self.catalog.generation) and self.catalog.meta("tokenizer") != tokenizer
        names = build_parameters(self._settings)["names"]
        if words or vectors or recount:
            self.catalog.check_rows()  # altered rows must not be copied, nor get a checksum of the altered content
        with self.catalog.transaction():
            if self.catalog.meta("names") != names:
                rebuild_all_names(self.catalog.rows)
            if words:
                self.rebuilt.append(f"the lexical index from the catalog, because {words.rstrip('.')}")
                self._rebuild_word_index()
            if vectors:
                self.rebuilt.append(f"the vectors from the catalog, because {vectors.rstrip('.')}")
            if recount:
                self.rebuilt.append("the token counts, because the tokenizer changed")
                self._recount_tokens()
            for name, value in (
                ("names", names),
                ("tokenizer", tokenizer),
                ("model", static_model_name(self._settings.embedding.model)),
                ("model_source", self._model_source),
                ("model_id", self._model),
                ("dimensions", str(self._dimensions)),
                ("doubted", ""),
            ):
                self.catalog.set_meta(name, value)
            if words or vectors or recount:
                self._write_generation(0 if vectors else None)
        self._is_repaired = True
        self._remove_leftovers()

    def _open_words(self) -> str:
        """Open the lexical index, or start an empty one; return why it must be rebuilt, "" if it is intact."""
        generation, files = self.catalog.generation, self.catalog.files("words")
        reason = ""
        if generation and self.catalog.meta("analyzer") != build_parameters(self._settings)["analyzer"]:
            # Its files are not read: another version may have written them in another form.
            reason = "words are split differently now"
        else:
            try:
                for file in files:
                    check_file(self._index, file)
                self._lexical_writer = LexicalWriter(self._index, generation or None, files, lambda: self._tick(""))
                if self._needs_rebuild("words"):
                    reason = "a check found errors in it"
                elif not np.array_equal(self._lexical_writer.keys(), self.catalog.fragment_keys()):
                    reason = "it does not match the catalog's fragments"
            except DamagedFileError as error:
                reason = error.message
        if reason:
            self._lexical_writer = LexicalWriter(self._index, None, tick=lambda: self._tick(""))
        return reason

    def _open_matrix(self) -> str:
        """Open the vector matrix, or start an empty one; return why it must be rebuilt, "" if it is intact."""
        source = build_parameters(self._settings)["model_source"]
        self._model = self.catalog.meta("model_id")
        self._dimensions = self.catalog.number("dimensions")
        reason = ""
        if self.catalog.meta("model_source") != source:
            model = f"{self.embedder.id}/{EMBEDDED_TEXT_VERSION}"
            if self._model and model != self._model:
                reason = "the embedding model changed"
            self._model, self._dimensions = model, self.embedder.dimensions
        self._model_source = source
        files = [] if reason else self.catalog.files("vectors")
        if self.catalog.generation and not reason and len(files) != 1:
            reason = "the catalog does not name its file of vectors"
        elif not reason and self._needs_rebuild("vectors"):
            reason = "a check found errors in them"
        try:
            self._matrix_writer = MatrixWriter(self._index, None if reason or not files else files[0], self._dimensions)
        except DamagedFileError as error:
            reason = error.message
            self._matrix_writer = MatrixWriter(self._index, None, self._dimensions)
        return reason

    def _needs_rebuild(self, part: str) -> bool:
        """Return whether an examination of the index found errors in `part`, "words" or "vectors".

        `verify.schedule_repair` records them.
        """
        return part in self.catalog.meta("doubted").split()

    def _rebuild_word_index(self) -> None:
        """Add the words of all stored notes to the empty lexical index, 8,000 fragments at a time."""
        notes = self.catalog.rows(
            "SELECT n.id, n.path, n.title, n.language FROM notes n JOIN fragments f ON f.note = n.id"
            " GROUP BY n.id ORDER BY min(f.key)"
        )
        positions: list[FragmentPosition] = []
        collector = FieldCollector()
        for number, path, title, language in notes:
            self._tick(path)
            positions += self._collect_note_words(collector, number, (path, title, language))
            if len(positions) >= _ROWS_AT_ONCE:
                self._lexical_writer.add(document_rows(positions), collector.inverted())
                positions, collector = [], FieldCollector()
        self._lexical_writer.add(document_rows(positions), collector.inverted())

    def _collect_note_words(
        self, collector: FieldCollector, note: int, names: tuple[str, str, str]
    ) -> list[FragmentPosition]:
        fragments = self.catalog.rows(
            "SELECT f.key, f.line_start, s.heading_path, f.text FROM fragments f"
            " JOIN sections s ON s.note = f.note AND s.ordinal = f.section WHERE f.note = ? ORDER BY f.key",
            note,
        )
        labels = self.catalog.rows("SELECT kind, name, value FROM labels WHERE note = ? ORDER BY rowid", note)
        properties: dict[str, list[str]] = {}
        for kind, name, value in labels:
            if kind == "property":
                properties.setdefault(name, []).append(value)
        collector.add_note(
            *names,
            aliases=[value for kind, _, value in labels if kind == "alias"],
            tags=[value for kind, _, value in labels if kind == "tag"],
            properties=properties,
            fragments=[(heading_path_from_row(heading_path), text) for *_, heading_path, text in fragments],
        )
        return [(key, note, line) for key, line, _, _ in fragments]

    def _recount_tokens(self) -> None:
        count = open_tokenizer(self._settings.pack.tokenizer, for_many_texts=True).count
        for number, path in self.catalog.rows("SELECT id, path FROM notes"):
            self._tick(path)
            ((text,),) = self.catalog.rows("SELECT text FROM note_texts WHERE note = ?", number)
            fragments = self.catalog.rows("SELECT key, text FROM fragments WHERE note = ?", number)
            counted = [(key, count(text_of_fragment)) for key, text_of_fragment in fragments]
            self.catalog.set_tokens(number, count(decompress_text(text)), counted)

    # --- committing ---------------------------------------------------------------------------------------------------

    def commit(self, removed: Iterable[str], prepared: Sequence[PreparedFiles], *, unfinished: bool = False) -> None:
        """Remove and insert notes, and commit the result as one generation (new state of the index).

        `removed` are paths; a changed note is in `removed` and in `prepared`. `unfinished` tells readers that the build
        still has files to read. Without changes no generation is committed, except for the first one, and for one that
        ends an unfinished state.
        """
        before, after = list(removed), [note.path for done in prepared for note in done.notes]
        known, inserted = frozenset(before), frozenset(after)
        with without_garbage_collection(), self.catalog.transaction():
            renames.record_removed(self.catalog, [path for path in before if path not in inserted])
            removed_keys = self.catalog.remove(before)
            added: list[FragmentPosition] = []
            for note in (note for done in prepared for note in done.notes):
                self._tick(note.path)
                added += self.catalog.insert(note)
            renames.record_inserted(self.catalog, [path for path in after if path not in known])
            for done in prepared:
                for task in done.unchanged:
                    self.catalog.update_file_times(task.path, task.size, task.mtime_ns, task.ctime_ns)
            finishes = self.catalog.is_unfinished and not unfinished
            if len(removed_keys) or added or finishes or not self.catalog.generation:
                self.catalog.set_meta(UNFINISHED_KEY, "yes" if unfinished else "")
                self._lexical_writer.delete(removed_keys)
                parts = [done.inverted for done in prepared if done.notes]
                if parts:
                    self._lexical_writer.add(
                        document_rows(added), {name: join([part[name] for part in parts]) for name in FIELDS}
                    )
                self._write_generation(added[0][0] - 1 if added else None, ends_build=finishes)
        self._remove_leftovers()

    def record_search_vectors(self, record: SearchVectorsRecord) -> bool:
        """Commit a generation whose searches use the recorded vectors, unless the current generation does so already.

        Returns whether searches used another model's vectors before.
        """
        before = SearchVectorsRecord.from_json(stored := self.catalog.meta(RECORD_KEY))
        if stored != record.to_json():
            with self.catalog.transaction():
                self.catalog.set_meta(RECORD_KEY, record.to_json())
                self._write_generation(None)
            self._remove_leftovers()
        return before is None or before.id != record.id

    def record_end_of_build(
        self, skipped: Sequence[FileProblem], only: Collection[str] | None, given_up: Mapping[str, GivenUpFile]
    ) -> None:
        """Record skipped files and renamed notes at the end of a build, and delete unused vectors.

        After a build of several commits, the files of the generation before the last are deleted too.
        `only` are the paths to which the build was limited (None: whole vault); `given_up` are the files, by path, that
        are skipped until they change.
        """
        with self.catalog.transaction():
            renames.record_moves(self.catalog)
            self.catalog.set_skipped(skipped, only)
            before = self.catalog.given_up()
            after = {**({} if only is None else before), **given_up}
            if after != before:
                self.catalog.set_given_up(after)
            if only is None:
                self.catalog.prune_vectors()
        if self._ends_build:
            # The merged files are as large as what they replace (45 of 300 MB of cpp-docs). A reader that is opening
            # the generation before opens this one instead.
            self._files_before = set()
            self._remove_leftovers()

    def _write_generation(self, vectors_above: int | None, *, ends_build: bool = False) -> None:
        """Write the derived files of the next generation and record them in the open transaction.

        Fragments with keys above `vectors_above` have no row in the vector matrix yet; None if every fragment has a
        row. `ends_build` is whether this is the last of several commits of a build.
        """
        generation = max(self.catalog.generation, self._min_generation) + 1
        before = {file.name for kind in ("words", "vectors") for file in self.catalog.files(kind)}
        keys, added = self._load_or_embed_vectors(vectors_above)
        self.catalog.set_files("words", self._lexical_writer.commit(generation, ends_build=ends_build))
        self.catalog.set_files(
            "vectors", [self._matrix_writer.commit(generation, self._lexical_writer.keys(), keys, added)]
        )
        for name, value in (
            ("generation", str(generation)),
            ("updated", datetime.now(UTC).isoformat(timespec="seconds")),
            ("analyzer", build_parameters(self._settings)["analyzer"]),
        ):
            self.catalog.set_meta(name, value)
        self._files_before, self._ends_build = before, ends_build

    def _load_or_embed_vectors(self, above: int | None) -> tuple[Keys, QuantisedVectors]:
        """Return the keys and vectors of the fragments with keys above `above`; no fragments if `above` is None.

        Only texts without a stored vector are embedded.
        """
        sql = (
            "SELECT f.key, f.embedded, n.title, s.heading_path, f.text, n.path FROM fragments f"
            " JOIN notes n ON n.id = f.note JOIN sections s ON s.note = f.note AND s.ordinal = f.section"
            " WHERE f.key > ? ORDER BY f.key LIMIT ?"
        )
        keys = [np.zeros(0, np.int64)]
        parts = [QuantisedVectors.from_bytes([], self._dimensions)]
        while above is not None and (rows := self.catalog.rows(sql, above, _EMBED_AT_ONCE)):
            self._tick(rows[-1][5])
            above = rows[-1][0]
            digests = [row[1] for row in rows]
            known = self.catalog.known_vectors(self._model, digests)
            texts = {
                digest: embedded_text(title, heading_path_from_row(heading_path), text)
                for _, digest, title, heading_path, text, _ in rows
                if digest not in known
            }
            if texts:
                new_vectors = quantise(self.embedder.embed(list(texts.values()))).to_bytes()
                self.embedded += len(texts)
                self.catalog.add_vectors(self._model, zip(texts, new_vectors, strict=True))
                known.update(zip(texts, new_vectors, strict=True))
            keys.append(np.array([row[0] for row in rows], np.int64))
            parts.append(QuantisedVectors.from_bytes([known[digest] for digest in digests], self._dimensions))
        return np.concatenate(keys), QuantisedVectors.concatenate(parts)

    @property
    def embedder(self) -> Embedder:
        """The model, loaded on first use: a build without new texts does not need it."""
        if self._embedder is None:
            self._embedder = open_embedder(static_model_name(self._settings.embedding.model))
        return self._embedder

    def _remove_leftovers(self) -> None:
        now = {file.name for kind in ("words", "vectors") for file in self.catalog.files(kind)}
        remove_other_files(self._index, now | self._files_before | OWN_FILES)


def discard_index(index: Path) -> int:
    """Delete all files of the index except the lock file, which is held; return the number of its last generation."""
    last = last_generation(index)
    # The log is removed after its catalog: a reader would take a catalog without its log for an older one.
    (index / CATALOG_FILE).unlink(missing_ok=True)
    remove_other_files(index, {LOCK_FILE})
    return last
