"""Evidence of a query about each row: the query words that it has, and its similarity in meaning.

A row is the position of a fragment in the arrays of a snapshot, which is one state of a vault's index.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from functools import cached_property, lru_cache, partial

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from excerpt.base.patterns import lazy_pattern
from excerpt.base.processes import start_in_thread
from excerpt.base.settings import EmbeddingSettings, Settings
from excerpt.corpus.interface import Corpus, Vectors
from excerpt.corpus.tables import TermTier
from excerpt.search import filters
from excerpt.search.bm25 import NO_ROWS, ExpandedWord, Rows, WordIndex, WordMatches, merge_rows, sum_scores
from excerpt.search.proximity import find_word_sequence
from excerpt.search.query import Query
from excerpt.search.query_vectors import QueryVectors, has_chosen_embedder
from excerpt.search.time_signal import find_query_periods, score_time
from excerpt.text.folding import fold
from excerpt.text.languages import is_function_word, script_characters, select_stop_words
from excerpt.text.periods import NamedPeriod, remove_plain_marks
from excerpt.text.words import QueryWord, query_terms, words_of

# --- highest rows -----------------------------------------------------------------------------------------------------
# Selection of the rows with the highest values, which become candidates.

_STRIPE_LENGTH = 64  # values of which only the highest is compared to find a floor


def top_k(values: npt.NDArray[np.float32], size: int, above: float) -> npt.NDArray[np.int32]:
    """Return the rows of the `size` highest values greater than `above`, ascending.

    Ties go to the lower row.
    """
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
    """Return a value that none of the `size` highest values is below.

    Return `default` if there are too few values.
    """
    stripes = len(values) // _STRIPE_LENGTH
    if stripes <= size:
        return default
    # At least `size` stripes have a value of at least this, so no lower value is among the highest.
    stripe_tops = values[: stripes * _STRIPE_LENGTH].reshape(_STRIPE_LENGTH, stripes).max(axis=0)
    floor: np.float32 = np.partition(stripe_tops, stripes - size)[stripes - size]
    return floor


# --- meaning ----------------------------------------------------------------------------------------------------------
# How much nearer in meaning to the query a fragment is than the mean of the vault, and how well the model reads a
# query.


def scale_above_mean(similarities: Floats, mean: float, highest: float) -> Floats:
    """Scale cosines linearly: `highest` becomes 1, and the vault's `mean` and anything below it becomes 0.

    All cosines of a static model are high; only the difference from the mean is meaningful.
    """
    spread = highest - mean
    if spread <= 1e-6:
        return np.zeros(len(similarities), np.float32)
    above: Floats = (similarities - np.float32(mean)) / np.float32(spread)
    return np.clip(above, 0.0, 1.0)


def compute_meaning_factor(text: str, languages: Sequence[str], model_languages: Sequence[str]) -> float:
    """Return the factor, 0 to 1, by which the signals of meaning count for the query `text`.

    `languages` are the vault's, by frequency, and `model_languages` those in which the embedding model is trusted: none
    for the English model that ships, "*" for all, which gives 1. Otherwise the factor is the share of the letters that
    are of a script of these languages, halved if the vault's first language is not one of them.
    """
    if "*" in model_languages:
        return 1.0
    trusted = tuple(model_languages) or SHIPPED_LANGUAGES
    letters = "".join(c for c in text if c.isalpha())
    share = len(_letters_of(trusted).findall(letters)) / len(letters) if letters else 1.0
    return share if not languages or languages[0] in trusted else UNTRUSTED_FACTOR * share


UNTRUSTED_FACTOR = 0.5
"""The factor of the signals of meaning in a vault whose first language is not one of the model's."""

SHIPPED_LANGUAGES = ("en",)
"""The language of the embedding model that ships."""


