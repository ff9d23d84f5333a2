"""Controllers of memories: for the forms that keep or change them, and for memories in the Search tab.

In the Search tab, memories are shown among the hits and in the pack. A badge marks fragments that a memory is about.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from excerpt.base.kinds import Confidence, next_in_cycle
from excerpt.base.settings import MemorySettings, Paths, Settings
from excerpt.pack.memory_fragment import memory_id_of, memory_name, memory_to_fragment
from excerpt.pack.selection import MarkedFragment
from excerpt.service.engine_worker import QuestionQueue
from excerpt.service.event_loop import EventLoop
from excerpt.service.memory_questions import AskBadges, AskStaleMemories, BadgeCache
from excerpt.service.memory_worker import MemoryWorker
from excerpt.tui.messages import RememberRequested
from excerpt.vault.known_vaults import VaultFolders

if TYPE_CHECKING:
    from excerpt.base.model import Hit, Memory, Source
    from excerpt.memory.results import SourceCheck
    from excerpt.service.memory_decisions import MemoryDraft
    from excerpt.service.stores import StoreAddress
    from excerpt.tui.memory.form import RememberDialog

    OnAnswer = Callable[[MemoryDraft | None], None]
    """Callback of a form: it receives what the user wrote, or None if the form was cancelled."""
    from excerpt.service.memory_worker import FoundMemories
    from excerpt.tui.note.window import NoteWindow


class MemoryController:
    """Owns the thread for memories, and makes the forms that keep or change them."""

    def __init__(
        self,
        vaults: VaultFolders,
        settings: Settings,
        user_paths: Paths,
        *,
        loop: EventLoop,
        store: StoreAddress | None = None,
    ) -> None:
        self.worker = MemoryWorker(vaults, user_paths, settings, loop, store)

    def make_new_memory_form(self, request: RememberRequested) -> tuple[RememberDialog, OnAnswer]:
        """Return the form for a new memory, and the callback that keeps what the user wrote in the form."""
        from excerpt.service.memory_decisions import make_remember_decision
        from excerpt.tui.memory.form import RememberDialog
        from excerpt.tui.memory.view import format_source

        text, source = request.text, request.source
        if request.hit is not None:
            text, source = request.hit.fragment.text, make_source(request.hit)

        def on_answer(draft: MemoryDraft | None) -> None:
            if draft is not None:
                self.worker.queue_decision(make_remember_decision(draft, source, request.query))

        location = format_source(source) if source is not None else ""
        return RememberDialog(
            text,
            location,
            request_offers=lambda draft, on_offers: self.worker.find_merge_offers(draft, source, on_offers),
            shares=self.worker.shares_new,
        ), on_answer

    def make_edit_form(self, memory: Memory) -> tuple[RememberDialog, OnAnswer]:
        """Return the form filled with `memory`, and the callback that saves what the user changed in the form."""
        from excerpt.service.memory_decisions import make_edit_decision
        from excerpt.tui.memory.form import RememberDialog
        from excerpt.tui.memory.view import format_source

        def on_answer(draft: MemoryDraft | None) -> None:
            if draft is not None:
                self.worker.queue_decision(make_edit_decision(memory, draft))

        form = RememberDialog(
            memory.text,
            format_source(memory.source) if memory.source is not None else "",
            title="Change the memory",
            tags=memory.tags,
            why=memory.why,
            request_offers=lambda draft, on_offers: self.worker.find_merge_offers(draft, None, on_offers),
            offers_merge=False,
        )
        return form, on_answer


def make_source(hit: Hit) -> Source | None:
    """Return the location of a hit in the vault as a memory records its source; None if the hit is a memory."""
    from excerpt.base.model import Source

    fragment = hit.fragment
    if memory_id_of(fragment.id) is not None:
        return None
    lines = fragment.line_start, fragment.line_end
    return Source(fragment.path, *lines, fragment.digest, fragment.heading_path, fragment.place)


_MAX_HITS_BEFORE = 2
"""Maximum number of hits before the first memory, so that the memory is visible in the smallest window.

