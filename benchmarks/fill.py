"""Measure where packs end: `python -m benchmarks.fill`.

For each set, packs that end where the scores fall off (`pack.fill = "enough"`) are compared with packs that are filled
up to their budget, and with packs of a fixed number of hits: the share of the answers inside, and the tokens. A pack
holds an answer if it has a line of a judged section, or of a judged note. Where many notes are judged, the share of
them is counted.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.judgements import Outside, Place, QualityError, QuerySet, Question
from benchmarks.measure import result, table, write_option
from benchmarks.packs import TOKENIZER, Found, inside, questions_with_hits
from benchmarks.targets import verdict
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.kinds import Fill, StopReason
from excerpt.pack.build import build_pack
from excerpt.settings import PackSettings, Settings, user_paths

BUDGETS = (1_000, 4_000, 16_000)
CURVE = (250, 500, 1_000, 2_000, 4_000, 16_000)
"""Budgets of filled packs, the curve that packs that end early must not be below."""
FIXED = (1, 2, 3, 4, 5)
"""Numbers of hits in packs of a fixed number, at the middle one of BUDGETS."""
MAX_QUESTIONS = 150
"""Number of questions of each set, evenly spaced."""

MIN_HELD = 0.97
"""The required share of the answers in packs that end early, of those in packs filled to the budget."""
MAX_BELOW = 0.005
"""How much less than filled packs of as many tokens they may hold in a set, less than one question."""
MAX_TOKENS = 0.5
"""The largest share of the tokens, in the median at the middle one of BUDGETS."""


@dataclass(frozen=True, slots=True)
class Packed:
    """The packs of all questions with the same settings.

    `held` is the mean share of the answers inside, `tokens` the median and `mean_tokens` the mean of their tokens,
    `empty` the share of packs that are empty because no hit is likely to answer.
    """

    held: float
    tokens: float
    mean_tokens: float
    empty: float


def held_share(question: Question, lines: Sequence[Place], *, judged: bool) -> float:
    """Return the share of the judged notes in a pack; of a single answer, 1 if it is inside, else 0."""
    if judged:
        return len({line.path for line in lines} & question.grades.keys()) / len(question.grades)
    return float(any(inside(question, line) for line in lines))


def measure_packs(snapshot: Snapshot, found: Sequence[Found], settings: PackSettings, *, judged: bool) -> Packed:
    """Build the pack of each question and measure what it holds."""
    held, tokens, empty = [], [], 0
    for each in found:
        packed = build_pack(
            snapshot,
            each.hits,
            query=each.question.text,
            strategy=each.strategy,
            settings=settings,
            tokenizer=TOKENIZER,
        )
        lines = [Place(pack.path, pack.line_start, pack.line_end) for pack in packed.packs]
        held.append(held_share(each.question, lines, judged=judged))
        tokens.append(packed.tokens)
        empty += packed.stopped is StopReason.NO_ANSWER
    return Packed(statistics.fmean(held), statistics.median(tokens), statistics.fmean(tokens), empty / len(found))


@dataclass(frozen=True, slots=True)
class Measured:
    """The results of a set: packs filled to the budget and packs that end early by budget, and by number of hits."""

    name: str
    filled: dict[int, Packed]
    enough: dict[int, Packed]
    fixed: dict[int, Packed]

    def above_curve(self, budget: int) -> float:
        """Return how much more packs that end early hold than filled packs of as many tokens, on average.

        The share for filled packs is interpolated between those of CURVE.
        """
        ours, curve = self.enough[budget], sorted(self.filled.values(), key=lambda each: each.mean_tokens)
        filled = np.interp(ours.mean_tokens, [each.mean_tokens for each in curve], [each.held for each in curve])
        return ours.held - float(filled)


def measure_set(query_set: QuerySet) -> Measured:
    """Return what the packs of a set of questions hold."""
    folder = user_paths().index_folder(query_set.vault.resolve())
    build(query_set.vault, folder, Settings())
    judged = query_set.collection is not None
    snapshot = Snapshot.open(folder, Settings())
    try:
        found = questions_with_hits(query_set, snapshot)
        found = found[:: max(1, -(-len(found) // MAX_QUESTIONS))]

        def measure(budget: int, fill: Fill, limit: int = PackSettings().limit) -> Packed:
            settings = PackSettings(budget=budget, fill=fill, limit=limit)
            return measure_packs(snapshot, found, settings, judged=judged)

        return Measured(
            query_set.name,
            {budget: measure(budget, Fill.BUDGET) for budget in CURVE},
            {budget: measure(budget, Fill.ENOUGH) for budget in BUDGETS},
            {limit: measure(BUDGETS[1], Fill.BUDGET, limit) for limit in FIXED},
        )
    finally:
        snapshot.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fill")
    parser.add_argument("--data", type=Path, default=Path("../shared"), help="folder with data/ and eval/")
    parser.add_argument("--sets", nargs="*", metavar="NAME", help="only these sets")
    write_option(parser, "fill")
    args = parser.parse_args()
    if args.write and args.sets:
        parser.error("--write keeps the tables of all sets")
    outside = Outside(args.data.resolve())
    try:
        outside.check()
    except QualityError as error:
        raise SystemExit(str(error)) from error
    os.environ.setdefault("EXCERPT_HOME", str((outside.work / "home").resolve()))
    with result("fill", "Where packs end", write=args.write):
        sets = [measure_set(each) for each in outside.sets() if not args.sets or each.name in args.sets]
        _report(sets)


def _report(sets: Sequence[Measured]) -> None:
    for budget in BUDGETS:
        head = (f"{budget:,} tokens", "held", "filled", "share", "tokens", "filled", "share", "empty", "above curve")
        rows = []
        for each in sets:
            ours, filled = each.enough[budget], each.filled[budget]
            figures = (ours.held, filled.held, ours.held / filled.held if filled.held else 1.0)
            spent = (f"{ours.tokens:,.0f}", f"{filled.tokens:,.0f}", f"{ours.tokens / filled.tokens:.2f}")
            rows.append(
                (
                    each.name,
                    *(f"{figure:.3f}" for figure in figures),
                    *spent,
                    f"{ours.empty:.3f}",
                    f"{each.above_curve(budget):+.3f}",
                )
            )
        table(head, rows)
        print()
    middle = BUDGETS[1]
    head = (f"held with {middle:,} tokens: tokens", *(str(number) for number in FIXED), "enough", "filled")
    rows = []
    for each in sets:
        packs = (*each.fixed.values(), each.enough[middle], each.filled[middle])
        rows.append((each.name, *(f"{packed.held:.3f}: {packed.tokens:,.0f}" for packed in packs)))
    table(head, rows)
    print()
    share = sum(each.enough[middle].held for each in sets) / sum(each.filled[middle].held for each in sets)
    print(verdict(share >= MIN_HELD, f"packs that end early hold {share:.3f} of the answers of filled ones"))
    tokens = statistics.median(each.enough[middle].tokens / each.filled[middle].tokens for each in sets)
    print(verdict(tokens <= MAX_TOKENS, f"with {tokens:.2f} of their tokens in the median"))
    below = [each.name for each in sets if each.above_curve(middle) < -MAX_BELOW]
    print(verdict(not below, f"sets where filled packs of as many tokens hold more: {', '.join(below) or 'none'}"))


if __name__ == "__main__":
    main()
