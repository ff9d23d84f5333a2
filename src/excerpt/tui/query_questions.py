"""What the query bar asks of the engine besides searches, as values, and the messages that answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.message import Message

if TYPE_CHECKING:
    from excerpt.insight.completions import Completion
    from excerpt.insight.suggestions import Suggestion
    from excerpt.search.engine import Engine
    from excerpt.search.reading import Reading


@dataclass
class QueryRead(Message):
    """The answer to `AskReading`: how `query` was read; `thoroughly` as it was asked."""

    query: str
    reading: Reading
    thoroughly: bool


@dataclass
class Completed(Message):
    """The answer to `AskCompletions` of that number."""

    number: int
    completions: tuple[Completion, ...]


@dataclass
class Suggested(Message):
    """The answer to `AskSuggestions`."""

    query: str
    suggestions: tuple[Suggestion, ...]


@dataclass(frozen=True, slots=True)
class AskReading:
    """How a query is read; `thoroughly`, what of it does not do what it looks like, too."""

    kind: ClassVar[str] = "reading"
    query: str
    thoroughly: bool

    def answer(self, engine: Engine) -> Message:
        from datetime import date

        from excerpt.search.reading import read_query

        found = read_query(engine.snapshot, self.query, date.today(), thoroughly=self.thoroughly)
        return QueryRead(self.query, found, self.thoroughly)


@dataclass(frozen=True, slots=True)
class AskCompletions:
    """What `value`, begun behind `operator` and a colon (or "#", or as a plain word with ""), may be going to be."""

    kind: ClassVar[str] = "complete"
    number: int
    operator: str
    value: str

    def answer(self, engine: Engine) -> Message:
        from datetime import date

        from excerpt.insight.completions import complete

        return Completed(self.number, complete(engine.snapshot, self.operator, self.value, date.today()))


@dataclass(frozen=True, slots=True)
class AskSuggestions:
    """Narrower and wider queries than one."""

    kind: ClassVar[str] = "suggest"
    query: str

    def answer(self, engine: Engine) -> Message:
        from excerpt.insight.suggestions import suggestions

        return Suggested(self.query, suggestions(engine, self.query))
