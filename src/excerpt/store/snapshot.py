"""A vault in a store, read as an index is: notes and texts when they are asked for, of fragments what a query needs."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from excerpt.errors import ModelError, StoreUnusableError
from excerpt.index.embed import Embedder, open_embedder
from excerpt.index.facets import Facets, Notes
from excerpt.index.postings import EMBEDDED_TEXT_VERSION, FIELDS
from excerpt.index.snapshot import CatalogView, FragmentTable, fragment_from_row
from excerpt.model import Fragment, Part, Skipped, Status
from excerpt.settings import Settings
from excerpt.store import schema
from excerpt.store.address import Address
from excerpt.store.candidates import Ask, CandidateTerms, CandidateVectors, FoundFragments, KnownTerms, Statistics
from excerpt.store.connection import Connection, ConnectionLostError, IndexDamagedError, Row, Statement, storable
from excerpt.store.push import ORDINALS
from excerpt.store.words import TokenEntries

_TIMEOUT = 20.0
"""Seconds that a statement of a reader may take, and that a replica may be behind what is asked for."""
_NEXT_LOOK = 0.01
"""Seconds; a replica beside its primary is behind by 1.4 ms at p50, 3.5 at p95."""
_MOST = 2_000
"""Fragments that filters or rights may leave so that all of them are looked at, in place of the best by words and by
meaning."""
_FEW = 0.2
"""Of more, where they are at most this share of the vault, the nearest are found by a scan: of an index over all
fragments many would have to be passed over."""
_MOST_SCANNED = 30_000
"""But not more than these: 180,000 of a million take 2 s."""
_MOST_NAMES = 1_000
"""Names of which it is kept which notes have them."""
_MOST_TERMS = 8
"""Terms that are looked up one by one where the index by words is no good."""
_MOST_NAMED = 500
"""Fragments of notes that a query names."""
_NEAR = 300
"""Neighbours that the index by meaning looks at first (hnsw.ef_search): more than are asked for."""

_MEMORY = 64
"""MB that a statement may take on the server: where a bitmap of a million fragments does not fit, as in 4, each page is
looked through, and a common word in quotes takes 4.7 s instead of .2."""

Answer = TypeVar("Answer")

_FRAGMENTS = (
    "SELECT f.key, f.id, n.path, n.title, s.heading_path, f.ordinal, f.section, f.line_start, f.line_end, f.text,"
    " f.tokens, f.digest, n.kind, s.place FROM {} f JOIN excerpt.notes n ON n.id = f.note"
    " JOIN excerpt.sections s ON s.note = f.note AND s.ordinal = f.section WHERE f.key = ANY(%s)"
)
_PARTS = (
    "SELECT w.place, f.key, f.id, f.ordinal, f.section, s.level, s.heading, f.line_start, f.line_end, f.tokens,"
    " f.digest FROM unnest(%s::text[], %s::bigint[], %s::bigint[]) WITH ORDINALITY AS w (path, first, last, place)"
    " JOIN notes n ON n.path = w.path JOIN fragments f ON f.note = n.id AND f.ordinal BETWEEN w.first AND w.last"
    " JOIN sections s ON s.note = f.note AND s.ordinal = f.section ORDER BY w.place, f.ordinal"
)
_HAS = "(to_tsvector('simple'::regconfig, words) @@ %s::tsquery) IS TRUE"
"""Asked of rows as they come in another order; IS TRUE, as to look all of them up and sort them takes three times as
long."""
_NO_END = 1 << 30
_NO_LAST = (1 << 63) - 1
_PLACEHOLDER = re.compile(r"\?(\d*)")
_MODEL_DIGEST = re.compile(r"[0-9a-f]{16}/\d+")
"""What `vaults.model_source` holds; until version 2 of the tables, sizes and times of the model's files."""


