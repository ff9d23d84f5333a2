"""Messages that threads, the indexing processes and panes post to the main screen.

The main screen and its controllers own the state; they change it when they handle a message.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from pathlib import Path

    from excerpt.base.model import Hit, Memory, PackResult, Source
    from excerpt.pack.selection import SavedMarks
    from excerpt.search.usage import UsedHit
    from excerpt.service.event_loop import ServiceEvent


@dataclass
class PartClicked(Message):
    """Sent by a bar when a part of it is clicked; `action` is an action of the Search tab."""

    action: str


@dataclass
class EventReported(Message):
    """A thread or process has reported an event. Newer progress replaces progress that is not handled yet."""

    event: ServiceEvent

    def can_replace(self, message: Message) -> bool:
        from excerpt.base.model import EmbeddingProgress, Progress

        is_progress = isinstance(self.event, Progress | EmbeddingProgress)
        return is_progress and isinstance(message, EventReported) and type(message.event) is type(self.event)


@dataclass
class QuerySettled(Message):
    """A query whose hits are listed was not changed for some seconds."""


@dataclass
class PaneLeft(Message):
    """The user leaves a pane for the Search tab."""


@dataclass
class EditRequested(Message):
    """Request to open a note in the user's editor at `line`, or an attachment in its viewer at `place`.

    `place` is the location in an attachment, such as a page. `used` is the hit of the query that the user opens, if it
    is one.
    """

    path: str
    line: int
    place: str = ""
    used: UsedHit | None = None


@dataclass
class ObsidianRequested(Message):
    """Request to open a note in Obsidian at the section under `headings`. `used` is as in EditRequested."""

    path: str
    headings: tuple[str, ...]
    used: UsedHit | None = None


class CopyTarget(Enum):
    """Where a text goes: to the clipboard and a file, to a file only, or to stdout when the app ends."""

    CLIPBOARD = "clipboard"
    FILE = "file"
    STDOUT = "stdout"


@dataclass
class CopyRequested(Message):
    """Request to copy `text` to `target`.

    `what` names the text in the notice, such as "Passage". `tokens` is its number of tokens, None if not counted.
    `used` are the hits that the user chose for the text: the copied hit, or the marked hits of a pack. `pack` is the
    pack whose text this is, if any. `suffix` is the suffix of the file.
    """

    text: str
    what: str
    tokens: int | None
    used: tuple[UsedHit, ...] = ()
    pack: PackResult | None = None
    suffix: str = ".md"
    target: CopyTarget = CopyTarget.CLIPBOARD


@dataclass
class Picked(Message):
    """The user has picked; the app ends, and `text` is printed."""

    text: str


@dataclass
class MarksChanged(Message):
    """The marks, or the user's decisions about the pack of the marked fragments, have changed and must be saved."""

    marks: SavedMarks


@dataclass
class MarksTakenBack(Message):
    """The user took back the marks of `fragments`, given by their ids, so a pack with them teaches nothing."""

    fragments: frozenset[str]


@dataclass
class SearchRequested(Message):
    """Request to show the Search tab and search for `query`."""

    query: str


@dataclass
class RememberRequested(Message):
    """Request to open the form that keeps `hit` as a memory.

    If `hit` is None, the memory is `text` from `source`, or the user's own thought if there is no source. `query` is
    the query that found the passage.
    """

    hit: Hit | None
    query: str
    text: str = ""
    source: Source | None = None


@dataclass
class MemoryFileRequested(Message):
    """Request to open a file of the memory folder in the editor."""

    file: Path


@dataclass
class MemoryShowRequested(Message):
    """Request to show the Memory tab and select a memory there."""

    memory_id: str


@dataclass
class MemoryEditRequested(Message):
    """Request to open a memory in the form that changes it."""

    memory: Memory
