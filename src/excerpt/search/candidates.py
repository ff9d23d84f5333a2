"""The fragments put forward for a query, each with every signal, whichever list brought it up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from excerpt.index.snapshot import Snapshot
from excerpt.search.evidence import POOL, Evidence, Flags, Floats, above_mean, highest
from excerpt.search.lexical import NO_ROWS, Rows, Word, WordIndex
from excerpt.search.proximity import PLACES, closeness, line_of
from excerpt.search.ranking import SIGNALS
from excerpt.text.words import terms_of

# --- other names ------------------------------------------------------------------------------------------------------
# A note's other names, each by itself: how well a query fits the best of them.


class OtherNames:
    """The terms of the aliases and file names of one snapshot's notes, taken apart when first asked for."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._terms: dict[int, tuple[tuple[str, ...], ...]] = {}

    def shares(self, notes: Sequence[int], words: Sequence[Word], unasked: Sequence[Word], weight: Floats) -> Floats:
        """For each note, by its place in the snapshot's table: of its best name, the share of the query that it
        covers, times the share of it that the query covers. The field of all names together would count against a
        note what its other names are."""
        asked: dict[str, list[tuple[int, float]]] = {}
        for number, word in enumerate(words):
            for tier in word.tiers:
                for term in tier.terms:
                    asked.setdefault(term, []).append((number, tier.share))
        others = {term for word in unasked for term in word.terms}
        parts = weight.tolist()
        return np.array(
            [max((_fit(terms, asked, others, parts) for terms in names), default=0.0) for names in self._of(notes)],
            np.float32,
        )

    def _of(self, notes: Sequence[int]) -> list[tuple[tuple[str, ...], ...]]:
        """The terms of each name of each note."""
        new = [note for note in notes if note not in self._terms]
        languages = self._snapshot.table.languages
        for note, names in zip(new, self._snapshot.other_names(new), strict=True):
            taken_apart = (tuple(terms_of(name, languages[note])[0]) for name in names)
            self._terms[note] = tuple(terms for terms in taken_apart if terms)
        return [self._terms[note] for note in notes]


def _fit(
    name: Sequence[str], asked: Mapping[str, Sequence[tuple[int, float]]], unasked: set[str], parts: Sequence[float]
) -> float:
    """How well a query fits one name: `asked` has the words, by number, that each term stands for, and its share of
    them; `parts` are the words' parts of the query."""
    shares: dict[int, float] = {}
    for term in name:
        for number, share in asked.get(term, ()):
            shares[number] = max(share, shares.get(number, 0.0))
    if not shares:
        return 0.0
    covered = sum(share * parts[number] for number, share in sorted(shares.items()))
    found = sum(shares.values()) + len(unasked.intersection(name))
    return covered * min(found / len(name), 1.0)


# --- candidates -------------------------------------------------------------------------------------------------------

BEST_OF_NOTE = (1.0, 0.5, 0.25)
"""What the best, second and third fragment of a note count for the note."""
COMMON = float(np.log(2))
"""The idf of a word that half of all fragments have: where it stands tells nothing, and there is much to read."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Rows, ascending, with their signals (rows x SIGNALS, each 0 to 1) and plain cosines.

    `named` marks the rows of notes that the query names.
    """

    rows: Rows
    signals: Floats
    cosines: Floats
    named: Flags


