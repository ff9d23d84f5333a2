"""Push of a vault's index to a store: new and changed notes are written, missing ones deleted.

`compare` decides what a push may write, from this copy of the vault, the store, and the record of the last push. A
batch of notes is one transaction with its statistics, so a store always holds whole notes with the right counts. If a
push is killed, the next one continues, because it compares digests.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from excerpt.corpus.tables import FIELDS
from excerpt.errors import StoreUnusableError
from excerpt.index.catalog import MAX_SQL_VALUES, DamagedRowError, text_from_row
from excerpt.index.changes import OCR_KEY_SUFFIX
from excerpt.index.names import read_names
from excerpt.index.postings import select_docs
from excerpt.index.snapshot import Snapshot
from excerpt.model import PushReport, Status
from excerpt.state_files import read_value, write_value
from excerpt.store import schema
from excerpt.store.address import Address
from excerpt.store.compare import (
    GONE,
    NO_RULES,
    PushPlan,
    PushRecord,
    PushRefusedError,
    PushRules,
    check_plan,
    compare,
    next_record,
)
from excerpt.store.connection import Connection, Row, as_vectors
from excerpt.store.rights import (
    Areas,
    Changes,
    act_as_owner,
    areas_of,
    begin_rights,
    change_rights,
    drop_empty_areas,
    make_roles,
    rights_of,
)
from excerpt.store.schema import ORDINALS
from excerpt.store.words import FragmentTerms, TermCount, count_tokens, terms_of_documents, token_fields
from excerpt.text.display import format_count, visible_line
from excerpt.vault.readers.registry import suffixes_of

OnNotes = Callable[[int, int], None]
"""A callback with the number of written notes, and of all."""

_BATCH = 10_000
"""Maximum number of fragments in one transaction, unless a note has more."""
_MIN_ANALYZED = 100
"""Number of changed notes above which the planner's statistics are updated."""
_PUSH_LOCK = 0x657863
"""Class of the advisory locks by which only one process at a time pushes a vault."""

_NOTE = (
    *(("id", "int8"), ("vault", "int4"), ("area", "int4"), ("path", "text"), ("state", "text"), ("size", "int8")),
    *(("mtime_ns", "int8"), ("digest", "text"), ("title", "text"), ("language", "text"), ("tokens", "int4")),
    *(("kind", "text"), ("text", "bytea"), ("own", "int4"), ("lengths", "bytea"), ("terms", "bytea")),
    *(("files", "bytea"), ("targets", "text")),
)
_NOTE_KEY = (("vault", "int4"), ("area", "int4"), ("note", "int8"))
_SECTION = (
    *(*_NOTE_KEY, ("ordinal", "int4"), ("level", "int4"), ("heading", "text"), ("heading_path", "text")),
    *(("line_start", "int4"), ("line_end", "int4"), ("place", "text")),
)
_FRAGMENT = (
    *(("vault", "int4"), ("key", "int8"), ("area", "int4"), ("attached", "bool"), ("note", "int8"), ("id", "text")),
    *(("ordinal", "int4"), ("section", "int4")),
    *(("line_start", "int4"), ("line_end", "int4"), ("tokens", "int4"), ("digest", "text"), ("text", "text")),
    *(("words", "text"), ("lengths", "int2[]"), ("places", "bytea"), ("vector", "halfvec")),
)
_LINK = (
    *(*_NOTE_KEY, ("line", "int4"), ("kind", "text"), ("target", "text"), ("heading", "text")),
    *(("block_id", "text"), ("text", "text")),
)
_LABEL = (*_NOTE_KEY, ("kind", "text"), ("name", "text"), ("value", "text"))
_NAME = (*_NOTE_KEY, ("name", "text"))
_NOTE_TABLES = (
    ("sections", _SECTION, "ordinal"),
    ("links", _LINK, "rowid"),
    ("labels", _LABEL, "rowid"),
    ("names", _NAME, "name"),
)
"""Tables, with their columns and order, that have rows of a note besides its fragments."""


