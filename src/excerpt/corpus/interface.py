"""Protocols of a corpus: the fragments of a vault, their terms and vectors, and its notes.

`index.Snapshot` implements the protocols for an index in a folder, a class of another package for each kind of store
(`service.stores`), and `corpus.union.UnionCorpus` for several of them.
Search, insight, packs and checks use only these protocols. A store loads fragments on demand, by `Corpus.prefetch`; an
index always has all fragments.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol, Self, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from excerpt.base.model import CommentLine, FileProblem, Fragment, FragmentInfo, NoteInfo, Replaced, Section, Status
from excerpt.corpus.facets import Facets
from excerpt.corpus.names import NameTerms
from excerpt.corpus.tables import (
    DocumentFrequency,
    FragmentTable,
    Positions,
    TermEntries,
    TermOccurrences,
    TermPostings,
    TermTier,
)

Flags = NDArray[np.bool_]
Floats = NDArray[np.float32]
Longs = NDArray[np.int64]
Rows = NDArray[np.int32]

Answer = TypeVar("Answer")


class CandidateQuery(Struct, frozen=True):
    """A request for the fragments that a query needs from a store: the best ones by words and by vector.

    - Ranking: the best `limit` by `words` (for each word of the query the tiers of terms that match it), and the best
      `vector_limit` by cosine with `vector` (None: no vector). With a `scan_limit` above 0, the request is instead for
      that many fragments, unranked, in the order of their keys.
    - Filters, each None or empty for no filter: the fragment is in one of `notes` (ascending note numbers), has one of
      `keys`, has at least one term of each group in `must`, and no term of `must_not`.
    - `whole_notes`: numbers of the notes of which all fragments are needed, whatever the ranking.
    """

    words: tuple[tuple[TermTier, ...], ...] = ()
    vector: Floats | None = None
    notes: Rows | None = None
    keys: tuple[int, ...] | None = None
    must: tuple[tuple[str, ...], ...] = ()
    must_not: tuple[str, ...] = ()
    whole_notes: tuple[int, ...] = ()
    limit: int = 0
    vector_limit: int = 0
    scan_limit: int = 0

    @property
    def terms(self) -> tuple[str, ...]:
        """The terms of all words, each once."""
        return tuple(dict.fromkeys(term for tiers in self.words for tier in tiers for term in tier.terms))

    @property
    def is_filtered(self) -> bool:
        """Whether the query has a filter, so that some fragments may not match."""
        return self.notes is not None or self.keys is not None or bool(self.must) or bool(self.must_not)


class QueryOutline(Struct, frozen=True):
    """What a store can read for a query before it has read anything else for it.

    `query` has the words as typed, the vector and the filters of the query. `terms` are those that will be counted,
    `prefix` the word to complete, "" for none, and `name` the text that may be the name of notes.
    """

    query: CandidateQuery
    terms: tuple[str, ...]
    prefix: str
    name: str


class TermReader(Protocol):
    """The terms and term counts from which fragments are scored. A row is a fragment's position in this reader."""

    @property
    def doc_count(self) -> int:
        """Number of fragments with a row here."""
        ...

    @property
    def corpus_size(self) -> int:
        """Number of fragments in the whole vault; a store has rows only for the loaded ones."""
        ...

    def document_frequency(self, terms: Sequence[str], /) -> DocumentFrequency | None:
        """Return how many fragments of the vault have any of `terms`.

        Returns None if every fragment of the vault has a row: then the rows are counted instead.
        """
        ...

    def mean_length(self, field: str, /) -> float | None:
        """Return the mean number of terms in `field`, over the fragments of the vault where the field is not empty.

        Returns None if every fragment of the vault has a row: then the mean is computed from the rows.
        """
        ...

    def lengths(self, field: str) -> Floats:
        """Return the number of terms of each row in `field`, shape (doc_count,)."""
        ...

    def entries(self, term: str) -> TermEntries:
        """Return the postings of `term` in all fields: one item for each row and field that has the term."""
        ...

    def postings(self, field: str, term: str) -> TermPostings:
        """Return the postings of `term` in `field`: the rows that have the term there, and its counts."""
        ...

    def occurrences(self, term: str, rows: Rows) -> TermOccurrences:
        """Return the field and position of every occurrence of `term` in `rows`, which ascend."""
        ...

    def completions(self, prefix: str, limit: int) -> list[str]:
        """Return at most `limit` terms that start with `prefix`: the shortest first, then by alphabet."""
        ...

    def lexicon(self, field: str) -> list[str]:
        """Return every term of `field`, sorted."""
        ...


