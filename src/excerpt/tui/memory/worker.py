"""The memories in a thread of their own: recalled, offered, decided about; answers are messages.

Like the engine's thread it has one slot for each kind of question, and a newer one takes the place of an older one that
waits. What the user decides is never dropped: decisions are a queue, and go first. The thread begins with the first
question; until then nothing of the memories is imported, read or indexed.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

from excerpt.errors import ExcerptError
from excerpt.kinds import Confidence
from excerpt.settings import Places, Settings
from excerpt.tui.memory.messages import MemoriesFound, MemoriesListed, MemoryChanged, OffersKnown
from excerpt.tui.messages import Trouble

if TYPE_CHECKING:
    from excerpt.memory.recalling import Recalled, Recaller
    from excerpt.memory.store import MemoryStore
    from excerpt.model import Hit, Source
    from excerpt.text.tokens import Tokenizer
    from excerpt.tui.memory.decisions import Decision, Done
    from excerpt.tui.memory.filter import MemoryFilter

_ORDER = ("list", "offers", "find")
_MOST_FOUND = 3
"""Memories among the hits of a query, at most: they are beside the vault, not in its place."""
_SURE = (Confidence.STRONG, Confidence.LIKELY)


class MemoryWorker:
    """The memories of one vault. `post` is called from the thread with each answer."""

    def __init__(self, vault: Path, places: Places, settings: Settings, post: Callable[[Message], object]) -> None:
        self._folder = places.memory_folder(vault)
        self._cache = places.memory_index_folder(vault)
        self._settings = settings
        self._post = post
        self._slots: dict[str, Callable[[], None]] = {}
        self._decisions: deque[Callable[[], None]] = deque()
        self._deciding = False
        self._something = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._store: MemoryStore | None = None
        self._recaller: Recaller | None = None
        self._tokenizer: Tokenizer | None = None
        self._done: list[Done] = []

    def close(self, wait: float = 2.0) -> None:
        """End the thread, after what is decided; `wait` is how many seconds that may take."""
        with self._something:
            self._closed = True
            self._slots.clear()
            self._something.notify_all()
        if self._thread is not None:
            self._thread.join(wait)

    def use(self, settings: Settings) -> None:
        """Recall and count by other settings from now on."""
        with self._something:
            self._settings, self._recaller, self._tokenizer = settings, None, None

    def list(self, number: int, wanted: MemoryFilter) -> None:
        """The memories that a filter leaves, for the Memory tab."""
        self._ask("list", lambda: self._list(number, wanted))

    def find(self, number: int, query: str) -> None:
        """The memories that answer a query, for the Search tab."""
        self._ask("find", lambda: self._find(number, query))

    def offer(self, number: int, text: str, source: Source | None) -> None:
        """What is remembered already of the same thing, and the tags in use."""
        self._ask("offers", lambda: self._offer(number, text, source))

    def decide(self, decision: Decision) -> None:
        self._then(lambda: self._decide(decision))

    @property
    def has_decided(self) -> bool:
        """Whether something may be taken back; what is on its way counts."""
        return self._deciding or bool(self._decisions or self._done)

    def undo(self) -> None:
        """Take back the last decision of this session that was not taken back."""
        self._then(self._undo)

    def _ask(self, kind: str, answer: Callable[[], None]) -> None:
        with self._something:
            self._slots[kind] = answer
            self._wake()

    def _then(self, step: Callable[[], None]) -> None:
        with self._something:
            self._decisions.append(step)
            self._wake()

    def _wake(self) -> None:
        if self._thread is None and not self._closed:
            self._thread = threading.Thread(target=self._run, name="memories", daemon=True)
            self._thread.start()
        self._something.notify_all()

    def _run(self) -> None:
        while True:
            with self._something:
                self._deciding = False
                while not (self._slots or self._decisions or self._closed):
                    self._something.wait()
                self._deciding = bool(self._decisions)
                if self._decisions:
                    step = self._decisions.popleft()
                elif self._closed:
                    break
                else:
                    step = self._slots.pop(next(kind for kind in _ORDER if kind in self._slots))
            self._answer(step)
        if self._recaller is not None:
            self._recaller.close()

    def _answer(self, step: Callable[[], None]) -> None:
        try:
            step()
        except ExcerptError as error:
            self._post(Trouble("memory", error.title, error.message, error.hint))
        except Exception as error:  # nobody stands above a thread; its death would be silent
            told = f"{type(error).__name__}: {error}"
            self._post(Trouble("memory", "excerpt made a mistake", told, "Please report it if it stays."))

    # --- answers ------------------------------------------------------------------------------------------------------

    def _list(self, number: int, wanted: MemoryFilter) -> None:
        store = self._opened()
        everything = store.all()
        unranked = ""
        if wanted.is_empty and self._recaller is None:
            from excerpt.memory.recalling import Recalled

            found: list[Recalled] = [Recalled(memory) for memory in everything.memories]
        else:
            recaller = self._recalling()
            found = recaller.recall(wanted.query)
            unranked = recaller.unranked
        total = len(everything.memories)
        self._post(MemoriesListed(number, tuple(found), total, everything.broken, store.tags(), unranked))

    def _find(self, number: int, query: str) -> None:
        if not self._folder.is_dir() or not (memories := self._opened().all().memories):
            self._post(MemoriesFound(number, (), ()))
            return
        found = self._recalling().recall(query, limit=_MOST_FOUND) if query else []
        hits = tuple(self._hit(one) for one in found if one.confidence in _SURE)
        self._post(MemoriesFound(number, hits, memories))

    def _offer(self, number: int, text: str, source: Source | None) -> None:
        if not self._folder.is_dir() or not self._opened().all().memories:
            self._post(OffersKnown(number, (), ()))
            return
        from excerpt.memory.offers import offers

        found = offers(text, source, self._recalling()) if text.strip() else []
        self._post(OffersKnown(number, tuple(found), self._opened().tags()))

    def _decide(self, decision: Decision) -> None:
        done = decision(self._opened())
        self._done.append(done)
        self._post(MemoryChanged(done.told, done.memory.id))

    def _undo(self) -> None:
        if not self._done:
            self._post(MemoryChanged("There is nothing to take back since excerpt was opened.", ""))
            return
        done = self._done.pop()
        done.undo(self._opened())
        self._post(MemoryChanged("Taken back.", done.memory.id))

    # --- what is heavy ------------------------------------------------------------------------------------------------

    def _opened(self) -> MemoryStore:
        if self._store is None:
            from excerpt.memory.store import MemoryStore

            self._store = MemoryStore(self._folder)
        return self._store

    def _recalling(self) -> Recaller:
        if self._recaller is None:
            from excerpt.memory.recalling import Recaller

            self._recaller = Recaller(self._folder, self._cache, self._settings)
            self._recaller.store = self._opened()
        return self._recaller

    def _hit(self, found: Recalled) -> Hit:
        from excerpt.model import Hit
        from excerpt.pack.memory_fragment import as_fragment
        from excerpt.text.tokens import open_tokenizer

        if self._tokenizer is None:
            self._tokenizer = open_tokenizer(self._settings.pack.tokenizer)
        fragment = as_fragment(found.memory, self._tokenizer.count(found.memory.text.strip("\n")))
        before = len(found.memory.text) - len(found.memory.text.lstrip("\n"))
        spans = tuple(type(span)(span.start - before, span.end - before) for span in found.spans)
        return Hit(fragment, found.score, (), spans, found.confidence)
