"""Selection of the candidate fragments for a query, and computation of all their signals.

A row is the position of a fragment in the arrays of a snapshot; a note number is the position of a note in
`table.paths`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from operator import attrgetter

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from excerpt.corpus.interface import Corpus
from excerpt.corpus.names import DIGEST_DTYPE, LENGTH_DTYPE, Digests, NameTerms, digest_texts
from excerpt.corpus.tables import TermTier, run_starts, sorted_unique
from excerpt.search.bm25 import NO_ROWS, ExpandedWord, Rows, WordIndex, merge_rows
from excerpt.search.evidence import POOL_SIZE, Evidence, Flags, Floats, QuerySimilarities, scale_above_mean
from excerpt.search.proximity import FIELD_STARTS, flatten_positions, score_closeness
from excerpt.search.ranking import SIGNALS
from excerpt.text.folding import fold

Longs = npt.NDArray[np.int64]

# --- other names ------------------------------------------------------------------------------------------------------
# How well a query fits the best name of a note other than the title.

_MAX_CACHED_LINKS = 20_000
"""Maximum number of links whose target note numbers are cached."""


class OtherNoteNames:
    """The names of the notes in one snapshot, other than their titles, loaded on first use.

    They are a note's own names (aliases, file name, first heading) and the texts of links to the note.
    """

    def __init__(self, snapshot: Corpus) -> None:
        self._snapshot = snapshot
        self._terms_by_note: dict[int, NameTerms] = {}
        self._link_cache: dict[tuple[int, int], int] = {}

    def score_names(
        self, notes: Rows, words: Sequence[ExpandedWord], extra_words: Sequence[ExpandedWord], weight: Floats
    ) -> tuple[Floats, Floats]:
        """Return how well the best own name, and the best link text, of each note fits the query, 0 to 1.

        The fit is the share of the query that a name covers times the share of the name that the query covers. Each
        name is scored by itself, so that further names of a note do not lower the fit of a good one. `notes` are note
        numbers, ascending; only links in these notes count. `weight` is each word's share of the query, 0 to 1.
        `extra_words` are not searched for, but make a name fit a longer query (see `Evidence`).
        """
        numbers = notes.tolist()
        missing = [note for note in numbers if note not in self._terms_by_note]
        self._terms_by_note.update(zip(missing, self._snapshot.name_terms(missing), strict=True))
        names = [self._terms_by_note[note] for note in numbers]
        own, link_fits = np.zeros(len(notes), np.float32), np.zeros(len(notes), np.float32)
        name_numbers, fits = _score_names(names, _digest_query_terms(words, extra_words), weight)
        if not len(name_numbers):
            return own, link_fits
        counts = np.array([len(note_names.lengths) // LENGTH_DTYPE.itemsize for note_names in names])
        ends = np.cumsum(counts)
        name_notes = np.searchsorted(ends, name_numbers, side="right")
        # The number of the link, within its note, that has this text; negative for an own name of the note.
        link = (
            name_numbers - (ends - counts)[name_notes] - np.array([note_names.own for note_names in names])[name_notes]
        )
        is_own = link < 0
        np.maximum.at(own, name_notes[is_own], fits[is_own])
        link_indices, sole_notes = _match_link_targets(names, name_notes, link)
        # Best first: an unambiguous link need not be resolved if its target note already has a name that fits as well.
        order = np.argsort(-fits[link_indices], kind="stable")
        link_indices, sole_notes = link_indices[order], sole_notes[order]
        position_of = {note: position for position, note in enumerate(numbers)}
        links = (name_notes[link_indices], link[link_indices], fits[link_indices], sole_notes)
        targets_by_note: dict[int, list[str]] = {}
        best = [0.0] * len(notes)
        for position, number, fit, sole_note in zip(*(values.tolist() for values in links), strict=True):
            if sole_note >= 0 and (sole_note == position or fit <= best[sole_note]):
                continue
            target = position_of.get(self._resolve_link(numbers[position], number, targets_by_note))
            if target is not None and target != position and fit > best[target]:
                best[target] = fit
        return own, np.array(best, np.float32)

    def _resolve_link(self, note: int, link: int, targets_by_note: dict[int, list[str]]) -> int:
        """Return the number of the note to which link number `link` of a note leads, -1 if it leads to no note.

        `targets_by_note` caches the targets of all links of a note, as written, by note number.
        """
        target = self._link_cache.get((note, link))
        if target is None:
            if len(self._link_cache) >= _MAX_CACHED_LINKS:
                self._link_cache.clear()
            if note not in targets_by_note:
                targets_by_note[note] = json.loads(self._terms_by_note[note].targets)
            target = self._link_cache[note, link] = self._snapshot.facets.resolve_target(
                targets_by_note[note][link], note
            )
        return target


class _QueryTermDigests(Struct, frozen=True):
    """The digests of a query's terms, ascending, as they are stored for names.

    `shares` (terms x words) is how well each term matches each query word, 0 to 1. `extra_words` flags the terms that
    match no word, and only make a name fit a longer query.
    """

    terms: Digests
    shares: Floats
    extra_words: Flags


def _digest_query_terms(words: Sequence[ExpandedWord], extra_words: Sequence[ExpandedWord]) -> _QueryTermDigests:
    shares: dict[str, Floats] = {}
    for position, word in enumerate(words):
        for tier in word.tiers:
            for term in tier.terms:
                term_shares = shares.setdefault(term, np.zeros(len(words), np.float32))
                term_shares[position] = max(term_shares[position], tier.share)
    extra = {term for word in extra_words for term in word.terms}
    terms = [*shares, *(extra - shares.keys())]
    none = np.zeros(len(words), np.float32)
    digests = digest_texts(terms)
    order = np.argsort(digests)
    return _QueryTermDigests(
        digests[order],
        np.array([shares.get(term, none) for term in terms], np.float32).reshape(len(terms), len(words))[order],
        np.array([term in extra for term in terms], np.bool_)[order],
    )


def _score_names(names: Sequence[NameTerms], query: _QueryTermDigests, weight: Floats) -> tuple[Longs, Floats]:
    """Return the indices of the names that have a term of the query, and how well each fits, 0 to 1.

    An index counts the names of all notes, one note after the other. `weight` is each word's share of the query.
    """
    lengths = np.frombuffer(b"".join([note_names.lengths for note_names in names]), LENGTH_DTYPE)
    terms = np.frombuffer(b"".join([note_names.terms for note_names in names]), DIGEST_DTYPE)
    if not len(query.terms) or not len(terms):
        return np.zeros(0, np.int64), np.zeros(0, np.float32)
    at = np.minimum(np.searchsorted(query.terms, terms), len(query.terms) - 1)
    term_indices = np.flatnonzero(query.terms[at] == terms)
    at = at[term_indices]
    number = np.searchsorted(np.cumsum(lengths), term_indices, side="right")
    first = run_starts(number)
    matching_names = number[first]
    term_groups = np.repeat(np.arange(len(first)), np.diff(first, append=len(number)))
    shares = np.maximum.reduceat(query.shares[at], first)
    extra_words = np.flatnonzero(query.extra_words[at])
    pairs = sorted_unique(term_groups[extra_words] * len(query.terms) + at[extra_words])
    count = shares.sum(axis=1) + np.bincount(pairs // len(query.terms), minlength=len(matching_names))
    fits = (shares * weight).sum(axis=1) * np.minimum(count / lengths[matching_names], 1)
    return matching_names, fits.astype(np.float32)


def _match_link_targets(names: Sequence[NameTerms], name_notes: Longs, link: Longs) -> tuple[Longs, Longs]:
    """Return the indices of the links that may lead to a note in `names`, and the position of that note.

    `name_notes` is the position in `names` of the note that has each link, and `link` the number of the link within
    that note (negative: not a link). Links are compared with notes by file name. The position is -1 if several notes
    have that file name.
    """
    files = np.frombuffer(b"".join([note_names.files for note_names in names]), DIGEST_DTYPE)
    ends = np.cumsum([len(note_names.files) // DIGEST_DTYPE.itemsize for note_names in names])
    begins = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
    targets = files[begins[name_notes] + 1 + link]
    order = np.argsort(files[begins], kind="stable")
    known = files[begins][order]
    first = np.minimum(np.searchsorted(known, targets), len(known) - 1)
    matches: Longs = np.flatnonzero((known[first] == targets) & (link >= 0))
    first = first[matches]
    is_ambiguous = known[np.minimum(first + 1, len(known) - 1)] == known[first]
    is_ambiguous[first == len(known) - 1] = False
    return matches, np.where(is_ambiguous, -1, order[first])


# --- candidates -------------------------------------------------------------------------------------------------------

NOTE_RANK_WEIGHTS = (1.0, 0.5, 0.25)
"""Weights of the best, second and third fragment of a note in the signal `note`."""
MAX_ATTACHMENT_WORDS = 2.0
"""Maximum of the signal `words` in an attachment.

