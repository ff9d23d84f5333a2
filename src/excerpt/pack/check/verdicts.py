"""The results of the check of an answer, for each of its citations, quotations and sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from excerpt.base.json_forms import attributes_to_json, to_json_value
from excerpt.base.locations import location_to_dict
from excerpt.pack.check.answer import Citation, Quotation, Sentence, UnpairedQuotationMark
from excerpt.pack.check.quotations import QuotationDifference
from excerpt.pack.check.source_state import SourceComparison, SourceState
from excerpt.pack.formats.pack_format import PackFile, PackSource
from excerpt.text.display import format_count


class Verdict(StrEnum):
    """The verdict on a quotation in an answer.

    TRUE: the cited source has the quotation; or it cites no source, and the pack or the vault has it. CHANGED: the pack
    has it, but the vault no longer does. MISATTRIBUTED: another source or note has it, not the cited one. ALTERED: a
    very similar text is found, or an ellipsis in the quotation leaves out words that reverse the meaning. INVENTED: no
    similar text is found. SHORT: no similar text is found, but it has so few words that it may not be a quotation.
    """

    TRUE = "true"
    CHANGED = "changed"
    MISATTRIBUTED = "misattributed"
    ALTERED = "altered"
    INVENTED = "invented"
    SHORT = "short"


@dataclass(frozen=True, slots=True)
class SourceLines:
    """The lines of a note in which a passage was found.

    `passage` is the text that was found. `source` is the number of the source in the pack that has it; path and lines
    are then as the pack gives them. `source` is None for a passage found only in the vault. `place` is the location in
    an attachment, such as a page; "" in a note.
    """

    path: str
    line_start: int
    line_end: int
    passage: str
    source: int | None = None
    place: str = ""


@dataclass(frozen=True, slots=True)
class CheckedCitation:
    """A source number in a citation, such as the 2 of `[1, 2]`, with the state of the source.

    `comparison` is None if the pack has no source of that number. A number that does not hold is listed only once, with
    its first citation; the answer cites it `times` times.
    """

    citation: Citation
    number: int
    comparison: SourceComparison | None
    times: int = 1

    @property
    def state(self) -> SourceState:
        """The state of the cited source, UNKNOWN if the pack has no such source."""
        return SourceState.UNKNOWN if self.comparison is None else self.comparison.state

    @property
    def holds(self) -> bool:
        """Whether the pack has the cited source, and the vault still has its text."""
        return self.state in (SourceState.STANDS, SourceState.MOVED)


@dataclass(frozen=True, slots=True)
class CheckedQuotation:
    """A quotation with its verdict.

    `place` has the passage that was found, or else the most similar passage; None if there is neither. `differences`
    are small differences from a passage that was found. `similarity` to the passage is 0 to 1. `now` is where the vault
    has the quotation now; None if it does not have it. `turned_by` are words that an ellipsis leaves out and that
    reverse the meaning, such as "not".
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
        """Whether the quotation is true, or too short to be judged."""
        return self.verdict in (Verdict.TRUE, Verdict.SHORT)


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """A sentence that cites sources without quoting them, with its important words.

    `cited` are the numbers of its sources; `words` are its important words, `missing` those that no cited source has,
    names and numbers first. `holds` is whether the sources have its names and numbers, and enough of its other words,
    or their meaning. A sentence that holds may still be false.
    """

    sentence: Sentence
    cited: tuple[int, ...]
    words: tuple[str, ...]
    missing: tuple[str, ...]
    holds: bool

    @property
    def found(self) -> int:
        """How many of the sentence's important words occur in a source that it cites."""
        return len(set(self.words) - set(self.missing))