class Terms(TermReader, Protocol):
    """The terms of the loaded fragments, with their positions and prefixes."""

    @property
    def keys(self) -> Longs:
        """Key of the fragment in each row, ascending."""
        ...

    def release_terms(self) -> None:
        """Release the cached postings of terms, which the next query reads again."""
        ...

    def prefetch_document_frequencies(self, terms: Sequence[str], /) -> None:
        """Load the document counts of `terms` into memory with one request, so that `count` needs no other."""
        ...

    def count(self, term: str) -> int:
        """Return an upper bound of the number of fragments in the vault that have `term`.

        A fragment counts once for each field that has the term.
        """
        ...

    def positions(self, field: str, term: str) -> Positions:
        """Return the positions of `term` in `field`, for each row that `postings` returns, in the same order."""
        ...

    def terms(self, field: str, prefix: str) -> list[str]:
        """Return the distinct terms of `field` that start with `prefix`, sorted."""
        ...


class Vectors(Protocol):
    """The vectors of the loaded fragments, one for each row, and the mean of all vectors of the vault."""

    @property
    def mean(self) -> Floats:
        """Mean of all vectors of the vault, shape (dimensions,)."""
        ...

    def rows(self, numbers: NDArray[np.integer]) -> Floats:
        """Return the vectors of the rows `numbers`, shape (len(numbers), dimensions)."""
        ...

    def similarities(self, query: Floats) -> Floats:
        """Return the cosine of each row's vector with `query`, a vector of length 1; shape (rows,)."""
        ...

    def similarities_at(self, query: Floats, numbers: NDArray[np.integer]) -> Floats:
        """Return the cosines of the rows `numbers` with `query`, equal to those of `similarities` to the last bit."""
        ...

    def approximate_similarities(self, query: Floats) -> tuple[Floats, float]:
        """Return approximate cosines of all rows with `query`, and the largest error that one of them may have."""
        ...

    def mean_similarity(self, query: Floats) -> float:
        """Return the mean cosine of `query` with all fragments of the vault, loaded or not."""
        ...


class QueryEmbedder(Protocol):
    """The model that made the vectors with which a query is compared: a static one, or an embedder of `encoders`."""

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages in which the vectors are trusted, such as "en"; ("*",) for every language."""
        ...

    def embed_query(self, text: str) -> Floats:
        """Return a vector of length 1 for a query, shape (dimensions,); load the model if needed. Raises ModelError."""
        ...


class TextEmbedder(QueryEmbedder, Protocol):
    """The static embedding model of a corpus: its vectors take no time."""

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one vector of length 1 for each text, shape (len(texts), dimensions)."""
        ...

    def has_word(self, word: str, /) -> bool:
        """Return whether the model's vocabulary has `word`, which is in lower case, whole."""
        ...

    def word_weights(self, words: Sequence[str]) -> Floats:
        """Return the weight of each word in general language, from 0 ("the") to 1 (rare words)."""
        ...


