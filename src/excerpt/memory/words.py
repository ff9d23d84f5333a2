"""Search of memories by the words of a query, without an index."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct

from excerpt.base.kinds import FilterKind
from excerpt.base.model import Memory
from excerpt.search.query import MEMORY_FILTER_KINDS, REPLACED_VALUE, STALE_VALUE, find_conditions
from excerpt.text.folding import fold
from excerpt.text.languages import detect_language
from excerpt.text.words import QueryWord, query_terms, terms_of


class StateFilters(Struct, frozen=True):
    """A query without its conditions on the state of memories, and which memories these select.

    `stale` True selects memories whose source has changed or is gone (`is:stale`), False all others, None both.
    `replaced` selects the replaced memories (`is:replaced`) in place of the current ones.
    """

    query: str
    stale: bool | None = None
    replaced: bool = False


def split_state_filters(query: str) -> StateFilters:
    """Split the conditions `is:stale` and `is:replaced` off a query. They apply to all its alternatives."""
    states: dict[str, bool] = {}
    for condition in reversed(find_conditions(query, kinds=MEMORY_FILTER_KINDS)):
        found = condition.filter
        if found is not None and found.kind is FilterKind.IS and fold(found.value) in (STALE_VALUE, REPLACED_VALUE):
            states[fold(found.value)] = not found.negated
            query = f"{query[: condition.start].rstrip()} {query[condition.end :].lstrip()}".strip()
    return StateFilters(query, states.get(STALE_VALUE), states.get(REPLACED_VALUE, False))


class SearchableMemory(Struct, frozen=True):
    """The terms of a memory as one string for searching, each between spaces.

    A search in a string runs in C, so that 10,000 memories need no index: a whole term is found as " term ", a prefix
    as " term".
    """

    language: str
    terms: str


def build_searchable(memory: Memory) -> SearchableMemory:
    """Return a memory's terms for searching: the stems and plain words of its text, reason, tags, query and source."""
    source = memory.source
    location = (source.path, *source.heading_path) if source else ()
    text = "\n".join((memory.text, memory.why, *memory.tags, memory.query, *location))
    language = detect_language(text)
    terms = dict.fromkeys([*terms_of(text, language)[0], *terms_of(text, "")[0]])
    return SearchableMemory(language, f" {' '.join(terms)} ")


def build_word_matcher(words: str, languages: Sequence[str]) -> Callable[[SearchableMemory], bool]:
    """Return a predicate that tells whether a memory has all words of `words`, a text; its last word is a prefix.

    Words are stemmed in each of `languages`, the languages of the memories. A compound matches as a whole or by all of
    its parts.
    """
    common = [language for language, _ in Counter(languages).most_common()]
    parsed = query_terms(words, list(dict.fromkeys([*common, ""])))
    compounds = [word for word in parsed if word.is_compound]
    parts = [word for word in parsed if not word.is_compound]
    lone = [whole for whole in compounds if not any(_is_within(part, whole) for part in parts)]
    required = []
    for word in (*parts, *lone):
        variants = (word, *(whole for whole in compounds if _is_within(word, whole)))
        end = "" if word.end == parsed[-1].end else " "
        required.append(tuple(f" {term}{end}" for variant in variants for term in variant.terms))
    return lambda memory: all(any(term in memory.terms for term in terms) for terms in required)


def _is_within(part: QueryWord, whole: QueryWord) -> bool:
    return whole.start <= part.start and part.end <= whole.end
