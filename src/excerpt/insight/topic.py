"""The fragments of a vault that are about a topic, which an overview counts, groups and quotes.

A search matches any of the words, thousands of fragments for two common ones, and ranks them. An overview counts, so it
needs a threshold: a fragment is about the topic if its text or headings have most of the topic's words, each weighted
by its rarity. If too few fragments do, the ones that a search finds with some confidence are added.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from excerpt.base.kinds import Confidence, Strategy
from excerpt.base.model import Fragment
from excerpt.corpus.facets import Label
from excerpt.corpus.interface import Corpus
from excerpt.insight.overview_parts import SourceLocation
from excerpt.search.bm25 import Rows
from excerpt.search.engine import Engine, Ranking, ScoredQuery, count_matching_rows

Floats = npt.NDArray[np.float32]
Group = TypeVar("Group", bound=Hashable)

MIN_TOPIC_SHARE = 0.7
"""The least share of the topic's words, weighted by rarity, that a fragment about the topic has.

Of two words, one alone is enough only if it is far rarer than the other.
"""
RANKED_CANDIDATES = 300
"""The number of candidates that are ranked: as many found by words, and as many by meaning."""
MAX_FRAGMENTS_BY_WORDS = 2_000
"""The most fragments that are loaded from a store by the topic's words.

If more fragments have words of the topic, only the best ones are counted.
"""
INCLUDED_HITS = 3
"""The number of first hits of a search for the topic that an overview always includes."""
MIN_FRAGMENTS = 3
"""If fewer fragments than this have most of the topic, fragments that a search finds likely are added."""
FURTHER_MEMBER_FACTOR = 0.5
"""The factor by which each further fragment of a note or section counts less than the one ranked before it.

So many mediocre passages do not make a good note.
"""

FOCUS_WEIGHT, LINKED_FOCUS_WEIGHT = 0.25, 0.5
"""The weights of a note's focus: the share of its fragments that are about the topic.