class Notes(Protocol):
    """The notes of a corpus and their fragments."""

    def fragments(self, keys: Sequence[int]) -> list[Fragment]:
        """Return the fragments with these keys, in the order of `keys`. Raises KeyError for an unknown key."""
        ...

    def fragment(self, fragment_id: str) -> Fragment | None:
        """Return the fragment with this id; None if there is none."""
        ...

    def keys_of_texts(self, digests: Collection[str]) -> dict[str, int]:
        """Return, by digest, the key of a fragment whose text has that digest; unknown digests are left out."""
        ...

    def note_fragments(self, path: str, first: int = 0, last: int | None = None) -> list[Fragment]:
        """Return the fragments number `first` to `last` of a note, in order; an empty list for an unknown note.

        Fragments of a note are numbered from 0. `last` is included; None reads to the end.
        """
        ...

    def fragment_infos(self, ranges: Sequence[tuple[str, int, int | None]]) -> list[list[FragmentInfo]]:
        """Return the fragments in each of `ranges`, without their texts, one list for each range.

        A range is (path of the note, number of its first fragment, number of its last; None: to the end).
        """
        ...

    def sections(self, path: str) -> list[Section]:
        """Return the sections of a note in order, each without the blocks (paragraphs, lists) of its text."""
        ...

    def place(self, path: str, line_start: int, line_end: int) -> str:
        """Return the location of a range of lines in an attachment ("Pages 3–4"); "" in a file without locations."""
        ...

    def note_text(self, path: str) -> str:
        """Return the text of a note as it was indexed, with LF line ends. Raises KeyError for an unknown note."""
        ...

    def comments(self, path: str) -> list[CommentLine]:
        """Return the lines of comments that are left out of the text of a note, in order; [] for an unknown note."""
        ...

    def note_tokens(self, path: str) -> int:
        """Return the number of tokens in the whole note. Raises KeyError for an unknown note."""
        ...

    def note_modified(self, path: str) -> str:
        """Return the day of a note's last change, as YYYY-MM-DD; "" if unknown. Raises KeyError for an unknown note."""
        ...

    def note_replaced(self, path: str) -> Replaced | None:
        """Return what replaces a note, None if it is not replaced. Raises KeyError for an unknown note."""
        ...

    def note_info(self, path: str) -> NoteInfo:
        """Return the title, aliases, tags, properties and file data of a note. Raises KeyError for an unknown note."""
        ...

    def note_infos(self, paths: Sequence[str]) -> list[NoteInfo]:
        """Return what `note_info` returns for each of `paths`, in their order. Raises KeyError for an unknown note."""
        ...

    def note_paths(self) -> tuple[str, ...]:
        """Return the paths of all notes, sorted."""
        ...

    def current_path(self, path: str) -> str | None:
        """Return the present path of a renamed note that once was at `path`; None if no rename is known."""
        ...

    def notes_named(self, name: str) -> tuple[int, ...]:
        """Return the numbers of the notes whose title, file name or alias is `name`, ignoring case.

        A note's number is its index in `table.paths`.
        """
        ...

    def name_terms(self, positions: Sequence[int]) -> list[NameTerms]:
        """Return the tokenized names of some notes: aliases, file name, link texts; the titles are not included.

        `positions` are the notes' indexes in `table.paths`.
        """
        ...


