"""Keep a vault's index up to date while the process runs.

Three threads share the pending work under one lock: one waits for changes of notes, one for commands (if there are
any), and the main thread updates the index and reports events. Where the user has chosen an embedder, a fourth thread
(`embedding_schedule`) embeds new fragments, and hands the record of its vectors to the main thread.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import assert_never

from msgspec import Struct

from excerpt.base.errors import ExcerptError, IndexBusyError, VaultEmptiedError, VaultError
from excerpt.base.settings import Settings
from excerpt.encoders.model_names import is_static_model
from excerpt.index.build import Updater
from excerpt.index.build_control import BuildCancelled, BuildControl
from excerpt.index.embedding_schedule import EmbeddingThread
from excerpt.index.encoder_vectors import SearchVectorsRecord
from excerpt.index.events import (
    Command,
    CrashHandler,
    EmbeddingCompleted,
    EventHandler,
    IndexingCancelled,
    IndexingFailed,
    IndexingPaused,
    IndexingResumed,
    VaultEmptied,
    VaultWatched,
)
from excerpt.vault.watch import ChangedPaths, VaultWatch

_BUILD_WAIT_SECONDS = 1.0
"""Time that an update waits for another process to release the index, before commands are handled again."""
_CHECK_SECONDS = 1.0
"""Time between two checks that the index still exists."""


class _PendingWork(Struct):
    """The updates to do: the changed `paths`, or the whole vault if `is_whole_vault`; false if there is nothing to do.

    With `rebuild` the index is built from scratch; with `accept_empty` a vault without notes is indexed as empty.
    `record` describes the vectors that searches should use from now on.
    """

    paths: set[str]
    is_whole_vault: bool = False
    rebuild: bool = False
    accept_empty: bool = False
    record: SearchVectorsRecord | None = None

    def __bool__(self) -> bool:
        return self.is_update or self.record is not None

    @property
    def is_update(self) -> bool:
        """Whether files are to be read."""
        return self.is_whole_vault or bool(self.paths)

    def merge(self, other: _PendingWork) -> None:
        """Add other work to this work."""
        self.paths |= other.paths
        self.is_whole_vault |= other.is_whole_vault
        self.rebuild |= other.rebuild
        self.accept_empty |= other.accept_empty
        self.record = other.record or self.record


class IndexWatcher:
    """Brings the index in `index_folder` up to date, then updates it whenever the vault changes.

    Reports progress and outcomes as events to `report`. `run` must be called from the main thread; `run_command` and
    `stop` may be called from any thread.
    """

    def __init__(
        self, vault: Path, index_folder: Path, settings: Settings, report: EventHandler, log_crash: CrashHandler
    ) -> None:
        self._vault, self._settings, self._report, self._log_crash = vault, settings, report, log_crash
        self._control = BuildControl()
        self._updater = Updater(vault, index_folder, settings, report, self._control)
        self._condition = threading.Condition()
        self._stop = threading.Event()
        self._pending_work = _PendingWork(set(), is_whole_vault=True)
        self._failed_work = _PendingWork(set())
        self._is_building = False
        self._is_replaced = False
        self._reported_message = ""
        self._embedding: EmbeddingThread | None = None
        if not is_static_model(settings.embedding.model):
            self._embedding = EmbeddingThread(
                index_folder,
                settings,
                self._stop,
                is_busy=lambda: self._control.is_paused or self._is_building,
                on_record=lambda record: self._add_work(_PendingWork(set(), record=record)),
                report=report,
                log_crash=log_crash,
            )

    def run(self, *, poll: bool = False) -> None:
        """Update the index until `stop` is called; with `poll`, scan the vault instead of waiting for file events.

        Raises VaultError if the vault cannot be listed at the start. Later errors are reported as events.
        """
        watch = VaultWatch(self._vault, self._settings.vault, self._stop, poll=poll)
        watcher = threading.Thread(target=self._detect_changes, args=(watch,), daemon=True)
        watcher.start()
        has_started = False
        try:
            while (work := self._wait_for_work()) is not None:
                done = self._run_work(work)
                if done and not has_started and not self._stop.is_set():
                    has_started = True
                    self._report(VaultWatched(watch.is_polling))
                    self._preload_updater()
        finally:
            self.stop()
            watcher.join()
            watch.close()
            if self._embedding is not None:
                self._embedding.end()
            self._updater.close()

    def stop(self) -> None:
        """End `run` after the current batch of notes; committed batches stay in the index."""
        self._stop.set()
        self._control.cancel()
        with self._condition:
            self._condition.notify_all()

    def run_command(self, command: Command) -> None:
        """Run a command."""
        match command:
            case "update":
                self._add_work(_PendingWork(set(), is_whole_vault=True))
            case "rebuild":
                self._replace_build(_PendingWork(set(), is_whole_vault=True, rebuild=True))
            case "agree":
                self._add_work(_PendingWork(set(), is_whole_vault=True, accept_empty=True))
            case "pause":
                self._pause()
            case "resume":
                self._resume()
            case "cancel":
                self._cancel()
            case "yield":
                if self._embedding is not None:
                    self._embedding.hold()
            case _:
                assert_never(command)

    # --- commands and changes -----------------------------------------------------------------------------------------

    def _add_work(self, work: _PendingWork) -> None:
        with self._condition:
            self._pending_work.merge(work)
            self._condition.notify_all()

    def _replace_build(self, work: _PendingWork) -> None:
        """Cancel the running build, if any, and add work to do instead."""
        with self._condition:
            if self._is_building:
                self._is_replaced = True
                self._control.cancel()
            self._add_work(work)

    def _pause(self) -> None:
        self._control.pause()
        self._report(IndexingPaused())

    def _resume(self) -> None:
        self._report(IndexingResumed())
        with self._condition:
            self._control.resume()
            self._condition.notify_all()

    def _cancel(self) -> None:
        """Drop all pending and failed work, and cancel the running build, if any."""
        with self._condition:
            self._pending_work, self._failed_work = _PendingWork(set()), _PendingWork(set())
            if self._is_building:
                self._control.cancel()
                return
        self._report(IndexingCancelled())

    def _detect_changes(self, watch: VaultWatch) -> None:
        """Add work for each batch of changes; runs in a thread until the end."""
        try:
            for batch in watch.batches():
                self._add_work(_work_of_batch(batch))
        except Exception as error:  # a bug in excerpt; without changes watching is pointless
            message = self._log_crash(error)
            self._report(IndexingFailed("excerpt no longer detects changes", message, "Start excerpt again."))
            self.stop()

    # --- building -----------------------------------------------------------------------------------------------------

    def _wait_for_work(self) -> _PendingWork | None:
        """Wait for pending work and return it, with the work that failed before; None after `stop`."""
        with self._condition:
            while not self._stop.is_set():
                if not self._control.is_paused:
                    if not self._updater.is_in_folder():
                        self._pending_work.is_whole_vault = True
                    if self._pending_work:
                        work, self._pending_work = self._pending_work, _PendingWork(set())
                        work.merge(self._failed_work)
                        self._failed_work = _PendingWork(set())
                        self._control.start_build()
                        self._is_building, self._is_replaced = True, False
                        return work
                self._condition.wait(_CHECK_SECONDS)
        return None

    def _run_work(self, work: _PendingWork) -> bool:
        """Update the index and report the outcome as an event.

        Returns False if the work must wait because another process is updating the index.
        """
        waiting = False
        try:
            if work.is_update:
                report = self._updater.update(
                    None if work.is_whole_vault else work.paths,
                    rebuild=work.rebuild,
                    accept_empty=work.accept_empty,
                    wait=_BUILD_WAIT_SECONDS,
                )
            used = self._updater.use_search_vectors(work.record, _BUILD_WAIT_SECONDS) if work.record else None
        except BuildCancelled:
            pass
        except IndexBusyError as error:
            waiting = True
            self._report_error_once(error)
        except VaultEmptiedError as emptied:
            self._failed_work = work
            self._report_emptied(emptied)
        except ExcerptError as error:
            self._failed_work = work
            if isinstance(error, VaultError):
                self._report_error_once(error)
            else:
                self._report(IndexingFailed.from_error(error))
        except Exception as error:  # a bug in excerpt must not end watching; the next change retries
            self._failed_work = work
            hint = "excerpt tries again with the next change."
            self._report(IndexingFailed(ExcerptError.title, self._log_crash(error), hint))
        else:
            self._reported_message = ""
            if work.is_update:
                self._report(report)
                if self._embedding is not None:
                    self._embedding.start()
            if used is not None:
                self._report(EmbeddingCompleted(*used))
        self._finish_build(work if waiting else None)
        return not waiting

    def _finish_build(self, waiting: _PendingWork | None) -> None:
        """Mark the build as finished and add the work that must wait, if any; report a cancelled build."""
        with self._condition:
            self._is_building = False
            cancelled = self._control.is_cancelled and not self._is_replaced and not self._stop.is_set()
            if cancelled:
                self._failed_work = _PendingWork(set())
            elif waiting is not None:
                self._pending_work.merge(waiting)
        if cancelled:
            self._report(IndexingCancelled())

    def _preload_updater(self) -> None:
        """Load the model and readers for the next updates, so that the first update is as fast as the others."""
        try:
            self._updater.warm()
        except ExcerptError as error:
            self._report(IndexingFailed.from_error(error))

    # --- failures -----------------------------------------------------------------------------------------------------

    def _report_emptied(self, emptied: VaultEmptiedError) -> None:
        """Report a vault that lost all its notes, unless the last reported event had the same message."""
        if self._reported_message != emptied.message:
            self._reported_message = emptied.message
            self._report(VaultEmptied(emptied.notes, emptied.message, emptied.hint))

    def _report_error_once(self, error: ExcerptError) -> None:
        """Report an error, unless the last reported event had the same message."""
        if self._reported_message != error.message:
            self._reported_message = error.message
            self._report(IndexingFailed.from_error(error))


def _work_of_batch(batch: ChangedPaths) -> _PendingWork:
    """Return the work for a batch of changed paths; None stands for unknown changes, so the whole vault."""
    return _PendingWork(set(), is_whole_vault=True) if batch is None else _PendingWork(set(batch))
