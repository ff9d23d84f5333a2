"""The status of memories against the notes of a fictitious vault, for pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from excerpt.memory.recall import remembered_at
from excerpt.memory.stale import SourceCheck, SourceStatus
from excerpt.model import Fragment, Memory
from tests.pack.vaults import Vault


def source_checks_of(memories: Sequence[Memory], notes: Vault) -> dict[str, SourceCheck]:
    return {memory.id: _standing(memory, notes) for memory in memories}


def badges_of(memories: Sequence[Memory], fragments: Sequence[Fragment]) -> dict[str, tuple[Memory, ...]]:
    found = ((one.id, remembered_at(memories, one.path, one.line_start, one.line_end)) for one in fragments)
    return {fragment_id: about for fragment_id, about in found if about}


def _standing(memory: Memory, notes: Vault) -> SourceCheck:
    """Return the status of a memory's source; moved lines are not searched for."""
    source = memory.source
    if source is None:
        return SourceCheck(SourceStatus.NONE, memory)
    if not any(each.path == source.path for each in notes.fragments):
        return SourceCheck(SourceStatus.GONE, memory)
    lines = notes.note_text(source.path).split("\n")
    now = "\n".join(lines[source.line_start - 1 : source.line_end])
    kind = SourceStatus.FRESH if now == memory.text else SourceStatus.CHANGED
    return SourceCheck(kind, memory, replace(source, digest="0" * 16), now)
