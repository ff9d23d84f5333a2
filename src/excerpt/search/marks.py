"""Which of a query's words are marked in the fragments shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from excerpt.kinds import Strategy
from excerpt.model import Fragment, Span
from excerpt.search.evidence import Evidence
from excerpt.search.fusion import lead
from excerpt.search.lexical import Word
from excerpt.search.spans import SpanFinder

FILLING = 0.1
"""In a question, words that more than this share of the fragments have are not marked beside rarer ones: the marks
would be of "the" and "do"."""


@dataclass(frozen=True, slots=True)
class Marks:
    """The terms of a query's words, and those of them to mark first: all, or of a question those that are rare."""

    terms: frozenset[str]
    telling: frozenset[str]


def marks_of(evidence: Evidence) -> Marks:
    terms = _terms(evidence.words)
    if lead(evidence.word_count) is not Strategy.SEMANTIC:
        return Marks(terms, terms)
    most = FILLING * len(evidence.scores)
    pairs = zip(evidence.words, evidence.matches, strict=True)
    return Marks(terms, _terms(word for word, match in pairs if len(match.rows) <= most))


def all_marks(several: Iterable[Marks]) -> Marks:
    """What is marked of several alternatives."""
    terms: frozenset[str] = frozenset()
    telling: frozenset[str] = frozenset()
    for one in several:
        terms, telling = terms | one.terms, telling | one.telling
    return Marks(terms, telling)


def _terms(words: Iterable[Word]) -> frozenset[str]:
    return frozenset(term for word in words for term in word.terms)


class Marker:
    """Finds the spans to mark. Keeps what it learned about the words of the texts."""

    def __init__(self) -> None:
        self._telling = SpanFinder()
        self._all = SpanFinder()
        self._named_by: frozenset[str] = frozenset()
        self._named: dict[tuple[str, str], tuple[Span, ...]] = {}

    def spans(self, text: str, marks: Marks, language: str) -> tuple[Span, ...]:
        spans = self._telling.find(text, marks.telling, language)
        if not spans and marks.terms != marks.telling:
            spans = self._all.find(text, marks.terms, language)
        return spans

    def named(self, fragment: Fragment, marks: Marks, language: str) -> tuple[tuple[Span, ...], ...]:
        """What to mark in the fragment's title, then in each heading of its path."""
        if marks.telling != self._named_by:
            self._named_by, self._named = marks.telling, {}
        return tuple(self._in_name(name, language) for name in (fragment.title, *fragment.heading_path))

    def _in_name(self, name: str, language: str) -> tuple[Span, ...]:
        """Kept, as the fragments found often share their names."""
        found = self._named.get((name, language))
        if found is None:
            found = self._named[name, language] = self._telling.find(name, self._named_by, language)
        return found
