"""What the screen asks of the engine besides searches: questions as values, answered in the engine's thread, where what
is heavy is imported."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from excerpt.insight.map import VaultMap
    from excerpt.insight.related import Related
    from excerpt.search.engine import Engine


@dataclass(frozen=True, slots=True)
class AskRelated:
    """What is near to the note `path`, or to its fragment that holds `line`; None for a note that is gone."""

    kind: ClassVar[str] = "related"
    path: str
    line: int | None

    def answer(self, engine: Engine) -> Related | None:
        from excerpt.insight.related import related

        try:
            return related(engine, self.path, self.line)
        except KeyError:
            return None


@dataclass(frozen=True, slots=True)
class AskMap:
    """Where the matches of `query` are; those of an empty one are the whole vault."""

    kind: ClassVar[str] = "map"
    query: str

    def answer(self, engine: Engine) -> VaultMap:
        from excerpt.insight.map import EVERYTHING, matches_map

        found = matches_map(engine, self.query if self.query.strip() else EVERYTHING)
        return replace(found, query=self.query)


@dataclass(frozen=True, slots=True)
class AskNarrowed:
    """`query` with a filter more; an empty one is all of the vault, and the filter alone is what is left of it."""

    kind: ClassVar[str] = "narrow"
    query: str
    filter: str

    def answer(self, engine: Engine) -> str:
        return engine.narrowed(self.query, self.filter) if self.query.strip() else f"{self.filter} "
