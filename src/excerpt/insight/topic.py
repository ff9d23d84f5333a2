"""The fragments of a vault that are about a topic, which an overview counts, groups and quotes.

A search matches any of the words, thousands of fragments for two common ones, and ranks them. An overview counts, so it
needs a threshold: a fragment is about the topic if its text or headings have most of it, each word weighted by rarity.
If too few fragments have, those also count that are likely enough to answer.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from excerpt.corpus.facets import Label
from excerpt.corpus.interface import Corpus
from excerpt.insight.overview_parts import SourceLocation
from excerpt.kinds import Confidence, Strategy
from excerpt.model import Fragment
from excerpt.search.bm25 import Rows
from excerpt.search.engine import Engine, Ranking, ScoredQuery, count_matching_rows

Floats = npt.NDArray[np.float32]
Group = TypeVar("Group", bound=Hashable)

MAX = 0.7
"""The least share of the topic, weighted by rarity, that a fragment about it has.

Of two words, one alone is enough only if it is far rarer than the other.
"""
RANKED = 300
"""The number of candidates by words and by meaning that are ranked."""
COUNTED_IN_STORE = 2_000
"""The number of fragments of a store that are found by words.

If more have words of the topic, only the best of these are counted.
"""
ANSWERS = 3
"""The number of first hits of a search that an overview always includes."""
MIN_FRAGMENTS = 3
"""If fewer fragments have most of the topic, those are added that the search finds likely enough."""
HALVED = 0.5
"""The factor for each further fragment of a note or section, so that many mediocre passages do not make a good note."""

FOCUS, POINTED_AT = 0.25, 0.5
"""The weight of the share of a note about the topic, relative to the value of its fragments (1 for the best note).