class Corpus(Notes, Protocol):
    """One state of a vault, with all fragments loaded, or only those that were requested.

    Usable from one thread at a time.
    """

    @property
    def generation(self) -> int:
        """Number of this state of the vault; a newer state has a higher number."""
        ...

    @property
    def edition(self) -> tuple[object, ...]:
        """A value that is equal for two corpora of the same state of the same vault."""
        ...

    @property
    def is_unfinished(self) -> bool:
        """Whether the index build that committed this state still had files to read."""
        ...

    @property
    def table(self) -> FragmentTable:
        """The note, first line and key of the fragment in each row."""
        ...

    @property
    def is_note_row(self) -> Flags | None:
        """Mask of the rows that belong to notes, not attachments; None if all rows belong to notes, or no row does."""
        ...

    @property
    def is_possible_result(self) -> Flags | None:
        """Mask of the rows that may be results; None if all may. The other rows were loaded for context only."""
        ...

    def check(self) -> None:
        """Compare with checksums what leads a search to the passages that it shows, behind its first answer.

        Raises IndexUnusableError if an index is damaged. Of the passages themselves nothing is shown unchecked.
        """
        ...

    @property
    def lexical(self) -> Terms:
        """Terms and postings of the fragments that have a row in this corpus."""
        ...

    @property
    def vectors(self) -> Vectors:
        """Vectors of the fragments that have a row in this corpus."""
        ...

    @property
    def facets(self) -> Facets:
        """Tags, properties, dates, names and links of the notes, for filters."""
        ...

    @property
    def embedder(self) -> TextEmbedder:
        """The model that made the vectors. Raises ModelError if the settings name another model."""
        ...

    @property
    def model_id(self) -> str:
        """Identity of the embedding model that made the vectors."""
        ...

    @property
    def search_vectors(self) -> Vectors:
        """Vectors that a search compares with the query: those of the user's chosen embedder, once all are computed.

        The same object as `vectors` for a static model, and while the chosen embedder has not embedded all fragments.
        """
        ...

    @property
    def query_embedder(self) -> QueryEmbedder:
        """The model that made `search_vectors`; the same object as `embedder` if that is the model.

        A model that the user chose is not loaded here: its `embed_query` loads it, outside of the thread that searches.
        Raises ModelError.
        """
        ...

    @property
    def tokenizer(self) -> str:
        """Name of the tokenizer that counted the tokens of the fragments."""
        ...

    @property
    def languages(self) -> tuple[str, ...]:
        """Language codes of the notes, the most frequent first."""
        ...

    @property
    def partial(self) -> PartialCorpus | None:
        """This corpus if it loads fragments on demand (a store); None for an index, which has all fragments."""
        ...

    @property
    def is_complete(self) -> bool:
        """Whether all fragments of the vault are loaded."""
        ...

    @property
    def without_comments(self) -> Corpus:
        """This corpus without the comments that only authors read; this object itself if it shows no such comments.

        Rows and keys are the same in both. The returned corpus is open as long as this one.
        """
        ...

    def prefetch(self, requests: Callable[[Corpus], Sequence[CandidateQuery]]) -> Corpus:
        """Return a corpus of the newest state that has loaded the fragments which `requests` asks for.

        `requests` is called with the corpus of that state. A complete corpus returns itself and does not call it.
        """
        ...

    def prefetch_outlines(self, outlines: Sequence[QueryOutline], /) -> None:
        """Read what the queries with these outlines need of a store, in one round trip; nothing for an index."""
        ...

    def reopen(self) -> Corpus:
        """Return a corpus of the newest state of a store; itself if the store has not changed, or for an index."""
        ...

    def read_transaction(self, answer: Callable[[], Answer]) -> Answer:
        """Call `answer` so that all its reads see one state of the vault, and return its result.

        `answer` is called a second time if the connection to a store is lost.
        """
        ...

    def count_fragments(self, terms: Sequence[str]) -> int:
        """Return the number of fragments in the vault that have at least one of `terms`."""
        ...

    def count_notes(self, terms: Sequence[str]) -> int:
        """Return the number of notes that have a fragment with all of `terms`."""
        ...

    def fragment_counts(self, notes: NDArray[np.integer]) -> Longs:
        """Return the number of fragments of each of `notes`, given as indexes in `table.paths`."""
        ...

    def status(self) -> Status:
        """Return the counts, skipped files and build settings of the index."""
        ...

    @property
    def skipped(self) -> tuple[FileProblem, ...]:
        """Files that could not be indexed, each with the reason."""
        ...

    def shorten_wal(self) -> None:
        """Shorten SQLite's write-ahead log of an index, now that no older state is read; nothing for a store."""
        ...

    def close(self) -> None:
        """Close the files of the index or the connection to the store."""
        ...


class PartialCorpus(Corpus, Protocol):
    """A corpus that loads only some fragments, and has the database count over all of them."""

    def prefetch(self, requests: Callable[[Corpus], Sequence[CandidateQuery]]) -> Self:
        """Return a corpus of the newest state that has loaded the fragments which `requests` asks for."""
        ...

    def candidates_by_note(self, queries: Sequence[CandidateQuery]) -> NDArray[np.intp]:
        """Return, for each note of the vault, the number of its fragments among the results of `queries`."""
        ...

    def matching_by_note(self, queries: Sequence[CandidateQuery]) -> Longs:
        """Return, for each note of the vault, the number of its fragments that match at least one of `queries`.

        A fragment matches a query if it passes the query's filters and has at least one of its terms, if it has terms.
        Limits of the queries are ignored.
        """
        ...
