"""Measure where packs end: `python -m benchmarks.fill`.

For each set, packs that end where the scores fall off (`pack.fill = "enough"`) are compared with packs that are filled
up to their budget, and with packs of a fixed number of hits: the share of the answers inside, and the tokens. A pack
holds an answer if it has a line of a judged section, or of a judged note. Where many notes are judged, the share of
them is counted.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.judgements import Place, QuerySet, open_outside
from benchmarks.measure import result, table, write_option
from benchmarks.packs import SETS, TOKENIZER, Found, inside, questions_with_hits
from benchmarks.targets import verdict
from excerpt.base.kinds import Confidence, Fill
from excerpt.base.model import QuestionWord
from excerpt.base.settings import PackSettings, Settings, user_paths
from excerpt.index.build import build
from excerpt.index.snapshot import Snapshot
from excerpt.pack.build import build_pack
from excerpt.search.engine import Engine
from excerpt.text.display import format_count

BUDGETS = (1_000, 4_000, 16_000)
CURVE = (250, 500, 1_000, 2_000, 4_000, 16_000)
"""Budgets of filled packs, the curve that packs that end early must not be below."""
FIXED = (1, 2, 3, 4, 5)
"""Numbers of hits in packs of a fixed number, at the middle one of BUDGETS."""
MAX_QUESTIONS = 500
"""Number of questions of each set, evenly spaced."""

MIN_HELD = 0.97
"""The required share of the answers in packs that end early, of those in packs filled to the budget."""
MAX_TOKENS = 0.5
"""The largest share of the tokens, in the median at the middle one of BUDGETS."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its hits, without the notes that its words were taken from.

    `answers` says whether any of the first hits, with those notes, is likely to answer, as in the program, and `words`
    are the content words of the question.
    """

    found: Found
    answers: bool
    words: tuple[QuestionWord, ...]


@dataclass(frozen=True, slots=True)
class Packed:
    """The packs of all questions with the same settings.

    `answered` is the number of packs with a line of an answer, `recall` the mean share of the judged notes inside (of
    questions with one answer: of answered packs), `tokens` the median and `mean_tokens` the mean of their tokens,
    `empty` the share of packs that are empty because no hit is likely to answer.
    """

    answered: int
    recall: float
    tokens: float
    mean_tokens: float
    empty: float


def ask_questions(query_set: QuerySet, snapshot: Snapshot) -> list[Asked]:
    """Search for up to MAX_QUESTIONS questions of a set."""
    engine = Engine(snapshot, Settings())
    found = questions_with_hits(query_set, snapshot)
    chosen = found[:: max(1, -(-len(found) // MAX_QUESTIONS))]
    results = (engine.search(each.question.text, highlight_count=0) for each in chosen)
    return [
        Asked(each, result.confidence is not Confidence.NOTHING, tuple(result.words))
        for each, result in zip(chosen, results, strict=True)
    ]


def measure_packs(
    snapshot: Snapshot, asked: Sequence[Asked], settings: PackSettings, *, judged: bool, hit_count: int | None = None
) -> Packed:
    """Build the pack of each question and measure what it holds; of filled packs, from `hit_count` hits, or all."""
    answered, recall, tokens, empty = 0, [], [], 0
    for each in asked:
        question, hits = each.found.question, each.found.hits
        if settings.fill is Fill.ENOUGH and not each.answers:
            empty += 1
            recall.append(0.0)
            tokens.append(0)
            continue
        if each.answers and hits:  # without the left out notes, the first five could all be nothing
            hits = (replace(hits[0], confidence=Confidence.WEAK), *hits[1:])
        packed = build_pack(
            snapshot,
            hits if settings.fill is Fill.ENOUGH else hits[:hit_count],
            query=question.text,
            strategy=each.found.strategy,
            settings=settings,
            tokenizer=TOKENIZER,
            words=each.words,
        )
        lines = [Place(pack.path, pack.line_start, pack.line_end) for pack in packed.passages]
        has_answer = any(inside(question, line) for line in lines)
        answered += has_answer
        notes = len({line.path for line in lines} & question.grades.keys())
        recall.append(notes / len(question.grades) if judged else float(has_answer))
        tokens.append(packed.tokens)
    return Packed(
        answered, statistics.fmean(recall), statistics.median(tokens), statistics.fmean(tokens), empty / len(asked)
    )


@dataclass(frozen=True, slots=True)
class Measured:
    """The results of a set: packs filled to the budget and packs that end early by budget, and by number of hits."""

    name: str
    count: int
    filled: dict[int, Packed]
    enough: dict[int, Packed]
    fixed: dict[int, Packed]

    def above_curve(self, budget: int) -> float:
        """Return how much more recall packs that end early have than filled packs of as many tokens, on average.

        The recall of filled packs is interpolated between those of CURVE.
        """
        ours, curve = self.enough[budget], sorted(self.filled.values(), key=lambda each: each.mean_tokens)
        filled = np.interp(ours.mean_tokens, [each.mean_tokens for each in curve], [each.recall for each in curve])
        return ours.recall - float(filled)


def measure_set(query_set: QuerySet) -> Measured:
    """Return what the packs of a set of questions hold."""
    folder = user_paths().index_folder(query_set.vault.resolve())
    build(query_set.vault, folder, Settings())
    snapshot = Snapshot.open(folder, Settings())
    try:
        asked = ask_questions(query_set, snapshot)

        def measure(budget: int, fill: Fill, hit_count: int | None = None) -> Packed:
            settings = PackSettings(budget=budget, fill=fill)
            judged = query_set.collection is not None
            return measure_packs(snapshot, asked, settings, judged=judged, hit_count=hit_count)

        return Measured(
            query_set.name,
            len(asked),
            {budget: measure(budget, Fill.BUDGET) for budget in CURVE},
            {budget: measure(budget, Fill.ENOUGH) for budget in BUDGETS},
            {count: measure(BUDGETS[1], Fill.BUDGET, count) for count in FIXED},
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
    outside = open_outside(args.data)
    with result("fill", "Where packs end", write=args.write):
        sets = [measure_set(each) for each in outside.sets() if not args.sets or each.name in args.sets]
        _report(sets)


def _report(sets: Sequence[Measured]) -> None:
    for budget in BUDGETS:
        head = (f"{budget:,} tokens", "questions", "answered", "filled", "share", "tokens", "filled", "share", "empty")
        rows: list[tuple[str, ...]] = []
        for each in sets:
            ours, filled = each.enough[budget], each.filled[budget]
            answered = (str(ours.answered), str(filled.answered), f"{ours.answered / max(filled.answered, 1):.3f}")
            tokens = (f"{ours.tokens:,.0f}", f"{filled.tokens:,.0f}", f"{ours.tokens / filled.tokens:.2f}")
            rows.append((each.name, str(each.count), *answered, *tokens, f"{ours.empty:.3f}"))
        table(head, rows)
        print()
    middle = BUDGETS[1]
    fixed = (format_count(number, "hit") for number in FIXED)
    table_head = ("recall: median tokens", *fixed, "enough", "filled", "above curve")
    recall_rows = []
    for each in sets:
        packs = (*each.fixed.values(), each.enough[middle], each.filled[middle])
        figures = [f"{packed.recall:.3f}: {packed.tokens:,.0f}" for packed in packs]
        recall_rows.append((each.name, *figures, f"{each.above_curve(middle):+.3f}"))
    table(table_head, recall_rows)
    print()
    for what, chosen in (("sets of `make packs`", [each for each in sets if each.name in SETS]), ("all sets", sets)):
        if chosen:
            _print_verdicts(what, chosen)


def _print_verdicts(what: str, sets: Sequence[Measured]) -> None:
    budget = BUDGETS[1]
    ours, filled = ([getattr(each, name)[budget] for each in sets] for name in ("enough", "filled"))
    share = sum(each.answered for each in ours) / sum(each.answered for each in filled)
    print(verdict(share >= MIN_HELD, f"{what}: packs that end early hold {share:.3f} of the answers of filled ones"))
    tokens = statistics.median(one.tokens / other.tokens for one, other in zip(ours, filled, strict=True))
    print(verdict(tokens <= MAX_TOKENS, f"{what}: with {tokens:.2f} of their tokens, in the median of the sets"))
    above = statistics.fmean(each.above_curve(budget) for each in sets)
    print(verdict(above >= 0, f"{what}: recall is {above:+.3f} beside filled packs of as many tokens"))


if __name__ == "__main__":
    main()
