"""The themes of a topic: groups of fragments that are similar in meaning, and the words that name them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import log, sqrt
from statistics import fmean

import numpy as np
import numpy.typing as npt

from excerpt.corpus.interface import Terms
from excerpt.insight.overview_parts import Theme
from excerpt.insight.passages import prose_of
from excerpt.insight.topic import Topic
from excerpt.model import Fragment
from excerpt.text.words import WIDE_CHARACTERS, chunks_of, fold, is_function_word, terms_of

# --- groups -----------------------------------------------------------------------------------------------------------
# Grouping of similar vectors: agglomerative clustering by Ward's rule.
#
# Unlike k-means it is deterministic, and for a few hundred vectors as quick. Ward's groups are of similar size, while
# other rules yield one large group and many small ones.

Vectors = npt.NDArray[np.float32]


def groups_of(vectors: Vectors, count: int) -> list[list[int]]:
    """Return `count` groups of vectors, each as ascending positions in `vectors`, ordered by their first.

    If there are fewer vectors, each is one group.
    """
    size = len(vectors)
    members: dict[int, list[int]] = {row: [row] for row in range(size)}
    distances = _distances(vectors)
    while len(members) > max(count, 1):
        first, second = sorted(divmod(int(np.argmin(distances)), size))
        sizes = np.array([len(members.get(row, ())) for row in range(size)], np.float64)
        distances[first] = _merge_distances(distances, sizes, first, second)
        distances[:, first] = distances[first]
        distances[second] = distances[:, second] = np.inf
        distances[first, first] = np.inf
        members[first] += members.pop(second)
    return sorted(sorted(rows) for rows in members.values())


def _distances(vectors: Vectors) -> npt.NDArray[np.float64]:
    """Return squared distances, rounded so that ties are ties on any processor."""
    exact = vectors.astype(np.float64)
    squares = (exact**2).sum(axis=1)
    distances = np.round(np.maximum(squares[:, None] + squares - 2 * exact @ exact.T, 0), 6)
    np.fill_diagonal(distances, np.inf)
    return np.asarray(distances)


def _merge_distances(
    distances: npt.NDArray[np.float64], sizes: npt.NDArray[np.float64], first: int, second: int
) -> npt.NDArray[np.float64]:
    """Return the distances of the union of two groups from all others (Lance and Williams, 1967)."""
    total = sizes + sizes[first] + sizes[second]
    with np.errstate(invalid="ignore"):
        merged = (
            (sizes + sizes[first]) * distances[first]
            + (sizes + sizes[second]) * distances[second]
            - sizes * distances[first, second]
        ) / total
    return np.where(np.isfinite(distances[first]) & np.isfinite(distances[second]), merged, np.inf)


# --- phrases ----------------------------------------------------------------------------------------------------------
# The words and pairs of words in fragments by which a theme can be named.

Key = tuple[str, ...]
"""The terms of a word or of a pair of words."""

PAIR = 1.35
"""The weight of a pair relative to one word: "version history" names a thing where "history" does not."""
MIN_PAIR_SHARE = 0.6
"""The least share of its rarer word's fragments that must have a pair for it to count as a term."""
RARE = 0.7
"""The share of a word's weight that depends on its rarity in the vault."""
COMMON = 0.2
"""A word that more than this share of all fragments has is not distinctive, nor is a pair with it."""
SHORTEST = 3
"""The fewest letters of a word that can name something, unless it is in capitals."""
MIN_LANGUAGE_WEIGHT = 0.55
"""The least weight of a word in general language, if the model knows it (`Embedder.word_weights`)."""

