"""State of the index, and requests to the engine and the indexing process. Independent of the screen.

`IndexState` is an immutable value; each message produces a new one. `IndexController` acts on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

from excerpt.errors import ExcerptError, IndexBusyError, IndexUnusableError, StoreUnusableError, VaultEmptiedError
from excerpt.indexing_process import Command
from excerpt.kinds import Strategy
from excerpt.settings import Paths, Settings
from excerpt.store.address import Address
from excerpt.text.display import format_count
from excerpt.tui.common.notice import EmptyState
from excerpt.tui.engine_worker import EngineWorker
from excerpt.tui.index.process import posting_process
from excerpt.tui.messages import (
    Failure,
    IndexBuilt,
    IndexCancelled,
    IndexEmptied,
    IndexEnded,
    IndexOpened,
    IndexPaused,
    IndexProgressed,
    IndexWatched,
)
from excerpt.tui.request_thread import EventLoop

if TYPE_CHECKING:
    from excerpt.model import BuildReport, Progress, Status

_SHOW_AFTER_SECONDS = 0.5
"""Seconds of work before a build is shown: an edit is indexed sooner and would only flicker."""

# A build commits for a second or two between files; over a shorter window the rate would jump.
_RATE_SECONDS = 10.0  # seconds of work
_RATE_AFTER_SECONDS = 1.0  # seconds of work before a rate is shown
_ESTIMATE_AFTER_SECONDS = 4.0  # seconds of work before a time left is shown
_MAX_RATE_RATIO = 2.0  # maximum factor between the rates of the window's halves for which a time left is shown


class Watch(Enum):
    """How changes of the vault are detected."""

    NOT_YET = "not yet"
    EVENTS = "events"
    POLLING = "polling"
    ENDED = "ended"
    STORE = "store"
    """No process: the vault is in a store, and changes are pushed to it."""


@dataclass(frozen=True, slots=True)
class Sample:
    """How much was done after so many seconds of work."""

    seconds: float
    notes: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Rate:
    """What is done per second of work."""

    notes: float
    bytes: float


@dataclass(frozen=True, slots=True)
class Pace:
    """Samples of the last seconds of work, pauses excluded, the oldest first."""

    samples: tuple[Sample, ...] = ()

    def with_progress(self, progress: Progress) -> Pace:
        """Return the pace with this progress added; of another build it starts again."""
        if not progress.notes_total:
            return Pace()
        now = Sample(progress.seconds, progress.notes_done, progress.bytes_done)
        if self.samples and (now.seconds < self.samples[-1].seconds or now.notes < self.samples[-1].notes):
            return Pace((now,))
        return Pace((*(one for one in self.samples if one.seconds > now.seconds - _RATE_SECONDS), now))

    @property
    def rate(self) -> Rate | None:
        """Rate of the last seconds; None while too little is known."""
        if not self.samples or self._span < _RATE_AFTER_SECONDS or self.samples[0].notes == self.samples[-1].notes:
            return None
        return _between(self.samples[0], self.samples[-1])

    def seconds_left(self, progress: Progress) -> float | None:
        """Return the seconds left; None until the rate is steady enough for an estimate."""
        rate = self.rate
        if rate is None or self._span < _ESTIMATE_AFTER_SECONDS or not rate.bytes:
            return None
        first, last = self.samples[0], self.samples[-1]
        middle = min(self.samples[1:-1], key=lambda one: abs(one.seconds - (first.seconds + last.seconds) / 2))
        slower, faster = sorted((_between(first, middle).bytes, _between(middle, last).bytes))
        return (progress.bytes_total - progress.bytes_done) / rate.bytes if faster <= _MAX_RATE_RATIO * slower else None

    @property
    def _span(self) -> float:
        return self.samples[-1].seconds - self.samples[0].seconds


@dataclass(frozen=True, slots=True)
class IndexState:
    """The state of the index.

    `status` is that of the generation in use, None if there is none yet. `progress` is None while no build is worth
    showing. `is_locked`: another excerpt is writing the index. `emptied` is the number of notes in the index of a vault
    that has none now, else 0. `is_unfinished`: a build was cancelled, and the rest was not requested.
    `is_update_requested`: the user waits for the result of an update.
    """

    status: Status | None = None
    progress: Progress | None = None
    pace: Pace = field(default_factory=Pace)
    failure: EmptyState | None = None
    watch: Watch = Watch.NOT_YET
    paused: bool = False
    is_locked: bool = False
    emptied: int = 0
    is_unfinished: bool = False
    is_update_requested: bool = False

    @property
    def is_working(self) -> bool:
        """Whether the first scan of the vault, or a build, is running."""
        return self.progress is not None or self.watch is Watch.NOT_YET

    @property
    def detects_changes(self) -> bool:
        """Whether saved files are detected within a moment."""
        return self.watch is Watch.STORE or (self.watch is Watch.EVENTS and not self.paused)

    @property
    def generation(self) -> int:
        return self.status.generation if self.status is not None else 0

    def started(self) -> IndexState:
        """Return the state when the process has just been started."""
        return replace(self, watch=Watch.NOT_YET, failure=None, is_locked=False, emptied=0, paused=False)

    def with_message(self, message: Message) -> IndexState:
        """Return the state after a message of a thread or process."""
        state = self
        match message:
            case IndexOpened(status=status):
                failure = None if self.watch is Watch.STORE else self.failure
                state = replace(self, status=status, failure=failure)
            case IndexProgressed(progress=progress):
                state = self._with_progress(progress)
            case IndexBuilt():
                is_unfinished = self.is_unfinished and not self.is_update_requested
                state = replace(
                    self._without_progress(),
                    failure=None,
                    emptied=0,
                    is_update_requested=False,
                    is_unfinished=is_unfinished,
                )
            case IndexWatched(polling=polling):
                state = replace(self, watch=Watch.POLLING if polling else Watch.EVENTS)
            case IndexPaused(paused=paused):
                state = replace(self, paused=paused)
            case IndexCancelled():
                state = replace(self._without_progress(), is_unfinished=True, is_update_requested=False)
            case IndexEmptied(notes=notes, message=text):
                empty_state = EmptyState(
                    VaultEmptiedError.title, text, "Update checks again, and asks what to do.", serious=True
                )
                state = replace(self._without_progress(), failure=empty_state, emptied=notes, is_update_requested=False)
            case IndexEnded():
                state = replace(self._without_progress(), watch=Watch.ENDED, paused=False, is_update_requested=False)
            case Failure(operation="index"):
                busy = message.title == IndexBusyError.title
                empty_state = EmptyState.of_failure(message)
                state = replace(
                    self._without_progress(),
                    failure=empty_state,
                    is_locked=busy,
                    is_update_requested=self.is_update_requested and busy,
                )
        return state

    def _without_progress(self) -> IndexState:
        return replace(self, progress=None, pace=Pace(), is_locked=False)

    def _with_progress(self, progress: Progress) -> IndexState:
        failure = None if self.is_locked else self.failure
        is_awaited = self.progress is not None or self.status is None or not self.status.notes
        if not is_awaited and progress.seconds < _SHOW_AFTER_SECONDS:
            return replace(self, failure=failure, is_locked=False)
        pace = self.pace.with_progress(progress)
        return replace(self, progress=progress, pace=pace, failure=failure, is_locked=False)


_STORE_HINT = "The vault is in a store. It is updated where its notes are: excerpt push VAULT --to ADDRESS."


class IndexController:
    """The owner of the engine's threads, the indexing process and the state of the index.

    Threads and processes reach the screen by `loop`; everything else here is for the event loop. `notify` is that of a
    screen; `show` is called when the state has changed.
    """

    def __init__(
        self,
        vault: Path,
        settings: Settings,
        user_paths: Paths,
        *,
        loop: EventLoop,
        notify: Callable[..., object],
        show: Callable[[], object],
        store: Address | None = None,
    ) -> None:
        self.engine = EngineWorker(vault, user_paths, settings, loop, store)
        self.process = posting_process(vault, loop.post_from_thread)
        self.state = IndexState() if store is None else IndexState(watch=Watch.STORE)
        self._has_store = store is not None
        self._vault = vault
        self._folder = user_paths.index_folder(vault)
        self._loop = loop
        self._notify = notify
        self._show = show
        self._requested_generation = 0
        self._reported_message = ""
        self._repaired_generation = -1

    def open(self) -> None:
        """Open the existing index.

        The process is started when that is done, because both at once would slow it down.
        """
        self.engine.start()
        self.engine.open()

    async def end(self) -> None:
        """End threads and process; what is committed stays."""
        await asyncio.gather(asyncio.to_thread(self.process.end), asyncio.to_thread(self.engine.close))

    def start(self) -> None:
        """Have the index kept up to date from now on; a store is by others."""
        if not self.process.is_running and not self._has_store:
            self.state = self.state.started()
            self.process.start()

    def start_unless_ended(self) -> None:
        """Start the process unless it has ended; only the user restarts it then."""
        if self.state.watch is not Watch.ENDED:
            self.start()

    def use(self, before: Settings, settings: Settings) -> bool:
        """Use other settings from now on; return whether the process must `restart` to read the vault with them."""
        if _engine_settings(before) != _engine_settings(settings):
            self.engine.use(settings)
        return _index_settings(before) != _index_settings(settings) and self.process.is_running

    async def restart(self) -> None:
        """Have the vault read by the settings that the files say now."""
        previous, self.process = self.process, posting_process(self._vault, self._loop.post_from_thread)
        await asyncio.to_thread(previous.end)
        self.start()

    def ask(self, command: Command) -> None:
        """Send a command to the process, which is started if it is not running."""
        if self._has_store:
            self._notify(_STORE_HINT, title="Nothing to do here", markup=False)
            return
        if self.state.watch is Watch.ENDED or not self.process.is_running:
            self.start()
        if command in ("update", "rebuild"):
            self._show_delay_notice(command)
            self.state = replace(self.state, is_update_requested=True)
        self.process.send(command)
        self._show()

    def _show_delay_notice(self, command: Command) -> None:
        if self.state.paused:
            self._notify("It starts when you continue.", title="Paused")
        elif self.state.progress is not None and command == "update":
            self._notify("The vault is being read, and is checked again after that.")

    def update_after_edit(self) -> None:
        """Update the index after an edit, if changes are not detected automatically."""
        if not self.state.detects_changes:
            self.start_unless_ended()
            self.process.send("update")

    async def open_newer(self) -> None:
        """Open what another process has committed or pushed."""
        if self._has_store:
            self.engine.check_for_changes()
            return
        self._open_generation(await asyncio.to_thread(newest_generation, self._folder))

    # --- what the process and the engine say --------------------------------------------------------------------------

    def handle_opened(self, message: IndexOpened) -> bool:
        """Use a generation from now on; return whether the engine's answers may differ from before."""
        # Questions asked while the store was lost have no answer yet.
        changed = self.state.status != message.status or (self._has_store and self.state.failure is not None)
        if changed:
            self._reported_message = ""
        self._apply(message)
        return changed or message.has_new_settings

    def handle(self, message: Message) -> None:
        """Handle a message: update the state, act on it, and notify the user of the result."""
        if isinstance(message, Failure):
            self._handle_failure(message)
            return
        if isinstance(message, IndexEnded) and self.process.is_running:
            return  # it was started again before this was heard
        is_update_requested = self.state.is_update_requested
        self._apply(message)
        match message:
            case IndexBuilt(report=report):
                self._handle_build(report, is_update_requested=is_update_requested)
            case IndexProgressed(progress=progress):
                self._open_generation(progress.generation)
            case IndexPaused(paused=True):
                self._notify("Nothing is read until you continue. Changes wait until then.", title="Paused")
            case IndexPaused():
                self._notify("Changed notes are read now.", title="Continuing")
            case IndexCancelled():
                self._notify("Notes read so far can be searched. Update reads the rest.", title="Cancelled")

    def _apply(self, message: Message) -> None:
        self.state = self.state.with_message(message)
        self._show()

    def _handle_build(self, report: BuildReport, *, is_update_requested: bool) -> None:
        # The same generation may have other skipped files.
        self._requested_generation = report.generation
        self.engine.open()
        if report.rebuilt:
            self._notify(report.rebuilt, title="The index was rebuilt", markup=False)
        elif is_update_requested:
            self._notify(build_words(report), title="The index is up to date", markup=False)

    def _handle_failure(self, message: Failure) -> None:
        if message.operation == "open":
            self._requested_generation = 0
            if not self.state.is_working and not self.state.is_locked:
                failure = EmptyState.of_failure(message)
                self.state = replace(self.state, failure=failure)
                self._request_repair(message)
            self.start_unless_ended()
        elif message.operation == "index":
            self.state = self.state.with_message(message)
            self.engine.open()
        else:
            if message.title == StoreUnusableError.title:  # shown until the store answers again
                failure = EmptyState.of_failure(message)
                self.state = replace(self.state, failure=failure)
            # Once, not at every key: the next query would fail for the same reason.
            if message.message != self._reported_message:
                self._reported_message = message.message
                self._notify(f"{message.message} {message.hint}", title=message.title, severity="error", markup=False)
            self._request_repair(message)
        self._show()

    def _request_repair(self, message: Failure) -> None:
        """Request a build that repairs an index found damaged while reading, once per generation."""
        if message.title == IndexUnusableError.title and self._repaired_generation != self.state.generation:
            self._repaired_generation = self.state.generation
            self.process.send("update")

    def _open_generation(self, generation: int) -> None:
        """Open a committed generation, once."""
        if generation and generation not in (self.state.generation, self._requested_generation):
            self._requested_generation = generation
            self.engine.open()


