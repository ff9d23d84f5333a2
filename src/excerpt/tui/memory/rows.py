"""Where memories stand among the hits of a query."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

from excerpt.kinds import Confidence
from excerpt.pack.memory_fragment import memory_id_of
from excerpt.settings import MemorySettings

if TYPE_CHECKING:
    from excerpt.model import Hit


class Showing(StrEnum):
    """Whether memories are shown in the Search tab, and where."""

    AMONG = "among the hits"
    FIRST = "before the hits"
    OFF = "off"


_LATEST = 2
"""Hits before the first memory at most, so that it is in sight at once in the smallest window. The scores of two
indexes cannot be compared; how sure each is can."""


def showing_of(settings: MemorySettings) -> Showing:
    if settings.recall_first:
        return Showing.FIRST
    return Showing.AMONG if settings.in_search else Showing.OFF


def is_memory(hit: Hit) -> bool:
    """Whether a row of the list is a memory."""
    return memory_id_of(hit.fragment.id) is not None


def among(hits: Sequence[Hit], memories: Sequence[Hit], showing: Showing) -> tuple[Hit, ...]:
    """The rows of the list: memories first, or before the first hit that is less sure than the surest of them."""
    if showing is Showing.OFF or not memories:
        return tuple(hits)
    if showing is Showing.FIRST:
        return (*memories, *hits)
    surest = min(map(_doubt, memories))
    at = next((at for at, hit in enumerate(hits[:_LATEST]) if _doubt(hit) > surest), min(_LATEST, len(hits)))
    return (*hits[:at], *memories, *hits[at:])


def _doubt(hit: Hit) -> int:
    return list(Confidence).index(hit.confidence) if hit.confidence is not None else 0
