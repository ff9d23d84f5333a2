"""Simulate users who search again: `make learning`, or `python -m benchmarks.learning`.

A simulated user looks for notes, some far more often than others (Zipf), each time with one of the questions that the
set has for the note. The list is judged first; then the user opens the note, the more rarely the lower it is, or now
and then a wrong one, and the ranking learns from that. Everything is compared with the same searches without learning,
in thousandths of MRR@10.

What such users cannot show: whether people repeat themselves as often, in these words, and with these mistakes.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.cases import Case, Cases, auto, collect, listed, score
from benchmarks.judgements import FIRST, Outside, QualityError
from benchmarks.measure import result, table, write_option
from benchmarks.quality import prepare
from excerpt.base.settings import user_paths
from excerpt.search import reopened
from excerpt.search.ranking import ScoredFragments
from excerpt.search.reopened import ComparedQuestion, LearnedUses, PastUses, add_reopened_signal, select_words
from excerpt.search.usage import UseEvent, UseKind

SETS = ("obsidian-help-en.dev", "dendron-site.dev", "powershell-docs-one.dev", "cpp-docs.dev")
SEEDS = 20
EVENTS = 200
EARLY_EVENTS = 50
SEARCHES_A_DAY = 4
OPEN_EXPONENT = -0.3
"""A note of rank r is opened with the probability r to this power."""
WRONG_SHARE = 0.1
"""Share of searches after which another of the first ten notes is opened."""
SHIFTED_SHARE = 0.3
"""Share of repeated questions, where intents shift, that mean another note than before."""

_DAY_SECONDS = 86_400


@dataclass(frozen=True)
class Ranker:
    """A way to learn: the signal's weight and constants; `by_note` learns which notes are used, whatever the words."""

    name: str
    weight: float = reopened.REOPENED_WEIGHT
    skip_share: float = reopened.SKIP_SHARE
    common_words: float = reopened.MIN_COMMON_WORDS
    uses: float = reopened.HALF_VALUE_USES
    by_note: bool = False

    @contextmanager
    def constants(self) -> Iterator[None]:
        """Use these constants inside this context."""
        values: dict[str, Any] = {
            "REOPENED_WEIGHT": self.weight,
            "SKIP_SHARE": self.skip_share,
            "MIN_COMMON_WORDS": self.common_words,
            "HALF_VALUE_USES": self.uses,
        }
        with patch.multiple(reopened, **values):
            yield

    def analyze(self, texts: Sequence[str]) -> list[ComparedQuestion]:
        """Return what questions are compared by, words alone; by note, all have the same."""
        every = (frozenset(("",)) if self.by_note else select_words(text, ("en",)) for text in texts)
        return [ComparedQuestion(words, np.zeros(1, np.float32)) for words in every]


SHIPPED = Ranker("shipped")
RANKERS = (
    SHIPPED,
    replace(SHIPPED, name="weight .2", weight=0.2),
    replace(SHIPPED, name="weight .4", weight=0.4),
    replace(SHIPPED, name="weight .6", weight=0.6),
    replace(SHIPPED, name="no skips", skip_share=0.0),
    replace(SHIPPED, name="similarity .67", common_words=0.67),
    replace(SHIPPED, name="same words only", common_words=1.0),
    Ranker("by note, .02", weight=0.02, by_note=True),
    Ranker("by note, .05", weight=0.05, by_note=True),
)


class Listing:
    """The list of one question, without and with what was learned."""

    def __init__(self, cases: Cases, case: Case) -> None:
        self._cases = cases
        self._case = case
        self._scored: ScoredFragments = score(case, auto())
        self._paths = [cases.places[row].path for row in self._scored.rows.tolist()]

    @property
    def text(self) -> str:
        return self._case.question.text

    @property
    def target(self) -> str:
        """The note that the question looks for."""
        return next(iter(self._case.question.grades))

    @cached_property
    def plain(self) -> list[str]:
        """The first ten notes without learning."""
        return self._notes(self._scored)

    def learned(self, uses: Mapping[str, PastUses]) -> list[str]:
        """Return the first ten notes with the past uses of notes for similar words."""
        positions = {position: uses[path] for path, position in self._best_positions.items() if path in uses}
        return self._notes(add_reopened_signal(self._scored, positions)) if positions else self.plain

    @cached_property
    def _best_positions(self) -> dict[str, int]:
        """The position of the best candidate of each note."""
        order = np.argsort(self._scored.scores, kind="stable").tolist()
        return {self._paths[position]: position for position in order}

    def _notes(self, scored: ScoredFragments) -> list[str]:
        paths = (hit.path for hit in listed(self._cases, self._case, scored, auto()))
        return list(dict.fromkeys(path for path in paths if path not in self._case.question.struck))[:FIRST]


