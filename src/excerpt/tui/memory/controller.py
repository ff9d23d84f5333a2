"""Memories in the dialogs and in the Search tab.

In the Search tab they are among the hits, in the pack, and badges on fragments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol
from weakref import ref

from excerpt.kinds import Confidence, next_of
from excerpt.pack.memory_fragment import as_fragment, memory_id_of
from excerpt.pack.selection import Mark
from excerpt.settings import MemorySettings, Paths, Settings
from excerpt.tui.engine_worker import QuestionQueue
from excerpt.tui.memory.worker import MemoryWorker
from excerpt.tui.messages import RememberRequested
from excerpt.tui.request_thread import EventLoop, Priority

if TYPE_CHECKING:
    from excerpt.model import Hit, Memory, Source
    from excerpt.tui.memory.decisions import MemoryDraft
    from excerpt.tui.memory.form import Remember

    OnAnswer = Callable[[MemoryDraft | None], None]
    """Callback for a form: receives what the user wrote, or None if nothing is to be kept."""
    from excerpt.corpus.interface import Corpus
    from excerpt.memory.recall import Badges
    from excerpt.model import Fragment
    from excerpt.search.engine import Engine
    from excerpt.tui.memory.worker import FoundMemories
    from excerpt.tui.note.window import NoteWindow


class MemoryController:
    """Controller of the memory thread and of the forms to keep and change memories."""

    def __init__(
        self,
        vault: Path,
        settings: Settings,
        user_paths: Paths,
        *,
        loop: EventLoop,
    ) -> None:
        self.worker = MemoryWorker(vault, user_paths, settings, loop)

    def form_to_remember(self, request: RememberRequested) -> tuple[Remember, OnAnswer]:
        """Return the form for a new memory and the callback for its answer."""
        from excerpt.tui.memory.decisions import remember_decision
        from excerpt.tui.memory.form import Remember
        from excerpt.tui.memory.view import format_source

        text, source = request.text, request.source
        if request.hit is not None:
            text, source = request.hit.fragment.text, source_of(request.hit)

        def on_answer(draft: MemoryDraft | None) -> None:
            if draft is not None:
                self.worker.decide(remember_decision(draft, source, request.query))

        location = format_source(source) if source is not None else ""
        return Remember(
            text, location, ask=lambda text, on_offers: self.worker.offer(text, source, on_offers)
        ), on_answer

    def form_to_change(self, memory: Memory) -> tuple[Remember, OnAnswer]:
        """Return the form filled with a memory and the callback for its answer."""
        from excerpt.tui.memory.decisions import edit_decision
        from excerpt.tui.memory.form import Remember
        from excerpt.tui.memory.view import format_source

        def on_answer(draft: MemoryDraft | None) -> None:
            if draft is not None:
                self.worker.decide(edit_decision(memory, draft))

        form = Remember(
            memory.text,
            format_source(memory.source) if memory.source is not None else "",
            title="Change the memory",
            tags=memory.tags,
            why=memory.why,
            ask=lambda text, on_offers: self.worker.offer(text, None, on_offers),
            offering=False,
        )
        return form, on_answer


def source_of(hit: Hit) -> Source | None:
    """Return the source of a hit as a memory keeps it; None if the hit is a memory itself."""
    from excerpt.model import Source

    fragment = hit.fragment
    if memory_id_of(fragment.id) is not None:
        return None
    lines = fragment.line_start, fragment.line_end
    return Source(fragment.path, *lines, fragment.digest, fragment.heading_path, fragment.place)


_MAX_HITS_BEFORE = 2
"""Maximum number of hits before the first memory, so that it is visible in the smallest window.

