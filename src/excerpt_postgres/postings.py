"""The postings of a store: for each term the fragments that have it, with all that their BM25F scores need.

A search reads the postings of its terms whole, scores them by the formula of an index, and loads only the best
fragments. Postings are stored in blocks of 256 notes, so that a changed note rewrites little: a row has the postings of
one term in one block, eight bytes for each field of a fragment that has the term, in the order of keys and fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from excerpt.corpus.tables import FIELDS, run_starts
from excerpt.search.bm25 import FIELD_WEIGHTS, K1
from excerpt_postgres.connection import StoreConnection, array_literal
from excerpt_postgres.words import TOKEN_DTYPE, stored_tokens, word_lengths

Longs = NDArray[np.int64]
Floats = NDArray[np.float32]

ORDINAL_BITS = 20
"""Bits of a fragment's key that hold its ordinal (position in the note); the higher bits hold the note's number."""
_BLOCK_NOTE_BITS = 8
"""Bits of a note's number that tell it from the others of its block; the higher bits are the block's number."""
_BLOCK_BITS = ORDINAL_BITS + _BLOCK_NOTE_BITS
"""Bits of a fragment's key that tell it from the others of its block; the higher bits are the block's number."""
_FIELD_BITS = 3
_POSTING_DTYPE = np.dtype([("place", "<u4"), ("tf", "<u2"), ("length", "<u2")])
"""A posting: the key in its block and the field's number, the count of the term, and the length of the field."""
_MAX_COUNT = np.iinfo(np.uint16).max
_LETTERS = 26
_FIRST_LETTER = ord("a")
_MAX_CACHED_POSTINGS = 2_000_000
"""Maximum number of fragments of all terms that a reader keeps; each takes twelve bytes."""


class PostingsBlock(Struct, frozen=True):
    """The postings of the term with this token in one block of notes, encoded."""

    token: str
    block: int
    data: bytes

    def without_notes(self, notes: Longs) -> PostingsBlock:
        """Return the block without the fragments of `notes`, which are numbers of notes."""
        postings = np.frombuffer(self.data, _POSTING_DTYPE)
        keys = _decode_keys(postings, np.full(len(postings), self.block, np.int64))
        return PostingsBlock(self.token, self.block, postings[~np.isin(keys >> ORDINAL_BITS, notes)].tobytes())


