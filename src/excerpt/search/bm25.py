"""Matching of query words with the terms of the vault, and BM25F scoring of the matching rows.

A row is the position of a fragment in the arrays of a snapshot, which is one state of a vault's index.


The formula is BM25F (Robertson, Zaragoza and Taylor, 2004): a word's occurrences in the fields are normalised by field
length, weighted, summed, and saturate together, so a word in title and text is one piece of evidence made stronger. The
idf is Lucene's, ln(1 + (N - df + .5) / (df + .5)), which is never negative.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from operator import attrgetter

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from excerpt.corpus.interface import TermReader
from excerpt.corpus.tables import TermEntries, TermTier, concat_ranges, run_starts
from excerpt.text.folding import UNACCENTED_MARK, fold
from excerpt.text.words import QueryWord

Rows = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]
FieldBits = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]

_CACHE_ENTRY_ROWS = 500  # memory of a cache entry besides its rows, in rows: mostly the candidates of its last query
NO_ROWS: Rows = np.zeros(0, np.int32)
_NO_SCORES = np.zeros(0, np.float32)
_NO_FIELDS = np.zeros(0, np.uint8)


class FieldWeight(Struct, frozen=True):
    """BM25F parameters of a field: its weight (the text has 1), and `b`, how much its length matters, 0 to 1."""

    weight: float
    b: float


# Measured (docs/design/quality.md): results hardly change around these values on every set.
FIELD_WEIGHTS: Mapping[str, FieldWeight] = {
    "text": FieldWeight(1.0, 0.6),
    "title": FieldWeight(2.0, 0.3),
    "alias": FieldWeight(2.0, 0.3),
    "heading": FieldWeight(2.0, 0.3),
    "above": FieldWeight(2.0, 0.3),
    "tags": FieldWeight(0.5, 0.3),
    "properties": FieldWeight(0.5, 0.6),
}
FIELDS_BY_NUMBER = tuple(sorted(FIELD_WEIGHTS))
"""The field names by field number, which the index stores instead of the name."""
K1 = 1.0

PREFIX_SHARE = 0.4
"""Factor for the score of a term that only begins with the word being typed.

Below 1 / (K1 + 1), that is one half, so that no number of such terms outweighs one exact occurrence in a fragment of
average length.
"""
FUZZY_SHARE = 0.3
"""Factor for the score of a term that is only spelled like a word, times their similarity (0 to 1).

Below PREFIX_SHARE, so that a word being typed matches its completions first.
"""
MAX_COMPLETIONS = 12
"""Maximum number of terms that complete the word being typed, shortest first."""
_MAX_ENDING_LETTERS = 16
"""Maximum number of last letters that are removed from a word being typed to find its stem."""
_ROUNDING = 1e-6
"""Less than any difference of two similarities; rapidfuzz leaves out a similarity that is equal to its cutoff of .8."""
MAX_FUZZY_TERMS = 3
"""Maximum number of similarly spelled terms for a word without matches."""
MAX_FUZZY_WORDS = 10
"""Maximum number of words of a query that are matched by spelling. Each is compared with every term of the vault."""
MAX_CACHED_ROWS = 1_000_000
"""Maximum number of rows cached with their scores, for all recent words together.

