"""The engine in a thread of its own: asked from the event loop, answering by messages.

There is one slot for each kind of question, and a newer question takes the place of an older one that waits: typing
fast never queues searches up. Everything heavy is imported here, after the first paint.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

from excerpt.errors import ExcerptError, IndexUnusableError
from excerpt.model import Hit, Strategy
from excerpt.settings import PackSettings, Settings
from excerpt.tui.messages import Explained, IndexOpened, PackBuilt, SearchDone, Trouble, WindowReady
from excerpt.tui.note_window import window_around

if TYPE_CHECKING:
    from excerpt.index.snapshot import Snapshot
    from excerpt.search.engine import Engine
    from excerpt.text.tokens import Tokenizer

_ORDER = ("search", "explain", "window", "pack", "open")
"""What a waiting user looks at first is answered first; a new generation is opened between questions."""


@dataclass(frozen=True, slots=True)
class PackRequest:
    """What a pack is built from: the marked hits, or the top of `hits` where none is marked."""

    query: str
    strategy: Strategy
    hits: tuple[Hit, ...]
    marked: tuple[Hit, ...]
    settings: PackSettings


class EngineWorker:
    """One snapshot and one engine on it, both used from one thread only.

    `post` is called from that thread with each answer. Questions asked before an index could be opened are dropped;
    whoever asked asks again at IndexOpened.
    """

    def __init__(
        self, folder: Path, settings: Settings, post: Callable[[Message], object], use_file: Path | None = None
    ) -> None:
        self._folder = folder
        self._settings = settings
        self._use_file = use_file
        self._post = post
        self._slots: dict[str, Callable[[], None]] = {}
        self._something = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._snapshot: Snapshot | None = None
        self._engine: Engine | None = None
        self._tokenizer: Tokenizer | None = None

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

    def window(self, number: int, hit: Hit) -> None:
        self._ask("window", lambda: self._window(number, hit))

    def pack(self, number: int, request: PackRequest) -> None:
        self._ask("pack", lambda: self._pack(number, request))

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
        engine = Engine(snapshot, self._settings, UseLog(self._use_file) if self._use_file else None)
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

    def _window(self, number: int, hit: Hit) -> None:
        snapshot = self._opened()
        current = _current(snapshot, hit)
        if current is not None:
            window = window_around(snapshot.note_text(current.fragment.path), current.fragment, current.spans)
            self._post(WindowReady(number, window))

    def _pack(self, number: int, request: PackRequest) -> None:
        from excerpt.pack.pack import build_pack
        from excerpt.text.tokens import open_tokenizer

        snapshot = self._opened()
        if self._tokenizer is None:
            self._tokenizer = open_tokenizer(request.settings.tokenizer)
        marked, gone = _sorted_out(snapshot, request.marked)
        hits, _ = _sorted_out(snapshot, request.hits)
        ids = {hit.fragment.id for hit in hits}
        result = build_pack(
            snapshot,
            [*hits, *(hit for hit in marked if hit.fragment.id not in ids)],
            query=request.query,
            strategy=request.strategy,
            settings=request.settings,
            tokenizer=self._tokenizer,
            marked=[hit.fragment.id for hit in marked],
        )
        self._post(PackBuilt(number, result, gone))


def _current(snapshot: Snapshot, hit: Hit) -> Hit | None:
    """The hit with its fragment as this snapshot has it: lines and keys change when a note does."""
    fragment = snapshot.fragment(hit.fragment.id)
    return None if fragment is None else replace(hit, fragment=fragment)


def _sorted_out(snapshot: Snapshot, hits: Sequence[Hit]) -> tuple[tuple[Hit, ...], tuple[Hit, ...]]:
    """The hits that are still there, as they are now, and those that are gone."""
    found = [(hit, _current(snapshot, hit)) for hit in hits]
    return tuple(now for _, now in found if now is not None), tuple(hit for hit, now in found if now is None)
