"""Runs of a gold set: the rank of each question's target, and a comparison with another run.

A run judges the settings. Nothing is learned from it: no weight changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from math import comb
from typing import Any

from msgspec import Struct

from excerpt.base.errors import NotFoundError
from excerpt.base.json_forms import attributes_to_json
from excerpt.base.kinds import Strategy
from excerpt.base.model import Fragment, Hit, Section
from excerpt.corpus.interface import Corpus
from excerpt.insight.notes import find_lines, find_section
from excerpt.search.engine import Engine
from excerpt.service.gold.questions import (
    GoldQuestion,
    GoldSet,
    GoldTarget,
    RelevantPlace,
    UnreadableLine,
    make_question,
    parse_question_line,
)

RANKED_HITS = 50
"""Number of first hits in which a target is looked for; a target below them counts as not found."""
TOP_HITS = 5
"""The first hits that `hit_at_5` counts."""
SEARCH_SETTINGS = ("search.", "vault.attachments.weight", "embedding.languages")
"""The beginnings of the keys of settings that change a search in the index as it is."""
SIGNIFICANCE = 0.05
"""The largest probability at which a difference is taken for more than chance."""

_COMPARED_HITS = 10  # other hits, with whose mean the signals of the right one are compared
_DIGITS = 6  # decimal places of figures in JSON, and of signals that are saved


# --- one run ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GoldRank:
    """The rank of the first hit that answers a question, counted from 1; None if it is not among the first hits.

    `targets` are the question's targets as text; `missing` are the targets that the vault does not have. `margins` has,
    for each signal, the hit's part in the score minus the average part of the other first hits.
    """

    id: str
    query: str
    targets: tuple[str, ...]
    rank: int | None = None
    missing: tuple[str, ...] = ()
    margins: Mapping[str, float] = field(default_factory=dict)

    @property
    def reciprocal_rank(self) -> float:
        """1 for the first hit, 1/2 for the second, 0 if the target is not found."""
        return 1 / self.rank if self.rank else 0.0


@dataclass(frozen=True, slots=True)
class GoldRun:
    """The ranks of all questions of a gold set at `time` (ISO 8601, UTC)."""

    time: str
    ranks: tuple[GoldRank, ...]

    @property
    def mrr(self) -> float:
        """Mean reciprocal rank, 0 to 1."""
        return mean_reciprocal_rank(self.ranks)

    @property
    def hit_at_5(self) -> float:
        """Share of the questions whose target is among the first five hits."""
        return share_in_top_hits(self.ranks)


def mean_reciprocal_rank(ranks: Sequence[GoldRank]) -> float:
    """Return the mean of the reciprocal ranks, 0 without ranks."""
    return sum(each.reciprocal_rank for each in ranks) / len(ranks) if ranks else 0.0


def share_in_top_hits(ranks: Sequence[GoldRank]) -> float:
    """Return the share of ranks that are at most TOP_HITS, 0 without ranks."""
    return sum(each.rank is not None and each.rank <= TOP_HITS for each in ranks) / len(ranks) if ranks else 0.0


def run_questions(engine: Engine, questions: Sequence[GoldQuestion], strategy: Strategy) -> GoldRun:
    """Ask all questions and return the ranks of their targets."""
    ranks = tuple(_rank_question(engine, question, strategy) for question in questions)
    return GoldRun(datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"), ranks)


def parse_target(corpus: Corpus, text: str) -> GoldTarget:
    """Return the target written as `NOTE`, `NOTE#Heading`, or `NOTE:LINE` (the section with that line).

    Raises NotFoundError if there is no such note or section.
    """
    lines = find_lines(corpus, text)
    if lines.heading:
        return _make_section_target(lines.path, find_section(corpus, lines.path, lines.heading))
    sections = [
        section
        for section in corpus.sections(lines.path)
        if lines.last is not None and section.line_start <= lines.first <= section.line_end
    ]
    return _make_section_target(lines.path, sections[-1]) if sections else GoldTarget(lines.path)


def parse_gold_set(corpus: Corpus, text: str) -> GoldSet:
    """Parse lines of a gold set, and return its questions with their targets as this vault names them.

    Targets that the vault does not have stay as they are written.
    """
    questions: list[GoldQuestion] = []
    unreadable: list[UnreadableLine] = []
    for number, data in enumerate(text.split("\n"), 1):
        if not data.strip():
            continue
        try:
            line, _ = parse_question_line(data.encode("utf-8", "surrogatepass"))
        except ValueError as error:
            unreadable.append(UnreadableLine(number, str(error)))
            continue
        targets = (_resolve_place(corpus, place) for place in line.relevant)
        questions.append(make_question(line.query, targets, str(line.id), line.exclude))
    return GoldSet(tuple(questions), tuple(unreadable))


def _resolve_place(corpus: Corpus, place: RelevantPlace) -> GoldTarget:
    if place.path in corpus.facets.numbers and place.heading:
        with suppress(NotFoundError):
            section = find_section(corpus, place.path, place.heading, place.line_start)
            return _make_section_target(place.path, section)
    return GoldTarget(place.path, place.heading or "")


def _make_section_target(path: str, section: Section) -> GoldTarget:
    return GoldTarget(path, section.place or "#".join(section.heading_path))


class _TargetLines(Struct, frozen=True):
    """The lines of a target in the vault as it is now."""

    path: str
    first: int
    last: int | None

    def has(self, fragment: Fragment) -> bool:
        """Return whether a fragment has lines of the target."""
        return fragment.path == self.path and (
            self.last is None or (fragment.line_start <= self.last and fragment.line_end >= self.first)
        )


def _find_lines(corpus: Corpus, target: GoldTarget) -> _TargetLines | None:
    """Return the lines of a target; None if its note or section is gone. A renamed note is found."""
    path: str | None = target.path
    if target.path not in corpus.facets.numbers:
        path = corpus.current_path(target.path)
    if path is None or path not in corpus.facets.numbers:
        return None
    if not target.heading:
        return _TargetLines(path, 1, None)
    try:
        section = find_section(corpus, path, target.heading)
    except NotFoundError:
        return None
    return _TargetLines(path, section.line_start, section.line_end)


def _rank_question(engine: Engine, question: GoldQuestion, strategy: Strategy) -> GoldRank:
    hits = [
        hit
        for hit in engine.search(question.query, strategy, RANKED_HITS, highlight_count=0).hits
        if hit.fragment.path not in question.exclude
    ]
    found = [(target, _find_lines(engine.snapshot, target)) for target in question.targets]
    places = [lines for _, lines in found if lines is not None]
    is_right = [any(lines.has(hit.fragment) for lines in places) for hit in hits]
    position = is_right.index(True) if any(is_right) else None
    others = [hit for hit, right in zip(hits, is_right, strict=True) if not right]
    return GoldRank(
        question.id,
        question.query,
        tuple(map(str, question.targets)),
        None if position is None else position + 1,
        tuple(str(target) for target, lines in found if lines is None),
        {} if position is None else _compute_margins(hits[position], others[:_COMPARED_HITS]),
    )


def _compute_margins(hit: Hit, others: Sequence[Hit]) -> dict[str, float]:
    """Return for each signal its part in the score of `hit` minus its mean part in the scores of `others`."""
    if not others:
        return {}
    margins = {signal.name: signal.part for signal in hit.signals}
    for other in others:
        for signal in other.signals:
            margins[signal.name] = margins.get(signal.name, 0.0) - signal.part / len(others)
    return {name: round(margin, _DIGITS) for name, margin in margins.items()}


# --- two runs ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GoldChange:
    """A question whose rank differs between two runs.

    `signal` is the signal by which its target gained most on the other hits, or lost most; None if no signal did, or
    the target was not found in one of the runs.
    """

    id: str
    query: str
    before: int | None
    after: int | None
    signal: str | None

    @property
    def is_better(self) -> bool:
        """Whether the target is nearer to the top than before."""
        return self.after is not None and (self.before is None or self.after < self.before)


@dataclass(frozen=True, slots=True)
class GoldComparison:
    """A comparison of two runs by the questions that both have, with the same targets.

    `time` is that of the run before, `questions` the number of questions compared. `mrr` and `hit_at_5` are those of
    the run before, `mrr_now` and `hit_at_5_now` those of the other. `p_value` is the probability that chance splits the
    changed questions as unevenly or more (two-sided sign test). `needed_majority` is how many of the changed
    questions have to go the same way for a difference that is more than chance; None if no split of so few is.
    """

    time: str
    questions: int
    mrr: float
    mrr_now: float
    hit_at_5: float
    hit_at_5_now: float
    better: int
    worse: int
    p_value: float
    needed_majority: int | None
    changes: tuple[GoldChange, ...]

    @property
    def min_changed(self) -> int:
        """The least number of changed questions, all in the same direction, that is more than chance: six."""
        return next(number for number in count(1) if needed_majority(number) is not None)

    @property
    def has_fallen(self) -> bool:
        """Whether the mean reciprocal rank is lower than before."""
        return self.mrr_now < self.mrr - 1e-9

    @property
    def is_significant(self) -> bool:
        """Whether the difference is more than chance."""
        return self.p_value < SIGNIFICANCE

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `excerpt gold run` writes in `comparison`."""
        names = ("mrr", "mrr_now", "hit_at_5", "hit_at_5_now", "p_value")
        return {
            **attributes_to_json(self, "time", "questions"),
            **{name: round(getattr(self, name), _DIGITS) for name in names},
            **attributes_to_json(self, "better", "worse", "needed_majority", "min_changed"),
            "fell": self.has_fallen,
            **attributes_to_json(self, "changes"),
        }


