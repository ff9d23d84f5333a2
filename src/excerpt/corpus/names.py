"""Tokenized names of notes (aliases, file names, link texts), stored with each term as a digest of eight bytes.

With digests, names of any two notes can be compared without a common dictionary of terms. The probability that two of a
million terms have the same digest is one in thirty million.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Digests = npt.NDArray[np.int64]

LENGTH_DTYPE, DIGEST_DTYPE = np.dtype("<u4"), np.dtype("<i8")
_CACHE_SIZE = 1 << 15


class NameTerms(NamedTuple):
    """The tokenized names in one note: first `own` names of the note itself, then the texts of its links.

    Names without any term are left out. `lengths` (LENGTH_DTYPE) holds the number of terms of each name, and `terms`
    (DIGEST_DTYPE) the digests of all terms, name after name. `files` (DIGEST_DTYPE) holds the digest of the note's own
    file name, then those of the file names in the link targets. `targets` is a JSON list of the link targets. A tuple,
    because a search reads hundreds.
    """

    own: int
    lengths: bytes
    terms: bytes
    files: bytes
    targets: str


NO_NAMES = NameTerms(0, b"", b"", bytes(DIGEST_DTYPE.itemsize), "[]")
"""The value for a note that is not in the catalog."""


def fold_name(name: str) -> str:
    """Return a name in the form in which names are compared: without case, full-width forms and extra white space."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def digest_texts(texts: Iterable[str]) -> Digests:
    """Return the eight-byte digest of each text (a term or a file name), shape (n,)."""
    return np.fromiter(map(_digest_text, texts), np.int64)


@lru_cache(_CACHE_SIZE)
def _digest_text(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_DTYPE.itemsize).digest()
    return int.from_bytes(digest, "little", signed=True)
