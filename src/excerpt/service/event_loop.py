"""The event loop that asks the application, and what is reported to it besides the answers: values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

from msgspec import Struct

from excerpt.base.errors import ExcerptError

if TYPE_CHECKING:
    from excerpt.base.model import Status
    from excerpt.service.indexing_process import ProcessEvent


class Failure(Struct, frozen=True):
    """A request failed. `message` and `hint` are sentences for the user.

    `operation` is the kind of the request, or "open" for the opening of the index.
    """

    operation: str
    title: str
    message: str
    hint: str = ""

    @staticmethod
    def from_error(operation: str, error: Exception) -> Failure:
        """Return the event that reports an error."""
        if isinstance(error, ExcerptError):
            return Failure(operation, error.title, error.message, error.hint)
        return Failure(
            operation,
            "An error in excerpt",
            f"{type(error).__name__}: {error}",
            "Try again, or use other words. Please report it if it happens again.",
        )


class IndexOpened(Struct, frozen=True):
    """The engine has opened the generation (the committed state) of the index that `status` describes.

    `has_new_settings`: the engine also uses other settings than before.
    """

    status: Status
    has_new_settings: bool = False


class QueryVectorsReady(Struct, frozen=True):
    """The embedding model has made the vectors of a query, or has failed: the hits can be ranked again."""


class MemoryChanged(Struct, frozen=True):
    """A decision about a memory was executed, undone or redone. `message` is shown to the user."""

    message: str
    memory_id: str


ServiceEvent: TypeAlias = "Failure | IndexOpened | QueryVectorsReady | MemoryChanged | ProcessEvent"


class EventLoop(Protocol):
    """The thread that asks questions and handles answers and events. Any thread may call the methods."""

    def call_from_thread(self, function: Callable[[], object]) -> None:
        """Schedule a call of `function` on the event loop."""

    def report_from_thread(self, event: ServiceEvent) -> None:
        """Report an event, which is handled on the event loop."""
