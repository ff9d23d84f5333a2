"""What is known of the index, and what each message of the indexing process makes of that. Values alone: no screen."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING

from textual.message import Message

from excerpt.errors import IndexBusyError, VaultEmptiedError
from excerpt.tui.messages import (
    IndexBuilt,
    IndexCancelled,
    IndexEmptied,
    IndexEnded,
    IndexOpened,
    IndexPaused,
    IndexProgressed,
    IndexWatched,
    Trouble,
)
from excerpt.tui.pace import Pace
from excerpt.tui.widgets.notice import Said

if TYPE_CHECKING:
    from excerpt.model import BuildReport, Progress, Status

_SHOWN_AFTER = 0.5
"""Seconds of work before a build is shown: an edit is taken in sooner, and would only flicker."""


class Watch(Enum):
    """How the process hears of changes."""

    NOT_YET = "not yet"
    EVENTS = "events"
    POLLING = "polling"
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class IndexState:
    """`status` is that of the generation in use, None before there is one. `progress` is None while nothing is being
    indexed that is worth showing; `elsewhere` says that another excerpt is writing; `emptied` is how many notes the
    index holds of a vault that has none, 0 if it has some. With `unfinished` a build was cancelled, and nobody has
    asked for the rest; with `asked` somebody waits to hear what an update has done."""

    status: Status | None = None
    progress: Progress | None = None
    pace: Pace = field(default_factory=Pace)
    trouble: Said | None = None
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
    def generation(self) -> int:
        return self.status.generation if self.status is not None else 0

    def started(self) -> IndexState:
        """The process has just been started."""
        return replace(self, watch=Watch.NOT_YET, trouble=None, elsewhere=False, emptied=0, paused=False)

    def heard(self, message: Message) -> IndexState:
        """After what a thread or process has said."""
        after = self
        match message:
            case IndexOpened(status=status):
                after = replace(self, status=status)
            case IndexProgressed(progress=progress):
                after = self._progressed(progress)
            case IndexBuilt():
                unfinished = self.unfinished and not self.asked
                after = replace(self._at_rest(), trouble=None, emptied=0, asked=False, unfinished=unfinished)
            case IndexWatched(polling=polling):
                after = replace(self, watch=Watch.POLLING if polling else Watch.EVENTS)
            case IndexPaused(paused=paused):
                after = replace(self, paused=paused)
            case IndexCancelled():
                after = replace(self._at_rest(), unfinished=True, asked=False)
            case IndexEmptied(notes=notes, message=told):
                said = Said(VaultEmptiedError.title, told, "u looks again, and asks what to do.", serious=True)
                after = replace(self._at_rest(), trouble=said, emptied=notes, asked=False)
            case IndexEnded():
                after = replace(self._at_rest(), watch=Watch.ENDED, paused=False, asked=False)
            case Trouble(asked="index"):
                busy = message.title == IndexBusyError.title
                said = Said(message.title, message.message, message.hint, serious=True)
                after = replace(self._at_rest(), trouble=said, elsewhere=busy, asked=self.asked and busy)
        return after

    def _at_rest(self) -> IndexState:
        return replace(self, progress=None, pace=Pace(), elsewhere=False)

    def _progressed(self, progress: Progress) -> IndexState:
        trouble = None if self.elsewhere else self.trouble
        awaited = self.progress is not None or self.status is None or not self.status.notes
        if not awaited and progress.seconds < _SHOWN_AFTER:
            return replace(self, trouble=trouble, elsewhere=False)
        pace = self.pace.after(progress)
        return replace(self, progress=progress, pace=pace, trouble=trouble, elsewhere=False)


def build_words(report: BuildReport) -> str:
    """What a build has done, as a sentence."""
    counts = ((report.changed, "changed"), (report.added, "added"), (report.removed, "removed"))
    done = ", ".join(f"{count:,} {what}" for count, what in counts if count)
    return f"{done}." if done else "Nothing had changed."