A row takes nine bytes.
"""
MIN_LAZY_OCCURRENCES = 8000
"""Number of postings above which the rows of a word are scored only on demand."""
MIN_FUZZY_LETTERS = 4
"""Least number of letters of a fuzzily matched word: in three letters, an error makes another word."""


class ExpandedWord(Struct, frozen=True):
    """A query word with the terms of the vault that match it, in tiers, exact terms first.

    `surface` is the word as typed, `position` its number in the query. `whole` is true for a compound, such as
    `snake_case`, whose parts follow as separate words with `is_part`.
    """

    surface: str
    tiers: tuple[TermTier, ...]
    position: int
    whole: bool = False
    is_part: bool = False

    @property
    def terms(self) -> tuple[str, ...]:
        """The terms of all tiers."""
        return tuple(term for tier in self.tiers for term in tier.terms)


class TermScores(Struct, frozen=True):
    """The rows that have some terms, ascending, with the score of each row for these terms.

    `fields` has, for each row, bit `i` set if field number `i` has one of the terms.
    """

    rows: Rows
    scores: Floats
    fields: FieldBits


ComputeScores = Callable[[Rows | None], TermScores]
"""A function that scores the given ascending rows, or, for None, all rows that have a term."""


class TermMatches:
    """The rows that have any of some terms, with their scores.

    `idf` is the rarity of the terms together; `count` is the number of fragments in the vault that have one of them.
    The scores of common terms are computed on demand, because the other words of a query mostly decide its best rows.
    """

    def __init__(self, idf: float, count: int, compute_scores: ComputeScores, mark: Callable[[Flags], None]) -> None:
        """Create matches that are not yet scored; `mark` sets the flags of all rows that have any of the terms."""
        self.idf = idf
        self.count = count
        self._compute_scores = compute_scores
        self._flag_rows = mark
        self._all_scores: TermScores | None = None
        self._last_rows: tuple[Rows, tuple[Floats, FieldBits]] | None = None

    @staticmethod
    def from_scores(idf: float, count: int, term_scores: TermScores) -> TermMatches:
        """Return matches whose scores are already computed."""
        match = TermMatches(idf, count, lambda _: term_scores, lambda _: None)
        match._all_scores = term_scores
        return match

    @property
    def is_computed(self) -> bool:
        """Whether all rows are scored."""
        return self._all_scores is not None

    @property
    def all_scores(self) -> TermScores:
        """The scores of all rows that have a term, computed on first use."""
        if self._all_scores is None:
            self._all_scores, self._last_rows = self._compute_scores(None), None
        return self._all_scores

    def scores_and_fields_at(self, rows: Rows) -> tuple[Floats, FieldBits]:
        """Return the scores of `rows`, which must be ascending, and their field bits as in `TermScores.fields`."""
        if self._last_rows is None or self._last_rows[0] is not rows:
            known = self._all_scores if self._all_scores is not None else self._compute_scores(rows)
            self._last_rows = rows, _align_to_rows(known, rows)
        return self._last_rows[1]

    def mark(self, flags: Flags) -> None:
        """Set in `flags`, an array with one flag for each row, the flags of the rows that have a term."""
        if self._all_scores is None:
            self._flag_rows(flags)
        else:
            flags[self._all_scores.rows] = True


def _align_to_rows(term_scores: TermScores, rows: Rows) -> tuple[Floats, FieldBits]:
    if not len(term_scores.rows):
        return np.zeros(len(rows), np.float32), np.zeros(len(rows), np.uint8)
    at = np.minimum(np.searchsorted(term_scores.rows, rows), len(term_scores.rows) - 1)
    is_present = term_scores.rows[at] == rows
    return np.where(is_present, term_scores.scores[at], np.float32(0)), np.where(
        is_present, term_scores.fields[at], np.uint8(0)
    )


class WordMatches(Struct, frozen=True):
    """The rows that have a query word; their scores count with the factor `share`, 0 to 1."""

    term_matches: TermMatches
    share: float = 1.0

    @property
    def idf(self) -> float:
        """The idf of the word times `share`."""
        return self.term_matches.idf if self.share == 1 else self.share * self.term_matches.idf

    @property
    def max_score(self) -> float:
        """A value that the score of no row exceeds."""
        return 1.001 * self.idf * (K1 + 1)

    @property
    def count(self) -> int:
        """Number of fragments in the vault that have the word."""
        return self.term_matches.count

    @property
    def rows(self) -> Rows:
        """The rows that have the word, ascending."""
        return self.term_matches.all_scores.rows

    @property
    def scores(self) -> Floats:
        """The score of each of `self.rows`."""
        return self._multiply_share(self.term_matches.all_scores.scores)

    def scores_at(self, rows: Rows) -> Floats:
        """Return the scores of the given `rows`, which must be ascending; 0 for a row without the word."""
        return self._multiply_share(self.term_matches.scores_and_fields_at(rows)[0])

    def with_share(self, share: float) -> WordMatches:
        """Return the same matches with another factor `share` for their scores."""
        return replace(self, share=share)

    def _multiply_share(self, scores: Floats) -> Floats:
        return scores if self.share == 1 else np.float32(self.share) * scores


class WordIndex:
    """Matching and scoring of query words in one snapshot.

    The matches of recent words are cached, because a query changes letter by letter while it is typed.
    """

    def __init__(self, reader: TermReader, load_idf_rows: Callable[[], Flags | None] = lambda: None) -> None:
        """Create an index of the terms in `reader`.

        `load_idf_rows` returns a flag for each row that counts for idf and mean field lengths (None: all rows count).
        If only the rows of notes count, attachments do not change the scores of notes.
        """
        self._reader = reader
        self._load_idf_rows = load_idf_rows
        self._matches_by_terms: OrderedDict[tuple[str, ...], TermMatches] = OrderedDict()
        self._cached_rows = 0

    def warm(self) -> None:
        """Load the data for completions and fuzzy matches, and the field weights of all rows."""
        self._reader.lexicon("text")
        self._occurrence_weights  # noqa: B018

    def release(self) -> None:
        """Release the cached matches, which the next query computes again."""
        self._matches_by_terms.clear()
        self._cached_rows = 0

    def expand(
        self, query_words: Sequence[QueryWord], *, open_word: bool, fuzzy_threshold: float
    ) -> tuple[ExpandedWord, ...]:
        """Return each query word with the terms that match it, in tiers.

        The first tier has the word's own terms. If `open_word` is true, the last word is still being typed, and a
        second tier has its completions. If the vault has none of these terms, further tiers have similarly spelled
        terms (OSA similarity of at least `fuzzy_threshold`, 0 to 1), of the first MAX_FUZZY_WORDS such words.
        """
        words: list[ExpandedWord] = []
        similar_terms: dict[str, list[TermTier]] = {}
        compound_end = 0
        for index, word in enumerate(query_words):
            tiers = [TermTier(word.terms, 1.0)]
            if open_word and index == len(query_words) - 1:
                longer = tuple(t for t in self._complete_prefix(fold(word.surface)) if t not in word.terms)
                if longer:
                    likeness = min(len(fold(word.surface)) / len(longer[0]), 1.0)
                    tiers.append(TermTier(longer, PREFIX_SHARE, likeness))
            if not word.is_compound and not any(self._match_terms(tier.terms).count for tier in tiers):
                if word.surface not in similar_terms and len(similar_terms) < MAX_FUZZY_WORDS:
                    similar_terms[word.surface] = self._similar_terms(word, fuzzy_threshold)
                tiers += similar_terms.get(word.surface, ())
            is_part = word.start < compound_end
            words.append(ExpandedWord(word.surface, tuple(tiers), word.position, word.is_compound, is_part))
            if word.is_compound:
                compound_end = max(compound_end, word.end)
        return tuple(words)

    def match(self, word: ExpandedWord) -> WordMatches:
        """Return the rows that have a term of the word, each with the score by its best tier."""
        exact = self._match_terms(word.tiers[0].terms)
        if len(word.tiers) == 1:
            return WordMatches(exact)
        variants = [(tier.share, match) for tier in word.tiers if (match := self._match_terms(tier.terms)).count]
        if not variants:
            return WordMatches(exact)
        term_scores = _reduce_by_row(
            np.concatenate([match.all_scores.rows for _, match in variants]),
            np.concatenate([np.float32(share) * match.all_scores.scores for share, match in variants]),
            np.concatenate([match.all_scores.fields for _, match in variants]),
            np.maximum,
        )
        idf = exact.idf if exact.count else max(match.idf for _, match in variants)
        count = len(term_scores.rows)
        if count < max(match.count for _, match in variants):  # not all fragments are loaded from the store
            known = self._reader.document_frequency([term for tier in word.tiers for term in tier.terms])
            count = count if known is None else max(count, known.fragments)
        return WordMatches(TermMatches.from_scores(idf, count, term_scores))

    def best_terms(self, word: ExpandedWord) -> tuple[str, ...]:
        """Return the terms of the first tier that has a term of the vault; () if no tier has one."""
        return next((tier.terms for tier in word.tiers if self._match_terms(tier.terms).count), ())

    def presence(self, words: Sequence[ExpandedWord], rows: Rows, field: str | None) -> Floats:
        """Return an array, words x rows: the share of the best tier of a word that a row has, 0 if it has none.

        `rows` are ascending. Only occurrences in `field` count (None: in any field). An exact term has share 1.
        """
        presence: Floats = self.presence_by_field(words, rows, (field,))[0]
        return presence

    def presence_by_field(
        self,
        words: Sequence[ExpandedWord],
        rows: Rows,
        fields: Sequence[str | None],
        *,
        weigh: Callable[[TermTier], float] = attrgetter("share"),
    ) -> Floats:
        """Return `presence` for several fields (None: any field) as an array, fields x words x rows.

        `weigh` returns the value of a tier, by default its share.
        """
        bits = np.array([0xFF if field is None else 1 << FIELDS_BY_NUMBER.index(field) for field in fields], np.uint8)
        presence = np.zeros((len(fields), len(words), len(rows)), np.float32)
        for number, word in enumerate(words):
            for tier in reversed(word.tiers):
                match = self._match_terms(tier.terms)
                if match.count:
                    field_bits = match.scores_and_fields_at(rows)[1] & bits[:, None]
                    presence[:, number][field_bits > 0] = weigh(tier)
        return presence

    def _match_terms(self, terms: tuple[str, ...]) -> TermMatches:
        known = self._matches_by_terms.get(terms)
        if known is not None:
            self._matches_by_terms.move_to_end(terms)
            return known
        match = self._load_matches(terms)
        self._matches_by_terms[terms] = match
        self._cached_rows += match.count + _CACHE_ENTRY_ROWS
        while self._cached_rows > MAX_CACHED_ROWS and len(self._matches_by_terms) > 1:
            self._cached_rows -= self._matches_by_terms.popitem(last=False)[1].count + _CACHE_ENTRY_ROWS
        return match

    def _load_matches(self, terms: tuple[str, ...]) -> TermMatches:
        row_sets = [rows for term in terms if len(rows := self._reader.entries(term).rows)]
        if sum(map(len, row_sets)) > MIN_LAZY_OCCURRENCES:
            count, idf = self._count_and_idf(terms, self._flags_to_count(terms, row_sets))
            return TermMatches(idf, count, partial(self._compute_scores, terms, idf), partial(self._flag_rows, terms))
        count, idf = self._count_and_idf(terms, merge_rows(*row_sets) if row_sets else NO_ROWS)
        return TermMatches.from_scores(idf, count, self._compute_scores(terms, idf))

    def _flags_to_count(self, terms: tuple[str, ...], row_sets: Sequence[Rows]) -> Flags:
        """Return flags of which one is set for each row with one of the terms, to count these rows."""
        if len(row_sets) == 1 and self._idf_rows is None:
            # A term's rows ascend: comparing them takes a ninth of the time of flags for all rows.
            return np.append(True, row_sets[0][1:] != row_sets[0][:-1])
        flags = np.zeros(self._reader.doc_count, np.bool_)
        self._flag_rows(terms, flags)
        return flags

    @cached_property
    def _idf_rows(self) -> Flags | None:
        return self._load_idf_rows()

    def _count_and_idf(self, terms: Sequence[str], matching_rows: Rows | Flags) -> tuple[int, float]:
        """Return the number of fragments that have any of the terms, and the idf of the terms together.

        `matching_rows` are the loaded rows with a term: their numbers, or a flag for each row.
        """
        is_flags = matching_rows.dtype == np.bool_
        count = int(np.count_nonzero(matching_rows)) if is_flags else len(matching_rows)
        known = self._reader.document_frequency(terms)
        if known is not None:
            return max(count, known.fragments), compute_idf(known.sample_matches, known.sample_size)
        if self._idf_rows is None:
            return count, compute_idf(count, self._reader.doc_count)
        counted_matches = matching_rows & self._idf_rows if is_flags else self._idf_rows[matching_rows]
        return count, compute_idf(int(np.count_nonzero(counted_matches)), int(np.count_nonzero(self._idf_rows)))

    def _flag_rows(self, terms: tuple[str, ...], flags: Flags) -> None:
        for term in terms:
            flags[self._reader.entries(term).rows] = True

    def _compute_scores(self, terms: tuple[str, ...], idf: float, wanted_rows: Rows | None = None) -> TermScores:
        """Score the rows that have any of the terms; if `wanted_rows` (ascending) is given, only these."""
        entry_sets = [entries for term in terms if len((entries := self._reader.entries(term)).rows)]
        if wanted_rows is not None:
            entry_sets = [part for entries in entry_sets if len((part := _select_rows(entries, wanted_rows)).rows)]
        if not entry_sets:
            return TermScores(NO_ROWS, _NO_SCORES, _NO_FIELDS)
        rows = np.concatenate([entries.rows for entries in entry_sets])
        fields = np.concatenate([entries.fields for entries in entry_sets])
        tf = np.concatenate([entries.tf for entries in entry_sets]).astype(np.float32)
        weighted = tf * self._occurrence_weights.take(fields * np.int32(self._reader.doc_count) + rows)
        bits = np.left_shift(np.uint8(1), fields)
        summed = _reduce_by_row(rows, weighted, bits, np.add, len(entry_sets) > 1)
        scores = np.float32(idf * (K1 + 1)) * summed.scores / (summed.scores + np.float32(K1))
        return replace(summed, scores=scores)

    @cached_property
    def _occurrence_weights(self) -> Floats:
        """The weight of one occurrence in each field of each row, as a flat array, field by field.

        It is the weight of the field divided by its length normalisation in the row (1 at mean length).
        """
        weights: Floats = np.empty((len(FIELDS_BY_NUMBER), self._reader.doc_count), np.float32)
        for row, field in zip(weights, FIELDS_BY_NUMBER, strict=True):
            lengths = self._reader.lengths(field)
            mean = self._reader.mean_length(field)
            if mean is None:
                filled = lengths[lengths > 0 if self._idf_rows is None else (lengths > 0) & self._idf_rows]
                mean = float(filled.mean()) if len(filled) else 1.0
            shape = FIELD_WEIGHTS[field]
            # In place: a first query waits for it, and arrays for each step take twice as long.
            np.multiply(lengths, shape.b, out=row)
            np.divide(row, mean, out=row)
            np.add(row, 1 - shape.b, out=row)
            np.divide(shape.weight, row, out=row)
        return weights.ravel()

    def _complete_prefix(self, prefix: str) -> list[str]:
        """Return the terms that begin with `prefix`.

        If no term does, return the stem of which the prefix may be an inflected form, if the vault has that stem.
        """
        if not can_complete(prefix):
            return []
        completions = self._reader.completions(prefix, MAX_COMPLETIONS)
        if completions:
            return list(completions)
        return [stem for stem in list_possible_stems(prefix) if self._match_terms((stem,)).count][:1]

    def _similar_terms(self, word: QueryWord, threshold: float) -> list[TermTier]:
        word_text = word.terms[0]
        if len(word_text) < MIN_FUZZY_LETTERS or not any(c.isalpha() for c in word_text):
            return []
        from rapidfuzz import process
        from rapidfuzz.distance import OSA

        matches = process.extract(
            word_text,
            self._reader.lexicon("text"),
            scorer=OSA.normalized_similarity,
            score_cutoff=threshold - _ROUNDING,
            limit=MAX_FUZZY_TERMS,
        )
        is_plain = word_text.isalpha()  # a code with another digit is another code
        return [
            TermTier((term, term + UNACCENTED_MARK), FUZZY_SHARE * similarity, similarity if is_plain else 0.0)
            for term, similarity, _ in sorted(matches, key=lambda f: (-f[1], f[0]))
            if has_plausible_start(word_text, term)
        ]


def can_complete(prefix: str) -> bool:
    """Return whether a word that is being typed is long enough to be completed."""
    return len(prefix) > 1 or not prefix.isascii()


def list_possible_stems(prefix: str) -> list[str]:
    """Return the stems of which `prefix` may be an inflected form, or the first letters of one, the longest first."""
    return [
        prefix[:length]
        for length in range(len(prefix) - 1, max(2, len(prefix) - 1 - _MAX_ENDING_LETTERS), -1)
        if len(prefix) - length <= 2 or length >= max(5, len(prefix) // 2)
    ]


def has_plausible_start(typed: str, meant: str) -> bool:
    """Return whether `typed` may be a misspelt `meant` by its start.

    Of the first letter, only one that was left out, added or swapped is plausible: "least" is no misspelt "yeast".
    """
    return typed[:1] == meant[:1] or len(typed) != len(meant) or typed[:2] == meant[1::-1]


def _select_rows(entries: TermEntries, rows: Rows) -> TermEntries:
    """Return the entries of `rows` only; `rows` and the entries are ascending."""
    first = np.searchsorted(entries.rows, rows)
    indices = concat_ranges(first, np.searchsorted(entries.rows, rows, side="right") - first)
    return TermEntries(entries.rows[indices], entries.fields[indices], entries.tf[indices])


def _reduce_by_row(
    rows: Rows, values: Floats, fields: FieldBits, combine: np.ufunc, unsorted: bool = True
) -> TermScores:
    """Return each row once, ascending, with its `values` combined by `combine`, and its field bits united.

    `unsorted` is false if `rows` are ascending already.
    """
    if unsorted:
        order = np.argsort(rows, kind="stable")
        rows, values, fields = rows[order], values[order], fields[order]
    first = run_starts(rows)
    return TermScores(rows[first], combine.reduceat(values, first), np.bitwise_or.reduceat(fields, first))


def compute_idf(match_count: int, count: int) -> float:
    """Return the idf of terms that `match_count` of `count` fragments have."""
    return float(np.log1p((count - match_count + 0.5) / (match_count + 0.5)))


def merge_rows(*row_sets: Rows) -> Rows:
    """Return the rows of all `row_sets`, ascending, each once.

    For hundreds of rows this is ten times as fast as numpy's `union1d`.
    """
    rows = np.sort(np.concatenate(row_sets), kind="stable")
    return rows[run_starts(rows)]


def sum_scores(matches: Sequence[WordMatches], count: int) -> Floats:
    """Return the BM25F score of each of `count` rows: the sum of its scores for all words."""
    scores = np.zeros(count, np.float32)
    for match in matches:
        scores[match.rows] += match.scores
    return scores