def _engine_settings(settings: Settings) -> object:
    """Return the settings that an engine uses, without the strategy, which is part of each question."""
    return replace(settings.search, strategy=Strategy.AUTO), _index_settings(settings)


def _index_settings(settings: Settings) -> object:
    """Return the settings that an index is built with. The indexing process reads them when it starts."""
    return settings.vault, settings.embedding, settings.pack.tokenizer


def newest_generation(folder: Path) -> int:
    """Return the generation of the index in `folder`, 0 if it cannot be read.

    Imports the index modules, so it is meant to run in a thread.
    """
    from excerpt.index.snapshot import Snapshot

    with suppress(ExcerptError):
        return Snapshot.current_generation(folder)
    return 0


def build_words(report: BuildReport) -> str:
    """Return the result of a build as a sentence."""
    counts = ((report.changed, "changed"), (report.added, "added"), (report.removed, "removed"))
    done = ", ".join(f"{count:,} {what}" for count, what in counts if count)
    return f"{done}." if done else "Nothing has changed."


_WATCH_LABELS = {
    Watch.NOT_YET: "checking",
    Watch.EVENTS: "up to date",
    Watch.POLLING: "polled",
    Watch.ENDED: "not watched",
    Watch.STORE: "in a store",
}


def bar_state(index: IndexState) -> str:
    """Return the state in a few words."""
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
        return "store error" if index.watch is Watch.STORE else "index error"
    if index.status is None:
        return "opening"
    skipped = [f"{len(index.status.skipped):,} skipped"] if index.status.skipped else []
    watch = "paused" if index.paused else _WATCH_LABELS[index.watch]
    attachments = [f"{count:,} attached"] if (count := sum(index.status.attachments.values())) else []
    return " · ".join([format_count(index.status.notes, "note"), *attachments, *skipped, watch])