def push(
    snapshot: Snapshot,
    address: Address,
    records: Path,
    on_notes: OnNotes = lambda _written, _total: None,
    *,
    roles: bool = False,
    rights: Changes | None = None,
    rules: PushRules = NO_RULES,
) -> PushReport:
    """Bring the vault that `address` names up to the snapshot. Raises StoreUnusableError and PushRefusedError.

    With `roles`, create those of writers and readers first. `rights` hold when it is done.
    """
    pusher = Pusher(address, records, roles=roles)
    try:
        return pusher.push(snapshot, on_notes, rights, rules)
    finally:
        pusher.close()


class Pusher:
    """A connection over which a vault is pushed whenever it changes. Used from one thread at a time."""

    def __init__(self, address: Address, records: Path, *, roles: bool = False) -> None:
        """Create missing tables and, with `roles`, missing roles. Raises StoreUnusableError.

        `records` is the folder in which this copy of the vault records what it pushed where.
        """
        if not address.vault:
            raise StoreUnusableError("The address does not name a vault.", "Add ?vault=NAME to it.")
        self._name = address.vault
        self._records = records
        self._connection = Connection(address, writes=True, timeout=0)
        try:
            act_as_owner(self._connection)
            schema.prepare(self._connection)
            if roles:
                make_roles(self._connection)
                act_as_owner(self._connection)
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
        rights: Changes | None = None,
        rules: PushRules = NO_RULES,
    ) -> PushReport:
        """Bring the vault up to the snapshot, and change who may read it.

        Raises StoreUnusableError, and PushRefusedError if the rules do not allow the changes.
        """
        return _Push(snapshot, self._connection, self._name, on_notes, rules).run(self._records, rights)


@dataclass(frozen=True, slots=True)
class _OwnNote:
    """A note of the index: its path, the digest of its file, and the versions and settings it was read with."""

    path: str
    digest: str
    cut: str


@dataclass(frozen=True, slots=True)
class _StoredNote:
    """A note of the store; `state` is its `cut` and the parameters of the whole vault, joined by `_Push.state`."""

    number: int
    digest: str
    state: str
    mtime_ns: int
    area: int
    kind: str

    @property
    def cut(self) -> str:
        return self.state.partition(_STATE_SEPARATOR)[0]


_STATE_SEPARATOR = " | "


@dataclass(slots=True)
class _Change:
    """The changes of one transaction to the statistics of notes, or of attachments."""

    fragments: int = 0
    lengths: NDArray[np.float64] = field(default_factory=lambda: np.zeros(len(FIELDS)))
    filled: NDArray[np.int64] = field(default_factory=lambda: np.zeros(len(FIELDS), np.int64))
    vectors: NDArray[np.float64] = field(default_factory=lambda: np.zeros(schema.DIMENSIONS))

    def add(self, lengths: NDArray[np.int64], vectors: NDArray[np.float64], sign: int) -> None:
        """Add some fragments, or subtract them with a `sign` of -1."""
        self.fragments += sign * len(lengths)
        self.lengths += sign * lengths.sum(axis=0)
        self.filled += sign * np.count_nonzero(lengths, axis=0)
        self.vectors += sign * vectors.sum(axis=0)


