"""A corpus of several vaults: their indexes and stores, joined without a copy, and read as one.

The path of a note begins with the name of its vault, as if the vaults were folders of one (`work/Projects/a.md`), and
the id of a fragment ends with it (`0f3a…@work`): a copy of a vault has the same ids. Rows, note numbers, keys and row
ids of a vault follow those of the vault before, in the order of the paths. A link leads to a note of its own vault.
The union has all rows of the indexes, and of a store those that it has loaded.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from excerpt.base.errors import ModelError
from excerpt.base.model import CommentLine, FileProblem, Fragment, FragmentInfo, NoteInfo, Replaced, Section, Status
from excerpt.corpus.facets import Facets, Ints, NumberedNotes, Times
from excerpt.corpus.interface import (
    CandidateQuery,
    Corpus,
    Flags,
    Floats,
    Longs,
    QueryEmbedder,
    QueryOutline,
    Rows,
    Terms,
    TextEmbedder,
    Vectors,
)
from excerpt.corpus.links import LinkResolver
from excerpt.corpus.mixed_models import MixedEmbedder, MixedQueryEmbedder, MixedVectors
from excerpt.corpus.names import NameTerms
from excerpt.corpus.queries import FacetQueries
from excerpt.corpus.replaced import ReplacedNote
from excerpt.corpus.tables import (
    FIELDS,
    DocumentFrequency,
    FragmentTable,
    Positions,
    TermEntries,
    TermOccurrences,
    TermPostings,
    run_offsets,
)
from excerpt.text.tokens import open_tokenizer

Value = TypeVar("Value")

_ID_SEPARATOR = "@"
"""Separates the id of a fragment in its vault, which has only hex digits, from the name of the vault."""
_KEYS_OF_STORE = 1 << 53
"""Number of keys that a union reserves for a store: more than any store has, as it cannot be read from loaded rows."""


class VaultPart(Struct, frozen=True):
    """A vault of a union: its name, its corpus, and the offsets of its rows, note numbers, row ids and keys.

    `count` counts the tokens of a text; it is None if the vault was indexed with the union's tokenizer, so that the
    stored numbers of tokens can be used.
    """

    name: str
    corpus: Corpus
    first_row: int = 0
    first_note: int = 0
    first_number: int = 0
    first_key: int = 0
    count: Callable[[str], int] | None = None

    def path_in_union(self, path: str) -> str:
        """Return the path in the union of a note of this vault: with the vault's name in front."""
        return f"{self.name}/{path}"

    def fragment_id_in_union(self, fragment_id: str) -> str:
        """Return the id in the union of a fragment of this vault: with the vault's name at the end."""
        return f"{fragment_id}{_ID_SEPARATOR}{self.name}"

    def fragment_in_union(self, fragment: Fragment) -> Fragment:
        """Return a fragment of this vault with its id, path and key in the union."""
        return replace(
            fragment,
            id=self.fragment_id_in_union(fragment.id),
            path=self.path_in_union(fragment.path),
            key=fragment.key + self.first_key,
            tokens=fragment.tokens if self.count is None else self.count(fragment.text),
        )

    def infos(self, infos: Sequence[FragmentInfo]) -> list[FragmentInfo]:
        """Return the data of fragments of this vault with their ids, keys and tokens in the union."""
        tokens = [info.tokens for info in infos]
        if self.count is not None:
            tokens = [self.count(each.text) for each in self.corpus.fragments([info.key for info in infos])]
        return [
            structs.replace(info, id=self.fragment_id_in_union(info.id), key=info.key + self.first_key, tokens=count)
            for info, count in zip(infos, tokens, strict=True)
        ]

    def note_info(self, info: NoteInfo) -> NoteInfo:
        """Return the data of a note of this vault with its path and tokens in the union."""
        tokens = info.tokens if self.count is None else self.note_tokens(info.path)
        return replace(info, path=self.path_in_union(info.path), tokens=tokens)

    def note_tokens(self, path: str) -> int:
        """Return the number of tokens in a whole note, given by its path in the vault."""
        return self.corpus.note_tokens(path) if self.count is None else self.count(self.corpus.note_text(path))


