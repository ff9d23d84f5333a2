"""Candidates for related notes in a corpus that has not loaded all fragments.

A complete corpus compares a note with all others. From a store, those fragments are loaded that share the note's
important words, are similar in meaning or name it, and then all fragments of their notes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from excerpt.corpus.interface import CandidateQuery, Corpus
from excerpt.corpus.tables import TermTier
from excerpt.insight.mentions import MentionFinder
from excerpt.insight.note_links import load_note_links
from excerpt.insight.similarity import (
    CANDIDATES_PER_SIGNAL,
    ReferenceNote,
    compute_mean_vector,
    load_reference_note,
    sample_evenly,
    select_important_terms,
)
from excerpt.search.engine import Engine
from excerpt.search.prefetch import build_note_query

MAX_LOADED_FRAGMENTS = 5_000
"""The most fragments that a note is compared with; fetching so many takes 170 ms."""
QUERY_TERMS = 40
"""The number of the note's most important words that the query has."""
CANDIDATES_BY_WORDS = 500
"""The number of candidate fragments that the words find."""
CANDIDATES_BY_MEANING = 300
"""The number of candidate fragments near the note's mean vector.

As many are found near SAMPLED_PASSAGES single passages of the note together.
"""
SAMPLED_PASSAGES = 4
_DIRECT_LINK_WEIGHT = 2  # the weight of a direct link, more than the largest value of links in common, 1

Ints = npt.NDArray[np.int32]


def prefetch_neighbours(engine: Engine, path: str, line: int | None) -> None:
    """Load the fragments that the note `path`, or only its fragment at `line` (1-based), is compared with.

    Does nothing if all fragments are loaded. Raises KeyError for an unknown note.
    """
    if (partial := engine.snapshot.partial) is None:
        return
    corpus = partial.prefetch(lambda base: [build_note_query(base, [path])])
    reference = load_reference_note(corpus, path, line)
    candidates = corpus.candidates_by_note(list(_build_queries(corpus, reference)))
    links = load_note_links(corpus, reference.note)
    named = MentionFinder(corpus).find_mentions_in_note(reference.note, reference.truncated_fragments)
    strengths = links.shared_links + _DIRECT_LINK_WEIGHT * links.direct_links
    strengths[[mention.named_note for mention in named]] += _DIRECT_LINK_WEIGHT
    # Notes connected by links or names come first, then those with the most candidate fragments.
    first = np.argsort(-strengths, kind="stable")[:CANDIDATES_PER_SIGNAL]
    ranking = np.lexsort((-strengths, -candidates))
    order = np.array(
        list(dict.fromkeys([reference.note, *first[strengths[first] > 0], *ranking[candidates[ranking] > 0]])), np.int32
    )
    notes_to_load = order[np.cumsum(corpus.fragment_counts(order)) <= MAX_LOADED_FRAGMENTS]
    paths = [corpus.table.paths[note] for note in {reference.note, *notes_to_load.tolist()}]
    engine.use_view(corpus.prefetch(lambda base: [build_note_query(base, paths, MAX_LOADED_FRAGMENTS)]))


def _build_queries(corpus: Corpus, reference: ReferenceNote) -> Iterator[CandidateQuery]:
    """Yield queries for fragments similar to the reference note: by words, by meaning, and by its names."""
    terms = [term.term for term in select_important_terms(corpus, reference)][:QUERY_TERMS]
    if terms:
        yield CandidateQuery(words=tuple((TermTier((term,), 1.0),) for term in terms), limit=CANDIDATES_BY_WORDS)
    if len(reference.rows):
        yield CandidateQuery(vector=compute_mean_vector(corpus, reference), vector_limit=CANDIDATES_BY_MEANING)
        rows = sample_evenly(reference.rows, SAMPLED_PASSAGES)
        for vector in corpus.vectors.rows(rows):
            yield CandidateQuery(vector=vector, vector_limit=CANDIDATES_BY_MEANING // len(rows))
    for words in MentionFinder(corpus).list_name_terms(reference.note):
        yield CandidateQuery(must=words)
