"""Messages from the threads and processes behind the screen.

Handlers own the state; workers only post.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from pathlib import Path

    from excerpt.model import BuildReport, Hit, Memory, PackResult, Progress, Source, Span, Status
    from excerpt.pack.selection import SavedMarks


@dataclass(frozen=True, slots=True)
class Location:
    """The fragment that a view shows. If its id is gone, the fragment now at its line is used.

    `by_meaning`: meaning contributed to finding it. `top` is the first visible line, if the view was scrolled.
    """

    fragment_id: str
    path: str
    line: int
    spans: tuple[Span, ...] = ()
    by_meaning: bool = False
    top: int | None = None

    @staticmethod
    def of(hit: Hit) -> Location:
        """Return the location of a hit."""
        by_meaning = any(signal.name == "meaning" and signal.part > 0 for signal in hit.signals)
        return Location(hit.fragment.id, hit.fragment.path, hit.fragment.line_start, hit.spans, by_meaning)


@dataclass
class IndexOpened(Message):
    """The engine now reads this generation. `is_repeat`: it answers with other settings than before."""

    status: Status
    is_repeat: bool = False


@dataclass
class Failure(Message):
    """Something failed behind the screen. `operation` is what failed: a kind of request, open or index."""

    operation: str
    title: str
    message: str
    hint: str = ""


@dataclass
class IndexProgressed(Message):
    """Progress of the indexing process. Of several waiting messages only the last is needed."""

    progress: Progress

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, IndexProgressed)


@dataclass
class IndexBuilt(Message):
    """The indexing process has brought the index up to date, with one note or all of them."""

    report: BuildReport


@dataclass
class IndexWatched(Message):
    """Changes are watched from now on. `polling`: by looking for them every few seconds."""

    polling: bool


@dataclass
class IndexPaused(Message):
    """Indexing starts nothing new or, if not `paused`, continues with what waits."""

    paused: bool


@dataclass
class IndexCancelled(Message):
    """The current build was cancelled; what it had committed stays."""


@dataclass
class IndexEmptied(Message):
    """The vault has no notes although the index holds `notes`. Nothing was changed."""

    notes: int
    message: str


@dataclass
class IndexEnded(Message):
    """The indexing process has ended; the reason was posted before."""


@dataclass
class PaneLeft(Message):
    """The user wants to go back to the search."""


@dataclass
class EditRequested(Message):
    """Open a note in the user's editor, or an attachment at a place in its viewer.

    `fragment` is the id of the hit it was opened at. `counts_as_use`: opening it counts as use of the note (not so for
    a file opened to be repaired).
    """

    path: str
    line: int
    fragment: str = ""
    counts_as_use: bool = True
    place: str = ""


@dataclass
class ObsidianRequested(Message):
    """Open a note in Obsidian at the section of `headings`. `fragment` is the id of the selected fragment."""

    path: str
    headings: tuple[str, ...]
    fragment: str


@dataclass
class CopyRequested(Message):
    """Copy `text`.

    `what` names it in the toast. `tokens` is its number of tokens, None if not counted. `notes` are the notes that it
    contains parts of (path, fragment id). `pack` is the pack that the text is of, `suffix` the suffix of its file. With
    `to_file` it is only written to a file of the user's own.
    """

    text: str
    what: str
    tokens: int | None
    notes: tuple[tuple[str, str], ...] = ()
    pack: PackResult | None = None
    suffix: str = ".md"
    to_file: bool = False


@dataclass
class MarksChanged(Message):
    """The marks or the decisions about their pack have changed and must be saved."""

    marks: SavedMarks


@dataclass
class SearchRequested(Message):
    """Go to the Search tab and search for `query`."""

    query: str


@dataclass
class RememberRequested(Message):
    """Ask for tags and a reason, and remember `hit`.

    If it is None, remember `text` from `source`, or a thought of the user's own if there is no source. `query` found
    it.
    """

    hit: Hit | None
    query: str
    text: str = ""
    source: Source | None = None


@dataclass
class MemoryFileRequested(Message):
    """Open a file of the memory folder in the editor."""

    file: Path


@dataclass
class MemoryEditRequested(Message):
    """Open a memory in the form."""

    memory: Memory
