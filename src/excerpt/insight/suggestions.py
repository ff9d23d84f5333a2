"""Queries near to one: narrower ones and wider ones, each with what it finds.

The words and filters are the vault's own: folders, tags and values that stand out where the query matches, and words
that part of its best fragments have. What matches is what a search counts, so a number here is the one that stands
beside the query when it is taken. At cpp-docs size a question takes 110 to 210 ms of processor time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from excerpt.insight.branches import Tree, branches_of
from excerpt.insight.map import EVERYTHING
from excerpt.insight.phrases import Phrases, phrases_of
from excerpt.insight.standout import log_likelihood
from excerpt.insight.topic import Topic, find_topic
from excerpt.search.engine import Engine
from excerpt.search.query import conditions
from excerpt.text.dates import day_of

NARROWER, WIDER = 6, 4
"""Suggestions of either kind at most."""
WORDS = 4
"""How many of the narrower ones are words at most, where there are filters for the rest."""
LOOKED_AT = 40
"""The best fragments, whose words are taken."""
WORTH = 0.6
"""What more than this share of the matches have narrows nothing."""
LEAST = 2
"""Fewer fragments are no list."""
WEIGHED = 200
"""Branches, those with most of the matches, of which it is looked up whether they stand out."""
LONGEST = 40
"""Characters of a value or word."""

Counts = npt.NDArray[np.int64]


class Way(StrEnum):
    NARROWER = "narrower"
    WIDER = "wider"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A query that finds less or more: `label` is what is put in or taken out, `hits` the fragments it matches."""

    way: Way
    label: str
    query: str
    hits: int


def suggestions(engine: Engine, query: str) -> tuple[Suggestion, ...]:
    """Narrower queries, the most telling first, then wider ones; for an empty query the parts of the vault."""
    base = query if query.strip() else EVERYTHING
    matching = engine.matching(base)
    hits = int(np.count_nonzero(matching))
    topic = find_topic(engine, query) if query.strip() and hits else None
    words = list(_words(topic)) if topic is not None else []
    narrower = [*_filters(engine, query, matching), *_required(engine, query, words, hits)]
    wider = [*_without(engine, query, hits), *_joined(engine, query, words, hits)]
    return (*_mixed(narrower), *_distinct(wider)[:WIDER])


def _mixed(narrower: Sequence[Suggestion]) -> list[Suggestion]:
    """A few of both kinds, the filters first; more of the one where there is less of the other."""
    every = _distinct(narrower)
    words = [one for one in every if one.label.startswith('"')]
    filters = [one for one in every if not one.label.startswith('"')]
    room = max(NARROWER - len(words), NARROWER - WORDS)
    return [*filters[:room], *words[: NARROWER - min(len(filters), room)]]


def _distinct(found: Sequence[Suggestion]) -> list[Suggestion]:
    return list({one.query: one for one in reversed(found)}.values())[::-1]


def _count(engine: Engine, query: str) -> int:
    return int(np.count_nonzero(engine.matching(query)))


# --- narrower ---------------------------------------------------------------------------------------------------------


def _filters(engine: Engine, query: str, matching: npt.NDArray[np.bool_]) -> Iterator[Suggestion]:
    """Folders, tags and values of properties that stand out among the matches. They are counted as the map does."""
    snapshot = engine.snapshot
    table, branches = snapshot.table, branches_of(snapshot)
    here = np.bincount(table.notes[matching], minlength=len(table.paths)).astype(np.int64)
    overall = np.bincount(table.notes, minlength=len(table.paths)).astype(np.int64)
    standing_out = sorted(
        (-worth, tree.asked(place), count)
        for tree in (branches.folders, branches.tags, branches.properties)
        for worth, place, count in _standing_out(tree, here, overall)
    )
    given: set[int] = set()
    for _, condition, count in standing_out:
        # That a note has a property at all says little. Of the same number there are mostly the very same notes:
        # folders within folders, tags beside folders.
        if condition and not condition.endswith(":*") and condition not in query and count not in given:
            narrowed = engine.narrowed(query, condition) if query.strip() else f"{condition} "
            yield Suggestion(Way.NARROWER, condition, narrowed, count)
            given.add(count)
        if len(given) == NARROWER:
            return


