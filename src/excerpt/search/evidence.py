"""The evidence for each row of the index: the query words that it has, and its similarity in meaning."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

import numpy as np
import numpy.typing as npt

from excerpt.corpus.interface import Corpus
from excerpt.search import filters
from excerpt.search.bm25 import NO_ROWS, Match, Rows, Tier, Word, WordIndex, total, union
from excerpt.search.proximity import rows_with_words
from excerpt.search.query import Query
from excerpt.settings import Settings
from excerpt.text.words import QueryWord, fold, is_function_word, query_terms, terms_of

# --- highest rows -----------------------------------------------------------------------------------------------------
# The rows of the highest values, to which a list of candidates is cut.

_STRIPE = 64


def top_k(values: npt.NDArray[np.float32], size: int, above: float) -> npt.NDArray[np.int32]:
    """Return the rows of the `size` highest values above a floor, ascending; ties go to the lower row."""
    lowest = np.nextafter(np.float32(above), np.float32(np.inf))
    lowest = max(lowest, _top_k_floor(values, size, lowest))
    rows = np.flatnonzero(values >= lowest).astype(np.int32)
    if len(rows) > size:
        scores = values[rows]
        threshold = np.partition(scores, len(rows) - size)[len(rows) - size]
        is_top = scores > threshold
        is_top[np.flatnonzero(scores == threshold)[: size - np.count_nonzero(is_top)]] = True
        rows = rows[is_top]
    return rows


def _top_k_floor(values: npt.NDArray[np.float32], size: int, default: np.float32) -> np.float32:
    """Return a lower bound of the `size` highest values; `default` if there are too few values."""
    stripes = len(values) // _STRIPE
    if stripes <= size:
        return default
    # At least `size` stripes have a value of at least this, so no lower value is among the highest.
    stripe_tops = values[: stripes * _STRIPE].reshape(_STRIPE, stripes).max(axis=0)
    floor: np.float32 = np.partition(stripe_tops, stripes - size)[stripes - size]
    return floor


# --- meaning ----------------------------------------------------------------------------------------------------------
# Meaning: how far the similarity of a fragment to the query is above the vault's mean, and its reliability.


def above_mean(similarities: Floats, mean: float, top_k: float) -> Floats:
    """Scale cosines to 1 for the highest and 0 for the vault's mean and below.

    All cosines of a static model are high; only the difference to the mean is meaningful.
    """
    spread = top_k - mean
    if spread <= 1e-6:
        return np.zeros(len(similarities), np.float32)
    above: Floats = (similarities - np.float32(mean)) / np.float32(spread)
    return np.clip(above, 0.0, 1.0)


def trust_in_meaning(text: str, languages: Sequence[str]) -> float:
    """Return the share of letters of `text` that the English model reads, halved in a vault of another language."""
    letters = [c for c in text if c.isalpha()]
    latin = sum(c < "\u0250" for c in letters)
    share = latin / len(letters) if letters else 1.0
    return share if not languages or languages[0] == "en" else 0.5 * share


Floats = npt.NDArray[np.float32]


# --- evidence ---------------------------------------------------------------------------------------------------------
# Whole arrays, one number per row, before the selection of candidates. Rows that the query's filters exclude have no
# evidence at all, so that the candidates are the best of the allowed rows, not the allowed ones of the best.

Flags = npt.NDArray[np.bool_]

_MIN_SKIP_RATIO = 16
"""Common words are scored in all rows until at most one in this number of rows can be among the best."""


class Scores:
    """The BM25F sum of each of `count` rows, computed as far as needed; 0 where `allowed` is not set.

    The best rows are found without scoring the commonest words in all their rows (MaxScore; Turtle and Flood, 1995): a
    row is skipped if even the maximum score of these words cannot bring it among the best. Sums are always in the order
    of the query's words, so that they are equal to the last bit either way.
    """

    def __init__(
        self, matches: Sequence[Match], count: int, allowed: Flags | None = None, notes: Flags | None = None
    ) -> None:
        """Create the scores from word matches; `notes` flags the rows of notes, None if all are.

        Notes then supply as many candidates as without attachments.
        """
        self._matches = matches
        self._notes = notes
        self._count = count
        self._allowed = allowed

    def __len__(self) -> int:
        return self._count

    @cached_property
    def all(self) -> Floats:
        """Scores of all rows."""
        scores = total(self._matches, self._count)
        if self._allowed is not None:
            scores[~self._allowed] = 0.0
        return scores

    def at(self, rows: Rows) -> Floats:
        """Return the scores of some rows, which are ascending."""
        if self._allowed is not None or all(match.term_match.is_computed for match in self._matches):
            scores_at_rows: Floats = self.all[rows]
            return scores_at_rows
        scores = np.zeros(len(rows), np.float32)
        for match in self._matches:
            scores += match.gain_at(rows)
        return scores

    def best(self, size: int) -> Rows:
        """Return the rows of the `size` highest positive scores, ascending; ties go to the lower row.

        With attachments, as many rows of notes and as many of attachments.
        """
        if self._notes is not None:
            return union(*(top_k(np.where(is_kind, self.all, 0), size, 0.0) for is_kind in (self._notes, ~self._notes)))
        rows = self._possible(size) if self._allowed is None else None
        return top_k(self.all, size, 0.0) if rows is None else rows[top_k(self.at(rows), size, 0.0)]

    def matching(self) -> Flags:
        """Return flags of the rows that have a score, whether they are allowed or not."""
        flags = np.zeros(self._count, np.bool_)
        for match in self._matches:
            if match.idf > 0:
                match.term_match.mark(flags)
        return flags

    def _possible(self, size: int) -> Rows | None:
        """Return rows, ascending, that include the `size` highest; None if that needs all scores."""
        common = [match for match in self._matches if not match.term_match.is_computed]
        common.sort(key=lambda match: match.max_gain)
        scores = total([match for match in self._matches if match.term_match.is_computed], self._count)
        while common:
            top_floor = float(_top_k_floor(scores, size, np.float32(0)))
            # Sums in another order differ in their last bits.
            floor = 0.999 * top_floor - sum(match.max_gain for match in common)
            rows = np.flatnonzero(scores >= floor).astype(np.int32) if floor > 0 else None
            if rows is not None and len(rows) * _MIN_SKIP_RATIO <= self._count:
                return rows
            match = common.pop()
            scores[match.rows] += match.gain
        return None


class Similarities:
    """The cosine of each row to a text, computed as far as needed, and their mean.

    All are equal for a text without meaning to the model. With many rows, the nearest are found by an approximate
    product with all and the exact one with possible candidates: the same rows and cosines in half of the time. The mean
    is then that of the vectors, without the rounding of each cosine.
    """

    def __init__(self, text: str, snapshot: Corpus) -> None:
        self._notes = snapshot.is_note_row
        self._matrix = snapshot.vectors if text.strip() else None
        self._query = snapshot.embedder.embed([text])[0] if text.strip() else np.zeros(0, np.float32)
        self._values = np.zeros(snapshot.lexical.doc_count, np.float32)
        self._max_error = 0.0
        self._exact: Flags | None = None
        self.mean = 0.0
        if self._matrix is None:
            return
        if not snapshot.is_complete:
            self._values = self._matrix.similarities(self._query)
            self.mean = self._matrix.mean_similarity(self._query)
        elif self._notes is not None:
            self._values = self._matrix.similarities(self._query)
            self.mean = float(self._values[self._notes].mean(dtype=np.float64))
        elif len(self._values) > _STRIPE * POOL:
            self._values, self._max_error = self._matrix.approximate_similarities(self._query)
            self._exact = np.zeros(len(self._values), np.bool_)
            self.mean = self._matrix.mean_similarity(self._query)
        else:
            self._values = self._matrix.similarities(self._query)
            # Not the cosine of the mean vector, which is rounded differently: a single fragment would be above it.
            self.mean = float(self._values.mean(dtype=np.float64)) if len(self._values) else 0.0

    def __len__(self) -> int:
        return len(self._values)

    def limit_to_rows(self, allowed: Flags) -> None:
        """Set the other rows to the mean."""
        self.all[~allowed] = self.mean

    @property
    def all(self) -> Floats:
        """Cosines of all rows."""
        if self._exact is not None and self._matrix is not None:
            self._values, self._exact, self._max_error = self._matrix.similarities(self._query), None, 0.0
        return self._values

    def at(self, rows: Rows) -> Floats:
        """Return the cosines of some rows."""
        if self._exact is not None and self._matrix is not None:
            inexact = rows[~self._exact[rows]]
            if len(inexact):
                inexact = union(inexact)
                self._values[inexact] = self._matrix.similarities_at(self._query, inexact)
                self._exact[inexact] = True
        cosines: Floats = self._values[rows]
        return cosines

    def best(self, size: int) -> Rows:
        """Return the rows of the `size` highest cosines above the mean, ascending; ties go to the lower row.

        With attachments, as many rows of notes and as many of attachments.
        """
        if self._notes is not None:
            parts = (np.where(is_kind, self._values, np.float32(-1)) for is_kind in (self._notes, ~self._notes))
            return union(*(top_k(values, size, self.mean) for values in parts))
        if self._exact is None:
            return top_k(self._values, size, self.mean)
        # Two values may be off in opposite directions: the lowest of the highest, and the one compared with it.
        threshold = float(_top_k_floor(self._values, size, np.float32(-1))) - 2 * self._max_error
        rows = np.flatnonzero(self._values >= np.float32(threshold)).astype(np.int32)
        return rows[top_k(self.at(rows), size, self.mean)]


POOL = 200
"""Number of candidates by words and by meaning; all are scored by all signals.