They are relative to the value of the note's fragments, which is 1 for the best note. The second weight is added if
other notes about the topic link to the note, in proportion to their number.
"""

MAX_COUNTED_NOTES = 200
"""The number of best notes about the topic whose tags, properties and folders are counted."""


class TopicWord(Struct, frozen=True):
    """A word of the topic: its alternative index terms, and its rarity (inverse document frequency, idf)."""

    terms: frozenset[str]
    rarity: float


@dataclass(frozen=True)
class Topic:
    """Fragments about a topic, as rows of the snapshot's table.

    `rows` are the rows of all these fragments, ascending. `best` are the rows that the search ranks, best first (ties
    by path and line); `scores` are their scores (1 for the first) and `confidences` their confidences. `query_words`
    are the topic's words, and `matched` is the number of matches that a search for the topic counts. `confidence` is
    that of this search; "nothing" if no fragment is about the topic.

    `answers` are the rows of the search's first hits, best first, with their scores (1 for the first). These hits need
    not have most of the topic's words, so they include answers in other words. `answers` is empty if no fragment is
    about the topic, or if the query has only filters.
    """

    snapshot: Corpus
    rows: Rows
    best: Rows
    scores: Floats
    confidences: tuple[Confidence | None, ...]
    confidence: Confidence | None
    query_words: tuple[TopicWord, ...]
    matched: int
    answers: Mapping[int, float]
    _loaded_fragments: dict[int, Fragment] = field(default_factory=dict, repr=False)

    @cached_property
    def notes(self) -> Rows:
        """The number of the note of each row in `rows`."""
        return self.snapshot.table.notes[self.rows]

    @cached_property
    def best_notes(self) -> Rows:
        """The number of the note of each row in `best`."""
        return self.snapshot.table.notes[self.best]

    @cached_property
    def counts(self) -> npt.NDArray[np.intp]:
        """For each note of the vault, the number of its fragments that are about the topic."""
        return np.bincount(self.notes, minlength=len(self.snapshot.table.paths))

    @cached_property
    def note_values(self) -> dict[int, float]:
        """The value for the topic of each note with a ranked fragment, 1 for the best, best first (ties by path).

        A value combines the scores of the note's fragments, the number of links from other notes about the topic, and
        the share of the note that is about the topic. For example, an introduction that all notes link to may have few
        fragments about the topic, and a reference manual mentions everything.
        """
        bases = combine_values(self.best_notes.tolist(), self.scores.tolist())
        backlink_scores, focus = self._score_topic_backlinks(), self.counts / np.maximum(self.note_sizes, 1)
        value = {
            note: base + (FOCUS_WEIGHT + LINKED_FOCUS_WEIGHT * backlink_scores[note]) * focus[note]
            for note, base in bases.items()
        }
        maximum = max(value.values(), default=1.0)
        ordered = sorted(value, key=lambda note: (-round(value[note], 6), note))
        return {note: float(value[note] / maximum) for note in ordered}

    @cached_property
    def note_sizes(self) -> npt.NDArray[np.intp]:
        """For each note of the vault, the number of all its fragments; 0 for notes that are not about the topic."""
        note_sizes, about = np.zeros(len(self.counts), np.int64), np.flatnonzero(self.counts)
        note_sizes[about] = self.snapshot.fragment_counts(about)
        return note_sizes

    def _score_topic_backlinks(self) -> npt.NDArray[np.float64]:
        """Return, for each note, the logarithm of the number of topic notes that link to it, scaled to 0 to 1."""
        sources, targets = self.snapshot.facets.links
        from_here = targets[self.counts[sources] > 0]
        link_counts = np.log1p(np.bincount(from_here, minlength=len(self.counts)))
        link_counts[self.counts == 0] = 0
        return np.asarray(link_counts / max(float(link_counts.max(initial=0.0)), 1e-9))

    @cached_property
    def ranked_notes(self) -> tuple[int, ...]:
        """All notes about the topic, best first; last come notes with no ranked fragment, by their topic fragments."""
        ranked = tuple(self.note_values)
        others = np.setdiff1d(np.unique(self.notes), np.array(ranked, np.int32))
        return *ranked, *others[np.lexsort((others, -self.counts[others]))].tolist()

    @cached_property
    def best_row(self) -> dict[int, int]:
        """For each note about the topic, the row of its best fragment: the highest-ranked one, or else the first."""
        notes, first = np.unique(self.notes, return_index=True)
        first_rows = dict(zip(notes.tolist(), self.rows[first].tolist(), strict=True))
        return first_rows | dict(zip(self.best_notes[::-1].tolist(), self.best[::-1].tolist(), strict=True))

    @cached_property
    def labels(self) -> tuple[Label, ...]:
        """The tags and properties of the MAX_COUNTED_NOTES best notes about the topic, the best note's first."""
        order = {note: position for position, note in enumerate(self.ranked_notes[:MAX_COUNTED_NOTES])}
        labels = self.snapshot.facets.tags_and_properties(np.array(list(order), np.int32))
        return tuple(sorted(labels, key=lambda label: order[label.note]))

    def covered_share(self, terms: Collection[str]) -> float:
        """Return the share of the topic's words, weighted by rarity, that are among `terms`, 0 to 1."""
        whole = sum(word.rarity for word in self.query_words)
        return (
            sum(word.rarity for word in self.query_words if not word.terms.isdisjoint(terms)) / whole if whole else 0.0
        )

    def fragments(self, rows: Sequence[int]) -> list[Fragment]:
        """Return the fragments in `rows`, in the same order; each is read from the index only once."""
        missing = [row for row in dict.fromkeys(rows) if row not in self._loaded_fragments]
        if missing:
            keys = self.snapshot.table.keys[missing].tolist()
            self._loaded_fragments.update(zip(missing, self.snapshot.fragments(keys), strict=True))
        return [self._loaded_fragments[row] for row in rows]

    def locate_row(self, row: int) -> SourceLocation:
        """Return the location of the fragment in a row."""
        return locate_fragment(self.fragments([row])[0])

    def locate_note(self, note: int) -> SourceLocation:
        """Return the location of the best fragment of the note with number `note`, which is about the topic."""
        return self.locate_row(self.best_row[note])


def locate_fragment(fragment: Fragment) -> SourceLocation:
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


def combine_values(groups: Sequence[Group], scores: Sequence[float]) -> dict[Group, float]:
    """Return the combined value of each group's members, scaled to 1 for the best group, best first.

    Item i is in `groups[i]` and has `scores[i]`; items are ordered best first. Within a group, each further item counts
    half as much as the previous one (FURTHER_MEMBER_FACTOR). Ties go to the group that occurs first.
    """
    sums: dict[Group, float] = {}
    shares: dict[Group, float] = {}
    for group, score in zip(groups, scores, strict=True):
        share = shares.get(group, 1.0)
        sums[group] = sums.get(group, 0.0) + share * score
        shares[group] = share * FURTHER_MEMBER_FACTOR
    maximum = max(sums.values(), default=1.0) or 1.0
    return {group: value / maximum for group, value in sorted(sums.items(), key=lambda item: -item[1])}


