"""A query as it may have been meant: what the vault does not have, as it has what is spelled most like it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from functools import partial

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import OSA

from excerpt.index.snapshot import Snapshot
from excerpt.insight.completions import READ, listed, spelled
from excerpt.search.engine import Engine
from excerpt.search.evidence import asked_words
from excerpt.search.filters import allowed
from excerpt.search.query import Query, conditions
from excerpt.search.query_pieces import KINDS, Filter, FilterKind, KnownNames, hints
from excerpt.text.folding import fold
from excerpt.text.words import QueryWord

ALIKE = 0.6
"""Similarity from which one word is meant by another: that of two of five letters. What is nearer than
`search.fuzzy_threshold` a search finds by itself, but not in phrases and filters."""
SHORTEST = 4
"""Letters below which similar spelling means nothing."""
_COMPARED = 5

Change = tuple[int, int, str]
"""Start and end of a stretch of the query, and what is put there instead."""


def corrected(engine: Engine, query: str) -> str:
    """Return the query with what is misspelt in it corrected; "" where nothing is, and where that matches nothing."""
    meant = query
    for start, end, instead in sorted(_changes(engine.snapshot, query), reverse=True):
        meant = meant[:start] + instead + meant[end:]
    return meant if meant != query and engine.matching(meant).any() else ""


def _changes(snapshot: Snapshot, query: str) -> Iterator[Change]:
    facets = snapshot.facets
    found = conditions(query, facets.properties, facets.tags)
    told = hints(query, KnownNames(facets.properties, facets.tags, KINDS))
    taken = [(one.start, one.end) for one in found] + [(one.start, one.end) for one in told]
    for hint in told:
        yield hint.start, hint.end, hint.instead
    for one in found:
        if one.filter and not one.filter.negated and (instead := _filter_meant(snapshot, one.filter)):
            yield one.start, one.end, instead
    for word in asked_words(query, snapshot):
        is_taken = any(start <= word.start < end for start, end in taken)
        if not is_taken and (instead := _word_meant(snapshot, word)):
            yield word.start, word.end, instead


def _filter_meant(snapshot: Snapshot, one: Filter) -> str:
    """The filter of the same kind that is spelled most like one that no note meets; "" for one that some meet."""
    rows = allowed(Query("", filters=(one,)), snapshot, partial(asked_words, snapshot=snapshot), date.today())
    if rows is None or rows.any():
        return ""
    entries = {
        entry.folded.strip("/"): entry.completion.text
        for entry in listed(snapshot, one.name if one.kind is FilterKind.PROPERTY else str(one.kind))
    }
    wanted = fold(one.value).strip("#/=*")
    near = process.extractOne(wanted, entries.keys(), scorer=OSA.normalized_similarity, score_cutoff=ALIKE)
    return entries[near[0]] if near else ""


def _word_meant(snapshot: Snapshot, word: QueryWord) -> str:
    """The word that is spelled most like one that no note has, of equals the commonest; "" for one that some have."""
    reader, typed = snapshot.lexical, word.terms[0]
    if word.whole or len(typed) < SHORTEST or not typed.isalpha():
        return ""
    if any(len(reader.entries(term).rows) for term in word.terms) or reader.continuations(fold(word.surface), 1):
        return ""
    near = process.extract(
        typed,
        reader.lexicon("text"),
        scorer=OSA.normalized_similarity,
        score_cutoff=ALIKE,
        limit=_COMPARED,
    )
    for term, _, _ in sorted(near, key=lambda one: (-one[1], -reader.count(one[0]), one[0])):
        if written := spelled(snapshot, term, np.unique(reader.entries(term).rows)[:READ].tolist()):
            return written.lower() if word.surface.islower() else written
    return ""
