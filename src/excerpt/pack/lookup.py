"""What a check of citations asks of the vault: notes by the path that a pack shows, and where a text may stand.

Only the index is asked. A path from a pack that is not the path of an indexed note is that of no note at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, reduce
from typing import Protocol

import numpy as np

from excerpt.index.snapshot import Snapshot
from excerpt.model import Fragment
from excerpt.search.lexical import Rows
from excerpt.search.phrases import rows_of, rows_with
from excerpt.text.folding import fold
from excerpt.text.languages import is_function_word
from excerpt.text.visible import visible_line
from excerpt.text.words import QueryWord, query_terms, terms_of


class Lookup(Protocol):
    """A vault, as a check asks it. A note or passage that is named may hold what was asked for; the check looks."""

    def path(self, shown: str) -> str | None:
        """The path of the note that a pack calls `shown`."""
        ...

    def text(self, path: str) -> str: ...

    def notes_with_line(self, line: str) -> Iterable[str]:
        """Paths of the notes that may have exactly this line."""
        ...

    def notes_with(self, quotation: str) -> Iterable[str]:
        """Paths of the notes in which `quotation` may stand."""
        ...

    def passages_like(self, quotation: str) -> Iterable[Fragment]:
        """The few passages that have most of the telling words of `quotation`."""
        ...

    def telling(self, sentence: str) -> Sequence[QueryWord]:
        """The words of `sentence` that tell what it is about, each once."""
        ...

    def terms(self, text: str) -> frozenset[str]:
        """What a word of `telling` has to be among to be found in `text`."""
        ...


COMMON = 0.1
"""Share of the fragments from which a word tells little about any of them."""
LEAST_COMMON = 3
"""Fragments that may have a word of a small vault, whatever share of them that is."""
_MOST_NOTES = 50
_MOST_LIKE = 8
_PROBE = 6  # words from each end of a quotation, for one that goes across fragments
_LANGUAGES = 3


class SnapshotLookup:
    """The lookup in a vault's index."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._texts: dict[str, str] = {}
        self._languages = snapshot.languages[:_LANGUAGES]

    @cached_property
    def _shown(self) -> dict[str, str]:
        """Paths by how they are shown; of several that look alike the first that is shown as it is."""
        paths = sorted(self._snapshot.note_paths(), key=lambda path: (visible_line(path) == path, path))
        return {visible_line(path): path for path in paths}

    def path(self, shown: str) -> str | None:
        return self._shown.get(visible_line(shown))

    def text(self, path: str) -> str:
        if path not in self._texts:
            self._texts[path] = self._snapshot.note_text(path)
        return self._texts[path]

    def notes_with_line(self, line: str) -> Iterable[str]:
        return self._paths_of_keys([key for key, _ in self._snapshot.facets.texts_with(line)][:_MOST_NOTES])

    def notes_with(self, quotation: str) -> Iterable[str]:
        words = self._asked(quotation)
        if not words:
            return []
        rows = rows_of(self._snapshot, quotation, self._asked)
        if not len(rows):
            ends = (
                [quotation[: words[_PROBE - 1].end], quotation[words[-_PROBE].start :]] if len(words) > _PROBE else []
            )
            found = [rows_with(self._snapshot.lexical, asked) for end in ends if (asked := self._asked(end))]
            rows = reduce(np.union1d, found, rows).astype(np.int32)
        return self._paths_of_rows(rows[:_MOST_NOTES])

    def passages_like(self, quotation: str) -> Iterable[Fragment]:
        count = self._snapshot.lexical.doc_count
        shares = np.zeros(count, np.float32)
        for word in self.telling(quotation):
            rows = self._rows(word)
            shares[rows] += np.float32(np.log1p(count / max(len(rows), 1)))
        best = np.argsort(-shares, kind="stable")[:_MOST_LIKE]
        keys = self._snapshot.table.keys[best[shares[best] > 0]].tolist()
        return self._snapshot.fragments(keys)

    def telling(self, sentence: str) -> Sequence[QueryWord]:
        most = max(self._snapshot.lexical.doc_count * COMMON, LEAST_COMMON)
        return telling_words(
            self._asked(sentence), lambda word: len(self._rows(word)) > most, (*self._snapshot.languages, "en")
        )

    def terms(self, text: str) -> frozenset[str]:
        return frozenset(term for language in (*self._languages, "") for term in terms_of(text, language)[0])

    def _asked(self, text: str) -> Sequence[QueryWord]:
        return query_terms(text, self._languages)

    def _rows(self, word: QueryWord) -> Rows:
        found = [self._snapshot.lexical.entries(term).rows for term in word.terms]
        return np.unique(np.concatenate(found)).astype(np.int32)

    def _paths_of_rows(self, rows: Rows) -> list[str]:
        table = self._snapshot.table
        return [table.paths[note] for note in dict.fromkeys(table.notes[rows].tolist())]

    def _paths_of_keys(self, keys: Sequence[int]) -> list[str]:
        return list(dict.fromkeys(fragment.path for fragment in self._snapshot.fragments(keys)))


_LETTER = re.compile(r"\w")


def telling_words(
    words: Sequence[QueryWord], is_common: Callable[[QueryWord], bool], languages: Sequence[str]
) -> list[QueryWord]:
    """Of `words`, each once, those that are neither function words nor common; of a compound its parts, where they
    were read too."""
    parts = {(word.start, word.end) for word in words if not word.whole}
    found: dict[tuple[str, ...], QueryWord] = {}
    for word in words:
        if word.whole and any(word.start <= start and end <= word.end for start, end in parts):
            continue
        if _LETTER.search(word.surface) and not is_function_word(fold(word.surface), languages) and not is_common(word):
            found.setdefault(word.terms, word)
    return list(found.values())
