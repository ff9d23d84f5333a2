"""Arrays and values that every corpus provides: fragments by row, and the postings of terms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int32]

FIELDS = ("above", "alias", "heading", "properties", "tags", "text", "title")
"""`heading` is that of the fragment's section, `above` those over it; `alias` takes in the file's name where the title
differs from it; `properties` are the other frontmatter values and the names of the folders, on the first fragment of
a note only."""


@dataclass(frozen=True, slots=True)
class FragmentTable:
    """The location of each fragment, by row: `notes` are positions in `paths` (sorted), `lines` first lines.

    `languages` belong to `paths`, and so do `numbers`, which the notes have in the catalog, and `first_keys`, those of
    their first fragments (-1 without any); `is_attachment` says which are attachments.
    """

    keys: NDArray[np.int64]
    notes: NDArray[np.int32]
    lines: NDArray[np.int32]
    paths: tuple[str, ...]
    languages: tuple[str, ...]
    numbers: NDArray[np.int64]
    first_keys: NDArray[np.int64]
    is_attachment: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class TermPostings:
    """The postings of a term in one field: rows, ascending, and how often in each."""

    rows: Rows
    tf: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Positions:
    """Places of a term in its rows: those in the i-th are `values[offsets[i]:offsets[i + 1]]`, ascending."""

    offsets: NDArray[np.int64]
    values: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class TermEntries:
    """The postings of a term in all fields: rows, ascending, one for each field that has it.

    Each has the field, as a position in FIELDS, and the frequency.
    """

    rows: Rows
    fields: NDArray[np.uint8]
    tf: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class TermOccurrences:
    """Occurrences of a term in some rows: `at` is the place of the row among those asked for, ascending."""

    row_indices: NDArray[np.int64]
    fields: NDArray[np.uint8]
    positions: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class DocumentFrequency:
    """How many fragments have any of some terms, and how many of the `of` fragments that define rarity."""

    fragments: int
    sample_matches: int
    sample_size: int


@dataclass(frozen=True, slots=True)
class NoteInfo:
    """The data of a note besides its text.

    `mtime_ns` is the file's time when it was read, `kind` that of an attachment.
    """

    path: str
    title: str
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    language: str
    size: int
    mtime_ns: int
    tokens: int
    kind: str


def offsets_of(counts: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return where consecutive runs of these lengths begin and end."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])


def concat_ranges(first: NDArray[np.integer], counts: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the numbers of all runs, run i being `counts[i]` numbers from `first[i]` on."""
    ends = np.cumsum(counts, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(first - (ends - counts), counts) + np.arange(total)
