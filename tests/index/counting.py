"""Inverted lists of documents written out in tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from excerpt.index import postings
from excerpt.index.postings import Inverted
from excerpt.text.numbers import NumberedOccurrences, TermIds


def invert(documents: Sequence[tuple[Sequence[str], Sequence[int]]]) -> Inverted:
    """Return the terms of documents given as (terms, positions), positions ascending."""
    lexicon = TermIds()
    terms = [lexicon[term] for words, _ in documents for term in words]
    docs = [number for number, (words, _) in enumerate(documents) for _ in words]
    positions = [place for _, places in documents for place in places]
    found = NumberedOccurrences(
        terms=np.array(terms, np.int32),
        docs=np.array(docs, np.int32),
        positions=np.array(positions, np.int32),
        doc_count=len(documents),
    )
    return postings.invert(found, lexicon.names)
