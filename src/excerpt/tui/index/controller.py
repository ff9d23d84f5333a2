"""What is known of the index, and what the engine and the indexing process are asked. Knows no screen.

`IndexState` is a value, which each message makes another; `IndexController` acts on it.
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
from excerpt.settings import Places, Settings
from excerpt.store.address import Address
from excerpt.text.display import counted
from excerpt.tui.common.notice import Said
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

_SHOWN_AFTER = 0.5
"""Seconds of work before a build is shown: an edit is taken in sooner, and would only flicker."""

# Between files a build commits, for a second or two; over less than this the rate would leap.
_WINDOW = 10.0  # seconds of work
_FIRST = 1.0  # seconds of work before there is a rate to tell
_STEADY = 4.0  # seconds of work before a time left is told
_SWING = 2.0  # where a time left is told, the two halves of the window differ by at most this factor


class Watch(Enum):
    """How the process hears of changes."""

    NOT_YET = "not yet"
    EVENTS = "events"
    POLLING = "polling"
    ENDED = "ended"
    STORE = "store"
    """There is no process: the vault is in a store, and changes are pushed to it."""


@dataclass(frozen=True, slots=True)
class Sample:
    """How much was done after so many seconds of work."""

    seconds: float
    notes: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Rate:
    """What is done in a second of work."""

    notes: float
    bytes: float


@dataclass(frozen=True, slots=True)
class Pace:
    """What was done in the last seconds of work, which pauses are no part of: the oldest sample first."""

    samples: tuple[Sample, ...] = ()

    def after(self, progress: Progress) -> Pace:
        """With what is said now; of another build it begins anew."""
        if not progress.notes_total:
            return Pace()
        now = Sample(progress.seconds, progress.notes_done, progress.bytes_done)
        if self.samples and (now.seconds < self.samples[-1].seconds or now.notes < self.samples[-1].notes):
            return Pace((now,))
        return Pace((*(one for one in self.samples if one.seconds > now.seconds - _WINDOW), now))

    @property
    def rate(self) -> Rate | None:
        """That of the last seconds; None until there is something to tell."""
        if not self.samples or self._span < _FIRST or self.samples[0].notes == self.samples[-1].notes:
            return None
        return _between(self.samples[0], self.samples[-1])

    def seconds_left(self, progress: Progress) -> float | None:
        """None until the rate is steady enough to tell."""
        rate = self.rate
        if rate is None or self._span < _STEADY or not rate.bytes:
            return None
        first, last = self.samples[0], self.samples[-1]
        middle = min(self.samples[1:-1], key=lambda one: abs(one.seconds - (first.seconds + last.seconds) / 2))
        slower, faster = sorted((_between(first, middle).bytes, _between(middle, last).bytes))
        return (progress.bytes_total - progress.bytes_done) / rate.bytes if faster <= _SWING * slower else None

    @property
    def _span(self) -> float:
        return self.samples[-1].seconds - self.samples[0].seconds


@dataclass(frozen=True, slots=True)
class IndexState:
    """`status` is that of the generation in use, None before there is one. `progress` is None while nothing is being
    indexed that is worth showing; `elsewhere` says that another excerpt is writing; `emptied` is how many notes the
    index holds of a vault that has none, 0 if it has some. With `unfinished` a build was cancelled, and nobody has
    asked for the rest; with `asked` somebody waits to hear what an update has done."""

    status: Status | None = None
    progress: Progress | None = None
    pace: Pace = field(default_factory=Pace)
    failure: Said | None = None
    watch: Watch = Watch.NOT_YET
    paused: bool = False
    elsewhere: bool = False
    emptied: int = 0
    unfinished: bool = False
    asked: bool = False

    @property
    def at_work(self) -> bool:
        """Whether the first look at the vault, or a build, is under way."""
        return self.progress is not None or self.watch is Watch.NOT_YET

    @property
    def changes_are_seen(self) -> bool:
        """Whether what is saved is found within a moment, by itself."""
        return self.watch is Watch.STORE or (self.watch is Watch.EVENTS and not self.paused)

    @property
    def generation(self) -> int:
        return self.status.generation if self.status is not None else 0

    def started(self) -> IndexState:
        """Return the state when the process has just been started."""
        return replace(self, watch=Watch.NOT_YET, failure=None, elsewhere=False, emptied=0, paused=False)

    def heard(self, message: Message) -> IndexState:
        """Return the state after what a thread or process has said."""
        after = self
        match message:
            case IndexOpened(status=status):
                failure = None if self.watch is Watch.STORE else self.failure
                after = replace(self, status=status, failure=failure)
            case IndexProgressed(progress=progress):
                after = self._progressed(progress)
            case IndexBuilt():
                unfinished = self.unfinished and not self.asked
                after = replace(self._at_rest(), failure=None, emptied=0, asked=False, unfinished=unfinished)
            case IndexWatched(polling=polling):
                after = replace(self, watch=Watch.POLLING if polling else Watch.EVENTS)
            case IndexPaused(paused=paused):
                after = replace(self, paused=paused)
            case IndexCancelled():
                after = replace(self._at_rest(), unfinished=True, asked=False)
            case IndexEmptied(notes=notes, message=told):
                said = Said(VaultEmptiedError.title, told, "Update looks again, and asks what to do.", serious=True)
                after = replace(self._at_rest(), failure=said, emptied=notes, asked=False)
            case IndexEnded():
                after = replace(self._at_rest(), watch=Watch.ENDED, paused=False, asked=False)
            case Failure(asked="index"):
                busy = message.title == IndexBusyError.title
                said = Said.of_failure(message)
                after = replace(self._at_rest(), failure=said, elsewhere=busy, asked=self.asked and busy)
        return after

    def _at_rest(self) -> IndexState:
        return replace(self, progress=None, pace=Pace(), elsewhere=False)

    def _progressed(self, progress: Progress) -> IndexState:
        failure = None if self.elsewhere else self.failure
        awaited = self.progress is not None or self.status is None or not self.status.notes
        if not awaited and progress.seconds < _SHOWN_AFTER:
            return replace(self, failure=failure, elsewhere=False)
        pace = self.pace.after(progress)
        return replace(self, progress=progress, pace=pace, failure=failure, elsewhere=False)


_NOT_HERE = "The vault is in a store. It is brought up to date where its notes are: excerpt push VAULT --to ADDRESS."


class IndexController:
    """Own the engine's threads, the indexing process, and what is known of the index.

    They reach the screen by `loop`; all else here is for the event loop. `notify` is a screen's; `show` is called when
    the state is another.
    """

    def __init__(
        self,
        vault: Path,
        settings: Settings,
        places: Places,
        *,
        loop: EventLoop,
        notify: Callable[..., object],
        show: Callable[[], object],
        store: Address | None = None,
    ) -> None:
        self.engine = EngineWorker(vault, places, settings, loop, store)
        self.process = posting_process(vault, loop.post_from_thread)
        self.state = IndexState() if store is None else IndexState(watch=Watch.STORE)
        self._is_stored = store is not None
        self._vault = vault
        self._folder = places.index_folder(vault)
        self._loop = loop
        self._notify = notify
        self._show = show
        self._wanted = 0
        self._reported = ""
        self._mended = -1

    def open(self) -> None:
        """Open what there is. The process is started when that is done, so that it does not take the time for it."""
        self.engine.start()
        self.engine.open()

    async def end(self) -> None:
        """End threads and process; what is committed stays."""
        await asyncio.gather(asyncio.to_thread(self.process.end), asyncio.to_thread(self.engine.close))

    def start(self) -> None:
        """Have the index kept up to date from now on; a store is by others."""
        if not self.process.is_running and not self._is_stored:
            self.state = self.state.started()
            self.process.start()

    def start_unless_ended(self) -> None:
        """Start the process; one that has ended is started again by the user alone."""
        if self.state.watch is not Watch.ENDED:
            self.start()

    def use(self, before: Settings, settings: Settings) -> bool:
        """Answer by other settings from now on; return whether the process must `restart` to read the vault by them."""
        if _answering(before) != _answering(settings):
            self.engine.use(settings)
        return _reading(before) != _reading(settings) and self.process.is_running

    async def restart(self) -> None:
        """Have the vault read by the settings that the files say now."""
        ended, self.process = self.process, posting_process(self._vault, self._loop.post_from_thread)
        await asyncio.to_thread(ended.end)
        self.start()

    def ask(self, command: Command) -> None:
        """Have the process do something; it is started if it is gone."""
        if self._is_stored:
            self._notify(_NOT_HERE, title="Nothing to do here", markup=False)
            return
        if self.state.watch is Watch.ENDED or not self.process.is_running:
            self.start()
        if command in ("update", "rebuild"):
            self._say_if_later(command)
            self.state = replace(self.state, asked=True)
        self.process.send(command)
        self._show()

    def _say_if_later(self, command: Command) -> None:
        if self.state.paused:
            self._notify("It begins when you go on.", title="Paused")
        elif self.state.progress is not None and command == "update":
            self._notify("The vault is being read; it is looked at once more after that.")

    def take_in_edit(self) -> None:
        """Look for what was edited, where changes are not seen by themselves."""
        if not self.state.changes_are_seen:
            self.start_unless_ended()
            self.process.send("update")

    async def look_for_newer(self) -> None:
        """Take up what another process has committed, or pushed."""
        if self._is_stored:
            self.engine.look()
            return
        self._take_up(await asyncio.to_thread(newest_generation, self._folder))

    # --- what the process and the engine say --------------------------------------------------------------------------

    def opened(self, message: IndexOpened) -> bool:
        """Take a generation as the one in use; return whether the engine may answer otherwise than before."""
        # What was asked of a store while it was lost has no answer yet.
        changed = self.state.status != message.status or (self._is_stored and self.state.failure is not None)
        if changed:
            self._reported = ""
        self._take(message)
        return changed or message.anew

    def hear(self, message: Message) -> None:
        """Take in what was said, do what follows from it, and tell the user what came of it."""
        if isinstance(message, Failure):
            self._failed(message)
            return
        if isinstance(message, IndexEnded) and self.process.is_running:
            return  # it was started again before this was heard
        asked = self.state.asked
        self._take(message)
        match message:
            case IndexBuilt(report=report):
                self._built(report, asked=asked)
            case IndexProgressed(progress=progress):
                self._take_up(progress.generation)
            case IndexPaused(paused=True):
                self._notify("Nothing is read until you go on; changes are kept till then.", title="Paused")
            case IndexPaused():
                self._notify("What has changed meanwhile is read now.", title="Going on")
            case IndexCancelled():
                self._notify("What was read stays and is searched. Update reads the rest.", title="Cancelled")

    def _take(self, message: Message) -> None:
        self.state = self.state.heard(message)
        self._show()

    def _built(self, report: BuildReport, *, asked: bool) -> None:
        # Skipped files may be others in the same generation.
        self._wanted = report.generation
        self.engine.open()
        if report.rebuilt:
            self._notify(report.rebuilt, title="The index was made anew", markup=False)
        elif asked:
            self._notify(build_words(report), title="The index is up to date", markup=False)

    def _failed(self, message: Failure) -> None:
        if message.asked == "open":
            self._wanted = 0
            if not self.state.at_work and not self.state.elsewhere:
                said = Said.of_failure(message)
                self.state = replace(self.state, failure=said)
                self._mend(message)
            self.start_unless_ended()
        elif message.asked == "index":
            self.state = self.state.heard(message)
            self.engine.open()
        else:
            if message.title == StoreUnusableError.title:  # until it answers again
                said = Said.of_failure(message)
                self.state = replace(self.state, failure=said)
            # Once, not at every key: what cannot be done for one query cannot be done for the next.
            if message.message != self._reported:
                self._reported = message.message
                self._notify(f"{message.message} {message.hint}", title=message.title, severity="error", markup=False)
            self._mend(message)
        self._show()

    def _mend(self, message: Failure) -> None:
        """Have a build mend an index found damaged while reading; it is tried once a generation."""
        if message.title == IndexUnusableError.title and self._mended != self.state.generation:
            self._mended = self.state.generation
            self.process.send("update")

    def _take_up(self, generation: int) -> None:
        """Have a generation opened that was committed, once."""
        if generation and generation not in (self.state.generation, self._wanted):
            self._wanted = generation
            self.engine.open()


def _answering(settings: Settings) -> object:
    """Return what an engine goes by; the strategy is said with each question."""
    return replace(settings.search, strategy=Strategy.AUTO), _reading(settings)


def _reading(settings: Settings) -> object:
    """Return what an index is made by; the process that makes it reads the settings when it starts."""
    return settings.vault, settings.embedding, settings.pack.tokenizer


def newest_generation(folder: Path) -> int:
    """Return that of the index in `folder`, 0 where none can be read. Imports the index, so it is for a thread."""
    from excerpt.index.snapshot import Snapshot

    with suppress(ExcerptError):
        return Snapshot.current_generation(folder)
    return 0


def build_words(report: BuildReport) -> str:
    """Return what a build has done, as a sentence."""
    counts = ((report.changed, "changed"), (report.added, "added"), (report.removed, "removed"))
    done = ", ".join(f"{count:,} {what}" for count, what in counts if count)
    return f"{done}." if done else "Nothing had changed."


_WATCHES = {
    Watch.NOT_YET: "checking",
    Watch.EVENTS: "up to date",
    Watch.POLLING: "polled",
    Watch.ENDED: "not watched",
    Watch.STORE: "in a store",
}


def bar_state(index: IndexState) -> str:
    """Return the state in a few words."""
    if index.emptied:
        return "no notes there"
    progress = index.progress
    if progress is not None:
        what = "paused" if index.paused else progress.phase
        total = progress.notes_total
        return f"{what} {progress.notes_done:,} of {total:,}" if total else what
    if index.elsewhere:
        return "indexed by another excerpt"
    if index.failure is not None:
        return "store trouble" if index.watch is Watch.STORE else "index trouble"
    if index.status is None:
        return "opening"
    skipped = [f"{len(index.status.skipped):,} skipped"] if index.status.skipped else []
    watch = "paused" if index.paused else _WATCHES[index.watch]
    beside = [f"{count:,} attached"] if (count := sum(index.status.attachments.values())) else []
    return " · ".join([counted(index.status.notes, "note"), *beside, *skipped, watch])


def progress_words(index: IndexState) -> str:
    """How far a build is, for a sentence; "" while there is none."""
    progress = index.progress
    if progress is None:
        return ""
    paused = ", paused" if index.paused else ""
    return f"{progress.notes_done:,} of {counted(progress.notes_total, 'file')}{paused}"


def share_done(progress: Progress) -> float:
    """How much is done, 0 to 1, by bytes where they are known."""
    if progress.bytes_total:
        return min(1.0, progress.bytes_done / progress.bytes_total)
    return min(1.0, progress.notes_done / progress.notes_total) if progress.notes_total else 0.0


def rate_words(pace: Pace, progress: Progress) -> str:
    """`410 notes/s · 1.7 MB/s · about 20 s left`, as far as it is known."""
    rate = pace.rate
    if rate is None:
        return ""
    told = f"{rate.notes:,.0f} notes/s · {rate.bytes / 1e6:.1f} MB/s"
    left = pace.seconds_left(progress)
    return told if left is None else f"{told} · {time_words(left)} left"


def time_words(seconds: float) -> str:
    """About how long: as exactly as a guess may be told."""
    if seconds < 10:
        return "a few seconds"
    if seconds < 55:
        return f"about {round(seconds / 5) * 5} s"
    return f"about {max(1, round(seconds / 60)):,} min"


def _between(one: Sample, other: Sample) -> Rate:
    seconds = max(other.seconds - one.seconds, 1e-6)
    return Rate((other.notes - one.notes) / seconds, (other.bytes - one.bytes) / seconds)
