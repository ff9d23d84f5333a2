"""The terms of a fragment as stored: one text of tokens of equal length, in the order of fields and positions.

PostgreSQL's own parser would split our terms (c++, std::vector, pairs of Chinese characters) differently. So a term
becomes a token of nine letters, a digest: a plain word for the parser, whatever the language. The same text is indexed
by words and, cut at every tenth byte, returns what the signals need of a fragment: which terms, in which field, how
often, and with `positions` at which positions. The probability that any two of a million terms have the same token is
one in eleven.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from excerpt.corpus.tables import FIELDS
from excerpt.index.postings import Segment

_LETTERS = 9
_WIDTH = _LETTERS + 1
_ENTRY = np.dtype([("head", "<u8"), ("tail", "<u2")])
_CACHE_SIZE = 1 << 18
POSITION_DTYPE = np.dtype("<u2")
_MAX_POSITION = np.iinfo(POSITION_DTYPE).max


@lru_cache(_CACHE_SIZE)
def token_of(term: str) -> str:
    """Return the token of a term."""
    number = int.from_bytes(hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
    letters = []
    for _ in range(_LETTERS):
        number, letter = divmod(number, 26)
        letters.append(chr(97 + letter))
    return "".join(letters)


@dataclass(frozen=True, slots=True)
class FragmentTerms:
    """The terms of one fragment: the text of their tokens, how many each of FIELDS has, and their positions."""

    words: str
    lengths: tuple[int, ...]
    positions: bytes


@dataclass(frozen=True, slots=True)
class TermCount:
    """The counts of a term: its token, fragments, fragments of attachments, notes, and a bit per field of FIELDS."""

    token: str
    term: str
    fragments: int
    attached: int
    notes: int
    fields: int


def terms_of_documents(
    segment: Segment, notes: NDArray[np.int64], attached: NDArray[np.bool_]
) -> tuple[list[FragmentTerms], list[TermCount]]:
    """Return the terms of each document of a segment, and the counts of each term.

    `notes` are those of the documents, each note's documents together; `attached` flags documents of attachments.
    """
    counts = np.diff(segment.starts)
    names = [term.decode() for term in segment.terms]
    tokens = [token_of(term) for term in names]
    # A term's documents ascend, each once for every field.
    is_first = np.diff(segment.docs, prepend=-1) != 0
    is_first[segment.starts[:-1]] = True
    fragment_counts = np.add.reduceat(is_first, segment.starts[:-1]) if names else np.zeros(0, np.int64)
    attached_counts = (
        np.add.reduceat(is_first & attached[segment.docs], segment.starts[:-1]) if names else fragment_counts
    )
    begins_note = np.diff(notes[segment.docs], prepend=-1) != 0
    begins_note[segment.starts[:-1]] = True
    note_counts = np.add.reduceat(begins_note, segment.starts[:-1]) if names else fragment_counts
    bits = np.left_shift(np.uint8(1), segment.fields)
    fields = np.bitwise_or.reduceat(bits, segment.starts[:-1]) if names else bits
    counted = [
        TermCount(*values)
        for values in zip(
            tokens,
            names,
            fragment_counts.tolist(),
            attached_counts.tolist(),
            note_counts.tolist(),
            fields.tolist(),
            strict=True,
        )
    ]
    encoded = np.array([f"{token} ".encode("ascii") for token in tokens], f"S{_WIDTH}")
    terms = np.repeat(np.repeat(np.arange(len(tokens)), counts), segment.tf)
    docs = np.repeat(segment.docs, segment.tf)
    in_fields = np.repeat(segment.fields, segment.tf)
    order = np.lexsort((segment.positions, in_fields, docs))
    lengths = np.zeros((segment.doc_count, len(FIELDS)), np.int64)
    np.add.at(lengths, (docs, in_fields), 1)
    ends = np.cumsum(lengths.sum(axis=1))
    words = encoded[terms[order]].tobytes().decode("ascii")
    positions = np.minimum(segment.positions[order], _MAX_POSITION).astype(POSITION_DTYPE).tobytes()
    fragment_terms, begin = [], 0
    for end, field_lengths in zip(ends.tolist(), lengths.tolist(), strict=True):
        part = (
            words[begin * _WIDTH : end * _WIDTH],
            positions[begin * POSITION_DTYPE.itemsize : end * POSITION_DTYPE.itemsize],
        )
        fragment_terms.append(FragmentTerms(part[0], tuple(field_lengths), part[1]))
        begin = end
    return fragment_terms, counted


class TokenEntries:
    """The tokens of some fragments in order, each with the numbers of its fragment and field, and its position."""

    def __init__(self, words: Sequence[str], lengths: NDArray[np.int64], positions: Sequence[bytes]) -> None:
        """Decode the tokens; `lengths` has the number of tokens per fragment and field (fragments x FIELDS)."""
        entries = np.frombuffer("".join(words).encode("ascii"), _ENTRY)
        self._heads = entries["head"].copy()
        self._tails = entries["tail"].copy()
        count = len(lengths)
        self.docs = np.repeat(np.arange(count, dtype=np.int32), lengths.sum(axis=1))
        fields = np.tile(np.arange(len(FIELDS), dtype=np.uint8), count)
        self.fields: NDArray[np.uint8] = np.repeat(fields, lengths.ravel())
        self.positions: NDArray[np.int32] = np.frombuffer(b"".join(positions), POSITION_DTYPE).astype(np.int32)

    def find(self, term: str) -> NDArray[np.intp]:
        """Return the positions of the term's entries, ascending by fragment, field and position."""
        entry = np.frombuffer(f"{token_of(term)} ".encode("ascii"), _ENTRY)[0]
        same_head = np.flatnonzero(self._heads == entry["head"])
        indices: NDArray[np.intp] = same_head[self._tails[same_head] == entry["tail"]]
        return indices


def count_tokens(words: Sequence[str], notes: Sequence[int]) -> tuple[list[str], list[int], list[int]]:
    """Return every token of some fragments, and how many of these fragments, and of their notes, have it."""
    counts: Counter[str] = Counter()
    tokens_by_note: dict[int, set[str]] = {}
    for text, note in zip(words, notes, strict=True):
        tokens = set(text.split())
        counts.update(tokens)
        tokens_by_note.setdefault(note, set()).update(tokens)
    note_counts = Counter(token for tokens in tokens_by_note.values() for token in tokens)
    return list(counts), list(counts.values()), [note_counts[token] for token in counts]


def token_fields(words: Sequence[str], lengths: Sequence[Sequence[int]]) -> dict[str, int]:
    """Return a bit for each of FIELDS in which some fragments have the token, for every token."""
    fields: dict[str, int] = {}
    for text, field_lengths in zip(words, lengths, strict=True):
        tokens = iter(text.split())
        for field, length in enumerate(field_lengths):
            for token in islice(tokens, length):
                fields[token] = fields.get(token, 0) | 1 << field
    return fields
