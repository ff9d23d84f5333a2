"""Protocols of a corpus: the fragments of a vault, their terms and vectors, and its notes.

`index.Snapshot` implements them for the index of a folder, and `store.StoreSnapshot` for a vault in PostgreSQL. Search,
insight, packs and checks know these protocols alone. A store has only some fragments loaded: `Corpus.prefetch` loads
others, and returns a corpus that has all as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from excerpt.corpus.facets import Facets
from excerpt.corpus.names import NameTerms
from excerpt.corpus.tables import (
    DocumentFrequency,
    FragmentTable,
    NoteInfo,
    Positions,
    TermEntries,
    TermOccurrences,
    TermPostings,
)
from excerpt.model import FileProblem, Fragment, FragmentInfo, Section, Status

Flags = NDArray[np.bool_]
Floats = NDArray[np.float32]
Longs = NDArray[np.int64]
Rows = NDArray[np.int32]

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """The fragments that a query needs of a partially loaded corpus: the best by words and by meaning.

    `terms` are all variants of the words; `vector` is the meaning, None without one. A fragment must be of these
    `notes` (ascending rows of the note table) and have one of these `keys`, if they are given; it must have one term of
    each of `must`, and none of `must_not`. All fragments of the notes `named` are needed too. `limit` are needed by
    words, and `vector_limit` by meaning; with a `scan_limit` instead so many of those that pass, by key.
    """

    terms: tuple[str, ...] = ()
    vector: Floats | None = None
    notes: Rows | None = None
    keys: tuple[int, ...] | None = None
    must: tuple[tuple[str, ...], ...] = ()
    must_not: tuple[str, ...] = ()
    named: tuple[int, ...] = ()
    limit: int = 0
    vector_limit: int = 0
    scan_limit: int = 0

    @property
    def is_filtered(self) -> bool:
        """Whether not all fragments pass."""
        return self.notes is not None or self.keys is not None or bool(self.must) or bool(self.must_not)


class TermReader(Protocol):
    """The terms of some fragments, as scores are made of them. A row is a fragment's place among them."""

    @property
    def doc_count(self) -> int:
        """Number of rows."""
        ...

    @property
    def corpus_size(self) -> int:
        """Number of fragments in the vault, of which all or only some have a row."""
        ...

    def counts(self, terms: Sequence[str], /) -> DocumentFrequency | None:
        """Return how many fragments of the vault have any of `terms`; None where there are rows of all."""
        ...

    def mean_length(self, field: str, /) -> float | None:
        """Return the mean number of terms of a field, where it has any; None where there are rows of all fragments."""
        ...

    def lengths(self, field: str) -> Floats:
        """Return how many terms each row has in `field`."""
        ...

    def entries(self, term: str) -> TermEntries:
        """Return the rows that have `term`, in all fields."""
        ...

    def postings(self, field: str, term: str) -> TermPostings:
        """Return the rows that have `term` in `field`."""
        ...

    def occurrences(self, term: str, rows: Rows) -> TermOccurrences:
        """Return every occurrence of `term` in the ascending `rows`."""
        ...

    def completions(self, prefix: str, limit: int) -> list[str]:
        """Return at most `limit` terms that start with `prefix`: the shortest first, then by alphabet."""
        ...

    def lexicon(self, field: str) -> list[str]:
        """Return every term of `field`, sorted."""
        ...


class Terms(TermReader, Protocol):
    """The terms of the loaded fragments."""

    @property
    def keys(self) -> Longs:
        """Keys of the fragments, ascending."""
        ...

    def prefetch_counts(self, terms: Sequence[str], /) -> None:
        """Load the counts of several terms at once, where they are not in memory."""
        ...

    def count(self, term: str) -> int:
        """Return how many fragments of the vault have `term` at most, each field counted by itself."""
        ...

    def positions(self, field: str, term: str) -> Positions:
        """Return the positions of `term` in each of its rows, as `postings` gives them."""
        ...

    def terms(self, field: str, prefix: str) -> list[str]:
        """Return the terms of `field` that start with `prefix`, sorted."""
        ...

    def check(self) -> None:
        """Check all postings now. Raises DamagedFileError for an index."""
        ...


class Vectors(Protocol):
    """The vectors of the loaded fragments, by row, and the mean of all vectors of the vault."""

    @property
    def mean(self) -> Floats:
        """Mean of all vectors of the vault, shape (dimensions,)."""
        ...

    def rows(self, numbers: NDArray[np.integer]) -> Floats:
        """Return the vectors of some rows, shape (len(numbers), dimensions)."""
        ...

    def similarities(self, query: Floats) -> Floats:
        """Return the cosine of the normalised `query` with each row."""
        ...

    def similarities_at(self, query: Floats, numbers: NDArray[np.integer]) -> Floats:
        """Return `similarities` of some rows, to the last bit."""
        ...

    def approximate_similarities(self, query: Floats) -> tuple[Floats, float]:
        """Return `similarities` to within an error, and that error."""
        ...

    def mean_similarity(self, query: Floats) -> float:
        """Return the mean of the cosines with all fragments of the vault."""
        ...


