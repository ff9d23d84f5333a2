"""One consistent, read-only view of an index at one generation: what a search and a screen read from.

Opened while a build commits, it may find that the files of the generation it has just read about are gone, because two
commits passed in between; it then starts again with the newest. If nothing was committed and a file still does not
match its record, the index is damaged, and the next build mends it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from excerpt.errors import IndexUnusableError, ModelError
from excerpt.index import catalog, names, renames
from excerpt.index.catalog import (
    AT_ONCE,
    FILE,
    FRAGMENT_SEALED,
    FRAGMENTS_JOINED,
    Catalog,
    DamagedRowError,
    NameTerms,
    NoteInfo,
    ReadRows,
    check_rows,
    checked_notes,
    checksum,
    fold_name,
    heading_path_from_row,
    is_damage,
)
from excerpt.index.embed import Embedder, model_source, open_embedder
from excerpt.index.facets import Facets, KnownLinks, Notes
from excerpt.index.files import DamagedFileError, mark_suspect
from excerpt.index.lexical import LexicalReader
from excerpt.index.postings import EMBEDDED_TEXT_VERSION
from excerpt.index.vectors import MatrixSource, VectorMatrix
from excerpt.model import Fragment, Part, Section, Skipped, Status
from excerpt.places import place_in
from excerpt.settings import Settings
from excerpt.text.fragments import digest_of_text

_FRAGMENT = (
    "SELECT f.key, f.id, n.path, n.title, s.heading_path, f.ordinal, f.section, f.line_start, f.line_end, f.text,"
    f" f.tokens, f.digest, n.kind, s.place FROM {FRAGMENTS_JOINED}"
)
_SEALED_FRAGMENT = f"SELECT {FRAGMENT_SEALED}, f.crc, f.text FROM {FRAGMENTS_JOINED}"
_PARTS = (
    f"SELECT w.place, {FRAGMENT_SEALED}, f.crc FROM wanted w CROSS JOIN notes n ON n.path = w.path"
    " CROSS JOIN fragments f ON f.note = n.id AND f.ordinal BETWEEN w.first AND w.last"
    " CROSS JOIN sections s ON s.note = f.note AND s.ordinal = f.section ORDER BY w.place, f.ordinal"
)
_NO_END = 1 << 62


Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class FragmentTable:
    """Where each fragment stands, in the order of rows: `notes` are places in `paths` (sorted), `lines` first lines.

    `languages` belong to `paths`, and so do `numbers`, which the notes have in the catalog, and `first_keys`, those of
    their first fragments (-1 without any); `attached` says which are attachments.
    """

    keys: NDArray[np.int64]
    notes: NDArray[np.int32]
    lines: NDArray[np.int32]
    paths: tuple[str, ...]
    languages: tuple[str, ...]
    numbers: NDArray[np.int64]
    first_keys: NDArray[np.int64]
    attached: NDArray[np.bool_]


class CatalogView:
    """What is read of one generation's fragments and notes in the tables of a catalog, wherever these are."""

    is_part = False
    """Whether only some of the fragments are at hand."""
    is_unfinished = False
    """Whether the build that committed this generation had files left to read."""
    _rows: ReadRows
    _select_fragment = _FRAGMENT

    @property
    def table(self) -> FragmentTable:
        """Where each fragment stands."""
        raise NotImplementedError

    @cached_property
    def rows_of_notes(self) -> NDArray[np.bool_] | None:
        """Which rows are of notes; None where all are, or none."""
        attached = self.table.attached
        return ~attached[self.table.notes] if attached.any() and not attached.all() else None

    def at_one_moment(self, answer: Callable[[], Answer]) -> Answer:
        """What `answer` says, all from one state of the vault."""
        return answer()

    def _noted(self) -> AbstractContextManager[None]:
        """Around what reads rows: turns what is wrong with them into our errors."""
        return nullcontext()

    def _miss(self, keys: Sequence[int]) -> None:
        """Told of keys that no fragment has; raises where one should be there."""

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """Languages of the notes, the most frequent first."""
        sql = "SELECT language FROM notes WHERE language <> '' GROUP BY language ORDER BY count(*) DESC, language"
        return tuple(row[0] for row in self._rows(sql))

    def fragments(self, keys: Sequence[int]) -> list[Fragment]:
        """The fragments with these keys, in that order. Raises KeyError for a key that is not in this generation."""
        found: dict[int, Fragment] = {}
        wanted = [int(key) for key in keys]
        for at in range(0, len(wanted), AT_ONCE):
            part = wanted[at : at + AT_ONCE]
            rows = self._rows(f"{self._select_fragment} WHERE f.key IN ({','.join('?' * len(part))})", *part)
            found.update((one.key, one) for one in self._fragments(rows))
        self._miss([key for key in wanted if key not in found])
        return [found[key] for key in wanted]

    def _fragments(self, rows: Sequence[Sequence[Any]]) -> list[Fragment]:
        with self._noted():
            return [fragment_from_row(row) for row in rows]

    def fragment(self, fragment_id: str) -> Fragment | None:
        found = self._fragments(self._rows(f"{self._select_fragment} WHERE f.id = ? ORDER BY f.key", fragment_id))
        return found[0] if found else None

    def note_fragments(self, path: str, first: int = 0, last: int | None = None) -> list[Fragment]:
        """A note's fragments of the ordinals `first` to `last` (inclusive, as far as there are any), in their order;
        none for an unknown note."""
        sql = f"{self._select_fragment} WHERE n.path = ? AND f.ordinal BETWEEN ? AND ? ORDER BY f.ordinal"
        return self._fragments(self._rows(sql, path, first, _NO_END if last is None else last))

    def parts(self, ranges: Sequence[tuple[str, int, int | None]]) -> list[list[Part]]:
        """For each note and its first and last ordinal (None: to the end) the fragments there are, without their
        texts; in few queries, and without reading what is long."""
        raise NotImplementedError

    def sections(self, path: str) -> list[Section]:
        """A note's sections in their order, without their blocks."""
        with self._noted():
            return catalog.sections(self._rows, path)

    def place(self, path: str, line_start: int, line_end: int) -> str:
        """The place of lines of an attachment, over all its pages that they are of; "" in a file without places."""
        return place_in(self.sections(path), line_start, line_end)

    def note_text(self, path: str) -> str:
        """The note as it was read, with LF line ends. Raises KeyError for an unknown note."""
        with self._noted():
            return catalog.text(self._rows, path)

    def note_tokens(self, path: str) -> int:
        """Tokens of the whole file. Raises KeyError for an unknown note."""
        return catalog.tokens(self._rows, path)

    def note_modified(self, path: str) -> str:
        """Return the day of the file's last change when it was read, ISO 8601, UTC. Raises KeyError for an unknown
        note."""
        return catalog.modified(self._rows, path)

    def moved(self, path: str) -> str | None:
        """Today's path of the note that once had this one; None if it is not known to have moved, or if there is a note
        at `path` (again)."""
        return renames.moved(self._rows, path)

    def note_info(self, path: str) -> NoteInfo:
        """Raises KeyError for an unknown note."""
        return catalog.info(self._rows, path)

    def note_paths(self) -> tuple[str, ...]:
        """Every note's path, sorted."""
        return tuple(row[0] for row in self._rows("SELECT path FROM notes ORDER BY path"))

    def notes_named(self, name: str) -> tuple[int, ...]:
        """Notes, as places in `table.paths`, whose title, file name or alias is `name`, whatever the case."""
        sql = "SELECT path FROM names JOIN notes ON notes.id = note WHERE name = ?"
        found = {row[0] for row in self._rows(sql, fold_name(name))}
        return tuple(number for number, path in enumerate(self.table.paths) if path in found) if found else ()

    def name_terms(self, places: Sequence[int]) -> list[NameTerms]:
        """What notes, by their places in `table.paths`, are called beside their titles, and what their links call
        others."""
        numbers = self.table.numbers[np.array(places, np.int64)].tolist()
        found = names.stored(self._rows, numbers)
        return [found.get(number, names.NO_NAMES) for number in numbers]


