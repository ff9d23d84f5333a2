"""What the related panel and the map ask of the engine, as values, for `EngineWorker.ask`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from excerpt.insight.map import VaultMap
    from excerpt.insight.related import Related
    from excerpt.search.engine import Engine


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
class FilterPut(Message):
    """The answer to `AskFilter`: `query` with the filter in it is `narrowed`."""

    query: str
    filter: str
    narrowed: str


@dataclass(frozen=True, slots=True)
class AskRelated:
    """What is near to the note `path`, or to its fragment that holds `line`."""

    number: int
    path: str
    line: int | None

    def __call__(self, engine: Engine) -> Message:
        from excerpt.insight.related import related

        try:
            return RelatedFound(self.number, related(engine, self.path, self.line))
        except KeyError:
            return RelatedFound(self.number, None)


@dataclass(frozen=True, slots=True)
class AskMap:
    """Where the matches of `query` are."""

    number: int
    query: str

    def __call__(self, engine: Engine) -> Message:
        from excerpt.insight.map import matches_map

        return Mapped(self.number, matches_map(engine, self.query))


@dataclass(frozen=True, slots=True)
class AskFilter:
    """`query` with a filter more."""

    query: str
    filter: str

    def __call__(self, engine: Engine) -> Message:
        return FilterPut(self.query, self.filter, engine.narrowed(self.query, self.filter))
