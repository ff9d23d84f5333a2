"""A vault's index, written to a store: what is new or changed, note by note; what is gone is deleted.

A batch of notes is one transaction, with the statistics that it changes, so that a store holds whole notes at any
moment and its counts are theirs. A push that was killed goes on with the next: what is there is compared by digest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from excerpt.errors import StoreUnusableError
from excerpt.index.catalog import AT_ONCE
from excerpt.index.names import NAMES_VERSION, stored
from excerpt.index.postings import FIELDS, FIELDS_VERSION, only_docs
from excerpt.index.snapshot import Snapshot
from excerpt.model import PushReport
from excerpt.store import schema
from excerpt.store.address import Address
from excerpt.store.connection import Connection, Row, as_vectors
from excerpt.store.rights import (
    Areas,
    Changes,
    act_as_owner,
    begin_rights,
    change_rights,
    drop_empty_areas,
    make_roles,
    rights_of,
)
from excerpt.store.words import TermCount, TermsOf, terms_of_documents, tokens_in

OnNotes = Callable[[int, int], None]
"""Told how many notes were written, of how many."""

_BATCH = 10_000
"""Fragments in one transaction, as far as notes allow."""
_FEW = 100
"""Notes that may change without the planner's statistics being made anew."""
_ALONE = 0x657863
"""Of the advisory locks under which one program at a time pushes a vault."""
ORDINALS = 20
"""Bits of a fragment's key that its ordinal takes; those above are its note's number."""

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


def push(
    snapshot: Snapshot,
    address: Address,
    on_notes: OnNotes = lambda _written, _of: None,
    *,
    roles: bool = False,
    rights: Changes | None = None,
) -> PushReport:
    """Bring the vault that `address` names up to the snapshot; with `roles`, make those of writers and readers first.
    `rights` hold when it is done. Raises StoreUnusableError."""
    pusher = Pusher(address, roles=roles)
    try:
        return pusher.push(snapshot, on_notes, rights)
    finally:
        pusher.close()


class Pusher:
    """A connection over which a vault is pushed as often as it changes. Usable from one thread at a time."""

    def __init__(self, address: Address, *, roles: bool = False) -> None:
        """Make the tables, and the `roles` of writers and readers, as far as they are missing. Raises
        StoreUnusableError."""
        if not address.vault:
            raise StoreUnusableError(
                "The address does not say what the vault is called there.", "Put ?vault=NAME behind it."
            )
        self._name = address.vault
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
        self._connection.close()

    def push(
        self,
        snapshot: Snapshot,
        on_notes: OnNotes = lambda _written, _of: None,
        rights: Changes | None = None,
    ) -> PushReport:
        """Bring the vault up to the snapshot, and change who may read it. Raises StoreUnusableError."""
        return _Push(snapshot, self._connection, self._name, on_notes).run(rights)


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
    """Notes of one area, by their numbers in the index, the terms of their fragments by key, and each term with its
    counts."""

    area: int
    notes: list[int]
    terms: Mapping[int, TermsOf]
    counts: Sequence[TermCount]


