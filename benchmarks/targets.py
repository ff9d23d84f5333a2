"""The targets of the ranking, and sentences that say whether it reaches them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from benchmarks.judgements import QuerySet

MEAN_GAIN = 0.04
"""Required mean gain in MRR@10 (judged sets: nDCG@10) over the baseline, on the sets of OURS."""
GAP_GAIN = 0.06
"""Required mean gain on the known items whose query has a word that the target does not have."""
OURS = frozenset({"en", "de"})

FLOORS: Sequence[tuple[str, str, float]] = (
    ("obsidian-help-en.dev", "section@10", 0.92),
    ("cpp-docs.dev", "section@10", 0.80),
    ("obsidian-help-zh", "section@10", 0.85),
    ("obsidian-help-ja", "section@10", 0.85),
    ("knowledge-garden-zh", "recall@10", 0.90),
    ("xquad-zh", "nDCG@10", 0.93),
    ("xquad-th", "nDCG@10", 0.85),
)
"""Lower limits on single sets: set, measure, value."""

ASKED: Mapping[str, Sequence[tuple[str, str, float]]] = {
    "shipped": (
        ("own", "in five", 0.98),
        ("own", "in the pack", 0.98),
        ("plain", "in five", 0.26),
        ("plain", "in the pack", 0.25),
        ("stranger", "in five", 0.07),
        ("stranger", "in the pack", 0.05),
        ("own", "strong or likely", 0.93),
    ),
    "minilm": (("plain", "in five", 0.42), ("stranger", "in five", 0.16)),
}
"""Lower limits on all questions of a wording, by model: wording, figure, value."""
ASKED_AT_MOST: Sequence[tuple[str, str, float]] = (
    ("own", "false-empty", 0.02),
    ("plain", "false-empty", 0.02),
    ("absent", "strong or likely", 0.08),
)
"""Upper limits on all questions of a wording, whatever the model."""

Reached = Mapping[QuerySet, Mapping[str, float]]
"""Values of measures, by set."""


def verdict(passed: bool, said: str) -> str:
    """Return a Markdown list item that begins with pass or FAIL."""
    return f"- {'pass' if passed else 'FAIL'}: {said}"


def verdicts(ours: Reached, plain: Reached) -> list[str]:
    """Return whether excerpt (`ours`) is above the baseline (`plain`) by the required gains, for what was measured."""
    gains = {s: ours[s][s.measure] - plain[s][s.measure] for s in ours}
    gaps = {s: ours[s]["gap MRR"] - plain[s]["gap MRR"] for s in ours if "gap MRR" in ours[s]}
    least = min(gains, key=lambda s: gains[s])
    return [
        *_mean_gain("MRR@10 or nDCG@10", gains, MEAN_GAIN),
        verdict(gains[least] >= 0, f"no set below the baseline (least: {gains[least]:+.3f} on {least.name})"),
        *_mean_gain("MRR@10 of gap rows", gaps, GAP_GAIN),
        *(
            verdict(values[measure] > floor, f"{measure} of {name} {values[measure]:.3f}, to be above {floor:.2f}")
            for name, measure, floor in FLOORS
            for s, values in ours.items()
            if s.name == name and measure in values
        ),
    ]


def asked_verdicts(model: str, reached: Mapping[str, Mapping[str, float | None]]) -> list[str]:
    """Return whether a model's answers to questions in other people's words, by wording, are within the limits."""
    least = [(wording, figure, limit, "least", 1) for wording, figure, limit in ASKED.get(model, ())]
    most = [(wording, figure, limit, "most", -1) for wording, figure, limit in ASKED_AT_MOST]
    return [
        verdict(sign * value >= sign * limit, f"{wording} {figure} {value:.3f}, to be at {bound} {limit:.2f}")
        for wording, figure, limit, bound, sign in (*least, *most)
        if (value := reached.get(wording, {}).get(figure)) is not None
    ]


def _mean_gain(measure: str, gains: Mapping[QuerySet, float], wanted: float) -> list[str]:
    chosen = [gain for s, gain in gains.items() if s.language in OURS]
    if not chosen:
        return []
    mean = statistics.fmean(chosen)
    said = f"{measure} {mean:+.4f} on average over {len(chosen)} English and German sets, to be {wanted:+.2f}"
    return [verdict(mean >= wanted, said)]
