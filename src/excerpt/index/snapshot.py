"""A read-only view of an index at one generation (committed state), from which searches and screens read.

If two commits happen while a snapshot is being opened, the files of its generation may be gone; then the newest
generation is opened. If nothing was committed and a file still does not match its record, the index is damaged, and the
next build repairs it.
"""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from copy import copy
from functools import cached_property, reduce
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from excerpt.base.errors import IndexUnusableError, ModelError
from excerpt.base.model import FileProblem, Fragment, Section, Status
from excerpt.base.settings import Settings
from excerpt.corpus.facets import CachedLinks, Facets, NumberedNotes
from excerpt.corpus.interface import CandidateQuery, Corpus, QueryEmbedder
from excerpt.corpus.notes import NoteReader
from excerpt.corpus.queries import NoteRow
from excerpt.corpus.tables import FragmentTable, run_starts, sorted_unique
from excerpt.encoders.model_names import hide_secrets, is_static_model, model_label, static_model_name
from excerpt.encoders.static_model import Embedder, model_source, open_embedder
from excerpt.index import renames
from excerpt.index.author_view import AuthorQueries, AuthorTerms, CatalogComments
from excerpt.index.catalog import CATALOG_FILE, Catalog, is_damage
from excerpt.index.catalog_rows import DamagedRowError
from excerpt.index.checksums import check_rows, read_checked_notes, split_notes
from excerpt.index.encoder_vectors import (
    MAX_MISSING_SHARE,
    RECORD_KEY,
    FragmentVectors,
    SearchVectorsRecord,
    TextVectors,
    open_chosen_embedder,
    short_digests,
    vectors_file,
)
from excerpt.index.files import DamagedFileError, mark_suspect
from excerpt.index.lexical import LexicalReader
from excerpt.index.link_file import LinkFile
from excerpt.index.postings import EMBEDDED_TEXT_VERSION
from excerpt.index.queries import CatalogQueries
from excerpt.index.vectors import MatrixSource, VectorMatrix
from excerpt.text.tokens import open_tokenizer


