"""A vault in a store as a corpus: notes are read on demand, and only fragments that queries need are loaded."""

from __future__ import annotations

import heapq
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from itertools import chain, islice
from typing import Self, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from excerpt.base.errors import ModelError, StoreUnusableError
from excerpt.base.model import FileProblem, Fragment, Status
from excerpt.base.settings import Settings
from excerpt.corpus.facets import Facets, NumberedNotes
from excerpt.corpus.interface import CandidateQuery, QueryOutline
from excerpt.corpus.names import fold_name
from excerpt.corpus.notes import NoteReader
from excerpt.corpus.tables import FIELDS, FragmentTable
from excerpt.encoders.model_names import require_static_model
from excerpt.encoders.static_model import Embedder, open_embedder
from excerpt.index.postings import EMBEDDED_TEXT_VERSION
from excerpt.index.vectors import VectorMatrix
from excerpt.search.bm25 import MAX_COMPLETIONS
from excerpt.vault.dialect import guess_dialect
from excerpt_postgres import schema
from excerpt_postgres.address import PostgresAddress
from excerpt_postgres.candidates import (
    CandidateTerms,
    CandidateVectors,
    LoadedFragments,
    TermCache,
    VaultStatistics,
    VectorBytes,
)
from excerpt_postgres.connection import (
    KnownRows,
    Row,
    Statement,
    StoreConnection,
    TransactionLostError,
    array_literal,
)
from excerpt_postgres.postings import ORDINAL_BITS, KeyScores, PostingsBlock, WordRanking
from excerpt_postgres.queries import (
    ReadableAreas,
    RowCache,
    StoreQueries,
    completions_statement,
    counts_statement,
    postings_statement,
)
from excerpt_postgres.words import DecodedTokens, stored_tokens, word_lengths

_TIMEOUT_SECONDS = 20.0
"""Maximum seconds of a reader's statement, and of waiting for a replica that is behind its primary."""
_POLL_SECONDS = 0.01
"""Seconds between two looks at a replica; one beside its primary is behind by 1.4 ms at p50, 3.5 at p95."""
_MAX_EXHAUSTIVE = 2_000
"""If filters leave at most so many fragments, all of them are loaded, instead of the best by words and meaning."""
_SCAN_SHARE = 0.2
"""If filters leave at most this share of the vault's fragments, the nearest vectors are found by a scan.

The index by meaning covers all fragments, so a search in it would pass over many that are filtered out.
"""
_MAX_SCANNED = 30_000
"""Maximum number of vectors in a scan: 180,000 of a million take 2 s."""
_MAX_LISTED_NOTES = 500
"""Maximum number of attachments of which the fragments are found by the numbers of the notes."""
_MAX_NAMED_FRAGMENTS = 500
"""Maximum number of fragments that are loaded from notes that a query names."""
_LIKELY_HITS = 60
"""Number of the best fragments by words, and by meaning, of which the texts are read before they are scored.

With it 132 of 200 searches of cpp-docs wait twice for the server, and 62 three times.
"""
_EF_SEARCH = 500
"""Number of candidates in a search of the index by meaning (hnsw.ef_search), twice the vectors that are wanted.

Of 200 first tens of cpp-docs 3 differ from the folder's, with 300 candidates 8, with 1,000 2; 200 more take 1 ms.
"""

_WORK_MEM_MB = 64
"""Memory in MB that a statement may use on the server.

With 4 MB, a bitmap of a million fragments does not fit: each page is read, and a common word in quotes takes 4.7 s
instead of .2.
"""

_PARALLEL_SETUP_COST = 50_000
"""The planner's cost of starting parallel workers; PostgreSQL's default is 1,000.

Workers take 20 ms to start, and with the default the planner used them to look up fifty rows in the tables of three
areas.
"""

Answer = TypeVar("Answer")
Floats = NDArray[np.float32]

_SELECT_STATE = "SELECT revision, areas FROM excerpt_vault.vaults() WHERE id = %s"
"""Selects what differs once another revision was pushed, or other areas may be read."""

_MATCHES_WITHOUT_INDEX = f"({schema.TERMS_TSVECTOR} @@ %s::tsquery) IS TRUE"
"""SQL condition that a fragment has the terms of a filter, checked row by row in the order of another index.

IS TRUE keeps the planner from using the index by terms and sorting the rows, which takes three times as long.
"""
_MODEL_DIGEST = re.compile(r"[0-9a-f]{16}/\d+")
"""Matches the column `vaults.model_source` once the first push has ended."""
DAMAGED_INDEX_MESSAGE = (
    "It is missing or damaged. Searches read the rows instead, more slowly. Rebuild it with `excerpt push`."
)
"""The message about a damaged index; it follows the name of the index."""


class StoreHealth(Struct, frozen=True):
    """The state of a store, as a reader sees it.

    `server` is the version of PostgreSQL, `extension` the one of pgvector, "" without it, and `damaged` the names of
    damaged indexes. `counted` is the number of the readable fragments by the statistics, `fragments` their number by
    counting rows; they should be equal.
    """

    server: str
    is_replica: bool
    extension: str
    damaged: tuple[str, ...]
    counted: int
    fragments: int