@dataclass(frozen=True, slots=True)
class AnswerCheck:
    """The result of the check of an answer.

    `comparisons` has the comparison of each source in the pack with the vault, in the order of the sources. `sentences`
    cite but do not quote; `uncited` are sentences without a citation or quotation. `unchecked` are texts that may or
    may not be quotations. `cited` has the number of citations by source number; `citations` may have fewer (a limit).
    """

    pack: PackFile
    comparisons: tuple[SourceComparison, ...]
    citations: tuple[CheckedCitation, ...]
    quotations: tuple[CheckedQuotation, ...]
    sentences: tuple[CheckedSentence, ...]
    uncited: tuple[Sentence, ...]
    unchecked: tuple[UnpairedQuotationMark, ...] = ()
    cited: Counter[int] = field(default_factory=Counter)

    @property
    def not_found(self) -> tuple[CheckedSentence, ...]:
        """The sentences whose words are not found in the sources that they cite."""
        return tuple(each for each in self.sentences if not each.holds)

    @property
    def holds(self) -> bool:
        """Whether all citations and quotations hold, and the sources of sentences have their words."""
        findings: Sequence[Sequence[_HasVerdict]] = (self.citations, self.quotations, self.sentences)
        return all(each.holds for kind in findings for each in kind)

    def describe_not_found(self) -> str:
        """Return how many sentences have words that are not found, for a summary; "" if there are none."""
        if not self.not_found:
            return ""
        where = "the source it cites" if len(self.not_found) == 1 else "the sources they cite"
        return f"{len(self.not_found):,} of {format_count(len(self.sentences), 'sentence')}: words not found in {where}"

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form, which `excerpt check --json` prints.

        It lists at most MAX_LISTED_FINDINGS of each kind of finding, and the number of further ones.
        """
        citations, quotations = limit_findings(self.citations), limit_findings(self.quotations)
        sentences, uncited = limit_findings(self.sentences), self.uncited[:MAX_LISTED_FINDINGS]
        unchecked = self.unchecked[:MAX_LISTED_FINDINGS]
        return {
            "true": self.holds,
            "not_found": len(self.not_found),
            "sources": [
                _source_to_dict(source, comparison, self.cited.get(source.number, 0))
                for source, comparison in zip(self.pack.sources, self.comparisons, strict=True)
            ],
            "citations": [
                {
                    **attributes_to_json(each.citation, "line", "text"),
                    **attributes_to_json(each, "number", "state", "times"),
                }
                for each in citations
            ],
            "quotations": [_quotation_to_dict(each) for each in quotations],
            "sentences": [
                {
                    **attributes_to_json(each.sentence, "line", "text"),
                    **attributes_to_json(each, "cited"),
                    "not_found": not each.holds,
                    "words": len(each.words),
                    **attributes_to_json(each, "found", "missing"),
                }
                for each in sentences
            ],
            "uncited": [attributes_to_json(each, "line", "text") for each in uncited],
            "unchecked": to_json_value(unchecked),
            "more": {
                "citations": self.cited.total() - sum(each.times for each in citations),
                "quotations": len(self.quotations) - len(quotations),
                "sentences": len(self.sentences) - len(sentences),
                "uncited": len(self.uncited) - len(uncited),
                "unchecked": len(self.unchecked) - len(unchecked),
            },
        }


MAX_LISTED_FINDINGS = 1_000
"""Maximum number of findings of each kind that are listed: any answer that a person reads has fewer."""
_MAX_CITED_NUMBERS = 20  # source numbers that are listed for a quotation


class _HasVerdict(Protocol):
    @property
    def holds(self) -> bool: ...


FindingType = TypeVar("FindingType", bound=_HasVerdict)


def limit_findings(items: Sequence[FindingType]) -> Sequence[FindingType]:
    """Return at most MAX_LISTED_FINDINGS of `items`, in order.

    Items that do not hold are kept before others.
    """
    if len(items) <= MAX_LISTED_FINDINGS:
        return items
    first = sorted(range(len(items)), key=lambda number: items[number].holds)[:MAX_LISTED_FINDINGS]
    return [items[number] for number in sorted(first)]


def _source_to_dict(source: PackSource, comparison: SourceComparison, cited: int) -> dict[str, Any]:
    is_gone = comparison.state is SourceState.GONE
    return {
        **attributes_to_json(source, "number", "path", "line_start", "line_end"),
        **({"place": location_to_dict(source.place)} if source.place else {}),
        "cited": cited,
        "state": comparison.state,
        "intact": source.is_intact,
        "now": None if is_gone else attributes_to_json(comparison, "path", "line_start", "line_end", "text"),
    }


def _quotation_to_dict(checked: CheckedQuotation) -> dict[str, Any]:
    quotation = checked.quotation
    return {
        **attributes_to_json(quotation, "line", "kind", "text"),
        "cited": quotation.cited[:_MAX_CITED_NUMBERS],
        **attributes_to_json(checked, "verdict", "differences"),
        "similarity": round(checked.similarity, 3),
        **attributes_to_json(checked, "place", "now", "turned_by"),
    }
