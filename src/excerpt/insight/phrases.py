"""Words and pairs of words in a topic's best fragments, and how specific each is."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import log
from statistics import fmean

from excerpt.base.model import Fragment
from excerpt.base.patterns import lazy_pattern
from excerpt.corpus.interface import Terms
from excerpt.insight.passages import extract_prose
from excerpt.insight.topic import Topic
from excerpt.text.folding import fold
from excerpt.text.languages import WIDE_CHARACTERS, is_function_word
from excerpt.text.words import chunks_of, terms_of

Key = tuple[str, ...]
"""The terms of a word or of a pair of words."""

PAIR_WEIGHT = 1.35
"""The weight of a pair relative to one word: "version history" names a thing where "history" does not."""
MIN_PAIR_SHARE = 0.6
"""A pair is a term of its own if at least this share of its rarer word's fragments have the pair."""
RARITY_SHARE = 0.7
"""The share of a word's weight that depends on its rarity in the vault."""
COMMON_WORD_SHARE = 0.2
"""A word that more than this share of all fragments have names no theme, and neither does a pair with the word."""
MIN_WORD_LETTERS = 3
"""The fewest letters of a word that can name something, unless it is in capitals."""
MIN_LANGUAGE_WEIGHT = 0.55
"""The least weight in general language (0 common, 1 specific) of a word that the model knows."""

# Contractions, genitives, paths and addresses name no theme.
_NAMELESS = lazy_pattern(r"['’/\\@]")
# Names in code, errors and versions do not form pairs.
_SYMBOL = lazy_pattern(r"[\d_]")
_WIDE = lazy_pattern(f"[{WIDE_CHARACTERS}]")
_UNSPACED_RUN = lazy_pattern("[\u30a1-\u30fa\u30fc]{2,}|[\uac00-\ud7a3]{2,}|[\u3400-\u4dbf\u4e00-\u9fff]{2,}")
# Chinese characters that occur between words far more often than within them; Japanese has a separate script for these.
_PARTICLES = lazy_pattern(
    "[的了在是和与或不也就都而及这那你我他她它们个上下中里为以会可能要有到从将把被对等请并但如果时后前所其此该每使用之于则且只还很更最又"
    "已没无让给向由因当您某另各再些么什吗呢吧啊着过得地]"
)
_MAX_CHINESE_WORD_CHARS = 4
_LETTER = lazy_pattern(r"[^\W\d_]")


@dataclass(frozen=True)
class Phrases:
    """The words and pairs of words in some fragments, each as a key of one or two terms.

    `keys_by_fragment` holds the keys of each fragment, and `counts` the number of fragments with each key.
    """

    keys_by_fragment: list[set[Key]]
    counts: Counter[Key]
    _spellings: Mapping[Key, Counter[str]] = field(repr=False)
    _language_weights: dict[str, float] = field(repr=False)
    _terms: Terms = field(repr=False)
    _rarities: dict[str, float] = field(default_factory=dict, repr=False)

    def spelling(self, key: Key) -> str:
        """Return the commonest spelling of the word or pair; ties go to the spelling without capitals."""
        spellings = self._spellings[key]
        return min(spellings, key=lambda spelling: (-spellings[spelling], spelling.swapcase()))

    def weight(self, key: Key) -> float:
        """Return how well a word or pair names a theme, 0 (one of its words is common in the vault) to PAIR_WEIGHT."""
        rarities = [self._word_rarity(term) for term in key]
        if min(rarities) < self._rarity_from_share(COMMON_WORD_SHARE):
            return 0.0
        weight = fmean(
            self._language_weights[term] * (1 - RARITY_SHARE + RARITY_SHARE * share)
            for term, share in zip(key, rarities, strict=True)
        )
        return weight * (PAIR_WEIGHT if self._is_term(key) else 1.0)

    def _is_term(self, key: Key) -> bool:
        """Return whether a pair of words is a term, as "search engine" is: one word rarely occurs without the other."""
        return len(key) > 1 and self.counts[key] >= MIN_PAIR_SHARE * min(
            self.counts[term,] for term in key if (term,) in self.counts
        )

    def prefetch_rarities(self, keys: Iterable[Key]) -> None:
        """Look up, in one query, the number of fragments with each word of `keys`."""
        self._terms.prefetch_document_frequencies(
            [part for key in keys for term in key for part in self._index_terms(term)]
        )

    @staticmethod
    def _index_terms(term: str) -> Sequence[str]:
        """Return the index terms of a word; in a script without spaces, these are its pairs of characters."""
        return [term[at : at + 2] for at in range(len(term) - 1)] if _WIDE.match(term) else [term]

    def _word_rarity(self, term: str) -> float:
        """Return the rarity of a word in the vault: 0 if all fragments have the word, 1 if only one has.

        The value is approximate, because deleted fragments count until the index's segments are merged.
        """
        if term not in self._rarities:
            note_count = min(map(self._terms.count, self._index_terms(term)))
            self._rarities[term] = self._rarity_from_share(note_count / max(self._terms.corpus_size, 1))
        return self._rarities[term]

    def _rarity_from_share(self, share: float) -> float:
        """Return the rarity, 0 to 1, of a word that `share` (0 to 1) of all fragments have."""
        count = max(self._terms.corpus_size, 2)
        return min(max(-log(max(share, 1 / count)) / log(count), 0.0), 1.0)


