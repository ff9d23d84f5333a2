"""What two notes have in common in their texts, for a reader to see: passages that say alike, and rare words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
import numpy.typing as npt

from excerpt.index.fields import FIELDS
from excerpt.index.snapshot import Snapshot
from excerpt.insight.mentions import MOST_READ, text_alone
from excerpt.insight.nearness import Origin, Term, centred, rows_of, spread
from excerpt.model import Fragment, Span
from excerpt.search.lexical import Rows
from excerpt.search.spans import SpanFinder
from excerpt.text.languages import WIDE_CHARACTERS
from excerpt.text.words import terms_of

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int32]

MOST_PAIRS = 2
"""Pairs of passages that are shown for one note."""
MOST_LOOKED_AT = 8
"""Pairs that are looked at for those: lists of links are alike everywhere, and say nothing to who reads them."""
LEAST_PROSE = 40
"""Letters of a passage outside its links, below which it is a list of links or a heading."""
BESIDE_BEST = 0.6
"""How good a second pair has to be, as a share of the first."""
LEAST = 0.2
"""Of two passages, the mean of how near they are in meaning and in words, each 0 to 1, below which they do not say
alike."""
MOST_WORDS = 6
"""Words that are told of one note."""
RARE = 0.15
"""The share of the vault's notes that has a word at most, for it to be called rare; a word of three notes always is."""
TELLING = 0.7
"""How much a word says in general language at least, 0 to 1, for it to be told: "bandwidth" and "motion", not "since"
and "remains"."""
LONGEST_WIDE = 8
"""Characters of the longest word of a script without spaces that is told: as far as both texts go on alike."""
SHORTEST = 3
"""Letters of the shortest word that is told, where it has no sign or digit."""

_WIDE_WORD = re.compile(f"[{WIDE_CHARACTERS}]+")
_TEXT = FIELDS.index("text")


@dataclass(frozen=True, slots=True)
class Pair:
    """A fragment here and one there, how near they are in meaning (0 to 1), the words that both have, as they are
    spelled here, the rarest first, and where they stand on both sides."""

    here: Fragment
    there: Fragment
    similarity: float
    words: tuple[str, ...]
    spans_here: tuple[Span, ...]
    spans_there: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Word:
    """A word that both notes have, as this one spells it; how many notes have it; and the line of the other where it
    first stands."""

    word: str
    notes: int
    line: int