class UnionCorpus:
    """Several indexes and stores, each open at one state, as one corpus. Usable from one thread at a time.

    Implements the protocols of `corpus.interface`.
    """

    def __init__(self, corpora: Iterable[tuple[str, Corpus]]) -> None:
        """Join corpora, given as (vault name, corpus); the names differ and have no slash."""
        self.vaults = _number_vaults(sorted(corpora, key=lambda each: f"{each[0]}/"))
        self._part_by_name = {part.name: part for part in self.vaults}
        self.generation = sum(part.corpus.generation for part in self.vaults)
        self.is_unfinished = any(part.corpus.is_unfinished for part in self.vaults)
        self.is_complete = all(part.corpus.is_complete for part in self.vaults)
        self._lexicons: dict[str, list[str]] = {}

    @property
    def partial(self) -> UnionCorpus | None:
        """This corpus if one of the vaults is in a store, which loads fragments on demand; else None."""
        return None if self.is_complete else self

    @property
    def edition(self) -> tuple[object, ...]:
        """A value that is equal for two unions of the same states of the same vaults."""
        return tuple((part.name, part.corpus.edition) for part in self.vaults)

    def split_path(self, path: str) -> tuple[VaultPart, str] | None:
        """Return the vault that a path in the union names, and the path in that vault; None for an unknown vault."""
        name, _, own_path = path.partition("/")
        part = self._part_by_name.get(name)
        return None if part is None or not own_path else (part, own_path)

    # --- derived ------------------------------------------------------------------------------------------------------

    @cached_property
    def table(self) -> FragmentTable:
        """The note, first line and key of the fragment in each row, and the data of each note."""
        parts = [(part, part.corpus.table) for part in self.vaults]
        return FragmentTable(
            **self._join_rows(),
            paths=tuple(part.path_in_union(path) for part, table in parts for path in table.paths),
            languages=tuple(language for _, table in parts for language in table.languages),
            numbers=np.concatenate([table.numbers + part.first_number for part, table in parts]),
            first_fragment_keys=np.concatenate(
                [
                    np.where(table.first_fragment_keys < 0, -1, table.first_fragment_keys + part.first_key)
                    for part, table in parts
                ]
            ),
            is_attachment=np.concatenate([table.is_attachment for _, table in parts]),
        )

    def _join_rows(self) -> dict[str, Any]:
        """Return the columns of `table` that have an item for each row."""
        parts = [(part, part.corpus.table) for part in self.vaults]
        return {
            "keys": np.concatenate([table.keys + part.first_key for part, table in parts]),
            "notes": np.concatenate([table.notes + np.int32(part.first_note) for part, table in parts]),
            "lines": np.concatenate([table.lines for _, table in parts]),
        }

    @cached_property
    def is_note_row(self) -> Flags | None:
        attached = self.table.is_attachment
        return ~attached[self.table.notes] if attached.any() and not attached.all() else None

    @cached_property
    def is_possible_result(self) -> Flags | None:
        """Mask of the rows that may be in results; None for all."""
        if self.is_complete:
            return None
        masks = [(part.corpus, part.corpus.is_possible_result) for part in self.vaults]
        return np.concatenate(
            [np.ones(corpus.lexical.doc_count, np.bool_) if mask is None else mask for corpus, mask in masks]
        )

    @cached_property
    def lexical(self) -> UnionTerms:
        """Terms and postings of the fragments that have a row."""
        return UnionTerms(self.vaults, self._lexicons)

    @cached_property
    def vectors(self) -> UnionVectors | MixedVectors:
        """Vectors of the fragments that have a row."""
        corpora = [part.corpus for part in self.vaults]
        return self._join_vectors([corpus.vectors for corpus in corpora], [corpus.model_id for corpus in corpora])

    def _join_vectors(self, vectors: Sequence[Vectors], models: Sequence[object]) -> UnionVectors | MixedVectors:
        """Join the vectors of the vaults; `models` are the models that made the vectors of each vault."""
        each_once = list(dict.fromkeys(models))
        if len(each_once) == 1:
            return UnionVectors(self.vaults, vectors)
        sizes = [part.corpus.lexical.doc_count for part in self.vaults]
        return MixedVectors(vectors, sizes, [each_once.index(model) for model in models])

    @cached_property
    def _model_ids(self) -> tuple[str, ...]:
        """Identity of each embedding model that made vectors of a vault, in the order of the vaults."""
        return tuple(dict.fromkeys(part.corpus.model_id for part in self.vaults))

    @cached_property
    def facets(self) -> UnionFacets:
        table = self.table
        return UnionFacets(self.vaults, NumberedNotes(table.paths, table.numbers, table.first_fragment_keys))

    @cached_property
    def embedder(self) -> TextEmbedder:
        """The embedding models that made the vectors of the vaults. Raises ModelError if settings name another."""
        embedders = [self._open_embedder(model_id) for model_id in self._model_ids]
        vectors = self.vectors
        return MixedEmbedder(embedders, vectors.dimensions) if isinstance(vectors, MixedVectors) else embedders[0]

    def _open_embedder(self, model_id: str) -> TextEmbedder:
        """Return the model `model_id` from the first vault that can load it. Raises ModelError if no vault can."""
        failure: ModelError | None = None
        for part in self.vaults:
            if part.corpus.model_id == model_id:
                try:
                    return part.corpus.embedder
                except ModelError as error:
                    failure = failure or error
        assert failure is not None
        raise failure

    @property
    def model_id(self) -> str:
        """Identity of the embedding models that made the vectors of the vaults."""
        return " + ".join(self._model_ids)

    @cached_property
    def search_vectors(self) -> UnionVectors | MixedVectors:
        """The vectors of the embedders that the user chose, if they have embedded all vaults; else `vectors`."""
        return self.vectors if self._chosen_vectors is None else self._chosen_vectors[1]

    @property
    def query_embedder(self) -> QueryEmbedder:
        """The models that made `search_vectors`."""
        return self.embedder if self._chosen_vectors is None else self._chosen_vectors[0]

    @cached_property
    def _chosen_vectors(self) -> tuple[QueryEmbedder, UnionVectors | MixedVectors] | None:
        """The embedders that the user chose, with their vectors; None unless each vault has complete vectors of one."""
        corpora = [part.corpus for part in self.vaults]
        if any(corpus.search_vectors is corpus.vectors for corpus in corpora):
            return None
        embedders = [corpus.query_embedder for corpus in corpora]
        each_once = tuple(dict.fromkeys(embedders))
        vectors = self._join_vectors([corpus.search_vectors for corpus in corpora], embedders)
        return each_once[0] if len(each_once) == 1 else MixedQueryEmbedder(each_once), vectors

    @property
    def tokenizer(self) -> str:
        """Name of the tokenizer that counts the tokens of all fragments: that of the first vault."""
        return self.vaults[0].corpus.tokenizer

    @cached_property
    def languages(self) -> tuple[str, ...]:
        counts = Counter(language for language in self.table.languages if language)
        return tuple(sorted(counts, key=lambda language: (-counts[language], language)))

    @cached_property
    def without_comments(self) -> UnionCorpus:
        """The same states without the comments that only authors read; this object itself if no vault shows any."""
        corpora = {part.name: part.corpus.without_comments for part in self.vaults}
        if all(corpora[part.name] is part.corpus for part in self.vaults):
            return self
        return UnionCorpus(corpora.items())

    def prefetch(self, requests: Callable[[Corpus], Sequence[CandidateQuery]]) -> UnionCorpus:
        """Return a union in which each store has loaded the fragments that `requests` asks for."""
        if self.is_complete:
            return self

        def load() -> UnionCorpus:
            base = self.reopen()
            queries = requests(base)
            own_queries = [base._own_queries(at, queries) for at in range(len(base.vaults))]
            return base._with_corpora(
                [
                    part.corpus.prefetch(lambda _, own=own: own)  # type: ignore[misc]
                    for part, own in zip(base.vaults, own_queries, strict=True)
                ]
            )

        return self.read_transaction(load)

    def prefetch_outlines(self, outlines: Sequence[QueryOutline]) -> None:
        """Read the terms and names of the outlines from each store; each has its own vectors and notes."""
        own = [structs.replace(outline, query=CandidateQuery()) for outline in outlines]
        for part in self.vaults:
            part.corpus.prefetch_outlines(own)

    def reopen(self) -> UnionCorpus:
        """Return a union of the newest states of the stores; this one if none has changed.

        A newer state of an index needs a new union.
        """
        return self._with_corpora([part.corpus.reopen() for part in self.vaults])

    def _with_corpora(self, corpora: Sequence[Corpus]) -> UnionCorpus:
        """Return the union of other states of the vaults, or of other loaded fragments; this one if all are the same.

        What does not depend on the loaded fragments is kept: joining it takes longer than the search.
        """
        if all(corpus is part.corpus for part, corpus in zip(self.vaults, corpora, strict=True)):
            return self
        union = UnionCorpus((part.name, corpus) for part, corpus in zip(self.vaults, corpora, strict=True))
        if union.edition == self.edition:
            union._lexicons = self._lexicons
            union.table = structs.replace(self.table, **union._join_rows())
            union.facets, union.languages = self.facets, self.languages
        return union

    def _own_queries(self, at: int, queries: Sequence[CandidateQuery]) -> list[CandidateQuery]:
        """Return the queries as vault number `at` has them: for its notes and keys, and with the vector of its model.

        Queries for notes or keys of other vaults are left out.
        """
        part, after = self.vaults[at], self.vaults[at + 1 :]
        last_note = after[0].first_note if after else len(self.table.paths)
        last_key = after[0].first_key if after else np.iinfo(np.int64).max
        vectors, own_queries = self.vectors, []
        for query in queries:
            notes, keys, vector = query.notes, query.keys, query.vector
            if notes is not None:
                notes = notes[(notes >= part.first_note) & (notes < last_note)] - np.int32(part.first_note)
            if keys is not None:
                keys = tuple(key - part.first_key for key in keys if part.first_key <= key < last_key)
            if vector is not None and isinstance(vectors, MixedVectors):
                vector = own if (own := vectors.part_of_query(at, vector)).any() else None
            if (notes is None or len(notes)) and keys != ():
                whole = tuple(
                    note - part.first_note for note in query.whole_notes if part.first_note <= note < last_note
                )
                own_queries.append(structs.replace(query, notes=notes, keys=keys, vector=vector, whole_notes=whole))
        return own_queries

    def candidates_by_note(self, queries: Sequence[CandidateQuery]) -> NDArray[np.intp]:
        """Return, for each note in a store, the number of its fragments among the results; 0 for notes of an index."""
        return np.concatenate(
            [
                np.zeros(len(part.corpus.table.paths), np.intp)
                if part.corpus.partial is None
                else part.corpus.partial.candidates_by_note(self._own_queries(at, queries))
                for at, part in enumerate(self.vaults)
            ]
        )

    def matching_by_note(self, queries: Sequence[CandidateQuery]) -> Longs:
        """Return, for each note, the number of its fragments that match at least one of `queries`, loaded or not."""
        each: list[Longs] = []
        for at, part in enumerate(self.vaults):
            own_queries = self._own_queries(at, queries)
            if part.corpus.partial is not None:
                each.append(part.corpus.partial.matching_by_note(own_queries))
                continue
            table, is_match = part.corpus.table, np.zeros(part.corpus.lexical.doc_count, np.bool_)
            for query in own_queries:
                is_match |= _flag_matches(part.corpus, query)
            each.append(np.bincount(table.notes[is_match], minlength=len(table.paths)))
        return np.concatenate(each)

    def read_transaction(self, answer: Callable[[], Value]) -> Value:
        """Return the result of `answer()`, all of whose reads see one state of each vault."""
        for part in self.vaults:
            answer = partial(part.corpus.read_transaction, answer)
        return answer()

    def count_fragments(self, terms: Sequence[str]) -> int:
        """Return the number of fragments that have at least one of `terms`."""
        return sum(part.corpus.count_fragments(terms) for part in self.vaults)

    def count_notes(self, terms: Sequence[str]) -> int:
        return sum(part.corpus.count_notes(terms) for part in self.vaults)

    def fragment_counts(self, notes: NDArray[np.integer]) -> Longs:
        if self.is_complete:
            sizes: Longs = np.bincount(self.table.notes, minlength=len(self.table.paths))[notes]
            return sizes
        firsts = [part.first_note for part in self.vaults]
        size_of: dict[int, int] = {}
        for at, own_notes in _split_numbers(firsts, notes.tolist()):
            counts = self.vaults[at].corpus.fragment_counts(np.array(own_notes, np.int32))
            size_of |= {note + firsts[at]: count for note, count in zip(own_notes, counts.tolist(), strict=True)}
        return np.array([size_of[note] for note in notes.tolist()], np.int64)

    def status(self) -> Status:
        """Return the sums of the vaults' counts, and the time of the latest update of any vault."""
        each = [part.corpus.status() for part in self.vaults]
        attachments: Counter[str] = Counter()
        for status in each:
            attachments.update(status.attachments)
        return replace(
            each[0],
            vault=", ".join(status.vault for status in each),
            generation=self.generation,
            notes=sum(status.notes for status in each),
            fragments=sum(status.fragments for status in each),
            skipped=self.skipped,
            warnings=tuple(
                _prefix_problem(part, problem)
                for part, status in zip(self.vaults, each, strict=True)
                for problem in status.warnings
            ),
            updated=max(status.updated for status in each),
            attachments=dict(attachments),
            unread=tuple(unread for status in each for unread in status.unread),
        )

    @property
    def skipped(self) -> tuple[FileProblem, ...]:
        return tuple(_prefix_problem(part, problem) for part in self.vaults for problem in part.corpus.skipped)

    def shorten_wal(self) -> None:
        """Shorten the write-ahead log of each index."""
        for part in self.vaults:
            part.corpus.shorten_wal()

    def close(self) -> None:
        """Close every index."""
        for part in self.vaults:
            part.corpus.close()
        for name in (
            "table",
            "is_note_row",
            "is_possible_result",
            "lexical",
            "vectors",
            "embedder",
            "facets",
            "languages",
            "without_comments",
        ):
            self.__dict__.pop(name, None)

    # --- notes --------------------------------------------------------------------------------------------------------

    def fragments(self, keys: Sequence[int]) -> list[Fragment]:
        wanted_keys = [int(key) for key in keys]
        by_key = {
            fragment.key: fragment
            for at, own_keys in _split_numbers([part.first_key for part in self.vaults], wanted_keys)
            for fragment in map(self.vaults[at].fragment_in_union, self.vaults[at].corpus.fragments(own_keys))
        }
        return [by_key[key] for key in wanted_keys]

    def fragment(self, fragment_id: str) -> Fragment | None:
        """Return the fragment with this id; None if there is none. An id without a vault is looked up in each."""
        own_id, _, name = fragment_id.partition(_ID_SEPARATOR)
        for part in self.vaults:
            if name in ("", part.name) and (fragment := part.corpus.fragment(own_id)) is not None:
                return part.fragment_in_union(fragment)
        return None

    def keys_of_texts(self, digests: Collection[str]) -> dict[str, int]:
        keys: dict[str, int] = {}
        for part in reversed(self.vaults):
            keys |= {digest: key + part.first_key for digest, key in part.corpus.keys_of_texts(digests).items()}
        return keys

    def note_fragments(self, path: str, first: int = 0, last: int | None = None) -> list[Fragment]:
        """Return the fragments number `first` to `last` (None: to the end) of a note; [] for an unknown note."""
        if (found := self.split_path(path)) is None:
            return []
        part, own_path = found
        return [part.fragment_in_union(fragment) for fragment in part.corpus.note_fragments(own_path, first, last)]

    def fragment_infos(self, ranges: Sequence[tuple[str, int, int | None]]) -> list[list[FragmentInfo]]:
        result: list[list[FragmentInfo]] = [[] for _ in ranges]
        places = [(self.split_path(path), first, last) for path, first, last in ranges]
        for part in self.vaults:
            chosen = [at for at, (found, _, _) in enumerate(places) if found is not None and found[0] is part]
            own_ranges = [(found[1], first, last) for at in chosen for found, first, last in (places[at],) if found]
            for at, infos in zip(chosen, part.corpus.fragment_infos(own_ranges), strict=True):
                result[at] = part.infos(infos)
        return result

    def sections(self, path: str) -> list[Section]:
        """Return the sections of a note in order, each without the blocks of its text."""
        found = self.split_path(path)
        return [] if found is None else found[0].corpus.sections(found[1])

    def place(self, path: str, line_start: int, line_end: int) -> str:
        found = self.split_path(path)
        return "" if found is None else found[0].corpus.place(found[1], line_start, line_end)

    def note_text(self, path: str) -> str:
        part, own_path = self._find(path)
        return part.corpus.note_text(own_path)

    def comments(self, path: str) -> list[CommentLine]:
        """Return the lines of comments that are left out of the text of a note, in order; [] for an unknown note."""
        found = self.split_path(path)
        return [] if found is None else found[0].corpus.comments(found[1])

    def note_tokens(self, path: str) -> int:
        part, own_path = self._find(path)
        return part.note_tokens(own_path)

    def note_modified(self, path: str) -> str:
        part, own_path = self._find(path)
        return part.corpus.note_modified(own_path)

    def note_replaced(self, path: str) -> Replaced | None:
        """Return what replaces a note, None if it is not replaced. Raises KeyError for an unknown note."""
        part, own_path = self._find(path)
        found = part.corpus.note_replaced(own_path)
        return found if found is None or found.by is None else replace(found, by=part.path_in_union(found.by))

    def note_info(self, path: str) -> NoteInfo:
        return self.note_infos([path])[0]

    def note_infos(self, paths: Sequence[str]) -> list[NoteInfo]:
        places = [self._find(path) for path in paths]
        infos: dict[str, NoteInfo] = {}
        for part in self.vaults:
            own_paths = [own_path for each, own_path in places if each is part]
            for info in part.corpus.note_infos(own_paths) if own_paths else ():
                infos[part.path_in_union(info.path)] = part.note_info(info)
        return [infos[path] for path in paths]

    def note_paths(self) -> tuple[str, ...]:
        return tuple(part.path_in_union(path) for part in self.vaults for path in part.corpus.note_paths())

    def current_path(self, path: str) -> str | None:
        if (found := self.split_path(path)) is None:
            return None
        part, own_path = found
        current = part.corpus.current_path(own_path)
        return None if current is None else part.path_in_union(current)

    def check(self) -> None:
        for part in self.vaults:
            part.corpus.check()

    def notes_named(self, name: str) -> tuple[int, ...]:
        return tuple(number + part.first_note for part in self.vaults for number in part.corpus.notes_named(name))

    def name_terms(self, positions: Sequence[int]) -> list[NameTerms]:
        """Return the tokenized names of some notes, which are given as indexes in `table.paths`."""
        by_note = {
            number + self.vaults[at].first_note: names
            for at, own in _split_numbers([part.first_note for part in self.vaults], positions)
            for number, names in zip(own, self.vaults[at].corpus.name_terms(own), strict=True)
        }
        return [by_note[int(note)] for note in positions]

    def _find(self, path: str) -> tuple[VaultPart, str]:
        """Return the vault and the path in it of the note at `path`. Raises KeyError for an unknown vault."""
        if (found := self.split_path(path)) is None:
            raise KeyError(path)
        return found


