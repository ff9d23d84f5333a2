"""Changes to the text of a query, and the parts of a filter of memories, that need the query language."""

from __future__ import annotations

from msgspec import Struct

from excerpt.search.query_word import remove_span

_NEXT_ORDERS = {
    "": ("sort:-date", "newest first"),
    "-date": ("sort:date", "oldest first"),
    "date": ("", "best first"),
}
"""The filter and the name of the order that follows each value of `sort:`."""


def use_next_order(text: str) -> tuple[str, str]:
    """Return the query `text` with the filter (`sort:`) of the next order at its end, and the name of that order."""
    text, order = _split_order(text)
    condition_text, name = _NEXT_ORDERS[order]
    if condition_text:
        from excerpt.search.query import add_condition

        text = add_condition(text, condition_text, is_last=True) if text.strip() else condition_text
    return (f"{text.rstrip()} " if text.strip() else ""), name


def remove_order(text: str) -> str:
    """Return the query `text` without its order (`sort:`)."""
    return _split_order(text)[0].strip()


def _split_order(text: str) -> tuple[str, str]:
    """Return the query `text` without its filters `sort:`, and the value of the last one; "" for none."""
    from excerpt.base.kinds import FilterKind
    from excerpt.search.query import find_conditions

    order = ""
    for condition in reversed(find_conditions(text)):
        if condition.filter is not None and condition.filter.kind is FilterKind.SORT:
            order = order or condition.filter.value.casefold()
            text, _ = remove_span(text, condition.start, condition.end)
    return text, order


class MemoryFilter(Struct, frozen=True):
    """The parsed filter of the Memory tab.

    `query` is the part in the query language. `stale` selects memories whose source has changed, moved or gone (True),
    all other memories (False), or all (None). `replaced` selects the replaced memories in place of the current ones.
    """

    query: str = ""
    stale: bool | None = None
    replaced: bool = False


def parse_memory_filter(text: str) -> MemoryFilter:
    """Parse the text of a filter such as `words #tag in:Meetings since:7d is:stale`; leave out unfinished parts."""
    if not text.strip():
        return MemoryFilter()
    from excerpt.memory.words import split_state_filters  # slow to import, and this runs before the first paint
    from excerpt.search.query import MEMORY_FILTER_KINDS, remove_unfinished_filter

    # The dash stands for a word: an unfinished filter on its own would not be left out.
    found = split_state_filters(remove_unfinished_filter(f"- {text}", MEMORY_FILTER_KINDS)[2:])
    return MemoryFilter(found.query, found.stale, found.replaced)
