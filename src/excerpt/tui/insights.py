"""What the screen asks of the engine besides searches: questions as values, and the messages that answer them.

A question is asked with `EngineWorker.ask_insight` and answered in the engine's thread, where what is heavy is
imported. A newer question of its kind takes its place while it waits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

from textual.message import Message

if TYPE_CHECKING:
    from excerpt.insight.map import VaultMap
    from excerpt.insight.related import Related
    from excerpt.search.engine import Engine


class Question(Protocol):
    """`kind` names its slot, `answer` is called in the engine's thread with the engine in use."""

    kind: ClassVar[str]

    def answer(self, engine: Engine) -> Message: ...


KINDS = ("related", "map", "narrow", "overview")
"""In the order in which they are answered."""


@dataclass
class RelatedFound(Message):
    """The answer to `AskRelated` of that number; None for a note that the index does not have any more."""

    number: int
    related: Related | None


@dataclass
class Mapped(Message):
    """The answer to `AskMap` of that number."""

    number: int
    vault_map: VaultMap


@dataclass
class Narrowed(Message):
    """The answer to `AskNarrowed`: `query` with the filter in it is `narrowed`."""

    query: str
    filter: str
    narrowed: str


@dataclass(frozen=True, slots=True)
class AskRelated:
    """What is near to the note `path`, or to its fragment that holds `line`."""

    kind: ClassVar[str] = "related"
    number: int
    path: str
    line: int | None

    def answer(self, engine: Engine) -> Message:
        from excerpt.insight.related import related

        try:
            return RelatedFound(self.number, related(engine, self.path, self.line))
        except KeyError:
            return RelatedFound(self.number, None)


@dataclass(frozen=True, slots=True)
class AskMap:
    """Where the matches of `query` are."""

    kind: ClassVar[str] = "map"
    number: int
    query: str

    def answer(self, engine: Engine) -> Message:
        from excerpt.insight.map import matches_map

        return Mapped(self.number, matches_map(engine, self.query))


@dataclass(frozen=True, slots=True)
class AskNarrowed:
    """`query` with a filter more."""

    kind: ClassVar[str] = "narrow"
    query: str
    filter: str

    def answer(self, engine: Engine) -> Message:
        return Narrowed(self.query, self.filter, engine.narrowed(self.query, self.filter))