def extract_phrases(topic: Topic, fragments: Sequence[Fragment], notes: Sequence[int]) -> Phrases:
    """Return the words and pairs of words in `fragments` that may name a theme of the topic.

    `notes` are the numbers of the fragments' notes. The topic's own words are left out, except in a pair with another
    word; words of little weight are left out too.
    """
    query_terms = frozenset(term for word in topic.query_words for term in word.terms)
    languages = topic.snapshot.table.languages
    vocabulary = _Vocabulary(topic)
    keys_by_fragment: list[set[Key]] = []
    spellings: defaultdict[Key, Counter[str]] = defaultdict(Counter)
    for fragment, note in zip(fragments, notes, strict=True):
        keys: set[Key] = set()
        for line in extract_prose(fragment.text).split("\n"):
            _collect_keys(vocabulary.words(line, languages[note]), query_terms, keys, spellings)
        keys_by_fragment.append(keys)
    counts = Counter(key for keys in keys_by_fragment for key in keys)
    return Phrases(keys_by_fragment, counts, spellings, vocabulary.language_weights, topic.snapshot.lexical)


_WordAndTerm = tuple[str, str] | None
"""A word's spelling and its term; None for a word that cannot name a theme."""


def _collect_keys(
    words: Sequence[_WordAndTerm],
    query_terms: frozenset[str],
    keys: set[Key],
    spellings: defaultdict[Key, Counter[str]],
) -> None:
    for word in words:
        if word is not None and word[1] not in query_terms:
            keys.add((word[1],))
            spellings[word[1],][word[0]] += 1
    for word, other in pairwise(words):
        if word is None or other is None or word[1] == other[1] or {word[1], other[1]} <= query_terms:
            continue
        if _SYMBOL.search(word[0]) or _SYMBOL.search(other[0]):
            continue
        keys.add((word[1], other[1]))
        spellings[word[1], other[1]][f"{word[0]} {other[0]}"] += 1


def _split_unspaced_text(text: str, query_words: Sequence[str]) -> Iterator[str]:
    """Yield probable words of a text in a script without spaces, found without a dictionary.

    Runs of katakana or Korean are whole words. Chinese characters are split at particles and at `query_words`; parts of
    two to four characters are words.
    """
    for run in _UNSPACED_RUN.findall(text):
        if not "\u3400" <= run[0] <= "\u9fff":
            yield run
            continue
        for word in query_words:
            run = run.replace(word, "的")  # noqa: PLW2901
        yield from (piece for piece in _PARTICLES.split(run) if 2 <= len(piece) <= _MAX_CHINESE_WORD_CHARS)


class _Vocabulary:
    """Finds the words of a text that can name a theme; caches the results."""

    def __init__(self, topic: Topic) -> None:
        self._snapshot = topic.snapshot
        self._wide_terms = tuple(term for word in topic.query_words for term in word.terms if _WIDE.match(term))
        self._english = not topic.snapshot.languages or topic.snapshot.languages[0] == "en"
        self._cached_words: dict[tuple[str, str], _WordAndTerm] = {}
        self.language_weights: dict[str, float] = {}

    def words(self, line: str, language: str) -> list[_WordAndTerm]:
        """Return the words of `line` in order, with None for words that cannot name a theme."""
        words: list[_WordAndTerm] = []
        for chunk, size in chunks_of(line):
            if size:
                whole = unicodedata.normalize("NFKC", chunk)
                for word in _split_unspaced_text(whole, self._wide_terms):
                    words += [self._analyze_cached(word, language, wide=True), None]
            else:
                words.append(self._analyze_cached(chunk, language))
        return words

    def _analyze_cached(self, chunk: str, language: str, *, wide: bool = False) -> _WordAndTerm:
        key = (chunk, language)
        if key not in self._cached_words:
            self._cached_words[key] = self._analyze_chunk(chunk, language, wide=wide)
        return self._cached_words[key]

    def _analyze_chunk(self, chunk: str, language: str, *, wide: bool) -> _WordAndTerm:
        if _NAMELESS.search(chunk) or not _LETTER.search(chunk):
            return None
        if len(chunk) < (2 if wide else MIN_WORD_LETTERS) and not chunk.isupper():
            return None
        folded = fold(chunk)
        if is_function_word(folded, (language, "en") if language else ("en",)):
            return None
        weight = 1.0
        if self._english and folded.isascii() and folded.isalpha():
            weight = float(self._snapshot.embedder.word_weights([folded])[0])
        if weight < MIN_LANGUAGE_WEIGHT:
            return None
        term = chunk if wide else terms_of(chunk, language)[0][0]
        self.language_weights[term] = max(self.language_weights.get(term, 0.0), weight)
        return chunk, term
