"""Positions of a query's words in the fragments shown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from excerpt.kinds import Strategy
from excerpt.model import Fragment, Span
from excerpt.search.bm25 import Word
from excerpt.search.evidence import Evidence
from excerpt.search.ranking import primary_strategy
from excerpt.text.words import WIDE_CHARACTERS, analyze, stem

# --- spans ------------------------------------------------------------------------------------------------------------
# Positions of the matches in a fragment's text, for highlighting.
#
# Fifty fragments are marked for every letter typed, so they are not analyzed each time: the analysis of each word is
# cached, and characters of scripts without spaces are searched unchanged.

_WIDE = re.compile(f"[{WIDE_CHARACTERS}]")
# Text between blanks and characters of scripts without spaces: no term extends over either.
_TOKEN = re.compile(rf"[^\s{WIDE_CHARACTERS}]+")
_NOT_ASCII = re.compile(r"(?<!\S)[^\s\x80-\U0010ffff]*[^\x00-\x7f]\S*")
# In plain text, between most punctuation as well. This only makes it faster.
_PLAIN = r"""[^\s!"$%()*,:;<=>?\[\]^`{|}~]"""
_TOKEN_END = re.compile(rf"{_PLAIN}*")
_PLAIN_CHARACTERS = frozenset(c for c in map(chr, range(128)) if re.match(_PLAIN, c))
_LETTERS_END = re.compile(r"[a-z0-9]*")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_EDGES = "-./\\@&'"  # no term begins or ends with these
# An English stem begins like its word, up to its last letter (using, use; try, tri), but for die, lie, tie (dying).
_KEEPS_BEGINNING = frozenset({"en", ""})
_BONDS = "-_.'&+"  # left out of some compounds' terms
_JOINERS = _BONDS + "/\\@#"  # occur within compounds
_WITHOUT_BONDS = str.maketrans("", "", _BONDS)
_FIRST_WITHOUT_SPACES = "\u0e01"  # Thai; all scripts written without spaces come after it
_LONGEST_GROUP = 3  # characters of the longest term of a script without spaces
_MAX_CACHED = 50_000
_MAX_CACHED_LENGTH = 64

_NEEDS_ANALYSIS = "odd"
_ANY_PART = ("",)
_NOTHING = re.compile(r"(?!)")

Piece = tuple[str, int, int]
SpanList = list[tuple[int, int]]


class SpanFinder:
    """Finder of matched words. Caches the analysis of the texts' words, and which of them match the last terms."""

    def __init__(self) -> None:
        self._pieces: dict[tuple[str, str], tuple[Piece, ...]] = {}
        self._terms: frozenset[str] = frozenset()
        self._shortest: tuple[str, ...] = ()
        self._longer: tuple[str, ...] = ()
        self._compound_parts: tuple[str, ...] = ()
        self._known: dict[tuple[str, str], SpanList] = {}
        self._words: dict[str, dict[str, bool | str]] = {}

    def find(self, text: str, terms: frozenset[str], language: str) -> tuple[Span, ...]:
        """Return where `terms` are in `text`, which is in `language`; ascending, overlapping ranges merged."""
        if terms != self._terms:
            self._terms = terms
            beginnings = sorted({_beginning(term) for term in terms} - {""})
            self._shortest = _shortest(beginnings)
            self._longer = tuple(beginning for beginning in beginnings if beginning not in self._shortest)
            self._compound_parts = tuple({part for beginning in beginnings for part in _before_joiners(beginning)})
            self._known, self._words = {}, {}
        if text.isascii():
            if language in _KEEPS_BEGINNING:
                return merged(self._spans_in_ascii(text, language))
            return merged(self._spans_in_tokens(text, _TOKEN.finditer(text), language))
        if language in _KEEPS_BEGINNING and not _WIDE.search(text):
            spans = self._spans_in_tokens(text, _NOT_ASCII.finditer(text), language)
            return merged(spans + self._spans_in_ascii(_NOT_ASCII.sub(_blank, text), language))
        spans = self._spans_in_tokens(text, _TOKEN.finditer(text), language)
        spans += _characters(text, frozenset(term for term in terms if _WIDE.search(term)), language)
        return merged(spans)

    def _spans_in_ascii(self, text: str, language: str) -> SpanList:
        """Return the matches in English text without accents.

        Only words that contain the beginning of a term are analyzed.
        """
        lowered = text.lower()
        without_bonds = lowered.translate(_WITHOUT_BONDS)
        if _has_joiners_within(self._shortest, lowered, without_bonds):
            # For example with a hyphen in it.
            return self._spans_in_tokens(text, _tokens_like(self._shortest).finditer(lowered), language)
        compound_parts = (
            _ANY_PART if _has_joiners_within(self._longer, lowered, without_bonds) else self._compound_parts
        )
        find, letters_to_end, known = lowered.find, _LETTERS_END.match, self._words.setdefault(language, {})
        spans: SpanList = []
        for beginning in self._shortest:
            at = find(beginning)
            while at >= 0:
                start = at
                while start and lowered[start - 1] in _LETTERS:
                    start -= 1
                end = letters_to_end(lowered, at).end()  # type: ignore[union-attr]  # it matches anything
                word = text[start:end]
                is_match = known.get(word)
                if is_match is None:
                    is_match = known[word] = self._word(word, language)
                if (
                    is_match is _NEEDS_ANALYSIS
                    or at + len(beginning) > end
                    or _in_compound(lowered, start, end, compound_parts)
                ):
                    while start and lowered[start - 1] in _PLAIN_CHARACTERS:
                        start -= 1
                    end = _TOKEN_END.match(lowered, at).end()  # type: ignore[union-attr]  # it matches anything
                    spans += self._spans_in(text, start, end, language)
                elif is_match:
                    spans.append((start, end))
                at = find(beginning, end)
        return spans

    def _word(self, word: str, language: str) -> bool | str:
        """Return whether a word by itself matches, or _ODD if only its analysis can decide."""
        if len(word) < 2 or not _is_word(word):
            return _NEEDS_ANALYSIS
        # Most are other words, with a beginning somewhere in them: recognised without stemming.
        return word.lower().startswith(self._shortest) and stem(word, language) in self._terms

    def _spans_in_tokens(self, text: str, tokens: Iterable[re.Match[str]], language: str) -> SpanList:
        return [span for token in tokens for span in self._spans_in(text, token.start(), token.end(), language)]

    def _spans_in(self, text: str, start: int, end: int, language: str) -> SpanList:
        """Return where the terms are in one token."""
        token = text[start:end].rstrip(_EDGES)
        known = self._known.get((language, token))
        if known is None:
            known = [(a, b) for term, a, b in self._split(token, language) if term in self._terms]
            self._known[language, token] = known
        return [(start + a, start + b) for a, b in known] if known else known

    def _split(self, token: str, language: str) -> tuple[Piece, ...]:
        pieces = self._pieces.get((language, token))
        if pieces is None:
            if _is_word(token):
                pieces = ((stem(token, language), 0, len(token)),)
            else:
                analysis = analyze(token, language)
                pieces = tuple(zip(analysis.terms, analysis.starts, analysis.ends, strict=True))
            if len(token) <= _MAX_CACHED_LENGTH:
                if len(self._pieces) >= _MAX_CACHED:
                    self._pieces.clear()
                self._pieces[language, token] = pieces
        return pieces


def _has_joiners_within(beginnings: Iterable[str], text: str, without_bonds: str) -> bool:
    """Return whether one of `beginnings` occurs with joiners between its letters."""
    return any(
        beginning in without_bonds and without_bonds.count(beginning) != text.count(beginning)
        for beginning in beginnings
    )


def _in_compound(lowered: str, start: int, end: int, compound_parts: tuple[str, ...]) -> bool:
    """Return whether the letters from `start` to `end` can be part of a match: in a compound or a contraction.

    The compound continues after one of `compound_parts`.
    """
    if start and lowered[start - 1] == "'":
        return True
    next_character = lowered[end : end + 1]
    return (
        next_character in _JOINERS
        and next_character != ""
        and (next_character == "'" or lowered.endswith(compound_parts, start, end))
    )


def _blank(match: re.Match[str]) -> str:
    return " " * len(match.group())


def _is_word(token: str) -> bool:
    """Return whether a token is letters only, and not camelCase, so that the analyzer returns its stem alone."""
    if not token.isalpha():
        return False
    if token.isascii():
        return token.isupper() or token[1:].islower() or token.islower()
    return max(token) < _FIRST_WITHOUT_SPACES


@lru_cache(maxsize=64)
def _tokens_like(beginnings: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for tokens of plain lower-case English that hold one of `beginnings`, with joiners allowed."""
    if not beginnings:
        return _NOTHING
    bonds = f"[{re.escape(_BONDS)}]*"
    alternatives = "|".join(bonds.join(map(re.escape, beginning)) for beginning in beginnings)
    return re.compile(f"(?<!{_PLAIN}){_PLAIN}*?(?:{alternatives}){_PLAIN}*")


def _shortest(beginnings: Iterable[str]) -> tuple[str, ...]:
    """Return the beginnings, which are sorted, without those that begin with another one."""
    result: list[str] = []
    for beginning in beginnings:
        if not result or not beginning.startswith(result[-1]):
            result.append(beginning)
    return tuple(result)


def _beginning(term: str) -> str:
    """Return the common beginning of all words with this term, without joiners."""
    bare = term.translate(_WITHOUT_BONDS)
    if len(bare) > 3:
        return bare[:-1]
    return bare[:1] if bare.endswith("ie") else bare[:2]


def _before_joiners(beginning: str) -> list[str]:
    """Return the parts of a beginning before each joiner, and the whole: a compound may continue after each."""
    return [beginning, *(beginning[:at] for at, character in enumerate(beginning) if at and character in _JOINERS)]


def _characters(text: str, terms: frozenset[str], language: str) -> SpanList:
    """Return where n-grams of a script without spaces are in a text."""
    if not terms:
        return []
    whole = unicodedata.normalize("NFKC", text)
    single = text if whole == text else list(map(_normal, text))
    if single is text or "".join(single) == whole:
        spans: SpanList = []
        for size in range(1, _LONGEST_GROUP + 1):
            groups = map("".join, zip(*(single[i:] for i in range(size)), strict=False))
            spans += [(i, i + size) for i, group in enumerate(groups) if group in terms]
        return spans
    # Half-width letters with separate marks and the like: rare, so the analyzer is used.
    analysis = analyze(text, language)
    pieces = zip(analysis.terms, analysis.starts, analysis.ends, strict=True)
    return [(start, end) for term, start, end in pieces if term in terms]


@lru_cache(maxsize=4096)
def _normal(character: str) -> str:
    return unicodedata.normalize("NFKC", character)


def merged(ranges: SpanList) -> tuple[Span, ...]:
    """Return ranges as spans, ascending, overlapping and adjacent ones merged."""
    spans: list[Span] = []
    first = last = -1
    for start, end in sorted(ranges):
        if start >= last:
            if last >= 0:
                spans.append(Span(first, last))
            first, last = start, end
        elif end > last:
            last = end
    if last >= 0:
        spans.append(Span(first, last))
    return tuple(spans)


# --- highlights of hits -----------------------------------------------------------------------------------------------
# The words of a query that are marked in the fragments shown.

FILLING = 0.1
"""Share of all fragments above which a word of a question is not marked besides rarer ones.

Otherwise "the" and "do" would be marked.
"""


@dataclass(frozen=True, slots=True)
class Marks:
    """The terms of a query's words, and those of them to mark first: all, or the rare ones of a question."""

    terms: frozenset[str]
    rare_terms: frozenset[str]


def marks_of(evidence: Evidence) -> Marks:
    terms = _terms(evidence.words)
    if primary_strategy(evidence.word_count) is not Strategy.SEMANTIC:
        return Marks(terms, terms)
    max_count = FILLING * evidence.corpus_size
    pairs = zip(evidence.words, evidence.matches, strict=True)
    return Marks(terms, _terms(word for word, match in pairs if match.count <= max_count))


def all_marks(marks_list: Iterable[Marks]) -> Marks:
    """Return the union of what is highlighted for several alternatives."""
    terms: frozenset[str] = frozenset()
    rare_terms: frozenset[str] = frozenset()
    for marks in marks_list:
        terms, rare_terms = terms | marks.terms, rare_terms | marks.rare_terms
    return Marks(terms, rare_terms)


def _terms(words: Iterable[Word]) -> frozenset[str]:
    return frozenset(term for word in words for term in word.terms)


class Marker:
    """Finder of the spans to mark. Caches the analysis of the texts' words."""

    def __init__(self) -> None:
        self._rare_finder = SpanFinder()
        self._all = SpanFinder()
        self._name_terms: frozenset[str] = frozenset()
        self._name_spans: dict[tuple[str, str], tuple[Span, ...]] = {}

    def spans(self, text: str, marks: Marks, language: str) -> tuple[Span, ...]:
        spans = self._rare_finder.find(text, marks.rare_terms, language)
        if not spans and marks.terms != marks.rare_terms:
            spans = self._all.find(text, marks.terms, language)
        return spans

    def named(self, fragment: Fragment, marks: Marks, language: str) -> tuple[tuple[Span, ...], ...]:
        """Return what to highlight in the fragment's title, then in each heading of its path."""
        if marks.rare_terms != self._name_terms:
            self._name_terms, self._name_spans = marks.rare_terms, {}
        return tuple(self._spans_in_name(name, language) for name in (fragment.title, *fragment.heading_path))

    def _spans_in_name(self, name: str, language: str) -> tuple[Span, ...]:
        """Return the spans in a title or heading; cached, because hits often share them."""
        spans = self._name_spans.get((name, language))
        if spans is None:
            spans = self._name_spans[name, language] = self._rare_finder.find(name, self._name_terms, language)
        return spans