The POOL fragments of the whole vault that are nearest in meaning match without having a word of the query.
"""

MAX_LANGUAGES = 4
"""Maximum number of languages whose stems a query is searched with: the commonest of the vault."""

RARE_SHARE, RARE_COUNT = 0.01, 10
"""An exact word is rare if at most this share, or this number, of all fragments have it."""
LONGEST = 100
"""Maximum length of an exact word; longer ones are data."""

_PUNCTUATION = ".,;:!?()[]{}<>'`*"
# A code (E0308, 0x80070005, 1.0.21), words joined by symbols (settings.json, std::vector, snake_case), camelCase,
# Verb-Noun.
_EXACT = re.compile(
    r"(?!\d+(?:s|st|nd|rd|th)$)(?=.*[A-Za-z])(?=.*\d)[\w.\-]+|\d+(?:\.\d+){2,}|.*\w(?:[_.\\]|::)+\w\w.*|.*[a-z][A-Z].*"
    r"|[A-Z]\w+-[A-Z]\w+",
    re.ASCII,
)

FUNCTION_WORD = 0.3
"""Weight of a word like "the" in a language other than the model's."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence for each row.

    `matches` belong to `words`; `scores` are their BM25F sums and `similarities` the cosines; `trust` is how far the
    model reads the query's language. `extra_words` are terms of the query's text, analyzed like a note, that are not
    searched for: single characters besides pairs, parts of compounds that only match as a whole. A title with them is
    not taken to be longer than the query. `named` are the rows of notes that the query names; `word_count` is the
    number of words for a reader. `allowed` are the rows that may be hits, None for all. `matching` are those of them
    that match: that have a word of the query, are of a note that it names, or are among the POOL nearest in meaning of
    the whole vault. If the query has a phrase, or filters only, all allowed rows match. Whether a row matches does not
    depend on filters, so that they partition the matches; a list with a filter may continue with the nearest rows that
    it allows. `whole` flags the rows that have all phrases and exact words of the query as typed; None if it has none.
    `corpus_size` is the number of fragments in the vault, of which there may be fewer rows.
    """

    words: tuple[Word, ...]
    extra_words: tuple[Word, ...]
    matches: tuple[Match, ...]
    scores: Scores
    similarities: Similarities
    trust: float
    named: Rows
    word_count: int
    allowed: Flags | None
    matching: Flags
    whole: Flags | None
    corpus_size: int


def gather(query: Query, snapshot: Corpus, index: WordIndex, settings: Settings, today: date) -> Evidence:
    """Collect the evidence for one query; its relative dates count from `today`."""
    query_words = analyze_text(query.words, snapshot)
    words = index.expand(query_words, open_word=query.open_word, fuzzy_threshold=settings.search.fuzzy_threshold)
    shares = _language_weights(words, snapshot)
    matches = tuple(index.match(word).damped(share) for word, share in zip(words, shares, strict=True))
    similarities = Similarities(query.words if query_words else "", snapshot)
    trust = 1.0 if settings.embedding.multilingual else trust_in_meaning(query.words, snapshot.languages)
    named = _named_rows(query.words, snapshot) if query_words else NO_ROWS
    allowed = filters.allowed(query, snapshot, lambda text: analyze_text(text, snapshot), today)
    scores = Scores(matches, snapshot.lexical.doc_count, allowed, snapshot.is_note_row)
    matching = scores.matching()
    matching[named] = True
    matching[similarities.best(POOL) if trust else NO_ROWS] = True
    if allowed is not None:
        similarities.limit_to_rows(allowed)
        named = named[allowed[named]]
        matching = matching & allowed if words and not query.phrases else allowed
    return Evidence(
        words=words,
        extra_words=_extra_words(query.words, words, snapshot),
        matches=matches,
        scores=scores,
        similarities=similarities,
        trust=trust,
        named=named,
        word_count=count_words(query_words),
        allowed=allowed,
        matching=matching,
        whole=_whole_rows(query, snapshot, allowed),
        corpus_size=snapshot.lexical.corpus_size,
    )


def analyze_text(text: str, snapshot: Corpus) -> list[QueryWord]:
    """Return the words of `text`, stemmed in the vault's commonest languages."""
    return query_terms(text, snapshot.languages[:MAX_LANGUAGES])