@lru_cache(maxsize=8)
def _letters_of(languages: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for one letter of a script in which one of `languages` is written."""
    return re.compile(f"[{''.join(map(script_characters, languages))}]")


def trusted_languages(corpus: Corpus, settings: EmbeddingSettings) -> tuple[str, ...]:
    """Return the languages in which the vectors that a query is compared with are trusted.

    `embedding.languages` is about the model that the settings name. Until that has embedded the vault, the model that
    ships answers, in its own language.
    """
    if has_chosen_embedder(corpus):
        return settings.languages or corpus.query_embedder.languages
    if not settings.languages:
        return SHIPPED_LANGUAGES
    from excerpt.encoders.model_names import is_static_model

    return settings.languages if is_static_model(settings.model) else SHIPPED_LANGUAGES


def static_languages(corpus: Corpus, settings: EmbeddingSettings) -> tuple[str, ...]:
    """Return the languages in which the vectors of the static model are trusted, whatever embedder is chosen."""
    return SHIPPED_LANGUAGES if has_chosen_embedder(corpus) else trusted_languages(corpus, settings)


Floats = npt.NDArray[np.float32]


# --- evidence ---------------------------------------------------------------------------------------------------------
# Arrays with one number for each row, from which the candidates are selected. Rows that the query's filters exclude
# have no evidence at all. So the candidates are the best rows that pass the filters.

Flags = npt.NDArray[np.bool_]

_MIN_SKIP_RATIO = 16
"""Common words are scored in all rows unless at most one row in this number can be among the best."""


class WordScores:
    """The BM25F score of each row, computed only as far as needed.

    Rows that the filters exclude have score 0. The best rows are found without scoring the commonest words in all their
    rows (MaxScore; Turtle and Flood, 1995): a row is skipped if even the maximum score of these words cannot bring it
    among the best. Scores are summed in the order of the query's words in every case, so that skipping does not change
    a bit of them.
    """

    def __init__(
        self, matches: Sequence[WordMatches], count: int, is_allowed: Flags | None = None, is_note: Flags | None = None
    ) -> None:
        """Create the scores of `count` rows from the matches of each query word.

        `is_allowed` flags the rows that pass the filters (None: all). `is_note` flags the rows of notes, as opposed to
        attachments (None: all); with attachments, `top_rows` selects rows of both.
        """
        self._matches = matches
        self._is_note = is_note
        self._count = count
        self._is_allowed = is_allowed

    def __len__(self) -> int:
        return self._count

    @cached_property
    def all_scores(self) -> Floats:
        """The scores of all rows."""
        scores = sum_scores(self._matches, self._count)
        if self._is_allowed is not None:
            scores[~self._is_allowed] = 0.0
        return scores

    def scores_at(self, rows: Rows) -> Floats:
        """Return the scores of `rows`, which must be ascending."""
        if self._is_allowed is not None or all(match.term_matches.is_computed for match in self._matches):
            scores_at_rows: Floats = self.all_scores[rows]
            return scores_at_rows
        scores = np.zeros(len(rows), np.float32)
        for match in self._matches:
            scores += match.scores_at(rows)
        return scores

    def top_rows(self, size: int) -> Rows:
        """Return the rows of the `size` highest positive scores, ascending; ties go to the lower row.

        With attachments, return up to `size` rows of notes and up to `size` rows of attachments.
        """
        if self._is_note is not None:
            return merge_rows(
                *(
                    top_k(np.where(is_kind, self.all_scores, 0), size, 0.0)
                    for is_kind in (self._is_note, ~self._is_note)
                )
            )
        rows = self._select_possible_rows(size) if self._is_allowed is None else None
        return top_k(self.all_scores, size, 0.0) if rows is None else rows[top_k(self.scores_at(rows), size, 0.0)]

    def top_rows_among(self, is_among: Flags, size: int) -> Rows:
        """Return, of the rows that `is_among` flags, those with the `size` highest positive scores, ascending."""
        return top_k(np.where(is_among, self.all_scores, 0), size, 0.0)

    def flag_matching_rows(self) -> Flags:
        """Return a flag for each row: whether it has a word of the query. Filters are ignored."""
        flags = np.zeros(self._count, np.bool_)
        for match in self._matches:
            if match.idf > 0:
                match.term_matches.mark(flags)
        return flags

    def _select_possible_rows(self, size: int) -> Rows | None:
        """Return rows, ascending, among which are the `size` best.

        Return None if all rows must be scored to find them.
        """
        common = [match for match in self._matches if not match.term_matches.is_computed]
        common.sort(key=lambda match: match.max_score)
        scores = sum_scores([match for match in self._matches if match.term_matches.is_computed], self._count)
        while common:
            top_floor = float(_top_k_floor(scores, size, np.float32(0)))
            # Sums in another order differ in their last bits.
            floor = 0.999 * top_floor - sum(match.max_score for match in common)
            rows = np.flatnonzero(scores >= floor).astype(np.int32) if floor > 0 else None
            if rows is not None and len(rows) * _MIN_SKIP_RATIO <= self._count:
                return rows
            match = common.pop()
            scores[match.rows] += match.scores
        return None


MIN_ROWS_OF_THREAD = 50_000
"""Rows above which cosines are computed in a second thread: they then take ten times as long as its start."""


class QuerySimilarities:
    """The cosine of each row to a query, computed only as far as needed, and the mean cosine.

    Without a vector of the query, all cosines are 0. In a large vault, approximate cosines of all rows select possible
    candidates, of which exact cosines are computed: the same rows and cosines in half of the time. The mean is then
    computed from the mean vector.
    """

    def __init__(self, query: Floats | None, vectors: Vectors, snapshot: Corpus, *, selects_rows: bool = True) -> None:
        """Compare a query's vector with `vectors`, which have a row for each fragment of `snapshot`.

        Without `selects_rows` only `cosines_at` and `mean` are needed: no row is computed before it is asked for.
        """
        self._is_note = snapshot.is_note_row
        self._matrix = vectors if query is not None else None
        self.query = query if query is not None else np.zeros(0, np.float32)
        self._values = np.zeros(snapshot.lexical.doc_count, np.float32)
        self._max_error = 0.0
        self._exact: Flags | None = None
        self._approximation: Callable[[], tuple[Floats, float]] | None = None
        self._top_rows: tuple[int, Rows] | None = None
        self.mean = 0.0
        if self._matrix is None:
            return
        if not selects_rows:
            self._exact = np.zeros(len(self._values), np.bool_)
            self.mean = self._matrix.mean_similarity(self.query)
        elif not snapshot.is_complete:
            self._values = self._matrix.similarities(self.query)
            self.mean = self._matrix.mean_similarity(self.query)
        elif self._is_note is not None:
            self._values = self._matrix.similarities(self.query)
            self.mean = float(self._values[self._is_note].mean(dtype=np.float64))
        elif len(self._values) > _STRIPE_LENGTH * POOL_SIZE:
            self._approximation = partial(self._matrix.approximate_similarities, self.query)
            if len(self._values) > MIN_ROWS_OF_THREAD:
                self._approximation = start_in_thread(self._approximation)
            self._exact = np.zeros(len(self._values), np.bool_)
            self.mean = self._matrix.mean_similarity(self.query)
        else:
            self._values = self._matrix.similarities(self.query)
            # Not the cosine of the mean vector, which is rounded differently: a single fragment would be above it.
            self.mean = float(self._values.mean(dtype=np.float64)) if len(self._values) else 0.0

    def __len__(self) -> int:
        return len(self._values)

    def limit_to_rows(self, is_allowed: Flags) -> None:
        """Set the cosines of rows that `is_allowed` does not flag to the mean, so that they are no candidates."""
        self._receive_approximation()
        is_excluded = ~is_allowed
        self._values[is_excluded] = self.mean
        if self._exact is not None:
            self._exact[is_excluded] = True
        self._top_rows = None

    @property
    def all_cosines(self) -> Floats:
        """The exact cosines of all rows."""
        if self._exact is not None:
            self.cosines_at(np.flatnonzero(~self._exact).astype(np.int32))
        return self._values

    def _receive_approximation(self) -> None:
        """Wait for the approximate cosines, if they are still being computed."""
        if self._approximation is not None:
            (self._values, self._max_error), self._approximation = self._approximation(), None

    def cosines_at(self, rows: Rows) -> Floats:
        """Return the exact cosines of `rows`, which may be in any order."""
        self._receive_approximation()
        if self._exact is not None and self._matrix is not None:
            inexact = rows[~self._exact[rows]]
            if len(inexact):
                inexact = merge_rows(inexact)
                self._values[inexact] = self._matrix.similarities_at(self.query, inexact)
                self._exact[inexact] = True
        cosines: Floats = self._values[rows]
        return cosines

    def top_rows(self, size: int) -> Rows:
        """Return the rows of the `size` highest cosines above the mean, ascending; ties go to the lower row.

        With attachments, return up to `size` rows of notes and up to `size` rows of attachments.
        """
        if self._top_rows is None or self._top_rows[0] != size:
            self._top_rows = size, self._select_top_rows(size)
        return self._top_rows[1]

    def _select_top_rows(self, size: int) -> Rows:
        if self._is_note is not None:
            parts = (np.where(is_kind, self._values, np.float32(-1)) for is_kind in (self._is_note, ~self._is_note))
            return merge_rows(*(top_k(values, size, self.mean) for values in parts))
        if self._exact is None:
            return top_k(self._values, size, self.mean)
        self._receive_approximation()
        # Two compared cosines may have errors in opposite directions.
        threshold = float(_top_k_floor(self._values, size, np.float32(-1))) - 2 * self._max_error
        rows = np.flatnonzero(self._values >= np.float32(threshold)).astype(np.int32)
        return rows[top_k(self.cosines_at(rows), size, self.mean)]


POOL_SIZE = 200
"""Default number of candidates by words, and of candidates by meaning.

All candidates are scored by all signals. The POOL_SIZE fragments of the whole vault that are nearest in meaning match
even without a word of the query.
"""

MAX_LANGUAGES = 4
"""Maximum number of languages in which query words are stemmed: the commonest languages of the vault."""

RARE_WORD_SHARE, RARE_WORD_COUNT = 0.01, 10
"""An exact word (such as a code) is rare if at most this share, or this number, of fragments have it."""
MAX_EXACT_WORD_LENGTH = 100
"""Maximum number of characters of an exact word; a longer word is data, not a name."""

_PUNCTUATION = ".,;:!?()[]{}<>'`*"
# A code (E0308, 0x80070005, 1.0.21), words joined by symbols (settings.json, std::vector, snake_case), camelCase,
# Verb-Noun.
_EXACT_WORD = lazy_pattern(
    r"(?!\d+(?:s|st|nd|rd|th)$)(?=.*[A-Za-z])(?=.*\d)[\w.\-]+|\d+(?:\.\d+){2,}|.*\w(?:[_.\\]|::)+\w\w.*|.*[a-z][A-Z].*"
    r"|[A-Z]\w+-[A-Z]\w+",
    re.ASCII,
)

# After these marks the same word may continue: "journal/" may become "journal/scratch", "Sync'" "Sync's".
_ENDS_WITH_JOINING_MARK = lazy_pattern(r"\w['’/_-]\Z")

FUNCTION_WORD_WEIGHT = 0.3
"""Weight, 0 to 1, of a word like "the" in a vault whose language is not English."""


class Evidence(Struct, frozen=True):
    """The evidence that one query collects about all rows.

    `words`: the query words with the terms that match each word; `matches` has the matching rows of each.
    `extra_words`: terms of the query text that are not searched for, such as single characters beside pairs, and parts
    of compounds that only match as a whole. A title with such terms does not count as longer than the query.
    `scores`: the BM25F score of each row. `similarities`: the cosine of each row to the query.
    `meaning_factor`: the factor, 0 to 1, for the signals of meaning. `is_without_meaning`: the vector of the query is
    not ready, so that all cosines and the factor are 0.
    `static_similarities` and `static_factor` are the same of the static model, by whose cosines confidence was fitted.
    `named_rows`: the rows of notes whose title, file name or alias is the query.
    `word_count`: the number of words that a person would count.
    `is_allowed` flags the rows that pass the filters; None if all do.
    `is_match` flags the rows that pass the filters and match: they have a word of the query, belong to a named note, or
    are among the POOL_SIZE nearest in meaning of the whole vault. If the query has a phrase, or only filters, all
    allowed rows match. Filters therefore partition the matches of a query. The list of hits may also have rows that do
    not match: the nearest allowed ones.
    `has_exact_words` flags the rows that have all phrases and exact words (such as codes) of the query as typed; None
    if the query has none.
    `corpus_size`: the number of fragments in the vault; there are fewer rows if not all are loaded.
    `absent_stop_share`: the share of the words' idf that belongs to stop words which the vault lacks.
    `periods`: the periods that the query names. `time`: how near each row's date is to them, 0 to 1; None if
    none is. `is_period_word` flags the words that name a period: their absence from a text says nothing.
    `finished_terms`: how many of `words` are before the word that is still being typed; `finished_word_count`: the
    number of these that a person would count.
    """

    words: tuple[ExpandedWord, ...]
    extra_words: tuple[ExpandedWord, ...]
    matches: tuple[WordMatches, ...]
    scores: WordScores
    similarities: QuerySimilarities
    meaning_factor: float
    is_without_meaning: bool
    static_similarities: QuerySimilarities
    static_factor: float
    named_rows: Rows
    word_count: int
    is_allowed: Flags | None
    is_match: Flags
    has_exact_words: Flags | None
    corpus_size: int
    absent_stop_share: float
    periods: tuple[NamedPeriod, ...]
    time: Floats | None
    is_period_word: Flags
    finished_terms: int
    finished_word_count: int

    @property
    def is_meaning_trusted(self) -> bool:
        """Whether the model is trusted in the vault's first language and in the script of the query."""
        return self.meaning_factor > UNTRUSTED_FACTOR


def _absent_stop_share(
    words: Sequence[ExpandedWord], matches: Sequence[WordMatches], languages: Sequence[str]
) -> float:
    """Return the share of the idf of all words that belongs to stop words which no fragment has.

    A word that the vault lacks counts as the rarest of all, but a missing "when" or "how" says nothing about a passage.
    """
    absent = {fold(word.surface) for word, match in zip(words, matches, strict=True) if not match.count}
    if not absent:
        return 0.0
    stop_words = select_stop_words({fold(word.surface) for word in words}, ("en", *languages[:MAX_LANGUAGES]))
    idf_by_word = [(fold(word.surface), match.idf) for word, match in zip(words, matches, strict=True)]
    total = sum(idf for _, idf in idf_by_word)
    return sum(idf for word, idf in idf_by_word if word in absent & stop_words) / total if total else 0.0


def text_to_embed(query: Query, snapshot: Corpus, settings: Settings, today: date) -> str:
    """Return the text to embed for a query; "" if it has no words, or vectors are not trusted for its language."""
    text = remove_plain_marks(query.words, today)
    if not text.strip() or not analyze_text(text, snapshot):
        return ""
    factor = compute_meaning_factor(text, snapshot.languages, trusted_languages(snapshot, settings.embedding))
    return text if factor else ""


def gather_evidence(
    query: Query,
    snapshot: Corpus,
    index: WordIndex,
    settings: Settings,
    today: date,
    *,
    query_vectors: QueryVectors,
) -> Evidence:
    """Collect the evidence of one query about all rows.

    Its relative dates, such as `7d`, count from `today`. `query_vectors` has the query's vector as soon as the
    embedding model has computed it.
    """
    periods = find_query_periods(query, today)
    period_words = {
        fold(word.surface)
        for period in periods
        for word in analyze_text(query.words[period.start : period.end], snapshot)
    }
    query = replace(query, words=remove_plain_marks(query.words, today))
    query_words = analyze_text(query.words, snapshot)
    is_open = query.open_word or _ENDS_WITH_JOINING_MARK.search(query.words) is not None
    finished_terms = _count_finished_terms(query_words, open_word=is_open)
    has_text = bool(query_words) and bool(query.words.strip())
    vector = query_vectors.find(snapshot, query.words) if has_text else None
    # Before the words, which are matched while another thread may compute cosines.
    similarities = static_similarities = QuerySimilarities(vector, snapshot.search_vectors, snapshot)
    words = index.expand(query_words, open_word=query.open_word, fuzzy_threshold=settings.search.fuzzy_threshold)
    shares = compute_language_shares(words, snapshot)
    matches = tuple(index.match(word).with_share(share) for word, share in zip(words, shares, strict=True))
    meaning_factor = compute_meaning_factor(
        query.words, snapshot.languages, trusted_languages(snapshot, settings.embedding)
    )
    static_factor, is_without_meaning = meaning_factor, False
    if has_chosen_embedder(snapshot):
        is_without_meaning = has_text and meaning_factor > 0 and vector is None
        meaning_factor = 0.0 if is_without_meaning else meaning_factor
        static_vector = snapshot.embedder.embed_query(query.words) if has_text else None
        static_similarities = QuerySimilarities(static_vector, snapshot.vectors, snapshot, selects_rows=False)
        static_factor = compute_meaning_factor(
            query.words, snapshot.languages, static_languages(snapshot, settings.embedding)
        )
    named_rows = _find_named_rows(query.words, snapshot) if query_words else NO_ROWS
    is_allowed = filters.flag_allowed_rows(query, snapshot, lambda text: analyze_text(text, snapshot), today)
    scores = WordScores(matches, snapshot.lexical.doc_count, is_allowed, snapshot.is_note_row)
    is_match = scores.flag_matching_rows()
    is_match[named_rows] = True
    if not is_match.any() and len(find_exact_words(query.words)) == len(query.words.split()):
        # An identifier that no note has is not meant: what is near it in meaning would be chance.
        meaning_factor = static_factor = 0.0
    is_match[similarities.top_rows(POOL_SIZE) if meaning_factor else NO_ROWS] = True
    if is_allowed is not None:
        similarities.limit_to_rows(is_allowed)
        named_rows = named_rows[is_allowed[named_rows]]
        is_match = is_match & is_allowed if words and not query.phrases else is_allowed
    return Evidence(
        words=words,
        extra_words=_find_extra_words(query.words, words, snapshot),
        matches=matches,
        scores=scores,
        similarities=similarities,
        meaning_factor=meaning_factor,
        is_without_meaning=is_without_meaning,
        static_similarities=static_similarities,
        static_factor=static_factor,
        named_rows=named_rows,
        word_count=count_words(query_words),
        is_allowed=is_allowed,
        is_match=is_match,
        has_exact_words=_flag_rows_with_exact_words(query, snapshot, is_allowed),
        corpus_size=snapshot.lexical.corpus_size,
        absent_stop_share=_absent_stop_share(words, matches, snapshot.languages),
        periods=periods,
        time=score_time(snapshot, periods),
        is_period_word=np.array([fold(word.surface) in period_words for word in words], np.bool_),
        finished_terms=finished_terms,
        finished_word_count=count_words(query_words[:finished_terms]),
    )


def _count_finished_terms(words: Sequence[QueryWord], *, open_word: bool) -> int:
    """Return the number of words before the one that is still being typed, of which `words` may have several parts."""
    if not (open_word and words):
        return len(words)
    end = max(word.end for word in words)
    start = min(word.start for word in words if word.end == end)
    return sum(word.start < start for word in words)


def drop_open_word(evidence: Evidence, snapshot: Corpus) -> Evidence:
    """Return the evidence without the word that is still being typed; the evidence by meaning stays."""
    words, matches = evidence.words[: evidence.finished_terms], evidence.matches[: evidence.finished_terms]
    return replace(
        evidence,
        words=words,
        matches=matches,
        scores=WordScores(matches, len(evidence.scores), evidence.is_allowed, snapshot.is_note_row),
        word_count=evidence.finished_word_count,
        absent_stop_share=_absent_stop_share(words, matches, snapshot.languages),
        is_period_word=evidence.is_period_word[: evidence.finished_terms],
    )


def analyze_text(text: str, snapshot: Corpus) -> list[QueryWord]:
    """Return the words of `text` with their terms: stems in the vault's MAX_LANGUAGES commonest languages."""
    return query_terms(text, snapshot.languages[:MAX_LANGUAGES])


def find_exact_words(text: str) -> list[str]:
    """Return the words of `text` that are codes, file names or identifiers; these only match as typed."""
    stripped = (word.strip(_PUNCTUATION) for word in text.split())
    return [
        word
        for word in stripped
        if len(word) <= MAX_EXACT_WORD_LENGTH and word.isascii() and _EXACT_WORD.fullmatch(word)
    ]


def _flag_rows_with_exact_words(query: Query, snapshot: Corpus, is_allowed: Flags | None) -> Flags | None:
    """Return a flag for each row: whether it has all phrases and exact words of a query as typed.

    Return None if the query has neither. A name in mixed case counts only if the query has no other words. No flag is
    set if one of the exact words is in no fragment or is not rare.
    """
    if query.phrases:  # all allowed rows have them
        return is_allowed
    exact = find_exact_words(query.words)
    if len(exact) < len(query.words.split()):
        # A name such as PowerShell, beside other words, is in most questions about its subject.
        exact = [word for word in exact if not word.isalpha()]
    if not exact:
        return None
    count = snapshot.lexical.doc_count
    match_counts = np.zeros(count, np.intp)
    for word in exact:
        words = analyze_text(word, snapshot)
        # `iOS` is searched as a whole: texts without it may have its parts.
        words = [part for part in words if part.end - part.start == len(word)][:1] or words
        rows = find_word_sequence(snapshot.lexical, words) if words else NO_ROWS
        terms = words[0].terms if len(words) == 1 else ()
        known = snapshot.lexical.document_frequency(terms) if terms else None
        count_of_word = len(rows) if known is None else max(len(rows), known.fragments)
        if not 0 < count_of_word <= max(RARE_WORD_COUNT, RARE_WORD_SHARE * snapshot.lexical.corpus_size):
            return np.zeros(count, np.bool_)
        match_counts[rows] += 1
    has_all: Flags = match_counts == len(exact)
    return has_all


def count_words(words: Sequence[QueryWord]) -> int:
    """Return the number of words that a person would count: a compound is one word.

    Of overlapping character pairs in a script without spaces, each further pair counts half a word.
    """
    count, end, whole_end = 0.0, 0, 0
    for word in words:
        if word.start < whole_end:
            continue
        count += 0.5 if word.start < end else 1.0
        end = word.end
        if word.is_compound:
            whole_end = word.end
    return int(count + 0.5)


def compute_language_shares(words: Sequence[ExpandedWord], snapshot: Corpus) -> list[float]:
    """Return the importance, 0 to 1, that each word has in its language, whatever its rarity in the vault.

    In a small vault the function words of a question are as rare as its nouns. The model has weights of English words;
    for other languages, the words in a list of function words get FUNCTION_WORD_WEIGHT.
    """
    languages = snapshot.languages[:MAX_LANGUAGES]
    if not languages or languages[0] == "en":
        plain = [word.surface for word in words if word.surface.isascii() and word.surface.isalpha()]
        known = dict(zip(plain, snapshot.embedder.word_weights(plain).tolist(), strict=True))
        return [known.get(word.surface, 1.0) for word in words]
    return [FUNCTION_WORD_WEIGHT if is_function_word(fold(word.surface), languages) else 1.0 for word in words]


def _find_extra_words(text: str, words: Sequence[ExpandedWord], snapshot: Corpus) -> tuple[ExpandedWord, ...]:
    query_terms = {term for word in words for term in word.terms}
    extra = {
        term
        for language in (*snapshot.languages[:MAX_LANGUAGES], "")
        for term in words_of(text, language)
        if term not in query_terms
    }
    return tuple(ExpandedWord(term, (TermTier((term,), 1.0),), 0) for term in sorted(extra))


def _find_named_rows(text: str, snapshot: Corpus) -> Rows:
    notes = snapshot.notes_named(text)
    return np.flatnonzero(np.isin(snapshot.table.notes, notes)).astype(np.int32) if notes else NO_ROWS
