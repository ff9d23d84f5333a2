"""What a check says of an answer: of each citation, quotation and sentence, and of the sources, as values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from excerpt.check.answer import Citation, Quotation, Sentence, Unchecked
from excerpt.check.quotations import Difference
from excerpt.check.source_state import SourceStanding, State
from excerpt.json_forms import as_data, picked
from excerpt.pack.formats.pack_format import PackFile, PackSource
from excerpt.places import place_to_dict


class Verdict(StrEnum):
    """What is said of a quotation.

    TRUE: it stands in what it cites, or, without a citation, anywhere in pack or vault. CHANGED: it stood there when
    the pack was made, and stands nowhere in the vault now. MISATTRIBUTED: it stands in another place than the cited.
    ALTERED: something very like it stands there, or an ellipsis leaves out what turns its meaning. INVENTED: nothing
    does. SHORT: nothing does either, but so few words may be the answer's own, set off by marks.
    """

    TRUE = "true"
    CHANGED = "changed"
    MISATTRIBUTED = "misattributed"
    ALTERED = "altered"
    INVENTED = "invented"
    SHORT = "short"


@dataclass(frozen=True, slots=True)
class SourceLines:
    """Lines of a note, and what stands there. `source` is the number of the pack's source that it was found in, None
    for what was found in the vault alone. A place in the pack has the path and lines that the pack says."""

    path: str
    line_start: int
    line_end: int
    passage: str
    source: int | None = None
    place: str = ""


@dataclass(frozen=True, slots=True)
class CheckedCitation:
    """One number of one citation; `standing` is None where the pack has no such source. A number that does not hold
    comes once, with the citation that is its first, and is cited so many `times` in all."""

    citation: Citation
    number: int
    standing: SourceStanding | None
    times: int = 1

    @property
    def state(self) -> State:
        return State.UNKNOWN if self.standing is None else self.standing.state

    @property
    def holds(self) -> bool:
        """Whether the cited text is in the pack and still stands in the vault."""
        return self.state in (State.STANDS, State.MOVED)


@dataclass(frozen=True, slots=True)
class CheckedQuotation:
    """A quotation with its verdict.

    `similarity` (0 to 1) is that to the passage at `place`, which is where it stands, or what is most like it.
    `differences` are what a true one differs in. `now` is where it stands in the vault, if it does. `turned_by` are
    the words that an ellipsis leaves out there and that turn its meaning.
    """

    quotation: Quotation
    verdict: Verdict
    place: SourceLines | None = None
    differences: tuple[Difference, ...] = ()
    similarity: float = 1.0
    now: SourceLines | None = None
    turned_by: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return self.verdict in (Verdict.TRUE, Verdict.SHORT)


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """Of the telling words of a sentence that cites but does not quote, how many the cited sources have. No claim
    that it is true: a sentence may have all of its words there and say the opposite."""

    sentence: Sentence
    cited: tuple[int, ...]
    words: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def found(self) -> int:
        return len(self.words) - len(self.missing)


@dataclass(frozen=True, slots=True)
class Check:
    """What was found of an answer. `standings` are those of the pack's sources, in their order; `cited` says how often
    each number is cited, also by the citations that are too many to be among `citations`; `uncited` are the sentences
    without a citation or quotation; `unchecked` is what may be a quotation, but could not be told to be one."""

    pack: PackFile
    standings: tuple[SourceStanding, ...]
    citations: tuple[CheckedCitation, ...]
    quotations: tuple[CheckedQuotation, ...]
    sentences: tuple[CheckedSentence, ...]
    uncited: tuple[Sentence, ...]
    unchecked: tuple[Unchecked, ...] = ()
    cited: Counter[int] = field(default_factory=Counter)

    @property
    def holds(self) -> bool:
        """Whether every source cited is there and stands, and every quotation is true."""
        return all(each.holds for each in self.citations) and all(each.holds for each in self.quotations)

    def to_dict(self) -> dict[str, Any]:
        """Return what `excerpt check --json` prints: a pack's sources have their standing beside them, and of many of a
        kind only MOST_TOLD come."""
        citations, quotations = most_told(self.citations), most_told(self.quotations)
        sentences, uncited = self.sentences[:MOST_TOLD], self.uncited[:MOST_TOLD]
        unchecked = self.unchecked[:MOST_TOLD]
        return {
            "true": self.holds,
            "sources": [
                _source(source, standing, self.cited.get(source.number, 0))
                for source, standing in zip(self.pack.sources, self.standings, strict=True)
            ],
            "citations": [
                {**picked(each.citation, "line", "text"), **picked(each, "number", "state", "times")}
                for each in citations
            ],
            "quotations": [_quotation(each) for each in quotations],
            "sentences": [
                {
                    **picked(each.sentence, "line", "text"),
                    **picked(each, "cited"),
                    "words": len(each.words),
                    **picked(each, "found", "missing"),
                }
                for each in sentences
            ],
            "uncited": [picked(each, "line", "text") for each in uncited],
            "unchecked": as_data(unchecked),
            "more": {
                "citations": self.cited.total() - sum(each.times for each in citations),
                "quotations": len(self.quotations) - len(quotations),
                "sentences": len(self.sentences) - len(sentences),
                "uncited": len(self.uncited) - len(uncited),
                "unchecked": len(self.unchecked) - len(unchecked),
            },
        }


MOST_TOLD = 1_000
"""Findings of each kind that are told: any answer that is read has fewer."""
_MOST_CITED = 20  # numbers of a quotation


class _Holding(Protocol):
    @property
    def holds(self) -> bool: ...


Told = TypeVar("Told", bound=_Holding)


def most_told(found: Sequence[Told]) -> Sequence[Told]:
    """Return as many as are told, in their order: of more than that, what does not hold before the others."""
    if len(found) <= MOST_TOLD:
        return found
    first = sorted(range(len(found)), key=lambda number: found[number].holds)[:MOST_TOLD]
    return [found[number] for number in sorted(first)]


def _source(source: PackSource, standing: SourceStanding, cited: int) -> dict[str, Any]:
    gone = standing.state is State.GONE
    return {
        **picked(source, "number", "path", "line_start", "line_end"),
        **({"place": place_to_dict(source.place)} if source.place else {}),
        "cited": cited,
        "state": standing.state,
        "intact": source.intact,
        "now": None if gone else picked(standing, "path", "line_start", "line_end", "text"),
    }


def _quotation(checked: CheckedQuotation) -> dict[str, Any]:
    quotation = checked.quotation
    return {
        **picked(quotation, "line", "kind", "text"),
        "cited": quotation.cited[:_MOST_CITED],
        **picked(checked, "verdict", "differences"),
        "similarity": round(checked.similarity, 3),
        **picked(checked, "place", "now", "turned_by"),
    }