@dataclass(frozen=True, slots=True)
class GoldReport:
    """A run of a gold set, with its comparison: None if there is no run to compare with.

    `strategy` and `settings` are those of the run; `settings` has only what differs from the user's. `is_variant`: the
    run is compared with one under the user's settings, and not with the last run.
    """

    run: GoldRun
    strategy: Strategy
    settings: Mapping[str, object]
    is_variant: bool
    comparison: GoldComparison | None

    @property
    def setting_texts(self) -> tuple[str, ...]:
        """The settings as they are written on the command line, such as "search.boosts.links=false"."""
        return tuple(f"{key}={json.dumps(value)}" for key, value in self.settings.items())

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that `excerpt gold run` writes."""
        ranks = self.run.ranks
        return {
            "questions": len(ranks),
            "strategy": self.strategy,
            "settings": list(self.setting_texts),
            "mrr": round(self.run.mrr, _DIGITS),
            "hit_at_5": round(self.run.hit_at_5, _DIGITS),
            "ranks": [attributes_to_json(each, "id", "query", "rank") for each in ranks],
            "missing": [{"id": each.id, "query": each.query, "target": one} for each in ranks for one in each.missing],
            "compared_with": "your settings" if self.is_variant else "last run",
            "comparison": None if self.comparison is None else self.comparison.to_dict(),
        }


def compare_runs(before: GoldRun, after: GoldRun) -> GoldComparison | None:
    """Compare two runs of a gold set; return None if they have no question in common."""
    earlier = {(each.query, each.targets): each for each in before.ranks}
    pairs = [(earlier[key], each) for each in after.ranks if (key := (each.query, each.targets)) in earlier]
    if not pairs:
        return None
    old, new = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    changes = tuple(_find_changes(pairs))
    better = sum(change.is_better for change in changes)
    worse = len(changes) - better
    return GoldComparison(
        before.time,
        len(pairs),
        mean_reciprocal_rank(old),
        mean_reciprocal_rank(new),
        share_in_top_hits(old),
        share_in_top_hits(new),
        better,
        worse,
        sign_test(better, worse),
        needed_majority(len(changes)),
        changes,
    )


def _find_changes(pairs: Sequence[tuple[GoldRank, GoldRank]]) -> Iterator[GoldChange]:
    for before, after in pairs:
        if before.rank != after.rank:
            change = GoldChange(after.id, after.query, before.rank, after.rank, None)
            signal = _find_moving_signal(before, after, change.is_better)
            yield GoldChange(after.id, after.query, before.rank, after.rank, signal)


def _find_moving_signal(before: GoldRank, after: GoldRank, is_better: bool) -> str | None:
    """Return the signal whose margin grew most, or fell most if the target is lower now."""
    if not (before.margins and after.margins):
        return None
    direction = 1 if is_better else -1
    gains = {
        name: direction * (after.margins.get(name, 0.0) - before.margins.get(name, 0.0))
        for name in dict.fromkeys((*before.margins, *after.margins))
    }
    signal = max(gains, key=lambda name: gains[name])
    return signal if gains[signal] > 10**-_DIGITS else None


def sign_test(better: int, worse: int) -> float:
    """Return the exact two-sided p-value of the sign test for `better` and `worse` changed questions."""
    number = better + worse
    tail = sum(comb(number, k) for k in range(min(better, worse) + 1))
    return min(1.0, 2 * tail / (1 << number))


def needed_majority(changed: int) -> int | None:
    """Return how many of `changed` questions must agree for p < SIGNIFICANCE; None if even all would not be enough."""
    majorities = range((changed + 1) // 2, changed + 1)
    return next((most for most in majorities if sign_test(most, changed - most) < SIGNIFICANCE), None)
