"""Writing a vault's index to a store: new and changed notes are written, missing ones deleted.

`compare` decides what a push may write, from this copy of the vault, the store, and the record of the last push. A
batch of notes is one transaction with its statistics, so a store always holds whole notes with the right counts. A
killed push continues with the next one, which compares digests.
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
from excerpt.index.catalog import AT_ONCE, DamagedRowError, text_from_row
from excerpt.index.changes import READ_BY_OCR
from excerpt.index.names import stored
from excerpt.index.postings import only_docs
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
from excerpt.store.words import TermCount, TermsOf, fields_in, terms_of_documents, tokens_in
from excerpt.text.display import format_count, visible_line
from excerpt.vault.readers.registry import suffixes_of

OnNotes = Callable[[int, int], None]
"""Called with the number of written notes, and of all."""

_BATCH = 10_000
"""Fragments in one transaction, as far as notes allow."""
_FEW = 100
"""The number of notes that may change before the planner's statistics are updated."""
_ALONE = 0x657863
"""Of the advisory locks under which one program at a time pushes a vault."""

_NOTE = (
    *(("id", "int8"), ("vault", "int4"), ("area", "int4"), ("path", "text"), ("state", "text"), ("size", "int8")),
    *(("mtime_ns", "int8"), ("digest", "text"), ("title", "text"), ("language", "text"), ("tokens", "int4")),
    *(("kind", "text"), ("text", "bytea"), ("own", "int4"), ("lengths", "bytea"), ("terms", "bytea")),
    *(("files", "bytea"), ("targets", "text")),
)
_OF_NOTE = (("vault", "int4"), ("area", "int4"), ("note", "int8"))
_SECTION = (
    *(*_OF_NOTE, ("ordinal", "int4"), ("level", "int4"), ("heading", "text"), ("heading_path", "text")),
    *(("line_start", "int4"), ("line_end", "int4"), ("place", "text")),
)
_FRAGMENT = (
    *(("vault", "int4"), ("key", "int8"), ("area", "int4"), ("attached", "bool"), ("note", "int8"), ("id", "text")),
    *(("ordinal", "int4"), ("section", "int4")),
    *(("line_start", "int4"), ("line_end", "int4"), ("tokens", "int4"), ("digest", "text"), ("text", "text")),
    *(("words", "text"), ("lengths", "int2[]"), ("places", "bytea"), ("vector", "halfvec")),
)
_LINK = (
    *(*_OF_NOTE, ("line", "int4"), ("kind", "text"), ("target", "text"), ("heading", "text")),
    *(("block_id", "text"), ("text", "text")),
)
_LABEL = (*_OF_NOTE, ("kind", "text"), ("name", "text"), ("value", "text"))
_NAME = (*_OF_NOTE, ("name", "text"))
_TABLES_OF_NOTES = (
    ("sections", _SECTION, "ordinal"),
    ("links", _LINK, "rowid"),
    ("labels", _LABEL, "rowid"),
    ("names", _NAME, "name"),
)
"""Tables, with their columns and order, that have rows of a note beside its fragments."""


