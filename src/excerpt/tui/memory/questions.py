"""What the screen asks of the engine's snapshot about memories: which fragments they are about, how they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar
from weakref import ref

from textual.message import Message

from excerpt.model import Fragment, Memory
from excerpt.tui.memory.messages import StandingsKnown

if TYPE_CHECKING:
    from excerpt.index.snapshot import Snapshot
    from excerpt.memory.badges import Badges
    from excerpt.search.engine import Engine


class BadgeKeeper:
    """The badges of the last snapshot and memories asked for, kept from one search to the next. Used in the engine's
    thread."""

    def __init__(self) -> None:
        self._memories: tuple[Memory, ...] = ()
        self._snapshot: ref[Snapshot] | None = None
        self._badges: Badges | None = None

    def of(self, memories: tuple[Memory, ...], snapshot: Snapshot) -> Badges:
        from excerpt.memory.badges import Badges

        same = self._snapshot is not None and self._snapshot() is snapshot and self._memories is memories
        if self._badges is None or not same:
            self._badges = Badges(memories, snapshot)
            self._memories, self._snapshot = memories, ref(snapshot)
        return self._badges


@dataclass(frozen=True, slots=True)
class AskBadges:
    """Which memories are about the fragments of a list, by the fragments' ids."""

    kind: ClassVar[str] = "badges"
    keeper: BadgeKeeper
    memories: tuple[Memory, ...]
    fragments: Sequence[Fragment]

    def answer(self, engine: Engine) -> dict[str, tuple[Memory, ...]]:
        badges = self.keeper.of(self.memories, engine.snapshot)
        found = ((one.id, badges.at(one.path, one.line_start, one.line_end)) for one in self.fragments)
        return {fragment_id: memories for fragment_id, memories in found if memories}


@dataclass(frozen=True, slots=True)
class AskStandings:
    """How these memories stand to their sources in the vault as it is indexed now."""

    kind: ClassVar[str] = "standings"
    number: int
    memories: Sequence[Memory]

    def answer(self, engine: Engine) -> Message:
        from excerpt.memory.stale import standing

        return StandingsKnown(self.number, {one.id: standing(one, engine.snapshot) for one in self.memories})
