"""Near copies: a fragment whose text another fragment already has."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from msgspec import Struct

from excerpt.base.model import Fragment
from excerpt.base.patterns import lazy_pattern
from excerpt.text.folding import fold

DuplicateRule = Callable[[Fragment, Iterable[Fragment]], Fragment | None]
"""A function that gets a fragment and the fragments of all better hits, and returns the one that it repeats, if any.

Fragments with identical texts are left out before the function is called.
"""

_RUN_LENGTH = 4
"""Number of consecutive words and punctuation marks that are compared at once."""
_MIN_COMPARED_WORDS = 20
"""Minimum number of words of a compared text: a shorter text says little without its heading and costs little."""
_WORD_OR_SIGN = lazy_pattern(r"\w+|[^\w\s]")
_MIN_RARE_LETTERS = 6
"""Minimum number of letters of a word that is taken for rare."""
_MAX_CACHED_TEXTS = 4096

WordRun = tuple[str, ...]
"""_RUN_LENGTH consecutive words and punctuation marks of a text."""


def find_near_copy(fragment: Fragment, fragments: Iterable[Fragment]) -> Fragment | None:
    """Return the first of `fragments` whose text contains the text of `fragment`; None if none contains it.

    Case and white space are ignored. The text counts as contained if every run of _RUN_LENGTH words and punctuation
    marks is. Sharing nine tenths of the runs is not enough: such texts are often reference pages that differ in a name,
    a number or an operator (figures in docs/design/packs.md).
    """
    own = _prepare_text(fragment.text)
    if not own.rare_words:
        return None
    longest = own.rare_words[0]
    for other in fragments:
        text = _prepare_text(other.text)
        if longest in text.folded and _contains_all_runs(text, own):
            return other
    return None


class _ComparableText(Struct, frozen=True):
    """A text prepared for comparison: case-folded, with its rare words, the longest first.

    The rare words are searched first, as substrings. Most texts lack one of them and then need no tokenization. A text
    that is too short to compare has no rare words.
    """

    folded: str
    rare_words: tuple[str, ...]


@lru_cache(maxsize=_MAX_CACHED_TEXTS)
def _prepare_text(text: str) -> _ComparableText:
    """Return a text prepared for comparison."""
    folded = fold(text)
    words = folded.split()
    if len(words) < _MIN_COMPARED_WORDS:
        return _ComparableText(folded, ())
    rare_words = {word for word in words if len(word) >= _MIN_RARE_LETTERS and word.isalnum()} or _WORD_OR_SIGN.findall(
        folded
    )
    return _ComparableText(folded, tuple(sorted(rare_words, key=len, reverse=True)))


def _contains_all_runs(other: _ComparableText, own: _ComparableText) -> bool:
    """Return whether `other` has every run of words of `own`; False if `other` is too short to compare."""
    if not other.rare_words or not all(word in other.folded for word in own.rare_words):
        return False
    runs = _collect_runs(own.folded)
    return bool(runs) and runs <= _collect_runs(other.folded)


@lru_cache(maxsize=_MAX_CACHED_TEXTS)
def _collect_runs(folded: str) -> frozenset[WordRun]:
    """Return all runs of _RUN_LENGTH consecutive words and punctuation marks of a folded text."""
    pieces = _WORD_OR_SIGN.findall(folded)
    return frozenset(zip(*(pieces[start:] for start in range(_RUN_LENGTH)), strict=False))
