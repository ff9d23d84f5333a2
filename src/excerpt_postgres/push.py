"""Push a vault's index to a store: write new and changed notes, and delete missing ones.

`plan_push` decides what a push may write, from this copy of the vault, the store, and the record of the last push. Each
batch of notes is written in one transaction with its statistics, so a store always has whole notes with correct counts.
After a killed push, the next one continues, because it compares the digests of notes.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from excerpt.base.errors import StoreUnusableError
from excerpt.base.model import PushReport, Status
from excerpt.base.state_files import read_value, write_value
from excerpt.corpus.tables import FIELDS
from excerpt.encoders.model_names import require_static_model
from excerpt.index.catalog_rows import MAX_SQL_VALUES, DamagedRowError, decompress_text
from excerpt.index.changes import OCR_KEY_SUFFIX
from excerpt.index.names import read_names
from excerpt.index.postings import select_docs
from excerpt.index.snapshot import Snapshot
from excerpt.index.vectors import QuantisedVectors, quantise
from excerpt.text.display import format_count, visible_line
from excerpt.vault.readers.registry import read_suffixes
from excerpt_postgres import schema
from excerpt_postgres.address import PostgresAddress
from excerpt_postgres.compare import (
    NO_NOTE,
    NO_RULES,
    PushPlan,
    PushRecord,
    PushRefusedError,
    PushRules,
    check_plan,
    next_record,
    plan_push,
)
from excerpt_postgres.connection import Row, StoreConnection, array_literal, to_halfvecs
from excerpt_postgres.postings import ORDINAL_BITS, add_postings, encode_postings, remove_postings
from excerpt_postgres.read_rights import RightsChanges
from excerpt_postgres.rights import (
    AreaNumbers,
    area_numbers,
    assume_owner_role,
    change_rights,
    create_default_rights,
    create_roles,
    drop_empty_areas,
    folder_rights,
)
from excerpt_postgres.words import (
    FragmentTerms,
    TermCounts,
    count_fragments_by_token,
    encode_documents,
    fields_by_token,
    word_lengths,
)

OnNotes = Callable[[int, int], None]
"""A callback that gets the number of notes written so far, and the number of notes to write."""

_BATCH_FRAGMENTS = 10_000
"""Maximum number of fragments in one transaction, unless a note has more."""
_MIN_NOTES_TO_ANALYZE = 100
"""Number of changed notes above which the statistics of PostgreSQL's planner are updated."""
_LOGGED_PUSHES = 1_000
"""Number of a vault's newest pushes that its log keeps."""
PUSH_LOCK = 0x657863
"""First key of the advisory locks by which only one process at a time pushes a vault."""

_NOTE_COLUMNS = (
    *(("id", "int8"), ("vault", "int4"), ("area", "int4"), ("state", "text"), *schema.catalog_columns("notes")),
    *(("text", "bytea"), ("own", "int4"), ("lengths", "bytea"), ("terms", "bytea"), ("files", "bytea")),
    ("targets", "text"),
)
_NOTE_KEY_COLUMNS = (("vault", "int4"), ("area", "int4"), ("note", "int8"))
_FRAGMENT_COLUMNS = (
    *(("vault", "int4"), ("key", "int8"), ("area", "int4"), ("attached", "bool"), ("note", "int8")),
    *schema.catalog_columns("fragments"),
    *(("words", "text"), ("lengths", "int2[]"), ("places", "bytea")),
)
"""The columns of fragments, except their vectors."""
_NOTE_TABLES = tuple(
    (table, (*_NOTE_KEY_COLUMNS, *schema.catalog_columns(table)), order)
    for table, order in (("sections", "ordinal"), ("links", "rowid"), ("labels", "rowid"), ("names", "name"))
)
"""The tables with data of a note, except its fragments: name, columns, and the column that gives the order."""


def push(
    snapshot: Snapshot,
    address: PostgresAddress,
    records: Path,
    on_notes: OnNotes = lambda _written, _total: None,
    *,
    roles: bool = False,
    rights: RightsChanges | None = None,
    rules: PushRules = NO_RULES,
) -> PushReport:
    """Write an index to the store at `address`, so that the store has the same notes.

    `records` is the folder in which this copy of the vault records what it pushed to which store. With `roles`, the
    roles of writers and readers are created first. `rights` are read rights to grant and revoke, `rules` what the push
    may overwrite and remove. Raises StoreUnusableError, and PushRefusedError if the rules do not allow the push.
    """
    pusher = Pusher(address, records, roles=roles)
    try:
        return pusher.push(snapshot, on_notes, rights, rules)
    finally:
        pusher.close()