def encode_postings(keys: Sequence[int], words: Sequence[str], lengths: NDArray[np.int64]) -> list[PostingsBlock]:
    """Return the postings of some fragments, by token and block.

    `words` and `lengths` (fragments x FIELDS) are those of `FragmentTerms`.
    """
    if not any(words):
        return []
    ascending, rank = np.unique(np.array(keys, np.int64), return_inverse=True)
    tokens = np.frombuffer("".join(words).encode("ascii"), TOKEN_DTYPE)
    heads, head_numbers = np.unique(tokens["head"], return_inverse=True)
    token_numbers = head_numbers * _LETTERS + ((tokens["tail"] & 0xFF) - _FIRST_LETTER)
    fields = np.repeat(np.tile(np.arange(len(FIELDS)), len(keys)), lengths.ravel())
    docs = np.repeat(rank, lengths.sum(axis=1))
    combined, tf = np.unique(((token_numbers * len(ascending) + docs) << _FIELD_BITS) | fields, return_counts=True)
    fields, docs = combined & ((1 << _FIELD_BITS) - 1), (combined >> _FIELD_BITS) % len(ascending)
    token_numbers = (combined >> _FIELD_BITS) // len(ascending)
    field_lengths = np.zeros_like(lengths)
    field_lengths[rank] = word_lengths(words, lengths)
    postings = np.empty(len(combined), _POSTING_DTYPE)
    postings["place"] = (ascending[docs] & ((1 << _BLOCK_BITS) - 1)) << _FIELD_BITS | fields
    postings["tf"] = np.minimum(tf, _MAX_COUNT)
    postings["length"] = np.minimum(field_lengths[docs, fields], _MAX_COUNT)
    blocks = ascending[docs] >> _BLOCK_BITS
    first = np.flatnonzero((np.diff(token_numbers, prepend=-1) != 0) | (np.diff(blocks, prepend=-1) != 0))
    names = [head.tobytes().decode("ascii") for head in heads[token_numbers[first] // _LETTERS]]
    letters = [chr(_FIRST_LETTER + letter) for letter in (token_numbers[first] % _LETTERS).tolist()]
    ends = [*first[1:].tolist(), len(postings)]
    return [
        PostingsBlock(name + letter, block, postings[begin:end].tobytes())
        for name, letter, block, begin, end in zip(
            names, letters, blocks[first].tolist(), first.tolist(), ends, strict=True
        )
    ]


def _decode_keys(postings: NDArray[np.void], blocks: Longs) -> Longs:
    keys: Longs = (blocks << _BLOCK_BITS) | (postings["place"] >> _FIELD_BITS)
    return keys


def add_postings(connection: StoreConnection, table: str, area: int, blocks: Sequence[PostingsBlock]) -> None:
    """Add postings to those in `table`, the one of an area (a folder with its own read rights)."""
    connection.rows(
        f"INSERT INTO {table} AS postings (area, token, block, data)"
        " SELECT %s, * FROM unnest(%s::text[], %s::integer[], %b::bytea[])"
        " ON CONFLICT (token, block) DO UPDATE SET data = postings.data || excluded.data",
        *(area, array_literal([one.token for one in blocks]), array_literal([one.block for one in blocks])),
        [one.data for one in blocks],
    )


def remove_postings(
    connection: StoreConnection, table: str, area: int, tokens: Iterable[str], notes: Sequence[int]
) -> None:
    """Remove the postings of `notes`, which have these tokens, from those in `table`, the one of an area."""
    numbers = np.array(notes, np.int64)
    removed = connection.rows(
        f"DELETE FROM {table} WHERE token = ANY(%s) AND block = ANY(%s) RETURNING token, block, data",
        *(list(tokens), np.unique(numbers >> _BLOCK_NOTE_BITS).tolist()),
    )
    left = (PostingsBlock(*row).without_notes(numbers) for row in removed)
    add_postings(connection, table, area, [block for block in left if block.data])


class KeyScores(Struct, frozen=True):
    """The keys of fragments, ascending, with a score of each, or with the weighted count of a term."""

    keys: Longs
    scores: Floats

    def best(self, is_wanted: NDArray[np.bool_], limit: int) -> list[int]:
        """Return the keys of the `limit` highest scores, of those that `is_wanted` flags, best first.

        Ties go to the lower key, as in an index.
        """
        keys, scores = self.keys[is_wanted], self.scores[is_wanted]
        if len(keys) > limit:
            lowest = np.partition(scores, len(scores) - limit)[len(scores) - limit]
            is_best = scores > lowest
            is_best[np.flatnonzero(scores == lowest)[: limit - int(np.count_nonzero(is_best))]] = True
            keys, scores = keys[is_best], scores[is_best]
        best: list[int] = keys[np.argsort(-scores, kind="stable")].tolist()
        return best


_NO_SCORES = KeyScores(np.zeros(0, np.int64), np.zeros(0, np.float32))


class WordRanking:
    """The scores of fragments by words, from the postings of a vault; those of each term are read once.

    `mean_lengths` are those of the vault's statistics.
    """

    def __init__(self, mean_lengths: Sequence[float]) -> None:
        shapes = [FIELD_WEIGHTS[field] for field in FIELDS]
        self._weights = np.array([shape.weight for shape in shapes], np.float32)
        self._bases = np.array([1 - shape.b for shape in shapes], np.float32)
        self._slopes = np.array([shape.b / mean for shape, mean in zip(shapes, mean_lengths, strict=True)], np.float32)
        self._known: dict[str, KeyScores] = {}
        self._size = 0

    def forget_if_many(self) -> None:
        """Forget all postings if they are many."""
        if self._size > _MAX_CACHED_POSTINGS:
            self._known.clear()
            self._size = 0

    def missing_tokens(self, terms: Iterable[str]) -> list[str]:
        """Return the tokens of `terms` of which the postings are not known yet."""
        return [token for token in stored_tokens(dict.fromkeys(terms)) if token not in self._known]

    def add(self, tokens: Iterable[str], blocks: Iterable[PostingsBlock]) -> None:
        """Add the postings that a store has for `tokens`; blocks of other tokens are ignored."""
        by_token: dict[str, list[PostingsBlock]] = {token: [] for token in tokens}
        for block in blocks:
            if block.token in by_token:
                by_token[block.token].append(block)
        added = {token: self._count(token_blocks) for token, token_blocks in by_token.items()}
        self._size += sum(len(counts.keys) for token, counts in added.items() if token not in self._known)
        self._known.update(added)

    def knows(self, terms: Iterable[str]) -> bool:
        """Return whether the postings of all `terms` are known."""
        return all(token in self._known for token in stored_tokens(terms))

    def keys_with(self, terms: Iterable[str]) -> Longs:
        """Return the keys of the fragments that have any of `terms`, ascending."""
        return self._sum_counts(terms).keys

    def scores(self, words: Iterable[Iterable[tuple[Sequence[str], float]]]) -> KeyScores:
        """Return the scores of all fragments that have any of some words.

        A word has tiers of terms, each with its idf times its share; the best tier of a fragment counts.
        """
        return _reduce_by_key(
            [_reduce_by_key([self._score(terms, factor) for terms, factor in tiers], np.maximum) for tiers in words],
            np.add,
        )

    def _score(self, terms: Iterable[str], factor: float) -> KeyScores:
        found = self._sum_counts(terms)
        return KeyScores(found.keys, np.float32(factor * (K1 + 1)) * found.scores / (found.scores + np.float32(K1)))

    def _sum_counts(self, terms: Iterable[str]) -> KeyScores:
        return _reduce_by_key([self._known[token] for token in stored_tokens(terms)], np.add)

    def _count(self, blocks: Sequence[PostingsBlock]) -> KeyScores:
        postings = np.frombuffer(b"".join(block.data for block in blocks), _POSTING_DTYPE)
        sizes = [len(block.data) // _POSTING_DTYPE.itemsize for block in blocks]
        keys = _decode_keys(postings, np.repeat(np.array([block.block for block in blocks], np.int64), sizes))
        fields = postings["place"] & ((1 << _FIELD_BITS) - 1)
        norms = self._bases[fields] + self._slopes[fields] * postings["length"]
        counts = (postings["tf"] * self._weights[fields] / norms).astype(np.float32)
        return _reduce_by_key([KeyScores(keys, counts)], np.add)


def _reduce_by_key(parts: Sequence[KeyScores], combine: np.ufunc) -> KeyScores:
    """Return each key once, ascending, with its scores combined by `combine`."""
    parts = [part for part in parts if len(part.keys)]
    if not parts:
        return _NO_SCORES
    keys = np.concatenate([part.keys for part in parts])
    scores = np.concatenate([part.scores for part in parts])
    if np.any(keys[1:] < keys[:-1]):
        order = np.argsort(keys, kind="stable")
        keys, scores = keys[order], scores[order]
    first = run_starts(keys)
    return KeyScores(keys[first], combine.reduceat(scores, first))