class UnionTerms:
    """The terms of all vaults of a union, with their postings."""

    def __init__(self, parts: Sequence[VaultPart], lexicons: dict[str, list[str]]) -> None:
        """Read nothing yet. `lexicons` caches the terms of each field, which do not depend on the loaded fragments."""
        self._corpora = [part.corpus for part in parts]
        self._parts = [(np.int32(part.first_row), part.corpus.lexical) for part in parts]
        self._ends = np.cumsum([terms.doc_count for _, terms in self._parts])
        self.keys: Longs = np.concatenate([part.corpus.lexical.keys + part.first_key for part in parts])
        self.corpus_size = sum(terms.corpus_size for _, terms in self._parts)
        self._is_complete = all(corpus.is_complete for corpus in self._corpora)
        self._lengths: dict[str, Floats] = {}
        self._lexicons = lexicons

    @property
    def doc_count(self) -> int:
        return len(self.keys)

    def release_terms(self) -> None:
        """Release the cached postings of each vault."""
        for _, own_terms in self._parts:
            own_terms.release_terms()

    def prefetch_document_frequencies(self, terms: Sequence[str]) -> None:
        """Load the document counts of `terms` from the stores."""
        for _, own_terms in self._parts:
            own_terms.prefetch_document_frequencies(terms)

    def document_frequency(self, terms: Sequence[str]) -> DocumentFrequency | None:
        """Return the sum of the vaults' counts; None if every fragment has a row, so that callers count the rows."""
        if self._is_complete:
            return None
        each = [_count_fragments_with(corpus, terms) for corpus in self._corpora]
        return DocumentFrequency(
            sum(counts.fragments for counts in each),
            sum(counts.sample_matches for counts in each),
            sum(counts.sample_size for counts in each),
        )

    def mean_length(self, field: str) -> float | None:
        """Return the mean of the vaults' means by their numbers of fragments; None if every fragment has a row."""
        if self._is_complete:
            return None
        sizes = [terms.corpus_size for _, terms in self._parts]
        means = [_mean_length(corpus, field) for corpus in self._corpora]
        return sum(size * mean for size, mean in zip(sizes, means, strict=True)) / max(sum(sizes), 1) or 1.0

    def lengths(self, field: str) -> Floats:
        if field not in self._lengths:
            self._lengths[field] = np.concatenate([terms.lengths(field) for _, terms in self._parts])
        return self._lengths[field]

    def entries(self, term: str) -> TermEntries:
        """Return the postings of `term` in all fields, one item for each row and field."""
        each = [(first_row, terms.entries(term)) for first_row, terms in self._parts]
        return TermEntries(
            np.concatenate([entries.rows + first_row for first_row, entries in each]),
            np.concatenate([entries.fields for _, entries in each]),
            np.concatenate([entries.tf for _, entries in each]),
        )

    def count(self, term: str) -> int:
        """Return an upper bound of the number of fragments that have `term`, once for each field that has it."""
        return sum(terms.count(term) for _, terms in self._parts)

    def occurrences(self, term: str, rows: Rows) -> TermOccurrences:
        """Return every occurrence of `term` in `rows`, which ascend."""
        ends = np.searchsorted(rows, self._ends).tolist()
        each = [
            (begin, terms.occurrences(term, rows[begin:end] - first_row))
            for (first_row, terms), begin, end in zip(self._parts, [0, *ends], ends, strict=False)
        ]
        return TermOccurrences(
            np.concatenate([occurrences.row_indices + begin for begin, occurrences in each]),
            np.concatenate([occurrences.fields for _, occurrences in each]),
            np.concatenate([occurrences.positions for _, occurrences in each]),
        )

    def postings(self, field: str, term: str) -> TermPostings:
        """Return the postings of `term` in `field`: rows and counts."""
        entries = self.entries(term)
        is_in_field = entries.fields == FIELDS.index(field)
        return TermPostings(entries.rows[is_in_field], entries.tf[is_in_field].astype(np.float32))

    def positions(self, field: str, term: str) -> Positions:
        each = [terms.positions(field, term) for _, terms in self._parts]
        return Positions(
            run_offsets(np.concatenate([np.diff(positions.offsets) for positions in each])),
            np.concatenate([positions.values for positions in each]),
        )

    def completions(self, prefix: str, limit: int) -> list[str]:
        completions = {term for _, terms in self._parts for term in terms.completions(prefix, limit)}
        return sorted(completions, key=lambda term: (len(term), term))[:limit]

    def terms(self, field: str, prefix: str) -> list[str]:
        return sorted({term for _, terms in self._parts for term in terms.terms(field, prefix)})

    def lexicon(self, field: str) -> list[str]:
        """Return every term of `field`, sorted; cached."""
        if field not in self._lexicons:
            self._lexicons[field] = sorted({term for _, terms in self._parts for term in terms.lexicon(field)})
        return self._lexicons[field]


