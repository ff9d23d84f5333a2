"""The engine in a thread of its own: asked from the event loop, answering by messages.

There is one slot for each kind of question, and a newer question takes the place of an older one that waits: typing
fast never queues searches up. Everything heavy is imported here, after the first paint.

A new generation is taken up in a second thread, while questions are answered from the one before; between two
questions the engine is exchanged. At most one is on its way: what is committed meanwhile is taken up after it, all at
once.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

from textual.message import Message

from excerpt.errors import ExcerptError, StoreUnusableError
from excerpt.kinds import Strategy
from excerpt.settings import Places, Settings
from excerpt.store.address import Address
from excerpt.tui.messages import AllMarked, Answered, Answers, Failure, IndexOpened, SearchDone

if TYPE_CHECKING:
    from excerpt.corpus.interface import Corpus
    from excerpt.model import Result, Status
    from excerpt.pack.selection import Mark
    from excerpt.search.engine import Engine
    from excerpt.search.usage import UseLog
    from excerpt.tui.pack.packer import Cost, Packed, Packer, PackRequest

Answer = TypeVar("Answer")
Answer_co = TypeVar("Answer_co", covariant=True)

_ORDER = (
    "exchange",
    "search",
    "explain",
    "window",
    "complete",
    "reading",
    "suggest",
    "link",
    "related",
    "map",
    "narrow",
    "overview",
    "passage",
    "markdown",
    "drill",
    "strategies",
    "badges",
    "standings",
    "marks",
    "correction",
    "pack",
    "cost",
    "renew",
    "warm",
)
"""Kinds of questions. What a waiting user looks at first is answered first, from the newest generation there is."""
_CAN_WAIT = ("correction", "pack", "cost", "warm")
_PAUSE = 0.1
"""Seconds after a search in which the next letter is awaited before what can wait is begun: it would find the engine
at work on a pack that it makes another."""
_TO_DRAW = 0.05
"""Seconds that hits are given to be drawn before the next question: threads of Python share one interpreter, so that
context and pack, worked out meanwhile, would have the list drawn in twice the time, and come no sooner themselves."""
_REST = 0.5
"""Seconds without a question after which memory that answers left is given back."""
_MOST_ANSWERS = 16
"""Without a rest, answers after which it is given back: the pages mapped to read hits are some 3 MB a search."""


class Question(Protocol[Answer_co]):
    """A question to the engine. `kind` names its slot; `answer` is called in the engine's thread."""

    kind: ClassVar[str]

    def answer(self, engine: Engine) -> Answer_co: ...


class Asks(Protocol):
    """What a controller needs of the engine: questions of which the newest of a kind wins, answered on the event loop.

    What is answered is the newest question of its kind or nothing; `waits` says whether its answer is still to come.
    """

    @property
    def is_open(self) -> bool: ...

    def ask(self, question: Question[Answer], on_answer: Callable[[Answer], object]) -> None: ...

    def pack(self, request: PackRequest, on_answer: Callable[[Packed], object]) -> None: ...

    def cost(self, request: PackRequest, mark: Mark, on_answer: Callable[[Cost], object]) -> None: ...

    def forget(self, kind: str) -> None: ...

    def waits(self, kind: str) -> bool: ...