class Comparison:
    """The passages and words that one note, or a fragment of it, shares with some others."""

    def __init__(self, snapshot: Snapshot, origin: Origin, terms: Sequence[Term], notes: Ints) -> None:
        """`notes` ascending; `terms` are the words that say most about the origin."""
        self._snapshot = snapshot
        self._origin = origin
        self._terms = terms
        self._finder = SpanFinder()
        self._here = spread(origin.rows)
        self._there, places = rows_of(snapshot, notes)
        self._of = notes[places] if len(places) else places
        rows = np.union1d(self._here, self._there).astype(np.int32)
        self._rows = rows
        self._has = np.array([_standing_in(snapshot, term.term, rows) for term in terms], np.bool_)
        self._vectors = centred(snapshot, self._here) if len(self._here) else np.zeros((0, 0), np.float32)

    def pairs(self, note: int) -> tuple[Pair, ...]:
        """The passages of this note and of `note` that say alike, the nearest first, none twice."""
        there = self._there[self._of == note]
        if not len(there) or not len(self._here):
            return ()
        similar = np.clip(self._vectors @ centred(self._snapshot, there).T, 0, 1)
        worth = (similar + self._by_words(there)) / 2
        keys = self._snapshot.table.keys
        found: list[Pair] = []
        best = float(worth.max())
        for _ in range(MOST_LOOKED_AT):
            at, to = divmod(int(worth.argmax()), worth.shape[1])
            if len(found) == MOST_PAIRS or worth[at, to] < max(LEAST, BESIDE_BEST * best):
                break
            here, other = self._snapshot.fragments([int(keys[self._here[at]]), int(keys[there[to]])])
            if _has_prose(here.text) and _has_prose(other.text):
                found.append(self._pair(here, other, int(self._here[at]), int(there[to]), float(similar[at, to])))
                worth[at], worth[:, to] = 0, 0
            else:
                worth[at, to] = 0
        return tuple(found)

    def words(self, note: int) -> tuple[Word, ...]:
        """The rare words that both notes have, those that say most about this one first."""
        most = max(3.0, RARE * len(self._snapshot.table.paths))
        there = self._there[self._of == note]
        at = np.searchsorted(self._rows, there)
        told: list[Word] = []
        for number, term in enumerate(self._terms):
            if len(told) == MOST_WORDS or not len(there):
                break
            if len(term.notes) > most or number not in self._tellable or not self._has[number, at].any():
                continue
            fragment, line = self._first(number, int(there[self._has[number, at]][0]))
            word = self._grown(term.spelled, fragment.text)
            if not _is_part(word, [other.word for other in told]):
                notes = len(term.notes) if word == term.spelled else self._notes_with(word)
                told.append(Word(word, notes, line))
        return tuple(told)

    # --- one pair -----------------------------------------------------------------------------------------------------

    def _by_words(self, there: Rows) -> Floats:
        """How much of their telling words each passage here and each of `there` have in common: the cosine."""
        rarity = np.array([term.rarity for term in self._terms], np.float32)
        here = self._has[:, np.searchsorted(self._rows, self._here)] * rarity[:, None]
        other = self._has[:, np.searchsorted(self._rows, there)] * rarity[:, None]
        lengths = np.linalg.norm(here, axis=0)[:, None] * np.linalg.norm(other, axis=0)[None, :]
        found: Floats = (here.T @ other) / np.maximum(lengths, 1e-9)
        return found

    def _pair(self, here: Fragment, there: Fragment, row: int, other: int, similarity: float) -> Pair:
        at, to = np.searchsorted(self._rows, [row, other])
        both = [number for number in sorted(self._tellable) if self._has[number, at] and self._has[number, to]]
        both.sort(key=lambda number: (-self._terms[number].rarity, self._terms[number].term))
        terms = frozenset(self._terms[number].term for number in both)
        spans_here = self._finder.find(here.text[:MOST_READ], terms, self._language(here.path))
        spans_there = self._finder.find(there.text[:MOST_READ], terms, self._language(there.path))
        words: list[str] = []
        for spelled in (self._terms[number].spelled for number in both):
            word = _grown(spelled, here.text, there.text)
            if not _is_part(word, words):
                words.append(word)
        return Pair(here, there, similarity, tuple(words), spans_here, spans_there)

    # --- words as they are spelled ------------------------------------------------------------------------------------

    @cached_property
    def _tellable(self) -> frozenset[int]:
        """The numbers of the terms that a reader takes something from: of those that stand in the text."""
        return frozenset(
            number for number, term in enumerate(self._terms) if term.telling >= TELLING and _is_word(term.spelled)
        )

    def _grown(self, spelled: str, there: str) -> str:
        text = next((fragment.text for fragment in self._origin.fragments if spelled in fragment.text), "")
        return _grown(spelled, text, there)

    def _notes_with(self, word: str) -> int:
        """How many notes have all pairs of characters of a word in one fragment."""
        lexical, table = self._snapshot.lexical, self._snapshot.table
        pairs = {term for term in terms_of(word, self._origin.info.language)[0] if len(term) > 1}
        having = [lexical.entries(term).rows for term in sorted(pairs)]
        return len(np.unique(table.notes[reduce(np.intersect1d, having)])) if having else 0

    def _first(self, number: int, row: int) -> tuple[Fragment, int]:
        """The fragment of `row`, and the line on which a word first stands in it."""
        fragment = self._snapshot.fragments([int(self._snapshot.table.keys[row])])[0]
        term = frozenset([self._terms[number].term])
        spans = self._finder.find(fragment.text[:MOST_READ], term, self._language(fragment.path))
        return fragment, fragment.line_start + (fragment.text.count("\n", 0, spans[0].start) if spans else 0)

    def _language(self, path: str) -> str:
        return self._snapshot.table.languages[self._snapshot.facets.numbers[path]]


def _has_prose(text: str) -> bool:
    return sum(map(str.isalpha, text_alone(text[:MOST_READ]))) >= LEAST_PROSE


def _grown(spelled: str, here: str, there: str) -> str:
    """A word as it is spelled; of a script without spaces, as much around its two characters as both texts have."""
    start = here.find(spelled)
    if start < 0 or spelled not in there or not _WIDE_WORD.fullmatch(spelled):
        return spelled
    end = start + len(spelled)
    while (
        end < len(here)
        and end - start < LONGEST_WIDE
        and _WIDE_WORD.match(here[end])
        and here[start : end + 1] in there
    ):
        end += 1
    while start and end - start < LONGEST_WIDE and _WIDE_WORD.match(here[start - 1]) and here[start - 1 : end] in there:
        start -= 1
    return here[start:end]


def _is_part(word: str, words: Sequence[str]) -> bool:
    """Whether `word` is one of `words`, a part of one, or has one as a part."""
    lower = word.lower()
    return any(lower in other.lower() or other.lower() in lower for other in words)


def _is_word(word: str) -> bool:
    """Whether it is no number, and not one or two letters (of a script without spaces: one character)."""
    return (
        any(map(str.isalpha, word))
        and len(word) > 1
        and not (word.isascii() and word.isalpha() and len(word) < SHORTEST)
    )


def _standing_in(snapshot: Snapshot, term: str, rows: Rows) -> npt.NDArray[np.bool_]:
    """Which of the ascending `rows` have a term in their text."""
    entries = snapshot.lexical.entries(term)
    having = entries.rows[entries.fields == _TEXT]
    if not len(having):
        return np.zeros(len(rows), np.bool_)
    at = np.minimum(np.searchsorted(having, rows), len(having) - 1)
    found: npt.NDArray[np.bool_] = having[at] == rows
    return found
