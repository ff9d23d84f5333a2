"""The worker thread for memories: it recalls them, finds similar ones, and executes the user's decisions about them.

Decisions (to keep, change or forget a memory) are never dropped: they run in their order, before requests. The thread
starts with the first request; until then no memory is read or indexed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from excerpt.base.settings import MemoryLocation, Paths, Settings
from excerpt.service.event_loop import EventLoop, MemoryChanged
from excerpt.service.open_memories import MemoryFolders, OpenMemories
from excerpt.service.request_queue import Answer, Priority, Request, RequestQueue
from excerpt.vault.known_vaults import VaultFolders

if TYPE_CHECKING:
    from excerpt.base.model import FileProblem, Hit, Memory, Source
    from excerpt.memory.results import RecalledMemory, SimilarMemory
    from excerpt.service.memory_decisions import Decision, DecisionResult, MemoryDraft
    from excerpt.service.stores import StoreAddress
    from excerpt.text.tokens import Tokenizer


class MemoryListing(Struct, frozen=True):
    """The memories that match the filter of the Memory tab, with what the tab shows about them.

    `total` is the number of current memories, `replaced` of the replaced ones. `unreadable` are the files that cannot
    be read as a memory. `tags` are all tags in use, the most used first. `unranked` is the reason if memories were
    found by words alone, else "". `hints` are sentences on what else the filter may mean.
    """

    recalled: tuple[RecalledMemory, ...]
    total: int
    unreadable: tuple[FileProblem, ...]
    tags: tuple[str, ...]
    unranked: str = ""
    hints: tuple[str, ...] = ()
    replaced: int = 0


class FoundMemories(Struct, frozen=True):
    """The memories that match a query, as `hits`, and all `memories`; those that others replace are `replaced`."""

    hits: tuple[Hit, ...]
    memories: tuple[Memory, ...]
    replaced: tuple[Memory, ...] = ()


class MergeOffers(Struct, frozen=True):
    """Memories that a new one may replace or be merged with, and all tags in use, the most used first."""

    offers: tuple[SimilarMemory, ...]
    tags: tuple[str, ...]


class MemoryWorker:
    """Worker for the memories of the open vaults, in one thread. It reports MemoryChanged and failures."""

    def __init__(
        self,
        vaults: VaultFolders,
        user_paths: Paths,
        settings: Settings,
        loop: EventLoop,
        store: StoreAddress | None = None,
    ) -> None:
        self._vaults = vaults
        self._address = store
        self._user_paths = user_paths
        self._settings = settings
        self._loop = loop
        self._requests = RequestQueue("memories", loop, on_end=self._close_memories)
        self._memories = self._open_memories(settings)
        self._tokenizer: Tokenizer | None = None
        self._undo_history: list[DecisionResult] = []
        self._redo_history: list[DecisionResult] = []

    def close(self, wait: float = 2.0) -> None:
        """End the thread after the queued decisions; wait at most `wait` seconds for that."""
        self._requests.close(wait)

    def use_settings(self, settings: Settings) -> None:
        """Use other settings from now on, to find memories and to count tokens."""
        self._requests.queue_task("settings", Priority.INDEX, partial(self._apply_settings, settings))

    def _apply_settings(self, settings: Settings) -> None:
        self._close_memories()
        self._memories = self._open_memories(settings)
        self._settings, self._tokenizer = settings, None

    def _close_memories(self) -> None:
        self._memories.close()

    def _open_memories(self, settings: Settings) -> OpenMemories:
        paths = self._user_paths
        return OpenMemories(
            {
                name: MemoryFolders.of(vault, paths, settings, self._address)
                for name, vault in self._vaults.by_name.items()
            },
            for_author=True,
        )

    @property
    def shares_new(self) -> bool | None:
        """Whether new memories are shared unless the user says otherwise; None if the vault is in no store."""
        return None if self._address is None else self._settings.memory.location is MemoryLocation.STORE

    def recall(self, query: str, on_listing: Callable[[MemoryListing], object], *, replaced: bool = False) -> None:
        """Request the memories that match `query`, or all memories if it is "", for the Memory tab.

        With `replaced`, request the replaced memories in place of the current ones.
        """
        self._request("list", Priority.TAB, partial(self._list_memories, query, replaced=replaced), on_listing)

    def find(self, query: str, on_found: Callable[[FoundMemories], object]) -> None:
        """Request the memories that match `query`, for the Search tab. If it is "", the answer has no hits."""
        self._request("find", Priority.BADGES, partial(self._find_hits, query), on_found)

    def find_merge_offers(
        self, draft: MemoryDraft, source: Source | None, on_offers: Callable[[MergeOffers], object]
    ) -> None:
        """Request the memories that a new memory of `draft` and `source` may replace, and the tags in use."""
        self._request("offers", Priority.TAB, partial(self._find_merge_offers, draft, source), on_offers)

    def find_file(self, path: str) -> Path:
        """Return the file of an unreadable memory, whose path is as in the listing."""
        name = self._vaults.name_of(path)
        folder = self._user_paths.memory_folder(self._vaults.by_name[name])
        return folder / (path.removeprefix(f"{name}/") if name else path)

    def is_waiting(self, kind: str) -> bool:
        """Return whether the newest request of a kind has neither been answered nor failed."""
        return self._requests.is_waiting(kind)

    def queue_decision(self, decision: Decision) -> None:
        """Execute a decision after those in the queue. This clears the redo history."""
        self._requests.queue_step(partial(self._execute_decision, decision))

    @property
    def can_undo(self) -> bool:
        """Whether there is a decision to undo, executed or in the queue."""
        return self._requests.has_steps or bool(self._undo_history)

    @property
    def can_redo(self) -> bool:
        """Whether a decision can be redone, or an undo in the queue will allow it."""
        return self._requests.has_steps or bool(self._redo_history)

    def undo(self) -> None:
        """Undo the newest decision of this session that is not undone."""
        self._requests.queue_step(
            lambda: self._undo_last(self._undo_history, self._redo_history, "Undone.", "Nothing to undo.")
        )

    def redo(self) -> None:
        """Redo the decision that was undone most recently."""
        self._requests.queue_step(
            lambda: self._undo_last(self._redo_history, self._undo_history, "Redone.", "Nothing to redo.")
        )

    def _request(
        self, kind: str, priority: Priority, run: Callable[[], Answer], on_answer: Callable[[Answer], object]
    ) -> None:
        self._requests.ask(Request(kind, priority, run, on_answer))

    # --- answers ------------------------------------------------------------------------------------------------------

    def _list_memories(self, query: str, *, replaced: bool) -> MemoryListing:
        memories = self._memories
        everything = memories.store.all()
        tags = self._list_tags()
        total, unreadable = len(everything.memories), everything.unreadable
        if not query and not memories.is_searchable and not self._vaults.is_joined:
            from excerpt.memory.results import RecalledMemory

            shown = everything.replaced if replaced else everything.memories
            recalled = tuple(map(RecalledMemory, shown))
            return MemoryListing(recalled, total, unreadable, tags, replaced=len(everything.replaced))
        recalled = memories.recall(query, replaced=replaced)
        return MemoryListing(
            recalled, total, unreadable, tags, memories.unranked, memories.hints, len(everything.replaced)
        )

    def _find_hits(self, query: str) -> FoundMemories:
        if not (memories := self._load_memories()):
            return FoundMemories((), ())
        hits = tuple(map(self._make_hit, self._memories.recall_answers(query)))
        return FoundMemories(hits, memories, self._memories.store.all().replaced)

    def _find_merge_offers(self, draft: MemoryDraft, source: Source | None) -> MergeOffers:
        if not self._load_memories():
            return MergeOffers((), ())
        if not draft.text.strip():
            return MergeOffers((), self._list_tags())
        offers = self._memories.find_similar(draft.text, source, draft.tags, draft.why, shared=draft.shared)
        return MergeOffers(offers, self._list_tags())

    def _load_memories(self) -> tuple[Memory, ...]:
        return self._memories.store.all().memories if self._memories.has_files else ()

    def _list_tags(self) -> tuple[str, ...]:
        return tuple(tag for tag, _ in self._memories.store.tags())

    def _execute_decision(self, decision: Decision) -> None:
        result = decision(self._memories.store)
        self._undo_history.append(result)
        self._redo_history.clear()
        self._loop.report_from_thread(MemoryChanged(result.message, result.memory.id))

    def _undo_last(
        self, history: list[DecisionResult], opposite: list[DecisionResult], message: str, empty_message: str
    ) -> None:
        """Revert the newest decision of `history`, append its reversal to `opposite`, and post `message`.

        If `history` is empty, post `empty_message` instead.
        """
        if not history:
            self._loop.report_from_thread(MemoryChanged(empty_message, ""))
            return
        result = history.pop().undo(self._memories.store)
        opposite.append(result)
        self._loop.report_from_thread(MemoryChanged(message, result.memory.id))

    def _make_hit(self, recalled: RecalledMemory) -> Hit:
        from excerpt.base.model import Hit
        from excerpt.pack.memory_fragment import memory_to_fragment
        from excerpt.text.tokens import open_tokenizer

        if self._tokenizer is None:
            self._tokenizer = open_tokenizer(self._settings.pack.tokenizer)
        fragment = memory_to_fragment(recalled.memory, self._tokenizer.count(recalled.memory.text.strip("\n")))
        before = len(recalled.memory.text) - len(recalled.memory.text.lstrip("\n"))
        spans = tuple(type(span)(span.start - before, span.end - before) for span in recalled.spans)
        return Hit(fragment, recalled.score, (), spans, recalled.confidence)
