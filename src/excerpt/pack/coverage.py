"""Which words of a question a passage covers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

from excerpt.base.model import Hit, Pack, QuestionWord
from excerpt.text.folding import fold, stem

_MAX_CACHED_WORDS = 8192
_MIN_SHARED_LETTERS = 4
"""The fewest letters of a term that name its word in a text where the stem alone does not."""


def find_uncovered_words(
    words: Sequence[QuestionWord], packs: Iterable[Pack], hits: Iterable[Hit]
) -> tuple[QuestionWord, ...]:
    """Return the words of a question that no passage has, in its text, its headings or the title of its note.

    `hits` are those that were packed, and know where their words are.
    """
    packed = {fragment_id for pack in packs for fragment_id in pack.fragment_ids}
    known = tuple(words)
    covered: set[str] = set()
    for hit in hits:
        if hit.fragment.id in packed:
            covered |= cover_text(hit, 0, len(hit.fragment.text), known) | cover_names(hit, known)
    return tuple(word for word in words if word.text not in covered)


def cover_text(hit: Hit, start: int, end: int, words: tuple[QuestionWord, ...]) -> frozenset[str]:
    """Return the words that a hit has in the characters `start` to `end` of its text."""
    inside = {hit.fragment.text[span.start : span.end] for span in hit.spans if start <= span.start < end}
    return _attribute_all(inside, words)


def cover_names(hit: Hit, words: tuple[QuestionWord, ...]) -> frozenset[str]:
    """Return the words that are in the title of a hit's note or in its headings."""
    names = zip((hit.fragment.title, *hit.fragment.heading_path), hit.named, strict=False)
    return _attribute_all({name[span.start : span.end] for name, spans in names for span in spans}, words)


def _attribute_all(matched: Collection[str], words: tuple[QuestionWord, ...]) -> frozenset[str]:
    return frozenset[str]().union(*(_attribute(text, words) for text in matched))


@lru_cache(maxsize=_MAX_CACHED_WORDS)
def _attribute(matched: str, words: tuple[QuestionWord, ...]) -> frozenset[str]:
    """Return the words of a question that a highlighted text is a form of: by its stem, or by its beginning."""
    own = stem(matched, "")
    if by_stem := frozenset(word.text for word in words if own in word.terms):
        return by_stem
    folded = fold(matched)
    return frozenset(word.text for word in words if any(_may_be_form(folded, term) for term in word.terms))


def _may_be_form(folded: str, term: str) -> bool:
    """Return whether a text may be a form of a term; in a script without spaces, it has the term."""
    if len(term) < _MIN_SHARED_LETTERS:
        return term in folded if not term.isascii() else folded == term
    return folded.startswith(term[:-1]) or term in folded