class Proposer:
    """Puts fragments of one snapshot forward. Keeps what it learned of the notes' names."""

    def __init__(self, snapshot: Snapshot, index: WordIndex) -> None:
        self._snapshot = snapshot
        self._index = index
        self._names = OtherNames(snapshot)

    def put_forward(self, evidence: Evidence, pool: int = POOL) -> Candidates:
        """The fragments that words or meaning put forward, `pool` by each, and those of notes that the query names."""
        scores, similarities = evidence.scores, evidence.similarities
        near = highest(similarities, pool, evidence.mean) if evidence.trust else NO_ROWS
        rows = _united(highest(scores, pool, 0.0), near, evidence.named)
        named = np.zeros(len(rows), np.bool_)
        named[np.searchsorted(rows, evidence.named)] = True
        return Candidates(
            rows=rows,
            # Rounded, so that fragments of the same words are of one score and their order is that of path and line.
            signals=np.round(self._signals(evidence, rows), 6),
            cosines=similarities[rows],
            named=named,
        )

    def _signals(self, evidence: Evidence, rows: Rows) -> Floats:
        rarity = np.array([match.idf for match in evidence.matches], np.float32)
        weight = rarity / max(float(rarity.sum()), 1e-9)
        notes = self._snapshot.table.notes[rows]
        words = evidence.scores[rows] / max(float(evidence.scores.max(initial=0.0)), 1e-9)
        anywhere, title, heading, above, alias = self._index.presence_in(
            evidence.words, rows, (None, "title", "heading", "above", "alias")
        )
        other_title, other_heading, other_above = self._index.presence_in(
            evidence.unasked, rows, ("title", "heading", "above")
        )
        outline, other_outline = np.maximum(above, heading), np.maximum(other_above, other_heading)
        fit = self._fit(weight, title, other_title, rows, ("title",))
        signals = {
            "words": words,
            "coverage": weight @ anywhere,
            "title": self._best_name(evidence, weight, fit, alias, notes),
            "heading": self._fit(weight, heading, other_heading, rows, ("heading",)),
            "outline": self._fit(weight, outline, other_outline, rows, ("above", "heading")),
            "note": _of_notes(words, notes),
            "proximity": self._proximity(evidence, rarity, rows),
            "meaning": self._meaning(evidence, rows),
            "coherence": self._coherence(evidence, rows, notes),
        }
        return np.stack([signals[name] for name in SIGNALS], axis=1).astype(np.float32)

    @staticmethod
    def _meaning(evidence: Evidence, rows: Rows) -> Floats:
        similarities, mean = evidence.similarities, evidence.mean
        highest = float(similarities.max(initial=mean))
        return above_mean(similarities, rows, mean, highest) * np.float32(evidence.trust)

    def _coherence(self, evidence: Evidence, rows: Rows, notes: Rows) -> Floats:
        """How near in meaning the nearer neighbour of each row in its note is: one passage among others on the same
        thing, or a stray one."""
        table, last = self._snapshot.table.notes, len(evidence.similarities) - 1
        nearer = np.zeros(len(rows), np.float32)
        for beside in (np.maximum(rows - 1, 0), np.minimum(rows + 1, last)):
            alike = (table[beside] == notes) & (beside != rows)
            nearer = np.maximum(nearer, np.where(alike, self._meaning(evidence, beside), 0))
        return nearer

    def _fit(self, weight: Floats, present: Floats, unasked: Floats, rows: Rows, fields: tuple[str, ...]) -> Floats:
        """The share of the query that short fields cover, times the share of them that the query covers."""
        lexical = self._snapshot.lexical
        lengths = np.maximum(sum(lexical.lengths(field)[rows] for field in fields), 1)
        precision = np.minimum((present.sum(axis=0) + unasked.sum(axis=0)) / lengths, 1)
        covered: Floats = (weight @ present) * precision
        return covered

    def _best_name(self, evidence: Evidence, weight: Floats, title: Floats, alias: Floats, notes: Rows) -> Floats:
        """As `_fit`, of the best of each row's note's names; `title` is the fit of its title, `alias` which words its
        other names have."""
        # No name fits better than what all of them together cover.
        better = weight @ alias > title
        found = title.copy()
        unique, places = np.unique(notes[better], return_inverse=True)
        others = self._names.shares(unique.tolist(), evidence.words, evidence.unasked, weight)[places]
        found[better] = np.maximum(found[better], others)
        return found

    def _proximity(self, evidence: Evidence, rarity: Floats, rows: Rows) -> Floats:
        plain = [(word, float(idf)) for word, idf in zip(evidence.words, rarity, strict=True) if not word.whole]
        telling = [(word, idf) for word, idf in plain if idf > COMMON]
        plain = telling if len(telling) > 1 else plain
        if len(plain) < 2:
            return np.zeros(len(rows), np.float32)
        lexical = self._snapshot.lexical
        lines = [line_of(lexical, PLACES, self._index.best_terms(word), rows) for word, _ in plain]
        return closeness(lines, [idf for _, idf in plain], [word.position for word, _ in plain], len(rows))


def _united(*some: Rows) -> Rows:
    """All rows, ascending, each once. For hundreds of numbers sorting is ten times as fast as numpy's own."""
    rows = np.sort(np.concatenate(some))
    return rows[np.flatnonzero(np.diff(rows, prepend=-1))]


def _of_notes(words: Floats, notes: Rows) -> Floats:
    """For each row, how well its note's best fragments match by words, as a share of the best note's."""
    order = np.lexsort((-words, notes))
    first = np.flatnonzero(np.diff(notes[order], prepend=-1))
    places = np.arange(len(order)) - np.repeat(first, np.diff(first, append=len(order)))
    counts = np.array([*BEST_OF_NOTE, 0.0], np.float32)[np.minimum(places, len(BEST_OF_NOTE))]
    sums = np.bincount(notes[order], counts * words[order]) if len(order) else np.zeros(0)
    return (sums[notes] / max(float(sums.max(initial=0.0)), 1e-9)).astype(np.float32)
