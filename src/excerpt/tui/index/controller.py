"""The state of the index, and requests to the engine and the indexing process.

`IndexState` is an immutable value; each event produces a new state. `IndexController` holds the current state and acts
on events. Neither depends on the screen.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field, structs

from excerpt.base.errors import IndexBusyError, IndexUnusableError, StoreUnusableError, VaultEmptiedError
from excerpt.base.kinds import Strategy
from excerpt.base.settings import Paths, Settings
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
from excerpt.service.engine_worker import EngineWorker
from excerpt.service.event_loop import EventLoop, Failure, IndexOpened
from excerpt.service.indexing_process import IndexingEnded, ProcessEvent
from excerpt.service.joined_indexing import Indexing, JoinedIndexing, create_indexing_process
from excerpt.service.open_vaults import newest_generation
from excerpt.service.stores import StoreAddress
from excerpt.text.display import format_count, format_duration, format_percent
from excerpt.tui.common.notice import EmptyState
from excerpt.vault.known_vaults import VaultFolders

if TYPE_CHECKING:
    from excerpt.base.model import BuildReport, EmbeddingProgress, Progress, Status

_SHOW_AFTER_SECONDS = 0.5
"""Seconds of work before a build is shown. An edited note is indexed sooner; its progress would only flicker."""

_RATE_SECONDS = 10.0
"""Seconds of work over which the rate is measured.

Between files a build may commit for a second or two, so that the rate of a shorter time would jump.
"""
_HOLD_SECONDS = 0.3
"""Least time between two requests to an embedder to wait."""
_RATE_AFTER_SECONDS = 1.0
"""Seconds of work before a rate is shown."""
_ESTIMATE_AFTER_SECONDS = 4.0
"""Seconds of work before the remaining time is shown."""
_MAX_RATE_RATIO = 2.0
"""Maximum ratio between the rates of the two halves of the measured time for which the remaining time is shown."""


class ChangeDetection(Enum):
    """How changes of the vault are detected: not yet, by file system events, by polling, or not any more."""

    NOT_YET = "not yet"
    EVENTS = "events"
    POLLING = "polling"
    ENDED = "ended"
    STORE = "store"
    """The vault is in a store, to which others push changes; no process watches files."""


class ProgressSample(Struct, frozen=True):
    """The total of notes and bytes that a build had indexed after `seconds` of work."""

    seconds: float
    notes: int
    bytes: int


class BuildRate(Struct, frozen=True):
    """The rate of a build, per second of work without pauses."""

    notes_per_second: float
    bytes_per_second: float


class BuildSamples(Struct, frozen=True):
    """Progress samples of the last seconds of a build's work, the oldest first. Pauses do not count as work."""

    samples: tuple[ProgressSample, ...] = ()

    def with_progress(self, progress: Progress) -> BuildSamples:
        """Return the samples with `progress` added and old ones removed; all others if another build has begun."""
        if not progress.notes_total:
            return BuildSamples()
        now = ProgressSample(progress.seconds, progress.notes_done, progress.bytes_done)
        if self.samples and (now.seconds < self.samples[-1].seconds or now.notes < self.samples[-1].notes):
            return BuildSamples((now,))
        return BuildSamples((*(one for one in self.samples if one.seconds > now.seconds - _RATE_SECONDS), now))

    @property
    def rate(self) -> BuildRate | None:
        """Rate over the sampled seconds; None while these are too few."""
        if (
            not self.samples
            or self._sampled_seconds < _RATE_AFTER_SECONDS
            or self.samples[0].notes == self.samples[-1].notes
        ):
            return None
        return _rate_between(self.samples[0], self.samples[-1])

    def seconds_left(self, progress: Progress) -> float | None:
        """Return the estimated seconds until the build is complete; None until its rate is steady."""
        rate = self.rate
        if rate is None or self._sampled_seconds < _ESTIMATE_AFTER_SECONDS or not rate.bytes_per_second:
            return None
        first, last = self.samples[0], self.samples[-1]
        middle = min(self.samples[1:-1], key=lambda one: abs(one.seconds - (first.seconds + last.seconds) / 2))
        slower, faster = sorted(
            (_rate_between(first, middle).bytes_per_second, _rate_between(middle, last).bytes_per_second)
        )
        return (
            (progress.bytes_total - progress.bytes_done) / rate.bytes_per_second
            if faster <= _MAX_RATE_RATIO * slower
            else None
        )

    @property
    def _sampled_seconds(self) -> float:
        return self.samples[-1].seconds - self.samples[0].seconds


