"""Texts that say what another says already."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
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
_LONG = 6
"""Letters of a word that few other texts have."""
_REMEMBERED = 4096

Run = tuple[str, ...]


def near_copy(fragment: Fragment, held: Iterable[Fragment]) -> Fragment | None:
    """The first of `held` that has every run of words and signs that `fragment` has: the same text but for case and
    white space, or a part of theirs.

    Nothing less will do. Texts that share nine tenths of their runs are pages of a reference that differ in a name, a
    number or an operator, and say different things (figures in docs/design/packs.md).
    """
    own = _read(fragment.text)
    if not own.telling:
        return None
    longest = own.telling[0]
    for other in held:
        text = _read(other.text)
        if longest in text.folded and _has_all(text, own):
            return other
    return None


@dataclass(frozen=True, slots=True)
class _Text:
    """A text as it is compared: folded, and its longest words. Those are looked for first, in the other text as a
    string: most texts lack one of them, and then neither text has to be taken apart."""

    folded: str
    telling: tuple[str, ...]


@lru_cache(maxsize=_REMEMBERED)
def _read(text: str) -> _Text:
    """No telling words where a text is too short to be compared."""
    folded = fold(text)
    words = folded.split()
    if len(words) < _LEAST_WORDS:
        return _Text(folded, ())
    telling = {word for word in words if len(word) >= _LONG and word.isalnum()} or _PIECES.findall(folded)
    return _Text(folded, tuple(sorted(telling, key=len, reverse=True)))


def _has_all(other: _Text, own: _Text) -> bool:
    """Whether the other text, if it can be compared, has every run of `own`."""
    if not other.telling or not all(word in other.folded for word in own.telling):
        return False
    runs = _runs(own.folded)
    return bool(runs) and runs <= _runs(other.folded)


@lru_cache(maxsize=_REMEMBERED)
def _runs(folded: str) -> frozenset[Run]:
    pieces = _PIECES.findall(folded)
    return frozenset(zip(*(pieces[start:] for start in range(_RUN)), strict=False))
