"""What is remembered already of the same thing, when one remembers again: to be merged, or both kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from excerpt.memory.badges import Badges, remembered_at
from excerpt.memory.files import normalise_tags
from excerpt.memory.recalling import Recaller
from excerpt.model import Memory, Source
from excerpt.text.line_range import lines_named

ALIKE = 0.85
"""The cosine from which two texts are taken to say the same (docs/design/memory.md)."""
MOST = 3


@dataclass(frozen=True, slots=True)
class Offer:
    """A memory that may say the same. `is_same_source`: it is about the same lines; else it is near in meaning.
    `likeness` is the cosine of the texts, 0 where it is below ALIKE or unknown."""

    memory: Memory
    is_same_source: bool
    likeness: float


def offers(text: str, source: Source | None, recaller: Recaller, badges: Badges | None = None) -> list[Offer]:
    """The memories that a new one of `text` and `source` could be merged with, at most MOST: those of the same lines
    first, then the nearest in meaning. With `badges`, sources that have moved in the vault are the same too."""
    near = {memory.id: (memory, cosine) for memory, cosine in recaller.near(text, ALIKE, MOST)}
    same: Sequence[Memory] = ()
    if source is not None:
        place = source.path, source.line_start, source.line_end
        same = badges.at(*place) if badges is not None else remembered_at(recaller.store.all().memories, *place)
    found = [Offer(memory, True, near[memory.id][1] if memory.id in near else 0.0) for memory in same]
    taken = {offer.memory.id for offer in found}
    found += [Offer(memory, False, cosine) for memory, cosine in near.values() if memory.id not in taken]
    return found[:MOST]


def merged(memory: Memory, text: str, tags: Sequence[str] = (), why: str = "", source: Source | None = None) -> Memory:
    """`memory` with another finding in it: the texts joined, unless one holds the other, the tags united, the reasons
    joined. It stays with its own source; where the other's is another, it is named below its text.

    To be given to `MemoryStore.change`, so that it is made of the memory as it is at that moment."""
    if text.strip() in memory.text:
        whole, where = memory.text, memory.source or source
    elif memory.text.strip() in text:
        whole, where = text, source or memory.source
    else:
        whole, where = f"{memory.text.rstrip()}\n\n{text.strip()}", memory.source or source
        if source is not None and memory.source is not None and not remembered_at([memory], *_place(source)):
            whole = f"{whole}\n\n({source.path}, {lines_named(source.line_start, source.line_end)})"
    reasons = dict.fromkeys(reason for reason in (memory.why, why) if reason.strip())
    return replace(
        memory,
        text=whole,
        tags=normalise_tags((*memory.tags, *tags)),
        why="; ".join(reasons),
        source=where,
    )


def _place(source: Source) -> tuple[str, int, int]:
    return source.path, source.line_start, source.line_end