def find_topic(engine: Engine, text: str) -> Topic:
    """Return the fragments about the topic `text`, which is parsed as a query."""
    queries = engine.parse(text)
    engine.prefetch(queries, RANKED_CANDIDATES, by_words=MAX_FRAGMENTS_BY_WORDS)
    answers = [engine.score_query(query, queries[0].strategy or Strategy.AUTO, RANKED_CANDIDATES) for query in queries]
    # An overview depends on the notes alone.
    ranking = engine.merge_ranking([answer.without_past_uses for answer in answers])
    rows = np.unique(np.concatenate([_find_rows_about(engine, answer) for answer in answers]))
    if len(rows) < MIN_FRAGMENTS:
        rows = np.union1d(rows, _find_likely_rows(ranking)).astype(np.int32)
    chosen = np.flatnonzero(np.isin(ranking.rows, rows))
    table = engine.snapshot.table
    best, scores = ranking.rows[chosen], ranking.own_scores[chosen]
    # By score: the order of the hit list moves further fragments of the same note down.
    order = np.lexsort((table.lines[best], table.notes[best], -scores))
    max_score = float(scores.max(initial=0.0)) or 1.0
    return Topic(
        snapshot=engine.snapshot,
        rows=rows,
        best=best[order],
        scores=(scores[order] / np.float32(max_score)).astype(np.float32),
        confidences=tuple(_read_confidence(ranking, int(at)) for at in chosen[order]),
        confidence=engine.judge(ranking, queries).confidence if len(rows) else Confidence.NOTHING,
        query_words=_list_topic_words(answers),
        matched=count_matching_rows(answers),
        answers=_select_first_hits(ranking) if len(rows) else {},
    )


def _select_first_hits(ranking: Ranking) -> dict[int, float]:
    """Return the rows of the first hits with their scores, 1 for the best; {} if the query has only filters."""
    first = ranking.rows[:INCLUDED_HITS].tolist()
    is_judged = [_read_confidence(ranking, at) is not None for at in range(len(first))]
    max_score = float(ranking.scores.max(initial=0.0)) or 1.0
    return {row: float(ranking.scores[at]) / max_score for at, row in enumerate(first) if is_judged[at]}


def _find_rows_about(engine: Engine, answer: ScoredQuery) -> Rows:
    """Return the rows that have most of the topic's words; if the query has only filters, all rows that match."""
    evidence = answer.evidence
    if answer.confidences is None:
        return (
            np.flatnonzero(evidence.is_allowed).astype(np.int32) if evidence.is_allowed is not None else _empty_rows()
        )
    weights = np.array([match.idf for match in evidence.matches], np.float32)
    if not weights.sum():
        return _empty_rows()
    rows = np.flatnonzero(evidence.scores.all_scores > 0).astype(np.int32)
    present = engine.index.presence(evidence.words, rows, None)
    matching: Rows = rows[(weights / weights.sum()) @ present >= MIN_TOPIC_SHARE]
    return matching


def _find_likely_rows(ranking: Ranking) -> Rows:
    """Return the ranked rows with a confidence above `Confidence.NOTHING`."""
    sure = [_read_confidence(ranking, at) not in (None, Confidence.NOTHING) for at in range(len(ranking.rows))]
    return ranking.rows[np.array(sure, np.bool_)] if sure else _empty_rows()


def _read_confidence(ranking: Ranking, index: int) -> Confidence | None:
    confidences = ranking.scored_queries[int(ranking.scored_query_indices[index])].confidences
    return confidences.label_at(int(ranking.positions[index])) if confidences else None


def _list_topic_words(answers: Sequence[ScoredQuery]) -> tuple[TopicWord, ...]:
    idf_by_terms = {
        frozenset(word.tiers[0].terms): match.idf
        for answer in answers
        for word, match in zip(answer.evidence.words, answer.evidence.matches, strict=True)
    }
    return tuple(TopicWord(terms, rarity) for terms, rarity in idf_by_terms.items())


def _empty_rows() -> Rows:
    return np.zeros(0, np.int32)
