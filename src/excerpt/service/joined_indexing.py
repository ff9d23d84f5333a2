"""The indexing process of the open vault, or those of several vaults, which report events as one process does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct, structs

from excerpt.index.events import (
    Command,
    EmbeddingCompleted,
    EmbeddingFailed,
    IndexingCancelled,
    IndexingFailed,
    IndexingPaused,
    IndexingResumed,
    VaultEmptied,
    VaultWatched,
)
from excerpt.service.indexing_process import IndexingEnded, IndexingProcess, ProcessEvent

if TYPE_CHECKING:
    from excerpt.base.model import BuildReport, EmbeddingProgress, Progress

OnEvent = Callable[[ProcessEvent], object]
"""A function that handles an event, called in the thread that reads the events of a process."""


class Indexing(Protocol):
    """The indexing process of one vault, or those of several."""

    @property
    def is_running(self) -> bool: ...

    def start(self) -> None: ...

    def send(self, command: Command) -> None: ...

    def end(self) -> None: ...


def create_indexing_process(vault: Path, on_event: OnEvent) -> IndexingProcess:
    """Return an indexing process for a vault, not started yet.

    Before its end, an IndexingFailed is reported if the process has not reported a reason itself.
    """
    has_failed = False  # whether the last event of the process was a failure

    def handle(event: ProcessEvent) -> None:
        nonlocal has_failed
        if isinstance(event, IndexingEnded) and (event.code is None or not has_failed):
            on_event(_early_end_failure(event))
        has_failed = isinstance(event, IndexingFailed)
        on_event(event)

    return IndexingProcess(vault, handle)


def _early_end_failure(ended: IndexingEnded) -> IndexingFailed:
    if ended.code is None:
        return IndexingFailed("The indexing process cannot be started", ended.text, "“Update” tries again.")
    return IndexingFailed(
        "The indexing process ended early",
        ended.text or f"The process ended with code {ended.code} and no message.",
        "Searches use the notes that it has committed. “Update” starts it again.",
    )


class _VaultIndexing(Struct):
    """The indexing process of one of several vaults, and what it has reported.

    `is_busy`: a build was requested or is running. `polling` is None until the process detects changes. `report` is
    that of the last build, until it is reported. `failure` is the reason why the process failed; None after a build.
    """

    folder: Path
    process: IndexingProcess
    is_busy: bool = True
    progress: Progress | None = None
    report: BuildReport | None = None
    polling: bool | None = None
    is_paused: bool = False
    is_emptied: bool = False
    failure: IndexingFailed | None = None
    embedding: EmbeddingProgress | None = None


class JoinedIndexing:
    """The indexing processes of several vaults, which report events as one process does.

    Progress and reports are those of all vaults together. If a vault cannot be indexed, the others still are; its
    failure is reported, and again after each build of the others. `newest_generation` returns the sum of the newest
    generations of all vaults.
    """

    def __init__(self, vaults: Mapping[str, Path], on_event: OnEvent, newest_generation: Callable[[], int]) -> None:
        """Prepare the processes of `vaults`, given by their names."""
        self._on_event = on_event
        self._newest_generation = newest_generation
        self._lock = threading.Lock()
        self._vaults = {
            name: _VaultIndexing(folder, create_indexing_process(folder, partial(self._handle, name)))
            for name, folder in vaults.items()
        }

    @property
    def is_running(self) -> bool:
        """Whether a process runs or is being started."""
        return any(vault.process.is_running for vault in self._vaults.values())

    @property
    def emptied_vaults(self) -> tuple[Path, ...]:
        """Folders of the vaults that have no notes now, although their indexes have some."""
        return tuple(vault.folder for vault in self._vaults.values() if vault.is_emptied)

    def start(self) -> None:
        """Start the processes that do not run."""
        with self._lock:
            for vault in self._vaults.values():
                if not vault.process.is_running:
                    vault.is_busy, vault.polling, vault.is_paused, vault.failure = True, None, False, None
                    vault.process.start()

    def send(self, command: Command) -> None:
        """Send a command to all processes, "agree" only to those of emptied vaults. An update starts ended ones."""
        if command in ("update", "rebuild"):
            self.start()
        with self._lock:
            for vault in self._vaults.values():
                if command == "agree" and not vault.is_emptied:
                    continue
                vault.is_busy = vault.is_busy or command in ("update", "rebuild", "agree")
                vault.process.send(command)

    def end(self) -> None:
        """End all processes, and wait until they have ended."""
        threads = [threading.Thread(target=vault.process.end) for vault in self._vaults.values()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _handle(self, name: str, event: ProcessEvent) -> None:
        """Record an event of the vault `name`, and report what follows for all vaults."""
        with self._lock:
            for each in self._join(name, self._vaults[name], event):
                self._on_event(each)

    def _join(self, name: str, vault: _VaultIndexing, event: ProcessEvent) -> Iterable[ProcessEvent]:
        from excerpt.base.model import BuildReport, EmbeddingProgress, Progress

        vaults = self._vaults.values()
        match event:
            case Progress():
                vault.is_busy, vault.progress = True, replace(event, current=f"{name}/{event.current}")
                yield self._sum_progress(vault.progress)
            case BuildReport():
                vault.is_busy, vault.report, vault.failure, vault.is_emptied = False, event, None, False
                yield from self._finish_builds()
            case IndexingCancelled():
                vault.is_busy = False
                if not any(each.is_busy for each in vaults):
                    self._forget_builds()
                    yield event
            case VaultWatched(polling=polling):
                vault.polling = polling
                running = [each.polling for each in vaults if each.process.is_running]
                if None not in running:
                    yield VaultWatched(any(running))
            case IndexingPaused() | IndexingResumed():
                vault.is_paused = isinstance(event, IndexingPaused)
                if all(each.is_paused is vault.is_paused for each in vaults if each.process.is_running):
                    yield event
            case VaultEmptied():
                vault.is_busy, vault.is_emptied = False, True
                yield event
            case IndexingFailed():
                vault.is_busy = False
                vault.failure = structs.replace(event, message=f"{name}: {event.message}")
                yield vault.failure
            case EmbeddingProgress() | EmbeddingFailed() | EmbeddingCompleted():
                yield self._join_embedding(name, vault, event)
            case IndexingEnded():
                vault.is_busy = False
                yield from self._finish_builds() if self.is_running else (event,)

    def _finish_builds(self) -> Iterable[ProcessEvent]:
        """Yield the report of all builds if none is running, and the failures of vaults that cannot be indexed."""
        from excerpt.base.model import sum_reports

        vaults = self._vaults.values()
        reports = {name: vault.report for name, vault in self._vaults.items() if vault.report is not None}
        if reports and not any(vault.is_busy for vault in vaults):
            self._forget_builds()
            yield sum_reports(reports, self._newest_generation())
            yield from (vault.failure for vault in vaults if vault.failure is not None)

    def _forget_builds(self) -> None:
        for vault in self._vaults.values():
            vault.progress = vault.report = None

    def _join_embedding(
        self, name: str, vault: _VaultIndexing, event: EmbeddingProgress | EmbeddingFailed | EmbeddingCompleted
    ) -> ProcessEvent:
        match event:
            case EmbeddingFailed():
                return EmbeddingFailed(f"{name}: {event.message}", event.hint)
            case EmbeddingCompleted():
                return EmbeddingCompleted(self._newest_generation(), event.is_first)
            case _:
                vault.embedding = event
                return self._sum_embedding(event)

    def _sum_embedding(self, newest: EmbeddingProgress) -> EmbeddingProgress:
        """Return the progress of the embedders of all vaults, which work side by side."""
        each = [vault.embedding for vault in self._vaults.values() if vault.embedding is not None]
        left = [one.seconds_left for one in each if one.done < one.total]
        return structs.replace(
            newest,
            done=sum(one.done for one in each),
            total=sum(one.total for one in each),
            seconds_left=max((one for one in left if one is not None), default=None) if None not in left else None,
        )

    def _sum_progress(self, newest: Progress) -> Progress:
        """Return the progress of all builds; phase and file are those of `newest`."""
        each = [vault.progress for vault in self._vaults.values() if vault.progress is not None]
        return replace(
            newest,
            notes_done=sum(one.notes_done for one in each),
            notes_total=sum(one.notes_total for one in each),
            bytes_done=sum(one.bytes_done for one in each),
            bytes_total=sum(one.bytes_total for one in each),
            generation=self._newest_generation(),
            skipped=sum(one.skipped for one in each),
            seconds=max(one.seconds for one in each),
        )
