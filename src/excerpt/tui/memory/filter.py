"""What is written into the filter of the Memory tab: a query, and whether only those to be looked at are wanted."""

from __future__ import annotations

from dataclasses import dataclass

_CHANGED = "is:stale"


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """`query` is in the query language; of what it finds, with `stale` the memories whose source changed or is gone, or
    else (False) the others."""

    query: str = ""
    stale: bool | None = None

    @property
    def is_empty(self) -> bool:
        return not self.query


def read_filter(written: str) -> MemoryFilter:
    """What is asked for by `words #tag in:Meetings since:7d is:stale`. A filter that is begun and says nothing yet,
    such as `#`, asks for nothing."""
    if not written.strip():
        return MemoryFilter()
    from excerpt.memory.recall import standing_asked  # heavy, and asked for before the first paint
    from excerpt.search.query import without_begun_filter
    from excerpt.search.query_pieces import KINDS_OF_MEMORIES

    # Behind a word, so that a begun filter is left out where nothing else is written.
    query, stale = standing_asked(without_begun_filter(f"- {written}", KINDS_OF_MEMORIES)[2:])
    return MemoryFilter(query, stale)


def toggling_stale(written: str) -> str:
    """The filter with `is:stale`, or without where it has it."""
    words = written.split()
    if _CHANGED in words:
        return " ".join(word for word in words if word != _CHANGED)
    return " ".join((*words, _CHANGED))