class TextEmbedder(Protocol):
    """The embedding model of a corpus."""

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return vectors of length 1, one a text, shape (n, dimensions)."""
        ...

    def word_weights(self, words: Sequence[str]) -> Floats:
        """Return the weight of each word by itself, 0 to 1."""
        ...


class Notes(Protocol):
    """The notes of a corpus and their fragments."""

    def fragments(self, keys: Sequence[int]) -> list[Fragment]:
        """Return the fragments with these keys, in that order. Raises KeyError for a key that is not there."""
        ...

    def fragment(self, fragment_id: str) -> Fragment | None:
        """Return the fragment with this id, None without one."""
        ...

    def note_fragments(self, path: str, first: int = 0, last: int | None = None) -> list[Fragment]:
        """Return a note's fragments of the ordinals `first` to `last` (inclusive), in order.

        An unknown note has none.
        """
        ...

    def parts(self, ranges: Sequence[tuple[str, int, int | None]]) -> list[list[FragmentInfo]]:
        """Return the fragments of each note between two ordinals (None: to the end), without their texts."""
        ...

    def sections(self, path: str) -> list[Section]:
        """Return a note's sections in order, without their blocks."""
        ...

    def place(self, path: str, line_start: int, line_end: int) -> str:
        """Return the place of lines of an attachment, over all its pages; "" in a file without places."""
        ...

    def note_text(self, path: str) -> str:
        """Return the note as it was read, with LF line ends. Raises KeyError for an unknown note."""
        ...

    def note_tokens(self, path: str) -> int:
        """Return the tokens of the whole file. Raises KeyError for an unknown note."""
        ...

    def note_modified(self, path: str) -> str:
        """Return the day of the file's last change, ISO 8601, UTC. Raises KeyError for an unknown note."""
        ...

    def note_info(self, path: str) -> NoteInfo:
        """Return what is known of a note besides its text. Raises KeyError for an unknown note."""
        ...

    def note_paths(self) -> tuple[str, ...]:
        """Return every note's path, sorted."""
        ...

    def current_path(self, path: str) -> str | None:
        """Return today's path of the note that once had this one; None if it is not known to have moved."""
        ...

    def notes_named(self, name: str) -> tuple[int, ...]:
        """Return the notes, as places in `table.paths`, whose title, file name or alias is `name` in any case."""
        ...

    def name_terms(self, positions: Sequence[int]) -> list[NameTerms]:
        """Return the names of notes, by their places in `table.paths`, beside their titles."""
        ...


class Corpus(Notes, Protocol):
    """One state of a vault, with all fragments loaded or only those that some queries need.

    Usable from one thread at a time.
    """

    @property
    def generation(self) -> int:
        """Number of this state; a newer one has a higher number."""
        ...

    @property
    def edition(self) -> tuple[object, ...]:
        """Equal in two corpora of the same state."""
        ...

    @property
    def is_unfinished(self) -> bool:
        """Whether the build that committed this state had files left to read."""
        ...

    @property
    def table(self) -> FragmentTable:
        """Note and first line of each row."""
        ...

    @property
    def is_note_row(self) -> Flags | None:
        """Which rows are of notes; None where all are, or none."""
        ...

    @property
    def is_answer_row(self) -> Flags | None:
        """The rows that a query may answer from; None for all. Other rows are loaded for context."""
        ...

    @property
    def lexical(self) -> Terms:
        """Terms of the rows."""
        ...

    @property
    def vectors(self) -> Vectors:
        """Vectors of the rows."""
        ...

    @property
    def facets(self) -> Facets:
        """What notes are filtered by."""
        ...

    @property
    def embedder(self) -> TextEmbedder:
        """The model that made the vectors. Raises ModelError where the settings name another."""
        ...

    @property
    def tokenizer(self) -> str:
        """Name of the tokenizer whose tokens are counted."""
        ...

    @property
    def languages(self) -> tuple[str, ...]:
        """Languages of the notes, the most frequent first."""
        ...

    @property
    def partial(self) -> PartialCorpus | None:
        """The corpus itself where only some fragments are loaded, else None."""
        ...

    @property
    def is_complete(self) -> bool:
        """Whether all fragments are loaded."""
        ...

    def prefetch(self, requests: Callable[[Corpus], Sequence[CandidateQuery]]) -> Corpus:
        """Return the corpus as it is now, with the fragments loaded that some queries need.

        `requests` makes the queries from what is known of that state. A complete corpus returns itself, without asking.
        """
        ...

    def reopen(self) -> Corpus:
        """Return the newest state of a store; itself where nothing was pushed since, and for an index."""
        ...

    def read_transaction(self, answer: Callable[[], Answer]) -> Answer:
        """Return `answer()`, all of it read from one state. It may be called twice where a connection is lost."""
        ...

    def count_fragments(self, terms: Sequence[str]) -> int:
        """Return how many fragments of the vault have any of `terms`."""
        ...

    def count_notes(self, terms: Sequence[str]) -> int:
        """Return how many notes have all of `terms` in one fragment."""
        ...

    def fragment_counts(self, notes: NDArray[np.integer]) -> Longs:
        """Return the number of fragments of some notes, which are places in the table."""
        ...

    def status(self) -> Status:
        """Return what is indexed."""
        ...

    @property
    def skipped(self) -> tuple[FileProblem, ...]:
        """Files that could not be indexed, and why."""
        ...

    def shrink_log(self) -> None:
        """Keep the write-ahead log short, now that no older state is read."""
        ...

    def close(self) -> None:
        """Release files or the connection."""
        ...


class PartialCorpus(Corpus, Protocol):
    """A corpus with only some fragments loaded, which counts the others where they are kept."""

    def prefetch(self, requests: Callable[[Corpus], Sequence[CandidateQuery]]) -> Self:
        """Return the corpus as it is now, with the fragments loaded that some queries need."""
        ...

    def candidates_by_note(self, queries: Sequence[CandidateQuery]) -> NDArray[np.intp]:
        """Return for each note of the vault how many of its fragments some queries need."""
        ...

    def matching_by_note(self, queries: Sequence[CandidateQuery]) -> Longs:
        """Return, for each note, how many of its fragments have any of a query's terms, or pass if it has none.

        A fragment counts once.
        """
        ...