class Pusher:
    """A connection to a store over which one vault can be pushed many times. Used from one thread at a time."""

    def __init__(self, address: PostgresAddress, records: Path, *, roles: bool = False) -> None:
        """Connect to the store, and create missing tables and, with `roles`, missing roles. Raises StoreUnusableError.

        `records` is the folder in which this copy of the vault records what it pushed to which store.
        """
        if not address.vault:
            raise StoreUnusableError("The address does not name a vault.", "Add ?vault=NAME to the address.")
        self._name = address.vault
        self._records = records
        self._connection = StoreConnection(address, writes=True, timeout=0)
        try:
            assume_owner_role(self._connection)
            schema.create_or_upgrade(self._connection)
            if roles:
                create_roles(self._connection)
                assume_owner_role(self._connection)
            self._has_halfvecs = schema.has_halfvecs(self._connection)
            if self._has_halfvecs:
                self._connection.register_vectors()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def push(
        self,
        snapshot: Snapshot,
        on_notes: OnNotes = lambda _written, _total: None,
        rights: RightsChanges | None = None,
        rules: PushRules = NO_RULES,
    ) -> PushReport:
        """Write an index to the store, so that the store has the same notes, and grant and revoke `rights`.

        Raises StoreUnusableError, ModelError if the vault's embedding model is not static, and PushRefusedError if the
        rules do not allow the changes.
        """
        require_static_model(snapshot.settings)
        connection = self._connection
        return _Push(snapshot, connection, self._name, on_notes, rules, has_halfvecs=self._has_halfvecs).run(
            self._records, rights
        )


class _LocalNote(Struct, frozen=True):
    """A note of the local index: its path and the digest of its file.

    `cut` identifies the versions and settings with which the file was read.
    """

    path: str
    digest: str
    cut: str


class _StoredNote(Struct, frozen=True):
    """A note of the store.

    `state` says what its rows depend on besides the text: its `cut` (the versions and settings with which its file was
    read) and the parameters of the index. `area` is the number of its folder with rights.
    """

    number: int
    digest: str
    state: str
    mtime_ns: int
    area: int
    kind: str

    @property
    def cut(self) -> str:
        """Key of the versions and settings with which the note's file was read."""
        return self.state.partition(_STATE_SEPARATOR)[0]


_STATE_SEPARATOR = " | "
_FIRST_ANALYZER_WITH_SECOND_TERMS = 3
"""Number of the first analyzer that gives words with accents a second term; before it, a token may end with any letter.

`_note_state` ends with the versions of the analyzer and of the names.
"""


class _StatisticsChange(Struct):
    """The changes of one transaction to the statistics of an area (a folder with rights): of its notes or attachments.

    `fragments` is the number of added fragments. The other values are sums over them: `lengths` of terms in each field,
    `filled` of fragments in which the field is not empty, `vectors` of their vectors.
    """

    fragments: int = 0
    lengths: NDArray[np.float64] = field(default_factory=lambda: np.zeros(len(FIELDS)))
    filled: NDArray[np.int64] = field(default_factory=lambda: np.zeros(len(FIELDS), np.int64))
    vectors: NDArray[np.float64] = field(default_factory=lambda: np.zeros(schema.DIMENSIONS))

    def add(self, lengths: NDArray[np.int64], vectors: NDArray[np.float64], sign: int) -> None:
        """Add fragments with these `lengths` (fragments x FIELDS) and vectors; a `sign` of -1 subtracts them."""
        self.fragments += sign * len(lengths)
        self.lengths += sign * lengths.sum(axis=0)
        self.filled += sign * np.count_nonzero(lengths, axis=0)
        self.vectors += sign * vectors.sum(axis=0)


_ChangesByArea = dict[tuple[int, bool], _StatisticsChange]
"""Changes of statistics by the number of the area, and by whether they are of attachments."""


class _NoteBatch(Struct, frozen=True):
    """Notes of one area (a folder with rights) that are written in one transaction.

    `notes` are their numbers in the index, `terms` the terms of their fragments by key, and `counts` the number of
    fragments and notes with each term.
    """

    area: int
    notes: list[int]
    terms: Mapping[int, FragmentTerms]
    counts: Sequence[TermCounts]


