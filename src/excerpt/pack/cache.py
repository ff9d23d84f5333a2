"""The packs that were built last, for a screen that asks for the same one again."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Concatenate, Generic, ParamSpec

from excerpt.model import Hit, PackResult
from excerpt.pack.source import NoteSource

Options = ParamSpec("Options")

MOST = 32
"""Packs that are kept: the scopes and budgets that a user goes through for one query, and for the one before."""


class PackCache(Generic[Options]):
    """Calls `build`, which is `build_pack`, unless it was called with the same before.

    Packs are kept for one source, which is one generation of an index: with another, all of them are forgotten, even
    if it has the number of an earlier one, as after a rebuild. For one thread at a time.
    """

    def __init__(
        self, build: Callable[Concatenate[NoteSource, Sequence[Hit], Options], PackResult], most: int = MOST
    ) -> None:
        self._build = build
        self._most = most
        self._source: Callable[[], NoteSource | None] = lambda: None
        self._kept: OrderedDict[Hashable, PackResult] = OrderedDict()

    def __call__(
        self, source: NoteSource, hits: Sequence[Hit], *args: Options.args, **kwargs: Options.kwargs
    ) -> PackResult:
        if self._source() is not source:
            self._kept.clear()
            self._source = weakref.ref(source)
        found = tuple((hit.fragment.id, hit.fragment.ordinal, hit.score, hit.spans) for hit in hits)
        named = tuple((name, _hashable(value)) for name, value in sorted(kwargs.items()))
        key = (found, tuple(map(_hashable, args)), named)
        result = self._kept.pop(key, None)
        if result is None:
            result = self._build(source, hits, *args, **kwargs)
        self._kept[key] = result
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return result

    def __len__(self) -> int:
        return len(self._kept)


def _hashable(value: object) -> Hashable:
    return tuple(value) if isinstance(value, list) else value
