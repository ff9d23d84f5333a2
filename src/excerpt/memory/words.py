"""Which memories hold the words of a query, without an index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from excerpt.model import Memory
from excerpt.search.query import MEMORY_KINDS, FilterKind, conditions
from excerpt.text.words import QueryWord, detect_language, query_terms, terms_of


def stale_filter(query: str) -> tuple[str, bool | None]:
    """Return a query without `is:stale`, and what that asks for: True for stale memories, False for others, None.

    It applies to all alternatives.
    """
    stale: bool | None = None
    for one in reversed(conditions(query, kinds=MEMORY_KINDS)):
        if one.filter is not None and one.filter.kind is FilterKind.IS:
            stale = not one.filter.negated
            query = f"{query[: one.start].rstrip()} {query[one.end :].lstrip()}".strip()
    return query, stale


@dataclass(frozen=True, slots=True)
class Searched:
    """What of a memory is searched: its terms as one string, each between spaces.

    A search through a string runs in C, so that 10,000 memories need no index: whole terms are found as " term ",
    beginnings as " term".
    """

    language: str
    terms: str


def searched(memory: Memory) -> Searched:
    """Text, reason, tags, query and source of a memory, as stems and as the plain words that prefixes are found in."""
    source = memory.source
    place = (source.path, *source.heading_path) if source else ()
    text = "\n".join((memory.text, memory.why, *memory.tags, memory.query, *place))
    language = detect_language(text)
    terms = dict.fromkeys([*terms_of(text, language)[0], *terms_of(text, "")[0]])
    return Searched(language, f" {' '.join(terms)} ")


def wanted_words(words: str, languages: Sequence[str]) -> Callable[[Searched], bool]:
    """Return a test whether a memory has all `words`, stemmed in the memories' `languages`, the last one as a prefix.

    A compound matches as a whole or by all of its parts.
    """
    common = [language for language, _ in Counter(languages).most_common()]
    asked = query_terms(words, list(dict.fromkeys([*common, ""])))
    wholes = [word for word in asked if word.whole]
    parts = [word for word in asked if not word.whole]
    lone = [whole for whole in wholes if not any(_within(part, whole) for part in parts)]
    wanted = []
    for word in (*parts, *lone):
        variants = (word, *(whole for whole in wholes if _within(word, whole)))
        end = "" if word.end == asked[-1].end else " "
        wanted.append(tuple(f" {term}{end}" for variant in variants for term in variant.terms))
    return lambda memory: all(any(term in memory.terms for term in terms) for terms in wanted)


def _within(part: QueryWord, whole: QueryWord) -> bool:
    return whole.start <= part.start and part.end <= whole.end
