"""The engine in its own thread, and a second thread that opens the next generation of its index.

Everything heavy is imported here, after the first frame. The second thread opens a new generation while requests are
answered from the current one; the engines are exchanged between two requests. At most one generation is being opened:
later commits are opened after it, all at once.
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
from typing import TYPE_CHECKING, Protocol

from excerpt.errors import ExcerptError, StoreUnusableError
from excerpt.settings import Paths, Settings
from excerpt.store.address import StoreAddress
from excerpt.tui.messages import Failure, IndexOpened
from excerpt.tui.request_thread import (
    Answer,
    EventLoop,
    NotReadyError,
    Priority,
    Question,
    Request,
    RequestThread,
    failure_of,
)

if TYPE_CHECKING:
    from excerpt.corpus.interface import Corpus
    from excerpt.model import Status
    from excerpt.search.engine import Engine
    from excerpt.search.usage import UseLog


class QuestionQueue(Protocol):
    """What a controller needs of the engine: answers to the newest request of each kind, on the event loop."""

    @property
    def is_open(self) -> bool: ...

    def ask(
        self,
        question: Question[Engine, Answer],
        on_answer: Callable[[Answer], object],
        on_failure: Callable[[Failure], object] | None = None,
    ) -> None: ...

    def forget(self, kind: str) -> None: ...

    def is_waiting(self, kind: str) -> bool: ...


class EngineWorker:
    """A snapshot with an engine, both used from one thread only, and a thread that prepares the next.

    Opened generations and failures are posted. Requests before an index is open are dropped; the sender repeats them at
    IndexOpened.
    """

    def __init__(
        self,
        vault: Path,
        user_paths: Paths,
        settings: Settings,
        loop: EventLoop,
        store: StoreAddress | None = None,
    ) -> None:
        """Prepare the worker; with a `store` the engine answers from that instead of an index."""
        self._vault = vault
        self._store = store
        self._user_paths = user_paths
        self._folder = user_paths.index_folder(vault)
        self._settings = settings
        self._loop = loop
        self._requests = RequestThread("engine", loop, on_idle=_trim_memory, on_end=self._close_snapshots)
        self._opener = threading.Thread(target=self._open_generations, name="generations", daemon=True)
        self._condition = threading.Condition()
        self._is_closed = False
        self._has_open_request = False
        self._has_new_settings = False
        self._next_engine: Engine | None = None
        self._generation = 0
        self._is_store_lost = False
        self._engine: Engine | None = None
        self._use_log: UseLog | None = None

    @property
    def is_open(self) -> bool:
        """Whether an index is open to answer from."""
        return self._engine is not None

    def start(self) -> None:
        self._opener.start()

    def close(self, wait: float = 2.0) -> None:
        """End the threads, waiting at most `wait` seconds for what they are doing."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()
        until = time.monotonic() + wait
        if self._opener.is_alive():
            self._opener.join(wait)
        self._requests.close(max(until - time.monotonic(), 0))

    def use(self, settings: Settings) -> None:
        """Use other settings as soon as an engine with them is ready."""
        with self._condition:
            self._settings = settings
            self._has_new_settings = True
        self.open()

    def open(self) -> None:
        """Open the newest generation unless it is in use, and post the status of the index."""
        with self._condition:
            self._has_open_request = True
            self._condition.notify_all()

    def check_for_changes(self) -> None:
        """Check for changes pushed to the store since the last check; if it could not be opened, try again."""
        if self._engine is not None:
            self._requests.queue_task("renew", Priority.UPKEEP, partial(self._with_engine, self._renew))
        else:
            self.open()

    def ask(
        self,
        question: Question[Engine, Answer],
        on_answer: Callable[[Answer], object],
        on_failure: Callable[[Failure], object] | None = None,
        *,
        is_interim: bool = False,
    ) -> None:
        """Ask a question; an earlier one of its kind that is not answered yet is dropped.

        With `is_interim` its answer is delivered even if a newer question was asked meanwhile.
        """
        run = partial(self._with_engine, question.answer)
        self._requests.ask(Request(question.kind, question.priority, run, on_answer, on_failure, is_interim))

    def forget(self, kind: str) -> None:
        """Cancel the questions of a kind: they are not answered any more."""
        self._requests.forget(kind)

    def is_waiting(self, kind: str) -> bool:
        """Return whether the newest question of a kind is neither answered nor failed."""
        return self._requests.is_waiting(kind)

    @property
    def last_delivered(self) -> int:
        """Number of the answer that was delivered last, for `mark_drawn`."""
        return self._requests.last_delivered

    def mark_drawn(self, number: int) -> None:
        """Report that an answer is on the screen: the thread continues with requests of lower priority."""
        self._requests.mark_drawn(number)

    def _with_engine(self, run: Callable[[Engine], Answer]) -> Answer:
        """Return the result of `run` on the engine, computed in one read transaction."""
        engine = self._engine
        if engine is None:
            raise NotReadyError
        try:
            return engine.snapshot.read_transaction(lambda: run(engine))
        except StoreUnusableError:
            self._is_store_lost = True
            raise

    # --- generations --------------------------------------------------------------------------------------------------

    def _open_generations(self) -> None:
        """Open requested generations, one at a time: the next only when the last is in use."""
        while True:
            with self._condition:
                while not self._is_closed and (self._next_engine is not None or not self._has_open_request):
                    self._condition.wait()
                if self._is_closed:
                    return
                self._has_open_request = False
                engine = self._engine
            if engine is not None:
                engine.snapshot.shrink_log()
            try:
                self._open()
            except Exception as error:  # an uncaught error would end the thread silently
                self._is_store_lost = self._is_store_lost or isinstance(error, StoreUnusableError)
                self._loop.post_from_thread(failure_of("open", error))

    def _open_snapshot(self, before: Corpus | None) -> Corpus:
        if self._store is not None:
            from excerpt.store.snapshot import StoreSnapshot

            return StoreSnapshot.open(self._store, self._settings)
        from excerpt.index.snapshot import Snapshot

        return Snapshot.open(self._folder, self._settings, before=before if isinstance(before, Snapshot) else None)

    def _renew(self, engine: Engine) -> None:
        """Post the status if changes were pushed since the last post, or a lost store is back."""
        snapshot = engine.refresh_snapshot()
        if snapshot.generation != self._generation or self._is_store_lost:
            self._is_store_lost = False
            self._generation = snapshot.generation
            self._loop.post_from_thread(IndexOpened(snapshot.status()))

    def _open(self) -> None:
        from excerpt.search.engine import Engine
        from excerpt.search.usage import UseLog

        if self._use_log is None:
            self._use_log = UseLog(self._user_paths.use_file(self._vault))
        old = self._engine.snapshot if self._engine is not None else None
        with self._condition:
            is_repeat, self._has_new_settings = self._has_new_settings, False
        snapshot = self._open_snapshot(old)
        try:
            # A build may note skipped files without a new generation.
            status = snapshot.status()
            like = old is not None and snapshot.edition == old.edition and not is_repeat
            engine = None if like else Engine(snapshot, self._settings, self._use_log)
            if engine is not None and old is not None:
                engine.warm_without_model()
        except BaseException:
            snapshot.close()
            raise
        with self._condition:
            is_next = engine is not None and not self._is_closed
            if is_next:
                self._next_engine = engine
        if is_next:
            self._requests.queue_task("exchange", Priority.INDEX, lambda: self._exchange(status, is_repeat))
            return
        snapshot.close()
        self._loop.post_from_thread(IndexOpened(status))

    def _exchange(self, status: Status, is_repeat: bool) -> None:
        with self._condition:
            old, self._engine, self._next_engine = self._engine, self._next_engine, None
            self._condition.notify_all()
        # The next engine is prepared already.
        self._requests.replace("warm", lambda: self._warm(()))
        self._generation, self._is_store_lost = status.generation, False
        self._loop.post_from_thread(IndexOpened(status, is_repeat))
        if old is not None:
            old.snapshot.close()
        elif self._engine is not None:
            self._warm((*self._engine.warm_steps(), self._open_tokenizer))

    def _warm(self, steps: Sequence[Callable[[], object]]) -> None:
        """Load caches of the first engine step by step, with requests in between.

        Later engines are prepared before they are used.
        """
        if steps:
            steps[0]()
            self._requests.queue_task("warm", Priority.UPKEEP, lambda: self._warm(steps[1:]))
            return
        # Exclude long-lived objects from collection: a full one takes up to 0.3 s here and stops the screen, whichever
        # thread it runs on. Only once: later there may be garbage, which would be frozen for good.
        gc.freeze()

    def _open_tokenizer(self) -> None:
        """Open the tokenizer so that the first pack does not block the screen.

        Loading it takes 60 ms and its first non-ASCII word 160 ms, in which no other Python thread runs.
        """
        from excerpt.text.tokens import open_tokenizer

        with suppress(ExcerptError):  # the pack reports it
            open_tokenizer(self._settings.pack.tokenizer).count("naïve")

    def _close_snapshots(self) -> None:
        for engine in (self._engine, self._next_engine):
            if engine is not None:
                engine.snapshot.close()


def _trim_memory() -> None:
    """Make the C library return freed memory to the system.

    The arrays of each search leave holes, 30 MB in an hour. Takes 3 ms. Does nothing unless the C library is glibc;
    others return memory by themselves.
    """
    if sys.platform == "linux":
        import ctypes

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
