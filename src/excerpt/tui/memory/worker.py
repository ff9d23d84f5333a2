"""Worker thread for memories: recall, offers and decisions.

Decisions are never dropped: they run before requests, in their order. The thread starts with the first request; until
then nothing of the memories is imported, read or indexed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

from excerpt.kinds import Confidence
from excerpt.settings import Paths, Settings
from excerpt.tui.request_thread import Answer, EventLoop, Priority, Request, RequestThread

if TYPE_CHECKING:
    from excerpt.memory.recall import Offer, Recalled, Recaller
    from excerpt.memory.store import MemoryStore
    from excerpt.model import Hit, Memory, Skipped, Source
    from excerpt.text.tokens import Tokenizer
    from excerpt.tui.memory.decisions import Decision, DecisionResult

_MAX_HITS = 3
"""Maximum number of memories among the hits of a query, so that they do not displace the vault."""
_CONFIDENT = (Confidence.STRONG, Confidence.LIKELY)


@dataclass(frozen=True, slots=True)
class MemoryListing:
    """The memories that match a filter, with what the Memory tab shows about them.

    `total` counts all memories; `unreadable` are the files that cannot be read as one. `tags` are those in use, most
    used first. `unranked` says why memories were found by words alone, "" if they were not. `hints` suggest what else
    may be meant by the filter.
    """

    recalled: tuple[Recalled, ...]
    total: int
    unreadable: tuple[Skipped, ...]
    tags: tuple[str, ...]
    unranked: str = ""
    hints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FoundMemories:
    """The memories that match a query, as hits, and all memories."""

    hits: tuple[Hit, ...]
    memories: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class Offers:
    """Memories similar to a text, and the tags in use, most used first."""

    offers: tuple[Offer, ...]
    tags: tuple[str, ...]


@dataclass
class MemoryChanged(Message):
    """Posted when a decision about a memory was carried out, undone or redone. `message` is the message to show."""

    message: str
    memory_id: str


class MemoryWorker:
    """Worker for the memories of one vault, on one thread. Posts the results of decisions, and failures."""

    def __init__(
        self,
        vault: Path,
        user_paths: Paths,
        settings: Settings,
        loop: EventLoop,
    ) -> None:
        self._folder = user_paths.memory_folder(vault)
        self._cache = user_paths.memory_index_folder(vault)
        self._settings = settings
        self._loop = loop
        self._requests = RequestThread("memories", loop, on_end=self._close_recaller)
        self._store: MemoryStore | None = None
        self._recaller: Recaller | None = None
        self._tokenizer: Tokenizer | None = None
        self._done: list[DecisionResult] = []
        self._undone: list[DecisionResult] = []

    def close(self, wait: float = 2.0) -> None:
        """End the thread after the pending decisions. Wait for that at most `wait` seconds."""
        self._requests.close(wait)

    def use_settings(self, settings: Settings) -> None:
        """Use other settings for recall and token counts from now on."""
        self._requests.queue_task("settings", Priority.INDEX, partial(self._use, settings))

    def _use(self, settings: Settings) -> None:
        self._close_recaller()
        self._settings, self._recaller, self._tokenizer = settings, None, None

    def recall(self, query: str, on_listing: Callable[[MemoryListing], object]) -> None:
        """Request the memories that match a query, or all without one, for the Memory tab."""
        self._ask("list", Priority.TAB, partial(self._list, query), on_listing)

    def find(self, query: str, on_found: Callable[[FoundMemories], object]) -> None:
        """Request the memories that match a query, for the Search tab. Without one, the answer has no hits."""
        self._ask("find", Priority.BADGES, partial(self._find, query), on_found)

    def offer(self, text: str, source: Source | None, on_offers: Callable[[Offers], object]) -> None:
        """Request the memories similar to a text, and the tags in use."""
        self._ask("offers", Priority.TAB, partial(self._offer, text, source), on_offers)

    def is_waiting(self, kind: str) -> bool:
        """Return whether the newest request of a kind is neither answered nor failed."""
        return self._requests.is_waiting(kind)

    def decide(self, decision: Decision) -> None:
        """Carry out a decision after the pending ones. This clears the redo history."""
        self._requests.queue_step(partial(self._decide, decision))

    @property
    def can_undo(self) -> bool:
        """Whether there is a decision to undo. Pending ones count."""
        return self._requests.has_steps or bool(self._done)

    @property
    def can_redo(self) -> bool:
        """Whether there is a decision to redo. Pending ones count."""
        return self._requests.has_steps or bool(self._undone)

    def undo(self) -> None:
        """Undo the last decision of this session that was not undone."""
        self._requests.queue_step(lambda: self._step(self._done, self._undone, "Undone.", "Nothing to undo."))

    def redo(self) -> None:
        """Redo the decision that was undone last."""
        self._requests.queue_step(lambda: self._step(self._undone, self._done, "Redone.", "Nothing to redo."))

    def _ask(
        self, kind: str, priority: Priority, run: Callable[[], Answer], on_answer: Callable[[Answer], object]
    ) -> None:
        self._requests.ask(Request(kind, priority, run, on_answer))

    def _close_recaller(self) -> None:
        if self._recaller is not None:
            self._recaller.close()

    # --- answers ------------------------------------------------------------------------------------------------------

    def _list(self, query: str) -> MemoryListing:
        store = self._open_store()
        everything = store.all()
        tags = self._tags()
        total, unreadable = len(everything.memories), everything.unreadable
        if not query and self._recaller is None:
            from excerpt.memory.recall import Recalled

            return MemoryListing(tuple(map(Recalled, everything.memories)), total, unreadable, tags)
        recaller = self._open_recaller()
        recalled = tuple(recaller.recall(query))
        return MemoryListing(
            recalled, total, unreadable, tags, recaller.unranked, tuple(hint.message for hint in recaller.hints)
        )

    def _find(self, query: str) -> FoundMemories:
        if not self._folder.is_dir() or not (memories := self._open_store().all().memories):
            return FoundMemories((), ())
        recalled = self._open_recaller().recall(query, limit=_MAX_HITS) if query else []
        return FoundMemories(tuple(self._hit(one) for one in recalled if one.confidence in _CONFIDENT), memories)

    def _offer(self, text: str, source: Source | None) -> Offers:
        if not self._folder.is_dir() or not self._open_store().all().memories:
            return Offers((), ())
        from excerpt.memory.recall import offers

        offered = offers(text, source, self._open_recaller()) if text.strip() else []
        return Offers(tuple(offered), self._tags())

    def _tags(self) -> tuple[str, ...]:
        return tuple(tag for tag, _ in self._open_store().tags())

    def _decide(self, decision: Decision) -> None:
        done = decision(self._open_store())
        self._done.append(done)
        self._undone.clear()
        self._loop.post_from_thread(MemoryChanged(done.message, done.memory.id))

    def _step(
        self, history: list[DecisionResult], opposite: list[DecisionResult], message: str, empty_message: str
    ) -> None:
        """Undo the last of `history`, and append its reversal to `opposite`."""
        if not history:
            self._loop.post_from_thread(MemoryChanged(empty_message, ""))
            return
        done = history.pop().undo(self._open_store())
        opposite.append(done)
        self._loop.post_from_thread(MemoryChanged(message, done.memory.id))

    # --- loaded on first use ------------------------------------------------------------------------------------------

    def _open_store(self) -> MemoryStore:
        if self._store is None:
            from excerpt.memory.store import MemoryStore

            self._store = MemoryStore(self._folder)
        return self._store

    def _open_recaller(self) -> Recaller:
        if self._recaller is None:
            from excerpt.memory.recall import Recaller

            self._recaller = Recaller(self._folder, self._cache, self._settings)
            self._recaller.store = self._open_store()
        return self._recaller

    def _hit(self, recalled: Recalled) -> Hit:
        from excerpt.model import Hit
        from excerpt.pack.memory_fragment import as_fragment
        from excerpt.text.tokens import open_tokenizer

        if self._tokenizer is None:
            self._tokenizer = open_tokenizer(self._settings.pack.tokenizer)
        fragment = as_fragment(recalled.memory, self._tokenizer.count(recalled.memory.text.strip("\n")))
        before = len(recalled.memory.text) - len(recalled.memory.text.lstrip("\n"))
        spans = tuple(type(span)(span.start - before, span.end - before) for span in recalled.spans)
        return Hit(fragment, recalled.score, (), spans, recalled.confidence)
