"""A fragment's terms as the store keeps them: one text of tokens of equal length, in the order of fields and positions.

PostgreSQL's own parser would take our terms (c++, std::vector, pairs of Chinese characters) apart in its own way. So a
term becomes a token of nine letters, a digest: to the parser a plain word, whatever the language. The same text is
indexed by words and gives back, cut at every tenth byte, what the signals need of a fragment: which terms, in which
field, how often, and with `places` at which positions. That two of a million terms get one token is as likely as one in
eleven.
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
_MAX_KEPT = 1 << 18
PLACE = np.dtype("<u2")
_FARTHEST = np.iinfo(PLACE).max


@lru_cache(_MAX_KEPT)
def token_of(term: str) -> str:
    """Return the token of a term."""
    number = int.from_bytes(hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
    letters = []
    for _ in range(_LETTERS):
        number, letter = divmod(number, 26)
        letters.append(chr(97 + letter))
    return "".join(letters)


@dataclass(frozen=True, slots=True)
class TermsOf:
    """The terms of one fragment: the text of their tokens, how many each of FIELDS has, and their positions."""

    words: str
    lengths: tuple[int, ...]
    places: bytes


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
) -> tuple[list[TermsOf], list[TermCount]]:
    """Return the terms of each document of a segment, and the counts of each term.

    `notes` are those of the documents, each note's documents together; `attached` are documents of attachments.
    """
    counts = np.diff(segment.starts)
    names = [term.decode() for term in segment.terms]
    tokens = [token_of(term) for term in names]
    # A term's documents ascend, each once for every field.
    is_first = np.diff(segment.docs, prepend=-1) != 0
    is_first[segment.starts[:-1]] = True
    having = np.add.reduceat(is_first, segment.starts[:-1]) if names else np.zeros(0, np.int64)
    also = np.add.reduceat(is_first & attached[segment.docs], segment.starts[:-1]) if names else having
    begins_note = np.diff(notes[segment.docs], prepend=-1) != 0
    begins_note[segment.starts[:-1]] = True
    in_notes = np.add.reduceat(begins_note, segment.starts[:-1]) if names else having
    bits = np.left_shift(np.uint8(1), segment.fields)
    fields = np.bitwise_or.reduceat(bits, segment.starts[:-1]) if names else bits
    counted = [
        TermCount(*one)
        for one in zip(tokens, names, having.tolist(), also.tolist(), in_notes.tolist(), fields.tolist(), strict=True)
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
    places = np.minimum(segment.positions[order], _FARTHEST).astype(PLACE).tobytes()
    found, begin = [], 0
    for end, of_fields in zip(ends.tolist(), lengths.tolist(), strict=True):
        own = words[begin * _WIDTH : end * _WIDTH], places[begin * PLACE.itemsize : end * PLACE.itemsize]
        found.append(TermsOf(own[0], tuple(of_fields), own[1]))
        begin = end
    return found, counted


class TokenEntries:
    """The tokens of some fragments in order: for each the numbers of its fragment and field, and its position."""

    def __init__(self, words: Sequence[str], lengths: NDArray[np.int64], places: Sequence[bytes]) -> None:
        """`lengths` are fragments x FIELDS."""
        entries = np.frombuffer("".join(words).encode("ascii"), _ENTRY)
        self._heads = entries["head"].copy()
        self._tails = entries["tail"].copy()
        count = len(lengths)
        self.docs = np.repeat(np.arange(count, dtype=np.int32), lengths.sum(axis=1))
        of_fields = np.tile(np.arange(len(FIELDS), dtype=np.uint8), count)
        self.fields: NDArray[np.uint8] = np.repeat(of_fields, lengths.ravel())
        self.positions: NDArray[np.int32] = np.frombuffer(b"".join(places), PLACE).astype(np.int32)

    def having(self, term: str) -> NDArray[np.intp]:
        """Return where the term is, ascending by fragment, field and position."""
        wanted = np.frombuffer(f"{token_of(term)} ".encode("ascii"), _ENTRY)[0]
        found = np.flatnonzero(self._heads == wanted["head"])
        having: NDArray[np.intp] = found[self._tails[found] == wanted["tail"]]
        return having


def tokens_in(words: Sequence[str], notes: Sequence[int]) -> tuple[list[str], list[int], list[int]]:
    """Every token of some fragments, and how many of these, and of the notes that they are of, have it."""
    counts: Counter[str] = Counter()
    of_notes: dict[int, set[str]] = {}
    for text, note in zip(words, notes, strict=True):
        tokens = set(text.split())
        counts.update(tokens)
        of_notes.setdefault(note, set()).update(tokens)
    in_notes = Counter(token for tokens in of_notes.values() for token in tokens)
    return list(counts), list(counts.values()), [in_notes[token] for token in counts]


def fields_in(words: Sequence[str], lengths: Sequence[Sequence[int]]) -> dict[str, int]:
    """Return a bit for each of FIELDS that has it in some fragments, for every token of these."""
    fields: dict[str, int] = {}
    for text, of_fields in zip(words, lengths, strict=True):
        tokens = iter(text.split())
        for field, length in enumerate(of_fields):
            for token in islice(tokens, length):
                fields[token] = fields.get(token, 0) | 1 << field
    return fields
