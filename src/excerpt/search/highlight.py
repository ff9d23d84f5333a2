"""Positions of a query's words in the fragments shown, for highlighting."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice

from msgspec import Struct

from excerpt.base.kinds import Strategy
from excerpt.base.model import Fragment, Span
from excerpt.base.patterns import lazy_pattern
from excerpt.search.bm25 import ExpandedWord
from excerpt.search.evidence import Evidence
from excerpt.search.ranking import primary_strategy
from excerpt.text.folding import indexed_terms, stem
from excerpt.text.inner_marks import join_marked_words
from excerpt.text.languages import WIDE_CHARACTERS
from excerpt.text.words import analyze

# --- spans ------------------------------------------------------------------------------------------------------------
# Search for the terms of a query in texts.
#
# Fifty fragments are highlighted for every letter typed, so texts are not analyzed each time: the analysis of each word
# is cached, and characters of scripts without spaces are searched unchanged.

_UNSPACED_CHARACTER = lazy_pattern(f"[{WIDE_CHARACTERS}]")
# Text between white space and characters of scripts without spaces: no term extends over either.
_TOKEN = lazy_pattern(rf"[^\s{WIDE_CHARACTERS}]+")
_NOT_ASCII = lazy_pattern(r"(?<!\S)[^\s\x80-\U0010ffff]*[^\x00-\x7f]\S*")
# In plain ASCII text, most punctuation separates tokens as well, which makes the search faster.
_PLAIN_CHARACTER = r"""[^\s!"$%()*,:;<=>?\[\]^`{|}~]"""
_TOKEN_END = lazy_pattern(rf"{_PLAIN_CHARACTER}*")
_PLAIN_CHARACTERS = frozenset(c for c in map(chr, range(128)) if re.match(_PLAIN_CHARACTER, c))
_LETTERS_END = lazy_pattern(r"[a-z0-9]*")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_TRAILING_MARKS = "-./\\@&'"  # no term ends with these
# Languages in which a stem without its last letter begins the word: using, use; try, tri; not dying, die.
_STEM_KEEPS_BEGINNING = frozenset({"en", ""})
_DROPPED_JOINERS = "-_.'&+"  # left out of some compounds' terms
_JOINERS = _DROPPED_JOINERS + "/\\@#"  # occur within compounds
_DROP_JOINERS = str.maketrans("", "", _DROPPED_JOINERS)
_FIRST_WITHOUT_SPACES = "\u0e01"  # Thai; all scripts written without spaces come after it
_MAX_NGRAM = 3  # characters of the longest term of a script without spaces
_MAX_CACHED = 50_000
_MAX_CACHED_LENGTH = 64

MAX_SPANS = 1_000
"""Maximum number of spans of a text. A fragment has some 250 words, unless it is one very long line."""

_NEEDS_ANALYSIS = "odd"
_ANY_PART = ("",)
_NO_MATCH = lazy_pattern(r"(?!)")

TermRange = tuple[str, int, int]
"""A term with its start and end (exclusive) in a token."""
SpanList = list[tuple[int, int]]
"""Ranges of characters: start and end (exclusive)."""


class TermSpanFinder:
    """Finder of the positions of terms in texts.

    Caches the analysis of the words in the texts, and which words match the terms of the last call.
    """

    def __init__(self) -> None:
        self._term_ranges: dict[tuple[str, str], tuple[TermRange, ...]] = {}
        self._current_terms: frozenset[str] = frozenset()
        self._shortest_beginnings: tuple[str, ...] = ()
        self._longer_beginnings: tuple[str, ...] = ()
        self._compound_parts: tuple[str, ...] = ()
        self._first_signs = "'"
        self._known_tokens: dict[tuple[str, str], SpanList] = {}
        self._known_words: dict[str, dict[str, bool | str]] = {}

    def find(self, text: str, terms: frozenset[str], language: str) -> tuple[Span, ...]:
        """Return where `terms` are in `text`, ascending, with overlapping and adjacent ranges merged.

        Only the first MAX_SPANS matches are returned; a long text is not searched further. `language` is the code of
        the text's language, such as "en", or "" if unknown.
        """
        if terms != self._current_terms:
            self._current_terms = terms
            beginnings = sorted({_shared_beginning(term) for term in terms} - {""})
            self._shortest_beginnings = _keep_shortest_beginnings(beginnings)
            self._longer_beginnings = tuple(
                beginning for beginning in beginnings if beginning not in self._shortest_beginnings
            )
            self._compound_parts = tuple(
                {part for beginning in beginnings for part in _beginnings_before_joiners(beginning)}
            )
            self._first_signs = "'" + "".join({term[0] for term in terms if term[:1] in _DROPPED_JOINERS})
            self._known_tokens, self._known_words = {}, {}
        joined = join_marked_words(text)
        if joined is None:
            return self._find(text, language)
        return tuple(Span(*joined.written_range(span.start, span.end)) for span in self._find(joined.text, language))

    def _find(self, text: str, language: str) -> tuple[Span, ...]:
        """Return the spans of the current terms in `text`, whose words have no Markdown or HTML inside."""
        if text.isascii():
            if language in _STEM_KEEPS_BEGINNING:
                return merge_ranges(self._spans_in_ascii(text, language))
            return merge_ranges(self._spans_in_tokens(text, _TOKEN.finditer(text), language))
        if language in _STEM_KEEPS_BEGINNING and not _UNSPACED_CHARACTER.search(text):
            spans = self._spans_in_tokens(text, _NOT_ASCII.finditer(text), language)
            return merge_ranges(spans + self._spans_in_ascii(_NOT_ASCII.sub(_replace_by_spaces, text), language))
        spans = self._spans_in_tokens(text, _TOKEN.finditer(text), language)
        spans += _find_ngrams(
            text, frozenset(term for term in self._current_terms if _UNSPACED_CHARACTER.search(term)), language
        )
        return merge_ranges(spans)

    def _spans_in_ascii(self, text: str, language: str) -> SpanList:
        """Return where the current terms are in an ASCII text, in English or an unknown language.

        Only words that contain the beginning of a term are analyzed.
        """
        lowered = text.lower()
        without_joiners = lowered.translate(_DROP_JOINERS)
        if _has_joiners_within(self._shortest_beginnings, lowered, without_joiners):
            # For example with a hyphen in it.
            return self._spans_in_tokens(text, _token_pattern(self._shortest_beginnings).finditer(lowered), language)
        compound_parts = (
            _ANY_PART
            if _has_joiners_within(self._longer_beginnings, lowered, without_joiners)
            else self._compound_parts
        )
        find, letters_to_end, known = lowered.find, _LETTERS_END.match, self._known_words.setdefault(language, {})
        spans: SpanList = []
        for beginning in self._shortest_beginnings:
            at, max_spans = find(beginning), len(spans) + MAX_SPANS
            while at >= 0 and len(spans) < max_spans:
                start = at
                while start and lowered[start - 1] in _LETTERS:
                    start -= 1
                end = letters_to_end(lowered, at).end()  # type: ignore[union-attr]  # it matches anything
                word = text[start:end]
                is_match = known.get(word)
                if is_match is None:
                    is_match = known[word] = self._match_word(word, language)
                if (
                    is_match is _NEEDS_ANALYSIS
                    or at + len(beginning) > end
                    or _is_in_compound(lowered, start, end, compound_parts, self._first_signs)
                ):
                    while start and lowered[start - 1] in _PLAIN_CHARACTERS:
                        start -= 1
                    end = _TOKEN_END.match(lowered, at).end()  # type: ignore[union-attr]  # it matches anything
                    spans += self._spans_in_token(text, start, end, language)
                elif is_match:
                    spans.append((start, end))
                at = find(beginning, end)
        return spans

    def _match_word(self, word: str, language: str) -> bool | str:
        """Return whether a word matches a current term.

        Return _NEEDS_ANALYSIS if the whole token around the word must be analyzed to find out.
        """
        if len(word) < 2 or not _is_word(word):
            return _NEEDS_ANALYSIS
        # Most words only have the beginning of a term somewhere inside, and need no stemming to be ruled out.
        return word.lower().startswith(self._shortest_beginnings) and stem(word, language) in self._current_terms

    def _spans_in_tokens(self, text: str, tokens: Iterable[re.Match[str]], language: str) -> SpanList:
        spans = (span for token in tokens for span in self._spans_in_token(text, token.start(), token.end(), language))
        return list(islice(spans, MAX_SPANS))

    def _spans_in_token(self, text: str, start: int, end: int, language: str) -> SpanList:
        """Return where the current terms are in the token from `start` to `end` of `text`."""
        token = text[start:end].rstrip(_TRAILING_MARKS)
        known = self._known_tokens.get((language, token))
        if known is None:
            known = [(a, b) for term, a, b in self._analyze_token(token, language) if term in self._current_terms]
            self._known_tokens[language, token] = known
        return [(start + a, start + b) for a, b in known] if known else known

    def _analyze_token(self, token: str, language: str) -> tuple[TermRange, ...]:
        term_ranges = self._term_ranges.get((language, token))
        if term_ranges is None:
            if _is_word(token):
                term_ranges = tuple((term, 0, len(token)) for term in indexed_terms(token, language))
            else:
                analysis = analyze(token, language)
                term_ranges = tuple(zip(analysis.terms, analysis.starts, analysis.ends, strict=True))
            if len(token) <= _MAX_CACHED_LENGTH:
                if len(self._term_ranges) >= _MAX_CACHED:
                    self._term_ranges.clear()
                self._term_ranges[language, token] = term_ranges
        return term_ranges


def _has_joiners_within(beginnings: Iterable[str], text: str, without_joiners: str) -> bool:
    """Return whether one of `beginnings` occurs in `text` with joiners, such as a hyphen, between its letters.

    `without_joiners` is the same text without joiners.
    """
    return any(
        beginning in without_joiners and without_joiners.count(beginning) != text.count(beginning)
        for beginning in beginnings
    )


def _is_in_compound(lowered: str, start: int, end: int, compound_parts: tuple[str, ...], first_signs: str) -> bool:
    """Return whether the word from `start` to `end` may be a part of a compound or contraction that matches.

    `compound_parts` are endings of a word after which a matching compound may continue with a joiner, `first_signs`
    the joiners that may stand before the word in it, such as the dot of ".net".
    """
    if start and lowered[start - 1] in first_signs:
        return True
    next_character = lowered[end : end + 1]
    return (
        next_character in _JOINERS
        and next_character != ""
        and (next_character == "'" or lowered.endswith(compound_parts, start, end))
    )


def _replace_by_spaces(match: re.Match[str]) -> str:
    return " " * len(match.group())


def _is_word(token: str) -> bool:
    """Return whether a token is a simple word, without other characters and not in camelCase.

    The analyzer returns one term for a simple word, its stem.
    """
    if not token.isalpha():
        return False
    if token.isascii():
        return token.isupper() or token[1:].islower() or token.islower()
    return max(token) < _FIRST_WITHOUT_SPACES


@lru_cache(maxsize=64)
def _token_pattern(beginnings: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for lower-case ASCII tokens that contain one of `beginnings`, even with joiners inside."""
    if not beginnings:
        return _NO_MATCH
    joiners = f"[{re.escape(_DROPPED_JOINERS)}]*"
    alternatives = "|".join(joiners.join(map(re.escape, beginning)) for beginning in beginnings)
    return re.compile(f"(?<!{_PLAIN_CHARACTER}){_PLAIN_CHARACTER}*?(?:{alternatives}){_PLAIN_CHARACTER}*")


def _keep_shortest_beginnings(beginnings: Iterable[str]) -> tuple[str, ...]:
    """Return the sorted `beginnings` without those that begin with another one of them."""
    result: list[str] = []
    for beginning in beginnings:
        if not result or not beginning.startswith(result[-1]):
            result.append(beginning)
    return tuple(result)


def _shared_beginning(term: str) -> str:
    """Return the beginning that all words with the stem `term` have in common, without joiners."""
    bare = term.translate(_DROP_JOINERS)
    if len(bare) > 3:
        return bare[:-1]
    return bare[:1] if bare.endswith("ie") else bare[:2]


def _beginnings_before_joiners(beginning: str) -> list[str]:
    """Return `beginning` and its parts that end before a joiner.

    A compound may continue after each of these.
    """
    return [beginning, *(beginning[:at] for at, character in enumerate(beginning) if at and character in _JOINERS)]


def _find_ngrams(text: str, terms: frozenset[str], language: str) -> SpanList:
    """Return where `terms`, n-grams of scripts without spaces such as Chinese, are in `text`."""
    if not terms:
        return []
    whole = unicodedata.normalize("NFKC", text)
    single = text if whole == text else list(map(_normalize, text))
    if single is text or "".join(single) == whole:
        spans: SpanList = []
        for size in range(1, _MAX_NGRAM + 1):
            groups = map("".join, zip(*(single[i:] for i in range(size)), strict=False))
            spans += [(i, i + size) for i, group in enumerate(groups) if group in terms]
        return spans
    # Rare, for example half-width letters with separate marks: the analyzer is used.
    analysis = analyze(text, language)
    term_ranges = zip(analysis.terms, analysis.starts, analysis.ends, strict=True)
    return [(start, end) for term, start, end in term_ranges if term in terms]


@lru_cache(maxsize=4096)
def _normalize(character: str) -> str:
    return unicodedata.normalize("NFKC", character)


def merge_ranges(ranges: SpanList) -> tuple[Span, ...]:
    """Return the first MAX_SPANS ranges as spans, ascending, with overlapping and adjacent ranges merged."""
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
    return tuple(spans[:MAX_SPANS])


# --- highlights of hits -----------------------------------------------------------------------------------------------
# Choice of the query words to highlight in the fragments shown.

MAX_RARE_SHARE = 0.1
"""Maximum share of all fragments that may have a word of a question for it to count as rare.

Only rare words are highlighted in a text that has one; otherwise "the" and "do" would be highlighted everywhere.
"""


class HighlightTerms(Struct, frozen=True):
    """The terms to highlight for a query.

    A text that has any of `rare_terms` is highlighted with only these. For a question they are the terms of its rare
    words, for another query all `terms`.
    """

    terms: frozenset[str]
    rare_terms: frozenset[str]


def select_highlight_terms(evidence: Evidence) -> HighlightTerms:
    """Return the terms to highlight for the query whose evidence is given."""
    terms = _collect_terms(evidence.words)
    if primary_strategy(evidence.word_count) is not Strategy.SEMANTIC:
        return HighlightTerms(terms, terms)
    max_count = MAX_RARE_SHARE * evidence.corpus_size
    pairs = zip(evidence.words, evidence.matches, strict=True)
    return HighlightTerms(terms, _collect_terms(word for word, match in pairs if match.count <= max_count))


def merge_highlight_terms(term_lists: Iterable[HighlightTerms]) -> HighlightTerms:
    """Return the terms to highlight for any of several alternatives of a query text."""
    terms: frozenset[str] = frozenset()
    rare_terms: frozenset[str] = frozenset()
    for highlight_terms in term_lists:
        terms, rare_terms = terms | highlight_terms.terms, rare_terms | highlight_terms.rare_terms
    return HighlightTerms(terms, rare_terms)


def _collect_terms(words: Iterable[ExpandedWord]) -> frozenset[str]:
    return frozenset(term for word in words for term in word.terms)


class HighlightFinder:
    """Finder of the spans to highlight in texts and names of notes. Caches the analysis of words."""

    def __init__(self) -> None:
        self._rare_finder = TermSpanFinder()
        self._all_finder = TermSpanFinder()
        self._name_terms: frozenset[str] = frozenset()
        self._name_spans: dict[tuple[str, str], tuple[Span, ...]] = {}

    def find_in_text(self, text: str, highlight_terms: HighlightTerms, language: str) -> tuple[Span, ...]:
        """Return the spans in `text` to highlight, ascending; `language` is its language code, such as "en"."""
        spans = self._rare_finder.find(text, highlight_terms.rare_terms, language)
        if not spans and highlight_terms.terms != highlight_terms.rare_terms:
            spans = self._all_finder.find(text, highlight_terms.terms, language)
        return spans

    def find_in_names(
        self, fragment: Fragment, highlight_terms: HighlightTerms, language: str
    ) -> tuple[tuple[Span, ...], ...]:
        """Return the spans to highlight in the title, then in each heading of the fragment's heading path."""
        if highlight_terms.rare_terms != self._name_terms:
            self._name_terms, self._name_spans = highlight_terms.rare_terms, {}
        return tuple(self._spans_in_name(name, language) for name in (fragment.title, *fragment.heading_path))

    def _spans_in_name(self, name: str, language: str) -> tuple[Span, ...]:
        """Return the spans to highlight in a title or heading; cached, because hits often share names."""
        spans = self._name_spans.get((name, language))
        if spans is None:
            spans = self._name_spans[name, language] = self._rare_finder.find(name, self._name_terms, language)
        return spans