In a note it is 1. The higher maximum lets a fragment of a book be first if the book answers a question better.
"""
MIN_POSITION_IDF = float(np.log(2))
"""The idf of a word that half of all fragments have.

A more common word has no proximity: its positions mean little, and are too many to read.
"""


class Candidates(Struct, frozen=True):
    """The candidate rows for a query, ascending, with their signals and their cosines to the query.

    `signals` is rows x SIGNALS, each 0 to 1 (`words` up to MAX_ATTACHMENT_WORDS). `static_signals` has those of meaning
    by the static model, which confidence needs. `is_named` flags the rows of notes whose title, file name or alias is
    the query. `judged_signals` are static_signals in which a word of similar spelling, or half a word, counts by how
    much of the query's word it has, and not by its share of the score: a typing error makes an answer no less likely.
    """

    rows: Rows
    signals: Floats
    static_signals: Floats
    judged_signals: Floats
    cosines: Floats
    is_named: Flags


class CandidateGenerator:
    """Generator of candidate fragments from one snapshot."""

    def __init__(self, snapshot: Corpus, index: WordIndex, names: OtherNoteNames) -> None:
        self._snapshot = snapshot
        self._index = index
        self._names = names

    def generate(self, evidence: Evidence, pool: int = POOL_SIZE, answered: Rows = NO_ROWS) -> Candidates:
        """Return the candidates: the best `pool` rows by words, as many by meaning, and all rows of named notes.

        A note is named if its title, file name or alias is the query. If the query names a period, the best `pool` rows
        by words of this period are candidates too, and so are `answered`, the rows that answered a similar question.
        """
        nearest = evidence.similarities.top_rows(pool) if evidence.meaning_factor else NO_ROWS
        timely = evidence.scores.top_rows_among(evidence.time == 1, pool) if evidence.time is not None else NO_ROWS
        rows = merge_rows(evidence.scores.top_rows(pool), nearest, timely, evidence.named_rows, answered)
        is_named = np.zeros(len(rows), np.bool_)
        is_named[np.searchsorted(rows, evidence.named_rows)] = True
        # Rounded, so that fragments with the same words have equal scores and are ordered by path and line.
        by_name = {
            **self._compute_word_signals(evidence, rows),
            "proximity": self._score_proximity(evidence, rows),
            **self._compute_meaning_signals(evidence.similarities, evidence.meaning_factor, rows),
        }
        signals = np.stack([by_name[name] for name in SIGNALS], axis=1).astype(np.float32)
        signals = static_signals = np.round(signals, 6)
        if evidence.static_similarities is not evidence.similarities:
            by_meaning = self._compute_meaning_signals(evidence.static_similarities, evidence.static_factor, rows)
            static_signals = signals.copy()
            for name, values in by_meaning.items():
                static_signals[:, SIGNALS.index(name)] = np.round(values, 6)
        return Candidates(
            rows=rows,
            signals=signals,
            static_signals=static_signals,
            judged_signals=self._count_by_likeness(evidence, static_signals, rows),
            cosines=evidence.similarities.cosines_at(rows),
            is_named=is_named,
        )

    def rescore_words(self, candidates: Candidates, evidence: Evidence) -> Candidates:
        """Return the candidates with new signals for words, computed from `evidence`; proximity and meaning stay."""
        signals = candidates.static_signals.copy()
        for name, values in self._compute_word_signals(evidence, candidates.rows).items():
            signals[:, SIGNALS.index(name)] = np.round(values, 6)
        judged = self._count_by_likeness(evidence, signals, candidates.rows)
        return replace(candidates, static_signals=signals, signals=signals, judged_signals=judged)

    def _count_by_likeness(self, evidence: Evidence, signals: Floats, rows: Rows) -> Floats:
        """Return `signals` with the words of the query, and its names, counted by likeness (`TermTier`)."""
        if all(tier.likeness == 1 for word in evidence.words for tier in word.tiers):
            return signals
        result = signals.copy()
        for name, values in self._score_coverage(evidence, rows, attrgetter("likeness")).items():
            column = SIGNALS.index(name)
            result[:, column] = np.maximum(result[:, column], np.round(values, 6))
        return result

    def _compute_word_signals(self, evidence: Evidence, rows: Rows) -> dict[str, Floats]:
        notes = self._snapshot.table.notes[rows]
        # Before the scores of `rows`: each word keeps what it looked up last, and the coverage needs that of `rows`.
        first = self._find_first_rows(notes)
        unique = merge_rows(first)
        intro_scores = evidence.scores.scores_at(unique)[np.searchsorted(unique, first)]
        scores = evidence.scores.scores_at(rows)
        # The highest score of all rows is among the candidates. Scores are divided by the highest score of a note, so
        # that a higher score of an attachment does not lower the signals of notes.
        is_note_row = self._snapshot.is_note_row
        is_note = np.ones(len(rows), np.bool_) if is_note_row is None else is_note_row[rows]
        words = np.minimum(scores / _find_top_value(scores, is_note), MAX_ATTACHMENT_WORDS)
        coverage = self._score_coverage(evidence, rows, attrgetter("share"))
        names, anchor_fits = self._score_note_names(evidence, _weigh_words(evidence), notes)
        names = np.maximum(names, coverage["title"])
        return {
            **coverage,
            "words": words,
            "title": names,
            "anchor": np.maximum(anchor_fits - names, 0),
            "note": _score_notes(words, notes, is_note),
            "intro_words": np.minimum(intro_scores / _find_top_value(intro_scores, is_note), 1),
        }

    def _score_coverage(self, evidence: Evidence, rows: Rows, weigh: Callable[[TermTier], float]) -> dict[str, Floats]:
        """Return the signals of the query words that each row and its headings have; `weigh` returns a tier's value."""
        weight = _weigh_words(evidence)
        anywhere, title, heading, above = self._index.presence_by_field(
            evidence.words, rows, (None, "title", "heading", "above"), weigh=weigh
        )
        other_title, other_heading, other_above = self._index.presence_by_field(
            evidence.extra_words, rows, ("title", "heading", "above")
        )
        outline, other_outline = np.maximum(above, heading), np.maximum(other_above, other_heading)
        return {
            "coverage": _weigh_asked_words(weight, evidence.is_period_word) @ anywhere,
            "title": self._score_field_coverage(weight, title, other_title, rows, ("title",)),
            "heading": self._score_field_coverage(weight, heading, other_heading, rows, ("heading",)),
            "outline": self._score_field_coverage(weight, outline, other_outline, rows, ("above", "heading")),
        }

    def _compute_meaning_signals(self, similarities: QuerySimilarities, factor: float, rows: Rows) -> dict[str, Floats]:
        """Return the signals of meaning, by name, for each row, for its note's first fragment, and for its neighbours.

        `coherence` is that of the nearer of the fragments before and after the row in the same note. A low value means
        that the passage is alone with its subject.
        """
        table = self._snapshot.table.notes
        notes = table[rows]
        first, neighbours = self._find_first_rows(notes), _list_neighbour_rows(rows, len(similarities))
        # Loads the cosines of all rows that are needed below at once.
        similarities.cosines_at(np.concatenate((rows, first, *neighbours)))
        is_note_row = self._snapshot.is_note_row
        is_note = np.ones(len(rows), np.bool_) if is_note_row is None else is_note_row[rows]
        cosines, mean = similarities.cosines_at(rows), similarities.mean
        nearest = float(cosines[is_note].max(initial=mean))
        if nearest <= mean:
            nearest = float(cosines.max(initial=mean))

        def score_meaning(at: Rows) -> Floats:
            return scale_above_mean(similarities.cosines_at(at), mean, nearest) * np.float32(factor)

        coherence = np.zeros(len(rows), np.float32)
        for beside in neighbours:
            same_note = np.flatnonzero((table[beside] == notes) & (beside != rows))
            coherence[same_note] = np.maximum(coherence[same_note], score_meaning(beside[same_note]))
        return {"meaning": score_meaning(rows), "intro_meaning": score_meaning(first), "coherence": coherence}

    def _score_field_coverage(
        self, weight: Floats, present: Floats, extra: Floats, rows: Rows, fields: tuple[str, ...]
    ) -> Floats:
        """Return how well short `fields`, such as the title, of each row fit the query, 0 to 1.

        It is the share of the query that the fields cover times the share of the fields that the query covers.

        `present` and `extra` (words x rows) are how well these fields have each query word, and each extra word.
        """
        lexical = self._snapshot.lexical
        lengths = np.maximum(sum(lexical.lengths(field)[rows] for field in fields), 1)
        precision = np.minimum((present.sum(axis=0) + extra.sum(axis=0)) / lengths, 1)
        covered: Floats = (weight @ present) * precision
        return covered

    def _score_note_names(self, evidence: Evidence, weight: Floats, notes: Rows) -> tuple[Floats, Floats]:
        """Return `OtherNoteNames.score_names` for the note of each row, given by the note numbers `notes`."""
        unique = merge_rows(notes)
        positions = np.searchsorted(unique, notes)
        own_fits, link_fits = self._names.score_names(unique, evidence.words, evidence.extra_words, weight)
        return own_fits[positions], link_fits[positions]

    def _find_first_rows(self, notes: Rows) -> Rows:
        """Return, for each note number in `notes`, the row of the first fragment of the note."""
        table = self._snapshot.table
        return np.searchsorted(table.keys, table.first_fragment_keys[notes]).astype(np.int32)

    def _score_proximity(self, evidence: Evidence, rows: Rows) -> Floats:
        plain: list[tuple[ExpandedWord, float]] = []
        seen: set[str] = set()
        is_repeat = False  # a word typed twice counts once, where it is first, and a compound with all of its parts
        for word, match in zip(evidence.words, evidence.matches, strict=True):
            if not word.is_part:
                is_repeat = fold(word.surface) in seen
                seen.add(fold(word.surface))
            if not (is_repeat or word.whole):
                plain.append((word, float(np.float32(match.idf))))
        rare = [(word, idf) for word, idf in plain if idf > MIN_POSITION_IDF]
        plain = rare if len(rare) > 1 else plain
        if len(plain) < 2:
            return np.zeros(len(rows), np.float32)
        lexical = self._snapshot.lexical
        lines = (flatten_positions(lexical, FIELD_STARTS, self._index.best_terms(word), rows) for word, _ in plain)
        return score_closeness(lines, [idf for _, idf in plain], [word.position for word, _ in plain], len(rows))