The second is the additional weight if notes about the topic link to the note.
"""

MAX_COUNTED = 200
"""The number of notes about the topic, the best ones, whose tags, properties and folders are counted."""


@dataclass(frozen=True, slots=True)
class TopicWord:
    """A word of the topic: its index terms and its rarity."""

    terms: frozenset[str]
    rarity: float


@dataclass(frozen=True)
class Topic:
    """Fragments about a topic, as rows of the snapshot's table.

    `rows` are all of them, ascending, with the `notes` they are in; `best` the ranked ones, best first (ties by path
    and line), with their `scores` as shares of the first's. `confidences` belong to `best`, `query_words` are the
    topic's words, and `matched` is the number of matches that a search counts.

    `answers` are the first hits of a search for the topic, best first, each with its score as a share of the first's,
    whether or not they have most of the topic: they include answers to a question in other words. There are none if
    nothing is about the topic, or if the query has only filters.
    """

    snapshot: Corpus
    rows: Rows
    best: Rows
    scores: Floats
    confidences: tuple[Confidence | None, ...]
    query_words: tuple[TopicWord, ...]
    matched: int
    answers: Mapping[int, float]
    _read: dict[int, Fragment] = field(default_factory=dict, repr=False)

    @cached_property
    def notes(self) -> Rows:
        return self.snapshot.table.notes[self.rows]

    @cached_property
    def best_notes(self) -> Rows:
        """The note of each row in `best`."""
        return self.snapshot.table.notes[self.best]

    @cached_property
    def counts(self) -> npt.NDArray[np.intp]:
        """The number of each note's fragments that are about the topic, for all notes of the vault."""
        return np.bincount(self.notes, minlength=len(self.snapshot.table.paths))

    @cached_property
    def note_values(self) -> dict[int, float]:
        """The values of the ranked notes for the topic, best first (ties by path), the first 1.

        A value combines the note's fragments, links from notes about the topic, and the share of the note about it: an
        introduction that all notes link to may say little itself, and a reference mentions everything.
        """
        bases = combined_values(self.best_notes.tolist(), self.scores.tolist())
        pointed_at, focus = self._pointed_at(), self.counts / np.maximum(self.sizes, 1)
        value = {note: base + (FOCUS + POINTED_AT * pointed_at[note]) * focus[note] for note, base in bases.items()}
        maximum = max(value.values(), default=1.0)
        ordered = sorted(value, key=lambda note: (-round(value[note], 6), note))
        return {note: float(value[note] / maximum) for note in ordered}

    @cached_property
    def sizes(self) -> npt.NDArray[np.intp]:
        """The number of fragments of each note about the topic; 0 for other notes of the vault."""
        sizes, about = np.zeros(len(self.counts), np.int64), np.flatnonzero(self.counts)
        sizes[about] = self.snapshot.fragment_counts(about)
        return sizes

    def _pointed_at(self) -> npt.NDArray[np.float64]:
        """Return, for each note, the logarithm of the number of topic notes that link to it, scaled to 1."""
        sources, targets = self.snapshot.facets.links
        from_here = targets[self.counts[sources] > 0]
        link_counts = np.log1p(np.bincount(from_here, minlength=len(self.counts)))
        link_counts[self.counts == 0] = 0
        return np.asarray(link_counts / max(float(link_counts.max(initial=0.0)), 1e-9))

    @cached_property
    def note_order(self) -> tuple[int, ...]:
        """All notes about the topic: the ranked ones, best first, then the others by their fragments about it."""
        ranked = tuple(self.note_values)
        others = np.setdiff1d(np.unique(self.notes), np.array(ranked, np.int32))
        return *ranked, *others[np.lexsort((others, -self.counts[others]))].tolist()

    @cached_property
    def best_row(self) -> dict[int, int]:
        """The best fragment of each note about the topic: the one ranked highest, or else the first."""
        notes, first = np.unique(self.notes, return_index=True)
        first_rows = dict(zip(notes.tolist(), self.rows[first].tolist(), strict=True))
        return first_rows | dict(zip(self.best_notes[::-1].tolist(), self.best[::-1].tolist(), strict=True))

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """Tags and properties of the best notes about the topic, at most COUNTED, in the order of the notes."""
        order = {note: position for position, note in enumerate(self.note_order[:MAX_COUNTED])}
        labels = self.snapshot.facets.tags_and_properties(np.array(list(order), np.int32))
        return tuple(sorted(labels, key=lambda label: order[label.note]))

    def covered_share(self, terms: Collection[str]) -> float:
        """Return the share of the topic, weighted by rarity, that a text with these terms has, 0 to 1."""
        whole = sum(word.rarity for word in self.query_words)
        return (
            sum(word.rarity for word in self.query_words if not word.terms.isdisjoint(terms)) / whole if whole else 0.0
        )

    def fragments(self, rows: Sequence[int]) -> list[Fragment]:
        """Return the fragments in these rows; each is read only once."""
        missing = [row for row in dict.fromkeys(rows) if row not in self._read]
        if missing:
            keys = self.snapshot.table.keys[missing].tolist()
            self._read.update(zip(missing, self.snapshot.fragments(keys), strict=True))
        return [self._read[row] for row in rows]

    def row_location(self, row: int) -> SourceLocation:
        """Return the location of the fragment in a row."""
        return location_of(self.fragments([row])[0])

    def note_location(self, note: int) -> SourceLocation:
        """Return the location of the best fragment of a note about the topic."""
        return self.row_location(self.best_row[note])


def location_of(fragment: Fragment) -> SourceLocation:
    return SourceLocation(
        path=fragment.path,
        title=fragment.title,
        line_start=fragment.line_start,
        line_end=fragment.line_end,
        heading_path=fragment.heading_path,
        fragment_id=fragment.id,
        kind=fragment.kind,
        place=fragment.place,
    )


