"""Measure the effect of each signal, strategy and setting on the ranking, on the same questions.

All variants are computed from candidates that were collected once (`cases`), so that a variant on ten thousand
questions takes a second or two.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from msgspec import structs

from benchmarks.cases import LINKS, Cases, Variant, auto, summaries
from benchmarks.judgements import QuerySet, Summary, mean_of
from benchmarks.measure import table
from benchmarks.targets import verdict
from excerpt.base.kinds import Strategy
from excerpt.search import ranking
from excerpt.search.ranking import SIGNALS, STRATEGY_WEIGHTS, SignalWeights

FOUR = (Strategy.HYBRID, Strategy.ADAPTIVE, Strategy.PROXIMITY, Strategy.SEMANTIC)
HYBRID = STRATEGY_WEIGHTS[Strategy.HYBRID]
ALONE = SignalWeights(**{**dict.fromkeys(SIGNALS, 0.0), "words": 1.0})
BELOW_BEST = 0.005
"""The most that auto may be below the best of the four strategies on a set."""

Reached = Mapping[str, Summary]
"""The results of a variant, by the name of the set."""

GROUPS: Mapping[str, Callable[[QuerySet], bool]] = {
    "English vaults": lambda s: s.collection is None and s.language == "en",
    "other vaults": lambda s: s.collection is None and s.language != "en",
    "judged": lambda s: s.collection is not None and s.family != "xquad",
    "xquad": lambda s: s.family == "xquad",
    "all sets": lambda _: True,
}
"""Groups of sets; MRR@10 or nDCG@10 is averaged over each group, with every set weighted equally."""


OF_VAULTS: Mapping[str, str] = {
    "section@10": "section",
    "recall@10": "recall",
    "gap MRR": "gap",
    "of links": "of_links",
    "others": "others",
}
"""Fields of `Summary` that are averaged over the sets of vaults."""


# --- strategies and signals -------------------------------------------------------------------------------------------


def strategies_and_signals(every: Sequence[Cases]) -> None:
    """Print the results of each strategy alone, and of hybrid without each of its signals."""
    reached = _reached(every, [*compared(), *(v for _, v in without_each())])
    print("\n## Strategies, and hybrid without each signal\n")
    in_groups(every, reached)
    sets = [cases.query_set for cases in every]
    shown = ("auto", *map(str, FOUR), "RRF", "routing alone", "words alone")
    print("\nEach set:\n")
    table(("set", *shown, "auto - best of the four"), [_strategies_row(s.name, shown, reached) for s in sets])
    print("\nWhat hybrid loses without a signal, in thousandths (negative: it gains):\n")
    table(("set", "hybrid", *(signal for signal, _ in without_each())), [_without_row(s.name, reached) for s in sets])
    print(f"\n{against_best(reached)}\n{against_rrf(reached)}")
    print("\nHybrid with one weight halved or doubled:\n")
    in_groups(every, {"hybrid": reached["hybrid"], **_reached(every, halved_and_doubled())})


def compared() -> list[Variant]:
    """Return the shipped ranking and the rankings that it is compared with."""
    return [
        auto(),
        *(Variant(str(strategy), strategy, STRATEGY_WEIGHTS) for strategy in FOUR),
        Variant("RRF", Strategy.HYBRID, None),
        Variant("routing alone", Strategy.AUTO, STRATEGY_WEIGHTS),
        Variant("words alone", Strategy.HYBRID, {Strategy.HYBRID: ALONE}, links=0.0, names_first=False),
    ]


def without_each() -> list[tuple[str, Variant]]:
    """Return for each signal its name and hybrid without it."""
    variants = {name: _hybrid_with(name, 0.0) for name in (*SIGNALS, "links")}
    variants["name"] = Variant("", Strategy.HYBRID, STRATEGY_WEIGHTS, names_first=False)
    return [(name, replace(variant, name=f"hybrid without {name}")) for name, variant in variants.items()]


def halved_and_doubled() -> list[Variant]:
    """Return hybrid with each weight halved, and with each weight doubled."""
    weights = {**structs.asdict(HYBRID), "links": LINKS}
    return [_hybrid_with(name, factor * weight) for name, weight in weights.items() for factor in (0.5, 2.0)]


def _hybrid_with(name: str, weight: float) -> Variant:
    plain = Variant(f"{name} {weight:g}", Strategy.HYBRID, STRATEGY_WEIGHTS)
    if name == "links":
        return replace(plain, links=weight)
    return replace(plain, weights={Strategy.HYBRID: structs.replace(HYBRID, **{name: weight})})


def against_best(reached: Mapping[str, Reached]) -> str:
    """Return whether auto is nowhere more than BELOW_BEST below the best of the four strategies, as a sentence."""
    gaps = {name: _lag(name, reached) for name in reached["auto"]}
    worst = min(gaps, key=lambda name: gaps[name])
    said = f"auto at most {BELOW_BEST} below the best of the four (most: {gaps[worst]:+.4f} on {worst})"
    return verdict(gaps[worst] >= -BELOW_BEST, said)


def against_rrf(reached: Mapping[str, Reached]) -> str:
    """Return whether auto is above reciprocal rank fusion on average, as a sentence."""
    mean = {name: _mean(reached[name].values()) for name in ("auto", "RRF")}
    said = f"auto above RRF on average ({mean['auto']:.4f} and {mean['RRF']:.4f})"
    return verdict(mean["auto"] > mean["RRF"], said)


def _lag(name: str, reached: Mapping[str, Reached]) -> float:
    return reached["auto"][name].value - max(reached[str(strategy)][name].value for strategy in FOUR)


def _strategies_row(name: str, shown: Iterable[str], reached: Mapping[str, Reached]) -> Sequence[str]:
    return name, *(f"{reached[variant][name].value:.4f}" for variant in shown), f"{_lag(name, reached):+z.4f}"


def _without_row(name: str, reached: Mapping[str, Reached]) -> Sequence[str]:
    whole = reached["hybrid"][name].value
    lost = (whole - reached[variant.name][name].value for _, variant in without_each())
    return name, f"{whole:.4f}", *(f"{1000 * loss:z.1f}" for loss in lost)


# --- settings ---------------------------------------------------------------------------------------------------------


def settings(every: Sequence[Cases], untold: Sequence[Cases], unnamed: Sequence[Cases]) -> None:
    """Print how the settings of auto change its results.

    They are the extra weight of the primary strategy's signal, the limits of hits per note, names, and general word
    frequency. `untold` are the candidates with words weighted by their rarity in the vault alone, `unnamed` those for
    which the first heading of a note is not one of its names.
    """
    shipped = auto()
    variants = [
        shipped,
        *(
            replace(shipped, name=f"lead {lead_weight:g}", weights=led(HYBRID, lead_weight))
            for lead_weight in (0.0, 0.06, 0.1, 0.2)
        ),
        *(replace(shipped, name=f"{most or 'any number'} of one note", per_note=most) for most in (2, 4, 5, 0)),
        *(replace(shipped, name=f"{most or 'any number'} of one note among 50", listed=most) for most in (4, 5, 8, 0)),
        replace(shipped, name="links heard that a query is the text of", origins=True),
    ]
    reached = (
        _reached(every, variants)
        | _reached(unnamed, [replace(shipped, name="first heading no name")])
        | _reached(untold, [replace(shipped, name="words by rarity alone")])
    )
    print("\n## Settings of auto\n")
    in_groups(every, reached)
    print("\nWhat general knowledge of words gives to auto on each set, in thousandths:\n")
    told, rarity = reached["auto"], reached["words by rarity alone"]
    table(
        ("set", "by rarity alone", "as shipped", "difference"),
        [
            (name, f"{rarity[name].value:.4f}", f"{told[name].value:.4f}", f"{1000 * gain:+z.1f}")
            for name in told
            for gain in [told[name].value - rarity[name].value]
        ],
    )


def led(weights: SignalWeights, lead_weight: float) -> Mapping[Strategy, SignalWeights]:
    """Return the weights for each primary strategy: `weights` with `lead` added to that strategy's own signal."""

    def own(leader: Strategy) -> list[str]:
        more = ranking.weights_for(leader)
        return [name for name in SIGNALS if getattr(more, name) != getattr(HYBRID, name)]

    return {
        leader: structs.replace(weights, **{name: getattr(weights, name) + lead_weight for name in own(leader)})
        for leader in Strategy
    }


