"""Events of an indexing process, and commands to it: the JSON lines that `excerpt watch --progress` writes and reads.

An event is a value of one of the types in `IndexingEvent`. A command is its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

from excerpt.base.errors import ExcerptError

if TYPE_CHECKING:
    from excerpt.base.model import BuildReport, EmbeddingProgress, Progress, PushReport

Command = Literal["update", "rebuild", "pause", "resume", "cancel", "agree", "yield"]
"""A command to the process.

"agree" confirms that the vault is now empty; "yield" says that the user is at work, so that an embedder waits a moment.
"""


class VaultWatched(Struct, frozen=True):
    """The index is up to date, and changes of the vault are detected from now on.

    `polling`: by comparing the files every few seconds, because the system reports no changes.
    """

    polling: bool


class IndexingPaused(Struct, frozen=True):
    """Indexing was paused; changes wait."""


class IndexingResumed(Struct, frozen=True):
    """Indexing continues with the changes that have waited."""


class IndexingCancelled(Struct, frozen=True):
    """The current build was cancelled; the notes that it had committed stay in the index."""


class VaultEmptied(Struct, frozen=True):
    """The vault has no notes, although the index holds `notes` (a number). The index was not changed."""

    notes: int
    message: str
    hint: str


class IndexingFailed(Struct, frozen=True):
    """An update of the index, or a push, has failed. `title`, `message` and `hint` are those of an error."""

    title: str
    message: str
    hint: str

    @staticmethod
    def from_error(error: ExcerptError) -> IndexingFailed:
        """Return the event that reports an error."""
        return IndexingFailed(error.title, error.message, error.hint)


class EmbeddingFailed(Struct, frozen=True):
    """The embedder has failed and embedding has stopped; searches use the previous vectors."""

    message: str
    hint: str


class EmbeddingCompleted(Struct, frozen=True):
    """All passages are embedded, and searches use their vectors from `generation` on.

    `is_first`: until then, searches used the vectors of another model.
    """

    generation: int
    is_first: bool


IndexingEvent: TypeAlias = (
    "Progress | BuildReport | VaultWatched | IndexingPaused | IndexingResumed | IndexingCancelled | VaultEmptied |"
    " IndexingFailed | EmbeddingProgress | EmbeddingFailed | EmbeddingCompleted | PushReport"
)

EventHandler: TypeAlias = "Callable[[IndexingEvent], None]"
"""A function that handles an event; called from any thread."""

CrashHandler = Callable[[Exception], str]
"""A function that logs an unexpected exception and returns the sentence to show."""


@cache
def _types_by_name() -> Mapping[str, type[IndexingEvent]]:
    """Return the type of each event by its name in the JSON lines. Imports the types here, after the first paint."""
    from excerpt.base.model import BuildReport, EmbeddingProgress, Progress, PushReport

    return {
        "progress": Progress,
        "done": BuildReport,
        "watching": VaultWatched,
        "paused": IndexingPaused,
        "resumed": IndexingResumed,
        "cancelled": IndexingCancelled,
        "emptied": VaultEmptied,
        "error": IndexingFailed,
        "embedding": EmbeddingProgress,
        "embedding_failed": EmbeddingFailed,
        "embedded": EmbeddingCompleted,
        "pushed": PushReport,
    }


def event_to_json(event: IndexingEvent) -> dict[str, Any]:
    """Return the JSON object of an event: its name as `event`, then its fields."""
    from excerpt.base.json_forms import dataclass_to_json

    name = next(name for name, kind in _types_by_name().items() if isinstance(event, kind))
    return {"event": name, **dataclass_to_json(event)}


class _NamedEvent(msgspec.Struct):
    event: str


def parse_event(line: bytes) -> IndexingEvent | None:
    """Return the event in a line; None if the line is no event."""
    try:
        kind = _types_by_name().get(msgspec.json.decode(line, type=_NamedEvent).event)
        return None if kind is None else msgspec.json.decode(line, type=kind)
    except msgspec.MsgspecError:
        return None


class _CommandLine(msgspec.Struct):
    do: Command


def command_to_line(command: Command) -> bytes:
    """Return the line that sends a command."""
    return msgspec.json.encode(_CommandLine(command)) + b"\n"


def parse_command(line: bytes) -> Command | None:
    """Return the command in a line; None if the line is no command."""
    try:
        return msgspec.json.decode(line, type=_CommandLine).do
    except msgspec.MsgspecError:
        return None