def progress_words(index: IndexState) -> str:
    """Return the progress of a build for a sentence; "" without a build."""
    progress = index.progress
    if progress is None:
        return ""
    paused = ", paused" if index.paused else ""
    return f"{progress.notes_done:,} of {format_count(progress.notes_total, 'file')}{paused}"


def share_done(progress: Progress) -> float:
    """Return the share that is done, 0 to 1, by bytes if they are known."""
    if progress.bytes_total:
        return min(1.0, progress.bytes_done / progress.bytes_total)
    return min(1.0, progress.notes_done / progress.notes_total) if progress.notes_total else 0.0


def rate_words(pace: Pace, progress: Progress) -> str:
    """Return `410 notes/s · 1.7 MB/s · about 20 s left`, as far as it is known."""
    rate = pace.rate
    if rate is None:
        return ""
    words = f"{rate.notes:,.0f} notes/s · {rate.bytes / 1e6:.1f} MB/s"
    left = pace.seconds_left(progress)
    return words if left is None else f"{words} · {time_words(left)} left"


def time_words(seconds: float) -> str:
    """Return a duration in words, as exactly as an estimate allows."""
    if seconds < 10:
        return "a few seconds"
    if seconds < 55:
        return f"about {round(seconds / 5) * 5} s"
    return f"about {max(1, round(seconds / 60)):,} min"


def _between(first: Sample, second: Sample) -> Rate:
    seconds = max(second.seconds - first.seconds, 1e-6)
    return Rate((second.notes - first.notes) / seconds, (second.bytes - first.bytes) / seconds)