# Contractions, genitives, paths and addresses name no theme.
_NAMELESS = re.compile(r"['’/\\@]")
# Names in code, errors and versions do not form pairs.
_SYMBOL = re.compile(r"[\d_]")
_WIDE = re.compile(f"[{WIDE_CHARACTERS}]")
_SCRIPT = re.compile("[\u30a1-\u30fa\u30fc]{2,}|[\uac00-\ud7a3]{2,}|[\u3400-\u4dbf\u4e00-\u9fff]{2,}")
# Chinese characters that occur between words far more often than within them; Japanese has a separate script for these.
_BETWEEN = re.compile(
    "[的了在是和与或不也就都而及这那你我他她它们个上下中里为以会可能要有到从将把被对等请并但如果时后前所其此该每使用之于则且只还很更最又"
    "已没无让给向由因当您某另各再些么什吗呢吧啊着过得地]"
)
_LONGEST_WORD = 4
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True)
class Phrases:
    """The words and pairs of some fragments.

    `of` are those of each fragment, and `counts` the number of fragments that have each.
    """

    of: list[set[Key]]
    counts: Counter[Key]
    _spellings: Mapping[Key, Counter[str]] = field(repr=False)
    _language_weights: dict[str, float] = field(repr=False)
    _reader: Terms = field(repr=False)
    _rarities: dict[str, float] = field(default_factory=dict, repr=False)

    def spelling(self, key: Key) -> str:
        """Return the commonest spelling; ties go to the one without capitals."""
        spellings = self._spellings[key]
        return min(spellings, key=lambda spelling: (-spellings[spelling], spelling.swapcase()))

    def weight(self, key: Key) -> float:
        """Return the weight of a word or pair as a name, 0 if one of its words is common in the vault."""
        rarities = [self._rarity(term) for term in key]
        if min(rarities) < self._rarity_of(COMMON):
            return 0.0
        weight = fmean(
            self._language_weights[term] * (1 - RARE + RARE * share) for term, share in zip(key, rarities, strict=True)
        )
        return weight * (PAIR if self._is_term(key) else 1.0)

    def _is_term(self, key: Key) -> bool:
        """Return whether a pair is a term of its own: one of its words rarely occurs without the other."""
        return len(key) > 1 and self.counts[key] >= MIN_PAIR_SHARE * min(
            self.counts[term,] for term in key if (term,) in self.counts
        )

    def learn(self, keys: Iterable[Key]) -> None:
        """Look up, in one query, the number of fragments with each word of `keys`."""
        self._reader.prefetch_counts([part for key in keys for term in key for part in self._indexed(term)])

    @staticmethod
    def _indexed(term: str) -> Sequence[str]:
        """Return the index terms of a word: in a script without spaces its pairs of characters."""
        return [term[at : at + 2] for at in range(len(term) - 1)] if _WIDE.match(term) else [term]

    def _rarity(self, term: str) -> float:
        """Return the rarity of a word in the vault: 0 if all fragments have it, 1 if only one has.

        It is approximate, because deleted fragments count until segments are merged.
        """
        if term not in self._rarities:
            note_count = min(map(self._reader.count, self._indexed(term)))
            self._rarities[term] = self._rarity_of(note_count / max(self._reader.corpus_size, 1))
        return self._rarities[term]

    def _rarity_of(self, share: float) -> float:
        """Return the rarity of a word that a share of all fragments has."""
        count = max(self._reader.corpus_size, 2)
        return min(max(-log(max(share, 1 / count)) / log(count), 0.0), 1.0)


def phrases_of(topic: Topic, fragments: Sequence[Fragment], notes: Sequence[int]) -> Phrases:
    """Return the words and pairs that may name a theme of a topic.

    The topic's own words count only in a pair with another, and words of little weight do not count.
    """
    query_terms = frozenset(term for word in topic.query_words for term in word.terms)
    languages = topic.snapshot.table.languages
    vocabulary = _Vocabulary(topic)
    of: list[set[Key]] = []
    spellings: defaultdict[Key, Counter[str]] = defaultdict(Counter)
    for fragment, note in zip(fragments, notes, strict=True):
        keys: set[Key] = set()
        for line in prose_of(fragment.text).split("\n"):
            _collect_keys(vocabulary.words(line, languages[note]), query_terms, keys, spellings)
        of.append(keys)
    counts = Counter(key for keys in of for key in keys)
    return Phrases(of, counts, spellings, vocabulary.language_weights, topic.snapshot.lexical)


