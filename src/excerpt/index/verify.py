"""Verification of an index: compares every file, row, vector and posting with its source."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from excerpt.corpus.names import NO_NAMES, NameTerms
from excerpt.corpus.tables import FIELDS
from excerpt.encoders.model_names import static_model
from excerpt.errors import ExcerptError, ModelError, SettingsError
from excerpt.index.catalog import (
    CATALOG_FILE,
    Catalog,
    DamagedRowError,
    NoteRows,
    OtherVersionError,
    ReadRows,
    decompress_text,
    heading_path_from_row,
)
from excerpt.index.changes import build_parameters, is_current_key, prepare_key
from excerpt.index.embed import Embedder, open_embedder
from excerpt.index.files import EMBEDDINGS_FOLDER, SUSPECT_FILE, DamagedFileError, DerivedFile, check_file
from excerpt.index.lexical import open_segments
from excerpt.index.postings import (
    EMBEDDED_TEXT_VERSION,
    FIELDS_VERSION,
    DamagedColumnsError,
    FieldCollector,
    Inverted,
    Segment,
    concatenate_segments,
    embedded_digest,
    embedded_text,
    merge_fields,
    select_docs,
)
from excerpt.index.prepare import FileTask, PrepareOptions, note_rows
from excerpt.index.terms import OpenSegment
from excerpt.index.vectors import MatrixSource, QuantisedVectors, quantise
from excerpt.index.writer import LOCK_FILE
from excerpt.settings import Settings
from excerpt.text.fragments import FRAGMENTS_VERSION
from excerpt.text.markdown import parse_note
from excerpt.text.tokens import open_tokenizer
from excerpt.text.words import ANALYZER_VERSION
from excerpt.vault.readers import digest_of_bytes, load_bytes
from excerpt.vault.scan import Scan

# --- health -----------------------------------------------------------------------------------------------------------
# The errors found by examining an index, and the instructions to the next build for those it would not find by itself.

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
    the digest of a text whose vector in the catalog may be wrong, b"" if there is none.
    """

    path: str
    reason: str
    part: RepairPart
    digest: bytes = b""


class StaleReason(StrEnum):
    """Why the index of a note is out of date; the next build finds and mends this by itself."""

    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"
    CUT = "split differently now"


class IndexHealth(Struct):
    """The result of examining an index.

    The counts are of what was examined, and `size` is the size of the index in bytes. `skipped` counts the skipped
    files by reason. `stale` are (path, reason) of notes that are out of date. `leftovers` are (name, bytes, whether
    newer than the last commit) of files in the index folder that the index does not use. `outdated` are phrases for
    what the next build redoes because code, model or tokenizer changed.
    """

    generation: int = 0
    notes: int = 0
    fragments: int = 0
    postings: int = 0
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

    A build would not find those that no size, time or checksum shows. Raises OSError and sqlite3.DatabaseError.
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


# --- a stored note ----------------------------------------------------------------------------------------------------
# A stored note, read back from the catalog as a whole to be compared with its own text.

_NOTE = (
    "SELECT n.path, n.size, n.mtime_ns, n.ctime_ns, n.digest, n.cut, n.title, n.language, n.tokens, n.kind,"
    " n.unread, t.text FROM notes n"
    " LEFT JOIN note_texts t ON t.note = n.id WHERE n.id = ?"
)
_SECTIONS = (
    "SELECT ordinal, level, heading, heading_path, line_start, line_end, place FROM sections WHERE note = ?"
    " ORDER BY ordinal"
)
_FRAGMENTS = (
    "SELECT key, id, ordinal, section, line_start, line_end, tokens, digest, embedded, text FROM fragments"
    " WHERE note = ? ORDER BY key"
)
_LINKS = "SELECT line, kind, target, heading, block_id, text FROM links WHERE note = ? ORDER BY rowid"
_LABELS = "SELECT kind, name, value FROM labels WHERE note = ? ORDER BY rowid"
_NAMES = "SELECT name FROM names WHERE note = ? ORDER BY name"
_NAME_TERMS = "SELECT own, lengths, terms, files, targets FROM name_terms WHERE note = ?"


class StoredNote(NoteRows, frozen=True):
    """The rows of one note as read from the catalog, with the note's row id (`number`) and its fragments' keys."""

    number: int
    keys: list[int]


