"""What the threads and processes behind the screen say to it.

Handlers own the state; workers only post.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from pathlib import Path

    from excerpt.model import BuildReport, Hit, Memory, PackResult, Progress, Source, Span, Status
    from excerpt.pack.selection import KeptMarks


@dataclass(frozen=True, slots=True)
class Location:
    """A fragment that is looked at. Where its id is gone, what stands at its line now takes its place. `by_meaning`
    says that meaning had a part in finding it; `top` is the line that was first in sight, if it was scrolled."""

    fragment_id: str
    path: str
    line: int
    spans: tuple[Span, ...] = ()
    by_meaning: bool = False
    top: int | None = None

    @staticmethod
    def of(hit: Hit) -> Location:
        """Return where a hit stands."""
        by_meaning = any(signal.name == "meaning" and signal.part > 0 for signal in hit.signals)
        return Location(hit.fragment.id, hit.fragment.path, hit.fragment.line_start, hit.spans, by_meaning)


@dataclass
class IndexOpened(Message):
    """The engine reads this generation from now on. `anew` says that it answers by other settings than before."""

    status: Status
    anew: bool = False


@dataclass
class Failure(Message):
    """Something failed behind the screen. `asked` is what was being done: a kind of request, open or index."""

    asked: str
    title: str
    message: str
    hint: str = ""


@dataclass
class IndexProgressed(Message):
    """How far the indexing process is. Of several that wait, the last says all."""

    progress: Progress

    def can_replace(self, message: Message) -> bool:
        return isinstance(message, IndexProgressed)


@dataclass
class IndexBuilt(Message):
    """The indexing process has brought the index up to date, with one note or all of them."""

    report: BuildReport


@dataclass
class IndexWatched(Message):
    """From now on changes are seen; `polling` says that it looks for them every few seconds."""

    polling: bool


@dataclass
class IndexPaused(Message):
    """Nothing is begun any more, or, if not `paused`, what waits is."""

    paused: bool


@dataclass
class IndexCancelled(Message):
    """The build at hand has ended before its end; what it had committed stays."""


@dataclass
class IndexEmptied(Message):
    """No note is left in the vault, though the index holds `notes`: nothing was changed."""

    notes: int
    message: str


@dataclass
class IndexEnded(Message):
    """The indexing process is gone; why was told before."""


@dataclass
class PaneLeft(Message):
    """The user wants to go back to the search."""


@dataclass
class EditRequested(Message):
    """Open a note of the vault in the user's editor, or an attachment at a place in what shows it. `fragment` is the id
    of the hit it was opened at; `telling` says whether that tells something of what the user looks for (a file opened
    to be mended does not)."""

    path: str
    line: int
    fragment: str = ""
    telling: bool = True
    place: str = ""


@dataclass
class ObsidianRequested(Message):
    """Open a note in Obsidian, at the section that `headings` lead to. `fragment` is the id of what was selected."""

    path: str
    headings: tuple[str, ...]
    fragment: str


@dataclass
class CopyRequested(Message):
    """Copy `text`; `what` names it in the toast, `tokens` are those of the text, None where nobody counted them;
    `notes` are the notes of the vault that it holds a part of (path, fragment id). `pack` is the pack that the text is
    of; `suffix` is that of its file. With `to_file` it goes to a file of the user's own alone."""

    text: str
    what: str
    tokens: int | None
    notes: tuple[tuple[str, str], ...] = ()
    pack: PackResult | None = None
    suffix: str = ".md"
    to_file: bool = False


@dataclass
class MarksChanged(Message):
    """The marks, or the decisions about their pack, are others: to be kept."""

    kept: KeptMarks


@dataclass
class SearchRequested(Message):
    """Go to the Search tab, and look for `query` there."""

    query: str


@dataclass
class RememberRequested(Message):
    """Ask for tags and a reason, and keep `hit`; where it is None, `text` from `source`, or a thought of the user's own
    without. `query` is what found it."""

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