_Word = tuple[str, str] | None
"""Spelling and term; None for a word that cannot name a theme."""


def _collect_keys(
    words: Sequence[_Word], query_terms: frozenset[str], keys: set[Key], spellings: defaultdict[Key, Counter[str]]
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


def _wide_words(text: str, query_words: Sequence[str]) -> Iterator[str]:
    """Yield probable words of a text without spaces, without a dictionary.

    These are words of a foreign script and whole Korean ones; of Chinese characters, two to four between particles and
    query words.
    """
    for run in _SCRIPT.findall(text):
        if not "\u3400" <= run[0] <= "\u9fff":
            yield run
            continue
        for word in query_words:
            run = run.replace(word, "的")  # noqa: PLW2901
        yield from (piece for piece in _BETWEEN.split(run) if 2 <= len(piece) <= _LONGEST_WORD)


class _Vocabulary:
    """The words of a vault's notes that can name something, with a cache of the results."""

    def __init__(self, topic: Topic) -> None:
        self._snapshot = topic.snapshot
        self._wide_terms = tuple(term for word in topic.query_words for term in word.terms if _WIDE.match(term))
        self._english = not topic.snapshot.languages or topic.snapshot.languages[0] == "en"
        self._known: dict[tuple[str, str], _Word] = {}
        self.language_weights: dict[str, float] = {}

    def words(self, line: str, language: str) -> list[_Word]:
        """Return the words of a line in order."""
        words: list[_Word] = []
        for chunk, size in chunks_of(line):
            if size:
                whole = unicodedata.normalize("NFKC", chunk)
                for word in _wide_words(whole, self._wide_terms):
                    words += [self._word(word, language, wide=True), None]
            else:
                words.append(self._word(chunk, language))
        return words

    def _word(self, chunk: str, language: str, *, wide: bool = False) -> _Word:
        key = (chunk, language)
        if key not in self._known:
            self._known[key] = self._analyze_chunk(chunk, language, wide=wide)
        return self._known[key]

    def _analyze_chunk(self, chunk: str, language: str, *, wide: bool) -> _Word:
        if _NAMELESS.search(chunk) or not _LETTER.search(chunk):
            return None
        if len(chunk) < (2 if wide else SHORTEST) and not chunk.isupper():
            return None
        folded = fold(chunk)
        if is_function_word(folded, (language, "en") if language else ("en",)):
            return None
        says = 1.0
        if self._english and folded.isascii() and folded.isalpha():
            says = float(self._snapshot.embedder.word_weights([folded])[0])
        if says < MIN_LANGUAGE_WEIGHT:
            return None
        term = chunk if wide else terms_of(chunk, language)[0][0]
        self.language_weights[term] = max(self.language_weights.get(term, 0.0), says)
        return chunk, term


# --- themes -----------------------------------------------------------------------------------------------------------
# The themes of a topic: groups of fragments that are similar in meaning, and the words that distinguish each.
#
# The words are those with the highest log-odds of occurring in a fragment of the group against the others of the topic,
# with an informative prior, as z-scores (Monroe, Colaresi and Quinn, 2008): so a word that two fragments have does not
# rank above one that twenty have and few others. The prior is the frequency in the topic as a whole.

GROUPED = 140
"""The number of fragments, the best ones, that are grouped."""
THEMES = 5
WORDS = 4
MIN_GROUPED = 8
"""The fewest fragments that are grouped."""
MIN = 3
"""The fewest fragments of a theme."""
WEIGHED = 60
"""Not used. The number of words and pairs whose rarity in the vault is looked up."""
PRIOR = 0.15
"""The strength of the prior in fragments, as a share of the fragments that are grouped."""
MIN_Z = 1.0
"""The least z-score of a word that distinguishes a theme."""
SPREAD, FEW = 0.15, 8
"""The least share of a theme's fragments that have a word that names it, and at least two; FEW is not used."""
SAME_NOTE = 0.25
"""The bonus for two fragments of one note: they share a subject that their words may not mention."""

Floats = npt.NDArray[np.float32]


def themes(topic: Topic) -> tuple[Theme, ...]:
    """Return the themes of a topic, the largest first; none if few fragments are about it."""
    rows = topic.best[:GROUPED]
    if len(rows) < MIN_GROUPED:
        return ()
    vectors = _vectors(topic, rows)
    group_count = min(max(round(sqrt(len(rows) / 2)), 2), THEMES + 2)
    groups = [group for group in groups_of(vectors, group_count) if len(group) >= MIN]
    groups.sort(key=lambda group: (-len(group), group))
    phrases = phrases_of(topic, topic.fragments(rows.tolist()), topic.best_notes[: len(rows)].tolist())
    notes = topic.best_notes
    result = [
        Theme(
            words=words,
            fragments=len(group),
            notes=len({int(notes[row]) for row in group}),
            share=len(group) / len(rows),
            place=topic.row_location(int(rows[_centre(vectors, group)])),
        )
        for group in groups
        if (words := _words(phrases, group, len(rows)))
    ]
    return tuple(result[:THEMES])


def _vectors(topic: Topic, rows: npt.NDArray[np.int32]) -> Floats:
    """Return the fragments' vectors relative to their mean, of length 1, with one more dimension for each note."""
    vectors = topic.snapshot.vectors.rows(rows)
    vectors = vectors - vectors.mean(axis=0)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
    notes = topic.snapshot.table.notes[rows]
    marks = (notes[:, None] == np.unique(notes)).astype(np.float32) * np.float32(sqrt(SAME_NOTE))
    return np.hstack([vectors, marks]).astype(np.float32)


def _centre(vectors: Floats, group: Sequence[int]) -> int:
    """Return the position of the vector nearest to the mean of its group; ties go to the highest-ranked."""
    mean = vectors[group].mean(axis=0)
    return group[int(np.argmax(np.round(vectors[group] @ mean, 5)))]


# --- words ------------------------------------------------------------------------------------------------------------


def _words(phrases: Phrases, group: Sequence[int], total: int) -> tuple[str, ...]:
    """Return the words and phrases that distinguish a group; no two have a term in common."""
    inside = Counter(key for row in group for key in phrases.of[row])
    distinctive = [
        (z, key)
        for key, count in inside.items()
        if count >= max(2, SPREAD * len(group)) and (z := _z(count, len(group), phrases.counts[key], total)) >= MIN_Z
    ]
    phrases.learn(key for _, key in distinctive)
    scored = [(z * phrases.weight(key), key) for z, key in distinctive]
    scored.sort(key=lambda pair: (-round(pair[0], 6), pair[1]))
    chosen: list[tuple[str, ...]] = []
    for _, key in scored:
        if not any(set(key) & set(other) for other in chosen):
            chosen.append(key)
        if len(chosen) == WORDS:
            break
    return tuple(phrases.spelling(key) for key in chosen)


def _z(inside: int, size: int, everywhere: int, total: int) -> float:
    """Return the z-score of the log-odds ratio of a word in a group's fragments against the others of `total`."""
    strength = PRIOR * total
    prior = strength * everywhere / total
    outside, others = everywhere - inside, total - size
    of_group = (inside + prior) / max(size + strength - inside - prior, 0.5)
    of_others = (outside + prior) / max(others + strength - outside - prior, 0.5)
    return (log(of_group) - log(of_others)) / sqrt(1 / (inside + prior) + 1 / (outside + prior))