Scores of two indexes cannot be compared; their confidence can.
"""


class MemoryPlacement(StrEnum):
    """Where memories are shown in the Search tab, if at all."""

    AMONG = "among the hits"
    FIRST = "before the hits"
    OFF = "off"


class MemoryFinder(Protocol):
    """The methods of the memory worker that recall needs."""

    def find(self, query: str, on_found: Callable[[FoundMemories], object]) -> None: ...

    def is_waiting(self, kind: str) -> bool: ...


class BadgeStore:
    """Cache of the badges for the last snapshot and memories. Used in the engine thread only."""

    def __init__(self) -> None:
        self._memories: tuple[Memory, ...] = ()
        self._snapshot: ref[Corpus] | None = None
        self._badges: Badges | None = None

    def of(self, memories: tuple[Memory, ...], snapshot: Corpus) -> Badges:
        from excerpt.memory.recall import Badges

        is_same = self._snapshot is not None and self._snapshot() is snapshot and self._memories is memories
        if self._badges is None or not is_same:
            self._badges = Badges(memories, snapshot)
            self._memories, self._snapshot = memories, ref(snapshot)
        return self._badges


@dataclass(frozen=True, slots=True)
class AskBadges:
    """Engine question: the memories about each fragment of a list, by fragment id."""

    kind: ClassVar[str] = "badges"
    priority: ClassVar[Priority] = Priority.BADGES
    store: BadgeStore
    memories: tuple[Memory, ...]
    fragments: Sequence[Fragment]

    def answer(self, engine: Engine) -> dict[str, tuple[Memory, ...]]:
        badges = self.store.of(self.memories, engine.snapshot)
        memories_by_id = ((one.id, badges.at(one.path, one.line_start, one.line_end)) for one in self.fragments)
        return {fragment_id: memories for fragment_id, memories in memories_by_id if memories}


class RecallController:
    """Controller of memories in the Search tab: where they are shown, which match the query, and badges.

    Memories are requested only after a search was answered or a memory was marked. `on_found` is called with the
    answer, `on_change` after the badges were updated.
    """

    def __init__(
        self,
        engine: QuestionQueue,
        memories: MemoryFinder,
        settings: MemorySettings,
        *,
        on_found: Callable[[FoundMemories], object],
        on_change: Callable[[], object],
    ) -> None:
        self.placement = placement_of(settings)
        self.badges: frozenset[str] = frozenset()
        """Ids of the fragments that a memory is about."""
        self._engine = engine
        self._settings = settings
        self._memories = memories
        self._on_found = on_found
        self._on_change = on_change
        self._query = ""
        self._hits: tuple[Hit, ...] = ()
        self._all_memories: tuple[Memory, ...] = ()
        self._by_id: dict[str, Memory] | None = None
        self._badge_store: BadgeStore | None = None

    @property
    def is_answered(self) -> bool:
        """Whether no request for memories is pending."""
        return not self._memories.is_waiting("find")

    def use(self, settings: MemorySettings) -> bool:
        """Use other settings from now on. Return whether memories are shown in another place."""
        before, self._settings = self._settings, settings
        previous = self.placement
        if before != settings:
            self.placement = placement_of(settings)
        return self.placement is not previous

    def next_placement(self) -> None:
        """Show memories in the next place; the last is `OFF`."""
        self.placement = next_of(list(MemoryPlacement), self.placement)

    # --- recall -------------------------------------------------------------------------------------------------------

    def ask(self, query: str, marks: Sequence[Mark]) -> None:
        """Request the memories that match the answered query, and those among the marks."""
        self._query = query
        query = "" if self.placement is MemoryPlacement.OFF else query
        if query or _ids(marks):
            self._memories.find(query, self._on_found)

    def store_answer(self, answer: FoundMemories, *, has_list: bool) -> None:
        """Store an answer. `has_list` says whether there is a list of hits to show it in."""
        self._all_memories, self._by_id = answer.memories, {memory.id: memory for memory in answer.memories}
        self._hits = answer.hits if has_list else ()

    def rows(self, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """Return the hits with the memories among them; nothing without hits.

        The memories of the previous query stay until the next answer arrives.
        """
        return merge_memories(hits, self._hits, self.placement) if hits else ()

    def clear(self) -> None:
        """Remove the memories from the list, because there is no query."""
        self._hits = ()

    @property
    def has_memories(self) -> bool:
        """Whether there are memories for the list."""
        return bool(self._hits)

    def ask_badges(self, hits: Sequence[Hit]) -> None:
        """Request the badges of these hits."""
        if self.placement is MemoryPlacement.OFF or not hits or not any(memory.source for memory in self._all_memories):
            self._engine.cancel("badges")
            self._store_badges({})
            return
        self._badge_store = self._badge_store or BadgeStore()
        fragments = tuple(hit.fragment for hit in hits)
        self._engine.ask(AskBadges(self._badge_store, self._all_memories, fragments), self._store_badges)

    def _store_badges(self, memories: dict[str, tuple[Memory, ...]]) -> None:
        self.badges = frozenset(memories)
        self._on_change()

    # --- single memories ----------------------------------------------------------------------------------------------

    def memory_of(self, fragment_id: str) -> Memory | None:
        """Return the memory that a fragment represents; None for a fragment of the vault."""
        memory_id = memory_id_of(fragment_id)
        return (self._by_id or {}).get(memory_id) if memory_id is not None else None

    def window_of(self, fragment_id: str) -> NoteWindow | None:
        """Return the preview window of a memory, listed or not; None for a fragment of the vault."""
        from excerpt.model import Hit

        memory = self.memory_of(fragment_id)
        return window_of_memory(Hit(as_fragment(memory, 0), 0.0)) if memory is not None else None

    def marked_memories(self, marks: Sequence[Mark]) -> tuple[Memory, ...] | None:
        """Return the memories among the marks. If they are not loaded yet, request them and return None."""
        ids = _ids(marks)
        if ids and self._by_id is None:
            if self.is_answered:
                self.ask(self._query, marks)
            return None
        known = self._by_id or {}
        return tuple(known[each] for each in ids if each in known)


def window_of_memory(hit: Hit | None) -> NoteWindow | None:
    """Return the preview window of a memory; None for a fragment of the vault."""
    if hit is None or not is_memory(hit):
        return None
    from excerpt.tui.note.window import draw_window

    return draw_window(hit.fragment.text, hit.fragment, hit.spans)


def _ids(marks: Sequence[Mark]) -> list[str]:
    memory_ids = (memory_id_of(mark.fragment) for mark in marks)
    return [each for each in memory_ids if each is not None]


# --- the order of memories and hits --------------------------------------------------------------------------------


def placement_of(settings: MemorySettings) -> MemoryPlacement:
    if settings.recall_first:
        return MemoryPlacement.FIRST
    return MemoryPlacement.AMONG if settings.in_search else MemoryPlacement.OFF


def is_memory(hit: Hit) -> bool:
    """Return whether a row of the list is a memory."""
    return memory_id_of(hit.fragment.id) is not None


def merge_memories(hits: Sequence[Hit], memories: Sequence[Hit], placement: MemoryPlacement) -> tuple[Hit, ...]:
    """Return the rows of the list: hits and memories in display order.

    With `AMONG`, memories come before the first hit of lower confidence than the best memory, and after
    `_MAX_HITS_BEFORE` hits at most.
    """
    if placement is MemoryPlacement.OFF or not memories:
        return tuple(hits)
    if placement is MemoryPlacement.FIRST:
        return (*memories, *hits)
    best_rank = min(map(_confidence_rank, memories))
    at = next(
        (at for at, hit in enumerate(hits[:_MAX_HITS_BEFORE]) if _confidence_rank(hit) > best_rank),
        min(_MAX_HITS_BEFORE, len(hits)),
    )
    return (*hits[:at], *memories, *hits[at:])


def _confidence_rank(hit: Hit) -> int:
    return list(Confidence).index(hit.confidence) if hit.confidence is not None else 0