Hits and memories are ordered by confidence, because the scores of two indexes cannot be compared.
"""


class MemoryPlacement(StrEnum):
    """Where memories are shown in the list of the Search tab, if at all."""

    AMONG = "among the hits"
    FIRST = "before the hits"
    OFF = "off"


class MemoryFinder(Protocol):
    """The methods of the memory worker that `RecallController` calls."""

    def find(self, query: str, on_found: Callable[[FoundMemories], object]) -> None: ...

    def is_waiting(self, kind: str) -> bool: ...


class RecallController:
    """Controls memories in the Search tab: where they are shown, which match the query, and badges on fragments.

    Memories that match are requested only after a search was answered, or a memory was marked for the pack. `on_found`
    is called with the memories that were found, `on_change` after the badges have changed.
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
        self.placement = initial_placement(settings)
        self.badges: frozenset[str] = frozenset()
        """Ids of the fragments that get a badge, because a memory is about them."""
        self.source_states: Mapping[str, str] = {}
        """What became of the sources of listed memories, such as "changed", by fragment id."""
        self._engine = engine
        self._settings = settings
        self._memories = memories
        self._on_found = on_found
        self._on_change = on_change
        self._query = ""
        self._hits: tuple[Hit, ...] = ()
        self._all_memories: tuple[Memory, ...] = ()
        self._memories_by_id: dict[str, Memory] | None = None
        self._badge_cache: BadgeCache | None = None

    @property
    def is_answered(self) -> bool:
        """Whether no request for memories is waiting for its answer."""
        return not self._memories.is_waiting("find")

    def use_settings(self, settings: MemorySettings) -> bool:
        """Use other settings from now on; return whether they change the placement of memories."""
        before, self._settings = self._settings, settings
        previous = self.placement
        if before != settings:
            self.placement = initial_placement(settings)
        return self.placement is not previous

    def select_next_placement(self) -> None:
        """Switch to the next placement of memories; the last one is `OFF`."""
        self.placement = next_in_cycle(list(MemoryPlacement), self.placement)

    # --- recall -------------------------------------------------------------------------------------------------------

    def request_memories(self, query: str, marks: Sequence[MarkedFragment]) -> None:
        """Request the memories that match `query`, whose search is answered, and those that are marked."""
        self._query = query
        query = "" if self.placement is MemoryPlacement.OFF else query
        if query or _marked_memory_ids(marks):
            self._memories.find(query, self._on_found)

    def request_all(self) -> None:
        """Request all memories for the badges of fragments; no memory is listed, because there is no query."""
        if self.placement is not MemoryPlacement.OFF:
            self._memories.find("", self._on_found)

    def store_answer(self, answer: FoundMemories, *, has_hit_list: bool) -> None:
        """Store the memories that were found. Without a list of hits (`has_hit_list`), none of them are shown."""
        self._all_memories = answer.memories
        self._memories_by_id = {memory.id: memory for memory in (*answer.memories, *answer.replaced)}
        self._hits = answer.hits if has_hit_list else ()
        listed = (self.find_memory(hit.fragment.id) for hit in self._hits)
        sources = tuple(memory for memory in listed if memory is not None and memory.source is not None)
        if sources:
            self._engine.ask(AskStaleMemories(sources), self._store_source_states)

    def _store_source_states(self, checks: Sequence[SourceCheck]) -> None:
        self.source_states = {memory_name(check.memory.id): str(check.kind) for check in checks}
        self._on_change()

    def merge_rows(self, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """Return the rows of the list: the hits and the memories that match; no rows without hits.

        Until the memories for a new query arrive, those of the previous query are used.
        """
        return merge_memories(hits, self._hits, self.placement) if hits else ()

    def clear_hits(self) -> None:
        """Remove the memories from the list, because there is no query."""
        self._hits = ()

    @property
    def has_memories(self) -> bool:
        """Whether memories that match the query are stored."""
        return bool(self._hits)

    def ask_badges(self, hits: Sequence[Hit]) -> None:
        """Request which of these hits get a badge, because a memory is about them."""
        if self.placement is MemoryPlacement.OFF or not hits or not any(memory.source for memory in self._all_memories):
            self._engine.cancel("badges")
            self._store_badges({})
            return
        self._badge_cache = self._badge_cache or BadgeCache()
        fragments = tuple(hit.fragment for hit in hits)
        self._engine.ask(AskBadges(self._badge_cache, self._all_memories, fragments), self._store_badges)

    def _store_badges(self, memories: dict[str, tuple[Memory, ...]]) -> None:
        self.badges = frozenset(memories)
        self._on_change()

    # --- single memories ----------------------------------------------------------------------------------------------

    def find_memory(self, fragment_id: str) -> Memory | None:
        """Return the memory with this fragment id; None if the id is that of a vault's fragment."""
        memory_id = memory_id_of(fragment_id)
        return (self._memories_by_id or {}).get(memory_id) if memory_id is not None else None

    def memory_window(self, fragment_id: str) -> NoteWindow | None:
        """Return the text of a memory for the preview, listed or not; None if the id is that of a vault's fragment."""
        from excerpt.base.model import Hit

        memory = self.find_memory(fragment_id)
        return make_memory_window(Hit(memory_to_fragment(memory, 0), 0.0)) if memory is not None else None

    def marked_memories(self, marks: Sequence[MarkedFragment]) -> tuple[Memory, ...] | None:
        """Return the marked memories. If they are not loaded yet, request them and return None."""
        ids = _marked_memory_ids(marks)
        if ids and self._memories_by_id is None:
            if self.is_answered:
                self.request_memories(self._query, marks)
            return None
        known = self._memories_by_id or {}
        return tuple(known[each] for each in ids if each in known)


def make_memory_window(hit: Hit | None, query: str = "") -> NoteWindow | None:
    """Return the text of a memory found by `query` for the preview; None if the hit is a fragment of the vault."""
    if hit is None or not is_memory(hit):
        return None
    from excerpt.service.note_questions import drop_stop_words
    from excerpt.text.languages import detect_language
    from excerpt.tui.note.window import draw_window

    text = hit.fragment.text
    return draw_window(text, hit.fragment, drop_stop_words(text, hit.spans, query, detect_language(text)))


def _marked_memory_ids(marks: Sequence[MarkedFragment]) -> list[str]:
    memory_ids = (memory_id_of(mark.fragment_id) for mark in marks)
    return [each for each in memory_ids if each is not None]


# --- the order of memories and hits --------------------------------------------------------------------------------


def initial_placement(settings: MemorySettings) -> MemoryPlacement:
    """Return the placement of memories that the settings choose."""
    if settings.recall_first:
        return MemoryPlacement.FIRST
    return MemoryPlacement.AMONG if settings.in_search else MemoryPlacement.OFF


def is_memory(hit: Hit) -> bool:
    """Return whether a hit is a memory and not a fragment of the vault."""
    return memory_id_of(hit.fragment.id) is not None


def merge_memories(hits: Sequence[Hit], memories: Sequence[Hit], placement: MemoryPlacement) -> tuple[Hit, ...]:
    """Return hits and memories in the order in which the list shows them.

    With the placement `AMONG`, the memories come before the first hit whose confidence is lower than that of the best
    memory, but after at most `_MAX_HITS_BEFORE` hits.
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
    """Return 0 for the highest confidence, and a larger number for each lower one."""
    return list(Confidence).index(hit.confidence) if hit.confidence is not None else 0
