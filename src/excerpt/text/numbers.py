"""Fast extraction of the terms of many texts as arrays of term numbers, for indexing.

The result equals `words.terms_of`, which returns strings. A chunk of text (a word, a compound) is analyzed when it
first occurs and gets a number, its code. A text is stored as the codes of its chunks; the terms of a whole batch of
texts, with their positions, are looked up by these codes at once.
"""

from __future__ import annotations

import threading
import unicodedata
from array import array
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from excerpt.text.inner_marks import join_marked_words
from excerpt.text.words import MAX_CACHED_CHUNK, ascii_chunks_of, chunks_of, split_chunk

Ints = NDArray[np.int32]

# Limits the memory of an encoder to some 60 MB.
_MAX_CODES = 200_000


class NumberedOccurrences(Struct, frozen=True):
    """The occurrences of terms in several documents, as parallel arrays.

    Occurrence i is of the term with number `terms[i]`, in the document with index `docs[i]`, at position `positions[i]`
    of the document. `docs` ascend, and within a document `positions` ascend. `doc_count` is the number of documents,
    some of which may have no terms.
    """

    terms: Ints
    docs: Ints
    positions: Ints
    doc_count: int


class TermIds(dict[str, int]):
    """A dictionary from each term to its number; a missing term gets the next number when it is looked up.

    `names[n]` is the term with number n, in UTF-8.
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: list[bytes] = []

    def __missing__(self, term: str) -> int:
        try:
            name = term.encode()
        except UnicodeEncodeError:  # lone surrogates, which are all treated alike
            number = self[term.encode("utf-8", "replace").decode()]
        else:
            number = len(self.names)
            self.names.append(name)
        self[term] = number
        return number


class _ChunkCodes(dict[str, int]):
    """A dictionary from the chunks of texts in one language to their codes; a missing chunk is analyzed."""

    def __init__(self, encoder: TermEncoder, language: str) -> None:
        super().__init__()
        self._encoder = encoder
        self._language = language

    def __missing__(self, chunk: str) -> int:
        return self.analyze_chunk(chunk, 0)

    def analyze_chunk(self, chunk: str, size: int) -> int:
        code = self._encoder.add_chunk_terms(*split_chunk(chunk, size, self._language))
        if len(chunk) <= MAX_CACHED_CHUNK:
            self[chunk] = code
        return code


class _NgramCodes(dict[str, int]):
    """A dictionary from each n-gram, which is a term without analysis, to its code.

    `width` is the number of positions from the n-gram to the next chunk of the text.
    """

    def __init__(self, encoder: TermEncoder, width: int) -> None:
        super().__init__()
        self._encoder = encoder
        self._width = width

    def __missing__(self, term: str) -> int:
        code = self[term] = self._encoder.add_chunk_terms((term,), (0,), self._width)
        return code


class TermEncoder:
    """Encodes texts as the codes of their chunks, and decodes them to the numbers of their terms.

    For each code it stores the terms of the chunk, their positions, and the number of positions that the chunk takes.
    `lexicon` holds the numbers of the terms. `short_text_cache` is for callers that analyze the same short texts
    repeatedly.
    """

    def __init__(self) -> None:
        self.lexicon = TermIds()
        self.short_text_cache: dict[tuple[str, ...], tuple[Ints, Ints]] = {}
        self._chunks: dict[str, _ChunkCodes] = {}
        self._grams: dict[int, _NgramCodes] = {}
        self._widths = array("i")
        self._counts = array("i")
        self._starts = array("i")
        self._terms = array("i")
        self._positions = array("i")

    def __len__(self) -> int:
        return len(self._widths) + len(self.short_text_cache)

    def add_chunk_terms(self, terms: Sequence[str], positions: Sequence[int], width: int) -> int:
        """Store the terms of a new chunk, with their positions in the chunk, and return the chunk's code.

        `width` is the number of positions that the chunk takes.
        """
        self._widths.append(width)
        self._counts.append(len(terms))
        self._starts.append(len(self._terms))
        self._terms.extend(map(self.lexicon.__getitem__, terms))
        self._positions.extend(positions)
        return len(self._widths) - 1

    def encode(self, text: str, language: str) -> array[int]:
        """Return the codes of the text's chunks, in the order of the text."""
        chunks = self._chunks.get(language)
        if chunks is None:
            chunks = self._chunks[language] = _ChunkCodes(self, language)
        codes = array("i")
        joined = join_marked_words(text)
        text = text if joined is None else joined.text
        if text.isascii():
            codes.extend(map(chunks.__getitem__, ascii_chunks_of(text)))
            return codes
        for chunk, size in chunks_of(text):
            if not size:
                codes.append(chunks[chunk])
            elif unicodedata.is_normalized("NFKC", chunk):
                codes.extend(self._codes_of_ngrams(chunk, size))
            else:
                numbers = chunks.get(chunk)
                codes.append(chunks.analyze_chunk(chunk, size) if numbers is None else numbers)
        return codes

    def _codes_of_ngrams(self, run: str, size: int) -> list[int]:
        """Return the codes of the n-grams of `size` and `size - 1` characters, one position per character.

        `run` is a chunk in a script without spaces.
        """
        count = len(run) - size + 1
        if count < 1:
            return [self._ngram_codes(len(run))[run]]
        codes = [0] * (2 * count + 1)
        shorter, longer = self._ngram_codes(0), self._ngram_codes(1)
        codes[:-1:2] = [shorter[run[i : i + size - 1]] for i in range(count)]
        codes[1::2] = [longer[run[i : i + size]] for i in range(count)]
        codes[-1] = self._ngram_codes(size - 1)[run[count:]]
        return codes

    def _ngram_codes(self, width: int) -> _NgramCodes:
        grams = self._grams.get(width)
        if grams is None:
            grams = self._grams[width] = _NgramCodes(self, width)
        return grams

    def terms_of(self, text: str, language: str) -> tuple[list[int], list[int]]:
        """Return the numbers of the terms of one short text, and their positions."""
        terms: list[int] = []
        positions: list[int] = []
        at = 0
        for code in self.encode(text, language):
            first = self._starts[code]
            for i in range(first, first + self._counts[code]):
                terms.append(self._terms[i])
                positions.append(at + self._positions[i])
            at += self._widths[code]
        return terms, positions

    def decode(self, documents: Sequence[array[int]]) -> NumberedOccurrences:
        """Return the terms of several texts; each document is a text's codes, as `encode` returned them."""
        sizes = np.fromiter(map(len, documents), np.int64, len(documents))
        codes = np.concatenate(
            [np.zeros(0, np.int32), *(np.frombuffer(document, np.int32) for document in documents if document)]
        )
        of = {
            name: np.frombuffer(values, np.int32) if values else np.zeros(0, np.int32)
            for name, values in (("terms", self._terms), ("positions", self._positions))
        }
        widths, counts, starts = (
            np.frombuffer(values, np.int32)[codes] if values else codes
            for values in (self._widths, self._counts, self._starts)
        )
        after = np.cumsum(widths, dtype=np.int64)
        first_codes = np.cumsum(sizes) - sizes
        begins = np.concatenate([np.zeros(1, np.int64), after])[first_codes]
        at = after - widths - np.repeat(begins, sizes)
        docs = np.repeat(np.arange(len(documents), dtype=np.int32), sizes)
        ends = np.cumsum(counts, dtype=np.int64)
        within = np.repeat(starts - (ends - counts), counts) + np.arange(int(counts.sum()))
        return NumberedOccurrences(
            terms=of["terms"][within],
            docs=np.repeat(docs, counts),
            positions=(np.repeat(at, counts) + of["positions"][within]).astype(np.int32),
            doc_count=len(documents),
        )


_thread_state = threading.local()


def thread_term_encoder() -> TermEncoder:
    """Return this thread's encoder, which remembers the chunks of earlier texts.

    An encoder with more than `_MAX_CODES` codes and cached texts is replaced by an empty one.
    """
    cached: TermEncoder | None = getattr(_thread_state, "encoder", None)
    if cached is None or len(cached) > _MAX_CODES:
        cached = _thread_state.encoder = TermEncoder()
    return cached


def discard_thread_term_encoder() -> None:
    """Discard this thread's encoder; the next call of `thread_term_encoder` returns an empty one."""
    _thread_state.encoder = None