@dataclass(frozen=True, slots=True)
class Search:
    """One search of a simulated user: the question, the note it means, and what the user knows of that note.

    `kind` is "repeat" (the note was opened for this question), "other words" (for another one), "new", or "shifted":
    the question was asked before and means another note today.
    """

    question: int
    target: str
    kind: str
    before: float
    after: float

    @property
    def gain(self) -> float:
        """The difference that learning makes, in MRR@10."""
        return self.after - self.before


def simulate(listings: Sequence[Listing], ranker: Ranker, seed: int, *, shifted: float = 0.0) -> list[Search]:
    """Return the searches of one user, in order; `shifted` is the share of repeats that mean another note."""
    chance = random.Random(seed)
    draw = _zipf_questions(listings, chance)
    learner = _Learner(ranker)
    opened_for: dict[str, set[int]] = {}
    asked: set[int] = set()
    searches: list[Search] = []
    for _ in range(EVENTS):
        question = draw()
        listing = listings[question]
        target, kind = listing.target, "new"
        others = [note for note in listing.plain if note != target]
        if question in asked and others and chance.random() < shifted:
            target, kind = chance.choice(others), "shifted"
        elif question in opened_for.get(target, ()):
            kind = "repeat"
        elif target in opened_for:
            kind = "other words"
        notes = learner.notes(listing)
        searches.append(Search(question, target, kind, _reciprocal(listing.plain, target), _reciprocal(notes, target)))
        asked.add(question)
        chosen = _choose(notes, target, chance)
        if chosen is not None:
            learner.open(listing, notes, chosen)
            opened_for.setdefault(chosen, set()).add(question)
    return searches


def gain_of_unopened(listings: Sequence[Listing], ranker: Ranker, seed: int) -> float:
    """Return what the notes gain that were never opened, after a user who always opens the first hit."""
    draw = _zipf_questions(listings, random.Random(seed))
    learner = _Learner(ranker)
    opened: set[str] = set()
    for _ in range(EVENTS):
        listing = listings[draw()]
        if notes := learner.notes(listing):
            learner.open(listing, notes, notes[0])
            opened.add(notes[0])
    gains = [
        _reciprocal(learner.notes(listing), listing.target) - _reciprocal(listing.plain, listing.target)
        for listing in listings
        if listing.target not in opened
    ]
    return statistics.fmean(gains) if gains else 0.0


