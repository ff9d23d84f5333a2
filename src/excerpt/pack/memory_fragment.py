"""A memory as a fragment, with its name in packs and in the list of hits.

A pack names it as `memory:ID`, under the heading `Memory`, with its source; no file of a vault has such a name, since a
note's name has a suffix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from excerpt.text.display import format_lines, format_source_location, visible_line

if TYPE_CHECKING:
    from excerpt.model import Fragment, Memory

_BEGINNING = "memory:"


def name_of(memory_id: str) -> str:
    """Return a memory's path in packs, which is also the id of its fragment."""
    return f"{_BEGINNING}{memory_id}"


def memory_id_of(name: str) -> str | None:
    """Return the id of the memory with this name in packs; None for a note's path or fragment."""
    return name.removeprefix(_BEGINNING) if name.startswith(_BEGINNING) else None


def as_fragment(memory: Memory, tokens: int) -> Fragment:
    """Return a memory as a fragment for packs and lists; `tokens` are those of its text.

    Its headings are its source and the reason for keeping it.
    """
    from excerpt.model import Fragment
    from excerpt.text.fragments import digest_of_text

    text = memory.text.strip("\n")
    headings = (visible_line(each) for each in (place_of_source(memory), memory.why) if each)
    name = name_of(memory.id)
    lines = text.count("\n") + 1
    return Fragment(name, name, "Memory", tuple(headings), 0, 0, 1, lines, text, tokens, digest_of_text(text))


def place_of_source(memory: Memory) -> str:
    """Return the source of a memory, such as `Sync.md, lines 8-12`; "" for a memory without a source."""
    source = memory.source
    if source is None or not source.line_start:
        return source.path if source is not None else ""
    if source.place:
        return format_source_location(source.path, source.line_start, source.line_end, source.place)
    return f"{source.path}, {format_lines(source.line_start, source.line_end)}"