class _Push:
    """One push over one connection."""

    def __init__(self, snapshot: Snapshot, connection: Connection, name: str, on_notes: OnNotes) -> None:
        self._snapshot = snapshot
        self._connection = connection
        self._on_notes = on_notes
        self._begun = time.perf_counter()
        self._vault = self._registered(name)

    def run(self, rights: Changes | None) -> PushReport:
        """Write what differs. Two that push the same vault take turns."""
        self._connection.rows("SELECT pg_advisory_lock(%s, %s)", _ALONE, self._vault)
        try:
            if rights is not None:
                paths = [row[0] for row in self._snapshot.rows("SELECT path FROM notes")]
                change_rights(self._connection, self._vault, rights, paths)
            return self._written(Areas(self._connection, self._vault))
        finally:
            with suppress(StoreUnusableError):  # a lost connection has no locks
                self._connection.rows("SELECT pg_advisory_unlock(%s, %s)", _ALONE, self._vault)

    def _written(self, areas: Areas) -> PushReport:
        rows = self._connection.rows
        there: dict[str, str] = dict(rows("SELECT path, state FROM excerpt.notes WHERE vault = %s", self._vault))
        here = self._states(areas)
        changed = {number for number, (path, state) in here.items() if there.get(path) != state}
        added = sum(here[number][0] not in there for number in changed)
        gone = sorted(there.keys() - {path for path, _ in here.values()})
        written = 0
        by_area: dict[int, set[int]] = {}
        for number in changed:
            by_area.setdefault(areas.of(here[number][0]), set()).add(number)
        for area, of_area in sorted(by_area.items()):
            for batch in self._batches(area, of_area):
                self._replace(batch, here)
                written += len(batch.notes)
                self._on_notes(written, len(changed))
        for at in range(0, len(gone), AT_ONCE):
            with self._connection.transaction():
                taken: _Changed = {}
                self._take_out(gone[at : at + AT_ONCE], taken)
                self._count(taken)
        rows("DELETE FROM excerpt.terms WHERE vault = %s AND fragments <= 0", self._vault)
        self._describe(areas)
        drop_empty_areas(self._connection, self._vault)
        schema.make_indexes(self._connection, self._vault)
        if len(changed) + len(gone) > max(_FEW, len(here) // 10):
            for table in (schema.partition(self._vault), "excerpt.notes", "excerpt.terms", "excerpt.names"):
                rows(f"VACUUM (ANALYZE) {table}")
        return PushReport(
            added=added,
            changed=len(changed) - added,
            removed=len(gone),
            unchanged=len(here) - len(changed),
            fragments=len(self._snapshot.lexical.keys),
            seconds=time.perf_counter() - self._begun,
            rights=rights_of(self._connection, self._vault),
            position=str(rows("SELECT pg_current_wal_flush_lsn()::text")[0][0]),
        )

    def _registered(self, name: str) -> int:
        """The number of the vault in the store, which has its table from then on."""
        dimensions = len(self._snapshot.vectors.mean)
        if dimensions != schema.DIMENSIONS:
            raise StoreUnusableError(
                f"The vectors of this vault have {dimensions} dimensions; a store holds {schema.DIMENSIONS}.",
                "Use the model that ships with excerpt for it: embedding.model in the settings.",
            )
        with self._connection.transaction():
            self._connection.rows("INSERT INTO excerpt.vaults (name) VALUES (%s) ON CONFLICT (name) DO NOTHING", name)
            vault = int(self._connection.rows("SELECT id FROM excerpt.vaults WHERE name = %s", name)[0][0])
            begin_rights(self._connection, vault)
            schema.make_partition(self._connection, vault)
        return vault

    def _states(self, areas: Areas) -> dict[int, tuple[str, str]]:
        """Path of each note in the index by its number, and what its rows in the store are made from."""
        made = f"{self._model}/{FIELDS_VERSION}/{NAMES_VERSION}"
        return {
            number: (path, f"{digest}/{cut}/{modified}/{made}/{areas.of(path)}")
            for number, path, digest, cut, modified in self._snapshot.rows(
                "SELECT id, path, digest, cut, mtime_ns FROM notes"
            )
        }

    @cached_property
    def _model(self) -> str:
        """What the vectors were made with, as the index says it."""
        return str(self._snapshot.rows("SELECT value FROM meta WHERE name = 'model_source'")[0][0])

    def _batches(self, area: int, changed: set[int]) -> Iterator[_Batch]:
        """Notes of an area in batches, with the terms of their fragments."""
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

    def _replace(self, batch: _Batch, states: Mapping[int, tuple[str, str]]) -> None:
        """Write some notes, in the place of what the store has of them."""
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
            self._take_out([states[note][0] for note in batch.notes], changed)
            numbers = self._copied_notes(batch, states)
            self._connection.copy(
                "excerpt.fragments",
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
            self._count_terms(batch)
            self._count(changed)

    def _copied_notes(self, batch: _Batch, states: Mapping[int, tuple[str, str]]) -> dict[int, int]:
        """Put notes in, with all that is not of fragments; returns the numbers that they have in the store, which
        were never used before."""
        vault, area, notes, connection = self._vault, batch.area, batch.notes, self._connection
        names = stored(self._snapshot.rows, list(notes))
        taken = connection.rows(
            "SELECT nextval(pg_get_serial_sequence('excerpt.notes', 'id')) FROM generate_series(1, %s)", len(notes)
        )
        numbers = {note: int(row[0]) for note, row in zip(notes, taken, strict=True)}
        of_notes = self._of(
            notes,
            "SELECT id, path, size, mtime_ns, digest, title, language, tokens, kind, note_texts.text FROM notes"
            " JOIN note_texts ON note = id WHERE id",
        )
        connection.copy(
            "excerpt.notes",
            _NOTE,
            (
                (numbers[note], vault, area, path, states[note][1], *rest, *names[note])
                for note, path, *rest in of_notes
            ),
        )
        for table, columns, order in (
            ("sections", _SECTION, "ordinal"),
            ("links", _LINK, "rowid"),
            ("labels", _LABEL, "rowid"),
            ("names", _NAME, "name"),
        ):
            selected = ", ".join(name for name, _ in columns[len(_OF_NOTE) :])
            found = self._of(notes, f"SELECT note, {selected} FROM {table} WHERE note ORDER BY note, {order}")
            connection.copy(f"excerpt.{table}", columns, ((vault, area, numbers[note], *rest) for note, *rest in found))
        return numbers

    def _take_out(self, paths: Sequence[str], changed: _Changed) -> None:
        """Delete notes, as far as they are there, with what they count."""
        rows = self._connection.rows
        found = rows("SELECT id FROM excerpt.notes WHERE vault = %s AND path = ANY(%s)", self._vault, list(paths))
        numbers = [row[0] for row in found]
        if not numbers:
            return
        taken = rows(
            f"SELECT words, lengths, vector::real[], area, attached, note FROM {schema.partition(self._vault)}"
            " WHERE note = ANY(%s)",
            numbers,
        )
        for kind in sorted({(row[3], row[4]) for row in taken}):
            area, attached = kind
            of_it = [row for row in taken if row[3:5] == kind]
            of_kind = changed.setdefault(kind, _Change())
            of_kind.add(np.array([row[1] for row in of_it]), np.array([row[2] for row in of_it], np.float64), -1)
            tokens, counts, in_notes = tokens_in([row[0] for row in of_it], [row[5] for row in of_it])
            rows(
                "UPDATE excerpt.terms SET fragments = terms.fragments - less.fragments,"
                " attached = terms.attached - less.attached, notes = terms.notes - less.notes"
                " FROM unnest(%s::text[], %s::integer[], %s::integer[], %s::integer[])"
                " AS less (token, fragments, attached, notes) WHERE area = %s AND terms.token = less.token",
                *(tokens, counts, counts if attached else [0] * len(counts), in_notes, area),
            )
        rows("DELETE FROM excerpt.notes WHERE id = ANY(%s)", numbers)

    def _count_terms(self, batch: _Batch) -> None:
        """Add the terms of a batch to those of its area."""
        terms = batch.counts
        self._connection.rows(
            "INSERT INTO excerpt.terms (vault, area, token, term, fragments, attached, notes, fields) SELECT %s, %s, *"
            " FROM unnest(%s::text[], %s::text[], %s::integer[], %s::integer[], %s::integer[], %s::smallint[])"
            " ON CONFLICT (area, token) DO UPDATE SET fragments = terms.fragments + excluded.fragments,"
            " attached = terms.attached + excluded.attached, notes = terms.notes + excluded.notes,"
            " fields = terms.fields | excluded.fields",
            *(self._vault, batch.area, [one.token for one in terms], [one.term for one in terms]),
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

    def _describe(self, areas: Areas) -> None:
        """Write what is said of the vault: files that were skipped, moves, when it was brought up to date."""
        rows, status = self._connection.rows, self._snapshot.status()
        with self._connection.transaction():
            rows("DELETE FROM excerpt.remarks WHERE vault = %s", self._vault)
            self._connection.copy(
                "excerpt.remarks",
                (("vault", "int4"), ("area", "int4"), ("path", "text"), ("skipped", "bool"), ("reason", "text")),
                [
                    (self._vault, areas.of(one.path), one.path, skipped, one.reason)
                    for skipped, several in ((True, status.skipped), (False, status.warnings))
                    for one in several
                ],
            )
            rows("DELETE FROM excerpt.moves WHERE vault = %s", self._vault)
            self._connection.copy(
                "excerpt.moves",
                (("vault", "int4"), ("area", "int4"), ("now_in", "int4"), ("path", "text"), ("became", "text")),
                [
                    (self._vault, areas.of(path), areas.of(became), path, became)
                    for path, became in self._snapshot.rows("SELECT path, became FROM moves")
                ],
            )
            rows(
                "UPDATE excerpt.vaults SET updated = %s, model = %s, model_source = %s, tokenizer = %s,"
                " revision = revision + 1 WHERE id = %s",
                *(status.updated, status.model, self._model, status.tokenizer, self._vault),
            )
