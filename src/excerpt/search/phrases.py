"""A quoted phrase: its words, one after the other, in one field of a fragment."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from excerpt.search.lexical import FIELDS, Rows
from excerpt.search.proximity import FAR, PositionReader, line_of
from excerpt.text.words import QueryWord


def rows_with_all(reader: PositionReader, asked: Sequence[Sequence[QueryWord]]) -> Rows:
    """Rows, ascending, that have every phrase, each in any one field. A phrase without a word asks for nothing."""
    found = [rows_with(reader, words) for words in asked if words]
    return reduce(np.intersect1d, found) if found else np.arange(reader.doc_count, dtype=np.int32)


def rows_with(reader: PositionReader, asked: Sequence[QueryWord]) -> Rows:
    """Rows, ascending, in which a field has the words of one phrase in order and without a gap."""
    words = [word for word in asked if not word.whole] or list(asked)
    return reduce(np.union1d, (_in_field(reader, field, words) for field in FIELDS)).astype(np.int32)


def _in_field(reader: PositionReader, field: str, words: Sequence[QueryWord]) -> Rows:
    have = [
        reduce(np.union1d, (reader.postings(field, term).rows for term in word.terms)).astype(np.int32)
        for word in words
    ]
    rows = reduce(np.intersect1d, sorted(have, key=len))
    if not len(rows) or len(words) == 1:
        return rows
    first = words[0].position
    starts = (line_of(reader, {field: 0}, word.terms, rows) - (word.position - first) for word in words)
    return rows[np.unique(reduce(np.intersect1d, starts) // FAR)]
