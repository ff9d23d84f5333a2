"""Numbering of the terms of many texts, to count them in whole arrays: `words.terms_of` without strings.

A chunk of text (a word, a compound) is analyzed when it first occurs. From then on it is one number, and its terms with
their positions are looked up for a whole batch of texts at once.
"""

from __future__ import annotations

import threading
import unicodedata
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from excerpt.text.words import MAX_CACHED_CHUNK, ascii_chunks_of, chunks_of, split_chunk

Ints = NDArray[np.int32]

# Bounds memory to some 60 MB.
_MAX_CHUNKS = 200_000


@dataclass(frozen=True, slots=True)
class Occurrences:
    """The terms of several documents.

    Occurrence i is of term `terms[i]`, in document `docs[i]`, at `positions[i]`; both ascend. There are `doc_count`
    documents, some of which may be empty.
    """

    terms: Ints
    docs: Ints
    positions: Ints
    doc_count: int


class Lexicon(dict[str, int]):
    """Numbers of terms, in the order of their first occurrence; `names` are the terms in UTF-8, by number."""

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


class _Chunks(dict[str, int]):
    """The codes of one language's chunks."""

    def __init__(self, numbers: TermNumbers, language: str) -> None:
        super().__init__()
        self._numbers = numbers
        self._language = language

    def __missing__(self, chunk: str) -> int:
        return self.learn(chunk, 0)

    def learn(self, chunk: str, size: int) -> int:
        code = self._numbers.code(*split_chunk(chunk, size, self._language))
        if len(chunk) <= MAX_CACHED_CHUNK:
            self[chunk] = code
        return code


class _Grams(dict[str, int]):
    """The codes of terms that need no analysis, each followed by the next word `width` positions further."""

    def __init__(self, numbers: TermNumbers, width: int) -> None:
        super().__init__()
        self._numbers = numbers
        self._width = width

    def __missing__(self, term: str) -> int:
        code = self[term] = self._numbers.code((term,), (0,), self._width)
        return code


class TermNumbers:
    """The code of each known chunk, and by code its terms, their positions and the number of positions it takes.

    `short` is a cache for callers that process the same few texts repeatedly.
    """

    def __init__(self) -> None:
        self.lexicon = Lexicon()
        self.short: dict[tuple[str, ...], tuple[Ints, Ints]] = {}
        self._chunks: dict[str, _Chunks] = {}
        self._grams: dict[int, _Grams] = {}
        self._widths = array("i")
        self._counts = array("i")
        self._starts = array("i")
        self._terms = array("i")
        self._positions = array("i")

    def __len__(self) -> int:
        return len(self._widths) + len(self.short)

    def code(self, terms: Sequence[str], positions: Sequence[int], width: int) -> int:
        self._widths.append(width)
        self._counts.append(len(terms))
        self._starts.append(len(self._terms))
        self._terms.extend(map(self.lexicon.__getitem__, terms))
        self._positions.extend(positions)
        return len(self._widths) - 1

    def codes(self, text: str, language: str) -> array[int]:
        """Return the codes of a text's chunks, in order."""
        chunks = self._chunks.get(language)
        if chunks is None:
            chunks = self._chunks[language] = _Chunks(self, language)
        codes = array("i")
        if text.isascii():
            codes.extend(map(chunks.__getitem__, ascii_chunks_of(text)))
            return codes
        for chunk, size in chunks_of(text):
            if not size:
                codes.append(chunks[chunk])
            elif unicodedata.is_normalized("NFKC", chunk):
                codes.extend(self._codes_of_run(chunk, size))
            else:
                numbers = chunks.get(chunk)
                codes.append(chunks.learn(chunk, size) if numbers is None else numbers)
        return codes

    def _codes_of_run(self, run: str, size: int) -> list[int]:
        """Return the codes of a run's n-grams of `size` characters and of one less, one position per character."""
        count = len(run) - size + 1
        if count < 1:
            return [self._gram(len(run))[run]]
        codes = [0] * (2 * count + 1)
        shorter, longer = self._gram(0), self._gram(1)
        codes[:-1:2] = [shorter[run[i : i + size - 1]] for i in range(count)]
        codes[1::2] = [longer[run[i : i + size]] for i in range(count)]
        codes[-1] = self._gram(size - 1)[run[count:]]
        return codes

    def _gram(self, width: int) -> _Grams:
        grams = self._grams.get(width)
        if grams is None:
            grams = self._grams[width] = _Grams(self, width)
        return grams

    def terms_of(self, text: str, language: str) -> tuple[list[int], list[int]]:
        """Return the terms of one short text, and their positions."""
        terms: list[int] = []
        positions: list[int] = []
        at = 0
        for code in self.codes(text, language):
            first = self._starts[code]
            for i in range(first, first + self._counts[code]):
                terms.append(self._terms[i])
                positions.append(at + self._positions[i])
            at += self._widths[code]
        return terms, positions

    def occurrences(self, documents: Sequence[array[int]]) -> Occurrences:
        """Return the terms of texts given as `codes`, equal to `terms_of` for each."""
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
        return Occurrences(
            terms=of["terms"][within],
            docs=np.repeat(docs, counts),
            positions=(np.repeat(at, counts) + of["positions"][within]).astype(np.int32),
            doc_count=len(documents),
        )


_kept = threading.local()


def term_numbers() -> TermNumbers:
    """Return the numbers of this thread, which keep earlier notes' chunks up to `_MAX_CHUNKS`."""
    cached: TermNumbers | None = getattr(_kept, "numbers", None)
    if cached is None or len(cached) > _MAX_CHUNKS:
        cached = _kept.numbers = TermNumbers()
    return cached


def forget_term_numbers() -> None:
    """Discard the numbers of this thread; the next `term_numbers` starts with none."""
    _kept.numbers = None
