"""Questions about memories that need the vault's index: which are about shown lines, and what became of their sources.

Each is answered in the engine's thread. The memories themselves are recalled in a thread of their own, `MemoryWorker`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar
from weakref import ref

from msgspec import Struct

from excerpt.service.request_queue import Priority

if TYPE_CHECKING:
    from excerpt.base.model import Fragment, Memory
    from excerpt.corpus.interface import Corpus
    from excerpt.memory.recall import MemoriesByLocation
    from excerpt.memory.results import SourceCheck
    from excerpt.search.engine import Engine


class BadgeCache:
    """Cache of the badges (which memories are about which lines) for one index snapshot and one set of memories.

    It is used in the engine thread only.
    """

    def __init__(self) -> None:
        self._memories: tuple[Memory, ...] = ()
        self._snapshot: ref[Corpus] | None = None
        self._badges: MemoriesByLocation | None = None

    def get_or_build(self, memories: tuple[Memory, ...], snapshot: Corpus) -> MemoriesByLocation:
        """Return the badges for these memories and this snapshot; build them if others are cached."""
        from excerpt.memory.recall import MemoriesByLocation

        is_same = self._snapshot is not None and self._snapshot() is snapshot and self._memories is memories
        if self._badges is None or not is_same:
            self._badges = MemoriesByLocation(memories, snapshot)
            self._memories, self._snapshot = memories, ref(snapshot)
        return self._badges


class AskBadges(Struct, frozen=True):
    """Question for the memories about each of `fragments`; the answer has them by fragment id."""

    kind: ClassVar[str] = "badges"
    priority: ClassVar[Priority] = Priority.BADGES
    cache: BadgeCache
    memories: tuple[Memory, ...]
    fragments: Sequence[Fragment]

    def answer(self, engine: Engine) -> dict[str, tuple[Memory, ...]]:
        badges = self.cache.get_or_build(self.memories, engine.without_comments.snapshot)
        memories_by_id = ((one.id, badges.find_at(one.path, one.line_start, one.line_end)) for one in self.fragments)
        return {fragment_id: memories for fragment_id, memories in memories_by_id if memories}


class AskSourceChecks(Struct, frozen=True):
    """Question for the states of the sources of `memories` in the current index; the answer is by memory id."""

    kind: ClassVar[str] = "source_checks"
    priority: ClassVar[Priority] = Priority.BADGES
    memories: Sequence[Memory]

    def answer(self, engine: Engine) -> dict[str, SourceCheck]:
        from excerpt.memory.stale import check_source

        snapshot = engine.without_comments.snapshot
        return {one.id: check_source(one, snapshot) for one in self.memories}


class AskStaleMemories(Struct, frozen=True):
    """Question for those of `memories` whose source has changed or is gone."""

    kind: ClassVar[str] = "stale_memories"
    priority: ClassVar[Priority] = Priority.UPKEEP
    memories: Sequence[Memory]

    def answer(self, engine: Engine) -> tuple[SourceCheck, ...]:
        from excerpt.memory.stale import check_source

        snapshot = engine.without_comments.snapshot
        checks = (check_source(memory, snapshot) for memory in self.memories)
        return tuple(check for check in checks if check.is_stale)