_Changed = dict[tuple[int, bool], _Change]
"""Changes by area, and by whether they are of attachments."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """Notes of one area by their numbers in the index, the terms of their fragments by key, and counts of terms."""

    area: int
    notes: list[int]
    terms: Mapping[int, FragmentTerms]
    counts: Sequence[TermCount]


class _Push:
    """One push over one connection."""

    def __init__(
        self, snapshot: Snapshot, connection: Connection, name: str, on_notes: OnNotes, rules: PushRules
    ) -> None:
        self._snapshot = snapshot
        self._connection = connection
        self._on_notes = on_notes
        self._rules = rules
        self._start = time.perf_counter()
        self._vault = self._registered(name)

    def run(self, records: Path, rights: Changes | None) -> PushReport:
        """Write the differences. Pushes of the same vault wait for each other."""
        self._connection.rows("SELECT pg_advisory_lock(%s, %s)", _PUSH_LOCK, self._vault)
        try:
            return self._run(records / f"{self._identity()}.json", rights)
        finally:
            with suppress(StoreUnusableError):  # a lost connection has no locks
                self._connection.rows("SELECT pg_advisory_unlock(%s, %s)", _PUSH_LOCK, self._vault)

    def _run(self, file: Path, rights: Changes | None) -> PushReport:
        record = read_value(file, PushRecord, None) or PushRecord()
        self._own, self._stored = self._own_notes(), self._stored_notes()
        own_digests = {note.path: note.digest for note in self._own.values()}
        stored_digests = {path: note.digest for path, note in self._stored.items()}
        own_digests |= {path: stored_digests[path] for path in self._paths_with_same_text()}
        unreadable = self._unreadable()
        plan = compare(own_digests, stored_digests, record, unreadable, self._rules)
        check_plan(plan, own_digests, stored_digests, self._rules)
        self._check_model(plan)
        if plan.write or plan.remove:
            pending = {path: own_digests[path] for path in plan.write} | dict.fromkeys(plan.remove, GONE)
            _write_record(file, replace(record, notes=dict(plan.base), pending=pending))
        if rights is not None:
            change_rights(
                self._connection, self._vault, rights, sorted({*own_digests, *stored_digests} - {*plan.remove})
            )
        status = self._snapshot.status()
        following = replace(
            next_record(plan, own_digests, stored_digests, unreadable),
            remarks=sorted(
                (remark.path, is_skipped, remark.reason)
                for is_skipped, remarks in ((True, status.skipped), (False, status.warnings))
                for remark in remarks
                if remark.path not in plan.kept
            ),
            moves=sorted(self._snapshot.rows("SELECT path, became FROM moves")),
        )
        report = self._apply(plan, rights is not None, status, record, following)
        if following != record:
            _write_record(file, following)
        return report

    def _apply(
        self, plan: PushPlan, has_new_rights: bool, status: Status, record: PushRecord, following: PushRecord
    ) -> PushReport:
        """Write and remove the notes of a plan, and update rows that another version, setting or area affects."""
        rows = self._connection.rows
        areas = Areas(self._connection, self._vault)
        outdated = self._outdated(plan)
        rewritten = {*plan.write, *outdated}
        by_area: dict[int, set[int]] = {}
        for number, note in self._own.items():
            if note.path in rewritten:
                by_area.setdefault(areas.of(note.path), set()).add(number)
        written = 0
        for area, numbers in sorted(by_area.items()):
            for batch in self._batches(area, numbers):
                self._replace(batch, outdated)
                written += len(batch.notes)
                self._on_notes(written, len(rewritten))
        for at in range(0, len(plan.remove), MAX_SQL_VALUES):
            with self._connection.transaction():
                removed_counts: _Changed = {}
                self._remove(plan.remove[at : at + MAX_SQL_VALUES], removed_counts)
                self._count(removed_counts)
        moved = self._change_areas(areas, {*rewritten, *plan.remove})
        changes = len(rewritten) + len(plan.remove) + moved
        if changes:
            for area in areas_of(self._connection, self._vault):
                rows(f"DELETE FROM {schema.table('terms', area)} WHERE fragments <= 0")
        after = (self._stored.keys() | set(plan.write)) - set(plan.remove)
        self._describe(areas, status, (record, following), after, is_changed=bool(changes) or has_new_rights)
        drop_empty_areas(self._connection, self._vault)
        remaining_areas = areas_of(self._connection, self._vault)
        schema.make_indexes(self._connection, remaining_areas)
        if changes > max(_MIN_ANALYZED, len(after) // 10):
            for area in remaining_areas:
                for table in ("fragments", "notes", "terms", "names"):
                    rows(f"VACUUM (ANALYZE) {schema.table(table, area)}")
        added = sum(path not in self._stored for path in plan.write)
        unwritten = sum(path in self._stored for path in plan.kept)
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
            rights=rights_of(self._connection, self._vault),
            position=str(rows("SELECT pg_current_wal_flush_lsn()::text")[0][0]),
        )

    def _identity(self) -> str:
        ((identity,),) = self._connection.rows("SELECT identity::text FROM excerpt.vaults WHERE id = %s", self._vault)
        return str(identity)

    def _own_notes(self) -> dict[int, _OwnNote]:
        """Return the notes of the index, by number."""
        note_rows = self._snapshot.rows("SELECT id, path, digest, cut FROM notes")
        return {number: _OwnNote(*row) for number, *row in note_rows}

    def _stored_notes(self) -> dict[str, _StoredNote]:
        """Return the notes of the store, by path."""
        note_rows = self._connection.rows(
            "SELECT path, id, digest, state, mtime_ns, area, kind FROM excerpt.notes WHERE area = ANY(%s)",
            areas_of(self._connection, self._vault),
        )
        return {path: _StoredNote(*row) for path, *row in note_rows}

    def _paths_with_same_text(self) -> Iterator[str]:
        """Yield the notes whose text equals the store's although their files differ.

        They differ in line ends, as git writes them on Windows, or in a byte order mark.
        """
        differing = {
            number: stored.number
            for number, note in self._own.items()
            if (stored := self._stored.get(note.path)) and stored.digest != note.digest and not stored.kind
        }
        numbers = list(differing)
        for at in range(0, len(numbers), MAX_SQL_VALUES):
            part = numbers[at : at + MAX_SQL_VALUES]
            texts: dict[int, bytes] = dict(
                self._connection.rows(
                    "SELECT id, text FROM excerpt.notes WHERE area = ANY(%s) AND id = ANY(%s)",
                    areas_of(self._connection, self._vault),
                    [differing[number] for number in part],
                )
            )
            for number, text in self._note_rows(part, "SELECT note, text FROM note_texts WHERE note"):
                with suppress(DamagedRowError):  # it is written again
                    if text_from_row(text) == text_from_row(texts[differing[number]]):
                        yield self._own[number].path

    def _unreadable(self) -> frozenset[str]:
        """Return the attachments of the store that cannot be read here, because a package is missing or OCR is off."""
        suffixes = suffixes_of(self._snapshot.settings.vault).read
        return frozenset(
            path for path, note in self._stored.items() if note.kind and not path.lower().endswith(suffixes)
        )

    def _check_model(self, plan: PushPlan) -> None:
        """Raise PushRefusedError if the store would mix notes of two models or tokenizers without permission."""
        others = [path for path in plan.kept if path in self._stored]
        if not others or self._rules.merge or self._rules.mirror:
            return
        ((model, tokenizer),) = self._connection.rows(
            "SELECT model_source, tokenizer FROM excerpt.vaults WHERE id = %s", self._vault
        )
        if model and (model, tokenizer) != (self._meta["model_id"], self._meta["tokenizer"]):
            raise PushRefusedError(
                f"The push was refused: nothing was written. {format_count(len(others), 'note')} would stay unchanged "
                f"in the store, such as {visible_line(others[0])}, made with another embedding model or tokenizer, "
                "or by an older excerpt.",
                "Set embedding.model and pack.tokenizer to those of the other pushers, or push from a copy that has"
                " these notes; --merge pushes anyway, and search finds these notes less well until then.",
            )

    def _outdated(self, plan: PushPlan) -> dict[str, int]:
        """Return notes to write again although their content is in the store, with the store's modification times.

        Text from OCR is not replaced by text read without it.
        """
        compared = {*plan.write, *plan.kept}
        outdated: dict[str, int] = {}
        for note in self._own.values():
            if note.path in compared:
                continue
            stored = self._stored[note.path]
            loses_ocr = stored.cut.endswith(OCR_KEY_SUFFIX) and not note.cut.endswith(OCR_KEY_SUFFIX)
            if stored.state != self._state(note) and not loses_ocr:
                outdated[note.path] = stored.mtime_ns
        return outdated

    def _state(self, note: _OwnNote) -> str:
        """Return what the rows of a note depend on besides its content."""
        versions = (self._meta[name] for name in ("model_id", "tokenizer", "analyzer", "names"))
        return _STATE_SEPARATOR.join((note.cut, " ".join(versions)))

    @cached_property
    def _meta(self) -> dict[str, str]:
        """The parameters of the index, by the names of `build_parameters`."""
        return dict(self._snapshot.rows("SELECT name, value FROM meta"))

    def _registered(self, name: str) -> int:
        """Return the number of the vault in the store, after adding it if needed."""
        dimensions = len(self._snapshot.vectors.mean)
        if dimensions != schema.DIMENSIONS:
            raise StoreUnusableError(
                f"The vectors of this vault have {dimensions} dimensions; a store holds {schema.DIMENSIONS}.",
                "Use the model that ships with excerpt: leave embedding.model empty in the settings.",
            )
        with self._connection.transaction():
            self._connection.rows("INSERT INTO excerpt.vaults (name) VALUES (%s) ON CONFLICT (name) DO NOTHING", name)
            vault = int(self._connection.rows("SELECT id FROM excerpt.vaults WHERE name = %s", name)[0][0])
            begin_rights(self._connection, vault)
        return vault

    def _batches(self, area: int, changed: set[int]) -> Iterator[_Batch]:
        """Yield notes of an area in batches, with the terms of their fragments."""
        left = set(changed)
        note_numbers = np.array(sorted(changed), np.int64)
        attached = self._attached
        for keys, notes, segment in self._snapshot.lexical.segments_with(note_numbers):
            documents = np.flatnonzero(np.isin(notes, note_numbers))
            ends = np.flatnonzero(np.diff(notes[documents], append=-1)) + 1
            begin = 0
            while begin < len(documents):
                end = int(ends[min(int(np.searchsorted(ends, begin + _BATCH)), len(ends) - 1)])
                part = documents[begin:end]
                numbers = np.full(len(keys), -1, np.int32)
                numbers[part] = np.arange(len(part))
                terms, counts = terms_of_documents(
                    select_docs(segment, numbers), notes[part], np.isin(notes[part], attached)
                )
                batch = list(dict.fromkeys(notes[part].tolist()))
                yield _Batch(area, batch, dict(zip(keys[part].tolist(), terms, strict=True)), counts)
                left.difference_update(batch)
                begin = end
        without_fragments = sorted(left)
        for at in range(0, len(without_fragments), MAX_SQL_VALUES):
            yield _Batch(area, without_fragments[at : at + MAX_SQL_VALUES], {}, [])

    @cached_property
    def _attached(self) -> NDArray[np.int64]:
        """The notes that are attachments."""
        return np.array([row[0] for row in self._snapshot.rows("SELECT id FROM notes WHERE kind <> ''")], np.int64)

    def _note_rows(self, notes: Sequence[int], sql: str) -> list[Row]:
        """Return rows of the index; `sql` ends with the column to match with the notes' numbers, and the order."""
        select, _, order = sql.partition(" ORDER BY ")
        result: list[Row] = []
        for at in range(0, len(notes), MAX_SQL_VALUES):
            part = notes[at : at + MAX_SQL_VALUES]
            statement = f"{select} IN ({','.join('?' * len(part))})"
            result += self._snapshot.rows(f"{statement} ORDER BY {order}" if order else statement, *part)
        return result

    # --- one transaction ----------------------------------------------------------------------------------------------

    def _replace(self, batch: _Batch, times: Mapping[str, int]) -> None:
        """Replace some notes in the store; `times` are their modification times by path, if not the file's."""
        self._snapshot.check_rows(batch.notes)
        fragments = self._note_rows(
            batch.notes,
            "SELECT note, key, id, ordinal, section, line_start, line_end, tokens, digest, text FROM fragments"
            " WHERE note ORDER BY note, ordinal",
        )
        keys = np.array([row[1] for row in fragments], np.int64)
        at = np.searchsorted(self._snapshot.lexical.keys, keys)
        vectors = self._snapshot.vectors.rows(at).astype(np.float16).astype(np.float32)
        attached = np.isin(np.array([row[0] for row in fragments], np.int64), self._attached)
        changed: _Changed = {}
        lengths = np.array([batch.terms[key].lengths for key in keys.tolist()], np.int64).reshape(-1, len(FIELDS))
        for kind in (False, True):
            change = changed[batch.area, kind] = _Change()
            change.add(lengths[attached == kind], vectors[attached == kind].astype(np.float64), 1)
        with self._connection.transaction():
            self._remove([self._own[note].path for note in batch.notes], changed)
            numbers = self._copy_notes(batch, times)
            self._connection.copy(
                schema.table("fragments", batch.area),
                _FRAGMENT,
                (
                    (
                        *(self._vault, numbers[note] << ORDINALS | ordinal, batch.area, is_attached, numbers[note]),
                        *(fragment_id, ordinal, *rest),
                        *(batch.terms[key].words, list(batch.terms[key].lengths), batch.terms[key].positions, vector),
                    )
                    for (note, key, fragment_id, ordinal, *rest), is_attached, vector in zip(
                        fragments, attached.tolist(), as_vectors(vectors), strict=True
                    )
                ),
            )
            self._count_terms(batch.area, batch.counts)
            self._count(changed)

    def _copy_notes(self, batch: _Batch, times: Mapping[str, int]) -> dict[int, int]:
        """Insert notes with all rows except those of fragments; return their new numbers in the store."""
        vault, area, notes, connection = self._vault, batch.area, batch.notes, self._connection
        names = read_names(self._snapshot.rows, list(notes))
        numbers = dict(zip(notes, self._new_numbers(len(notes)), strict=True))
        note_rows = self._note_rows(
            notes,
            "SELECT id, path, size, mtime_ns, digest, title, language, tokens, kind, note_texts.text FROM notes"
            " JOIN note_texts ON note = id WHERE id",
        )
        connection.copy(
            schema.table("notes", area),
            _NOTE,
            (
                (
                    *(numbers[note], vault, area, path, self._state(self._own[note])),
                    *(size, times.get(path, mtime_ns), *rest, *names[note]),
                )
                for note, path, size, mtime_ns, *rest in note_rows
            ),
        )
        for table, columns, order in _NOTE_TABLES:
            selected = ", ".join(name for name, _ in columns[len(_NOTE_KEY) :])
            table_rows = self._note_rows(
                notes, f"SELECT note, {selected} FROM {table} WHERE note ORDER BY note, {order}"
            )
            rows = ((vault, area, numbers[note], *rest) for note, *rest in table_rows)
            connection.copy(schema.table(table, area), columns, rows)
        return numbers

    def _remove(self, paths: Sequence[str], changed: _Changed) -> None:
        """Delete those of the notes that exist, and subtract them from the statistics."""
        by_area: dict[int, list[int]] = {}
        for note in filter(None, map(self._stored.get, paths)):
            by_area.setdefault(note.area, []).append(note.number)
        for area, numbers in sorted(by_area.items()):
            self._uncount(area, numbers, changed)
            self._connection.rows(f"DELETE FROM {schema.table('notes', area)} WHERE id = ANY(%s)", numbers)

    def _uncount(self, area: int, numbers: Sequence[int], changed: _Changed) -> list[Row]:
        """Subtract the fragments of some notes of an area from the statistics.

        Returns for each fragment its tokens, lengths, vector, whether it is of an attachment, and its note.
        """
        rows = self._connection.rows
        removed = rows(
            f"SELECT words, lengths, vector::real[], attached, note FROM {schema.table('fragments', area)}"
            " WHERE note = ANY(%s)",
            list(numbers),
        )
        for attached in sorted({row[3] for row in removed}):
            kind_rows = [row for row in removed if row[3] == attached]
            change = changed.setdefault((area, attached), _Change())
            change.add(np.array([row[1] for row in kind_rows]), np.array([row[2] for row in kind_rows], np.float64), -1)
            tokens, counts, note_counts = count_tokens([row[0] for row in kind_rows], [row[4] for row in kind_rows])
            rows(
                f"UPDATE {schema.table('terms', area)} AS terms SET fragments = terms.fragments - less.fragments,"
                " attached = terms.attached - less.attached, notes = terms.notes - less.notes"
                " FROM unnest(%s::text[], %s::integer[], %s::integer[], %s::integer[])"
                " AS less (token, fragments, attached, notes) WHERE terms.token = less.token",
                *(tokens, counts, counts if attached else [0] * len(counts), note_counts),
            )
        return removed

    def _change_areas(self, areas: Areas, compared: Collection[str]) -> int:
        """Move each note to the area of its path, except those in `compared`; return the number of moved notes.

        Their rows are copied within the store, because this copy may not have them.
        """
        by_area: dict[tuple[int, int], list[str]] = {}
        for path, note in self._stored.items():
            if path not in compared and note.area != (area := areas.of(path)):
                by_area.setdefault((note.area, area), []).append(path)
        for (before, area), paths in sorted(by_area.items()):
            for at in range(0, len(paths), MAX_SQL_VALUES):
                self._change_area(paths[at : at + MAX_SQL_VALUES], before, area)
        return sum(map(len, by_area.values()))

    def _change_area(self, paths: Sequence[str], before: int, area: int) -> None:
        """Move some notes to another area, under new numbers.

        So an open session does not mistake them for notes that it has read.
        """
        rows = self._connection.rows
        numbers = [self._stored[path].number for path in paths]
        with self._connection.transaction():
            changed: _Changed = {}
            removed = self._uncount(before, numbers, changed)
            for attached in (False, True):
                change = changed[area, attached] = _Change()
                if kind_rows := [row for row in removed if row[3] == attached]:
                    vectors = np.array([row[2] for row in kind_rows], np.float64)
                    change.add(np.array([row[1] for row in kind_rows]), vectors, 1)
                    self._count_terms(area, self._counts(before, kind_rows, attached=attached))
            new = self._new_numbers(len(paths))
            notes = numbers, new, list(paths)
            self._copy_rows("notes", _NOTE, "", notes, (before, area))
            for table, columns, order in (*_NOTE_TABLES, ("fragments", _FRAGMENT, "key")):
                self._copy_rows(table, columns, order, notes, (before, area))
            rows(f"DELETE FROM {schema.table('notes', before)} WHERE id = ANY(%s)", numbers)
            self._count(changed)

    def _copy_rows(
        self,
        table: str,
        columns: Sequence[tuple[str, str]],
        order: str,
        notes: tuple[list[int], list[int], list[str]],
        areas: tuple[int, int],
    ) -> None:
        """Copy the rows of some notes, given by their numbers, new numbers and paths, from one area to another."""
        before, area = areas
        is_notes = table == "notes"
        new = {"area": "%s::integer", "note": "n.new", "key": f"n.new << {ORDINALS} | t.ordinal"}
        new |= {"id": "n.new", "path": "n.path"} if is_notes else {}
        names = [name for name, _ in columns]
        self._connection.rows(
            f"INSERT INTO {schema.table(table, area)} ({', '.join(names)}) OVERRIDING SYSTEM VALUE"
            f" SELECT {', '.join(new.get(name, f't.{name}') for name in names)} FROM {schema.table(table, before)} t"
            " JOIN unnest(%s::bigint[], %s::bigint[], %s::text[]) AS n (old, new, path)"
            f" ON n.old = t.{'id' if is_notes else 'note'}" + (f" ORDER BY n.new, t.{order}" if order else ""),
            *(area, *notes),
        )

    def _counts(self, area: int, fragments: Sequence[Row], *, attached: bool) -> list[TermCount]:
        """Return the counts of terms of some fragments of an area, given as `_uncount` returns them."""
        tokens, counts, note_counts = count_tokens([row[0] for row in fragments], [row[4] for row in fragments])
        fields = token_fields([row[0] for row in fragments], [row[1] for row in fragments])
        terms: dict[str, str] = dict(
            self._connection.rows(
                f"SELECT token, term FROM {schema.table('terms', area)} WHERE token = ANY(%s)", tokens
            )
        )
        return [
            TermCount(token, terms[token], count, count if attached else 0, note_count, fields[token])
            for token, count, note_count in zip(tokens, counts, note_counts, strict=True)
        ]

    def _new_numbers(self, count: int) -> list[int]:
        """Return new numbers for notes, which were never used."""
        number_rows = self._connection.rows(
            "SELECT nextval(pg_get_serial_sequence('excerpt.notes', 'id')) FROM generate_series(1, %s)", count
        )
        return [int(row[0]) for row in number_rows]

    def _count_terms(self, area: int, terms: Sequence[TermCount]) -> None:
        """Add counts of terms to those of an area."""
        self._connection.rows(
            f"INSERT INTO {schema.table('terms', area)} AS terms"
            " (vault, area, token, term, fragments, attached, notes, fields) SELECT %s, %s, *"
            " FROM unnest(%s::text[], %s::text[], %s::integer[], %s::integer[], %s::integer[], %s::smallint[])"
            " ON CONFLICT (token) DO UPDATE SET fragments = terms.fragments + excluded.fragments,"
            " attached = terms.attached + excluded.attached, notes = terms.notes + excluded.notes,"
            " fields = terms.fields | excluded.fields",
            *(self._vault, area, [count.token for count in terms], [count.term for count in terms]),
            *([count.fragments for count in terms], [count.attached for count in terms]),
            *([count.notes for count in terms], [count.fields for count in terms]),
        )

    def _count(self, changed: _Changed) -> None:
        """Write the changed statistics of a transaction."""
        rows = self._connection.rows
        zero = _Change()
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

    # --- what is of the whole vault -----------------------------------------------------------------------------------

    def _describe(
        self,
        areas: Areas,
        status: Status,
        records: tuple[PushRecord, PushRecord],
        paths: Collection[str],
        *,
        is_changed: bool,
    ) -> None:
        """Write changed metadata of the vault: skipped files, moves, the model, and the time of the update.

        `records` are those before and after this push, `paths` those of all notes in the store.
        """
        rows = self._connection.rows
        before, after = records
        stored_remarks = set(
            rows("SELECT area, path, skipped, reason FROM excerpt.remarks WHERE vault = %s", self._vault)
        )
        other_remarks = {row[1:] for row in stored_remarks} - {*before.remarks}
        remarks = {
            (areas.of(path), path, skipped, reason)
            for path, skipped, reason in ({*after.remarks} if self._rules.mirror else other_remarks | {*after.remarks})
            if (path in paths) != skipped or (path, skipped, reason) in after.remarks
        }
        stored_moves = set(rows("SELECT area, now_in, path, became FROM excerpt.moves WHERE vault = %s", self._vault))
        others = {row[2:] for row in stored_moves} - {*before.moves}
        moved = {path: became for path, became in others if became in paths and not self._rules.mirror}
        moves = {
            (areas.of(path), areas.of(new_path), path, new_path)
            for path, new_path in (moved | dict(after.moves)).items()
        }
        versions = (status.model, self._meta["model_id"], status.tokenizer)
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


def _write_record(file: Path, record: PushRecord) -> None:
    """Write the record of the last push. Raises StoreUnusableError."""
    try:
        write_value(file, record)
    except OSError as error:
        raise StoreUnusableError(
            f"The push cannot be recorded in {visible_line(str(file))}: {error.strerror}.",
            "Make room or give permission: a push needs this file to detect what others changed.",
        ) from error