class IndexState(Struct, frozen=True):
    """The state of the index, of its build and of the detection of changes.

    `status` describes the generation (the committed state) in use, None if none is open yet. `progress` is that of the
    running build; it is None if no build runs or it has just begun. `failure` is the error message to show, if any.
    `is_locked`: another excerpt process is writing the index. `emptied` is the number of notes in the index if the
    vault has no notes now, else 0. `is_unfinished`: a build was cancelled, and no later build has read the rest.
    `is_update_requested`: the user has requested an update that is not complete. `embedding` is the progress of an
    embedder that has not embedded all passages yet; `embedding_failure` says why it has stopped.
    """

    status: Status | None = None
    progress: Progress | None = None
    build_samples: BuildSamples = field(default_factory=BuildSamples)
    failure: EmptyState | None = None
    change_detection: ChangeDetection = ChangeDetection.NOT_YET
    paused: bool = False
    is_locked: bool = False
    emptied: int = 0
    is_unfinished: bool = False
    is_update_requested: bool = False
    embedding: EmbeddingProgress | None = None
    embedding_failure: str = ""

    @property
    def is_working(self) -> bool:
        """Whether the first scan of the vault or a build is running."""
        return self.progress is not None or self.change_detection is ChangeDetection.NOT_YET

    @property
    def detects_changes(self) -> bool:
        """Whether a saved file is detected at once, without a request for an update."""
        return self.change_detection is ChangeDetection.STORE or (
            self.change_detection is ChangeDetection.EVENTS and not self.paused
        )

    @property
    def generation(self) -> int:
        return self.status.generation if self.status is not None else 0

    def after_process_start(self) -> IndexState:
        """Return the state that follows when the indexing process is started."""
        return structs.replace(
            self,
            change_detection=ChangeDetection.NOT_YET,
            failure=None,
            is_locked=False,
            emptied=0,
            paused=False,
            embedding=None,
            embedding_failure="",
        )

    def with_status(self, status: Status) -> IndexState:
        """Return the state that follows when the engine has opened the generation that `status` describes."""
        failure = None if self.change_detection is ChangeDetection.STORE else self.failure
        return structs.replace(self, status=status, failure=failure)

    def with_event(self, event: ProcessEvent) -> IndexState:
        """Return the state that follows after an event of the indexing process."""
        from excerpt.base.model import BuildReport, EmbeddingProgress, Progress

        state = self
        match event:
            case Progress():
                state = self._with_progress(event)
            case BuildReport():
                is_unfinished = self.is_unfinished and not self.is_update_requested
                state = structs.replace(
                    self._without_progress(),
                    failure=None,
                    emptied=0,
                    is_update_requested=False,
                    is_unfinished=is_unfinished,
                )
            case VaultWatched(polling=polling):
                state = structs.replace(
                    self, change_detection=ChangeDetection.POLLING if polling else ChangeDetection.EVENTS
                )
            case IndexingPaused():
                state = structs.replace(self, paused=True)
            case IndexingResumed():
                state = structs.replace(self, paused=False)
            case IndexingCancelled():
                state = structs.replace(self._without_progress(), is_unfinished=True, is_update_requested=False)
            case VaultEmptied(notes=notes, message=text):
                empty_state = EmptyState(
                    VaultEmptiedError.title, text, "“Update” checks the vault again and asks what to do.", is_error=True
                )
                state = structs.replace(
                    self._without_progress(), failure=empty_state, emptied=notes, is_update_requested=False
                )
            case IndexingEnded():
                state = structs.replace(
                    self._without_progress(),
                    change_detection=ChangeDetection.ENDED,
                    paused=False,
                    is_update_requested=False,
                    embedding=None,
                )
            case EmbeddingProgress():
                is_complete = event.done >= event.total
                state = structs.replace(self, embedding=None if is_complete else event, embedding_failure="")
            case EmbeddingFailed(message=text, hint=hint):
                state = structs.replace(self, embedding_failure=f"{text} {hint}".strip())
            case EmbeddingCompleted():
                state = structs.replace(self, embedding=None, embedding_failure="")
            case IndexingFailed(title=title, message=text, hint=hint):
                is_busy = title == IndexBusyError.title
                state = structs.replace(
                    self._without_progress(),
                    failure=EmptyState(title, text, hint, is_error=True),
                    is_locked=is_busy,
                    is_update_requested=self.is_update_requested and is_busy,
                )
        return state

    def _without_progress(self) -> IndexState:
        return structs.replace(self, progress=None, build_samples=BuildSamples(), is_locked=False)

    def _with_progress(self, progress: Progress) -> IndexState:
        failure = None if self.is_locked else self.failure
        is_awaited = self.progress is not None or self.status is None or not self.status.notes
        if not is_awaited and progress.seconds < _SHOW_AFTER_SECONDS:
            return structs.replace(self, failure=failure, is_locked=False)
        build_samples = self.build_samples.with_progress(progress)
        return structs.replace(self, progress=progress, build_samples=build_samples, failure=failure, is_locked=False)