def _flag_rows(terms: Terms, wanted: Sequence[str]) -> Flags:
    """Return a flag for each row: whether it has any of the terms `wanted`."""
    has_term = np.zeros(terms.doc_count, np.bool_)
    for term in wanted:
        has_term[terms.entries(term).rows] = True
    return has_term


def _flag_matches(corpus: Corpus, query: CandidateQuery) -> Flags:
    """Return a flag for each row of an index: whether it passes the filters, and has a term of a query with terms."""
    table, is_match = corpus.table, ~_flag_rows(corpus.lexical, query.must_not)
    if query.notes is not None:
        is_match &= np.isin(table.notes, query.notes)
    if query.keys is not None:
        is_match &= np.isin(table.keys, query.keys)
    for terms in (*query.must, *filter(None, [query.terms])):
        is_match &= _flag_rows(corpus.lexical, terms)
    return is_match


def _count_fragments_with(corpus: Corpus, terms: Sequence[str]) -> DocumentFrequency:
    """Return how many fragments of a vault have any of `terms`; those of notes are the sample, unless it has none."""
    known = corpus.lexical.document_frequency(terms)
    if known is not None:
        return known
    has_term, is_note_row = _flag_rows(corpus.lexical, terms), corpus.is_note_row
    count = int(np.count_nonzero(has_term))
    if is_note_row is None:
        return DocumentFrequency(count, count, len(has_term))
    return DocumentFrequency(count, int(np.count_nonzero(has_term & is_note_row)), int(np.count_nonzero(is_note_row)))