def _weigh_words(evidence: Evidence) -> Floats:
    """Return the weight of each word of a query by its rarity; the weights add up to 1."""
    rarity = np.array([match.idf for match in evidence.matches], np.float32)
    weights: Floats = rarity / max(float(rarity.sum()), 1e-9)
    return weights


def _weigh_asked_words(weight: Floats, is_period_word: Flags) -> Floats:
    """Return the weights of a query's words, 0 for words that name a time: that has a signal of its own."""
    asked: Floats = weight * ~is_period_word
    total = asked.sum()
    return asked / total if is_period_word.any() and total > 0 else weight


def _list_neighbour_rows(rows: Rows, count: int) -> tuple[Rows, Rows]:
    """Return the rows before, and the rows after, each of `rows`, limited to 0 and `count` - 1."""
    return np.maximum(rows - 1, 0), np.minimum(rows + 1, count - 1)


def _find_top_value(values: Floats | npt.NDArray[np.float64], is_note: Flags) -> float:
    """Return the highest of the `values` that `is_note` flags, else the highest of all; at least 1e-9."""
    return max(float(values[is_note].max(initial=0.0)) or float(values.max(initial=0.0)), 1e-9)


def _score_notes(words: Floats, notes: Rows, is_note: Flags) -> Floats:
    """Return, for each row, how well the best fragments of its note match by words, 0 to 1.

    `words` is the signal `words` of each row, `notes` the note number of each row, `is_note` whether it is of a note
    and not of an attachment.
    """
    order = np.lexsort((-words, notes))
    first = run_starts(notes[order])
    ranks = np.arange(len(order)) - np.repeat(first, np.diff(first, append=len(order)))
    counts = np.array([*NOTE_RANK_WEIGHTS, 0.0], np.float32)[np.minimum(ranks, len(NOTE_RANK_WEIGHTS))]
    sums = np.bincount(notes[order], counts * words[order]) if len(order) else np.zeros(0)
    note_sums = np.asarray(sums[notes], np.float64)
    shares: Floats = np.minimum(note_sums / _find_top_value(note_sums, is_note), 1).astype(np.float32)
    return shares
