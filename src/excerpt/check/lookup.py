"""The vault as a check reads it: notes by the path that a pack shows, and passages that may contain a text.

Only the index is read. A path from a pack that is no indexed note is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Protocol

import numpy as np

from excerpt.corpus.interface import CandidateQuery, Corpus
from excerpt.locations import locations_overlap
from excerpt.model import Fragment, Memory
from excerpt.pack.memory_fragment import name_of
from excerpt.search.bm25 import Rows
from excerpt.search.proximity import phrase_rows, rows_with_words
from excerpt.text.display import visible_line
from excerpt.text.words import QueryWord, fold, is_function_word, query_terms, terms_of


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of a note, from `line_start` on."""

    path: str
    line_start: int
    text: str


class Lookup(Protocol):
    """Lookup of notes and passages for a check.

    A returned note or passage is only a candidate: the check still compares its text.
    """

    def path(self, visible_path: str) -> str | None:
        """Return the path of the note that a pack shows as `visible_path`."""
        ...

    def text(self, path: str) -> str: ...

    def location(self, path: str, line_start: int, line_end: int) -> str:
        """Return the location of lines of an attachment, "" for lines of a note."""
        ...

    def line_at(self, path: str, place: str) -> int:
        """Return the first line at a location, 1 if the location is unknown."""
        ...

    def notes_with_line(self, line: str) -> Iterable[str]:
        """Return the paths of the notes that may have exactly this line."""
        ...

    def lines_with(self, quotation: str) -> Iterable[Lines]:
        """Return lines that may contain `quotation`."""
        ...

    def lines_like(self, quotation: str) -> Iterable[Lines]:
        """Return the few passages with most of the important words of `quotation`."""
        ...

    def important_words(self, sentence: str) -> Sequence[QueryWord]:
        """Return the important words of `sentence`, each once."""
        ...

    def terms(self, text: str) -> frozenset[str]:
        """Return the terms of `text`, which has a word of `important_words` if one of its terms is among them."""
        ...


COMMON = 0.1
"""Share of all fragments from which a word is common and is ignored."""
MIN_COMMON = 3
"""Number of fragments that a word may occur in without being common, whatever their share."""
_MAX_RESULTS = 50
_MAX_LIKE = 8
_MAX_WEIGHED = 200
_MAX_PROBED = 6  # words at each end of a quotation that is in no fragment, but may span two
_LANGUAGES = 3


