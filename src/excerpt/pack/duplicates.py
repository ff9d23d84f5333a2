"""Texts that say what another says already."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from excerpt.model import Fragment
from excerpt.text.folding import fold

DuplicateRule = Callable[[Fragment, Iterable[Fragment]], Fragment | None]
"""Of the fragments that better hits found, the one that makes another one needless, if there is one. Texts that are the
same to the letter are left out before any rule is asked."""

_RUN = 4
"""Words or signs in a row that are compared."""
_LEAST_WORDS = 20
"""A shorter text says little without its heading, and costs little."""
_PIECES = re.compile(r"\w+|[^\w\s]")
_REMEMBERED = 4096

Run = tuple[str, ...]


def near_copy(fragment: Fragment, held: Iterable[Fragment]) -> Fragment | None:
    """The first of `held` that has every run of words and signs that `fragment` has: the same text but for case and
    white space, or a part of theirs.

    Nothing less will do. Texts that share nine tenths of their runs are pages of a reference that differ in a name, a
    number or an operator, and say different things (figures in docs/design/packs.md).
    """
    runs = _runs(fragment.text)
    return next((other for other in held if runs and runs <= _runs(other.text)), None)


@lru_cache(maxsize=_REMEMBERED)
def _runs(text: str) -> frozenset[Run]:
    """All runs of a text; none if it is too short to be compared."""
    if len(text.split()) < _LEAST_WORDS:
        return frozenset()
    pieces = _PIECES.findall(fold(text))
    return frozenset(zip(*(pieces[start:] for start in range(_RUN)), strict=False))