# --- all of them ------------------------------------------------------------------------------------------------------


def in_groups(every: Sequence[Cases], reached: Mapping[str, Reached]) -> None:
    """Print a row for each variant, with its means over the groups of sets.

    For sets of vaults the means of section@10 and recall@10 are added, and of MRR@10 for the gap rows, for anchor texts
    and for all other queries.
    """
    sets = [cases.query_set for cases in every]
    groups = {name: [s.name for s in sets if belongs(s)] for name, belongs in GROUPS.items()}
    groups = {name: members for name, members in groups.items() if members}
    rows = []
    for variant, by_set in reached.items():
        means: list[float | None] = [_mean(by_set[name] for name in members) for members in groups.values()]
        known = [by_set[s.name] for s in sets if s.collection is None]
        means += [mean_of(getattr(one, name) for one in known) for name in OF_VAULTS.values()]
        rows.append((variant, *("" if mean is None else f"{mean:.4f}" for mean in means)))
    table(("", *groups, *OF_VAULTS), rows)


def _reached(every: Sequence[Cases], variants: Sequence[Variant]) -> dict[str, Reached]:
    found: dict[str, Reached] = {}
    for variant in variants:
        progress(variant.name)
        found[variant.name] = summaries(every, variant)
    return found


def _mean(reached: Iterable[Summary]) -> float:
    return statistics.fmean(one.value for one in reached)


def progress(doing: str) -> None:
    """Print on stderr what is being done."""
    print(f"quality: {doing}", file=sys.stderr, flush=True)
