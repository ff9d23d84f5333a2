"""Values that answers about a search are made of: its filters, explanations, news, and what a reranker reads.

They import nothing of the engine, so that whoever shows them needs only them. Hits are in `excerpt.base.model`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from msgspec import Struct

from excerpt.base.json_forms import attributes_to_json
from excerpt.base.kinds import FilterKind
from excerpt.base.model import Hit, HitRerank, Result, Signal
from excerpt.base.settings import Settings
from excerpt.text.periods import NamedPeriod

TOP_HITS = 10
"""Number of first hits of which at most `search.per_note` (a setting) are of one note."""
WINDOW_HITS = 20
"""Number of first hits that a reranker reads."""


def flag_more_of_note(notes: Iterable[Hashable], per_note: int) -> list[bool]:
    """Return for each hit of a list whether it is after rank TOP_HITS and beyond the first `per_note` of its note.

    `notes` are the notes of the hits, best first; 0 is no limit.
    """
    counts: Counter[Hashable] = Counter()
    flags: list[bool] = []
    for place, note in enumerate(notes, 1):
        flags.append(0 < per_note <= counts[note] and place > TOP_HITS)
        counts[note] += 1
    return flags


class Filter(Struct, frozen=True):
    """A filter of a query, such as `tag:work`.

    `name` is the name of the property to test, as `property_name` returns it, if `kind` is PROPERTY. `open` is true for
    the last filter of a text that is still being typed: its value may be unfinished, and then matches as a prefix.
    """

    kind: FilterKind
    value: str
    name: str = ""
    negated: bool = False
    open: bool = False


class QueryCondition(Struct, frozen=True):
    """A filter, an excluded word or an excluded phrase in a query text, from `start` to `end` (exclusive).

    `filter` is None for an excluded word or phrase. `open` is true for a condition at the end of the text, which may be
    unfinished.
    """

    start: int
    end: int
    filter: Filter | None = None
    open: bool = False


class QueryWarning(Struct, frozen=True):
    """A warning about a part of the query text, `start` to `end` (exclusive), that does not have its apparent effect.

    `message` gives the reason.
    """

    start: int
    end: int
    message: str


class QueryInterpretation(Struct, frozen=True):
    """The filters and exclusions of a query text, warnings about its parts without effect, and its periods, in order.

    `periods` are those that the words name: "in May 2025". `has_dates`: a note or heading of the vault has a date.
    """

    conditions: tuple[QueryCondition, ...] = ()
    warnings: tuple[QueryWarning, ...] = ()
    periods: tuple[NamedPeriod, ...] = ()
    has_dates: bool = True


@dataclass(frozen=True, slots=True)
class QueryNews:
    """The new and changed passages in the answer to a saved query, best hits first.

    `since` is when the user looked last, ISO 8601, UTC; None if that is unknown, and then nothing is new. `new` are the
    hits that were not found then, `changed` the hits whose text has changed since.
    """

    name: str
    query: str
    since: str | None = None
    new: tuple[Hit, ...] = ()
    changed: tuple[Hit, ...] = ()

    @property
    def count_text(self) -> str:
        """The numbers in words, such as "2 new, 1 changed"; "" if there is no news."""
        counts = ((len(self.new), "new"), (len(self.changed), "changed"))
        return ", ".join(f"{number} {label}" for number, label in counts if number)

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `excerpt news` writes for a query."""
        return {
            **attributes_to_json(self, "name", "query", "since"),
            "new": [hit.to_dict() for hit in self.new],
            "changed": [hit.to_dict() for hit in self.changed],
        }


class RerankRequest(Struct, frozen=True):
    """A request to a reranker: the words of the query, and the passage of each hit that may move, by fragment id."""

    query: str
    passages: Mapping[str, str]


class RerankScores(Struct, frozen=True):
    """The scores of a reranker by fragment id, 0 (the lowest) to 1 (the highest).

    Without scores, `warning` is a sentence that says why; it is empty if a newer request replaced this one.
    """

    scores: Mapping[str, float]
    warning: str = ""


def apply_scores(result: Result, answer: RerankScores, settings: Settings) -> Result:
    """Return a result with the hits that a reranker has scored in their new order; other hits keep their ranks.

    Their scores are mixed with the share `rerank.weight`; the signal `rerank` is the difference. As in the first order,
    a note has at most `search.per_note` of the first TOP_HITS hits if other hits are left. If a scored hit is no longer
    among the first ones, only the warning is added.
    """
    if answer.warning:
        return replace(result, warnings=(*result.warnings, answer.warning))
    window = list(result.hits[:WINDOW_HITS])
    movable = [at for at, hit in enumerate(window) if hit.fragment.id in answer.scores]
    if len(movable) < max(len(answer.scores), 1):
        return result
    weight = settings.rerank.weight
    fused = [window[at].score for at in movable]
    low, high = min(fused), max(fused)
    shares = [(score - low) / (high - low) if high > low else 0.0 for score in fused]
    reranked = [answer.scores[window[at].fragment.id] for at in movable]
    mixed = [(1 - weight) * share + weight * score for share, score in zip(shares, reranked, strict=True)]
    best_first = sorted(range(len(movable)), key=lambda number: -mixed[number])
    queue = [
        _with_rerank(window[movable[number]], movable[number] + 1, reranked[number], (low, high), weight)
        for number in best_first
    ]
    per_note = settings.search.per_note
    hits = (*_fill_places(window, movable, queue, per_note), *result.hits[WINDOW_HITS:])
    flags = flag_more_of_note((hit.path for hit in hits), 0 if result.sort else per_note)
    return replace(
        result, hits=tuple(replace(hit, more_of_note=is_more) for hit, is_more in zip(hits, flags, strict=True))
    )