class _Push:
    """One push of a vault over an open connection."""

    def __init__(
        self,
        snapshot: Snapshot,
        connection: StoreConnection,
        name: str,
        on_notes: OnNotes,
        rules: PushRules,
        *,
        has_halfvecs: bool,
    ) -> None:
        self._snapshot = snapshot
        self._connection = connection
        self._on_notes = on_notes
        self._rules = rules
        self._has_halfvecs = has_halfvecs
        self._fragment_columns = (*_FRAGMENT_COLUMNS, ("vector", "halfvec" if has_halfvecs else "bytea"))
        self._start = time.perf_counter()
        self._vault = self._register_vault(name)
        self._push_number: int | None = None

    def run(self, records: Path, rights: RightsChanges | None) -> PushReport:
        """Write the differences to the store. Waits until no other process pushes the same vault."""
        self._connection.rows("SELECT pg_advisory_lock(%s, %s)", PUSH_LOCK, self._vault)
        try:
            return self._run(records / f"{self._vault_identity()}.json", rights)
        finally:
            with suppress(StoreUnusableError):  # a lost connection has no locks
                self._connection.rows("SELECT pg_advisory_unlock(%s, %s)", PUSH_LOCK, self._vault)

    def _run(self, file: Path, rights: RightsChanges | None) -> PushReport:
        record = read_value(file, PushRecord, None) or PushRecord()
        self._local_notes, self._stored_notes = self._read_local_notes(), self._read_stored_notes()
        own_digests = {note.path: note.digest for note in self._local_notes.values()}
        stored_digests = {path: note.digest for path, note in self._stored_notes.items()}
        own_digests |= {path: stored_digests[path] for path in self._find_same_texts()}
        unreadable = self._unreadable_attachments()
        plan = plan_push(own_digests, stored_digests, record, unreadable, self._rules)
        check_plan(plan, own_digests, stored_digests, self._rules)
        self._check_model(plan)
        if plan.write or plan.remove:
            pending = {path: own_digests[path] for path in plan.write} | dict.fromkeys(plan.remove, NO_NOTE)
            _write_record(file, replace(record, notes=dict(plan.base), pending=pending))
        if rights is not None:
            change_rights(
                self._connection, self._vault, rights, sorted({*own_digests, *stored_digests} - {*plan.remove})
            )
        status = self._snapshot.status()
        next_push_record = replace(
            next_record(plan, own_digests, stored_digests, unreadable),
            remarks=sorted(
                (remark.path, is_skipped, remark.reason)
                for is_skipped, remarks in ((True, status.skipped), (False, status.warnings))
                for remark in remarks
                if remark.path not in plan.kept
            ),
            moves=sorted(self._snapshot.rows("SELECT path, became FROM moves")),
        )
        report = self._apply_plan(plan, rights is not None, status, record, next_push_record)
        if next_push_record != record:
            _write_record(file, next_push_record)
        return report

    def _apply_plan(
        self, plan: PushPlan, has_new_rights: bool, status: Status, record: PushRecord, next_push_record: PushRecord
    ) -> PushReport:
        """Write and remove the notes of a plan, and rewrite notes whose version, settings or area changed.

        `record` is the record before the push, `next_push_record` the one after it.
        """
        rows = self._connection.rows
        areas = AreaNumbers(self._connection, self._vault)
        outdated = self._find_outdated(plan)
        rewritten = {*plan.write, *outdated}
        by_area: dict[int, set[int]] = {}
        for number, note in self._local_notes.items():
            if note.path in rewritten:
                by_area.setdefault(areas.number_of(note.path), set()).add(number)
        written = 0
        for area, numbers in sorted(by_area.items()):
            for batch in self._make_batches(area, numbers):
                self._replace_notes(batch, outdated)
                written += len(batch.notes)
                self._on_notes(written, len(rewritten))
        for at in range(0, len(plan.remove), MAX_SQL_VALUES):
            with self._connection.transaction():
                removed_counts: _ChangesByArea = {}
                removed = plan.remove[at : at + MAX_SQL_VALUES]
                self._delete_notes(removed, removed_counts)
                self._write_statistics(removed_counts)
                self._log([(self._stored_notes[path].area, "removed", path) for path in removed])
        moved = self._move_to_areas(areas, {*rewritten, *plan.remove})
        changes = len(rewritten) + len(plan.remove) + moved
        if changes:
            for area in area_numbers(self._connection, self._vault):
                rows(f"DELETE FROM {schema.table_name('terms', area)} WHERE fragments <= 0")
        after = (self._stored_notes.keys() | set(plan.write)) - set(plan.remove)
        self._write_metadata(
            areas, status, (record, next_push_record), after, is_changed=bool(changes) or has_new_rights
        )
        drop_empty_areas(self._connection, self._vault)
        remaining_areas = area_numbers(self._connection, self._vault)
        schema.repair_indexes(self._connection, remaining_areas)
        if changes > max(_MIN_NOTES_TO_ANALYZE, len(after) // 10):
            for area in remaining_areas:
                for table in ("fragments", "notes", "terms", "postings", "names"):
                    rows(f"VACUUM (ANALYZE) {schema.table_name(table, area)}")
        added = sum(path not in self._stored_notes for path in plan.write)
        unwritten = sum(path in self._stored_notes for path in plan.kept)
        changed = len(rewritten) - added + moved
        ((fragments,),) = rows(
            "SELECT coalesce(sum(fragments), 0)::bigint FROM excerpt.statistics JOIN excerpt.areas ON areas.id = area"
            " WHERE vault = %s",
            self._vault,
        )
        return PushReport(
            added=added,
            changed=changed,
            removed=len(plan.remove),
            unchanged=len(after) - added - changed - unwritten,
            kept=unwritten,
            conflicts=plan.conflicts,
            fragments=int(fragments),
            seconds=time.perf_counter() - self._start,
            rights=folder_rights(self._connection, self._vault),
            position=str(rows("SELECT pg_current_wal_flush_lsn()::text")[0][0]),
        )

    def _vault_identity(self) -> str:
        ((identity,),) = self._connection.rows("SELECT identity::text FROM excerpt.vaults WHERE id = %s", self._vault)
        return str(identity)

    def _read_local_notes(self) -> dict[int, _LocalNote]:
        """Return the notes of the index, by number."""
        note_rows = self._snapshot.rows("SELECT id, path, digest, cut FROM notes")
        return {number: _LocalNote(*row) for number, *row in note_rows}

    def _read_stored_notes(self) -> dict[str, _StoredNote]:
        """Return the notes of the store, by path."""
        note_rows = self._connection.rows(
            "SELECT path, id, digest, state, mtime_ns, area, kind FROM excerpt.notes WHERE area = ANY(%s)",
            area_numbers(self._connection, self._vault),
        )
        return {path: _StoredNote(*row) for path, *row in note_rows}

    def _find_same_texts(self) -> Iterator[str]:
        """Yield the paths of notes whose text is the same in the store although their files differ.

        Such files differ in line ends, as git writes them on Windows, or in a byte order mark.
        """
        differing = {
            number: stored.number
            for number, note in self._local_notes.items()
            if (stored := self._stored_notes.get(note.path)) and stored.digest != note.digest and not stored.kind
        }
        numbers = list(differing)
        for at in range(0, len(numbers), MAX_SQL_VALUES):
            part = numbers[at : at + MAX_SQL_VALUES]
            texts: dict[int, bytes] = dict(
                self._connection.rows(
                    "SELECT id, text FROM excerpt.notes WHERE area = ANY(%s) AND id = ANY(%s)",
                    area_numbers(self._connection, self._vault),
                    [differing[number] for number in part],
                )
            )
            for number, text in self._note_rows(part, "SELECT note, text FROM note_texts WHERE note"):
                with suppress(DamagedRowError):  # it is written again
                    if decompress_text(text) == decompress_text(texts[differing[number]]):
                        yield self._local_notes[number].path

    def _unreadable_attachments(self) -> frozenset[str]:
        """Return the paths of stored attachments that this machine cannot read (a package is missing or OCR is off)."""
        suffixes = read_suffixes(self._snapshot.settings.vault)
        return frozenset(
            path for path, note in self._stored_notes.items() if note.kind and not path.lower().endswith(suffixes)
        )

    def _check_model(self, plan: PushPlan) -> None:
        """Raise PushRefusedError if the store would mix notes of two models or tokenizers, and no rule allows this."""
        others = [path for path in plan.kept if path in self._stored_notes]
        if not others or self._rules.merge or self._rules.mirror:
            return
        ((model, tokenizer),) = self._connection.rows(
            "SELECT model_source, tokenizer FROM excerpt.vaults WHERE id = %s", self._vault
        )
        if model and (model, tokenizer) != (self._index_parameters["model_id"], self._index_parameters["tokenizer"]):
            raise PushRefusedError(
                f"The push was refused: nothing was written. {format_count(len(others), 'note')} would stay unchanged "
                f"in the store, such as {visible_line(others[0])}, made with another embedding model or tokenizer, "
                "or by an older excerpt.",
                "Set embedding.model and pack.tokenizer to those of the other pushers, or push from a copy that has"
                " these notes; --merge pushes anyway, and search finds these notes less well until then.",
            )

    def _find_outdated(self, plan: PushPlan) -> dict[str, int]:
        """Return the notes that have to be rewritten because they were read with other versions or settings.

        The result has the modification time in the store by path. Text from OCR is not replaced by text that was read
        without OCR.
        """
        compared = {*plan.write, *plan.kept}
        outdated: dict[str, int] = {}
        for note in self._local_notes.values():
            if note.path in compared:
                continue
            stored = self._stored_notes[note.path]
            loses_ocr = stored.cut.endswith(OCR_KEY_SUFFIX) and not note.cut.endswith(OCR_KEY_SUFFIX)
            if stored.state != self._note_state(note) and not loses_ocr:
                outdated[note.path] = stored.mtime_ns
        return outdated

    def _note_state(self, note: _LocalNote) -> str:
        """Return the versions and settings that the rows of a note depend on, as one text."""
        versions = (self._index_parameters[name] for name in ("model_id", "tokenizer", "analyzer", "names"))
        return _STATE_SEPARATOR.join((note.cut, " ".join(versions)))

    @cached_property
    def _index_parameters(self) -> dict[str, str]:
        """The parameters that the local index was built with, such as the model, by name."""
        return dict(self._snapshot.rows("SELECT name, value FROM meta"))

    def _register_vault(self, name: str) -> int:
        """Add the vault to the store if it is not there, and return its number."""
        dimensions = len(self._snapshot.vectors.mean)
        if dimensions != schema.DIMENSIONS:
            raise StoreUnusableError(
                f"The vectors of this vault have {dimensions} dimensions; a store holds {schema.DIMENSIONS}.",
                "Use the model that ships with excerpt: leave embedding.model empty in the settings.",
            )
        with self._connection.transaction():
            self._connection.rows("INSERT INTO excerpt.vaults (name) VALUES (%s) ON CONFLICT (name) DO NOTHING", name)
            vault = int(self._connection.rows("SELECT id FROM excerpt.vaults WHERE name = %s", name)[0][0])
            create_default_rights(self._connection, vault)
        return vault

    def _make_batches(self, area: int, changed: set[int]) -> Iterator[_NoteBatch]:
        """Yield the changed notes of one area (a folder with its own read rights) in batches, by their numbers."""
        left = set(changed)
        note_numbers = np.array(sorted(changed), np.int64)
        attached = self._attachment_numbers
        for keys, notes, segment in self._snapshot.lexical.segments_with(note_numbers):
            documents = np.flatnonzero(np.isin(notes, note_numbers))
            ends = np.flatnonzero(np.diff(notes[documents], append=-1)) + 1
            begin = 0
            while begin < len(documents):
                end = int(ends[min(int(np.searchsorted(ends, begin + _BATCH_FRAGMENTS)), len(ends) - 1)])
                part = documents[begin:end]
                numbers = np.full(len(keys), -1, np.int32)
                numbers[part] = np.arange(len(part))
                terms, counts = encode_documents(
                    select_docs(segment, numbers), notes[part], np.isin(notes[part], attached)
                )
                batch = list(dict.fromkeys(notes[part].tolist()))
                yield _NoteBatch(area, batch, dict(zip(keys[part].tolist(), terms, strict=True)), counts)
                left.difference_update(batch)
                begin = end
        without_fragments = sorted(left)
        for at in range(0, len(without_fragments), MAX_SQL_VALUES):
            yield _NoteBatch(area, without_fragments[at : at + MAX_SQL_VALUES], {}, [])

    @cached_property
    def _attachment_numbers(self) -> NDArray[np.int64]:
        """The numbers of the local notes that are attachments."""
        return np.array([row[0] for row in self._snapshot.rows("SELECT id FROM notes WHERE kind <> ''")], np.int64)

    def _note_rows(self, notes: Sequence[int], sql: str) -> list[Row]:
        """Return rows of the local index that belong to `notes`.

        `sql` ends with the column of the note's number, and may have an ORDER BY after it.
        """
        select, _, order = sql.partition(" ORDER BY ")
        result: list[Row] = []
        for at in range(0, len(notes), MAX_SQL_VALUES):
            part = notes[at : at + MAX_SQL_VALUES]
            statement = f"{select} IN ({','.join('?' * len(part))})"
            result += self._snapshot.rows(f"{statement} ORDER BY {order}" if order else statement, *part)
        return result

    # --- one transaction ----------------------------------------------------------------------------------------------

    def _replace_notes(self, batch: _NoteBatch, times: Mapping[str, int]) -> None:
        """Write a batch of notes to the store in place of their old rows.

        `times` are modification times by path; notes that are not in it have the time of their file.
        """
        self._snapshot.check_rows(batch.notes)
        fragments = self._note_rows(
            batch.notes,
            f"SELECT note, key, {schema.catalog_column_names('fragments')} FROM fragments"
            " WHERE note ORDER BY note, ordinal",
        )
        keys = np.array([row[1] for row in fragments], np.int64)
        at = np.searchsorted(self._snapshot.lexical.keys, keys)
        vectors = self._snapshot.vectors.rows(at)
        if self._has_halfvecs:
            vectors = vectors.astype(np.float16).astype(np.float32)
        attached = np.isin(np.array([row[0] for row in fragments], np.int64), self._attachment_numbers)
        changed: _ChangesByArea = {}
        lengths = np.array([batch.terms[key].lengths for key in keys.tolist()], np.int64).reshape(-1, len(FIELDS))
        lengths = word_lengths([batch.terms[key].words for key in keys.tolist()], lengths)
        for kind in (False, True):
            change = changed[batch.area, kind] = _StatisticsChange()
            change.add(lengths[attached == kind], vectors[attached == kind].astype(np.float64), 1)
        with self._connection.transaction():
            self._delete_notes([self._local_notes[note].path for note in batch.notes], changed)
            numbers = self._copy_notes(batch, times)
            self._connection.copy(
                schema.table_name("fragments", batch.area),
                self._fragment_columns,
                (
                    (
                        *(self._vault, numbers[note] << ORDINAL_BITS | ordinal, batch.area, is_attached, numbers[note]),
                        *(fragment_id, ordinal, *rest),
                        *(batch.terms[key].words, list(batch.terms[key].lengths), batch.terms[key].positions, vector),
                    )
                    for (note, key, fragment_id, ordinal, *rest), is_attached, vector in zip(
                        fragments, attached.tolist(), self._encode_vectors(vectors), strict=True
                    )
                ),
            )
            stored_keys = [numbers[row[0]] << ORDINAL_BITS | row[3] for row in fragments]
            encoded = [batch.terms[key] for key in keys.tolist()]
            self._add_postings(
                batch.area, stored_keys, [terms.words for terms in encoded], [terms.lengths for terms in encoded]
            )
            self._add_term_counts(batch.area, batch.counts)
            self._write_statistics(changed)
            paths = (self._local_notes[note].path for note in batch.notes)
            self._log(
                [
                    (batch.area, "changed" if path in self._stored_notes else "added", path)
                    for path in paths
                    if path not in times
                ]
            )

    def _encode_vectors(self, vectors: NDArray[np.float32]) -> Sequence[object]:
        """Return vectors as the store has them: pgvector's, or bytes as in an index."""
        return to_halfvecs(vectors) if self._has_halfvecs else quantise(vectors).to_bytes()

    def _decode_vectors(self, fragments: Sequence[Row]) -> NDArray[np.float64]:
        """Return the vectors of `fragments` (rows of `_subtract_statistics`)."""
        values = [row[2] for row in fragments]
        if self._has_halfvecs:
            return np.array(values, np.float64)
        return QuantisedVectors.from_bytes(values, schema.DIMENSIONS).floats.astype(np.float64)

    def _log(self, changes: Sequence[tuple[int, str, str]]) -> None:
        """Log changed notes, each as the number of its area, what was done, and its path.

        The first changes of a push begin its entry, and end the oldest one beyond _LOGGED_PUSHES.
        """
        if not changes:
            return
        if self._push_number is None:
            ((self._push_number,),) = self._connection.rows(
                "INSERT INTO excerpt.pushes (vault, machine, copy) VALUES (%s, %s, %s) RETURNING id",
                *(self._vault, platform.node(), self._snapshot.status().vault),
            )
            self._connection.rows(
                "DELETE FROM excerpt.pushes WHERE id IN"
                " (SELECT id FROM excerpt.pushes WHERE vault = %s ORDER BY id DESC OFFSET %s)",
                *(self._vault, _LOGGED_PUSHES),
            )
        self._connection.copy(
            "excerpt.pushed",
            (("push", "int8"), ("area", "int4"), ("change", "text"), ("path", "text")),
            [(self._push_number, *change) for change in changes],
        )

    def _copy_notes(self, batch: _NoteBatch, times: Mapping[str, int]) -> dict[int, int]:
        """Insert the rows of notes except their fragments; return their numbers in the store by those in the index."""
        vault, area, notes, connection = self._vault, batch.area, batch.notes, self._connection
        names = read_names(self._snapshot.rows, list(notes))
        numbers = dict(zip(notes, self._reserve_note_numbers(len(notes)), strict=True))
        note_rows = self._note_rows(
            notes,
            f"SELECT id, {schema.catalog_column_names('notes')}, note_texts.text FROM notes"
            " JOIN note_texts ON note = id WHERE id",
        )
        connection.copy(
            schema.table_name("notes", area),
            _NOTE_COLUMNS,
            (
                (
                    *(numbers[note], vault, area, self._note_state(self._local_notes[note]), path),
                    *(size, times.get(path, mtime_ns), *rest, *names[note]),
                )
                for note, path, size, mtime_ns, *rest in note_rows
            ),
        )
        for table, columns, order in _NOTE_TABLES:
            table_rows = self._note_rows(
                notes,
                f"SELECT note, {schema.catalog_column_names(table)} FROM {table} WHERE note ORDER BY note, {order}",
            )
            rows = ((vault, area, numbers[note], *rest) for note, *rest in table_rows)
            connection.copy(schema.table_name(table, area), columns, rows)
        return numbers

    def _delete_notes(self, paths: Sequence[str], changed: _ChangesByArea) -> None:
        """Delete the notes at `paths` from the store, if there, and subtract them from the statistics in `changed`."""
        by_area: dict[int, list[int]] = {}
        for note in filter(None, map(self._stored_notes.get, paths)):
            by_area.setdefault(note.area, []).append(note.number)
        for area, numbers in sorted(by_area.items()):
            self._subtract_statistics(area, numbers, changed)
            self._connection.rows(f"DELETE FROM {schema.table_name('notes', area)} WHERE id = ANY(%s)", numbers)

    def _subtract_statistics(self, area: int, numbers: Sequence[int], changed: _ChangesByArea) -> list[Row]:
        """Subtract the fragments of an area's notes `numbers` from its statistics in `changed`; return them.

        Also subtracts the fragments from the counts of terms in the store. Returns the subtracted fragments, one row
        each: the text of its tokens, the lengths of its fields, its vector, whether it is of an attachment, its note's
        number, its note's state and its ordinal.
        """
        rows = self._connection.rows
        removed = rows(
            f"SELECT words, f.lengths, {'vector::real[]' if self._has_halfvecs else 'vector'}, attached, note, state,"
            f" f.ordinal FROM {schema.table_name('fragments', area)} f"
            f" JOIN {schema.table_name('notes', area)} n ON n.id = note WHERE note = ANY(%s)",
            list(numbers),
        )
        removed_tokens = {token for row in removed for token in row[0].split()}
        remove_postings(self._connection, schema.table_name("postings", area), area, removed_tokens, numbers)
        for attached in sorted({row[3] for row in removed}):
            kind_rows = [row for row in removed if row[3] == attached]
            change = changed.setdefault((area, attached), _StatisticsChange())
            words = [row[0] for row in kind_rows]
            change.add(_lengths_of(kind_rows), self._decode_vectors(kind_rows), -1)
            tokens, counts, note_counts = count_fragments_by_token(words, [row[4] for row in kind_rows])
            rows(
                f"UPDATE {schema.table_name('terms', area)} AS terms SET fragments = terms.fragments - less.fragments,"
                " attached = terms.attached - less.attached, notes = terms.notes - less.notes"
                " FROM unnest(%s::text[], %s::integer[], %s::integer[], %s::integer[])"
                " AS less (token, fragments, attached, notes) WHERE terms.token = less.token",
                *(tokens, counts, counts if attached else [0] * len(counts), note_counts),
            )
        return removed

    def _move_to_areas(self, areas: AreaNumbers, compared: Collection[str]) -> int:
        """Move each stored note that is not in its path's area (folder with rights) there; return how many were moved.

        Paths in `compared` are left out: their notes were written or removed by this push. Rows are copied within the
        store, because this copy of the vault may not have these notes.
        """
        by_area: dict[tuple[int, int], list[str]] = {}
        for path, note in self._stored_notes.items():
            if path not in compared and note.area != (area := areas.number_of(path)):
                by_area.setdefault((note.area, area), []).append(path)
        for (before, area), paths in sorted(by_area.items()):
            for at in range(0, len(paths), MAX_SQL_VALUES):
                self._move_to_area(paths[at : at + MAX_SQL_VALUES], before, area)
        return sum(map(len, by_area.values()))

    def _move_to_area(self, paths: Sequence[str], before: int, area: int) -> None:
        """Move the notes at `paths` from the area `before` to `area`, and give them new numbers.

        The numbers are new, so that an open session does not mistake these notes for notes that it has already read.
        """
        rows = self._connection.rows
        numbers = [self._stored_notes[path].number for path in paths]
        with self._connection.transaction():
            changed: _ChangesByArea = {}
            removed = self._subtract_statistics(before, numbers, changed)
            for attached in (False, True):
                change = changed[area, attached] = _StatisticsChange()
                if kind_rows := [row for row in removed if row[3] == attached]:
                    change.add(_lengths_of(kind_rows), self._decode_vectors(kind_rows), 1)
                    self._add_term_counts(area, self._count_terms_of(before, kind_rows, attached=attached))
            new = self._reserve_note_numbers(len(paths))
            notes = numbers, new, list(paths)
            self._copy_rows("notes", _NOTE_COLUMNS, "", notes, (before, area))
            for table, columns, order in (*_NOTE_TABLES, ("fragments", self._fragment_columns, "key")):
                self._copy_rows(table, columns, order, notes, (before, area))
            rows(f"DELETE FROM {schema.table_name('notes', before)} WHERE id = ANY(%s)", numbers)
            new_numbers = dict(zip(numbers, new, strict=True))
            new_keys = [new_numbers[row[4]] << ORDINAL_BITS | row[6] for row in removed]
            self._add_postings(area, new_keys, [row[0] for row in removed], [row[1] for row in removed])
            self._write_statistics(changed)

    def _copy_rows(
        self,
        table: str,
        columns: Sequence[tuple[str, str]],
        order: str,
        notes: tuple[list[int], list[int], list[str]],
        areas: tuple[int, int],
    ) -> None:
        """Copy the rows of notes in one table from one area (a folder with rights) to another.

        `notes` are the notes' numbers, new numbers and paths; `areas` are the numbers of the old and the new area.
        """
        before, area = areas
        is_notes = table == "notes"
        new = {"area": "%s::integer", "note": "n.new", "key": f"n.new << {ORDINAL_BITS} | t.ordinal"}
        new |= {"id": "n.new", "path": "n.path"} if is_notes else {}
        names = [name for name, _ in columns]
        self._connection.rows(
            f"INSERT INTO {schema.table_name(table, area)} ({', '.join(names)}) OVERRIDING SYSTEM VALUE"
            f" SELECT {', '.join(new.get(name, f't.{name}') for name in names)}"
            f" FROM {schema.table_name(table, before)} t"
            " JOIN unnest(%s::bigint[], %s::bigint[], %s::text[]) AS n (old, new, path)"
            f" ON n.old = t.{'id' if is_notes else 'note'}" + (f" ORDER BY n.new, t.{order}" if order else ""),
            *(area, *notes),
        )

    def _count_terms_of(self, area: int, fragments: Sequence[Row], *, attached: bool) -> list[TermCounts]:
        """Count the terms of fragments of an area (folder with rights), given as rows of `_subtract_statistics`."""
        tokens, counts, note_counts = count_fragments_by_token(
            [row[0] for row in fragments], [row[4] for row in fragments]
        )
        fields = fields_by_token([row[0] for row in fragments], [row[1] for row in fragments])
        terms: dict[str, str] = dict(
            self._connection.rows(
                f"SELECT token, term FROM {schema.table_name('terms', area)} WHERE token = ANY(%s)", tokens
            )
        )
        return [
            TermCounts(token, terms[token], count, count if attached else 0, note_count, fields[token])
            for token, count, note_count in zip(tokens, counts, note_counts, strict=True)
        ]

    def _reserve_note_numbers(self, count: int) -> list[int]:
        """Reserve `count` numbers for notes, which were never used before, and return them."""
        number_rows = self._connection.rows(
            "SELECT nextval(pg_get_serial_sequence('excerpt.notes', 'id')) FROM generate_series(1, %s)", count
        )
        return [int(row[0]) for row in number_rows]

    def _add_term_counts(self, area: int, terms: Sequence[TermCounts]) -> None:
        """Add `terms` to the counts of terms of an area (a folder with its own read rights)."""
        self._connection.rows(
            f"INSERT INTO {schema.table_name('terms', area)} AS terms"
            " (vault, area, token, term, fragments, attached, notes, fields) SELECT %s, %s, *"
            " FROM unnest(%s::text[], %s::text[], %s::integer[], %s::integer[], %s::integer[], %s::smallint[])"
            " ON CONFLICT (token) DO UPDATE SET fragments = terms.fragments + excluded.fragments,"
            " attached = terms.attached + excluded.attached, notes = terms.notes + excluded.notes,"
            " fields = terms.fields | excluded.fields",
            *(self._vault, area, array_literal([count.token for count in terms]), [count.term for count in terms]),
            *(array_literal([count.fragments for count in terms]), array_literal([count.attached for count in terms])),
            *(array_literal([count.notes for count in terms]), array_literal([count.fields for count in terms])),
        )

    def _add_postings(
        self, area: int, keys: Sequence[int], words: Sequence[str], lengths: Sequence[Sequence[int]]
    ) -> None:
        """Add the postings of fragments, given by the keys they have in the store, to those of an area (folder)."""
        blocks = encode_postings(keys, words, np.array(lengths, np.int64).reshape(-1, len(FIELDS)))
        add_postings(self._connection, schema.table_name("postings", area), area, blocks)

    def _write_statistics(self, changed: _ChangesByArea) -> None:
        """Add the changes of a transaction to the statistics in the store, and raise the revision of the vault."""
        rows = self._connection.rows
        zero = _StatisticsChange()
        for (area, attached), change in sorted(changed.items()):
            rows(
                "INSERT INTO excerpt.statistics VALUES (%s, %s, 0, %s, %s, %s) ON CONFLICT DO NOTHING",
                *(area, attached, zero.lengths.tolist(), zero.filled.tolist(), zero.vectors.tolist()),
            )
            ((fragments, lengths, filled, vectors),) = rows(
                "SELECT fragments, lengths, filled, vectors FROM excerpt.statistics WHERE area = %s AND attached = %s"
                " FOR UPDATE",
                *(area, attached),
            )
            rows(
                "UPDATE excerpt.statistics SET fragments = %s, lengths = %s, filled = %s, vectors = %s"
                " WHERE area = %s AND attached = %s",
                *(fragments + change.fragments, (change.lengths + lengths).tolist()),
                *((change.filled + filled).tolist(), (change.vectors + vectors).tolist(), area, attached),
            )
        rows("UPDATE excerpt.vaults SET revision = revision + 1 WHERE id = %s", self._vault)

    # --- metadata of the whole vault ----------------------------------------------------------------------------------

    def _write_metadata(
        self,
        areas: AreaNumbers,
        status: Status,
        records: tuple[PushRecord, PushRecord],
        paths: Collection[str],
        *,
        is_changed: bool,
    ) -> None:
        """Write metadata of the vault: skipped files, moved notes, the model, and the time of the update.

        Nothing is written if it is the same as in the store and `is_changed` is False. `records` are the records before
        and after this push; `paths` are the paths of all notes in the store.
        """
        rows = self._connection.rows
        before, after = records
        stored_remarks = set(
            rows("SELECT area, path, skipped, reason FROM excerpt.remarks WHERE vault = %s", self._vault)
        )
        other_remarks = {row[1:] for row in stored_remarks} - {*before.remarks}
        remarks = {
            (areas.number_of(path), path, skipped, reason)
            for path, skipped, reason in ({*after.remarks} if self._rules.mirror else other_remarks | {*after.remarks})
            if (path in paths) != skipped or (path, skipped, reason) in after.remarks
        }
        stored_moves = set(rows("SELECT area, now_in, path, became FROM excerpt.moves WHERE vault = %s", self._vault))
        others = {row[2:] for row in stored_moves} - {*before.moves}
        moved = {path: became for path, became in others if became in paths and not self._rules.mirror}
        moves = {
            (areas.number_of(path), areas.number_of(new_path), path, new_path)
            for path, new_path in (moved | dict(after.moves)).items()
        }
        versions = (status.model, self._index_parameters["model_id"], status.tokenizer)
        ((*described,),) = rows("SELECT model, model_source, tokenizer FROM excerpt.vaults WHERE id = %s", self._vault)
        if not is_changed and (remarks, moves, versions) == (stored_remarks, stored_moves, tuple(described)):
            return
        with self._connection.transaction():
            rows("DELETE FROM excerpt.remarks WHERE vault = %s", self._vault)
            self._connection.copy(
                "excerpt.remarks",
                (("vault", "int4"), ("area", "int4"), ("path", "text"), ("skipped", "bool"), ("reason", "text")),
                [(self._vault, *row_values) for row_values in sorted(remarks)],
            )
            rows("DELETE FROM excerpt.moves WHERE vault = %s", self._vault)
            self._connection.copy(
                "excerpt.moves",
                (("vault", "int4"), ("area", "int4"), ("now_in", "int4"), ("path", "text"), ("became", "text")),
                [(self._vault, *row_values) for row_values in sorted(moves)],
            )
            rows(
                "UPDATE excerpt.vaults SET updated = %s, model = %s, model_source = %s, tokenizer = %s,"
                " revision = revision + 1 WHERE id = %s",
                *(status.updated, *versions, self._vault),
            )


def _lengths_of(fragments: Sequence[Row]) -> NDArray[np.int64]:
    """Return the field lengths of `fragments` (rows of `_subtract_statistics`) as the statistics count them."""
    lengths = np.array([row[1] for row in fragments], np.int64)
    analyzers = [int(row[5].split()[-2].partition("/")[0]) for row in fragments]
    has_second_terms = np.array(analyzers) >= _FIRST_ANALYZER_WITH_SECOND_TERMS
    return np.where(has_second_terms[:, np.newaxis], word_lengths([row[0] for row in fragments], lengths), lengths)


def _write_record(file: Path, record: PushRecord) -> None:
    """Write the record of the last push. Raises StoreUnusableError."""
    try:
        write_value(file, record)
    except OSError as error:
        raise StoreUnusableError(
            f"The push cannot be recorded in {visible_line(str(file))}: {error.strerror}.",
            "Free some disk space or permit writing: the next push needs this file to detect what others changed.",
        ) from error