class Snapshot(NoteReader):
    """One generation (committed state) of an index, open for reading. Use it from one thread at a time.

    Methods raise IndexUnusableError if the index turns out to be damaged; the next build repairs it.
    """

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        catalog: Catalog,
        before: Snapshot | None = None,
        trial: SearchVectorsRecord | None = None,
        *,
        for_author: bool = False,
    ) -> None:
        self._folder = folder
        self._settings = settings
        self._catalog = catalog
        self._rows: _CatalogReader = _CatalogReader(folder, catalog)
        self._note_queries = CatalogQueries(self._rows)
        self.generation = catalog.generation
        if not self.generation:
            raise IndexUnusableError("There is no index yet.", "Run `excerpt index`.")
        files = catalog.files("vectors")
        if len(files) != 1:
            raise DamagedFileError("The catalog does not name its file of vectors.")
        # The matrix is opened now and read later: after two more commits, the file may be gone.
        self._matrix = MatrixSource(folder, files[0], is_checked_later=True)
        self.model_id = catalog.meta("model_id")
        self._last_move_number = renames.last_move_number(self._rows)
        self.is_unfinished = catalog.is_unfinished
        self._search_record = trial or _find_record(catalog, settings)
        self._max_missing_share = 1.0 if trial is not None else MAX_MISSING_SHARE
        self._text_vectors = _open_text_vectors(folder, self._search_record)
        try:
            self._words: LexicalReader = LexicalReader(
                folder, catalog.files("words"), self.generation, before._words if before is not None else None
            )
        except BaseException:
            self._matrix.close()
            self._close_text_vectors()
            raise
        self.lexical: LexicalReader = self._words
        self._reusable = (
            _ReusableData()
            if before is None or not self._words.has_common_segment(before._words)
            else before._collect_reusable()
        )
        self._rows.reuse_checks(self._reusable.checked)
        if settings.text.shows_comments(for_author=for_author):
            self._show_comments()

    def _show_comments(self) -> None:
        comments = CatalogComments(self._rows)
        if comments.by_path:
            self.lexical = AuthorTerms(self._words, comments)
            tokenizer = self.tokenizer
            self._note_queries = AuthorQueries(self._rows, comments, lambda text: open_tokenizer(tokenizer).count(text))

    @cached_property
    def without_comments(self) -> Snapshot:
        """This generation without the comments that only authors read; this object itself if it shows no such comments.

        The returned snapshot is open as long as this one, and shares its files and vectors.
        """
        if self.lexical is self._words or self._settings.text.shows_comments(for_author=False):
            return self
        _ = self.table, self.vectors, self._chosen_vectors
        other = copy(self)
        other.lexical, other._note_queries = self._words, CatalogQueries(self._rows)
        other.__dict__.pop("facets", None)
        return other

    @classmethod
    def open(
        cls,
        folder: Path,
        settings: Settings,
        wait_ms: int = 2000,
        *,
        before: Snapshot | None = None,
        trial: SearchVectorsRecord | None = None,
        for_author: bool = False,
    ) -> Snapshot:
        """Open the newest generation of the index in `folder`.

        Data that an older open snapshot of the folder (`before`) has in memory are shared with it instead of read
        again. Either snapshot may be closed first, and `before` may be in use by another thread. If a commit removes
        the files meanwhile, opening is tried again for `wait_ms` milliseconds. Searches use the vectors of `trial`
        instead of the recorded ones, even if most fragments have none. With `for_author`, the comments in the notes are
        found and shown, unless the settings hide them. Raises IndexUnusableError if there is no index or it is damaged.
        """
        until = time.monotonic() + wait_ms / 1000
        last = -1
        while True:
            generation = -1
            try:
                catalog = _open_catalog(folder)
                try:
                    with _convert_database_errors(folder):
                        generation = catalog.generation
                        return cls(folder, settings, catalog, before, trial, for_author=for_author)
                except BaseException:
                    catalog.close()
                    raise
            except DamagedFileError:
                if generation == last or time.monotonic() > until:
                    raise
            last = generation
            time.sleep(0.02)

    def shorten_wal(self) -> None:
        """Shorten SQLite's write-ahead log, if no process reads an older generation.

        Called by a process that opens one generation after the other.
        """
        # Where the index cannot be written to, the log is not this process's either.
        with suppress(sqlite3.Error, OSError):
            self._catalog.shorten_wal(self._folder)

    @property
    def settings(self) -> Settings:
        """The settings that the index was opened with."""
        return self._settings

    @property
    def edition(self) -> tuple[object, ...]:
        """A value that is equal for two snapshots with the same content: generation, files and recorded renames.

        A build records renames after it has read all notes, later than its last generation.
        """
        return self.generation, self._words.files, self._last_move_number

    @staticmethod
    def current_generation(folder: Path) -> int:
        """Return the number of the newest generation in `folder`; 0 if there is none or it cannot be read.

        Takes less than a millisecond.
        """
        try:
            catalog = _open_catalog(folder, is_optional=True)
        except IndexUnusableError:
            return 0
        try:
            with _convert_database_errors(folder):
                return catalog.generation
        finally:
            catalog.close()

    def is_up_to_date(self, vault: Path) -> bool:
        """Return whether a build from `vault` would change nothing.

        Raises VaultError if the vault cannot be listed, and SettingsError.
        """
        from excerpt.index.changes import is_index_current

        with _convert_database_errors(self._folder):
            return is_index_current(self._catalog, self.lexical.keys, self._folder, vault, self._settings)

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Run an SQL query on the catalog and return its rows, for code that copies the index elsewhere."""
        return self._rows(sql, *values)

    def close(self) -> None:
        """Close files and release memory; data that another snapshot shares stay open for that snapshot."""
        self.lexical.close()
        self._matrix.close()
        self._close_text_vectors()
        self._catalog.close()
        self._reusable = _ReusableData()
        for name in ("vectors", "_chosen_vectors", "table", "is_note_row", "facets", "embedder", "without_comments"):
            self.__dict__.pop(name, None)

    def _close_text_vectors(self) -> None:
        if self._text_vectors is not None:
            self._text_vectors.close()

    is_possible_result: None = None
    """Mask of the rows that may be in results; None for all."""

    # --- derived ------------------------------------------------------------------------------------------------------

    @cached_property
    def vectors(self) -> VectorMatrix:
        """The vectors of all fragments, read on first use (about 0.2 s for 100,000 fragments)."""
        known = self._reusable.vectors if self._reusable.model == self.model_id else None
        with self._convert_errors():
            return VectorMatrix.read(self._matrix, self.lexical.keys, self._catalog.number("dimensions"), known)

    @cached_property
    def embedder(self) -> Embedder:
        """The embedding model that the settings name, loaded on first use.

        Raises ModelError if the model cannot be loaded, or if another model made the vectors of the index.
        """
        model = static_model_name(self._settings.embedding.model)
        embedder = open_embedder(model)
        is_same_source = (
            self._catalog.meta("model_source") == f"{model_source(model)}/{EMBEDDED_TEXT_VERSION}"
        )  # saves its hash
        if not is_same_source and self.model_id != f"{embedder.id}/{EMBEDDED_TEXT_VERSION}":
            raise ModelError(
                "The index was made with another embedding model.", "Run `excerpt index` to update the index."
            )
        return embedder

    @property
    def search_vectors(self) -> VectorMatrix:
        """Vectors to compare queries with: those of the user's chosen embedder once it has embedded all notes."""
        chosen = self._chosen_vectors
        return self.vectors if chosen is None else chosen.matrix

    @property
    def query_embedder(self) -> QueryEmbedder:
        """The model that made `search_vectors`; a model that the user chose is loaded by its first query."""
        if self._chosen_vectors is None or self._search_record is None:
            return self.embedder
        return open_chosen_embedder(self._settings, self._search_record)

    @cached_property
    def _chosen_vectors(self) -> _ChosenVectors | None:
        """The vectors of the embedder that the user chose; None while it has not embedded enough of the fragments."""
        record, texts, before = self._search_record, self._text_vectors, self._reusable.chosen
        if record is None or texts is None:
            return None
        if before is not None and before.model_id != record.id:
            before = None
        keys = self.lexical.keys
        known = np.setdiff1d(before.matrix.keys, before.missing) if before is not None else keys[:0]
        new = np.setdiff1d(keys, known)
        sql = "SELECT key, embedded FROM fragments WHERE key >= ? ORDER BY key"
        rows = self._rows(sql, int(new[0])) if len(new) else []
        digests = short_digests([digest for _, digest in rows])[np.isin([key for key, _ in rows], new)]
        if len(digests) != len(new):
            return None
        try:
            texts.read_to(record.size)
            missing = new[~texts.has(digests)]
            if len(missing) > self._max_missing_share * len(keys):
                return None
            source = FragmentVectors(texts, record, new, digests)
            older, changed = (before.matrix, before.missing) if before is not None else (None, keys[:0])
            matrix = VectorMatrix.read(source, keys, record.dimensions, older, changed)
        except OSError:  # the file is damaged: the next run of the embedder notices
            return None
        return _ChosenVectors(record.id, matrix, missing)

    @cached_property
    def tokenizer(self) -> str:
        """Name of the tokenizer that counted the tokens of the fragments."""
        return self._catalog.meta("tokenizer")

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """Language codes of the notes, the most frequent first."""
        counts = Counter(filter(None, self.table.languages))
        return tuple(sorted(counts, key=lambda language: (-counts[language], language)))

    def prefetch(self, _requests: Callable[[Corpus], Sequence[CandidateQuery]]) -> Snapshot:
        """Return this snapshot, which already has all fragments; a store would load the requested ones."""
        return self

    def reopen(self) -> Snapshot:
        """Return this snapshot; only a corpus in a store can be reopened. Use `open` for a newer generation."""
        return self

    def fragment_counts(self, notes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the number of fragments of each of `notes`, given as indexes in `table.paths`."""
        sizes: NDArray[np.int64] = np.bincount(self.table.notes, minlength=len(self.table.paths))[notes]
        return sizes

    def count_fragments(self, terms: Sequence[str]) -> int:
        """Return the number of fragments that have at least one of `terms`."""
        rows = [self.lexical.entries(term).rows for term in terms]
        return len(sorted_unique(np.concatenate(rows))) if rows else 0

    def count_notes(self, terms: Sequence[str]) -> int:
        """Return the number of notes that have a fragment with all of `terms`."""
        rows = reduce(np.intersect1d, [self.lexical.entries(term).rows for term in terms])
        return int(np.count_nonzero(np.bincount(self.table.notes[rows])))

    @cached_property
    def table(self) -> FragmentTable:
        """The note, first line and key of the fragment in each row, and the data of each note; read on first use.

        `check` compares the data of the notes with their checksums.
        """
        notes = sorted(self._rows("SELECT path, language, id, kind FROM notes"), key=itemgetter(0))
        numbers = np.array([row[2] for row in notes], np.int64)
        by_number = np.argsort(numbers)
        # A note's fragments follow each other, so it is looked up once for all of them.
        starts = run_starts(self.lexical.notes)
        at = by_number[np.searchsorted(numbers, self.lexical.notes[starts], sorter=by_number)].astype(np.int32)
        first_fragment_keys = np.full(len(notes), -1, np.int64)
        # From the last row to the first: of several assignments to one note, the last remains.
        first_fragment_keys[at[::-1]] = self.lexical.keys[starts[::-1]]
        return FragmentTable(
            keys=self.lexical.keys,
            notes=np.repeat(at, np.diff(starts, append=len(self.lexical.notes))),
            lines=self.lexical.lines,
            paths=tuple(row[0] for row in notes),
            languages=tuple(row[1] for row in notes),
            numbers=numbers,
            first_fragment_keys=first_fragment_keys,
            is_attachment=np.array([bool(row[3]) for row in notes], np.bool_),
        )

    @cached_property
    def facets(self) -> Facets:
        """Tags, properties, dates, names and links of the notes, for filters; each part is read on first use."""
        table = self.table
        return Facets(
            self._note_queries,
            NumberedNotes(table.paths, table.numbers, table.first_fragment_keys),
            self._reusable.links,
            self._catalog.meta("daily_notes"),
            self._catalog.dialect,
            stored_links=LinkFile(self._folder, self.generation, self._words.segment_names),
        )

    def _collect_reusable(self) -> _ReusableData:
        """Return the data in memory that a snapshot of the next generation may reuse."""
        read, known = self.__dict__, self._reusable
        links = read["facets"].cached_links if "facets" in read else known.links
        chosen = read.get("_chosen_vectors", known.chosen)
        checked = {**known.checked, **self._rows.checked}
        if "vectors" in read:
            return _ReusableData(read["vectors"], self.model_id, links, chosen, checked)
        return replace(known, links=links, chosen=chosen, checked=checked)

    # --- lost rows ----------------------------------------------------------------------------------------------------

    def note_fragments(self, path: str, first: int = 0, last: int | None = None) -> list[Fragment]:
        """Return the fragments number `first` to `last` (included; None: to the end) of a note, in order.

        Raises IndexUnusableError if the row of the note is missing in a damaged index.
        """
        fragments = super().note_fragments(path, first, last)
        if not fragments:
            self._check_note(path)
        return fragments

    def sections(self, path: str) -> list[Section]:
        """Return the sections of a note in order, each without the blocks of its text.

        Raises IndexUnusableError if the row of the note is missing in a damaged index.
        """
        sections = super().sections(path)
        if not sections:
            self._check_note(path)
        return sections

    def _read_note_row(self, path: str) -> NoteRow:
        try:
            return super()._read_note_row(path)
        except KeyError:
            self._check_note(path)
            raise

    def _check_note(self, path: str) -> None:
        """Raise IndexUnusableError if the index has fragments of the note at `path` but not the note's row."""
        with self._convert_errors():
            if path not in self._note_queries.notes([path]) and path in self.table.paths:
                raise DamagedRowError("a note that is lost")

    def check_rows(self, notes: Sequence[int] | None = None) -> None:
        """Compare the rows of some notes (by row id; None: all notes) with their checksums, before they are copied.

        Raises IndexUnusableError if a row differs.
        """
        with self._convert_errors():
            if notes is None:
                self._catalog.check_rows()
            else:
                self._catalog.check_note_rows(notes)

    def check(self) -> None:
        """Compare words, vectors, and the paths and names of all notes with their checksums.

        Raises IndexUnusableError if the index is damaged.
        """
        self._words.check()
        with self._convert_errors():
            self._matrix.check()
        self._rows.check("notes")
        self._rows.check("names")

    # --- the vault ----------------------------------------------------------------------------------------------------

    def _convert_errors(self) -> AbstractContextManager[None]:
        return _convert_database_errors(self._folder)

    def _check_missing(self, keys: Sequence[int]) -> None:
        with self._convert_errors():
            if keys and np.isin(keys, self.lexical.keys).any():
                raise DamagedRowError("a fragment that is lost")

    def status(self) -> Status:
        """Return counts, skipped files and the settings that the index was built with."""
        from excerpt.vault.dialect import detect_dialect
        from excerpt.vault.readers.registry import describe_unread_files

        files, fragments = self._catalog.count_notes_and_fragments()
        attachments = self._catalog.attachments()
        return Status(
            vault=self._catalog.meta("vault"),
            generation=self.generation,
            notes=files - sum(attachments.values()),
            fragments=fragments,
            skipped=self.skipped,
            warnings=self.warnings,
            model=self._describe_model(),
            tokenizer=self._catalog.meta("tokenizer"),
            updated=self._catalog.meta("updated"),
            attachments=attachments,
            unread=describe_unread_files(self._catalog.unread_files(), self._catalog.count_unread_images()),
            dialect=detect_dialect(Path(self._catalog.meta("vault"))),
        )

    def _describe_model(self) -> str:
        """Return the model whose vectors searches use and, if there is one, the model that will replace it."""
        chosen, used = hide_secrets(self._settings.embedding.model), ""
        if self._search_record is not None and self._chosen_vectors is not None:
            used = self._search_record.model
        label = model_label(used) or self._catalog.meta("model") or "the one that ships with excerpt"
        if is_static_model(chosen) or chosen == used:
            return label
        return f"{label}, until {model_label(chosen)} has embedded the notes (`excerpt embedding` shows how many)"

    @property
    def skipped(self) -> tuple[FileProblem, ...]:
        """Files that could not be indexed, each with the reason."""
        return self._catalog.remarks(skipped=True)

    @property
    def warnings(self) -> tuple[FileProblem, ...]:
        """Notes that were indexed with a warning, each with the warning."""
        return self._catalog.remarks(skipped=False)


class _ChosenVectors(Struct, frozen=True):
    """The vectors of an embedder that the user chose; the rows of fragments without a vector (`missing`) are zeros."""

    model_id: str
    matrix: VectorMatrix
    missing: NDArray[np.int64]


class _ReusableData(Struct, frozen=True):
    """Data of an older generation that a newer generation may reuse."""

    vectors: VectorMatrix | None = None
    model: str = ""
    links: CachedLinks | None = None
    chosen: _ChosenVectors | None = None
    checked: Mapping[str, NDArray[np.int64]] = {}


def _find_record(catalog: Catalog, settings: Settings) -> SearchVectorsRecord | None:
    """Return the record of the vectors that searches with these settings use; None if these are the static model's."""
    record = SearchVectorsRecord.from_json(catalog.meta(RECORD_KEY))
    return record if record is not None and record.is_usable(settings) else None


def _open_text_vectors(folder: Path, record: SearchVectorsRecord | None) -> TextVectors | None:
    """Open the vectors' file of a record at once, before it is rewritten; return None if it cannot be read."""
    if record is not None:
        with suppress(OSError):
            return TextVectors(vectors_file(folder, record.id), record.dimensions)
    return None


_CHECKSUM_BITS = 32


class _CatalogReader:
    """Runs SQL queries on the catalog of a snapshot and converts their errors.

    This is no method of the snapshot, because objects that called the method would keep the snapshot in memory.
    """

    def __init__(self, folder: Path, catalog: Catalog) -> None:
        self._folder = folder
        self._catalog = catalog
        self._checked_before: Mapping[str, NDArray[np.int64]] = {}
        self.checked: dict[str, NDArray[np.int64]] = {}
        """The checksums of all notes (`_read_checksums`) in each table whose rows were compared with them."""

    def reuse_checks(self, checked: Mapping[str, NDArray[np.int64]]) -> None:
        """Compare only rows whose checksums are not in `checked`, those of an older generation of the same index."""
        self._checked_before = checked

    def check(self, table: str, notes: Sequence[int] | None = None) -> None:
        """Compare the rows of some notes (by row id; None: all notes) in a table with their checksums.

        After one check of all notes, further checks of the table do nothing.
        """
        if table in self.checked:
            return
        with _convert_database_errors(self._folder):
            if notes is not None:
                check_rows(self, table, notes)
                return
            checksums = self._read_checksums(table)
            if (before := self._checked_before.get(table)) is not None:
                notes = (checksums[~np.isin(checksums, before)] >> _CHECKSUM_BITS).tolist()
            if table != "notes":
                check_rows(self, table, notes)
            elif notes is None:
                read_checked_notes(self)
            else:
                for condition, part in split_notes(notes):
                    read_checked_notes(self, f"id {condition}", *part)
        self.checked[table] = checksums

    def _read_checksums(self, table: str) -> NDArray[np.int64]:
        """Return row id and stored checksum of each note in a table, as one integer."""
        sql = "SELECT id, crc FROM notes" if table == "notes" else f"SELECT note, {table} FROM seals"
        checksums = np.array(self(sql), np.int64).reshape(-1, 2)
        return (checksums[:, 0] << _CHECKSUM_BITS) + checksums[:, 1]

    def __call__(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        # A query from a terminal may hold a lone surrogate, which no stored text has.
        clean = [v.encode("utf-8", "replace").decode() if isinstance(v, str) else v for v in values]
        with _convert_database_errors(self._folder):
            return self._catalog.rows(sql, *clean)


def _open_catalog(folder: Path, *, is_optional: bool = False) -> Catalog:
    with _convert_database_errors(folder):
        if not (folder / CATALOG_FILE).is_file():
            raise IndexUnusableError("There is no index yet.", "Run `excerpt index`.")
        return Catalog.open_to_read(folder, is_optional=is_optional)


@contextmanager
def _convert_database_errors(folder: Path) -> Iterator[None]:
    """Convert database errors in a block into IndexUnusableError; after damage, the next build checks the catalog."""
    try:
        yield
    except OSError as error:
        raise IndexUnusableError(
            f"The index in {folder} cannot be read: {error.strerror}.",
            "Allow excerpt to read that folder, or set EXCERPT_HOME to another folder.",
        ) from error
    except DamagedFileError:
        mark_suspect(folder)
        raise
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            mark_suspect(folder, str(error) if isinstance(error, DamagedRowError) else "")
        raise IndexUnusableError(
            f"The index in {folder} cannot be read: {error}.", "Run `excerpt index` to rebuild the index."
        ) from error
