"""The engine in a thread of its own: asked from the event loop, answering by messages.

There is one slot for each kind of question, and a newer question takes the place of an older one that waits: typing
fast never queues searches up. Everything heavy is imported here, after the first paint.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

from excerpt.errors import ExcerptError, IndexUnusableError
from excerpt.model import Hit, Span, Strategy
from excerpt.pack.marks_file import Mark
from excerpt.settings import Places, Settings
from excerpt.tui.messages import CostKnown, Explained, IndexOpened, PackBuilt, SearchDone, Trouble, WindowReady
from excerpt.tui.note_window import window_around
from excerpt.tui.packing import Packer, PackRequest

if TYPE_CHECKING:
    from excerpt.index.snapshot import Snapshot
    from excerpt.search.engine import Engine

_ORDER = ("search", "explain", "window", "pack", "cost", "open")
"""What a waiting user looks at first is answered first; a new generation is opened between questions."""


class EngineWorker:
    """One snapshot and one engine on it, both used from one thread only.

    `post` is called from that thread with each answer. Questions asked before an index could be opened are dropped;
    whoever asked asks again at IndexOpened.
    """

    def __init__(self, vault: Path, places: Places, settings: Settings, post: Callable[[Message], object]) -> None:
        self._vault = vault
        self._places = places
        self._folder = places.index_folder(vault)
        self._settings = settings
        self._post = post
        self._slots: dict[str, Callable[[], None]] = {}
        self._something = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._snapshot: Snapshot | None = None
        self._engine: Engine | None = None
        self._packer: Packer | None = None

    def start(self) -> None:
        self._thread.start()

    def close(self, wait: float = 2.0) -> None:
        """End the thread; `wait` is how many seconds the question under way may still take."""
        with self._something:
            self._closed = True
            self._slots.clear()
            self._something.notify()
        if self._thread.is_alive():
            self._thread.join(wait)

    def open(self, anew: bool = False) -> None:
        """Open the newest generation, unless it is the one in use, and tell the status of the index.

        `anew` opens it in any case: the generations of an index made anew count from 1 again.
        """
        self._ask("open", lambda: self._open(anew))

    def search(self, number: int, query: str, strategy: Strategy) -> None:
        self._ask("search", lambda: self._search(number, query, strategy))

    def window(self, number: int, fragment_id: str, spans: Sequence[Span]) -> None:
        self._ask("window", lambda: self._window(number, fragment_id, spans))

    def pack(self, number: int, request: PackRequest) -> None:
        self._ask("pack", lambda: self._pack(number, request))

    def cost(self, number: int, request: PackRequest, mark: Mark) -> None:
        """What marking that fragment, besides what is asked for, would cost."""
        self._ask("cost", lambda: self._cost(number, request, mark))

    def explain(self, query: str, asked: Strategy, about: Hit | str) -> None:
        """Why a hit, or the note of that name, stands where it stands in the answer to a query."""
        self._ask("explain", lambda: self._explain(query, asked, about))

    def forget(self, kind: str) -> None:
        """Take back a waiting question."""
        with self._something:
            self._slots.pop(kind, None)

    def _ask(self, kind: str, answer: Callable[[], None]) -> None:
        with self._something:
            self._slots[kind] = answer
            self._something.notify()

    def _run(self) -> None:
        while True:
            with self._something:
                while not self._slots and not self._closed:
                    self._something.wait()
                if self._closed:
                    break
                kind = next(kind for kind in _ORDER if kind in self._slots)
                answer = self._slots.pop(kind)
            self._answer(kind, answer)
        if self._snapshot is not None:
            self._snapshot.close()

    def _answer(self, kind: str, answer: Callable[[], None]) -> None:
        try:
            answer()
        except ExcerptError as error:
            self._post(Trouble(kind, error.title, error.message, error.hint))
        except Exception as error:  # nobody stands above a thread; its death would be silent
            self._post(
                Trouble(
                    kind,
                    "excerpt made a mistake",
                    f"{type(error).__name__}: {error}",
                    "Ask again, or in other words; please report it if it stays.",
                )
            )

    def _open(self, anew: bool) -> None:
        from excerpt.index.snapshot import Snapshot
        from excerpt.search.engine import Engine
        from excerpt.search.use import UseLog

        old = self._snapshot
        if old is not None and not anew and Snapshot.current_generation(self._folder) == old.generation:
            # A build may note skipped files without a new generation, which the snapshot in use cannot see.
            with closing(Snapshot.open(self._folder, self._settings)) as fresh:
                self._post(IndexOpened(fresh.status()))
            return
        snapshot = Snapshot.open(self._folder, self._settings)
        engine = Engine(snapshot, self._settings, UseLog(self._places.use_file(self._vault)))
        self._snapshot, self._engine = snapshot, engine
        if old is not None:
            old.close()
        self._post(IndexOpened(snapshot.status()))
        engine.warm()
        # What lives as long as the snapshot is not looked through again: a full collection takes up to 0.3 s here,
        # and stops the screen whichever thread it falls on.
        gc.freeze()

    def _opened(self) -> Snapshot:
        if self._snapshot is None:
            raise IndexUnusableError("There is no index yet.", "It is being made; see the Index tab.")
        return self._snapshot

    def _search(self, number: int, query: str, strategy: Strategy) -> None:
        if self._engine is not None:
            self._post(SearchDone(number, self._engine.search(query, strategy)))

    def _explain(self, query: str, asked: Strategy, about: Hit | str) -> None:
        from excerpt.search.standing import explain_fragment, explain_note

        if self._engine is None:
            return
        if isinstance(about, str):
            self._post(Explained(about, explain_note(self._engine, query, about, asked)))
        else:
            told = explain_fragment(self._engine, query, about.fragment, asked)
            self._post(Explained(about.fragment.id, told))

    def _window(self, number: int, fragment_id: str, spans: Sequence[Span]) -> None:
        snapshot = self._opened()
        # As this snapshot has it: lines and keys change when a note does.
        current = snapshot.fragment(fragment_id)
        if current is not None:
            self._post(WindowReady(number, window_around(snapshot.note_text(current.path), current, spans)))

    def _pack(self, number: int, request: PackRequest) -> None:
        snapshot = self._opened()
        self._post(PackBuilt(number, self._packs().pack(snapshot, request)))

    def _cost(self, number: int, request: PackRequest, mark: Mark) -> None:
        snapshot = self._opened()
        self._post(CostKnown(number, self._packs().cost(snapshot, request, mark)))

    def _packs(self) -> Packer:
        if self._packer is None:
            self._packer = Packer(self._vault, self._places.config)
        return self._packer
