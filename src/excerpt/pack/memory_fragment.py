"""Conversion of a memory to a fragment, for packs and lists of hits.

The fragment's path is `memory:ID` and its title `Memory`. No note has such a path, because a note's name has a suffix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from excerpt.text.display import format_lines, format_source_location, visible_line

if TYPE_CHECKING:
    from excerpt.base.model import Fragment, Memory

_NAME_PREFIX = "memory:"


def memory_name(memory_id: str) -> str:
    """Return `memory:ID`, a memory's path in packs, which is also the id of its fragment."""
    return f"{_NAME_PREFIX}{memory_id}"


def memory_id_of(name: str) -> str | None:
    """Return the memory id in a name such as `memory:ID`; None for the path or fragment id of a note."""
    return name.removeprefix(_NAME_PREFIX) if name.startswith(_NAME_PREFIX) else None


def memory_to_fragment(memory: Memory, tokens: int) -> Fragment:
    """Return a memory as a fragment for packs and lists; `tokens` is the token count of its text.

    The fragment's headings are the source of the memory and the reason for saving it.
    """
    from excerpt.base.model import Fragment
    from excerpt.text.fragments import digest_of_text

    text = memory.text.strip("\n")
    headings = (visible_line(each) for each in (format_memory_source(memory), memory.why) if each)
    name = memory_name(memory.id)
    lines = text.count("\n") + 1
    return Fragment(name, name, "Memory", tuple(headings), 0, 0, 1, lines, text, tokens, digest_of_text(text))


def format_memory_source(memory: Memory) -> str:
    """Return where a memory is from, such as `Sync.md, lines 8-12`; "" for a memory without a source."""
    source = memory.source
    if source is None or not source.line_start:
        return source.path if source is not None else ""
    if source.place:
        return format_source_location(source.path, source.line_start, source.line_end, source.place)
    return f"{source.path}, {format_lines(source.line_start, source.line_end)}"
