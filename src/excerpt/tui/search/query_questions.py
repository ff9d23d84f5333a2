"""What the query bar asks of the engine besides searches, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from excerpt.insight.completions import Completion
    from excerpt.insight.suggestions import Suggestion
    from excerpt.search.engine import Engine
    from excerpt.search.reading import Reading


@dataclass(frozen=True, slots=True)
class AskReading:
    """How a query is read; `thoroughly`, what of it does not do what it looks like, too."""

    kind: ClassVar[str] = "reading"
    query: str
    thoroughly: bool

    def answer(self, engine: Engine) -> Reading:
        from datetime import date

        from excerpt.search.reading import read_query

        return read_query(engine.snapshot, self.query, date.today(), thoroughly=self.thoroughly)


@dataclass(frozen=True, slots=True)
class AskCompletions:
    """What `value`, begun behind `operator` and a colon (or "#", or as a plain word with ""), may be going to be."""

    kind: ClassVar[str] = "complete"
    operator: str
    value: str

    def answer(self, engine: Engine) -> tuple[Completion, ...]:
        from datetime import date

        from excerpt.insight.completions import complete

        return complete(engine.snapshot, self.operator, self.value, date.today())


@dataclass(frozen=True, slots=True)
class AskSuggestions:
    """Narrower and wider queries than one."""

    kind: ClassVar[str] = "suggest"
    query: str

    def answer(self, engine: Engine) -> tuple[Suggestion, ...]:
        from excerpt.insight.suggestions import suggestions

        return suggestions(engine, self.query)


@dataclass(frozen=True, slots=True)
class AskCorrection:
    """The query as it may have been meant; "" where nothing in it is misspelt."""

    kind: ClassVar[str] = "correction"
    query: str

    def answer(self, engine: Engine) -> str:
        from excerpt.insight.corrections import corrected

        return corrected(engine, self.query)