def combined_values(groups: Sequence[Group], scores: Sequence[float]) -> dict[Group, float]:
    """Return the combined value of each group's members, best group first (the first met among equals), scaled to 1.

    `scores` are those of the members, best first; each member of a group counts half of the previous one.
    """
    sums: dict[Group, float] = {}
    shares: dict[Group, float] = {}
    for group, score in zip(groups, scores, strict=True):
        share = shares.get(group, 1.0)
        sums[group] = sums.get(group, 0.0) + share * score
        shares[group] = share * HALVED
    maximum = max(sums.values(), default=1.0) or 1.0
    return {group: value / maximum for group, value in sorted(sums.items(), key=lambda item: -item[1])}


def find_topic(engine: Engine, text: str) -> Topic:
    """Return the fragments about `text`, a query."""
    queries = engine.parse(text)
    engine.prefetch(queries, RANKED, by_words=COUNTED_IN_STORE)
    answers = [engine.score_query(query, queries[0].strategy or Strategy.AUTO, RANKED) for query in queries]
    ranking = engine.merge_ranking(answers)
    rows = np.unique(np.concatenate([_about(engine, answer) for answer in answers]))
    if len(rows) < MIN_FRAGMENTS:
        rows = np.union1d(rows, _likely(ranking)).astype(np.int32)
    chosen = np.flatnonzero(np.isin(ranking.rows, rows))
    table = engine.snapshot.table
    best, scores = ranking.rows[chosen], ranking.scores[chosen]
    # By score: the order of the hit list moves further fragments of the same note down.
    order = np.lexsort((table.lines[best], table.notes[best], -scores))
    max_score = float(scores.max(initial=0.0)) or 1.0
    return Topic(
        snapshot=engine.snapshot,
        rows=rows,
        best=best[order],
        scores=(scores[order] / np.float32(max_score)).astype(np.float32),
        confidences=tuple(_confidence(ranking, int(at)) for at in chosen[order]),
        query_words=_query_words(answers),
        matched=count_matching_rows(answers),
        answers=_first_hits(ranking) if len(rows) else {},
    )


def _first_hits(ranking: Ranking) -> dict[int, float]:
    """Return the first hits with their scores as shares of the first's; none for filters alone."""
    first = ranking.rows[:ANSWERS].tolist()
    is_judged = [_confidence(ranking, at) is not None for at in range(len(first))]
    max_score = float(ranking.scores.max(initial=0.0)) or 1.0
    return {row: float(ranking.scores[at]) / max_score for at, row in enumerate(first) if is_judged[at]}


def _about(engine: Engine, answer: ScoredQuery) -> Rows:
    """Return the rows that have most of the topic; for filters alone, all that pass."""
    evidence = answer.evidence
    if answer.confidences is None:
        return np.flatnonzero(evidence.is_allowed).astype(np.int32) if evidence.is_allowed is not None else _no_rows()
    weights = np.array([match.idf for match in evidence.matches], np.float32)
    if not weights.sum():
        return _no_rows()
    rows = np.flatnonzero(evidence.scores.all_scores > 0).astype(np.int32)
    present = engine.index.presence(evidence.words, rows, None)
    matching: Rows = rows[(weights / weights.sum()) @ present >= MAX]
    return matching


def _likely(ranking: Ranking) -> Rows:
    """Return the rows with a confidence above "nothing"."""
    sure = [_confidence(ranking, at) not in (None, Confidence.NOTHING) for at in range(len(ranking.rows))]
    return ranking.rows[np.array(sure, np.bool_)] if sure else _no_rows()


def _confidence(ranking: Ranking, index: int) -> Confidence | None:
    confidences = ranking.scored_queries[int(ranking.scored_query_indices[index])].confidences
    return confidences.label_at(int(ranking.positions[index])) if confidences else None


def _query_words(answers: Sequence[ScoredQuery]) -> tuple[TopicWord, ...]:
    idf_by_terms = {
        frozenset(word.tiers[0].terms): match.idf
        for answer in answers
        for word, match in zip(answer.evidence.words, answer.evidence.matches, strict=True)
    }
    return tuple(TopicWord(terms, rarity) for terms, rarity in idf_by_terms.items())


def _no_rows() -> Rows:
    return np.zeros(0, np.int32)
