"""Arrays and values that an index and a store both provide: the table of fragments, and the postings of terms."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Rows = NDArray[np.int32]
AnyInteger = TypeVar("AnyInteger", bound=np.integer[Any])

FIELDS = ("above", "alias", "heading", "properties", "tags", "text", "title")
"""Names of the searched fields of a fragment.

`heading` is the heading of the fragment's section, `above` holds the headings that enclose this section. `alias` also
holds the file name if it differs from the title. `properties` holds the other frontmatter values and the folder names,
for the first fragment of a note only.
"""


class FragmentTable(Struct, frozen=True):
    """The note and line of each fragment (by row), and the data of each note (by note number).

    By row: `keys` of the fragments, `notes` (note numbers: indexes into `paths`), `lines` (first lines). By note
    number: `paths` (sorted), `languages`, `numbers` (row ids in the catalog), `first_fragment_keys` (keys of the first
    fragments, -1 for a note without fragments), `is_attachment`.
    """

    keys: NDArray[np.int64]
    notes: NDArray[np.int32]
    lines: NDArray[np.int32]
    paths: tuple[str, ...]
    languages: tuple[str, ...]
    numbers: NDArray[np.int64]
    first_fragment_keys: NDArray[np.int64]
    is_attachment: NDArray[np.bool_]


class TermTier(Struct, frozen=True):
    """Terms that match a query word equally well.

    `share` is the factor for their score, and `likeness` the part of the word that they have; both are 1 for the exact
    word.
    """

    terms: tuple[str, ...]
    share: float
    likeness: float = 1.0


class TermPostings(Struct, frozen=True):
    """The postings of a term in one field: the rows that have the term, ascending, and its count (`tf`) in each row."""

    rows: Rows
    tf: NDArray[np.float32]


class Positions(Struct, frozen=True):
    """Positions of a term in its rows: row i has the positions `values[offsets[i]:offsets[i + 1]]`, ascending."""

    offsets: NDArray[np.int64]
    values: NDArray[np.int32]


class TermEntries(Struct, frozen=True):
    """The postings of a term in all fields, one item for each row and field that has the term.

    `rows` ascend, `fields` are indexes into FIELDS, and `tf` are the counts of the term.
    """

    rows: Rows
    fields: NDArray[np.uint8]
    tf: NDArray[np.int32]


class TermOccurrences(Struct, frozen=True):
    """Every occurrence of a term in some requested rows.

    `row_indices` are ascending indexes into the requested rows, `fields` are indexes into FIELDS, and `positions` are
    the term's positions in the field.
    """

    row_indices: NDArray[np.int64]
    fields: NDArray[np.uint8]
    positions: NDArray[np.int32]


class DocumentFrequency(Struct, frozen=True):
    """How many fragments have at least one of some terms.

    `fragments` counts in the whole vault. `sample_matches` of `sample_size` fragments give the rarity of the terms; the
    sample holds the fragments of notes only, or of attachments only.
    """

    fragments: int
    sample_matches: int
    sample_size: int


def sorted_unique(values: NDArray[AnyInteger]) -> NDArray[AnyInteger]:
    """Return the distinct values, ascending: `np.unique`, which imports numpy's masked arrays first (.01 s)."""
    ordered = np.sort(values)
    return ordered[run_starts(ordered)]


def run_starts(values: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return the position of the first of each run of equal values.

    `np.diff` with `prepend` takes three to four times as long for hundreds of values.
    """
    is_first = np.ones(len(values), np.bool_)
    np.not_equal(values[1:], values[:-1], out=is_first[1:])
    return np.flatnonzero(is_first)


def run_offsets(counts: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the offsets of consecutive runs with these lengths: run i is `offsets[i]:offsets[i + 1]`."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def concat_ranges(first: NDArray[np.integer], counts: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the integers of all ranges, one after the other; range i has `counts[i]` integers from `first[i]` on."""
    ends = np.cumsum(counts, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(first - (ends - counts), counts) + np.arange(total)
