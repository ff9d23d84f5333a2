"""Search of a vault for the notes and passages that an answer may cite or quote.

Only the index is read. A path in a pack that is not the path of an indexed note is ignored.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, reduce
from typing import Protocol

import numpy as np
from msgspec import Struct

from excerpt.base.locations import locations_overlap
from excerpt.base.model import Fragment, Memory
from excerpt.base.patterns import lazy_pattern
from excerpt.corpus.interface import CandidateQuery, Corpus, Floats
from excerpt.corpus.tables import TermTier, sorted_unique
from excerpt.pack.memory_fragment import memory_name
from excerpt.search.bm25 import Rows
from excerpt.search.nearest_sentences import split_sentences
from excerpt.search.proximity import find_phrase_rows, find_word_sequence
from excerpt.text.display import visible_line
from excerpt.text.folding import fold
from excerpt.text.languages import is_function_word
from excerpt.text.words import QueryWord, query_terms, terms_of


class NoteExtract(Struct, frozen=True):
    """Lines of a note; `text` begins at line `line_start` of the note at `path`."""

    path: str
    line_start: int
    text: str


class VaultLookup(Protocol):
    """Search of a vault for the notes and passages that a check of an answer needs.

    A returned note or passage is only a candidate: the check still compares its text.
    """

    def find_path(self, visible_path: str) -> str | None:
        """Return the path of the note that a pack shows as `visible_path`; None if there is no such note."""
        ...

    def read_note(self, path: str) -> str:
        """Return the text of the note at `path`."""
        ...

    def find_location(self, path: str, line_start: int, line_end: int) -> str:
        """Return the location, such as a page, of lines of an attachment; "" for lines of a note."""
        ...

    def find_line(self, path: str, place: str) -> int:
        """Return the first line at the location `place` (such as a page) of an attachment.

        Returns 1 if the location is unknown.
        """
        ...

    def find_notes_with_line(self, line: str) -> Iterable[str]:
        """Return the paths of the notes that may have exactly this line."""
        ...

    def find_lines_with(self, quotation: str) -> Iterable[NoteExtract]:
        """Yield the passages that may contain `quotation`."""
        ...

    def find_similar_lines(self, quotation: str) -> Iterable[NoteExtract]:
        """Return a few passages: those with most of the important words of `quotation`."""
        ...

    def select_important_words(self, sentence: str) -> Sequence[QueryWord]:
        """Return the words of `sentence` that are neither function words nor common in the vault, each once."""
        ...

    def weigh_word(self, word: QueryWord) -> float:
        """Return the weight of a word: the fewer fragments of the vault have it, the more."""
        ...

    def compare_meaning(self, sentence: str, text: str) -> float:
        """Return how much nearer in meaning `sentence` is to `text`, or to a sentence of it, than to the vault.

        The result is a difference of cosines, at least 0.
        """
        ...

    def analyze_terms(self, text: str) -> frozenset[str]:
        """Return the terms of `text` in all languages of the vault.

        The text has a word of `select_important_words` if one of the word's terms is among the returned terms.
        """
        ...


COMMON_WORD_SHARE = 0.1
"""Share of all fragments above which a word is common, and is not compared."""
MAX_RARE_FRAGMENTS = 3
"""Number of fragments up to which a word is never common, whatever their share of all fragments."""
_MAX_FRAGMENTS = 50
_MAX_SIMILAR = 8
_MAX_CANDIDATES = 200
_MAX_EDGE_WORDS = 6  # words at each end of a quotation, which are searched alone if it spans two fragments
_MAX_LANGUAGES = 3
MAX_PHRASE_WORDS = 50
"""Most words of a quotation that are searched: passages that have these may contain all of it."""


class SnapshotLookup:
    """Search of the indexed notes of a vault for a check."""

    def __init__(self, snapshot: Corpus) -> None:
        self._snapshot = snapshot
        self._texts: dict[str, str] = {}
        self._counts: dict[tuple[str, ...], int] = {}
        self._vectors: dict[str, Floats] = {}
        self._languages = snapshot.languages[:_MAX_LANGUAGES]

    @cached_property
    def _visible_paths(self) -> dict[str, str]:
        """The paths of all notes by the form in which a pack shows them.

        If several paths look alike, one that is shown unchanged is preferred.
        """
        paths = sorted(self._snapshot.note_paths(), key=lambda path: (visible_line(path) == path, path))
        return {visible_line(path): path for path in paths}

    def find_path(self, visible_path: str) -> str | None:
        return self._visible_paths.get(visible_line(visible_path))

    def read_note(self, path: str) -> str:
        if path not in self._texts:
            self._texts[path] = self._snapshot.note_text(path)
        return self._texts[path]

    def find_location(self, path: str, line_start: int, line_end: int) -> str:
        return self._snapshot.place(path, line_start, line_end)

    def find_line(self, path: str, place: str) -> int:
        sections = self._snapshot.sections(path)
        return next((each.line_start for each in sections if each.place and locations_overlap(place, each.place)), 1)

    def find_notes_with_line(self, line: str) -> Iterable[str]:
        keys = [key for key, _ in self._snapshot.facets.find_texts_with(line)][:_MAX_FRAGMENTS]
        return sorted({fragment.path for fragment in self._snapshot.fragments(keys)})

    def find_lines_with(self, quotation: str) -> Iterable[NoteExtract]:
        words = self._analyze_words(quotation)
        if not words:
            return
        if len(words) > MAX_PHRASE_WORDS:
            quotation = quotation[: words[MAX_PHRASE_WORDS - 1].end]
            words = self._analyze_words(quotation)
        probe = min(len(words) // 2, _MAX_EDGE_WORDS)
        ends = [quotation[: words[probe - 1].end], quotation[words[-probe].start :]] if probe else []
        spans = [words, *(core for end in ends if (core := self._analyze_words(end)))]
        queries = [CandidateQuery(must=tuple(word.terms for word in core if not word.is_compound)) for core in spans]
        snapshot = self._snapshot.prefetch(lambda _: queries)
        rows = find_phrase_rows(snapshot, quotation, self._analyze_words)
        if not len(rows):
            matching = [find_word_sequence(snapshot.lexical, core) for core in spans[1:]]
            rows = reduce(np.union1d, matching, rows).astype(np.int32)
        for fragment in snapshot.fragments(snapshot.table.keys[rows[:_MAX_FRAGMENTS]].tolist()):
            yield self._with_neighbours(fragment)

    def find_similar_lines(self, quotation: str) -> Iterable[NoteExtract]:
        weighted = self.select_important_words(quotation)
        query = CandidateQuery(words=tuple((TermTier(word.terms, 1.0),) for word in weighted), limit=_MAX_CANDIDATES)
        snapshot = self._snapshot.prefetch(lambda _: [query])
        shares = np.zeros(snapshot.lexical.doc_count, np.float32)
        for word in weighted:
            share = snapshot.lexical.corpus_size / max(self._count_fragments(word), 1)
            shares[_find_rows(snapshot, word)] += np.float32(np.log1p(share))
        best = np.argsort(-shares, kind="stable")[:_MAX_SIMILAR]
        keys = snapshot.table.keys[best[shares[best] > 0]].tolist()
        return [NoteExtract(each.path, each.line_start, each.text) for each in snapshot.fragments(keys)]

    def select_important_words(self, sentence: str) -> Sequence[QueryWord]:
        max_notes = max(self._snapshot.lexical.corpus_size * COMMON_WORD_SHARE, MAX_RARE_FRAGMENTS)
        return select_distinctive_words(
            self._analyze_words(sentence),
            lambda word: self._count_fragments(word) > max_notes,
            (*self._snapshot.languages, "en"),
        )

    def weigh_word(self, word: QueryWord) -> float:
        return math.log1p(self._snapshot.lexical.corpus_size / max(self._count_fragments(word), 1))

    def compare_meaning(self, sentence: str, text: str) -> float:
        if text not in self._vectors:
            spans = split_sentences(text)
            self._vectors[text] = self._embed([text, *(text[each.start : each.end] for each in spans)])
        vector = self._embed([sentence])[0]
        return max(float((self._vectors[text] @ vector).max() - self._snapshot.vectors.mean @ vector), 0.0)

    def _embed(self, texts: Sequence[str]) -> Floats:
        return self._snapshot.embedder.embed(texts)

    def analyze_terms(self, text: str) -> frozenset[str]:
        return frozenset(term for language in (*self._languages, "") for term in terms_of(text, language)[0])

    def _analyze_words(self, text: str) -> Sequence[QueryWord]:
        return query_terms(text, self._languages)

    def _count_fragments(self, word: QueryWord) -> int:
        """Return the number of fragments of the vault that have the word."""
        if word.terms not in self._counts:
            self._counts[word.terms] = self._snapshot.count_fragments(word.terms)
        return self._counts[word.terms]

    def _with_neighbours(self, fragment: Fragment) -> NoteExtract:
        """Return the lines from the fragment before to the fragment after the given one.

        A quotation may begin in one fragment and end in the next.
        """
        near = self._snapshot.note_fragments(fragment.path, max(fragment.ordinal - 1, 0), fragment.ordinal + 1)
        first, last = near[0].line_start, near[-1].line_end
        return NoteExtract(fragment.path, first, "\n".join(self.read_note(fragment.path).split("\n")[first - 1 : last]))


class LookupWithMemories(SnapshotLookup):
    """Search of the indexed notes of a vault and of memories (findings that a user keeps) for a check.

    A memory has its name in packs as its path.
    """

    def __init__(self, snapshot: Corpus, memories: Iterable[Memory]) -> None:
        super().__init__(snapshot)
        self._memories = {memory_name(memory.id): memory.text.strip("\n") for memory in memories}

    def find_path(self, visible_path: str) -> str | None:
        return visible_path if visible_path in self._memories else super().find_path(visible_path)

    def read_note(self, path: str) -> str:
        memory_text = self._memories.get(path)
        return super().read_note(path) if memory_text is None else memory_text


def _find_rows(snapshot: Corpus, word: QueryWord) -> Rows:
    """Return the rows that have the word, ascending."""
    row_sets = [snapshot.lexical.entries(term).rows for term in word.terms]
    return sorted_unique(np.concatenate(row_sets)).astype(np.int32)


_LETTER = lazy_pattern(r"\w")


def select_distinctive_words(
    words: Sequence[QueryWord], is_common: Callable[[QueryWord], bool], languages: Sequence[str]
) -> list[QueryWord]:
    """Return the words that are neither function words nor common, each once.

    A compound such as `snake_case` is left out if its parts are among `words`. `is_common` tells whether a word is
    common in the vault; `languages` are the language codes of the function words.
    """
    parts = sorted((word.start, word.end) for word in words if not word.is_compound)
    by_terms: dict[tuple[str, ...], QueryWord] = {}
    for word in words:
        first_part = bisect_left(parts, (word.start, 0))
        if word.is_compound and first_part < len(parts) and parts[first_part][1] <= word.end:
            continue
        if _LETTER.search(word.surface) and not is_function_word(fold(word.surface), languages) and not is_common(word):
            by_terms.setdefault(word.terms, word)
    return list(by_terms.values())
