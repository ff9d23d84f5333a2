"""The results of a check: values for each citation, quotation, sentence and source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from excerpt.check.answer import Citation, Quotation, Sentence, UnclearQuotation
from excerpt.check.quotations import QuotationDifference
from excerpt.check.source_state import SourceComparison, SourceState
from excerpt.json_forms import as_data, select_fields
from excerpt.locations import location_to_dict
from excerpt.pack.formats.pack_format import PackFile, PackSource


class Verdict(StrEnum):
    """The verdict on a quotation.

    TRUE: it is in the cited source, or, without a citation, anywhere in pack or vault. CHANGED: it was there when the
    pack was made, and is nowhere in the vault now. MISATTRIBUTED: it is elsewhere than cited. ALTERED: something very
    similar is there, or an ellipsis leaves out what turns its meaning. INVENTED: nothing similar is found. SHORT:
    nothing either, but so few words may be the answer's own, set off by marks.
    """

    TRUE = "true"
    CHANGED = "changed"
    MISATTRIBUTED = "misattributed"
    ALTERED = "altered"
    INVENTED = "invented"
    SHORT = "short"


@dataclass(frozen=True, slots=True)
class SourceLines:
    """Lines of a note, with their text.

    `source` is the number of the pack's source that they were found in, None if found in the vault alone. A place in
    the pack has the path and lines that the pack gives.
    """

    path: str
    line_start: int
    line_end: int
    passage: str
    source: int | None = None
    place: str = ""


@dataclass(frozen=True, slots=True)
class CheckedCitation:
    """One number of a citation; `comparison` is None if the pack has no such source.

    A number that does not hold is listed once, with its first citation, and is cited `times` in all.
    """

    citation: Citation
    number: int
    comparison: SourceComparison | None
    times: int = 1

    @property
    def state(self) -> SourceState:
        return SourceState.UNKNOWN if self.comparison is None else self.comparison.state

    @property
    def holds(self) -> bool:
        """Whether the cited text is in the pack and still in the vault."""
        return self.state in (SourceState.STANDS, SourceState.MOVED)


@dataclass(frozen=True, slots=True)
class CheckedQuotation:
    """A quotation with its verdict.

    `similarity` (0 to 1) is that to the passage at `place`, where it was found, or which is most similar. `differences`
    are those of a true one. `now` is where it is in the vault, if anywhere. `turned_by` are the words that an ellipsis
    leaves out there and that turn its meaning.
    """

    quotation: Quotation
    verdict: Verdict
    place: SourceLines | None = None
    differences: tuple[QuotationDifference, ...] = ()
    similarity: float = 1.0
    now: SourceLines | None = None
    turned_by: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return self.verdict in (Verdict.TRUE, Verdict.SHORT)


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """How many important words of a sentence that cites but does not quote are in the cited sources.

    That does not make it true: a sentence may have all of its words there and say the opposite.
    """

    sentence: Sentence
    cited: tuple[int, ...]
    words: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def found(self) -> int:
        return len(self.words) - len(self.missing)


@dataclass(frozen=True, slots=True)
class AnswerCheck:
    """The result of checking an answer.

    `comparisons` are those of the pack's sources, in order; `cited` counts the citations of each number, including
    those beyond the limit of `citations`; `uncited` are the sentences without a citation or quotation; `unchecked` is
    what may or may not be a quotation.
    """

    pack: PackFile
    comparisons: tuple[SourceComparison, ...]
    citations: tuple[CheckedCitation, ...]
    quotations: tuple[CheckedQuotation, ...]
    sentences: tuple[CheckedSentence, ...]
    uncited: tuple[Sentence, ...]
    unchecked: tuple[UnclearQuotation, ...] = ()
    cited: Counter[int] = field(default_factory=Counter)

    @property
    def holds(self) -> bool:
        """Whether every cited source is present and unchanged, and every quotation true."""
        return all(each.holds for each in self.citations) and all(each.holds for each in self.quotations)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form of `excerpt check`: sources with their state, and at most MAX_TOLD of each finding."""
        citations, quotations = limit_findings(self.citations), limit_findings(self.quotations)
        sentences, uncited = self.sentences[:MAX_LISTED_FINDINGS], self.uncited[:MAX_LISTED_FINDINGS]
        unchecked = self.unchecked[:MAX_LISTED_FINDINGS]
        return {
            "true": self.holds,
            "sources": [
                _source_to_dict(source, comparison, self.cited.get(source.number, 0))
                for source, comparison in zip(self.pack.sources, self.comparisons, strict=True)
            ],
            "citations": [
                {**select_fields(each.citation, "line", "text"), **select_fields(each, "number", "state", "times")}
                for each in citations
            ],
            "quotations": [_quotation_to_dict(each) for each in quotations],
            "sentences": [
                {
                    **select_fields(each.sentence, "line", "text"),
                    **select_fields(each, "cited"),
                    "words": len(each.words),
                    **select_fields(each, "found", "missing"),
                }
                for each in sentences
            ],
            "uncited": [select_fields(each, "line", "text") for each in uncited],
            "unchecked": as_data(unchecked),
            "more": {
                "citations": self.cited.total() - sum(each.times for each in citations),
                "quotations": len(self.quotations) - len(quotations),
                "sentences": len(self.sentences) - len(sentences),
                "uncited": len(self.uncited) - len(uncited),
                "unchecked": len(self.unchecked) - len(unchecked),
            },
        }


MAX_LISTED_FINDINGS = 1_000
"""The most findings of each kind that are listed: any answer that is read has fewer."""
_MAX_CITED_NUMBERS = 20  # numbers of a quotation


class _HasVerdict(Protocol):
    @property
    def holds(self) -> bool: ...


FindingType = TypeVar("FindingType", bound=_HasVerdict)


def limit_findings(items: Sequence[FindingType]) -> Sequence[FindingType]:
    """Return the findings that are listed, in order; if there are more, those that do not hold first."""
    if len(items) <= MAX_LISTED_FINDINGS:
        return items
    first = sorted(range(len(items)), key=lambda number: items[number].holds)[:MAX_LISTED_FINDINGS]
    return [items[number] for number in sorted(first)]


def _source_to_dict(source: PackSource, comparison: SourceComparison, cited: int) -> dict[str, Any]:
    is_gone = comparison.state is SourceState.GONE
    return {
        **select_fields(source, "number", "path", "line_start", "line_end"),
        **({"place": location_to_dict(source.place)} if source.place else {}),
        "cited": cited,
        "state": comparison.state,
        "intact": source.intact,
        "now": None if is_gone else select_fields(comparison, "path", "line_start", "line_end", "text"),
    }


def _quotation_to_dict(checked: CheckedQuotation) -> dict[str, Any]:
    quotation = checked.quotation
    return {
        **select_fields(quotation, "line", "kind", "text"),
        "cited": quotation.cited[:_MAX_CITED_NUMBERS],
        **select_fields(checked, "verdict", "differences"),
        "similarity": round(checked.similarity, 3),
        **select_fields(checked, "place", "now", "turned_by"),
    }
