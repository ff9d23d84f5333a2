"""The indexing processes of the open vaults, whose events are posted as messages to the screen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec
from textual.message import Message

from excerpt.indexing_process import Command, IndexingProcess
from excerpt.tui.messages import (
    EmbeddingCompleted,
    EmbeddingFailed,
    EmbeddingProgressed,
    Failure,
    IndexBuilt,
    IndexCancelled,
    IndexEmptied,
    IndexEnded,
    IndexPaused,
    IndexProgressed,
    IndexWatched,
)

if TYPE_CHECKING:
    from excerpt.model import BuildReport, EmbeddingProgress, Progress


class Indexing(Protocol):
    """The indexing process of one vault, or those of several."""

    @property
    def is_running(self) -> bool: ...

    def start(self) -> None: ...

    def send(self, command: Command) -> None: ...

    def end(self) -> None: ...


def create_indexing_process(vault: Path, post: Callable[[Message], object]) -> IndexingProcess:
    """Return an indexing process for a vault, not started yet, that posts each of its events as a message.

    `post` is called in the thread that reads the events. When the process ends, an IndexEnded is posted, with a Failure
    before it if the process has not reported a reason itself.
    """
    has_failed = False  # whether the last event of the process was a failure

    def handle_line(line: bytes) -> None:
        nonlocal has_failed
        message = parse_event(line)
        if message is not None:
            has_failed = isinstance(message, Failure)
            post(message)

    def handle_exit(code: int | None, text: str) -> None:
        nonlocal has_failed
        if code is None:
            post(Failure("index", "The indexing process cannot be started", text, "“Update” tries again."))
        elif not has_failed:
            post(_early_exit_failure(code, text))
        has_failed = False
        post(IndexEnded())

    return IndexingProcess(vault, handle_line, handle_exit)


def _early_exit_failure(code: int, stderr: str) -> Failure:
    return Failure(
        "index",
        "The indexing process ended early",
        stderr or f"It ended with code {code} and no message.",
        "Searches use the notes that it has committed. “Update” starts it again.",
    )


class _ProcessEvent(msgspec.Struct):
    event: str
    title: str = ""
    message: str = ""
    hint: str = ""
    polling: bool = False
    notes: int = 0
    generation: int = 0
    is_first: bool = False


def parse_event(line: bytes) -> Message | None:
    """Return the message for a line (a JSON event) of the indexing process; None if the line is no event."""
    try:
        return _parse_event(line)
    except msgspec.MsgspecError:
        return None


def _parse_event(line: bytes) -> Message | None:
    from excerpt.model import BuildReport, EmbeddingProgress, Progress

    event = msgspec.json.decode(line, type=_ProcessEvent)
    message: Message | None = None
    match event.event:
        case "progress":
            message = IndexProgressed(msgspec.json.decode(line, type=Progress))
        case "done":
            message = IndexBuilt(msgspec.json.decode(line, type=BuildReport))
        case "error":
            message = Failure("index", event.title, event.message, event.hint)
        case "watching":
            message = IndexWatched(event.polling)
        case "paused" | "resumed":
            message = IndexPaused(event.event == "paused")
        case "cancelled":
            message = IndexCancelled()
        case "emptied":
            message = IndexEmptied(event.notes, event.message)
        case "embedding":
            message = EmbeddingProgressed(msgspec.json.decode(line, type=EmbeddingProgress))
        case "embedding_failed":
            message = EmbeddingFailed(event.message, event.hint)
        case "embedded":
            message = EmbeddingCompleted(event.generation, event.is_first)
    return message


@dataclass(slots=True)
class _VaultIndexing:
    """The indexing process of one of several vaults, and what it has reported.

    `is_busy`: a build was requested or is running. `polling` is None until the process detects changes. `report` is
    that of the last build, until it is posted. `failure` is the reason why the process failed; None after a build.
    """

    folder: Path
    process: IndexingProcess
    is_busy: bool = True
    progress: Progress | None = None
    report: BuildReport | None = None
    polling: bool | None = None
    is_paused: bool = False
    is_emptied: bool = False
    failure: Failure | None = None
    embedding: EmbeddingProgress | None = None


class JoinedIndexing:
    """The indexing processes of several vaults, which post messages as one process does.

    Progress and reports are those of all vaults together. A vault that cannot be indexed does not keep the others from
    it: its failure is posted, and again after each build of the others. `newest_generation` returns the sum of the
    newest generations of all vaults.
    """

    def __init__(
        self, vaults: Mapping[str, Path], post: Callable[[Message], object], newest_generation: Callable[[], int]
    ) -> None:
        """Prepare the processes of `vaults`, given by their names. Messages are posted in the processes' threads."""
        self._post = post
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
        """Send a command to all processes; "agree" only for emptied vaults. "update" and "rebuild" start ended ones."""
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

    def _handle(self, name: str, message: Message) -> None:
        """Record what a process of the vault `name` reports, and post what follows for all vaults."""
        with self._lock:
            for each in self._join(name, self._vaults[name], message):
                self._post(each)

    def _join(self, name: str, vault: _VaultIndexing, message: Message) -> Iterable[Message]:
        vaults = self._vaults.values()
        match message:
            case IndexProgressed(progress=progress):
                vault.is_busy, vault.progress = True, replace(progress, current=f"{name}/{progress.current}")
                yield IndexProgressed(self._sum_progress(vault.progress))
            case IndexBuilt(report=report):
                vault.is_busy, vault.report, vault.failure, vault.is_emptied = False, report, None, False
                yield from self._finish_builds()
            case IndexCancelled():
                vault.is_busy = False
                yield from self._finish_cancelling(message)
            case IndexWatched(polling=polling):
                vault.polling = polling
                running = [each.polling for each in vaults if each.process.is_running]
                if None not in running:
                    yield IndexWatched(any(running))
            case IndexPaused(paused=paused):
                vault.is_paused = paused
                if all(each.is_paused is paused for each in vaults if each.process.is_running):
                    yield message
            case IndexEmptied():
                vault.is_busy, vault.is_emptied = False, True
                yield message
            case Failure():
                vault.is_busy = False
                vault.failure = replace(message, message=f"{name}: {message.message}")
                yield vault.failure
            case EmbeddingProgressed() | EmbeddingFailed() | EmbeddingCompleted():
                yield self._join_embedding(name, vault, message)
            case IndexEnded():
                vault.is_busy = False
                yield from self._finish_builds() if self.is_running else (message,)

    def _finish_builds(self) -> Iterable[Message]:
        """Yield the report of all builds if none is running, and the failures of vaults that cannot be indexed."""
        from excerpt.model import sum_reports

        vaults = self._vaults.values()
        reports = {name: vault.report for name, vault in self._vaults.items() if vault.report is not None}
        if reports and not any(vault.is_busy for vault in vaults):
            self._forget_builds()
            yield IndexBuilt(sum_reports(reports, self._newest_generation()))
            yield from (vault.failure for vault in vaults if vault.failure is not None)

    def _finish_cancelling(self, message: IndexCancelled) -> Iterable[Message]:
        if not any(vault.is_busy for vault in self._vaults.values()):
            self._forget_builds()
            yield message

    def _forget_builds(self) -> None:
        for vault in self._vaults.values():
            vault.progress = vault.report = None

    def _join_embedding(
        self,
        name: str,
        vault: _VaultIndexing,
        message: EmbeddingProgressed | EmbeddingFailed | EmbeddingCompleted,
    ) -> Message:
        match message:
            case EmbeddingProgressed(progress=embedding):
                vault.embedding = embedding
                return EmbeddingProgressed(self._sum_embedding(embedding))
            case EmbeddingFailed():
                return EmbeddingFailed(f"{name}: {message.message}", message.hint)
            case EmbeddingCompleted(is_first=is_first):
                return EmbeddingCompleted(self._newest_generation(), is_first)

    def _sum_embedding(self, newest: EmbeddingProgress) -> EmbeddingProgress:
        """Return the progress of the embedders of all vaults, which work side by side."""
        each = [vault.embedding for vault in self._vaults.values() if vault.embedding is not None]
        left = [one.seconds_left for one in each if one.done < one.total]
        return replace(
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