def _mean_length(corpus: Corpus, field: str) -> float:
    """Return the mean number of terms in `field`, over the fragments of a vault's notes where it is not empty."""
    known = corpus.lexical.mean_length(field)
    if known is not None:
        return known
    lengths, is_note_row = corpus.lexical.lengths(field), corpus.is_note_row
    filled = lengths[lengths > 0 if is_note_row is None else (lengths > 0) & is_note_row]
    return float(filled.mean()) if len(filled) else 1.0


class UnionVectors:
    """The vectors of all vaults of a union; the matrices stay where they are."""

    def __init__(self, parts: Sequence[VaultPart], vectors: Sequence[Vectors]) -> None:
        """Join the vectors of vaults; one model has made the vectors of all of them."""
        self._first_rows = [part.first_row for part in parts]
        self._parts = vectors
        sizes = np.array([part.corpus.lexical.corpus_size for part in parts], np.float64)
        self._shares = sizes / max(float(sizes.sum()), 1.0)
        means = [share * vectors.mean for share, vectors in zip(self._shares, self._parts, strict=True)]
        self.mean: Floats = np.sum(means, axis=0).astype(np.float32)

    def rows(self, numbers: NDArray[np.integer]) -> Floats:
        result = np.empty((len(numbers), len(self.mean)), np.float32)
        for vectors, chosen, own_numbers in self._split(numbers):
            result[chosen] = vectors.rows(own_numbers)
        return result

    def similarities(self, query: Floats) -> Floats:
        return np.concatenate([vectors.similarities(query) for vectors in self._parts])

    def similarities_at(self, query: Floats, numbers: NDArray[np.integer]) -> Floats:
        result = np.empty(len(numbers), np.float32)
        for vectors, chosen, own_numbers in self._split(numbers):
            result[chosen] = vectors.similarities_at(query, own_numbers)
        return result

    def approximate_similarities(self, query: Floats) -> tuple[Floats, float]:
        each = [vectors.approximate_similarities(query) for vectors in self._parts]
        return np.concatenate([cosines for cosines, _ in each]), max(error for _, error in each)

    def mean_similarity(self, query: Floats) -> float:
        means = [vectors.mean_similarity(query) for vectors in self._parts]
        return float(sum(share * mean for share, mean in zip(self._shares.tolist(), means, strict=True)))

    def _split(self, numbers: NDArray[np.integer]) -> Iterator[tuple[Vectors, NDArray[np.bool_], NDArray[np.integer]]]:
        """Yield each vault's vectors, the mask of its rows among `numbers`, and these rows' numbers in the vault."""
        part_of_row = np.searchsorted(self._first_rows, numbers, side="right") - 1
        for at, (first_row, vectors) in enumerate(zip(self._first_rows, self._parts, strict=True)):
            chosen = part_of_row == at
            if chosen.any():
                yield vectors, chosen, numbers[chosen] - first_row