class EngineWorker:
    """One snapshot and one engine on it, both used from one thread only, and a thread that prepares the next.

    `post` is called from these threads with each answer. Questions asked before an index could be opened are dropped;
    whoever asked asks again at IndexOpened.
    """

    def __init__(
        self,
        vault: Path,
        places: Places,
        settings: Settings,
        post: Callable[[Message], object],
        store: Address | None = None,
    ) -> None:
        """With a `store` its vault answers, in the place of an index."""
        self._vault = vault
        self._store = store
        self._places = places
        self._folder = places.index_folder(vault)
        self._settings = settings
        self._post = post
        self._slots: dict[str, Callable[[], None]] = {}
        self._answers = Answers()
        self._something = threading.Condition()
        self._drawn = 0
        self._searched = 0.0
        self._closed = False
        self._to_open = False
        self._other_settings = False
        self._next: Engine | None = None
        self._threads = [
            threading.Thread(target=self._run, name="engine", daemon=True),
            threading.Thread(target=self._take_up, name="generations", daemon=True),
        ]
        self._generation = 0
        self._lost = False
        self._engine: Engine | None = None
        self._use: UseLog | None = None
        self._packer: Packer | None = None

    @property
    def is_open(self) -> bool:
        """Whether there is an index to answer from."""
        return self._engine is not None

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self, wait: float = 2.0) -> None:
        """End the threads; `wait` is how many seconds what is under way may still take."""
        with self._something:
            self._closed = True
            self._slots.clear()
            self._something.notify_all()
        until = time.monotonic() + wait
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(until - time.monotonic(), 0))

    def use(self, settings: Settings) -> None:
        """Answer by other settings from now on, when an engine by them is ready."""
        with self._something:
            self._settings = settings
            self._other_settings = True
        self.open()

    def open(self) -> None:
        """Take up the newest generation, unless it is the one in use, and tell the status of the index."""
        with self._something:
            self._to_open = True
            self._something.notify_all()

    def look(self) -> None:
        """Take up what was pushed to the store since the last look; where it could not be opened yet, try again."""
        if self._engine is not None:
            self._ask("renew", self._renew)
        else:
            self.open()

    def search(self, number: int, query: str, strategy: Strategy, in_sight: int, limit: int | None = None) -> None:
        """Ask for `limit` hits, by default the settings'. The first answer has spans in those `in_sight`; when they are
        drawn, a second has them in all."""
        self._ask("search", lambda: self._search(number, query, strategy, in_sight, limit))

    def ask(
        self,
        question: Question[Answer],
        on_answer: Callable[[Answer], object],
        on_failure: Callable[[Failure], object] | None = None,
    ) -> None:
        """Ask; a question of its kind that waits, or is not answered yet, is dropped."""
        number = self._answers.expect(question.kind, on_answer, on_failure)
        self._ask(question.kind, lambda: self._answer_question(number, question))

    def pack(self, request: PackRequest, on_answer: Callable[[Packed], object]) -> None:
        """Build a pack."""
        number = self._answers.expect("pack", on_answer)
        self._ask("pack", lambda: self._pack(number, request))

    def cost(self, request: PackRequest, mark: Mark, on_answer: Callable[[Cost], object]) -> None:
        """Work out what marking that fragment, besides what is asked for, would cost."""
        number = self._answers.expect("cost", on_answer)
        self._ask("cost", lambda: self._cost(number, request, mark))

    def forget(self, kind: str) -> None:
        """Take back a question: it is not answered any more."""
        self._answers.forget(kind)
        with self._something:
            self._slots.pop(kind, None)

    def waits(self, kind: str) -> bool:
        """Return whether a question of that kind is neither answered nor failed."""
        return self._answers.waits(kind)

    def hand_over(self, message: Answered) -> None:
        """Call who asked, on the event loop, unless something newer of that kind was asked meanwhile."""
        self._answers.hand_over(message.kind, message.number, message.answer)

    def fail(self, message: Failure) -> None:
        """Tell who asked that it failed, and expect no answer for now."""
        self._answers.fail(message)

    def drawn(self, number: int) -> None:
        """The answer to that search is on the screen, or will not be shown."""
        with self._something:
            self._drawn = max(self._drawn, number)
            self._something.notify_all()

    def _ask(self, kind: str, answer: Callable[[], None]) -> None:
        with self._something:
            self._slots[kind] = answer
            self._something.notify_all()

    def _run(self) -> None:
        answered = 0
        while True:
            with self._something:
                if not self._slots and not self._closed:
                    self._something.wait(_REST if answered else None)
                if self._closed:
                    break
                kind = next((kind for kind in _ORDER if kind in self._slots), None)
                pause = self._searched + _PAUSE - time.monotonic()
                if kind in _CAN_WAIT and pause > 0:
                    self._something.wait(pause)
                    continue
                answer = self._slots.pop(kind) if kind is not None else None
            if kind is not None and answer is not None:
                if self._engine is not None:
                    answer = partial(self._engine.snapshot.read_transaction, answer)
                self._answer(kind, answer)
            answered = answered + 1 if kind is not None else 0
            if answered % _MOST_ANSWERS == 0 and self._engine is not None:
                _trim_memory()
        for engine in (self._engine, self._next):
            if engine is not None:
                engine.snapshot.close()

    def _answer(self, kind: str, answer: Callable[[], None]) -> None:
        try:
            answer()
        except ExcerptError as error:
            self._lost = self._lost or isinstance(error, StoreUnusableError)
            self._post(Failure(kind, error.title, error.message, error.hint))
        except Exception as error:  # nobody stands above a thread; its death would be silent
            self._post(
                Failure(
                    kind,
                    "excerpt made a mistake",
                    f"{type(error).__name__}: {error}",
                    "Ask again, or in other words; please report it if it stays.",
                )
            )

    # --- generations --------------------------------------------------------------------------------------------------

    def _take_up(self) -> None:
        """Open what is asked for, one at a time: the next only when the last is in use."""
        while True:
            with self._something:
                while not self._closed and (self._next is not None or not self._to_open):
                    self._something.wait()
                if self._closed:
                    return
                self._to_open = False
                engine = self._engine
            if engine is not None:
                engine.snapshot.shrink_log()
            self._answer("open", self._open)

    def _opened(self, before: Corpus | None) -> Corpus:
        if self._store is not None:
            from excerpt.store.snapshot import StoreSnapshot

            return StoreSnapshot.open(self._store, self._settings)
        from excerpt.index.snapshot import Snapshot

        return Snapshot.open(self._folder, self._settings, before=before if isinstance(before, Snapshot) else None)

    def _renew(self) -> None:
        """Tell of what was pushed since it was last told, by this or by a search; and that a lost store is back."""
        if self._engine is not None:
            snapshot = self._engine.renew()
            if snapshot.generation != self._generation or self._lost:
                self._lost = False
                self._generation = snapshot.generation
                self._post(IndexOpened(snapshot.status()))

    def _open(self) -> None:
        from excerpt.search.engine import Engine
        from excerpt.search.usage import UseLog

        if self._use is None:
            self._use = UseLog(self._places.use_file(self._vault))
        old = self._engine.snapshot if self._engine is not None else None
        with self._something:
            anew, self._other_settings = self._other_settings, False
        snapshot = self._opened(old)
        try:
            # A build may note skipped files without a new generation.
            status = snapshot.status()
            like = old is not None and snapshot.edition == old.edition and not anew
            engine = None if like else Engine(snapshot, self._settings, self._use)
            if engine is not None and old is not None:
                engine.prepare()
        except BaseException:
            snapshot.close()
            raise
        with self._something:
            if engine is not None and not self._closed:
                self._next = engine
                self._slots["exchange"] = lambda: self._exchange(status, anew)
                self._something.notify_all()
                return
        snapshot.close()
        self._post(IndexOpened(status))

    def _exchange(self, status: Status, anew: bool) -> None:
        with self._something:
            old, self._engine, self._next = self._engine, self._next, None
            if self._slots.pop("warm", None) is not None:
                # This one is warm, as it was prepared.
                self._slots["warm"] = lambda: self._warm(())
            self._something.notify_all()
        self._generation, self._lost = status.generation, False
        self._post(IndexOpened(status, anew))
        if old is not None:
            old.snapshot.close()
        elif self._engine is not None:
            self._warm((*self._engine.warming(), self._open_tokenizer))

    def _warm(self, steps: Sequence[Callable[[], object]]) -> None:
        """Warm the first engine step by step, questions between them; what comes after it is warm when it comes."""
        if steps:
            steps[0]()
            self._ask("warm", lambda: self._warm(steps[1:]))
            return
        # What lives as long as the app is not looked through again: a full collection takes up to 0.3 s here, and stops
        # the screen whichever thread it falls on. Once: what is frozen later may be garbage, which then stays for good.
        gc.freeze()

    def _open_tokenizer(self) -> None:
        """Loading, and the first word beyond ASCII, take 60 and 160 ms in which no other thread of Python runs: the
        first pack would have the screen wait for them."""
        from excerpt.text.tokens import open_tokenizer

        with suppress(ExcerptError):  # the pack says so
            open_tokenizer(self._settings.pack.tokenizer).count("naïve")

    # --- answers ------------------------------------------------------------------------------------------------------

    def _search(self, number: int, query: str, strategy: Strategy, in_sight: int, limit: int | None) -> None:
        from excerpt.search.query import without_begun_filter

        if self._engine is not None:
            result = self._engine.search(without_begun_filter(query), strategy, limit, marked=in_sight)
            self._post(SearchDone(number, result))
            with self._something:
                self._something.wait_for(
                    lambda: self._drawn >= number or "search" in self._slots or self._closed, _TO_DRAW
                )
                self._searched = time.monotonic()
            if len(result.hits) > in_sight:
                self._ask("marks", lambda: self._mark_all(number, result))

    def _mark_all(self, number: int, result: Result) -> None:
        if self._engine is not None:
            self._post(AllMarked(number, self._engine.all_marked(result)))

    def _answer_question(self, number: int, question: Question[object]) -> None:
        if self._engine is not None:
            self._post(Answered(question.kind, number, question.answer(self._engine)))

    def _pack(self, number: int, request: PackRequest) -> None:
        if self._engine is not None:
            self._post(Answered("pack", number, self._packs().pack(self._engine.snapshot, request)))

    def _cost(self, number: int, request: PackRequest, mark: Mark) -> None:
        if self._engine is not None:
            self._post(Answered("cost", number, self._packs().cost(self._engine.snapshot, request, mark)))

    def _packs(self) -> Packer:
        if self._packer is None:
            from excerpt.tui.pack.packer import Packer

            self._packer = Packer(self._vault, self._places.config)
        return self._packer


def _trim_memory() -> None:
    """Have the C library give back what was freed: arrays of every search leave holes, 30 MB of them in an hour. Takes
    3 ms; does nothing where the C library is not glibc, and others give back by themselves."""
    if sys.platform == "linux":
        import ctypes

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