class Snapshot(CatalogView):
    """A generation of an index. May be used from any one thread at a time; close it when it is replaced.

    Methods raise IndexUnusableError if the index turns out to be damaged; a build mends it.
    """

    def __init__(self, folder: Path, settings: Settings, catalog: Catalog, before: Snapshot | None = None) -> None:
        self._folder = folder
        self._settings = settings
        self._catalog = catalog
        self._rows: _Rows = _Rows(folder, catalog)
        self.generation = catalog.generation
        if not self.generation:
            raise IndexUnusableError("There is no index yet.", "Run `excerpt index`.")
        files = catalog.files("vectors")
        if len(files) != 1:
            raise DamagedFileError("The catalog does not name its matrix.")
        # Opened now and read later: two commits on, the file may be gone.
        self._matrix = MatrixSource(folder, files[0])
        self._model = catalog.meta("model_id")
        self._last_move = renames.last(self._rows)
        self.is_unfinished = catalog.is_unfinished
        try:
            self.lexical: LexicalReader = LexicalReader(
                folder, catalog.files("words"), self.generation, before.lexical if before is not None else None
            )
        except BaseException:
            self._matrix.close()
            raise
        self._known = (
            _OlderGeneration() if before is None or not self.lexical.shares(before.lexical) else before._told()
        )

    @classmethod
    def open(cls, folder: Path, settings: Settings, wait_ms: int = 2000, *, before: Snapshot | None = None) -> Snapshot:
        """Open the newest generation. Raises IndexUnusableError if there is none or it is damaged.

        What it has in common with `before`, a snapshot of the same folder that is open, is shared, and the rest is
        read: all that is found in it is what would be found without. Either may be closed before the other, and
        `before` may be in use by another thread.
        """
        until = time.monotonic() + wait_ms / 1000
        last = -1
        while True:
            generation = -1
            try:
                catalog = _open_catalog(folder)
                try:
                    with _damage_noted(folder):
                        generation = catalog.generation
                        return cls(folder, settings, catalog, before)
                except BaseException:
                    catalog.close()
                    raise
            except DamagedFileError:
                if generation == last or time.monotonic() > until:
                    raise
            last = generation
            time.sleep(0.02)

    def shrink_log(self) -> None:
        """Keep SQLite's log short, now that nobody reads an older generation; for who takes up one after the other."""
        # Where the index cannot be written to, the log is not this process's either.
        with suppress(sqlite3.Error, OSError):
            self._catalog.shrink_log(self._folder)

    @property
    def settings(self) -> Settings:
        """Settings that the index was opened with."""
        return self._settings

    @property
    def edition(self) -> tuple[object, ...]:
        """Equal in two snapshots that are of the same generation of the same index, and know of the same moves: a build
        tells which notes have moved when it has read them all, after its last generation."""
        return self.generation, self.lexical.files, self._last_move

    @staticmethod
    def current_generation(folder: Path) -> int:
        """The newest committed generation; 0 if there is none, or a full disk leaves no room to look. Costs less than a
        millisecond."""
        try:
            catalog = _open_catalog(folder, briefly=True)
        except IndexUnusableError:
            return 0
        try:
            with _damage_noted(folder):
                return catalog.generation
        finally:
            catalog.close()

    def is_up_to_date(self, vault: Path) -> bool:
        """Whether a build would find nothing to do, told without loading the builder. Raises VaultError and
        SettingsError as a build does."""
        from excerpt.index.changes import nothing_to_do

        with _damage_noted(self._folder):
            return nothing_to_do(self._catalog, self.lexical.keys, self._folder, vault, self._settings)

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Rows of the catalog, for what writes this generation elsewhere."""
        return self._rows(sql, *values)

    def close(self) -> None:
        """Let go of files and memory; what another snapshot shares stays open for it."""
        self.lexical.close()
        self._matrix.close()
        self._catalog.close()
        self._known = _OlderGeneration()
        for name in ("vectors", "table", "rows_of_notes", "facets", "embedder"):
            self.__dict__.pop(name, None)

    answering: None = None
    """Which rows may be answered from, where not all may."""

    # --- derived ------------------------------------------------------------------------------------------------------

    @cached_property
    def vectors(self) -> VectorMatrix:
        """The matrix, read when first asked for (about 0.2 s for 100,000 fragments)."""
        known = self._known.vectors if self._known.model == self._model else None
        with self._noted():
            return VectorMatrix.read(self._matrix, self.lexical.keys, self._catalog.number("dimensions"), known)

    @cached_property
    def embedder(self) -> Embedder:
        """The model of the settings, loaded when first asked for. Raises ModelError if it cannot be, or if the
        vectors are still another model's."""
        model = self._settings.embedding.model
        embedder = open_embedder(model)
        same = self._catalog.meta("model_source") == f"{model_source(model)}/{EMBEDDED_TEXT_VERSION}"  # saves its hash
        if not same and self._model != f"{embedder.id}/{EMBEDDED_TEXT_VERSION}":
            raise ModelError("The index was made with another embedding model.", "Run `excerpt index` to bring it up.")
        return embedder

    @cached_property
    def tokenizer(self) -> str:
        """Name of the tokenizer whose tokens are counted in the index."""
        return self._catalog.meta("tokenizer")

    def sizes_of(self, notes: NDArray[np.integer]) -> NDArray[np.int64]:
        """How many fragments each of some notes has; notes are places in the table."""
        sizes: NDArray[np.int64] = np.bincount(self.table.notes, minlength=len(self.table.paths))[notes]
        return sizes

    def count_notes(self, terms: Sequence[str]) -> int:
        """How many notes have all of `terms` in one fragment."""
        rows = reduce(np.intersect1d, [self.lexical.entries(term).rows for term in terms])
        return int(np.count_nonzero(np.bincount(self.table.notes[rows])))

    @cached_property
    def table(self) -> FragmentTable:
        """Where each fragment stands; read when first asked for."""
        with self._noted():
            checked = checked_notes(self._rows)
        notes = sorted((path, language, number, kind) for number, path, _, language, _, kind, _ in checked)
        numbers = np.array([row[2] for row in notes], np.int64)
        by_number = np.argsort(numbers)
        at = by_number[np.searchsorted(numbers, self.lexical.notes, sorter=by_number)].astype(np.int32)
        first_keys = np.full(len(notes), -1, np.int64)
        # From the last to the first: of several, the last that is written stays.
        first_keys[at[::-1]] = self.lexical.keys[::-1]
        return FragmentTable(
            keys=self.lexical.keys,
            notes=at,
            lines=self.lexical.lines,
            paths=tuple(row[0] for row in notes),
            languages=tuple(row[1] for row in notes),
            numbers=numbers,
            first_keys=first_keys,
            attached=np.array([bool(row[3]) for row in notes], np.bool_),
        )

    @cached_property
    def facets(self) -> Facets:
        """What notes are filtered by; each part is read when first asked for."""
        table = self.table
        notes = Notes(table.paths, table.numbers, table.first_keys)
        return Facets(self._rows, notes, self._known.links, self._rows.check)

    def _told(self) -> _OlderGeneration:
        """What the next generation may share of this one."""
        read, known = self.__dict__, self._known
        links = read["facets"].known_links if "facets" in read else known.links
        return (
            _OlderGeneration(read["vectors"], self._model, links) if "vectors" in read else replace(known, links=links)
        )

    # --- checked rows -------------------------------------------------------------------------------------------------

    _select_fragment = _SEALED_FRAGMENT

    def _fragments(self, rows: Sequence[Sequence[Any]]) -> list[Fragment]:
        with self._noted():
            return [_checked_fragment(row) for row in rows]

    def note_fragments(self, path: str, first: int = 0, last: int | None = None) -> list[Fragment]:
        """As of every catalog."""
        found = super().note_fragments(path, first, last)
        if not found:
            self._check_note(path)
        self._check_ordinals([one.ordinal for one in found])
        return found

    def parts(self, ranges: Sequence[tuple[str, int, int | None]]) -> list[list[Part]]:
        """As of every catalog."""
        found: list[list[Part]] = [[] for _ in ranges]
        for at in range(0, len(ranges), AT_ONCE):
            asked = ranges[at : at + AT_ONCE]
            values = [
                value
                for place, (path, first, last) in enumerate(asked, at)
                for value in (place, path, first, _NO_END if last is None else last)
            ]
            wanted = ",".join(["(?,?,?,?)"] * len(asked))
            for place, *row in self._rows(
                f"WITH wanted(place, path, first, last) AS (VALUES {wanted}) {_PARTS}", *values
            ):
                found[place].append(self._checked_part(row))
        for parts in found:
            self._check_ordinals([one.ordinal for one in parts])
        return found

    def sections(self, path: str) -> list[Section]:
        """As of every catalog."""
        if number := self._check_note(path):
            self._rows.check("sections", [number])
        return super().sections(path)

    def note_tokens(self, path: str) -> int:
        """As of every catalog."""
        self._check_note(path)
        return super().note_tokens(path)

    def note_info(self, path: str) -> NoteInfo:
        """As of every catalog."""
        if number := self._check_note(path):
            self._rows.check("labels", [number])
        return super().note_info(path)

    def notes_named(self, name: str) -> tuple[int, ...]:
        """As of every catalog."""
        self._rows.check("names")
        return super().notes_named(name)

    def check_rows(self, notes: Sequence[int] | None = None) -> None:
        """Compare all that a search shows, or shows of some notes by their numbers, with its checksums: before it is
        written elsewhere."""
        with self._noted():
            if notes is None:
                self._catalog.check_rows()
            for number in notes or ():
                self._catalog.check_rows_of(number)

    def _check_note(self, path: str) -> int:
        """Compare a note's row with its checksum; returns its number, 0 for an unknown note."""
        with self._noted():
            found = checked_notes(self._rows, "path = ?", path)
            if not found and path in self.table.paths:
                raise DamagedRowError("a note that is lost")
        return found[0][0] if found else 0

    def _check_ordinals(self, found: Sequence[int]) -> None:
        """Raise unless the fragments of a note that were found are all there are between the first and the last."""
        with self._noted():
            if found and len(found) != found[-1] - found[0] + 1:
                raise DamagedRowError("a fragment that is lost")

    def _checked_part(self, row: Sequence[Any]) -> Part:
        with self._noted():
            *sealed, crc = row
            if checksum(*sealed) != crc:
                raise DamagedRowError("a fragment")
        key, fragment_id, _, _, _, ordinal, section, level, heading, _, _, start, end, tokens, digest = sealed
        return Part(key, fragment_id, ordinal, section, level, heading, start, end, tokens, digest)

    # --- the vault ----------------------------------------------------------------------------------------------------

    def _noted(self) -> AbstractContextManager[None]:
        return _damage_noted(self._folder)

    def _miss(self, keys: Sequence[int]) -> None:
        with self._noted():
            if keys and np.isin(keys, self.lexical.keys).any():
                raise DamagedRowError("a fragment that is lost")

    def status(self) -> Status:
        from excerpt.vault.readers.registry import unread_of

        files, fragments = self._catalog.counts()
        attachments = self._catalog.attachments()
        return Status(
            vault=self._catalog.meta("vault"),
            generation=self.generation,
            notes=files - sum(attachments.values()),
            fragments=fragments,
            skipped=self.skipped,
            warnings=self.warnings,
            model=self._catalog.meta("model") or "the one that ships with excerpt",
            tokenizer=self._catalog.meta("tokenizer"),
            updated=self._catalog.meta("updated"),
            attachments=attachments,
            unread=unread_of(self._catalog.unread_files(), self._catalog.scanned()),
        )

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """Files that could not be indexed, and why."""
        return self._catalog.remarks(skipped=True)

    @property
    def warnings(self) -> tuple[Skipped, ...]:
        """Notes that are indexed, though something about them is odd."""
        return self._catalog.remarks(skipped=False)