_STORE_HINT = "This vault is in a store. On the machine with its notes, run `excerpt push` to update it."


class IndexController:
    """Controls the engine's threads and the indexing process, and holds the state of the index.

    For this object, the indexes of several vaults are one, and so are their processes.

    Threads report to the screen by `loop`; all methods here are called on the event loop. `notify` is the method of a
    Textual screen. `on_state_change` is called after each change of `state`. `store` is the address of a vault in a
    store, which has no indexing process.
    """

    def __init__(
        self,
        vaults: VaultFolders,
        settings: Settings,
        user_paths: Paths,
        *,
        loop: EventLoop,
        notify: Callable[..., object],
        on_state_change: Callable[[], object],
        store: StoreAddress | None = None,
    ) -> None:
        self.engine = EngineWorker(vaults, user_paths, settings, loop, store, on_question=self._hold_embedder)
        self._hold_time = 0.0
        self._vaults = vaults
        self._index_folders = [user_paths.index_folder(vault) for vault in vaults.by_name.values()]
        self._loop = loop
        self.process = self._create_process()
        self.state = IndexState() if store is None else IndexState(change_detection=ChangeDetection.STORE)
        self._is_in_store = store is not None
        self._notify = notify
        self._on_state_change = on_state_change
        self._requested_generation = 0
        self._reported_message = ""
        self._repaired_generation = -1

    def open(self) -> None:
        """Start the engine's threads and open the existing index.

        The indexing process is started by `start` after that, because both at once would slow the opening down.
        """
        self.engine.start()
        self.engine.open()

    async def close(self) -> None:
        """End the engine's threads and the indexing process. What the process has committed stays in the index."""
        await asyncio.gather(asyncio.to_thread(self.process.end), asyncio.to_thread(self.engine.close))

    def start(self) -> None:
        """Start the indexing process, which keeps the index up to date, unless it runs or the vault is in a store."""
        if not self.process.is_running and not self._is_in_store:
            self.state = self.state.after_process_start()
            self.process.start()

    def start_unless_ended(self) -> None:
        """Start the indexing process, unless it has ended before: then only the user may start it again."""
        if self.state.change_detection is not ChangeDetection.ENDED:
            self.start()

    def use_settings(self, before: Settings, settings: Settings) -> bool:
        """Use other settings in the engine; return whether the indexing process needs a `restart` for them.

        `before` are the settings used until now.
        """
        if _engine_settings(before) != _engine_settings(settings):
            self.engine.use_settings(settings)
        return _index_settings(before) != _index_settings(settings) and self.process.is_running

    async def restart(self) -> None:
        """Replace the indexing process by a new one, which reads the settings files again."""
        previous, self.process = self.process, self._create_process()
        await asyncio.to_thread(previous.end)
        self.start()

    @property
    def emptied_vault(self) -> Path:
        """The vault that has no notes now, although its index has some."""
        emptied = self.process.emptied_vaults if isinstance(self.process, JoinedIndexing) else ()
        return next(iter(emptied), self._vaults.first)

    def _create_process(self) -> Indexing:
        report = self._loop.report_from_thread
        if self._vaults.is_joined:
            return JoinedIndexing(self._vaults.by_name, report, lambda: newest_generation(self._index_folders))
        return create_indexing_process(self._vaults.first, report)

    def send_command(self, command: Command) -> None:
        """Send a command to the indexing process, and start the process if it is not running."""
        if self._is_in_store:
            self._notify(_STORE_HINT, markup=False)
            return
        if self.state.change_detection is ChangeDetection.ENDED or not self.process.is_running:
            self.start()
        if command in ("update", "rebuild"):
            self._show_delay_notice(command)
            self.state = structs.replace(self.state, is_update_requested=True)
        self.process.send(command)
        self._on_state_change()

    def _hold_embedder(self) -> None:
        """Make a background embedder wait while the user works.

        Its lowest priority is not enough, as it takes cache and memory bandwidth: in cpp-docs the p95 of a key rose
        from 49 to 116 ms.
        """
        if self.state.embedding is not None and time.monotonic() > self._hold_time + _HOLD_SECONDS:
            self._hold_time = time.monotonic()
            self.process.send("yield")

    def _show_delay_notice(self, command: Command) -> None:
        """Notify the user if a command cannot be executed at once."""
        if self.state.paused:
            self._notify("Indexing is paused. It starts when you press “Continue”.")
        elif self.state.progress is not None and command == "update":
            self._notify("Indexing is running. excerpt checks the vault again after it.")

    def update_after_edit(self) -> None:
        """Request an update of the index after an edit, if changes are not detected automatically."""
        if not self.state.detects_changes:
            self.start_unless_ended()
            self.process.send("update")

    async def open_newer_generation(self) -> None:
        """Open the generation that another process has committed, or what was pushed to the store, if it is newer."""
        if self._is_in_store:
            self.engine.check_for_changes()
            return
        self._open_generation(await asyncio.to_thread(newest_generation, self._index_folders))

    # --- events of the indexing process and the engine ----------------------------------------------------------------

    def handle_opened(self, opened: IndexOpened) -> bool:
        """Store the status of the generation that the engine has opened; return whether its answers may differ now."""
        # Questions asked while the store was lost have no answer yet.
        changed = self.state.status != opened.status or (self._is_in_store and self.state.failure is not None)
        if changed:
            self._reported_message = ""
        self.state = self.state.with_status(opened.status)
        self._on_state_change()
        return changed or opened.has_new_settings

    def handle_event(self, event: ProcessEvent) -> None:
        """Update the state by an event of the indexing process, act on it, and notify the user of the result."""
        from excerpt.base.model import BuildReport, Progress

        if isinstance(event, IndexingEnded) and self.process.is_running:
            return  # the process was started again before this event was handled
        is_update_requested = self.state.is_update_requested
        self.state = self.state.with_event(event)
        self._on_state_change()
        match event:
            case BuildReport():
                self._handle_build(event, is_update_requested=is_update_requested)
            case Progress():
                self._open_generation(event.generation)
            case IndexingPaused():
                self._notify("Indexing is paused until you press “Continue”.")
            case IndexingResumed():
                self._notify("Indexing continues.")
            case IndexingCancelled():
                self._notify("Indexing was cancelled. “Update” reads the remaining notes.")
            case IndexingFailed():
                self.engine.open()
            case EmbeddingCompleted(generation=generation, is_first=is_first):
                self._open_generation(generation)
                if is_first:
                    self._notify("All notes are embedded. Searches use your embedding model now.")
            case EmbeddingFailed(message=text, hint=hint):
                title = "Embedding has stopped"
                self._notify(f"{text} {hint}".strip(), title=title, severity="warning", markup=False)

    def _handle_build(self, report: BuildReport, *, is_update_requested: bool) -> None:
        # The same generation may have other skipped files.
        self._requested_generation = report.generation
        self.engine.open()
        if report.rebuilt:
            self._notify(report.rebuilt, title="The index was rebuilt", markup=False)
        elif is_update_requested:
            self._notify(format_build_result(report), title="The index is up to date", markup=False)

    def handle_failure(self, failure: Failure) -> None:
        """Show why a request to the engine failed, and request a repair of a damaged index."""
        if failure.operation == "open":
            self._requested_generation = 0
            if not self.state.is_working and not self.state.is_locked:
                self.state = structs.replace(self.state, failure=EmptyState.of_failure(failure))
                self._request_repair(failure)
            self.start_unless_ended()
        else:
            if failure.title == StoreUnusableError.title:  # shown until the store answers again
                self.state = structs.replace(self.state, failure=EmptyState.of_failure(failure))
            # Once, not at every key: the next query would fail for the same reason.
            if failure.message != self._reported_message:
                self._reported_message = failure.message
                self._notify(f"{failure.message} {failure.hint}", title=failure.title, severity="error", markup=False)
            self._request_repair(failure)
        self._on_state_change()

    def _request_repair(self, failure: Failure) -> None:
        """Request a build that repairs the index, if `failure` reports a damaged one; only once per generation."""
        if failure.title == IndexUnusableError.title and self._repaired_generation != self.state.generation:
            self._repaired_generation = self.state.generation
            self.process.send("update")

    def _open_generation(self, generation: int) -> None:
        """Open the generation with this number, unless it is open or was requested already."""
        if generation and generation not in (self.state.generation, self._requested_generation):
            self._requested_generation = generation
            self.engine.open()


