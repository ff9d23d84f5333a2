"""A vault in a store as a corpus: notes are read when asked for, fragments as queries need them."""

from __future__ import annotations

import heapq
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from excerpt.corpus.facets import Facets, NumberedNotes
from excerpt.corpus.interface import CandidateQuery
from excerpt.corpus.notes import NoteReader
from excerpt.corpus.tables import FIELDS, FragmentTable
from excerpt.errors import ModelError, StoreUnusableError
from excerpt.index.embed import Embedder, open_embedder
from excerpt.index.postings import EMBEDDED_TEXT_VERSION
from excerpt.model import FileProblem, Status
from excerpt.settings import Settings
from excerpt.store import schema
from excerpt.store.address import Address
from excerpt.store.candidates import CandidateTerms, CandidateVectors, KnownTerms, LoadedFragments, Statistics
from excerpt.store.connection import Connection, ConnectionLostError, IndexDamagedError, Row, Statement
from excerpt.store.queries import AreaTables, StoreQueries, array
from excerpt.store.schema import ORDINALS
from excerpt.store.words import TokenEntries

_TIMEOUT = 20.0
"""Seconds that a statement of a reader may take, and that a replica may be behind what is asked for."""
_POLL_SECONDS = 0.01
"""Seconds; a replica beside its primary is behind by 1.4 ms at p50, 3.5 at p95."""
_MAX = 2_000
"""Fragments that filters or rights may leave so that all of them are looked at, in place of the best by words and by
meaning."""
_SCAN_SHARE = 0.2
"""Of more, where they are at most this share of the vault, the nearest are found by a scan: of an index over all
fragments many would have to be passed over."""
_MAX_SCANNED = 30_000
"""But not more than these: 180,000 of a million take 2 s."""
_MAX_NAMES = 1_000
"""Names of which it is kept which notes have them."""
_MAX_TERMS = 8
"""Terms that are looked up one by one where the index by words is no good."""
_MAX_NAMED = 500
"""Fragments of notes that a query names."""
_SHARE_FACTOR, _SPARE_SHARE = 1.5, 0.2
"""Of the best by words, an area gives so many times its share of the vault, and this part beside: a word's rarity is
that in the area, so scores of two areas cannot be compared. With three areas of cpp-docs a first ten has .965 in
common with that of a folder, as with one index over all; with all the best of each area .972, and takes longer."""
_EF_SEARCH = 300
"""Neighbours that the index by meaning looks at first (hnsw.ef_search): more than are asked for."""

_MEMORY = 64
"""MB that a statement may take on the server: where a bitmap of a million fragments does not fit, as in 4, each page is
looked through, and a common word in quotes takes 4.7 s instead of .2."""

_PARALLEL = 50_000
"""The planner's cost of starting parallel workers, by default 1,000.

They take 20 ms to start, and were used to look up fifty rows in tables of three areas.
"""

Answer = TypeVar("Answer")

_HAS_TERMS = f"({schema.TOKENS} @@ %s::tsquery) IS TRUE"
"""Asked of rows as they come in another order; IS TRUE, as to look all of them up and sort them takes three times as
long."""
_MODEL_DIGEST = re.compile(r"[0-9a-f]{16}/\d+")
"""What `vaults.model_source` holds once a first push has ended."""
DAMAGED = "It is missing or damaged. Searches read the rows instead, more slowly. `excerpt push` rebuilds it."
"""The message about a damaged index."""


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """The state of a store.

    Versions of the server and its extensions, damaged indexes, and the fragments that the reader may see, by the counts
    and by rows.
    """

    server: str
    is_replica: bool
    extensions: tuple[tuple[str, str], ...]
    damaged: tuple[str, ...]
    counted: int
    fragments: int


