"""Of a vault in a store, the notes that one may be related to: those that words, meaning, names and links put forward.

An index has every note at hand, and each kind of evidence puts forward its own. A store is asked for the fragments that
have the note's telling words, that are near it in meaning or name it, and then for all of the notes that these are of.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import numpy as np
import numpy.typing as npt

from excerpt.index.snapshot import Snapshot
from excerpt.insight.similarity import POOL, NameMentions, Origin, centre_of, links_of, origin_of, spread, telling_terms
from excerpt.search.asking import whole_notes
from excerpt.search.engine import Engine
from excerpt.store.candidates import Ask
from excerpt.store.snapshot import StoreSnapshot

MOST = 5_000
"""Fragments that a note is compared with: 170 ms to fetch."""
TERMS = 40
"""Telling words that fragments are looked for by, those that say most."""
BY_WORDS = 500
"""Fragments that words put forward."""
BY_MEANING = 300
"""Fragments that meaning puts forward, near the middle of the note; and as many near PASSAGES of it, together."""
PASSAGES = 4
_DIRECT = 2  # links to a note, or from it, go before what they have in common, which is at most 1

Ints = npt.NDArray[np.int32]


def take_neighbours(engine: Engine, path: str, line: int | None) -> None:
    """Have at hand what a note, or its fragment that holds `line`, is compared with. Raises KeyError for a note that
    the store does not have."""
    if not isinstance(engine.source, StoreSnapshot):
        return
    store = engine.source.view(lambda base: [whole_notes(base, [path])])
    origin = origin_of(cast("Snapshot", store), path, line)
    found = store.counts_by_note(list(_asks(store, origin)))
    links = links_of(cast("Snapshot", store), origin.note)
    named = NameMentions(cast("Snapshot", store)).named_by(origin.note, origin.read)
    joined = links.common + _DIRECT * links.direct
    joined[[one.of for one in named]] += _DIRECT
    # What is joined by links or names first, then what has most of what was looked for.
    first = np.argsort(-joined, kind="stable")[:POOL]
    then = np.lexsort((-joined, -found))
    order = np.array(list(dict.fromkeys([origin.note, *first[joined[first] > 0], *then[found[then] > 0]])), np.int32)
    fitting = order[np.cumsum(store.sizes_of(order)) <= MOST]
    paths = [store.table.paths[note] for note in {origin.note, *fitting.tolist()}]
    engine.take(store.view(lambda base: [whole_notes(base, paths, MOST)]))


def _asks(store: StoreSnapshot, origin: Origin) -> Iterator[Ask]:
    """What finds fragments of related notes."""
    terms = [term.term for term in telling_terms(cast("Snapshot", store), origin)][:TERMS]
    if terms:
        yield Ask(terms=tuple(terms), most=BY_WORDS)
    if len(origin.rows):
        centre = centre_of(cast("Snapshot", store), origin)
        yield Ask(vector=centre, nearest=BY_MEANING)
        rows = spread(origin.rows, PASSAGES)
        for vector in store.vectors.rows(rows):
            yield Ask(vector=vector, nearest=BY_MEANING // len(rows))
    for words in NameMentions(cast("Snapshot", store)).words_of_names(origin.note):
        yield Ask(having=words)
