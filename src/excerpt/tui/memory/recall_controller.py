"""What is remembered, in the Search tab: memories among the hits and in the pack, badges on fragments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from excerpt.pack.marks_file import Mark
from excerpt.pack.memory_fragment import as_fragment, memory_id_of
from excerpt.settings import MemorySettings
from excerpt.tui.engine_worker import Asks
from excerpt.tui.memory.messages import MemoriesFound
from excerpt.tui.memory.rows import Showing, among, is_memory, showing_of
from excerpt.tui.turn import next_in_turn

if TYPE_CHECKING:
    from excerpt.model import Hit, Memory
    from excerpt.tui.memory.questions import BadgeKeeper
    from excerpt.tui.note_window import NoteWindow


class RecallController:
    """Own where memories are shown, those that answer the query, and, once they were asked for, all there are.

    They are asked for by `recall`, with a number and a query, when a search is answered or a memory is marked: never
    before. `changed` is called when other fragments have a badge.
    """

    def __init__(
        self,
        engine: Asks,
        settings: MemorySettings,
        *,
        recall: Callable[[int, str], object],
        changed: Callable[[], object],
    ) -> None:
        self.showing = showing_of(settings)
        self.badges: frozenset[str] = frozenset()
        """Ids of the fragments that a memory is about."""
        self._engine = engine
        self._settings = settings
        self._recall = recall
        self._changed = changed
        self._query = ""
        self._asked = 0
        self._shown = 0
        self._found: tuple[Hit, ...] = ()
        self._every: tuple[Memory, ...] = ()
        self._by_id: dict[str, Memory] | None = None
        self._keeper: BadgeKeeper | None = None

    @property
    def is_answered(self) -> bool:
        """Whether the memories are those of what was asked last."""
        return self._asked == self._shown

    def use(self, settings: MemorySettings) -> bool:
        """Go by other settings from now on; False if they say the same."""
        before, self._settings = self._settings, settings
        shown = self.showing
        if before != settings:
            self.showing = showing_of(settings)
        return self.showing is not shown

    def next_showing(self) -> None:
        """Show memories in the next place, or not at all."""
        self.showing = next_in_turn(list(Showing), self.showing)

    # --- what is found ------------------------------------------------------------------------------------------------

    def ask(self, query: str, marks: Sequence[Mark]) -> None:
        """Ask for what was remembered about the query that is answered, and for the memories among the marks."""
        self._query = query
        query = "" if self.showing is Showing.OFF else query
        if query or _ids(marks):
            self._asked += 1
            self._recall(self._asked, query)

    def take(self, message: MemoriesFound, *, listed: bool) -> bool:
        """Take an answer; `listed` says whether there is a list to show it in. False for one older than that shown."""
        if message.number <= self._shown:
            return False
        self._shown = message.number
        self._every, self._by_id = message.memories, {memory.id: memory for memory in message.memories}
        self._found = message.hits if listed else ()
        return True

    def rows(self, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """Return the hits and the memories among them. Those of the query before stay until the next have come."""
        return among(hits, self._found, self.showing) if hits else ()

    def clear(self) -> None:
        """List no memory: there is no query."""
        self._found = ()

    @property
    def lists_any(self) -> bool:
        """Whether there are memories for the list."""
        return bool(self._found)

    def ask_badges(self, hits: Sequence[Hit]) -> None:
        """Ask which of these fragments a memory is about."""
        if self.showing is Showing.OFF or not hits or not any(memory.source for memory in self._every):
            self._engine.forget("badges")
            self._take_badges({})
            return
        from excerpt.tui.memory.questions import AskBadges, BadgeKeeper

        self._keeper = self._keeper or BadgeKeeper()
        fragments = tuple(hit.fragment for hit in hits)
        self._engine.ask(AskBadges(self._keeper, self._every, fragments), self._take_badges)

    def _take_badges(self, memories: dict[str, tuple[Memory, ...]]) -> None:
        self.badges = frozenset(memories)
        self._changed()

    # --- one memory ---------------------------------------------------------------------------------------------------

    def memory_of(self, fragment_id: str) -> Memory | None:
        """Return the memory that a fragment stands for; None for one of the vault."""
        memory_id = memory_id_of(fragment_id)
        return (self._by_id or {}).get(memory_id) if memory_id is not None else None

    def window_of(self, fragment_id: str) -> NoteWindow | None:
        """Return the text of a memory as the preview shows it, whether or not it is listed; None for a fragment."""
        from excerpt.model import Hit

        memory = self.memory_of(fragment_id)
        return window_of_memory(Hit(as_fragment(memory, 0), 0.0)) if memory is not None else None

    def marked(self, marks: Sequence[Mark]) -> tuple[Memory, ...] | None:
        """Return the memories among some marks; None while they are being read."""
        ids = _ids(marks)
        if ids and self._by_id is None:
            if self.is_answered:
                self.ask(self._query, marks)
            return None
        known = self._by_id or {}
        return tuple(known[each] for each in ids if each in known)


def window_of_memory(hit: Hit | None) -> NoteWindow | None:
    """Return the text of a memory as the preview shows it; None for a fragment of the vault."""
    if hit is None or not is_memory(hit):
        return None
    from excerpt.tui.note_window import window_around

    return window_around(hit.fragment.text, hit.fragment, hit.spans)


def _ids(marks: Sequence[Mark]) -> list[str]:
    found = (memory_id_of(mark.fragment) for mark in marks)
    return [each for each in found if each is not None]