@dataclass(frozen=True, slots=True)
class _NoteTable:
    """The notes of a revision, by path; as of FragmentTable."""

    paths: tuple[str, ...]
    languages: tuple[str, ...]
    numbers: NDArray[np.int64]
    attached: NDArray[np.bool_]

    def has(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which numbers are of notes in this table; others came with a later revision."""
        return np.isin(numbers, self.numbers)

    def positions(self, numbers: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the positions in this table of the notes with these numbers."""
        by_number = np.argsort(self.numbers)
        indices = by_number[np.searchsorted(self.numbers, numbers, sorter=by_number)] if len(numbers) else numbers
        return indices.astype(np.int32)


class _Revision:
    """What is read once of a vault until the next push: statistics, the names of notes, counts of terms."""

    def __init__(
        self, number: int, queries: StoreQueries, statistics: Statistics, shares: Sequence[float], described: Row
    ) -> None:
        """Read a revision; `shares` is each area's share of the vault's fragments."""
        self.number = number
        self.tables = queries.tables
        self.shares = shares
        self.statistics = statistics
        self.updated, self.model, self.model_source, self.tokenizer = described
        self.embedder: Embedder | None = None
        self.named: dict[str, tuple[int, ...]] = {}
        self.languages: tuple[str, ...] | None = None
        self.terms = KnownTerms(queries)
        note_rows = queries.note_table()
        self.notes = _NoteTable(
            tuple(row[0] for row in note_rows),
            tuple(row[1] for row in note_rows),
            np.array([row[2] for row in note_rows], np.int64),
            np.array([bool(row[3]) for row in note_rows], np.bool_),
        )
        queries.last = max((row[2] for row in note_rows), default=0)  # what is read later has no notes that came later
        self.facets = Facets(
            queries, NumberedNotes(self.notes.paths, self.notes.numbers, self.notes.numbers << ORDINALS)
        )


class StoreSnapshot(NoteReader):
    """A vault in a store, with the fragments that some queries need: `prefetch` loads those for others.

    Usable from one thread at a time. Methods raise StoreUnusableError where the server is lost.
    """

    def __init__(
        self,
        connection: Connection,
        vault: tuple[int, str],
        settings: Settings,
        revision: _Revision,
        loaded: LoadedFragments,
    ) -> None:
        self._connection = connection
        self._vault, self._name = vault
        self._settings = settings
        self._revision = revision
        self._loaded = loaded
        self._queries: StoreQueries = StoreQueries(connection, revision.tables)
        self.lexical = CandidateTerms(loaded, revision.terms, revision.statistics)
        self.vectors = CandidateVectors(loaded, revision.statistics, self._cosines, self._vectors)

    @classmethod
    def open(cls, address: Address, settings: Settings) -> Self:
        """Connect to a store. Raises StoreUnusableError."""
        connection = Connection(address, timeout=_TIMEOUT)
        try:
            _await(connection, address)
            schema.check(connection)
            names = connection.rows("SELECT id, name FROM excerpt_vault.vaults() ORDER BY name")
            matching = [row for row in names if row[1] == address.vault or (not address.vault and len(names) == 1)]
            if not matching:
                raise _vault_name_error(address, [name for _, name in names])  # noqa: TRY301 - as it is closed below
            number, name = matching[0]
            connection.set_session(
                ("SELECT set_config('search_path', 'excerpt_vault, public', false)", ()),
                (f"SET hnsw.ef_search = {_EF_SEARCH}", ()),
                (f"SET work_mem = '{_MEMORY}MB'", ()),
                (f"SET parallel_setup_cost = {_PARALLEL}", ()),
                ("SET hnsw.iterative_scan = strict_order", ()),
            )
            return cls(
                connection, (number, name), settings, _read(connection, (number, name), None), LoadedFragments.empty()
            )
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        """Close the connection, which all views share."""
        self._connection.close()

    def shrink_log(self) -> None:
        """Do nothing: the log is the server's."""

    @property
    def edition(self) -> tuple[object, ...]:
        """Equal in two snapshots of the same revision, of the same areas."""
        return self.generation, self._revision.tables.areas

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
        """Return the notes of this name, as places in `table.paths`; kept, as a search asks twice."""
        known = self._revision.named
        if name not in known:
            if len(known) >= _MAX_NAMES:
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
                " excerpt, or its first push is not finished.",
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
        """The location of the loaded fragments; all notes are in it."""
        notes, keys = self._revision.notes, self._loaded.keys
        return FragmentTable(
            keys=keys,
            notes=notes.positions(keys >> ORDINALS),
            lines=self._loaded.lines,
            paths=notes.paths,
            languages=notes.languages,
            numbers=notes.numbers,
            first_keys=notes.numbers << ORDINALS,
            is_attachment=notes.attached,
        )

    @property
    def is_answer_row(self) -> NDArray[np.bool_]:
        """Which rows were loaded to be answered from."""
        return self._loaded.is_answer

    @property
    def partial(self) -> Self:
        """The snapshot itself: only some fragments are loaded."""
        return self

    @property
    def skipped(self) -> tuple[FileProblem, ...]:
        """Files that could not be indexed, and why."""
        return self._queries.remarks(skipped=True)

    @property
    def warnings(self) -> tuple[FileProblem, ...]:
        """Notes that are indexed, though something about them is odd."""
        return self._queries.remarks(skipped=False)

    def health(self) -> StoreHealth:
        """Return versions, damaged indexes and counts."""
        rows = self._connection.rows
        ((server, is_replica),) = rows("SELECT current_setting('server_version'), pg_is_in_recovery()")
        return StoreHealth(
            server=str(server).split()[0],
            is_replica=bool(is_replica),
            extensions=tuple(
                rows("SELECT extname, extversion FROM pg_extension WHERE extname IN ('vector', 'pg_textsearch')")
            ),
            damaged=schema.damaged_indexes(self._connection, self._revision.tables.areas),
            counted=self._revision.statistics.count,
            fragments=int(self._queries.rows("SELECT count(*) FROM fragments")[0][0]),
        )

    def status(self) -> Status:
        """Return what the store holds of the vault."""
        attachments = self._queries.attachment_counts()
        return Status(
            vault=self._name,
            generation=self.generation,
            notes=len(self._revision.notes.paths) - sum(attachments.values()),
            fragments=self._revision.statistics.count,
            skipped=self.skipped,
            warnings=(
                *(
                    FileProblem(f"index by {index}", DAMAGED)
                    for index in schema.damaged_indexes(self._connection, self._revision.tables.areas)
                ),
                *self.warnings,
            ),
            model=str(self._revision.model),
            tokenizer=self.tokenizer,
            updated=str(self._revision.updated),
            attachments=attachments,
        )

    def fragment_counts(self, notes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the number of fragments of some notes, which are places in the table."""
        numbers = self._revision.notes.numbers[notes].tolist()
        sql = "SELECT note, count(*) FROM fragments WHERE note = ANY(%s) GROUP BY note"
        sizes: dict[int, int] = dict(self._queries.rows(sql, array(numbers)))
        return np.array([sizes.get(number, 0) for number in numbers], np.int64)

    def count_fragments(self, terms: Sequence[str]) -> int:
        """Return how many fragments of the vault have any of `terms`: the sum, as stems hardly overlap."""
        self._revision.terms.prefetch(terms)
        return sum(self._revision.terms.count(term)[0] for term in terms)

    def count_notes(self, terms: Sequence[str]) -> int:
        """Return how many notes have all of `terms` in one fragment; of one term it is known."""
        if len(terms) == 1:
            return self._revision.terms.count(terms[0])[2]
        statement, values = self._keys_statement(CandidateQuery(must=tuple((term,) for term in terms)))
        sql = f"SELECT count(DISTINCT key >> {ORDINALS}) FROM ({statement}) AS found (key)"
        return int(self._queries.rows(sql, *values)[0][0])

    # --- what queries need --------------------------------------------------------------------------------------------

    def reopen(self) -> Self:
        """Return the vault as it is in the store now; itself where nothing was pushed since."""
        revision = _read(self._connection, (self._vault, self._name), self._revision)
        return self if revision is self._revision else self._copy_with(revision, LoadedFragments.empty())

    def prefetch(self, requests: Callable[[Self], Sequence[CandidateQuery]]) -> Self:
        """Return the current vault with the fragments loaded that some queries need. Raises StoreUnusableError.

        `requests` makes the queries from the data of the vault.
        """
        with self._connection.read_transaction():
            base = self.reopen()
            queries = requests(base)
            loaded = base._load(*base._keys(queries), [query.vector for query in queries])
            return base._copy_with(base._revision, loaded)

    def read_transaction(self, answer: Callable[[], Answer]) -> Answer:
        """Return `answer()`, all read from one state of the vault; called again if the connection was lost meanwhile.

        Raises StoreUnusableError.
        """
        for _ in range(2):
            try:
                with self._connection.read_transaction():
                    return answer()
            except ConnectionLostError as error:
                lost = error
        raise StoreUnusableError(lost.message, lost.hint) from lost

    def candidates_by_note(self, queries: Sequence[CandidateQuery]) -> NDArray[np.intp]:
        """Return for each note of the vault how many of its fragments some queries need."""
        notes = self._revision.notes
        with self._connection.read_transaction():
            note_numbers = np.array(self._keys(queries)[0], np.int64) >> ORDINALS
        return np.bincount(notes.positions(note_numbers[notes.has(note_numbers)]), minlength=len(notes.paths))

    def matching_by_note(self, queries: Sequence[CandidateQuery]) -> NDArray[np.int64]:
        """Return, for each note, how many of its fragments have any of a query's terms, or pass if it has none.

        A fragment counts once.
        """
        notes = self._revision.notes
        counts = np.zeros(len(notes.paths), np.int64)
        statements = [
            self._keys_statement(replace(query, must=(*query.must, *filter(None, [query.terms])))) for query in queries
        ]
        if statements:
            union = " UNION ".join(statement for statement, _ in statements)
            sql = f"SELECT key >> {ORDINALS}, count(*) FROM ({union}) AS found (key)"
            values = [value for _, statement_values in statements for value in statement_values]
            counts_by_note = np.array(self._queries.rows(f"{sql} GROUP BY 1", *values), np.int64).reshape(-1, 2)
            counts_by_note = counts_by_note[notes.has(counts_by_note[:, 0])]
            counts[notes.positions(counts_by_note[:, 0])] = counts_by_note[:, 1]
        return counts

    def _copy_with(self, revision: _Revision, loaded: LoadedFragments) -> Self:
        return type(self)(self._connection, (self._vault, self._name), self._settings, revision, loaded)

    def _keys(self, queries: Sequence[CandidateQuery]) -> tuple[list[int], list[int]]:
        """Return the keys of the fragments that some queries need, and of those beside them."""
        rankings: list[_Ranking] = []
        keys: set[int] = set()
        count = self._revision.statistics.count
        for query in queries:
            remaining = count
            if query.scan_limit:
                statement, values = self._keys_statement(query)
                sql = f"SELECT key FROM ({statement}) AS found (key) ORDER BY key LIMIT %s"
                rankings.append(_Ranking(((sql, (*values, query.scan_limit)),)))
                continue
            if query.is_filtered:
                limit = max(_MAX, query.limit)
                statement, values = self._keys_statement(query, limit + 1)
                rows = self._queries.rows(statement, *values)
                if len(rows) <= limit:
                    keys.update(row[0] for row in rows)
                    continue
                remaining = self._upper_bound(query)
            rankings += self._best_rankings(query, remaining <= min(_SCAN_SHARE * count, _MAX_SCANNED))
        try:
            keys.update(self._ranked_keys(rankings))
        except IndexDamagedError:
            # The index by words is young software, and disposable: the rows tell, by the other one.
            intact = [ranking for ranking in rankings if not ranking.by_words]
            keys.update(
                self._ranked_keys([*intact, *(ranking for query in queries for ranking in self._by_terms(query))])
            )
        neighbours = {key + step for key in keys for step in (-1, 1)} | {key >> ORDINALS << ORDINALS for key in keys}
        return sorted(keys), sorted(neighbours - keys)

    def _ranked_keys(self, rankings: Sequence[_Ranking]) -> Iterator[int]:
        """Yield the keys of the best of some rankings."""
        statements = [
            (self._revision.tables.named_in(sql), values)
            for ranking_ in rankings
            for sql, values in ranking_.statements
        ]
        if statements:
            answers = iter(self._connection.attempt(statements))
            for ranking in rankings:
                yield from ranking.best([next(answers) for _ in ranking.statements])

    def _upper_bound(self, query: CandidateQuery) -> int:
        """Return how many fragments a query leaves at most, without counting those that have its terms."""
        counts = [self._revision.statistics.count]
        counts += [self.lexical.counts(terms).fragments for terms in query.must]
        if query.notes is not None:
            notes = array(self._revision.notes.numbers[query.notes].tolist())
            counts.append(self._queries.rows("SELECT count(*) FROM fragments WHERE note = ANY(%s)", notes)[0][0])
        if query.keys is not None:
            counts.append(len(query.keys))
        return min(counts)

    def _note_conditions(self, query: CandidateQuery) -> tuple[list[str], list[object]]:
        """Return a query's notes and keys as conditions and their values."""
        conditions: list[str] = []
        values: list[object] = []
        for column, numbers in (("note", self._numbers(query)), ("key", query.keys)):
            if numbers is not None:
                conditions.append(f"{column} = ANY(%s)")
                values.append(array(numbers))
        return conditions, values

    def _numbers(self, query: CandidateQuery) -> list[int] | None:
        """Return the numbers of a query's notes; None for all."""
        return None if query.notes is None else self._revision.notes.numbers[query.notes].tolist()

    def _keys_statement(
        self, query: CandidateQuery, limit: int | None = None, table: str = "fragments"
    ) -> tuple[str, list[object]]:
        """Return the statement for the keys of a table's fragments that pass a query's filters, at most `limit`."""
        conditions, values = self._note_conditions(query)
        if query.must_not and not query.must and limit is None:
            # Looked up, and not asked of each row, which takes its words apart.
            conditions.append(f"key NOT IN ({_select(table, [*conditions, _MATCHES])})")
            values += [*values, " | ".join(map(_token, query.must_not))]
        elif (tokens := _tokens(query)) is not None:
            conditions.append(_MATCHES)
            values.append(tokens)
        return _select(table, conditions) + ("" if limit is None else f" LIMIT {limit}"), values

    def _best_rankings(self, query: CandidateQuery, is_scannable: bool) -> list[_Ranking]:
        """Return the statements for the best by words and by meaning; of notes and of attachments as many each."""
        tokens = _tokens(query)
        conditions, values = self._note_conditions(query)
        filtering = [*conditions, *([] if tokens is None else [_HAS_TERMS])]
        values += [] if tokens is None else [tokens]
        statistics = self._revision.statistics
        attached_count = statistics.count - statistics.counted
        kinds = {"": is_scannable}
        if attached_count:
            scan_limit = _SCAN_SHARE * statistics.count
            kinds = {"NOT attached": is_scannable, "attached": is_scannable or attached_count <= scan_limit}
        rankings: list[_Ranking] = []
        for kind, is_scanned in kinds.items():
            kind_conditions = [kind] if kind else []
            if query.terms:
                rankings.append(self._by_words(query, [*filtering, *kind_conditions], values))
            if query.vector is not None:
                rankings.append(
                    self._by_meaning(
                        query, [*filtering, *kind_conditions], values, kind_conditions, is_scanned=is_scanned
                    )
                )
        if query.is_filtered and not rankings:  # filters alone: as `filters.newest_first` has them
            keys_sql, key_values = self._keys_statement(query)
            sql = (
                f"SELECT key FROM fragments JOIN notes ON notes.id = note WHERE key IN ({keys_sql})"
                " ORDER BY ordinal, mtime_ns DESC, path LIMIT %s"
            )
            rankings.append(_Ranking(((sql, (*key_values, query.limit)),)))
        if query.named:
            notes = array(self._revision.notes.numbers[list(query.named)].tolist())
            select = _select("fragments", ["note = ANY(%s)", *filtering])
            rankings.append(_Ranking(((f"{select} ORDER BY key LIMIT {_MAX_NAMED}", (notes, *values)),)))
        return rankings

    def _by_words(self, query: CandidateQuery, conditions: Sequence[str], values: Sequence[object]) -> _Ranking:
        """Return the statements for the best by words, one per area."""
        statements: list[Statement] = []
        words = " ".join(map(_token, query.terms))
        for area, share in zip(self._revision.tables.areas, self._revision.shares, strict=True):
            select = _select(schema.table("fragments", area), conditions)
            limit = math.ceil(query.limit * min(1, _SHARE_FACTOR * share + _SPARE_SHARE))
            parameters = words, schema.index("words", area), limit
            statements.append((f"{select} ORDER BY words <@> to_bm25query(%s, %s) LIMIT %s", (*values, *parameters)))
        return _Ranking(tuple(statements), by_words=True)

    def _by_meaning(
        self,
        query: CandidateQuery,
        conditions: Sequence[str],
        values: Sequence[object],
        kind: Sequence[str],
        *,
        is_scanned: bool,
    ) -> _Ranking:
        """Return the statements for the nearest by meaning, of each area by its index or by a scan of what passes."""
        vector = _text(query.vector) if query.vector is not None else ""
        statements: list[Statement] = []
        for area in self._revision.tables.areas:
            table = schema.table("fragments", area)
            area_conditions, area_values = [*conditions], [*values]
            if is_scanned and _tokens(query) is not None:
                keys_sql, area_values = self._keys_statement(query, table=table)
                area_conditions = [f"key IN ({keys_sql})", *kind]
            distance = "(vector <#> %s::halfvec) + 0" if is_scanned else "vector <#> %s::halfvec"
            select = _select(table, area_conditions, f"key, {distance}")
            statements.append((f"{select} ORDER BY 2 LIMIT %s", (vector, *area_values, query.vector_limit)))
        return _Ranking(tuple(statements), query.vector_limit)

    def _by_terms(self, query: CandidateQuery) -> list[_Ranking]:
        """Return the statements for fragments by words if their index is damaged.

        They find fragments with all terms, or the rarest two, and some with each of the rarest. The engine scores them
        as usual.
        """
        rarest = sorted(query.terms, key=self.lexical.count)[:_MAX_TERMS]
        term_sets = dict.fromkeys([tuple(rarest), tuple(rarest[:2]), *((term,) for term in rarest)]) if rarest else {}
        rankings: list[_Ranking] = []
        for terms in term_sets:
            statement, values = self._keys_statement(
                replace(query, must=(*query.must, *((term,) for term in terms))), query.limit
            )
            rankings.append(_Ranking(((statement, tuple(values)),)))
        return rankings

    def _load(
        self, keys: Sequence[int], neighbours: Sequence[int], vectors: Sequence[Floats | None]
    ) -> LoadedFragments:
        """Return fragments with their terms; of those beside them, only the first ones of notes have terms."""
        given_vectors = [vector for vector in vectors if vector is not None]
        distances = "".join(", -(vector <#> %s::halfvec)" for _ in given_vectors)
        first_keys = [key for key in neighbours if not key & ((1 << ORDINALS) - 1)]
        others = [key for key in neighbours if key & ((1 << ORDINALS) - 1)]
        texts = [_text(vector) for vector in given_vectors]
        select_with_words = (
            f"SELECT key, line_start, lengths, words, places{distances} FROM fragments WHERE key = ANY(%s)"
        )
        select_without_words = f"SELECT key, line_start{distances} FROM fragments WHERE key = ANY(%s)"
        named_in = self._revision.tables.named_in
        whole, bare = self._connection.answers(
            [
                (named_in(select_with_words), (*texts, array([*keys, *first_keys]))),
                (named_in(select_without_words), (*texts, array(others))),
            ]
        )
        empty = [0] * len(FIELDS)
        rows = sorted([*whole, *((row[0], row[1], empty, "", b"", *row[2:]) for row in bare)], key=_key)
        lengths = np.array([row[2] for row in rows], np.int64).reshape(len(rows), len(FIELDS))
        return LoadedFragments(
            keys=np.array([row[0] for row in rows], np.int64),
            is_answer=np.isin([row[0] for row in rows], keys),
            lines=np.array([row[1] for row in rows], np.int32),
            lengths=lengths,
            entries=TokenEntries([row[3] for row in rows], lengths, [row[4] for row in rows]),
            cosines={
                vector.tobytes(): np.array([row[5 + number] for row in rows], np.float32)
                for number, vector in enumerate(given_vectors)
            },
        )

    def _cosines(self, query: Floats) -> Floats:
        cosines: dict[int, float] = dict(
            self._queries.rows(
                "SELECT key, -(vector <#> %s::halfvec) FROM fragments WHERE key = ANY(%s)",
                *(_text(query), array(self._loaded.keys.tolist())),
            )
        )
        return np.array([cosines.get(key, 0.0) for key in self._loaded.keys.tolist()], np.float32)

    def _vectors(self, keys: NDArray[np.int64]) -> Floats:
        sql = "SELECT key, halfvec_send(vector) FROM fragments WHERE key = ANY(%s)"
        vectors: dict[int, bytes] = dict(self._queries.rows(sql, array(keys.tolist())))
        # Two numbers of 16 bits, of which the first is how many numbers follow.
        data = b"".join(vectors.get(key, _NO_VECTOR)[4:] for key in keys.tolist())
        return np.frombuffer(data, ">f2").reshape(len(keys), schema.DIMENSIONS).astype(np.float32)


Floats = NDArray[np.float32]
_NO_VECTOR = bytes(4 + 2 * schema.DIMENSIONS)
_NONE = "nothing"  # shorter than any token
_MATCHES = f"{schema.TOKENS} @@ %s::tsquery"


@dataclass(frozen=True, slots=True)
class _Ranking:
    """Statements that return the requested keys; with `limit`, keys with a number, the lowest of which count."""

    statements: tuple[Statement, ...]
    limit: int = 0
    by_words: bool = False

    def best(self, answers: Sequence[Sequence[Row]]) -> Iterator[int]:
        """Yield the requested keys of the answers to the statements."""
        ordered = islice(heapq.merge(*answers, key=_rank), self.limit) if self.limit else chain.from_iterable(answers)
        yield from (row[0] for row in ordered)


def _rank(row: Row) -> float:
    return float(row[1])


def _select(table: str, conditions: Sequence[str], columns: str = "key") -> str:
    clause = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {columns} FROM {table}{clause}"


def _vault_name_error(address: Address, names: Sequence[str]) -> StoreUnusableError:
    problem = f"There is no vault called {address.vault}" if address.vault else "There is no vault name"
    available = ", ".join(names) or "none"
    return StoreUnusableError(f"{problem} in {address.shown}.", f"Add ?vault=NAME to it. Vaults there: {available}.")


def _await(connection: Connection, address: Address) -> None:
    """Wait until a replica has what the address asks for. Raises StoreUnusableError after some seconds."""
    ends = time.monotonic() + _TIMEOUT
    statement = "SELECT NOT pg_is_in_recovery() OR pg_last_wal_replay_lsn() >= %s::pg_lsn"
    while address.after and not connection.rows(statement, address.after)[0][0]:
        if time.monotonic() > ends:
            raise StoreUnusableError(
                f"{address.shown} does not have the changes up to {address.after} yet.",
                "Ask the primary, or try again later.",
            )
        time.sleep(_POLL_SECONDS)


def _key(row: Row) -> int:
    return int(row[0])


def _token(term: str) -> str:
    from excerpt.store.words import token_of

    return token_of(term)


def _tokens(query: CandidateQuery) -> str | None:
    """Return the terms that a fragment must and must not have, as a tsquery; None without any."""
    parts = [" | ".join(map(_token, terms)) or _NONE for terms in query.must]
    parts = [f"({part})" for part in parts] + [f"!{_token(term)}" for term in query.must_not]
    return " & ".join(parts) if parts else None


def _text(vector: Floats) -> str:
    return f"[{','.join(map(repr, vector.tolist()))}]"


def _newest(connection: Connection, vault: tuple[int, str]) -> Row:
    """Return the number of the newest revision, the areas that the reader may read, and the vault's description.

    Raises StoreUnusableError if there are none.
    """
    number, name = vault
    vault_rows = connection.rows(
        "SELECT revision, areas, updated, model, model_source, tokenizer FROM excerpt_vault.vaults() WHERE id = %s",
        number,
    )
    if not vault_rows:
        raise StoreUnusableError(
            f"There is no vault called {name} any more, or you may not read it.", "Ask the store's administrator."
        )
    return vault_rows[0]


def _read(connection: Connection, vault: tuple[int, str], before: _Revision | None) -> _Revision:
    """Return the newest revision, which may be the one before."""
    number, areas, *described = _newest(connection, vault)
    tables = AreaTables(vault[0], tuple(areas))
    if before is not None and (before.number, before.tables) == (number, tables):
        return before
    area_rows = connection.rows(
        "SELECT area, attached, fragments, lengths, filled, vectors FROM excerpt_vault.statistics(%s)", vault[0]
    )
    counts = [sum(row[2] for row in area_rows if row[0] == area) for area in areas]
    shares = [count / max(sum(counts), 1) for count in counts]
    statistics = _statistics([row[1:] for row in area_rows])
    revision = _Revision(number, StoreQueries(connection, tables), statistics, shares, tuple(described))
    if before is not None and before.model_source == revision.model_source:
        revision.embedder = before.embedder
    return revision


def _statistics(area_rows: Sequence[Row]) -> Statistics:
    """Return the statistics of all areas, from rows for the notes and for the attachments of each."""
    counts = {kind: sum(row[1] for row in area_rows if row[0] == kind) for kind in (False, True)}
    is_attachments = not counts[False] and counts[True] > 0
    counted = [row for row in area_rows if row[0] == is_attachments]
    lengths, filled, vectors = (
        np.array([row[column] for row in counted], np.float64).reshape(-1, width).sum(axis=0)
        for column, width in ((2, len(FIELDS)), (3, len(FIELDS)), (4, schema.DIMENSIONS))
    )
    means = tuple(
        total / filled_count if filled_count else 1.0
        for total, filled_count in zip(lengths.tolist(), filled.tolist(), strict=True)
    )
    mean = (vectors / max(counts[is_attachments], 1)).astype(np.float32)
    return Statistics(sum(counts.values()), counts[is_attachments], is_attachments, means, mean)