class UnionFacets(Facets):
    """The data by which the notes of all vaults of a union are filtered."""

    def __init__(self, parts: Sequence[VaultPart], notes: NumberedNotes) -> None:
        """Read nothing yet."""
        super().__init__(_UnionQueries(parts), notes)
        self._parts = parts

    @cached_property
    def is_copied(self) -> Flags:
        """A flag for each note: whether the time of its file was set by a copy, judged within its vault."""
        return np.concatenate([part.corpus.facets.is_copied for part in self._parts])

    @cached_property
    def change_days(self) -> Times:
        """Day of each note's last change as written in the note, or UNKNOWN_DAY, by note number."""
        return np.concatenate([part.corpus.facets.change_days for part in self._parts])

    @cached_property
    def created(self) -> Times:
        """Day when each note was created, in days since 1970, or UNKNOWN_DAY, by note number."""
        return np.concatenate([part.corpus.facets.created for part in self._parts])

    @cached_property
    def dates(self) -> Times:
        """Day that each note is about, in days since 1970, or UNKNOWN_DAY, by note number.

        A date in the name of a vault says nothing about its notes.
        """
        return np.concatenate([part.corpus.facets.dates for part in self._parts])

    @cached_property
    def last_day_by_note(self) -> Times:
        """Last day that each note is about, or UNKNOWN_DAY, by note number."""
        return np.concatenate([part.corpus.facets.last_day_by_note for part in self._parts])

    @cached_property
    def replaced(self) -> Mapping[int, ReplacedNote]:
        """The notes that are replaced, by number: each by a note of its own vault."""
        return {
            note + part.first_note: structs.replace(
                found, successors=tuple(after + part.first_note for after in found.successors)
            )
            for part in self._parts
            for note, found in part.corpus.facets.replaced.items()
        }

    @cached_property
    def targets(self) -> LinkResolver:
        """Finds the note that the target of a link means, in the vault of the note that has the link."""
        return _UnionLinkResolver(self._paths, self._parts)

    def find_targets(self, target: str) -> Ints:
        """Return the numbers of the notes that `target` means, looked up from the root of each vault.

        A target that begins with the name of a vault is looked up in that vault first.
        """
        name, _, own_target = target.partition("/")
        named = [part for part in self._parts if part.name.casefold() == name.casefold()]
        for parts, text in ((named, own_target), (self._parts, target)):
            each = [part.corpus.facets.find_targets(text) + np.int32(part.first_note) for part in parts]
            if any(map(len, each)):
                return np.concatenate(each)
        return np.zeros(0, np.int32)

    @cached_property
    def links(self) -> tuple[Ints, Ints]:
        """Links between notes of one vault, as two arrays of note numbers: sources and targets."""
        return self._join_links(part.corpus.facets.links for part in self._parts)

    def links_from(self, notes: Ints) -> tuple[Ints, Ints]:
        """Return the links out of some notes, or all links, as arrays of source and of target note numbers."""
        ends = [*(part.first_note for part in self._parts[1:]), len(self._paths)]
        return self._join_links(
            part.corpus.facets.links_from(notes[(notes >= part.first_note) & (notes < end)] - np.int32(part.first_note))
            for part, end in zip(self._parts, ends, strict=True)
        )

    def _join_links(self, links: Iterable[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
        """Join the links of each vault, with the note numbers of the union."""
        each = [
            (sources + np.int32(part.first_note), targets + np.int32(part.first_note))
            for part, (sources, targets) in zip(self._parts, links, strict=True)
        ]
        return np.concatenate([sources for sources, _ in each]), np.concatenate([targets for _, targets in each])

    def _resolve_in_folder(self, target: str, path: str, _folder: str, label: str = "") -> int:
        """Return the number of the note that `target`, else `label`, means in the note at `path`; -1 if none does."""
        resolved_path = self.targets.resolve(target, path, label)
        return -1 if resolved_path is None else self.numbers[resolved_path]


class _UnionLinkResolver(LinkResolver):
    """Finds the note that a link means: in the vault of the linking note only, or in all vaults if no note is given."""

    def __init__(self, paths: Sequence[str], parts: Sequence[VaultPart]) -> None:
        super().__init__(())
        self._paths = paths
        self._part_by_name = {part.name: part for part in parts}

    def resolve(self, target: str, source: str, label: str = "") -> str | None:
        """Return the path of the note that `target`, else `label`, in the note `source` leads to; None if none matches.

        With an empty `source`, `target` is looked up in all vaults, and may begin with the name of one.
        """
        name, _, own_source = source.partition("/")
        part = self._part_by_name.get(name)
        if part is None or not own_source:
            return self._any_vault.resolve(target, source, label)
        path = part.corpus.facets.targets.resolve(target, own_source, label)
        return None if path is None else part.path_in_union(path)

    @cached_property
    def _any_vault(self) -> LinkResolver:
        return LinkResolver(self._paths)


class _UnionQueries:
    """The queries for the facets of all vaults of a union; row ids of notes are shifted by an offset for each vault."""

    def __init__(self, parts: Sequence[VaultPart]) -> None:
        self._parts = [(part, part.corpus.facets.queries) for part in parts]
        self._first_numbers = [part.first_number for part in parts]
        self._first_keys = [part.first_key for part in parts]

    def find_texts_ignoring_case(self, parts: Sequence[str], keys: Sequence[int] | None) -> list[tuple[int, str]]:
        return self._select_texts(lambda queries, own_keys: queries.find_texts_ignoring_case(parts, own_keys), keys)

    def find_texts_with(self, part: str, keys: Sequence[int] | None) -> list[tuple[int, str]]:
        return self._select_texts(lambda queries, own_keys: queries.find_texts_with(part, own_keys), keys)

    def modified(self) -> list[tuple[int, int]]:
        return [(note + part.first_number, at) for part, queries in self._parts for note, at in queries.modified()]

    def kinds(self) -> list[tuple[int, str]]:
        return [(note + part.first_number, kind) for part, queries in self._parts for note, kind in queries.kinds()]

    def fragment_places(self) -> list[tuple[int, str]]:
        return [
            (key + part.first_key, place) for part, queries in self._parts for key, place in queries.fragment_places()
        ]

    def year_headings(self, notes: Sequence[int] | None = None) -> list[tuple[int, str, int, int]]:
        return [
            (note + part.first_number, heading, first_line, last_line)
            for part, queries, own_notes in self._split_notes(notes)
            for note, heading, first_line, last_line in queries.year_headings(own_notes)
        ]

    def names(self, folded: Collection[str] | None = None) -> list[tuple[str, int]]:
        return self._renumber_notes(queries.names(folded) for _, queries in self._parts)

    def link_targets(self, notes: Sequence[int] | None = None) -> list[tuple[int, str]]:
        return [
            (note + part.first_number, targets)
            for part, queries, own_notes in self._split_notes(notes)
            for note, targets in queries.link_targets(own_notes)
        ]

    def links(self, notes: Sequence[int]) -> list[tuple[int, int, str, str | None]]:
        return [
            (note + part.first_number, line, target, text)
            for part, queries, own_notes in self._split_notes(notes)
            for note, line, target, text in queries.links(own_notes or [])
        ]

    def labels(self, notes: Sequence[int]) -> list[tuple[int, str, str, str]]:
        return [
            (note + part.first_number, kind, name, value)
            for part, queries, own_notes in self._split_notes(notes)
            for note, kind, name, value in queries.labels(own_notes or [])
        ]

    def tags(self) -> list[tuple[str, int]]:
        return self._renumber_notes(queries.tags() for _, queries in self._parts)

    def properties(self) -> list[tuple[str, str, int]]:
        return [
            (name, value, note + part.first_number)
            for part, queries in self._parts
            for name, value, note in queries.properties()
        ]

    def property_names(self) -> list[str]:
        return list(dict.fromkeys(name for _, queries in self._parts for name in queries.property_names()))

    def property_values(self, name: str) -> list[tuple[str, int]]:
        return self._renumber_notes(queries.property_values(name) for _, queries in self._parts)

    def property_counts(self) -> list[tuple[str, int]]:
        return _sum_counts(queries.property_counts() for _, queries in self._parts)

    def replacements(self) -> list[tuple[str, str, str, int]]:
        return [
            (kind, words, value, note + part.first_number)
            for part, queries in self._parts
            for kind, words, value, note in queries.replacements()
        ]

    def titles(self) -> list[tuple[str, int]]:
        return self._renumber_notes(queries.titles() for _, queries in self._parts)

    def heading_counts(self) -> list[tuple[str, int]]:
        return _sum_counts(queries.heading_counts() for _, queries in self._parts)

    def _renumber_notes(self, rows: Iterable[list[tuple[str, int]]]) -> list[tuple[str, int]]:
        """Return the (text, note number) rows of all vaults, with note numbers of the union."""
        return [
            (text, note + part.first_number)
            for (part, _), own_rows in zip(self._parts, rows, strict=True)
            for text, note in own_rows
        ]

    def _split_notes(
        self, notes: Sequence[int] | None
    ) -> Iterator[tuple[VaultPart, FacetQueries, Sequence[int] | None]]:
        """Yield each vault that has some of `notes`, with the vault's own row ids of these; None means all notes."""
        if notes is None:
            yield from ((part, queries, None) for part, queries in self._parts)
        else:
            for at, own_notes in _split_numbers(self._first_numbers, notes):
                yield *self._parts[at], own_notes

    def _select_texts(
        self,
        select: Callable[[FacetQueries, Sequence[int] | None], list[tuple[int, str]]],
        keys: Sequence[int] | None,
    ) -> list[tuple[int, str]]:
        chosen: Iterable[tuple[int, Sequence[int] | None]] = (
            [(at, None) for at in range(len(self._parts))] if keys is None else _split_numbers(self._first_keys, keys)
        )
        return [
            (key + self._parts[at][0].first_key, text)
            for at, own_keys in chosen
            for key, text in select(self._parts[at][1], own_keys)
        ]


def find_model_failures(corpora: Mapping[str, Corpus]) -> dict[str, ModelError]:
    """Return the load errors of embedding models by vault name; a vault without its model cannot be in a union.

    A model that several vaults use is loaded once. Returns {} if no model can be loaded at all: then searches fail, but
    all other requests are answered.
    """
    failures: dict[str, ModelError] = {}
    loaded: set[str] = set()
    for name, corpus in corpora.items():
        if corpus.model_id in loaded:
            continue
        try:
            _ = corpus.embedder
        except ModelError as error:
            failures[name] = error
        else:
            loaded.add(corpus.model_id)
    return {name: error for name, error in failures.items() if loaded and corpora[name].model_id not in loaded}


def _number_vaults(corpora: Sequence[tuple[str, Corpus]]) -> tuple[VaultPart, ...]:
    """Return the vaults with their offsets."""
    _, first = corpora[0]
    tables = [corpus.table for _, corpus in corpora]
    offsets = zip(
        _offsets_of_sizes(len(table.keys) for table in tables),
        _offsets_of_sizes(len(table.paths) for table in tables),
        _offsets_of_sizes(int(table.numbers.max(initial=0)) + 1 for table in tables),
        _offsets_of_sizes(
            int(corpus.table.keys.max(initial=0)) + 1 if corpus.partial is None else _KEYS_OF_STORE
            for _, corpus in corpora
        ),
        strict=True,
    )

    def count(text: str) -> int:
        return open_tokenizer(first.tokenizer).count(text)

    return tuple(
        VaultPart(name, corpus, *starts, None if corpus.tokenizer == first.tokenizer else count)
        for (name, corpus), starts in zip(corpora, offsets, strict=True)
    )


def _offsets_of_sizes(sizes: Iterable[int]) -> list[int]:
    """Return where each run begins, for consecutive runs with these sizes."""
    return [0, *accumulate(sizes)][:-1]


def _split_numbers(starts: Sequence[int], numbers: Sequence[int]) -> list[tuple[int, list[int]]]:
    """Return, for each vault that has some of `numbers`, its index and these numbers as the vault's own, in order.

    `starts` has the offset that the union adds to each vault's numbers, ascending.
    """
    own_numbers: dict[int, list[int]] = {}
    for number in map(int, numbers):
        at = bisect_right(starts, number) - 1
        own_numbers.setdefault(at, []).append(number - starts[at])
    return sorted(own_numbers.items())


def _sum_counts(counts: Iterable[list[tuple[str, int]]]) -> list[tuple[str, int]]:
    total: Counter[str] = Counter()
    for own_counts in counts:
        total.update(dict(own_counts))
    return list(total.items())


def _prefix_problem(part: VaultPart, problem: FileProblem) -> FileProblem:
    return replace(problem, path=part.path_in_union(problem.path))