def read_stored(rows: ReadRows, number: int) -> StoredNote:
    """Read the rows of the note with the row id `number` from the catalog. Raises sqlite3.DatabaseError."""
    ((path, size, mtime_ns, ctime_ns, digest, cut, title, language, tokens, kind, unread, text),) = rows(_NOTE, number)
    fragments = rows(_FRAGMENTS, number)
    return StoredNote(
        path=path,
        size=size,
        mtime_ns=mtime_ns,
        ctime_ns=ctime_ns,
        digest=digest,
        cut=cut,
        title=title,
        language=language,
        tokens=tokens,
        text=text or b"",
        sections=rows(_SECTIONS, number),
        fragments=[row[1:] for row in fragments],
        links=rows(_LINKS, number),
        labels=rows(_LABELS, number),
        names=[row[0] for row in rows(_NAMES, number)],
        name_terms=next((NameTerms(*row) for row in rows(_NAME_TERMS, number)), NO_NAMES),
        warnings=(),
        kind=kind,
        unread=unread,
        number=number,
        keys=[row[0] for row in fragments],
    )


def collect_words(note: StoredNote, collector: FieldCollector) -> None:
    """Add the words of a stored note's fragments to `collector`, in the same way as when the note was prepared."""
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


# --- notes ------------------------------------------------------------------------------------------------------------
# A stored note is compared with its own text: line ranges, and all that preparing it again gives.

_ESTIMATE = "chars/4"


class NoteVerification:
    """Compares stored notes with their own texts; adds at most one fault for each note to the faults of `health`."""

    def __init__(self, settings: Settings, health: IndexHealth, *, quick: bool, names_current: bool) -> None:
        """Prepare the comparison. `quick` compares only the line ranges of fragments.

        `names_current`: the stored names were tokenized by this version, so that they can be compared.
        """
        self._health, self._quick, self._names_current = health, quick, names_current
        self._vault = settings.vault
        self._counted = True
        if settings.pack.tokenizer != health.tokenizer:
            health.outdated.append("the token counts: they are from another tokenizer")
        try:
            open_tokenizer(health.tokenizer)
            self._tokenizer = health.tokenizer
        except SettingsError:  # counts cannot be compared; other checks of the settings report the error
            self._tokenizer, self._counted = _ESTIMATE, False

    def check(self, note: StoredNote, catalog: Catalog) -> None:
        if not is_current_key(note.cut, prepare_key(note.path, self._vault, catalog.dialect)):
            self._health.stale.append((note.path, StaleReason.CUT))
        error = next(self._find_errors(note), "") or _checksum_error(catalog, note)
        if error:
            self._health.faults.append(Fault(note.path, error, RepairPart.NOTE))

    def _find_errors(self, note: StoredNote) -> Iterator[str]:
        try:
            text = decompress_text(note.text)
        except DamagedRowError:
            yield "The note's text in the catalog is lost or damaged."
            return
        yield from _range_errors(note, text.split("\n"))
        # The catalog holds neither the file of an attachment's text, nor data that is left out of a note ("2@logseq").
        if not self._quick and not note.kind and note.cut.partition("/")[0] == str(FRAGMENTS_VERSION):
            yield from self._row_errors(note, text)

    def _row_errors(self, note: StoredNote, text: str) -> Iterator[str]:
        # The parser removes one byte order mark; another one that the text itself has must remain.
        parsed = parse_note(note.path, f"\ufeff{text}", note.cut.partition("/")[2])
        options = PrepareOptions(Path(), self._tokenizer, self._vault)
        expected, _ = note_rows(
            options, parsed, FileTask(note.path, note.size, note.mtime_ns, note.ctime_ns), note.digest
        )
        ranges = [row[3:5] for row in note.fragments]
        if missing := [row[3:5] for row in expected.fragments if row[3:5] not in ranges]:
            yield f"Lines {_format_range(missing[0])} are missing from the fragments."
        compared_counts = slice(None) if self._counted else slice(0)
        compared_names = slice(None) if self._names_current else slice(0)
        pairs: tuple[tuple[str, Any, Any], ...] = (
            ("sections", note.sections, expected.sections),
            ("fragments", _without_tokens(note.fragments), _without_tokens(expected.fragments)),
            (
                "token counts",
                [row[5] for row in note.fragments][compared_counts],
                [row[5] for row in expected.fragments][compared_counts],
            ),
            ("token count", (note.tokens,)[compared_counts], (expected.tokens,)[compared_counts]),
            ("links", note.links, expected.links),
            ("tags, aliases and properties", note.labels, expected.labels),
            ("names", note.names, expected.names),
            ("names' words", (note.name_terms,)[compared_names], (expected.name_terms,)[compared_names]),
            ("title or language", (note.title, note.language), (expected.title, expected.language)),
        )
        yield from (
            f"The note's {name} in the catalog do not match its text." for name, stored, new in pairs if stored != new
        )