class _RevisionNotes(Struct, frozen=True):
    """The notes of a revision (state of the vault after a push) in the order of paths, one row each.

    `numbers` are their numbers in the store, `by_number` the rows in the order of these; `attached` flags attachments.
    """

    paths: tuple[str, ...]
    languages: tuple[str, ...]
    numbers: NDArray[np.int64]
    attached: NDArray[np.bool_]
    by_number: NDArray[np.intp]

    def has(self, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return for each note number whether the note is in this table; it may belong to a later revision."""
        return np.isin(numbers, self.numbers)

    def flag_attached(self, keys: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return for each key of a fragment whether the fragment is of an attachment."""
        if not self.attached.any():
            return np.zeros(len(keys), np.bool_)
        return np.isin(keys >> ORDINAL_BITS, self.numbers[self.attached])

    def positions(self, numbers: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the rows of this table that have these note numbers."""
        at = np.searchsorted(self.numbers, numbers, sorter=self.by_number)
        return self.by_number[at].astype(np.int32)


class _RevisionData:
    """The data of a vault that stays the same until the next push: statistics, notes, and counts of terms.

    A revision is the state of the vault after a push; its number grows with every push.
    """

    def __init__(
        self,
        number: int,
        queries: StoreQueries,
        statistics: VaultStatistics,
        vault_row: Row,
        *,
        has_halfvecs: bool,
        before: _RevisionData | None,
    ) -> None:
        """Read the notes of the revision `number`; `before` is an older revision.

        `vault_row` are the vault's time of update, model, source of the model, and tokenizer.
        """
        self.number = number
        self.queries = queries
        self.tables = queries.tables
        self.known_rows = KnownRows((_SELECT_STATE, (self.tables.vault,)), [(number, list(self.tables.areas))])
        self.statistics = statistics
        self.updated, self.model, self.model_source, self.tokenizer = vault_row
        self.embedder: Embedder | None = None
        self.languages: tuple[str, ...] | None = None
        self.terms = TermCache(queries)
        self.ranking = WordRanking(statistics.mean_lengths)
        note_rows = queries.note_table()
        numbers = np.array([row[2] for row in note_rows], np.int64)
        self.notes = _RevisionNotes(
            tuple(row[0] for row in note_rows),
            tuple(row[1] for row in note_rows),
            numbers,
            np.array([bool(row[3]) for row in note_rows], np.bool_),
            np.argsort(numbers),
        )
        self.has_halfvecs = has_halfvecs
        self._matrix: VectorMatrix | None = None if before is None or has_halfvecs else before._matrix
        self._is_matrix_current = False
        # What is read later has no notes that came later.
        self._queries_of_notes = queries.up_to(max((row[2] for row in note_rows), default=0))
        self.facets = Facets(
            self._queries_of_notes,
            NumberedNotes(self.notes.paths, self.notes.numbers, self.notes.numbers << ORDINAL_BITS),
            dialect=guess_dialect(self.notes.paths),
        )

    def count_fragments(self, terms: Sequence[str]) -> tuple[int, int] | None:
        """Count the fragments with any of `terms`, and those of attachments; None if their postings are not known."""
        if not self.ranking.knows(terms):
            return None
        keys = self.ranking.keys_with(terms)
        return len(keys), int(np.count_nonzero(self.notes.flag_attached(keys)))

    def vector_matrix(self) -> VectorMatrix:
        """Return the vectors of all fragments, for a store without pgvector, reading those that are not known yet."""
        if self._matrix is None or not self._is_matrix_current:
            source = VectorBytes(self._queries_of_notes, self.tables, self._queries_of_notes.max_note)
            self._matrix = VectorMatrix.read(source, source.read_keys(), schema.DIMENSIONS, self._matrix)
            self._is_matrix_current = True
        return self._matrix


class _VectorReader(Struct, frozen=True):
    """Reads the vectors of a revision; apart from the snapshot, so that one that is used no more is freed at once."""

    connection: StoreConnection
    revision: _RevisionData

    def matrix(self) -> VectorMatrix:
        """Return all vectors of a store without pgvector, read from one state of the store."""
        with self.connection.read_transaction():
            return self.revision.vector_matrix()

    def _find_in_matrix(self, keys: NDArray[np.int64]) -> tuple[VectorMatrix, NDArray[np.bool_], NDArray[np.intp]]:
        """Return all vectors, which of `keys` have one (a push may have removed the others), and the rows of these."""
        matrix = self.matrix()
        rows = np.searchsorted(matrix.keys, keys)
        is_known = rows < len(matrix.keys)
        is_known[is_known] = matrix.keys[rows[is_known]] == keys[is_known]
        return matrix, is_known, rows[is_known]

    def cosines(self, keys: NDArray[np.int64], query: Floats) -> Floats:
        """Return the cosine of each of the fragments `keys` with a vector."""
        if not self.revision.has_halfvecs:
            matrix, is_known, rows = self._find_in_matrix(keys)
            known_cosines = np.zeros(len(is_known), np.float32)
            if len(rows):
                known_cosines[is_known] = matrix.similarities_at(query, rows)
            return known_cosines
        cosines: dict[int, float] = dict(
            self.revision.queries.rows(
                "SELECT key, -(vector <#> %s::halfvec) FROM fragments WHERE key = ANY(%s)",
                *(_vector_literal(query), array_literal(keys.tolist())),
            )
        )
        return np.array([cosines.get(key, 0.0) for key in keys.tolist()], np.float32)

    def vectors(self, keys: NDArray[np.int64]) -> Floats:
        """Return the vectors of the fragments `keys`."""
        if not self.revision.has_halfvecs:
            matrix, is_known, rows = self._find_in_matrix(keys)
            known_vectors = np.zeros((len(keys), schema.DIMENSIONS), np.float32)
            known_vectors[is_known] = matrix.rows(rows)
            return known_vectors
        sql = "SELECT key, halfvec_send(vector) FROM fragments WHERE key = ANY(%s)"
        vectors: dict[int, bytes] = dict(self.revision.queries.rows(sql, array_literal(keys.tolist())))
        # A halfvec begins with two 16-bit integers (the number of dimensions, and 0), which are cut off.
        data = b"".join(vectors.get(key, _ZERO_VECTOR)[4:] for key in keys.tolist())
        return np.frombuffer(data, ">f2").reshape(len(keys), schema.DIMENSIONS).astype(np.float32)


class StoreSnapshot(NoteReader):
    """A vault in a store, with only those fragments loaded that some queries need.

    `prefetch` returns a snapshot with the fragments for other queries. Used from one thread at a time. Methods raise
    StoreUnusableError if the connection to the server is lost.
    """

    def __init__(
        self,
        connection: StoreConnection,
        vault: tuple[int, str],
        settings: Settings,
        revision: _RevisionData,
        loaded: LoadedFragments,
    ) -> None:
        self._connection = connection
        self._vault, self._name = vault
        self._settings = settings
        self._revision = revision
        self._loaded = loaded
        self._note_queries: StoreQueries = revision.queries
        self._answers: dict[Statement, list[Row]] = {}
        self.lexical = CandidateTerms(loaded, revision.terms, revision.statistics, revision.count_fragments)
        self._vector_reader = _VectorReader(connection, revision)
        self.vectors = CandidateVectors(
            loaded, revision.statistics, partial(self._vector_reader.cosines, loaded.keys), self._vector_reader.vectors
        )

    @classmethod
    def open(cls, address: PostgresAddress, settings: Settings) -> Self:
        """Connect to a store, and open the vault that `address` names, without loading fragments.

        Raises StoreUnusableError if that fails, or no such vault may be read.
        """
        connection = StoreConnection(address, timeout=_TIMEOUT_SECONDS)
        try:
            _wait_for_replica(connection, address)
            schema.check(connection)
            names = connection.rows("SELECT id, name FROM excerpt_vault.vaults() ORDER BY name")
            matching = [row for row in names if row[1] == address.vault or (not address.vault and len(names) == 1)]
            if not matching:
                raise _vault_name_error(address, [name for _, name in names])  # noqa: TRY301 - as it is closed below
            number, name = matching[0]
            connection.set_session(
                ("SELECT set_config('search_path', 'excerpt_vault, public', false)", ()),
                (f"SET hnsw.ef_search = {_EF_SEARCH}", ()),
                (f"SET work_mem = '{_WORK_MEM_MB}MB'", ()),
                (f"SET parallel_setup_cost = {_PARALLEL_SETUP_COST}", ()),
                ("SET hnsw.iterative_scan = strict_order", ()),
            )
            return cls(
                connection,
                (number, name),
                settings,
                _read_revision(connection, (number, name), None),
                LoadedFragments.empty(),
            )
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        """Close the connection, which all snapshots made from this one share."""
        self._connection.close()

    def shorten_wal(self) -> None:
        """Do nothing: the server manages its log itself."""

    @property
    def edition(self) -> tuple[object, ...]:
        """A key that is equal in two snapshots with the same revision and the same readable areas."""
        return self.generation, self._revision.tables.areas

    # --- data of the vault, as an index has it ------------------------------------------------------------------------

    @property
    def generation(self) -> int:
        """Number of the revision, which grows with every push."""
        return self._revision.number

    @property
    def model_id(self) -> str:
        return str(self._revision.model_source)

    @property
    def search_vectors(self) -> CandidateVectors:
        """The same as `vectors`: a store has only vectors of a static model."""
        return self.vectors

    @property
    def query_embedder(self) -> Embedder:
        """The same as `embedder`."""
        return self.embedder

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

    def check(self) -> None:
        """Do nothing: no stored file could be damaged."""

    def notes_named(self, name: str) -> tuple[int, ...]:
        """Return the notes called `name` as positions in `table.paths`."""
        if not (named := self._revision.queries.note_numbers_named(fold_name(name))):
            return ()
        numbers, notes = np.array(named, np.int64), self._revision.notes
        return tuple(np.unique(notes.positions(numbers[notes.has(numbers)])).tolist())

    @property
    def facets(self) -> Facets:
        """The values that notes can be filtered by: tags, properties, dates, folders."""
        return self._revision.facets

    @property
    def embedder(self) -> Embedder:
        """The embedding model of the settings. Raises ModelError if the vectors are from another model."""
        if self._revision.embedder is not None:
            return self._revision.embedder
        require_static_model(self._settings)
        embedder, source = open_embedder(self._settings.embedding.model), str(self._revision.model_source)
        if _MODEL_DIGEST.fullmatch(source) is None:
            raise ModelError(
                "The store does not say which embedding model its vault was made with: the vault was pushed by an older"
                " excerpt, or its first push is not finished.",
                "Push the vault again: `excerpt push VAULT --to ADDRESS`.",
            )
        if source != f"{embedder.id}/{EMBEDDED_TEXT_VERSION}":
            raise ModelError(
                "The vault in the store was made with another embedding model.",
                "Set embedding.model to the model of the last push, or push the vault again with your model.",
            )
        self._revision.embedder = embedder
        return embedder

    @cached_property
    def table(self) -> FragmentTable:
        """The note and the first line of each loaded fragment, with the paths of all notes."""
        notes, keys = self._revision.notes, self._loaded.keys
        return FragmentTable(
            keys=keys,
            notes=notes.positions(keys >> ORDINAL_BITS),
            lines=self._loaded.lines,
            paths=notes.paths,
            languages=notes.languages,
            numbers=notes.numbers,
            first_fragment_keys=notes.numbers << ORDINAL_BITS,
            is_attachment=notes.attached,
        )

    @property
    def is_possible_result(self) -> NDArray[np.bool_]:
        """Flags of the rows of the loaded fragments: True for requested ones, False for their neighbours."""
        return self._loaded.is_answer

    @property
    def partial(self) -> Self:
        """The snapshot itself: only some fragments are loaded."""
        return self

    @property
    def skipped(self) -> tuple[FileProblem, ...]:
        """Files that could not be indexed, and why."""
        return self._note_queries.remarks(skipped=True)

    @property
    def warnings(self) -> tuple[FileProblem, ...]:
        """Notes that are indexed, but with a warning, such as text from a bad scan."""
        return self._note_queries.remarks(skipped=False)

    def health(self) -> StoreHealth:
        """Return the versions of the server, its damaged indexes, and the number of fragments by two counts."""
        rows = self._connection.rows
        ((server, is_replica),) = rows("SELECT current_setting('server_version'), pg_is_in_recovery()")
        versions = rows("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
        return StoreHealth(
            server=str(server).split()[0],
            is_replica=bool(is_replica),
            extension="".join(version for (version,) in versions),
            damaged=schema.find_damaged_indexes(self._connection, self._revision.tables.areas),
            counted=self._revision.statistics.count,
            fragments=int(self._note_queries.rows("SELECT count(*) FROM fragments")[0][0]),
        )

    def status(self) -> Status:
        """Return the counts, warnings and model of the vault in the store."""
        attachments = self._note_queries.attachment_counts()
        return Status(
            vault=self._name,
            generation=self.generation,
            notes=len(self._revision.notes.paths) - sum(attachments.values()),
            fragments=self._revision.statistics.count,
            skipped=self.skipped,
            warnings=(
                *(
                    FileProblem(f"index by {index}", DAMAGED_INDEX_MESSAGE)
                    for index in schema.find_damaged_indexes(self._connection, self._revision.tables.areas)
                ),
                *self.warnings,
            ),
            model=str(self._revision.model),
            tokenizer=self.tokenizer,
            updated=str(self._revision.updated),
            attachments=attachments,
        )

    def fragment_counts(self, notes: NDArray[np.integer]) -> NDArray[np.int64]:
        """Return the number of fragments of each note in `notes`, positions in `table.paths`."""
        numbers = self._revision.notes.numbers[notes].tolist()
        return np.array(self._revision.queries.fragment_counts(numbers), np.int64)

    def count_fragments(self, terms: Sequence[str]) -> int:
        """Count the fragments of the vault with each of `terms`, and return the sum.

        Terms are stems of one word, so hardly any fragment has two of them.
        """
        self._revision.terms.prefetch(terms)
        return sum(self._revision.terms.count(term)[0] for term in terms)

    def count_notes(self, terms: Sequence[str]) -> int:
        """Return how many notes have a fragment with all of `terms`; for one term, the stored count is used."""
        if len(terms) == 1:
            return self._revision.terms.count(terms[0])[2]
        statement, values = self._keys_statement(CandidateQuery(must=tuple((term,) for term in terms)))
        sql = f"SELECT count(DISTINCT key >> {ORDINAL_BITS}) FROM ({statement}) AS found (key)"
        return int(self._note_queries.rows(sql, *values)[0][0])

    # --- loading of fragments -----------------------------------------------------------------------------------------

    @property
    def without_comments(self) -> Self:
        """This snapshot: comments are not pushed."""
        return self

    def reopen(self) -> Self:
        """Return a snapshot of the newest revision, without loaded fragments; this one if nothing was pushed since."""
        if self._connection.known == self._revision.known_rows:
            return self
        revision = _read_revision(self._connection, (self._vault, self._name), self._revision)
        return self if revision is self._revision else self._with_loaded(revision, LoadedFragments.empty())

    def prefetch(self, requests: Callable[[Self], Sequence[CandidateQuery]]) -> Self:
        """Return a snapshot of the newest revision, with the fragments that some queries need.

        `requests` returns these queries for a snapshot without fragments. Raises StoreUnusableError.
        """
        with self._connection.read_transaction():
            base = self.reopen()
            base._revision.ranking.forget_if_many()
            try:
                queries = requests(base)
                loaded = base._load_fragments(base._candidate_keys(queries), [query.vector for query in queries])
            finally:
                base._answers.clear()
            return base._with_loaded(base._revision, loaded)

    def prefetch_outlines(self, outlines: Sequence[QueryOutline]) -> None:
        """Read in one round trip what these queries need: counts, completions, names, postings, nearest vectors."""
        terms, queries, ranking = self._revision.terms, self._revision.queries, self._revision.ranking
        counted = terms.missing_terms(term for outline in outlines for term in outline.terms)
        prefixes = [
            prefix for prefix in {outline.prefix for outline in outlines} if prefix and not terms.is_completed(prefix)
        ]
        tokens = ranking.missing_tokens(term for outline in outlines for term in _all_terms(outline.query))
        ranked = [statement for outline in outlines for statement in self._first_statements(outline.query)]
        names = [fold_name(outline.name) for outline in outlines if outline.name]
        answers = iter(
            queries.prefetch(
                {queries.named_notes: names},
                [
                    *ranked,
                    *([counts_statement(counted)] if counted else []),
                    *([postings_statement(tokens)] if tokens else []),
                    *(completions_statement(prefix, MAX_COMPLETIONS) for prefix in prefixes),
                ],
            )
        )
        self._answers.update((statement, next(answers)) for statement in ranked)
        if counted:
            terms.add_counts(counted, next(answers))
        if tokens:
            ranking.add(tokens, (PostingsBlock(*row) for row in next(answers)))
        for prefix in prefixes:
            rows = next(answers)
            terms.add_completions(prefix, rows)
            ranking.add(
                ranking.missing_tokens(row[0] for row in rows),
                (PostingsBlock(*row[4:]) for row in rows),
            )

    def read_transaction(self, answer: Callable[[], Answer]) -> Answer:
        """Call `answer` in one read transaction and return its result; all its reads see the same state of the vault.

        If the connection is lost, or another state was pushed, `answer` is called once more. Raises StoreUnusableError.
        """
        for known in (self._revision.known_rows, None):
            try:
                with self._connection.read_transaction(known):
                    return answer()
            except TransactionLostError as error:
                lost = error
        raise StoreUnusableError(lost.message, lost.hint) from lost

    def candidates_by_note(self, queries: Sequence[CandidateQuery]) -> NDArray[np.intp]:
        """Return for each note of the vault how many of its fragments are needed by any of `queries`."""
        notes = self._revision.notes
        self._revision.ranking.forget_if_many()
        with self._connection.read_transaction():
            note_numbers = np.array(self._candidate_keys(queries).keys, np.int64) >> ORDINAL_BITS
        return np.bincount(notes.positions(note_numbers[notes.has(note_numbers)]), minlength=len(notes.paths))

    def matching_by_note(self, queries: Sequence[CandidateQuery]) -> NDArray[np.int64]:
        """Return for each note of the vault how many of its fragments match any of `queries`.

        A fragment matches a query if it passes the filters and has any of the terms; if the query has no terms, the
        filters alone decide.
        """
        notes = self._revision.notes
        counts = np.zeros(len(notes.paths), np.int64)
        statements = [
            self._keys_statement(replace(query, must=(*query.must, *filter(None, [query.terms])))) for query in queries
        ]
        if statements:
            union = " UNION ".join(statement for statement, _ in statements)
            sql = f"SELECT key >> {ORDINAL_BITS}, count(*) FROM ({union}) AS found (key)"
            values = [value for _, statement_values in statements for value in statement_values]
            counts_by_note = np.array(self._note_queries.rows(f"{sql} GROUP BY 1", *values), np.int64).reshape(-1, 2)
            counts_by_note = counts_by_note[notes.has(counts_by_note[:, 0])]
            counts[notes.positions(counts_by_note[:, 0])] = counts_by_note[:, 1]
        return counts

    def fragments(self, keys: Sequence[int]) -> list[Fragment]:
        """Return the fragments with these keys; reads what a hit shows of its note in the same round trip."""
        self._revision.queries.prefetch(self._hit_rows(keys))
        return super().fragments(keys)

    def _hit_rows(self, keys: Sequence[int]) -> dict[RowCache, Sequence[int] | Sequence[str]]:
        """Return which rows are read for hits: their texts, and the labels and data of their notes."""
        queries, notes = self._revision.queries, self._revision.notes
        numbers = np.array(sorted({int(key) >> ORDINAL_BITS for key in keys}), np.int64)
        paths = [notes.paths[position] for position in notes.positions(numbers[notes.has(numbers)]).tolist()]
        return {queries.texts: keys, queries.note_labels: numbers.tolist(), queries.note_rows: paths}

    def _with_loaded(self, revision: _RevisionData, loaded: LoadedFragments) -> Self:
        return type(self)(self._connection, (self._vault, self._name), self._settings, revision, loaded)

    def _candidate_keys(self, queries: Sequence[CandidateQuery]) -> _CandidateKeys:
        """Return the keys of the candidates for `queries`, and of the fragments before and after them in the notes."""
        rankings: list[_RankedStatements] = []
        by_words: list[CandidateQuery] = []
        keys: set[int] = set()
        likely: set[int] = set()
        count = self._revision.statistics.count
        for query in queries:
            remaining = count
            if query.scan_limit:
                statement, values = self._keys_statement(query)
                sql = f"SELECT key FROM ({statement}) AS found (key) ORDER BY key LIMIT %s"
                rankings.append(_RankedStatements(((sql, (*values, query.scan_limit)),)))
                continue
            if query.is_filtered:
                (rows,) = self._rows_of([self._probe_statement(query)])
                if len(rows) <= max(_MAX_EXHAUSTIVE, query.limit):
                    keys.update(row[0] for row in rows)
                    continue
                remaining = self._max_matches(query)
            if not query.is_filtered:
                named = self._keys_of_notes(query.whole_notes)
                keys.update(named)
                likely.update(named[:_LIKELY_HITS])
            rankings += self._query_rankings(query, remaining <= min(_SCAN_SHARE * count, _MAX_SCANNED))
            by_words.append(query)
        for ranked in self._ranked_keys(rankings, by_words):
            keys.update(ranked)
            likely.update(ranked[:_LIKELY_HITS])
        neighbours = {key + step for key in keys for step in (-1, 1)} | {
            key >> ORDINAL_BITS << ORDINAL_BITS for key in keys
        }
        return _CandidateKeys(sorted(keys), sorted(neighbours - keys), sorted(likely))

    def _keys_of_notes(self, notes: Sequence[int]) -> list[int]:
        """Return the first _MAX_NAMED_FRAGMENTS keys of the fragments of some notes, which are numbered from 0."""
        positions = np.array(notes, np.int64)
        firsts = (self._revision.notes.numbers[positions] << ORDINAL_BITS).tolist()
        sizes = self.fragment_counts(positions).tolist()
        keys = (key for first, size in zip(firsts, sizes, strict=True) for key in range(first, first + size))
        return sorted(keys)[:_MAX_NAMED_FRAGMENTS]

    def _first_statements(self, query: CandidateQuery) -> list[Statement]:
        """Return the first statements by which the candidates for a query are found, whatever its terms."""
        if query.is_filtered:
            return [self._probe_statement(query)]
        count = self._revision.statistics.count
        rankings = self._query_rankings(query, count <= min(_SCAN_SHARE * count, _MAX_SCANNED))
        return [statement for ranking in rankings for statement in ranking.statements]

    def _probe_statement(self, query: CandidateQuery) -> Statement:
        """Return the statement for all fragments that pass a query's filters, or for one more than are loaded whole."""
        sql, values = self._keys_statement(query, max(_MAX_EXHAUSTIVE, query.limit) + 1)
        return sql, tuple(values)

    def _rows_of(self, statements: Sequence[Statement]) -> list[list[Row]]:
        """Return the rows of statements over the tables of a catalog; those that were answered are not sent again."""
        missing = [statement for statement in statements if statement not in self._answers]
        self._answers.update(zip(missing, self._revision.queries.prefetch({}, missing), strict=True))
        return [self._answers[statement] for statement in statements]

    def _ranked_keys(
        self, rankings: Sequence[_RankedStatements], by_words: Sequence[CandidateQuery]
    ) -> Iterator[list[int]]:
        """Execute the statements of some rankings, and yield the keys of the best fragments of each, best first.

        Also yields those of the best fragments by the terms of each of the queries `by_words`.
        """
        known = self._revision.ranking
        tokens = known.missing_tokens(
            term for query in by_words if query.terms or query.vector is not None for term in _all_terms(query)
        )
        statements = [statement for ranking in rankings for statement in ranking.statements]
        if tokens:
            statements.append(postings_statement(tokens))
        answers = iter(self._rows_of(statements))
        for ranking in rankings:
            yield list(ranking.top_keys([next(answers) for _ in ranking.statements]))
        if tokens:
            known.add(tokens, (PostingsBlock(*row) for row in next(answers)))
        for query in by_words:
            if query.terms:
                scores = self._revision.ranking.scores(
                    [(tier.terms, self.lexical.idf(tier.terms) * tier.share) for tier in tiers] for tiers in query.words
                )
                yield from self._best_of(scores, query, query.limit)
            if query.vector is not None and not self._revision.has_halfvecs:
                matrix = self._vector_reader.matrix()
                cosines = KeyScores(matrix.keys, matrix.similarities(query.vector))
                yield from self._best_of(cosines, query, query.vector_limit)

    def _best_of(self, scores: KeyScores, query: CandidateQuery, limit: int) -> Iterator[list[int]]:
        """Yield the keys of the best fragments of notes that pass a query's filters, and of attachments, best first."""
        ranking, notes = self._revision.ranking, self._revision.notes
        allowed = np.ones(len(scores.keys), np.bool_)
        if query.notes is not None:
            allowed &= np.isin(scores.keys >> ORDINAL_BITS, notes.numbers[query.notes])
        if query.keys is not None:
            allowed &= np.isin(scores.keys, np.array(query.keys, np.int64))
        for terms in query.must:
            allowed &= np.isin(scores.keys, ranking.keys_with(terms))
        if query.must_not:
            allowed &= ~np.isin(scores.keys, ranking.keys_with(query.must_not))
        kinds = [allowed]
        if notes.attached.any():
            is_attached = notes.flag_attached(scores.keys)
            kinds = [allowed & ~is_attached, allowed & is_attached]
        for is_wanted in kinds:
            yield scores.best(is_wanted, limit)

    def _max_matches(self, query: CandidateQuery) -> int:
        """Return an upper bound of the number of fragments that pass a query's filters, from cheap counts."""
        counts = [self._revision.statistics.count]
        counts += [self.lexical.document_frequency(terms).fragments for terms in query.must]
        if query.notes is not None:
            notes = array_literal(self._revision.notes.numbers[query.notes].tolist())
            counts.append(self._note_queries.rows("SELECT count(*) FROM fragments WHERE note = ANY(%s)", notes)[0][0])
        if query.keys is not None:
            counts.append(len(query.keys))
        return min(counts)

    def _note_conditions(self, query: CandidateQuery) -> tuple[list[str], list[object]]:
        """Return SQL conditions for the notes and keys that a query is restricted to, and their values."""
        conditions: list[str] = []
        values: list[object] = []
        for column, numbers in (("note", self._note_numbers(query)), ("key", query.keys)):
            if numbers is not None:
                conditions.append(f"{column} = ANY(%s)")
                values.append(array_literal(numbers))
        return conditions, values

    def _note_numbers(self, query: CandidateQuery) -> list[int] | None:
        """Return the numbers of the notes that a query is restricted to; None if it is not restricted."""
        return None if query.notes is None else self._revision.notes.numbers[query.notes].tolist()

    def _keys_statement(
        self, query: CandidateQuery, limit: int | None = None, table: str = "fragments"
    ) -> tuple[str, list[object]]:
        """Return SQL for the keys of the fragments in `table` that pass a query's filters, with its values.

        `limit` is the maximum number of keys, None for all.
        """
        conditions, values = self._note_conditions(query)
        if query.must_not and not query.must and limit is None:
            # The index finds fragments with these terms; checking each row would parse its text of tokens.
            conditions.append(f"key NOT IN ({_select_statement(table, [*conditions, _MATCHES_TERMS])})")
            values += [*values, " | ".join(stored_tokens(query.must_not))]
        elif (tokens := _terms_tsquery(query)) is not None:
            conditions.append(_MATCHES_TERMS)
            values.append(tokens)
        return _select_statement(table, conditions) + ("" if limit is None else f" LIMIT {limit}"), values

    def _query_rankings(self, query: CandidateQuery, is_scannable: bool) -> list[_RankedStatements]:
        """Return statements for the fragments that a query needs besides the best by words: the nearest by meaning.

        Notes and attachments get equally many. `is_scannable` says that so few fragments pass the filters that a scan
        can find the nearest. A query with filters alone gets the newest fragments.
        """
        tokens = _terms_tsquery(query)
        conditions, values = self._note_conditions(query)
        filtering = [*conditions, *([] if tokens is None else [_MATCHES_WITHOUT_INDEX])]
        values += [] if tokens is None else [tokens]
        statistics = self._revision.statistics
        attached_count = statistics.count - statistics.counted
        kinds = {"": is_scannable}
        if attached_count:
            scan_limit = _SCAN_SHARE * statistics.count
            numbers = self._revision.notes.numbers[self._revision.notes.attached].tolist()
            # The index by notes finds few of them at once, a condition on each row reads all fragments.
            listed = f"note = ANY('{array_literal(numbers)}')" if len(numbers) <= _MAX_LISTED_NOTES else "attached"
            kinds = {"NOT attached": is_scannable, listed: is_scannable or attached_count <= scan_limit}
        rankings: list[_RankedStatements] = []
        for kind, is_scanned in kinds.items():
            kind_conditions = [kind] if kind else []
            if query.vector is not None and self._revision.has_halfvecs:
                rankings.append(
                    self._vector_ranking(
                        query, [*filtering, *kind_conditions], values, kind_conditions, is_scanned=is_scanned
                    )
                )
        if query.is_filtered and query.vector is None and not query.terms:
            # Filters alone: as `filters.newest_first` has them.
            keys_sql, key_values = self._keys_statement(query)
            sql = (
                f"SELECT key FROM fragments JOIN notes ON notes.id = note WHERE key IN ({keys_sql})"
                " ORDER BY ordinal, mtime_ns DESC, path LIMIT %s"
            )
            rankings.append(_RankedStatements(((sql, (*key_values, query.limit)),)))
        if query.whole_notes and query.is_filtered:
            notes = array_literal(self._revision.notes.numbers[list(query.whole_notes)].tolist())
            select = _select_statement("fragments", ["note = ANY(%s)", *filtering])
            rankings.append(
                _RankedStatements(((f"{select} ORDER BY key LIMIT {_MAX_NAMED_FRAGMENTS}", (notes, *values)),))
            )
        return rankings

    def _vector_ranking(
        self,
        query: CandidateQuery,
        conditions: Sequence[str],
        values: Sequence[object],
        kind: Sequence[str],
        *,
        is_scanned: bool,
    ) -> _RankedStatements:
        """Return statements for the fragments with the nearest vectors that meet the conditions, one per area.

        With `is_scanned`, the vectors of all fragments that meet the conditions are compared, without the vector index.
        `kind` is the condition that selects notes or attachments, which `conditions` also contains.
        """
        vector = _vector_literal(query.vector) if query.vector is not None else ""
        statements: list[Statement] = []
        for area in self._revision.tables.areas:
            table = schema.table_name("fragments", area)
            area_conditions, area_values = [*conditions], [*values]
            if is_scanned and _terms_tsquery(query) is not None:
                keys_sql, area_values = self._keys_statement(query, table=table)
                area_conditions = [f"key IN ({keys_sql})", *kind]
            distance = "(vector <#> %s::halfvec) + 0" if is_scanned else "vector <#> %s::halfvec"
            select = _select_statement(table, area_conditions, f"key, {distance}")
            statements.append((f"{select} ORDER BY 2 LIMIT %s", (vector, *area_values, query.vector_limit)))
        return _RankedStatements(tuple(statements), query.vector_limit)

    def _load_fragments(self, candidates: _CandidateKeys, vectors: Sequence[Floats | None]) -> LoadedFragments:
        """Load candidates with their terms, and neighbours without, except the first fragments of notes.

        `vectors` are query vectors, of which the cosines with the fragments are loaded. What a search reads of the
        candidates' notes, and of the likely hits, is read in the same round trip.
        """
        keys, neighbours = candidates.keys, candidates.neighbours
        compared = [vector for vector in vectors if vector is not None] if self._revision.has_halfvecs else []
        first_keys = [key for key in neighbours if not key & ((1 << ORDINAL_BITS) - 1)]
        others = [key for key in neighbours if key & ((1 << ORDINAL_BITS) - 1)]
        texts = [_vector_literal(vector) for vector in compared]
        queries, notes = self._revision.queries, sorted({key >> ORDINAL_BITS for key in keys})
        ((whole,), (bare,)) = queries.prefetch(
            {
                queries.note_names: notes,
                queries.note_targets: notes if self._settings.search.boosts.links else (),
                **self._hit_rows(candidates.likely),
            },
            [
                (_columns_sql(len(compared), with_words=True), (*texts, array_literal([*keys, *first_keys]))),
                (_columns_sql(len(compared), with_words=False), (*texts, array_literal(others))),
            ],
        )
        *bytes_of_whole, lengths_data, words, places = whole
        loaded, *columns = (
            np.concatenate([np.frombuffer(part or b"", dtype) for part in parts])
            for parts, dtype in zip(
                zip(bytes_of_whole, bare, strict=True), [">i8", ">i4", *[">f8"] * len(compared)], strict=True
            )
        )
        order = np.argsort(loaded)
        lines, *cosines = (column[order] for column in columns)
        whole_lengths = np.frombuffer(lengths_data or b"", _LENGTHS_DTYPE)["items"]["length"]
        lengths = np.zeros((len(loaded), len(FIELDS)), np.int64)
        lengths[order < len(whole_lengths)] = whole_lengths
        return LoadedFragments(
            keys=loaded[order].astype(np.int64),
            is_answer=np.isin(loaded[order], keys),
            lines=lines.astype(np.int32),
            lengths=word_lengths([words or ""], lengths),
            entries=DecodedTokens([words or ""], lengths, [places or b""]),
            cosines={
                vector.tobytes(): column.astype(np.float32) for vector, column in zip(compared, cosines, strict=True)
            },
        )


_ZERO_VECTOR = bytes(4 + 2 * schema.DIMENSIONS)
_ABSENT_TOKEN = "nothing"  # shorter than any token
_MATCHES_TERMS = f"{schema.TERMS_TSVECTOR} @@ %s::tsquery"


_LENGTHS_DTYPE = np.dtype([("head", "V20"), ("items", [("size", ">i4"), ("length", ">i2")], len(FIELDS))])
"""An array of `lengths` as PostgreSQL sends it: a head, and each length after its size."""


def _columns_sql(vectors: int, *, with_words: bool) -> str:
    """Return SQL for the columns of some fragments, in the order of their keys, each column as one value.

    That takes a fraction of the time of many rows. The columns are keys, lines, and the cosines with as many `vectors`;
    `with_words`, also the lengths of fields, the tokens and their positions.
    """
    distances = "".join(f", -(vector <#> %s::halfvec) AS cosine_{number}" for number in range(vectors))
    cosines = "".join(f", string_agg(float8send(cosine_{number}), '')" for number in range(vectors))
    terms, sums = (
        (
            ", lengths, words, places",
            ", string_agg(array_send(lengths), ''), string_agg(words, ''), string_agg(places, '')",
        )
        if with_words
        else ("", "")
    )
    return (
        f"SELECT string_agg(int8send(key), ''), string_agg(int4send(line_start), ''){cosines}{sums}"
        f" FROM (SELECT key, line_start{terms}{distances} FROM fragments WHERE key = ANY(%s) ORDER BY key) AS ascending"
    )


class _CandidateKeys(Struct, frozen=True):
    """Keys of the candidates for some queries, each ascending.

    `neighbours` are the fragments before and after the candidates, `likely` the candidates that will likely be hits.
    """

    keys: list[int]
    neighbours: list[int]
    likely: list[int]


class _RankedStatements(Struct, frozen=True):
    """SQL statements, one per area, that together rank fragments.

    Without `limit`, they return keys. With `limit`, they return keys with their distances in ascending order, and the
    `limit` nearest of all areas are used.
    """

    statements: tuple[Statement, ...]
    limit: int = 0

    def top_keys(self, answers: Sequence[Sequence[Row]]) -> Iterator[int]:
        """Yield the keys of the best fragments; `answers` are the rows of each statement."""
        ordered = (
            islice(heapq.merge(*answers, key=_get_distance), self.limit) if self.limit else chain.from_iterable(answers)
        )
        yield from (row[0] for row in ordered)


def _get_distance(row: Row) -> float:
    """Return the distance of a fragment from the query, the second column of a row."""
    return float(row[1])


def _select_statement(table: str, conditions: Sequence[str], columns: str = "key") -> str:
    clause = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {columns} FROM {table}{clause}"


def _vault_name_error(address: PostgresAddress, names: Sequence[str]) -> StoreUnusableError:
    problem = f"There is no vault called {address.vault}" if address.vault else "A vault's name is missing"
    available = ", ".join(names) or "none"
    return StoreUnusableError(
        f"{problem} in {address.display_text}.", f"Add ?vault=NAME to the address. Vaults in the store: {available}."
    )


def _wait_for_replica(connection: StoreConnection, address: PostgresAddress) -> None:
    """Wait until a replica has the changes up to `address.wait_position`.

    Raises StoreUnusableError after `_TIMEOUT_SECONDS`.
    """
    ends = time.monotonic() + _TIMEOUT_SECONDS
    statement = "SELECT NOT pg_is_in_recovery() OR pg_last_wal_replay_lsn() >= %s::pg_lsn"
    while address.wait_position and not connection.rows(statement, address.wait_position)[0][0]:
        if time.monotonic() > ends:
            raise StoreUnusableError(
                f"{address.display_text} does not have the changes up to {address.wait_position} yet.",
                "Use the address of the primary server, or try again later.",
            )
        time.sleep(_POLL_SECONDS)


def _all_terms(query: CandidateQuery) -> Iterator[str]:
    """Yield the terms of which the postings rank or filter the fragments for a query."""
    yield from (*query.terms, *chain(*query.must), *query.must_not)


def _terms_tsquery(query: CandidateQuery) -> str | None:
    """Return the terms that a query requires or excludes, as a tsquery; None if it has no such terms."""
    parts = [" | ".join(stored_tokens(terms)) or _ABSENT_TOKEN for terms in query.must]
    parts = [f"({part})" for part in parts] + [f"!{token}" for token in stored_tokens(query.must_not)]
    return " & ".join(parts) if parts else None


def _vector_literal(vector: Floats) -> str:
    """Return a vector as a literal of pgvector: "[0.1,0.2]"."""
    return f"[{','.join(map(repr, vector.tolist()))}]"


def _newest_revision_row(connection: StoreConnection, vault: tuple[int, str]) -> Row:
    """Return the newest revision of a vault: its number, the areas that the reader may read, and its metadata.

    `vault` is the number and the name of the vault. Raises StoreUnusableError if it may not be read.
    """
    number, name = vault
    vault_rows = connection.rows(
        "SELECT revision, areas, updated, model, model_source, tokenizer FROM excerpt_vault.vaults() WHERE id = %s",
        number,
    )
    if not vault_rows:
        raise StoreUnusableError(
            f"The vault {name} does not exist any more, or you may not read it.", "Ask the store's administrator."
        )
    return vault_rows[0]


def _read_revision(connection: StoreConnection, vault: tuple[int, str], before: _RevisionData | None) -> _RevisionData:
    """Return the data of the newest revision; return `before`, which was read last, if nothing has changed."""
    number, areas, *vault_row = _newest_revision_row(connection, vault)
    tables = ReadableAreas(vault[0], tuple(areas))
    if before is not None and (before.number, before.tables) == (number, tables):
        connection.set_known(before.known_rows)
        return before
    area_rows = connection.rows(
        "SELECT area, attached, fragments, lengths, filled, vectors FROM excerpt_vault.statistics(%s)", vault[0]
    )
    statistics = _sum_statistics([row[1:] for row in area_rows])
    revision = _RevisionData(
        *(number, StoreQueries(connection, tables), statistics, tuple(vault_row)),
        has_halfvecs=schema.has_halfvecs(connection),
        before=before,
    )
    if before is not None and before.model_source == revision.model_source:
        revision.embedder = before.embedder
    connection.set_known(revision.known_rows)
    return revision


def _sum_statistics(area_rows: Sequence[Row]) -> VaultStatistics:
    """Sum the statistics of all areas; each area has one row for its notes, and one for its attachments."""
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
    return VaultStatistics(sum(counts.values()), counts[is_attachments], is_attachments, means, mean)