def push(
    snapshot: Snapshot,
    address: Address,
    records: Path,
    on_notes: OnNotes = lambda _written, _of: None,
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
    """A connection over which a vault is pushed as often as it changes. Usable from one thread at a time."""

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
            self._connection.know_vectors()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def push(
        self,
        snapshot: Snapshot,
        on_notes: OnNotes = lambda _written, _of: None,
        rights: Changes | None = None,
        rules: PushRules = NO_RULES,
    ) -> PushReport:
        """Bring the vault up to the snapshot, and change who may read it.

        Raises StoreUnusableError, and PushRefusedError if the rules do not allow the changes.
        """
        return _Push(snapshot, self._connection, self._name, on_notes, rules).run(self._records, rights)


@dataclass(frozen=True, slots=True)
class _OwnNote:
    """A note of the index: its path, the digest of its file, and the versions and settings that it was read by."""

    path: str
    digest: str
    cut: str


@dataclass(frozen=True, slots=True)
class _StoredNote:
    """A note of the store; `state` is its `cut` and what the whole vault was made with, as `_Push.state` joins them."""

    number: int
    digest: str
    state: str
    mtime_ns: int
    area: int
    kind: str

    @property
    def cut(self) -> str:
        return self.state.partition(_MADE_WITH)[0]


_MADE_WITH = " | "


@dataclass(slots=True)
class _Change:
    """How what a transaction puts in and takes out changes the statistics of notes, or of attachments."""

    fragments: int = 0
    lengths: NDArray[np.float64] = field(default_factory=lambda: np.zeros(len(FIELDS)))
    filled: NDArray[np.int64] = field(default_factory=lambda: np.zeros(len(FIELDS), np.int64))
    vectors: NDArray[np.float64] = field(default_factory=lambda: np.zeros(schema.DIMENSIONS))

    def add(self, lengths: NDArray[np.int64], vectors: NDArray[np.float64], sign: int) -> None:
        """Count some fragments, or with a `sign` of -1 take them off."""
        self.fragments += sign * len(lengths)
        self.lengths += sign * lengths.sum(axis=0)
        self.filled += sign * np.count_nonzero(lengths, axis=0)
        self.vectors += sign * vectors.sum(axis=0)


_Changed = dict[tuple[int, bool], _Change]
"""By area, of notes and of attachments."""


@dataclass(frozen=True, slots=True)
class _Batch:
    """Notes of one area by their numbers in the index, the terms of their fragments by key, and counts of terms."""

    area: int
    notes: list[int]
    terms: Mapping[int, TermsOf]
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
        self._begun = time.perf_counter()
        self._vault = self._registered(name)

    def run(self, records: Path, rights: Changes | None) -> PushReport:
        """Write what differs. Two that push the same vault take turns."""
        self._connection.rows("SELECT pg_advisory_lock(%s, %s)", _ALONE, self._vault)
        try:
            return self._run(records / f"{self._identity()}.json", rights)
        finally:
            with suppress(StoreUnusableError):  # a lost connection has no locks
                self._connection.rows("SELECT pg_advisory_unlock(%s, %s)", _ALONE, self._vault)

    def _run(self, file: Path, rights: Changes | None) -> PushReport:
        record = read_value(file, PushRecord, None) or PushRecord()
        self._here, self._there = self._own_notes(), self._stored_notes()
        ours = {note.path: note.digest for note in self._here.values()}
        theirs = {path: note.digest for path, note in self._there.items()}
        ours |= {path: theirs[path] for path in self._same_texts()}
        unreadable = self._unreadable()
        plan = compare(ours, theirs, record, unreadable, self._rules)
        check_plan(plan, ours, theirs, self._rules)
        self._check_model(plan)
        if plan.write or plan.remove:
            pending = {path: ours[path] for path in plan.write} | dict.fromkeys(plan.remove, GONE)
            _write_record(file, replace(record, notes=dict(plan.base), pending=pending))
        if rights is not None:
            change_rights(self._connection, self._vault, rights, sorted({*ours, *theirs} - {*plan.remove}))
        status = self._snapshot.status()
        following = replace(
            next_record(plan, ours, theirs, unreadable),
            remarks=sorted(
                (one.path, is_skipped, one.reason)
                for is_skipped, several in ((True, status.skipped), (False, status.warnings))
                for one in several
                if one.path not in plan.kept
            ),
            moves=sorted(self._snapshot.rows("SELECT path, became FROM moves")),
        )
        report = self._carry_out(plan, rights is not None, status, record, following)
        if following != record:
            _write_record(file, following)
        return report

    def _carry_out(
        self, plan: PushPlan, has_new_rights: bool, status: Status, record: PushRecord, following: PushRecord
    ) -> PushReport:
        """Write and remove the notes of a plan, and update rows that another version, setting or area affects."""
        rows = self._connection.rows
        areas = Areas(self._connection, self._vault)
        outdated = self._outdated(plan)
        rewritten = {*plan.write, *outdated}
        by_area: dict[int, set[int]] = {}
        for number, note in self._here.items():
            if note.path in rewritten:
                by_area.setdefault(areas.of(note.path), set()).add(number)
        written = 0
        for area, of_area in sorted(by_area.items()):
            for batch in self._batches(area, of_area):
                self._replace(batch, outdated)
                written += len(batch.notes)
                self._on_notes(written, len(rewritten))
        for at in range(0, len(plan.remove), AT_ONCE):
            with self._connection.transaction():
                taken: _Changed = {}
                self._take_out(plan.remove[at : at + AT_ONCE], taken)
                self._count(taken)
        moved = self._change_areas(areas, {*rewritten, *plan.remove})
        changes = len(rewritten) + len(plan.remove) + moved
        if changes:
            for area in areas_of(self._connection, self._vault):
                rows(f"DELETE FROM {schema.table('terms', area)} WHERE fragments <= 0")
        after = (self._there.keys() | set(plan.write)) - set(plan.remove)
        self._describe(areas, status, (record, following), after, is_changed=bool(changes) or has_new_rights)
        drop_empty_areas(self._connection, self._vault)
        left = areas_of(self._connection, self._vault)
        schema.make_indexes(self._connection, left)
        if changes > max(_FEW, len(after) // 10):
            for area in left:
                for table in ("fragments", "notes", "terms", "names"):
                    rows(f"VACUUM (ANALYZE) {schema.table(table, area)}")
        added = sum(path not in self._there for path in plan.write)
        kept = sum(path in self._there for path in plan.kept)
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
            unchanged=len(after) - added - changed - kept,
            kept=kept,
            conflicts=plan.conflicts,
            fragments=int(fragments),
            seconds=time.perf_counter() - self._begun,
            rights=rights_of(self._connection, self._vault),
            position=str(rows("SELECT pg_current_wal_flush_lsn()::text")[0][0]),
        )

    def _identity(self) -> str:
        ((identity,),) = self._connection.rows("SELECT identity::text FROM excerpt.vaults WHERE id = %s", self._vault)
        return str(identity)

    def _own_notes(self) -> dict[int, _OwnNote]:
        """Return the notes of the index, by number."""
        found = self._snapshot.rows("SELECT id, path, digest, cut FROM notes")
        return {number: _OwnNote(*row) for number, *row in found}

    def _stored_notes(self) -> dict[str, _StoredNote]:
        """Return the notes of the store, by path."""
        found = self._connection.rows(
            "SELECT path, id, digest, state, mtime_ns, area, kind FROM excerpt.notes WHERE area = ANY(%s)",
            areas_of(self._connection, self._vault),
        )
        return {path: _StoredNote(*row) for path, *row in found}

    def _same_texts(self) -> Iterator[str]:
        """Yield the notes whose text equals the store's although their files differ.

        They differ in line ends, as git makes them on Windows, or in a byte order mark.
        """
        differing = {
            number: stored.number
            for number, note in self._here.items()
            if (stored := self._there.get(note.path)) and stored.digest != note.digest and not stored.kind
        }
        numbers = list(differing)
        for at in range(0, len(numbers), AT_ONCE):
            part = numbers[at : at + AT_ONCE]
            texts: dict[int, bytes] = dict(
                self._connection.rows(
                    "SELECT id, text FROM excerpt.notes WHERE area = ANY(%s) AND id = ANY(%s)",
                    areas_of(self._connection, self._vault),
                    [differing[number] for number in part],
                )
            )
            for number, text in self._of(part, "SELECT note, text FROM note_texts WHERE note"):
                with suppress(DamagedRowError):  # it is written again
                    if text_from_row(text) == text_from_row(texts[differing[number]]):
                        yield self._here[number].path

    def _unreadable(self) -> frozenset[str]:
        """Attachments of the store whose kind cannot be read here, as a package is missing or OCR is off."""
        suffixes = suffixes_of(self._snapshot.settings.vault).read
        return frozenset(
            path for path, note in self._there.items() if note.kind and not path.lower().endswith(suffixes)
        )

    def _check_model(self, plan: PushPlan) -> None:
        """Raise PushRefusedError if the store would hold notes of two models or tokenizers without permission."""
        kept = [path for path in plan.kept if path in self._there]
        if not kept or self._rules.merge or self._rules.mirror:
            return
        ((model, tokenizer),) = self._connection.rows(
            "SELECT model_source, tokenizer FROM excerpt.vaults WHERE id = %s", self._vault
        )
        if model and (model, tokenizer) != (self._meta["model_id"], self._meta["tokenizer"]):
            raise PushRefusedError(
                f"The push was refused: nothing was written. {format_count(len(kept), 'note')} would stay unchanged "
                f"in the store, such as {visible_line(kept[0])}, made with another embedding model or tokenizer, "
                "or by an older excerpt.",
                "Set embedding.model and pack.tokenizer to those of the other pushers, or push from a copy that has"
                " these notes; --merge pushes anyway, and search finds these notes less well until then.",
            )

    def _outdated(self, plan: PushPlan) -> dict[str, int]:
        """Return notes to write again although their content is in the store, with the store's modification times.

        Text from OCR is not replaced by what was read without it.
        """
        decided = {*plan.write, *plan.kept}
        found: dict[str, int] = {}
        for note in self._here.values():
            if note.path in decided:
                continue
            stored = self._there[note.path]
            loses_ocr = stored.cut.endswith(READ_BY_OCR) and not note.cut.endswith(READ_BY_OCR)
            if stored.state != self._state(note) and not loses_ocr:
                found[note.path] = stored.mtime_ns
        return found

    def _state(self, note: _OwnNote) -> str:
        """Return what the rows of a note depend on besides its content."""
        made = (self._meta[name] for name in ("model_id", "tokenizer", "analyzer", "names"))
        return _MADE_WITH.join((note.cut, " ".join(made)))

    @cached_property
    def _meta(self) -> dict[str, str]:
        """What the index was made with, by the names of `build_parameters`."""
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
        wanted = np.array(sorted(changed), np.int64)
        attached = self._attached
        for keys, notes, segment in self._snapshot.lexical.segments_with(wanted):
            chosen = np.flatnonzero(np.isin(notes, wanted))
            ends = np.flatnonzero(np.diff(notes[chosen], append=-1)) + 1
            begin = 0
            while begin < len(chosen):
                end = int(ends[min(int(np.searchsorted(ends, begin + _BATCH)), len(ends) - 1)])
                part = chosen[begin:end]
                numbers = np.full(len(keys), -1, np.int32)
                numbers[part] = np.arange(len(part))
                terms, counts = terms_of_documents(
                    only_docs(segment, numbers), notes[part], np.isin(notes[part], attached)
                )
                batch = list(dict.fromkeys(notes[part].tolist()))
                yield _Batch(area, batch, dict(zip(keys[part].tolist(), terms, strict=True)), counts)
                left.difference_update(batch)
                begin = end
        without_fragments = sorted(left)
        for at in range(0, len(without_fragments), AT_ONCE):
            yield _Batch(area, without_fragments[at : at + AT_ONCE], {}, [])

    @cached_property
    def _attached(self) -> NDArray[np.int64]:
        """The notes that are attachments."""
        return np.array([row[0] for row in self._snapshot.rows("SELECT id FROM notes WHERE kind <> ''")], np.int64)

    def _of(self, notes: Sequence[int], sql: str) -> list[Row]:
        """Rows of the index; `sql` ends in what is to be among some notes' numbers, and their order."""
        select, _, order = sql.partition(" ORDER BY ")
        found: list[Row] = []
        for at in range(0, len(notes), AT_ONCE):
            part = notes[at : at + AT_ONCE]
            among = f"{select} IN ({','.join('?' * len(part))})"
            found += self._snapshot.rows(f"{among} ORDER BY {order}" if order else among, *part)
        return found

    # --- one transaction ----------------------------------------------------------------------------------------------

    def _replace(self, batch: _Batch, times: Mapping[str, int]) -> None:
        """Replace some notes in the store; `times` are those of the last change, by path, if not the file's."""
        self._snapshot.check_rows(batch.notes)
        fragments = self._of(
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
            of_kind = changed[batch.area, kind] = _Change()
            of_kind.add(lengths[attached == kind], vectors[attached == kind].astype(np.float64), 1)
        with self._connection.transaction():
            self._take_out([self._here[note].path for note in batch.notes], changed)
            numbers = self._copied_notes(batch, times)
            self._connection.copy(
                schema.table("fragments", batch.area),
                _FRAGMENT,
                (
                    (
                        *(self._vault, numbers[note] << ORDINALS | ordinal, batch.area, is_attached, numbers[note]),
                        *(fragment_id, ordinal, *rest),
                        *(batch.terms[key].words, list(batch.terms[key].lengths), batch.terms[key].places, vector),
                    )
                    for (note, key, fragment_id, ordinal, *rest), is_attached, vector in zip(
                        fragments, attached.tolist(), as_vectors(vectors), strict=True
                    )
                ),
            )
            self._count_terms(batch.area, batch.counts)
            self._count(changed)

    def _copied_notes(self, batch: _Batch, times: Mapping[str, int]) -> dict[int, int]:
        """Insert notes with all rows that are not of fragments; return their new numbers in the store."""
        vault, area, notes, connection = self._vault, batch.area, batch.notes, self._connection
        names = stored(self._snapshot.rows, list(notes))
        numbers = dict(zip(notes, self._new_numbers(len(notes)), strict=True))
        of_notes = self._of(
            notes,
            "SELECT id, path, size, mtime_ns, digest, title, language, tokens, kind, note_texts.text FROM notes"
            " JOIN note_texts ON note = id WHERE id",
        )
        connection.copy(
            schema.table("notes", area),
            _NOTE,
            (
                (
                    *(numbers[note], vault, area, path, self._state(self._here[note])),
                    *(size, times.get(path, mtime_ns), *rest, *names[note]),
                )
                for note, path, size, mtime_ns, *rest in of_notes
            ),
        )
        for table, columns, order in _TABLES_OF_NOTES:
            selected = ", ".join(name for name, _ in columns[len(_OF_NOTE) :])
            found = self._of(notes, f"SELECT note, {selected} FROM {table} WHERE note ORDER BY note, {order}")
            rows = ((vault, area, numbers[note], *rest) for note, *rest in found)
            connection.copy(schema.table(table, area), columns, rows)
        return numbers

    def _take_out(self, paths: Sequence[str], changed: _Changed) -> None:
        """Delete notes, as far as they are there, with what they count."""
        by_area: dict[int, list[int]] = {}
        for note in filter(None, map(self._there.get, paths)):
            by_area.setdefault(note.area, []).append(note.number)
        for area, numbers in sorted(by_area.items()):
            self._uncount(area, numbers, changed)
            self._connection.rows(f"DELETE FROM {schema.table('notes', area)} WHERE id = ANY(%s)", numbers)

    def _uncount(self, area: int, numbers: Sequence[int], changed: _Changed) -> list[Row]:
        """Subtract the fragments of some notes of an area from the statistics.

        Returns for each its tokens, lengths, vector, whether it is of an attachment, and its note.
        """
        rows = self._connection.rows
        taken = rows(
            f"SELECT words, lengths, vector::real[], attached, note FROM {schema.table('fragments', area)}"
            " WHERE note = ANY(%s)",
            list(numbers),
        )
        for attached in sorted({row[3] for row in taken}):
            of_it = [row for row in taken if row[3] == attached]
            of_kind = changed.setdefault((area, attached), _Change())
            of_kind.add(np.array([row[1] for row in of_it]), np.array([row[2] for row in of_it], np.float64), -1)
            tokens, counts, in_notes = tokens_in([row[0] for row in of_it], [row[4] for row in of_it])
            rows(
                f"UPDATE {schema.table('terms', area)} AS terms SET fragments = terms.fragments - less.fragments,"
                " attached = terms.attached - less.attached, notes = terms.notes - less.notes"
                " FROM unnest(%s::text[], %s::integer[], %s::integer[], %s::integer[])"
                " AS less (token, fragments, attached, notes) WHERE terms.token = less.token",
                *(tokens, counts, counts if attached else [0] * len(counts), in_notes),
            )
        return taken

    def _change_areas(self, areas: Areas, decided: Collection[str]) -> int:
        """Move each note to the area of its path, except those `decided` on; return how many.

        Their rows are the store's, because this copy may not have them.
        """
        by_area: dict[tuple[int, int], list[str]] = {}
        for path, note in self._there.items():
            if path not in decided and note.area != (area := areas.of(path)):
                by_area.setdefault((note.area, area), []).append(path)
        for (before, area), paths in sorted(by_area.items()):
            for at in range(0, len(paths), AT_ONCE):
                self._change_area(paths[at : at + AT_ONCE], before, area)
        return sum(map(len, by_area.values()))

    def _change_area(self, paths: Sequence[str], before: int, area: int) -> None:
        """Put some notes into another area, under new numbers: an open session does not take them for what it knows."""
        rows = self._connection.rows
        numbers = [self._there[path].number for path in paths]
        with self._connection.transaction():
            changed: _Changed = {}
            taken = self._uncount(before, numbers, changed)
            for attached in (False, True):
                of_kind = changed[area, attached] = _Change()
                if of_it := [row for row in taken if row[3] == attached]:
                    vectors = np.array([row[2] for row in of_it], np.float64)
                    of_kind.add(np.array([row[1] for row in of_it]), vectors, 1)
                    self._count_terms(area, self._counts(before, of_it, attached=attached))
            new = self._new_numbers(len(paths))
            notes = numbers, new, list(paths)
            self._copy_rows("notes", _NOTE, "", notes, (before, area))
            for table, columns, order in (*_TABLES_OF_NOTES, ("fragments", _FRAGMENT, "key")):
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
        """Copy the rows of some notes, given by their numbers, new numbers and paths, from an area into another."""
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
        tokens, counts, in_notes = tokens_in([row[0] for row in fragments], [row[4] for row in fragments])
        fields = fields_in([row[0] for row in fragments], [row[1] for row in fragments])
        terms: dict[str, str] = dict(
            self._connection.rows(
                f"SELECT token, term FROM {schema.table('terms', area)} WHERE token = ANY(%s)", tokens
            )
        )
        return [
            TermCount(token, terms[token], count, count if attached else 0, of_notes, fields[token])
            for token, count, of_notes in zip(tokens, counts, in_notes, strict=True)
        ]

    def _new_numbers(self, count: int) -> list[int]:
        """Return numbers for notes that were never used."""
        taken = self._connection.rows(
            "SELECT nextval(pg_get_serial_sequence('excerpt.notes', 'id')) FROM generate_series(1, %s)", count
        )
        return [int(row[0]) for row in taken]

    def _count_terms(self, area: int, terms: Sequence[TermCount]) -> None:
        """Add terms to those of an area."""
        self._connection.rows(
            f"INSERT INTO {schema.table('terms', area)} AS terms"
            " (vault, area, token, term, fragments, attached, notes, fields) SELECT %s, %s, *"
            " FROM unnest(%s::text[], %s::text[], %s::integer[], %s::integer[], %s::integer[], %s::smallint[])"
            " ON CONFLICT (token) DO UPDATE SET fragments = terms.fragments + excluded.fragments,"
            " attached = terms.attached + excluded.attached, notes = terms.notes + excluded.notes,"
            " fields = terms.fields | excluded.fields",
            *(self._vault, area, [one.token for one in terms], [one.term for one in terms]),
            *([one.fragments for one in terms], [one.attached for one in terms]),
            *([one.notes for one in terms], [one.fields for one in terms]),
        )

    def _count(self, changed: _Changed) -> None:
        """Write what a transaction changes of the statistics."""
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
        """Write changed descriptions of the vault: skipped files, moves, the model, and the time of the update.

        `records` are those before and after this push, `paths` those of all notes in the store.
        """
        rows = self._connection.rows
        before, after = records
        remarks_there = set(
            rows("SELECT area, path, skipped, reason FROM excerpt.remarks WHERE vault = %s", self._vault)
        )
        kept = {row[1:] for row in remarks_there} - {*before.remarks}
        remarks = {
            (areas.of(path), path, skipped, reason)
            for path, skipped, reason in ({*after.remarks} if self._rules.mirror else kept | {*after.remarks})
            if (path in paths) != skipped or (path, skipped, reason) in after.remarks
        }
        moves_there = set(rows("SELECT area, now_in, path, became FROM excerpt.moves WHERE vault = %s", self._vault))
        others = {row[2:] for row in moves_there} - {*before.moves}
        moved = {path: became for path, became in others if became in paths and not self._rules.mirror}
        moves = {(areas.of(path), areas.of(to), path, to) for path, to in (moved | dict(after.moves)).items()}
        made = (status.model, self._meta["model_id"], status.tokenizer)
        ((*described,),) = rows("SELECT model, model_source, tokenizer FROM excerpt.vaults WHERE id = %s", self._vault)
        if not is_changed and (remarks, moves, made) == (remarks_there, moves_there, tuple(described)):
            return
        with self._connection.transaction():
            rows("DELETE FROM excerpt.remarks WHERE vault = %s", self._vault)
            self._connection.copy(
                "excerpt.remarks",
                (("vault", "int4"), ("area", "int4"), ("path", "text"), ("skipped", "bool"), ("reason", "text")),
                [(self._vault, *one) for one in sorted(remarks)],
            )
            rows("DELETE FROM excerpt.moves WHERE vault = %s", self._vault)
            self._connection.copy(
                "excerpt.moves",
                (("vault", "int4"), ("area", "int4"), ("now_in", "int4"), ("path", "text"), ("became", "text")),
                [(self._vault, *one) for one in sorted(moves)],
            )
            rows(
                "UPDATE excerpt.vaults SET updated = %s, model = %s, model_source = %s, tokenizer = %s,"
                " revision = revision + 1 WHERE id = %s",
                *(status.updated, *made, self._vault),
            )


def _write_record(file: Path, record: PushRecord) -> None:
    """Write what this copy knows of the store. Raises StoreUnusableError."""
    try:
        write_value(file, record)
    except OSError as error:
        raise StoreUnusableError(
            f"The push cannot be recorded in {visible_line(str(file))}: {error.strerror}.",
            "Make room or give permission: a push needs this file to detect what others changed.",
        ) from error