class SnapshotLookup:
    """Lookup in the index of a vault."""

    def __init__(self, snapshot: Corpus) -> None:
        self._snapshot = snapshot
        self._texts: dict[str, str] = {}
        self._languages = snapshot.languages[:_LANGUAGES]

    @cached_property
    def _visible_paths(self) -> dict[str, str]:
        """Paths by their visible form; if several look alike, the first one that is shown unchanged."""
        paths = sorted(self._snapshot.note_paths(), key=lambda path: (visible_line(path) == path, path))
        return {visible_line(path): path for path in paths}

    def path(self, visible_path: str) -> str | None:
        return self._visible_paths.get(visible_line(visible_path))

    def text(self, path: str) -> str:
        if path not in self._texts:
            self._texts[path] = self._snapshot.note_text(path)
        return self._texts[path]

    def location(self, path: str, line_start: int, line_end: int) -> str:
        return self._snapshot.place(path, line_start, line_end)

    def line_at(self, path: str, place: str) -> int:
        sections = self._snapshot.sections(path)
        return next((each.line_start for each in sections if each.place and locations_overlap(place, each.place)), 1)

    def notes_with_line(self, line: str) -> Iterable[str]:
        keys = [key for key, _ in self._snapshot.facets.texts_with(line)][:_MAX_RESULTS]
        return sorted({fragment.path for fragment in self._snapshot.fragments(keys)})

    def lines_with(self, quotation: str) -> Iterable[Lines]:
        words = self._query_terms(quotation)
        if not words:
            return
        probe = min(len(words) // 2, _MAX_PROBED)
        ends = [quotation[: words[probe - 1].end], quotation[words[-probe].start :]] if probe else []
        spans = [words, *(core for end in ends if (core := self._query_terms(end)))]
        queries = [CandidateQuery(must=tuple(word.terms for word in core if not word.is_compound)) for core in spans]
        snapshot = self._snapshot.prefetch(lambda _: queries)
        rows = phrase_rows(snapshot, quotation, self._query_terms)
        if not len(rows):
            matching = [rows_with_words(snapshot.lexical, core) for core in spans[1:]]
            rows = reduce(np.union1d, matching, rows).astype(np.int32)
        for fragment in snapshot.fragments(snapshot.table.keys[rows[:_MAX_RESULTS]].tolist()):
            yield self._with_neighbours(fragment)

    def lines_like(self, quotation: str) -> Iterable[Lines]:
        weighted = self.important_words(quotation)
        query = CandidateQuery(terms=tuple(term for word in weighted for term in word.terms), limit=_MAX_WEIGHED)
        snapshot = self._snapshot.prefetch(lambda _: [query])
        shares = np.zeros(snapshot.lexical.doc_count, np.float32)
        for word in weighted:
            share = snapshot.lexical.corpus_size / max(self._count(word), 1)
            shares[_rows(snapshot, word)] += np.float32(np.log1p(share))
        best = np.argsort(-shares, kind="stable")[:_MAX_LIKE]
        keys = snapshot.table.keys[best[shares[best] > 0]].tolist()
        return [Lines(each.path, each.line_start, each.text) for each in snapshot.fragments(keys)]

    def important_words(self, sentence: str) -> Sequence[QueryWord]:
        max_notes = max(self._snapshot.lexical.corpus_size * COMMON, MIN_COMMON)
        return distinctive_words(
            self._query_terms(sentence), lambda word: self._count(word) > max_notes, (*self._snapshot.languages, "en")
        )

    def terms(self, text: str) -> frozenset[str]:
        return frozenset(term for language in (*self._languages, "") for term in terms_of(text, language)[0])

    def _query_terms(self, text: str) -> Sequence[QueryWord]:
        return query_terms(text, self._languages)

    def _count(self, word: QueryWord) -> int:
        """Return the number of fragments that have the word."""
        return self._snapshot.count_fragments(word.terms)

    def _with_neighbours(self, fragment: Fragment) -> Lines:
        """Return the fragment with its neighbours and the lines between.

        A quotation may continue into the next fragment.
        """
        near = self._snapshot.note_fragments(fragment.path, max(fragment.ordinal - 1, 0), fragment.ordinal + 1)
        first, last = near[0].line_start, near[-1].line_end
        return Lines(fragment.path, first, "\n".join(self.text(fragment.path).split("\n")[first - 1 : last]))


class LookupWithMemories(SnapshotLookup):
    """Lookup in the index of a vault and among memories, by their names in packs."""

    def __init__(self, snapshot: Corpus, memories: Iterable[Memory]) -> None:
        super().__init__(snapshot)
        self._memories = {name_of(memory.id): memory.text.strip("\n") for memory in memories}

    def path(self, visible_path: str) -> str | None:
        return visible_path if visible_path in self._memories else super().path(visible_path)

    def text(self, path: str) -> str:
        memory_text = self._memories.get(path)
        return super().text(path) if memory_text is None else memory_text


def _rows(snapshot: Corpus, word: QueryWord) -> Rows:
    """Return the rows that have the word, ascending."""
    row_sets = [snapshot.lexical.entries(term).rows for term in word.terms]
    return np.unique(np.concatenate(row_sets)).astype(np.int32)


_LETTER = re.compile(r"\w")


def distinctive_words(
    words: Sequence[QueryWord], is_common: Callable[[QueryWord], bool], languages: Sequence[str]
) -> list[QueryWord]:
    """Return the words, each once, that are neither function words nor common; the parts instead of a compound.

    A compound itself is kept if its parts are not among the words.
    """
    parts = {(word.start, word.end) for word in words if not word.is_compound}
    by_terms: dict[tuple[str, ...], QueryWord] = {}
    for word in words:
        if word.is_compound and any(word.start <= start and end <= word.end for start, end in parts):
            continue
        if _LETTER.search(word.surface) and not is_function_word(fold(word.surface), languages) and not is_common(word):
            by_terms.setdefault(word.terms, word)
    return list(by_terms.values())