class _Learner:
    """The log of one simulated user, and the lists that follow from it."""

    def __init__(self, ranker: Ranker) -> None:
        self._ranker = ranker
        self._questions: dict[str, ComparedQuestion] = {}
        self._events: list[UseEvent] = []
        self._uses: LearnedUses | None = None
        self._searches = 0

    def notes(self, listing: Listing) -> list[str]:
        """Return the first ten notes for a question, as the user has them today."""
        self._searches += 1
        with self._ranker.constants():
            if self._uses is None:
                self._uses = LearnedUses(self._events, self._analyze)
            return listing.learned(self._uses.find(self._analyze([listing.text])[0]))

    def open(self, listing: Listing, notes: Sequence[str], chosen: str) -> None:
        rank = notes.index(chosen)
        time = float(self._searches // SEARCHES_A_DAY * _DAY_SECONDS)
        event = UseEvent(time, UseKind.OPENED, listing.text, chosen, rank=rank + 1, above=tuple(notes[:rank]))
        self._events.append(event)
        self._uses = None

    def _analyze(self, texts: Sequence[str]) -> list[ComparedQuestion]:
        new = [text for text in texts if text not in self._questions]
        self._questions.update(zip(new, self._ranker.analyze(new), strict=True))
        return [self._questions[text] for text in texts]


def _zipf_questions(listings: Sequence[Listing], chance: random.Random) -> Callable[[], int]:
    """Return a function that draws a question: its note by Zipf's law, in random order, then one of its questions."""
    by_target: dict[str, list[int]] = {}
    for number, listing in enumerate(listings):
        by_target.setdefault(listing.target, []).append(number)
    targets = list(by_target)
    chance.shuffle(targets)
    weights = [1 / rank for rank in range(1, len(targets) + 1)]
    return lambda: chance.choice(by_target[chance.choices(targets, weights)[0]])


def _choose(notes: Sequence[str], target: str, chance: random.Random) -> str | None:
    """Return the note that the user opens, None for none."""
    others = [note for note in notes if note != target]
    if others and chance.random() < WRONG_SHARE:
        return chance.choices(others, [1 / rank for rank in range(1, len(others) + 1)])[0]
    if target in notes and chance.random() < (notes.index(target) + 1) ** OPEN_EXPONENT:
        return target
    return None


def _reciprocal(notes: Sequence[str], target: str) -> float:
    return 1 / (notes.index(target) + 1) if target in notes else 0.0


# --- report -----------------------------------------------------------------------------------------------------------

_KINDS = ("all", "new", "other words", "repeat", "shifted")
_COLUMNS = (
    *(f"{EARLY_EVENTS} searches: {kind}" for kind in _KINDS[:4]),
    *(f"{EVENTS}: {kind}" for kind in _KINDS[:4]),
    *("shifting: all", "shifting: repeat", "shifted"),
    "opens the first hit: unopened notes",
)

Gains = Mapping[str, float]
"""The mean gains of a ranker, by column."""


def measure_ranker(listings: Sequence[Listing], ranker: Ranker) -> Gains:
    """Return the gains of a ranker on one set: means over the searches of all users."""
    steady = [simulate(listings, ranker, seed) for seed in range(SEEDS)]
    shifting = [simulate(listings, ranker, seed, shifted=SHIFTED_SHARE) for seed in range(SEEDS)]
    early = [search for searches in steady for search in searches[:EARLY_EVENTS]]
    every, changing = ([search for searches in users for search in searches] for users in (steady, shifting))
    unopened = statistics.fmean(gain_of_unopened(listings, ranker, seed) for seed in range(SEEDS))
    gains = [
        *(_mean_gain(early, kind) for kind in _KINDS[:4]),
        *(_mean_gain(every, kind) for kind in _KINDS[:4]),
        *(_mean_gain(changing, kind) for kind in ("all", "repeat", "shifted")),
        unopened,
    ]
    return dict(zip(_COLUMNS, gains, strict=True))


def _mean_gain(searches: Sequence[Search], kind: str) -> float:
    gains = [search.gain for search in searches if kind in ("all", search.kind)]
    return statistics.fmean(gains) if gains else 0.0


def report(every: Mapping[str, Sequence[Listing]]) -> None:
    """Print the gains of each ranker, as means over the sets, and of the shipped one on each set."""
    by_ranker: dict[str, Gains] = {}
    for ranker in RANKERS:
        print(f"learning: {ranker.name}", file=sys.stderr, flush=True)
        by_set = {name: measure_ranker(listings, ranker) for name, listings in every.items()}
        by_ranker[ranker.name] = {
            column: statistics.fmean(gains[column] for gains in by_set.values()) for column in _COLUMNS
        }
        if ranker is SHIPPED:
            print(f"The shipped signal, {SEEDS} users a set:\n")
            _print_gains("set", {**by_set, "mean": by_ranker[ranker.name]})
    print("\nOther constants, means over the sets:\n")
    _print_gains("ranker", by_ranker)


def _print_gains(first_column: str, rows: Mapping[str, Gains]) -> None:
    table(
        (first_column, *_COLUMNS),
        [(name, *(f"{1000 * gains[column]:+.1f}" for column in _COLUMNS)) for name, gains in rows.items()],
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.learning", description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=Path("../shared"), help="folder with data/ and eval/")
    parser.add_argument("--sets", nargs="*", default=list(SETS), metavar="NAME", help="only these sets")
    write_option(parser, "learning")
    args = parser.parse_args()
    outside = Outside(args.data.resolve())
    try:
        outside.check()
    except QualityError as error:
        print(f"learning: {error}", file=sys.stderr)
        return 3
    os.environ["EXCERPT_HOME"] = str((outside.work / "home").resolve())
    with result("learning", "Learning from what is opened", write=args.write):
        every = {}
        for one in (one for one in outside.sets() if one.name in args.sets):
            prepare(outside, one)
            cases = collect(one, user_paths().index_folder(one.vault))
            every[one.name] = [Listing(cases, case) for case in cases.cases]
        report(every)
    return 0


if __name__ == "__main__":
    sys.exit(main())