def _engine_settings(settings: Settings) -> object:
    """Return a value that differs if the engine's settings differ. The strategy is left out: each question has it."""
    return replace(settings.search, strategy=Strategy.AUTO), _index_settings(settings)


def _index_settings(settings: Settings) -> object:
    """Return a value that differs if the settings for building an index differ.

    The indexing process reads these settings when it starts.
    """
    return settings.vault, settings.embedding, settings.pack.tokenizer


def format_build_result(report: BuildReport) -> str:
    """Return the numbers of changed, added and removed notes of a build, such as “Notes: 3 changed, 1 added.”."""
    counts = ((report.changed, "changed"), (report.added, "added"), (report.removed, "removed"))
    done = ", ".join(f"{count:,} {what}" for count, what in counts if count)
    return f"Notes: {done}." if done else "No note has changed."


_CHANGE_DETECTION_LABELS = {
    ChangeDetection.NOT_YET: "checking",
    ChangeDetection.EVENTS: "up to date",
    ChangeDetection.POLLING: "polled",
    ChangeDetection.ENDED: "not watched",
    ChangeDetection.STORE: "in a store",
}


def format_bar_state(index: IndexState) -> str:
    """Return the state of the index in a few words, for the tab bar."""
    if index.emptied:
        return "no notes found"
    progress = index.progress
    if progress is not None:
        what = "paused" if index.paused else progress.phase
        total = progress.notes_total
        return f"{what} {progress.notes_done:,} of {total:,}" if total else what
    if index.is_locked:
        return "indexed by another excerpt"
    if index.failure is not None:
        return "store error" if index.change_detection is ChangeDetection.STORE else "index error"
    if index.status is None:
        return "opening"
    skipped = [f"{len(index.status.skipped):,} skipped"] if index.status.skipped else []
    change_detection = "paused" if index.paused else _CHANGE_DETECTION_LABELS[index.change_detection]
    if index.embedding is not None:
        share = f"embedding {format_percent(index.embedding.done / index.embedding.total)}"
        change_detection = f"{share}, paused" if index.paused else share
    attachments = [f"{count:,} attached"] if (count := sum(index.status.attachments.values())) else []
    return " · ".join([format_count(index.status.notes, "note"), *attachments, *skipped, change_detection])