def exact_words(text: str) -> list[str]:
    """Return the words of `text` that are written as names: codes, file names, identifiers."""
    stripped = (word.strip(_PUNCTUATION) for word in text.split())
    return [word for word in stripped if len(word) <= LONGEST and word.isascii() and _EXACT.fullmatch(word)]


def _whole_rows(query: Query, snapshot: Corpus, allowed: Flags | None) -> Flags | None:
    """Return the rows that have all phrases and exact words of a query as typed; None if it has none.

    No row is returned if a word is in no row or in very many.
    """
    if query.phrases:  # all allowed rows have them
        return allowed
    if not (exact := exact_words(query.words)):
        return None
    count = snapshot.lexical.doc_count
    match_counts = np.zeros(count, np.intp)
    for word in exact:
        words = analyze_text(word, snapshot)
        # `iOS` is searched as a whole: texts without it may have its parts.
        words = [part for part in words if part.end - part.start == len(word)][:1] or words
        rows = rows_with_words(snapshot.lexical, words) if words else NO_ROWS
        terms = words[0].terms if len(words) == 1 else ()
        known = snapshot.lexical.counts(terms) if terms else None
        count_of_word = len(rows) if known is None else max(len(rows), known.fragments)
        if not 0 < count_of_word <= max(RARE_COUNT, RARE_SHARE * snapshot.lexical.corpus_size):
            return np.zeros(count, np.bool_)
        match_counts[rows] += 1
    has_all: Flags = match_counts == len(exact)
    return has_all