def _with_rerank(hit: Hit, place: int, score: float, bounds: tuple[float, float], weight: float) -> Hit:
    """Return a hit with the mixed score; `bounds` are the lowest and highest score of the hits that may move."""
    low, high = bounds
    value = low + (high - low) * score - hit.score
    signal = Signal("rerank", value, weight, value * weight)
    return replace(
        hit, score=hit.score + signal.part, signals=(*hit.signals, signal), rerank=HitRerank(score, moved_from=place)
    )


def _fill_places(window: Sequence[Hit], movable: Sequence[int], queue: list[Hit], per_note: int) -> list[Hit]:
    """Return `window` with the hits of `queue`, best first, at the places `movable`."""
    hits = list(window)
    kept = [hit.path for at, hit in enumerate(window[:TOP_HITS]) if at not in set(movable)]
    for place in movable:
        # A hit of a note that has its share of the first hits waits for a later place.
        free = (number for number, hit in enumerate(queue) if not per_note or kept.count(hit.path) < per_note)
        hits[place] = queue.pop(next(free, 0) if place < TOP_HITS else 0)
        if place < TOP_HITS:
            kept.append(hits[place].path)
    return hits


MAX_COMMON_WEIGHT = 0.9
"""The weight (`WordContribution.term_weight`, 0 to 1) below which a word is called common: "how" .35, "undo" .94."""


class TermLikeness(StrEnum):
    """How a term of the vault resembles a word of the query.

    EXACT: it is a stem of the word. BEGINS: it begins with the word. SPELLED: it is spelled similarly.
    """

    EXACT = "exact"
    BEGINS = "begins like"
    SPELLED = "spelled like"


@dataclass(frozen=True, slots=True)
class TermVariant:
    """Terms of the vault that match a query word equally well.

    `share` is the factor for their score, 0 to 1.
    """

    likeness: TermLikeness
    terms: tuple[str, ...]
    share: float


@dataclass(frozen=True, slots=True)
class FieldCount:
    """The number of occurrences of a word in one field of a fragment, such as "title"."""

    field: str
    count: int


@dataclass(frozen=True, slots=True)
class WordContribution:
    """What a word of the query contributes to the score of one fragment.

    In a script without spaces, the word is a run of characters that the fragment has or lacks together.
    `stands_for`: the terms of the vault that match the word. `fragments`: the number of fragments in the vault that
    have one of these terms. `idf`: the rarity of the word. `term_weight`: the weight of the idf, 0 to 1, low for a word
    such as "the". `terms`: the terms that this fragment has; empty if it lacks the word. `places`: where they occur.
    `part`: what the word adds to the weighted signal `words` of the fragment.
    """

    word: str
    stands_for: tuple[TermVariant, ...]
    fragments: int
    idf: float
    term_weight: float
    terms: tuple[str, ...]
    places: tuple[FieldCount, ...]
    part: float

    @property
    def is_missing(self) -> bool:
        """Whether the fragment does not have the word."""
        return not self.terms

    @property
    def where(self) -> tuple[str, ...]:
        """The fields of the fragment that have the word, with its number of occurrences, as texts: "title 1"."""
        if self.is_missing:
            return ("not here" if self.fragments else "nowhere in the vault",)
        return tuple(f"{place.field} {place.count}" for place in self.places)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks to show beside the figures: which similar terms match, and whether the word is common everywhere."""
        remarks: list[str] = []
        for like in self.stands_for:
            if like.likeness is not TermLikeness.EXACT:
                terms = [term for term in like.terms if term in self.terms] or like.terms
                how = "begins with it" if like.likeness is TermLikeness.BEGINS else "similar spelling"
                remarks.append(f"{', '.join(terms)}: {how} (×{like.share:.2f})")
        if self.fragments and self.term_weight < MAX_COMMON_WEIGHT:
            remarks.append(f"common word (×{self.term_weight:.2f})")
        return tuple(remarks)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of a hit.

    `rank` counts from 1. `share` is the score of the hit divided by the highest score, 0 to 1. `words` has
    what each word of the query contributes.
    """

    hit: Hit
    rank: int
    share: float
    words: tuple[WordContribution, ...]

    @property
    def missing_words(self) -> tuple[WordContribution, ...]:
        """The query words that the fragment does not have, those with the highest weighted idf first."""
        missing = (word for word in self.words if word.is_missing)
        return tuple(sorted(missing, key=lambda word: -word.idf * word.term_weight))

    @property
    def rerank_note(self) -> str:
        """The effect of reranking, such as "reranked: 4 → 1 (0.83)": ranks before and after, and score; "" for none."""
        rerank = self.hit.rerank
        if rerank is None:
            return ""
        places = "same place" if rerank.moved_from == self.rank else f"{rerank.moved_from} → {self.rank}"
        return f"reranked: {places} ({rerank.score:.2f})"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that `excerpt search --explain --json` adds to the hit."""
        return attributes_to_json(self, "rank", "share", "words")


@dataclass(frozen=True, slots=True)
class SignalGap:
    """The difference between a fragment and the hits above it in one signal.

    `value` is the value of the signal for the fragment, `above` its mean for the hits above. `cost` is how much lower
    the score of the fragment is because of the difference.
    """

    signal: str
    value: float
    above: float
    cost: float
