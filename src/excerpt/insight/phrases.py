"""The words of fragments and the pairs that they stand in, as one would name a theme by them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import log
from statistics import fmean

from excerpt.index.lexical_reader import LexicalReader
from excerpt.insight.plain import prose_of
from excerpt.insight.topic import Topic
from excerpt.model import Fragment
from excerpt.text.folding import fold
from excerpt.text.languages import WIDE_CHARACTERS, is_function_word
from excerpt.text.words import chunks_of, terms_of

Key = tuple[str, ...]
"""The terms of a word or of a pair of words."""

PAIR = 1.35
"""What a pair of words counts beside one word: "version history" names a thing where "history" does not."""
TOGETHER = 0.6
"""The share of its rarer word's fragments that have a pair, from which it is a term."""
RARE = 0.7
"""How much of what a word counts hangs on how rare it is in the vault."""
COMMON = 0.2
"""A word that more than this share of all fragments has sets nothing apart, nor does a pair with it."""
SHORTEST = 3
"""Letters of a word that names something, unless it is in capitals."""
LEAST_TELLING = 0.55
"""How much a word must say in general language, where the model knows that (`Embedder.telling`)."""

# Contractions, genitives, paths and addresses name no theme.
_NAMELESS = re.compile(r"['’/\\@]")
# Names in code, errors and versions are in no pair.
_SYMBOL = re.compile(r"[\d_]")
_WIDE = re.compile(f"[{WIDE_CHARACTERS}]")
_SCRIPT = re.compile("[\u30a1-\u30fa\u30fc]{2,}|[\uac00-\ud7a3]{2,}|[\u3400-\u4dbf\u4e00-\u9fff]{2,}")
# Chinese characters that stand between words far more often than in them; Japanese has its own script for that.
_BETWEEN = re.compile(
    "[的了在是和与或不也就都而及这那你我他她它们个上下中里为以会可能要有到从将把被对等请并但如果时后前所其此该每使用之于则且只还很更最又"
    "已没无让给向由因当您某另各再些么什吗呢吧啊着过得地]"
)
_LONGEST_WORD = 4
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True)
class Phrases:
    """The words and pairs of some fragments: `of` each, and `counts` of the fragments that have them."""

    of: list[set[Key]]
    counts: Counter[Key]
    _spellings: Mapping[Key, Counter[str]] = field(repr=False)
    _telling: dict[str, float] = field(repr=False)
    _reader: LexicalReader = field(repr=False)
    _rarities: dict[str, float] = field(default_factory=dict, repr=False)

    def spelled(self, key: Key) -> str:
        """As it is written most often; of equals without capitals."""
        spellings = self._spellings[key]
        return min(spellings, key=lambda spelling: (-spellings[spelling], spelling.swapcase()))

    def weight(self, key: Key) -> float:
        """How well it names something, beside a plain word."""
        rarities = [self._rarity(term) for term in key]
        if min(rarities) < self._rarity_of(COMMON):
            return 0.0
        telling = fmean(self._telling[term] * (1 - RARE + RARE * one) for term, one in zip(key, rarities, strict=True))
        return telling * (PAIR if self._is_term(key) else 1.0)

    def _is_term(self, key: Key) -> bool:
        """Whether a pair is a term of its own: one of its words rarely stands without the other."""
        return len(key) > 1 and self.counts[key] >= TOGETHER * min(
            self.counts[term,] for term in key if (term,) in self.counts
        )

    def _rarity(self, term: str) -> float:
        """How rare a word is in the vault: 0 for one that all fragments have, 1 for one that one has; about, as deleted
        fragments count until the index is tidied up."""
        if term not in self._rarities:
            # A word of a script without spaces is indexed by its pairs of characters.
            pairs = [term[at : at + 2] for at in range(len(term) - 1)] if _WIDE.match(term) else [term]
            having = min(map(self._reader.count, pairs))
            self._rarities[term] = self._rarity_of(having / max(self._reader.doc_count, 1))
        return self._rarities[term]

    def _rarity_of(self, share: float) -> float:
        """That of a word that a share of all fragments has."""
        count = max(self._reader.doc_count, 2)
        return min(max(-log(max(share, 1 / count)) / log(count), 0.0), 1.0)