def count_words(words: Sequence[QueryWord]) -> int:
    """Return the number of words for a reader: a compound is one, and two overlapping characters are one."""
    count, end, whole_end = 0.0, 0, 0
    for word in words:
        if word.start < whole_end:
            continue
        count += 0.5 if word.start < end else 1.0
        end = word.end
        if word.is_compound:
            whole_end = word.end
    return int(count + 0.5)


def _language_weights(words: Sequence[Word], snapshot: Corpus) -> list[float]:
    """Return the weight of each word in general language, 0 to 1.

    In a small vault the function words of a question are as rare as its nouns. The model knows the weight of English
    words; for other languages a list of the commonest words is used.
    """
    languages = snapshot.languages[:MAX_LANGUAGES]
    if not languages or languages[0] == "en":
        plain = [word.surface for word in words if word.surface.isascii() and word.surface.isalpha()]
        known = dict(zip(plain, snapshot.embedder.word_weights(plain).tolist(), strict=True))
        return [known.get(word.surface, 1.0) for word in words]
    return [FUNCTION_WORD if is_function_word(fold(word.surface), languages) else 1.0 for word in words]


def _extra_words(text: str, words: Sequence[Word], snapshot: Corpus) -> tuple[Word, ...]:
    query_terms = {term for word in words for term in word.terms}
    extra = {
        term
        for language in (*snapshot.languages[:MAX_LANGUAGES], "")
        for term in terms_of(text, language)[0]
        if term not in query_terms
    }
    return tuple(Word(term, (Tier((term,), 1.0),), 0) for term in sorted(extra))


def _named_rows(text: str, snapshot: Corpus) -> Rows:
    notes = snapshot.notes_named(text)
    return np.flatnonzero(np.isin(snapshot.table.notes, notes)).astype(np.int32) if notes else NO_ROWS