def _checksum_error(catalog: Catalog, note: StoredNote) -> str:
    try:
        catalog.check_note_rows(note.number)
    except DamagedRowError:
        return "The note's rows in the catalog were altered."
    return ""


def _range_errors(note: StoredNote, lines: Sequence[str]) -> Iterator[str]:
    """Yield a sentence for each fragment with wrong lines, or with lines that another fragment has too.

    `lines` are those of the note. Lines in no fragment are not found here, but by splitting the note again.
    """
    before = 0
    for _, _, _, first, last, _, _, _, text in note.fragments:
        if not 1 <= first <= last <= len(lines):
            yield f"A fragment has lines {first}-{last}; the note has only {len(lines):,}."
        elif "\n".join(lines[first - 1 : last]) != text:
            yield f"The fragment of lines {_format_range((first, last))} has a different text from the note."
        elif first <= before:
            yield f"Two fragments contain line {first}."
        before = last


def _format_range(lines: Sequence[int]) -> str:
    first, last = lines
    return f"{first}-{last}"


def _without_tokens(fragments: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    return [(*row[:5], *row[6:]) for row in fragments]


_VECTORS_AT_ONCE = 2048
_EMBEDDED = (
    "SELECT f.key, f.embedded, v.vector, n.path, f.line_start, n.title, s.heading_path, f.text FROM fragments f"
    " JOIN notes n ON n.id = f.note LEFT JOIN sections s ON s.note = f.note AND s.ordinal = f.section"
    " LEFT JOIN vectors v ON v.model = ? AND v.digest = f.embedded WHERE f.key > ? ORDER BY f.key LIMIT ?"
)


# --- vectors ----------------------------------------------------------------------------------------------------------
# The vectors of an index: each fragment's in the catalog, its row in the matrix, and the model's output.

# Another processor adds floats in another order: a component may be rounded differently.
_ROUNDING = 1.01

_Rows = dict[int, bytes]


def check_vectors(
    catalog: Catalog, source: MatrixSource, settings: Settings, health: IndexHealth, tick: OnExamined, *, quick: bool
) -> None:
    """Compare the vectors in the catalog with the matrix and, unless `quick`, with the output of the model.

    Differences are added to the faults of `health`.
    """
    dimensions = catalog.number("dimensions")
    try:
        matrix = _read_matrix(source, dimensions)
    except DamagedFileError as error:
        health.faults.append(Fault("vectors", error.message, RepairPart.VECTORS))
        return
    embedder = None if quick else _open_model(settings, health)
    known: set[bytes] = set()
    above, done = -1, 0
    while rows := catalog.rows(_EMBEDDED, health.model, above, _VECTORS_AT_ONCE):
        above, done = rows[-1][0], done + len(rows)
        tick("vectors", done, health.fragments, rows[-1][3])
        health.faults += [fault for row in rows if (fault := _fault(row, matrix, dimensions))]
        health.vectors += len(rows)
        if embedder is not None:
            new = {row[1]: row for row in rows if row[2] is not None and row[1] not in known}
            known.update(new)
            health.faults += _check_model(list(new.values()), embedder, dimensions)


def _read_matrix(source: MatrixSource, dimensions: int) -> _Rows:
    """Return the vectors in the matrix by fragment key, as bytes in the catalog's format."""
    rows: _Rows = {}
    for keys, quantised in source.blocks(dimensions):
        rows.update(zip(keys.tolist(), quantised.to_bytes(), strict=True))
    return rows


def _open_model(settings: Settings, health: IndexHealth) -> Embedder | None:
    """Load the model of the settings; return None if it cannot be loaded or another model made the index.

    Other checks report a model that cannot be loaded.
    """
    try:
        embedder = open_embedder(static_model(settings.embedding.model))
    except ModelError:
        return None
    if f"{embedder.id}/{EMBEDDED_TEXT_VERSION}" == health.model:
        return embedder
    health.outdated.append("the vectors: they are from another model or another text")
    return None


def _fault(row: Sequence[Any], matrix: _Rows, dimensions: int) -> Fault | None:
    key, digest, vector, path, line, *_ = row
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


def _check_model(rows: Sequence[Sequence[Any]], embedder: Embedder, dimensions: int) -> list[Fault]:
    """Return a fault for each row of `_EMBEDDED` whose vector differs from what the model computes for its text."""
    pairs = [(row, embedded_text(row[5], heading_path_from_row(row[6] or "[]"), row[7])) for row in rows]
    # If a text does not match the digest of its vector, the note's rows are wrong, which another check reports.
    pairs = [(row, text) for row, text in pairs if len(row[2]) == 4 + dimensions and embedded_digest(text) == row[1]]
    rows, texts = [row for row, _ in pairs], [text for _, text in pairs]
    computed = quantise(embedder.embed(texts)) if texts else QuantisedVectors.from_bytes([], dimensions)
    stored = QuantisedVectors.from_bytes([row[2] for row in rows], dimensions)
    is_different = (
        np.abs(_to_floats(computed) - _to_floats(stored)).max(axis=1, initial=0) > _ROUNDING * computed.scales
    )
    return [
        Fault(
            path, f"The fragment at line {line} has a vector that does not match its text.", RepairPart.VECTORS, digest
        )
        for is_wrong, (_, digest, _, path, line, *_) in zip(is_different.tolist(), rows, strict=True)
        if is_wrong
    ]


def _to_floats(quantised: QuantisedVectors) -> NDArray[np.float32]:
    return quantised.rows.astype(np.float32) * quantised.scales[:, None]


# Fragments that are compared at once: their words take some 100 MB.
_FRAGMENTS_AT_ONCE = 8000


# --- words ------------------------------------------------------------------------------------------------------------
# The postings of an index are compared with the words of its fragments, which are counted again.

_MAX_TERMS = 3

_Postings = dict[bytes, set[tuple[int, int, tuple[int, ...]]]]


class WordComparison:
    """Compares the words of notes with the postings of the lexical index; notes must be added in the order of keys.

    Differences are added to the faults of `health`.
    """

    def __init__(self, catalog: Catalog, segments: Sequence[OpenSegment], health: IndexHealth) -> None:
        self._segments, self._health = segments, health
        self._unpacked: dict[int, Segment] = {}
        self._collector = FieldCollector()
        self._waiting: list[tuple[str, int, int, int]] = []
        self._row = 0
        live_count = [segment.docs["key"][segment.alive].astype(np.int64) for segment in segments]
        keys = np.concatenate([np.zeros(0, np.int64), *live_count])
        self._keys_match = bool(np.array_equal(keys, catalog.fragment_keys()))
        if not self._keys_match:
            self._fault("words", "The words in the lexical index do not match the fragments in the catalog.")

    def add(self, note: StoredNote) -> None:
        if not self._keys_match:
            return
        collect_words(note, self._collector)
        pairs = zip(note.keys, note.fragments, strict=True)
        self._waiting += [(note.path, note.number, key, row[3]) for key, row in pairs]
        if len(self._waiting) >= _FRAGMENTS_AT_ONCE:
            self.finish()

    def finish(self) -> None:
        """Compare the words of the notes that were added and not compared yet."""
        waiting, collector = self._waiting, self._collector
        self._waiting, self._collector = [], FieldCollector()
        if not waiting:
            return
        first, self._row = self._row, self._row + len(waiting)
        try:
            actual, docs = self._read_postings(first, self._row)
        except DamagedColumnsError as error:
            self._fault("words", f"Postings cannot be read: {error}.")
            self._keys_match = False
            return
        inverted = collector.inverted()
        self._compare_documents(waiting, inverted, docs)
        expected = merge_fields([inverted[field] for field in FIELDS])
        self._health.postings += len(expected.docs)
        if not _are_equal(expected, actual):
            self._report_differences(waiting, expected, actual)

    def _read_postings(self, first: int, last: int) -> tuple[Segment, NDArray[np.void]]:
        """Return the postings of the rows from `first` to before `last`, and the other stored data of the rows."""
        parts, docs = [], []
        for number, segment in enumerate(self._segments):
            begin, end = max(first, int(segment.first_row)), min(last, int(segment.first_row) + segment.live_count)
            if end <= begin:
                self._unpacked.pop(number, None)
                continue
            if number not in self._unpacked:
                self._unpacked[number] = segment.columns.segment(len(segment.docs))
            is_in_range = (segment.rows >= begin) & (segment.rows < end)
            numbers = np.where(is_in_range, segment.rows - np.int32(begin), np.int32(-1)).astype(np.int32)
            parts.append(select_docs(self._unpacked[number], numbers))
            docs.append(segment.docs[is_in_range])
        return concatenate_segments(parts), np.concatenate(docs)

    def _compare_documents(
        self, waiting: Sequence[tuple[str, int, int, int]], inverted: dict[str, Inverted], docs: NDArray[np.void]
    ) -> None:
        expected = np.array([rest for _, *rest in waiting], np.int64)
        is_wrong = (docs["note"] != expected[:, 0]) | (docs["key"] != expected[:, 1]) | (docs["line"] != expected[:, 2])
        lengths = np.zeros(len(docs), bool)
        for name in FIELDS:
            lengths |= docs[name] != inverted[name].lengths
        for at in np.flatnonzero(is_wrong | lengths).tolist():
            path, _, _, line = waiting[at]
            error = "is in the wrong place" if is_wrong[at] else "has the wrong number of words"
            self._fault(path, f"The fragment at line {line} {error} in the lexical index.")

    def _report_differences(
        self, waiting: Sequence[tuple[str, int, int, int]], expected: Segment, actual: Segment
    ) -> None:
        expected_postings, actual_postings = _postings_by_term(expected), _postings_by_term(actual)
        differing: dict[int, list[str]] = {}
        for term in sorted(expected_postings.keys() | actual_postings.keys()):
            for doc in {
                posting[0] for posting in expected_postings.get(term, set()) ^ actual_postings.get(term, set())
            }:
                differing.setdefault(doc, []).append(term.decode("utf-8", "replace"))
        for doc, terms in sorted(differing.items()):
            path, _, _, line = waiting[doc]
            named = ", ".join(terms[:_MAX_TERMS]) + (" …" if len(terms) > _MAX_TERMS else "")
            self._fault(path, f"The fragment at line {line} has wrong words in the lexical index: {named}.")

    def _fault(self, path: str, reason: str) -> None:
        self._health.faults.append(Fault(path, reason, RepairPart.WORDS))


def _are_equal(first: Segment, second: Segment) -> bool:
    return (
        first.terms == second.terms
        and np.array_equal(first.starts, second.starts)
        and np.array_equal(first.docs, second.docs)
        and np.array_equal(first.fields, second.fields)
        and np.array_equal(first.tf, second.tf)
        and np.array_equal(first.positions, second.positions)
    )


def _postings_by_term(segment: Segment) -> _Postings:
    ends = np.cumsum(segment.tf, dtype=np.int64)
    begins = (ends - segment.tf).tolist()
    docs, fields, positions = segment.docs.tolist(), segment.fields.tolist(), segment.positions.tolist()
    starts, until = segment.starts.tolist(), ends.tolist()
    return {
        term: {
            (docs[at], fields[at], tuple(positions[begins[at] : until[at]]))
            for at in range(starts[number], starts[number + 1])
        }
        for number, term in enumerate(segment.terms)
    }


# --- all of an index --------------------------------------------------------------------------------------------------
# The catalog is compared with the vault and with the texts that it stores; words and vectors are computed again from
# the catalog and compared with the derived files. Nothing is changed.

_OWN_FILES = (LOCK_FILE, CATALOG_FILE, f"{CATALOG_FILE}-wal", f"{CATALOG_FILE}-shm", SUSPECT_FILE)
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

    `vault` and its scan `scan_result` are None if the vault cannot be read. `quick` leaves out all that must be
    computed again (fragments, words and vectors), and the content of files with unchanged time and size. Raises
    FileNotFoundError if there is no index.
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


class _IndexExamination:
    def __init__(
        self, folder: Path, catalog: Catalog, health: IndexHealth, settings: Settings, tick: OnExamined
    ) -> None:
        self._folder, self._catalog, self._health, self._settings = folder, catalog, health, settings
        self._tick = tick

    def run(self, vault: Path | None, scan_result: Scan | None, quick: bool) -> None:
        health, catalog = self._health, self._catalog
        health.generation = catalog.generation
        health.notes, health.fragments = catalog.counts()
        health.model, health.tokenizer = catalog.meta("model_id"), catalog.meta("tokenizer")
        health.skipped = Counter(remark.reason for remark in catalog.remarks(skipped=True))
        words, vectors = catalog.files("words"), catalog.files("vectors")
        segments, matrix = self._open_words(words), self._open_matrix(vectors)
        try:
            self._check_folder({file.name for file in (*words, *vectors)})
            if not self._catalog_is_sound():
                return
            if vault is not None and scan_result is not None:
                self._compare_with_vault(vault, scan_result, quick)
            self._check_notes(segments, quick)
            if matrix is not None:
                check_vectors(catalog, matrix, self._settings, health, self._tick, quick=quick)
        finally:
            if matrix is not None:
                matrix.close()

    def _fault(self, path: str, reason: str, part: RepairPart) -> None:
        self._health.faults.append(Fault(path, reason, part))

    # --- files --------------------------------------------------------------------------------------------------------

    def _open_words(self, files: Sequence[DerivedFile]) -> list[OpenSegment] | None:
        """Open the segments of the lexical index; record a fault and return None if one of their files is damaged."""
        if [file for file in files if not self._is_sound(file, RepairPart.WORDS)]:
            return None
        try:
            return open_segments(self._folder, self._catalog.generation)
        except DamagedFileError as error:
            self._fault("words", error.message, RepairPart.WORDS)
            return None

    def _open_matrix(self, files: Sequence[DerivedFile]) -> MatrixSource | None:
        if len(files) != 1:
            self._fault(
                CATALOG_FILE, f"The catalog names {len(files)} vector matrices instead of one.", RepairPart.VECTORS
            )
            return None
        return MatrixSource(self._folder, files[0]) if self._is_sound(files[0], RepairPart.VECTORS) else None

    def _is_sound(self, file: DerivedFile, part: RepairPart) -> bool:
        try:
            check_file(self._folder, file, may_grow=part is RepairPart.VECTORS)
        except DamagedFileError as error:
            self._fault(file.name, f"The file {error.message.removeprefix(file.name).strip()}", part)
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
                is_own = name in _OWN_FILES or path.parent.name == EMBEDDINGS_FOLDER
                if name not in used and not is_own:
                    self._health.leftovers.append((name, status.st_size, status.st_mtime > committed + 1))

    def _commit_time(self) -> float:
        try:
            return datetime.fromisoformat(self._catalog.meta("updated")).timestamp()
        except ValueError:
            return 0.0

    def _catalog_is_sound(self) -> bool:
        self._tick("the catalog", 0, 0, "")
        if damage := self._catalog.find_damage():
            self._fault(CATALOG_FILE, f"SQLite's check reports: {damage}.", RepairPart.CATALOG)
            return False
        return True

    # --- notes --------------------------------------------------------------------------------------------------------

    def _compare_with_vault(self, vault: Path, scan_result: Scan, quick: bool) -> None:
        """Record notes that are out of date, and faults that the next build cannot find by itself.

        These faults are files whose content changed, but not their time and size.
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
                self._fault(file.path, error, RepairPart.NOTE)
        stale += [(path, StaleReason.GONE) for path in sorted(known)]

    def _read_digest(self, vault: Path, path: str) -> str:
        bounds = self._settings.vault
        try:
            return digest_of_bytes(load_bytes(vault, path, max(bounds.max_bytes, bounds.attachments.max_bytes)))
        except ExcerptError:
            return ""

    def _check_notes(self, segments: list[OpenSegment] | None, quick: bool) -> None:
        """Compare the rows of every note with its text and, unless `quick`, its words with the postings."""
        catalog, health = self._catalog, self._health
        words = None
        if segments is not None and self._words_are_current():
            words = WordComparison(catalog, segments, health)
        names_current = catalog.meta("names") == build_parameters(self._settings)["names"]
        note_check = NoteVerification(self._settings, health, quick=quick, names_current=names_current)
        in_order = "SELECT n.id FROM notes n LEFT JOIN fragments f ON f.note = n.id GROUP BY n.id ORDER BY min(f.key)"
        for done, (number,) in enumerate(catalog.rows(in_order)):
            note = read_stored(catalog.rows, number)
            self._tick("notes and words", done, health.notes, note.path)
            note_check.check(note, catalog)
            if words is not None and not quick:
                words.add(note)
        if words is not None and not quick:
            words.finish()

    def _words_are_current(self) -> bool:
        if self._catalog.meta("analyzer") == f"{ANALYZER_VERSION}/{FIELDS_VERSION}":
            return True
        self._health.outdated.append("the words: they are split differently now")
        return False
