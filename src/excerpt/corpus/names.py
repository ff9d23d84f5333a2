"""Names of notes beside their titles, as they are kept: terms as digests of eight bytes.

So names of notes that never met are compared without a dictionary that all of them share. That two of a million terms
have one digest is as likely as one in thirty million.
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
    """The names that a note has, `own` of them, and behind them those that its links give others; none without a term.

    `lengths`, `terms` and `files` are the bytes of numbers (`names.LENGTH`, `names.DIGEST`): how many terms each name
    has; the terms, one name after the other; the name of the note's own file, and of those that its links mean.
    `targets` are those of the links, a list in JSON. A tuple, as a search reads hundreds.
    """

    own: int
    lengths: bytes
    terms: bytes
    files: bytes
    targets: str


NO_NAMES = NameTerms(0, b"", b"", bytes(DIGEST_DTYPE.itemsize), "[]")


def fold_name(name: str) -> str:
    """Return a name as names are compared: without case, width and runs of white space."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def digests_of(texts: Iterable[str]) -> Digests:
    """Return the digests that terms and names of files are kept as."""
    return np.fromiter(map(_digest, texts), np.int64)


@lru_cache(_CACHE_SIZE)
def _digest(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_DTYPE.itemsize).digest()
    return int.from_bytes(digest, "little", signed=True)
