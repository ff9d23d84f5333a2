"""Encode the terms of a fragment for a store: a text of tokens of equal length, in the order of fields and positions.

PostgreSQL's own parser would split our terms (c++, std::vector, pairs of Chinese characters) differently. So a term is
stored as a token, nine letters that are a digest of it: a plain word for the parser, whatever the language. The text is
indexed by words. Split at every tenth byte, it also says which terms a fragment has, in which field and how often;
`positions` adds the position of each. The probability that any two of a million terms have the same token is one in
eleven.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from excerpt.corpus.tables import FIELDS
from excerpt.index.postings import Segment
from excerpt.text.folding import UNACCENTED_MARK

_TOKEN_LETTERS = 9
_TOKEN_BYTES = _TOKEN_LETTERS + 1
_UNACCENTED_LETTER = "z"
TOKEN_DTYPE = np.dtype([("head", "<u8"), ("tail", "<u2")])
_CACHED_TOKENS = 1 << 18
_NO_ROWS = np.zeros(0, np.intp)
POSITION_DTYPE = np.dtype("<u2")
_MAX_POSITION = np.iinfo(POSITION_DTYPE).max


@lru_cache(_CACHED_TOKENS)
def token_of(term: str) -> str:
    """Return the token of a term: nine letters of its digest.

    The last letter is z only for the second terms of words with accents, which add no length.
    """
    head, number = _split_digest(term)
    return head + (_UNACCENTED_LETTER if term.endswith(UNACCENTED_MARK) else chr(97 + number % 25))


def stored_tokens(terms: Iterable[str]) -> list[str]:
    """Return the tokens that a store may have for `terms`: the result of `token_of`, and the token in an older store.

    In an older store, there are no second terms, and the last letter of a token is any letter, until the vault is
    pushed again.
    """
    return list(dict.fromkeys(token for term in terms for token in _tokens_of_term(term)))


@lru_cache(_CACHED_TOKENS)
def _tokens_of_term(term: str) -> tuple[str, ...]:
    if term.endswith(UNACCENTED_MARK):
        return (token_of(term),)
    head, number = _split_digest(term)
    return token_of(term), head + chr(97 + number % 26)


def _split_digest(term: str) -> tuple[str, int]:
    """Return all letters but the last of a term's token, and the number from which the last letter is derived."""
    number = int.from_bytes(hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
    letters = []
    for _ in range(_TOKEN_LETTERS - 1):
        number, letter = divmod(number, 26)
        letters.append(chr(97 + letter))
    return "".join(letters), number


class FragmentTerms(Struct, frozen=True):
    """The terms of one fragment, encoded.

    `words` is the text of their tokens, `lengths` the number of tokens in each of FIELDS, and `positions` the position
    of each token in its field, as 16-bit integers.
    """

    words: str
    lengths: tuple[int, ...]
    positions: bytes


class TermCounts(Struct, frozen=True):
    """How many fragments, fragments of attachments (`attached`) and notes have a term.

    `fields` has a bit for each of FIELDS in which the term occurs.
    """

    token: str
    term: str
    fragments: int
    attached: int
    notes: int
    fields: int


def encode_documents(
    segment: Segment, notes: NDArray[np.int64], attached: NDArray[np.bool_]
) -> tuple[list[FragmentTerms], list[TermCounts]]:
    """Encode the documents (fragments) of a segment; return the terms of each document and the counts of each term.

    `notes` has the note's number for each document, with the documents of a note in succession; `attached` flags the
    documents that are of attachments.
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
        TermCounts(*values)
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
    encoded = np.array([f"{token} ".encode("ascii") for token in tokens], f"S{_TOKEN_BYTES}")
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
            words[begin * _TOKEN_BYTES : end * _TOKEN_BYTES],
            positions[begin * POSITION_DTYPE.itemsize : end * POSITION_DTYPE.itemsize],
        )
        fragment_terms.append(FragmentTerms(part[0], tuple(field_lengths), part[1]))
        begin = end
    return fragment_terms, counted


def word_lengths(words: Sequence[str], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return `lengths` without the second terms of words with accents, as a local index counts them.

    `words` are those of some fragments as in `FragmentTerms`, `lengths` their tokens per field (fragments x FIELDS).
    """
    tails = np.frombuffer("".join(words).encode("ascii"), TOKEN_DTYPE)["tail"]
    fields = np.repeat(np.arange(lengths.size), lengths.ravel())
    is_unaccented = tails & 0xFF == ord(_UNACCENTED_LETTER)
    return lengths - np.bincount(fields[is_unaccented], minlength=lengths.size).reshape(lengths.shape)


class DecodedTokens:
    """The decoded tokens of some fragments, as arrays with one row per token.

    `docs` are the numbers of the fragments, `fields` the numbers of the fields, and `positions` the positions in the
    field.
    """

    def __init__(self, words: Sequence[str], lengths: NDArray[np.int64], positions: Sequence[bytes]) -> None:
        """Decode the `words` and `positions` of some fragments, as in `FragmentTerms`.

        `lengths` has the number of tokens per fragment and field (fragments x FIELDS).
        """
        entries = np.frombuffer("".join(words).encode("ascii"), TOKEN_DTYPE)
        self._heads = entries["head"].copy()
        self._tails = entries["tail"].copy()
        count = len(lengths)
        self.docs = np.repeat(np.arange(count, dtype=np.int32), lengths.sum(axis=1))
        fields = np.tile(np.arange(len(FIELDS), dtype=np.uint8), count)
        self.fields: NDArray[np.uint8] = np.repeat(fields, lengths.ravel())
        self.positions: NDArray[np.int32] = np.frombuffer(b"".join(positions), POSITION_DTYPE).astype(np.int32)

    def find(self, term: str) -> NDArray[np.intp]:
        """Return the rows that have a token of `term`, ascending by fragment, field and position."""
        if not len(self._heads):
            return _NO_ROWS
        tokens = "".join(f"{token} " for token in stored_tokens([term]))
        entries = np.frombuffer(tokens.encode("ascii"), TOKEN_DTYPE)
        same_head: NDArray[np.intp] = np.flatnonzero(self._heads == entries["head"][0])
        tails = self._tails[same_head]
        return same_head[np.logical_or.reduce([tails == tail for tail in entries["tail"]])]


def count_fragments_by_token(words: Sequence[str], notes: Sequence[int]) -> tuple[list[str], list[int], list[int]]:
    """Count the fragments and the notes that have each token.

    `words` and `notes` hold the text of tokens and the note's number for each fragment. Returns the tokens, and for
    each token the number of fragments and the number of notes.
    """
    counts: Counter[str] = Counter()
    tokens_by_note: dict[int, set[str]] = {}
    for text, note in zip(words, notes, strict=True):
        tokens = set(text.split())
        counts.update(tokens)
        tokens_by_note.setdefault(note, set()).update(tokens)
    note_counts = Counter(token for tokens in tokens_by_note.values() for token in tokens)
    return list(counts), list(counts.values()), [note_counts[token] for token in counts]


def fields_by_token(words: Sequence[str], lengths: Sequence[Sequence[int]]) -> dict[str, int]:
    """Return for each token of some fragments the fields that it occurs in, as a bit for each of FIELDS.

    `words` and `lengths` are those of `FragmentTerms`.
    """
    fields: dict[str, int] = {}
    for text, field_lengths in zip(words, lengths, strict=True):
        tokens = iter(text.split())
        for field, length in enumerate(field_lengths):
            for token in islice(tokens, length):
                fields[token] = fields.get(token, 0) | 1 << field
    return fields
