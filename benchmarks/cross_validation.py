"""Test whether the weights generalise: choose random weights on all sets but one, and evaluate them on that one."""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import astuple, fields

from benchmarks.ablation import HYBRID, led, progress
from benchmarks.cases import LINKS, Cases, Variant, auto, summaries
from benchmarks.judgements import QuerySet
from benchmarks.measure import table
from excerpt.base.kinds import Strategy
from excerpt.search import ranking
from excerpt.search.ranking import SignalWeights

SAMPLE = 150
"""How many random weights are tried, with the seed SEED."""
SEED = 1
FACTOR = 2.0
"""The largest factor between a random weight and the shipped one."""

Values = Mapping[str, float]
"""MRR@10 or nDCG@10, by the name of the set."""


def weights_between_sets(every: Sequence[Cases]) -> None:
    """Print for each set the result of weights chosen without it and its translations, beside the shipped weights."""
    sets = [cases.query_set for cases in every]
    print(f"\n## Weights chosen on the other sets ({SAMPLE} random ones, within a factor of {FACTOR:g})\n")
    if len({s.family for s in sets}) < 2:
        print("There are no other sets.")
        return
    shipped, tried = _values(every, auto()), []
    for variant in sample(SAMPLE, SEED):
        progress(f"weights {variant.name} of {SAMPLE}")
        tried.append(_values(every, variant))
    rows = {s.name: _row(s, sets, shipped, tried) for s in sets}
    rows["mean"] = [statistics.fmean(column) for column in zip(*rows.values(), strict=True)]
    table(
        ("set", "shipped", "chosen elsewhere", "median of the random", "best of the random", "chosen - shipped"),
        [(name, *(f"{figure:.4f}" for figure in row), f"{row[1] - row[0]:+z.4f}") for name, row in rows.items()],
    )
    means = sorted(by_family(sets, values) for values in tried)
    print(
        f"\nOver all sets, translations of one counting as one: shipped {by_family(sets, shipped):.4f};"
        f" the random ones {means[0]:.4f} to {means[-1]:.4f}, half of them under {statistics.median(means):.4f}."
    )


def sample(count: int, seed: int) -> list[Variant]:
    """Return auto with random weights around the shipped ones, with the same sum; of links and the lead too."""
    source = random.Random(seed)
    return [_random(source, str(number)) for number in range(1, count + 1)]


def chosen_without(left_out: QuerySet, sets: Sequence[QuerySet], tried: Sequence[Values]) -> Values:
    """Return the best candidate by the mean over the sets outside the family of `left_out`."""
    others = [s for s in sets if s.family != left_out.family]
    return max(tried, key=lambda values: by_family(others, values))


def by_family(sets: Iterable[QuerySet], values: Values) -> float:
    """Return the mean over families of the mean over their sets: five translations of a vault are not five vaults."""
    families: dict[str, list[float]] = {}
    for query_set in sets:
        families.setdefault(query_set.family, []).append(values[query_set.name])
    return statistics.fmean(map(statistics.fmean, families.values()))


def _row(left_out: QuerySet, sets: Sequence[QuerySet], shipped: Values, tried: Sequence[Values]) -> list[float]:
    name = left_out.name
    theirs = [values[name] for values in tried]
    elsewhere = chosen_without(left_out, sets, tried)[name]
    return [shipped[name], elsewhere, statistics.median(theirs), max(theirs)]


def _random(source: random.Random, name: str) -> Variant:
    def near(weight: float) -> float:
        return float(weight * FACTOR ** source.uniform(-1, 1))

    drawn = {field.name: near(getattr(HYBRID, field.name)) for field in fields(HYBRID)}
    scale = sum(astuple(HYBRID)) / sum(drawn.values())
    weights = SignalWeights(**{signal: scale * weight for signal, weight in drawn.items()})
    return Variant(name, Strategy.AUTO, led(weights, near(ranking.PRIMARY_WEIGHT)), links=near(LINKS))


def _values(every: Sequence[Cases], variant: Variant) -> Values:
    return {name: reached.value for name, reached in summaries(every, variant).items()}
