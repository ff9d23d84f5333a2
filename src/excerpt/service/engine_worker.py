"""The search engine in its own thread, and a second thread that opens new generations of the index.

A generation is a committed state of the index; each commit raises its number. The second thread opens a new generation
while the first answers requests from the current one. The new engine replaces the old one between two requests. Only
one generation is opened at a time; all commits made meanwhile are opened together after it. Large modules are imported
in these threads, after the first frame.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import structs

from excerpt.base.errors import ExcerptError, IndexUnusableError, SettingsError, StoreUnusableError
from excerpt.base.settings import Paths, Settings, load_vault_settings
from excerpt.service.event_loop import EventLoop, Failure, IndexOpened, QueryVectorsReady
from excerpt.service.open_vaults import Generation, OpenIndex, OpenStore, OpenVaults, newest_generation
from excerpt.service.request_queue import Answer, NotReadyError, Priority, Question, Request, RequestQueue
from excerpt.service.stores import StoreAddress
from excerpt.vault.known_vaults import VaultFolders

if TYPE_CHECKING:
    from excerpt.base.model import Status
    from excerpt.corpus.interface import Corpus
    from excerpt.search.engine import Engine
    from excerpt.search.query_vectors import QueryVectors
    from excerpt.search.rerank import ResultReranker
    from excerpt.search.results import RerankRequest, RerankScores
    from excerpt.search.usage import UseLog


class QuestionQueue(Protocol):
    """The methods of the engine worker that controllers use: to ask questions and to cancel them."""

    @property
    def is_open(self) -> bool: ...

    def ask(
        self,
        question: Question[Engine, Answer],
        on_answer: Callable[[Answer], object],
        on_failure: Callable[[Failure], object] | None = None,
    ) -> None: ...

    def cancel(self, kind: str) -> None: ...

    def is_waiting(self, kind: str) -> bool: ...


class EngineWorker:
    """Worker that answers questions with a search engine in one thread, and opens new generations in another.

    It reports IndexOpened, QueryVectorsReady and Failure. Questions asked before an index is open are dropped; the
    sender repeats them when it handles IndexOpened.
    """

    def __init__(
        self,
        vaults: VaultFolders,
        user_paths: Paths,
        settings: Settings,
        loop: EventLoop,
        store: StoreAddress | None = None,
        *,
        on_question: Callable[[], object] = lambda: None,
    ) -> None:
        """Prepare the worker. With a `store`, the engine answers from the store instead of the index.

        `on_question` is called on the event loop with each question.
        """
        self._on_question = on_question
        self._vaults = vaults
        self._user_paths = user_paths
        self._settings = settings
        self._open_vaults = OpenVaults(
            {"": OpenStore(store, settings)} if store is not None else self._create_indexes(),
            self._create_engine,
            self._report_left_out,
        )
        self._loop = loop
        self._requests = RequestQueue(
            "engine", loop, on_idle=_trim_memory, on_rest=self._release_caches, on_end=self._close_vaults
        )
        self._rerank_requests = RequestQueue("rerank", loop)
        self._reranker: ResultReranker | None = None
        self._query_vectors: QueryVectors | None = None
        self._generation_thread = threading.Thread(target=self._open_generations, name="generations", daemon=True)
        self._condition = threading.Condition()
        self._is_closed = False
        self._has_open_request = False
        self._has_new_settings = False
        self._next_generation: Generation | None = None
        self._generation = 0
        self._is_store_lost = False
        self._use_log: UseLog | None = None

    @property
    def is_open(self) -> bool:
        """Whether an index or store is open, so that questions are answered."""
        return self._open_vaults.engine_in_use is not None

    def start(self) -> None:
        self._generation_thread.start()

    def close(self, wait: float = 2.0) -> None:
        """End both threads after their current work; wait at most `wait` seconds for that."""
        with self._condition:
            self._is_closed = True
            self._condition.notify_all()
        until = time.monotonic() + wait
        if self._generation_thread.is_alive():
            self._generation_thread.join(wait)
        self._rerank_requests.close(0)
        self._requests.close(max(until - time.monotonic(), 0))

    def use_settings(self, settings: Settings) -> None:
        """Use other settings as soon as an engine with these settings is ready."""
        with self._condition:
            old, self._settings = self._settings, settings
            self._has_new_settings = True
            if (old.rerank, old.embedding.remote) != (settings.rerank, settings.embedding.remote):
                self._reranker = None
        self.open()

    def open(self) -> None:
        """Request that the newest generation is opened, unless it is in use, and that its status is posted."""
        with self._condition:
            self._has_open_request = True
            self._condition.notify_all()

    def check_for_changes(self) -> None:
        """Look for changes pushed to the store since the last check; if the store is not open, try to open it."""
        if self.is_open:
            self._requests.queue_task("renew", Priority.UPKEEP, partial(self._run_on_engine, self._refresh_engine))
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
        """Ask a question. An earlier question of the same kind is dropped if it is not answered yet.

        With `is_interim` the answer is delivered even if a newer question of the kind was asked meanwhile.
        """
        self._on_question()
        run = partial(self._run_on_engine, question.answer)
        self._requests.ask(Request(question.kind, question.priority, run, on_answer, on_failure, is_interim))

    def rerank(self, request: RerankRequest, on_answer: Callable[[RerankScores], object]) -> None:
        """Request scores from the reranker, which runs in its own threads; replaces a request not yet answered."""
        run = partial(self._score_passages, request)
        self._rerank_requests.ask(Request("rerank", Priority.UPKEEP, run, on_answer))

    def _score_passages(self, request: RerankRequest) -> RerankScores:
        reranker = self._open_reranker()
        return reranker.score(request)

    def _open_reranker(self) -> ResultReranker:
        """Return the reranker of the settings; its model is open unless opening has failed."""
        from excerpt.search.rerank import ResultReranker

        with self._condition:
            reranker = self._reranker = self._reranker or ResultReranker(self._settings)
        reranker.open()
        return reranker

    def cancel(self, kind: str) -> None:
        """Cancel all questions of a kind, so that their answers are not delivered."""
        self._requests.cancel(kind)

    def is_waiting(self, kind: str) -> bool:
        """Return whether the newest question of a kind has neither been answered nor failed."""
        return self._requests.is_waiting(kind)

    @property
    def last_delivered_number(self) -> int:
        """Number of the request whose answer was delivered most recently, for `mark_drawn`."""
        return self._requests.last_delivered_number

    def mark_drawn(self, number: int) -> None:
        """Report that the answer to request `number` is on the screen, so that the thread starts the next request."""
        self._requests.mark_drawn(number)

    def _run_on_engine(self, run: Callable[[Engine], Answer]) -> Answer:
        """Call `run` with the engine in one read transaction, and return its result.

        Raises NotReadyError if no index is open.
        """
        engine = self._open_vaults.engine_in_use
        if engine is None:
            raise NotReadyError
        try:
            return engine.snapshot.read_transaction(lambda: run(engine))
        except StoreUnusableError:
            self._is_store_lost = True
            raise

    # --- generations --------------------------------------------------------------------------------------------------

    def _open_generations(self) -> None:
        """Open requested generations until the worker is closed, each one only after the previous one is in use."""
        while True:
            with self._condition:
                while not self._is_closed and (self._next_generation is not None or not self._has_open_request):
                    self._condition.wait()
                if self._is_closed:
                    return
                self._has_open_request = False
                engine = self._open_vaults.engine_in_use
            if engine is not None:
                engine.snapshot.shorten_wal()
            try:
                self._open_generation()
            except Exception as error:  # an uncaught error would end the thread silently
                self._is_store_lost = self._is_store_lost or isinstance(error, StoreUnusableError)
                self._loop.report_from_thread(Failure.from_error("open", error))

    def _create_indexes(self) -> Mapping[str, OpenIndex]:
        return {
            name: OpenIndex(
                vault, self._user_paths.index_folder(vault), self._settings, self._user_paths, for_author=True
            )
            for name, vault in self._vaults.named
        }

    def _report_left_out(self, name: str, error: ExcerptError) -> None:
        """Report that one of several vaults is left out, unless it has no index yet."""
        is_unusable = isinstance(error, IndexUnusableError)
        if is_unusable and not newest_generation([self._user_paths.index_folder(self._vaults.by_name[name])]):
            return
        failure = Failure.from_error("open" if is_unusable else "model", error)
        self._loop.report_from_thread(
            structs.replace(failure, message=f"The vault {name} is left out: {failure.message}")
        )

    def _select_settings(self, vault: Path) -> Settings:
        """Return the settings of the first vault, with the embedding model that made the vectors of `vault`."""
        if vault == self._vaults.first:
            return self._settings
        try:
            return replace(self._settings, embedding=load_vault_settings(vault, self._user_paths).embedding)
        except SettingsError:  # its indexing process reports it
            return self._settings

    def _refresh_engine(self, engine: Engine) -> None:
        """Read what was pushed to the store; post its status if it changed or the store is reachable again."""
        snapshot = engine.refresh_snapshot()
        if snapshot.generation != self._generation or self._is_store_lost:
            self._is_store_lost = False
            self._generation = snapshot.generation
            self._loop.report_from_thread(IndexOpened(snapshot.status()))

    def _create_engine(self, corpus: Corpus) -> Engine:
        from excerpt.search.engine import Engine
        from excerpt.search.query_vectors import QueryVectors
        from excerpt.search.usage import UseLog

        if self._query_vectors is None:  # typing never waits for an embedder
            self._query_vectors = QueryVectors(0, lambda: self._loop.report_from_thread(QueryVectorsReady()))
        if self._use_log is None:
            self._use_log = UseLog(self._user_paths.use_file(self._vaults.key))
        return Engine(corpus, self._settings, self._use_log, query_vectors=self._query_vectors)

    def _open_generation(self) -> None:
        """Open the newest generation. If it or the settings are new, prepare an engine and queue its use."""
        old = self._open_vaults.engine_in_use
        with self._condition:
            has_new_settings, self._has_new_settings = self._has_new_settings, False
        for name, vault in self._open_vaults.vaults.items():
            vault.settings = self._select_settings(self._vaults.by_name[name])
        newest = self._open_vaults.open_newest()
        try:
            # A build may note skipped files without a new generation.
            status = newest.corpus.status()
            is_same_edition = old is not None and newest.corpus.edition == old.snapshot.edition and not has_new_settings
            engine = None if is_same_edition else self._create_engine(newest.corpus)
            if engine is not None and old is not None:
                engine.warm_without_model()
        except BaseException:
            newest.close()
            raise
        with self._condition:
            if engine is not None and not self._is_closed:
                self._next_generation = newest
        if engine is not None and self._next_generation is newest:
            use = partial(self._use_generation, newest, engine, status, has_new_settings=has_new_settings)
            self._requests.queue_task("exchange", Priority.INDEX, use)
            return
        newest.close()
        self._loop.report_from_thread(IndexOpened(status))

    def _use_generation(self, newest: Generation, engine: Engine, status: Status, *, has_new_settings: bool) -> None:
        """Answer from the next generation from now on, post its status, and close the previous one."""
        is_first = not self.is_open
        self._open_vaults.use(newest, engine)
        with self._condition:
            self._next_generation = None
            self._condition.notify_all()
        # The next engine is prepared already.
        self._requests.replace_waiting_task("warm", lambda: self._warm_caches(()))
        self._generation, self._is_store_lost = status.generation, False
        self._loop.report_from_thread(IndexOpened(status, has_new_settings))
        if is_first:
            self._warm_caches((*engine.warm_steps(), self._open_tokenizer, self._prepare_reranker))
        else:
            self._prepare_reranker()

    def _warm_caches(self, steps: Sequence[Callable[[], object]]) -> None:
        """Load the caches of the first engine: run the first of `steps`, and queue the rest behind waiting requests.

        Later engines are prepared before they are used, so they need no steps.
        """
        if steps:
            steps[0]()
            self._requests.queue_task("warm", Priority.UPKEEP, lambda: self._warm_caches(steps[1:]))
            return
        # Exclude long-lived objects from collection: a full one takes up to 0.3 s here and stops the screen, whichever
        # thread it runs on. Only once: later there may be garbage, which would be frozen for good.
        gc.freeze()

    def _open_tokenizer(self) -> None:
        """Open the tokenizer now, so that the first pack does not block the screen.

        The default tokenizer's table takes 15 ms, another tokenizer with its first word of several tokens .1 s, during
        which no other Python thread runs.
        """
        from excerpt.text.tokens import open_tokenizer

        with suppress(ExcerptError):  # the pack reports it
            open_tokenizer(self._settings.pack.tokenizer).count("naïve")

    def _release_caches(self) -> None:
        """Release what recent searches cached: in cpp-docs 36 MB."""
        if (engine := self._open_vaults.engine_in_use) is not None:
            engine.release_caches()
            _trim_memory()

    def _prepare_reranker(self) -> None:
        """Request that the settings' reranker, if any, is opened in its thread, so that no query waits for it."""
        if self._settings.rerank.model:
            self._rerank_requests.queue_task("open", Priority.UPKEEP, self._open_reranker)

    def _close_vaults(self) -> None:
        if self._next_generation is not None:
            self._next_generation.close()
        self._open_vaults.close()


def _trim_memory() -> None:
    """Make the C library return freed memory to the operating system, in 3 ms.

    Freed arrays of searches otherwise add 30 MB in an hour to the process. This does nothing unless the C library is
    glibc; others return memory by themselves.
    """
    if sys.platform == "linux":
        import ctypes

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