DAMAGED = "It is missing or damaged. The rows answer in its place, more slowly; `excerpt push` makes it anew."
"""What is said of an index."""


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """How a store is: versions of the server and of its extensions, indexes that do not answer, and how many fragments
    the reader may see, as they were counted and as there are rows."""

    server: str
    is_replica: bool
    extensions: tuple[tuple[str, str], ...]
    damaged: tuple[str, ...]
    counted: int
    fragments: int


class Rows:
    """Reads from the views of one vault by the SQL that reads catalogs, of the notes numbered up to `last`."""

    def __init__(self, connection: Connection, last: int = _NO_LAST) -> None:
        self._connection = connection
        self.last = last

    def __call__(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        ordered: list[object] = []

        def placed(match: re.Match[str]) -> str:
            ordered.append(values[int(match[1]) - 1 if match[1] else len(ordered)])
            return "%s"

        # SQLite's LIKE takes ASCII letters whatever the case, and its aggregate of texts has another name.
        text = sql.replace("%", "%%").replace(" LIKE ", " ILIKE ").replace("group_concat(", "string_agg(")
        text = _PLACEHOLDER.sub(placed, text)
        known = "SELECT set_config('excerpt.last', %s, false)", (str(self.last),)
        return self._connection.answers([known, (text, tuple(map(storable, ordered)))])[1]


@dataclass(frozen=True, slots=True)
class _NoteTable:
    """The notes of a revision, by path; as of FragmentTable."""

    paths: tuple[str, ...]
    languages: tuple[str, ...]
    numbers: NDArray[np.int64]
    attached: NDArray[np.bool_]

    def has(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which numbers are those of notes in this table: others came with a later revision."""
        return np.isin(numbers, self.numbers)

    def places(self, numbers: NDArray[np.int64]) -> NDArray[np.int32]:
        """Where the notes with some numbers are in this table."""
        by_number = np.argsort(self.numbers)
        found = by_number[np.searchsorted(self.numbers, numbers, sorter=by_number)] if len(numbers) else numbers
        return found.astype(np.int32)


class _Revision:
    """What is read once of a vault until the next push: statistics, the names of notes, counts of terms."""

    def __init__(self, number: int, statistics: Statistics, held: int, rows: Rows, described: Row) -> None:
        """`held` is how many fragments the indexes are of, of which the reader may not see all."""
        self.number = number
        self.held = held
        self.statistics = statistics
        self.updated, self.model, self.model_source, self.tokenizer = described
        self.embedder: Embedder | None = None
        self.named: dict[str, tuple[int, ...]] = {}
        self.languages: tuple[str, ...] | None = None
        self.terms = KnownTerms(rows)
        found = rows("SELECT path, language, id, kind FROM notes ORDER BY path")
        self.notes = _NoteTable(
            tuple(row[0] for row in found),
            tuple(row[1] for row in found),
            np.array([row[2] for row in found], np.int64),
            np.array([bool(row[3]) for row in found], np.bool_),
        )
        rows.last = max((row[2] for row in found), default=0)  # what is read later has no notes that came later
        self.facets = Facets(rows, Notes(self.notes.paths, self.notes.numbers, self.notes.numbers << ORDINALS))


class StoreSnapshot(CatalogView):
    """A vault in a store, with the fragments that some queries need: `view` gives those for others.

    Usable from one thread at a time. Methods raise StoreUnusableError where the server is lost.
    """

    is_part = True

    def __init__(
        self,
        connection: Connection,
        vault: tuple[int, str],
        settings: Settings,
        revision: _Revision,
        found: FoundFragments,
    ) -> None:
        self._connection = connection
        self._vault, self._name = vault
        self._settings = settings
        self._revision = revision
        self._found = found
        self._rows: Rows = Rows(connection)
        self.lexical = CandidateTerms(found, revision.terms, revision.statistics)
        self.vectors = CandidateVectors(found, revision.statistics, self._cosines, self._vectors)

    @classmethod
    def open(cls, address: Address, settings: Settings) -> Self:
        """Connect to a store. Raises StoreUnusableError."""
        connection = Connection(address, timeout=_TIMEOUT)
        try:
            _await(connection, address)
            schema.check(connection)
            names = connection.rows("SELECT id, name FROM excerpt.vaults ORDER BY name")
            wanted = [row for row in names if row[1] == address.vault or (not address.vault and len(names) == 1)]
            if not wanted:
                raise _unnamed(address, [name for _, name in names])  # noqa: TRY301 - as it is closed below
            number, name = wanted[0]
            connection.begin_with(
                ("SELECT set_config('search_path', 'excerpt_vault, public', false)", ()),
                ("SELECT set_config('excerpt.vault', %s, false)", (str(number),)),
                ("SELECT set_config('excerpt.last', %s, false)", (str(_NO_LAST),)),
                (f"SET hnsw.ef_search = {_NEAR}", ()),
                (f"SET work_mem = '{_MEMORY}MB'", ()),
                ("SET hnsw.iterative_scan = strict_order", ()),
            )
            return cls(connection, (number, name), settings, _read(connection, number, None), FoundFragments.nothing())
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        """Let go of the connection, which all views share."""
        self._connection.close()

    def shrink_log(self) -> None:
        """The log is the server's."""

    @property
    def edition(self) -> tuple[object, ...]:
        """Equal in two snapshots of the same revision."""
        return (self.generation,)

    # --- as an index has it -------------------------------------------------------------------------------------------

    @property
    def generation(self) -> int:
        """Grows with every push."""
        return self._revision.number

    @property
    def tokenizer(self) -> str:
        """Name of the tokenizer whose tokens are counted in the vault."""
        return str(self._revision.tokenizer)

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of the notes, the most frequent first."""
        if self._revision.languages is None:
            counts = Counter(language for language in self._revision.notes.languages if language)
            self._revision.languages = tuple(sorted(counts, key=lambda language: (-counts[language], language)))
        return self._revision.languages

    def notes_named(self, name: str) -> tuple[int, ...]:
        """As of an index; a query asks twice, and asks for names that grow letter by letter."""
        known = self._revision.named
        if name not in known:
            if len(known) >= _MOST_NAMES:
                known.clear()
            known[name] = super().notes_named(name)
        return known[name]

    @property
    def facets(self) -> Facets:
        """What notes are filtered by."""
        return self._revision.facets

    @property
    def embedder(self) -> Embedder:
        """The model of the settings. Raises ModelError where the vectors are another model's."""
        if self._revision.embedder is not None:
            return self._revision.embedder
        embedder, source = open_embedder(self._settings.embedding.model), str(self._revision.model_source)
        if _MODEL_DIGEST.fullmatch(source) is None:
            raise ModelError(
                "The store does not say which embedding model its vault was made with: it was pushed by an older"
                " excerpt, or its first push has not ended.",
                "Push it again: `excerpt push VAULT --to ADDRESS`.",
            )
        if source != f"{embedder.id}/{EMBEDDED_TEXT_VERSION}":
            raise ModelError(
                "The vault in the store was made with another embedding model.",
                "Set embedding.model to that of the pusher, or push again.",
            )
        self._revision.embedder = embedder
        return embedder

    @cached_property
    def table(self) -> FragmentTable:
        """Where the fragments of this view stand; of notes all are there."""
        notes, keys = self._revision.notes, self._found.keys
        return FragmentTable(
            keys=keys,
            notes=notes.places(keys >> ORDINALS),
            lines=self._found.lines,
            paths=notes.paths,
            languages=notes.languages,
            numbers=notes.numbers,
            first_keys=notes.numbers << ORDINALS,
            attached=notes.attached,
        )

    @property
    def answering(self) -> NDArray[np.bool_]:
        """Which rows were looked up to be answered from."""
        return self._found.wanted

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """Files that could not be indexed, and why."""
        return self._remarks(True)

    @property
    def warnings(self) -> tuple[Skipped, ...]:
        """Notes that are indexed, though something about them is odd."""
        return self._remarks(False)

    def _remarks(self, skipped: bool) -> tuple[Skipped, ...]:
        sql = "SELECT path, reason FROM remarks WHERE skipped = ? ORDER BY path, reason"
        return tuple(Skipped(path, reason) for path, reason in self._rows(sql, skipped))

    def health(self) -> StoreHealth:
        """How the store is."""
        rows = self._connection.rows
        ((server, is_replica),) = rows("SELECT current_setting('server_version'), pg_is_in_recovery()")
        return StoreHealth(
            server=str(server).split()[0],
            is_replica=bool(is_replica),
            extensions=tuple(
                rows("SELECT extname, extversion FROM pg_extension WHERE extname IN ('vector', 'pg_textsearch')")
            ),
            damaged=schema.damaged_indexes(self._connection, self._vault),
            counted=self._revision.statistics.count,
            fragments=int(rows(f"SELECT count(*) FROM {self._table}")[0][0]),
        )

    def status(self) -> Status:
        """What the store holds of the vault."""
        kinds = self._rows("SELECT kind, count(*) FROM notes WHERE kind <> '' GROUP BY kind ORDER BY kind")
        attachments = dict(kinds)
        return Status(
            vault=self._name,
            generation=self.generation,
            notes=len(self._revision.notes.paths) - sum(attachments.values()),
            fragments=self._revision.statistics.count,
            skipped=self.skipped,
            warnings=(
                *(Skipped(f"index by {one}", DAMAGED) for one in schema.damaged_indexes(self._connection, self._vault)),
                *self.warnings,
            ),
            model=str(self._revision.model),
            tokenizer=self.tokenizer,
            updated=str(self._revision.updated),
            attachments=attachments,
        )

    def fragments(self, keys: Sequence[int]) -> list[Fragment]:
        """As of an index. Raises KeyError for a fragment that was replaced meanwhile."""
        found = {row[0]: row for row in self._connection.rows(_FRAGMENTS.format(self._table), _array(keys))}
        return [fragment_from_row(found[key]) for key in keys]

    def sizes_of(self, notes: NDArray[np.integer]) -> NDArray[np.int64]:
        """As of an index."""
        numbers = self._revision.notes.numbers[notes].tolist()
        sql = f"SELECT note, count(*) FROM {self._table} WHERE note = ANY(%s) GROUP BY note"
        sizes: dict[int, int] = dict(self._connection.rows(sql, _array(numbers)))
        return np.array([sizes.get(number, 0) for number in numbers], np.int64)

    def count_notes(self, terms: Sequence[str]) -> int:
        """As of an index; of one term it is known."""
        if len(terms) == 1:
            return self._revision.terms.count(terms[0])[2]
        among, values = self._among(Ask(having=tuple((term,) for term in terms)))
        sql = f"SELECT count(DISTINCT key >> {ORDINALS}) FROM ({among}) AS found (key)"
        return int(self._connection.rows(sql, *values)[0][0])

    def parts(self, ranges: Sequence[tuple[str, int, int | None]]) -> list[list[Part]]:
        """As of an index, in one query."""
        found: list[list[Part]] = [[] for _ in ranges]
        lasts = [_NO_END if last is None else min(last, _NO_END) for _, _, last in ranges]
        asked = [storable(path) for path, _, _ in ranges], [first for _, first, _ in ranges], lasts
        for place, *row in self._connection.rows(_PARTS, *asked):
            found[place - 1].append(Part(*row))
        return found

    # --- what queries need --------------------------------------------------------------------------------------------

    def renewed(self) -> Self:
        """The vault as it is in the store now."""
        revision = _read(self._connection, self._vault, self._revision)
        return self if revision is self._revision else self._with(revision, FoundFragments.nothing())

    def view(self, asks: Callable[[Self], Sequence[Ask]]) -> Self:
        """The vault as it is now, with the fragments that some asks want. `asks` are made with what is known of it."""
        with self._connection.moment():
            base = self.renewed()
            asked = asks(base)
            found = base._looked_up(*base._keys(asked), [one.vector for one in asked])
            return base._with(base._revision, found)

    def at_one_moment(self, answer: Callable[[], Answer]) -> Answer:
        """As of an index. Asked once more where the connection was lost meanwhile. Raises StoreUnusableError."""
        for _ in range(2):
            try:
                with self._connection.moment():
                    return answer()
            except ConnectionLostError as error:
                lost = error
        raise StoreUnusableError(lost.message, lost.hint) from lost

    def counts_by_note(self, asks: Sequence[Ask]) -> NDArray[np.intp]:
        """For each note of the vault, how many of its fragments some asks want."""
        notes = self._revision.notes
        with self._connection.moment():
            of = np.array(self._keys(asks)[0], np.int64) >> ORDINALS
        return np.bincount(notes.places(of[notes.has(of)]), minlength=len(notes.paths))

    def matching_by_note(self, asks: Sequence[Ask]) -> NDArray[np.int64]:
        """For each note of the vault, how many of its fragments have any of an ask's terms, or all that it may have
        where it has no terms; a fragment counts once."""
        notes = self._revision.notes
        counts = np.zeros(len(notes.paths), np.int64)
        among = [self._among(replace(ask, having=(*ask.having, *filter(None, [ask.terms])))) for ask in asks]
        if among:
            sql = f"SELECT key >> {ORDINALS}, count(*) FROM ({' UNION '.join(one for one, _ in among)}) AS found (key)"
            values = [value for _, of_it in among for value in of_it]
            found = np.array(self._connection.rows(f"{sql} GROUP BY 1", *values), np.int64).reshape(-1, 2)
            found = found[notes.has(found[:, 0])]
            counts[notes.places(found[:, 0])] = found[:, 1]
        return counts

    def _with(self, revision: _Revision, found: FoundFragments) -> Self:
        return type(self)(self._connection, (self._vault, self._name), self._settings, revision, found)

    def _keys(self, asks: Sequence[Ask]) -> tuple[list[int], list[int]]:
        """The keys of fragments that some asks want, and of those that stand beside them."""
        statements: list[Statement] = []
        keys: set[int] = set()
        for ask in asks:
            count = self._revision.statistics.count
            if ask.first:
                among, values = self._among(ask)
                statements.append(
                    (f"SELECT key FROM ({among}) AS found (key) ORDER BY key LIMIT %s", (*values, ask.first))
                )
                continue
            if ask.is_filtered or count <= min(_FEW * self._revision.held, _MOST):
                most = max(_MOST, ask.most)
                among, values = self._among(ask, most + 1)
                rows = self._connection.rows(among, *values)
                if len(rows) <= most:
                    keys.update(row[0] for row in rows)
                    continue
                count = self._at_most(ask)
            statements += self._best(ask, count <= min(_FEW * self._revision.held, _MOST_SCANNED))
        if statements:
            try:
                answers = self._connection.attempt(statements)
            except IndexDamagedError:
                # The index by words is young software, and disposable: the rows tell, by the other one.
                kept = [one for one in statements if "<@>" not in one[0]]
                answers = self._connection.answers([*kept, *(one for ask in asks for one in self._by_terms(ask))])
            for answer in answers:
                keys.update(row[0] for row in answer)
        beside = {key + step for key in keys for step in (-1, 1)} | {key >> ORDINALS << ORDINALS for key in keys}
        return sorted(keys), sorted(beside - keys)

    def _at_most(self, ask: Ask) -> int:
        """How many fragments an ask leaves at most, by what is known without counting those that have its terms."""
        counts = [self._revision.statistics.count]
        counts += [self.lexical.counts(terms).fragments for terms in ask.having]
        if ask.notes is not None:
            notes = _array(self._revision.notes.numbers[ask.notes].tolist())
            counts.append(
                self._connection.rows(f"SELECT count(*) FROM {self._table} WHERE note = ANY(%s)", notes)[0][0]
            )
        if ask.keys is not None:
            counts.append(len(ask.keys))
        return min(counts)

    def _within(self, ask: Ask) -> tuple[list[str], list[object]]:
        """Which notes and fragments an ask is about, as conditions and their values."""
        conditions: list[str] = []
        values: list[object] = []
        for column, numbers in (("note", self._numbers(ask)), ("key", ask.keys)):
            if numbers is not None:
                conditions.append(f"{column} = ANY(%s)")
                values.append(_array(numbers))
        return conditions, values

    def _numbers(self, ask: Ask) -> list[int] | None:
        """The numbers of the notes that an ask is about, None of all."""
        return None if ask.notes is None else self._revision.notes.numbers[ask.notes].tolist()

    def _among(self, ask: Ask, most: int | None = None) -> tuple[str, list[object]]:
        """What asks for the keys of all, or so many, fragments that pass the filters of an ask. Its terms are looked
        up by a function of the store's: rights are compared first otherwise, row by row, without an index."""
        conditions, values = self._within(ask)
        matching = "SELECT * FROM excerpt_vault.matching(%s, %s, %s::bigint[], %s::bigint[], %s)"
        notes, keys = (None if some is None else _array(some) for some in (self._numbers(ask), ask.keys))
        if ask.lacking and not ask.having and most is None:
            conditions.append(f"key NOT IN ({matching})")
            values += [self._vault, " | ".join(map(_token, ask.lacking)), notes, keys, None]
        elif (tokens := _tokens(ask)) is not None:
            return matching, [self._vault, tokens, notes, keys, most]
        return self._select(conditions) + ("" if most is None else f" LIMIT {most}"), values

    def _best(self, ask: Ask, are_few: bool) -> list[Statement]:
        """What asks for the best by words and by meaning; where there are attachments, as many of notes and of them."""
        tokens = _tokens(ask)
        conditions, values = self._within(ask)
        passing = [*conditions, *([] if tokens is None else [_HAS])]
        values += [] if tokens is None else [tokens]
        statistics = self._revision.statistics
        beside = statistics.count - statistics.counted
        kinds = {"": are_few}
        if beside:
            kinds = {"NOT attached": are_few, "attached": are_few or beside <= _FEW * self._revision.held}
        statements: list[Statement] = []
        for kind, is_scanned in kinds.items():
            select = self._select([*passing, kind] if kind else passing)
            if ask.terms:
                asked = " ".join(map(_token, ask.terms)), schema.words_index(self._vault), ask.most
                statements.append((f"{select} ORDER BY words <@> to_bm25query(%s, %s) LIMIT %s", (*values, *asked)))
            if ask.vector is not None and is_scanned and tokens is not None:
                among, found = self._among(ask)
                select = self._select([f"key IN ({among})", kind] if kind else [f"key IN ({among})"])
                near = _text(ask.vector), ask.nearest
                statements.append((f"{select} ORDER BY (vector <#> %s::halfvec) + 0 LIMIT %s", (*found, *near)))
            elif ask.vector is not None:
                distance = "(vector <#> %s::halfvec) + 0" if is_scanned else "vector <#> %s::halfvec"
                near = _text(ask.vector), ask.nearest
                statements.append((f"{select} ORDER BY {distance} LIMIT %s", (*values, *near)))
        if ask.is_filtered and not statements:  # filters alone: as `filters.newest_first` has them
            among, found = self._among(ask)
            sql = (
                f"SELECT key FROM {self._table} JOIN excerpt.notes ON notes.id = note WHERE key IN ({among})"
                " ORDER BY ordinal, mtime_ns DESC, path LIMIT %s"
            )
            statements.append((sql, (*found, ask.most)))
        if ask.named:
            notes = _array(self._revision.notes.numbers[list(ask.named)].tolist())
            select = self._select(["note = ANY(%s)", *passing])
            statements.append((f"{select} ORDER BY key LIMIT {_MOST_NAMED}", (notes, *values)))
        return statements

    def _select(self, conditions: Sequence[str]) -> str:
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"SELECT key FROM {self._table}{where}"

    def _by_terms(self, ask: Ask) -> list[Statement]:
        """What asks for fragments by words where their index is no good: those that have all terms, or the rarest two,
        and some of each of the rarest. The engine weighs what is found as ever."""
        rarest = sorted(ask.terms, key=self.lexical.count)[:_MOST_TERMS]
        asked = dict.fromkeys([tuple(rarest), tuple(rarest[:2]), *((term,) for term in rarest)]) if rarest else {}
        found: list[Statement] = []
        for terms in asked:
            among, values = self._among(replace(ask, having=(*ask.having, *((term,) for term in terms))), ask.most)
            found.append((among, tuple(values)))
        return found

    def _looked_up(
        self, keys: Sequence[int], beside: Sequence[int], vectors: Sequence[Floats | None]
    ) -> FoundFragments:
        """Fragments with their terms; of those beside them, only the first ones of notes have these."""
        asked = [vector for vector in vectors if vector is not None]
        distances = "".join(", -(vector <#> %s::halfvec)" for _ in asked)
        first = [key for key in beside if not key & ((1 << ORDINALS) - 1)]
        others = [key for key in beside if key & ((1 << ORDINALS) - 1)]
        texts = [_text(vector) for vector in asked]
        whole, bare = self._connection.answers(
            [
                (
                    f"SELECT key, line_start, lengths, words, places{distances} FROM {self._table} WHERE key = ANY(%s)",
                    (*texts, _array([*keys, *first])),
                ),
                (f"SELECT key, line_start{distances} FROM {self._table} WHERE key = ANY(%s)", (*texts, _array(others))),
            ]
        )
        nothing = [0] * len(FIELDS)
        rows = sorted([*whole, *((row[0], row[1], nothing, "", b"", *row[2:]) for row in bare)], key=_key)
        lengths = np.array([row[2] for row in rows], np.int64).reshape(len(rows), len(FIELDS))
        return FoundFragments(
            keys=np.array([row[0] for row in rows], np.int64),
            wanted=np.isin([row[0] for row in rows], keys),
            lines=np.array([row[1] for row in rows], np.int32),
            lengths=lengths,
            entries=TokenEntries([row[3] for row in rows], lengths, [row[4] for row in rows]),
            cosines={
                vector.tobytes(): np.array([row[5 + number] for row in rows], np.float32)
                for number, vector in enumerate(asked)
            },
        )

    def _cosines(self, query: Floats) -> Floats:
        found: dict[int, float] = dict(
            self._connection.rows(
                f"SELECT key, -(vector <#> %s::halfvec) FROM {self._table} WHERE key = ANY(%s)",
                *(_text(query), _array(self._found.keys.tolist())),
            )
        )
        return np.array([found.get(key, 0.0) for key in self._found.keys.tolist()], np.float32)

    def _vectors(self, keys: NDArray[np.int64]) -> Floats:
        sql = f"SELECT key, halfvec_send(vector) FROM {self._table} WHERE key = ANY(%s)"
        found: dict[int, bytes] = dict(self._connection.rows(sql, _array(keys.tolist())))
        # Two numbers of 16 bits, of which the first is how many numbers follow.
        sent = b"".join(found.get(key, _NO_VECTOR)[4:] for key in keys.tolist())
        return np.frombuffer(sent, ">f2").reshape(len(keys), schema.DIMENSIONS).astype(np.float32)

    @property
    def _table(self) -> str:
        return schema.partition(self._vault)


Floats = NDArray[np.float32]
_NO_VECTOR = bytes(4 + 2 * schema.DIMENSIONS)
_NONE = "nothing"  # shorter than any token


def _unnamed(address: Address, names: Sequence[str]) -> StoreUnusableError:
    what = f"There is no vault called {address.vault}" if address.vault else "The address names no vault"
    there = ", ".join(names) or "none"
    return StoreUnusableError(f"{what} in {address.shown}.", f"Put ?vault=NAME behind it; there are: {there}.")


def _await(connection: Connection, address: Address) -> None:
    """Wait until a replica has what the address asks for. Raises StoreUnusableError after some seconds."""
    ends = time.monotonic() + _TIMEOUT
    there = "SELECT NOT pg_is_in_recovery() OR pg_last_wal_replay_lsn() >= %s::pg_lsn"
    while address.after and not connection.rows(there, address.after)[0][0]:
        if time.monotonic() > ends:
            raise StoreUnusableError(
                f"{address.shown} has not yet what was written up to {address.after}.",
                "Ask the primary, or again later.",
            )
        time.sleep(_NEXT_LOOK)


def _key(row: Row) -> int:
    return int(row[0])


def _token(term: str) -> str:
    from excerpt.store.words import token_of

    return token_of(term)


def _tokens(ask: Ask) -> str | None:
    """The terms that a fragment must have and lack, as PostgreSQL's own search takes them; None without any."""
    parts = [" | ".join(map(_token, terms)) or _NONE for terms in ask.having]
    parts = [f"({part})" for part in parts] + [f"!{_token(term)}" for term in ask.lacking]
    return " & ".join(parts) if parts else None


def _text(vector: Floats) -> str:
    return f"[{','.join(map(repr, vector.tolist()))}]"


def _array(numbers: Sequence[int]) -> str:
    """Whole numbers as the server reads an array, which takes a tenth of the time that the driver takes for a list."""
    return f"{{{','.join(map(str, numbers))}}}"


def _newest(connection: Connection, vault: int) -> int:
    """The number of the newest revision."""
    return int(connection.rows("SELECT revision FROM excerpt.vaults WHERE id = %s", vault)[0][0])


def _read(connection: Connection, vault: int, before: _Revision | None) -> _Revision:
    """The newest revision, which may be the one before."""
    number = _newest(connection, vault)
    if before is not None and before.number == number:
        return before
    ((number, *described),), of_areas, ((held,),) = connection.answers(
        [
            ("SELECT revision, updated, model, model_source, tokenizer FROM excerpt.vaults WHERE id = %s", (vault,)),
            (
                "SELECT attached, s.fragments, lengths, filled, vectors FROM excerpt.statistics s"
                " JOIN excerpt.areas ON areas.id = area WHERE vault = %s",
                (vault,),
            ),
            ("SELECT reltuples FROM pg_class WHERE oid = %s::regclass", (schema.partition(vault),)),
        ]
    )
    statistics = _statistics(of_areas)
    held = max(int(held), statistics.count)
    revision = _Revision(number, statistics, held, Rows(connection), tuple(described))
    if before is not None and before.model_source == revision.model_source:
        revision.embedder = before.embedder
    return revision


def _statistics(of_areas: Sequence[Row]) -> Statistics:
    """Those of all areas together, from rows for the notes and for the attachments of each."""
    counts = {kind: sum(row[1] for row in of_areas if row[0] == kind) for kind in (False, True)}
    of_attachments = not counts[False] and counts[True] > 0
    counted = [row for row in of_areas if row[0] == of_attachments]
    lengths, filled, vectors = (
        np.array([row[column] for row in counted], np.float64).reshape(-1, width).sum(axis=0)
        for column, width in ((2, len(FIELDS)), (3, len(FIELDS)), (4, schema.DIMENSIONS))
    )
    means = tuple(
        total / having if having else 1.0 for total, having in zip(lengths.tolist(), filled.tolist(), strict=True)
    )
    mean = (vectors / max(counts[of_attachments], 1)).astype(np.float32)
    return Statistics(sum(counts.values()), counts[of_attachments], of_attachments, means, mean)
