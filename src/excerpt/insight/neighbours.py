"""Candidates for related notes in a corpus that has not loaded all fragments.

A complete corpus compares a note with all others. From a store, those fragments are loaded that share the note's
important words, are similar in meaning or name it, and then all fragments of their notes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from excerpt.corpus.interface import CandidateQuery, Corpus
from excerpt.insight.similarity import (
    POOL,
    NameMentions,
    Origin,
    centre_of,
    important_terms,
    links_from,
    origin_of,
    spread,
)
from excerpt.search.engine import Engine
from excerpt.search.prefetch import build_note_query

MAX = 5_000
"""The most fragments that a note is compared with: 170 ms to fetch."""
TERMS = 40
"""The number of important words by which fragments are found."""
BY_WORDS = 500
"""The number of candidate fragments by words."""
BY_MEANING = 300
"""The number of candidate fragments near the mean of the note; and as many in total near PASSAGES of its passages."""
PASSAGES = 4
_DIRECT = 2  # the weight of a direct link, more than the largest value of links in common, 1

Ints = npt.NDArray[np.int32]


def prefetch_neighbours(engine: Engine, path: str, line: int | None) -> None:
    """Load the fragments that a note, or its fragment with `line`, is compared with.

    Raises KeyError for an unknown note.
    """
    if (partial := engine.snapshot.partial) is None:
        return
    corpus = partial.prefetch(lambda base: [build_note_query(base, [path])])
    origin = origin_of(corpus, path, line)
    candidates = corpus.candidates_by_note(list(_queries(corpus, origin)))
    links = links_from(corpus, origin.note)
    named = NameMentions(corpus).mentions_in(origin.note, origin.read)
    strengths = links.common + _DIRECT * links.direct
    strengths[[mention.of for mention in named]] += _DIRECT
    # Notes connected by links or names come first, then those with the most candidate fragments.
    first = np.argsort(-strengths, kind="stable")[:POOL]
    ranking = np.lexsort((-strengths, -candidates))
    order = np.array(
        list(dict.fromkeys([origin.note, *first[strengths[first] > 0], *ranking[candidates[ranking] > 0]])), np.int32
    )
    notes_to_load = order[np.cumsum(corpus.fragment_counts(order)) <= MAX]
    paths = [corpus.table.paths[note] for note in {origin.note, *notes_to_load.tolist()}]
    engine.use_view(corpus.prefetch(lambda base: [build_note_query(base, paths, MAX)]))


def _queries(corpus: Corpus, origin: Origin) -> Iterator[CandidateQuery]:
    """Yield the queries that find fragments of related notes."""
    terms = [term.term for term in important_terms(corpus, origin)][:TERMS]
    if terms:
        yield CandidateQuery(terms=tuple(terms), limit=BY_WORDS)
    if len(origin.rows):
        yield CandidateQuery(vector=centre_of(corpus, origin), vector_limit=BY_MEANING)
        rows = spread(origin.rows, PASSAGES)
        for vector in corpus.vectors.rows(rows):
            yield CandidateQuery(vector=vector, vector_limit=BY_MEANING // len(rows))
    for words in NameMentions(corpus).words_of_names(origin.note):
        yield CandidateQuery(must=words)