def phrases_of(topic: Topic, fragments: Sequence[Fragment], notes: Sequence[int]) -> Phrases:
    """The words and pairs that may name a theme of a topic: not the topic's own words, unless beside another, and
    none that say little."""
    asked = frozenset(term for word in topic.asked for term in word.terms)
    languages = topic.snapshot.table.languages
    vocabulary = _Vocabulary(topic)
    of: list[set[Key]] = []
    spellings: defaultdict[Key, Counter[str]] = defaultdict(Counter)
    for fragment, note in zip(fragments, notes, strict=True):
        found: set[Key] = set()
        for line in prose_of(fragment.text).split("\n"):
            _take(vocabulary.words(line, languages[note]), asked, found, spellings)
        of.append(found)
    counts = Counter(key for found in of for key in found)
    return Phrases(of, counts, spellings, vocabulary.telling, topic.snapshot.lexical)


_Word = tuple[str, str] | None
"""Spelling and term; None where a word stands that names nothing."""


def _take(
    words: Sequence[_Word], asked: frozenset[str], found: set[Key], spellings: defaultdict[Key, Counter[str]]
) -> None:
    for one in words:
        if one is not None and one[1] not in asked:
            found.add((one[1],))
            spellings[one[1],][one[0]] += 1
    for one, other in pairwise(words):
        if one is None or other is None or one[1] == other[1] or {one[1], other[1]} <= asked:
            continue
        if _SYMBOL.search(one[0]) or _SYMBOL.search(other[0]):
            continue
        found.add((one[1], other[1]))
        spellings[one[1], other[1]][f"{one[0]} {other[0]}"] += 1


def _wide_words(text: str, asked: Sequence[str]) -> Iterator[str]:
    """What is probably a word in a text without spaces: there is no dictionary. Words of a foreign script and whole
    Korean ones; of Chinese characters, two to four between particles and the words that were asked for."""
    for found in _SCRIPT.findall(text):
        if not "\u3400" <= found[0] <= "\u9fff":
            yield found
            continue
        for word in asked:
            found = found.replace(word, "的")  # noqa: PLW2901
        yield from (piece for piece in _BETWEEN.split(found) if 2 <= len(piece) <= _LONGEST_WORD)


class _Vocabulary:
    """Which words of a vault's notes name something; keeps what it found of each."""

    def __init__(self, topic: Topic) -> None:
        self._snapshot = topic.snapshot
        self._asked = tuple(term for word in topic.asked for term in word.terms if _WIDE.match(term))
        self._english = not topic.snapshot.languages or topic.snapshot.languages[0] == "en"
        self._known: dict[tuple[str, str], _Word] = {}
        self.telling: dict[str, float] = {}

    def words(self, line: str, language: str) -> list[_Word]:
        """The words of a line in their order."""
        found: list[_Word] = []
        for chunk, size in chunks_of(line):
            if size:
                whole = unicodedata.normalize("NFKC", chunk)
                for word in _wide_words(whole, self._asked):
                    found += [self._word(word, language, wide=True), None]
            else:
                found.append(self._word(chunk, language))
        return found

    def _word(self, chunk: str, language: str, *, wide: bool = False) -> _Word:
        key = (chunk, language)
        if key not in self._known:
            self._known[key] = self._look(chunk, language, wide=wide)
        return self._known[key]

    def _look(self, chunk: str, language: str, *, wide: bool) -> _Word:
        if _NAMELESS.search(chunk) or not _LETTER.search(chunk):
            return None
        if len(chunk) < (2 if wide else SHORTEST) and not chunk.isupper():
            return None
        folded = fold(chunk)
        if is_function_word(folded, (language, "en") if language else ("en",)):
            return None
        says = 1.0
        if self._english and folded.isascii() and folded.isalpha():
            says = float(self._snapshot.embedder.telling([folded])[0])
        if says < LEAST_TELLING:
            return None
        term = chunk if wide else terms_of(chunk, language)[0][0]
        self.telling[term] = max(self.telling.get(term, 0.0), says)
        return chunk, term