def format_progress(index: IndexState) -> str:
    """Return the progress of a build, such as `30 of 171 files, paused`; "" if no build is shown."""
    progress = index.progress
    if progress is None:
        return ""
    paused = ", paused" if index.paused else ""
    return f"{progress.notes_done:,} of {format_count(progress.notes_total, 'file')}{paused}"


def format_embedding(index: IndexState) -> str:
    """Return the progress of the embedder, such as `1,200 of 5,000 passages · about 3 min left`; "" if it is done."""
    progress = index.embedding
    if progress is None:
        return index.embedding_failure
    parts = [f"{progress.done:,} of {format_count(progress.total, 'passage')}"]
    if index.paused:
        parts.append("paused")
    elif index.embedding_failure:
        parts.append(index.embedding_failure)
    elif progress.seconds_left is not None:
        parts.append(f"{format_duration(progress.seconds_left)} left")
    return " · ".join(parts)


def done_share(progress: Progress) -> float:
    """Return the completed share of a build, 0 to 1: of the bytes if their total is known, else of the files."""
    if progress.bytes_total:
        return min(1.0, progress.bytes_done / progress.bytes_total)
    return min(1.0, progress.notes_done / progress.notes_total) if progress.notes_total else 0.0


def format_rate(build_samples: BuildSamples, progress: Progress) -> str:
    """Return the rate and the remaining time of a build, such as `410 notes/s · 1.7 MB/s · about 20 s left`.

    What is not known yet is left out.
    """
    rate = build_samples.rate
    if rate is None:
        return ""
    words = f"{rate.notes_per_second:,.0f} notes/s · {rate.bytes_per_second / 1e6:.1f} MB/s"
    left = build_samples.seconds_left(progress)
    return words if left is None else f"{words} · {format_duration(left)} left"


def _rate_between(first: ProgressSample, second: ProgressSample) -> BuildRate:
    """Return the rate from the first sample to the second."""
    seconds = max(second.seconds - first.seconds, 1e-6)
    return BuildRate((second.notes - first.notes) / seconds, (second.bytes - first.bytes) / seconds)