def _standing_out(tree: Tree, here: Counts, overall: Counts) -> Iterator[tuple[float, int, int]]:
    """How far a branch stands out, its place, and how many of the matches are in it."""
    counts, notes = tree.count(here)
    whole, _ = tree.count(overall)
    matched, of = int(here.sum()), int(overall.sum())
    fitting = np.flatnonzero((counts >= LEAST) & (counts <= WORTH * matched) & (notes >= LEAST))
    for place in fitting[np.argsort(-counts[fitting], kind="stable")][:WEIGHED].tolist():
        label = tree.labels[place]
        if len(label) <= LONGEST and day_of(label) is None:
            worth = log_likelihood(int(counts[place]), matched, int(whole[place]), of) if matched < of else 0.0
            yield round(worth, 3) + counts[place] / max(matched, 1), place, int(counts[place])


def _words(topic: Topic) -> Iterator[str]:
    """Words and pairs of words that part of the best fragments have, those first that tell them apart best."""
    rows = topic.best[:LOOKED_AT]
    phrases = phrases_of(topic, topic.fragments(rows.tolist()), topic.best_notes[: len(rows)].tolist())
    few = [key for key, count in phrases.counts.items() if LEAST <= count <= max(LEAST, WORTH * len(rows))]
    taken: set[str] = set()
    for key in sorted(few, key=lambda key: (-_worth(phrases, key), key)):
        if not taken & set(key) and len(word := phrases.spelled(key)) <= LONGEST and '"' not in word:
            taken |= set(key)
            yield word


def _worth(phrases: Phrases, key: tuple[str, ...]) -> float:
    return round(phrases.counts[key] * phrases.weight(key), 6)


def _required(engine: Engine, query: str, words: Sequence[str], hits: int) -> Iterator[Suggestion]:
    """The query with a word more that must be there, and with its own words as they stand."""
    plain = query.split()
    if 1 < len(plain) <= 4 and all(map(str.isalnum, plain)):
        yield from _if_narrower(engine, f'"{" ".join(plain)}"', f'"{" ".join(plain)}"', hits)
    for word in words[: 2 * WORDS]:
        yield from _if_narrower(engine, f'"{word}"', engine.narrowed(query, f'"{word}"'), hits)


def _if_narrower(engine: Engine, label: str, query: str, hits: int) -> Iterator[Suggestion]:
    count = _count(engine, query)
    if LEAST <= count < hits:
        yield Suggestion(Way.NARROWER, label, query, count)


# --- wider ------------------------------------------------------------------------------------------------------------


def _without(engine: Engine, query: str, hits: int) -> Iterator[Suggestion]:
    """The query without one of its conditions, and with its phrases as words."""
    facets = engine.snapshot.facets
    found = conditions(query, facets.properties, facets.tags)
    for one in found:
        left = " ".join(f"{query[: one.start].rstrip()} {query[one.end :].lstrip()}".split())
        if left:
            yield from _if_wider(engine, f"without {query[one.start : one.end]}", left, hits)
    outside = query
    for one in reversed(found):
        outside = f"{outside[: one.start]}{' ' * (one.end - one.start)}{outside[one.end :]}"
    if outside.count('"') >= LEAST:
        loose = "".join(
            sign for at, sign in enumerate(query) if sign != '"' or any(one.start <= at < one.end for one in found)
        )
        yield from _if_wider(engine, "its phrase as words", loose, hits)


def _joined(engine: Engine, query: str, words: Sequence[str], hits: int) -> Iterator[Suggestion]:
    """The query or a word of its subject."""
    for word in words[:2]:
        yield from _if_wider(engine, f"or {word}", f"{query.strip()} | {word}", hits)


def _if_wider(engine: Engine, label: str, query: str, hits: int) -> Iterator[Suggestion]:
    count = _count(engine, query)
    if count > hits:
        yield Suggestion(Way.WIDER, label, query, count)
