"""When embedding runs: in a thread, after an update of the index, while no update runs and the user is not at work."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from excerpt.base.errors import ExcerptError, IndexBusyError, IndexUnusableError, ModelUnreachableError
from excerpt.base.processes import count_cores
from excerpt.base.settings import Settings
from excerpt.index.embedding_run import EmbeddingRun
from excerpt.index.encoder_vectors import SearchVectorsRecord
from excerpt.index.events import CrashHandler, EmbeddingFailed, EventHandler

_BUSY_CHECK_SECONDS = 0.1
_YIELD_SECONDS = 1.5
"""Time for which an embedder waits after a key press."""
_FIRST_RETRY_SECONDS = 5.0
"""Time before an embedder that could not be reached is tried again; it doubles with each failure."""
_MAX_RETRY_SECONDS = 300.0
_END_SECONDS = 1.0
_LOWEST_PRIORITY = 19


class EmbeddingThread:
    """A thread that embeds the new fragments of an index with the embedder of the settings.

    The thread embeds after each call of `start`, in batches. Between two batches it waits while `is_busy` returns true,
    and for `_YIELD_SECONDS` after a call of `hold`. It ends when `stop` is set.
    """

    def __init__(
        self,
        index_folder: Path,
        settings: Settings,
        stop: threading.Event,
        *,
        is_busy: Callable[[], bool],
        on_record: Callable[[SearchVectorsRecord], object],
        report: EventHandler,
        log_crash: CrashHandler,
    ) -> None:
        """Prepare the thread. It calls `on_record` with the record of the vectors when all fragments are embedded."""
        self._run = EmbeddingRun(index_folder, settings, report, self._may_embed, threads=background_threads())
        self._stop, self._is_busy, self._on_record = stop, is_busy, on_record
        self._report, self._log_crash = report, log_crash
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._embed, name="embedding", daemon=True)
        self._hold_until = 0.0
        self._reported_message = ""
        self._retry_seconds = _FIRST_RETRY_SECONDS

    def start(self) -> None:
        """Embed new fragments, after the fragments of an earlier call."""
        self._wake.set()
        if not self._thread.is_alive() and not self._stop.is_set():
            self._thread.start()

    def hold(self) -> None:
        """Wait a moment before the next batch, because the user is at work."""
        self._hold_until = time.monotonic() + _YIELD_SECONDS

    def end(self) -> None:
        """Wait until the thread has finished its batch and ended; do not wait for a server that does not answer."""
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(_END_SECONDS)

    # --- in the thread ------------------------------------------------------------------------------------------------

    def _may_embed(self) -> bool:
        """Wait while indexing is paused, the index is updated or the user is at work; return False after `stop`."""
        while not self._stop.is_set() and (self._is_busy() or time.monotonic() < self._hold_until):
            self._stop.wait(_BUSY_CHECK_SECONDS)
        return not self._stop.is_set()

    def _embed(self) -> None:
        _lower_thread_priority()
        wait: float | None = None
        while not self._stop.is_set():
            self._wake.wait(wait)
            self._wake.clear()
            if not self._stop.is_set():
                wait = self._embed_once()

    def _embed_once(self) -> float | None:
        """Embed new fragments; return after how many seconds to try again, None for the next update of the index."""
        try:
            record = self._run.run()
        except (ModelUnreachableError, IndexBusyError) as error:
            if isinstance(error, ModelUnreachableError):
                self._report_failure(error.message, error.hint)
            wait, self._retry_seconds = self._retry_seconds, min(2 * self._retry_seconds, _MAX_RETRY_SECONDS)
            return wait
        except ExcerptError as error:
            self._report_failure(error.message, error.hint)
            return None if not isinstance(error, IndexUnusableError) else _MAX_RETRY_SECONDS
        except Exception as error:  # a bug in excerpt, or in another package's embedder
            self._report_failure(self._log_crash(error), "Searches use the previous vectors.")
            return None
        self._reported_message, self._retry_seconds = "", _FIRST_RETRY_SECONDS
        if record is not None:
            self._on_record(record)
        return None

    def _report_failure(self, message: str, hint: str) -> None:
        """Report why embedding has stopped, unless the last report gave the same reason."""
        if self._reported_message != message:
            self._reported_message = message
            self._report(EmbeddingFailed(message, hint))


def background_threads() -> int:
    """Return the number of threads of an embedder in the background: half of the processor's cores."""
    return max(1, count_cores() // 2)


def _lower_thread_priority() -> None:
    """Give this thread and those that it starts the lowest priority, on systems where threads have priorities."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST_PRIORITY)