@dataclass(frozen=True, slots=True)
class _OlderGeneration:
    """What an older generation has that this one may share: vectors with the model they are of, and links."""

    vectors: VectorMatrix | None = None
    model: str = ""
    links: KnownLinks | None = None


class _Rows:
    """Reads from the catalog. No method of the snapshot: what holds it would hold the snapshot that holds it."""

    def __init__(self, folder: Path, catalog: Catalog) -> None:
        self._folder = folder
        self._catalog = catalog
        self._checked: set[str] = set()

    def check(self, table: str, notes: Sequence[int] | None = None) -> None:
        """Compare rows of some notes in a table, or of all, with their checksums; those of all are compared once."""
        if table in self._checked:
            return
        with _damage_noted(self._folder):
            check_rows(self, table, notes)
        if notes is None:
            self._checked.add(table)

    def __call__(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        # A query from a terminal may hold a lone surrogate, which no stored text does.
        clean = [v.encode("utf-8", "replace").decode() if isinstance(v, str) else v for v in values]
        with _damage_noted(self._folder):
            return self._catalog.rows(sql, *clean)


def _open_catalog(folder: Path, *, briefly: bool = False) -> Catalog:
    with _damage_noted(folder):
        if not (folder / FILE).is_file():
            raise IndexUnusableError("There is no index yet.", "Run `excerpt index`.")
        return Catalog.open_to_read(folder, briefly=briefly)


@contextmanager
def _damage_noted(folder: Path) -> Iterator[None]:
    """Turn the database's errors into ours, and let the next build know that the catalog is not to be trusted."""
    try:
        yield
    except OSError as error:
        raise IndexUnusableError(
            f"The index in {folder} cannot be read: {error.strerror}.",
            "Give permission there, or set EXCERPT_HOME to another place.",
        ) from error
    except DamagedFileError:
        mark_suspect(folder)
        raise
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            mark_suspect(folder, str(error) if isinstance(error, DamagedRowError) else "")
        raise IndexUnusableError(
            f"The index in {folder} cannot be read: {error}.", "Run `excerpt index`: it will be made anew."
        ) from error


def _checked_fragment(row: Sequence[Any]) -> Fragment:
    """Return a fragment from the columns of `_SEALED_FRAGMENT`. Raises DamagedRowError."""
    *sealed, crc, text = row
    key, fragment_id, path, title, kind, ordinal, section, _, _, heading_path, place, start, end, tokens, digest = (
        sealed
    )
    if checksum(*sealed) != crc or digest_of_text(text) != digest:
        raise DamagedRowError("a fragment")
    return fragment_from_row(
        (key, fragment_id, path, title, heading_path, ordinal, section, start, end, text, tokens, digest, kind, place)
    )


def fragment_from_row(row: Sequence[Any]) -> Fragment:
    """A fragment from its columns, in the order of its fields in the catalog's queries."""
    key, fragment_id, path, title, heading_path, ordinal, section, start, end, text, tokens, digest, kind, place = row
    return Fragment(
        id=fragment_id,
        path=path,
        title=title,
        heading_path=heading_path_from_row(heading_path),
        ordinal=ordinal,
        section=section,
        line_start=start,
        line_end=end,
        text=text,
        tokens=tokens,
        digest=digest,
        key=key,
        kind=kind,
        place=place,
    )
