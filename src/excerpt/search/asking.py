"""A query -> what a store is asked for: the words and meaning to look for, and what a fragment must have."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date
from typing import cast

import numpy as np

from excerpt.index.snapshot import Snapshot
from excerpt.places import number_of
from excerpt.search.evidence import asked_words, trust_in_meaning
from excerpt.search.filters import FIELDS, notes_allowed
from excerpt.search.lexical import Word, WordIndex
from excerpt.search.query import Filter, FilterKind, Query, page_range
from excerpt.search.source import Searchable
from excerpt.settings import Settings
from excerpt.store.candidates import Ask
from excerpt.store.snapshot import StoreSnapshot
from excerpt.text.words import QueryWord, fold

SURPLUS = 1.25
"""How many times as many fragments a store is asked for as are put forward: it weighs words more roughly."""
COMMON = 0.5
"""Words that more than this share of the fragments have are not looked for where there are rarer ones."""


def ask_for(
    query: Query, store: StoreSnapshot, settings: Settings, today: date, pool: int, *, by_words: int = 0
) -> Ask:
    """What a store is asked for, so that the best `pool` by words and by meaning are among what it finds, and by words
    at least `by_words`. Filters that are of whole notes are worked out here, by the same rules as in an index."""
    asked = asked_words(query.words, store)
    store.lexical.learn([term for word in asked for term in word.terms])
    index = WordIndex(store.lexical)
    words = index.expand(asked, open_word=query.open_word, fuzzy_threshold=settings.search.fuzzy_threshold)
    trust = 1.0 if settings.embedding.multilingual else trust_in_meaning(query.words, store.languages)
    of_notes = [one for one in query.filters if one.kind not in FIELDS and one.kind is not FilterKind.PAGE]
    notes = None
    if of_notes:
        notes = np.flatnonzero(notes_allowed(of_notes, store.facets, len(store.table.paths), today)).astype(np.int32)
    return Ask(
        terms=_looked_for(words, store),
        vector=store.embedder.embed([query.words])[0] if asked and trust else None,
        notes=notes,
        keys=_on_pages(query.filters, store),
        having=_having(query, store),
        lacking=_lacking(query, store),
        named=store.notes_named(query.words) if asked else (),
        most=max(int(SURPLUS * pool), by_words),
        nearest=int(SURPLUS * pool),
    )


def whole_notes(store: StoreSnapshot, paths: Collection[str], most: int = 0) -> Ask:
    """What asks for all fragments of some notes, by their paths; of more than `most`, some of each."""
    known = store.facets.numbers
    notes = np.array(sorted(known[path] for path in paths if path in known), np.int32)
    return Ask(notes=notes, most=most)


def with_at_hand(snapshot: Searchable, asks: Sequence[Ask]) -> Snapshot:
    """The snapshot with the fragments at hand that some asks want. An index has all."""
    return cast("Snapshot", snapshot.view(lambda _: asks) if isinstance(snapshot, StoreSnapshot) else snapshot)


def _looked_for(words: Sequence[Word], store: StoreSnapshot) -> tuple[str, ...]:
    """The terms of words that tell something, or of all where none does."""
    most = COMMON * store.lexical.corpus_size
    known = [(word, store.lexical.counts(word.terms).fragments) for word in words]
    telling = [word for word, count in known if 0 < count <= most] or [word for word, count in known if count]
    return tuple(dict.fromkeys(term for word in telling for term in word.terms))


def _on_pages(filters: Sequence[Filter], store: StoreSnapshot) -> tuple[int, ...] | None:
    """The keys of fragments on the pages that are asked for; None where none are."""
    wanted = [one for one in filters if one.kind is FilterKind.PAGE and not one.negated]
    if not wanted:
        return None
    ranges = [page_range(one.value) or (0, -1) for one in wanted]
    return tuple(
        key
        for key, place in store.facets.places()
        if all(first <= (number_of(place) or -1) <= last for first, last in ranges)
    )


def _having(query: Query, store: StoreSnapshot) -> tuple[tuple[str, ...], ...]:
    """Of what terms a fragment must have one, for each word that it must have in a name or in a phrase."""
    found: list[tuple[str, ...]] = []
    for one in query.filters:
        if one.kind in FIELDS and not one.negated:
            words = _parts(one.value, store)
            for number, word in enumerate(words):
                terms = {*word.terms, fold(word.surface)}
                if one.open and number == len(words) - 1:
                    for field in FIELDS[one.kind]:
                        terms.update(store.lexical.terms(field, fold(word.surface)))
                found.append(tuple(sorted(terms)))
    found += [word.terms for phrase in query.phrases for word in _parts(phrase, store)]
    return tuple(found)


def _lacking(query: Query, store: StoreSnapshot) -> tuple[str, ...]:
    """The terms of excluded words; what is more than a word is left to who reads the fragments."""
    several = (_parts(word, store) for word in query.excluded)
    return tuple(term for words in several if len(words) == 1 for term in words[0].terms)


def _parts(text: str, store: StoreSnapshot) -> Sequence[QueryWord]:
    words = asked_words(text, store)
    return [word for word in words if not word.whole] or words
